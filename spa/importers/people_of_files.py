"""Who answered, in files whose tool names nobody: a column that the study's author made, or the file."""

from __future__ import annotations

from collections.abc import Collection

import click

from spa.errors import ResponseError, shortened

FILE = "{file}"
PEOPLE = (  # columns that name people, where none is named
    *("annotator_id", "PROLIFIC_PID", "prolific_id", "participant_id", "participant", "subject_id", "subject"),
    *("worker_id", "workerId"),
)


def person_option() -> click.Option:
    """Return the option that says which column names people."""
    return click.Option(
        ["--annotator", "person"],
        metavar="COLUMN",
        help="Column that names the person, or {file}. [default: PROLIFIC_PID, participant, subject, ...]",
    )


def person_column(known: Collection[str], named: str | None, place: object, ask: str) -> str:
    """Return the column that names people, or ``{file}``.

    Raise ResponseError where it is open, and ``ask`` by which options it is said.
    """
    if named == FILE or (named is not None and named in known):
        return named
    listed = shortened(", ".join(known) or "none", 160)
    if named is not None:
        raise ResponseError(f"{place}: --annotator {shortened(named, 40)}: no such column; there are: {listed}")
    found = next((name for name in PEOPLE if name in known), None)
    if found is None:
        raise ResponseError(f"{place}: expected a column that names the people, got {listed}; say to {ask}")
    return found
