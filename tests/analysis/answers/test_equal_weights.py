"""One vote an annotator: whoever gave most answers does not decide alone; balanced tables keep Student's t."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import Plan, crossed_test
from analysis.answers.equal_weights import equal_weights, items_of_counts
from analysis.answers.order import order_of
from analysis.answers.units import average_by_unit
from analysis.comparisons.choice_cells import choice_cells
from analysis.comparisons.choices import ChoiceTest, compare_choices
from analysis.comparisons.chosen_parts import chosen_part
from analysis.printing.turning import turned
from analysis.statistics.reasons import why
from analysis.statistics.t_tests import one_sample
from analysis.statistics.weighed_items import WeighedItems
from tests.analysis.made_answers import check, choices, ratings, run
from tests.calibration.one_gave_most import Layout, shares

FIVE_FOR_B = [
    *((f"p{who}", f"own {who} {item}", "A", "B", "y") for who in range(1, 6) for item in range(2)),
    *(("p0", f"i{item}", "A", "B", "y" if item % 10 == 0 else "x") for item in range(200)),
]


def rated_alike(picks: list[tuple[str, str, str, str, str]]) -> list[tuple[str, str, str, object]]:
    """Turn choices into ratings: the chosen one gets a 4, the other a 3 or 2."""
    rows: list[tuple[str, str, str, object]] = []
    for number, (who, item, x, y, picked) in enumerate(picks):
        rows += [
            (who, item, x, 4 if picked == "x" else 2 + number % 2),
            (who, item, y, 4 if picked == "y" else 2 + number % 2),
        ]
    return rows


def test_equal_weights_one_person_does_not_decide() -> None:
    """Five of six always choose B; answers alike would say A at p = 6e-39."""
    results = run(choices=choices(FIVE_FOR_B))
    (row,) = results["choices"]["pairs"]
    assert (row["unit"], row["win_rate"]) == ("item", pytest.approx(0.9 / 6))
    assert (row["pooled_estimate"], row["others_estimate"]) == (pytest.approx(180 / 210), 0)
    assert (row["n_answers"], row["n_used"], row["most_of_one"]) == (210, 210, 200)
    assert row["weights_reverse"] is row["one_gave_most"] is True
    assert row["verdict"] != "x"
    assert row["crossed_verdict"] != "x"
    kinds = {warning["kind"] for warning in results["warning_rows"]}
    assert {"one_gave_most", "weights_reverse"} <= kinds
    assert any("up to 200 of 210" in text for text in results["warnings"])


def test_equal_weights_of_ratings() -> None:
    """Ratings weigh annotators alike too and a planned unit keeps its figures."""
    rows = rated_alike(FIVE_FOR_B)
    (row,) = run(ratings=ratings(rows))["ratings"]["pairs"]
    score = {(who, item, system): value for who, item, system, value in rows}
    difference = {who: [] for who, *_ in rows}  # type: ignore[var-annotated]
    for who, item, system, value in rows:
        if system == "A":
            difference[who].append(value - score[who, item, "B"])  # type: ignore[operator]
    means = [np.mean(own) for own in difference.values()]
    assert row["mean_difference"] == pytest.approx(np.mean(means))
    assert row["pooled_estimate"] == pytest.approx(np.mean(np.concatenate(list(difference.values()))))
    assert (row["n_answers"], row["n_used"], row["most_of_one"], row["weights_reverse"]) == (420, 420, 400, True)
    assert row["d_z"] == pytest.approx(row["t"] / np.sqrt(row["df"] + 1))
    assert np.sign(row["d_z"]) == np.sign(row["hedges_g"]) == np.sign(row["superiority"] - 0.5) == -1
    (planned,) = run(plan=Plan(unit="item"), ratings=ratings(rows))["ratings"]["pairs"]
    values = np.concatenate(list(difference.values()))  # each item has one annotator
    wanted = one_sample(values.astype(float), against=0.0, confidence=0.95)
    assert (planned["mean_difference"], planned["t"]) == pytest.approx((wanted.mean, wanted.t))
    assert planned["one_gave_most"] is planned["weights_reverse"] is True


def test_equal_weights_leave_out_answer_weighted_tests() -> None:
    """Tests that weigh answers alike are left out where one annotator gave most."""
    results = run(ratings=ratings(rated_alike(FIVE_FOR_B)))
    for method in ("wilcoxon", "ordinal"):
        (row,) = [row for row in results["ratings"]["robustness"] if row["method"] == method]
        assert row["p_value"] is None
        assert "one annotator gave most" in row["reason"]


def test_assignments_of_an_llm_weigh_the_same() -> None:
    rows = [("gpt", *pick[1:]) for pick in FIVE_FOR_B]
    results = run(llms=("gpt",), choices=choices(rows, assignment_id=[pick[0] for pick in FIVE_FOR_B]))
    (row,) = results["choices"]["pairs"]
    assert (row["win_rate"], row["most_of_one"], row["weights_reverse"]) == (pytest.approx(0.15), 200, True)
    assert any("one form gave half" in text for text in results["warnings"])


@given(st.integers(1, 9), st.integers(2, 12), st.integers(0, 2**16))
def test_equal_weights_balanced_table_is_t_test(people: int, items: int, seed: int) -> None:
    """A balanced table keeps the t test over items to the last bit."""
    rng = np.random.default_rng(seed)
    picks = [
        (f"p{who}", f"i{item}", "A", "B", str(rng.choice(["x", "y", "tie"])))
        for who in range(people)
        for item in range(items)
    ]
    table = check(choices=choices(picks)).choices
    assert table is not None
    (cells,) = choice_cells(table, order_of(table, ["human"], None))
    (row,) = compare_choices(chosen_part(cells), Plan())
    pair, columns = np.zeros(len(cells.value), dtype=np.int64), {"assignment": cells.assignment, "item": cells.item}
    (units,) = average_by_unit(pair, cells.value, annotator=cells.annotator, **columns, units=["item"], scale=1.0)
    assert units is not None
    wanted = one_sample(units.values, against=0.5, confidence=0.95)
    assert {name: getattr(row, name) for name in wanted.columns()} == wanted.columns()
    assert (row.win_rate, row.pooled_estimate, row.weights_reverse) == (wanted.mean, None, False)


@given(st.lists(st.integers(1, 6), min_size=2, max_size=5), st.integers(0, 2**16))
def test_the_test_over_weighed_items_is_the_sandwich_written_out(counts: list[int], seed: int) -> None:
    """Dense: weighted least squares of a mean, leverages of independent answers, df of Kish's number of answers."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(len(counts)), counts)
    item = rng.integers(0, 4, len(who))
    value = rng.normal(size=len(who))
    weight = equal_weights(np.zeros_like(who), who, 1)
    keep = np.eye(len(who)) - np.ones((len(who), 1)) * weight  # value to its distance from the mean
    names = np.unique(item)
    rows = np.array([np.where(item == name, weight, 0.0) for name in names])
    left = np.sum((rows @ keep) ** 2, axis=1) / np.sum(rows**2, axis=1)
    squares = np.sum(rows**2, axis=1)
    columns = [np.array([column[item == name].sum() for name in names]) for column in (weight, weight * value)]
    items = WeighedItems(mean=columns[1] / columns[0], share=columns[0], square=squares)
    found = items.test(against=0.0, confidence=0.95)
    assert found.mean == pytest.approx(weight @ value)
    if len(names) > 1:
        variance = np.sum((rows @ keep @ value) ** 2 / left)
        assert found.t == pytest.approx(weight @ value / np.sqrt(variance), rel=1e-6)
        assert found.df == pytest.approx(max(1.0, squares.sum() ** 2 / np.sum(squares**2) - 1))


@given(st.integers(2, 30), st.integers(0, 2**16))
def test_equal_weights_ignore_more_of_the_same(times: int, seed: int) -> None:
    """More of the same answers of one annotator change no estimate."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(4), 3)
    value = rng.normal(size=12)
    more = np.concatenate([value, np.tile(value[:3], times)])
    by = np.concatenate([who, np.zeros(3 * times, dtype=np.int64)])
    items = np.arange(len(more))
    one, other = crossed_test(value, who, items[:12]), crossed_test(more, by, items)
    assert other.mean == pytest.approx(one.mean)


def test_items_that_weigh_the_same_are_those_of_students_t() -> None:
    values = np.array([0.5, 1.0, 0.25, 0.0])
    found = items_of_counts(values, np.full(4, 3.0)).test(against=0.5, confidence=0.9)
    assert found == one_sample(values, against=0.5, confidence=0.9)


def test_turning_a_pair_turns_the_estimates_of_other_weights() -> None:
    row = ChoiceTest(
        group="human", criterion="overall", system_x="A", system_y="B", unit="item", n=4, wins_x=1, wins_y=3, ties=0,
        win_rate=0.25, ci_low=None, ci_high=None, p_value=None, reason=why("one_unit"), pooled_estimate=0.75,
        others_estimate=0.0,
    )  # fmt: skip
    back = turned(row)
    assert (back.pooled_estimate, back.others_estimate) == (0.25, 1.0)
    assert turned(back) == replace(row)


@pytest.mark.parametrize(
    "layout",
    [
        Layout(name="", counts=(200, 2, 2, 2, 2, 2), items=200, sharing="own"),
        Layout(name="", counts=(150, 2, 2, 2), items=150, sharing="random"),
        Layout(name="", counts=(40, 20, 10, 5, *[1] * 16), items=40, sharing="first"),
    ],
    ids=lambda layout: f"{len(layout.counts)}-{layout.sharing}",
)
@pytest.mark.parametrize("spread", [(0.6, 0.3), (0.6, 1.0)])
def test_equal_weights_keep_the_level(layout: Layout, spread: tuple[float, float]) -> None:
    """With answers alike the crossed test rejects 80% of the first, with plain variances of items 50% of the last."""
    assert max(shares(layout, spread, runs=500, seed=1)) <= 0.06 + 3 * np.sqrt(0.06 * 0.94 / 500)
