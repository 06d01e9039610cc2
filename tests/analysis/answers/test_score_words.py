"""Scores and ranks in words, no answers, and ratings with a column a criterion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.answers.options import Reading
from analysis.answers.plan import Plan
from analysis.answers.tables import check_frames, read_tables
from spa.errors import AnalysisError
from spa.tables.scale_words import proposed_numbers
from tests.analysis.answers.refusals import pair, refusal
from tests.analysis.made_answers import analyse

CASES = Path(__file__).parents[3].parent / "shared" / "cases"
MISSING = ["NA", "N/A", "n/a", "#N/A", "None", "none", "null", "NULL", "NaN", "-", ".", "?", "<NA>", "", None]


@pytest.mark.parametrize("word", MISSING)
@pytest.mark.parametrize(
    ("kind", "answer"), [("ratings", "score"), ("choices", "winner"), ("preferences", "preference"), ("orders", "rank")]
)
def test_what_people_write_for_no_answer_is_missing_and_told(word: str | None, kind: str, answer: str) -> None:
    right = {"winner": "x", "preference": "0.7"}.get(answer, "1")
    rows: dict[str, list[Any]] = {"annotator_id": ["a", "b", "c"], "item_id": ["i"] * 3, answer: [right, word, right]}
    if kind == "preferences":
        del rows["item_id"]
    named = (
        {"system": ["None"] * 3}
        if kind in ("ratings", "orders")
        else {"system_x": ["nil"] * 3, "system_y": ["--x"] * 3}
    )
    tables = check_frames({kind: pl.DataFrame(rows | named)}, Reading())
    table = getattr(tables, kind)
    assert table["value"].null_count() == 1
    assert table["missing_reason"].to_list()[1] == (word or "empty")
    assert table[next(iter(named))].to_list() == next(iter(named.values()))


def test_a_winner_called_none_is_asked_about() -> None:
    table = pair(["None", "None", "null"], ("None", "beta"))
    assert "--sides names or places" in refusal(table, "choices")
    found = check_frames({"choices": pl.DataFrame(table)}, Reading(sides="names")).choices
    assert found is not None
    assert found["value"].to_list() == [1.0, 0.0, None]


def test_a_system_called_na_is_kept_where_that_is_said() -> None:
    table = {"annotator_id": ["a"] * 2, "item_id": ["i"] * 2, "system": ["NA", "b"], "score": ["3", "NA"]}
    assert "keep it with --name NA" in refusal(table, "ratings")
    kept = check_frames({"ratings": pl.DataFrame(table)}, Reading(names=("NA",))).ratings
    assert kept is not None
    assert kept["system"].to_list() == ["NA", "b"]
    assert kept["value"].to_list() == [3.0, None]


def test_scores_in_words_come_with_numbers_to_paste() -> None:
    table = {
        "annotator_id": ["a"] * 3,
        "item_id": ["i", "j", "k"],
        "system": ["s"] * 3,
        "score": ["Good", "Very bad", "3"],
    }
    line = refusal(table, "ratings")
    assert "--value 'Very bad=1' --value Good=4" in line
    kept = check_frames({"ratings": pl.DataFrame(table)}, Reading(values={"Very bad": "1", "good": "4"})).ratings
    assert kept is not None
    assert kept["value"].to_list() == [4.0, 1.0, 3.0]
    assert "say what" not in refusal(table | {"score": ["4,5", "3", "2"]}, "ratings")


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["Agree", "Strongly disagree"], ["1", "4"]),
        (["yes", "no"], ["0", "1"]),
        (["5 (best)", "1 (worst)"], ["1", "5"]),
        (["Sehr gut", "schlecht"], ["2", "5"]),
        (["blue", "green"], ["?", "?"]),
    ],
)
def test_numbers_of_words_are_those_of_a_known_scale(words: list[str], numbers: list[str]) -> None:
    assert list(proposed_numbers(words).values()) == numbers


def test_columns_of_criteria_are_rows() -> None:
    wide = {
        "annotator_id": ["a", "b"],
        "item_id": ["i"] * 2,
        "system": ["s"] * 2,
        "fluency": [3, 4],
        "faith": [5.5, None],
    }
    line = refusal(wide, "ratings")
    assert line.endswith("where these are scores of criteria: --criteria fluency,faith")
    got = check_frames({"ratings": pl.DataFrame(wide)}, Reading(criteria=("fluency", "faith"))).ratings
    assert got is not None
    long = {(r["annotator_id"], str(r["criterion"])): r["value"] for r in got.to_dicts()}
    assert long == {("a", "fluency"): 3, ("b", "fluency"): 4, ("a", "faith"): 5.5, ("b", "faith"): None}
    assert got["row"].to_list() == [1, 2, 1, 2]


@pytest.mark.parametrize(
    ("criteria", "mapping", "expected"),
    [
        (("system", "fluency"), {}, "system: expected columns of scores"),
        (("fluency", "fluency"), {}, "fluency: expected columns of scores, each once"),
        (("fluency",), {"fluency": "annotator_id", "annotator_id": "who"}, "a column is one thing"),
        (("flu",), {}, "flu: expected a column of that name"),
    ],
)
def test_a_column_is_one_thing(criteria: tuple[str, ...], mapping: dict[str, str], expected: str) -> None:
    wide = {"annotator_id": ["a"], "item_id": ["i"], "system": ["s"], "fluency": [3]}
    assert expected in refusal(wide, "ratings", criteria=criteria, mapping=mapping)


def test_number_columns_beside_a_score(tmp_path: Path) -> None:
    """Columns of numbers beside a score are not dropped without a line."""
    path = tmp_path / "r.csv"
    path.write_text(
        "annotator_id,item_id,system,score,fluency,faith,seconds,note\na,i,s,3,2,5,9,x\nb,i,s,4,1,N/A,8,y\n"
    )
    (found,) = read_tables({"ratings": path}, Reading()).inputs
    assert found.notes == ("columns that look like scores are not read: fluency, faith (see criteria)",)
    (found,) = read_tables(
        {"ratings": path}, Reading(mapping={"score": "overall"}, criteria=("overall", "faith"))
    ).inputs
    assert found.notes[0] == "columns that look like scores are not read: fluency (see criteria)"
    path.write_text(path.read_text().replace("fluency", "number of errors"))
    (found,) = read_tables({"ratings": path}, Reading()).inputs
    assert found.notes == ("columns that look like scores are not read: number of errors, faith (see criteria)",)


def test_words_of_a_long_table_give_its_means() -> None:
    path = CASES / "turn3" / "words_in_long_table" / "words.csv"
    if not path.exists():
        pytest.skip("the shared cases are not here")
    words = ("Very bad", "Bad", "Neutral", "Good", "Very good")
    reading = Reading(values={word: str(n) for n, word in enumerate(words, start=1)})
    results: dict[str, Any] = analyse(read_tables({"ratings": path}, reading), Plan())
    assert {one["system"]: round(one["mean"], 4) for one in results["ratings"]["means"]} == {
        "alpha": 3.7222,
        "beta": 3.0,
    }


def test_ranks_from_nought_come_with_ranks_from_one() -> None:
    table = {"annotator_id": ["a"] * 3, "item_id": ["i"] * 3, "system": ["s", "t", "u"], "rank": [0, 2, 1]}
    assert "--value 0=1 --value 1=2 --value 2=3" in refusal(table, "orders")
    found = check_frames({"orders": pl.DataFrame(table)}, Reading(values={"0": "1", "1": "2", "2": "3"})).orders
    assert found is not None
    assert found["value"].to_list() == [1, 3, 2]


def test_criteria_proposed_beside_missing_columns() -> None:
    """Criteria are proposed beside other columns that are missing."""
    table = {"rater": ["1", "2"], "item_id": ["i"] * 2, "system": ["s"] * 2, "fluency": [3, 4]}
    lines = refusal(table, "ratings").splitlines()
    assert "column annotator_id is missing" in lines[0]
    assert lines[1].endswith("--criteria fluency")


def test_a_mapping_of_numbers_holds_however_they_are_written() -> None:
    values = {"1": "x", "2": "y", "0": "tie"}
    found = check_frames({"choices": pl.DataFrame(pair(["1.0", "2", "0.0"]))}, Reading(values=values)).choices
    assert found is not None
    assert found["value"].to_list() == [1.0, 0.0, 0.5]


def test_a_criterion_called_na_is_told(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("annotator_id,item_id,system,score,criterion\na,i,s,3,NA\nb,i,s,4,NA\n")
    told = read_tables({"ratings": path}, Reading())
    assert "criterion NA is read as no criterion" in told.inputs[0].notes[0]
    kept = read_tables({"ratings": path}, Reading(names=("NA",)))
    assert kept.inputs[0].notes == ()
    assert kept.ratings is not None
    assert {*kept.ratings["criterion"].to_list()} == {"NA"}


def test_explained_words_leave_a_trace() -> None:
    """Words explained leave a trace and words not there are refused."""
    table = pl.DataFrame({"annotator_id": ["a", "a"], "item_id": ["1", "2"], "system": ["s", "s"], "score": ["1", "5"]})
    found = check_frames({"ratings": table}, Reading(values={"1": "5", "5": "1"}))
    assert found.inputs[0].notes == ("1 counts 5 (1x), 5 counts 1 (1x)",)
    with pytest.raises(AnalysisError, match="no answer is this word"):
        check_frames({"ratings": table}, Reading(values={"foo": "3"}))


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["87%", "12 %", "0%"], "got '87%'; write it without percent signs"),
        (["3/5", "5/5", "1/5"], "--value 3/5=3 --value 5/5=5 --value 1/5=1"),
        (["★★★", "★", "★★☆"], "--value '★★★=3' --value '★=1' --value '★★☆=2'"),
        (["A", "B", "C"], "--value 'A=?' --value 'B=?' --value 'C=?' (write a value for each ?)"),
    ],
)
def test_scores_with_signs_say_what_to_do(cells: list[str], told: str) -> None:
    frame = {"annotator_id": ["a"] * 3, "system": ["s", "t", "u"], "item_id": ["i"] * 3, "score": cells}
    assert told in refusal(frame, "ratings")
