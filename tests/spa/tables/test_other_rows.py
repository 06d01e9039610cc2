"""Names of columns in more rows than one: said where a file is read for a study or a report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.answers.options import Reading
from analysis.answers.recognised import recognise_tables
from spa.errors import AnalysisError, StudyError
from spa.starting.sheets import read_sheet
from spa.tables.options import TableOptions
from spa.tables.other_rows import header_problem

QUALTRICS = """\
StartDate,Status,ResponseId,Q1_1,Q1_2
Start Date,Response Type,Response ID,How fluent? - A,How fluent? - B
"{""ImportId"":""startDate""}","{""ImportId"":""status""}","{""ImportId"":""_recordId""}","{""ImportId"":""QID1_1""}","{""ImportId"":""QID1_2""}"
2024-01-01,0,R_1,3,4
2024-01-02,0,R_2,5,4
"""
MERGED = ",,alpha,,beta,\nrater,item,fluency,adequacy,fluency,adequacy\n" + "".join(
    f"{who},{item},3,4,{item},5\n" for who in "ab" for item in (1, 2, 3)
)
SURVEY = "Respondent ID,Rate story A,,Rate story B,\n,Fluency,Coherence,Fluency,Coherence\n" + "".join(
    f"{114 + n},3,{n},4,5\n" for n in range(1, 5)
)
TEXTS = ",alpha,,beta,\nid,text,why,text,why\n" + 3 * "1,A text of it,because of it,Another one,a reason\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (QUALTRICS, "got an export of Qualtrics with three; spa import qualtrics reads it"),
        (
            MERGED,
            "got more in row 2 (item, fluency, adequacy, fluency, adequacy); write both rows as one, such as alpha f",
        ),
        (SURVEY, "got more in row 2 (Fluency, Coherence, Fluency, Coherence); write both rows as one"),
    ],
)
def test_headers_in_several_rows_are_said(tmp_path: Path, text: str, said: str) -> None:
    """One line says it, of outputs and of answers alike, with what to do."""
    path = tmp_path / "survey.csv"
    path.write_text(text)
    with pytest.raises(StudyError) as study:
        read_sheet(path, frozenset(), TableOptions())
    with pytest.raises(AnalysisError) as report:
        recognise_tables([path], Reading())
    for error in (study.value, report.value):
        (line,) = error.problems
        assert said in line
        assert len(line) < 500


def test_annotations_of_pearmut_are_called_so(tmp_path: Path) -> None:
    """They hold outputs and answers both, a line a document: neither a study nor a report is made of them unasked."""
    path = tmp_path / "annotations.jsonl"
    row = {"annotation": [{"a": {"score": 9}}], "item": [{"src": "x", "tgt": {"a": "y"}}], "user_id": "u", "item_i": 0}
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(StudyError, match="expected the systems' outputs, got annotations of Pearmut"):
        read_sheet(path, frozenset(), TableOptions())
    with pytest.raises(AnalysisError, match="expected a row an answer, got annotations of Pearmut"):
        recognise_tables([path], Reading())
    sheet, _ = read_sheet(path, frozenset(("item[0].tgt.a",)), TableOptions())
    assert sheet.cells("item[0].tgt.a") == ["y"]


def test_headers_missing_above_texts_are_said(tmp_path: Path) -> None:
    """Texts below no name would be lost: an index alone has none."""
    (tmp_path / "a.csv").write_text(TEXTS)
    with pytest.raises(StudyError, match="got none of column 3, column 5; write it into the header"):
        read_sheet(tmp_path / "a.csv", frozenset(), TableOptions())
    (tmp_path / "a.csv").write_text(",alpha,beta\n0,A text of it,Another one\n1,More of it,And more\n")
    sheet, _ = read_sheet(tmp_path / "a.csv", frozenset(), TableOptions())
    assert [*sheet.columns] == ["alpha", "beta"]


@pytest.mark.parametrize(
    "columns",
    [
        {"a": ["n/a", "3", "4", "5"], "b": ["N/A", "2", "3", "3"]},  # nobody answered
        {"a": ["skip", "3", "4", "5"], "b": ["skip", "2", "3", "3"]},  # one word
        {"a": ["good", "bad", "good", "good"], "b": ["ok", "bad", "ok", "ok"]},
        {"a": ["low", "3", "4", "5"], "b": ["high", "2", "3", "3"], "c": ["1", "2", "3", "4"]},  # the row has an answer
        {"a": [], "b": []},
    ],
)
def test_headers_are_no_answers_in_words(columns: dict[str, list[str]]) -> None:
    assert header_problem(columns, 2) is None
