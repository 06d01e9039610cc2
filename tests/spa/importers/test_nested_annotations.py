"""``each`` of mapping files: lists and objects of a record as rows, a place or key as a column, lists as groups."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.importers.csv.mapping import Wide
from spa.importers.csv.wide import read_wide
from spa.importers.mapping import read_mapping
from tests.spa.importers.foreign import lines_file

SUMMARIES = [  # as SummEval has them: nobody is named, an id is that of a document
    {
        "id": f"doc-{number}",
        "model_id": system,
        "expert_annotations": [{"coherence": 5 - at - place, "fluency": 4} for place in range(2)],
        "turker_annotations": [{"coherence": 2 + at, "fluency": number + place} for place in range(3)],
        "references": ["r"],
    }
    for number in (1, 2)
    for at, system in enumerate(("M8", "M17"))
]
ROLES = 'item_id = "id"\nsystem = "model_id"\nquestions = [{ column = "coherence", criterion = "coherence" }]\n'
SCORES = [
    {"who": "p", "doc": n, "scores": {"gpt": {"f": n}, "t5": {"f": 3}}, "plain": {"a": n, "b": 2}} for n in (1, 2)
]


def rows_of(folder: Path, mapping: str, records: list[Any]) -> list[dict[str, Any]]:
    path = lines_file(folder / "annotations.jsonl", records)
    (folder / "import.toml").write_text(mapping)
    made = read_wide([path], read_mapping(folder / "import.toml", Wide), folder / "import.toml")
    return made.rows["ratings"]


def test_the_place_in_a_list_is_the_annotator(tmp_path: Path) -> None:
    """Three experts of all documents, not as many people as there are answers, nor one who answers thrice."""
    rows = rows_of(tmp_path, f'each = "expert_annotations"\nannotator_id = "expert_annotations[#]"\n{ROLES}', SUMMARIES)
    assert {row["annotator_id"] for row in rows} == {"expert_annotations[0]", "expert_annotations[1]"}
    found = {(row["annotator_id"][-2], row["item_id"], row["system"]): row["score"] for row in rows}
    assert found == {
        (str(place), one["id"], one["model_id"]): given["coherence"]
        for one in SUMMARIES
        for place, given in enumerate(one["expert_annotations"])  # type: ignore[arg-type]
    }
    assert {row["group"] for row in rows} == {None}


@pytest.mark.parametrize(
    ("each", "annotator", "groups"),
    [
        ('["expert_annotations", "turker_annotations"]', '"[#]"', ("expert_annotations", "turker_annotations")),
        (
            '["expert_annotations", "turker_annotations"]',
            '["expert_annotations[#]", "turker_annotations[#]"]',
            ("expert_annotations", "turker_annotations"),
        ),
        ('{ experts = "expert_annotations", crowd = "turker_annotations" }', '"[#]"', ("experts", "crowd")),
    ],
)
def test_two_lists_are_two_groups(each: str, annotator: str, groups: tuple[str, str], tmp_path: Path) -> None:
    rows = rows_of(tmp_path, f"each = {each}\nannotator_id = {annotator}\n{ROLES}", SUMMARIES)
    people: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        people[row["group"]].add(row["annotator_id"])
    assert {group: len(own) for group, own in people.items()} == dict(zip(groups, (2, 3), strict=True))
    assert len(set.union(*people.values())) == 5
    means = defaultdict(list)
    for row in rows:
        means[row["group"], row["system"]].append(row["score"])
    assert {key: sum(own) / len(own) for key, own in means.items()} == {
        (groups[0], "M8"): 4.5,
        (groups[0], "M17"): 3.5,
        (groups[1], "M8"): 2.0,
        (groups[1], "M17"): 3.0,
    }


def test_groups_come_to_the_report(tmp_path: Path) -> None:
    """Each ranks by itself, here the other way round."""
    path = lines_file(tmp_path / "a.jsonl", SUMMARIES)
    mapping = (
        f'each = {{ experts = "expert_annotations", crowd = "turker_annotations" }}\nannotator_id = "[#]"\n{ROLES}'
    )
    (tmp_path / "import.toml").write_text(mapping)
    for words in (
        ["import", "csv", path, "--mapping", tmp_path / "import.toml", "--out", tmp_path / "t"],
        ["report", "--ratings", tmp_path / "t" / "ratings.csv", "--out", tmp_path / "r"],
    ):
        done = CliRunner().invoke(main, list(map(str, words)))
        assert done.exit_code == 0, done.output
    rankings = json.loads((tmp_path / "r" / "results.json").read_text())["rankings"]
    orders = {one["group"]: one["order"] for one in rankings if one["source"] == "ratings"}
    assert orders == {"experts": [["M8"], ["M17"]], "crowd": [["M17"], ["M8"]]}


@pytest.mark.parametrize("key", ["system", "system_column"])
@pytest.mark.parametrize(("path", "column"), [("scores", "f"), ("plain", "plain")])
def test_the_key_in_an_object_is_the_system(key: str, path: str, column: str, tmp_path: Path) -> None:
    """Of objects of records, and of an object of plain values."""
    question = f'questions = [{{ column = "{column}", {key} = "{path}{{key}}" }}]\n'
    rows = rows_of(tmp_path, f'each = "{path}"\nannotator = "who"\nitem = "doc"\n{question}', SCORES)
    names, second = (("gpt", "t5"), 3) if path == "scores" else (("a", "b"), 2)
    assert [(row["item_id"], row["system"], row["score"]) for row in rows] == [
        ("1", names[0], 1),
        ("1", names[1], second),
        ("2", names[0], 2),
        ("2", names[1], second),
    ]


def test_the_order_of_records_changes_no_answer(tmp_path: Path) -> None:
    mapping = f'each = ["expert_annotations", "turker_annotations"]\nannotator_id = "[#]"\n{ROLES}'
    one, other = (sorted(map(str, rows_of(tmp_path, mapping, records))) for records in (SUMMARIES, SUMMARIES[::-1]))
    assert one == other


def test_a_report_names_a_place_as_well(tmp_path: Path) -> None:
    path = lines_file(tmp_path / "a.jsonl", SUMMARIES)
    words = ["report", "--ratings", path, "--each", "expert_annotations", "--criteria", "coherence,fluency", "--json"]
    maps = ("expert_annotations[#]=annotator_id", "id=item_id", "model_id=system")
    done = CliRunner().invoke(main, [*map(str, words), *(word for one in maps for word in ("--map", one))])
    assert done.exit_code == 0, done.output
    means = json.loads(done.stdout)["ratings"]["means"]
    assert {(one["criterion"], one["system"], one["mean"]) for one in means} >= {("coherence", "M8", 4.5)}


@pytest.mark.parametrize(
    ("mapping", "told"),
    [
        (
            'each = "scores"\nannotator = "who"\nitem = "doc"\nquestions = [{ column = "f", system = "scores[#]" }]\n',
            "row 1: expected a list at scores, as scores[#] says, got an object; name what tells its parts apart by "
            "scores{key}",
        ),
        (
            'each = "none"\nannotator = "who"\nitem = "doc"\nquestions = [{ column = "f", system = "none{key}" }]\n',
            "expected lists or objects at none, got none",
        ),
        (
            'each = "scores"\nannotator = "who"\nitem = "doc"\nquestions = [{ column = "f", system = "score{key}" }]\n',
            "expected a column 'score{key}'",
        ),
    ],
)
def test_a_place_or_key_that_is_none_is_one_line(mapping: str, told: str, tmp_path: Path) -> None:
    path = lines_file(tmp_path / "a.jsonl", SCORES)
    (tmp_path / "import.toml").write_text(mapping)
    words = ["import", "csv", path, "--mapping", tmp_path / "import.toml", "--out", tmp_path / "t"]
    done = CliRunner().invoke(main, list(map(str, words)))
    assert done.exit_code == 1
    (line,) = done.output.splitlines()
    assert told in line
