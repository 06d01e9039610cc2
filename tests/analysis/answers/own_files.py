"""Files of answers that users bring: made, reported, recognised or refused."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

from analysis import Reading
from analysis.answers.recognised import RecognisedTables, recognise_tables
from spa.cli import main
from spa.errors import AnalysisError

Row = Mapping[str, Any]


GOOD = {"alpha": 1, "beta": 0}


def rated(people: int = 4, items: int = 5, systems: Sequence[str] = ("alpha", "beta")) -> list[dict[str, Any]]:
    rng = random.Random(1)
    return [
        {
            "annotator_id": f"p{who}",
            "item_id": f"i{item}",
            "system": name,
            "score": rng.randint(1, 4) + GOOD.get(name, 0),
        }
        for who in range(people)
        for item in range(items)
        for name in systems
    ]


def chosen() -> list[dict[str, Any]]:
    rng = random.Random(2)
    return [
        {
            "annotator_id": f"p{who}",
            "item_id": f"i{item}",
            "system_x": x,
            "system_y": y,
            "winner": rng.choice([x, x, y]),
        }
        for who in range(3)
        for item in range(6)
        for x, y in (("alpha", "beta"), ("beta", "gamma"))
    ]


def write(path: Path, rows: Sequence[Row], names: Mapping[str, str] | None = None) -> Path:
    """Write rows in the format of the file's name, columns under other names."""
    renamed = [{(names or {}).get(key, key): value for key, value in row.items()} for row in rows]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in renamed))
    elif path.suffix == ".parquet":
        pl.DataFrame(renamed).write_parquet(path)
    else:
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, [*dict.fromkeys(key for row in renamed for key in row)])
            writer.writeheader()
            writer.writerows(renamed)
    return path


def report(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


def results(*arguments: object) -> dict[str, Any]:
    shown = report(*arguments, "--json")
    assert shown.exit_code == 0, shown.output
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


def but_inputs(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "settings": {key: value for key, value in found["settings"].items() if key != "inputs"}}


def people(found: dict[str, Any]) -> int:
    return int(next(row["annotators"] - row["excluded_annotators"] for row in found["groups"]))


def recognised(path: Path, **options: Any) -> RecognisedTables:
    return recognise_tables([path], Reading(**options))


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(AnalysisError) as error:
        recognised(path, **options)
    assert all(len(line) < 500 for line in error.value.problems)
    said = str(error.value)
    assert " ... " not in said, "what can be pasted is cut"
    return said


def wide(names: Sequence[str], systems: Sequence[str] = ("gpt", "t5", "nmt")) -> list[dict[str, Any]]:
    """Return a row an item and system with a score of every name."""
    return [
        {"item": f"i{item}", "system": system, **{name: 1 + (item + place + who) % 5 for who, name in enumerate(names)}}
        for item in range(6)
        for place, system in enumerate(systems)
    ]


FOUR = [("a", 1, "x", 3), ("a", 2, "y", 4), ("b", 1, "x", 2), ("b", 2, "y", 5)]


def file_of_four(*scores: object, end: str = "") -> str:
    """Return a file of four ratings, with other words in their place, and rows at its end."""
    rows = [",".join(map(str, (*row[:3], score))) for row, score in zip(FOUR, scores or (3, 4, 2, 5), strict=True)]
    return "\n".join(["rater,item,system,rating", *rows]) + f"\n{end}"
