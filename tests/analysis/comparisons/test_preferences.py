"""Preferences: hand-worked tests, both directions, exposures, units, symmetry, properties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis import Plan, StudyFacts, parse_expectations
from analysis.answers.study_facts import StudySystem
from analysis.printing.document import Figure, Table, every_block, whole
from analysis.report.parts import short_report
from analysis.report.sections import make_section
from analysis.results.files import from_plain
from analysis.statistics.corrections import holm
from tests.analysis.made_answers import Results, build_document, preferences, run

PERCENT = st.integers(0, 100).map(lambda value: value / 100)


def only(results: Results, **wanted: object) -> dict[str, Any]:
    (row,) = [row for row in results["preferences"] if all(row[key] == value for key, value in wanted.items())]
    found: dict[str, Any] = row
    return found


def test_a_hand_worked_test() -> None:
    """0.6, 0.7, 0.8, 0.5: mean 0.65, sd 0.1291, t = 0.15 / 0.06455 = 2.3238 with 3 degrees of freedom."""
    row = only(
        run(preferences=preferences([(who, "x", "y", p) for who, p in zip("abcd", (0.6, 0.7, 0.8, 0.5), strict=True)]))
    )
    assert (row["n"], row["mean"], row["df"]) == (4, 0.65, 3)
    assert row["t"] == pytest.approx(0.15 / (math.sqrt(1 / 60) / 2))
    assert row["p_value"] == pytest.approx(stats.ttest_1samp([0.6, 0.7, 0.8, 0.5], 0.5).pvalue, rel=1e-9)
    low, high = stats.ttest_1samp([0.6, 0.7, 0.8, 0.5], 0.5).confidence_interval(0.95)
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(low), pytest.approx(high))
    assert (row["p_adjusted"], row["n_tests"], row["verdict"], row["stars"]) == (row["p_value"], 1, "indifferent", "")


def test_both_directions_become_one_number_an_annotator() -> None:
    """A: (0.8 + 1 - 0.1) / 2 = 0.85; b: only the reverse, 1 - 0.4 = 0.6; c: 0.5."""
    rows = [("a", "x", "y", 0.8), ("a", "y", "x", 0.1), ("b", "y", "x", 0.4), ("c", "x", "y", 0.5)]
    row = only(run(preferences=preferences(rows)))
    assert (row["system_x"], row["n"], row["mean"]) == ("x", 3, 0.65)


def test_preference_pairs_direction() -> None:
    """Pairs stand in the direction first listed or that of the study."""
    rows = [("a", "y", "x", 0.8), ("b", "x", "y", 0.1)]
    assert only(run(preferences=preferences(rows)))["mean"] == pytest.approx(0.85)
    study = StudyFacts(
        id="s",
        title="S",
        language="en",
        systems=tuple(StudySystem(id=name, name=name, role="system") for name in "xy"),
        criteria=(),
        pairs=(("x", "y"),),
    )
    row = only(run(preferences=preferences(rows), study=study))
    assert (row["system_x"], row["mean"]) == ("x", pytest.approx(0.15))


@pytest.mark.parametrize(
    ("answers", "why", "size"),
    [([0.7], "n = 1", 1), ([0.7] * 5, "no variation", 2), ([0.5] * 4, "no variation", 1)],
)
def test_preferences_untestable_have_a_reason(answers: list[float], why: str, size: int) -> None:
    """What cannot be tested is null with a reason and counts where it is unanimous."""
    rows = [(str(place), "x", "y", p) for place, p in enumerate(answers)]
    rows += [(str(place), "x", "z", p) for place, p in enumerate((0.9, 0.8, 0.7, 0.8))]
    results = run(preferences=preferences(rows))
    row = only(results, system_y="y")
    assert (row["p_value"], row["p_adjusted"], row["verdict"], row["t"], row["stars"]) == (None, None, None, None, "")
    assert why in row["reason"]
    assert only(results, system_y="z")["n_tests"] == size


def test_the_same_number_reached_in_two_ways_is_no_variation() -> None:
    """0.9 and the mean of 0.9 and 1 - 0.1 differ in the last bit of floating point only."""
    rows = [("a", "x", "y", 0.9), ("b", "y", "x", 0.1), ("c", "x", "y", 0.9), ("c", "y", "x", 0.1)]
    assert only(run(preferences=preferences(rows)))["reason"].startswith("no variation")


def test_preference_family() -> None:
    """The family is all pairs and exposures of a group and criterion."""
    rng = np.random.default_rng(1)
    rows, exposure, criterion = [], [], []
    for who in range(12):
        for m in (1, 2):
            for name in ("overall", "style"):
                for pair in (("x", "y"), ("x", "z")):
                    rows.append((str(who), *pair, round(float(rng.uniform(0.4, 0.9)), 2)))
                    exposure.append(m)
                    criterion.append(name)
    table = preferences(rows, exposure=exposure, criterion=criterion)
    apart, pooled = run(preferences=table), run(preferences=table, plan=Plan(family="all"))
    assert {row["n_tests"] for row in apart["preferences"]} == {4}
    assert {row["n_tests"] for row in pooled["preferences"]} == {8}
    own = [row for row in apart["preferences"] if row["criterion"] == "overall"]
    adjusted = list(holm([row["p_value"] for row in own]).p_adjusted)
    assert [row["p_adjusted"] for row in own] == pytest.approx(adjusted, rel=1e-9)


def test_of_an_llm_an_assignment_counts_once() -> None:
    rows = [
        ("g", "x", "y", 0.8),
        ("g", "x", "y", 0.6),
        ("g", "y", "x", 0.3),
        ("p", "x", "y", 0.85),
        ("p", "y", "x", 0.25),
    ]
    table = preferences(rows, assignment_id=["a1", "a2", "a2", "a1", "a2"])
    results = run(preferences=table, llms=("g",))
    assert (only(results, group="g")["n"], only(results, group="g")["mean"]) == (2, 0.725)
    assert (only(results, group="human")["n"], only(results, group="human")["mean"]) == (1, 0.8)
    assert any("not for people" in line for line in results["warnings"])


def test_symmetry_is_tested_before_exclusions() -> None:
    sums = [(0.9, 0.9), (0.6, 0.4), (0.5, 0.55), (0.7, 0.2)]
    rows = [row for place, (p, q) in enumerate(sums) for row in ((str(place), "x", "y", p), (str(place), "y", "x", q))]
    forward, back = run(preferences=preferences(rows))["preference_directions"]
    wanted = stats.ttest_1samp([p + q for p, q in sums], 1.0).pvalue
    assert forward["p_symmetry"] == back["p_symmetry"] == pytest.approx(wanted, rel=1e-9)
    assert (forward["n"], forward["mean"]) == (3, pytest.approx(0.6))
    assert (back["n"], back["mean"]) == (3, pytest.approx((0.4 + 0.55 + 0.2) / 3))
    for row, own in ((forward, [p for p, _ in sums]), (back, [q for _, q in sums])):
        before = [row[f"{name}_before"] for name in ("n", "mean", "sd")]
        assert before == pytest.approx([4, np.mean(own), np.std(own, ddof=1)])


def test_report_of_directions_and_exclusions() -> None:
    """As Figure 5 of the SPA paper: P(x > y) and P(y > x) by outputs read; one of four contradicts itself at m = 2."""
    rows: list[tuple[str, str, str, object]] = []
    exposures = []
    for exposure in (1, 2):
        for who, (p, q) in enumerate([(0.9, 0.9 if exposure == 2 else 0.1), (0.6, 0.4), (0.5, 0.55), (0.7, 0.2)]):
            rows += [(str(who), "x", "y", p), (str(who), "y", "x", q)]
            exposures += [exposure] * 2
    section = make_section(from_plain(run(preferences=preferences(rows, exposure=exposures))), "preferences")
    assert section is not None
    blocks = every_block(whole(section).blocks)
    (table,) = (block for block in blocks if isinstance(block, Table) and block.name == "preference_directions")
    titles = [column.title for column in table.columns]
    shown = [dict(zip(titles, [cell.text for cell in row], strict=True)) for row in table.rows]
    wanted = ("Asked as", "Outputs read", "n before", "Mean before", "n after", "Mean after")
    assert [tuple(row[title] for title in wanted) for row in shown] == [
        ("x over y", "1", "4", "67.5%", "3", "60.0%"),
        ("y over x", "1", "4", "31.3%", "3", "38.3%"),
        ("x over y", "2", "4", "67.5%", "3", "60.0%"),
        ("y over x", "2", "4", "51.3%", "3", "38.3%"),
    ]
    (figure,) = (block for block in blocks if isinstance(block, Figure) and block.name.startswith("directions"))
    for line in ("x over y, before exclusions", "y over x, after exclusions"):
        assert line in figure.svg


def test_a_comparison_that_loses_everybody_stays_as_a_row() -> None:
    rows = [("a", "x", "y", 1), ("a", "y", "x", 1), ("b", "x", "z", 0.5), ("c", "x", "z", 0.7)]
    results = run(preferences=preferences(rows))
    row = only(results, system_y="y")
    assert (row["n"], row["mean"], row["reason"]) == (0, None, "no answers are left")


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(PERCENT, PERCENT), min_size=3, max_size=8))
def test_swapping_a_pair_turns_x_into_one_minus_x(answers: list[tuple[float, float]]) -> None:
    plan = Plan(consistency_tau=None)
    rows = [(str(who), "x", pair, p) for who, both in enumerate(answers) for pair, p in zip("yz", both, strict=True)]
    swapped = [(who, y, x, round(1 - p, 2)) for who, x, y, p in rows]
    one, two = run(preferences=preferences(rows), plan=plan), run(preferences=preferences(swapped), plan=plan)
    for row, mirror in zip(one["preferences"], two["preferences"], strict=True):
        assert mirror["mean"] == pytest.approx(1 - row["mean"], abs=1e-9)
        assert mirror["p_value"] == (None if row["p_value"] is None else pytest.approx(row["p_value"], rel=1e-6))
        assert mirror["verdict"] == {"x": "y", "y": "x"}.get(row["verdict"], row["verdict"])
    strength = {row["system"]: row["strength"] for row in one["bradley_terry"]}
    assert strength == pytest.approx({row["system"]: row["strength"] for row in two["bradley_terry"]}, abs=1e-9)


@settings(max_examples=8, deadline=None)
@given(st.lists(PERCENT, min_size=4, max_size=10), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(answers: list[float], random: Any) -> None:
    rows = [(str(who), "x", "y", p) for who, p in enumerate(answers)]
    rest = rows[1:]
    random.shuffle(rest)
    one, two = (run(preferences=preferences(order)) for order in (rows, [rows[0], *rest]))
    for key in ("preferences", "preference_directions", "bradley_terry", "rankings"):
        assert one[key] == two[key]


def test_preference_strengths_are_log_odds() -> None:
    """Strengths of two systems are the log odds of the mean preference."""
    rows = [(str(who), "x", "y", p) for who, p in enumerate((0.9, 0.7, 0.65))]
    results = run(preferences=preferences(rows))
    strength = {row["system"]: row["strength"] for row in results["bradley_terry"]}
    assert strength["x"] - strength["y"] == pytest.approx(math.log(0.75 / 0.25))
    (ranking,) = results["rankings"]
    assert (ranking["source"], ranking["order"], ranking["unranked"]) == ("preferences", [["x"], ["y"]], [])
    assert [(place["system"], place["rank"]) for place in ranking["places"]] == [("x", 1), ("y", 2)]


TABLE_1 = {  # Ethayarajh and Jurafsky (2022), Table 1: expected, SPA mean and stars
    ("ada", "human"): ("ada < human", 0.420, "*"),
    ("babbage", "ada"): ("babbage > ada", 0.688, "***"),
    ("curie", "babbage"): ("curie > babbage", 0.630, "***"),
    ("davinci", "curie"): ("davinci > curie", 0.575, "***"),
    ("human", "davinci"): ("human ~ davinci", 0.544, ""),
}


def spread(mean: float, t: float, null: float) -> list[float]:
    """Give 90 values of this mean whose t against ``null`` is ``t``."""
    sd = abs(mean - null) * math.sqrt(90) / t
    return [mean + sign * sd * math.sqrt(89 / 90) for sign in (-1, 1) for _ in range(45)]


def test_table_1_recovers_five_of_five_by_spa() -> None:
    """The published means and stars (spreads chosen to give these) lead to the published conclusion at its level, .10.

    For the ratings beside them see ``test_compared_pairs.py``.
    """
    t_of = {"***": 6.0, "*": 2.2, "": 1.2}
    rows: list[tuple[str, str, str, object]] = []
    for pair, (_, preference, stars) in TABLE_1.items():
        rows += [(f"p{who}", *pair, value) for who, value in enumerate(spread(preference, t_of[stars], 0.5))]
    plan = Plan(fwer=0.10, expected=parse_expectations([row[0] for row in TABLE_1.values()]))
    results = run(preferences=preferences(rows), plan=plan)
    found = {(row["system_x"], row["system_y"]): row["stars"] for row in results["preferences"]}
    assert found == {pair: row[2] for pair, row in TABLE_1.items()}
    assert [row["recovered"] for row in results["expected"]] == [True] * 5
    body = short_report(build_document(results))
    (section,) = (one for one in body.sections if one.id == "expected")
    (table,) = (block for block in section.blocks if isinstance(block, Table))
    assert [column.title for column in table.columns][:2] == ["Pair", "Expected"]
    assert "42.0%" in table.rows[0][2].detail  # what was measured, beside what was expected
    assert len(table.rows) == 5


def test_a_direction_without_answers_stays_as_a_row() -> None:
    rows = [("a", "x", "y", 0.7), ("b", "x", "y", 0.6), ("a", "y", "x", ""), ("b", "y", "x", "NA")]
    forward, back = run(preferences=preferences(rows))["preference_directions"]
    assert (forward["n"], forward["reason"]) == (2, "nobody answered both directions")
    assert (back["system_x"], back["n"], back["mean"], back["reason"]) == ("y", 0, None, "no answers are left")


def test_a_symmetry_p_value_of_zero_is_a_warning() -> None:
    values = [(0.9, 0.9 - who % 2 * 1e-6) for who in range(120)]
    rows = [row for who, (p, q) in enumerate(values) for row in ((str(who), "x", "y", p), (str(who), "y", "x", q))]
    results = run(preferences=preferences(rows), plan=Plan(consistency_tau=None))
    assert results["preference_directions"][0]["p_symmetry"] == 0
    assert any("do not add up to 1" in line for line in results["warnings"])
