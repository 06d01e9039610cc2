"""A report verifies itself: what libraries compute again, what shows, and what is counted instead."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from analysis import Plan
from analysis.results import verified as rules
from analysis.statistics import corrections, t_tests
from analysis.verification import calls
from analysis.verification.calls import CALLS, recompute, same
from analysis.verification.claims import NotComputedError
from analysis.verification.outcome import Verification
from spa.cli import main
from tests.analysis.made_answers import check, preferences
from tests.analysis.verification.in_process import analysed, verified

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
    assert {row.library for row in outcome.libraries} == {"scipy"}
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
