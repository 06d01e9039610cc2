"""Results of webMUSHRA: ratings of stimuli on a page, comparisons with a reference, and pairs of scores (BS.1116)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.errors import ResponseError, shortened
from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.foreign_files import beginning, counted
from spa.records.system_roles import WEBMUSHRA, UnrankedRole, UnrankedSystem

if TYPE_CHECKING:
    from spa.importers.foreign_rows import ForeignRow
    from spa.importers.tables import ImportedTables, Row

MUSHRA = ("trial_id", "rating_stimulus", "rating_score")
PAIRS = ("trial_id", "choice_reference", "choice_non_reference", "choice_answer")
SCORES = (
    "trial_id",
    "rating_reference",
    "rating_non_reference",
    "rating_reference_score",
    "rating_non_reference_score",
)
SESSION = "session_uuid"
ROLES = tuple(one.system for one in WEBMUSHRA)  # the hidden reference, and low passes at 3.5 and 7 kHz
ANSWERS = {"correct": "x", "incorrect": "y", "undecided": "tie", "unknown": None}
APART = "references"  # the folder of what is rated, but compared with nothing
UNTOUCHED = 100.0  # where every slider stands at first
HIGH, OFTEN = 90.0, 0.15  # of BS.1534: a hidden reference below, or a middle anchor above, in more of the pages


@dataclass(slots=True, kw_only=True)
class _Heard:
    """Rows of both kinds, those of references and anchors apart, and what is said."""

    ratings: list[Row] = field(default_factory=list)
    choices: list[Row] = field(default_factory=list)
    apart: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    nameless: bool = False


def _header(path: Path) -> frozenset[str]:
    line = beginning(path).partition(b"\n")[0].decode("utf-8", "replace")
    return frozenset(name.strip().strip('"') for name in line.split(","))


def _recognise(path: Path) -> Fit:
    """By the names of columns that webMUSHRA alone writes."""
    header = _header(path) if path.suffix.lower() == ".csv" else frozenset()
    known = any({"session_test_id", *columns} <= header for columns in (MUSHRA, PAIRS, SCORES))
    return Fit.CERTAIN if known else Fit.NONE


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.foreign_rows import read_rows
    from spa.importers.tables import ImportedTables

    answers = _Heard()
    roles = frozenset(request.options.get("roles") or ROLES)
    for path in request.paths:
        header = _header(path)
        kind = next((columns for columns in (MUSHRA, PAIRS, SCORES) if set(columns) <= header), None)
        if kind is None:
            raise ResponseError(
                f"{path}: expected webMUSHRA's mushra.csv, paired_comparison.csv or bs1116.csv, got a table with "
                f"{shortened(', '.join(sorted(header)), 160)}"
            )
        rows = read_rows(path, kind)
        people = _people(path, rows, header, request.options.get("person"), answers)
        if kind is MUSHRA:
            _mushra(path, rows, people, roles, answers)
        elif kind is PAIRS:
            _pairs(rows, people, answers)
        else:
            _scores(rows, people, answers)
    if answers.nameless:
        answers.notes.append(
            "no column names the listeners: items are the units, and no agreement is counted; name a column of the "
            "questionnaire with --listener"
        )
    apart = {APART: ImportedTables(rows={"ratings": answers.apart}, skipped={})} if answers.apart else {}
    skipped = {f"ratings of the hidden reference and the anchors, which lie in {APART}": len(answers.apart)}
    return ImportedTables(
        rows={"ratings": answers.ratings, "choices": answers.choices},
        skipped={what: n for what, n in skipped.items() if n},
        notes=tuple(answers.notes),
        apart=apart,
        roles=tuple(_roles(answers)),
        unranked=APART if apart else None,
    )


def _roles(answers: _Heard) -> Iterator[UnrankedSystem]:
    """Yield what lies apart: as webMUSHRA names it, else an anchor by its name, else a hidden reference."""
    known = {one.system: one for one in WEBMUSHRA}
    ranked = {row["system"] for row in answers.ratings}
    for name in dict.fromkeys(row["system"] for row in answers.apart):
        if name not in ranked:
            role: UnrankedRole = "anchor" if "anchor" in name.casefold() else "hidden_reference"
            yield known.get(name, UnrankedSystem(system=name, role=role))


def _people(
    path: Path, rows: Sequence[ForeignRow], header: frozenset[str], person: str | None, answers: _Heard
) -> list[str]:
    """Return who answered each row: the session, or what a column of the questionnaire says; else nobody is named."""
    from spa.importers.tables import UNNAMED

    if person is not None and person not in header:
        there = shortened(", ".join(sorted(header)), 160)
        raise ResponseError(f"{path}: --listener {shortened(person, 40)}: no such column; there are: {there}")
    column = person or (SESSION if SESSION in header else None)
    if column is None:
        answers.nameless = True
        return [UNNAMED] * len(rows)
    return [row.name(column) for row in rows]


def _mushra(
    path: Path, rows: Sequence[ForeignRow], people: Sequence[str], roles: frozenset[str], answers: _Heard
) -> None:
    pages: defaultdict[tuple[str, str], dict[str, float | None]] = defaultdict(dict)
    for row, who in zip(rows, people, strict=True):
        system, item, score = row.name("rating_stimulus"), row.name("trial_id"), row.number("rating_score")
        pages[who, item][system] = score
        made = {**_rating(row, who, item, system, score), "seconds": _seconds(row)}
        (answers.apart if system in roles else answers.ratings).append(made)
    answers.notes.append(
        f"read: {counted(len(pages), 'page')} of {counted(len(set(people)), 'session')} in {path.name}"
    )
    untouched = Counter(who for (who, _), page in pages.items() if all(one == UNTOUCHED for one in page.values()))
    if untouched:
        n = untouched.total()
        answers.notes.append(
            f"perhaps untouched: {counted(n, 'page')} of {counted(len(untouched), 'session')} where every rating is "
            f"{UNTOUCHED:g}, as sliders stand at first; they count"
        )
    answers.notes += _screened(pages, roles)


def _screened(pages: dict[tuple[str, str], dict[str, float | None]], roles: frozenset[str]) -> Iterator[str]:
    """Say how many the rules of BS.1534 would leave out; nobody is."""
    for role, side in (("reference", "below"), ("anchor70", "above")):
        found: defaultdict[str, list[bool]] = defaultdict(list)
        for (who, _), page in pages.items():
            score = page.get(role)
            if role in roles and score is not None:
                found[who].append(score < HIGH if side == "below" else score > HIGH)
        n = sum(sum(own) > OFTEN * len(own) for own in found.values())
        if n:
            yield (
                f"{counted(n, 'session')} rated {role} {side} {HIGH:g} in over {OFTEN:.0%} of the pages; they count, "
                "unless --post-screening or --exclusions of a report leaves them out"
            )


def _rating(row: ForeignRow, who: str, item: str, system: str, score: float | None) -> Row:
    return {
        "annotator_id": who,
        "annotator_kind": "human",
        "item_id": item,
        "system": system,
        "criterion": "overall",
        "score": score,
        "explanation": row.text("rating_comment"),
        "missing_reason": "empty" if score is None else None,
    }


def _seconds(row: ForeignRow, name: str = "rating_time") -> float | None:
    milliseconds = row.number(name)
    return None if milliseconds is None else milliseconds / 1000


def _pairs(rows: Sequence[ForeignRow], people: Sequence[str], answers: _Heard) -> None:
    for row, who in zip(rows, people, strict=True):
        answer = row.name("choice_answer")
        if answer not in ANSWERS:
            raise ResponseError(
                f"{row.place}: expected a choice of {', '.join(ANSWERS)}, got {shortened(answer, 40)!r}"
            )
        answers.choices.append(
            {
                "annotator_id": who,
                "annotator_kind": "human",
                "item_id": row.name("trial_id"),
                "system_x": row.name("choice_reference"),
                "system_y": row.name("choice_non_reference"),
                "criterion": "overall",
                "winner": ANSWERS[answer],
                "explanation": row.text("choice_comment"),
                "missing_reason": answer if ANSWERS[answer] is None else None,
            }
        )
    answers.notes.append(f"read: {counted(len(rows), 'comparison')} with a reference, which is x; correct prefers it")


def _scores(rows: Sequence[ForeignRow], people: Sequence[str], answers: _Heard) -> None:
    for row, who in zip(rows, people, strict=True):
        item = row.name("trial_id")
        for kind, into in (("rating_non_reference", answers.ratings), ("rating_reference", answers.apart)):
            into.append(_rating(row, who, item, row.name(kind), row.number(f"{kind}_score")))
    answers.notes.append(f"read: {counted(len(rows), 'pair')} of scores, the hidden reference's apart")


FORMAT = AnswerFormat(
    key="webmushra",
    description="Read results of webMUSHRA: mushra, paired_comparison or bs1116.csv.\n\n"
    "A session is an annotator, a trial an item. The hidden reference and the anchors are rated but not ranked: their "
    "ratings go to the folder `references` in OUT.",
    example="spa import webmushra results/test/mushra.csv --out tables",
    options=(
        click.Option(
            ["--listener", "person"], metavar="COLUMN", help="Column that names the listener, where no session does."
        ),
        click.Option(
            ["--unranked", "roles"],
            multiple=True,
            metavar="STIMULUS",
            help="Hidden reference or anchor; repeatable. [default: reference, anchor35, anchor70]",
        ),
    ),
    meaning=FileMeaning(
        sides="correct prefers choice_reference (x)",
        ties="undecided",
        missing="unknown; an empty score",
        left_out="hidden reference and anchors, kept apart; pages where every rating is 100 are told",
        seen="webMUSHRA 07130f21",
        source="https://github.com/audiolabs/webMUSHRA",
    ),
    recognise=_recognise,
    read=_read,
)
