"""Files with tables, every column of them: what a study may be made from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spa.errors import StudyError, TableError, called, shortened
from spa.starting.columns import MOST, OutputColumn, columns_in
from spa.starting.names import Role, is_unnamed, last_part, place_in
from spa.study.output_files import OutputFileRow, display_path
from spa.tables.addresses import address_of, at_hand
from spa.tables.json_files import read_json, rows_within
from spa.tables.options import TableOptions
from spa.tables.other_rows import LOOKED_AT, header_problem
from spa.tables.other_tools import annotations_of
from spa.tables.reading import open_table, table_stem, table_suffix
from spa.tables.records import Records
from spa.tables.selection import nested
from spa.tables.source import Source, Wanted
from spa.tables.unrolling import roots
from spa.tables.workbooks import sheet_titles

VALUE = "value"  # a column of plain values that --each made of a whole record
JOINING: tuple[Role, ...] = ("item", "prompt")  # what joins the rows of files
ROLES: tuple[Role, ...] = ("item", "output", "prompt")
FoundColumns = tuple[dict[str, OutputColumn], tuple[str, ...], tuple[str, ...]]  # by name; unread; without a name
PART = re.compile(r"-\d{5}-of-\d{5}$")  # as data sets of Hugging Face are parted
OUTPUTS = frozenset(("results", "test", "preds", "predictions", "generations", "outs", "out"))  # of a file
DATES = re.compile(r"[\d\W_]+|(?i:t|z)(?=\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSheet:
    """A file: its rows, what tells it from other files, and the columns that cannot be read as texts."""

    file: Path
    label: str
    columns: Mapping[str, OutputColumn]
    numbers: Sequence[int]
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()

    def place(self, row: int) -> str:
        """Return where a row stands."""
        return OutputFileRow(self.file, self.numbers[row], {}).place

    def cells(self, name: str) -> Sequence[str | None]:
        """Return the cells of a column, empty where the file lacks it."""
        column = self.columns.get(name)
        return [None] * len(self.numbers) if column is None else column.cells


def open_source(path: Path, columns: frozenset[str], options: TableOptions) -> Source:
    """Open a file with all of its columns, and those that are named as paths into its records."""
    names = frozenset(open_table(path, Wanted(columns=frozenset(), guarded=False), options).schema)
    return open_table(path, Wanted(columns=names | columns, guarded=False), options)


def _opened(path: Path, columns: frozenset[str], options: TableOptions) -> tuple[Source, TableOptions]:
    """Open a file; one of JSON whose rows lie deeper within one object has those, where only one place holds them."""
    try:
        return open_source(path, columns, options), options
    except TableError:
        each = None
        if options.each is None and table_suffix(path.name) == ".json":
            whole = read_json(path)
            each = rows_within(whole) if isinstance(whole, dict) and not _has_output(whole) else None
        if each is None:
            raise
        options = replace(options, each=each)
        source = open_source(path, columns, options)
        return replace(source, notes=(*source.notes, f"each of {each} is a row")), options


def read_sheets(path: Path, named: frozenset[str], options: TableOptions) -> list[tuple[OutputSheet, Source]]:
    """Read a file; of a workbook whose sheets have the same columns each sheet, called by its title."""
    titles = () if options.sheet is not None or table_suffix(path.name) != ".xlsx" else _titles(path)
    if len(titles) < 2:
        return [read_sheet(path, named, options)]
    found: dict[str, tuple[OutputSheet, Source]] = {}
    for title in titles:
        try:
            found[title] = read_sheet(path, named, replace(options, sheet=title))
        except StudyError:  # a sheet that holds no table
            continue
    first = found.get(titles[0])
    alike = [] if first is None else [one for one in found if found[one][0].columns.keys() == first[0].columns.keys()]
    if len(alike) < 2 or len(alike) * 2 < len(titles):
        return [read_sheet(path, named, options)]
    others = shortened(", ".join(title for title in titles if title not in alike), 80)
    said = f"{len(alike)} of {len(titles)} sheets are read; other columns, or none: {others}"
    notes = (f"{display_path(path)}: {said if others else f'each of {len(titles)} sheets is read'}",)
    return [(replace(found[title][0], label=title, notes=notes), found[title][1]) for title in alike]


def _titles(path: Path) -> tuple[str, ...]:
    try:
        return sheet_titles(path)
    except (TableError, OSError):
        return ()  # reading it says why


def read_sheet(path: Path, named: frozenset[str], options: TableOptions) -> tuple[OutputSheet, Source]:
    """Read a file.

    Lists of records that name systems become rows of their own (as ``each`` does). Raise StudyError where the file
    cannot be read.
    """
    place = display_path(path)
    try:
        with at_hand(path) as file:
            source, options = _opened(file, named, options)
            if not named and (tool := annotations_of(source.schema)):
                raise TableError(
                    f"{source.place}: expected the systems' outputs, got annotations of {tool}: what people answered, "
                    "in lists beside the outputs of each document (spa report reads them); give the outputs, or "
                    "name a column for each system, such as --system 'item[0].tgt.NAME'"
                )
            each = next((name for name in source.schema if _lists_systems(source, name)), None)
            if options.each is None and each is not None:
                options = replace(options, each=each)
                source = open_source(file, named, options)
                source = replace(source, notes=(*source.notes, f"each of {each} is a row"))
            found = _columns(source, roots(options.each) if options.each else frozenset())
    except TableError as error:
        known = address_of(path) or str(path)
        lines = error.with_options({"each": "--each", "quotes": "--quotes", "keep": "--keep", "drop": "--drop"})
        raise StudyError(*(called(line, known, place) for line in lines)) from error
    if not source.height and not source.chosen:
        raise StudyError(f"{place}: expected rows with outputs, got none; write them there")
    return _sheet(path, table_stem(path.name), source, found), source


def _sheet(path: Path, label: str, source: Source, found: FoundColumns) -> OutputSheet:
    columns, unread, unnamed = found
    chosen = (one.note() for one in source.chosen if one.left_out)
    return OutputSheet(
        file=path,
        label=label,
        columns=columns,
        numbers=source.numbers(),
        notes=tuple(f"{display_path(path)}: {note}" for note in (*source.notes, *chosen)),
        unread=unread,
        unnamed=unnamed,
    )


def _has_output(record: Mapping[str, object]) -> bool:
    """Return whether a text stands in a record under a name that outputs usually have."""
    return any(isinstance(value, str) and place_in("output", key) is not None for key, value in record.items())


def record_sheets(files: Mapping[tuple[str, str], Path]) -> list[tuple[OutputSheet, Source]] | None:
    """Return JSON files of one record each as a sheet for each system, their items in a column of their own.

    ``files`` are by system and item. ``None`` where one is no record, or none has a text called as outputs are.
    """
    records: dict[str, list[Mapping[str, object]]] = {}
    for (system, item), path in files.items():
        try:
            record = read_json(path)
        except TableError:
            return None
        if not isinstance(record, dict):
            return None
        records.setdefault(system, []).append({"item_id": item} | record)
    if not any(_has_output(record) for own in records.values() for record in own):
        return None
    found = []
    for system, own in records.items():
        folder = next(path for (named, _), path in files.items() if named == system).parent
        rows = Records(display_path(folder), "record", frozenset(key for one in own for key in one))
        for number, record in enumerate(own, start=1):
            rows.add(number, record)
        source = rows.source()
        found.append((_sheet(folder, system, source, _columns(source, frozenset())), source))
    return found


def _columns(source: Source, apart: frozenset[str]) -> FoundColumns:
    found: dict[str, OutputColumn] = {}
    unread: list[str] = []
    unnamed: list[str] = []
    starts: dict[str, Sequence[object]] = {}
    for place, name in enumerate(source.schema, start=1):
        try:
            values = source.values(name)
        except TableError:
            unread.append(name)
            continue
        starts[name] = values[:LOOKED_AT]
        if is_unnamed(name) and not (name == "" and "" in apart):
            unnamed.append(f"column {place}" if place > 1 and _are_texts(starts[name]) else "")
            continue
        nests = any(isinstance(value, list | dict) for value in values)
        if nests and (name in apart or ("" in apart and all(value == values[0] for value in values))):
            continue  # what was taken apart
        for column in columns_in(name or VALUE, values):
            if column.unread:
                unread.append(column.name)
            else:
                found.setdefault(column.name, column)
    numbers = source.numbers()
    if len(numbers) and (problem := header_problem(starts, numbers[0])) is not None:
        raise TableError(f"{source.place}: {problem}")
    if texts := [name for name in unnamed if name]:
        raise TableError(
            f"{source.place}: expected a name of each column of texts, got none of {shortened(', '.join(texts), 60)}; "
            "write it into the header (where names stand in two rows, write them as one)"
        )
    return found, tuple(unread), tuple(unnamed)


def _are_texts(cells: Sequence[object]) -> bool:
    """Return whether cells hold texts of some words, which no index does."""
    filled = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
    return bool(filled) and sum(" " in cell.strip() for cell in filled) > len(filled) / 2


def _lists_systems(source: Source, name: str) -> bool:
    """Return whether a column holds lists of records, each with the name of its system."""
    if is_unnamed(name) or not nested(source.schema[name]):
        return False
    try:
        values = [value for value in source.values(name) if value]
    except TableError:
        return False
    lists = [value for value in values if isinstance(value, list) and all(isinstance(one, dict) for one in value)]
    if not lists or len(lists) < MOST * len(values):
        return False
    records = [one for value in lists for one in value]
    keys = {key for one in records[:200] for key in one if place_in("system", key) is not None}
    return any(len({str(one.get(key)) for one in records}) > 1 for key in keys) and "role" not in keys


def labelled(sheets: Sequence[OutputSheet]) -> list[OutputSheet]:
    """Give each file the part of its path that tells it from the others: its name, else that of a folder above it.

    Parts of one table in a folder (``train-00000-of-00002``) have one label.
    """
    whole = {sheet.file: (sheet.file.resolve().parent, PART.sub("", sheet.label)) for sheet in sheets}
    if len({*whole.values()}) < len({*whole}):
        firsts = {whole[sheet.file]: replace(sheet, label=whole[sheet.file][1]) for sheet in reversed(sheets)}
        labels = {key: one.label for key, one in zip(firsts, labelled([*firsts.values()]), strict=True)}
        return [replace(sheet, label=labels[whole[sheet.file]]) for sheet in sheets]
    stems = [PART.sub("", sheet.label) for sheet in sheets]
    alike = len({DATES.sub("", stem) for stem in stems}) == 1 or all(map(_says_outputs, stems))
    if len(sheets) > 1 and (alike or len({*stems}) < len(stems)):
        above = [sheet.file.resolve().parent.parts for sheet in sheets]
        depths = range(1, min(map(len, above)) + 1)
        folders = next((names for at in depths if len({*(names := [one[-at] for one in above])}) == len(names)), None)
        if folders is not None:
            return [replace(sheet, label=folder) for sheet, folder in zip(sheets, folders, strict=True)]
    if len({*stems}) < len(stems):
        return [replace(sheet, label=f"{sheet.file.resolve().parent.name}/{sheet.label}") for sheet in sheets]
    shared = _shared_end(stems) if len(stems) > 1 else ""
    return [replace(sheet, label=stem.removesuffix(shared) or stem) for sheet, stem in zip(sheets, stems, strict=True)]


def aligned(sheets: Sequence[OutputSheet]) -> list[OutputSheet]:
    """Call columns alike where each file has names of its own for outputs, items and prompts; what was renamed is said.

    Files that have a column of items or prompts in common stay as they are.
    """
    shared = set.intersection(*({*sheet.columns} for sheet in sheets)) if len(sheets) > 1 else {""}
    named = [dict(_usual(sheet)) for sheet in sheets]
    alike = frozenset.intersection(*(frozenset(one) for one in named))
    apart = not any(place_in(role, name) is not None for name in shared for role in JOINING) and len(sheets) > 1
    if not apart or "output" not in alike or alike.isdisjoint(JOINING):
        return [*sheets]
    found = [sheets[0]]
    for sheet, own in zip(sheets[1:], named[1:], strict=True):
        names = {own[role]: named[0][role] for role in own if role in alike and own[role] != named[0][role]}
        if {*names.values()} & {*sheet.columns}:
            return [*sheets]
        columns = {
            new: replace(one, name=new) for name, one in sheet.columns.items() for new in [names.get(name, name)]
        }
        said = ", ".join(f"{shortened(old, 40)} is read as {shortened(new, 40)}" for old, new in names.items())
        notes = (*sheet.notes, f"{sheet.file.name}: {said}") if said else sheet.notes
        found.append(replace(sheet, columns=columns, notes=notes))
    return found


def _usual(sheet: OutputSheet) -> Iterator[tuple[Role, str]]:
    """Yield for each role the column of a file that has the likeliest name."""
    free = {name: column for name, column in sheet.columns.items() if column.filled}
    for role in ROLES:
        known = sorted((at, name) for name in free if (at := place_in(role, name)) is not None)
        known = [(at, name) for at, name in known if role == "item" or not free[name].is_number]
        if known:
            yield role, known[0][1]
            del free[known[0][1]]


def _shared_end(stems: Sequence[str]) -> str:
    """Return "_outputs" of "a_outputs" and "b_outputs"."""
    endings = {re.sub(r"^.*?(?=[._-][^\W\d_]+$)", "", stem) for stem in stems}
    ending = endings.pop() if len(endings) == 1 else ""
    return ending if _says_outputs(ending) else ""


def _says_outputs(word: str) -> bool:
    """Return whether a file's name, or its end, says that outputs are in it, and not whose."""
    return place_in("output", word) is not None or last_part(word) in OUTPUTS
