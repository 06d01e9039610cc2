"""Utilities of standard gambles: by hand, as properties, and with annotators whose utilities are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from analysis.answers.gamble_tables import MULTIPLE, REVERSED
from analysis.answers.plan import Plan
from analysis.answers.study_facts import StudyFacts
from analysis.comparisons.choices_section import IMPLIED
from analysis.results.files import from_plain
from analysis.utilities.contribution import LISTS
from analysis.utilities.section import ASSUMED, Panel, differences_figure
from analysis.utilities.utilities import UtilityRows, UtilityShare, chained, utility_rows
from spa.errors import AnalysisError
from tests.analysis.figures.walked import broken, figures_of
from tests.analysis.made_answers import build_document, check, run
from tests.analysis.made_answers import validate as check_schema

CHANCES = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)
ENDS = (0.0, *CHANCES, 1.0)
Row = dict[str, Any]
STUDY = StudyFacts(id="s", title="s", language="en", systems=(), criteria=())


def between(utility: float) -> Row:
    """Return what somebody answers to whom an output is worth so much: indifferent, for sure."""
    place = sum(utility >= chance for chance in CHANCES)
    lower, upper = ENDS[place], ENDS[place + 1]
    return {"utility": (lower + upper) / 2, "lower": lower, "upper": upper, "switches": int(0 < place < len(CHANCES))}


def row(who: str, item: str, system: str, utility: float, **more: Any) -> Row:
    return {"annotator_id": who, "item_id": item, "system": system, **between(utility), **more}


def frame(rows: list[Row]) -> pl.DataFrame:
    columns = dict.fromkeys(
        ("annotator_id", "item_id", "system", "anchor", "missing_reason", "assignment_id"), pl.String
    )
    numbers = dict.fromkeys(("utility", "lower", "upper"), pl.Float64) | dict.fromkeys(("switches", "again"), pl.Int64)
    return pl.DataFrame(rows, schema={**columns, **numbers})


BY_HAND = [
    row("p1", "i1", "a", 0.4),
    row("p1", "i2", "a", 0.7),
    row("p1", "i1", "b", 0.3),
    row("p1", "i2", "b", 0.3),
    row("p2", "i1", "a", 0.6),
    row("p2", "i1", "b", 0.5),
    row("p3", "i1", "a", 0.1),
    row("p3", "i1", "b", 0.9),
]


def rows_of(rows: list[Row], *, size: float = 0.1, shared: bool = False) -> UtilityRows:
    tables = check(gambles=frame(rows))
    assert tables.gambles is not None
    return utility_rows(tables.gambles, ("human",), ("a", "b", "c"), Plan(), size=size, shared=shared)


def test_utilities_and_shares_by_hand() -> None:
    """Of the first: .575 less .275, at least .15 and at most .45; the second has no difference; the third -.75."""
    results = run(gambles=frame(BY_HAND))
    check_schema(results)
    found = {(one["annotator_id"], one["system"]): one for one in results["utilities"]}
    assert found["p1", "a"]["utility"] == pytest.approx((0.425 + 0.725) / 2)
    assert [found["p1", "a"][end] for end in ("lower", "upper", "n")] == pytest.approx([0.5, 0.65, 2])
    differences = {
        one["annotator_id"]: (one["value"], one["lower"], one["upper"]) for one in results["utility_differences"]
    }
    assert differences["p1"] == pytest.approx((0.3, 0.15, 0.45))
    assert differences["p2"] == pytest.approx((0.0, -0.15, 0.15))
    assert differences["p3"] == pytest.approx((-0.75, -0.9, -0.6))
    (share,) = results["utility_shares"]
    assert [share[name] for name in ("system_x", "system_y", "n", "n_x", "n_y")] == ["a", "b", 3, 1, 1]
    assert [share[f"n_{name}"] for name in ("certain_x", "possible_x", "certain_y", "possible_y")] == [1, 2, 1, 2]
    low, high = proportion_confint(1, 3, method="wilson")
    possible = proportion_confint(2, 3, method="wilson")[1]
    for side in "xy":
        assert (share[f"{side}_middle_low"], share[f"{side}_middle_high"]) == pytest.approx((low, high))
        assert (share[f"{side}_ci_low"], share[f"{side}_ci_high"]) == pytest.approx((low, possible))
    assert results["utility_means"] == []


def test_a_difference_of_the_size_is_not_above_it() -> None:
    found = rows_of([row("p1", "i1", "a", 0.6), row("p1", "i1", "b", 0.4)], size=0.15)
    assert (found.shares[0].n_x, found.differences[0].value) == (0, pytest.approx(0.15))
    assert rows_of([row("p1", "i1", "a", 0.6), row("p1", "i1", "b", 0.4)], size=0.149).shares[0].n_x == 1


def test_only_items_of_both_systems_count() -> None:
    found = rows_of([*BY_HAND, row("p2", "i2", "a", 0.99), row("p4", "i2", "a", 0.99)])
    assert found.shares == rows_of(BY_HAND).shares
    assert {one.annotator_id for one in found.differences} == {"p1", "p2", "p3"}


def mirrored(one: Row) -> Row:
    """Return an answer with the two references changed round: what is sure is worth the rest."""
    lower, upper = 1 - one["upper"], 1 - one["lower"]
    return {**one, "utility": (lower + upper) / 2, "lower": lower, "upper": upper}


UTILITIES = st.lists(st.floats(0, 1), min_size=12, max_size=12)


@given(UTILITIES, st.permutations(range(12)))
@settings(max_examples=15, deadline=None)
def test_names_and_order_change_nothing(values: list[float], order: list[int]) -> None:
    """Systems called otherwise, rows in another order, anchors changed round: utilities follow."""
    places = [(who, item, system) for who in ("p1", "p2", "p3") for item in ("i1", "i2") for system in "ab"]
    made = [row(*place, value) for place, value in zip(places, values, strict=True)]
    found = rows_of(made)
    assert rows_of([made[place] for place in order]) == found
    names = {"a": "b", "b": "a"}
    (share,) = found.shares
    (other,) = rows_of([{**one, "system": names[one["system"]]} for one in made]).shares
    assert (other.n_x, other.n_y, other.n_certain_x, other.n_possible_y) == (
        share.n_y,
        share.n_x,
        share.n_certain_y,
        share.n_possible_x,
    )
    turned = rows_of([mirrored(one) for one in made])
    assert [one.utility for one in turned.utilities] == pytest.approx([1 - one.utility for one in found.utilities])
    assert [one.lower for one in turned.utilities] == pytest.approx([1 - one.upper for one in found.utilities])
    assert (turned.shares[0].n_x, turned.shares[0].n_y) == (share.n_y, share.n_x)


def test_lists_that_do_not_switch_once_are_counted() -> None:
    nothing = {"utility": None, "lower": None, "upper": None}
    rows = [
        *BY_HAND,
        row("p4", "i1", "a", 0.99),
        row("p4", "i1", "b", 0.01),
        row("p5", "i1", "a", 0.5) | nothing | {"switches": 2},
        row("p5", "i2", "a", 0.5) | nothing | {"switches": 1},
        row("p5", "i1", "b", 0.5) | nothing | {"switches": None, "missing_reason": "no answer"},
    ]
    results = run(gambles=frame(rows))
    (found,) = results["utility_lists"]
    counted = {name.removeprefix("n_"): value for name, value in found.items() if name.startswith("n")}
    expected = {"n": 13, "switched": 8, "all_sure": 1, "all_gamble": 1, "multiple": 1, "reversed": 1, "missing": 1}
    assert counted == expected
    tables = check(gambles=frame(rows))
    assert tables.gambles is not None
    assert tables.gambles["missing_reason"].drop_nulls().to_list() == [MULTIPLE, REVERSED, "no answer"]
    assert results["utility_shares"][0]["n"] == 4


def anchored(who: str, values: dict[str, float], *, bonus: float = 0.0, item: str = "i1") -> list[Row]:
    """Return the answers of somebody to whom what is sure is worth more by a bonus; two lists have a second anchor."""
    once = [row(who, item, system, min(value + bonus, 1.0)) for system, value in values.items()]
    (a, of_a), (b, of_b) = values.items()
    pairs = ((a, of_a, b, of_b), (b, of_b, a, of_a))
    second = [
        row(who, item, one, (of_one + bonus - of_other) / (1 - of_other), anchor=other, again=0)
        for one, of_one, other, of_other in pairs
    ]
    return [*once, *second]


@given(st.lists(st.tuples(st.floats(0, 0.99), st.floats(0, 0.99)), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_independent_preferences_agree_with_both_anchors(values: list[tuple[float, float]]) -> None:
    rows = [one for who, (a, b) in enumerate(values) for one in anchored(f"p{who}", {"a": a, "b": b})]
    (found,) = rows_of(rows).checks
    assert (found.check, found.n, found.n_alike) == ("second_anchor", 2 * len(values), 2 * len(values))
    assert found.p_value is None


def test_what_is_sure_valued_for_it_shows_by_the_second_anchor() -> None:
    """A bonus for what is sure comes in twice: the second anchor gives higher utilities, and the words say so."""
    rng = np.random.default_rng(5)
    rows = [
        one
        for who in range(40)
        for one in anchored(f"p{who}", {"a": rng.uniform(0.3, 0.6), "b": rng.uniform(0.1, 0.3)}, bonus=0.25)
    ]
    results = run(gambles=frame(rows))
    (found,) = results["utility_checks"]
    assert found["n_higher"] > 15
    assert found["n_lower"] == 0
    assert found["p_value"] < 0.001
    assert found["n"] == found["n_alike"] + found["n_higher"] + found["n_lower"] == 80
    (section,) = [one for one in build_document(results).sections if one.id == "utilities"]
    assert "higher more often, as by the certainty effect" in str(section.blocks)


def test_a_chained_utility_by_hand() -> None:
    """Half of the way from .4 to 1 is .7; whoever never prefers the output may find it worse than the anchor."""
    assert chained((0.4, 0.35, 0.5), (0.5, 0.35, 0.65)) == pytest.approx((0.7, 0.35 + 0.65 * 0.35, 0.5 + 0.5 * 0.65))
    assert chained((0.4, 0.35, 0.5), (0.025, 0.0, 0.05))[1:] == pytest.approx((0.0, 0.5 + 0.5 * 0.05))


def test_lists_asked_again_are_compared_with_the_first() -> None:
    """The same chances are alike; others are higher or lower, and do not change the utility."""
    again = [row(who, "i1", "a", value, again=1) for who, value in (("p1", 0.45), ("p2", 0.9), ("p3", 0.01))]
    found = rows_of([*BY_HAND, *again])
    (check_row,) = found.checks
    assert (check_row.check, check_row.n, check_row.n_annotators) == ("again", 3, 3)
    assert (check_row.n_alike, check_row.n_higher, check_row.n_lower) == (1, 1, 1)
    assert check_row.p_value == 1.0
    assert found.utilities == rows_of(BY_HAND).utilities


def test_means_need_the_assumption_and_print_it() -> None:
    """Mean and interval of scipy's t; without the study's word there is none."""
    study = replace(STUDY, shared_anchors=True, gamble_difference=0.25)
    results = run(gambles=frame(BY_HAND), study=study)
    check_schema(results)
    found = {(one["system_x"], one["system_y"]): one for one in results["utility_means"]}
    values = np.array([0.575, 0.575, 0.125])
    half = student.ppf(0.975, 2) * values.std(ddof=1) / np.sqrt(3)
    assert found["a", None]["mean"] == pytest.approx(values.mean())
    assert found["a", None]["ci_high"] == pytest.approx(values.mean() + half)
    assert found["a", "b"]["mean"] == pytest.approx((0.3 + 0.0 - 0.75) / 3)
    assert results["utility_shares"][0]["difference"] == 0.25
    said = str(build_document(results).sections)
    assert ASSUMED in said
    assert "utilities" in [one.name for one in figures_of(from_plain(results))]
    assert broken(from_plain(results)) == []
    without = run(gambles=frame(BY_HAND), study=STUDY)
    assert without["utility_means"] == []
    assert ASSUMED not in str(build_document(without).sections)


def test_one_annotator_has_a_mean_without_interval() -> None:
    study = replace(STUDY, shared_anchors=True)
    results = run(gambles=frame(BY_HAND[:4]), study=study)
    assert {one["reason_code"] for one in results["utility_means"]} == {"one_unit"}
    assert from_plain(results).utility_means[0].ci_low is None


def test_utilities_imply_choices_within_annotators() -> None:
    """The higher utility wins, the same chances are a tie, and a list without a utility implies nothing."""
    lost = {"utility": None, "lower": None, "upper": None, "switches": 2}
    rows = [*BY_HAND, row("p2", "i2", "a", 0.5) | lost, row("p2", "i2", "b", 0.5), row("p2", "i1", "a", 0.9, again=1)]
    choices = check(gambles=frame(rows)).choices
    assert choices is not None
    pair = choices.select("annotator_id", "item_id", "system_x", "system_y", "value").rows()
    assert sorted(pair) == [
        ("p1", "i1", "a", "b", 1.0),
        ("p1", "i2", "a", "b", 1.0),
        ("p2", "i1", "a", "b", 0.5),
        ("p3", "i1", "a", "b", 0.0),
    ]
    assert choices["elicitation"].unique().to_list() == ["gamble"]
    results = run(gambles=frame(rows))
    assert IMPLIED[LISTS] in str(build_document(results).sections)


def test_asked_and_implied_choices_stay_apart() -> None:
    asked = pl.DataFrame(
        {"annotator_id": ["p1"], "item_id": ["i1"], "system_x": ["a"], "system_y": ["b"], "winner": ["y"]}
    )
    results = run(gambles=frame(BY_HAND), choices=asked)
    assert {one["criterion"] for one in results["choices"]["pairs"]} == {"overall", "overall (gamble)"}
    assert {one["criterion"] for one in results["utility_shares"]} == {"overall (gamble)"}


def test_assignments_of_an_llm_count_one_by_one() -> None:
    rows = [one | {"assignment_id": f"a{place // 2}"} for place, one in enumerate(BY_HAND[4:])]
    rows = [one | {"annotator_id": "gpt"} for one in rows]
    results = run(gambles=frame(rows), llms=("gpt",))
    (share,) = results["utility_shares"]
    assert (share["unit"], share["n"], share["n_y"]) == ("assignment", 2, 1)
    assert {one["assignment_id"] for one in results["utilities"]} == {"a0", "a1"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"lower": None}, "row 1: a utility needs lower and upper"),
        ({"lower": 0.6}, "row 1: lower and upper must be chances from 0 to 1, lower below upper, got 0.6"),
        ({"upper": 35.0, "utility": 20.0}, "row 1: lower and upper must be chances from 0 to 1"),
        ({"utility": 0.9}, "row 1: utility must lie between lower and upper, got 0.9"),
        ({"again": 2}, "row 1: again must be 0 or 1, got 2"),
    ],
)
def test_a_table_that_means_nothing_is_refused(wrong: Row, said: str) -> None:
    with pytest.raises(AnalysisError, match=said):
        check(gambles=frame([BY_HAND[0] | wrong]))
    with pytest.raises(AnalysisError, match="expected one answer a cell, got 2"):
        check(gambles=frame([BY_HAND[0], BY_HAND[0]]))


@pytest.mark.parametrize(("items", "spread", "by_middles"), [(10, 0.12, (0.92, 0.99)), (3, 0.05, (0.5, 0.88))])
def test_interval_of_the_share_covers_the_truth(items: int, spread: float, by_middles: tuple[float, float]) -> None:
    """With known utilities: the share of people whose true difference is above the size.

    An interval that takes the middles for the utilities covers it where there are many items and differences lie apart,
    and too seldom where many are near the size; the one that is reported first holds in both.
    """
    size, people, studies = 0.1, 30, 80
    rng = np.random.default_rng(11)
    truth = float((rng.normal(0.12, spread, 200_000) > size).mean())
    covered = np.zeros(2)
    for _ in range(studies):
        rows = []
        for person, gap in enumerate(rng.normal(0.12, spread, people)):
            for item, base in enumerate(rng.uniform(max(-gap, 0.0), 1 - max(gap, 0.0), items)):
                rows += [(person, item, "a", base + gap), (person, item, "b", base)]
        found = _share(rows, size)
        covered += found.x_ci_low <= truth <= found.x_ci_high, found.x_middle_low <= truth <= found.x_middle_high
    reported, middles = covered / studies
    assert reported >= 0.95
    assert by_middles[0] <= middles <= by_middles[1]


def _share(rows: list[tuple[int, int, str, float]], size: float) -> UtilityShare:
    """Return the row of shares, without checks of tables."""
    given = [
        {"annotator_id": f"p{who}", "item_id": f"i{item}", "system": system, **between(utility)}
        for who, item, system, utility in rows
    ]
    empty = ("anchor", "sample", "assignment_id", "missing_reason")
    whole = (
        pl.DataFrame(given)
        .rename({"utility": "value"})
        .with_columns(
            *(pl.lit(None, dtype=pl.String).alias(name) for name in empty),
            group=pl.lit("human"),
            annotator_kind=pl.lit("human"),
            criterion=pl.lit("overall"),
            again=pl.lit(0),
        )
    )
    (found,) = utility_rows(whole, ("human",), ("a", "b"), Plan(), size=size, shared=False).shares
    return found


def test_the_figure_draws_each_annotator() -> None:
    panel = Panel(title="A over B", differences=((0.3, 0.15, 0.45), (-0.75, -0.9, -0.6)))
    svg = differences_figure((panel,), 0.1, alternative="Two annotators")
    assert svg.count('stroke-opacity="0.45"') == 2
    assert "A over B" in svg
    assert svg.count('stroke-dasharray="3,3"') == 2
