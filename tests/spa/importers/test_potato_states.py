"""POTATO 2.x: values, sides of the screen, rankings, points that were taken back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spa.errors import SpaError
from spa.importers import format_of, recognised
from spa.importers.answer_format import ImportRequest
from spa.importers.tables import ImportedTables
from tests.spa.importers.foreign import json_file


def state(folder: Path, who: str, answers: dict[str, list[tuple[str, str, str]]], **more: Any) -> None:
    """Write a person's state: of each item question, name and value."""
    values = {
        item: [[{"schema": schema, "name": name}, value] for schema, name, value in given]
        for item, given in answers.items()
    }
    kept = {"user_id": who, "instance_id_ordering": list(answers), "instance_id_to_label_to_value": values, **more}
    json_file(folder / "annotation_output" / who / "user_state.json", kept)


def read(folder: Path, mapping: str, **options: Any) -> ImportedTables:
    path = folder / "import.toml"
    path.write_text(mapping)
    return format_of("potato").read(ImportRequest(paths=(folder,), mapping=path, options=options))


def problem(folder: Path, mapping: str) -> str:
    with pytest.raises(SpaError) as refused:
        read(folder, mapping)
    return str(refused.value)


TWO = 'systems = ["alpha", "beta"]\n'


def test_the_value_of_a_point_is_its_score(tmp_path: Path) -> None:
    """Whatever the point is called; a question of the second text ends in _2; an item left blank is missing."""
    shown = {"s1": {"fluency": ["1"]}, "s2": {"fluency": ["1"]}, "s3": {"fluency": ["1"]}}
    answers = {"s1": [("fluency", "scale_4", "4"), ("fluency_2", "2", "2")], "s2": [("fluency", "5", "5")]}
    state(tmp_path, "Ana", answers, instance_id_to_presentation_order=shown)
    found = read(tmp_path, TWO + 'criteria = ["fluency"]\n')
    assert {
        (row["item_id"], row["system"]): (row["score"], row["missing_reason"]) for row in found.rows["ratings"]
    } == {
        ("s1", "alpha"): (4, None),
        ("s1", "beta"): (2, None),
        ("s2", "alpha"): (5, None),
        ("s2", "beta"): (None, "empty"),
        ("s3", "alpha"): (None, "empty"),
        ("s3", "beta"): (None, "empty"),
    }


def test_a_question_nobody_was_asked_is_not_missing(tmp_path: Path) -> None:
    state(tmp_path, "Ana", {"s1": [("fluency", "4", "4")]})
    found = read(tmp_path, TWO + 'criteria = ["fluency"]\n')
    assert [(row["system"], row["score"]) for row in found.rows["ratings"]] == [("alpha", 4)]


@pytest.mark.parametrize("config", [True, False])
def test_sides_are_turned_back_to_the_texts(config: bool, tmp_path: Path) -> None:
    """Negative is left; without an order the first text stood at A."""
    if config:
        pytest.importorskip("yaml")
        write_config(tmp_path, pref="text")
    answers = {
        item: [("pref", "selection", side)] for item, side in (("s1", "B"), ("s2", "A"), ("s3", "tie"), ("s4", "B"))
    }
    orders = {"s1": {"pref": [1, 0]}, "s2": {"pref": [0, 1]}, "s3": {"pref": [1, 0]}}
    state(tmp_path, "Ana", answers, instance_id_to_presentation_order=orders)
    found = read(tmp_path, TWO + 'criteria = ["pref"]\n')
    assert {row["item_id"]: row["winner"] for row in found.rows["choices"]} == {
        "s1": "x",
        "s2": "x",
        "s3": "tie",
        "s4": "y",
    }
    assert {(row["system_x"], row["system_y"]) for row in found.rows["choices"]} == {("alpha", "beta")}


def write_config(folder: Path, **items_keys: str) -> None:
    schemes = "".join(
        f"- {{annotation_type: pairwise, name: {name}, items_key: {key}}}\n" for name, key in items_keys.items()
    )
    (folder / "config.yaml").write_text(f"annotation_schemes:\n{schemes}")


def test_orders_of_all_questions_about_the_same_texts_count(tmp_path: Path) -> None:
    """Two questions that both turn the texts turn them back to where they were; others about other texts do not."""
    pytest.importorskip("yaml")
    given = [("pref", "selection", "B"), ("degree", "scale_value", "2"), ("other", "selection", "A")]
    orders = {"s1": {"pref": [1, 0]}, "s2": {"pref": [1, 0], "degree": [1, 0]}, "s3": {"other": [1, 0]}}
    state(tmp_path, "Ana", dict.fromkeys(orders, given), instance_id_to_presentation_order=orders)
    mapping = TWO + 'criteria = ["pref", "degree", "other"]\n'
    assert "expected POTATO's config.yaml beside annotation_output" in problem(tmp_path, mapping)
    write_config(tmp_path, pref="text", degree="text", other="second")
    found = read(tmp_path, mapping)
    assert {(row["item_id"], row["criterion"]): row["winner"] for row in found.rows["choices"]} == {
        ("s1", "pref"): "x",
        ("s1", "degree"): "x",
        ("s1", "other"): "x",
        ("s2", "pref"): "y",
        ("s2", "degree"): "y",
        ("s2", "other"): "x",
        ("s3", "pref"): "y",
        ("s3", "degree"): "y",
        ("s3", "other"): "y",
    }
    assert any("choices by their sign alone" in note for note in found.notes)


def test_pairs_asked_in_several_ways_are_criteria(tmp_path: Path) -> None:
    state(tmp_path, "Ana", {"s1": [("dims", "fluency", "B"), ("dims", "adequacy", "tie")]})
    found = read(tmp_path, TWO + 'criteria = ["dims"]\n')
    assert {row["criterion"]: row["winner"] for row in found.rows["choices"]} == {"fluency": "y", "adequacy": "tie"}


def test_rankings_are_split_by_their_labels(tmp_path: Path) -> None:
    labels = ["alpha", "beta, v2", "beta"]
    orders = {"s1": {"ranks": labels}}
    answers = {"s1": [("ranks", "rank_order", "beta,beta, v2,alpha")]}
    state(tmp_path, "Ana", answers, instance_id_to_presentation_order=orders)
    found = read(tmp_path, 'systems = ["alpha", "beta", "beta, v2"]\ncriteria = ["ranks"]\n')
    assert {row["system"]: row["rank"] for row in found.rows["orders"]} == {"beta": 1, "beta, v2": 2, "alpha": 3}


def test_points_that_were_taken_back(tmp_path: Path) -> None:
    """The latest that was selected counts; without a record of it the answer is refused."""
    answers = {"s1": [("fluency", "scale_2", "2"), ("fluency", "scale_5", "5")]}
    state(tmp_path, "Ana", answers)
    mapping = 'systems = ["alpha"]\ncriteria = ["fluency"]\n'
    assert "fluency: expected one point of the scale, got 2, 5" in problem(tmp_path, mapping)
    changes = [
        {"timestamp": at, "schema_name": "fluency", "label_name": name, "action": action}
        for at, name, action in ((1.5, "scale_5", "select"), (3.5, "scale_2", "select"), (4.5, "scale_5", "deselect"))
    ]
    state(tmp_path, "Ana", answers, instance_id_to_behavioral_data={"s1": {"annotation_changes": changes}})
    assert [row["score"] for row in read(tmp_path, mapping).rows["ratings"]] == [2]


def test_several_things_asked_at_once(tmp_path: Path) -> None:
    """Names that are systems are systems, others criteria."""
    given = [("crit", "coherence", "3"), ("crit", "tone", "5"), ("share", "alpha", "60"), ("share", "beta", "40")]
    state(tmp_path, "Ana", {"s1": given})
    found = read(tmp_path, TWO + 'criteria = ["crit", "share"]\n')
    assert {(row["system"], row["criterion"]): row["score"] for row in found.rows["ratings"]} == {
        ("alpha", "coherence"): 3,
        ("alpha", "tone"): 5,
        ("alpha", "share"): 60,
        ("beta", "share"): 40,
    }


def test_spans_of_one_text(tmp_path: Path) -> None:
    spans = {"s1": [[{"schema": "errors", "name": "minor", "start": 2, "end": 5}, "true"]]}
    state(tmp_path, "Ana", {"s1": [("fluency", "4", "4")]}, instance_id_to_span_to_value=spans)
    found = read(tmp_path, 'systems = ["alpha"]\ncriteria = ["fluency"]\n')
    assert [(row["start"], row["end"], row["severity"]) for row in found.rows["spans"]] == [(2, 5, "minor")]
    several = read(tmp_path, TWO + 'criteria = ["fluency"]\n')
    assert not several.rows["spans"]
    assert several.skipped == {"marked spans of several texts, of which POTATO does not say which": 1}


def test_broken_states_are_one_line(tmp_path: Path) -> None:
    mapping = 'systems = ["alpha"]\ncriteria = ["fluency"]\n'
    path = json_file(tmp_path / "annotation_output" / "Ana" / "user_state.json", {"user_id": "Ana"})
    assert "instance_id_to_label_to_value: expected an object, got nothing" in problem(tmp_path, mapping)
    path.write_text('{"user_id": "Ana", ')
    assert "expected JSON, got a mistake" in problem(tmp_path, mapping)
    state(tmp_path, "Ana", {"s1": [("pref", "selection", "A")]})
    assert "label 'pref' is none of the criteria's" in problem(tmp_path, mapping)
    assert "expected two systems in the mapping" in problem(tmp_path, 'systems = ["alpha"]\ncriteria = ["pref"]\n')


CONFIG = "annotation_schemes:\n" + "".join(
    f"- {{annotation_type: {kind}, name: {name}}}\n"
    for kind, name in (("pairwise", "pref"), ("likert", "fluency"), ("likert", "fluency.b"), ("multirate", "crit"))
)
HEADER = "instance_id,user_id,pref.selection,fluency.4,crit.tone,crit.style & sound,fluency.5,fluency.b.2,why.text_box"


def export(folder: Path, *rows: str, header: str = HEADER) -> Path:
    path = folder / "annotations.csv"
    path.write_text("\n".join((header, *rows)) + "\n")
    return path


def read_file(path: Path, criteria: str, systems: str = TWO, more: str = "") -> ImportedTables:
    mapping = path.parent / "import.toml"
    mapping.write_text(f"{systems}criteria = [{criteria}]\n{more}")
    return format_of("potato").read(ImportRequest(paths=(path,), mapping=mapping))


def test_exports_put_the_labels_of_a_question_together(tmp_path: Path) -> None:
    """A level is a column in CSV; the other levels are no missing answers, a question left empty is one."""
    path = export(tmp_path, "s1,Ana,,4,3,5,,,so", "s2,Ana,,,,,5,,", "s3,Ana,,,1,2,,,")
    assert [one.key for one in recognised(path)] == ["potato"]
    found = read_file(path, '"fluency", "crit"', 'systems = ["alpha"]\n')
    assert {
        (row["item_id"], row["criterion"]): (row["score"], row.get("explanation"), row.get("missing_reason"))
        for row in found.rows["ratings"]
    } == {
        ("s1", "fluency"): (4, "so", None),
        ("s1", "tone"): (3, None, None),
        ("s1", "style & sound"): (5, None, None),
        ("s2", "fluency"): (5, None, None),
        ("s3", "fluency"): (None, None, "empty"),
        ("s3", "tone"): (1, None, None),
        ("s3", "style & sound"): (2, None, None),
    }
    assert "user_state.json has all" in found.notes[0]


def test_names_of_questions_may_hold_a_point(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG)
    path = export(tmp_path, "s1,Ana,,4,,,,2,")
    found = read_file(path, '"fluency", "fluency.b"', 'systems = ["alpha"]\n')
    assert {(row["criterion"], row["score"]) for row in found.rows["ratings"]} == {("fluency", 4), ("fluency.b", 2)}


@pytest.mark.parametrize("turned", ["", "randomize_order", "option_randomization"])
def test_sides_of_an_export_need_a_task_that_turns_none(turned: str, tmp_path: Path) -> None:
    """Which text stood on the left is not in an export."""
    path = export(tmp_path, "s1,Ana,A,,,,,,", "s2,Ana,B,,,,,,")
    with pytest.raises(SpaError, match="give the folder with user_state"):
        read_file(path, '"pref"')
    (tmp_path / "config.yaml").write_text(CONFIG.replace("pref}", f"pref, {turned}: true}}") if turned else CONFIG)
    if turned:
        with pytest.raises(SpaError, match=r"config\.yaml turns texts"):
            read_file(path, '"pref"')
        return
    assert [row["winner"] for row in read_file(path, '"pref"').rows["choices"]] == ["x", "y"]


def test_exports_beside_the_answers_are_not_read(tmp_path: Path) -> None:
    """They may be older."""
    state(tmp_path, "Ana", {"s1": [("fluency", "4", "4")]})
    folder = tmp_path / "annotation_output" / "exports"
    folder.mkdir()
    with pytest.raises(SpaError, match="got a file that POTATO writes once a minute"):
        read_file(export(folder, "s1,Ana,,5,,,,,"), '"fluency"')


def test_answers_as_json_lines_are_those_of_the_folder(tmp_path: Path) -> None:
    """Spans, and what a machine answered, are read, too; a row given twice is not."""
    answers = {"s1": [("fluency", "4", "4"), ("crit", "tone", "3")], "s2": [("fluency", "2", "2")]}
    spans = {"s1": [[{"schema": "errors", "name": "minor", "start": 2, "end": 5}, "true"]]}
    state(tmp_path / "f", "Ana", answers, instance_id_to_span_to_value=spans)
    lines = [
        {
            "instance_id": item,
            "user_id": "Ana",
            "labels": labels,
            "spans": {"errors": marked} if marked else {},
            "links": {},
        }
        for item, labels, marked in (
            ("s1", {"fluency": {"4": "4"}, "crit": {"tone": "3"}}, [spans["s1"][0][0]]),
            ("s2", {"fluency": {"2": "2"}}, []),
        )
    ]
    path = tmp_path / "annotations.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [one.key for one in recognised(path)] == ["potato"]
    one, criteria = 'systems = ["alpha"]\n', '"fluency", "crit"'
    found, kept = read_file(path, criteria, one), read(tmp_path / "f", f"{one}criteria = [{criteria}]\n")
    places = {"position": None}
    assert [row | places for row in found.rows["ratings"]] == [row | places for row in kept.rows["ratings"]]
    assert [row | places for row in found.rows["spans"]] == [row | places for row in kept.rows["spans"]]
    machine = [{**line, "annotator_origin": {"kind": kind}} for line, kind in zip(lines, ("llm", "tool"), strict=True)]
    path.write_text("".join(json.dumps(line) + "\n" for line in machine))
    found = read_file(path, criteria, one)
    assert {row["annotator_kind"] for row in found.rows["ratings"]} == {"llm"}
    assert found.skipped == {"answers of tools that are neither people nor LLMs": 1}
    path.write_text(2 * (json.dumps(lines[0]) + "\n"))
    with pytest.raises(SpaError, match="expected one row a person and item"):
        read_file(path, criteria, one)


def test_points_of_an_earlier_version_in_an_export(tmp_path: Path) -> None:
    """A column without a label says which counts; without it nobody knows."""
    header = "instance_id,user_id,fluency.2,fluency.4,fluency"
    one = 'systems = ["alpha"]\n'
    found = read_file(export(tmp_path, "s1,Ana,2,4,4", header=header), '"fluency"', one)
    assert [row["score"] for row in found.rows["ratings"]] == [4]
    with pytest.raises(SpaError, match="expected one point of the scale, got 2, 4"):
        read_file(export(tmp_path, "s1,Ana,2,4,", header=header), '"fluency"', one)


def test_the_output_folder_itself_is_taken(tmp_path: Path) -> None:
    """As if the folder above it were named; its configuration may lie within."""
    state(tmp_path, "Ana", {"s1": [("fluency", "4", "4")]})
    (tmp_path / "annotation_output" / "config.yaml").write_text(CONFIG)
    whole = read(tmp_path, 'systems = ["alpha"]\ncriteria = ["fluency"]\n')
    inside = read(tmp_path / "annotation_output", 'systems = ["alpha"]\ncriteria = ["fluency"]\n')
    assert inside.rows == whole.rows
    renamed = (tmp_path / "annotation_output").rename(tmp_path / "answers")
    assert [one.key for one in recognised(renamed)] == ["potato"]
    assert read(renamed, 'systems = ["alpha"]\ncriteria = ["fluency"]\n').rows == whole.rows
