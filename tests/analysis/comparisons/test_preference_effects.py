"""Effect sizes, symmetry of the two directions, and equivalence within a declared margin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from analysis import Plan, effect_size, two_one_sided
from spa.cli import main
from tests.analysis.made_answers import Results, choices, preferences, ratings, render_report, run
from tests.analysis.read_page import read_page

ANSWERS = [0.48, 0.52, 0.55, 0.5, 0.47, 0.53, 0.49, 0.51, 0.5, 0.54, 0.46, 0.52]


def asked(answers: list[float], pair: tuple[str, str] = ("x", "y")) -> list[tuple[str, str, str, object]]:
    return [(f"p{who}", *pair, p) for who, p in enumerate(answers)]


def test_effect_size_interval_inversion() -> None:
    """The noncentral t of scipy.stats, inverted by root finding, as Cumming and Finch (2001) describe."""
    n, d_z = 20, 0.85
    found = effect_size(mean=0.5 + 0.2 * d_z, sd=0.2, n=n)

    def end(level: float) -> float:
        def gap(nc: float) -> float:
            return float(stats.nct.cdf(d_z * math.sqrt(n), n - 1, nc)) - level

        return float(optimize.brentq(gap, -10, 20)) / math.sqrt(n)

    assert (found.value, found.interval) == (pytest.approx(0.85), "noncentral t")
    assert (found.ci_low, found.ci_high) == (pytest.approx(end(0.975), abs=1e-6), pytest.approx(end(0.025), abs=1e-6))


def test_a_hand_worked_effect_size_in_the_results() -> None:
    """0.6, 0.7, 0.8, 0.5: mean 0.65, sd root(1/60), so d_z = 0.15 root(60)."""
    (row,) = run(preferences=preferences(asked([0.6, 0.7, 0.8, 0.5])))["preferences"]
    assert row["d_z"] == pytest.approx(0.15 * math.sqrt(60))
    assert row["d_z_low"] < row["d_z"] < row["d_z_high"]
    assert (row["d_z_low"] > 0) == (row["p_value"] < 0.05)


@pytest.mark.parametrize(("answers", "why"), [([0.7], "n = 1"), ([0.7] * 4, "no variation")])
def test_an_effect_without_spread_is_null_with_a_reason(answers: list[float], why: str) -> None:
    (row,) = run(preferences=preferences(asked(answers)))["preferences"]
    assert (row["d_z"], row["d_z_low"], row["d_z_high"]) == (None, None, None)
    assert why in row["reason"]


def test_the_interval_of_an_effect_size_covers_it() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(400):
        values = rng.normal(0.6, 0.2, 12)
        found = effect_size(mean=float(values.mean()), sd=float(values.std(ddof=1)), n=12)
        assert found.ci_low is not None
        assert found.ci_high is not None
        hits += found.ci_low <= 0.5 <= found.ci_high
    assert abs(hits / 400 - 0.95) < 3 * math.sqrt(0.95 * 0.05 / 400)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.0, 1.0), st.floats(0.01, 0.5), st.integers(2, 500))
def test_a_swapped_pair_turns_the_effect_size(mean: float, sd: float, n: int) -> None:
    one, two = (effect_size(mean=0.5 + turn * (mean - 0.5), sd=sd, n=n) for turn in (1, -1))
    assert one.value is not None
    assert one.ci_low is not None
    assert (two.value, two.ci_high) == (pytest.approx(-one.value, abs=1e-9), pytest.approx(-one.ci_low, rel=1e-6))


def test_the_excess_of_both_directions() -> None:
    """Sums 1.8, 1.0, 1.05, 0.9 exceed 1 by 0.1875 on average; the first is then excluded, which leaves -0.0167."""
    sums = [(0.9, 0.9), (0.6, 0.4), (0.5, 0.55), (0.7, 0.2)]
    rows = [row for who, (p, q) in enumerate(sums) for row in ((str(who), "x", "y", p), (str(who), "y", "x", q))]
    row, _ = run(preferences=preferences(rows))["preference_directions"]
    assert row["mean_excess"] == pytest.approx(0.1875)
    low, high = stats.ttest_1samp([p + q - 1 for p, q in sums], 0).confidence_interval(0.95)
    assert (row["excess_low"], row["excess_high"]) == (pytest.approx(low), pytest.approx(high))
    assert (row["n_selected"], row["mean_excess_selected"]) == (3, pytest.approx(-0.05 / 3))


def test_equivalence_by_hand_and_by_statsmodels() -> None:
    from statsmodels.stats.weightstats import DescrStatsW

    (row,) = run(preferences=preferences(asked(ANSWERS)), plan=Plan(equivalence_margin=0.05))["preferences"]
    wanted, (t_low, p_low, _), (t_high, _, _) = DescrStatsW(np.array(ANSWERS)).ttost_mean(0.45, 0.55)
    assert row["p_equivalence"] == pytest.approx(wanted, rel=1e-8)
    assert (row["p_equivalence_adjusted"], row["equivalent"]) == (row["p_equivalence"], True)
    mean, se = np.mean(ANSWERS), np.std(ANSWERS, ddof=1) / math.sqrt(12)
    found = two_one_sided(float(mean) - 0.5, se=float(se), df=11, margin=0.05)
    assert (found.t_low, found.t_high) == (pytest.approx((mean - 0.45) / se), pytest.approx((mean - 0.55) / se))
    assert (found.t_low, found.t_high) == (pytest.approx(t_low), pytest.approx(t_high))
    assert found.p_value == pytest.approx(max(p_low, stats.t.cdf((mean - 0.55) / se, 11)))


def test_an_equivalence_of_eleven_differences_worked_by_hand() -> None:
    """Effect 0.02, standard error 0.01, margin 0.05, df 10: t = 7 and -3, p = P(T < -3) = .00667."""
    found = two_one_sided(0.02, se=0.01, df=10, margin=0.05)
    assert (found.t_low, found.t_high) == (pytest.approx(7), pytest.approx(-3))
    assert found.p_value == pytest.approx(0.006672, abs=1e-6)  # one-sided tail of t(10) beyond 3


def everything(plan: Plan) -> Results:
    rng = np.random.default_rng(2)
    likes = asked(ANSWERS) + asked([round(float(p), 2) for p in rng.uniform(0.6, 1, 12)], ("x", "z"))
    likes += asked([0.5] * 12, ("y", "z"))
    scores = [(f"p{who}", f"i{item}", s, int(rng.integers(1, 6))) for who in range(12) for item in (1, 2) for s in "xy"]
    picks = [(f"p{who}", f"i{item}", "x", "y", "xyt"[int(rng.integers(3))]) for who in range(12) for item in range(6)]
    named = [(*row[:4], row[4].replace("t", "tie")) for row in picks]
    return run(preferences=preferences(likes), ratings=ratings(scores), choices=choices(named), plan=plan)


def test_every_source_is_tested_within_its_own_margin_and_family() -> None:
    results = everything(Plan(equivalence_margin=0.08, equivalence_margin_ratings=2.0))
    likes = {(row["system_x"], row["system_y"]): row for row in results["preferences"]}
    assert [likes[pair]["equivalent"] for pair in (("x", "y"), ("x", "z"), ("y", "z"))] == [True, False, None]
    pair = likes["x", "y"]
    assert pair["p_equivalence_adjusted"] == pytest.approx(2 * pair["p_equivalence"])  # two of three were tested
    (rated,), (chosen,) = results["ratings"]["pairs"], results["choices"]["pairs"]
    for row, effect, margin in ((rated, rated["mean_difference"], 2.0), (chosen, chosen["win_rate"] - 0.5, 0.08)):
        se = (row["ci_high"] - row["ci_low"]) / 2 / stats.t.ppf(0.975, row["df"])
        wanted = max(stats.t.sf((effect + margin) / se, row["df"]), stats.t.cdf((effect - margin) / se, row["df"]))
        assert row["p_equivalence"] == pytest.approx(wanted, rel=1e-6)
    assert rated["equivalent"] is True


def test_without_a_margin_nothing_is_called_equivalent() -> None:
    results = everything(Plan())
    rows = [*results["preferences"], *results["ratings"]["pairs"], *results["choices"]["pairs"]]
    assert {(row["p_equivalence"], row["equivalent"]) for row in rows} == {(None, None)}
    page = read_page(render_report(results)["report.html"])
    assert "equivalence_preferences" not in page.tables
    assert "indifferent means that no difference was found, not that there is none" in page.text


def test_the_report_says_what_is_equivalent() -> None:
    page = read_page(
        render_report(everything(Plan(equivalence_margin=0.08, equivalence_margin_ratings=2.0)))["report.html"]
    )
    head, *rows = page.tables["equivalence_preferences"]
    assert [row[-1].split(":")[0] for row in rows] == ["equivalent", "different", "not tested"]
    assert "within ±8 percentage points" in page.text
    assert head[-1] == "Conclusion"
    assert {"equivalence_ratings", "equivalence_choices"} <= set(page.tables)


@pytest.mark.parametrize("wrong", [{"equivalence_margin": 0.5}, {"equivalence_margin_ratings": 0.0}])
def test_a_margin_that_says_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="equivalence_margin"):
        Plan(**wrong)


def test_equivalence_keeps_the_level() -> None:
    """At the edge of the margin, the worst case, each claim is an error."""
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(500):
        values = rng.normal(0.05, 0.1, 30)
        se = float(values.std(ddof=1)) / math.sqrt(30)
        wrong += two_one_sided(float(values.mean()), se=se, df=29, margin=0.05).p_value <= 0.05
    assert wrong / 500 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 500)


def test_the_command_takes_both_margins(tmp_path: Any) -> None:
    preferences(asked(ANSWERS)).write_csv(tmp_path / "p.csv")
    shown = CliRunner().invoke(
        main, ["report", "--preferences", str(tmp_path / "p.csv"), "--equivalence", "0.05", "--json"]
    )
    assert shown.exit_code == 0, shown.output
    assert '"equivalence_margin": 0.05' in shown.output
    assert '"equivalent": true' in shown.output
