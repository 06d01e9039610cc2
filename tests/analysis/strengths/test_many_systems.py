"""Strengths of many systems from the pairs compared alone: the dense fit and its sandwich are the oracle."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ranking import agreement, differences
from analysis.statistics.coding import Floats, Ints, fold
from analysis.strengths import bias_reduced, bootstrap, estimate, fit, sparse_sandwich
from analysis.strengths.bootstrap import bootstrap_strengths
from analysis.strengths.bounds import rank_intervals
from analysis.strengths.counting import count_cells, count_pairs, count_wins
from analysis.strengths.estimate import BradleyTerry, bradley_terry
from analysis.strengths.fit import fit_bradley_terry, fit_pairs, fit_strengths
from analysis.strengths.many_systems import Differences
from analysis.strengths.sandwich import over_clusters, over_rows, over_two_clusterings
from analysis.strengths.sparse_newton import Inverse, newton_of_pairs
from analysis.strengths.sparse_sandwich import Clustering, SparseCovariance, over_both, sparse_covariance
from analysis.strengths.sweeps import levels_of
from tests.analysis.made_answers import choices, render_report, run

Rows = tuple[Ints, Ints, Floats]
K = 40


def drawn(seed: int, k: int = K, n: int = 600, *, far: float = 0.7, won: str = "whole") -> Rows:
    """Draw comparisons of strengths ``far`` apart, won as a whole, with ties or by a share."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, far, k)
    x = rng.integers(0, k, n)
    y = (x + rng.integers(1, k, n)) % k
    chance = 1 / (1 + np.exp(strength[y] - strength[x]))
    if won == "share":
        return x, y, np.round(np.clip(chance + rng.normal(0, 0.2, n), 0, 1), 2)
    first = (rng.random(n) < chance).astype(np.float64)
    return x, y, np.where(rng.random(n) < 0.2, 0.5, first) if won == "tied" else first


def joined(seed: int) -> Rows:
    """Draw two halves joined by two comparisons alone, one won each way."""
    x, y, won = drawn(seed, K // 2, 500)
    u, v, gained = drawn(seed + 1, K // 2, 500)
    half = K // 2
    return (
        np.concatenate([x, u + half, [0, 0]]),
        np.concatenate([y, v + half, [half, half]]),
        np.concatenate([won, gained, [1.0, 0.0]]),
    )


def chained(seed: int) -> Rows:
    """Compare neighbours in a row alone, where conjugate gradients take as many steps as there are systems."""
    rng = np.random.default_rng(seed)
    x = np.repeat(np.arange(399), 4)
    return x, x + 1, np.where(np.tile(np.arange(4), 399) == 0, 0.0, rng.uniform(0.4, 1, len(x)))


TABLES: Mapping[str, tuple[Callable[[int], Rows], int]] = {
    "connected": (drawn, K),
    "joined by two": (joined, K),
    "tied": (lambda seed: drawn(seed, won="tied"), K),
    "shares": (lambda seed: drawn(seed, won="share"), K),
    "sparse": (lambda seed: drawn(seed, n=90), K),
    "separable": (lambda seed: drawn(seed, n=60, far=4), K),
    "apart": (lambda seed: drawn(seed, n=25), K),
    "chain": (chained, 400),
}


def dense(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take tables of systems by systems, whatever their number."""
    for module in (fit, estimate, bootstrap):
        monkeypatch.setattr(module, "DENSE", 10**6)


def sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take pairs alone, whatever the number of systems."""
    for module in (fit, estimate, bootstrap):
        monkeypatch.setattr(module, "DENSE", 0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", TABLES)
def test_fit_of_pairs_is_the_dense_fit(monkeypatch: pytest.MonkeyPatch, name: str, weighted: bool) -> None:
    make, k = TABLES[name]
    x, y, won = make(1)
    weights = np.random.default_rng(2).uniform(0.5, 3, len(x)) if weighted else None
    names = [f"s{number}" for number in range(k)]
    dense(monkeypatch)
    expected = fit_strengths(count_wins(x, y, won, k, weights).wins, names)
    found = fit_pairs(count_pairs(x, y, won, k, weights), names)
    assert found.strength == pytest.approx(expected.strength, abs=1e-8, nan_ok=True)
    assert [*map(str, found.reasons)] == [*map(str, expected.reasons)]
    assert np.isfinite(found.strength).any() == (name not in ("apart", "separable"))


def test_fit_of_pairs_is_that_of_choix() -> None:
    import choix

    x, y, won = drawn(3)
    counts = count_pairs(x, y, won, K)
    table = counts.wins.toarray()
    assert newton_of_pairs(counts) == pytest.approx(choix.ilsr_pairwise_dense(table, tol=1e-13), abs=1e-8)


@pytest.mark.parametrize("form", ["array", "sparse array"])
def test_public_fit_of_many_systems(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    from scipy.sparse import csr_array

    x, y, won = drawn(4, 320, 4000)
    wins = count_wins(x, y, won, 320).wins
    names = [f"s{number}" for number in range(320)]
    found = fit_bradley_terry(wins if form == "array" else csr_array(wins), names)
    dense(monkeypatch)
    expected = fit_strengths(wins, names)
    assert np.isfinite(found.strength).sum() > 300
    assert found.strength == pytest.approx(expected.strength, abs=1e-8, nan_ok=True)


def test_sparse_wins_are_checked() -> None:
    from scipy.sparse import csr_array

    names = [f"s{number}" for number in range(320)]
    wins = csr_array(np.eye(320, k=1))
    with pytest.raises(ValueError, match="wins must be 320 x 320, one row a system, got shape"):
        fit_bradley_terry(wins[:2, :2], names)
    with pytest.raises(ValueError, match="wins must be finite and at least 0"):
        fit_bradley_terry(-wins, names)


def test_reason_of_many_parts_names_few() -> None:
    x = np.arange(0, 800, 2)
    found = fit_pairs(
        count_pairs(np.tile(x, 2), np.tile(x + 1, 2), np.repeat([0.0, 1.0], 400), 800), [*map(str, range(800))]
    )
    assert not np.isfinite(found.strength).any()
    assert str(found.reasons[0]) == (
        "the comparisons fall apart into systems never compared with one another: 0, 1 | 10, 11 | 100, 101 | "
        "397 more parts"
    )


def clusterings(seed: int, n: int, *, heavy: int = 0) -> tuple[Ints, Ints]:
    rng = np.random.default_rng(seed)
    annotator, item = rng.integers(0, 12, n), rng.integers(0, 150, n)
    annotator[:heavy] = 0
    return annotator, item


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("heavy", [0, 300])
def test_adjusted_covariance_is_cr2(monkeypatch: pytest.MonkeyPatch, heavy: int, weighted: bool) -> None:
    """Variances and covariances are the dense ones; degrees of freedom lie within some percent of all products'."""
    monkeypatch.setattr(sparse_sandwich, "MUCH", 0.0)
    monkeypatch.setattr(bias_reduced, "WORK", 1e13)
    x, y, won = drawn(5)
    each = np.random.default_rng(1).uniform(0.5, 3, 12) if weighted else None
    for of in clusterings(6, len(x), heavy=heavy):
        per = None if each is None else each[of % 12]
        pairs, wins = count_pairs(x, y, won, K, per), count_wins(x, y, won, K, per)
        strength = newton_of_pairs(pairs)
        cells = count_cells(x, y, won, K, of, per)
        weight = None if per is None else per[fold(of).first]
        expected = over_clusters(cells, wins, strength, weight=weight)
        found = sparse_covariance(pairs, strength, [Clustering(cells=cells, weight=weight)])
        assert found.adjusted
        assert found.variance == pytest.approx(np.diagonal(expected.matrix), rel=1e-8)
        assert found.columns(np.array([3, 7])) == pytest.approx(expected.matrix[:, [3, 7]], abs=1e-9)
        assert found.df == pytest.approx(expected.df, rel=0.15)
        assert np.median(found.df / expected.df) == pytest.approx(1, abs=0.06)


def test_covariance_without_much_leverage_is_cr1(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a heavy cluster: G / (G - 1) and G - 1 degrees of freedom; over rows HC0."""
    monkeypatch.setattr(sparse_sandwich, "MUCH", 1.0)
    x, y, won = drawn(7)
    annotator, item = clusterings(8, len(x))
    pairs, wins = count_pairs(x, y, won, K), count_wins(x, y, won, K)
    strength = newton_of_pairs(pairs)
    rows = over_rows(wins, strength)
    found = sparse_covariance(pairs, strength, [])
    assert found.variance == pytest.approx(np.diagonal(rows.matrix), rel=1e-8)
    assert found.columns(np.arange(3)) == pytest.approx(rows.matrix[:, :3], abs=1e-10)
    inverse = np.linalg.pinv(_information(pairs.x, pairs.y, pairs.played, strength))
    residual = won - 1 / (1 + np.exp(strength[y] - strength[x]))
    for of in (annotator, item):
        scores = np.zeros((of.max() + 1, K))
        np.add.at(scores, (of, x), residual)
        np.add.at(scores, (of, y), -residual)
        n = len(np.unique(of))
        expected = n / (n - 1) * inverse @ scores.T @ scores @ inverse
        found = sparse_covariance(pairs, strength, [Clustering(cells=count_cells(x, y, won, K, of))])
        assert not found.adjusted
        assert set(found.df) == {n - 1.0}
        assert found.variance == pytest.approx(np.diagonal(expected), rel=1e-8)
        assert found.columns(np.array([5])) == pytest.approx(expected[:, [5]], abs=1e-10)


def _information(x: Ints, y: Ints, played: Floats, strength: Floats) -> Floats:
    share = 1 / (1 + np.exp(strength[y] - strength[x]))
    design = np.zeros((len(x), len(strength)))
    design[np.arange(len(x)), x], design[np.arange(len(x)), y] = 1.0, -1.0
    table: Floats = design.T @ ((played * share * (1 - share))[:, None] * design)
    return table


def test_two_way_variance_is_the_sum_less_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the dense covariance needed no mending, it is the same; a first sandwich that is known gives it too."""
    monkeypatch.setattr(sparse_sandwich, "MUCH", 0.0)
    x, y, won = drawn(9, 6, 900)
    annotator, item = np.random.default_rng(3).integers(0, 30, (2, 900))
    pairs, wins = count_pairs(x, y, won, 6), count_wins(x, y, won, 6)
    strength = newton_of_pairs(pairs)
    one, two, both = (count_cells(x, y, won, 6, of) for of in (annotator, item, fold(annotator, item).of))
    expected = over_two_clusterings(one, two, both, wins, strength)
    assert not expected.mended
    ways = [Clustering(cells=one), Clustering(cells=two)]
    found = sparse_covariance(pairs, strength, ways, both)
    first = sparse_covariance(pairs, strength, ways[:1])
    for made in (found, over_both(first, pairs, strength, ways[1], both)):
        assert made.variance == pytest.approx(np.diagonal(expected.matrix), rel=1e-8)
        assert made.n_clusters == 30


def test_leverage_of_one_cluster_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster with more than a third of a system's leverage has residuals adjusted; beyond the work, df by shares."""
    x, y, won = drawn(10, K, 4000)
    annotator = np.random.default_rng(4).integers(0, 40, len(x))
    pairs = count_pairs(x, y, won, K)
    strength = newton_of_pairs(pairs)

    def made(of: Ints) -> SparseCovariance:
        return sparse_covariance(pairs, strength, [Clustering(cells=count_cells(x, y, won, K, of))])

    assert not made(annotator).adjusted
    heavy = np.where((x == 0) | (y == 0), 0, annotator)
    assert made(heavy).adjusted
    assert made(heavy).df[0] < 3
    monkeypatch.setattr(sparse_sandwich, "CELLS_WORK", 0.0)
    beyond = made(heavy)
    assert not beyond.adjusted
    assert beyond.df[0] < 3
    assert beyond.df[1:].min() > 20


def test_system_of_one_cluster_has_no_interval() -> None:
    """Nobody else judged it: no interval; the other systems keep theirs."""
    x, y, won = drawn(11, 330, 9_000)
    annotator = np.random.default_rng(5).integers(0, 30, len(x))
    annotator[(x == 7) | (y == 7)] = 3
    found = bradley_terry(x, y, won, systems=[*map(str, range(330))], clusters={"annotator": annotator}, least_df=4.0)
    assert np.flatnonzero(~np.isfinite(found.ci_low)).tolist() == [7]
    assert str(found.no_interval) == ("an interval would rest on fewer than 4 degrees of freedom: too few annotators")
    assert found.interval == "clustered by annotator (CR2)"


def both_ways(monkeypatch: pytest.MonkeyPatch, **given: Any) -> tuple[BradleyTerry, BradleyTerry]:
    """Estimate by pairs alone and by tables of systems by systems."""
    sparse(monkeypatch)
    monkeypatch.setattr(sparse_sandwich, "MUCH", 0.0)
    found = bradley_terry(**given)
    dense(monkeypatch)
    return found, bradley_terry(**given)


@pytest.mark.parametrize("clustered", [False, True])
def test_estimates_of_pairs_are_the_dense_ones(monkeypatch: pytest.MonkeyPatch, clustered: bool) -> None:
    x, y, won = drawn(12, n=300, won="tied")
    annotator, _ = clusterings(13, len(x))
    given: dict[str, Any] = {"clusters": {"annotator": annotator}} if clustered else {}
    found, expected = both_ways(
        monkeypatch, system_x=x, system_y=y, won=won, systems=[*map(str, range(K))], weights=1 + annotator % 2, **given
    )
    assert found.strength == pytest.approx(expected.strength, abs=1e-8, nan_ok=True)
    assert found.se == pytest.approx(expected.se, rel=1e-7, nan_ok=True)
    assert found.order == expected.order
    assert (found.interval, found.n_clusters) == (expected.interval, expected.n_clusters)
    if not clustered:
        assert found.ci_low == pytest.approx(expected.ci_low, abs=1e-8, nan_ok=True)
        assert found.rank_low.tolist() == expected.rank_low.tolist()
        assert found.rank_high.tolist() == expected.rank_high.tolist()
        assert found.p_difference(2, 9) == pytest.approx(expected.p_difference(2, 9), rel=1e-6)


def test_uneven_annotators_count_alike_where_most_have_few_df(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, won = drawn(14)
    annotator, _ = clusterings(15, len(x), heavy=420)
    found, expected = both_ways(
        monkeypatch,
        system_x=x,
        system_y=y,
        won=won,
        systems=[*map(str, range(K))],
        clusters={"annotator": annotator},
        least_df=4.0,
    )
    assert (found.alike, expected.alike) == ("annotator", "annotator")
    assert found.strength == pytest.approx(expected.strength, abs=1e-8)
    both = np.isfinite(found.se) & np.isfinite(expected.se)
    assert both.sum() > K / 2
    assert found.se[both] == pytest.approx(expected.se[both], rel=1e-6)


def test_ranks_and_p_values_of_differences() -> None:
    """One degree of freedom for all: ranks and p-values are those of Šidák's bound over the whole covariance."""
    x, y, won = drawn(16, far=1.5, n=1500)
    annotator = np.random.default_rng(6).integers(0, 40, len(x))
    pairs = count_pairs(x, y, won, K)
    strength = newton_of_pairs(pairs)
    covariance = sparse_covariance(pairs, strength, [Clustering(cells=count_cells(x, y, won, K, annotator))])
    assert set(covariance.df) == {39.0}
    expected = rank_intervals(strength, covariance.columns(np.arange(K)), df=39.0, confidence=0.95, rng=None)
    found = Differences(strength=strength, covariance=covariance, least_df=4.0)
    assert found.ranks(0.95).tolist() == [expected.low.tolist(), expected.high.tolist()]
    assert expected.low.max() > 1
    assert found.method == expected.method
    for one, two in ((0, 1), (5, 30), (30, 5)):
        assert found.p_value(one, two) == pytest.approx(expected.p_values[one, two], rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(8)), st.lists(st.booleans(), min_size=80, max_size=80), st.integers(0, 10**6))
def test_names_order_and_sides_change_nothing(order: list[int], turned: list[bool], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 8, 80)
    y = (x + rng.integers(1, 8, 80)) % 8
    won, annotator = rng.choice([0.0, 0.5, 1.0], 80), rng.integers(0, 9, 80)
    swap, rows, place = np.array(turned), rng.permutation(80), np.array(order)
    with pytest.MonkeyPatch.context() as monkeypatch:
        sparse(monkeypatch)
        one = bradley_terry(x, y, won, systems=[*"abcdefgh"], clusters={"annotator": annotator})
        two = bradley_terry(
            place[np.where(swap, y, x)][rows],
            place[np.where(swap, x, y)][rows],
            np.where(swap, 1 - won, won)[rows],
            systems=[*"abcdefgh"],
            clusters={"annotator": annotator[rows]},
        )
    for name in ("strength", "se", "df", "ci_low", "ci_high"):
        assert getattr(two, name)[place] == pytest.approx(getattr(one, name), rel=1e-6, abs=1e-8, nan_ok=True)
    assert two.rank_low[place].tolist() == one.rank_low.tolist()


def test_no_table_of_systems_by_systems() -> None:
    k = 1500
    x, y, won = drawn(17, k, 9000)
    annotator = np.random.default_rng(7).integers(0, 60, len(x))
    systems = [*map(str, range(k))]
    bradley_terry(x, y, won, systems=systems, clusters={"annotator": annotator})  # loads what is loaded once
    tracemalloc.start()
    found = bradley_terry(x, y, won, systems=systems, clusters={"annotator": annotator}, least_df=4.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(found.ci_low).sum() > 1000
    assert peak < 3 * 8 * k**2  # squared pairs of annotators, mostly; a step of the dense fit alone takes 8 tables


def reached(wins: Floats) -> npt.NDArray[np.bool_]:
    """Say for every two systems whether wins lead from one to the other."""
    found = (wins > 0) | np.eye(len(wins), dtype=bool)
    for _ in range(len(wins)):
        found |= (found.astype(int) @ found.astype(int)) > 0
    return found


@settings(max_examples=150, deadline=None)
@given(st.integers(2, 9), st.floats(0.05, 0.5), st.integers(0, 10**6))
def test_levels_are_those_of_reachability(k: int, share: float, seed: int) -> None:
    """A system has a place where it is above or below every other that was compared, by steps of wins."""
    rng = np.random.default_rng(seed)
    wins = (rng.random((k, k)) < share).astype(float)
    if seed % 2:
        wins = np.triu(wins)  # mostly one above the other
    np.fill_diagonal(wins, 0.0)
    found, paths = levels_of(wins), reached(wins)
    compared = (wins + wins.T).any(axis=1)
    known = (paths | paths.T | ~compared).all(axis=1) & compared
    assert (found.level > 0).tolist() == known.tolist()
    for one in np.flatnonzero(known).tolist():
        for two in np.flatnonzero(known).tolist():
            above = paths[one, two] and not paths[two, one]
            assert (found.level[one] < found.level[two]) == above


@pytest.mark.parametrize("by", ["rows", "annotator"])
def test_bootstrap_of_pairs_is_the_dense_one(monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    x, y, won = drawn(18, 12, 500)
    annotator = np.random.default_rng(8).integers(0, 15, len(x)) if by == "annotator" else None
    made = []
    for way in (sparse, dense):
        way(monkeypatch)
        rng = np.random.default_rng(9)
        made.append(bootstrap_strengths(x, y, won, 12, rng=rng, annotator=annotator, n_replicates=70))
    assert made[0].degenerate == made[1].degenerate
    assert made[0].strength == pytest.approx(made[1].strength, abs=1e-6)


def test_intervals_of_tau_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(10)
    systems = tuple(f"s{number}" for number in range(9))
    made: dict[str, Any] = {"criterion": "overall", "unit": "annotator", "group": "human"}
    names = tuple(f"p{number:02}" for number in range(40))
    sums = [
        agreement.ReplicateSums(
            source=source,
            systems=systems[first:],
            names=names,
            sums=rng.normal(size=(9 - first, 40)) + np.arange(9 - first)[:, None] / 4,
            counts=np.ones((9 - first, 40)),
            **made,
        )
        for source, first in (("ratings", 0), ("choices", 1), ("preferences", 0))
    ]
    rankings = [
        agreement.Ranking(
            source=own.source,
            group="human",
            criterion="overall",
            order=tuple((own.systems[place],) for place in np.argsort(-own.sums.mean(axis=1))),
        )
        for own in sums
    ]
    whole = agreement.agreement_of_rankings(rankings, sums)
    monkeypatch.setattr(agreement, "HELD", 15_000)  # five pairs of systems at a time
    assert agreement.agreement_of_rankings(rankings, sums) == whole
    assert all(row.ci_low is not None for row in whole)


def test_inverse_of_a_graph_is_the_pseudo_inverse() -> None:
    x, y, _ = drawn(19, n=120)
    weight = np.random.default_rng(11).uniform(0.01, 2, len(x))
    table = np.zeros((K, K))
    np.add.at(table, (x, y), -weight)
    table += table.T
    np.fill_diagonal(table, -table.sum(axis=1))
    assert Inverse(x, y, weight, K)(np.eye(K)) == pytest.approx(np.linalg.pinv(table), abs=1e-8)


def test_few_pairs_of_many_systems_are_reported() -> None:
    """Pairs compared once have no row; one line says how many; who is first and the parts come from all comparisons."""
    rng = np.random.default_rng(12)
    strength = rng.normal(0, 1, 320)
    rows = []
    for number in range(4000):
        one, two = rng.choice(320, 2, replace=False)
        better = "x" if rng.random() < 1 / (1 + np.exp(strength[two] - strength[one])) else "y"
        rows.append((f"a{number % 30}", f"i{number}", f"s{one:03}", f"s{two:03}", better))
    times: dict[frozenset[str], int] = {}
    for row in rows:
        times[frozenset(row[2:4])] = times.get(frozenset(row[2:4]), 0) + 1
    once = sum(count == 1 for count in times.values())
    results = run(choices=choices(rows))
    assert len(results["choices"]["pairs"]) == len(times) - once
    assert {row["n_answers"] for row in results["choices"]["pairs"]} <= {2, 3, 4}
    left = [text for text in results["warnings"] if "compared once" in text]
    assert left == [
        f"human: overall: {once:,} pairs of systems compared once and so without a test, left out of the tests of "
        "pairs; strengths and ranks are from all comparisons."
    ]
    assert len(results["bradley_terry"]) == 320
    assert sum(row["ci_low"] is not None for row in results["bradley_terry"]) > 250
    report = render_report(results)["report.md"]
    assert "fall into" not in report
    assert "compared once" in report


def test_differences_of_many_are_of_pairs_with_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of people's ranking and a model's; few systems have all pairs, many those that somebody compared."""
    asked = [("p", "q"), ("q", "r"), ("r", "s"), ("p", "s")]
    rows = [
        (who, f"i{one}{two}{item}", one, two, "x" if (item < 3) == (who != "gpt") else "y")
        for who in [*(f"a{n}" for n in range(12)), "gpt"]
        for one, two in asked
        for item in range(4)
    ]
    all_pairs = run(choices=choices(rows), llms=("gpt",))["ranking_differences"]
    monkeypatch.setattr(differences, "DENSE", 0)
    tested = run(choices=choices(rows), llms=("gpt",))["ranking_differences"]
    assert tested == [row for row in all_pairs if tuple(sorted((row["system_x"], row["system_y"]))) in asked]
    assert (len(tested), len(all_pairs)) == (4, 6)
