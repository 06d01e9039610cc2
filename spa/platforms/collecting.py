"""Comparing a platform's submissions with the visits in the store: one term for each kind of difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from spa.responses.leases import Lease
from spa.responses.outcomes import COMPLETED, FAILED_CHECKS, WITHDRAWN
from spa.responses.visits import PersonVisit

SubmissionState = Literal[
    "at_work", "processing", "submitted", "paid", "rejected", "returned", "timed_out", "screened_out", "unknown"
]
Kind = Literal[
    "data_without_completion",
    "completion_without_data",
    "code_claimed_without_answers",
    "timed_out_but_answered",
    "returned_after_answering",
    "rejected_with_answers",
    "screened_out_with_answers",
    "wrong_code",
    "other_code",
    "no_code",
    "not_returned",
    "left_without_code",
    "unverified",
    "false_claim",
    "not_on_platform",
    "another_person",
    "late",
    "twice",
    "unknown_status",
]
ANSWERED: Mapping[SubmissionState, Kind] = {  # complete answers in the store, and no submission that counts
    "at_work": "data_without_completion",
    "timed_out": "timed_out_but_answered",
    "returned": "returned_after_answering",
    "rejected": "rejected_with_answers",
    "screened_out": "screened_out_with_answers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformSubmission:
    """A submission on a platform, in terms that all platforms share."""

    submission_id: str  # the platform's
    person: str  # the platform's name of who took it
    status: str  # in the platform's words
    state: SubmissionState
    code: str | None  # completion code, or what stands for it; None: none was handed in

    @property
    def handed_in(self) -> bool:
        """Whether it was submitted, and neither returned nor rejected since."""
        return self.state in ("submitted", "paid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference between a submission on the platform and the visit in the store."""

    kind: Kind
    submission_id: str  # the platform's
    participant_id: str
    on_platform: str  # its status there, "-" where it is not known
    here: str  # its outcome here, "open", "released", or "-"
    remedy: str


def reconcile(
    submissions: Iterable[PlatformSubmission],
    visits: Iterable[PersonVisit],
    *,
    codes: Mapping[str, str],
    verified: Mapping[str, str | None],
    remedies: Mapping[Kind, str],
) -> tuple[Difference, ...]:
    """Compare the submissions of one session, as the platform lists them, with the visits that came from it.

    ``codes`` gives the code of each outcome, ``verified`` what verifying each of the platform's submissions said
    ("verified", "unverified", "false"), and ``remedies`` what to do about each kind of difference on this platform.
    The differences are in the order of the platform's list, then those that are only here.
    """
    theirs = {one.submission_id: one for one in submissions}
    ours = {visit.external_id: visit for visit in visits if visit.external_id is not None}
    kinds: list[tuple[Kind, str]] = []
    for name, submission in theirs.items():
        visit = ours.get(name)
        another = visit is not None and visit.person not in (None, submission.person)
        kinds += [
            (kind, name)
            for kind in match_visit(submission, visit, codes=codes, verified=verified.get(name), another_person=another)
        ]
    for name in ours:
        if name not in theirs and verified.get(name) != "verified":  # lists lag; one look did not
            kinds.append(("false_claim" if verified.get(name) == "false" else "not_on_platform", name))
    kinds += [("twice", name) for name in _twice(theirs)]
    return tuple(_difference(kind, name, theirs.get(name), ours.get(name), remedies) for kind, name in kinds)


def match_visit(
    submission: PlatformSubmission,
    visit: Lease | None,
    *,
    codes: Mapping[str, str],
    another_person: bool,
    verified: str | None = None,
) -> Iterator[Kind]:
    """Yield the ways in which a submission and its visit differ, doubts about the person first.

    Parameters
    ----------
    submission : PlatformSubmission
        What the platform says.
    visit : Lease or None
        The visit under this submission.
    codes : mapping
        Outcome -> its code, at least for a visit that has ended.
    another_person : bool
        Whether the visit is another person's.
    verified : str or None
        The result of verifying the visit ("verified", "unverified", "false"); ``None`` if it was not verified.
    """
    if visit is not None and verified == "false":
        yield "false_claim"
        visit = None
    elif visit is not None and another_person:
        yield "another_person"
        visit = None
    elif visit is not None and verified == "unverified":
        yield "unverified"
    if submission.state == "unknown":
        yield "unknown_status"
    elif visit is not None and visit.completed:
        yield from _with_answers(submission, visit, codes)
    elif visit is not None and visit.outcome == WITHDRAWN:
        return
    elif visit is not None and visit.finished:
        if submission.handed_in and submission.code == codes[COMPLETED]:
            yield "code_claimed_without_answers"
        elif submission.state == "submitted" and visit.outcome != FAILED_CHECKS:
            yield "not_returned"
        elif submission.state == "at_work":
            yield "left_without_code"
    elif submission.handed_in:
        yield "code_claimed_without_answers" if submission.code in codes.values() else "completion_without_data"


def visit_state(visit: Lease | None) -> str:
    """Return the state of a visit in the store, in a word."""
    if visit is None:
        return "-"
    return visit.outcome or ("released" if visit.released else "open")


def _with_answers(submission: PlatformSubmission, visit: Lease, codes: Mapping[str, str]) -> Iterator[Kind]:
    if submission.state in ANSWERED:
        yield ANSWERED[submission.state]
        return
    if submission.code is None:
        yield "no_code"
    elif submission.code != codes[COMPLETED]:
        yield "other_code" if submission.code in codes.values() else "wrong_code"
    if visit.extra:
        yield "late"


def _twice(theirs: Mapping[str, PlatformSubmission]) -> list[str]:
    by_person: dict[str, list[str]] = {}
    for name, submission in theirs.items():
        if submission.handed_in:
            by_person.setdefault(submission.person, []).append(name)
    return [name for same in by_person.values() if len(same) > 1 for name in same]


def _difference(
    kind: Kind,
    submission_id: str,
    submission: PlatformSubmission | None,
    visit: PersonVisit | None,
    remedies: Mapping[Kind, str],
) -> Difference:
    person = submission.person if submission is not None else (visit.person if visit is not None else None)
    return Difference(
        kind=kind,
        submission_id=submission_id,
        participant_id=person or "-",
        on_platform="-" if submission is None else submission.status,
        here=visit_state(visit),
        remedy=remedies[kind],
    )
