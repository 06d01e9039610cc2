"""How far two reviewers of the same submissions agree, by what each decided before seeing the other's decision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
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
    shown: dict[str, str] = {}
    return [
        _agreed(question, pair, reviews, shown, confidence)
        for question, pair, reviews in _reviews_by_pair(log, shown, named=named)
    ]


def answers_by_pair(log: Sequence[Decision]) -> Iterator[tuple[Question, list[list[float]]]]:
    """Yield the answers of each two reviewers, question by question, in the order of the rows."""
    for question, pair, reviews in _reviews_by_pair(log, {}, named=False):
        yield question, _answers(question, pair, reviews)


def _reviews_by_pair(
    log: Sequence[Decision], shown: dict[str, str], *, named: bool
) -> Iterator[tuple[Question, tuple[str, str], list[Review]]]:
    """Yield the reviews of each two reviewers; ``shown`` gets the names of all."""
    from spa.responses.two_reviewers import reviews_of

    by_pair: dict[tuple[Question, tuple[str, str]], list[Review]] = defaultdict(list)
    for review in reviews_of(log):
        if review.independent is not None:
            for each in review.independent:
                shown.setdefault(each.reviewer, each.reviewer if named else f"reviewer {len(shown) + 1}")
            x, y = sorted((each.reviewer for each in review.independent), key=[*shown].index)
            by_pair[review.question, (x, y)].append(review)
    for question, pair in sorted(by_pair):
        yield question, pair, by_pair[question, pair]


def _agreed(
    question: Question, pair: tuple[str, str], reviews: list[Review], shown: dict[str, str], confidence: float
) -> ReviewAgreement:
    answers = _answers(question, pair, reviews)
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


def _answers(question: Question, pair: tuple[str, str], reviews: Sequence[Review]) -> list[list[float]]:
    from spa.responses.two_reviewers import QUESTIONS

    answers = []
    for review in reviews:
        given = {each.reviewer: QUESTIONS[question].index(each.action) for each in review.independent or ()}
        answers.append([float(given[name]) for name in pair])
    return answers
