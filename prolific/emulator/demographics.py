"""Who took part, as the platform exports it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from prolific.emulator import schema, submissions
from prolific.emulator.ids import iso_time
from prolific.emulator.participant_pool import offered
from prolific.emulator.request_transaction import RequestTransaction

USUAL = ("age", "sex", "first-language", "current-country-of-residence", "nationality")
HEAD = ("Submission id", "Participant id", "Status", "Started at", "Completed at", "Reviewed at", "Time taken")


def as_csv(tx: RequestTransaction, study_id: str, names: Sequence[str] | None) -> str:
    """Return one row a submission, with what people said about themselves."""
    known = offered(tx)
    asked = [name for name in names or USUAL if name in known]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*HEAD, "Completion code", *(known[name]["title"] for name in asked)])
    for row in submissions.of_study(tx, study_id):
        person = tx.connection.scalar(
            select(schema.participants.c.attributes).where(schema.participants.c.id == row.participant_id)
        )
        times = [iso_time(row.started_at), iso_time(row.completed_at), iso_time(row.reviewed_at)]
        answers = [_format_answer(known[name], (person or {}).get(name)) for name in asked]
        writer.writerow(
            [row.id, row.participant_id, row.status, *times, submissions.seconds_taken(row), row.entered_code, *answers]
        )
    return text.getvalue()


def _format_answer(asked: dict[str, Any], value: Any) -> str:
    if value is None:
        return "DATA_EXPIRED"
    choices = asked.get("choices", {})
    values = value if isinstance(value, list) else [value]
    return ", ".join(str(choices.get(one, one)) for one in values)
