"""Bring both lists together: verify who could not be verified, free the places of those who left, compare."""

from __future__ import annotations

from dataclasses import dataclass, replace

from prolific.api.records import SubmissionRecord
from prolific.codes import session_codes
from prolific.draft import family_group
from prolific.made import SOURCE
from prolific.people.releasing import release_gone
from prolific.people.verification import FALSE, UNVERIFIED, VERIFIED, ProlificUrlParameters, ask, last_found, note
from prolific.prolific_study import ProlificStudy
from prolific.reconcile import Difference, reconcile
from spa.responses.outcomes import forgotten_name
from spa.responses.visits import PersonVisit

GROUP_CHUNK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReconciliation:
    """Both lists of a session side by side, after what can be put right by itself was."""

    session: int
    study_id: str
    records: tuple[SubmissionRecord, ...]
    visits: tuple[PersonVisit, ...]
    differences: tuple[Difference, ...]
    verified: int  # now
    refuted: int  # now
    released: int  # now
    overdue: int  # now, by our own deadline
    excluded: int  # participants put into the family's group now

    def visit(self, submission_id: str) -> PersonVisit | None:
        """Return our visit of a submission."""
        return next((visit for visit in self.visits if visit.external_id == submission_id), None)


def collect(desk: ProlificStudy, session: int) -> SessionReconciliation:
    """Bring a session up to date with the platform; safe to repeat, and changes nothing there but the group.

    Parameters
    ----------
    desk : ProlificStudy
        The study.
    session : int
        Which session.
    """
    study_id = desk.need_study(session)
    records = tuple(desk.platform.submissions.of_study(study_id))
    now = desk.clock()
    overdue = desk.store.release_overdue(now)
    verified, refuted = _verify(desk, study_id, session)
    released = sum(release_gone(desk.store, record, now=now) for record in records)
    excluded = _exclude(desk, records) if session == 1 else 0
    return _compared(
        desk,
        session,
        records,
        verified=verified,
        refuted=refuted,
        released=released,
        overdue=overdue,
        excluded=excluded,
    )


def look(desk: ProlificStudy, session: int) -> SessionReconciliation:
    """Compare both lists and change nothing."""
    records = tuple(desk.platform.submissions.of_study(desk.need_study(session)))
    return _compared(desk, session, records)


def _compared(
    desk: ProlificStudy, session: int, records: tuple[SubmissionRecord, ...], **counts: int
) -> SessionReconciliation:
    forgotten = {forgotten_name(desk.store.keyed(one.submission_id)): one.submission_id for one in records}
    visits = tuple(
        replace(visit, external_id=forgotten.get(visit.external_id or "", visit.external_id))
        for visit in desk.store.visits(SOURCE)
        if visit.session == session
    )
    found = {
        visit.external_id: last_found(desk.store, visit.external_id, visit.annotator_id)
        for visit in visits
        if visit.external_id is not None
    }
    none = dict.fromkeys(("verified", "refuted", "released", "overdue", "excluded"), 0)
    return SessionReconciliation(
        session=session,
        study_id=desk.need_study(session),
        records=records,
        visits=visits,
        differences=reconcile(records, visits, codes=session_codes(desk.store, session), found=found),
        **{**none, **counts},
    )


def _verify(desk: ProlificStudy, study_id: str, session: int) -> tuple[int, int]:
    """Verify those who came while the platform could not be asked; answers of a false claim do not count."""
    verified = refuted = 0
    for visit in [one for one in desk.store.visits(SOURCE) if one.person is not None and one.external_id is not None]:
        claim = ProlificUrlParameters(person=str(visit.person), study_id=study_id, submission_id=str(visit.external_id))
        if visit.session != session or last_found(desk.store, claim.submission_id, visit.annotator_id) != UNVERIFIED:
            continue
        verdict = ask(desk.platform, claim)
        note(desk.store, claim, verdict)
        verified += verdict.found == VERIFIED
        refuted += verdict.found == FALSE
        if verdict.found == FALSE:
            desk.store.release(visit.submission_id, "false_claim", now=desk.clock(), finished=True)
    return verified, refuted


def _exclude(desk: ProlificStudy, records: tuple[SubmissionRecord, ...]) -> int:
    """Put everybody who came into the family's group, also those who left without a code."""
    workspace_id = desk.platform.workspace_of(desk.table.project)
    groups = [group for group, name in desk.platform.audience.groups(workspace_id) if name == family_group(desk)]
    if len(groups) != 1:
        return 0
    came = {visit.person for visit in desk.store.visits(SOURCE) if visit.person is not None}
    listed = {record.participant_id for record in records}
    missing = sorted((came & listed) - desk.platform.audience.members(groups[0]))
    for start in range(0, len(missing), GROUP_CHUNK):
        desk.platform.audience.add(groups[0], missing[start : start + GROUP_CHUNK])
    return len(missing)
