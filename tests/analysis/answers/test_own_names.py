"""Tables whose columns have our names: what their names and scores may be is asked as of any other file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis import Reading
from analysis.answers.columns import Scale
from analysis.answers.recognised import recognise_tables
from analysis.answers.tables import AnswerTables, read_tables
from spa.errors import AnalysisError

Row = Mapping[str, Any]


def rated(systems: Sequence[str], people: Sequence[str] = ("ann", "ben", "cleo")) -> list[Row]:
    """Return the scores of each person: 1, 2, 3 and so on of the systems of an item, another one first by item."""
    return [
        {"annotator_id": who, "item_id": f"i{item}", "system": system, "score": 1 + (item + n) % len(systems)}
        for (who, item), (n, system) in product(product(people, range(4)), enumerate(systems))
    ]


def written(folder: Path, name: str, rows: Sequence[Row]) -> Path:
    path = folder / name
    pl.DataFrame([{column: str(cell) for column, cell in row.items()} for row in rows]).write_csv(path)
    return path


def read(paths: Sequence[Path], options: Reading) -> AnswerTables:
    found = recognise_tables(paths, options)
    return read_tables(dict(found.files), found.reading)


FIVE = (Scale(criterion=None, low=1, high=5),)
TOTAL = {"annotator_id": "Total", "item_id": "", "system": "", "score": 90}


@pytest.mark.parametrize(
    ("files", "said", "settled"),
    [
        (
            [rated(("gpt", " GPT ", "t5"))],
            "2 systems have nearly the same names (gpt and GPT)",
            {"names": ("gpt", "GPT")},
        ),
        (
            [rated(("gpt", "t5")), rated(("GPT", "t5"), ("dora",))],  # each file by itself has nothing to ask
            "2 systems have nearly the same names (gpt and GPT)",
            {"same": ("system",)},
        ),
        (
            [rated(("gpt", "t5"), ("007", "7", "008", "8"))],
            "4 annotators have nearly the same names (7 and 007, 8 and 008)",
            {"names": ("007", "7", "008", "8")},
        ),
        (
            [rated(("gpt", "t5", "attention check"))],
            "attention check may be an attention check",
            {"controls": ("attention check",)},
        ),
        ([rated(("gpt", "t5", "nmt"))], "score holds the numbers of an order", {"mapping": {"score": "rank"}}),
        (
            [[*rated(("gpt", "t5")), TOTAL]],
            "rows at the end begin with Total, as totals do",
            {"drop": {"annotator_id": ("Total",)}},
        ),
    ],
)
def test_what_names_and_scores_may_be_is_asked(
    files: Sequence[Sequence[Row]], said: str, settled: Mapping[str, Any], tmp_path: Path
) -> None:
    """None of them is read until an option says what it is; scores are ranks unless their scale is said."""
    paths = [written(tmp_path, f"{n}.csv", rows) for n, rows in enumerate(files)]
    scales = () if "order" in said else FIVE
    with pytest.raises(AnalysisError) as asked:
        read(paths, Reading(scales=scales))
    assert [said in problem for problem in asked.value.problems] == [True]
    assert len(asked.value.problems[0]) < 500
    tables = read(paths, Reading(scales=() if "mapping" in settled else FIVE, **settled))
    assert (tables.orders is None) == ("mapping" not in settled)


def test_annotators_with_names_of_llms_are_no_people(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", rated(("gpt", "t5"), ("ann", "gpt-4o", "claude-3-opus")))
    tables = read([path], Reading(scales=FIVE))
    assert tables.ratings is not None
    assert {*tables.ratings["group"].to_list()} == {"human", "gpt-4o", "claude-3-opus"}
    assert any("LLMs, by their names: claude-3-opus, gpt-4o" in note for note in tables.inputs[0].notes)
    people = read([path], Reading(scales=FIVE, constants={"annotator_kind": "human"}))
    assert people.ratings is not None
    assert {*people.ratings["group"].to_list()} == {"human"}
