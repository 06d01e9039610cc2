"""The rows of results.json: each LLM, other group and metric against people, and one person against the others."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import ClassVar

import numpy as np
import polars as pl

from analysis.answers.groups import people_of
from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.answers.tables import answered_rows
from analysis.comparisons.rating_cells import RatingCells, rating_cells
from analysis.correlations.averages import averages_over_criteria
from analysis.correlations.coefficients import Method, Series, correlate_series, prepare
from analysis.correlations.compared import ComparisonRow, compare_measures
from analysis.correlations.levels import (
    LEVELS,
    Level,
    LevelCorrelation,
    PairedScores,
    correlate_all,
    correlate_each,
    correlate_levels,
)
from analysis.correlations.pairwise import PairwiseAccuracy, common_accuracies
from analysis.correlations.references import reference_systems, without_systems
from analysis.correlations.scores import Scores, group_scores, metric_scores, outputs_of, pair_scores
from analysis.correlations.upper_bounds import OneAgainstOthers, one_against_others
from analysis.statistics.coding import Codes, Floats, Ints, code
from analysis.statistics.corrections import adjusted_in_families
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import (
    Coefficient,
    Count,
    Positive,
    Probability,
    Record,
    Share,
    fields_of,
    replace_fields,
)
from analysis.sums.units import unit_codes

TOGETHER = 1 << 11  # ratings whose upper bounds are computed together: their signs stay in the cache
LISTED = 20  # people up to whom each one has rows of his own
NOTHING: Mapping[str, tuple[str, ...]] = {}
AVERAGED = why("averaged")
AVERAGED_LEVELS: tuple[Level, ...] = ("overall", "system")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CorrelationRow(Record):
    """One row of ``correlations``.

    With ``upper_bound``, ``b`` is the mean of the other annotators of that group, or with ``person_included`` of all
    of them (Chhun et al. 2024).
    """

    explained: ClassVar[tuple[str, ...]] = ("p_value",)
    a: str
    b: str
    criterion: str
    level: Level
    method: str
    value: Coefficient | None
    p_value: Probability | None
    n: Count
    n_undefined: Count = 0
    upper_bound: bool = False
    p_adjusted: Probability | None = None
    n_tests: Positive | None = None
    n_annotators: Count | None = None
    person_included: bool = False
    """Of an upper bound: b is the mean of all people, the person included."""
    ci_low: Coefficient | None = None
    ci_high: Coefficient | None = None
    interval: str | None = None
    """How the interval was made; null: none."""
    without: tuple[str, ...] = ()
    """Systems left out, as references of the metric: named (settings.references), or at its end in every item."""
    pairwise_accuracy: Share | None = None
    """Beside tau within an item: share of pairs of an item's outputs that both order alike or tie, averaged over the
    items that all measures scored (Deutsch et al. 2023); null elsewhere, and with under half of people's pairs."""
    accuracy_items: Count | None = None
    """Items that it is averaged over."""
    accuracy_pairs: Count | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SystemCorrelation(Record):
    """Kendall's tau over the outputs of one system (Chiang and Lee 2023, Table 2)."""

    explained: ClassVar[tuple[str, ...]] = ("p_value",)
    a: str
    b: str
    criterion: str
    system: str
    method: str
    value: Coefficient | None
    p_value: Probability | None
    n: Count
    p_adjusted: Probability | None = None
    n_tests: Positive | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Correlations:
    """What correlations with people are.

    ``rows``: a family of adjusted p-values is all measures against one group, for one criterion, level and method;
    upper bounds are no members. ``compared``: which of two measures is closer to people (:func:`compare_measures`).
    ``by_system``: Kendall's tau of the groups, system by system; a family is all groups and systems of one criterion.
    ``averages``: each group's mean over its criteria beside each criterion of people, in families of their own.
    """

    rows: Sequence[CorrelationRow] = ()
    compared: Sequence[ComparisonRow] = ()
    by_system: Sequence[SystemCorrelation] = ()
    averages: Sequence[CorrelationRow] = ()


def correlate_groups(
    ratings: pl.DataFrame | None,
    metrics: pl.DataFrame | None,
    groups: Sequence[tuple[str, str]],
    order: Order | None,
    plan: Plan,
) -> Correlations:
    """Correlate mean scores with those of people, by criterion and level.

    Parameters
    ----------
    ratings : DataFrame or None
        Checked ratings after exclusions.
    metrics : DataFrame or None
        Checked metrics.
    groups : sequence of (group, annotator_kind)
        In the order of the results. People are the groups of kind human, or simulated where there
        is none; every other group and every metric is correlated with them.
    order : Order or None
        Systems and criteria of the ratings.
    plan : Plan
        Rate at which Benjamini-Hochberg controls false discoveries (``fwer``); how Williams's tests are made.
    """
    targets = people_of(groups)
    if ratings is None or order is None or not targets:
        return Correlations()
    answered = answered_rows(ratings)
    if len(groups) < 2 and metrics is None and len(answered["annotator_id"].unique(maintain_order=True)) > LISTED:
        return Correlations()
    by_criterion, measured, without, ids = sides_of_ratings(answered, metrics, order, plan)
    people = [cells for rated in by_criterion.values() for group, cells in rated.items() if group in targets]
    bounds = _upper_bounds(people, ids, plan.confidence)
    return correlate_scores(
        {
            criterion: {group: group_scores(cells) for group, cells in rated.items()}
            for criterion, rated in by_criterion.items()
        },
        targets,
        order,
        plan,
        measured=measured,
        without=without,
        upper_bounds=lambda criterion, group: bounds[criterion, group],
    )


def sides_of_ratings(
    answered: pl.DataFrame, metrics: pl.DataFrame | None, order: Order, plan: Plan
) -> tuple[dict[str, dict[str, RatingCells]], list[Scores], dict[str, tuple[str, ...]], Sequence[str]]:
    """Return what is correlated: cells by criterion and group, metrics, systems these are without, and people's ids.

    ``answered`` are ratings with a score; annotators of the cells number the ids.
    """
    by_criterion: dict[str, dict[str, RatingCells]] = {}
    units, who = unit_codes(answered), code(answered["annotator_id"])
    of_people = _places(units.annotator, who)
    for cells in rating_cells(answered, order):  # people are listed as they first appear
        shown = replace(cells, annotator=of_people[cells.annotator])
        by_criterion.setdefault(cells.criterion, {})[cells.group] = shown
    items = {name: place for place, name in enumerate(units.item.ids)}
    measured: list[Scores] = []
    without: dict[str, tuple[str, ...]] = {}
    if metrics is not None:
        places = {system: place for place, system in enumerate(order.systems)}
        for metric, systems in reference_systems(metrics, plan.references).items():
            without[f"metrics:{metric}"] = tuple(system for system in systems if system in places)
        measured = [
            without_systems(scores, {places[name] for name in without.get(scores.name, ())}, len(places))
            for scores in metric_scores(metrics, items, order.systems)
        ]
    return by_criterion, measured, without, who.ids


def correlate_scores(
    by_criterion: Mapping[str, Mapping[str, Scores]],
    targets: Sequence[str],
    order: Order,
    plan: Plan,
    *,
    measured: Sequence[Scores] = (),
    without: Mapping[str, tuple[str, ...]] = NOTHING,
    upper_bounds: Callable[[str, str], Sequence[CorrelationRow]] = lambda criterion, group: (),
) -> Correlations:
    """Do what :func:`correlate_groups` does, from mean scores.

    Parameters
    ----------
    by_criterion : mapping of str to mapping
        Mean scores of each group, by criterion.
    targets : sequence of str
        The groups of people.
    order, plan
        As there.
    measured : sequence of Scores
        Metrics.
    without : mapping of str to tuple of str
        Systems whose scores were left out of a metric.
    upper_bounds : callable
        From a criterion and a group of people to the rows of one person against the others.
    """
    averaged = averages_over_criteria(
        {
            criterion: {group: own for group, own in scores.items() if group not in targets}
            for criterion, scores in by_criterion.items()
        },
        plan.lower_is_better,
    )
    found: list[_TargetCorrelations] = []
    for criterion in order.criteria:
        scores = by_criterion.get(criterion, {})
        for place, target in enumerate(targets):
            if target not in scores:
                continue
            others = [own for group, own in scores.items() if group not in targets[: place + 1]]
            with_target = _correlate_with(
                scores[target], [*others, *measured], [*averaged.values()], criterion, order, plan, without
            )
            bounded = [*with_target.rows, *upper_bounds(criterion, target)]
            found.append(replace(with_target, rows=bounded))
    family = _by_level if plan.family == "all" else _by_criterion_and_level
    together = (plan.williams_criteria or ("together" if plan.family == "all" else "apart")) == "together"
    rate = plan.fwer
    tests = adjusted_in_families(
        [row for own in found for row in own.compared],
        _by_level if together else _by_criterion_and_level,
        correction=plan.williams_correction,
        rate=rate,
    )
    return Correlations(
        rows=adjusted_in_families(
            [row for own in found for row in own.rows],
            lambda row: None if row.upper_bound else (family(row), row.method),
            correction="bh",
            rate=rate,
        ),
        compared=[row.judged(rate) for row in tests],
        by_system=adjusted_in_families(
            [row for own in found for row in own.by_system],
            lambda row: (row.b, "" if plan.family == "all" else row.criterion),
            correction="bh",
            rate=rate,
        ),
        averages=adjusted_in_families(
            [row for own in found for row in own.averages],
            lambda row: (family(row), row.method),
            correction="bh",
            rate=rate,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _TargetCorrelations:
    """How everything that scores outputs goes with one group of people by one criterion, nothing corrected yet."""

    rows: Sequence[CorrelationRow]
    compared: Sequence[ComparisonRow]
    by_system: Sequence[SystemCorrelation]
    averages: Sequence[CorrelationRow]


def _correlate_with(
    target: Scores,
    measures: Sequence[Scores],
    averaged: Sequence[Scores],
    criterion: str,
    order: Order,
    plan: Plan,
    without: Mapping[str, tuple[str, ...]],
) -> _TargetCorrelations:
    """Correlate scores, and their averages over criteria, with those of a group of people."""
    rows: list[CorrelationRow] = []
    by_system: list[SystemCorrelation] = []
    averages: list[CorrelationRow] = []
    sides: dict[tuple[int, bytes], Series] = {}
    n_systems = len(order.systems)
    accuracies = common_accuracies(measures, target, n_systems, lower_is_better=criterion in plan.lower_is_better)
    for measure in measures:
        paired = pair_scores(measure, target, n_systems)
        levels = correlate_levels(paired, confidence=plan.confidence)
        own = _rows(measure.name, target.name, criterion, levels, without=without.get(measure.name, ()))
        rows += (_with_accuracy(row, accuracies.get(measure.name)) for row in own)
        if measure.name.startswith("ratings:"):
            by_system += _by_system(measure.name, target.name, criterion, paired, order.systems, sides)
    for average in averaged:
        levels = correlate_levels(pair_scores(average, target, n_systems), AVERAGED_LEVELS, confidence=plan.confidence)
        averages += _rows(average.name, target.name, criterion, levels)
    compared = compare_measures(measures, target, criterion, n_systems, alternative=plan.williams_alternative)
    return _TargetCorrelations(rows=rows, compared=compared, by_system=by_system, averages=averages)


def _by_level(row: CorrelationRow | ComparisonRow) -> Hashable:
    return row.b if isinstance(row, CorrelationRow) else row.target, row.level


def _by_criterion_and_level(row: CorrelationRow | ComparisonRow) -> Hashable:
    return _by_level(row), row.criterion


def _rows(
    a: str,
    b: str,
    criterion: str,
    found: Sequence[LevelCorrelation],
    *,
    upper_bound: bool = False,
    without: tuple[str, ...] = (),
) -> Iterator[CorrelationRow]:
    for row in found:
        yield CorrelationRow(a=a, b=b, criterion=criterion, upper_bound=upper_bound, without=without, **fields_of(row))


def _with_accuracy(row: CorrelationRow, found: PairwiseAccuracy | None) -> CorrelationRow:
    """Put the pairwise accuracy beside Kendall's tau within an item."""
    if found is None or found.value is None or (row.level, row.method) != ("per_item", "kendall"):
        return row
    return replace_fields(
        row, pairwise_accuracy=found.value, accuracy_items=found.n_items, accuracy_pairs=found.n_pairs
    )


def _by_system(
    a: str,
    b: str,
    criterion: str,
    paired: PairedScores,
    systems: Sequence[str],
    sides: dict[tuple[int, bytes], Series],
) -> Iterator[SystemCorrelation]:
    """Correlate system by system; ``sides`` keeps what was prepared of b, by system and items."""
    for number in np.unique(paired.system).tolist():
        own = paired.system == number
        key = number, paired.item[own].tobytes()
        if key not in sides:
            sides[key] = prepare(paired.b[own])
        found = correlate_series(prepare(paired.a[own]), sides[key], "kendall")
        yield SystemCorrelation(a=a, b=b, criterion=criterion, system=systems[number], **fields_of(found))


def _places(numbered: Codes, shown: Codes) -> Ints:
    """Return the place of each number's id in another list of the same ids."""
    place = {name: number for number, name in enumerate(shown.ids)}
    return np.array([place[name] for name in numbered.ids], dtype=np.int64)


def _upper_bounds(
    parts: Sequence[RatingCells], ids: Sequence[str], confidence: float
) -> dict[tuple[str, str], list[CorrelationRow]]:
    """Correlate each person with the mean of the others, and average over people (``a`` is then ``b``).

    Beyond 20 people only the average is kept, of single outputs. Of the means that include the person's own scores
    only averages are kept. By criterion and group.
    """
    kept: dict[tuple[str, str], list[CorrelationRow]] = {}
    several = [len(np.unique(cells.annotator)) > LISTED for cells in parts]
    batch = np.cumsum([len(cells.value) for cells in parts]) // TOGETHER
    for (many, _), own in groupby(zip(several, batch.tolist(), parts, strict=True), key=itemgetter(0, 1)):
        kept |= _bounds_of_batch([cells for *_, cells in own], ids, many, confidence)
    return kept


def _bounds_of_batch(
    parts: Sequence[RatingCells], ids: Sequence[str], several: bool, confidence: float
) -> dict[tuple[str, str], list[CorrelationRow]]:
    levels: tuple[Level, ...] = ("overall",) if several else LEVELS
    kept: dict[tuple[str, str], list[CorrelationRow]] = {(cells.criterion, cells.group): [] for cells in parts}
    for included in (False, True):
        against = [
            list(one_against_others(cells.annotator, outputs_of(cells), cells.value, included=included))
            for cells in parts
        ]
        paired = [_paired(one, len(cells.systems)) for cells, ones in zip(parts, against, strict=True) for one in ones]
        if not paired:
            continue
        found: list[list[LevelCorrelation]] = []
        if several or included:  # the values are enough
            values = correlate_each(paired, levels)
        else:
            found = correlate_all(paired, levels, confidence=confidence)
            values = {
                (of[0].level, of[0].method): np.array([row.value for row in of], dtype=np.float64)
                for of in zip(*found, strict=True)
            }
        ends = np.cumsum([0, *map(len, against)]).tolist()
        for cells, ones, start, end in zip(parts, against, ends, ends[1:], strict=False):
            if not ones:
                continue
            rows, name = kept[cells.criterion, cells.group], f"ratings:{cells.group}"
            for one, own in zip(ones, found[start:end], strict=False):
                rows += _rows(f"ratings:{ids[one.annotator]}", name, cells.criterion, own, upper_bound=True)
            averages = [_average(*of, each[start:end], paired[start]) for of, each in values.items()]
            rows += [
                replace_fields(row, person_included=included, n_annotators=own.n)
                for row, own in zip(
                    _rows(name, name, cells.criterion, averages, upper_bound=True), averages, strict=True
                )
            ]
    return kept


def against_others(cells: RatingCells) -> dict[int, PairedScores]:
    """Return each person's scores beside the mean of the others', by the person's number."""
    found = one_against_others(cells.annotator, outputs_of(cells), cells.value, included=False)
    return {one.annotator: _paired(one, len(cells.systems)) for one in found}


def _paired(one: OneAgainstOthers, n_systems: int) -> PairedScores:
    return PairedScores(item=one.output // n_systems, system=one.output % n_systems, a=one.own, b=one.others)


def _average(level: Level, method: Method, values: Floats, first: PairedScores) -> LevelCorrelation:
    """Return the mean of the people's values, with the first one's reason where there is none."""
    defined = values[~np.isnan(values)]
    return LevelCorrelation(
        level=level,
        method=method,
        value=float(defined.mean()) if len(defined) else None,
        p_value=None,
        n=len(defined),
        n_undefined=len(values) - len(defined),
        reason=AVERAGED if len(defined) else _reason(first, level, method),
    )


def _reason(paired: PairedScores, level: Level, method: Method) -> Reason | None:
    return next(row.reason for row in correlate_levels(paired, (level,)) if row.method == method)
