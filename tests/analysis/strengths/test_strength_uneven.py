"""The published simulation of uneven annotators: its intervals are the report's, and some designs again."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.orders.plackett_luce import plackett_luce
from analysis.statistics.coding import Floats, Ints
from analysis.strengths import bradley_terry
from analysis.strengths.bounds import LEAST_DF
from tests.calibration.uneven import Design, Intervals, Studies, designs, draw, intervals, simulate

SYSTEMS = ("a", "b", "c", "d")
UNEVEN = (40, 9, 8, 7, 12, 10)


def one_study(studies: Studies, number: int) -> tuple[Ints, Ints]:
    """Return annotator and outcome of every answer."""
    who, outcome = np.nonzero(studies.counts[number])
    times = studies.counts[number][who, outcome].astype(int)
    return np.repeat(who, times), np.repeat(outcome, times)


def same(found: Intervals, number: int, strength: Floats, low: Floats, high: Floats, df: Floats) -> None:
    assert found.strength[number] == pytest.approx(strength, abs=1e-7)
    assert found.low[number] == pytest.approx(low, abs=1e-7, nan_ok=True)
    assert found.high[number] == pytest.approx(high, abs=1e-7, nan_ok=True)
    bounded = np.isfinite(df)
    assert found.df[number][bounded] == pytest.approx(df[bounded], abs=1e-6)


@pytest.mark.parametrize("systems", [2, 3, 4])
@pytest.mark.parametrize("answers", [UNEVEN, (12,) * 6])
def test_many_studies_at_once_are_bounded_as_each_alone(systems: int, answers: tuple[int, ...]) -> None:
    studies = draw(Design(answers=answers, systems=systems, items=0.5), 12, np.random.default_rng(3))
    found = intervals(studies, np.random.default_rng(4))
    pairs = np.array([np.flatnonzero(member) for member in studies.member])
    for number in range(12):
        if not np.isfinite(found.strength[number]).all():
            continue
        who, outcome = one_study(studies, number)
        x, y = pairs[outcome // 2].T
        alone = bradley_terry(
            x,
            y,
            1.0 - outcome % 2,
            systems=SYSTEMS[:systems],
            clusters={"annotator": who},
            least_df=LEAST_DF,
            rng=np.random.default_rng(0),
        )
        same(found, number, alone.strength, alone.ci_low, alone.ci_high, alone.df)
        assert (alone.alike is not None) == bool(found.alike[number])
        assert alone.p_differences is not None
        p = alone.p_differences[~np.eye(systems, dtype=bool)]
        least = 1.0 if np.isnan(p).all() else float(np.nanmin(p))
        assert found.p[number] == pytest.approx(least, abs=4 * (least * (1 - least) / 1000) ** 0.5 + 0.003)


@pytest.mark.parametrize("tied", [False, True])
def test_uneven_orders_bounded_as_each_alone(tied: bool) -> None:
    """Orders of many studies at once are bounded as each alone."""
    rng = np.random.default_rng(5)
    ranks_of = np.argsort(np.argsort(rng.random((12, 60, 3)), axis=2), axis=2) + 1.0
    if tied:
        ranks_of = np.minimum(ranks_of, 2)
    who = np.repeat(np.arange(6), (30, 6, 6, 6, 6, 6))
    codes, outcome = np.unique(ranks_of.reshape(-1, 3), axis=0, return_inverse=True)
    counts = np.zeros((12, 6, len(codes)))
    np.add.at(counts, (np.repeat(np.arange(12), 60), np.tile(who, 12), outcome.reshape(-1)), 1)
    studies = Studies.of_orders(Design(answers=(30, 6, 6, 6, 6, 6), systems=3, orders=True), counts, codes)
    found = intervals(studies, rng)
    for number in range(12):
        alone = plackett_luce(ranks_of[number], systems=SYSTEMS[:3], cluster=who, rng=rng)
        same(found, number, alone.strength, alone.ci_low, alone.ci_high, alone.df)
        assert alone.alike == bool(found.alike[number])


@pytest.mark.parametrize("design", [one for one in designs() if one.quick], ids=lambda one: f"{one.name} {one.spread}")
def test_designs_that_were_found_wanting_hold_what_is_promised(design: Design) -> None:
    found = simulate(design, 1000, seed=2)
    assert found.kept
    assert found.covered_cr1 < 0.93
