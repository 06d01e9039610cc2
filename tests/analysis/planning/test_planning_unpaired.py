"""Power of ratings where nothing pairs: the report's own test, studies drawn score by score, few items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis.planning.assumptions import assumed
from analysis.planning.plan import annotators_for, detectable
from analysis.planning.unpaired import (
    OwnItems,
    UnpairedTest,
    deal_hands,
    deal_items,
    draw_scores,
    draw_sums,
    score_sums,
    standard_errors,
    unpaired_test,
)
from analysis.planning.variance import Components
from analysis.statistics.clustered_difference import SystemClusters, clustered_t

PARTS = Components(annotator_sd=0.5, item_sd=0.8, residual_sd=1.25)
FEW, ONE, MANY = (
    OwnItems(n_items=8, dealt=32, pool=36),
    OwnItems(n_items=1, dealt=4, pool=100),
    OwnItems(n_items=2, dealt=8, pool=1000),
)


def planned(items: OwnItems) -> UnpairedTest:
    return unpaired_test(PARTS, items, 0.1)


@pytest.mark.parametrize("items", [FEW, ONE, MANY])
def test_standard_errors_are_those_of_the_test_of_the_report(items: OwnItems) -> None:
    rng = np.random.default_rng(1)
    (rated,) = deal_items(items, 24, layouts=1, exclusion_rate=0.1, rng=rng)
    scores = draw_scores(PARTS, *rated, items.pool, runs=5, rng=rng)
    errors, df = standard_errors(score_sums(*scores, *rated, items.pool), *rated, items.pool)
    n, k = rated[0].shape
    system, annotator = np.repeat([0, 1], n * k), np.tile(np.repeat(np.arange(n), k), 2)
    item = np.concatenate([rated[0].ravel(), rated[1].ravel()])
    for x, y, error, freedom in zip(*scores, errors, df, strict=True):
        value = np.concatenate([x.ravel(), y.ravel()])
        sums = SystemClusters(system, value, annotator, item, scale=5.0)
        test = clustered_t(sums[0], sums[1], confidence=0.95).test
        assert test.t is not None
        assert (x.mean() - y.mean()) / test.t == pytest.approx(error, rel=1e-8)
        assert test.df == pytest.approx(freedom, rel=1e-9)


def test_sums_are_drawn_as_if_scores_were() -> None:
    """Standard errors and df of one dealing; those of annotators are drawn apart, so that df vary a little more."""
    rng, items = np.random.default_rng(2), replace(FEW, pool=32)
    (rated,) = deal_items(items, 30, layouts=1, exclusion_rate=0.1, rng=rng)
    scores = draw_scores(PARTS, *rated, items.pool, runs=2000, rng=rng)
    errors, df = standard_errors(score_sums(*scores, *rated, items.pool), *rated, items.pool)
    drawn, drawn_df = standard_errors(draw_sums(PARTS, *rated, items.pool, runs=20_000, rng=rng), *rated, items.pool)
    within = 4 * errors.std() / np.sqrt(len(errors))
    assert drawn.mean() == pytest.approx(errors.mean(), abs=within)
    assert drawn.std() == pytest.approx(errors.std(), abs=within)
    assert drawn_df.mean() == pytest.approx(df.mean(), rel=0.01)
    assert drawn_df.std() == pytest.approx(df.std(), rel=0.15)


@pytest.mark.parametrize(("items", "difference"), [(FEW, 0.8), (MANY, 0.8)])
def test_the_number_needed_is_the_smallest(items: OwnItems, difference: float) -> None:
    test, design = planned(items), assumed("likert", n_items=items.n_items, own_items=items)
    need = annotators_for(design, difference, 0.8, 0.05)
    assert need.annotators is not None
    assert need.reached == test.power(need.annotators, difference, 0.05) >= 0.8
    assert test.power(need.annotators - 1, difference, 0.05) < 0.8
    counts = [test.power(count, difference, 0.05) for count in range(2, 40, 2)]
    assert counts == sorted(counts)


def test_more_annotators_do_not_make_up_for_few_items() -> None:
    need = annotators_for(assumed("likert", n_items=8, own_items=FEW), 0.3, 0.8, 0.05)
    assert need.annotators is None
    assert need.reason == "more than 5,000 annotators, or more items than the study's 36"


def test_detectable_difference_has_the_power() -> None:
    design = assumed("likert", n_items=8, own_items=FEW, pool=36)
    found = detectable(design, 24, 0.8)
    assert found.difference is not None
    assert planned(FEW).power(24, found.difference, 0.05) == pytest.approx(0.8, abs=1e-4)
    assert detectable(design, 2, 0.9).difference is None


@given(pool=st.integers(1, 9), dealt=st.integers(1, 9), hands=st.integers(1, 12), seed=st.integers(0, 99))
def test_hands_are_dealt_as_assignments_are(pool: int, dealt: int, hands: int, seed: int) -> None:
    assume(dealt <= pool)
    found = deal_hands(pool, dealt, hands, layouts=3, rng=np.random.default_rng(seed))
    assert found.shape == (3, hands, dealt)
    for layout in found:
        assert all(len(set(hand)) == dealt for hand in layout.tolist())
        for last in range(1, hands + 1):
            assert np.ptp(np.bincount(layout[:last].ravel(), minlength=pool)) <= 1


def test_systems_take_turns_at_the_cards_of_a_hand() -> None:
    """83.3% of 5,000 studies with the assignments of a study; x had the first cards, left of the former deck: 80.3."""
    assert planned(FEW).power(22, 0.8, 0.05 / 6) == pytest.approx(0.833, abs=0.015)
