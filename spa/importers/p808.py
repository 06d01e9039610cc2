"""Votes of P.808, P.835 and P.804 tests: a row a vote of a listener; the system is the condition of the clip."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.errors import ResponseError, shortened
from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.foreign_files import counted
from spa.tables.other_tools import is_p808_means

if TYPE_CHECKING:
    from spa.importers.foreign_rows import ForeignRow
    from spa.importers.tables import ImportedTables, Row

VOTE, PERSON, CLIP, SCALE = "vote", "workerid", "short_file_name", "question_type"
NEEDED = (PERSON, CLIP, VOTE)
OWN = ("HITId", PERSON, "assignment_id", "assignmentstatus", "creation_time", "file", CLIP, VOTE, SCALE)
NO_CONDITION = "Unknown"  # the column where no pattern of conditions was configured
NAMES = "*_votes_per_worker*.csv"
REJECTED = "rejected"
ONE_SCALE = ("MOS", "DMOS", "CMOS")  # of tests that ask one question
COMPARED = "CMOS"


def _recognise(path: Path) -> Fit:
    """By columns; of a folder by the names of its files."""
    from spa.importers.foreign_rows import names_at_beginning

    if path.is_dir():
        return Fit.CERTAIN if next(path.glob(NAMES), None) is not None else Fit.NONE
    return Fit.CERTAIN if _is_votes(names := names_at_beginning(path)) or is_p808_means(names) else Fit.NONE


def _is_votes(names: frozenset[str]) -> bool:
    return names.issuperset(NEEDED)


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.foreign_rows import files_below, names_at_beginning, read_rows
    from spa.importers.tables import ImportedTables

    rows: list[ForeignRow] = []
    for path in files_below(request.paths, lambda one: one.match(NAMES), "P.808's votes_per_worker files"):
        if is_p808_means(names_at_beginning(path)):
            raise ResponseError(
                f"{path}: expected single votes, got means, in which clips, conditions and totals stand together; take "
                "the file _votes_per_worker_ beside it"
            )
        rows += read_rows(path, NEEDED)
    if not rows:
        raise ResponseError(f"{request.paths[0]}: expected votes, got none")
    names = _names(rows, request.options)
    scales = {row.text(SCALE) or "" for row in rows}
    only = next(iter(scales)) if len(scales) == 1 else ""
    made: dict[bool, list[Row]] = {True: [], False: []}
    for row in rows:
        item, system = names.of(row)
        vote, scale = row.number(VOTE), row.text(SCALE) or "overall"
        rejected = (row.text("assignmentstatus") or "").lower() == REJECTED
        made[rejected].append(
            {
                "annotator_id": row.name(PERSON),
                "annotator_kind": "human",
                "item_id": item,
                "system": system,
                "criterion": "overall" if only in ONE_SCALE else scale,
                "score": vote,
                "missing_reason": "no vote" if vote is None else None,
            }
        )
    return ImportedTables(
        rows={"ratings": made[False]},
        skipped={f"votes of rejected work, which lie in {REJECTED}": len(made[True])} if made[True] else {},
        notes=tuple(_notes(rows, scales, made[False])),
        apart={REJECTED: ImportedTables(rows={"ratings": made[True]}, skipped={})} if made[True] else {},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """Which system and item a vote is about: conditions, and what the pattern cuts out of the clip's name."""

    pattern: re.Pattern[str]
    columns: tuple[str, ...]  # conditions that name the system; none where the pattern does

    @property
    def group(self) -> str | int:
        """The group of the pattern that is the item."""
        return "item" if "item" in self.pattern.groupindex else 1

    def of(self, row: ForeignRow) -> tuple[str, str]:
        """Return item and system."""
        clip = row.name(CLIP)
        found = self.pattern.fullmatch(clip)
        if found is None or not found[self.group]:
            raise ResponseError(
                f"{row.place}, {CLIP}: expected what --item-pattern {shortened(self.pattern.pattern, 80)} fits as a "
                f"whole, got {shortened(repr(clip), 120)}"
            )
        if self.columns:
            return found[self.group], "/".join(row.name(name) for name in self.columns)
        if not found["system"]:
            raise ResponseError(f"{row.place}, {CLIP}: expected a system in {shortened(repr(clip), 120)}, got none")
        return found[self.group], found["system"]


def _names(rows: Sequence[ForeignRow], options: Mapping[str, Any]) -> _Names:
    """Return what the options say; raise ResponseError where they leave system or item open."""
    first = rows[0]
    conditions = dict.fromkeys(name for row in rows for name in row.cells if name not in (*OWN, NO_CONDITION))
    listed = shortened(", ".join(conditions) or "none", 120)
    pattern: re.Pattern[str] | None = options.get("pattern")
    columns = tuple(options.get("systems") or ())
    if pattern is None:
        told = "".join(f", {name} {first.text(name)}" for name in conditions)
        raise ResponseError(
            f"{first.place}: expected how the item is cut out of {CLIP}, which holds the system, too, got "
            f"{shortened(repr(first.text(CLIP)), 80)}{shortened(told, 80)}; say it to `spa import p808`, such as "
            r"--item-pattern '(?P<item>.+)_c[0-9]+\.wav', or to `spa report` as --item-from"
        )
    absent = next((name for name in columns if name not in conditions), None)
    if absent is not None:
        raise ResponseError(
            f"{first.place}: --condition {shortened(absent, 40)}: no such condition; there are: {listed}"
        )
    if not columns and "system" not in pattern.groupindex:
        if len(conditions) != 1:
            more = "--condition COLUMN (repeatable) or " if conditions else ""
            raise ResponseError(
                f"{first.place}: expected one condition, which is the system, got {listed}; say which with {more}a "
                "group (?P<system>...) in --item-pattern"
            )
        columns = tuple(conditions)
    return _Names(pattern=pattern, columns=columns)


def _notes(rows: Sequence[ForeignRow], scales: set[str], votes: Sequence[Row]) -> list[str]:
    people = len({row["annotator_id"] for row in votes})
    notes = [f"read: {counted(len(rows), 'vote')}, {counted(people, 'listener')} after P.808's own data cleaning"]
    if COMPARED in scales:
        notes.append("CMOS: a vote above 0 prefers the processed clip to its reference, whichever was played first")
    several: Counter[object] = Counter(item for item, _ in {(row["item_id"], row["system"]) for row in votes})
    if several and max(several.values()) == 1 and len({row["system"] for row in votes}) > 1:
        notes.append("no item has votes of two systems: does --item-pattern leave the system in the item?")
    return notes


def _pattern(context: click.Context, option: click.Parameter, given: str | None) -> re.Pattern[str] | None:
    if given is None:
        return None
    try:
        found = re.compile(given)
    except re.error as error:
        raise click.BadParameter(f"expected a regular expression: {error}", context, option) from error
    if "item" not in found.groupindex:
        raise click.BadParameter("expected a group (?P<item>...), got none", context, option)
    return found


FORMAT = AnswerFormat(
    key="p808",
    description="Read votes of P.808's toolkit: the files _votes_per_worker_.\n\n"
    "FILE is such a file, or the folder of them. The system is the condition that the toolkit's pattern found, the "
    "item what --item-pattern cuts out of the clip's name; means (votes_per_clip, votes_per_cond) are refused.",
    details="A test with one question (MOS, DMOS, CMOS) has the criterion overall, one with several the names of its "
    "scales, such as MOS_SIG.",
    example="spa import p808 batch_votes_per_worker_.csv --item-pattern '(?P<item>.+)_c[0-9]+.wav' --out tables",
    options=(
        click.Option(
            ["--item-pattern", "pattern"],
            metavar="REGEX",
            callback=_pattern,
            help="Fits a clip's file name as a whole; its group (?P<item>...) is the item, (?P<system>...) the system.",
        ),
        click.Option(
            ["--condition", "systems"],
            multiple=True,
            metavar="COLUMN",
            help="Condition that names the system; repeatable, then joined by /. [default: the only one]",
        ),
    ),
    meaning=FileMeaning(
        sides="CMOS above 0 prefers the processed clip",
        missing="an empty vote",
        left_out="what the toolkit's data cleaning leaves out; rejected work, kept apart",
        seen="P.808 5b8c00a0 (source read)",
        source="https://github.com/microsoft/P.808",
    ),
    item_option="pattern",
    recognise=_recognise,
    read=_read,
)
