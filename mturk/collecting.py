"""Collecting submissions from the endpoint, each once, however often a run is interrupted."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from mturk import records
from mturk.eligibility import exclude
from mturk.endpoints import MTurkEndpoint
from mturk.hit_forms import read_submission
from mturk.records import APPROVED, RECEIPT_FIELD, REJECTED, SOURCE, STATUSES, SUBMITTED, claim_name, make_receipt
from mturk.replies import entries, fetch, pages
from mturk.settings import minutes_allowed
from spa.errors import PlatformError
from spa.importers.mturk.answers import AnswerRefused, answer_pairs, read_answers
from spa.importers.mturk.safe_xml import XMLRefused
from spa.platforms.collecting import Kind, PlatformSubmission, match_visit
from spa.records.submission import Submission
from spa.responses.admission import AdmissionRules, Arrival, SecondVisit, admit_submitted
from spa.responses.begun_order import BEGUN_UNTIL
from spa.responses.database import note
from spa.responses.leases import lease_of_external
from spa.responses.outcomes import COMPLETED, NOT_SUBMITTED
from spa.responses.payloads import save_page
from spa.responses.recounts import note_recount
from spa.responses.study_families import StudyFamily
from spa.responses.visit_ends import confirm_visit, finish_visit
from spa.study.stopping import counts_as_begun

if TYPE_CHECKING:
    from mturk.hit_study import HitStudy

CLOCKS_DIFFER = 60.0  # seconds
NO_RECEIPT = "the form is finished, but what was submitted is not its receipt"
DOUBTS: Mapping[Kind, str] = {  # about who handed in, or how often; stored with the submission, so never reworded
    "twice": "the same annotator submitted another HIT of this study before",
    "completion_without_data": "submitted without a visit to the survey server",
    "another_person": "submitted by another annotator than the one who visited the survey server",
    "no_code": NO_RECEIPT,
    "wrong_code": NO_RECEIPT,
}


@dataclass(slots=True, kw_only=True)
class HitCollection:
    """Counts of a run."""

    hits: int = 0  # looked at
    new: int = 0
    changed: int = 0  # approved or rejected since the last run
    problems: int = 0  # among the new
    excluded: int = 0  # annotators marked as having taken part
    unsubmitted: int = 0  # visits to the survey server that were set apart
    gone: list[str] = field(default_factory=list)  # HITs that the endpoint no longer lists


class Collector:
    """Reads submissions from an endpoint into the store of a study."""

    def __init__(self, hit_study: HitStudy, family_type: str | None, family: StudyFamily | None) -> None:
        self.workspace = hit_study.workspace
        self.store = hit_study.store
        self.endpoint = hit_study.endpoint
        self.settings = hit_study.settings
        self.family_type = family_type  # id of the qualification type that excludes the family's annotators
        self.family = family
        self.rules = AdmissionRules.of(hit_study.workspace.study.people)
        self.found = HitCollection()

    def collect(self, *, everything: bool = False) -> Iterator[str]:
        """Collect the HITs that may have news, or all, and yield their ids; ``found`` has the counts.

        A HIT is skipped only if its counters show that nothing was submitted since, nobody is at work, and nothing
        collected still waits for review.
        """
        now = time.time()
        in_hits = counts_as_begun(self.workspace.study) and any(
            hit.assignment_id is not None for hit in records.all_hits(self.store, self.endpoint.origin)
        )
        if in_hits and self.store.meta(BEGUN_UNTIL) is None:
            with self.store.transaction() as connection:  # nobody counts yet, whoever did before
                note(connection, BEGUN_UNTIL, "0")
                note_recount(connection)
        due, self.found.gone = self._due(everything)
        for hit in due:
            self._collect_hit(hit, self.found)
            self.found.hits += 1
            yield hit.hit_id
        self.found.unsubmitted = self._release_expired(now)
        if in_hits:  # whoever began earlier than this has submitted by now, or cannot any more
            first = self.workspace.form(self.store.assignments.ids()[0])
            longest = minutes_allowed(self.workspace.study, self.settings, first)
            self.store.set_meta(BEGUN_UNTIL, repr(now - 60 * longest - CLOCKS_DIFFER))

    def count_due(self) -> int:
        """Return how many HITs are still at the endpoint."""
        return sum(hit.disposed_at is None for hit in records.all_hits(self.store, self.endpoint.origin))

    def _due(self, everything: bool) -> tuple[list[records.PublishedHit], list[str]]:
        live = [hit for hit in records.all_hits(self.store, self.endpoint.origin) if hit.disposed_at is None]
        if not live:
            return [], []
        listed = {hit["HITId"]: hit for hit in entries(self.endpoint.reading, "list_hits", "HITs")}
        here = records.counts(self.store, self.endpoint.origin)
        unmarked = set(records.unmarked_hits(self.store, self.endpoint.origin))
        due = [
            hit
            for hit in live
            if hit.hit_id in listed
            and (everything or hit.hit_id in unmarked or _may_have_news(listed[hit.hit_id], here.get(hit.hit_id, {})))
        ]
        return due, [hit.hit_id for hit in live if hit.hit_id not in listed]

    def _collect_hit(self, hit: records.PublishedHit, found: HitCollection) -> None:
        known = records.known_works(self.store, hit.hit_id)
        client = self.endpoint.reading
        for page in pages(client, "list_assignments_for_hit", HITId=hit.hit_id, AssignmentStatuses=STATUSES):
            listed: Sequence[Mapping[str, Any]] = page["Assignments"]
            fresh = [one for one in listed if one["AssignmentId"] not in known]
            with self.store.transaction() as connection:  # one synchronisation of the disk for a page
                for assignment in fresh:
                    found.problems += self._take(connection, hit, assignment)
                for assignment in listed:
                    before = known.get(assignment["AssignmentId"])
                    found.changed += before is not None and _update(connection, before, assignment)
            found.new += len(fresh)
            found.excluded += self._exclude(one for one in listed if not _is_excluded(known, one))

    def _take(self, connection: Connection, hit: records.PublishedHit, assignment: Mapping[str, Any]) -> bool:
        """Save one submission; return whether there is a problem with it."""
        if hit.assignment_id is None:
            annotator_id, submission_id, problem = self._find_finished(connection, assignment)
        else:
            annotator_id, submission_id, problem = self._take_form(connection, hit.assignment_id, assignment)
        if records.has_worked(connection, annotator_id, hit.endpoint):
            problem = "; ".join(filter(None, (DOUBTS["twice"], problem)))
        records.add_work(
            connection,
            mturk_assignment_id=assignment["AssignmentId"],
            hit_id=hit.hit_id,
            annotator_id=annotator_id,
            submission_id=submission_id,
            answer=str(assignment.get("Answer", "")),
            problem=problem,
            excluded=False,
            accepted_at=_seconds(assignment.get("AcceptTime")),
            submitted_at=_seconds(assignment.get("SubmitTime")),
            **_state(assignment),
        )
        return problem is not None

    def _take_form(
        self, connection: Connection, assignment_id: str, assignment: Mapping[str, Any]
    ) -> tuple[str, str, str | None]:
        """Save the answers of a form that was part of the HIT: annotator, visit, and problem if any."""
        began, ended = _seconds(assignment.get("AcceptTime")), _seconds(assignment.get("SubmitTime"))
        worker_id = str(assignment["WorkerId"])
        arrival = Arrival(
            annotator_id=self.store.person_id(SOURCE, worker_id),
            source=SOURCE,
            person=worker_id,
            external_id=str(assignment["AssignmentId"]),
        )
        lease = admit_submitted(connection, arrival, assignment_id, self.rules, now=began or 0.0)
        answer = str(assignment.get("Answer", ""))
        form = self.workspace.form(assignment_id)
        reading = read_submission(form, answer)
        if not lease.finished:
            for page_id, body in reading.pages.items():
                save_page(connection, lease.submission_id, page_id, body, now=ended or 0.0)
            submission = Submission(
                submission_id=lease.submission_id,
                assignment_id=assignment_id,
                annotator_id=lease.annotator_id,
                annotator_kind=lease.annotator_kind,
                source=SOURCE,
                answers=reading.answers,
                seconds=None if began is None or ended is None else round(ended - began, 3),
            )
            code = secrets.token_hex(4).upper()
            finish_visit(connection, submission, reading.outcome, code, now=ended or 0.0, rules=self.rules)
        problem = reading.problem
        if problem is None and reading.outcome != COMPLETED:
            problem = reading.outcome.replace("_", " ")
        return lease.annotator_id, lease.submission_id, problem

    def _find_finished(
        self, connection: Connection, assignment: Mapping[str, Any]
    ) -> tuple[str, str | None, str | None]:
        """Find the visit to the survey server that a submission belongs to: annotator, visit, and problem if any."""
        name, worker_id = str(assignment["AssignmentId"]), str(assignment["WorkerId"])
        annotator_id = self.store.person_id(SOURCE, worker_id)
        claimed = lease_of_external(connection, SOURCE, claim_name(self.store, name, worker_id))
        if claimed is not None:
            confirm_visit(connection, claimed, name, rules=self.rules)
            self._enter_family(worker_id)
        visit = lease_of_external(connection, SOURCE, name)
        receipt = _receipt(str(assignment.get("Answer", "")))
        submission = PlatformSubmission(
            submission_id=name, person=worker_id, status=SUBMITTED, state="submitted", code=receipt
        )
        another = visit is not None and visit.annotator_id != annotator_id
        codes = {} if visit is None else {str(COMPLETED): make_receipt(self.store, visit.submission_id)}
        kinds = match_visit(submission, visit, codes=codes, another_person=another)
        doubt = next((DOUBTS[kind] for kind in kinds if kind in DOUBTS), None)
        if visit is None or another:
            return annotator_id, None, doubt
        if visit.outcome is None:
            return annotator_id, visit.submission_id, "submitted before the form was finished"
        return annotator_id, visit.submission_id, doubt if visit.completed else visit.outcome.replace("_", " ")

    def _release_expired(self, now: float) -> int:
        """Release the places of finished visits that can no longer be submitted; return their number."""
        ours = records.claims_at(self.store, self.endpoint.origin)
        late = [
            visit.submission_id
            for visit in self.store.visits.of_people(SOURCE)
            if visit.external_id in ours and visit.outcome == COMPLETED and visit.release_reason != NOT_SUBMITTED
            if visit.deadline is not None and visit.deadline < now
        ]
        for submission_id in late:
            self.store.visits.release(submission_id, NOT_SUBMITTED, now=now, finished=True)
        return len(late)

    def _enter_family(self, worker_id: str) -> None:
        """Exclude an annotator who has submitted from the other studies of the family."""
        if self.family is not None:
            with suppress(SecondVisit):  # they took part there meanwhile, and handed in here all the same
                self.family.enter(SOURCE, worker_id, now=time.time())

    def _exclude(self, assignments: Iterable[Mapping[str, Any]]) -> int:
        """Exclude annotators from the family's other HITs, after their submissions are saved; return their number."""
        if self.family_type is None:
            return 0
        marked = []
        for assignment in assignments:
            exclude(self.endpoint, self.family_type, str(assignment["WorkerId"]))
            marked.append(str(assignment["AssignmentId"]))
        if marked:
            with self.store.transaction() as connection:
                for mturk_assignment_id in marked:
                    records.change_work(connection, mturk_assignment_id, excluded=True)
        return len(marked)


def worker_of(endpoint: MTurkEndpoint, mturk_assignment_id: str) -> str:
    """Ask the endpoint for the worker of an assignment, whose id is not stored here."""
    answer = fetch(endpoint.reading.get_assignment, AssignmentId=mturk_assignment_id)
    return str(answer["Assignment"]["WorkerId"])


def _may_have_news(listed: Mapping[str, Any], here: Mapping[str, int]) -> bool:
    """Return whether a HIT's counters allow for something not collected yet."""
    try:
        available = int(listed["NumberOfAssignmentsAvailable"])
        pending = int(listed["NumberOfAssignmentsPending"])
        handed_in = int(listed["MaxAssignments"]) - available - pending
    except KeyError as missing:
        raise PlatformError(f"list_hits: expected the counters of each HIT, got none ({missing})") from missing
    return pending > 0 or handed_in != sum(here.values()) or here.get(SUBMITTED, 0) > 0


def _is_excluded(known: Mapping[str, records.Work], assignment: Mapping[str, Any]) -> bool:
    before = known.get(str(assignment["AssignmentId"]))
    return before is not None and before.excluded


def _update(connection: Connection, before: records.Work, assignment: Mapping[str, Any]) -> bool:
    """Record the current status of a submission; return whether it has changed."""
    now = _state(assignment)
    if (before.status, before.feedback, before.reviewed_at) == (now["status"], now["feedback"], now["reviewed_at"]):
        return False
    records.change_work(connection, before.mturk_assignment_id, **now)
    return True


def _state(assignment: Mapping[str, Any]) -> dict[str, Any]:
    status = str(assignment["AssignmentStatus"])
    reviewed = {APPROVED: "ApprovalTime", REJECTED: "RejectionTime"}.get(status)
    return {
        "status": status,
        "auto_approval_at": _seconds(assignment.get("AutoApprovalTime")),
        "reviewed_at": None if reviewed is None else _seconds(assignment.get(reviewed)),
        "feedback": assignment.get("RequesterFeedback"),
    }


def _seconds(time: object) -> float | None:
    if time is None:
        return None
    if not isinstance(time, datetime):
        raise PlatformError(f"endpoint: expected a time, got {str(time)[:60]!r}")
    return time.timestamp()


def _receipt(answer: str) -> str | None:
    """Return the receipt that the survey server's last page submitted."""
    try:
        pairs = answer_pairs(read_answers(answer))
    except (AnswerRefused, XMLRefused):
        return None
    found = [value for name, value in pairs if name == RECEIPT_FIELD]
    return found[0] if len(found) == 1 else None
