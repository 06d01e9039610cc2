"""People that an LLM saves: known correlations, properties, coverage, and what the report says of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis import Plan
from analysis.llm_vs_people.people_saved import follows
from tests.analysis.made_answers import analyse, check, choices, preferences, ratings, render_report

ITEMS, MORE = 40, 120


def rated(
    rho: float, *, more: int = MORE, scale: float = 1.0, seed: int = 1, names: tuple[str, str] = ("a", "b")
) -> pl.DataFrame:
    """Let three people rate two systems on 40 items, and an LLM those and ``more``, following them by ``rho``."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[str, str, str, object]] = []
    for item in range(ITEMS + more):
        for system in names:
            said = rng.normal()
            people = rho * said + np.sqrt(1 - rho**2) * rng.normal()
            rows.append(("judge", f"i{item}", system, 10 + scale * said))
            rows += [(f"p{who}", f"i{item}", system, people) for who in range(3) if item < ITEMS]
    return ratings(rows)


def saved(frame: pl.DataFrame) -> list[dict[str, Any]]:
    found = analyse(check(llms=("judge",), ratings=frame), Plan())
    rows: list[dict[str, Any]] = found["llm_vs_people"]["people_saved"]
    return rows


def test_saved_follows_the_correlation_of_items() -> None:
    """Rho by scipy over the items that both rated; saved is its square, less chance, times N / (n + N)."""
    frame = rated(0.8)
    together, *rows = saved(frame)
    wide = frame.with_columns(pl.col("score").cast(pl.Float64)).pivot(
        "system", index=["annotator_id", "item_id"], values="score"
    )
    own = wide.filter(pl.col("annotator_id") == "p0").join(wide.filter(pl.col("annotator_id") == "judge"), on="item_id")
    (row,) = (row for row in rows if row["system_y"] is not None)
    rho = stats.pearsonr(own["a"] - own["b"], own["a_right"] - own["b_right"]).statistic
    squared = 1 - (1 - rho**2) * (ITEMS - 1) / (ITEMS - 2)
    assert (row["rho"], row["limit"]) == (pytest.approx(rho), pytest.approx(squared))
    assert (row["n"], row["n_more"], row["unit"]) == (ITEMS, MORE, "item")
    assert row["saved"] == pytest.approx(squared * MORE / (ITEMS + MORE))
    assert row["saved_low"] < row["saved"] < row["saved_high"]
    assert (together["system_x"], together["saved"]) == (None, pytest.approx(row["saved"]))
    assert [(one["system_x"], one["system_y"]) for one in rows] == [("a", None), ("b", None), ("a", "b")]


def test_saved_whatever_unit_sign_and_names() -> None:
    """Scores in other units, turned round, or of systems with other names save the same."""
    plain, other = saved(rated(0.6)), saved(rated(0.6, scale=-7, names=("x", "w")))
    for one, two in zip(plain, other, strict=True):
        for name in ("saved", "saved_low", "saved_high", "limit"):
            assert two[name] == pytest.approx(one[name])


def test_saved_is_what_the_interval_gains() -> None:
    """People's variance alone, less the share saved, is the variance of the prediction-powered difference."""
    found = analyse(check(llms=("judge",), ratings=rated(0.9, more=2000, seed=3)), Plan())["llm_vs_people"]
    (powered,) = (row for row in found["prediction_powered"] if row["system_y"] is not None)
    (row,) = (row for row in found["people_saved"] if row["system_y"] is not None)
    half = (powered["people_ci_high"] - powered["people_ci_low"]) / 2
    alone = half / stats.t.ppf(0.975, ITEMS - 1)
    assert 1 - (powered["se"] / alone) ** 2 == pytest.approx(row["saved"], abs=0.03)


def test_nothing_is_saved_where_people_judged_all() -> None:
    results = analyse(check(llms=("judge",), ratings=rated(0.8, more=0)), Plan())
    assert {row["saved"] for row in results["llm_vs_people"]["people_saved"]} == {0.0}
    assert "people answered all of its 40, so it saves nothing" in render_report(results)["report.md"]


def test_raters_table_has_the_people_saved() -> None:
    found = analyse(check(llms=("judge",), ratings=rated(0.8)), Plan())
    people, judge = found["raters"]
    together = found["llm_vs_people"]["people_saved"][0]
    names = ("saved", "saved_low", "saved_high")
    assert [judge[name] for name in names] == [together[name] for name in names]
    assert judge["saved_limit"] == together["limit"] > judge["saved"] > 0.3
    assert [people[name] for name in (*names, "saved_limit")] == [None] * 4


def test_a_useless_llm_saves_none_in_words() -> None:
    results = analyse(check(llms=("judge",), ratings=rated(0.0, seed=5)), Plan())
    (together, *_) = results["llm_vs_people"]["people_saved"]
    assert together["saved"] < 0.005
    assert together["saved_low"] == 0
    assert "would have saved none on overall." in render_report(results)["report.md"]


def test_saved_by_forms_and_by_choices() -> None:
    """Preferences count by form, choices by item."""
    rng = np.random.default_rng(2)
    forms = [(f"f{form}", float(rng.uniform(0.2, 0.8))) for form in range(24)]
    asked = preferences(
        [
            *((f"p{form}", "x", "y", p) for form, p in forms[:12]),
            *(("judge", "x", "y", round((p + 0.3) / 2, 4)) for _, p in forms),
        ],
        assignment_id=[*(form for form, _ in forms[:12]), *(form for form, _ in forms)],
    )
    found = analyse(check(llms=("judge",), preferences=asked), Plan(consistency_tau=None))["llm_vs_people"]
    together, row = found["people_saved"]
    assert (row["unit"], row["n"], row["n_more"]) == ("form", 12, 12)
    assert row["rho"] == pytest.approx(1, abs=1e-3)
    assert together["limit"] == row["limit"] > 0.99
    won = [(f"i{item}", "x" if rng.random() < 0.5 else "y") for item in range(20)]
    picked = choices(
        [
            *((f"p{who}", item, "x", "y", side) for item, side in won[:10] for who in range(2)),
            *(("judge", item, "x", "y", side) for item, side in won),
        ]
    )
    (_, row) = analyse(check(llms=("judge",), choices=picked), Plan())["llm_vs_people"]["people_saved"]
    assert (row["unit"], row["n"], row["n_more"], row["rho"]) == ("item", 10, 10, pytest.approx(1))


def test_few_or_even_answers_have_a_reason() -> None:
    assert str(follows(np.arange(7.0), np.arange(7.0)).reason) == "only 7 in common, at least 8 are needed"
    assert follows(np.ones(9), np.arange(9.0)).reason is not None
    assert follows(np.arange(9.0), np.ones(9)).squared is None


@pytest.mark.parametrize("n", [8, 30])
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9])
def test_intervals_of_what_is_saved_hold(n: int, rho: float) -> None:
    rng, held, runs = np.random.default_rng([n, int(10 * rho)]), 0, 300
    for _ in range(runs):
        llm = rng.normal(size=n)
        found = follows(rho * llm + np.sqrt(1 - rho**2) * rng.normal(size=n), llm)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= rho**2 <= found.high
    assert held / runs >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / runs)
