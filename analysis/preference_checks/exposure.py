"""How sure annotators are after reading few or many outputs: the distance of a preference from chance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import stdtr

from analysis.answers.plan import Plan
from analysis.comparisons.hypothesis_families import with_adjusted_p
from analysis.comparisons.preferences import CHANCE, NOBODY, Comparisons, UnitPreferences
from analysis.statistics.coding import Floats, Ints, fold, snap
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Probability, Record
from analysis.statistics.t_tests import NO_VARIATION, ONE_UNIT, TTest, one_sample, t_bound, welch

TESTED = ("ci_low", "ci_high", "t", "df", "p_value", "reason")  # of a t-test, in rows
ENOUGH = 0.5  # share of units with several exposures from which on each unit is compared with itself


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ExposurePoint(Record):
    """Distance from chance at one exposure."""

    group: str
    criterion: str
    exposure: int
    system_x: str | None
    system_y: str | None
    """Null: all pairs."""
    n: Count
    mean_distance: float | None
    """Mean of |p - 0.5| over units, a unit's pairs averaged first."""
    sd: float | None
    ci_low: float | None
    ci_high: float | None
    distance_of_mean: float | None
    """|mean - 0.5|, averaged over pairs."""
    reason: Reason | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ExposureTrend(Record):
    """Change of the distance from chance with each doubling of the outputs read."""

    explained: ClassVar[tuple[str, ...]] = ("p_value", "p_adjusted", "verdict")

    group: str
    criterion: str
    exposures: tuple[int, ...]
    test: Literal["one-sample t of slopes", "regression clustered by unit"]
    n: Count
    n_left_out: Count
    """Units with one exposure only."""
    slope: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    t: float | None = None
    df: float | None = None
    p_value: Probability | None = None
    p_adjusted: Probability | None = None
    """Adjusted over the trends of the group and criterion (settings.correction)."""
    n_tests: int | None = None
    verdict: Literal["grows", "shrinks", "no clear change"] | None = None
    reason: Reason | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FirstExposure(Record):
    """Distance from chance after one output of each system minus that after ``exposure`` of them."""

    explained: ClassVar[tuple[str, ...]] = ("p_value", "p_adjusted")

    group: str
    criterion: str
    exposure: int
    test: Literal["paired t", "Welch t"]
    n: Count
    mean_difference: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    t: float | None = None
    df: float | None = None
    p_value: Probability | None = None
    p_adjusted: Probability | None = None
    """Adjusted over the differences of the group and criterion (settings.correction)."""
    n_tests: int | None = None
    over_confident: bool | None = None
    reason: Reason | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Distances:
    """Distances from chance of one group and criterion, a row for each unit, pair and exposure."""

    group: str
    criterion: str
    pairs: tuple[tuple[str, str], ...]
    exposures: tuple[int, ...]  # asked, ascending
    unit: Ints
    pair: Ints
    exposure: Ints
    value: Floats
    distance: Floats

    def only(self, rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Distances:
        """Return some of the rows."""
        names = ("unit", "pair", "exposure", "value", "distance")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})


def distances(units: UnitPreferences, tests: Comparisons) -> list[Distances]:
    """Collect the distances of every group and criterion that was asked at two exposures or more."""
    names = [tests.name(number) for number in range(len(tests.keys))]
    found = []
    for group, criterion in dict.fromkeys(name[:2] for name in names):
        own = [number for number, name in enumerate(names) if name[:2] == (group, criterion) and name[2] is not None]
        exposures = sorted({exposure for number in own if (exposure := names[number][2]) is not None})
        if len(exposures) < 2:
            continue
        pairs = list(dict.fromkeys(names[number][3:] for number in own))
        pair_of: Ints = np.full(len(names), -1, dtype=np.int64)
        exposure_of: Ints = np.zeros(len(names), dtype=np.int64)
        for number in own:
            pair_of[number], exposure_of[number] = pairs.index(names[number][3:]), names[number][2] or 0
        rows = pair_of[units.test] >= 0
        value = units.value[rows]
        found.append(
            Distances(
                group=group,
                criterion=criterion,
                pairs=tuple(pairs),
                exposures=tuple(exposures),
                unit=units.unit[rows],
                pair=pair_of[units.test][rows],
                exposure=exposure_of[units.test][rows],
                value=value,
                distance=snap(np.abs(value - CHANCE), scale=1.0, digits=13),
            )
        )
    return found


def exposure_curve(own: Distances, *, confidence: float) -> list[ExposurePoint]:
    """Describe the distance from chance at every exposure, over all pairs and, of several, of each pair.

    Noise in the answers alone makes |p - 0.5| positive, so where it is larger at a small exposure the
    ``mean_distance`` is too; ``distance_of_mean`` is nearly free of it.

    References
    ----------
    Ethayarajh, K. and Jurafsky, D. (2022). The Authenticity Gap in Human Evaluation. EMNLP, figure 1.
    """
    scopes: list[int | None] = [None, *range(len(own.pairs))] if len(own.pairs) > 1 else [0]
    rows = []
    for scope in scopes:
        x, y = (None, None) if scope is None else own.pairs[scope]
        for exposure in own.exposures:
            here = own.only((own.exposure == exposure) & ((own.pair == scope) if scope is not None else True))
            values = _by_unit(here.unit, here.distance)
            result = one_sample(values, against=0.0, confidence=confidence) if len(values) else None
            rows.append(
                ExposurePoint(
                    group=own.group,
                    criterion=own.criterion,
                    exposure=exposure,
                    system_x=x,
                    system_y=y,
                    n=len(values),
                    mean_distance=result.mean if result else None,
                    sd=result.sd if result else None,
                    ci_low=result.ci_low if result else None,
                    ci_high=result.ci_high if result else None,
                    distance_of_mean=_distance_of_mean(here),
                    reason=result.reason if result else NOBODY,
                )
            )
    return rows


def exposure_trends(own: Distances, plan: Plan) -> list[ExposureTrend]:
    """Test whether the distance from chance grows with the outputs read, with and without the first exposure of 1.

    The slope is that on log2 of the exposure: the change with each doubling. Where at least half of the units
    were asked about a pair at several exposures, a unit's slope is taken within its pairs, and a
    one-sample t over units tests whether the mean slope is 0. Else one regression with an intercept for
    each pair is fitted over all units; its sandwich error is clustered by unit, with factor G/(G - 1) and
    G - 1 degrees of freedom.
    """
    chosen = [own.exposures]
    if own.exposures[0] == 1 and len(own.exposures) > 2:
        chosen.append(own.exposures[1:])
    rows = [_trend(own.only(np.isin(own.exposure, kept)), kept, plan.confidence) for kept in chosen]
    return [
        row
        if row.p_adjusted is None
        else replace(
            row,
            verdict="no clear change" if row.p_adjusted > plan.fwer else "grows" if (row.slope or 0) > 0 else "shrinks",
        )
        for row in with_adjusted_p(rows, plan, family="criterion")
    ]


def first_exposure(own: Distances, plan: Plan) -> list[FirstExposure]:
    """Test whether annotators are over-confident after one output of each system.

    The paper calls them over-confident because they are further from chance at an exposure of 1 than
    when they have read more, where reading more should make them surer; it gives no test. Here the distance
    at 1 is compared with that at the next exposure and at the largest, and ``over_confident`` says that it
    is clearly the larger one: a paired t over units (a unit's pairs averaged), or Welch's t
    where fewer than half of the units answered at both.

    References
    ----------
    Ethayarajh, K. and Jurafsky, D. (2022). The Authenticity Gap in Human Evaluation. EMNLP, section 6.2.
    """
    if own.exposures[0] != 1:
        return []
    rows = []
    for exposure in dict.fromkeys((own.exposures[1], own.exposures[-1])):
        test, result = _difference(own, 1, exposure, plan.confidence)
        row = FirstExposure(group=own.group, criterion=own.criterion, exposure=exposure, test=test, n=0, reason=NOBODY)
        rows.append(replace(row, n=result.n, mean_difference=result.mean, **_tested(result)) if result else row)
    return [
        row
        if row.p_adjusted is None
        else replace(row, over_confident=row.p_adjusted <= plan.fwer and (row.mean_difference or 0) > 0)
        for row in with_adjusted_p(rows, plan, family="criterion")
    ]


def _trend(own: Distances, exposures: tuple[int, ...], confidence: float) -> ExposureTrend:
    doublings = np.log2(own.exposure.astype(np.float64))
    rest = fold(own.unit, own.pair)
    across = doublings - rest.mean(doublings)[rest.of] if len(rest) else doublings
    unit = fold(own.unit)
    spread = np.bincount(unit.of, weights=across**2, minlength=len(unit))
    able = spread > 0
    base = ExposureTrend(
        group=own.group,
        criterion=own.criterion,
        exposures=exposures,
        test="one-sample t of slopes",
        n=int(able.sum()),
        n_left_out=len(unit) - int(able.sum()),
        reason=NOBODY,
    )
    if len(unit) == 0:
        return base
    if able.mean() < ENOUGH:
        base = replace(base, test="regression clustered by unit", n=len(unit), n_left_out=0)
        return _regressed(base, own, doublings, confidence)
    products = np.bincount(unit.of, weights=across * own.distance, minlength=len(unit))
    result = one_sample(snap(products[able] / spread[able], scale=1.0, digits=13), against=0.0, confidence=confidence)
    return replace(base, slope=result.mean, **_tested(result))


def _tested(result: TTest) -> dict[str, Any]:
    return {name: getattr(result, name) for name in TESTED}


def _regressed(base: ExposureTrend, own: Distances, doublings: Floats, confidence: float) -> ExposureTrend:
    pair, unit = fold(own.pair), fold(own.unit)
    across = doublings - pair.mean(doublings)[pair.of]
    up = own.distance - pair.mean(own.distance)[pair.of]
    spread = float(np.sum(across**2))
    if spread < 1e-12:
        return replace(base, reason=why("one_exposure"))
    slope = float(np.sum(across * up)) / spread
    if len(unit) < 2:
        return replace(base, slope=slope, reason=ONE_UNIT)
    scores = np.bincount(unit.of, weights=across * (up - slope * across))
    df = len(unit) - 1
    se = math.sqrt(len(unit) / df * math.fsum((scores**2).tolist())) / spread
    if se < 1e-12:
        return replace(base, slope=slope, reason=NO_VARIATION)
    half, t = t_bound(df, confidence) * se, slope / se
    p_value = min(1.0, 2 * float(stdtr(df, -abs(t))))
    return replace(
        base, slope=slope, ci_low=slope - half, ci_high=slope + half, t=t, df=df, p_value=p_value, reason=None
    )


def _difference(
    own: Distances, low: int, high: int, confidence: float
) -> tuple[Literal["paired t", "Welch t"], TTest | None]:
    two = own.only((own.exposure == low) | (own.exposure == high))
    both = fold(two.unit, two.pair)
    whole = np.bincount(both.of, minlength=len(both)) == 2
    signed = np.where(two.exposure == low, two.distance, -two.distance)
    differences = np.bincount(both.of, weights=signed, minlength=len(both))[whole]
    unit = two.unit[both.first][whole]
    if len(unit) and len(np.unique(unit)) >= ENOUGH * len(np.unique(two.unit)):
        values = _by_unit(unit, snap(differences.astype(np.float64), scale=1.0, digits=13))
        return "paired t", one_sample(values, against=0.0, confidence=confidence)
    sides = [_by_unit(side.unit, side.distance) for side in (two.only(two.exposure == at) for at in (low, high))]
    return "Welch t", welch(sides[0], sides[1], confidence=confidence) if all(map(len, sides)) else None


def _by_unit(unit: Ints, values: Floats) -> Floats:
    return snap(fold(unit).mean(values), scale=1.0, digits=13)


def _distance_of_mean(own: Distances) -> float | None:
    if not len(own.value):
        return None
    return float(np.mean(np.abs(fold(own.pair).mean(own.value) - CHANCE)))
