"""Ratings of which few are side by side: the test is of all of them, and of no fewer where more are added."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis import Plan, rating_tests
from analysis.comparisons.partly_paired import BY_CHANCE, PairedOutputs
from analysis.statistics.clustered_difference import SystemClusters
from tests.analysis.made_answers import ratings, render_report, run
from tests.calibration.own_items import OwnItems
from tests.calibration.partly_paired import NULLS, Rotation, shares
from tests.calibration.table import most_by_luck

PUBLISHED = Path(__file__).parents[3].parent / "shared" / "cases" / "published" / "one_rater_an_output"
Row = tuple[str, str, str, object]


def pair_of(results: dict[str, Any]) -> dict[str, Any]:
    (row,) = results["ratings"]["pairs"]
    found: dict[str, Any] = row
    return found


def rotation(items: int, same: int, *, annotators: int = 4, seed: int = 1) -> list[Row]:
    """Have each output rated by one annotator in turn; the first ``same`` items have one for both systems."""
    rng, rows = np.random.default_rng(seed), []
    strict = rng.normal(0, 0.6, annotators)
    for item in range(items):
        level = rng.normal(0, 0.6)
        for side, system in enumerate("xy"):
            who = (item + (side if item >= same else 0)) % annotators
            score = np.clip(np.round(3.3 - 0.3 * side + level + strict[who] + rng.normal(0, 0.8)), 1, 5)
            rows.append((f"a{who}", f"i{item:03}", system, int(score)))
    return rows


def item_differences(rows: list[Row]) -> np.ndarray[Any, Any]:
    by = {(item, system): score for _, item, system, score in rows}
    return np.array([by[item, "x"] - by[item, "y"] for item in dict.fromkeys(row[1] for row in rows)])  # type: ignore[operator]


@pytest.mark.parametrize("same", [1, 4, 30, 53])
def test_partly_paired_single_ratings_are_paired_t(same: int) -> None:
    """With one rating of each output it is the paired t over items."""
    rows = rotation(60, same)
    found = run(ratings=ratings(rows))
    row, wanted = pair_of(found), stats.ttest_1samp(item_differences(rows), 0)
    assert (row["test"], row["unit"], row["n"], row["n_items"]) == ("clustered t", "item", 60, None)
    assert row["unit_note"] == "these annotators only"
    assert (row["t"], row["df"], row["p_value"]) == pytest.approx((wanted.statistic, 59, wanted.pvalue), rel=1e-9)
    assert (row["n_answers"], row["n_paired"], row["n_used"]) == (120, 2 * same, 120)
    (text,) = [one["text"] for one in found["warning_rows"] if one["kind"] == "few_paired"]
    assert f"less than nine tenths ({2 * same} of 120 ratings)" in text
    assert any(f"(x\u2013y: {2 * same} of 120)" in one["text"] for one in found["headline"]["problems"])
    kinds = {one["kind"] for one in found["warning_rows"]}
    assert "paired_only" in kinds
    assert "unpaired_ratings" not in kinds


def test_where_nine_tenths_pair_the_paired_test_stays() -> None:
    found = run(ratings=ratings(rotation(60, 54)))
    row = pair_of(found)
    assert (row["test"], row["n"], row["n_answers"], row["n_used"]) == ("paired t", 54, 120, 108)
    assert "few_paired" not in {one["kind"] for one in found["warning_rows"]}


@pytest.mark.parametrize(
    ("name", "difference", "p_value", "paired"),
    [("rotating", 0.5167, 3.11e-9, 100), ("four_shared", 0.1792, 0.0185, 8), ("none_shared", 0.1708, 0.0265, 0)],
)
def test_partly_paired_segments_of_one_of_four(name: str, difference: float, p_value: float, paired: int) -> None:
    """Segments rated by one of four are compared over all segments."""
    if not (file := PUBLISHED / f"{name}.csv").is_file():
        pytest.skip("the data are not here")
    row = pair_of(run(ratings=pl.read_csv(file, infer_schema=False)))
    assert (row["unit"], row["n"], row["verdict"]) == ("item", 240, "x")
    assert row["mean_difference"] == pytest.approx(difference, abs=5e-5)
    assert row["p_value"] == pytest.approx(p_value, rel=5e-3)
    assert (row["n_answers"], row["n_paired"], row["n_used"]) == (480, paired, 480)
    assert (row["level_problem"] is None) == (name == "rotating")


@pytest.mark.parametrize("each", [1, 2])
def test_four_ratings_side_by_side_hardly_move_the_other_476(each: int) -> None:
    """Annotators of their own rated x, one of these four of y, and others the rest of y.

    Were annotators' weights equal in each system, these four ratings of y would weigh as much as the other 236.
    """
    rng = np.random.default_rng(7)
    x, y = rng.integers(2, 6, 240), rng.integers(1, 6, 240)
    found = []
    for shared in (0, 4):
        rows: list[Row] = [(f"a{item % each}", f"i{item}", "x", int(score)) for item, score in enumerate(x)]
        rows += [
            (f"{'a' if item < shared else 'b'}{item % each}", f"i{item}", "y", int(score))
            for item, score in enumerate(y)
        ]
        found.append(pair_of(run(ratings=ratings(rows))))
    none, four = found
    assert (none["test"], none["unit"], none["n"]) == (four["test"], four["unit"], four["n"])
    assert four["mean_difference"] == pytest.approx(float(x.mean() - y.mean()), abs=0.02)
    assert four["mean_difference"] == pytest.approx(none["mean_difference"], abs=0.02)
    assert abs(four["p_value"] - none["p_value"]) < 0.1
    whose = ("either system", "x") if each == 1 else ()
    said = tuple(f"on this design no test holds its level (all ratings of {one} are by one annotator)" for one in whose)
    assert (none["level_problem"], four["level_problem"]) == (said or (None, None))


designs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(1, 5)), min_size=4, max_size=40)


@settings(max_examples=40)
@given(designs, designs, st.integers(0, 8), st.integers(0, 3))
def test_partly_paired_added_ratings(
    x: list[tuple[int, int, int]], y: list[tuple[int, int, int]], blocks: int, who: int
) -> None:
    """While less than nine tenths pair: all ratings, with one more in each mean."""
    rated = {(f"a{a}", f"i{i}", system): score for system, own in (("x", x), ("y", y)) for a, i, score in own}
    rows: list[Row] = [(*key, score) for key, score in rated.items()]
    rows += [(f"a{who}", f"new{number}", system, 3) for number in range(blocks) for system in "xy"]
    (row,) = rating_tests(ratings(rows))
    n = {system: sum(one[2] == system for one in rows) for system in "xy"}
    assert row.n_answers == len(rows)
    assert row.n_used >= 0.9 * row.n_answers
    if row.test == "clustered t":
        assert row.n_used == row.n_answers
    if row.test == "clustered t" and row.n_paired and not row.one_gave_most:
        mean = {system: sum(int(one[3]) for one in rows if one[2] == system) / n[system] for system in "xy"}  # type: ignore[call-overload]
        assert row.mean_difference == pytest.approx(mean["x"] - mean["y"], abs=1e-9)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=6))
def test_partly_paired_even_annotators(counts: list[tuple[int, int]]) -> None:
    """Annotators are even where Pearson's test of their table says so."""
    n = max(sum(own) for own in zip(*counts, strict=True))
    counts = [*counts, *[(n - sum(one for one, _ in counts) + 1, n - sum(one for _, one in counts) + 1)]]
    system = np.concatenate([np.full(own[side], side) for side in (0, 1) for own in counts])
    who = np.concatenate([np.full(own[side], place) for side in (0, 1) for place, own in enumerate(counts)])
    sums = SystemClusters(system, np.zeros(len(system)), who, np.arange(len(system)), scale=1.0)
    outputs = PairedOutputs(n_x=n + 1, n_y=n + 1, n_paired=0)
    wanted = stats.chi2_contingency(np.array(counts), correction=False).pvalue
    if abs(wanted - BY_CHANCE) > 1e-9:
        assert outputs.even(sums[0], sums[1], "annotators") == (wanted >= BY_CHANCE)


def test_unevenly_spread_annotators_are_taken_as_drawn() -> None:
    """Two of four rated most of x, the others most of y: their strictness is not taken for a difference."""
    rng, rows = np.random.default_rng(2), []
    for item in range(60):
        for side, system in enumerate("xy"):
            who = int(rng.integers(0, 2)) + 2 * (side if item >= 6 else item % 2)
            rows.append((f"a{who}", f"i{item}", system, int(np.clip(round(3 + (who - 1.5) / 2 + rng.normal()), 1, 5))))
    found = run(ratings=ratings(rows))
    row = pair_of(found)
    assert (row["test"], row["unit"], row["n"], row["n_items"]) == ("clustered t", "annotator", 4, 60)
    assert row["crossed_reason"] == "the test is itself over annotators and items at once"
    planned = pair_of(run(ratings=ratings(rows), plan=Plan(unit="item")))
    wanted = stats.ttest_1samp(item_differences(rows), 0)
    assert (planned["test"], planned["unit"], planned["n"]) == ("clustered t", "item", 60)
    assert planned["p_value"] == pytest.approx(wanted.pvalue)
    assert planned["p_value"] < row["p_value"]
    assert "differences between annotators" in planned["level_problem"]


def test_partly_paired_errors_of_ten_annotators() -> None:
    """Eight ratings of each system an annotator, few on one item: statistics of the annotators' shares by hand."""
    rng, rows = np.random.default_rng(3), list[Row]()
    for who in range(12):
        for place in range(8):
            for side, system in enumerate("xy"):
                rows.append((f"a{who}", f"i{(place + 6 * side + who) % 12}", system, int(rng.integers(1, 6))))
    row = pair_of(run(ratings=ratings(rows)))
    assert (row["test"], row["unit"], row["n"], row["n_items"]) == ("clustered t", "annotator", 12, None)
    assert (row["n_paired"], row["n_used"]) == (96, 192)
    score = {(who, system): 0.0 for who, _, system, _ in rows}
    for who, _, system, value in rows:
        score[who, system] += int(value) / 8  # type: ignore[call-overload]
    wanted = stats.ttest_1samp([score[f"a{who}", "x"] - score[f"a{who}", "y"] for who in range(12)], 0)
    assert (row["t"], row["df"], row["p_value"]) == pytest.approx((wanted.statistic, 11, wanted.pvalue))
    assert row["p_crossed"] is not None


def test_partly_paired_figures_beside_the_test() -> None:
    """What stands beside the test is of all ratings or says of how many."""
    rows = rotation(60, 12)
    found = run(ratings=ratings(rows))
    row = pair_of(found)
    scores = [[int(one[3]) for one in rows if one[2] == system] for system in "xy"]  # type: ignore[call-overload]
    assert row["superiority"] == pytest.approx(stats.mannwhitneyu(*scores).statistic / 3600)
    assert row["superiority_low"] is row["d_z"] is None
    spread = np.sqrt(sum(np.var(own, ddof=1) for own in scores) / 2)
    assert row["hedges_g"] == pytest.approx((1 - 3 / (4 * 59 - 1)) * row["mean_difference"] / spread)
    assert row["effect_reason"].startswith("no d_z and no interval of superiority: less than nine tenths")
    checks = {check["method"]: check for check in found["ratings"]["robustness"]}
    wanted = stats.wilcoxon(item_differences(rows), zero_method="pratt", correction=False, method="asymptotic")
    assert (checks["wilcoxon"]["n"], checks["wilcoxon"]["p_value"]) == (60, pytest.approx(wanted.pvalue))
    assert (checks["z_scores"]["p_value"], checks["z_scores"]["reason_code"]) == (None, "few_paired")
    assert (checks["crossed"]["n"], checks["ordinal"]["n"]) == (120, 60)
    assert checks["crossed"]["estimate"] == row["mean_difference"]
    assert (row["p_crossed"], row["crossed_reason"]) == (checks["crossed"]["p_value"], None)
    assert "the means of all ratings are compared" in render_report(found)["report.md"]


@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("shared", [0.1, 0.8])
def test_no_difference_is_found_as_rarely_as_promised(null: str, shared: float) -> None:
    found = shares(Rotation(annotators=5, items=40, shared=shared), NULLS[null], runs=200, seed=2)
    assert found["report"] <= most_by_luck(200, 0.06)


def uneven_items(shift: float, *, easier: float = 0.1, noise: float = 0.5, seed: int = 2) -> list[Row]:
    """Have x rated on easy items and y on hard ones, both on 20 between, where x is ``shift`` better, by two each."""
    rng, rows = np.random.default_rng(seed), []
    for item in range(60):
        for side, system in enumerate("xy"):
            if 20 * side <= item < 40 + 20 * side:
                for who in range(2):
                    level = 6 - easier * item + shift * (1 - side) + rng.normal(0, noise)
                    rows.append((f"a{(item + who + side) % 6}", f"i{item:03}", system, round(level, 1)))
    return rows


@pytest.mark.parametrize("shift", [0.0, -0.9, 0.9])
def test_different_items_of_two_systems_name_no_winner(shift: float) -> None:
    """Of equal systems, and of a worse one, the easier items name none; on those of both the difference is right."""
    rows = uneven_items(shift)
    found = run(ratings=ratings(rows))
    row, (claim,) = pair_of(found), found["headline"]["claims"]
    frame = pl.DataFrame(rows, schema=["who", "item", "system", "score"], orient="row")
    means = frame.group_by("item", "system").agg(pl.col("score").mean()).pivot("system", index="item").drop_nulls()
    assert (row["n_shared_items"], row["shared_difference"]) == (20, pytest.approx((means["x"] - means["y"]).mean()))
    assert row["shared_difference"] == pytest.approx(shift, abs=0.3)
    assert (row["verdict"], row["mean_difference"] > shift + 1) == ("x", True)
    kinds = {one["kind"] for one in found["headline"]["problems"]}
    if shift > 0:
        assert (row["items_decide"], row["own_items"], claim["strength"]) == (False, False, "clear")
        assert claim["winner"] == "x"
    else:
        assert (row["items_decide"], claim["winner"], claim["strength"]) == (True, None, "items_decide")
        assert "x is not clearly ahead on the 20 of both" in found["headline"]["winner"]
        assert "items_decide" in kinds
        certainty = found["headline"]["certainty"]
        assert certainty.startswith("Over all items, x is ")
        assert f" points {'behind' if row['shared_difference'] < 0 else 'ahead'} on those of both." in certainty
    alike = pair_of(run(ratings=ratings(uneven_items(shift, easier=0.0, noise=1.5))))
    assert alike["items_decide"] is False  # no item is easier, whatever noise leaves of the difference on those of both
    even = pair_of(run(ratings=ratings(rotation(60, 4))))
    assert (even["n_shared_items"], even["items_decide"]) == (None, False)


@pytest.mark.parametrize(("shared", "said"), [(0, "none is of both"), (1, "1 is of both"), (2, "2 are of both")])
def test_few_items_of_both_make_a_condition(shared: int, said: str) -> None:
    """Equal systems: the easier items of one are named as what its lead rests on."""
    found = run(ratings=OwnItems(systems=2, shared=shared, easier=1.0).ratings(np.random.default_rng(3)))
    row, (claim,) = pair_of(found), found["headline"]["claims"]
    assert (row["own_items"], row["n_shared_items"], claim["strength"]) == (True, shared, "these_only")
    assert f"ahead of s1 if their items are equally hard ({said})" in found["headline"]["winner"]
    kinds = {one["kind"] for one in found["warning_rows"]}
    assert ("own_items" in kinds, "unpaired_ratings" in kinds) == (shared > 0, shared == 0)
