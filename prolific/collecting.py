"""Collecting: verify participants, free abandoned places, and compare the platform's submissions with our visits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from prolific.api.records import SubmissionRecord
from prolific.completion_url import session_codes
from prolific.draft import family_group
from prolific.prolific_study import ProlificStudy
from prolific.reconcile import REMEDIES, platform_submission, release_gone
from prolific.study_ids import SOURCE
from prolific.verification import FALSE, UNVERIFIED, VERIFIED, ProlificUrlParameters, ask, last_found, note
from spa.platforms.collecting import Difference, reconcile
from spa.responses.decisions import VisitDecisions
from spa.responses.outcomes import forgotten_name
from spa.responses.visits import PersonVisit

GROUP_CHUNK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReconciliation:
    """A session's submissions on the platform, our visits, and their differences."""

    session: int
    study_id: str
    records: tuple[SubmissionRecord, ...]
    visits: tuple[PersonVisit, ...]
    differences: tuple[Difference, ...]
    verified: int = 0  # now
    refuted: int = 0  # now
    released: int = 0  # now
    overdue: int = 0  # now, by our own deadline
    excluded: int = 0  # participants put into the family's group now

    def visit(self, submission_id: str) -> PersonVisit | None:
        """Return our visit for a submission of the platform."""
        return next((visit for visit in self.visits if visit.external_id == submission_id), None)

    def decided(self, decisions: Mapping[str, VisitDecisions]) -> Iterator[tuple[str, VisitDecisions]]:
        """Yield the platform's submissions that reviewers decided on, with the decisions on our visits."""
        listed = {record.submission_id for record in self.records}
        for visit in self.visits:
            if visit.external_id in listed and visit.submission_id in decisions:
                yield str(visit.external_id), decisions[visit.submission_id]


def collect_session(prolific_study: ProlificStudy, session: int) -> SessionReconciliation:
    """Update a session from the platform; idempotent. On the platform only the family's group changes."""
    study_id = prolific_study.need_study(session)
    records = tuple(prolific_study.platform.submissions.of_study(study_id))
    now = prolific_study.clock()
    overdue = prolific_study.store.visits.release_overdue(now)
    verified, refuted = _verify(prolific_study, study_id, session)
    released = sum(release_gone(prolific_study.store, record, now=now) for record in records)
    excluded = _exclude(prolific_study, records) if session == 1 else 0
    return replace(
        _compared(prolific_study, session, records),
        verified=verified,
        refuted=refuted,
        released=released,
        overdue=overdue,
        excluded=excluded,
    )


def look_at_all(prolific_study: ProlificStudy) -> list[SessionReconciliation]:
    """Compare submissions and visits of all created sessions without changing anything; the first must exist."""
    prolific_study.need_study(1)
    return [
        _compared(prolific_study, session, tuple(prolific_study.platform.submissions.of_study(study_id)))
        for session, study_id in prolific_study.created().items()
    ]


def _compared(
    prolific_study: ProlificStudy, session: int, records: tuple[SubmissionRecord, ...]
) -> SessionReconciliation:
    forgotten = {forgotten_name(prolific_study.store.keyed(one.submission_id)): one.submission_id for one in records}
    visits = tuple(
        replace(visit, external_id=forgotten.get(visit.external_id or "", visit.external_id))
        for visit in prolific_study.store.visits.of_people(SOURCE)
        if visit.session == session
    )
    found = {
        visit.external_id: last_found(prolific_study.store, visit.external_id, visit.annotator_id)
        for visit in visits
        if visit.external_id is not None
    }
    return SessionReconciliation(
        session=session,
        study_id=prolific_study.need_study(session),
        records=records,
        visits=visits,
        differences=reconcile(
            map(platform_submission, records),
            visits,
            codes=session_codes(prolific_study.store, session),
            verified=found,
            remedies=REMEDIES,
        ),
    )


def _verify(prolific_study: ProlificStudy, study_id: str, session: int) -> tuple[int, int]:
    """Verify visitors who were admitted unverified; answers of a false claim do not count."""
    verified = refuted = 0
    store = prolific_study.store
    for visit in list(store.visits.of_people(SOURCE)):
        if visit.person is None or visit.external_id is None or visit.session != session:
            continue
        if last_found(store, visit.external_id, visit.annotator_id) != UNVERIFIED:
            continue
        claim = ProlificUrlParameters(person=visit.person, study_id=study_id, submission_id=visit.external_id)
        verdict = ask(prolific_study.platform, claim)
        note(store, claim, verdict)
        verified += verdict.outcome == VERIFIED
        refuted += verdict.outcome == FALSE
        if verdict.outcome == FALSE:
            store.visits.release(visit.submission_id, "false_claim", now=prolific_study.clock(), finished=True)
    return verified, refuted


def _exclude(prolific_study: ProlificStudy, records: tuple[SubmissionRecord, ...]) -> int:
    """Add all participants to the family's group, including those who left without a code."""
    workspace_id = prolific_study.platform.workspace_of(prolific_study.table.project)
    groups = [
        group
        for group, name in prolific_study.platform.audience.groups(workspace_id)
        if name == family_group(prolific_study)
    ]
    if len(groups) != 1:
        return 0
    came = {visit.person for visit in prolific_study.store.visits.of_people(SOURCE) if visit.person is not None}
    listed = {record.participant_id for record in records}
    missing = sorted((came & listed) - prolific_study.platform.audience.members(groups[0]))
    for start in range(0, len(missing), GROUP_CHUNK):
        prolific_study.platform.audience.add(groups[0], missing[start : start + GROUP_CHUNK])
    return len(missing)
