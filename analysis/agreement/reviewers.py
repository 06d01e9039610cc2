"""How far two reviewers of the same submissions agree, by what each decided before seeing the other's decision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from analysis.agreement.gwet import gwet_ac1
from analysis.agreement.kappa import cohen_kappa
from analysis.statistics.reasons import Reason
from analysis.statistics.record import AtMostOne, Coefficient, Count, Record

if TYPE_CHECKING:  # the store, which an analysis of tables does without
    from spa.responses.decisions import Decision
    from spa.responses.two_reviewers import Review

Question = Literal["payment", "analysis"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReviewAgreement(Record):
    """Row of ``reviewers``: two reviewers on one question, pay or analysis."""

    explained: ClassVar[tuple[str, ...]] = ("kappa",)
    question: Question
    reviewers: tuple[str, str]
    """Numbered in the order in which they came."""
    n: Count
    """Submissions that both decided on before either saw the other's decision."""
    alike: Count
    """Of these, decided alike."""
    kappa: Coefficient | None
    """Cohen's."""
    kappa_low: float | None
    kappa_high: AtMostOne | None
    ac1: Coefficient | None
    """Gwet's."""
    ac1_low: float | None
    ac1_high: AtMostOne | None
    adjudicated: Count
    """Conflicts that a third settled."""
    conflicts: Count
    """Conflicts left, of which no decision is executed."""
    reason: Reason | None


def review_agreement(
    log: Sequence[Decision], *, named: bool = False, confidence: float = 0.95
) -> list[ReviewAgreement]:
    """Return the agreement of each two reviewers, question by question.

    Parameters
    ----------
    log : sequence of Decision
        The store's log, oldest first.
    named : bool
        Whether rows hold the reviewers' names instead of numbers.
    confidence : float
        Level of the intervals: of kappa by its asymptotic standard error, of AC1 linearised over submissions.

    Returns
    -------
    list of ReviewAgreement
        Of reviewers who both decided on some submission.
    """
    from spa.responses.two_reviewers import reviews_of

    by_pair: dict[tuple[Question, tuple[str, str]], list[Review]] = defaultdict(list)
    order: dict[str, str] = {}
    for review in reviews_of(log):
        if review.independent is not None:
            for each in review.independent:
                order.setdefault(each.reviewer, each.reviewer if named else f"reviewer {len(order) + 1}")
            x, y = sorted((each.reviewer for each in review.independent), key=[*order].index)
            by_pair[review.question, (x, y)].append(review)
    return [_agreed(question, pair, by_pair[question, pair], order, confidence) for question, pair in sorted(by_pair)]


def _agreed(
    question: Question, pair: tuple[str, str], reviews: list[Review], shown: dict[str, str], confidence: float
) -> ReviewAgreement:
    from spa.responses.two_reviewers import QUESTIONS

    answers = []
    for review in reviews:
        given = {each.reviewer: QUESTIONS[question].index(each.action) for each in review.independent or ()}
        answers.append([float(given[name]) for name in pair])
    kappa = cohen_kappa(answers, confidence=confidence)
    ac1 = gwet_ac1(answers, categories=(0.0, 1.0), confidence=confidence)
    statuses = [review.status for review in reviews]
    return ReviewAgreement(
        question=question,
        reviewers=(shown[pair[0]], shown[pair[1]]),
        n=len(answers),
        alike=sum(x == y for x, y in answers),
        kappa=kappa.value,
        kappa_low=kappa.ci_low,
        kappa_high=kappa.ci_high,
        ac1=ac1.value,
        ac1_low=None if ac1.ci_low is None else max(-1.0, ac1.ci_low),
        ac1_high=ac1.ci_high,
        adjudicated=statuses.count("adjudicated"),
        conflicts=statuses.count("conflict"),
        reason=kappa.reason or ac1.reason,
    )
