"""Prediction-powered inference: the closed form, what lambda = 0 must be, and coverage by simulation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm, t, ttest_1samp

from analysis import Plan
from analysis.llm_vs_people import PredictionPoweredMean, prediction_powered_mean
from analysis.llm_vs_people.clustered import cluster_codes, covariance_of_means, variance_of_mean
from tests.analysis.made_answers import analyse, check

STUDIES = 1000
ERROR = 3 * np.sqrt(0.95 * 0.05 / STUDIES)  # three Monte-Carlo standard errors


def draw(rng: np.random.Generator, n: int, n_more: int, follows: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw people's answers (mean 0) and those of an LLM 0.5 too high, correlated ``follows``."""
    hidden = rng.normal(size=n + n_more)
    people = follows * hidden[:n] + np.sqrt(1 - follows**2) * rng.normal(size=n)
    return people, hidden[:n] + 0.5, hidden[n:] + 0.5


def test_lambda_zero_is_exactly_the_interval_of_people_alone() -> None:
    people, llm, more = draw(np.random.default_rng(0), 25, 200, 0.8)
    found = prediction_powered_mean(people, llm, more, llm_weight=0.0)
    classical = ttest_1samp(people, 0.0).confidence_interval(0.95)
    assert (found.ci_low, found.ci_high) == (found.people_ci_low, found.people_ci_high)
    assert (found.ci_low, found.ci_high) == pytest.approx((classical.low, classical.high), rel=1e-12)
    assert (found.estimate, found.df) == (found.people_mean, 24)
    assert found.people_mean == pytest.approx(people.mean())


@pytest.mark.parametrize("weight", [0.3, 1.0])
def test_a_given_lambda_agrees_with_the_closed_form(weight: float) -> None:
    """PPI++ section 2 with sample variances; the paper's interval is the normal one, ours that of t."""
    people, llm, more = draw(np.random.default_rng(1), 40, 300, 0.7)
    found = prediction_powered_mean(people, llm, more, llm_weight=weight)
    centre = weight * more.mean() + (people - weight * llm).mean()
    variance = weight**2 * more.var(ddof=1) / 300 + (people - weight * llm).var(ddof=1) / 40
    assert found.estimate == pytest.approx(centre)
    assert found.se == pytest.approx(np.sqrt(variance))
    assert found.df is not None
    assert found.ci_high == pytest.approx(centre + t.ppf(0.975, found.df) * np.sqrt(variance))
    assert found.ci_high is not None
    assert found.ci_high > centre + norm.ppf(0.975) * np.sqrt(variance)


def test_powered_lambda_of_the_paper() -> None:
    """The tuned lambda is that of the paper and makes the variance least."""
    people, llm, _ = draw(np.random.default_rng(2), 40, 1, 0.8)
    more = np.concatenate([llm, llm + 1e-9])  # the same variance on both sides, up to the divisor
    found = prediction_powered_mean(people, llm, more)
    shared, spread = np.cov(people, llm)
    own = more.var(ddof=1) / llm.var(ddof=1)
    assert found.llm_weight == pytest.approx(shared[1] / spread[1] / (1 + own * 40 / 80))
    assert found.llm_weight == pytest.approx(shared[1] / (1 + 40 / 80) / spread[1], rel=0.02)  # example 6.1
    grid = [prediction_powered_mean(people, llm, more, llm_weight=w).se for w in np.linspace(0.05, 1, 96)]
    best = prediction_powered_mean(people, llm, more, llm_weight=found.llm_weight).se
    assert best is not None
    assert all(best <= se + 1e-12 for se in grid if se is not None)


def coverage(study: Callable[[int], PredictionPoweredMean]) -> tuple[float, float]:
    """Return how often the interval holds the true mean 0, and its width relative to people's alone."""
    held, widths, alone = 0, 0.0, 0.0
    for seed in range(STUDIES):
        found = study(seed)
        assert found.ci_low is not None
        assert found.ci_high is not None
        assert found.people_ci_low is not None
        assert found.people_ci_high is not None
        held += found.ci_low <= 0 <= found.ci_high
        widths += found.ci_high - found.ci_low
        alone += found.people_ci_high - found.people_ci_low
    return held / STUDIES, widths / alone


@pytest.mark.parametrize(("follows", "width"), [(0.9, 0.55), (0.6, 0.9), (0.0, 1.03)])
def test_powered_intervals_cover_and_narrow(follows: float, width: float) -> None:
    """Intervals hold the truth and are narrower where the LLM knows something."""
    held, relative = coverage(
        lambda seed: prediction_powered_mean(*draw(np.random.default_rng(seed), 30, 300, follows))
    )
    assert abs(held - 0.95) < ERROR
    assert relative < width


def test_powered_intervals_cover_with_many_units() -> None:
    """24 annotators with a severity of their own, 5 items each: the plain interval is far too narrow."""

    def clustered(seed: int, by_annotator: bool = True) -> PredictionPoweredMean:
        rng = np.random.default_rng(seed)
        who = np.repeat(np.arange(24), 5)
        people, llm, more = draw(rng, 120, 400, 0.8)
        people = people + rng.normal(size=24)[who]
        return prediction_powered_mean(people, llm, more, clusters=who if by_annotator else None)

    assert abs(coverage(clustered)[0] - 0.95) < ERROR
    assert coverage(lambda seed: clustered(seed, False))[0] < 0.80


def test_powered_intervals_cover_crossed_designs() -> None:
    """Each of 30 items has three of 25 annotators, both with effects of their own."""

    def crossed(seed: int) -> PredictionPoweredMean:
        rng = np.random.default_rng(seed)
        item = np.repeat(np.arange(30), 3)
        who = np.concatenate([rng.choice(25, size=3, replace=False) for _ in range(30)])
        hidden, severity = rng.normal(size=330), rng.normal(size=25) * 0.7
        people = hidden[item] + severity[who] + rng.normal(size=90)
        llm = hidden + rng.normal(size=330) * 0.4
        return prediction_powered_mean(people, llm[item], llm[30:], clusters=(who, item))

    held, relative = coverage(crossed)
    assert held > 0.95 - 2 * ERROR
    assert relative < 0.95


def test_powered_variance_by_clusters() -> None:
    """One row a cluster is the plain variance and two ways never fall below one."""
    rng = np.random.default_rng(3)
    values, other = rng.normal(size=(2, 50))
    plain = cluster_codes(None, 50)
    assert variance_of_mean(values, plain) == pytest.approx(values.var(ddof=1) / 50)
    assert covariance_of_means(values, other, plain) == pytest.approx(np.cov(values, other)[0, 1] / 50)
    ways = cluster_codes((rng.integers(0, 5, 50), rng.integers(0, 5, 50)), 50)
    assert variance_of_mean(values, ways) >= max(variance_of_mean(values, [way]) for way in ways)
    cells = ways[0] * 5 + ways[1]
    singly = [covariance_of_means(values, other, [np.unique(way, return_inverse=True)[1]]) for way in (*ways, cells)]
    assert covariance_of_means(values, other, ways) == pytest.approx(singly[0] + singly[1] - singly[2])


def test_an_llm_that_knows_nothing_is_left_out_with_a_word() -> None:
    people, _, more = draw(np.random.default_rng(4), 30, 100, 0.8)
    flat = prediction_powered_mean(people, np.full(30, 3.0), more)
    assert flat.llm_weight == 0
    assert flat.warning == "the LLM gave one answer to everything that people answered; people alone count"


@pytest.mark.parametrize(("scale", "shift"), [(0.25, 50.0), (-1.0, 0.0), (-30.0, 2.0)])
def test_the_unit_and_sign_of_the_llm_do_not_matter(scale: float, shift: float) -> None:
    people, llm, more = draw(np.random.default_rng(4), 30, 100, 0.8)
    plain, other = (
        prediction_powered_mean(people, a, b) for a, b in ((llm, more), (shift + scale * llm, shift + scale * more))
    )
    assert other.llm_weight == pytest.approx(plain.llm_weight / scale)
    assert (other.estimate, other.ci_low, other.se) == pytest.approx((plain.estimate, plain.ci_low, plain.se))
    assert (other.warning is None) == (scale > 0)


def test_a_judge_on_a_quarter_of_the_scale(shared_data: Path) -> None:
    """The same judge, its scores drawn together: the weight grows, the interval stays."""
    folder = shared_data.parent / "cases" / "statistics" / "judge-narrow-scale"
    if not folder.exists():
        pytest.skip("the case is not here")
    wanted = json.loads((folder / "expected.json").read_text())
    for name, own in wanted["alpha_minus_beta"].items():
        tables = check(llms=("judge",), ratings=pl.read_csv(folder / name, infer_schema=False))
        rows = analyse(tables, Plan())["llm_vs_people"]["prediction_powered"]
        (row,) = (row for row in rows if row["system_y"] == "beta")
        within = own.get("tolerance", 1e-5)
        assert row["llm_weight"] == pytest.approx(own["llm_weight"], abs=max(within, 1e-5))
        assert (row["estimate"], row["se"]) == (
            pytest.approx(own["estimate"], abs=within),
            pytest.approx(own["se"], abs=within),
        )


def test_what_cannot_be_estimated_has_a_reason() -> None:
    assert prediction_powered_mean([0.7], [0.5], [0.5, 0.6]).reason is not None
    same = prediction_powered_mean([0.7] * 9, [0.5, 0.6, 0.7] * 3, [0.5, 0.6])
    assert (str(same.reason), same.ci_low, same.estimate) == ("no variation: every value is the same", None, 0.7)
    lonely = prediction_powered_mean([1.0, 2.0, 3.0, 5.0], [1, 2, 3, 4], [1.0], llm_weight=1.0)
    assert str(lonely.reason) == "the LLM answered fewer than two more units"
    few = prediction_powered_mean(*draw(np.random.default_rng(5), 8, 100, 0.9))
    assert few.warning is not None
    assert "may be too narrow" in few.warning


@pytest.mark.parametrize(
    ("people", "llm", "more"), [([], [], [1.0]), ([1.0, 2.0], [1.0], [1.0]), ([1.0, np.nan], [1.0, 2.0], [1.0])]
)
def test_bad_input_is_refused(people: list[float], llm: list[float], more: list[float]) -> None:
    with pytest.raises(ValueError, match=r"expected|same units"):
        prediction_powered_mean(people, llm, more)
