"""``spa review-explanations``: a study in which people judge explanations, from the answers to its report."""

from __future__ import annotations

import json
import tomllib
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from analysis import gwet_ac1
from spa import SpaError
from spa.commands.review import ERRORS, review_explanations, words_of
from spa.commands.workspace import open_workspace
from spa.elicitation.ratings import RatingTarget
from spa.forms.prompt import render_prompt
from spa.records.form import ExplanationTarget, Question
from spa.records.submission import Response
from spa.records.texts import placeholders
from spa.responses.answers import parse_answer
from spa.responses.export import export_tables
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from spa.widgets import TextAnswer
from tests.spa.rehearsed import built_example, spa

RATER = """
id = "judge"
model = "simulated-rater"
variants = [
  { id = "plain" },
  { id = "why", explain = "after" },
  { id = "guided", explain = "after", guidelines = "Length does not count." },
  { id = "by criterion", explain = "after", guidelines = { sense = "5: all follows." } },
]
"""
NATURES = ("human", "person", "people", "teacher", "worker", "computer", "program", "machine", "model", "LLM", " AI ")


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rated")
    study = built_example(folder, annotators=2)
    (folder / "judge.toml").write_text(RATER, encoding="utf-8")
    spa("rate", study, "--rater", folder / "judge.toml", "--simulate", "--json")
    return study


def review(rated: Path, out: Path, *options: object, rater: object = None) -> str:
    arguments = [rated, "--rater", rater or rated.parent.parent / "judge.toml", "--out", out, *options]
    shown = CliRunner().invoke(review_explanations, [str(one) for one in arguments], catch_exceptions=False)
    assert shown.exit_code == 0, shown.output
    return shown.stdout


def test_every_explained_rating_becomes_something_to_read(rated: Path, tmp_path: Path) -> None:
    """2 forms x 32 outputs x (overall, sense) = 128 ratings, each explained in three ways of four."""
    told = review(rated, tmp_path / "r")
    assert "128 of 128 explained ratings, by judge/why, judge/guided, judge/by criterion" in told
    facts = json.loads(review(rated, tmp_path / "json", "--json"))
    assert (facts["drawn"], facts["explained"], facts["skipped"], facts["queries"]) == (128, 128, 0, {})
    assert facts["files"][0] == str(tmp_path / "json" / "study.toml")
    study = load_study(tmp_path / "r" / "study.toml")
    outputs = load_outputs(study)
    assert [system.id for system in study.systems] == ["judge/why", "judge/guided", "judge/by criterion"]
    assert len(outputs.items) == 128
    rows = [json.loads(line) for line in (tmp_path / "r" / "outputs.jsonl").read_text(encoding="utf-8").splitlines()]
    given = {output.item_id: output.text for output in load_outputs(load_study(rated)).all()}
    assert set(given) >= {row["rated_item"] for row in rows}
    for row in rows:
        assert "Explanation:\nA simulated explanation." in row["output"]
        assert ("Length does not count." in row["output"]) == (row["system"] == "judge/guided")
        assert ("5: all follows." in row["output"]) == (
            (row["system"], row["criterion"]) == ("judge/by criterion", "sense")
        )
        assert "Writer" not in row["output"] + row["text"]


def test_no_form_tells_or_misstates_who_rated(rated: Path, tmp_path: Path) -> None:
    review(rated, tmp_path / "r", "--number", 5)
    path = tmp_path / "r" / "study.toml"
    spa("build", path, "--annotators", 2)
    with open_workspace(path) as workspace:
        written = {output.text or "" for output in workspace.outputs.all()}
        written |= {item.text or "" for item in workspace.outputs.items}
        for name in workspace.store.assignments.ids():
            parts = render_prompt(workspace.form(name)).parts
            said = "\n".join(getattr(part, "text", "") for part in parts if getattr(part, "text", "") not in written)
            assert not [nature for nature in NATURES if nature in said]
            assert "judge" not in said.replace("judged", "")


def test_the_draw_is_the_same_for_the_same_seed(rated: Path, tmp_path: Path) -> None:
    for folder, seed in (("a", 5), ("b", 5), ("c", 6)):
        review(rated, tmp_path / folder, "--number", 10, "--seed", seed)
    texts = {folder: (tmp_path / folder / "outputs.jsonl").read_bytes() for folder in "abc"}
    assert texts["a"] == texts["b"] != texts["c"]


def test_from_explanations_to_error_rates_with_agreement(rated: Path, tmp_path: Path) -> None:
    """One way alone is a study of one system; its report gives each rate with AC1."""
    review(rated, tmp_path / "r", "--variant", "why", "--number", 10, "--readers", 4, "--interview")
    path = tmp_path / "r" / "study.toml"
    assert len(load_study(path).systems) == 1
    spa("build", path)
    spa("simulate", path, "--seed", 3)
    spa("report", path, "--out", tmp_path / "report")
    results = json.loads((tmp_path / "report" / "results.json").read_text(encoding="utf-8"))
    with open_workspace(path, rehearsal=True) as workspace:
        table = export_tables(workspace.store).ratings
    for name in ERRORS:
        own = table.filter(pl.col("criterion") == name)
        (share,) = (row for row in results["category_shares"] if (row["criterion"], row["answer"]) == (name, "Yes"))
        assert share["share"] == pytest.approx(own["score"].mean())
        assert share["n_answers"] == own.height == 40
        wide = own.pivot(on="annotator_id", index="item_id", values="score").drop("item_id").to_numpy()
        (row,) = (row for row in results["agreement"] if (row["criterion"], row["measure"]) == (name, "gwet_ac1"))
        assert row["value"] == pytest.approx(gwet_ac1(wide).value)
    html = (tmp_path / "report" / "appendix.html").read_text(encoding="utf-8")
    assert "How often each answer was given" in html
    assert "In people’s own words" in html
    assert "language model" in (load_study(path).debriefing.text or "")
    *first, last = load_study(path).interview
    assert [one.first for one in (*first, last)] == [True, True, True, True, False]
    asked = {one.question for one in (*first, last)}
    assert {(row["question"], row["group"]) for row in results["interview"]} == {(each, "simulated") for each in asked}
    assert {row["answer"] for row in results["interview"]} == {"A simulated explanation."}
    assert len(results["interview"]) == 5 * table["annotator_id"].n_unique()
    assert all(words in html for words in ("AC1", "poor syntax", "unsubstantiated claims", "Partially agree"))
    reasons = table.filter(pl.col("explanation").is_not_null())
    assert set(reasons["criterion"]) == {"agreement"}


def test_a_reason_may_stay_empty_and_an_answer_may_not() -> None:
    target = RatingTarget(label="A", item_id="i", sample=1, criterion="agreement", elicitation="category")
    reason = Question(
        question_id="q2",
        text="Why?",
        answer=TextAnswer(required=False),
        target=ExplanationTarget(of=target),
    )
    assert parse_answer(reason, "") == Response(question_id="q2", target=reason.target, value="", raw="")
    kept = parse_answer(reason, "=1+1")
    assert isinstance(kept, Response)
    assert kept.value == "=1+1"


def test_what_cannot_be_reviewed_is_told(rated: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    with pytest.raises(SpaError, match="expected ratings with explanations by 'judge', got none"):
        review(rated, out, "--variant", "plain")
    review(rated, out, "--number", 1)
    with pytest.raises(SpaError, match="expected a new or empty folder"):
        review(rated, out)
    images = built_example(tmp_path, annotators=1, example="images")
    with pytest.raises(SpaError, match="got images, which a review cannot show"):
        review(images, tmp_path / "i", rater="simulated-rater")


def test_the_words_are_whole_in_every_language() -> None:
    tables = tomllib.loads((files("spa.commands") / "review_words.toml").read_text(encoding="utf-8"))
    assert set(tables) == {"en", "zh", "ar"}
    for words in tables.values():
        assert list(words) == list(tables["en"])
        assert [placeholders(text) for text in words.values()] == [placeholders(text) for text in tables["en"].values()]
    assert words_of("zh-CN")["yes"] == "是"
    assert words_of("fr") == tables["en"]
