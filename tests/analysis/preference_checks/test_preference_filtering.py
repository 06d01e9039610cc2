"""What filtering changes: the sweep over bounds agrees with the analysis, and one direction alone is biased by it."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import AnswerTables, Plan, consistency_sweep, truncation_shift
from analysis.answers.input import prepare_input
from analysis.ranking.sources import RankingSources
from analysis.results.comparison_tests import analyse_preferences
from analysis.statistics.record import plain, rounded
from tests.analysis.made_answers import check, preferences, run

SAME = ("n", "mean", "sd", "ci_low", "ci_high", "p_value", "p_adjusted", "verdict", "reason")
KEY = ("group", "criterion", "exposure", "system_x", "system_y")


def asked(seed: int, people: int = 25) -> pl.DataFrame:
    """Return answers of people and two variants of an LLM: two criteria, two exposures, repeats, gaps."""
    rng = np.random.default_rng(seed)
    rows = []
    for who in (*(f"p{number}" for number in range(people)), "llm"):
        for visit, variant in (("a1", "plain"), ("a2", "plain"), ("a2", "other")) if who == "llm" else (("a1", None),):
            kind = "llm" if who == "llm" else "human"
            base = {"annotator_id": who, "annotator_kind": kind, "assignment_id": visit, "variant": variant}
            for criterion in ("overall", "style"):
                for exposure in (1, 4):
                    for x, y in (("x", "y"), ("y", "x"), ("y", "z"), ("z", "y"), ("x", "z")):
                        for repeat in ("1", "2") if rng.random() < 0.1 else ("1",):
                            value = round(float(np.clip(rng.normal(0.5, 0.12), 0, 1)), int(rng.integers(1, 4)))
                            rows.append(
                                {
                                    **base,
                                    "criterion": criterion,
                                    "exposure": exposure,
                                    "system_x": x,
                                    "system_y": y,
                                    "repeat": repeat,
                                    "preference": str(value) if rng.random() > 0.03 else "NA",
                                }
                            )
    return pl.DataFrame(rows, infer_schema_length=None)


def as_analysed(rows: list[Any]) -> dict[tuple[Any, ...], dict[str, Any]]:
    listed = [row if isinstance(row, dict) else plain(row) for row in rows]
    return {tuple(row[key] for key in KEY): rounded({name: row[name] for name in SAME}) for row in listed}


def analysed(tables: AnswerTables, tau: Decimal | None) -> list[Any]:
    """Return the tests of preferences that the analysis makes with a bound."""
    plan = Plan(consistency_tau=tau)
    return analyse_preferences(prepare_input(tables, plan, None), RankingSources(plan=plan))[0]


@pytest.mark.parametrize("seed", [0, 1])
def test_every_bound_gives_what_the_analysis_gives(seed: int) -> None:
    tables = check(
        preferences=asked(seed),
        annotators=pl.DataFrame({"annotator_id": ["p0", "p1"], "screening_passed": ["0", "1"], "submissions": [1, 2]}),
    )
    taus = (*(Decimal(step) / 20 for step in range(20, 41, 2)), Decimal("1.333"), None)
    swept = consistency_sweep(tables, Plan(), taus=taus)
    sizes = set()
    for tau in taus:
        wanted = analysed(tables, tau)
        rows = [row for row in swept if row.tau == (None if tau is None else float(tau))]
        assert as_analysed(rows) == as_analysed(wanted), tau
        sizes.add(tuple(row.n for row in rows))
    assert len(sizes) > 4  # the bounds do change who is kept


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 100), st.integers(0, 100)).map(lambda both: (both[0] / 100, both[1] / 100)),
        min_size=3,
        max_size=8,
    ),
    st.integers(100, 200),
)
def test_sums_at_the_bound_are_kept_exactly_as_in_the_analysis(answers: list[tuple[float, float]], cents: int) -> None:
    rows = [row for who, (p, q) in enumerate(answers) for row in ((str(who), "x", "y", p), (str(who), "y", "x", q))]
    tables, tau = check(preferences=preferences(rows)), Decimal(cents) / 100
    (row,) = consistency_sweep(tables, Plan(), taus=(tau,))
    assert row.n == sum(round(100 * p) + round(100 * q) <= cents for p, q in answers)
    assert as_analysed([row]) == as_analysed(analysed(tables, tau))


def test_a_hand_worked_sweep() -> None:
    """Sums 1.0, 1.1, 1.3: under 1.1 the third leaves, all of it."""
    both = [(0.7, 0.3), (0.8, 0.3), (0.9, 0.4)]
    rows = [row for who, (p, q) in enumerate(both) for row in ((str(who), "x", "y", p), (str(who), "y", "x", q))]
    found = consistency_sweep(check(preferences=preferences(rows)), Plan(), taus=(Decimal("1.1"), None))
    bounded, everybody = found
    assert (bounded.tau, bounded.n, bounded.n_excluded) == (1.1, 2, 1)
    assert bounded.mean == pytest.approx((0.7 + 0.75) / 2)
    assert (bounded.mean_forward, bounded.mean_back) == (pytest.approx(0.75), pytest.approx(0.3))
    assert (bounded.shift_forward, bounded.shift_back) == (pytest.approx(0.75 - 0.8), pytest.approx(0.3 - 1 / 3))
    assert (everybody.tau, everybody.n, everybody.shift_forward) == (None, 3, 0)


def test_where_one_direction_was_asked_nothing_can_be_filtered() -> None:
    tables = check(preferences=preferences([(str(who), "x", "y", 0.6 + who / 100) for who in range(5)]))
    assert consistency_sweep(tables, Plan()) == []
    assert run(preferences=preferences([("a", "x", "y", 0.6), ("b", "x", "y", 0.7)]))["consistency_sweep"] == []


def test_filtering_truncation_of_directions() -> None:
    """True P(x > y) = 0.6; unbiased noise of sd 0.1 in both directions; a bound of 1.1 on the sum."""
    rng = np.random.default_rng(11)
    n = 4000
    rows = []
    for who in range(n):
        p, q = rng.normal((0.6, 0.4), 0.1)
        rows += [(str(who), "x", "y", f"{min(max(p, 0), 1):.4f}"), (str(who), "y", "x", f"{min(max(q, 0), 1):.4f}")]
    taus = (Decimal(1), Decimal("1.1"), None)
    strict, usual, _ = consistency_sweep(check(preferences=preferences(rows)), Plan(), taus=taus)
    for row, tau in ((strict, 1.0), (usual, 1.1)):
        wanted = truncation_shift(0.1, tau)
        for shift in (row.shift_forward, row.shift_back):
            assert shift == pytest.approx(wanted, abs=4 * 0.1 / math.sqrt(row.n))
        assert row.mean == pytest.approx(0.6, abs=4 * 0.1 / math.sqrt(2 * row.n))
    assert truncation_shift(0.1, 1.0) == pytest.approx(-0.1 / math.sqrt(2) * math.sqrt(2 / math.pi))


def test_swapping_a_pair_swaps_the_directions() -> None:
    table = asked(3, people=12)
    one = consistency_sweep(check(preferences=table), Plan())
    turned = table.with_columns(
        preference=(1 - pl.col("preference").cast(pl.Float64, strict=False)).round(3).cast(pl.String).fill_null("NA"),
        system_x=pl.col("system_y"),
        system_y=pl.col("system_x"),
    )
    two = consistency_sweep(check(preferences=turned), Plan(), taus=(None,))
    before = [row for row in one if row.tau is None]
    for row, mirror in zip(before, two, strict=True):
        assert row.mean is not None
        assert mirror.mean == pytest.approx(1 - row.mean)
        assert mirror.mean_forward == pytest.approx(1 - (row.mean_forward or 0))
