"""What ``spa contamination`` and ``spa explanations`` wrote beside a study: in its report, current, or refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.answers.sidecars import CONTAMINATION, Sidecar, read_record, record_text
from analysis.answers.study_answers import StudyAnswers, answers_of
from analysis.answers.study_texts import StudyText, hash_of, study_texts
from analysis.contamination.contribution import contaminations
from analysis.contamination.results import Contamination, contamination, seen_words
from analysis.explanations import exploration
from analysis.figures.figures import scatter_plot
from analysis.printing.document import Figure, Heading, Paragraph, Table
from analysis.records.results import Results
from analysis.report.contamination_page import write_page
from analysis.report.csv_tables import csv_tables
from analysis.report.sections import build_document
from analysis.results.analyse import analyse
from analysis.results.files import from_plain, to_json
from spa.commands.workspace import open_workspace
from spa.errors import AnalysisError
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from tests.analysis.figures.walked import broken, figures_of
from tests.conftest import need
from tests.spa.rehearsed import spa
from tests.streamlit_app.explained import explained_study
from tests.streamlit_app.familiar import found_in, scored, write_contamination


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a study that was answered and has both files beside it."""
    need("sklearn")
    path = explained_study(tmp_path_factory.mktemp("reported") / "study")
    write_contamination(path)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(exploration, "find_spec", lambda name: None)  # UMAP takes long to load
        spa("explanations", path)
    return path


@pytest.fixture(scope="module")
def answers(study: Path) -> StudyAnswers:
    with open_workspace(study, read_only=True) as workspace:
        return answers_of(workspace)


def results_of(answers: StudyAnswers, **changes: Any) -> Results:
    assert answers.facts is not None
    return analyse(answers.tables, answers.plan, study=replace(answers.facts, **changes))


def test_both_stand_in_the_report_with_their_tables(study: Path, answers: StudyAnswers) -> None:
    results = results_of(answers)
    assert from_plain(json.loads(to_json(results))) == results
    sections = {section.id: section for section in build_document(results).sections}
    assert {"contamination", "exploration"} <= set(sections)
    tables = csv_tables(results)
    for section in (sections["contamination"], sections["exploration"]):
        named = [f"{name}.csv" for block in section.blocks if (name := getattr(block, "csv", ""))]
        assert named
        assert set(named) <= set(tables)
    shown = repr(sections)
    assert "folds are not stratified" in shown
    (keywords,) = [block for block in sections["exploration"].blocks if getattr(block, "caption", "") == "Keywords"]
    assert isinstance(keywords, Table)
    writers = [row[0].text for row in keywords.rows]
    assert writers == sorted(writers, reverse=True)  # simulated annotators, then the judge
    assert max(row[2].text.count("(") for row in keywords.rows) == 5
    assert "not where from" in shown
    assert results.headline is not None
    problems = " ".join(problem.text for problem in results.headline.problems)
    assert "models/tiny may have read texts before: 6 of 6 items are predicted" in problems
    assert "other" not in problems
    points = pl.read_csv(tables["exploration_points.csv"].encode())
    beside = pl.read_csv(study.with_name("map.csv"))
    assert points["x"].to_list() == pytest.approx(beside["x"].to_list())


def test_without_the_files_nothing_is_said(answers: StudyAnswers) -> None:
    results = results_of(answers, contamination=(), exploration=None)
    assert (contaminations(results), results.exploration) == ((), None)
    assert not {"contamination", "exploration"} & {section.id for section in build_document(results).sections}
    assert not [name for name in csv_tables(results) if name.startswith(("contamination", "exploration"))]
    assert "outdated_file" not in {row.kind for row in results.warning_rows}


def test_files_of_other_texts_are_left_out_with_a_warning(study: Path, answers: StudyAnswers) -> None:
    loaded = load_study(study)
    texts = study_texts(loaded, load_outputs(loaded))
    edited = hash_of([replace(texts[0], text="edited"), *texts[1:]])
    results = results_of(answers, texts=edited, interview=())  # a comment was taken back
    assert (contaminations(results), results.exploration) == ((), None)
    said = [row.text for row in results.warning_rows if row.kind == "outdated_file"]
    assert [
        text.split(".json is about other texts than those the study has now, so it is left out; ") for text in said
    ] == [
        ["contamination", "run spa contamination anew."],
        ["contamination-models__other-f94d", "run spa contamination anew."],
        ["explanations", "run spa explanations anew."],
    ]


def test_each_model_stands_with_its_own_numbers(study: Path, answers: StudyAnswers) -> None:
    results = results_of(answers)
    assert [one.model for one in contaminations(results)] == ["models/tiny", "models/<other>"]
    (section,) = [one for one in build_document(results).sections if one.id == "contamination"]
    assert section.title == "Have models/tiny and models/<other> read these texts before?"
    said = {}
    for block in section.blocks:
        if isinstance(block, Heading) and block.text.startswith("Has "):
            model = block.text
        elif isinstance(block, Paragraph) and "predicted as seen" in block.text:
            said[model] = block.text
    assert said["Has models/tiny read these texts before?"].startswith("Items: 6 of 6 texts")
    assert said["Has models/<other> read these texts before?"].startswith("Items: 0 of 6 texts")
    figures = [block.name for block in section.blocks if isinstance(block, Figure)]
    names = [block.name for block in section.blocks if isinstance(block, Table)]
    assert len({*figures, *names}) == len(figures) + len(names) == 8
    assert "exploration" in {one.name for one in figures_of(results)} >= {*figures}
    assert broken(results) == []
    predicted = pl.read_csv(csv_tables(results)["contamination_predicted.csv"].encode())
    shares = predicted.filter(measure="min_k", source="items").select("model", "share").rows()
    assert shares == [("models/tiny", 1.0), ("models/<other>", 0.0)]
    only = build_document(results_of(answers, contamination=answers.facts.contamination[1:]))  # type: ignore[union-attr]
    assert "Has models/<other> read these texts before?" in {one.title for one in only.sections}


def test_a_model_keeps_its_files_and_takes_no_others(tmp_path: Path) -> None:
    items = [StudyText(source="items", item_id="1", text="a")]

    def write(model: str, score: float) -> str:
        return write_page(found_in(items, [score], model=model), [], tmp_path)[0].name

    first, second = write("a", -4.0), write("b/c", -4.0)
    assert first == "contamination.json"
    assert second.startswith("contamination-b_c-")
    assert (write("b/c", -8.0), write("a", -8.0)) == (second, first)
    assert len(list(tmp_path.glob("*.json"))) == 2
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {Path(first).stem, Path(second).stem}
    (tmp_path / first).write_text("{")
    assert write("d", -4.0) == first  # what nobody can read is written anew


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{}", "model: Field required"),
        ("[", "the file: Invalid JSON"),
        ('{"model": 3}', "model: Input should be a valid string"),
        (None, "not finite"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_a_line(content: str | None, problem: str) -> None:
    if content is None:
        items = [StudyText(source="items", item_id="1", text="a")]
        content = record_text(found_in(items, [-4.5])).replace("-4.5", "NaN", 1)
    with pytest.raises(AnalysisError, match=problem) as one:
        read_record(Sidecar(path=Path(CONTAMINATION), content=content.encode()), Contamination)
    assert str(one.value).startswith("contamination.json: expected what spa contamination writes; ")
    assert "\n" not in str(one.value)


def test_the_first_part_speaks_only_of_what_lies_above_chance() -> None:
    items = [StudyText(source="items", item_id=str(n), text=str(n)) for n in range(20)]
    half = [-4.0, -8.0] * 10
    (line,) = seen_words(found_in(items, half))
    assert line.startswith("models/tiny may have read texts before: 10 of 20 items are predicted as seen; ")
    assert not [*seen_words(found_in(items, [-4.0] * 2 + [-8.0] * 18))]  # chance may give two of 20
    assert not [*seen_words(found_in(items, half, seen=-7))]  # the controls cannot be told apart
    assert not [*seen_words(contamination(scored(items, half), model="m", fingerprint=None, dtype="float32"))]


def test_points_of_a_map_keep_their_places() -> None:
    svg = scatter_plot([("<a>", 0, 0), ("b", 1, 2), ("b", 0.5, 1)], alternative="a map")
    places = [line.split(")")[0].split(",") for line in svg.split("translate(")[1:]]
    (x0, y0), (x1, y1), (x2, y2) = [(float(x), float(y)) for x, y in places[-3:]]
    assert x0 < x1
    assert y0 > y1
    assert (x2, y2) == ((x0 + x1) / 2, (y0 + y1) / 2)
    assert "<a>" not in svg
    assert scatter_plot([("a", 1, 1)], alternative="one point")
