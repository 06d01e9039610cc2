"""Intervals and ranks of strengths: hand-worked and published values, statsmodels, properties, corners."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, studentized_range, t

from analysis import bradley_terry
from analysis.statistics.coding import Floats
from analysis.strengths.bounds import rank_intervals
from analysis.strengths.counting import count_cells, count_wins
from analysis.strengths.fit import fit_bradley_terry
from analysis.strengths.sandwich import bread
from tests.analysis.baseball import PUBLISHED_SE, TEAMS, WINS

K = 6
SYSTEMS = list("abcdef")


def fractional(seed: int, n: int = 400) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    """Draw preferences, annotators, items and whole weights."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, K, n)
    return {
        "x": x,
        "y": (x + rng.integers(1, K, n)) % K,
        "won": rng.beta(2, 2, n),
        "annotator": rng.integers(0, 23, n),
        "item": rng.integers(0, 17, n),
        "weights": rng.integers(1, 4, n),
    }


def by_glm(x: Floats, y: Floats, won: Floats, **settings: object) -> tuple[Floats, Floats]:
    """Fit a logit GLM on one row a comparison; strengths and covariance turned to mean zero."""
    design = np.zeros((len(x), K))
    design[np.arange(len(x)), x] += 1
    design[np.arange(len(x)), y] -= 1
    fit = sm.GLM(won, design[:, 1:], family=sm.families.Binomial()).fit(tol=1e-14, **settings)
    covariance = np.zeros((K, K))
    covariance[1:, 1:] = fit.cov_params()
    centre = np.eye(K) - 1 / K
    return centre @ np.r_[0, fit.params], centre @ covariance @ centre


def test_two_systems_by_hand() -> None:
    """15 wins of 20: log odds ln 3, variance 1/15 + 1/5; a strength is half of the difference."""
    found = bradley_terry(["a"] * 20, ["b"] * 20, [1] * 15 + [0] * 5)
    se = math.sqrt(1 / 15 + 1 / 5)
    assert found.strength.tolist() == pytest.approx([math.log(3) / 2, -math.log(3) / 2], abs=1e-12)
    assert found.se.tolist() == pytest.approx([se / 2, se / 2], abs=1e-12)
    assert found.ci_low[0] == pytest.approx(math.log(3) / 2 - norm.ppf(0.975) * se / 2, abs=1e-12)
    assert found.interval == "over rows"


def test_two_systems_clustered_by_hand() -> None:
    """Means .75 of annotators .9 .7 .6 .8: SE of the mean by t(3), carried over by the slope 1 / (p (1 - p))."""
    shares = np.array([0.9, 0.7, 0.6, 0.8])
    found = bradley_terry(["a"] * 4, ["b"] * 4, shares, clusters={"annotator": ["p", "q", "r", "s"]})
    se = shares.std(ddof=1) / 2 / (0.75 * 0.25)
    assert found.se[0] == pytest.approx(se / 2, abs=1e-12)
    assert found.ci_high[0] == pytest.approx(math.log(3) / 2 + t.ppf(0.975, 3) * se / 2, abs=1e-12)
    assert (found.interval, found.n_clusters) == ("clustered by annotator (CR2)", 4)
    assert found.df.tolist() == pytest.approx([3.0, 3.0])


def test_model_based_errors_of_the_baseball_league() -> None:
    strength = fit_bradley_terry(WINS, TEAMS).strength
    covariance = bread(WINS + WINS.T, strength)
    last = covariance[-1, -1]
    se = [math.sqrt(covariance[team, team] + last - 2 * covariance[team, -1]) for team in range(6)]
    assert se == pytest.approx(PUBLISHED_SE, abs=6e-5)
    assert np.abs(covariance.sum(axis=0)).max() < 1e-12


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_sandwich_is_that_of_a_generalized_linear_model(seed: int) -> None:
    rows = fractional(seed)
    x, y, won = rows["x"], rows["y"], rows["won"]
    strength, covariance = by_glm(x, y, won, cov_type="HC0")
    found = bradley_terry(x, y, won, systems=SYSTEMS)
    assert found.covariance is not None
    assert np.abs(found.strength - strength).max() < 1e-8
    assert np.abs(found.covariance - covariance).max() < 1e-8 * covariance.max()


def test_weights_are_rows_that_occur_several_times() -> None:
    rows = fractional(4)
    times = rows["weights"]
    _, covariance = by_glm(*(np.repeat(rows[name], times) for name in ("x", "y", "won")), cov_type="HC0")
    found = bradley_terry(rows["x"], rows["y"], rows["won"], systems=SYSTEMS, weights=times)
    assert found.covariance is not None
    assert np.abs(found.covariance - covariance).max() < 1e-8 * covariance.max()


def test_two_clusterings_add_up_less_what_they_share() -> None:
    rows = fractional(6)
    both = rows["annotator"] * 100 + rows["item"]
    n = len(np.unique(both))
    kwds = {"groups": both, "use_correction": False}
    shared = by_glm(rows["x"], rows["y"], rows["won"], cov_type="cluster", cov_kwds=kwds)[1] * n / (n - 1)
    clusters = {"annotator": rows["annotator"], "item": rows["item"]}
    first, second, found = (
        bradley_terry(rows["x"], rows["y"], rows["won"], systems=SYSTEMS, clusters=own)
        for own in ({"annotator": rows["annotator"]}, {"item": rows["item"]}, clusters)
    )
    assert found.covariance is not None
    assert np.abs(found.covariance - (first.covariance + second.covariance - shared)).max() < 1e-8 * shared.max()
    assert found.df.tolist() == np.minimum(first.df, second.df).tolist()
    assert found.interval == "clustered by annotator and item (CR2)"


def test_two_way_covariance_made_positive() -> None:
    """A two way covariance that is not positive is mended and said."""
    found = []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 3, 24)
        y = (x + rng.integers(1, 3, 24)) % 3
        clusters = {"annotator": rng.integers(0, 6, 24), "item": rng.integers(0, 6, 24)}
        found.append(bradley_terry(x, y, rng.uniform(0.1, 0.9, 24), systems=["a", "b", "c"], clusters=clusters))
    mended = [one for one in found if any("not positive" in line for line in one.warnings)]
    assert 0 < len(mended) < len(found)
    assert all(np.linalg.eigvalsh(one.covariance)[0] > -1e-12 for one in mended)


def test_strengths_cancelling_residuals() -> None:
    """Residuals that cancel in both clusterings leave no interval."""
    won = np.array([0.9, 0.1, 0.1, 0.9])
    clusters = {"annotator": [0, 0, 1, 1], "item": [0, 1, 0, 1]}
    found = bradley_terry(["a"] * 4, ["b"] * 4, won, clusters=clusters)
    assert found.interval is None
    assert found.no_interval is not None


def test_one_cluster_for_each_row_is_near_the_sandwich_over_rows() -> None:
    """Each row's leverage, 5 / 400 on average, is taken out of its residual."""
    rows = fractional(7)
    n = len(rows["x"])
    plain = bradley_terry(rows["x"], rows["y"], rows["won"], systems=SYSTEMS)
    own = bradley_terry(rows["x"], rows["y"], rows["won"], systems=SYSTEMS, clusters={"row": np.arange(n)})
    assert (own.se / plain.se).tolist() == pytest.approx([math.sqrt(n / (n - 5))] * K, rel=2e-3)


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(K)), st.integers(0, 50), st.sampled_from([(), ("annotator",), ("annotator", "item")]))
def test_relabelling_permutes_everything(order: list[int], seed: int, by: tuple[str, ...]) -> None:
    rows = fractional(seed)
    clusters = {name: rows[name] for name in by}
    place = np.array(order)
    plain, moved = (
        bradley_terry(x, y, rows["won"], systems=SYSTEMS, clusters=clusters, rng=np.random.default_rng(1))
        for x, y in ((rows["x"], rows["y"]), (place[rows["x"]], place[rows["y"]]))
    )
    for name in ("strength", "se", "ci_low", "ci_high", "rank_low", "rank_high"):
        assert getattr(moved, name)[place].tolist() == pytest.approx(getattr(plain, name).tolist(), abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 50), st.randoms(use_true_random=False))
def test_strengths_mirror_under_swaps(seed: int, random: object) -> None:
    """Swapping pairs and the order of rows change nothing and losses mirror."""
    rows = fractional(seed)
    shuffled = np.random.default_rng(seed).permutation(len(rows["x"]))
    swap = np.arange(len(shuffled)) % 2 == 0
    x, y, won, annotator = (rows[name][shuffled] for name in ("x", "y", "won", "annotator"))
    names = np.array([f"p{number * 7 % 23}" for number in annotator])
    plain = bradley_terry(
        rows["x"],
        rows["y"],
        rows["won"],
        systems=SYSTEMS,
        clusters={"a": rows["annotator"]},
        rng=np.random.default_rng(1),
    )
    same = bradley_terry(
        np.where(swap, y, x),
        np.where(swap, x, y),
        np.where(swap, 1 - won, won),
        systems=SYSTEMS,
        clusters={"a": names},
        rng=np.random.default_rng(1),
    )
    mirrored = bradley_terry(
        rows["x"],
        rows["y"],
        1 - rows["won"],
        systems=SYSTEMS,
        clusters={"a": rows["annotator"]},
        rng=np.random.default_rng(1),
    )
    for name in ("strength", "se", "rank_low", "rank_high"):
        assert getattr(same, name).tolist() == pytest.approx(getattr(plain, name).tolist(), abs=1e-9)
    assert mirrored.strength.tolist() == pytest.approx((-plain.strength).tolist(), abs=1e-9)
    assert mirrored.se.tolist() == pytest.approx(plain.se.tolist(), abs=1e-9)
    assert mirrored.rank_low.tolist() == (K + 1 - plain.rank_high).tolist()


def test_strength_variances_under_doubled_weights() -> None:
    """Doubling weights halves variances over rows and copying clusters about those of clusters."""
    rows = fractional(8)
    x, y, won = rows["x"], rows["y"], rows["won"]
    one = bradley_terry(x, y, won, systems=SYSTEMS, weights=np.ones(len(x)))
    two = bradley_terry(x, y, won, systems=SYSTEMS, weights=np.full(len(x), 2.0))
    assert two.strength.tolist() == pytest.approx(one.strength.tolist(), abs=1e-10)
    assert (two.se**2).tolist() == pytest.approx((one.se**2 / 2).tolist(), rel=1e-9)
    single = bradley_terry(x, y, won, systems=SYSTEMS, clusters={"a": rows["annotator"]})
    doubled = bradley_terry(
        np.tile(x, 2),
        np.tile(y, 2),
        np.tile(won, 2),
        systems=SYSTEMS,
        clusters={"a": np.concatenate([rows["annotator"], rows["annotator"] + 23])},
    )
    assert (doubled.se**2).tolist() == pytest.approx((single.se**2 / 2 * (46 / 45) / (23 / 22)).tolist(), rel=0.02)
    assert doubled.df.tolist() == pytest.approx((2 * single.df).tolist(), rel=0.1)


def test_the_largest_t_of_equal_systems_is_the_studentized_range() -> None:
    """Independent strengths of one variance: the largest |t| is Tukey's range over root two."""
    found = rank_intervals(np.arange(4.0), np.eye(4) - 0.25, df=np.inf, confidence=0.95, rng=np.random.default_rng(5))
    assert found.critical == pytest.approx(studentized_range.ppf(0.95, 4, np.inf) / math.sqrt(2), rel=0.02)
    bound = rank_intervals(np.arange(4.0), np.eye(4) - 0.25, df=np.inf, confidence=0.95, rng=None)
    assert found.critical < bound.critical
    assert bound.method.startswith("Šidák")


def test_ranks_follow_clear_differences() -> None:
    """System a is clearly above b and c, which cannot be told apart."""
    found = rank_intervals(np.array([3.0, 0.1, 0.0]), 0.01 * np.eye(3), df=np.inf, confidence=0.95, rng=None)
    assert (found.low.tolist(), found.high.tolist()) == ([1, 2, 2], [1, 3, 3])


def test_strength_intervals_with_a_perfect_winner() -> None:
    """Who won everything has a reason and the rest has intervals."""
    x = ["a", "a", "b", "b", "c", "b"]
    y = ["b", "c", "c", "c", "b", "c"]
    found = bradley_terry(x, y, [1, 1, 1, 0, 1, 1])
    assert found.reasons[0] is not None
    assert str(found.reasons[0]).startswith("won every comparison")
    assert np.isnan([found.strength[0], found.se[0], found.ci_low[0]]).all()
    assert found.rank_low[0] == 0
    alone = bradley_terry(x[2:], y[2:], [1, 0, 1, 1])
    assert found.se[1:].tolist() == pytest.approx(alone.se.tolist(), abs=1e-12)


def test_strength_interval_with_regularisation() -> None:
    """Regularisation is named in the interval and enters the bread only."""
    found = bradley_terry(["a"] * 3, ["b"] * 3, [1, 1, 1], regularisation=0.5)
    assert found.interval == "over rows, of regularised strengths"
    p = 3.5 / 4
    se = math.sqrt(3 * (1 - p) ** 2) / (4 * p * (1 - p))
    assert found.se[0] == pytest.approx(se / 2, abs=1e-12)


@pytest.mark.parametrize(
    ("won", "annotator", "said"),
    [([0.7, 0.6], ["p", "p"], "one annotator only"), ([0.7, 0.7], ["p", "q"], "no variation")],
)
def test_an_interval_that_cannot_be_made_has_a_reason(won: list[float], annotator: list[str], said: str) -> None:
    found = bradley_terry(["a", "a"], ["b", "b"], won, clusters={"annotator": annotator})
    assert np.isfinite(found.strength).all()
    assert np.isnan(found.ci_low).all()
    assert found.no_interval is not None
    assert said in str(found.no_interval)


@pytest.mark.parametrize(
    ("x", "y", "won", "weights", "said"),
    [
        ([0], [1], [70.0], None, "divide by 100"),
        ([0], [1], [math.nan], None, "shares won"),
        ([0], [2], [1.0], None, "numbered 0 to 1"),
        ([0], [0], [1.0], None, "with itself"),
        ([0], [1], [1.0], [-1.0], "weights"),
        ([0], [1], [1.0], [math.inf], "weights"),
        ([0, 1], [1], [1.0], None, "one length"),
    ],
)
def test_rows_that_cannot_be_counted_are_refused(
    x: list[int], y: list[int], won: list[float], weights: list[float] | None, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        count_wins(np.array(x), np.array(y), np.array(won), 2, None if weights is None else np.array(weights))


def test_cells_are_the_same_sorted_or_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = fractional(9)
    dense = count_cells(rows["x"], rows["y"], rows["won"], K, rows["annotator"] * 1000)
    monkeypatch.setattr("analysis.statistics.coding.DENSE", 0)
    few = {name: column[:50] for name, column in rows.items()}
    sorted_, counted = (
        count_cells(few["x"], few["y"], few["won"], K, few["annotator"], weights) for weights in (None, np.ones(50))
    )
    assert sorted_.won.tolist() == counted.won.tolist()
    assert dense.n_clusters == 23
    assert dense.played.sum() == len(rows["x"])
    wins = count_wins(rows["x"], rows["y"], rows["won"], K).wins
    total = np.zeros((K, K))
    np.add.at(total, (dense.x, dense.y), dense.won)
    assert np.abs(total - np.triu(wins)).max() < 1e-10
