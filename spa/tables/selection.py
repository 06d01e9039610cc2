"""What the options make of a file's rows: records taken apart, columns found by paths, constants, which rows stay."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath

import polars as pl

from spa.errors import ArgumentProblem, TableError, shortened
from spa.tables.options import TableOptions
from spa.tables.packing import packing_of
from spa.tables.paths import as_text, beginnings, follow, inside, is_path, keys_there, parsed
from spa.tables.source import SHOWN, RowsChosen, Source, Wanted, added
from spa.tables.unrolling import roots, unrolled

SEEN = 1_000  # rows in which a value of a column is looked for
EACH_ROW = "{row}"  # a constant that is another in every row: the file's name and what a reader calls the row
EACH_FILE = "{file}"  # one that is another in every file: its name without what it ends in
REVIEWED, REJECTED = "AssignmentStatus", "Rejected"  # of MTurk's results, and of work that was refused
ANSWERED = frozenset(("score", "winner", "preference", "rank"))
TOGETHER, JOINED = "+", "/"  # several columns that name one thing, and what stands between their texts


def needed(wanted: Wanted, options: TableOptions) -> Wanted:
    """Return what is to be asked of the file itself: the sources of the wanted columns, too."""
    names = {old for old, new in options.mapping.items() if new in wanted.columns} | wanted.columns
    names |= {*options.keep, *options.drop, REVIEWED}
    sources = {old for old, new in options.mapping.items() if new in names}
    columns = {begin for name in names | sources for part in _parts(name) for begin in beginnings(part)}
    if options.each is not None:
        columns |= roots(options.each)
    numbers = wanted.numbers | {old for old, new in options.mapping.items() if new in wanted.numbers}
    return replace(wanted, columns=frozenset(columns), numbers=numbers)


def named_columns(options: TableOptions) -> frozenset[str]:
    """Return every name that the options use, whole and by its parts."""
    names = {*options.mapping, *options.keep, *options.drop}
    return frozenset(begin for name in names for part in _parts(name) for begin in beginnings(part))


def arranged(source: Source, wanted: Wanted, options: TableOptions) -> Source:
    """Return the source with the rows and columns that the options make of it.

    Parameters
    ----------
    source : Source
        Rows as they stand in the file.
    wanted : Wanted
        Columns that are asked for by their own names or those that the options give them; a name that holds a dot, a
        bracket or ``+`` and is no column is a path, or several columns.
    options : TableOptions
        What is to be made of them.

    Raises
    ------
    TableError
        When a path ends at nothing in every row, or a row lacks a part of a name made of several columns.
    """
    made = {old for old, new in options.mapping.items() if new in wanted.columns} | set(wanted.columns)
    if options.each is not None:
        source = unrolled(source, options.each, made)
    tidy = {options.mapping.get(name, name) for name in source.schema}
    if ANSWERED & wanted.columns:
        _refuse_rejected(source, options)
    for name in sorted(made):
        if name not in source.schema and (is_path(name) or TOGETHER in name):
            source = _with_column(source, name, options)
    for name, value in options.constants.items():
        if name in wanted.columns and name not in tidy:
            source = _with_constant(source, name, value)
    if options.each is not None and wanted.guarded:  # a text may be a list, an id is none
        _refuse_lists(source, wanted, options)
    return _chosen(source, options) if options.keep or options.drop else source


def _refuse_rejected(source: Source, options: TableOptions) -> None:
    """Refuse rows of work that MTurk's requester rejected, until somebody says whether they count."""
    if REVIEWED not in source.schema or REVIEWED in (*options.keep, *options.drop):
        return
    rejected = sum(str(value).strip() == REJECTED for value in source.values(REVIEWED))
    if rejected:
        raise TableError(
            ArgumentProblem(
                "drop",
                before=f"{source.place}: {REVIEWED} is {REJECTED} in some rows; leave them out with ",
                in_python=f"={ {REVIEWED: (REJECTED,)} }",
                in_command=f" {REVIEWED}={REJECTED}",
                after=f" ({rejected:,} rows), or name all values of {REVIEWED} that count by keep",
            )
        )


def _refuse_lists(source: Source, wanted: Wanted, options: TableOptions) -> None:
    """Refuse a list as one value of a column that is asked for, beside lists that were taken apart."""
    for name in source.schema:
        if not {name, options.mapping.get(name, name)} & wanted.columns:
            continue
        cell = next((value for value in source.values(name)[:SEEN] if value is not None), None)
        if isinstance(inside(cell) if isinstance(cell, str) else cell, list):
            together = f"{options.each}, {name}"
            raise TableError(
                f"{source.place}: expected one value a row in {name}, got the list {shortened(as_text(cell), 60)}; "
                f"lists that belong together are taken apart together: --each {shortened(repr(together), 120)}"
            )


def _parts(name: str) -> list[str]:
    return [name, *name.split(TOGETHER)] if TOGETHER in name else [name]


def _with_column(source: Source, name: str, options: TableOptions) -> Source:
    """Add a column that a path or several columns give; where its beginning is no column, leave the source as it is."""
    together = [name] if TOGETHER not in name else name.split(TOGETHER)
    cells: list[list[str | None]] = []
    for part in together:
        found = _texts(source, part.strip(), options)
        if found is None:
            return source
        cells.append(found)
    joined = cells[0] if len(cells) == 1 else _joined(source, name, cells)
    series = pl.Series(name, joined, dtype=pl.String)

    def column(asked: str) -> pl.Series:
        return series if asked == name else source.column(asked)

    def values(asked: str) -> list[object]:
        return series.to_list() if asked == name else source.values(asked)

    taken = options.mapping.get(name) if len(together) > 1 else None  # one of several may have the name of the whole
    schema = {old: kind for old, kind in source.schema.items() if old != taken or old not in together}
    return replace(source, schema={**schema, name: pl.String()}, column=column, values=values)


def _joined(source: Source, name: str, cells: Sequence[Sequence[str | None]]) -> list[str | None]:
    rows = list(zip(*cells, strict=True))
    for number, row in zip(source.numbers(), rows, strict=True):
        if any(row) and not all(row):
            part = name.split(TOGETHER)[[bool(one) for one in row].index(False)]
            raise TableError(
                f"{source.place}, row {number}: expected {part} as a part of {name}, got nothing; fill it in"
            )
    joined = [JOINED.join(one for one in row if one) or None for row in rows]
    meant: dict[str | None, tuple[str | None, ...]] = {}
    for number, row, text in zip(source.numbers(), rows, joined, strict=True):
        if meant.setdefault(text, row) != row:
            both = " and ".join(shortened(repr(one), 60) for one in (meant[text], row))
            raise TableError(
                f"{source.place}, row {number}: {both} would both be called {shortened(repr(text), 60)} as {name}; "
                f"take {JOINED} out of one of the columns"
            )
    return joined


def _texts(source: Source, path: str, options: TableOptions) -> list[str | None] | None:
    """Return what stands at a path in each row, ``None`` where it begins with no column."""
    if path in source.schema and not nested(source.schema[path]):
        return [as_text(value) for value in source.values(path)]
    begins = next((name for name in beginnings(path) if name in source.schema), None)
    if begins is None:
        old = next((old for old, new in options.mapping.items() if new == path and old in source.schema), None)
        return None if old is None else _texts(source, old, options)
    rest = path[len(begins) :].removeprefix(".")
    cells = source.values(begins)
    read = _reader()
    found: list[str | None] = []
    there = False
    for number, cell in zip(source.numbers(), cells, strict=True):
        try:
            value = follow(read(cell), rest)
        except TableError as error:
            raise TableError(f"{source.place}, row {number}, {begins}: {error.problems[0]}") from error
        if isinstance(value, list | dict):
            got = "a list" if isinstance(value, list) else "an object"
            raise TableError(
                f"{source.place}, row {number}: expected one value at {path}, got {got}; name one of its parts "
                f"({path}[0]), or take it apart by each"
                if isinstance(value, list)
                else f"{source.place}, row {number}: expected one value at {path}, got {got} with "
                f"{keys_there([value])}; name one of them"
            )
        there = there or value is not None
        found.append(as_text(value) or None)
    if not there and any(cell is not None for cell in cells):
        raise TableError(
            f"{source.place}: expected values at {path}, got none; {begins} holds {keys_there(cells[:1000])}"
        )
    return found


def _reader() -> Callable[[object], object]:
    """Return what looks into cells of text that hold JSON; the same text is read once."""
    read: dict[str, object] = {}

    def value(cell: object) -> object:
        if type(cell) is not str:
            return cell
        if cell not in read:
            if len(read) > 4096:
                read.clear()
            read[cell] = parsed(cell)
        return read[cell]

    return value


def nested(kind: pl.DataType) -> bool:
    """Whether a column of this type holds lists or objects."""
    return kind.is_nested() or kind == pl.Object


def _with_constant(source: Source, name: str, value: str) -> Source:
    if value == EACH_FILE:
        place = PurePath(source.place)
        value = place.stem if packing_of(place) is None else PurePath(place.stem).stem

    def cells() -> list[str]:
        if value != EACH_ROW:
            return [value] * source.height
        return [f"{PurePath(source.place).name}:{number}" for number in source.numbers()]

    def column(asked: str) -> pl.Series:
        return pl.Series(name, cells(), dtype=pl.String) if asked == name else source.column(asked)

    def values(asked: str) -> list[object]:
        return [*cells()] if asked == name else source.values(asked)

    schema = {**source.schema, name: pl.String()}
    return replace(source, schema=schema, column=column, values=values, constants=source.constants | {name})


def _chosen(source: Source, options: TableOptions) -> Source:
    """Leave out rows."""
    stays = pl.repeat(True, source.height, eager=True)
    chosen: list[RowsChosen] = []
    for keeps, named in ((False, options.drop), (True, options.keep)):
        for column, values in named.items():
            cells = _cells(source, column, options)
            if cells is None:
                continue
            hit = cells.is_in([form for value in values for form in _forms(value)]).fill_null(False)
            gone = stays & (~hit if keeps else hit)
            counts = {value: int(cells.is_in(_forms(value)).sum() or 0) for value in values}
            others = cells.filter(~hit).unique(maintain_order=True).head(SHOWN).to_list()
            seen = tuple("(empty)" if other is None else str(other) for other in others)
            chosen.append(
                RowsChosen(keeps=keeps, column=column, values=counts, left_out=int(gone.sum() or 0), others=seen)
            )
            stays = stays & ~gone
    if stays.all():
        return replace(source, chosen=(*source.chosen, *chosen))
    rows = pl.Series("row", list(source.numbers()), dtype=pl.UInt32).filter(stays)
    places = stays.arg_true()

    def column_of(name: str) -> pl.Series:
        return source.column(name).filter(stays)

    def values_of(name: str) -> list[object]:
        whole = source.values(name)
        return [whole[place] for place in places]

    return replace(
        source, height=len(rows), column=column_of, values=values_of, rows=rows, chosen=(*source.chosen, *chosen)
    )


def _forms(value: str) -> list[str]:
    """Return the ways of writing a value whose letters are composed or not."""
    return list(dict.fromkeys((value, *(unicodedata.normalize(form, value) for form in ("NFC", "NFD")))))


def _cells(source: Source, column: str, options: TableOptions) -> pl.Series | None:
    """Return the texts of a column that is named as in the file, as in the tidy table, or by a path."""
    name = (
        column
        if column in source.schema
        else next((old for old, new in options.mapping.items() if new == column and old in source.schema), None)
    )
    if name is not None and not nested(source.schema[name]):
        return source.column(name).cast(pl.String).str.strip_chars()
    if not (is_path(column) or TOGETHER in column):
        return None
    with_path = _with_column(source, column, options)
    return with_path.column(column).str.strip_chars() if column in with_path.schema else None


def chosen_problems(options: TableOptions, chosen: Iterable[RowsChosen]) -> list[ArgumentProblem]:
    """Return a problem for each ``keep`` and ``drop`` that names no column of any table, or a value that no row has.

    ``chosen`` is what they did in every file.
    """
    total = {(one.keeps, one.column): one for one in added(chosen, ())}
    problems: list[ArgumentProblem] = []
    for keeps, named in ((False, options.drop), (True, options.keep)):
        for column, values in named.items():
            option = "keep" if keeps else "drop"
            did = total.get((keeps, column))
            if did is None:
                problems.append(_problem(option, column, values[0], "expected a column of that name, got none"))
                continue
            for value in values:
                if not did.values[value]:
                    there = shortened(", ".join(did.others), 200) or "none"
                    got = f"expected a row with that value, got none (there are: {there})"
                    problems.append(_problem(option, column, value, got))
    return problems


def _problem(option: str, column: str, value: str, got: str) -> ArgumentProblem:
    return ArgumentProblem(
        option,
        in_python="=" + shortened(repr({column: (value,)})),
        in_command=" " + shortened(f"{column}={value}"),
        after=f": {got}",
    )
