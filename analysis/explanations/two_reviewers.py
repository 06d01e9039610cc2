"""Two reviewers of explanations: what each answered, how far they agree, and what a third settles.

Each of the two answers a form. What a third says, in the dashboard or on a form, is an entry of the store's log, under
the visit of who answered first: ``rule`` is the place as JSON, ``note`` the score.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from analysis.agreement.gwet import gwet_ac1
from analysis.agreement.kappa import cohen_kappa
from analysis.statistics.reasons import Reason
from spa.errors import AnalysisError, ResponseError
from spa.responses.decisions import Decision, add_decision, read_decisions
from spa.responses.export import export_tables

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from analysis.agreement.result import Agreement
    from spa.records.study import Study
    from spa.responses.store import Store

Place = tuple[str, str, str]  # item, system, criterion


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerAnswers:
    """What one reviewer answered, and when the form was handed in."""

    reviewer: str
    submission_id: str
    at: str  # UTC, ISO 8601
    scores: Mapping[Place, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What a third answered where two differ."""

    reviewer: str
    at: str  # UTC, ISO 8601
    score: float
    number: int | None  # in the log


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationReview:
    """The answers of two reviewers, and what a third settled."""

    first: ReviewerAnswers
    second: ReviewerAnswers
    settlements: Mapping[Place, Settlement]

    @property
    def places(self) -> list[Place]:
        """What both answered, in order."""
        return sorted(self.first.scores.keys() & self.second.scores.keys())

    @property
    def conflicts(self) -> list[Place]:
        """Where the two differ, settled or not."""
        return [place for place in self.places if self.first.scores[place] != self.second.scores[place]]

    def status(self, place: Place) -> Literal["agreed", "conflict", "adjudicated"]:
        """Return where a place that both answered stands."""
        if self.first.scores[place] == self.second.scores[place]:
            return "agreed"
        return "adjudicated" if place in self.settlements else "conflict"

    def table(self) -> pl.DataFrame:
        """Return one row an answer that both gave: both answers, the third's where they differ, and what stands."""
        import polars as pl

        rows = []
        for place in self.places:
            x, y, status = self.first.scores[place], self.second.scores[place], self.status(place)
            third = self.settlements[place] if status == "adjudicated" else None
            rows.append(
                {
                    "annotator_id": "settled",
                    **dict(zip(("item_id", "system", "criterion"), place, strict=True)),
                    "score": x if status == "agreed" else third.score if third else None,
                    "status": status,
                    **{"reviewer_x": self.first.reviewer, "score_x": x, "at_x": self.first.at},
                    **{"reviewer_y": self.second.reviewer, "score_y": y, "at_y": self.second.at},
                    "adjudicator": third.reviewer if third else None,
                    "adjudicated_at": third.at if third else None,
                }
            )
        return pl.DataFrame(rows, infer_schema_length=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionAgreement:
    """How far two reviewers agree on one criterion, beyond chance by Cohen's kappa and by Gwet's AC1."""

    criterion: str
    n: int
    alike: int
    kappa: Agreement
    ac1: Agreement

    @property
    def reason(self) -> Reason | None:
        """Why a coefficient has no value."""
        return self.kappa.reason or self.ac1.reason


def answers_of_reviewers(store: Store) -> list[ReviewerAnswers]:
    """Return the answers of each person who completed the form, in the order in which they did."""
    import polars as pl

    tables = export_tables(store)
    groups = dict(tables.annotators.select("annotator_id", "people_group").iter_rows())
    found = []
    for visit in sorted(store.visits.of_people(), key=lambda one: one.completed_at or 0.0):
        own = tables.ratings.filter(
            pl.col("score").is_not_null(), annotator_id=visit.annotator_id, assignment_id=visit.assignment_id
        )
        if visit.completed_at is not None and not own.is_empty():
            places = own.select("item_id", "system", "criterion").iter_rows()
            found.append(
                ReviewerAnswers(
                    reviewer=groups[visit.annotator_id] or visit.annotator_id,
                    submission_id=visit.submission_id,
                    at=_in_words(visit.completed_at),
                    scores=dict(zip(places, own["score"], strict=True)),
                )
            )
    return found


def explanation_review(store: Store, name: str) -> ExplanationReview:
    """Return the answers of the two reviewers of a study, and what a third settled in its log.

    Raises
    ------
    AnalysisError
        Where not two completed the form of the study ``name``.
    """
    found = answers_of_reviewers(store)
    if len(found) != 2:
        raise AnalysisError(f"{name}: expected the complete answers of two reviewers, got those of {len(found)}")
    with store.reading() as connection:
        settled = settlements(read_decisions(connection))
    return ExplanationReview(first=found[0], second=found[1], settlements=settled)


def settlements(log: Iterable[Decision]) -> dict[Place, Settlement]:
    """Return what a third settled, as it stands after a log that is in order."""
    listed = list(log)
    undone = {each.undoes for each in listed}
    found = {}
    for each in listed:
        if each.action == "settle" and each.number not in undone:
            item, system, criterion = json.loads(each.rule or "")
            found[item, system, criterion] = Settlement(
                reviewer=each.reviewer, at=_in_words(each.decided_at), score=float(each.note or ""), number=each.number
            )
    return found


def settle(
    connection: Connection, review: ExplanationReview, place: Place, *, score: float, reviewer: str, now: float
) -> None:
    """Add a third's answer to the log, inside the caller's writing transaction.

    Raises
    ------
    ResponseError
        Where the two do not differ, by one of the two, or where it is settled.
    """
    item, _, criterion = place
    where = f"{item}, {criterion}"
    named = f"{review.first.reviewer} and {review.second.reviewer}"
    if place not in review.conflicts:
        raise ResponseError(f"{where}: {named} do not differ; a third person settles only where two differ")
    if reviewer in (review.first.reviewer, review.second.reviewer):
        raise ResponseError(f"{where}: expected somebody other than {named}, who differ, got {reviewer}")
    before = settlements(read_decisions(connection)).get(place)
    if before is not None:
        raise ResponseError(f"{where}: {before.reviewer} has settled it and can undo that; nobody else can")
    add_decision(connection, _settlement(review, place, score=score, reviewer=reviewer, now=now))


def settle_from_form(connection: Connection, review: ExplanationReview, third: ReviewerAnswers) -> None:
    """Add a third's answers on a form to the log, inside the caller's writing transaction, each once.

    Nothing is added where the two do not differ, where somebody settled before, or what was taken back.
    """
    log = read_decisions(connection)
    settled = settlements(log)
    added = {(each.reviewer, each.rule) for each in log if each.action == "settle"}
    now = datetime.fromisoformat(third.at).timestamp()
    for place in review.conflicts:
        if place not in third.scores or place in settled:
            continue
        decision = _settlement(review, place, score=third.scores[place], reviewer=third.reviewer, now=now)
        if (decision.reviewer, decision.rule) not in added:
            add_decision(connection, decision)


def _settlement(review: ExplanationReview, place: Place, *, score: float, reviewer: str, now: float) -> Decision:
    return Decision(
        submission_id=review.first.submission_id,
        action="settle",
        reviewer=reviewer,
        decided_at=now,
        rule=json.dumps(place, ensure_ascii=False),
        note=f"{score:g}",
    )


def agreement_by_criterion(review: ExplanationReview, study: Study) -> list[CriterionAgreement]:
    """Return how far the two agree on each criterion of the study, before a third settled anything."""
    offered = {one.id: {option.score for option in one.options if option.score is not None} for one in study.criteria}
    found = []
    for criterion in dict.fromkeys(place[2] for place in review.places):
        places = [place for place in review.places if place[2] == criterion]
        answers = [[review.first.scores[place], review.second.scores[place]] for place in places]
        alike = sum(x == y for x, y in answers)
        options = sorted(offered.get(criterion, ()))
        kappa, ac1 = cohen_kappa(answers), gwet_ac1(answers, categories=options if len(options) > 1 else None)
        found.append(CriterionAgreement(criterion=criterion, n=len(answers), alike=alike, kappa=kappa, ac1=ac1))
    return found


def _in_words(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
