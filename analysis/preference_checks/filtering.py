"""What excluding those who contradict themselves changes, for every bound that might have been chosen."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np
import polars as pl
from scipy.special import ndtr

from analysis.answers.consistency import NEAR, direction_sums, exact_directions
from analysis.answers.exclusions import CONSISTENCY, Exclusion, apply_exclusions, find_exclusions
from analysis.answers.groups import group_order
from analysis.answers.order import order_of
from analysis.answers.plan import Plan
from analysis.answers.study_facts import StudyFacts
from analysis.answers.tables import AnswerTables
from analysis.comparisons.hypothesis_families import within_family
from analysis.comparisons.preferences import (
    Comparisons,
    Directed,
    PreferenceTest,
    UnitPreferences,
    combine,
    compare_preferences,
    direct,
    unit_numbers,
)
from analysis.statistics.checks import check_finite
from analysis.statistics.coding import Floats, Ints, snap
from analysis.statistics.corrections import Verdict, with_verdicts
from analysis.statistics.reasons import Reason
from analysis.statistics.record import Count, Probability, Record, Share

TAUS: tuple[Decimal | None, ...] = (*(Decimal(step) / 20 for step in range(20, 41)), None)
FEW_TAUS: tuple[Decimal | None, ...] = (Decimal(1), Decimal("1.1"), Decimal("1.2"), Decimal("1.5"), None)
MANY_COMPARISONS = 60  # from here on results.json holds the few bounds only
MICRO = 10**6  # answers with up to six decimals are compared as whole millionths
SHORT = r"^[01]?\.?\d{0,6}$"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SweepRow(Record):
    """One comparison under one bound, with the two directions alone."""

    explained: ClassVar[tuple[str, ...]] = ("p_value", "p_adjusted", "verdict")

    group: str
    criterion: str
    exposure: int | None
    system_x: str
    system_y: str
    tau: float | None
    """Null: nobody excluded for self-contradiction."""
    n: Count
    n_excluded: Count
    mean: Share | None
    sd: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: Probability | None
    p_adjusted: Probability | None
    verdict: Verdict | None
    mean_forward: Share | None
    """P(x > y) alone."""
    shift_forward: float | None
    """Its change from tau null."""
    mean_back: Share | None
    """P(y > x) alone."""
    shift_back: float | None
    reason: Reason | None
    """Why a number is missing."""


FROM_TEST = tuple(field.name for field in fields(SweepRow) if field.name in PreferenceTest.__dataclass_fields__)


def consistency_sweep(
    tables: AnswerTables, plan: Plan, *, taus: Sequence[Decimal | None] = TAUS, study: StudyFacts | None = None
) -> list[SweepRow]:
    """Repeat the tests of preferences under other bounds on P(x > y) + P(y > x).

    Every unit's largest sum is found once; a bound then only selects units. The numbers are those that
    :func:`analysis.analyse` gives with that ``consistency_tau``.

    Parameters
    ----------
    tables : AnswerTables
        Checked tables.
    plan : Plan
        All rules but the bound, which is replaced.
    taus : sequence of Decimal or None
        Bounds from 1 to 2; ``None`` excludes nobody. Decimals, so that 1.1 is exactly 1.1.
    study : StudyFacts, optional
        As for :func:`analysis.analyse`.

    Returns
    -------
    list of SweepRow
        One row a bound and comparison, bounds ascending; empty where there are no preferences or no
        group was asked in both directions.

    References
    ----------
    Ethayarajh, K. and Jurafsky, D. (2022). The Authenticity Gap in Human Evaluation. EMNLP, figure 5.
    """
    if tables.preferences is None:
        return []
    names = [group for group, _ in group_order([*tables.answers().values()])]
    tests = Comparisons(tables.preferences, order_of(tables.preferences, names, study))
    others = find_exclusions(tables, replace(plan, consistency_tau=None))
    return sweep(tables.preferences, tests, others, plan, taus=taus)


def sweep(
    table: pl.DataFrame,
    tests: Comparisons,
    exclusions: Sequence[Exclusion],
    plan: Plan,
    *,
    taus: Sequence[Decimal | None] = TAUS,
) -> list[SweepRow]:
    """Do the same with exclusions that were found already; those for self-contradiction are left aside.

    Parameters
    ----------
    table : DataFrame
        All preferences, before exclusions.
    tests : Comparisons
        What was asked.
    exclusions : sequence of Exclusion
        Of all rules.
    plan, taus
        As for :func:`consistency_sweep`.
    """
    base = apply_exclusions(table, [row for row in exclusions if row.rule != CONSISTENCY])
    base = base.filter(pl.col("value").is_not_null())
    failing, checked = failing_bounds(base, taus)
    return sweep_units(direct(base, tests), failing, checked, tests, plan, taus=taus)


def sweep_units(
    directed: Directed,
    failing: Ints,
    checked: Collection[str],
    tests: Comparisons,
    plan: Plan,
    *,
    taus: Sequence[Decimal | None],
) -> list[SweepRow]:
    """Do the same with answers by unit and direction, and what :func:`failing_bounds` found of these units."""
    if not checked:
        return []
    bounds, units = _bounds(taus), combine(directed)
    everything = _means_by_direction(directed, len(tests.keys))
    steps = [(float(tau), failing <= place) for place, tau in enumerate(bounds)]
    whole = [(None, failing <= len(bounds))] if None in taus else []
    rows = []
    for tau, kept in (*steps, *whole):
        own = kept[units.unit]
        selected = UnitPreferences(test=units.test[own], unit=units.unit[own], value=units.value[own])
        compared = compare_preferences(selected, tests, confidence=plan.confidence)
        compared = within_family(compared, plan, "preferences")
        compared = with_verdicts(compared, fwer=plan.fwer, family=plan.family, correction=plan.correction)
        own = kept[directed.unit]
        left = Directed(
            test=directed.test[own], unit=directed.unit[own], forward=directed.forward[own], value=directed.value[own]
        )
        now = _means_by_direction(left, len(tests.keys))
        n_before = np.bincount(units.test, minlength=len(tests.keys))
        rows += [
            _under_bound(row, tau, int(n_before[number]), now[2 * number : 2 * number + 2], everything[2 * number :])
            for number, row in enumerate(compared)
            if row.group in checked
        ]
    return rows


def _under_bound(
    row: PreferenceTest, tau: float | None, n_before: int, now: Sequence[float | None], before: Sequence[float | None]
) -> SweepRow:
    shifts = [None if new is None or old is None else new - old for new, old in zip(now, before, strict=False)]
    return SweepRow(
        **{name: getattr(row, name) for name in FROM_TEST},
        tau=tau,
        n_excluded=n_before - row.n,
        mean_forward=now[0],
        shift_forward=shifts[0],
        mean_back=now[1],
        shift_back=shifts[1],
    )


def taus_of(tests: Comparisons, plan: Plan) -> tuple[Decimal | None, ...]:
    """Return the bounds that results.json holds: few of many comparisons, and the plan's own."""
    taus = FEW_TAUS if len(tests.keys) > MANY_COMPARISONS else TAUS
    return taus if plan.consistency_tau is None else (*taus, plan.consistency_tau)


def _bounds(taus: Sequence[Decimal | None]) -> list[Decimal]:
    return sorted({tau for tau in taus if tau is not None})


def failing_bounds(base: pl.DataFrame, taus: Sequence[Decimal | None]) -> tuple[Ints, set[str]]:
    """Count for every unit the bounds that its largest sum exceeds; bounds ascend, so it fails the first ones.

    Returns
    -------
    array of int, set of str
        By the number of the unit (:func:`analysis.comparisons.preferences.unit_numbers`); and the groups that were
        asked in both directions.
    """
    sums, bounds = direction_sums(base), _bounds(taus)
    sums = sums.with_columns(pl.Series("failing", _exceeded(sums, bounds)))
    by_variant = base.filter(pl.col("variant").is_not_null())["annotator_id"].unique().to_list()
    llm = pl.col("annotator_kind") == "llm"
    keys = [
        pl.when(llm).then(pl.col("assignment_id")).alias("visit"),
        pl.when(llm & pl.col("annotator_id").is_in(by_variant)).then(pl.col("variant").fill_null("")).alias("asking"),
    ]
    who = ["annotator_id", "visit", "asking"]
    worst = sums.with_columns(keys).group_by(who).agg(pl.col("failing").max())
    rows = base.with_columns(keys).join(worst, on=who, how="left", nulls_equal=True, maintain_order="left")
    whole = worst.filter(pl.col("visit").is_null()).drop("visit").rename({"failing": "failing_whole"})
    rows = rows.join(whole, on=["annotator_id", "asking"], how="left", nulls_equal=True, maintain_order="left")
    failing = rows.select(pl.max_horizontal("failing", "failing_whole").fill_null(0)).to_series().to_numpy()
    unit = unit_numbers(base)
    found = np.zeros(int(unit.max()) + 1 if len(unit) else 0, dtype=np.int64)
    np.maximum.at(found, unit, failing.astype(np.int64))
    return found, set(sums["group"].unique().to_list())


def _exceeded(sums: pl.DataFrame, bounds: Sequence[Decimal]) -> Ints:
    """Count for every sum the bounds below it; a sum near one of them is compared in exact arithmetic."""
    as_floats = np.array([float(bound) for bound in bounds])
    values = sums["sum"].to_numpy()
    low = np.searchsorted(as_floats, values - NEAR, side="left")
    high = np.searchsorted(as_floats, values + NEAR, side="right")
    one = pl.all_horizontal(
        (pl.col(side).list.len() == 1) & (pl.col(side).list.first().list.len() == 1) for side in ("forth", "back")
    )
    text = {side: pl.col(side).list.first().list.first() for side in ("forth", "back")}
    plain = one & pl.all_horizontal(each.str.contains(SHORT) for each in text.values())
    millionths = pl.sum_horizontal((each.cast(pl.Float64, strict=False) * MICRO).round() for each in text.values())
    written = sums.select(plain.alias("plain"), millionths.alias("sum"))
    near = low != high
    simple = near & written["plain"].to_numpy()
    floors = np.array([math.floor(bound * MICRO) for bound in bounds], dtype=np.float64)
    low[simple] = np.searchsorted(floors, written["sum"].to_numpy()[simple], side="left")
    exact = [Fraction(bound) for bound in bounds]
    for place in np.flatnonzero(near & ~simple).tolist():
        total = sum(exact_directions(sums.row(place, named=True)), Fraction(0))
        low[place] = sum(bound < total for bound in exact)
    return low.astype(np.int64)


def _means_by_direction(directed: Directed, n_tests: int) -> list[float | None]:
    """Return P(x > y) and P(y > x) of every comparison, each from its own answers only."""
    place = directed.test * 2 + ~directed.forward
    count = np.bincount(place, minlength=2 * n_tests)
    total: Floats = np.bincount(place, weights=directed.value, minlength=2 * n_tests).astype(np.float64)
    means = snap(total / np.maximum(count, 1), scale=1.0)
    return [mean if n else None for mean, n in zip(means.tolist(), count.tolist(), strict=True)]


def truncation_shift(noise_sd: float, tau: float) -> float:
    """Return how far excluding sums above ``tau`` moves the mean of one direction alone, nobody being biased.

    With P(x > y) = theta + e and P(y > x) = 1 - theta + f, where e and f are independent and normal
    with mean 0 and sd ``noise_sd``, those kept have e + f <= tau - 1. Then
    E[e | kept] = -noise_sd / root(2) · phi(k) / Phi(k), with k = (tau - 1) / (noise_sd root(2)), and so for f.
    The mean of both directions, theta + (e - f) / 2, does not move: e - f is independent of e + f.

    >>> round(truncation_shift(0.1, 1.1), 4), round(truncation_shift(0.1, 1.2), 4)
    (-0.0289, -0.0113)
    """
    check_finite("noise_sd", noise_sd, above=0)
    check_finite("tau", tau)
    bound = (tau - 1) / (noise_sd * math.sqrt(2))
    density = math.exp(-(bound**2) / 2) / math.sqrt(2 * math.pi)
    return -noise_sd / math.sqrt(2) * density / float(ndtr(bound))
