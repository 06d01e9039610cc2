"""Archiving a study's HITs and submissions in files, before the endpoint deletes them.

``hits.jsonl`` and ``assignments.jsonl`` contain the protocol's records; ``results.csv`` has the columns of the result
files of MTurk's requester site, so that old scripts read it.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from mturk import records
from mturk.endpoints import MTurkEndpoint
from mturk.hit_study import HitStudy
from mturk.replies import call
from spa.errors import PlatformError
from spa.files import written_whole
from spa.importers.mturk.answers import AnswerRefused, answer_pairs, read_answers
from spa.importers.mturk.safe_xml import XMLRefused
from spa.tables.formulas import without_formula

FIXED = """
    HITId HITTypeId Title Description Keywords Reward CreationTime MaxAssignments RequesterAnnotation
    AssignmentDurationInSeconds AutoApprovalDelayInSeconds Expiration AssignmentId WorkerId AssignmentStatus AcceptTime
    SubmitTime AutoApprovalTime ApprovalTime RejectionTime RequesterFeedback WorkTimeInSeconds
""".split()
MOST_COLUMNS = 2_000  # of answers; a field that an annotator made up stands in assignments.jsonl all the same


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSummary:
    """The files written."""

    files: Mapping[str, int]  # path -> rows
    checksums: Mapping[str, str]  # path -> SHA-256


def write_archive(hit_study: HitStudy, folder: Path, *, worker_ids: bool, now: float) -> ArchiveSummary:
    """Write everything known about the HITs of a study, after which they may be deleted.

    HITs are fetched from the endpoint; those that it no longer has are written from the store. Annotators are named
    by the endpoint's ids if ``worker_ids``, else by the store's own.
    """
    store, endpoint = hit_study.store, hit_study.endpoint
    own = records.all_hits(store, endpoint.origin)
    hits = {hit.hit_id: _hit_facts(endpoint, hit) for hit in own}
    works = list(records.all_works(store, endpoint.origin))
    people = records.worker_ids(store) if worker_ids else {}
    rows = [_assignment_facts(work, people.get(work.annotator_id) or work.annotator_id) for work in works]
    written = {
        folder / "hits.jsonl": _write_lines(folder / "hits.jsonl", hits.values()),
        folder / "assignments.jsonl": _write_lines(folder / "assignments.jsonl", rows),
        folder / "results.csv": _write_results(folder / "results.csv", hits, rows),
    }
    with store.transaction() as connection:
        counts = Counter(work.hit_id for work in works)
        for hit in own:
            if hit.disposed_at is None:
                count = counts[hit.hit_id]
                records.change_hit(connection, hit.hit_id, archived_assignments=count, archived_at=now)
    return ArchiveSummary(
        files={str(path): count for path, count in written.items()},
        checksums={str(path): sha256(path.read_bytes()).hexdigest() for path in written},
    )


def _hit_facts(endpoint: MTurkEndpoint, hit: records.PublishedHit) -> dict[str, Any]:
    reply = call(endpoint.reading.get_hit, {"HITId": hit.hit_id})
    if reply.state == "done":
        return {key: _written(value) for key, value in reply.content["HIT"].items()}
    if reply.state != "refused":
        raise PlatformError(f"get_hit {hit.hit_id}: {reply.message}; run the command again")
    return {
        "HITId": hit.hit_id,
        "HITTypeId": hit.hit_type_id,
        "Reward": hit.reward,
        "MaxAssignments": hit.max_assignments,
        "CreationTime": _time(hit.created_at),
        "Expiration": _time(hit.expires_at),
        "HITStatus": "Disposed",
    }


def _assignment_facts(work: records.Work, worker: str) -> dict[str, Any]:
    reviewed = {"Approved": "ApprovalTime", "Rejected": "RejectionTime"}.get(work.status)
    facts = {
        "AssignmentId": work.mturk_assignment_id,
        "HITId": work.hit_id,
        "WorkerId": worker,
        "AssignmentStatus": work.status,
        "AcceptTime": _time(work.accepted_at),
        "SubmitTime": _time(work.submitted_at),
        "AutoApprovalTime": _time(work.auto_approval_at),
        "RequesterFeedback": work.feedback,
        "Answer": work.answer,
    }
    return facts if reviewed is None else {**facts, reviewed: _time(work.reviewed_at)}


def _write_lines(path: Path, rows: Any) -> int:
    lines = [json.dumps(row, ensure_ascii=True, sort_keys=True) + "\n" for row in rows]
    with (
        written_whole(path, private=True, error_type=PlatformError) as temporary,
        temporary.open("w", encoding="utf-8") as file,
    ):
        file.writelines(lines)
    return len(lines)


def _write_results(path: Path, hits: Mapping[str, Mapping[str, Any]], rows: list[dict[str, Any]]) -> int:
    answered = [dict(_answers(row["Answer"])) for row in rows]
    used = Counter(name for answers in answered for name in answers)
    names = sorted((name for name, _ in used.most_common(MOST_COLUMNS)), key=_natural)
    header = [*FIXED, *(f"Answer.{name}" for name in names)]
    with (
        written_whole(path, private=True, error_type=PlatformError) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file)
        writer.writerow([_safe(name) for name in header])
        for row, answers in zip(rows, answered, strict=True):
            facts = {**hits.get(row["HITId"], {}), **row, "WorkTimeInSeconds": _seconds_between(row)}
            fixed = [facts.get(name) for name in FIXED]
            writer.writerow([_safe(value) for value in (*fixed, *(answers.get(name) for name in names))])
    return len(rows)


def _answers(xml: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of an answer; one that cannot be parsed is in assignments.jsonl verbatim."""
    try:
        yield from answer_pairs(read_answers(xml))
    except (AnswerRefused, XMLRefused) as error:
        yield "(unreadable)", str(error)


def _safe(value: object) -> str:
    """Return a cell that no spreadsheet evaluates as a formula."""
    text = "" if value is None else str(value).encode("utf-8", "replace").decode()
    return text if _is_number(text) else without_formula(text)


def _is_number(text: str) -> bool:
    return text.lstrip("+-").replace(".", "", 1).isdecimal()


def _natural(name: str) -> tuple[str, int, str]:
    """Sort q2 before q10."""
    head = name.rstrip("0123456789")
    digits = name[len(head) :]
    return head, int(digits) if 0 < len(digits) < 10 else 0, name


def _seconds_between(row: Mapping[str, Any]) -> str:
    began, ended = row.get("AcceptTime"), row.get("SubmitTime")
    if began is None or ended is None:
        return ""
    seconds = (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()
    return str(round(seconds))


def _written(value: object) -> object:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
