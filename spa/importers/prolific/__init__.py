"""Prolific's exports: who took part, with ages and times, and the answers of its Task Builder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.questions_of_files import question_options

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables

EXPORT = ("Participant id", "Status")  # columns of the demographic export
LISTED = ("ParticipantID", "Status")  # of the command-line tool's list of submissions
EARLIER = ("session_id", "participant_id", "status", "time_taken")  # of exports until 2021
LISTS = (EXPORT, LISTED, EARLIER)
BUILDER = ("participant_id", "task_id")  # of what Task Builder collects
ALSO_BUILDER = ("batch_id", "submission_id", "instruction_id")
MEMBERS = ("responses-by-task.jsonl", "responses-by-submission.jsonl")  # of its archive


def _recognise(path: Path) -> Fit:
    from spa.importers.foreign_files import beginning
    from spa.importers.foreign_rows import names_at_beginning

    if path.is_dir():
        return Fit.CERTAIN if any((path / name).is_file() for name in MEMBERS) else Fit.NONE
    if path.suffix.lower() == ".zip":
        return Fit.CERTAIN if beginning(path)[:2] == b"PK" and _is_archive(path) else Fit.NONE
    if path.name in MEMBERS:
        return Fit.CERTAIN if beginning(path).lstrip()[:1] == b"{" else Fit.NONE
    names = names_at_beginning(path)
    builder = names.issuperset(BUILDER) and not names.isdisjoint(ALSO_BUILDER)
    return Fit.CERTAIN if builder or any(map(names.issuperset, LISTS)) else Fit.NONE


def _is_archive(path: Path) -> bool:
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(path) as archive:
            return any(Path(name).name in MEMBERS for name in archive.namelist())
    except (OSError, BadZipFile, ValueError, NotImplementedError):
        return False


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.prolific.joining import read_prolific

    return read_prolific(request)


FORMAT = AnswerFormat(
    key="prolific",
    description="Read Prolific's lists of people, and answers of its Task Builder.\n\n"
    "FILE is a demographic export, the CSV of `prolific submission list`, or Task Builder's CSV report, ZIP or JSONL; "
    "submissions that are returned, rejected, timed out or screened out do not count.",
    details="Of a list of people, --answer-table names tables of what they answered, by the same ids or their "
    "pseudonyms: answers of people who do not count go to the folder `not_counted` in OUT. Ages (in tens), approvals "
    "and times stand in annotators as demographic:NAME.",
    example="spa import prolific prolific_export.csv --answer-table tables/ratings.csv --out tables-counted",
    options=(
        click.Option(
            ["--answer-table", "answers"],
            multiple=True,
            type=click.Path(path_type=Path),
            metavar="TABLE",
            help="Table of answers of these people, as `spa report` reads it; repeatable.",
        ),
        click.Option(
            ["--demographic", "demographics"],
            multiple=True,
            metavar="COLUMN",
            help="Join this column of the export as well; repeatable.",
        ),
        click.Option(
            ["--participant-column"],
            metavar="COLUMN",
            help="Column of Task Builder's report that names the person. [default: participant_id]",
        ),
        *question_options(),
    ),
    meaning=FileMeaning(
        sides="none of its own; Task Builder's by --compared",
        missing="an empty cell; CONSENT_REVOKED, DATA_EXPIRED",
        left_out='all but APPROVED, PARTIALLY APPROVED, AWAITING REVIEW; a last line "Showing 200 records of 350" is '
        "no row, and the rest is missing",
        seen="API and command-line tool of 2026, read",
        source="https://docs.prolific.com",
    ),
    recognise=_recognise,
    read=_read,
)
