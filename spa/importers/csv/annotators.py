"""Who answered: by a column, a file or a column of one's own; which annotators are LLMs."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from spa.errors import ResponseError, shortened
from spa.importers.csv.mapping import FILE, Columns, QuestionColumn, Wide, names_of
from spa.importers.csv.sheets import SheetRow, Sheets, open_sheet, read_sheets
from spa.tables.near_matches import escaped, matches_shown, near_matches
from spa.tables.options import TableOptions

FRACTIONAL = re.compile(r"[0-9]+\.0")  # how other programs write the whole numbers of a column with gaps
KINDS = {"human": "human", "person": "human", "llm": "llm"}
GLUE = "/"
PEOPLE_COLUMNS = ("annotator_id", "person")


class JoinedNames:
    """Names made of the values of several columns; refuses two names that would be one."""

    def __init__(self) -> None:
        self._parts: dict[str, tuple[str, ...]] = {}

    def of(self, row: SheetRow, columns: Columns | None) -> str | None:
        """Return the name that the columns of a row give, ``None`` where one of them is empty."""
        if columns is None or isinstance(columns, str):
            return None if columns is None else row.text(columns)
        values = [row.text(column) for column in columns]
        if None in values:
            return None
        parts = tuple(value for value in values if value is not None)
        name = GLUE.join(parts)
        if self._parts.setdefault(name, parts) != parts:
            one, other = (shortened(" and ".join(map(repr, several)), 120) for several in (parts, self._parts[name]))
            raise ResponseError(
                f"{row.place}: {one}, and {other}, would both be called {shortened(repr(name))}; write them "
                f"without {GLUE!r}"
            )
        return name


class AnnotatorNames:
    """Who answers the questions of a row, and of what kind they are."""

    def __init__(self, mapping: Wide, person_of: Mapping[str, str]) -> None:
        self._mapping = mapping
        self._person_of = person_of
        self._joined = JoinedNames()
        self._llms = dict.fromkeys(mapping.llms, False)  # whether an answer of theirs was met
        self._kinds: dict[str, str] = {}
        self._renamed: set[str] = set()

    @property
    def kinds_known(self) -> bool:
        """Whether anything says who is an LLM."""
        return bool(self._llms) or self._mapping.kind_column is not None

    def of(self, question: QuestionColumn, column: str, row: SheetRow) -> str | None:
        """Return who answered a column of a row, by the name that `people` gives."""
        name = self._written(question, column, row)
        if name is None or name not in self._person_of:
            return name
        self._renamed.add(name)
        return self._person_of[name]

    def _written(self, question: QuestionColumn, column: str, row: SheetRow) -> str | None:
        if question.annotators:
            group = self._joined.of(row, question.group)
            if question.group is not None and group is None:
                columns = " and ".join(names_of(question.group))
                raise ResponseError(f"{row.place}, {column}: expected the group in {columns}, got nothing")
            return column if group is None else f"{group}{GLUE}{column}"
        annotator = question.annotator or self._mapping.annotator or FILE
        if question.annotator is not None:
            return annotator
        return annotator.replace(FILE, row.text(FILE) or "") if FILE in annotator else row.text(annotator)

    def kind(self, annotator: str, header: str | None, row: SheetRow) -> str | None:
        """Return human or llm, ``None`` where nothing says who is an LLM; ``header`` is a column of one annotator."""
        if not self.kinds_known:
            return None
        kind = "human"
        if self._mapping.kind_column is not None:
            word = row.text(self._mapping.kind_column) or "human"
            if word.casefold() not in KINDS:
                raise ResponseError(
                    f"{row.place}, {self._mapping.kind_column}: expected human or llm, got {shortened(repr(word))}"
                )
            kind = KINDS[word.casefold()]
        for name in (annotator, header):
            if name is not None and name in self._llms:
                self._llms[name] = True
                kind = "llm"
        if self._kinds.setdefault(annotator, kind) != kind:
            raise ResponseError(
                f"{row.place}: annotator {shortened(repr(annotator))} is human in one row and LLM in another; name one"
            )
        return kind

    def check_names(self, met: Collection[str]) -> None:
        """Refuse names of LLMs that answered nothing, and people under names that nobody has."""
        llms = [("llms", name) for name, found in self._llms.items() if not found]
        people = [("people", name) for name in self._person_of if name not in self._renamed]
        people = people if not isinstance(self._mapping.people, str) else []  # a file may hold those of other tables
        for key, absent in [*llms, *people]:
            close = get_close_matches(absent, met, n=1, cutoff=0.4)
            meant = f"; did you mean {close[0]!r}?" if close else ""
            raise ResponseError(f"{key}: no annotator is called {shortened(repr(absent))}{meant}")


def person_of(people: str | Mapping[str, str], folder: Path, options: TableOptions) -> Mapping[str, str]:
    """Return who each annotator is, from a mapping or its file: ``annotator_id`` and ``person``, or two such columns.

    Raise ResponseError where a login has two people, or its person is a login of somebody else.
    """
    if isinstance(people, str):
        path = folder / people
        columns = tuple(open_sheet(path, (), options).schema)
        named = PEOPLE_COLUMNS if {*PEOPLE_COLUMNS} <= {*columns} else columns
        if len(named) != 2:
            found = shortened(", ".join(columns), 160)
            raise ResponseError(f"{path}: expected the columns annotator_id and person, or two columns, got {found}")
        given: dict[str, str] = {}
        for row in read_sheets([path], named, options).rows:
            login, person = (row.text(name) for name in named)
            if login is None or person is None:
                raise ResponseError(f"{row.place}: expected an annotator and a person, got an empty cell")
            if given.setdefault(login, person) != person:
                raise ResponseError(f"{row.place}: expected one person of {shortened(repr(login))}, got a second")
        people = given
    chained = next((name for name, person in people.items() if people.get(person, person) != person), None)
    if chained is not None:
        raise ResponseError(
            f"people: {shortened(repr(chained))} is {shortened(repr(people[chained]))}, who is somebody else again; "
            "name the person at the end"
        )
    return people


def said_of_near_names(names: Collection[str]) -> list[str]:
    """Say which names of annotators may be one person's: under pseudonyms nobody sees it any more."""
    near = near_matches(names)
    if not near:
        return []
    old, new = near[0].names[1], near[0].names[0]
    return [
        f"annotators: {matches_shown(near)} may be one; if so, say it by "
        f"people = {{ {json.dumps(escaped(old)).replace(chr(92) * 2, chr(92))} = {json.dumps(new)} }}"
    ]


def with_whole_numbers(sheets: Sheets, columns: Iterable[str]) -> Sheets:
    """Return the rows with ids such as 2.0 as 2, in columns of a file where every id is written so; and a note of it.

    A file stays as it is where another one, which has other ids in the column, too, writes one of its ids so.
    """
    by_file: dict[str, list[int]] = {}
    for number, row in enumerate(sheets.rows):
        by_file.setdefault(row.file, []).append(number)
    rows = list(sheets.rows)
    changed: list[str] = []
    for column in dict.fromkeys(columns):
        ids = {file: {str(rows[number].cells.get(column)) for number in at} - {"None"} for file, at in by_file.items()}
        for file in _fractional_files(ids):
            for number in by_file[file]:
                rows[number] = _whole(rows[number], column)
            changed.append(column)
    notes = [f"{', '.join(dict.fromkeys(changed))}: numbers such as 2.0 are read as 2"] if changed else []
    return replace(sheets, rows=rows, notes=(*sheets.notes, *notes))


def _fractional_files(ids: Mapping[str, set[str]]) -> set[str]:
    found = {file for file, own in ids.items() if own and all(map(FRACTIONAL.fullmatch, own))}
    while True:
        kept = set().union(*(own for file, own in ids.items() if file not in found))
        held = {file for file in found if not kept.isdisjoint(ids[file])}
        if not held:
            return found
        found -= held


def _whole(row: SheetRow, column: str) -> SheetRow:
    cell = row.cells.get(column)
    return row if cell is None else replace(row, cells={**row.cells, column: str(cell)[:-2]})
