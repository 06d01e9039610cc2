"""The how-to guides run as they are written: every command, in order, in an empty folder, against real servers.

What a reader has before the first line of a guide is prepared here: a study as ``spa init`` writes it, the files of
another tool, an account. What people do between two commands is done here too, over HTTP.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import tomllib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import httpx2
import polars as pl
import pytest
import tomlkit

from analysis.explanations import exploration
from spa import cluster
from spa.simulation.simulated_annotators import load_truth
from spa.study.load import check_study, own_mistakes
from tests.conftest import need
from tests.guides.others import metrics, potato_folder, ratings, wide_results
from tests.guides.reader import GuideReader, reader_in
from tests.guides.walking import DOCUMENTS, NOT_RUN, ROOT, STUDY, Step, init, is_run, table, walk
from tests.pictures import words_in
from tests.shell_lines import fenced, shell_commands
from tests.spa.tiny_models import tiny_llama

pytestmark = pytest.mark.slow
IMAGES, FIGURE = ROOT / "docs" / "images", "report/figures/preferences.svg"
DRAWN = IMAGES / "preferences.svg"


def order(report: Path, source: str, criterion: str = "overall") -> list[list[str]]:
    """Return the order of the systems that a report found for its first group."""
    results = json.loads((report / "results.json").read_text())
    found = (row["order"] for row in results["rankings"] if (row["source"], row["criterion"]) == (source, criterion))
    return next(found)


def smaller(name: str, annotators: int = 8, planned: int = 24, *, outputs: int | None = None) -> Step:
    """Let a study of ``spa init`` want fewer annotators, who read fewer outputs: the computer has less to do."""
    changes = {f"annotators = {planned}": f"annotators = {annotators}"}
    if outputs is not None:
        changes["exposure = 4"] = f"exposure = {outputs}"

    def change(reader: GuideReader) -> None:
        study = reader.folder / name / "study.toml"
        text = study.read_text()
        for old, new in changes.items():
            assert text.count(old) == 1
            text = text.replace(old, new)
        study.write_text(text)

    return change


def test_every_document_is_walked_through() -> None:
    tests = "".join(path.read_text() for path in (ROOT / "tests").glob("test_*.py"))
    walked = set(re.findall(r"walk\(\s*reader,\s*\"([\w-]+\.md)\"", tests))
    assert {name for name, path in DOCUMENTS.items() if any(map(is_run, shell_commands(path)))} == walked


def test_what_is_not_run_is_there() -> None:
    shown = [command for path in DOCUMENTS.values() for command in shell_commands(path)]
    for document, begins in NOT_RUN:
        assert any(one.text.startswith(begins) and document in ("*", one.document) for one in shown), begins


def wholly_translated(block: str) -> str:
    """Add the texts that the guide to languages leaves out, of the file that it says to copy."""
    document = tomllib.loads(block)
    if "texts" not in document:
        return block
    english = tomllib.loads((files("spa.forms") / "locales" / "en.toml").read_text())
    copied = {f"{part}.{name}": text for part, texts in english.items() for name, text in texts.items()}
    return tomlkit.dumps({**document, "texts": copied | document["texts"]})


def test_every_table_that_a_guide_puts_into_a_study_is_accepted(tmp_path: Path) -> None:
    tables = {"language", "texts", "people", "consent", "criteria", "raters", "prolific", "mturk", "panel"}
    shown = [(name, block) for name, path in DOCUMENTS.items() for block in fenced(path, "toml")]
    put = [(name, block) for name, block in shown if tables >= tomllib.loads(block).keys()]
    assert len(put) >= 9
    for number, (_, block) in enumerate(put):
        folder = tmp_path / str(number)
        folder.mkdir()
        with reader_in(folder) as reader:
            study = init(reader, wholly_translated(block))
            checked = check_study(study)
            assert checked.problems == ()
            assert all("required, and not there" in line for line in own_mistakes(study, checked)), (
                "a part of a table is shown"
            )


def test_judges_circles_and_camps(tmp_path: Path) -> None:
    with reader_in(tmp_path) as reader:
        walk(reader, "judges.md")
    (row,) = json.loads((tmp_path / "report" / "results.json").read_text())["audit"]
    assert (row["n_forms"], row["n"]) == (160, 40)
    assert row["estimate"] < row["ci_high"] < 0.5  # as its truth: the novelist is better on eight of twelve
    assert row["saved"] > 0.3
    assert "What the audit found" in (tmp_path / "report" / "report.md").read_text()


def test_the_readme(tmp_path: Path) -> None:
    with reader_in(tmp_path) as reader:
        walk(reader, "README.md", before={"spa build": smaller(STUDY, outputs=2)})
    assert (tmp_path / "report" / "report.html").is_file()


@pytest.mark.one_process("demo")
def test_the_demo_finds_what_the_readme_prints(made_demo: Path) -> None:
    found = (made_demo / "report" / "report.md").read_text().replace("\\", "")
    found = re.sub(r"\[([^]]*)\]\(<[^>]*>\)", r"\1", found)  # links as their words
    readme = (ROOT / "README.md").read_text()
    quoted = " ".join(line.removeprefix("> ") for line in readme.splitlines() if line.startswith("> "))
    lines = re.findall(r"\*\*([^*]+)\*\*:? (.*?)(?= \*\*|$)", quoted)
    assert [title for title, _ in lines] == [
        "Who wins",
        "By how much",
        "Can an LLM replace annotators?",
        "Main caveats",
    ]
    assert f"**{lines[0][1]}**" in found
    assert all(f"- **{title}**{'' if title.endswith('?') else ':'} {text}" in found for title, text in lines[1:])
    drawn, shown = (re.findall("<text[^>]*>([^<]*)", path.read_text()) for path in (DRAWN, made_demo / FIGURE))
    assert drawn == shown, f"copy {FIGURE} of the demo to {DRAWN.relative_to(ROOT)}"


@pytest.mark.one_process("demo")
def test_the_pictures_of_the_readme_show_what_the_demo_makes(made_demo: Path, tmp_path: Path) -> None:
    need("PIL")
    with reader_in(tmp_path) as reader:
        reader.spa("preview", made_demo / "study" / "study.toml", "--out", "form.html")
    for name, page in (("form", tmp_path / "form.html"), ("report", made_demo / "report" / "report.html")):
        shown = words_of(page.read_text())
        lines = words_in(IMAGES / f"{name}.png")
        assert len(lines) >= 6
        assert [line for line in lines if words_of(line) not in shown] == [], "python -m tests.pictures draws them"


def words_of(page: str) -> str:
    """Return the letters of a page, without tags and spaces."""
    return "".join(html.unescape(re.sub("<[^>]*>", " ", page)).split())


@pytest.mark.one_process("demo")  # with those who plan the same study, whose draws serve it too
def test_planning(tmp_path: Path) -> None:
    with reader_in(tmp_path) as reader:
        study = init(reader)

        def answered(reader: GuideReader) -> None:
            smaller(STUDY, 12, outputs=2)(reader)
            reader.spa("build", study)
            reader.spa("simulate", study)

        walk(reader, "planning.md", before={"spa report": answered})
    assert {path.suffix for path in (tmp_path / "plan").iterdir()} == {".svg", ".csv"}
    assert "restates the p-value" in (tmp_path / "report" / "appendix.md").read_text()
    assert json.loads((tmp_path / "preregistration.json").read_text())
    assert (tmp_path / "datasheet" / "heds-open.txt").read_text()


def test_rankings_and_error_spans(tmp_path: Path) -> None:
    steps = {
        "spa build my-rankings": smaller("my-rankings", 6),
        "spa build my-spans": smaller("my-spans", 6, planned=12),
    }
    with reader_in(tmp_path) as reader:
        walk(reader, "rankings.md", before=steps)
    (found,) = json.loads((tmp_path / "report" / "results.json").read_text())["orders"]
    assert found["n_orderings"] == 24
    for report in ("span-report", "report-of-tables"):
        found = json.loads((tmp_path / report / "results.json").read_text())
        assert {row["measure"] for row in found["spans"]["agreement"]} >= {"span_f1", "alpha_u"}
        assert len(order(tmp_path / report, "ratings", "weighted errors")) == 3
    assert "| Error spans | overall | fewer are better |" in (tmp_path / "span-report" / "report.md").read_text()


def test_live_studies(tmp_path: Path) -> None:
    with reader_in(tmp_path) as reader:
        study = init(reader, table("live.md", "when_decided"))

        def answered(reader: GuideReader) -> None:
            reader.spa("simulate", study, "--annotators", "6")

        walk(reader, "live.md", before={"spa status": answered})
    frozen = json.loads((tmp_path / "preregistration.json").read_text())
    assert (frozen["content"]["stopping"]["rule"], frozen["content"]["stopping"]["most"]) == ("when_decided", 60)
    report = (tmp_path / "report" / "report.md").read_text()
    assert "What was decided, and when" in report


def test_report_tables_import_and_dashboard(tmp_path: Path) -> None:
    with reader_in(tmp_path) as reader:
        study = init(reader)
        smaller(STUDY, outputs=2)(reader)
        reader.spa("build", study)
        reader.spa("simulate", study)
        ratings(tmp_path / "ratings.csv", llm="gpt4", annotator="rater")
        ratings(tmp_path / "errors.csv", llm="dee", criterion="errors")
        metrics(tmp_path / "metrics.csv")
        potato_folder(tmp_path / "annotations")
        wide_results(tmp_path / "results.csv")

        def of_potato(reader: GuideReader) -> None:
            assert order(tmp_path / "report", "ratings", "errors")[0] == ["model-b"]
            reader.write("import.toml", table("report.md", "llms = "))

        def of_csv(reader: GuideReader) -> None:
            assert order(tmp_path / "report", "ratings", "fluency") == [["reference"], ["model-a"], ["model-b"]]
            reader.write("import.toml", table("report.md", "WorkerId"))

        def of_dashboard(reader: GuideReader) -> None:
            assert pl.read_csv(tmp_path / "tables" / "choices.csv").height
            shutil.rmtree(tmp_path / "tables")
            ratings(tmp_path / "tables" / "ratings.csv", llm="gpt-4")

        def correlated(reader: GuideReader) -> None:
            assert json.loads((tmp_path / "report" / "results.json").read_text())["correlations"]

        steps = {
            "spa report --ratings errors.csv": correlated,
            "spa import potato": of_potato,
            "spa import csv": of_csv,
            "spa dashboard --tables": of_dashboard,
        }
        walk(reader, "report.md", before=steps)


def fewer(study: Path) -> None:
    """Let the example of corrections want fewer annotators than its 12."""
    text = study.read_text()
    assert "annotators = 12" in text
    study.write_text(text.replace("annotators = 12", "annotators = 4"))


def answers_of_two_systems(reader: GuideReader) -> None:
    """Write the outputs that somebody has."""
    rows = [f"{n},Tell me about {n}.,{model},{model[::-1]} tells of {n}" for n in range(12) for model in ("ab1", "cd2")]
    reader.write("answers.csv", "\n".join(["id,prompt,model,answer", *rows]))


def test_the_study_file(tmp_path: Path) -> None:
    with reader_in(tmp_path) as reader:
        truth = load_truth(reader.write("truth.toml", table("study-file.md", "[temperament]")))
        assert truth.utilities["novelist"] > truth.utilities["parrot"]
        few = {f"spa build {study}": smaller(study) for study in ("my-study", "reversal")}
        walk(reader, "study-file.md", before={**few, "spa init own-study": answers_of_two_systems})
        walk(reader, "media.md")
        preview = reader.server(("preview",))
        assert preview is not None
        assert 'dir="rtl"' in httpx2.get(preview.url, trust_env=False, follow_redirects=True).text
    assert order(tmp_path / "reversal" / "report", "preferences")[0] == ["novelist"]
    assert order(tmp_path / "reversal" / "report", "ratings")[0] == ["formula"]


def test_llm_raters(tmp_path: Path) -> None:
    with reader_in(tmp_path) as reader:
        init(reader)

        def answered(study: str) -> Callable[[GuideReader], None]:
            def answer(reader: GuideReader) -> None:
                for command in ("build", "simulate"):
                    reader.spa(command, tmp_path / study / "study.toml")

            return answer

        steps = {
            "spa build": smaller(STUDY, 2, outputs=2),
            "spa settle-review two/study.toml --out": answered("two"),
            "spa settle-review two/study.toml --third": answered("settled/third"),
        }
        walk(reader, "llm-raters.md", before=steps)
        reader.spa("build", tmp_path / "review-study" / "study.toml")
    groups = {row["group"] for row in json.loads((tmp_path / "report" / "results.json").read_text())["raters"]}
    assert set(pl.read_csv(tmp_path / "settled-by-three" / "settled.csv")["status"]) == {"agreed", "adjudicated"}
    assert groups == {f"chhun/{way}" for way in ("rating", "explanation", "guidelines", "reference")}


def test_clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers are threads; that ``local:2`` starts processes is seen in the tests of clusters."""
    need("distributed")
    from tests.dask_here import in_this_process

    monkeypatch.setattr(cluster, "_local_cluster", lambda where, number: in_this_process(int(number)))
    with reader_in(tmp_path) as reader:
        init(reader)
        ratings(tmp_path / "ratings.csv", llm="dee")
        (tmp_path / "ratings").mkdir()
        for number, part in enumerate(pl.read_csv(tmp_path / "ratings.csv").iter_slices(20)):
            part.write_parquet(tmp_path / "ratings" / f"part-{number}.parquet")
        walk(reader, "cluster.md", before={"spa build": smaller(STUDY, 2, outputs=2)})
    assert order(tmp_path / "report", "ratings") == [["reference"], ["model-a"], ["model-b"]]


@pytest.mark.one_process("models")  # with those who load the libraries that run models
def test_metrics_explanations_and_contamination(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a tiny model, and PCA in the place of UMAP, which compiles for long."""

    def own_metrics(reader: GuideReader) -> None:
        scores = pl.read_csv(reader.folder / "corrections" / "metrics.csv").filter(metric="chrf")
        scores.select("item_id", "system", "score").write_csv(reader.folder / "scores.csv")
        lines = ["def shared(outputs, references, sources):", "    return [float(len(text)) for text in outputs]"]
        reader.write("own_metric.py", "\n".join(lines))

    def with_explanations(reader: GuideReader) -> None:
        study = init(reader)
        tiny_llama(study.parent / "model")
        known = [json.dumps({"text": f"Known text {number}.", "seen": number % 2 == 0}) for number in range(40)]
        (tmp_path / "known.jsonl").write_text("\n".join(known))
        smaller(STUDY, 2, outputs=2)(reader)
        reader.spa("build", study)
        reader.spa("rate", study, "--rater", study.parent / "raters" / "chhun.toml", "--simulate", "--limit", "1")

    monkeypatch.setattr(exploration, "find_spec", lambda name: None)
    steps = {
        "spa build": lambda reader: fewer(reader.folder / "corrections" / "study.toml"),
        "spa metrics corrections/study.toml --metric": own_metrics,
        "spa explanations": with_explanations,
    }
    with reader_in(tmp_path) as reader:
        walk(reader, "metrics.md", before=steps)
        for found in (tmp_path / "seen" / "contamination.json", tmp_path / "explained" / "explanations.rehearsal.json"):
            shutil.copy(found, tmp_path / STUDY)
        reader.spa("report", tmp_path / STUDY / "study.toml", "--out", tmp_path / "mine")
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert {row["metric"] for row in results["metrics"]["beside_people"]} >= {"rouge_geometric", "bleu", "sari"}
    scores = pl.read_csv(tmp_path / "corrections" / "corpus_metrics.csv")
    assert {"chrf", "words", "mine", "shared"} <= set(scores["metric"])
    assert "predicted as seen" in (tmp_path / "seen" / "contamination.md").read_text()
    assert (tmp_path / "explained" / "map.csv").is_file()
    appendix = (tmp_path / "mine" / "appendix.md").read_text()
    assert "## Has my-study/model read these texts before?" in appendix
    assert "## What the explanations are about" in appendix


def test_the_reproduction_of_published_ratings(tmp_path: Path, shared_data: Path) -> None:
    with reader_in(tmp_path) as reader:
        shutil.copy(shared_data / "sottana" / "simplification_ratings.csv", tmp_path)
        walk(reader, "reproductions.md")
    assert "| Alpha, people | 1.00 | 1.00 | 0.63 |" in (tmp_path / "report" / "appendix.md").read_text()
