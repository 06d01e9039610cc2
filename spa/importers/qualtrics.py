"""Qualtrics' exports: responses that are none leave by themselves, loops become items; the rest as of any table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from spa.errors import ResponseError, shortened
from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.foreign_files import beginning

if TYPE_CHECKING:
    from spa.importers.csv.mapping import Wide
    from spa.importers.foreign_rows import ForeignRow
    from spa.importers.tables import ImportedTables

SIGN = b'ImportId""'  # in the third header row
HEADERS = 1 << 21  # bytes in which it lies: the second row has the questions' texts


def _recognise(path: Path) -> Fit:
    """By the third header row of its CSV; of a folder by the files in it."""
    if path.is_dir():
        return max(map(_recognise, sorted(path.glob("*.csv"))[:20]), default=Fit.NONE)
    is_table = path.suffix.lower() in (".csv", ".tsv")
    return Fit.CERTAIN if is_table and SIGN in beginning(path, HEADERS) else Fit.NONE


def _responses(path: Path) -> list[ForeignRow]:
    """Return the rows below the further headers."""
    from spa.importers.csv.qualtrics import MARK
    from spa.importers.foreign_rows import read_rows

    rows = read_rows(path)
    last = next(
        (at for at, row in enumerate(rows) if any(str(cell).startswith(MARK) for cell in row.cells.values())), -1
    )
    return rows[last + 1 :]


def _real(mapping: Wide, rows: Sequence[ForeignRow], path: Path) -> dict[str, tuple[str, ...]]:
    """Return which values stay, of the columns of which the mapping says nothing."""
    from spa.importers.csv.qualtrics import REAL

    keep = dict(mapping.keep)
    for column, real in REAL.items():
        there = Counter(row.text(column) for row in rows if column in row.cells)
        if column in mapping.keep or column in mapping.drop or not there.keys() - {*real}:
            continue
        keep[column] = tuple(value for value in real if value in there)
        if not keep[column]:
            found = shortened(", ".join(f"{n} of {value}" for value, n in there.items()), 120)
            raise ResponseError(
                f"{path}, {column}: expected responses of people, got none ({found}); to count these name their values "
                f"in the mapping: keep = {{ {column} = [...] }}"
            )
    return keep


def _looped(mapping: Wide, columns: Sequence[str]) -> Wide:
    """Return the mapping with a question for each loop of one whose column stands there with loops alone.

    Of ``Q1`` those are ``1_Q1``, ``2_Q1``, ...; the loop is the item where the question names none.
    """
    questions = []
    for question in mapping.questions:
        name = question.column
        loops = [found for one in columns if name and (found := re.fullmatch(rf"([0-9]+)_{re.escape(name)}", one))]
        if name in columns or not loops:
            questions.append(question)
            continue
        for found in loops:
            item = {} if question.item or question.item_column or mapping.item else {"item": found[1]}
            questions.append(question.model_copy(update={"column": found[0], **item}))
    return mapping.model_copy(update={"questions": tuple(questions)})


def _called(what: str) -> str:
    """Return what was left out in words: ``Status 1`` is a preview."""
    from spa.importers.csv.qualtrics import CALLED, FINISHED, STATUS

    column, _, value = what.partition(" ")
    if column == STATUS:
        return f"responses that are {CALLED.get(value, 'of another status')} ({what})"
    return f"responses that were not finished ({what})" if column == FINISHED else what


def _twice(mapping: Wide, rows: Sequence[ForeignRow], keep: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Say who answered more than once."""
    who = mapping.annotator
    stay = [
        row for row in rows if all(row.text(column) in values for column, values in keep.items() if column in row.cells)
    ]
    counts = Counter(row.text(who) for row in stay if who is not None and row.cells.get(who) is not None)
    several = sum(n > 1 for n in counts.values())
    return [f"twice: {several} people of column {shortened(who or '', 40)} gave several responses"] if several else []


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.csv.pairs import wide_mapping
    from spa.importers.csv.sheets import files_of
    from spa.importers.csv.wide import read_wide
    from spa.importers.mapping import mapping_place

    files = files_of(request.paths, apart=(mapping_place(request),))
    mapping, path = wide_mapping(request, ("annotator_id",), files)
    rows = [row for one in files for row in _responses(one)]
    keep = _real(mapping, rows, files[0])
    mapping = _looped(mapping.model_copy(update={"keep": keep}), list(rows[0].cells) if rows else [])
    made = read_wide(files, mapping, path)
    skipped = {_called(what): n for what, n in made.skipped.items()}
    return replace(made, skipped=skipped, notes=(*made.notes, *_twice(mapping, rows, keep)))


FORMAT = AnswerFormat(
    key="qualtrics",
    description="Read an export of Qualtrics, a CSV with three rows of headers.\n\n"
    "Previews, tests, spam and responses that were not finished are left out; -99 is missing; a question Q1 of a loop "
    "(1_Q1, 2_Q1) is asked of an item a loop. Keys of the mapping are those of `spa import csv`.",
    example="spa import qualtrics export.csv --mapping import.toml --out tables",
    mapping="TOML file: what the columns mean.",
    meaning=FileMeaning(
        missing="an empty cell; -99 (seen but unanswered)",
        left_out="Status other than 0 or IP Address; Finished 0",
        seen="documentation of 2026",
        source="https://www.qualtrics.com/support/survey-platform/data-and-analysis-module/data/download-data/",
    ),
    recognise=_recognise,
    read=_read,
)
