"""SurveyJS: matrices, rankings and panels of survey.data; what is absent; whose responses, of which item and system."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from spa.cli import main
from spa.importers import recognised
from spa.importers.tables import ImportedTables
from tests.spa.importers.foreign import json_file, lines_file, problem, read

NAMES = re.compile(r"(?P<item>i\d)(?:_(?P<system>north|south))?_(?P<criterion>.+)")


def told(found: ImportedTables, *names: str, table: str = "ratings") -> list[tuple[object, ...]]:
    return [tuple(row.get(name) for name in names) for row in found.rows[table]]


def response(who: str = "ana", **given: Any) -> dict[str, Any]:
    return {"PROLIFIC_PID": who, **given}


def definition(folder: Path, *elements: dict[str, Any]) -> Path:
    return json_file(folder / "survey.json", {"title": "T", "pages": [{"name": "p", "elements": [*elements]}]})


def test_a_matrix_has_a_key_a_system(tmp_path: Path) -> None:
    """A key that one response lacks is missing there; null as well."""
    given = [
        response(i1_fluency={"north": 5, "south": 2}, age=31),
        response("bo", i1_fluency={"north": 4}),
        response("cy", i1_fluency=None),
    ]
    found = read("surveyjs", json_file(tmp_path / "r.json", given), names=NAMES)
    assert told(found, "annotator_id", "item_id", "system", "criterion", "score", "missing_reason") == [
        ("ana", "i1", "north", "fluency", 5, None),
        ("ana", "i1", "south", "fluency", 2, None),
        ("bo", "i1", "north", "fluency", 4, None),
        ("bo", "i1", "south", "fluency", None, "no answer"),
        ("cy", "i1", "north", "fluency", None, "no answer"),
        ("cy", "i1", "south", "fluency", None, "no answer"),
    ]
    assert "not answers about systems: age" in found.notes
    assert found.skipped == {}


def test_keys_are_criteria_where_a_system_is_named(tmp_path: Path) -> None:
    """By a column of the response; columns within rows are criteria in any case."""
    one = response(item="i1", system="north", quality={"fluency": 5, "faith": 2})
    names = ("item_id", "system", "criterion", "score")
    found = read("surveyjs", json_file(tmp_path / "r.json", [one]))
    assert told(found, *names) == [("i1", "north", "fluency", 5), ("i1", "north", "faith", 2)]
    nested = response(item="i1", quality={"north": {"fluency": 5}, "south": {"fluency": 2, "faith": 1}})
    found = read("surveyjs", json_file(tmp_path / "r.json", [nested]))
    assert told(found, *names)[:3] == [
        ("i1", "north", "fluency", 5),
        ("i1", "south", "fluency", 2),
        ("i1", "south", "faith", 1),
    ]
    two = response(item="i1", system="north", a={"fit": 5}, b={"fit": 2})
    found = read("surveyjs", json_file(tmp_path / "r.json", [two]))
    assert told(found, "criterion", "score") == [("a.fit", 5), ("b.fit", 2)]


def test_rankings_are_lists(tmp_path: Path) -> None:
    """Best first: where the definition says so, or an option; boxes that were ticked are lists, too."""
    given = [response(i1_rank=["south", "north"], langs=["de"]), response("bo", langs=[])]
    path = lines_file(tmp_path / "r.jsonl", given)
    line = problem("surveyjs", path, names=NAMES)
    assert "i1_rank: a list is a ranking, best first, or boxes that were ticked" in line
    assert "--ranking i1_rank" in line
    expected = [("ana", "i1", "south", "rank", 1), ("ana", "i1", "north", "rank", 2)]
    names = ("annotator_id", "item_id", "system", "criterion", "rank")
    found = read("surveyjs", path, names=NAMES, rankings=("i1_rank",), only=("i1_rank",))
    assert told(found, *names, table="orders") == expected
    assert found.skipped == {"rankings that were not given, or left as they stood, which SurveyJS records alike": 1}
    definition(tmp_path, {"type": "ranking", "name": "i1_rank"}, {"type": "checkbox", "name": "langs"})
    assert [one.key for one in recognised(path)] == ["surveyjs"]
    assert told(read("surveyjs", path, names=NAMES), *names, table="orders") == expected
    twice = json_file(tmp_path / "t.json", [response(i1_rank=["south", "south"])])
    assert "expected each system once, best first, got south, south" in problem("surveyjs", twice, names=NAMES)
    assert "--ranking x: no such question" in problem("surveyjs", path, names=NAMES, rankings=("x",))


def test_a_definition_says_what_was_asked(tmp_path: Path) -> None:
    """A question that nobody answered is missing, texts are no scores, a default value may be untouched."""
    folder = tmp_path / "survey"
    inside = {
        "type": "panel",
        "name": "box",
        "elements": [{"type": "rating", "name": "x", "valueName": "i1_south_fit"}],
    }
    elements = (
        {"type": "rating", "name": "i1_north_fit", "defaultValue": 3},
        inside,
        {"type": "matrix", "name": "i2_fit", "rows": ["north", {"value": "south", "text": "S"}]},
        {"type": "text", "name": "i1_north_age"},
    )
    folder.mkdir()
    definition(folder, *elements)
    given = [
        response(i1_north_fit=3, i1_north_age=44, **{"i1_north_fit-Comment": "fine"}),
        response("bo", i1_north_fit=5),
    ]
    json_file(folder / "r.json", given)
    assert [one.key for one in recognised(folder)] == ["surveyjs"]
    found = read("surveyjs", folder, names=NAMES)
    names = ("annotator_id", "item_id", "system", "criterion", "score", "explanation")
    assert [row for row in told(found, *names) if row[0] == "ana"] == [
        ("ana", "i1", "north", "fit", 3, "fine"),
        ("ana", "i1", "south", "fit", None, None),
        ("ana", "i2", "north", "fit", None, None),
        ("ana", "i2", "south", "fit", None, None),
    ]
    assert found.missing == {"ratings": (6, 8)}
    assert any("1 of 2 answers to i1_north_fit are its default value 3" in note for note in found.notes)
    assert "not answers about systems: i1_north_age" in found.notes
    named = read("surveyjs", folder / "r.json", survey=folder / "survey.json", names=NAMES)
    assert named.rows == found.rows


def test_comparisons_and_words(tmp_path: Path) -> None:
    given = [
        response(item="i1", best="first", a="x"),
        response("bo", item="i1", best="same"),
        response("cy", item="i1"),
    ]
    path = json_file(tmp_path / "r.json", given)
    assert "best: expected words whose meaning is known" in problem("surveyjs", path, sides=("north", "south"))
    values = {"first": "x", "same": "tie"}
    found = read("surveyjs", path, sides=("north", "south"), values=values, only=("best",))
    assert told(found, "annotator_id", "system_x", "system_y", "criterion", "winner", table="choices") == [
        ("ana", "north", "south", "best", "x"),
        ("bo", "north", "south", "best", "tie"),
        ("cy", "north", "south", "best", None),
    ]
    rated = json_file(tmp_path / "s.json", [response(item="i1", system="north", fit="good", ok=True)])
    found = read("surveyjs", rated, values={"good": "2", "true": "1"})
    assert told(found, "criterion", "score") == [("fit", 2), ("ok", 1)]


def test_panels_stand_within_a_response(tmp_path: Path) -> None:
    """Each with item and system of its own, a value that one panel lacks is missing in it alone."""
    panels = [{"item": "i1", "system": "north", "fit": 4}, {"item": "i1", "system": "south"}]
    found = read("surveyjs", json_file(tmp_path / "r.json", [response(age=31, outputs=panels)]))
    assert told(found, "annotator_id", "item_id", "system", "criterion", "score") == [
        ("ana", "i1", "north", "fit", 4),
        ("ana", "i1", "south", "fit", None),
    ]


def test_plain_data_and_csv_are_read(tmp_path: Path) -> None:
    """What getPlainData gives, of one person or of several; JSON in the cells of a table."""
    parts = [
        {"name": "i1_fit", "title": "?", "value": {"north": 3}, "displayValue": {}, "isNode": True, "data": []},
        {"name": "i1_skip", "title": "?", "displayValue": "", "isNode": False},
    ]
    for name, whole in (("ana.json", parts), ("all.json", [parts, parts])):
        path = json_file(tmp_path / name, whole)
        assert [one.key for one in recognised(path)] == ["surveyjs"]
        found = read("surveyjs", path, names=NAMES, anonymous=True)
        assert told(found, "annotator_id", "score")[:1] == [("response 1", 3)]
        assert len(found.rows["ratings"]) == (1 if name == "ana.json" else 2)
    assert told(read("surveyjs", tmp_path / "ana.json", names=NAMES, person="{file}"), "annotator_id") == [("ana",)]
    table = tmp_path / "t.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([["subject", "i1_fit"], ["bo", json.dumps({"north": 3})], ["cy", ""]])
    assert told(read("surveyjs", table, names=NAMES), "annotator_id", "score") == [("bo", 3), ("cy", None)]


def test_people_items_and_systems_are_asked_of_surveys(tmp_path: Path) -> None:
    """Each in one line that names the option, in a report as well."""
    path = json_file(tmp_path / "r.json", [{"q": {"north": 3}}])
    assert "--annotator '{file}' if each file is a person, or --anonymous" in problem("surveyjs", path)
    line = problem("surveyjs", path, anonymous=True)
    assert "q: expected which item it is about, got none; say to `spa import surveyjs` --item-column" in line
    single = json_file(tmp_path / "s.json", [response(item="i1", fit=3)])
    line = problem("surveyjs", single)
    assert "expected answers about systems, got none in fit" in line
    assert "--system-column COLUMN, --of QUESTION=SYSTEM, --compared X,Y" in line
    assert told(read("surveyjs", single, of={"fit": "north"}), "system", "score") == [("north", 3)]
    definition(tmp_path, {"type": "rating", "name": "fit"})
    done = CliRunner().invoke(main, ["report", str(single), "--out", str(tmp_path / "report")])
    assert done.exit_code == 1
    assert "`spa import surveyjs`" in done.output


def test_broken_responses_are_one_line(tmp_path: Path) -> None:
    path = json_file(tmp_path / "r.json", [response(""), response()])
    assert "response 1: expected who answered in PROLIFIC_PID, got nothing" in problem("surveyjs", path)
    assert "expected responses, got none" in problem("surveyjs", json_file(path, []))
    assert "expected a list of responses" in problem("surveyjs", json_file(path, "x"))
    other = json_file(tmp_path / "o.json", {"pages": []})
    line = problem("surveyjs", json_file(path, [response()]), survey=other)
    assert "expected the definition of a survey, with questions, got none" in line
    done = CliRunner().invoke(main, ["import", "surveyjs", str(path), "--names", "(?P<it>.)", "--out", "x"])
    assert "expected groups (?P<item>...), (?P<system>...), (?P<criterion>...)" in done.output


def test_names_in_other_capitals_are_told(tmp_path: Path) -> None:
    """Under pseudonyms nobody sees them any more; where ids are kept the report tells them."""
    path = json_file(tmp_path / "r.json", [response("Ana", i1_fit={"north": 5}), response("ana", i1_fit={"north": 1})])
    words = ["import", "surveyjs", str(path), "--names", NAMES.pattern, "--out"]
    told = CliRunner().invoke(main, [*words, str(tmp_path / "pseudonyms")]).output
    assert "annotators: ana and Ana may be one, and count as two" in told
    assert "--same 'annotator_id:Ana=ana'" in told
    kept = CliRunner().invoke(main, [*words, str(tmp_path / "kept"), "--keep-ids"]).output
    assert "2 rows" in kept
    assert "may be one" not in kept


def test_words_asked_about_are_those_without_a_meaning(tmp_path: Path) -> None:
    given = [response("ana", i1_better="north"), response("bo", i1_better="neither")]
    line = problem("surveyjs", json_file(tmp_path / "r.json", given), names=NAMES, sides=("north", "south"))
    assert "--value 'neither=" in line
    assert "--value 'north=" not in line
