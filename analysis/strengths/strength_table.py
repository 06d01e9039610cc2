"""Rows of ``bradley_terry`` in the results: which systems, what answers hang together by, which ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, cast

import numpy as np

from analysis.answers.plan import Plan
from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.statistics.coding import Floats, Ints, fold
from analysis.statistics.rank_orders import STRENGTH_TIE, ranks
from analysis.statistics.reason_codes import ReasonCode
from analysis.statistics.reasons import Reason
from analysis.statistics.record import Record
from analysis.strengths.bounds import LEAST_DF, stable
from analysis.strengths.estimate import BradleyTerry, bradley_terry, of_many
from analysis.strengths.fit import DENSE
from analysis.strengths.many_systems import alike_factor, estimate_many

Compared = Literal["preferences", "choices", "ratings_bt"]  # answers that strengths are fitted to
RATED: Mapping[ReasonCode, ReasonCode] = {
    "won_all": "rated_higher",
    "lost_all": "rated_lower",
    "between": "rated_between",
}
Bounds = tuple[Floats, Floats]
MOST = 0.5  # share of the comparisons with which one of few annotators speaks for all


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SystemStrength(Record):
    """Bradley-Terry strength of one system; ``reason`` says why a number is missing."""

    explained: ClassVar[tuple[str, ...]] = ("strength",)

    source: Compared
    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    system: str
    strength: float | None
    """Natural log, mean zero."""
    ci_low: float | None
    ci_high: float | None
    ci_low_two_way: float | None = None
    """By annotator (of an LLM: assignment) and item at once; null: fewer than 10 of either, or 4 degrees of freedom."""
    ci_high_two_way: float | None = None
    """By annotator (of an LLM: assignment) and item at once; null: fewer than 10 of either, or 4 degrees of freedom."""
    interval: str | None
    """What the bias-reduced interval is clustered by (annotator, assignment, item); null: no interval."""
    n_clusters: int | None = None
    """Clusters that the interval rests on."""
    df: float | None = None
    """Satterthwaite's degrees of freedom of the interval, at least 4."""
    alike: Literal["annotator", "assignment", "item"] | None = None
    """What has the same total weight each, since the answers as they are left under 4 degrees of freedom."""
    rank: int | None
    """Also where there is no strength: one that won all its comparisons with the others stands above them."""
    rank_low: int | None
    """Best rank that the answers allow, all systems of the table jointly."""
    rank_high: int | None
    """Worst rank that the answers allow."""
    regularisation: float | None = None
    reason: Reason | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judgements:
    """Comparisons of one source, group and criterion: x won the share ``won`` of y.

    ``of_unit`` numbers the annotator (of an LLM: the assignment) as ``unit`` says; ``item`` is
    ``None`` where a comparison is about no item. ``weights``, where given, says how often each row occurred.
    """

    x: Ints
    y: Ints
    won: Floats
    unit: str
    of_unit: Ints
    item: Ints | None
    weights: Floats | None = None

    @property
    def n_units(self) -> int:
        """Number of units that occur."""
        return len(fold(self.of_unit))

    def clusters(self, planned: str) -> dict[str, Ints]:
        """Choose what the interval is clustered by.

        The unit where there are at least 10 of it, or one of fewer gave most comparisons, else the item; the unit as
        well where there is no item, and what the plan fixes goes before.
        """
        enough = planned == "annotator" or (planned == "auto" and self.speaks_for_units)
        return {self.unit: self.of_unit} if enough or self.item is None else {"item": self.item}

    @property
    def speaks_for_units(self) -> bool:
        """Say whether an interval is about other units: there are 10, or one would speak for all as items are drawn.

        One of fewer does with half of the comparisons, of two with three quarters.
        """
        given = np.bincount(self.of_unit, weights=self.weights)
        n = self.n_units
        return n >= ENOUGH_ANNOTATORS or (n > 1 and bool(given.max() >= max(MOST, 1.5 / n) * given.sum()))


@dataclass(frozen=True, kw_only=True, eq=False)
class StrengthTable:
    """The fit of one source, group and criterion, and its rows of ``bradley_terry``.

    ``compared`` numbers, among ``all_systems``, the systems that were compared at all: those of ``fit``.
    """

    source: Compared
    group: str
    criterion: str
    all_systems: tuple[str, ...]
    compared: Ints
    fit: BradleyTerry
    turned: bool  # the lowest strength ranks first
    rows: tuple[SystemStrength, ...]
    factor: Floats | None = None  # what multiplies the weight of each judgement, where units count alike

    @property
    def known(self) -> Ints:
        """Number of each system with a strength among ``all_systems``."""
        return self.compared[np.isfinite(self.fit.strength)]

    @property
    def strength(self) -> Floats:
        """Strengths of the ``known``."""
        return self.fit.strength[np.isfinite(self.fit.strength)]

    def weights(self, judgements: Judgements) -> Floats:
        """Return what each of the judgements counts in the fit."""
        times = np.ones(len(judgements.x)) if judgements.weights is None else judgements.weights
        return times if self.factor is None else times * self.factor

    def p_difference(self, x: str, y: str) -> float | None:
        """Return the p-value of the difference of two strengths, adjusted for all; ``None`` without an interval."""
        one, two = self._place(x), self._place(y)
        return None if one is None or two is None else _finite(self.fit.p_difference(one, two))

    def stronger(self, x: str, y: str) -> bool:
        """Say whether x ranks before y."""
        first, second = self._place(x), self._place(y)
        if first is None or second is None:
            raise ValueError(f"no strength: {x if first is None else y}")
        return bool((self.strength[first] > self.strength[second]) != self.turned)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {self.all_systems[place]: number for number, place in enumerate(self.known.tolist())}

    def _place(self, system: str) -> int | None:
        """Return the number of a system among those with a strength."""
        return self._places.get(system)


def strength_table(
    source: Compared, group: str, criterion: str, judgements: Judgements, systems: Sequence[str], plan: Plan
) -> StrengthTable | None:
    """Fit the systems that were compared at all, with intervals, and rank those that have a strength.

    The largest |t| of the rank intervals is drawn anew from the plan's seed for every table, so that
    no table depends on another.
    """
    compared, of = np.unique(np.concatenate([judgements.x, judgements.y]), return_inverse=True)
    if not len(compared):
        return None
    names = [systems[place] for place in compared.tolist()]
    clusters = judgements.clusters(plan.unit)
    if len(names) > DENSE and plan.regularisation is None:
        found, two_way = _fit_many(of, judgements, names, plan, clusters)
    else:
        found = _fit(of, judgements, names, plan, clusters, rng=np.random.default_rng(plan.seed))
        two_way = _two_way(of, judgements, names, plan, found.alike)
    if source == "ratings_bt":
        found = replace(found, reasons=tuple(map(_of_ratings, found.reasons)))
    turned = source == "ratings_bt" and criterion in plan.lower_is_better
    identity: dict[str, Any] = {"source": source, "group": group, "criterion": criterion}
    return StrengthTable(
        **identity,
        all_systems=tuple(systems),
        compared=compared,
        fit=found,
        turned=turned,
        rows=tuple(_rows(identity, names, found, two_way, turned)),
        factor=None if found.alike is None else _factor(of, judgements, found, clusters[found.alike]),
    )


def _of_ratings(reason: Reason | None) -> Reason | None:
    """Say who was rated higher instead of who won, as low ratings may be good."""
    code = None if reason is None else RATED.get(reason.code)
    return reason if reason is None or code is None else Reason(code, reason.data)


def _factor(of: Ints, judgements: Judgements, found: BradleyTerry, cluster: Ints) -> Floats:
    """Return what makes the clusters alike, 0 for judgements about a system without a strength."""
    known: Floats = np.isfinite(found.strength)[of].reshape(2, -1).min(axis=0).astype(np.float64)
    return alike_factor(cluster, known if judgements.weights is None else known * judgements.weights)[0] * known


def _rows(
    identity: Mapping[str, Any], names: Sequence[str], found: BradleyTerry, two_way: Bounds | None, turned: bool
) -> Iterator[SystemStrength]:
    """Yield what is said of each system: strength, intervals and ranks, or why there are none."""
    known = np.isfinite(found.strength)
    values = {names[place]: float(found.strength[place]) for place in np.flatnonzero(known).tolist()}
    levels = replace(found.levels, within=np.where(known, found.strength, found.levels.within))
    places = ranks(levels.order(names, tie=STRENGTH_TIE, lower_is_better=turned))
    low, high = found.rank_low, found.rank_high
    if turned:
        low, high = len(values) + 1 - high, len(values) + 1 - low
    before = min((places[name] for name in values), default=1) - 1  # systems above all that have a strength
    low, high = low + before, high + before
    bounded = np.isfinite(found.ci_low)
    for place, name in enumerate(names):
        yield SystemStrength(
            **identity,
            system=name,
            strength=values.get(name),
            ci_low=float(found.ci_low[place]) if bounded[place] else None,
            ci_high=float(found.ci_high[place]) if bounded[place] else None,
            ci_low_two_way=None if two_way is None else _finite(two_way[0][place]),
            ci_high_two_way=None if two_way is None else _finite(two_way[1][place]),
            interval=found.interval if bounded[place] else None,
            n_clusters=found.n_clusters if bounded[place] else None,
            df=_finite(found.df[place]),
            alike=cast("Any", found.alike) if known[place] else None,
            rank=places.get(name),
            rank_low=int(low[place]) if bounded[place] else None,
            rank_high=int(high[place]) if bounded[place] else None,
            regularisation=found.regularisation,
            reason=found.reasons[place] or (None if bounded[place] else found.no_interval),
        )


def _fit_many(
    of: Ints, judgements: Judgements, names: Sequence[str], plan: Plan, clusters: Mapping[str, Ints]
) -> tuple[BradleyTerry, Bounds | None]:
    """Fit many systems; both sandwiches are made of the same factors."""
    item, second = judgements.item, None
    if item is not None and min(judgements.n_units, len(fold(item))) >= ENOUGH_ANNOTATORS:
        second = (judgements.unit, judgements.of_unit) if "item" in clusters else ("item", item)
    n = len(judgements.x)
    many = estimate_many(
        of[:n],
        of[n:],
        judgements.won,
        names,
        clusters=clusters,
        weights=judgements.weights,
        confidence=plan.confidence,
        alike=None,
        least_df=LEAST_DF,
        second=second,
    )
    found = _rounded(of_many(tuple(names), many, tuple(clusters), plan.confidence))
    if many.two_way is None:
        return found, None
    _, low, high = stable(found.strength, *many.two_way)
    return found, (low, high)


def _two_way(of: Ints, judgements: Judgements, names: Sequence[str], plan: Plan, alike: str | None) -> Bounds | None:
    """Fit with intervals by unit and item at once, where there are enough of both; with those alike that are it."""
    item = judgements.item
    if item is None or min(judgements.n_units, len(fold(item))) < ENOUGH_ANNOTATORS:
        return None
    clusters = {judgements.unit: judgements.of_unit, "item": item}
    found = _fit(of, judgements, names, plan, clusters, alike=alike)
    return (found.ci_low, found.ci_high) if found.alike == alike else None


def _fit(
    of: Ints,
    judgements: Judgements,
    names: Sequence[str],
    plan: Plan,
    clusters: Mapping[str, Ints],
    *,
    rng: np.random.Generator | None = None,
    alike: str | None = None,
) -> BradleyTerry:
    """Fit the systems ``names``, which ``of`` numbers: those of all x, then those of all y."""
    return _rounded(
        bradley_terry(
            of[: len(judgements.x)],
            of[len(judgements.x) :],
            judgements.won,
            systems=names,
            clusters=clusters,
            weights=judgements.weights,
            regularisation=plan.regularisation,
            confidence=plan.confidence,
            rng=rng,
            alike=alike,
            least_df=LEAST_DF,
        )
    )


def _rounded(found: BradleyTerry) -> BradleyTerry:
    strength, low, high = stable(found.strength, found.ci_low, found.ci_high)
    return replace(found, strength=strength, ci_low=low, ci_high=high)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
