"""What libraries compute again of the checks of preferences."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from analysis.answers.exclusions import CONSISTENCY, apply_exclusions
from analysis.comparisons.preferences import CHANCE, Comparisons, UnitPreferences, combine, direct
from analysis.comparisons.unanimity import alike
from analysis.contribution import Analysis, Checked
from analysis.preference_checks.coherence import CoherenceRow
from analysis.preference_checks.exposure import Distances, ExposureTrend, FirstExposure, distances
from analysis.preference_checks.filtering import SweepRow, failing_bounds, taus_of
from analysis.statistics.coding import Floats, Ints, fold, split_by
from analysis.statistics.corrections import OUTSIDE_FAMILY
from analysis.verification.claims import Claims, corrected, figure, places


def claims(checked: Checked) -> Claims:
    """Claim trends over outputs read, the tests under other bounds, and the discrepancies of triples."""
    results = checked.results
    for key in ("exposure_trend", "first_exposure"):
        yield from checked.families(key, getattr(results, key), family="criterion")
    yield from checked.families("coherence", results.coherence)
    if checked.analysis is None or "preferences" not in checked.analysis.prepared.answers:
        return
    prepared = checked.analysis.prepared
    table = prepared.answers["preferences"]
    tests = Comparisons(table, prepared.orders["preferences"])
    units = combine(direct(apply_exclusions(table, prepared.exclusions), tests))
    own = {(one.group, one.criterion): one for one in distances(units, tests)}
    for place, row in places("exposure_trend", results.exposure_trend):
        yield from _trend(row, place, own[row.group, row.criterion])
    for place, row in places("first_exposure", results.first_exposure):
        yield from _first(row, place, own[row.group, row.criterion])
    triples = Triples(units, tests)
    for place, row in places("coherence", results.coherence):
        if row.p_value is not None:
            yield from figure(row, "p_value", place, "ttest_1samp", values=triples.of(row), against=0.0)
    yield from _sweep(checked, checked.analysis, table, tests)


def _trend(row: ExposureTrend, place: str, own: Distances) -> Claims:
    """Claim the slope on doublings: a mean of units' slopes, or one regression with an intercept for each pair."""
    chosen = own.only(np.isin(own.exposure, row.exposures))
    doublings = np.log2(chosen.exposure.astype(np.float64))
    if row.test == "regression clustered by unit":
        pairs = np.unique(chosen.pair)
        design = np.column_stack([doublings, chosen.pair[:, None] == pairs[None, :]])
        numbers = {"y": chosen.distance, "x": design, "clusters": chosen.unit, "coefficient": 0}
        yield from figure(row, "p_value", place, "ols", **numbers)
        return
    rest = fold(chosen.unit, chosen.pair)
    across = doublings - rest.mean(doublings)[rest.of]
    unit = fold(chosen.unit)
    spread, products = (
        np.bincount(unit.of, weights=across * other, minlength=len(unit)) for other in (across, chosen.distance)
    )
    slopes = products[spread > 0] / spread[spread > 0]
    yield from figure(row, "p_value", place, "ttest_1samp", values=slopes, against=0.0)


def _first(row: FirstExposure, place: str, own: Distances) -> Claims:
    """Claim the difference between the distance after one output and that after more."""
    by_exposure = [own.only(own.exposure == exposure) for exposure in (1, row.exposure)]
    if row.test == "Welch t":
        x, y = (_by_unit(side.unit, side.distance) for side in by_exposure)
        yield from figure(row, "p_value", place, "ttest_ind", x=[*x.values()], y=[*y.values()])
        return
    first, then = map(_by_unit_and_pair, by_exposure)
    both = sorted(first.keys() & then.keys())
    unit = np.array([unit for unit, _ in both], dtype=np.int64)
    sides = [_by_unit(unit, np.array([side[key] for key in both])) for side in (first, then)]
    yield from figure(row, "p_value", place, "ttest_rel", x=[*sides[0].values()], y=[*sides[1].values()])


def _by_unit_and_pair(own: Distances) -> dict[tuple[int, int], float]:
    keys = zip(own.unit.tolist(), own.pair.tolist(), strict=True)
    return dict(zip(keys, own.distance.tolist(), strict=True))


def _by_unit(unit: Ints, values: Floats) -> dict[int, float]:
    units = fold(unit)
    return dict(zip(unit[units.first].tolist(), units.mean(values).tolist(), strict=True))


class Triples:
    """Discrepancies of the units that answered about three systems, none of them 0 or 1."""

    def __init__(self, units: UnitPreferences, tests: Comparisons) -> None:
        names = [tests.name(number) for number in range(len(tests.keys))]
        of_unit = split_by(units.test, units.unit.astype(np.float64), len(names))
        values = split_by(units.test, units.value, len(names))
        self._answers = {
            name: dict(zip(unit.tolist(), value.tolist(), strict=True))
            for name, unit, value in zip(names, of_unit, values, strict=True)
        }

    def of(self, row: CoherenceRow) -> list[float]:
        """Return log odds of a over c less those of a over b and b over c."""
        x, y, z = row.system_a, row.system_b, row.system_c
        a, b, c = self._over(row, x, y), self._over(row, y, z), self._over(row, x, z)
        shared = [unit for unit in sorted(a.keys() & b.keys() & c.keys()) if 0 < min(a[unit], b[unit], c[unit])]
        shared = [unit for unit in shared if max(a[unit], b[unit], c[unit]) < 1]
        return [_log_odds(c[unit]) - _log_odds(a[unit]) - _log_odds(b[unit]) for unit in shared]

    def _over(self, row: CoherenceRow, x: str | None, y: str | None) -> dict[float, float]:
        start = row.group, row.criterion, row.exposure
        assert x is not None
        assert y is not None
        if (found := self._answers.get((*start, x, y))) is not None:
            return found
        return {unit: round(1 - value, 13) for unit, value in self._answers[*start, y, x].items()}


def _log_odds(value: float) -> float:
    return math.log(value) - math.log1p(-value)


def _sweep(checked: Checked, analysis: Analysis, table: pl.DataFrame, tests: Comparisons) -> Claims:
    """Claim the tests under each bound, and their corrections."""
    prepared, plan, rows = analysis.prepared, analysis.plan, checked.results.consistency_sweep
    if not rows:
        return
    others = [row for row in prepared.exclusions if row.rule != CONSISTENCY]
    base = apply_exclusions(table, others).filter(pl.col("value").is_not_null())
    taus = taus_of(tests, plan)
    failing, _ = failing_bounds(base, taus)
    bounds = [*sorted({float(tau) for tau in taus if tau is not None}), None]
    units, names = combine(direct(base, tests)), [tests.name(number) for number in range(len(tests.keys))]
    by_bound: dict[float | None, dict[tuple[object, ...], Floats]] = {}
    families: dict[tuple[object, ...], list[tuple[str, SweepRow]]] = {}
    larger: set[tuple[object, ...]] = set()
    for place, row in places("consistency_sweep", rows):
        if row.tau not in by_bound:
            kept = (failing <= bounds.index(row.tau))[units.unit]
            split = split_by(units.test[kept], units.value[kept], len(names))
            by_bound[row.tau] = dict(zip(names, split, strict=True))
        values = by_bound[row.tau][row.group, row.criterion, row.exposure, row.system_x, row.system_y]
        yield from figure(row, "p_value", place, "ttest_1samp", values=values, against=CHANCE)
        if row.reason == OUTSIDE_FAMILY:
            continue
        family = row.tau, row.group, None if plan.family == "all" else row.criterion
        families.setdefault(family, []).append((place, row))
        if len(values) and alike(values):  # claims beside the tests: then all comparisons count
            larger.add(family)
    for key, members in families.items():
        n_tests = len(members) if key in larger else None
        yield from corrected(members, plan.correction, n_tests=n_tests)
