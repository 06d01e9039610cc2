"""Means with intervals over annotators and items, crossed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import bootstrap_means
from analysis.statistics import crossed_bootstrap
from analysis.statistics.coding import Floats, Ints


def crossed(table: Floats) -> tuple[Floats, list[str], Ints, Ints]:
    """Return the rows of one system's table of annotators x items."""
    who, item = (part.ravel() for part in np.indices(table.shape))
    return table.ravel(), ["s"] * table.size, who, item


def test_crossed_bootstrap_standard_error() -> None:
    """Weights w of n drawn have E[w_i w_j] = 1 - 1/n + [i = j]: the variance over all resamples in closed form."""
    table = np.random.default_rng(1).normal(size=(9, 6)) + np.arange(6)
    away = table - table.mean()
    n, m = table.shape
    rows, columns = (away.sum(axis=1) ** 2).sum(), (away.sum(axis=0) ** 2).sum()
    variance = ((1 - 1 / m) * rows + (1 - 1 / n) * columns + (away**2).sum()) / (n * m) ** 2
    (found,) = bootstrap_means(*crossed(table), rng=np.random.default_rng(2), replicates=20_000).means
    assert found.mean == pytest.approx(table.mean())
    assert found.se == pytest.approx(variance**0.5, rel=0.02)


def test_every_replicate_is_the_mean_over_rows_repeated_as_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    n = 60
    who, item, system = rng.integers(0, 5, n), rng.integers(0, 4, n), rng.integers(0, 2, n)
    system[0] = 0
    value = rng.normal(size=n)
    kept: list[Floats] = []
    monkeypatch.setattr(crossed_bootstrap, "_summary", lambda name, table, found, level: kept.append(found))
    bootstrap_means(value, system, who, item, rng=np.random.default_rng(7), replicates=100)
    drawn = np.random.default_rng(7)
    of_who, of_item = drawn.multinomial(5, np.full(5, 1 / 5), size=64), drawn.multinomial(4, np.full(4, 1 / 4), size=64)
    for replicate in range(64):
        times = of_who[replicate, who] * of_item[replicate, item]
        for number in range(2):
            rows = np.repeat(value[system == number], times[system == number])
            assert kept[number][replicate] == pytest.approx(rows.mean())


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000))
def test_neither_names_nor_the_order_of_rows_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 80
    frame = pl.DataFrame(
        {
            "value": rng.integers(1, 6, n).astype(float),
            "system": rng.choice(["x", "y", "z"], n),
            "annotator": rng.choice(list("abcdef"), n),
            "item": rng.integers(0, 9, n),
        }
    )
    turned = frame.sample(fraction=1.0, shuffle=True, seed=seed).with_columns(
        system=pl.col("system").replace({"x": "1", "y": "2", "z": "3"}),
        annotator=pl.concat_str(pl.lit("person "), "annotator"),
    )
    one, other = (
        {row.system: row for row in bootstrap_means(*made, rng=np.random.default_rng(1), replicates=100).means}
        for made in (frame.get_columns(), turned.get_columns())
    )
    for old, new in (("x", "1"), ("y", "2"), ("z", "3")):
        before, after = one[old], other[new]
        assert (before.n, before.n_items, before.reason) == (after.n, after.n_items, after.reason)
        assert after.ci_low == pytest.approx(before.ci_low)
        assert after.ci_high == pytest.approx(before.ci_high)


def test_intervals_cover_the_mean_over_all_annotators_and_items() -> None:
    """Annotators and items differ: resampling answers alone would cover about half of the time."""
    covered = alone = 0
    for run in range(150):
        rng = np.random.default_rng(run)
        table = rng.normal(0, 0.5, (20, 1)) + rng.normal(0, 0.5, (1, 25)) + rng.normal(0, 1, (20, 25))
        (found,) = bootstrap_means(*crossed(table), rng=rng, replicates=200).means
        assert found.ci_low is not None
        assert found.ci_high is not None
        covered += found.ci_low <= 0 <= found.ci_high
        alone += abs(table.mean()) <= 1.96 * table.std() / 500**0.5
    assert 0.88 <= covered / 150 <= 1
    assert alone / 150 < 0.75


def test_what_has_no_interval_says_why() -> None:
    value = [1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 5.0, 5.0]
    system = ["one", "one", "same item", "same item", "flat", "flat", "flat", "flat"]
    who, item = [0, 0, 0, 1, 0, 0, 1, 1], [0, 1, 0, 0, 0, 1, 0, 1]
    rows = bootstrap_means(value, system, who, item, rng=np.random.default_rng(1)).means
    assert [(row.mean, row.ci_low) for row in rows] == [(1.5, None), (3.5, None), (5.0, None)]
    assert [str(row.reason) for row in rows] == [
        "no interval: one annotator only",
        "no interval: one item only",
        "no interval: every replicate has the same mean",
    ]


def test_crossed_bootstrap_system_that_few_rated() -> None:
    """A system that few rated is left out of replicates and says so."""
    who, item = np.arange(30) % 10, np.arange(30) % 6
    system = ["often"] * 28 + ["rare"] * 2
    often, rare = bootstrap_means(np.arange(30.0), system, who, item, rng=np.random.default_rng(1)).means
    assert often.reason is None
    assert rare.reason is not None
    assert "replicates drew none" in str(rare.reason)


@pytest.mark.parametrize(
    ("value", "people", "said"),
    [
        ([1.0], ["a", "b"], "one length"),
        ([float("nan")], ["a"], "finite"),
        ([1.0], [None], "is missing"),
        ([], [], "1"),
    ],
)
def test_rows_that_cannot_be_used_are_refused(value: list[float], people: list[str | None], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        bootstrap_means(value, ["s"] * len(value), people, ["i"] * len(value), rng=np.random.default_rng(1))


def test_too_few_replicates_are_refused() -> None:
    with pytest.raises(ValueError, match="100 replicates"):
        bootstrap_means([1.0], ["s"], ["a"], ["i"], rng=np.random.default_rng(1), replicates=10)
