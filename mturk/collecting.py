"""Collecting what annotators handed in: every submission once, however often and wherever a run breaks off."""

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
from mturk.answers import AnswerRefused, XMLRefused, answer_pairs, read_answers
from mturk.eligibility import exclude
from mturk.endpoints import MTurkEndpoint
from mturk.form_answers import read_submission
from mturk.records import RECEIPT_FIELD, SOURCE, claim_name, make_receipt
from mturk.replies import entries, fetch, pages
from spa.errors import PlatformError
from spa.platforms.collecting import Kind, PlatformSubmission, match_visit
from spa.responses.admission import AdmissionRules, Arrival, SecondVisit, admit_submitted
from spa.responses.families import StudyFamily
from spa.responses.leases import lease_of_external
from spa.responses.outcomes import COMPLETED, NOT_SUBMITTED
from spa.responses.payloads import save_page
from spa.responses.submission import Submission
from spa.responses.visit_ends import confirm_visit, finish_visit

if TYPE_CHECKING:
    from spa.commands.workspace import Workspace
from functools import partial

from spa.responses.decisions import PROGRAM, Decision, add_decision, read_decisions
from spa.responses.store import Store

SUBMITTED, APPROVED, REJECTED = "Submitted", "Approved", "Rejected"
STATUSES = [SUBMITTED, APPROVED, REJECTED]
NO_RECEIPT = "the form is finished, but what was handed in is not its receipt"
DOUBTS: Mapping[Kind, str] = {  # about who handed in, or how often, which the answers do not show
    "twice": "the same annotator handed in another HIT of this study before",
    "completion_without_data": "handed in without a visit to the survey server",
    "another_person": "handed in by another annotator than the one who visited the survey server",
    "no_code": NO_RECEIPT,
    "wrong_code": NO_RECEIPT,
}


@dataclass(slots=True, kw_only=True)
class HitCollection:
    """What a run found."""

    hits: int = 0  # looked at
    new: int = 0
    changed: int = 0  # approved or rejected since the last run
    problems: int = 0  # among the new
    excluded: int = 0  # annotators marked as having taken part
    unsubmitted: int = 0  # visits to the survey server that were set apart
    gone: list[str] = field(default_factory=list)  # HITs that the endpoint no longer lists


class Collector:
    """Reads submissions from an endpoint into the store of a study."""

    def __init__(
        self, workspace: Workspace, endpoint: MTurkEndpoint, family_type: str | None, family: StudyFamily | None = None
    ) -> None:
        self.workspace = workspace
        self.store = workspace.store
        self.endpoint = endpoint
        self.family_type = family_type
        self.family = family
        self.rules = AdmissionRules.of(workspace.study.people)
        self.found = HitCollection()

    def collect(self, *, everything: bool = False) -> Iterator[str]:
        """Look at the HITs that may hold something new, or at all, and yield their ids; ``found`` counts.

        A HIT is passed over only where its counters say that nothing was handed in since, nobody is at work,
        and nothing collected still waits for review.
        """
        now = time.time()
        due, self.found.gone = self._due(everything)
        for hit in due:
            self._collect_hit(hit, self.found)
            self.found.hits += 1
            yield hit.hit_id
        self.found.unsubmitted = self._set_apart(now)

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
        """Save one submission; returns whether there is a problem with it."""
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
        """Save the answers of a form that stood in the HIT itself."""
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
        """Find the visit to the survey server that a submission is the end of."""
        name, worker_id = str(assignment["AssignmentId"]), str(assignment["WorkerId"])
        annotator_id = self.store.person_id(SOURCE, worker_id)
        claimed = lease_of_external(connection, SOURCE, claim_name(self.store, name, worker_id))
        if claimed is not None:
            confirm_visit(connection, claimed, name, rules=self.rules)
            self._enter_family(worker_id)
        visit = lease_of_external(connection, SOURCE, name)
        receipt = _receipt(str(assignment.get("Answer", "")))
        submission = PlatformSubmission(
            submission_id=name, person=worker_id, status=SUBMITTED, standing="submitted", code=receipt
        )
        another = visit is not None and visit.annotator_id != annotator_id
        codes = {} if visit is None else {str(COMPLETED): make_receipt(self.store, visit.submission_id)}
        kinds = match_visit(submission, visit, codes=codes, another_person=another)
        doubt = next((DOUBTS[kind] for kind in kinds if kind in DOUBTS), None)
        if visit is None or another:
            return annotator_id, None, doubt
        if visit.outcome is None:
            return annotator_id, visit.submission_id, "handed in with the form not finished"
        return annotator_id, visit.submission_id, doubt if visit.completed else visit.outcome.replace("_", " ")

    def _set_apart(self, now: float) -> int:
        """Give up the places of finished visits that can no longer be submitted; returns how many these were."""
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
        """Keep an annotator whose submission is here from the other studies of the family."""
        if self.family is not None:
            with suppress(SecondVisit):  # they took part there meanwhile, and handed in here all the same
                self.family.enter(SOURCE, worker_id, now=time.time())

    def _exclude(self, assignments: Iterable[Mapping[str, Any]]) -> int:
        """Keep annotators from the other HITs of the family, once what they handed in is saved."""
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
    """Ask the endpoint who handed an assignment in; that is written down nowhere here."""
    answer = fetch(endpoint.reading.get_assignment, AssignmentId=mturk_assignment_id)
    return str(answer["Assignment"]["WorkerId"])


def _may_have_news(listed: Mapping[str, Any], here: Mapping[str, int]) -> bool:
    """Say whether a HIT's counters leave room for something not seen yet."""
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
    """Note what became of a submission since; returns whether anything did."""
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
    """Return the receipt that stands in what the survey server's last page handed in."""
    try:
        pairs = answer_pairs(read_answers(answer))
    except (AnswerRefused, XMLRefused):
        return None
    found = [value for name, value in pairs if name == RECEIPT_FIELD]
    return found[0] if len(found) == 1 else None


REVIEWER = f"{PROGRAM}mturk"  # who decides, in the log
RULE = "rejected by the requester"


def note_rejections(store: Store, endpoint: str, *, now: float) -> None:
    """Bring the log of decisions up to what is rejected at an endpoint; what a reviewer undid stays undone."""
    works = [work for work in records.all_works(store, endpoint) if work.submission_id is not None]
    with store.transaction() as connection:
        log = read_decisions(connection)
        undone = {decision.undoes for decision in log}
        own = {
            decision.submission_id: decision
            for decision in log
            if decision.reviewer == REVIEWER and decision.action in ("exclude", "undo")
        }
        for work in works:
            last = own.get(str(work.submission_id))
            noted = last is not None and last.action == "exclude"
            rejected = work.status == REJECTED
            entry = partial(Decision, submission_id=str(work.submission_id), reviewer=REVIEWER, decided_at=now)
            if rejected and not noted:
                reason = (work.feedback or "").strip() or "no reason given"
                add_decision(connection, entry(action="exclude", rule=RULE, note=reason))
            elif not rejected and noted and last is not None and last.number not in undone:
                add_decision(connection, entry(action="undo", undoes=last.number))
