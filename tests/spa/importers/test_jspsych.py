"""jsPsych: objects in a response, places from 0, null, sliders left alone, comparisons, whose trials are whose."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.importers import recognised
from spa.importers.tables import ImportedTables
from tests.spa.importers.foreign import json_file, problem, read

NO_CELL = object()


def trial(number: int, plugin: str, response: Any = NO_CELL, **data: Any) -> dict[str, Any]:
    given = {} if response is NO_CELL else {"response": response}
    own = {"rt": 1500, **given, "trial_type": plugin, "trial_index": number, "plugin_version": "2.1.0"}
    return {"PROLIFIC_PID": "ana", **own, "time_elapsed": 2000, **data}


def as_csv(path: Path, trials: Sequence[dict[str, Any]]) -> Path:
    """Write trials as data.get().csv() does: every cell in quotes, null a word, lists and objects JSON."""
    columns = [*dict.fromkeys(name for one in trials for name in one)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(columns)
        for one in trials:
            cells = [one.get(name, "") for name in columns]
            writer.writerow([cell if isinstance(cell, str) else json.dumps(cell) for cell in cells])
    return path


def told(found: ImportedTables, *names: str, table: str = "ratings") -> list[tuple[object, ...]]:
    return [tuple(row.get(name) for name in names) for row in found.rows[table]]


ABOUT = {"item": "i1", "system": "north"}
PAGE = [
    trial(0, "instructions"),
    trial(1, "html-button-response", 0, task="consent"),
    trial(2, "survey-likert", {"fluency": 4, "Q1": ""}, task="rate", **ABOUT),
    trial(3, "html-slider-response", None, rt=None, task="quality", slider_start=50, **ABOUT),
    trial(4, "html-slider-response", 70, task="quality", slider_start=50, item="i1", system="south"),
]


@pytest.mark.parametrize("kind", ["csv", "json", "people.json", "txt", "jsonl"])
def test_trials_are_read_however_written(kind: str, tmp_path: Path) -> None:
    """As CSV or JSON of a person, a list of people's lists, the lines of JATOS, or a line a trial."""
    path = tmp_path / f"trials.{kind}"
    if kind == "csv":
        as_csv(path, PAGE)
    elif kind in ("json", "people.json"):
        json_file(path, [PAGE] if kind != "json" else PAGE)
    else:
        path.write_text("".join(f"{json.dumps(one)}\n" for one in ([PAGE] if kind == "txt" else PAGE)))
    assert [one.key for one in recognised(path)] == ["jspsych"]
    found = read("jspsych", path)
    assert told(found, "annotator_id", "item_id", "system", "criterion", "score", "missing_reason", "seconds") == [
        ("ana", "i1", "north", "fluency", 4, None, 1.5),
        ("ana", "i1", "north", "rate.Q1", None, "no answer", 1.5),
        ("ana", "i1", "north", "quality", None, "timed out", None),
        ("ana", "i1", "south", "quality", 70, None, 1.5),
    ]
    assert found.skipped == {
        "trials without a response, such as instructions": 1,
        "trials that name no item, such as consent": 1,
    }
    assert any("labels 1 to 5 are scores 0 to 4" in note for note in found.notes)


def test_sliders_left_alone_are_counted(tmp_path: Path) -> None:
    """One that begins beyond its scale stands at an end, which no file says."""
    rows = [("i1", "north", 6), ("i2", "north", 5), ("i1", "south", 7), ("i2", "south", 7)]
    trials = [
        trial(at, "html-slider-response", score, slider_start=50, item=item, system=of)
        for at, (item, of, score) in enumerate(rows)
    ]
    path = as_csv(tmp_path / "t.csv", trials)
    found = read("jspsych", path)
    assert [row["score"] for row in found.rows["ratings"]] == [6, 5, 7, 7]
    assert {row["criterion"] for row in found.rows["ratings"]} == {"overall"}
    (said,) = (note for note in found.notes if note.startswith("perhaps untouched"))
    assert "2 of 4 answers to overall stand at 7, where its slider begins if its ends are 5 and 7" in said
    assert "say them with --slider-ends LOW:HIGH" in problem("jspsych", path, without_untouched=True)
    left = read("jspsych", path, without_untouched=True, ends=(1.0, 7.0))
    assert told(left, "score", "missing_reason")[2:] == [(None, "slider not moved")] * 2
    none = read("jspsych", path, ends=(0.0, 100.0))
    assert not any(note.startswith("perhaps untouched") for note in none.notes)
    inside = [{**one, "slider_start": 6} for one in trials]
    (said,) = (note for note in read("jspsych", as_csv(path, inside)).notes if note.startswith("perhaps"))
    assert "1 of 4 answers to overall stand at 6, where its slider begins; they count" in said


def test_places_and_words_of_comparisons(tmp_path: Path) -> None:
    """What a place counts is asked; a scale beside it keeps its numbers, consent is no comparison."""
    sides = {"item": "i1", "left": "north", "right": "south"}
    trials = [
        trial(0, "html-button-response", 0, task="consent"),
        trial(1, "html-button-response", 0, task="better", **sides),
        trial(2, "html-button-response", 2, task="better", **{**sides, "item": "i2"}),
        trial(3, "html-button-response", None, rt=None, task="better", **{**sides, "item": "i3"}),
        trial(4, "html-keyboard-response", "j", task="key", **sides),
        trial(6, "html-button-response", 1, task="better", item="i4"),
        trial(5, "survey-likert", {"fluency": 1}, **ABOUT),
    ]
    path = as_csv(tmp_path / "t.csv", trials)
    line = problem("jspsych", path, sides=("left", "right"))
    assert "better: expected words whose meaning is known" in line
    assert "--value '0=?'" in line  # whether 0 is the first place or a tie is not in the file
    values = {"0": "x", "1": "y", "2": "tie", "j": "y"}
    found = read("jspsych", path, sides=("left", "right"), values=values)
    names = ("item_id", "system_x", "system_y", "criterion", "winner", "missing_reason")
    assert told(found, *names, table="choices") == [
        ("i1", "north", "south", "better", "x", None),
        ("i2", "north", "south", "better", "tie", None),
        ("i3", "north", "south", "better", None, "timed out"),
        ("i1", "north", "south", "key", "y", None),
    ]
    assert told(found, "criterion", "score") == [("fluency", 1)]
    assert found.skipped["trials that name no systems to compare"] == 1
    alone = read("jspsych", path)
    assert alone.skipped["trials that name no system"] == 5
    assert not alone.rows["choices"]


def test_words_and_lists(tmp_path: Path) -> None:
    """Words are scores by --value; several answers in one are told and not read."""
    trials = [
        trial(1, "survey-multi-choice", {"fit": "good", "all": "bad"}, task="a", **ABOUT),
        trial(2, "survey-multi-select", {"tags": ["x", "y"]}, task="b", **ABOUT),
        trial(3, "survey-text", {"why": "hm"}, task="c", **ABOUT),
    ]
    path = json_file(tmp_path / "t.json", trials)
    found = read("jspsych", path, values={"good": "2", "bad": "0"})
    assert told(found, "criterion", "score") == [("fit", 2), ("all", 0)]
    assert {note.partition(" (")[0].partition(",")[0] for note in found.notes if note.startswith("not read")} == {
        "not read: tags",
        "not read: why",
    }
    assert "expected answers, got none; not read: " in problem("jspsych", path, only=("tags",))


def test_a_key_of_two_tasks_is_two_questions(tmp_path: Path) -> None:
    trials = [trial(at, "survey-likert", {"fit": at, "Q0": 1}, task=task, **ABOUT) for at, task in enumerate("ab")]
    found = read("jspsych", json_file(tmp_path / "t.json", trials))
    assert [row["criterion"] for row in found.rows["ratings"]] == ["a.fit", "a.Q0", "b.fit", "b.Q0"]


def test_people_items_and_systems_are_asked_for(tmp_path: Path) -> None:
    """Each in one line that names the option, in a report as well."""
    one = trial(1, "survey-likert", {"fit": 3}, **ABOUT)
    nameless = {name: value for name, value in one.items() if name != "PROLIFIC_PID"}
    path = json_file(tmp_path / "bo.json", [nameless])
    assert "--annotator COLUMN, or --annotator '{file}' if each file is a person" in problem("jspsych", path)
    assert told(read("jspsych", path, person="{file}"), "annotator_id") == [("bo",)]
    assert "--annotator who: no such column" in problem("jspsych", path, person="who")
    path = json_file(tmp_path / "t.json", [{name: value for name, value in one.items() if name != "item"}])
    assert "say to `spa import jspsych` --item-column COLUMN" in problem("jspsych", path)
    path = json_file(tmp_path / "t.json", [{name: value for name, value in one.items() if name != "system"}])
    line = problem("jspsych", path)
    assert "fit: expected which system it rates, got none in system" in line
    assert "--system-column COLUMN, or --compared X,Y" in line
    assert told(read("jspsych", path, of={"fit": "south"}), "system") == [("south",)]
    done = CliRunner().invoke(main, ["report", str(path), "--out", str(tmp_path / "report")])
    assert done.exit_code == 1
    assert "`spa import jspsych` --system-column" in done.output


def test_broken_trials_are_one_line(tmp_path: Path) -> None:
    path = json_file(tmp_path / "t.json", [trial(1, "html-slider-response", "much", slider_start=1, **ABOUT)])
    assert "overall: expected a number, got 'much'" in problem("jspsych", path)
    assert "expected a list of trials" in problem("jspsych", json_file(tmp_path / "o.json", "trials"))
    empty = json_file(tmp_path / "e.json", [trial(1, "instructions", **ABOUT)])
    assert "expected trials with a response, got none" in problem("jspsych", empty)
    done = CliRunner().invoke(main, ["import", "jspsych", str(path), "--slider-ends", "7:1", "--out", "x"])
    assert "expected LOW:HIGH, such as 0:100, got '7:1'" in done.output


def test_a_folder_of_a_file_a_person(tmp_path: Path) -> None:
    for who in ("ana", "bo"):
        as_csv(tmp_path / f"{who}.csv", [trial(1, "survey-likert", {"fit": 3}, **ABOUT)])
    assert [one.key for one in recognised(tmp_path)] == ["jspsych"]
    assert told(read("jspsych", tmp_path, person="{file}"), "annotator_id") == [("ana",), ("bo",)]
