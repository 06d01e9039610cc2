"""Tables with two answers a row: model_a, response_a, model_b, response_b."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain

from spa.starting.columns import OutputColumn
from spa.starting.names import Role, place_in
from spa.starting.sheets import OutputSheet

SIDES = (("a", "b"), ("1", "2"), ("x", "y"), ("left", "right"), ("0", "1"))
PAIRED: tuple[Role, ...] = ("system", "output")


def taken_apart(sheet: OutputSheet) -> OutputSheet:
    """Return a sheet with a row for each of two answers, where columns name two systems and their outputs."""
    for sides in SIDES:
        stems = _stems(sheet, sides)
        if not any(place_in("system", stem) is not None for stem in stems):
            continue
        if not any(place_in("output", stem) is not None or place_in("prompt", stem) is not None for stem in stems):
            continue
        sided = {name for pair in stems.values() for name in pair}
        columns = {
            name: replace(column, cells=_doubled(column, column))
            for name, column in sheet.columns.items()
            if name not in sided
        }
        for stem, (first, second) in stems.items():
            both = sheet.columns[first], sheet.columns[second]
            columns[stem] = OutputColumn(name=stem, cells=_doubled(*both), said=f"from {first} and {second}")
        said = f"{sheet.file.name}: each row holds two answers ({', '.join(sorted(sided)[:6])})"
        numbers = [number for number in sheet.numbers for _ in sides]
        return replace(sheet, columns=columns, numbers=numbers, notes=(*sheet.notes, said))
    return sheet


def _stems(sheet: OutputSheet, sides: tuple[str, str]) -> dict[str, tuple[str, str]]:
    """Return what columns are called without their side, where both sides are there."""
    by_name = {name.casefold(): name for name in sheet.columns}
    first = re.compile(rf"([_ -]){sides[0]}(?=$|[\[.])")
    found: dict[str, tuple[str, str]] = {}
    for key, name in by_name.items():
        if first.search(key) and (other := by_name.get(first.sub(rf"\g<1>{sides[1]}", key))):
            found[first.sub("", key)] = (name, other)
    return found


def _doubled(first: OutputColumn, second: OutputColumn) -> list[str | None]:
    return list(chain.from_iterable(zip(first.cells, second.cells, strict=True)))
