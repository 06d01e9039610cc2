"""Standard gamble: asked alike of people and LLMs, read whole or not at all, exported with the chances around it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.elicitation.gamble import GambleTarget
from spa.errors import StudyError
from spa.forms.build import build_form
from spa.forms.html import render_page
from spa.forms.prompt import answer_format
from spa.forms.texts import load_texts
from spa.raters.endpoints.endpoint import LLMReply
from spa.raters.reading import read_answers
from spa.records.assignment import Assignment, AssignmentLabels, BlindingKey
from spa.records.form import AnswerOption, ExhibitsBlock, Form, Page, Question
from spa.records.raters import RaterProtocol
from spa.records.study import Study
from spa.records.submission import Missing, Response
from spa.responses.answer_rows import target_from_json, target_to_json
from spa.responses.answers import parse_answer, parse_answers
from spa.simulation.simulated_annotators import PERFECT, SimulatedAnnotator
from spa.simulation.true_utilities import TrueUtilities
from spa.study.sampling import sample_assignments, study_rng
from spa.study.validation import validate_study
from spa.study.warnings import study_warnings
from spa.widgets import ChoiceListAnswer, Switch, switch_of
from tests.spa.forms.test_form_equality import check_one_form
from tests.strategies import outputs_of, small_study

TEXTS = load_texts("en", {})
COMPARED = ("zzgood", "zzfair", "zzpoor")
SYSTEMS = [*({"id": one} for one in COMPARED), *({"id": one, "role": "reference"} for one in ("zzbest", "zzworst"))]
REFERENCES = {"best_reference": "zzbest", "worst_reference": "zzworst"}
FREE = RaterProtocol(conversation="question", answer_format="text")
LABELS = AssignmentLabels(systems={"A": "zzgood", "B": "zzfair"}, positions={"A": 2})


def gamble_study(gamble: dict[str, Any] | None = None, **tables: Any) -> Study:
    given = {"spa": None, "systems": SYSTEMS, "design": {"items": 2}, "gamble": {**REFERENCES, **(gamble or {})}}
    return small_study(**{**given, **tables})


def drawn(study: Study, count: int = 1) -> list[tuple[Assignment, BlindingKey]]:
    return list(sample_assignments(study, outputs_of(study), count=count, rng=study_rng(study.seed)))


def forms(study: Study, count: int = 1) -> list[Form]:
    return [build_form(study, outputs_of(study), *one, TEXTS) for one in drawn(study, count)]


def lists(form: Form) -> list[tuple[Page, Question, GambleTarget]]:
    return [
        (page, one, one.target) for page in form.pages for one in page.questions if isinstance(one.target, GambleTarget)
    ]


def question(chances: tuple[int, ...] = (5, 50, 95)) -> Question:
    return Question(
        question_id="q7",
        text="For sure, or the gamble?",
        answer=ChoiceListAnswer(options=tuple(AnswerOption(value=str(n), text=f"{n} in 100") for n in chances)),
        target=GambleTarget(label="A", item_id="i1", sample=1, criterion="overall"),
    )


def test_each_output_stands_with_both_references() -> None:
    """A page for each output; which output comes first of an item is balanced."""
    study = gamble_study()
    first: Counter[str] = Counter()
    for (_, key), form in zip(drawn(study, 6), forms(study, 6), strict=True):
        check_one_form(form)
        asked = lists(form)
        assert len({(one.label, one.item_id) for *_, one in asked}) == len(asked) == 6
        for page, _, target in asked:
            references, output = (block.exhibits for block in page.blocks if isinstance(block, ExhibitsBlock))
            assert [one.label for one in references] == [None, None]
            assert [one.label for one in output] == [target.label]
            assert {one.item_id for one in (*references, *output)} == {target.item_id}
        first.update(key.systems[asked[place][2].label] for place in (0, 3))
    assert set(first.values()) == {4}


def test_without_references_the_ends_are_imagined() -> None:
    study = small_study(spa=None, gamble={"second_anchor": 1}, design={"items": 1})
    (form,) = forms(study)
    check_one_form(form)
    asked = [one.text for _, one, target in lists(form) if not target.anchor]
    assert all("best text that you can imagine" in text and "worst text that you can imagine" in text for text in asked)
    assert not list(validate_study(study))


def test_second_anchor_on_a_share_of_forms() -> None:
    """On these two outputs of one item stand in for the worst reference, each for the other; always on the same."""
    study = gamble_study({"second_anchor": 0.5})
    with_anchor = 0
    for form in forms(study, 120):
        found = [(page, one, target) for page, one, target in lists(form) if target.anchor]
        with_anchor += bool(found)
        if not found:
            continue
        (_, _, one), (page, asked, other) = found
        assert (one.label, one.anchor, one.item_id) == (other.anchor, other.label, other.item_id)
        shown = [each.label for block in page.blocks if isinstance(block, ExhibitsBlock) for each in block.exhibits]
        assert shown == [None, other.label, other.anchor]
        assert f"otherwise the text by System {other.anchor}" in asked.text
        assert f"5 in 100: the best; 95 in 100: System {other.anchor}" in render_page(form, page, TEXTS)
        check_one_form(form)
    assert 45 <= with_anchor <= 75
    assert forms(study, 3) == forms(study, 3)
    assert not any(target.anchor for form in forms(gamble_study(), 20) for *_, target in lists(form))


@pytest.mark.parametrize("language", ["zh", "ar"])
def test_other_languages_ask_the_same(language: str) -> None:
    """On page and in prompt, of images too in words of their own."""
    texts = load_texts(language, {})
    study = gamble_study({"second_anchor": 1, "repeats": 1}, language=language, design={"items": 1})
    ((assignment, key),) = drawn(study)
    form = build_form(study, outputs_of(study), assignment, key, texts)
    check_one_form(form)
    assert len(lists(form)) == 6
    own = {name for name in texts.entries if "gamble" in name or "choice_list" in name}
    assert all(texts.entries[name] != TEXTS.entries[name] for name in own)


def test_lists_asked_again_repeat_earlier_ones() -> None:
    for form in forms(gamble_study({"repeats": 2}), 5):
        targets = [target for *_, target in lists(form)]
        again = [one for one in targets if one.again]
        assert targets[-2:] == again
        assert len({(one.label, one.item_id) for one in again}) == 2
        assert {(one.label, one.item_id) for one in again} <= {(one.label, one.item_id) for one in targets[:6]}
        for target in targets:
            assert target_from_json(target_to_json(target)) == target


@pytest.mark.parametrize(
    ("gamble", "problem"),
    [
        ({"chances": [50, 20]}, "[gamble] chances: expected percentages that rise, each once, got 50, 20"),
        ({"best_reference": "zzgood"}, '[gamble] best_reference: expected a system of role "reference"'),
        ({"worst_reference": "zzbest"}, "[gamble] worst_reference: expected another than best_reference"),
        ({"worst_reference": None, "shared_anchors": True}, "[gamble] shared_anchors: expected best_reference and"),
        ({"repeats": 7}, "[gamble] repeats: expected at most the 6 lists of a form, got 7"),
    ],
)
def test_what_cannot_be_meant_is_one_line(gamble: dict[str, Any], problem: str) -> None:
    given = {name: value for name, value in {**REFERENCES, **gamble}.items() if value is not None}
    found = [
        each.message
        for each in validate_study(small_study(spa=None, systems=SYSTEMS, design={"items": 2}, gamble=given))
    ]
    assert any(text.startswith(problem) for text in found), found
    assert not list(validate_study(gamble_study({"shared_anchors": True})))


def test_check_recommends_a_second_anchor() -> None:
    study = gamble_study()
    said = [str(one) for one in study_warnings(study, outputs_of(study))]
    assert any("[gamble] second_anchor" in one for one in said)
    study = gamble_study({"second_anchor": 0.5})
    assert not any("[gamble]" in str(one) for one in study_warnings(study, outputs_of(study)))


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ({"5": "sure", "50": "sure", "95": "chance"}, "5 sure, 50 sure, 95 chance"),
        ({"95": "chance", "5": " chance ", "50": "sure"}, "5 chance, 50 sure, 95 chance"),
        ("5 sure, 50 sure, 95 chance", "5 sure, 50 sure, 95 chance"),
        ({"5": "sure", "95": "chance"}, "expected sure or chance at a chance of 50%, got none"),
        ({"5": "sure", "50": "either", "95": "chance"}, "expected sure or chance at a chance of 50%, got 'either'"),
        ({"5": "sure", "50": "sure", "95": "chance", "99": "chance"}, "expected an object with 5, 50, 95, each one of"),
        ("5 sure, 5 chance, 95 chance", "expected an object with 5, 50, 95"),
        ("sure", "expected an object with 5, 50, 95"),
        ({"5": "", "50": " ", "95": ""}, "no answer"),
    ],
)
def test_an_answer_is_read_whole_or_not_at_all(raw: object, value: str) -> None:
    found = parse_answer(question(), raw)
    if isinstance(found, Response):
        assert found.value == value
    else:
        assert found.reason.startswith(value)


def test_a_row_left_open_is_no_answer() -> None:
    """A page that switches twice is answered, and nobody is told to think again."""
    (open_row,) = parse_answers([question()], {"q7-5": "sure", "q7-95": "chance"})
    assert isinstance(open_row, Missing)
    (twice,) = parse_answers([question()], {"q7-5": "sure", "q7-50": "chance", "q7-95": "sure"})
    assert isinstance(twice, Response)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ('{"q7": {"5": "sure", "50": "chance", "95": "chance"}}', "5 sure, 50 chance, 95 chance"),
        ("5%: for sure\n50%: the gamble\n95%: the gamble", "5 sure, 50 chance, 95 chance"),
        ("I take it for sure at 5% and at 50%.", None),
        ("5%: sure, 50%: sure or gamble, 95%: gamble", None),
        ("5%: sure, 50%: sure", None),
        ("50%: sure, 5%: sure, 95%: gamble", None),
        ("I switch at 50%.", None),
    ],
)
def test_free_text_counts_where_it_gives_all_rows(said: str, value: str | None) -> None:
    (found,) = read_answers([question()], LLMReply(outcome="answered", text=said), FREE)
    assert getattr(found, "value", None) == value
    assert '"q7": an object with the keys "5", "50", "95"' in answer_format([question()], TEXTS)


@pytest.mark.parametrize(
    ("choices", "switch"),
    [
        ("sss", Switch(switches=0, lower=0.95, upper=1.0)),
        ("ssc", Switch(switches=1, lower=0.5, upper=0.95)),
        ("scc", Switch(switches=1, lower=0.05, upper=0.5)),
        ("ccc", Switch(switches=0, lower=0.0, upper=0.05)),
        ("scs", Switch(switches=2)),
        ("ccs", Switch(switches=1)),
    ],
)
def test_rows_say_between_which_chances_it_lies(choices: str, switch: Switch) -> None:
    said = {"s": "sure", "c": "chance"}
    value = ", ".join(f"{chance} {said[one]}" for chance, one in zip((5, 50, 95), choices, strict=True))
    assert switch_of(value) == switch
    target = GambleTarget(label="A", item_id="i1", sample=1, criterion="overall", anchor="B", anchor_sample=1)
    ((row),) = [dict(zip(target.columns, one, strict=True)) for one in target.rows(value, LABELS)]
    middle = None if switch.lower is None or switch.upper is None else (switch.lower + switch.upper) / 2
    assert row["utility"] == (middle if middle is None else pytest.approx(middle))
    assert (row["lower"], row["upper"], row["switches"]) == (switch.lower, switch.upper, switch.switches)
    assert (row["system"], row["anchor"], row["again"], row["position"]) == ("zzgood", "zzfair", 0, 2)
    (missing,) = [dict(zip(target.columns, one, strict=True)) for one in target.rows(None, LABELS)]
    assert (missing["utility"], missing["switches"]) == (None, None)


def test_a_perfect_reader_switches_at_the_true_utility() -> None:
    """Also where another output is the worst: there at what is left of the way from that one to the best."""
    study = gamble_study({"second_anchor": 1, "chances": [*range(5, 100, 10)]}, design={"items": 1})
    true = dict(zip(COMPARED, (0.78, 0.52, 0.11), strict=True))
    truth = TrueUtilities(utilities=true, item_sd=0, output_sd=0, low=0, high=1)
    anchored = 0
    for (_, key), form in zip(drawn(study, 8), forms(study, 8), strict=True):
        given = SimulatedAnnotator(truth, PERFECT, rng=np.random.default_rng(1)).answers(form, key)
        for _, asked, target in lists(form):
            found = switch_of(given[asked.question_id])
            utility, worst = true[key.systems[target.label]], true.get(key.systems.get(target.anchor, ""), 0.0)
            assert found.lower is not None
            assert found.upper is not None
            if utility > worst:
                assert found.lower <= (utility - worst) / (1 - worst) <= found.upper
                anchored += bool(target.anchor)
            else:
                assert found.upper == 0.05
    assert anchored == 8


def test_a_language_of_ones_own_need_not_word_it() -> None:
    own = ("gamble", "choice_list", "page.sure", "page.chance", "page.of_output")
    texts = {key: text for key, text in TEXTS.entries.items() if not any(part in key for part in own)}
    assert load_texts("xx", texts).entries
    with pytest.raises(StudyError, match="gamble_title"):
        load_texts("xx", texts).say("form.gamble_title")


def test_the_example_runs_from_study_file_to_report(tmp_path: Path) -> None:
    """People and a simulated rater answer; the tables alone give the same utilities and shares."""
    made = ["demo", "--example", "gamble", "--out", str(tmp_path), "--seed", "3", "--annotators", "8"]
    done = CliRunner().invoke(main, made)
    assert done.exit_code == 0, done.output
    study = str(tmp_path / "study" / "study.toml")
    assert CliRunner().invoke(main, ["export", study, "--out", str(tmp_path / "tables")]).exit_code == 0
    table = pl.read_csv(tmp_path / "tables" / "gambles.csv")
    asked = table.group_by("annotator_id", "assignment_id").agg(
        once=(pl.col("anchor").is_null() & (pl.col("again") == 0)).sum(),
        again=pl.col("again").sum(),
        anchored=pl.col("anchor").is_not_null().sum(),
    )
    assert asked["once"].to_list() == [6] * asked.height
    assert asked["again"].to_list() == [1] * asked.height
    assert set(asked["anchored"]) == {0, 2}
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert {row["group"] for row in results["utility_shares"]} == {"simulated", "simulated-rater"}
    assert results["utility_means"] == []
    assert {row["check"] for row in results["utility_checks"]} == {"second_anchor", "again"}
    alone = ["report", "--gambles", str(tmp_path / "tables" / "gambles.csv"), "--json"]
    again = json.loads(CliRunner().invoke(main, alone).stdout)
    for key in ("utility_shares", "utility_lists", "utility_checks"):
        assert _by_pair(again[key]) == _by_pair(results[key])
    shown = ["export", study, "--format", "shown", "--out", str(tmp_path / "shown")]
    assert CliRunner().invoke(main, shown).exit_code == 0
    pages = "".join(one.read_text() for one in (tmp_path / "shown").glob("*.html"))
    assert "overall, simulated, gamble: set against gambles (n = " in pages
    report = (tmp_path / "report" / "report.md").read_text()
    assert "How much better" in report
    assert "certainty effect" in report
    assert "utilities.csv" in {path.name for path in (tmp_path / "report" / "tables").iterdir()}


def _by_pair(rows: list[dict[str, Any]]) -> list[str]:
    """Return rows whose pair stands in one direction, since tables know no order of systems."""
    turned = []
    for row in rows:
        x, y = row.get("system_x"), row.get("system_y")
        if x is not None and x > y:
            row = {name: row[_other(name)] for name in row}
        turned.append(json.dumps(row, sort_keys=True))
    return sorted(turned)


def _other(name: str) -> str:
    parts = {"x": "y", "y": "x"}
    return "_".join(parts.get(part, part) for part in name.split("_"))
