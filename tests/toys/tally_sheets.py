"""A format of answers: lines such as ``Ana gave alpha 4 for story-1``."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.errors import ResponseError
from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables, Row

LINE = re.compile(r"(?P<annotator_id>\S+) gave (?P<system>\S+) (?P<score>[0-9]+) for (?P<item_id>\S+)")


def recognise(path: Path) -> Fit:
    """By the ending of its name."""
    return Fit.CERTAIN if path.suffix == ".tally" else Fit.NONE


def read(request: ImportRequest) -> ImportedTables:
    """Return a rating for each line; comments are left out. What it needs is loaded when a file is read."""
    from spa.importers.tables import ImportedTables
    from spa.tables.text_files import utf8_lines

    rows: list[Row] = []
    skipped: Counter[str] = Counter()
    for path in request.paths:
        for number, line in utf8_lines(path):
            found = LINE.fullmatch(line.strip())
            if line.startswith("#"):
                skipped["comments"] += 1
            elif found is None:
                raise ResponseError(f"{path}, line {number}: expected WHO gave SYSTEM N for ITEM, got {line!r}")
            else:
                answer: Row = {
                    "annotator_kind": "human",
                    "criterion": request.options["criterion"],
                    **found.groupdict(),
                }
                rows.append({**answer, "score": float(found["score"])})
    return ImportedTables(rows={"ratings": rows}, skipped=dict(skipped), notes=(f"read: {len(rows)} lines",))


FORMAT = AnswerFormat(
    key="tally-sheets",
    description="Read tally sheets.\n\nA line is one rating; lines that begin with # are left out.",
    example="spa import tally-sheets week.tally --out tables",
    options=(click.Option(["--criterion"], default="overall", help="What was rated."),),
    meaning=FileMeaning(left_out="comments", seen="tally 1 | 2", source="https://example.org/tally"),
    recognise=recognise,
    read=read,
)
