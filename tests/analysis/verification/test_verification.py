"""A report verifies itself: what libraries compute again, what shows, and what is counted instead."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result
from scipy.special import stdtr

from analysis import Plan, analyse
from analysis.rating_checks import crossed
from analysis.rating_checks.claims import takes_signed_ranks
from analysis.rating_checks.wilcoxon import signed_rank_test
from analysis.results import verified as rules
from analysis.statistics import corrections, t_tests
from analysis.strengths import fit
from analysis.verification import calls
from analysis.verification.calls import CALLS, recompute, same
from analysis.verification.claims import Claim, NotComputedError
from analysis.verification.outcome import Gathered, Verification
from analysis.verification.process import Verifier
from spa.cli import main
from tests.analysis.made_answers import check, choices, preferences, ratings
from tests.analysis.verification.in_process import Here, analysed, verified

SYSTEMS = ("novelist", "formula", "parrot")


def asked(n: int = 12, seed: int = 3) -> pl.DataFrame:
    """Return preferences of ``n`` annotators in both directions."""
    rng = np.random.default_rng(seed)
    rows = []
    for who in range(n):
        for x, y, mean in (("novelist", "formula", 0.6), ("novelist", "parrot", 0.7), ("formula", "parrot", 0.55)):
            p = round(float(np.clip(rng.normal(mean, 0.15), 0.01, 0.95)), 2)
            rows += [(f"p{who}", x, y, p), (f"p{who}", y, x, round(1 - p - rng.integers(0, 4) / 100, 2))]
    return preferences([(who, x, y, max(p, 0)) for who, x, y, p in rows])


def found(results: Any) -> Verification:
    assert results.verification is not None
    return results.verification  # type: ignore[no-any-return]


def test_tests_and_corrections_are_computed_again() -> None:
    outcome = found(verified(preferences=asked(), plan=Plan(equivalence_margin=0.1)))
    assert outcome.n_different == 0
    assert {row.library for row in outcome.libraries} >= {"scipy", "statsmodels"}
    assert outcome.figures == outcome.recomputed + sum(row.n for row in outcome.not_recomputed)


def test_a_changed_t_test_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The t of every test is too large by a millionth."""
    exact = t_tests.stdtr
    monkeypatch.setattr(t_tests, "stdtr", lambda df, t: exact(df, t) * (1 + 1e-6))
    outcome = found(verified(preferences=asked()))
    assert outcome.n_different > 0
    assert outcome.differences[0].call == "scipy.stats.ttest_1samp"


@pytest.mark.parametrize(("correction", "kernel"), [("holm", "_holm"), ("bh", "_step_up")])
def test_a_changed_correction_shows(monkeypatch: pytest.MonkeyPatch, correction: Any, kernel: str) -> None:
    exact = getattr(corrections, kernel)
    monkeypatch.setattr(corrections, kernel, lambda *values: exact(*values) * (1 + 1e-6))
    outcome = found(verified(preferences=asked(), plan=Plan(correction=correction)))
    assert {row.call for row in outcome.differences} == {"statsmodels.stats.multitest.multipletests"}


def test_a_difference_is_the_first_caveat(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = corrections._holm
    monkeypatch.setattr(corrections, "_holm", lambda values: exact(values) * (1 + 1e-6))
    results = verified(preferences=asked())
    (first, *_) = results.headline.problems
    assert (first.kind, first.section) == ("verification", "settings")
    assert "preferences[0].p_adjusted" in first.text


def test_an_outcome_without_a_difference_changes_no_caveat() -> None:
    results = verified(preferences=asked())
    assert all(problem.kind != "verification" for problem in results.headline.problems)


@pytest.mark.parametrize(
    ("figure", "again", "absolute", "equal"),
    [
        (0.02, 0.02 * (1 + 1e-10), False, True),
        (0.02, 0.02 * (1 + 1e-8), False, False),
        (1e-9, 1e-9 + 1e-14, False, False),
        (1e-9, 1e-9 + 1e-16, False, True),
        (2.0, 2.0 + 1e-9, True, True),
        (0.0, 1e-8, True, False),
        (0.5, float("nan"), False, False),
    ],
)
def test_numbers_are_the_same_within_tolerance(figure: float, again: float, absolute: bool, equal: bool) -> None:
    assert same(figure, again, absolute=absolute) is equal


def test_a_family_gets_no_missing_p_value() -> None:
    """``multipletests`` counts a NaN in Holm's n, and turns every value of Benjamini-Hochberg to NaN."""
    numbers = {"p_values": [0.01, float("nan")], "correction": "holm", "n_tests": 2}
    with pytest.raises(ValueError, match="missing"):
        recompute("multipletests", numbers)


@pytest.mark.parametrize("correction", ["holm", "bh", "by"])
def test_a_family_larger_than_its_tests_is_padded(correction: Any) -> None:
    p_values = [0.001, 0.02, 0.04]
    own = corrections.adjust(p_values, correction=correction, n_tests=5).p_adjusted
    again = recompute("multipletests", {"p_values": p_values, "correction": correction, "n_tests": 5})
    assert again == pytest.approx(own, rel=1e-12)


def test_a_library_that_is_not_installed_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels.stats.multitest", None)
    outcome = found(verified(preferences=asked()))
    assert "statsmodels" not in {row.library for row in outcome.libraries}
    assert "a library is not installed" in {row.reason for row in outcome.not_recomputed}


def test_what_does_not_converge_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(**numbers: Any) -> list[float]:
        raise NotComputedError("not_converged")

    monkeypatch.setitem(CALLS, "ttest_1samp", calls.Call("scipy.stats.ttest_1samp", never))
    outcome = found(verified(preferences=asked()))
    assert "a library did not converge" in {row.reason for row in outcome.not_recomputed}
    assert outcome.n_different == 0


def test_large_results_are_sampled_by_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MOST_FIGURES", 75)
    tables = check(preferences=asked())
    first, gathered = analysed(tables)
    again, same_ones = analysed(tables)
    assert found(first) == found(again)
    assert [claim.paths for claim in gathered.claims] == [claim.paths for claim in same_ones.claims]
    assert 0 < found(first).recomputed < found(first).figures
    assert "left out of the sample" in {row.reason for row in found(first).not_recomputed}


def test_large_tables_are_sampled_where_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above so many answers only what follows from other figures is computed again, a sample of all under strict."""
    monkeypatch.setattr(rules, "MOST_ANSWERS", 20)
    first = found(verified(preferences=asked()))
    assert 0 < first.recomputed < first.figures
    assert any("`--verify strict` takes a sample" in row.reason for row in first.not_recomputed)
    results = analyse(check(preferences=asked()), Plan(), verifier=(here := Here(thorough=True)))
    reasons = {one.why for one in here.gathered.left}
    assert "sampled" in reasons
    assert "many_answers" not in reasons
    assert results.preferences


def spa(*arguments: str | Path, mode: str = "on") -> Result:
    words = ["report", *(str(argument) for argument in arguments)]
    return CliRunner(env={"SPA_VERIFY": mode}).invoke(main, words)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("answers") / "preferences.csv"
    asked().write_csv(path)
    return path


def test_a_report_says_what_was_computed_again(table: Path, tmp_path: Path) -> None:
    shown = spa(table, "--out", tmp_path, "--verify", "strict")
    assert shown.exit_code == 0, shown.output
    outcome = json.loads((tmp_path / "results.json").read_text())["verification"]
    assert outcome["n_different"] == 0
    line = f"{outcome['recomputed']} of {outcome['figures']} p-values, strengths and kappas by scipy"
    assert line in (tmp_path / "report.md").read_text()


def test_corrections_alone_are_computed_again() -> None:
    """A process that begins when claims are there loads of statsmodels what they call."""
    p_values = [0.01, 0.04, 0.03]
    numbers = {"p_values": p_values, "correction": "holm", "n_tests": 4}
    claim = Claim(call="multipletests", paths=("a", "b", "c"), figures=(0.04, 0.09, 0.0900001), numbers=numbers)
    with Verifier() as verifier:
        verifier.start(Gathered(claims=(claim,), left=(), n_figures=3))
        outcome = verifier.finish()
    assert [row.path for row in outcome.differences] == ["c"]
    assert [(row.library, row.recomputed) for row in outcome.libraries] == [("statsmodels", 3)]


ALONE = """
import sys
from analysis.verification import by_statsmodels as ours

beside = {**ours.BESIDE}
ours.BESIDE["statsmodels.stats._knockoff"] = ()  # as in a version that needs more
ours.load_corrections_alone()
assert not [name for name in sys.modules if name.startswith(("statsmodels", "pandas"))]
ours.BESIDE |= beside
ours.load_corrections_alone()
print(ours.corrected([0.01, 0.04, 0.03, 0.005], "holm", 4), "pandas" in sys.modules)
"""


def test_corrections_load_without_pandas_or_whole() -> None:
    """Hand-worked: 4 x .005, 3 x .01, 2 x .03, and no less for .04."""
    ran = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    assert ran.stdout.split("] ") == ["[0.03, 0.06, 0.06, 0.02", "False\n"]


def test_no_process_runs_where_it_is_switched_off(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.verification.process.COMMAND", ("does-not-exist",))
    shown = spa(table, "--json", "--no-verify")
    assert json.loads(shown.stdout)["verification"] is None


def test_a_process_that_ends_is_counted(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.verification.process.COMMAND", (sys.executable, "-c", "raise SystemExit(3)"))
    shown = spa(table, "--json")
    outcome = json.loads(shown.stdout)["verification"]
    assert outcome["recomputed"] == 0
    assert "the process that computes them again ended" in {row["reason"] for row in outcome["not_recomputed"]}
    assert spa(table, "--json", "--verify", "strict").exit_code == 1


def test_strict_ends_with_an_error_where_a_figure_differs(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = corrections._holm
    monkeypatch.setattr(corrections, "_holm", lambda values: exact(values) * (1 + 1e-6))
    shown = spa(table, "--json", "--verify", "strict")
    assert shown.exit_code == 1
    assert "p_adjusted" in shown.output


def rated(n: int = 12, seed: int = 5) -> pl.DataFrame:
    """Return ratings of ``n`` annotators, each of all systems on four items."""
    rng = np.random.default_rng(seed)
    score = {"novelist": 3.6, "formula": 3.1, "parrot": 2.8}
    return ratings(
        [
            (f"p{who}", f"i{item}", system, int(np.clip(round(rng.normal(score[system], 1)), 1, 5)))
            for who in range(n)
            for item in range(4)
            for system in SYSTEMS
        ]
    )


def chosen(n: int = 12, seed: int = 6) -> pl.DataFrame:
    """Return choices of ``n`` annotators between all systems on four items."""
    rng = np.random.default_rng(seed)
    return choices(
        [
            (f"p{who}", f"i{item}", x, y, str(rng.choice(["x", "y", "tie"], p=[0.5, 0.35, 0.15])))
            for who in range(n)
            for item in range(4)
            for x, y in combinations(SYSTEMS, 2)
        ]
    )


@pytest.mark.parametrize("n", [4, 12])
@pytest.mark.parametrize("unit", ["auto", "annotator", "item"])
def test_ratings_and_choices_are_computed_again(n: int, unit: Any) -> None:
    """Whatever the unit, units of a few people, too."""
    for outcome in (
        found(verified(ratings=rated(n), plan=Plan(unit=unit, equivalence_margin_ratings=0.5))),
        found(verified(choices=chosen(n), plan=Plan(unit=unit, equivalence_margin=0.1))),
    ):
        assert outcome.n_different == 0, outcome.differences
        assert {row.library for row in outcome.libraries} == {"scipy", "statsmodels", "choix"}


def test_a_changed_strength_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = fit.newton
    monkeypatch.setattr(fit, "newton", lambda *table: exact(*table) * (1 + 1e-6))
    outcome = found(verified(choices=chosen()))
    assert "choix.ilsr_pairwise_dense" in {row.call for row in outcome.differences}


def test_a_changed_clustered_error_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The squares of sums by annotator and item are too large by a millionth."""
    exact = crossed.ClusterSquares.between
    monkeypatch.setattr(crossed.ClusterSquares, "between", lambda self: exact(self) * (1 + 1e-6))
    outcome = found(verified(choices=chosen()))
    assert {row.call for row in outcome.differences} == {"statsmodels.stats.sandwich_covariance.cov_cluster_2groups"}


def test_signed_ranks_with_ties_are_counted_by_all_signs() -> None:
    """``method="exact"`` of scipy reads the tables of untied values: .0117 for a counted .0156."""
    values = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, -1.0, 0.0, 4.0, 4.0]
    assert recompute("wilcoxon", {"values": values, "counted": 50}) == [
        pytest.approx(signed_rank_test(values).p_value, rel=1e-12)
    ]


def test_signed_ranks_with_ties_of_many_values_are_left_out() -> None:
    values = [1.0, 1.0, -2.0, 2.0, 3.0, 3.0, -1.0, 4.0, 4.0, 5.0, 5.0, -6.0, 6.0, 7.0]
    assert recompute("wilcoxon", {"values": values, "counted": 50}) == "wilcoxon_ties"
    assert not takes_signed_ranks(np.array(values))
    assert takes_signed_ranks(np.array(values[:13]))


@pytest.mark.parametrize("n", [14, 60])
def test_signed_ranks_without_ties_are_computed_at_any_size(n: int) -> None:
    values = np.random.default_rng(n).normal(0.2, 1, n)
    assert recompute("wilcoxon", {"values": values, "counted": 50}) == [
        pytest.approx(signed_rank_test(values).p_value, rel=1e-9)
    ]


def test_clustered_errors_use_t() -> None:
    """Statsmodels' default is the normal distribution, too sure with six clusters."""
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(6), 5)
    x = np.column_stack([np.ones(30), rng.normal(size=30)])
    y = rng.normal(size=6)[clusters] + rng.normal(size=30)
    (p_value,) = recompute("ols", {"y": y, "x": x, "clusters": clusters, "coefficient": 1})
    coefficient = np.linalg.solve(x.T @ x, x.T @ y)
    scores = np.array([x[clusters == g].T @ (y - x @ coefficient)[clusters == g] for g in range(6)])
    bread = np.linalg.inv(x.T @ x)
    error = np.sqrt((bread @ (scores.T @ scores) @ bread)[1, 1] * 6 / 5 * 29 / 28)
    assert p_value == pytest.approx(2 * stdtr(5, -abs(coefficient[1] / error)), rel=1e-9)


@pytest.mark.parametrize(
    "wins",
    [
        [[0, 2, 0, 0], [1, 0, 0, 0], [0, 0, 0, 3], [0, 0, 1, 0]],  # two parts
        [[0, 3, 3], [0, 0, 1], [0, 2, 0]],  # one won all
    ],
)
def test_strengths_of_a_split_table_are_refused(wins: list[list[int]]) -> None:
    """``opt_*`` and ``mm_*`` of choix give finite strengths here."""
    assert recompute("ilsr_pairwise", {"wins": np.array(wins, dtype=np.float64)}) == "not_converged"


def test_a_system_that_won_everything_leaves_the_rest_to_choix() -> None:
    rows = [(f"p{who}", "i", "novelist", "formula", "x") for who in range(12)]
    rows += [(f"p{who}", "j", "formula", "parrot", "xy"[who % 3 == 0]) for who in range(12)]
    outcome = found(verified(choices=choices(rows)))
    assert outcome.n_different == 0
    assert {row.library: row.recomputed for row in outcome.libraries}["choix"] == 2
