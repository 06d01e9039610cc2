"""Rows of a file that says who sees what, as it is read and written.

A row is an output on a form. ``form`` says whose; ``page`` and ``position`` where: without them pages are runs of one
item, and columns are drawn; ``item``, ``system`` (absent: all) and ``sample`` which output. Rows without ``asked`` are
what the pages show; with the key of a way of asking they are what it asks about, in order. Labels are never read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from spa.elicitation import ways
from spa.errors import StudyError, TableError, called
from spa.records.assignment import Assignment, BlindingKey, ShownOutput
from spa.records.clean_text import cleaned
from spa.records.problems import quote
from spa.records.study import Study
from spa.study.output_files import OutputFileRow, display_path
from spa.study.output_table import first_few
from spa.tables.addresses import address_of, at_hand
from spa.tables.formulas import without_formulas
from spa.tables.options import TableOptions
from spa.tables.reading import open_table, reading
from spa.tables.source import Wanted

FORM, ITEM, SYSTEM, SAMPLE, PAGE, POSITION, ASKED = "form", "item", "system", "sample", "page", "position", "asked"
COLUMNS = (FORM, ASKED, PAGE, POSITION, ITEM, SYSTEM, SAMPLE)
WHOLE_NUMBERS = (PAGE, POSITION, SAMPLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow:
    """One row: an output on a form, or a system in a comparison."""

    place: str
    form: str
    item: str
    system: str
    asked: str = ""  # the key of a way of asking; empty where the output is only shown
    numbers: Mapping[str, int] = field(default_factory=dict)  # page, position and sample where they are there


class Mistakes:
    """Mistakes of a file, those of one kind together."""

    def __init__(self) -> None:
        self.by_kind: dict[str, list[str]] = defaultdict(list)

    def __len__(self) -> int:
        return sum(map(len, self.by_kind.values()))

    def say(self, kind: str, row: PageRow, expected: str, got: str, do: str) -> None:
        """Add a mistake of a row."""
        self.by_kind[kind].append(f"{row.place}: expected {expected}, got {got}; {do}")

    def refuse(self) -> None:
        """Raise StudyError where there are any, with the first few of each kind."""
        if self.by_kind:
            raise StudyError(*(line for kind, lines in self.by_kind.items() for line in first_few(lines, kind)))


def read_page_rows(path: Path) -> tuple[list[PageRow], tuple[str, ...]]:
    """Return the rows of a file, and what is to be said of columns that nobody reads.

    Raise StudyError with every mistake that a row has by itself.
    """
    place = display_path(path)
    try:
        with at_hand(path) as file, reading(file):
            source = open_table(file, Wanted(columns=frozenset(COLUMNS)), TableOptions())
            found = [column for column in COLUMNS if column in source.schema]
            if FORM not in found or ITEM not in found:
                listed = ", ".join(list(source.schema)[:20])
                do = f"there may be {', '.join(name for name in COLUMNS if name not in (FORM, ITEM))}, too"
                raise StudyError(f"{place}: expected columns form and item, got {listed or 'none'}; {do}")
            cells = [source.values(column) for column in found]
    except TableError as error:
        known = address_of(path) or str(path)
        renamed = (called(called(one, f"{known}, ", f"{place} "), known, place) for one in error.problems)
        raise StudyError(*renamed) from error
    mistakes = Mistakes()
    rows = [
        _row(OutputFileRow(path, number, {}).place, dict(zip(found, values, strict=True)), mistakes)
        for number, *values in zip(source.numbers(), *cells, strict=True)
    ]
    if not rows:
        raise StudyError(f"{place}: expected rows of assignments, got none; write there who sees what")
    mistakes.refuse()
    others = [name for name in source.schema if name not in COLUMNS]
    listed = ", ".join(others[:8]) + ", ..." * (len(others) > 8)
    note = f"{place}: columns not read: {listed}; forms have labels of the study's own"
    return rows, (note,) if others else ()


def _row(place: str, cells: Mapping[str, object], mistakes: Mistakes) -> PageRow:
    texts = {name: "" if value is None else cleaned(str(value)) for name, value in cells.items()}
    asked = texts.get(ASKED, "").strip()
    numbers: dict[str, int] = {}
    row = PageRow(
        place=place,
        form=texts[FORM].strip(),
        item=texts[ITEM],
        system=texts.get(SYSTEM, ""),
        asked="" if asked == "shown" else asked,
        numbers=numbers,
    )
    for name in WHOLE_NUMBERS:
        text = texts.get(name, "").strip()
        digits = text.removesuffix(".0")
        if digits.isascii() and digits.isdigit() and 0 < int(digits[:19]):
            numbers[name] = int(digits[:19])
        elif text:
            expected = f"a whole number from 1 in column {name}"
            mistakes.say("numbers", row, expected, quote(text), "correct it")
    if not row.form:
        mistakes.say("rows without a form", row, "the name of a form in column form", "nothing", "fill it in")
    return row


def pages_csv(study: Study, draws: Iterable[tuple[Assignment, BlindingKey]]) -> str:
    """Return assignments as a file that ``[design] assignments`` reads, from which the same forms are made."""
    names = {name: pl.Int64 if name in WHOLE_NUMBERS else pl.String for name in COLUMNS}
    rows = [row for assignment, key in draws for row in _rows_of(study, assignment, key)]
    return without_formulas(pl.DataFrame(rows, names, orient="row")).write_csv()


def _rows_of(study: Study, assignment: Assignment, key: BlindingKey) -> Iterator[tuple[object, ...]]:
    name, systems = assignment.assignment_id, key.systems

    def row(asked: str | None, page: int, position: int, output: ShownOutput) -> tuple[object, ...]:
        return name, asked, page, position, output.item_id, systems[output.label], output.sample

    pages = [shown for block in assignment.blocks for shown in block.rows]
    if study.single_outputs:
        pages = [(output,) for shown in pages for output in shown]
    for page, shown in enumerate(pages, start=1):
        yield from (row(None, page, position, output) for position, output in enumerate(shown, start=1))
    if study.single_outputs or study.deals_pairs:
        return  # what is asked is what is shown
    for way, section in study.sections.items():
        kind = ways()[way].assigned_as
        if kind == "comparisons":
            for page, comparison in enumerate(assignment.comparisons, start=1):
                for position, label in enumerate(comparison.directions[0], start=1):
                    yield name, way, page, position, None, systems[label], None
        elif kind == "rated" and study.page_table(way) == way:
            rated = [one.output for one in assignment.rated if one.elicitation == section.way]
            yield from (row(way, page, 1, output) for page, output in enumerate(rated, start=1))
        elif kind == "groups":
            for page, group in enumerate(assignment.groups_of(way), start=1):
                yield from (row(way, page, position, output) for position, output in enumerate(group, start=1))
