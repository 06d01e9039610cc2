"""How often each answer was given to questions with a few named answers: shares of errors, of agreement."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from analysis.answers.order import Order
from analysis.answers.study_facts import StudyFacts
from analysis.statistics.record import Count, Positive, Record, Share


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CategoryShare(Record):
    """How often one group gave one answer about one system."""

    group: str
    criterion: str
    system: str
    score: float
    answer: str | None
    """Words of the answer; null where no study file says them."""
    n: Count
    n_answers: Positive
    share: Share


def category_shares(ratings: pl.DataFrame | None, order: Order | None, study: StudyFacts | None) -> list[CategoryShare]:
    """Count the answers to category questions, by group, criterion, system and answer.

    Parameters
    ----------
    ratings : DataFrame or None
        Checked ratings after exclusions; only rows of the elicitation "category" count.
    order : Order or None
        Order of groups, criteria and systems.
    study : StudyFacts or None
        Knows the words of the answers; those that nobody gave are then listed with a share of 0.

    Returns
    -------
    list of CategoryShare
        ``share`` is ``n`` of ``n_answers``; answers in the order of the study, else from the highest score on.
    """
    if ratings is None or order is None:
        return []
    asked = ratings.filter((pl.col("elicitation") == "category") & pl.col("value").is_not_null())
    counted = asked.group_by("group", "criterion", "system", "value").agg(n=pl.len())
    return share_rows(counted.with_columns(pl.col(pl.Categorical).cast(pl.String)), order, study)


def share_rows(counted: pl.DataFrame, order: Order, study: StudyFacts | None) -> list[CategoryShare]:
    """Do what :func:`category_shares` does, from group, criterion, system, score and n of each answer."""
    found: dict[tuple[str, str, str], dict[float, int]] = {}
    for group, criterion, system, value, n in counted.iter_rows():
        found.setdefault((group, criterion, system), {})[value] = n
    words = options_of(study)
    rows: list[CategoryShare] = []
    for group in order.groups:
        for criterion in order.criteria:
            for system in order.systems:
                scores = found.get((group, criterion, system))
                if scores is not None:
                    rows += _rows(group, criterion, system, scores, words.get(criterion, []))
    return rows


def options_of(study: StudyFacts | None) -> dict[str, list[tuple[float, str]]]:
    """Return the answers of each criterion that has some: (score, words)."""
    criteria = () if study is None else study.criteria
    return {
        criterion.id: [(option.score, option.text) for option in criterion.options if option.score is not None]
        for criterion in criteria
        if criterion.options
    }


def _rows(
    group: str, criterion: str, system: str, scores: dict[float, int], options: list[tuple[float, str]]
) -> list[CategoryShare]:
    words: dict[float, list[str]] = {}
    for score, text in options:
        words.setdefault(score, []).append(text)
    total = sum(scores.values())
    return [
        CategoryShare(
            group=group,
            criterion=criterion,
            system=system,
            score=score,
            answer=" / ".join(words[score]) if score in words else None,
            n=scores.get(score, 0),
            n_answers=total,
            share=scores.get(score, 0) / total,
        )
        for score in (*words, *sorted(set(scores) - set(words), reverse=True))
    ]
