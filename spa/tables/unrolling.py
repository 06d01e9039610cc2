"""Records taken apart: the lists and objects at a path become rows of their own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from spa.errors import TableError, shortened
from spa.tables.paths import Json, as_text, beginnings, follow, inside, keys_there
from spa.tables.source import Source

STEP = re.compile(r"(?P<path>(?:[^{}\[\]]|\[(?!\])[^\]]*\])*)(?P<mark>\[\]|\{[^{}]+\})?")
SEPARATOR = ","
PLACE, KEY = "[#]", "{key}"  # after a path of each, or alone: the place of a part in its list, its key in an object


@dataclass(frozen=True, slots=True)
class Step:
    """A path below what stands there whose parts are taken apart; ``name`` is the column of their keys or places."""

    path: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What became a row: of which row, its value, the columns that steps named, and the keys of records on the way."""

    row: int
    value: Json
    named: Mapping[str, str]
    around: Mapping[str, Json] = field(default_factory=dict)
    plain: bool = False  # an element of a list that is no record
    ways: tuple[tuple[str, str | int], ...] = ()  # each step's path, and the key or place (from 0) below it


def parse_each(text: str) -> tuple[tuple[Step, ...], ...]:
    """Return the steps of each path; several, separated by commas, are lists of equal length taken apart together.

    >>> parse_each("questions{question}.reviews[]")
    ((Step(path='questions', name='question'), Step(path='reviews', name=None)),)
    >>> parse_each("scores, users")
    ((Step(path='scores', name=None),), (Step(path='users', name=None),))
    """
    found = tuple(_steps(one.strip(), text) for one in text.split(SEPARATOR))
    if len(found) > 1 and any(len(steps) > 1 for steps in found):
        raise TableError(f"each = {shortened(text)}: expected several plain paths, or one with steps; choose one")
    return found


def _steps(text: str, whole: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    place = 0
    while place < len(text):
        match = STEP.match(text, place)
        if match is None or match.end() == place:
            raise TableError(
                f"each = {shortened(whole)}: expected paths such as completions or "
                f"questions{{question}}.{{system}}.reviews[], got {shortened(repr(text[place:]))}"
            )
        mark = match["mark"]
        name = mark[1:-1] if mark is not None and mark != "[]" else None
        steps.append(Step(match["path"].strip("."), name))
        place = match.end()
    if not steps:
        raise TableError(f"each = {shortened(whole)}: expected a path, got nothing")
    names = [step.name for step in steps if step.name]
    if len({*names}) < len(names):
        raise TableError(f"each = {shortened(whole)}: expected each name once; rename one")
    return tuple(steps)


def roots(text: str) -> frozenset[str]:
    """Return the columns in which the paths may begin."""
    return frozenset(name for steps in parse_each(text) for name in beginnings(steps[0].path))


def is_way(name: str) -> bool:
    """Whether a name is that of a place or key.

    >>> is_way("ratings[#]"), is_way("scores{key}"), is_way("scores[0]")
    (True, True, False)
    """
    return name.endswith((PLACE, KEY))


def unrolled(source: Source, each: str, asked: Collection[str] = ()) -> Source:
    """Return a source with a row for every part of the lists or objects at ``each``.

    The keys of a part are columns, and win over those of the records around it, the inner ones first; a part that is
    one value is a column named by its path. A column that a step names wins over all; where a part says otherwise it
    is refused. A record without parts gives no row, and is counted. Of the names that are ``asked``, ``ratings[#]`` is
    the place of a part, such as ``ratings[0]``, and ``scores{key}`` its key.

    Raises
    ------
    TableError
        When no record has the path, lists of one row differ in length, a part contradicts a step's name, or a place
        is asked for of an object, a key of a list.
    """
    paths = parse_each(each)
    numbers = source.numbers()
    records = _Outer(source)
    parts: list[Part] = []
    aside: Counter[str] = Counter()
    for row in range(source.height):
        for part in _apart(records, row, paths, aside, source.place, numbers[row]):
            parts.append(part)
    if not parts:
        tops = [records.top(row) for row in range(min(source.height, 50))]
        raise TableError(
            f"{source.place}: expected lists or objects at {shortened(each)}, got none (there are: {keys_there(tops)})"
        )
    named = {step.name for steps in paths for step in steps if step.name}
    _check_named(parts, named, source.place, numbers)
    inner = {key: None for part in parts if isinstance(part.value, dict) for key in part.value}
    around = {key: None for part in parts for key in part.around if key not in inner}
    notes = tuple(f"{what}: {count:,}" for what, count in aside.items())
    rows = [part.row for part in parts]
    ways: dict[str, list[object]] = {
        name: _ways(parts, name, source.place, numbers)
        for name in sorted(asked)
        if is_way(name) and name not in source.schema and _way_path(name, paths) is not None
    }

    def values(name: str) -> list[object]:
        if name in ways:
            return ways[name]
        if name in named:
            return [part.named.get(name) for part in parts]
        if name in inner:
            return [part.value.get(name) if isinstance(part.value, dict) else None for part in parts]
        if name in around:
            return [part.around.get(name) for part in parts]
        outer = source.values(name)
        return [outer[row] for row in rows]

    def column(name: str) -> pl.Series:
        if name not in ways and name not in named and name not in inner and name not in around:
            return source.column(name).gather(rows)
        found = values(name)
        for number, value in zip((numbers[row] for row in rows), found, strict=True):
            if isinstance(value, list | dict):
                got = "a list" if isinstance(value, list) else "an object"
                raise TableError(f"{source.place}, row {number}: {name}: expected one value, got {got}")
        return pl.Series(name, [as_text(value) for value in found], dtype=pl.String)

    own = {name: _kind(values(name)) for name in [*ways, *named, *around, *inner]}
    return Source(
        place=source.place,
        schema={**source.schema, **own},
        height=len(parts),
        first_row=source.first_row,
        column=column,
        values=values,
        rows=pl.Series("row", [numbers[row] for row in rows]),
        notes=(*source.notes, *notes),
        places=frozenset(steps[-1].name or "" for steps in paths) if any(part.plain for part in parts) else frozenset(),
    )


def _way_path(name: str, paths: Sequence[Sequence[Step]]) -> str | None:
    """Return the path whose place or key a name is; of a mark alone the last one."""
    path = name.removesuffix(PLACE).removesuffix(KEY)
    return (path or paths[0][-1].path) if not path or any(step.path == path for own in paths for step in own) else None


def _ways(parts: Sequence[Part], name: str, place: str, numbers: Sequence[int]) -> list[object]:
    path = name.removesuffix(PLACE).removesuffix(KEY)
    asks_place = name.endswith(PLACE)
    found: list[object] = []
    for part in parts:
        own, way = next((one for one in reversed(part.ways) if one[0] == path or not path), (path, None))
        if way is not None and isinstance(way, int) != asks_place:
            there, other = ("an object", f"{own}{KEY}") if asks_place else ("a list", f"{own}{PLACE}")
            kind = "a list" if asks_place else "an object"
            raise TableError(
                f"{place}, row {numbers[part.row]}: expected {kind} at {own}, as {name} says, got {there}; "
                f"name what tells its parts apart by {other}"
            )
        found.append(f"{own}[{way}]" if asks_place and way is not None else way)
    return found


def _kind(values: Sequence[object]) -> pl.DataType:
    return pl.Object() if any(isinstance(value, list | dict) for value in values) else pl.String()


class _Outer:
    """The records that are taken apart, their columns read once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._columns: dict[str, list[object]] = {}

    def top(self, row: int) -> dict[str, object]:
        """Return the columns of a row that were read."""
        return dict.fromkeys(self._source.schema) | {name: cells[row] for name, cells in self._columns.items()}

    def at(self, row: int, path: str) -> Json:
        """Return what stands at a path of a row."""
        if not path:
            self._columns = {name: self._columns.get(name) or self._source.values(name) for name in self._source.schema}
            return self.top(row)
        begins = next((name for name in beginnings(path) if name in self._source.schema), None)
        if begins is None:
            return None
        if begins not in self._columns:
            self._columns[begins] = self._source.values(begins)
        return follow(self._columns[begins][row], path[len(begins) :].removeprefix("."))


def _apart(
    records: _Outer, row: int, paths: Sequence[Sequence[Step]], aside: Counter[str], place: str, number: int
) -> Iterator[Part]:
    if len(paths) == 1:
        steps = paths[0]
        found = records.at(row, steps[0].path)
        yield from _taken(found, steps, row, {}, {}, aside, ())
        return
    lists = {steps[0].path: _listed(records.at(row, steps[0].path)) for steps in paths}
    lengths = {path: len(found) for path, found in lists.items() if found is not None}
    if len({*lengths.values()}) > 1 or (lengths and len(lengths) < len(lists)):
        got = ", ".join(f"{lengths.get(path, 'none')} of {path}" for path in lists)
        raise TableError(f"{place}, row {number}: expected lists of equal length, got {shortened(got, 200)}")
    if not any(lengths.values()):
        aside[f"records with nothing in {', '.join(lists)}, left out"] += 1
        return
    names = {steps[0].name for steps in paths if steps[0].name}
    for index, together in enumerate(zip(*(found or [] for found in lists.values()), strict=True), start=1):
        value = dict(zip((path for path in lists), together, strict=True))
        ways = tuple((path, index - 1) for path in reversed(lists))
        yield Part(row, value, dict.fromkeys(names, str(index)), plain=True, ways=ways)


def _taken(
    found: Json,
    steps: Sequence[Step],
    row: int,
    named: Mapping[str, str],
    around: Mapping[str, Json],
    aside: Counter[str],
    above: tuple[tuple[str, str | int], ...],
) -> Iterator[Part]:
    """Yield the parts of what stands at the first step, by the steps that follow."""
    step, *rest = steps
    value = inside(found) if isinstance(found, str) else found
    if not isinstance(value, list | dict):
        aside[f"records without {step.path or 'parts'}, left out"] += 1
        return
    if not value:
        aside[f"records with nothing in {step.path or 'parts'}, left out"] += 1
        return
    keyed = value.items() if isinstance(value, dict) else enumerate(value, start=1)
    for key, part in keyed:
        own = {**named, step.name: str(key)} if step.name else named
        ways = (*above, (step.path, key if isinstance(value, dict) else int(key) - 1))
        if rest:
            below = follow(part, rest[0].path) if rest[0].path else part
            if rest[0].path and not isinstance(inside(below) if isinstance(below, str) else below, list | dict):
                which = f" ({key})" if isinstance(key, str) else ""
                aside[f"parts of {step.path or step.name}{which} without {rest[0].path}, left out"] += 1
                continue
            keys = part if isinstance(part, dict) and isinstance(value, list) else {}
            yield from _taken(below, rest, row, own, {**around, **keys}, aside, ways)
        else:
            plain = isinstance(value, list) and not isinstance(part, dict)
            yield Part(row, part if isinstance(part, dict) else {step.path: part}, own, around, plain, ways)


def _listed(found: Json) -> list[Json] | None:
    value = inside(found) if isinstance(found, str) else found
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else None


def _check_named(parts: Sequence[Part], named: set[str], place: str, numbers: Sequence[int]) -> None:
    for part in parts:
        for name in named:
            inner = part.value.get(name) if isinstance(part.value, dict) else None
            if inner is not None and as_text(inner) != part.named.get(name):
                raise TableError(
                    f"{place}, row {numbers[part.row]}: expected {name} {shortened(repr(part.named.get(name)), 40)}, "
                    f"as its key says, got {shortened(repr(as_text(inner)), 40)} inside; give the step another name"
                )
