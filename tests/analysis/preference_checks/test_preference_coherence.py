"""Coherence of triples: hand-worked violations, the value that Bradley-Terry implies, simulations, properties."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis import Plan
from analysis.preference_checks.coherence import implied_preference, violations
from tests.analysis.made_answers import Results, preferences, run

OPEN = Plan(consistency_tau=None)
PAIRS = (("a", "b"), ("b", "c"), ("a", "c"))
HUNDREDTHS = st.integers(0, 100)
Three = tuple[float, float, float]


def asked(answers: list[Three]) -> list[tuple[str, str, str, object]]:
    """Return everybody's P(a > b), P(b > c), P(a > c)."""
    return [(f"p{who}", *pair, p) for who, own in enumerate(answers) for pair, p in zip(PAIRS, own, strict=True)]


def rows_of(results: Results) -> tuple[dict[str, Any], dict[str, Any]]:
    together, triple = results["coherence"]
    return together, triple


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def test_a_hand_worked_triple() -> None:
    """One coherent, one that breaks the strong rule only, one that breaks both, one at 1, which has no odds."""
    answers: list[Three] = [(0.8, 0.7, 0.9), (0.8, 0.7, 0.6), (0.8, 0.7, 0.4), (1.0, 0.6, 1.0)]
    together, triple = rows_of(run(preferences=preferences(asked(answers)), plan=OPEN))
    for row in (together, triple):
        assert (row["n"], row["share_weak"], row["share_strong"]) == (4, 0.25, 0.5)
        assert (row["n_discrepancy"], row["n_certain"]) == (3, 1)
    wanted = [logit(c) - logit(a) - logit(b) for a, b, c in answers[:3]]
    found = stats.ttest_1samp(wanted, 0)
    assert triple["mean_discrepancy"] == pytest.approx(np.mean(wanted))
    assert triple["p_value"] == triple["p_adjusted"] == pytest.approx(found.pvalue)
    assert (triple["ci_low"], triple["ci_high"]) == (
        pytest.approx(found.confidence_interval().low),
        pytest.approx(found.confidence_interval().high),
    )
    assert together["mean_discrepancy"] == pytest.approx(np.mean(np.abs(wanted)))
    assert together["p_value"] is None
    means = np.mean(answers, axis=0)
    assert triple["group_discrepancy"] == pytest.approx(logit(means[2]) - logit(means[0]) - logit(means[1]))
    assert (triple["group_weak"], triple["group_strong"]) == (False, True)


@pytest.mark.parametrize("first", ["a", "z"])
@pytest.mark.parametrize("reverse", [False, True])
def test_of_two_alike_the_preferred_one_stands_first(first: str, reverse: bool) -> None:
    """Both are preferred by 1.2 in all; neither names nor the order of rows turn the sign of what is left."""
    rows = asked([(0.61, 0.8, 0.59), (0.59, 0.8, 0.61)])
    rows = [(who, *(first if name == "a" else name for name in pair), p) for who, *pair, p in rows]
    _, triple = rows_of(
        run(preferences=preferences(sorted(rows, key=lambda row: row[1] != "b") if reverse else rows), plan=OPEN)
    )
    assert [triple[f"system_{place}"] for place in "abc"] == [first, "b", "c"]
    assert triple["group_discrepancy"] == pytest.approx(-logit(0.8))


def test_what_bradley_terry_implies_has_no_discrepancy() -> None:
    answers: list[Three] = []
    for a, b in ((0.6, 0.7), (0.55, 0.8), (0.3, 0.4)):
        answers.append((a, b, implied_preference(a, b)))
    together, triple = rows_of(run(preferences=preferences(asked(answers)), plan=OPEN))
    assert (together["share_weak"], together["share_strong"]) == (0, 0)
    assert triple["mean_discrepancy"] == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError, match="certain of opposites"):
        implied_preference(1, 0)


def test_a_chain_of_pairs_has_no_triple_and_says_so() -> None:
    rows = [(f"p{who}", *pair, 0.6 + who / 50) for who in range(5) for pair in PAIRS[:2]]
    (row,) = run(preferences=preferences(rows))["coherence"]
    assert (row["n_triples"], row["n"], row["share_weak"]) == (0, 0, None)
    assert "chain of pairs" in row["reason"]
    assert run(preferences=preferences([("a", "x", "y", 0.6), ("b", "x", "y", 0.7)]))["coherence"] == []


def test_pairs_asked_of_different_people_make_no_triple() -> None:
    rows = [(f"p{who}", *PAIRS[who % 3], 0.6) for who in range(9)]
    (row,) = run(preferences=preferences(rows))["coherence"]
    assert row["n_triples"] == 0


def test_coherence_everybody_certain() -> None:
    """Everybody certain leaves the discrepancy null with a reason."""
    together, triple = rows_of(run(preferences=preferences(asked([(1.0, 0.6, 1.0), (0.0, 0.5, 0.2)])), plan=OPEN))
    for row in (together, triple):
        assert (row["mean_discrepancy"], row["p_value"], row["n_certain"]) == (None, None, 2)
        assert "infinite" in row["reason"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(HUNDREDTHS, HUNDREDTHS, HUNDREDTHS), min_size=1, max_size=5), st.permutations(range(3)))
def test_relabelling_the_systems_changes_no_violation(answers: list[tuple[int, int, int]], order: list[int]) -> None:
    over = np.full((3, 3, len(answers)), 50)
    for (i, j), column in zip(((0, 1), (1, 2), (0, 2)), np.array(answers).T, strict=True):
        over[i, j], over[j, i] = column, 100 - column
    i, j, k = order
    turned = np.column_stack([over[i, j], over[j, k], over[i, k]])
    one, two = violations(np.array(answers) / 100), violations(turned / 100)
    for plain, relabelled in zip(one, two, strict=True):
        assert plain.tolist() == relabelled.tolist()


@settings(max_examples=40, deadline=None)
@given(st.tuples(HUNDREDTHS, HUNDREDTHS, HUNDREDTHS))
def test_violations_by_the_definition_in_whole_numbers(answer: tuple[int, int, int]) -> None:
    over = {(0, 1): answer[0], (1, 2): answer[1], (0, 2): answer[2]}
    over |= {(j, i): 100 - value for (i, j), value in over.items()}
    fits = [
        (over[i, j], over[j, k], over[i, k]) for i, j, k in permutations(range(3)) if min(over[i, j], over[j, k]) >= 50
    ]
    weak, strong = violations(np.array([answer]) / 100)
    assert bool(weak[0]) == any(third < 50 for *_, third in fits)
    assert bool(strong[0]) == any(third < max(one, two) for one, two, third in fits)
    assert not weak[0] or strong[0]


def test_coherence_orders_three_systems() -> None:
    """P(b > a) = P(c > b) = 0.7, P(c > a) = 0.75: stated nearer to even than the odds of the two steps."""
    answers: list[Three] = [(0.3 + shift, 0.3, 0.25) for shift in (0, 0.02, 0.04)]
    _, triple = rows_of(run(preferences=preferences(asked(answers)), plan=OPEN))
    assert [triple[f"system_{letter}"] for letter in "abc"] == ["c", "b", "a"]
    wanted = np.mean([logit(0.75) - logit(0.7) - logit(0.7 - shift) for shift in (0, 0.02, 0.04)])
    assert triple["mean_discrepancy"] == pytest.approx(wanted)
    assert wanted < 0


def test_row_order_and_names_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    answers = [(round(a, 2), round(b, 2), round(c, 2)) for a, b, c in rng.uniform(0.1, 0.9, (9, 3)).tolist()]
    rows = asked(answers)
    turned = [(f"q{10 - int(who[1:])}", y, x, round(1 - float(str(p)), 2)) for who, x, y, p in reversed(rows)]
    one, two = (rows_of(run(preferences=preferences(each), plan=OPEN)) for each in (rows, turned))
    for row, same in zip(one, two, strict=True):
        assert (same["n"], same["share_weak"], same["share_strong"]) == (
            row["n"],
            row["share_weak"],
            row["share_strong"],
        )
    assert two[1]["mean_discrepancy"] == pytest.approx(one[1]["mean_discrepancy"])
    assert two[1]["p_value"] == pytest.approx(one[1]["p_value"])


def test_coherence_keeps_the_level() -> None:
    """Noise on the log odds, symmetric: the implied value holds on average."""
    rng = np.random.default_rng(2)
    runs = 120
    tables = []
    for number in range(runs):
        odds = np.array([0.4, 0.6, 1.0]) + rng.normal(0, 0.5, (12, 3))
        answers = [(float(a), float(b), float(c)) for a, b, c in (1 / (1 + np.exp(-odds))).round(6)]
        tables.append(preferences(asked(answers), criterion=f"c{number}"))
    found = run(preferences=pl.concat(tables), plan=OPEN)["coherence"]
    p_values = [row["p_value"] for row in found if row["p_value"] is not None]
    assert len(p_values) == runs
    wrong = sum(p <= 0.05 for p in p_values)
    assert wrong / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_those_who_choose_at_random_are_mostly_incoherent() -> None:
    """Of three independent uniform answers a quarter is a cycle; the strong rule then holds for one in four."""
    rng = np.random.default_rng(3)
    weak, strong = violations(rng.uniform(0, 1, (4000, 3)))
    assert float(weak.mean()) == pytest.approx(0.25, abs=0.03)
    assert float(strong.mean()) == pytest.approx(0.75, abs=0.03)
