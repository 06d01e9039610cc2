"""When Prolific lets a submission be rejected: its rules as data, and the check of one rejection against them.

Who is left out of the analysis is not thereby rejected. A rejection withholds somebody's pay; it needs
a category, a message that explains it, and evidence that is looked up again here, not believed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from prolific.api.records import AWAITING_REVIEW, SubmissionRecord
from prolific.bonuses import PAY
from prolific.reconcile import NO_CODES
from spa.journal import Journal
from spa.platforms.idempotent_calls import DONE
from spa.platforms.review import ReviewRules
from spa.records.form import CheckTarget
from spa.records.submission import Response, Submission
from spa.responses.outcomes import NO_CONSENT, QUOTA_FULL, SCREENED_OUT
from spa.responses.store import Store
from spa.responses.visits import PersonVisit

SHORTEST_MESSAGE = 100  # characters
SHORTEST_EVIDENCE = 40  # characters, of what a person saw
SHORT_STUDY_MINUTES = 5  # in a shorter study one failed check suffices, else two
DEVIATIONS = 3  # below the mean: exceptionally fast
FEWEST_TIMES = 10  # submissions from which a mean and a deviation say something
CHECKED = ("TOO_QUICKLY", "FAILED_CHECK", "NO_DATA", "BAD_CODE", "NO_CODE")  # evidence is reckoned here
SEEN = ("FAILED_INSTRUCTIONS", "LOW_EFFORT")  # evidence is what a person saw, against a requirement that was stated
CATEGORIES = (*CHECKED, *SEEN)
LINES = (
    f"TOO_QUICKLY: faster than {DEVIATIONS} standard deviations below the mean of all who finished ({FEWEST_TIMES} or "
    "more).",
    f"FAILED_CHECK: two failed attention checks; one suffices only in a study of under {SHORT_STUDY_MINUTES} minutes.",
    "NO_DATA, BAD_CODE, NO_CODE: nothing complete was answered here; a wrong code alone is no reason.",
    "FAILED_INSTRUCTIONS, LOW_EFFORT: a requirement that the study states word for word, and what was seen against it.",
    "Who was screened out, did not consent or found the quota full is never rejected.",
    f"The message says why in at least {SHORTEST_MESSAGE} characters. Asking for a return is kinder, and often enough.",
)
COMMANDS = (
    "spa prolific approve STUDY",
    "spa prolific reject STUDY --propose rejections.toml",
    "spa prolific bonus STUDY --decided",
    "spa prolific message STUDY --decided",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a rejection is checked against.

    ``times`` are the seconds of all who finished, by the platform's clock; ``stated`` is all that the
    study tells participants before they answer.
    """

    record: SubmissionRecord
    visit: PersonVisit | None
    submission: Submission | None  # what was answered, where the visit has ended
    times: Sequence[float]
    minutes: float
    stated: str
    codes: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """A reason to reject that the rules allow, with its evidence in words."""

    category: str
    evidence: str


def review_rules() -> ReviewRules:
    """Return the rules as the dashboard shows them."""
    return ReviewRules(
        platform="Prolific",
        categories=CATEGORIES,
        shortest_message=SHORTEST_MESSAGE,
        lines=LINES,
        commands=COMMANDS,
        paid_bonuses=paid_bonuses,
    )


def paid_bonuses(store: Store) -> frozenset[int]:
    """Return the numbers of the decisions on bonuses that were paid."""
    paid = (call for call in Journal(store).every("prolific") if call.outcome == DONE and call.key.startswith(PAY))
    names = (line["name"] for call in paid for line in json.loads(call.request)["bonuses"])
    found = (re.match(r"\S+ decision (\d+): ", name) for name in names)
    return frozenset(int(match[1]) for match in found if match)


def mechanical_grounds(facts: Facts) -> tuple[Grounds, ...]:
    """Return the reasons to reject a submission that follow from the records alone."""
    if never_rejected(facts) is not None:
        return ()
    found = []
    for category, evidence in (
        ("TOO_QUICKLY", _too_quick(facts)),
        ("FAILED_CHECK", _failed_checks(facts)),
        ("NO_DATA", _no_data(facts)),
    ):
        if evidence is not None:
            found.append(Grounds(category=category, evidence=evidence))
    return tuple(found)


def problems_of(facts: Facts, *, category: str, message: str, requirement: str = "", seen: str = "") -> tuple[str, ...]:
    """Return what keeps a rejection from being fair, one line each; none where the rules allow it.

    Parameters
    ----------
    facts : Facts
        The records.
    category : str
        One of ``CATEGORIES``.
    message : str
        What the participant will read.
    requirement, seen : str
        For what a person saw: the words of the study that were not followed, and what was seen.
    """
    problems = []
    never = never_rejected(facts)
    if never is not None:
        problems.append(never)
    if facts.record.status != AWAITING_REVIEW:
        problems.append(f"expected a submission that is {AWAITING_REVIEW}, got {facts.record.status}")
    length = len(" ".join(message.split()))
    if length < SHORTEST_MESSAGE:
        problems.append(f"message: expected at least {SHORTEST_MESSAGE} characters that explain it, got {length}")
    if category not in CATEGORIES:
        problems.append(
            f"category: expected one for which the rules name evidence ({', '.join(CATEGORIES)}), got {category!r}; "
            "ask for a return instead"
        )
        return tuple(problems)
    problem = _evidence_problem(facts, category, requirement, seen)
    return (*problems, problem) if problem else tuple(problems)


def never_rejected(facts: Facts) -> str | None:
    """Return why a submission may never be rejected; ``None`` where it may."""
    outcome = None if facts.visit is None else facts.visit.outcome
    if outcome in (SCREENED_OUT, NO_CONSENT, QUOTA_FULL):
        return f"the visit ended as {outcome.replace('_', ' ')}, and who is screened out may not be rejected"
    return None


def failed_checks(submission: Submission | None) -> tuple[str, ...]:
    """Return the attention checks that were answered otherwise than expected."""
    answers = () if submission is None else submission.answers
    return tuple(
        answer.target.check_id
        for answer in answers
        if isinstance(answer, Response)
        and isinstance(answer.target, CheckTarget)
        and answer.target.kind == "attention"  # nobody is told beforehand what a pair of equal outputs wants
        and str(answer.value) not in answer.target.accepted
    )


def _evidence_problem(facts: Facts, category: str, requirement: str, seen: str) -> str | None:
    if category == "TOO_QUICKLY":
        return None if _too_quick(facts) else "TOO_QUICKLY: the time is not exceptionally short by the rule"
    if category == "FAILED_CHECK":
        needed = _checks_needed(facts)
        failed = len(failed_checks(facts.submission))
        return (
            None if _failed_checks(facts) else f"FAILED_CHECK: expected {needed} failed attention checks, got {failed}"
        )
    if category in ("NO_DATA", "BAD_CODE", "NO_CODE"):
        if _no_data(facts) is None:
            return f"{category}: complete answers are here, so the work was done whatever code was entered"
        code = facts.record.code
        if category == "BAD_CODE" and (code is None or code in NO_CODES or code in facts.codes):
            return f"BAD_CODE: expected a code that is none of the study's, got {code!r}"
        if category == "NO_CODE" and not (code is None or code in NO_CODES):
            return f"NO_CODE: expected no code, got {code!r}"
        return None
    stated, words = _plain(facts.stated), _plain(requirement)
    if not words or words not in stated:
        return f"{category}: expected a requirement that the study states word for word, got {requirement[:60]!r}"
    if len(_plain(seen)) < SHORTEST_EVIDENCE:
        return f"{category}: expected what was seen in at least {SHORTEST_EVIDENCE} characters, got {len(_plain(seen))}"
    return None


def _too_quick(facts: Facts) -> str | None:
    seconds = facts.record.seconds
    if seconds is None or len(facts.times) < FEWEST_TIMES:
        return None
    mean, deviation = fmean(facts.times), stdev(facts.times)
    bound = mean - DEVIATIONS * deviation
    if seconds >= bound:
        return None
    return (
        f"{seconds:.0f} seconds; the {len(facts.times)} who finished took {mean:.0f} on average (standard deviation "
        f"{deviation:.0f}), and {DEVIATIONS} of these below it are {bound:.0f}"
    )


def _failed_checks(facts: Facts) -> str | None:
    failed = failed_checks(facts.submission)
    if len(failed) < _checks_needed(facts):
        return None
    return f"failed attention checks: {', '.join(failed)} (in a study of {facts.minutes:g} minutes)"


def _checks_needed(facts: Facts) -> int:
    return 1 if facts.minutes < SHORT_STUDY_MINUTES else 2


def _no_data(facts: Facts) -> str | None:
    visit = facts.visit
    if visit is None:
        return "the survey server has no visit under this submission"
    if visit.finished:
        return None
    return f"{visit.pages} pages were answered and the form was not completed"


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
