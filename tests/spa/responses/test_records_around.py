"""Records taken apart in several steps: the keys of every record on the way are columns, the innermost first."""

from __future__ import annotations

import json
from pathlib import Path

from spa.tables.options import TableOptions
from spa.tables.reading import open_table
from spa.tables.source import Wanted

RECORDS = [
    {
        "item": 1,
        "dataset": "d",
        "outputs": [
            {"system": "oak", "dataset": "inner", "scores": {"fluency": [3, 4], "style": [1]}},
            {"system": "elm", "scores": {"fluency": [2]}},
        ],
    },
    {"item": 2, "dataset": "d", "outputs": [{"system": "oak", "scores": {"style": [5, 5]}}]},
]


def test_columns_of_the_records_around_a_part_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "records.json"
    path.write_text(json.dumps(RECORDS))
    options = TableOptions(each="outputs[].scores{criterion}[]", mapping={"criterion": "asked"})
    wanted = Wanted(columns=frozenset({"item", "system", "dataset", "criterion"}))
    source = open_table(path, wanted, options)
    rows = list(
        zip(*(source.column(name).to_list() for name in ("item", "system", "criterion", "dataset")), strict=True)
    )
    assert rows == [
        ("1", "oak", "fluency", "inner"),
        ("1", "oak", "fluency", "inner"),
        ("1", "oak", "style", "inner"),
        ("1", "elm", "fluency", None),
        ("2", "oak", "style", None),
        ("2", "oak", "style", None),
    ]
