"""Answers that are all alike: a bound on their chance, and the family that they are claims of."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis import Plan, Reading, StudyFacts, check_frames
from analysis import analyse as analyse_records
from analysis.answers.columns import Scale
from analysis.answers.plan import parse_expectations
from analysis.answers.scales import scale_widths
from analysis.answers.study_facts import StudyCriterion, StudyOption
from analysis.comparisons.preferences import PreferenceTest
from analysis.comparisons.unanimity import alike, unanimous_p
from analysis.results.analyse_sums import analyse_totals
from analysis.statistics.corrections import with_verdicts
from analysis.statistics.t_tests import one_sample
from tests.analysis.made_answers import analyse, check, choices, preferences, ratings, render_report, run
from tests.analysis.totals_in_memory import totals_of
from tests.calibration.table import most_by_luck

FIVE_POINTS = Reading(scales=(Scale(criterion=None, low=1, high=5),))
RNG = np.random.default_rng


def chosen(
    people: int, items: int, winner: str = "x", pair: tuple[str, str] = ("a", "b")
) -> list[tuple[str, str, str, str, str]]:
    """Let everybody choose the same on every item."""
    return [(f"p{who}", f"i{item}", *pair, winner) for who in range(people) for item in range(items)]


def test_fourteen_of_fourteen_people_are_a_sign_test() -> None:
    """All 14 choose A in 56 of 56: with certain answers the bound is the exact two-sided binomial p, 2 / 2^14."""
    (row,) = run(choices=choices(chosen(14, 4)))["choices"]["pairs"]
    assert row["wins_x"] == 56
    assert (row["p_value"], row["verdict"], row["all_alike"]) == (None, None, 14)
    assert row["reason"]
    assert row["p_unanimous"] == pytest.approx(stats.binomtest(14, 14).pvalue, rel=1e-9) == 2**-13
    (mirrored,) = run(choices=choices(chosen(14, 4, winner="y")))["choices"]["pairs"]
    assert mirrored["p_unanimous"] == row["p_unanimous"]


def test_the_warning_says_that_unanimous_answers_take_part() -> None:
    (said,) = (row["text"] for row in run(choices=choices(chosen(14, 4)))["warning_rows"] if row["kind"] == "untested")
    assert "took no part" not in said
    assert "a bound on the chance of such agreement" in said
    (said,) = (
        row["text"] for row in run(choices=choices(chosen(14, 4, "tie")))["warning_rows"] if row["kind"] == "untested"
    )
    assert "took no part in the correction (no variation" in said


def test_an_expectation_is_recovered_by_unanimous_answers() -> None:
    """As the first line names a winner, so do expectations; three people are too few for it."""
    plan = Plan(expected=parse_expectations(["b < a"]))
    for people, found in ((14, "y"), (3, None)):
        (row,) = run(choices=choices(chosen(people, 4)), plan=plan)["expected"]
        assert (row["found"], row["recovered"]) == (found, found is not None)
        assert row["reason"].startswith("no variation")
    low = Plan(expected=parse_expectations(["errs < does"]), lower_is_better=frozenset({"overall"}))
    rows = [
        (who, item, {"a": "does", "b": "errs"}[system], 6 - int(str(score)))
        for who, item, system, score in rated(14, 2, 5, 1)
    ]
    (row,) = analyse(check_frames({"ratings": ratings(rows)}, FIVE_POINTS), low)["expected"]
    assert (row["found"], row["recovered"]) == ("y", True)
    page = render_report(run(choices=choices(chosen(14, 4)), plan=plan))["report.html"]
    assert "1 of 1" in page


def test_ties_of_everybody_say_nothing() -> None:
    (row,) = run(choices=choices(chosen(14, 4, winner="tie")))["choices"]["pairs"]
    assert (row["p_unanimous"], row["all_alike"], row["n_tests"]) == (None, None, None)


def test_few_annotators_count_though_the_unit_is_the_item() -> None:
    """What one person says of 30 items is not 30 independent answers."""
    (row,) = run(choices=choices(chosen(5, 30)))["choices"]["pairs"]
    assert (row["unit"], row["n"], row["all_alike"], row["p_unanimous"]) == ("item", 30, 5, 2**-4)
    (alone,) = run(choices=choices(chosen(1, 30)))["choices"]["pairs"]
    assert (alone["all_alike"], alone["p_unanimous"]) == (None, None)


def test_forms_of_an_llm_count() -> None:
    rows = chosen(1, 12)
    (row,) = run(choices=choices(rows, assignment_id=[f"f{n}" for n in range(12)]), llms=("p0",))["choices"]["pairs"]
    assert (row["all_alike"], row["p_unanimous"]) == (12, 2**-11)


def test_preferences_that_are_all_alike() -> None:
    """Twelve people all say 70 %: 2 (.5 / .7)^12."""
    (row,) = run(preferences=preferences([(f"p{n}", "a", "b", 0.7) for n in range(12)]))["preferences"]
    assert row["p_unanimous"] == pytest.approx(2 * (5 / 7) ** 12, rel=1e-9)
    (row,) = run(preferences=preferences([(f"p{n}", "a", "b", 0.3) for n in range(12)]))["preferences"]
    assert row["p_unanimous"] == pytest.approx(2 * (5 / 7) ** 12, rel=1e-9)


def rated(people: int, items: int, x: int, y: int) -> list[tuple[str, str, str, object]]:
    """Let everybody rate two systems the same way on every item."""
    scores = (("a", x), ("b", y))
    return [(f"p{w}", f"i{i}", system, score) for w in range(people) for i in range(items) for system, score in scores]


def test_differences_of_ratings_that_are_all_alike_need_a_scale() -> None:
    """Two points apart on 1 to 5 is the share (2 / 4 + 1) / 2 = .75; where no scale is declared nothing bounds them."""
    frame = ratings(rated(10, 3, 5, 3))
    (row,) = run(ratings=frame)["ratings"]["pairs"]
    assert (row["p_value"], row["p_unanimous"], row["all_alike"]) == (None, None, None)
    (row,) = analyse(check_frames({"ratings": frame}, FIVE_POINTS), Plan())["ratings"]["pairs"]
    assert (row["all_alike"], row["p_unanimous"]) == (10, pytest.approx(2 * (2 / 3) ** 10, rel=1e-9))


def test_scales_are_those_declared_for_tables_or_by_the_study() -> None:
    """Counts of errors have no end; a criterion rated in a second way has the scale of that way."""
    ways = {"fluency": "likert", "fluency (continuous)": "continuous", "faulty": "category", "errors": "spans"}
    options = (StudyOption(text="no", score=0.0), StudyOption(text="some", score=2.0))
    criteria = (StudyCriterion(id="faulty", name=None, lower_is_better=True, options=options),)
    study = StudyFacts(id="s", title="s", language="en", systems=(), criteria=criteria, likert_points=7)
    assert scale_widths(ways, (), study) == {"fluency": 6, "fluency (continuous)": 100, "faulty": 2}
    scales = (Scale(criterion="fluency", low=1, high=5), Scale(criterion=None, low=0, high=10))
    of_table = dict.fromkeys(("fluency", "sense")) | {"errors": "spans"}
    assert scale_widths(of_table, scales, None) == {"fluency": 4, "sense": 10}
    assert scale_widths(of_table, (), None) == {}


@given(
    values=st.floats(0.5, 1, exclude_min=True),
    n=st.integers(2, 40),
)
def test_the_bound_is_a_chance_and_the_same_from_both_sides(values: float, n: int) -> None:
    """More people or a more extreme value never weaken it; it never claims more than the sign test."""
    bound = unanimous_p(values, n)
    assert bound is not None
    assert 2 * 0.5**n <= bound <= 1
    assert unanimous_p(1 - values, n) == pytest.approx(bound, rel=1e-9)
    more = unanimous_p(values, n + 1)
    assert more is not None
    assert more <= bound


@given(
    means=st.lists(st.floats(0, 1), min_size=2, max_size=8),
    share=st.floats(0.51, 1),
)
def test_unanimity_bound_of_differing_people(means: list[float], share: float) -> None:
    """The chance that all are ``share`` or more is at most the product of m / c, of any means that average 0.5."""
    average = np.mean(means)
    shifted = np.array(means) * 0.5 / average if average > 0.5 else np.array(means)
    chance = float(np.prod(np.minimum(shifted / share, 1)))
    bound = unanimous_p(share, len(means))
    assert bound is not None
    assert min(1.0, 2 * chance) <= bound * (1 + 1e-9)


@pytest.mark.parametrize("share", [0.6, 0.8, 1.0])
@pytest.mark.parametrize("n", [3, 6])
def test_in_the_worst_case_it_is_wrong_as_seldom_as_it_says(share: float, n: int) -> None:
    """Values of 0 and c with a mean of 0.5, the worst that there are: all are c with a chance of (0.5 / c)^n."""
    runs = 40_000
    values = np.where(RNG(1).random((runs, n)) < 0.5 / share, share, 0.0)
    alike = np.all(values == values[:, :1], axis=1)
    bounds = np.ones(runs)
    bounds[alike] = [unanimous_p(float(value), n) for value in values[alike, 0]]
    for level in (0.01, 0.05, unanimous_p(share, n) or 1.0):
        seen = float(np.mean(bounds <= level))
        assert seen <= most_by_luck(runs, level)
    if share == 1:  # both sides can happen, and the bound is exact
        assert np.mean(bounds < 1) == pytest.approx(2 * 0.5**n, rel=0.15)


def family_of_four(unanimous: bool) -> dict[str, Any]:
    """Three systems: one pair unanimous (or never decided), the others answered one way and the other."""
    rng, rows = RNG(3), []
    for pair in (("a", "b"), ("a", "c"), ("b", "c")):
        for who, item in itertools.product(range(12), range(3)):
            winner = "x" if unanimous else "tie"
            if pair != ("a", "b"):
                winner = str(rng.choice(["x", "x", "y", "tie"]))
            rows.append((f"p{who}", f"i{item}", *pair, winner))
    return run(choices=choices(rows))


def test_all_claims_of_a_family_share_its_size() -> None:
    """Two tests run beside a unanimous pair: Holm over three, and three times the bound."""
    claimed, without = family_of_four(unanimous=True), family_of_four(unanimous=False)
    by_pair = {(row["system_x"], row["system_y"]): row for row in claimed["choices"]["pairs"]}
    assert by_pair["a", "b"]["p_unanimous"] == pytest.approx(3 * 2**-11, rel=1e-9)
    run_ = sorted(row["p_value"] for row in by_pair.values() if row["p_value"] is not None)
    adjusted = sorted(row["p_adjusted"] for row in by_pair.values() if row["p_value"] is not None)
    assert adjusted == pytest.approx([min(1, 3 * run_[0]), min(1, max(3 * run_[0], 2 * run_[1]))], rel=1e-9)
    assert {row["n_tests"] for row in by_pair.values()} == {3}
    assert [row["n_tests"] for row in claimed["families"]] == [3]
    assert [row["n_tests"] for row in without["families"]] == [2]
    others = sorted(row["p_adjusted"] for row in without["choices"]["pairs"] if row["p_value"] is not None)
    assert others == pytest.approx([min(1, 2 * run_[0]), min(1, max(2 * run_[0], run_[1]))], rel=1e-9)


def test_a_family_with_unanimous_pairs_keeps_its_rate() -> None:
    """Six pairs without a difference, six people: a false claim of any kind in at most a fifth of all studies.

    On four pairs answers are normal, so that t keeps its level; on two they are all or nothing, and six people agree on
    one in 1 of 32 studies. At .2 both kinds of claims can be made.
    """
    rng, runs, people = RNG(4), 1_500, 6
    blank = {"exposure": None, "t": None, "df": None, "sd": None, "ci_low": None, "ci_high": None}
    wrong = claims = 0
    for _ in range(runs):
        rows = []
        for number, (x, y) in enumerate(itertools.combinations("abcd", 2)):
            certain = (rng.random(people) < 0.5).astype(float)
            values = certain if number < 2 else 0.5 + 0.1 * rng.normal(size=people)
            found = one_sample(values, against=0.5, confidence=0.95)
            fields = blank | found.columns() | {"mean": found.mean, "sd": found.sd} | alike(values)
            rows.append(PreferenceTest(group="g", criterion="c", system_x=x, system_y=y, **fields))
        done = with_verdicts(rows, fwer=0.2, family="criterion")
        unanimous = any((row.p_unanimous or 1) <= 0.2 for row in done)
        claims += unanimous
        wrong += unanimous or any(row.verdict in ("x", "y") for row in done)
    assert claims / runs == pytest.approx(2 / 32, abs=0.02)
    assert wrong / runs <= most_by_luck(runs, 0.2)


def test_pairs_outside_the_family_claim_nothing() -> None:
    """A study that compares a with b only: neither the third system's pairs nor their bounds count."""
    likert = [*rated(10, 2, 5, 3), *((f"p{w}", f"i{i}", "c", 1) for w in range(10) for i in range(2))]
    study = StudyFacts(id="s", title="s", language="en", systems=(), criteria=(), pairs=(("a", "b"),), likert_points=5)
    results = run(ratings=ratings(likert, elicitation="likert"), study=study)
    found = {(row["system_x"], row["system_y"]): row for row in results["ratings"]["pairs"]}
    assert found["a", "b"]["p_unanimous"] == pytest.approx(2 * (2 / 3) ** 10, rel=1e-9)
    assert (found["a", "c"]["p_unanimous"], found["a", "c"]["all_alike"]) == (None, None)
    assert [(row["n_tests"], len(row["untestable"])) for row in results["families"]] == [(1, 1)]


def test_a_table_in_parts_says_the_same() -> None:
    frame = pl.concat([choices(chosen(11, 3)), choices(chosen(11, 3, "y", ("a", "c")))])
    whole = analyse_records(check(choices=frame), Plan())
    assert {row.p_unanimous for row in whole.choices.pairs} == {2 * 2**-10}
    assert analyse_totals(totals_of(check(choices=frame), "choices"), Plan()).choices == whole.choices
    tables = check_frames({"ratings": ratings(rated(10, 3, 5, 3))}, FIVE_POINTS)
    found = analyse_totals(totals_of(tables, "ratings"), Plan()).ratings.pairs
    assert found[0].p_unanimous is not None
    assert found == analyse_records(tables, Plan()).ratings.pairs
