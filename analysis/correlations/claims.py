"""What scipy computes again of correlations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from analysis.answers.tables import answered_rows
from analysis.contribution import Checked
from analysis.correlations.averages import averages_over_criteria
from analysis.correlations.coefficients import prepare
from analysis.correlations.group_correlations import against_others, sides_of_ratings
from analysis.correlations.levels import PairedScores, coefficients_by_row, group_means
from analysis.correlations.scores import Scores, group_scores, pair_scores
from analysis.verification.claims import Claims, corrected, figure, left, places

PERFECT = 1 - 1e-6  # of Pearson's r and of ranks: closer to 1, p hangs on the last bits of r
CALLS = {"kendall": "kendalltau", "spearman": "spearmanr", "pearson": "pearsonr"}


def claims(checked: Checked) -> Claims:
    """Claim the p-values of correlations, and their corrections by Benjamini and Hochberg."""
    results = checked.results
    whole = checked.settings.family == "all"
    for name in ("correlations", "correlations_of_averages"):
        yield from _corrected(
            name,
            getattr(results, name),
            lambda row: (row.b, row.level, row.method, "" if whole else row.criterion),
        )
    plan = checked.settings
    together = plan.williams_criteria == "together" or (plan.williams_criteria is None and whole)
    yield from _corrected(
        "comparisons_of_correlations",
        results.comparisons_of_correlations,
        lambda row: (row.target, row.level, "" if together else row.criterion),
        plan.williams_correction or "bh",
    )
    yield from _corrected(
        "correlations_by_system",
        results.correlations_by_system,
        lambda row: (row.b, "" if whole else row.criterion),
    )
    for place, row in places("comparisons_of_correlations", results.comparisons_of_correlations):
        yield from left(row, "p_value", place, "williams")
        yield from left(row, "p_one_sided", place, "williams")
    if checked.analysis is None or not results.correlations:
        return
    prepared = checked.analysis.prepared
    order, answered = prepared.orders["ratings"], answered_rows(prepared.kept["ratings"])
    rated, measured, _, ids = sides_of_ratings(answered, prepared.tables.metrics, order, prepared.plan)
    k, by_name = len(order.systems), {name: number for number, name in enumerate(ids)}
    scores: dict[str, dict[str, Scores]] = {
        criterion: {own.name: own for own in (*map(group_scores, parts.values()), *measured)}
        for criterion, parts in rated.items()
    }
    averages = averages_over_criteria(
        {
            criterion: {group: group_scores(cells) for group, cells in parts.items()}
            for criterion, parts in rated.items()
        },
        prepared.plan.lower_is_better,
    )
    of_averages = {average.name: average for average in averages.values()}
    for place, row in places("correlations_of_averages", results.correlations_of_averages):
        if row.p_value is not None and checked.wanted(f"{place}.p_value"):
            yield from _correlated(row, place, pair_scores(of_averages[row.a], scores[row.criterion][row.b], k))
    people: dict[tuple[str, str], dict[int, PairedScores]] = {}
    for place, row in places("correlations", results.correlations):
        if row.p_value is None or not checked.wanted(f"{place}.p_value"):
            continue
        if row.upper_bound:
            key = row.criterion, row.b.removeprefix("ratings:")
            if key not in people:
                people[key] = against_others(rated[row.criterion][key[1]])
            paired = people[key][by_name[row.a.removeprefix("ratings:")]]
        else:
            paired = pair_scores(scores[row.criterion][row.a], scores[row.criterion][row.b], k)
        yield from _correlated(row, place, paired)
    number = {system: place for place, system in enumerate(order.systems)}
    for place, row in places("correlations_by_system", results.correlations_by_system):
        if row.p_value is not None and checked.wanted(f"{place}.p_value"):
            paired = pair_scores(scores[row.criterion][row.a], scores[row.criterion][row.b], k)
            own = paired.system == number[row.system]
            x, y = (prepare(side[own]).values for side in (paired.a, paired.b))
            yield from figure(row, "p_value", place, CALLS[row.method], x=x, y=y)


def _correlated(row: Any, place: str, paired: PairedScores) -> Claims:
    """Claim a coefficient of all outputs or of systems' means; within items a t-test of the items' coefficients."""
    if row.level == "per_item":
        values = coefficients_by_row(paired, row.level, row.method)
        yield from figure(row, "p_value", place, "ttest_1samp", values=values[~np.isnan(values)], against=0.0)
        return
    if row.method != "kendall" and abs(row.value) > PERFECT:
        yield from left(row, "p_value", place, "perfect")
        return
    sides = (paired.a, paired.b)
    if row.level == "system":
        sides = (group_means(paired.system, paired.a), group_means(paired.system, paired.b))
    x, y = (prepare(side).values for side in sides)
    yield from figure(row, "p_value", place, CALLS[row.method], x=x, y=y)


def _corrected(key: str, rows: Sequence[Any], family: Callable[[Any], Hashable], correction: str = "bh") -> Claims:
    found: dict[Hashable, list[tuple[str, Any]]] = {}
    for place, row in places(key, rows):
        found.setdefault(family(row), []).append((place, row))
    for members in found.values():
        yield from corrected(members, correction)
