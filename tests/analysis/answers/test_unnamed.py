"""Lists of scores whose places are no people: tests by item, and only the agreement that asks nobody's name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis import Plan, Reading, check_frames, read_tables
from spa import AnalysisError
from spa.cli import main
from tests.analysis.made_answers import analyse, choices, ratings, render_report

PUBLISHED = Path(__file__).parents[3].parent / "shared" / "cases" / "published" / "scores_without_names"
LISTS = ("as_published", "same_lists_sorted", "same_lists_shuffled")
PLACE_FREE = {
    "krippendorff_alpha_nominal",
    "krippendorff_alpha_ordinal",
    "krippendorff_alpha_interval",
    "exact_agreement",
    "gwet_ac1",
    "icc1",
    "icc1k",
}


def results_of(frame: pl.DataFrame, kind: str = "ratings", *, plan: Plan | None = None, **how: Any) -> dict[str, Any]:
    """Analyse a frame of answers that nobody named; everything but the hash of what was read."""
    tables = check_frames({kind: frame}, Reading(unnamed=True, **how))
    plain = analyse(tables, plan or Plan())
    plain["settings"].pop("inputs")
    return plain


def scores(lists: dict[tuple[str, str], list[int]], **columns: object) -> pl.DataFrame:
    rows = [(f"p{at}", item, system, value) for (item, system), own in lists.items() for at, value in enumerate(own)]
    return ratings(rows, **columns)


def some_lists(seed: int, *, items: int = 8, most: int = 5, systems: str = "xy") -> dict[tuple[str, str], list[int]]:
    rng = np.random.default_rng(seed)
    return {
        (f"i{item}", system): rng.integers(1, 6, rng.integers(2, most + 1)).tolist()
        for item in range(items)
        for system in systems
    }


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published shapes are not there")
@pytest.mark.parametrize("name", LISTS)
def test_unnamed_lists_in_any_order(name: str) -> None:
    """The published lists give one result however they are ordered."""

    def read(stem: str) -> dict[str, Any]:
        tables = read_tables({"ratings": PUBLISHED / f"{stem}.csv"}, Reading(unnamed=True))
        plain = analyse(tables, Plan())
        plain["settings"].pop("inputs")
        return plain

    found = read(name)
    assert found == read("as_published")
    [pair] = found["ratings"]["pairs"]
    assert (pair["unit"], pair["n"], round(pair["mean_difference"], 4)) == ("item", 24, 0.1875)
    assert round(pair["p_value"], 4) == 0.0067
    value = {row["measure"]: round(row["value"], 3) for row in found["agreement"]}
    assert (value["krippendorff_alpha_ordinal"], value["krippendorff_alpha_interval"]) == (0.162, 0.163)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_the_order_of_a_list_leaves_no_trace(seed: int, random: Any) -> None:
    lists = some_lists(seed)
    shuffled = {cell: random.sample(own, len(own)) for cell, own in lists.items()}
    assert (
        results_of(scores(lists))
        == results_of(scores(shuffled))
        == results_of(scores({cell: sorted(own) for cell, own in lists.items()}))
    )


def test_names_of_places_and_visits_are_not_read() -> None:
    lists = some_lists(4)
    plain = scores(lists)
    renamed = plain.with_columns(annotator_id=pl.concat_str(pl.lit("q"), pl.int_range(pl.len()).reverse()))
    in_visits = plain.with_columns(assignment_id="annotator_id", repeat=pl.lit("1"))
    assert results_of(plain) == results_of(renamed) == results_of(in_visits) == results_of(plain.drop("annotator_id"))


def test_the_test_is_that_of_scipy_over_items_means() -> None:
    lists = some_lists(7, items=30)
    [pair] = results_of(scores(lists))["ratings"]["pairs"]
    x, y = ([np.mean(lists[f"i{item}", system]) for item in range(30)] for system in "xy")
    expected = stats.ttest_rel(x, y)
    assert pair["n"] == 30
    assert pair["unit"] == "item"
    assert pair["p_value"] == pytest.approx(expected.pvalue, rel=1e-9)
    assert pair["mean_difference"] == pytest.approx(np.mean(x) - np.mean(y), rel=1e-9)


def test_icc1_is_that_of_one_way_mean_squares() -> None:
    rng = np.random.default_rng(3)
    table = rng.integers(1, 6, (12, 4)) + rng.integers(0, 3, (12, 1))
    lists = {(f"i{at // 2}", "xy"[at % 2]): row.tolist() for at, row in enumerate(table)}
    value = {row["measure"]: row["value"] for row in results_of(scores(lists))["agreement"]}
    between = 4 * table.mean(axis=1).var(ddof=1)
    within = ((table - table.mean(axis=1, keepdims=True)) ** 2).sum() / (12 * 3)
    assert value["icc1"] == pytest.approx((between - within) / (between + 3 * within), rel=1e-9)
    assert value["icc1k"] == pytest.approx((between - within) / between, rel=1e-9)


def test_nothing_that_needs_names_is_given() -> None:
    found = results_of(scores(some_lists(1, items=12)))
    assert {row["measure"] for row in found["agreement"]} == PLACE_FREE
    assert {row["n_annotators"] for row in found["agreement"]} == {None}
    assert found["annotator_pairs"] == []
    assert found["ratings"]["by_annotator"] == []
    assert {row["method"] for row in found["ratings"]["robustness"]}.isdisjoint({"crossed", "z_scores"})
    assert {row["n_annotators"] for row in found["ratings"]["by_system"]} == {None}
    [group] = found["groups"]
    assert (group["annotators"], group["unnamed"], group["fewest_an_output"], group["most_an_output"]) == (
        0,
        "lists",
        2,
        5,
    )
    [pair] = found["ratings"]["pairs"]
    assert pair["p_crossed"] is None
    assert pair["most_of_one"] is None


def test_headline_of_unnamed_people() -> None:
    """The headline speaks of unnamed people and counts no annotators."""
    lists = {cell: [*own, 3] if cell[1] == "y" else [*own, 5] for cell, own in some_lists(2, items=20).items()}
    results = analyse(check_frames({"ratings": scores(lists)}, Reading(unnamed=True)), Plan())
    assert "n = 20 items (3 to 6 unnamed people an output)" in results["headline"]["certainty"]
    assert "annotators" not in results["headline"]["winner"] + results["headline"]["certainty"]
    page = render_report(results, full=False)["report.md"]
    assert "unnamed people an output" in page
    assert "annotators only" not in page


def test_an_llm_keeps_its_name_beside_unnamed_people() -> None:
    lists = some_lists(5)
    judge = ratings([("gpt", item, system, 3) for item, system in lists])
    found = results_of(pl.concat([scores(lists), judge]), llms=("gpt",))
    assert [(row["group"], row["annotators"]) for row in found["groups"]] == [("human", 0), ("gpt", 1)]
    assert found["llm_vs_people"]["alternative_annotator"] == []
    assert found["llm_vs_people"]["rank_tables"] == []


def test_two_crowds_are_told_apart() -> None:
    lists = some_lists(6)
    both = pl.concat([scores(lists, group="experts"), scores(some_lists(8), group="crowd")])
    found = results_of(both)
    alone = results_of(scores(lists, group="experts"))
    of_experts = [row for row in found["agreement"] if row["group"] == "experts"]
    assert of_experts == alone["agreement"]


def test_choices_of_unnamed_people_have_one_share_an_item() -> None:
    chosen = ((("a", "b"), "x"), (("a", "b"), "y"), (("b", "a"), "y"))
    rows = [("p", f"i{item}", *pair, winner) for item in range(12) for pair, winner in chosen]
    found = results_of(choices(rows), "choices")
    [pair] = found["choices"]["pairs"]
    assert (pair["unit"], pair["n"], pair["n_answers"]) == ("item", 12, 12)
    assert pair["win_rate"] == pytest.approx(2 / 3)
    assert {row["measure"] for row in found["agreement"]} == {
        "krippendorff_alpha_nominal",
        "exact_agreement",
        "gwet_ac1",
    }
    turned = [(who, item, y, x, {"x": "y", "y": "x"}[won]) for who, item, x, y, won in rows]
    assert results_of(choices([*rows[:1], *turned[1:]]), "choices")["choices"] == found["choices"]


def test_missing_scores_of_a_list_are_counted() -> None:
    lists = some_lists(9)
    frame = pl.concat([scores(lists), ratings([("p9", "i0", "x", ""), ("p8", "i1", "x", "NA")])])
    found = results_of(frame)
    assert sum(row["n"] for row in found["missing"]) == 2
    assert found["ratings"] == results_of(scores(lists))["ratings"]


@pytest.mark.parametrize(
    ("frames", "means", "said"),
    [
        ({"orders": ("rank",)}, False, "orders"),
        ({"annotators": ()}, False, "annotators"),
        ({}, True, "--unnamed, --means"),
    ],
)
def test_what_needs_names_is_refused(frames: dict[str, Any], means: bool, said: str) -> None:
    made = {
        "orders": pl.DataFrame(
            {"annotator_id": ["a", "a"], "item_id": ["i", "i"], "system": ["x", "y"], "rank": [1, 2]}
        ),
        "annotators": pl.DataFrame({"annotator_id": ["a"]}),
    }
    tables = {"ratings": scores(some_lists(1))} | {kind: made[kind] for kind in frames}
    with pytest.raises(AnalysisError, match=said):
        check_frames(tables, Reading(unnamed=True, means=means))


@pytest.mark.parametrize("option", [("--unnamed",), ("--means",), ("--control", "x")])
def test_tables_in_parts_are_refused_in_one_line(option: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    scores(some_lists(1)).write_csv(path)
    shown = CliRunner().invoke(main, ["report", "--ratings", str(path), "--in-parts", *option, "--json"])
    assert shown.exit_code == 2
    assert f"{option[0]}: not with --ratings in parts" in shown.output


def test_the_option_gives_what_python_gives(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    scores(some_lists(3)).write_csv(path)
    shown = CliRunner().invoke(main, ["report", "--ratings", str(path), "--unnamed", "--json"])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.output)
    [notes] = [row["notes"] for row in found["settings"].pop("inputs")]
    assert "annotator_id: not read, as nobody says who answered" in notes
    assert found == results_of(scores(some_lists(3)))


def test_two_files_are_one_list(tmp_path: Path) -> None:
    frame = scores(some_lists(3))
    parts = [frame[::2], frame[1::2]]
    paths = [tmp_path / f"{at}.csv" for at in range(2)]
    for part, path in zip(parts, paths, strict=True):
        part.write_csv(path)
    found = analyse(read_tables({"ratings": paths}, Reading(unnamed=True)), Plan())
    whole = results_of(frame)
    assert found["agreement"] == whole["agreement"]
    assert found["ratings"]["means"] == whole["ratings"]["means"]


def test_one_name_for_all_and_none_are_pointed_to_the_option() -> None:
    frame = scores(some_lists(3)).with_columns(annotator_id=pl.lit("all"))
    for one in (frame, frame.drop("annotator_id")):
        with pytest.raises(AnalysisError, match="--unnamed"):
            check_frames({"ratings": one}, Reading())


def test_a_test_over_annotators_is_refused() -> None:
    tables = check_frames({"ratings": scores(some_lists(1))}, Reading(unnamed=True))
    with pytest.raises(AnalysisError, match="tested by item"):
        analyse(tables, Plan(unit="annotator"))
