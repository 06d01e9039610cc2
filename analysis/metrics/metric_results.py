"""Metrics in results.json: means and tests between systems, and their order beside that of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import polars as pl

from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.comparisons.rated_parts import rated_parts
from analysis.comparisons.ratings import RatingMean, RatingTest, Test, compare_ratings, summarise_ratings
from analysis.correlations.coefficients import correlate_series, prepare
from analysis.correlations.references import reference_systems
from analysis.statistics.corrections import Verdict, with_verdicts
from analysis.statistics.rank_orders import Ranking, order_systems, ranks
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Coefficient, Count, Positive, Probability, RankedSource, Record, record_like

GROUP = "metrics"
NO_DIRECTION = why("no_direction")
Places = Mapping[str, int]  # system -> rank


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MetricMean(Record):
    """A metric of one system: mean over outputs and, apart from it, the value of all outputs together."""

    metric: str
    system: str
    n: Count
    """Outputs (items)."""
    mean: float
    sd: float | None
    ci_low: float | None
    """Of the mean, items taken as drawn."""
    ci_high: float | None
    corpus: float | None = None
    """Of all outputs together, which need not be a mean; null: not given."""
    rank: Positive | None = None
    """By corpus where given, else by mean; 1 = best, tied systems share the best place; null: no direction."""
    higher_is_better: bool | None = None
    signature: str | None = None
    """Library, version and settings."""
    reason: Reason | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MetricTest(Record):
    """Score of x minus that of y, item by item, tested against 0."""

    explained: ClassVar[tuple[str, ...]] = ("p_value", "p_adjusted", "verdict")
    metric: str
    system_x: str
    system_y: str
    test: Test
    n: Count
    """Items."""
    mean_difference: float
    """X minus y, raw."""
    ci_low: float | None
    ci_high: float | None
    t: float | None
    df: float | None
    p_value: Probability | None
    p_adjusted: Probability | None = None
    """Adjusted over the pairs of this metric (settings.correction)."""
    n_tests: int | None = None
    stars: str = ""
    verdict: Verdict | None = None
    """X: the metric prefers system_x; null where there is no test, or no direction."""
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MetricAndPeople(Record):
    """Kendall's tau-b of the order by a metric with the order by people."""

    metric: str
    source: RankedSource
    group: str
    criterion: str
    kendall_tau: Coefficient | None
    n: Count
    """Systems that both rank."""
    without: tuple[str, ...] = ()
    """Systems left out, as references of the metric."""
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MetricResults(Record):
    """Automatic metrics of the outputs that were judged."""

    means: tuple[MetricMean, ...]
    pairs: tuple[MetricTest, ...]
    beside_people: tuple[MetricAndPeople, ...]


def metric_results(
    metrics: pl.DataFrame | None,
    corpus: pl.DataFrame | None,
    systems: Sequence[str],
    rankings: Sequence[Ranking],
    people: Sequence[str],
    plan: Plan,
) -> MetricResults | None:
    """Test each metric between every two systems, and lay its order beside that of people.

    Parameters
    ----------
    metrics, corpus : DataFrame or None
        Checked scores of outputs, and of whole systems.
    systems : sequence of str
        Order of the systems; others follow as they appear.
    rankings : sequence of Ranking
        Orders by people and LLMs.
    people : sequence of str
        Groups of people.
    plan : Plan
        Error rate and correction; the family is the pairs of one metric.

    Returns
    -------
    MetricResults or None
        Tests are those of ratings with items as units: a paired t, as both systems have a score of each item.
    """
    if metrics is None or (known := metrics.filter(pl.col("value").is_not_null())).is_empty():
        return None
    names = tuple(known["metric"].unique(maintain_order=True))
    listed = tuple(dict.fromkeys([*systems, *known["system"].unique(maintain_order=True)]))
    directions = _directions(known)
    by_item = replace(plan, unit="item", rating_test="auto")
    means: list[RatingMean] = []
    tests: list[RatingTest] = []
    for part in rated_parts(_as_ratings(known), Order(groups=(GROUP,), criteria=names, systems=listed, pairs=())):
        means += summarise_ratings(part, by_item)
        tests += compare_ratings(part, by_item)
    lower = frozenset(name for name, higher in directions.items() if higher is False)
    tests = with_verdicts(tests, fwer=plan.fwer, family="criterion", lower_is_better=lower, correction=plan.correction)
    whole = _whole(corpus)
    placed = {name: _places(name, means, whole, directions[name]) for name in names}
    signatures, left = _signatures(known), reference_systems(known, plan.references)
    orders = [row for row in rankings if row.group in people and row.source != "ratings_bt"]
    return MetricResults(
        means=tuple(
            record_like(
                MetricMean,
                row,
                metric=row.criterion,
                corpus=whole.get((row.criterion, row.system)),
                rank=placed[row.criterion].get(row.system),
                higher_is_better=directions[row.criterion],
                signature=signatures.get(row.criterion),
            )
            for row in means
        ),
        pairs=tuple(_test(row, directions[row.criterion]) for row in tests),
        beside_people=tuple(row for name in names for row in _beside(name, placed[name], orders, left.get(name, ()))),
    )


def _as_ratings(metrics: pl.DataFrame) -> pl.DataFrame:
    """Return the scores as ratings by one annotator, the metrics as criteria."""
    nothing = [pl.lit(None, dtype=pl.String).alias(name) for name in ("assignment_id", "variant", "sample")]
    one = [pl.lit(GROUP).alias(name) for name in ("group", "annotator_id", "annotator_kind")]
    return metrics.select("item_id", "system", pl.col("metric").alias("criterion"), "value", *one, *nothing)


def _directions(metrics: pl.DataFrame) -> dict[str, bool | None]:
    if "higher_is_better" not in metrics.columns:
        return dict.fromkeys(metrics["metric"].unique().to_list())
    found = metrics.group_by("metric").agg(pl.col("higher_is_better").drop_nulls().first())
    return dict(found.iter_rows())


def _signatures(metrics: pl.DataFrame) -> dict[str, str]:
    if "signature" not in metrics.columns:
        return {}
    return dict(metrics.group_by("metric").agg(pl.col("signature").drop_nulls().first()).drop_nulls().iter_rows())


def _whole(corpus: pl.DataFrame | None) -> dict[tuple[str, str], float]:
    if corpus is None:
        return {}
    rows = corpus.select("metric", "system", "value").drop_nulls().iter_rows()
    return {(metric, system): value for metric, system, value in rows}


def _places(
    metric: str, means: Sequence[RatingMean], whole: Mapping[tuple[str, str], float], higher: bool | None
) -> dict[str, int]:
    """Rank the systems by their value of all outputs where every one has such a value, else by their mean."""
    if higher is None:
        return {}
    values = {row.system: row.mean for row in means if row.criterion == metric}
    if all((metric, system) in whole for system in values):
        values = {system: whole[metric, system] for system in values}
    return ranks(order_systems(values, tie=0.0, lower_is_better=not higher))


def _test(row: RatingTest, higher: bool | None) -> MetricTest:
    return record_like(
        MetricTest,
        row,
        metric=row.criterion,
        verdict=None if higher is None else row.verdict,
        reason=row.reason or (NO_DIRECTION if higher is None else None),
    )


def _beside(
    metric: str, places: Places, rankings: Sequence[Ranking], left: tuple[str, ...]
) -> Iterator[MetricAndPeople]:
    for ranking in rankings if places else ():
        theirs = ranks(ranking.order)
        common = [system for system in places if system in theirs and system not in left]
        found = correlate_series(
            prepare([places[system] for system in common]), prepare([theirs[system] for system in common]), "kendall"
        )
        yield MetricAndPeople(
            metric=metric,
            source=ranking.source,
            group=ranking.group,
            criterion=ranking.criterion,
            kendall_tau=found.value,
            n=len(common),
            without=tuple(system for system in left if system in theirs),
            reason=found.reason,
        )
