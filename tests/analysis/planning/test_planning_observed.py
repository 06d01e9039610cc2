"""Observed power of the published study: what means and stars allow, and that it follows from p alone."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.special import stdtrit
from statsmodels.stats.power import TTestPower

from analysis import Plan
from analysis.planning.assumptions import DEFAULTS
from analysis.planning.observed import FIGURE_ALPHA
from analysis.planning.power import t_power
from analysis.report.markdown import render_markdown
from analysis.report.orientation import oriented
from analysis.results.files import from_plain
from tests.analysis.made_answers import analyse, build_document, check, preferences, ratings, render_report

LEVELS = {"***": (0.0, 0.01), "**": (0.01, 0.05), "*": (0.05, 0.10), "": (0.10, 1.0)}  # adjusted p of its stars


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTest:
    """A row of Table 1: mean difference from the null value, and its stars (Holm, five tests)."""

    system_x: str
    system_y: str
    difference: float
    stars: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPower:
    """What stars and mean together allow: bounds of the SD and of the observed power.

    A bound is ``None`` where the stars set none.
    """

    test: PublishedTest
    n: int
    alpha: float
    sd_low: float | None
    sd_high: float | None
    power_low: float
    power_high: float


_PAIRS = (("ada", "human"), ("babbage", "ada"), ("curie", "babbage"), ("davinci", "curie"), ("human", "davinci"))


def _table(rows: Sequence[tuple[float, str]]) -> tuple[PublishedTest, ...]:
    return tuple(
        PublishedTest(system_x=x, system_y=y, difference=difference, stars=stars)
        for (x, y), (difference, stars) in zip(_PAIRS, rows, strict=True)
    )


TABLE_1_SPA = _table([(-0.080, "*"), (0.188, "***"), (0.130, "***"), (0.075, "***"), (0.044, "")])
TABLE_1_LIKERT = _table([(-0.822, "***"), (0.644, "***"), (0.322, ""), (0.244, ""), (-0.389, "*")])


def observed_power(
    family: Sequence[PublishedTest], *, n: int = 90, alpha: float = FIGURE_ALPHA
) -> tuple[ObservedPower, ...]:
    """Bound SDs and observed power of a Holm family of which only means and stars are known.

    The tests of one star level hold the ranks a..b of the k p-values. Their raw p-values lie
    between low / (k - a + 1) and high / (k - b + 1), with the level's bounds of the adjusted
    p-value; t follows from p, the SD from t, mean and n, and the power from t alone.

    Parameters
    ----------
    family : sequence of PublishedTest
        All tests that were corrected together.
    n : int
        Annotators tested: 90 after exclusions (its section 6.3).
    alpha : float
        Level at which power is computed.

    References
    ----------
    Hoenig, J. M. and Heisey, D. M. (2001). The abuse of power. The American Statistician, 55(1), 19-24.
    """
    k = len(family)
    rows = []
    for test in family:
        low, high = LEVELS[test.stars]
        first = 1 + sum(LEVELS[other.stars][0] < low for other in family)
        last = sum(LEVELS[other.stars][0] <= low for other in family)
        p_low, p_high = low / (k - first + 1), min(1.0, high / (k - last + 1))
        t_high = math.inf if p_low == 0 else -float(stdtrit(n - 1, p_low / 2))
        t_low = 0.0 if p_high == 1 else -float(stdtrit(n - 1, p_high / 2))
        scaled = abs(test.difference) * math.sqrt(n)
        rows.append(
            ObservedPower(
                test=test,
                n=n,
                alpha=alpha,
                sd_low=None if math.isinf(t_high) else scaled / t_high,
                sd_high=None if t_low == 0 else scaled / t_low,
                power_low=_power(t_low, n, alpha),
                power_high=1.0 if math.isinf(t_high) else _power(t_high, n, alpha),
            )
        )
    return tuple(rows)


def _power(t: float, n: int, alpha: float) -> float:
    return float(t_power(t / math.sqrt(n), n, alpha=alpha))


def test_the_stars_bound_the_sds_of_table_1():
    """Ada against human, *: fourth of five p-values, so .05/2 <= p < .10/2 and 1.99 < t <= 2.28 at n = 90."""
    found = {row.test.system_x: row for row in observed_power(TABLE_1_SPA)}
    ada = found["ada"]
    assert (ada.sd_low, ada.sd_high) == pytest.approx((0.080 * 90**0.5 / 2.2800, 0.080 * 90**0.5 / 1.9870), rel=1e-3)
    assert found["human"].sd_high is None
    assert found["babbage"].sd_low is None


def test_the_usual_sds_are_ones_that_table_1_allows():
    likert = {row.test.system_x: row for row in observed_power(TABLE_1_LIKERT)}["human"]
    assert likert.sd_low is not None
    assert likert.sd_high is not None
    assert likert.sd_low < DEFAULTS["likert"][0].contribution_sd(1) < likert.sd_high
    spa = observed_power(TABLE_1_SPA)
    lows = [row.sd_low for row in spa if row.sd_low is not None]
    highs = [row.sd_high for row in spa if row.sd_high is not None]
    assert min(highs) < DEFAULTS["spa"][0].contribution_sd(5) < max(lows)


def test_figure_2_does_not_follow_from_table_1():
    """Power near 1 at alpha = .001 for all tests cannot hold for those with fewer than three stars."""
    for table in (TABLE_1_SPA, TABLE_1_LIKERT):
        for row in observed_power(table):
            if row.test.stars == "***":
                assert row.power_high == 1
            else:
                assert row.power_high < 0.2


def test_observed_power_at_p_equal_to_the_level_is_about_a_half():
    """Hoenig & Heisey (2001): observed power is the p-value said in another way."""
    effect = -float(stdtrit(89, 0.0005)) / 90**0.5
    assert float(t_power(effect, 90, alpha=0.001)) == pytest.approx(0.5, abs=0.02)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """Analyse answers of 40 people and of an LLM to three pairs, by stated chance and by ratings."""
    rng = np.random.default_rng(22)
    pairs = {("babbage", "ada"): 0.66, ("curie", "babbage"): 0.58, ("human", "davinci"): 0.5}
    people = [str(who) for who in range(40)]
    chances = [
        (who, x, y, round(float(np.clip(rng.normal(mean, 0.2), 0, 1)), 2))
        for who in (*people, "gpt")
        for (x, y), mean in pairs.items()
    ]
    systems = {name for pair in pairs for name in pair}
    scores = [(who, f"i{who}", system, int(rng.integers(1, 6))) for who in people for system in sorted(systems)]
    tables = check(preferences=preferences(chances), ratings=ratings(scores), llms=("gpt",))
    return analyse(tables, Plan(), observed_power=0.001)


def test_power_at_the_effects_found_is_that_of_statsmodels(results: dict[str, Any]) -> None:
    rows = results["observed_power"]
    assert {(row["source"], row["group"]) for row in rows} == {("preferences", "human"), ("ratings", "human")}
    assert len(rows) == 3 + 3  # ratings are tested over the pairs of the preferences
    planned_for = {"preferences": 0.1 / 0.3, "ratings": 0.3 / np.sqrt(0.5**2 + 0.8**2 + 1.25**2)}
    for row in rows:
        assert row["curve"][0]["annotators"] == 2
        assert row["curve"][-1]["annotators"] == 2 * row["n"] == 80
        for point in row["curve"][3::12]:
            for effect, power in ((row["effect"], "observed"), (planned_for[row["source"]], "planned")):
                both = [
                    TTestPower().power(abs(effect), point["annotators"], 0.0005, alternative=side)
                    for side in ("larger", "smaller")
                ]  # statsmodels gives NaN for the far tail where it is below 1e-12
                assert point[power] == pytest.approx(np.nansum(both), abs=1e-9)
    from_plain(results)
    spa = [row for row in results["preferences"] if row["group"] == "human"]
    for row, found in zip(rows[:3], spa, strict=True):
        assert row["effect"] == pytest.approx((found["mean"] - 0.5) / found["sd"])
        assert [row["power"]] == [point["observed"] for point in row["curve"] if point["annotators"] == found["n"]]
    tested = [*results["preferences"], *results["ratings"]["pairs"]]
    p_values = {(row["system_x"], row["system_y"], row["p_value"]) for row in tested}
    assert {(row["system_x"], row["system_y"], row["p_value"]) for row in rows} <= p_values


def test_observed_effect_keeps_sign_of_difference(results: dict[str, Any]) -> None:
    """A pair told from its winner's side has a positive effect, beside the effect size of its test."""
    told = oriented(from_plain(results))
    assert told.observed_power is not None
    sizes = {
        (source, row.system_x, row.system_y): row.d_z
        for source, rows in (("preferences", told.preferences), ("ratings", told.ratings.pairs))
        for row in rows
        if row.group == "human"
    }
    assert any(row["effect"] < 0 for row in results["observed_power"])
    for row in told.observed_power:
        assert row.effect == pytest.approx(sizes[row.source, row.system_x, row.system_y], rel=1e-9)
        assert row.effect >= 0


def test_observed_power_restates_p(results: dict[str, Any]) -> None:
    """Ordered by p, power falls, whatever was asked; without the option nothing is said of it."""
    by_p = sorted(results["observed_power"], key=lambda row: row["p_value"])
    powers = [row["power"] for row in by_p]
    assert powers == sorted(powers, reverse=True)
    page = render_markdown(build_document(results))
    assert "restates the p-value and is no evidence" in page
    assert "planned: 60%, SD 0.30" in next(
        svg for name, svg in render_report(results).items() if name.startswith("figures/observed-power-preferences")
    )
    usual = {key: value for key, value in results.items() if key != "observed_power"}
    assert "bserved power" not in render_markdown(build_document(usual))


def test_chances_and_ratings_stand_in_one_figure(results: dict[str, Any]) -> None:
    """Figure 2 of the SPA paper: a pair has one colour, stated chances are dashed and ratings solid."""
    svg = render_report(results)["figures/observed-power-both-human.svg"]
    drawn = re.findall(r'<path d="M0,[\d.]+h30"[^>]*>', svg)
    assert len(drawn) == 6
    assert sum("stroke-dasharray" in one for one in drawn) == 3
    colours = [re.search(r'stroke="(#\w+)"', one) for one in drawn]
    assert sorted(Counter(found[1] for found in colours if found).values()) == [2, 2, 2]
    assert svg.count("chances: ") == svg.count("ratings: ") == 3
    usual = {**results, "observed_power": [row for row in results["observed_power"] if row["source"] == "ratings"]}
    assert "figures/observed-power-both-human.svg" not in render_report(usual)
