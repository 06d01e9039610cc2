"""Orders of outputs: Plackett-Luce against choix and Bradley-Terry, recovery of known strengths, ties, places."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import choix
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm, rankdata, t, ttest_1samp

from analysis.answers.options import Reading
from analysis.answers.plan import Plan
from analysis.answers.tables import AnswerTables, check_frames
from analysis.orders.patterns import MOST_ORDERS
from analysis.orders.plackett_luce import PlackettLuce, plackett_luce
from analysis.printing.document import Bullets
from analysis.records.results import Results
from analysis.report.sections import build_document
from analysis.results.analyse import analyse
from analysis.statistics.coding import Floats, Ints
from analysis.strengths.estimate import bradley_terry
from spa.errors import AnalysisError

TRUTH = np.array([1.0, 0.3, -0.3, -1.0])
SYSTEMS = ("a", "b", "c", "d")


def drawn(n: int, *, seed: int, truth: Floats = TRUTH) -> Floats:
    """Draw orders from the Plackett-Luce model: utilities with Gumbel noise, sorted."""
    noise = np.random.default_rng(seed).gumbel(size=(n, len(truth)))
    return rankdata(-(truth + noise), axis=1)


def fit(ranks: Floats, cluster: Ints | None = None, **more: Any) -> PlackettLuce:
    names = SYSTEMS[: ranks.shape[1]]
    cluster = np.arange(len(ranks)) if cluster is None else cluster
    return plackett_luce(ranks, systems=names, cluster=cluster, rng=np.random.default_rng(0), **more)


def by_choix(orders: list[list[int]]) -> Floats:
    found: Floats = choix.ilsr_rankings(len(SYSTEMS), orders, max_iter=1000, tol=1e-10)
    return found - found.mean()


def test_without_ties_strengths_are_those_of_choix() -> None:
    ranks = drawn(150, seed=1)
    assert fit(ranks).strength == pytest.approx(by_choix(np.argsort(ranks, axis=1).tolist()), abs=1e-6)


def test_parts_of_the_systems_are_ranked() -> None:
    ranks = drawn(150, seed=2)
    ranks[np.arange(150), np.arange(150) % 4] = np.nan
    orders = [[i for i in np.argsort(row).tolist() if np.isfinite(row[i])] for row in ranks]
    assert fit(ranks).strength == pytest.approx(by_choix(orders), abs=1e-6)


def test_orders_ties_are_means_of_orders() -> None:
    """An ordering with ties is the mean of the orders that they allow."""
    ranks = drawn(120, seed=3)
    ranks[::3] = np.where((ranks[::3] == 2) | (ranks[::3] == 3), 2, ranks[::3])
    orders = []
    for row in ranks:
        order = np.argsort(row, kind="stable").tolist()
        tied = len(set(row)) < 4
        orders += [order, [order[0], order[2], order[1], order[3]] if tied else order]
    found = fit(ranks)
    assert found.strength == pytest.approx(by_choix(orders), abs=1e-6)
    assert (found.n_tied, found.n_partial, found.n_left_out, found.interval) == (40, 0, 0, "sandwich")


def best_of(ranks: Floats, few: int) -> Floats:
    """Keep the places of the best few; all others share the next."""
    return np.minimum(ranks, few + 1)


@pytest.mark.parametrize("few", [1, 3, 7])
def test_a_tied_last_place_is_a_partial_ranking_at_any_length(few: int) -> None:
    """The product of the first choices, maximised by choix from (best, those left)."""
    truth = np.linspace(0.8, -0.8, 12)
    ranks = best_of(drawn(400, seed=11, truth=truth), few)
    ranks[::5, 6:] = np.nan  # some are about six of the systems
    data = []
    for row in ranks:
        ranked = np.flatnonzero(np.isfinite(row)).tolist()
        top = sorted((one for one in ranked if row[one] < np.nanmax(row)), key=lambda one: row[one])
        data += [(one, [other for other in ranked if row[other] > row[one]]) for one in top]
    wanted = choix.ilsr_top1(12, data, max_iter=1000, tol=1e-12)
    found = plackett_luce(ranks, systems="abcdefghijkl", cluster=np.arange(400), rng=np.random.default_rng(0))
    assert found.strength == pytest.approx(wanted - wanted.mean(), abs=1e-6)
    assert found.n_left_out == 0
    assert np.isfinite(found.ci_low).all()


def test_the_best_three_of_eight_give_the_strengths_of_choix(shared_data: Path) -> None:
    case = shared_data.parent / "cases" / "statistics" / "topk-rankings"
    if not case.is_dir():
        pytest.skip("shared cases are not here")
    found = analysed(pl.read_csv(case / "orders.csv", infer_schema=False))
    wanted = json.loads((case / "expected.json").read_text())["plackett_luce_top3"]
    assert {row.system: row.strength for row in found.order_strengths} == pytest.approx(wanted, abs=1e-4)


def test_two_tied_in_last_place_are_nothing_of_each_other() -> None:
    """Which of the two that share the last place is better, others alone say."""
    ranks = drawn(200, seed=12)
    partial = np.where(ranks >= 3, 3, ranks)
    by_hand = minimize(lambda s: -_log_likelihood(s, np.argsort(ranks, axis=1)[:, :2]), np.zeros(4), tol=1e-12).x
    assert fit(partial).strength == pytest.approx(by_hand - by_hand.mean(), abs=1e-4)
    assert (fit(partial).n_tied, fit(partial).n_partial) == (200, 200)
    with_more = np.vstack([partial, np.ones((50, 4)), [[1, 1, np.nan, np.nan]]])  # all tied: no choice
    again = fit(with_more)
    assert again.strength == pytest.approx(fit(partial).strength, abs=1e-8)
    assert (again.n_orderings, again.n_partial, again.n_left_out) == (251, 251, 0)


def _log_likelihood(strength: Floats, top: Ints) -> float:
    first, second = top.T
    left = np.exp(strength).sum() - np.exp(strength)[first]
    whole = np.log(np.exp(strength).sum())
    return float((strength[first] - whole + strength[second] - np.log(left)).sum())


def test_intervals_of_partial_rankings_hold_the_truth() -> None:
    truth, inside = np.linspace(0.6, -0.6, 6), []
    for seed in range(150):
        ranks = best_of(drawn(60, seed=3000 + seed, truth=truth), 2)
        found = plackett_luce(ranks, systems="abcdef", cluster=np.arange(60) // 4, rng=np.random.default_rng(0))
        inside.append((found.ci_low <= truth) & (found.ci_high >= truth))
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)


def test_orders_system_never_ranked() -> None:
    """A system that a group never ranked leaves the others as they are."""
    ranks = drawn(80, seed=13)
    ranks[:, 3] = np.nan
    found, without = fit(ranks), fit(ranks[:, :3])
    assert found.strength[:3].tolist() == without.strength.tolist()
    assert found.ci_low[:3].tolist() == without.ci_low.tolist()
    assert list(map(str, filter(None, found.reasons))) == ["never compared here"]
    by_pairs = bradley_terry(["a", "b", "a"], ["b", "a", "b"], [1, 1, 1], systems=["a", "b", "c"])
    assert [reason and reason.code for reason in by_pairs.reasons] == [None, None, "never_compared"]


@pytest.mark.parametrize("k", [2, 3, 5])
def test_where_all_is_tied_both_models_say_that_nothing_varies(k: int) -> None:
    found = plackett_luce(np.ones((12, k)), systems="abcde"[:k], cluster=np.arange(12), rng=np.random.default_rng(0))
    x, y = np.triu_indices(k, 1)
    pairs = bradley_terry(
        np.tile(x, 12),
        np.tile(y, 12),
        np.full(12 * len(x), 0.5),
        systems=[*"abcde"[:k]],
        clusters={"annotator": np.repeat(np.arange(12), len(x))},
    )
    assert found.strength.tolist() == found.thurstone.tolist() == [0.0] * k
    assert pairs.strength == pytest.approx(np.zeros(k), abs=1e-12)
    assert found.no_interval == pairs.no_interval
    assert str(found.no_interval) == "no variation: every annotator says the same, so there is no interval"
    assert np.isnan([found.ci_low, found.ci_high]).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.permutations(range(4)), min_size=2, max_size=8), st.integers(2, 4))
def test_both_models_find_strengths_of_the_same_systems(orders: list[list[int]], k: int) -> None:
    """Of orderings without ties the tables of wins are the same, and so are the reasons."""
    ranks = np.argsort(orders, axis=1)[:, :k].argsort(axis=1) + 1.0
    x, y = np.triu_indices(k, 1)
    pairs = bradley_terry(
        np.tile(x, len(ranks)),
        np.tile(y, len(ranks)),
        (ranks[:, x] < ranks[:, y]).astype(float).ravel(),
        systems=[*SYSTEMS[:k]],
    )
    found = fit(ranks)
    assert found.reasons == pairs.reasons
    assert np.isfinite(found.strength).tolist() == np.isfinite(pairs.strength).tolist()


def test_two_systems_give_bradley_terry_with_its_sandwich() -> None:
    rng = np.random.default_rng(4)
    won, annotator = rng.random(80) < 0.7, np.arange(80) // 5
    found = fit(np.where(won[:, None], [1.0, 2.0], [2.0, 1.0]), annotator)
    wanted = bradley_terry(["a"] * 80, ["b"] * 80, won.astype(float), clusters={"annotator": annotator})
    assert found.strength == pytest.approx(wanted.strength, abs=1e-9)
    assert found.ci_low == pytest.approx(wanted.ci_low, abs=1e-9)
    assert found.ci_high == pytest.approx(wanted.ci_high, abs=1e-9)
    assert (found.interval, found.n_clusters) == ("sandwich", 16)


def test_thurstone_is_the_most_likely_and_recovers_the_truth() -> None:
    utility = TRUTH + np.random.default_rng(6).normal(scale=0.5**0.5, size=(4000, 4))  # noise of a difference: 1
    ranks = rankdata(-np.round(utility, 1), axis=1)  # some are tied
    wins = np.array([[(ranks[:, i] < ranks[:, j]).sum() for j in range(4)] for i in range(4)], dtype=float)
    wins += (len(ranks) - wins - wins.T) / 2 * ~np.eye(4, dtype=bool)

    def loss(strength: Floats) -> float:
        gaps = strength[:, None] - strength[None, :]
        return float(-(wins * norm.logcdf(gaps)).sum() / len(ranks) + strength.sum() ** 2)

    found = fit(ranks).thurstone
    assert found == pytest.approx(minimize(loss, np.zeros(4)).x, abs=1e-4)
    assert found == pytest.approx(TRUTH, abs=0.05)


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(4)), st.integers(0, 100))
def test_renamed_systems_keep_their_strengths(order: list[int], seed: int) -> None:
    ranks = drawn(60, seed=seed)
    assert fit(ranks[:, order]).strength == pytest.approx(fit(ranks).strength[order], abs=1e-8, nan_ok=True)


def test_gaps_between_ranks_do_not_matter() -> None:
    ranks = drawn(60, seed=5)
    assert fit(3 * ranks + 7).strength.tolist() == fit(ranks).strength.tolist()


@pytest.mark.parametrize("tied", [False, True])
def test_intervals_hold_the_truth_as_often_as_they_say(tied: bool) -> None:
    inside = []
    for seed in range(60):
        ranks = drawn(120, seed=1000 + seed, truth=np.array([0.6, 0.0, -0.6]))
        if tied:
            ranks[0] = 1
        found = fit(ranks, np.arange(120) // 4)
        inside.append((found.ci_low <= [0.6, 0.0, -0.6]) & (found.ci_high >= [0.6, 0.0, -0.6]))
    assert 0.86 <= np.mean(inside) <= 0.995


def orderings_of(people: int, most: int, seed: int) -> tuple[Floats, Ints]:
    """Draw orderings of equal systems by people of different taste, of whom one gave ``most`` and the others 3."""
    who = np.repeat(np.arange(people), [most] + [3] * (people - 1))
    rng = np.random.default_rng(seed)
    taste = rng.normal(0, 0.6, (people, 3))[who]
    return rankdata(-(taste + rng.gumbel(size=taste.shape)), axis=1), who


def test_one_persons_many_orderings_do_not_narrow_the_intervals() -> None:
    """With t(11) and CR1 23 % of such intervals held the truth, 0."""
    inside = []
    for seed in range(100):
        found = fit(*orderings_of(12, 200, seed))
        assert found.alike
        inside.append((found.ci_low <= 0) & (found.ci_high >= 0))
    assert np.mean(inside) >= 0.93 - 3 * (0.95 * 0.05 / 100) ** 0.5


def test_orders_below_four_degrees_of_freedom() -> None:
    """Below four degrees of freedom annotators count alike and again below there is no interval."""
    ranks, who = orderings_of(12, 200, seed=3)
    plain, alike = fit(ranks, who, least_df=0.0), fit(ranks, who)
    assert plain.df.max() < 4 < alike.df.min()
    assert (plain.alike, alike.alike) == (False, True)
    again = np.repeat(np.arange(len(who)), np.where(who == 0, 3, 200))  # 600 orderings by everybody
    assert alike.strength == pytest.approx(fit(ranks[again], who[again]).strength, abs=1e-9)
    few = fit(*orderings_of(4, 20, seed=4))
    assert np.isfinite(few.strength).all()
    assert np.isnan([few.ci_low, few.ci_high, few.df]).all()
    assert (few.interval, few.rank_low.tolist()) == (None, [0, 0, 0])
    assert "4 degrees of freedom" in str(few.no_interval)


def test_orders_covariance_is_unbiased() -> None:
    """Clusters of very different size: the mean of CR2 is the spread of the strengths, which CR1 falls far below."""
    truth, who = np.array([0.5, 0.0, -0.5]), np.repeat(np.arange(8), [80] + [5] * 7)
    found = [fit(drawn(len(who), seed=seed, truth=truth), who, least_df=0.0) for seed in range(250)]
    spread = np.var([one.strength for one in found], axis=0)
    half = np.array([(one.ci_high - one.ci_low) / 2 / t.ppf(0.975, one.df) for one in found])
    assert (half**2).mean(axis=0) == pytest.approx(spread, rel=0.2)


def test_known_strengths_are_recovered() -> None:
    assert fit(drawn(6000, seed=6)).strength == pytest.approx(TRUTH, abs=0.06)


def test_who_is_always_first_or_tied_too_widely_has_no_strength() -> None:
    ranks = drawn(60, seed=7)
    ranks[:, 0] = 0.5
    found = fit(ranks)
    assert np.isnan(found.strength[0])
    assert "won every comparison" in str(found.reasons[0])
    assert np.isfinite(found.strength[1:]).all()
    tied = [[1, 1, 1, 1, 1, 2]]
    wide = np.vstack([tied, rankdata(np.random.default_rng(8).random((40, 6)), axis=1)])
    assert MOST_ORDERS < 120
    all_five = plackett_luce(wide, systems="abcdef", cluster=np.arange(41), rng=np.random.default_rng(0))
    assert (all_five.n_left_out, all_five.n_orderings, all_five.interval) == (1, 40, "sandwich")
    none = plackett_luce(np.tile(tied, (3, 1)), systems="abcdef", cluster=np.arange(3), rng=np.random.default_rng(0))
    assert (none.n_left_out, none.n_orderings) == (3, 0)
    assert set(map(str, none.reasons)) == {"every ordering has ties that allow more than 24 orders"}


def test_one_annotator_alone_has_no_interval() -> None:
    found = fit(drawn(40, seed=9), np.zeros(40, dtype=np.int64))
    assert np.isnan(found.ci_low).all()
    assert str(found.no_interval) == "one annotator only: no spread to make an interval from"


def orders_table(n_annotators: int = 12, n_items: int = 5, *, seed: int = 1, pull: float = 0.0) -> pl.DataFrame:
    """Return a table in which systems differ as ``TRUTH`` says, and places further down lose ``pull`` utility each."""
    rng = np.random.default_rng(seed)
    rows = []
    for annotator in range(n_annotators):
        for item in range(n_items):
            shown = rng.permutation(4)
            place = np.argsort(shown)
            utility = TRUTH + rng.gumbel(size=4) - pull * place
            rank = rankdata(-np.round(utility), method="min").astype(int)
            rows += [
                {
                    "annotator_id": f"p{annotator}",
                    "item_id": f"i{item}",
                    "system": SYSTEMS[system],
                    "rank": int(rank[system]),
                    "position": int(place[system]) + 1,
                }
                for system in shown
            ]
    return pl.DataFrame(rows)


def checked(table: pl.DataFrame, **others: pl.DataFrame) -> AnswerTables:
    return check_frames({"orders": table, **others}, Reading())


def analysed(table: pl.DataFrame, **others: pl.DataFrame) -> Results:
    return analyse(checked(table, **others), Plan())


def test_every_two_outputs_of_an_ordering_are_a_choice() -> None:
    table = orders_table(2, 2)
    choices = checked(table).choices
    assert choices is not None
    wanted = set()
    for (annotator, item), rows in table.group_by("annotator_id", "item_id"):
        for x, y in combinations(rows.sort("position").to_dicts(), 2):
            winner = "tie" if x["rank"] == y["rank"] else "x" if x["rank"] < y["rank"] else "y"
            wanted.add((annotator, item, x["system"], y["system"], winner))
    assert set(choices.select("annotator_id", "item_id", "system_x", "system_y", "winner").rows()) == wanted
    assert choices.height == len(wanted) == 4 * 6


def test_the_tests_are_those_of_the_choices_that_orders_imply() -> None:
    table = orders_table()
    choices = checked(table).choices
    assert choices is not None
    columns = ["annotator_id", "item_id", "system_x", "system_y", "winner"]
    alone = analyse(check_frames({"choices": choices.select(columns)}, Reading()), Plan())
    assert analysed(table).choices.pairs == alone.choices.pairs
    assert [row.strength for row in analysed(table).bradley_terry] == [row.strength for row in alone.bradley_terry]


def test_asked_and_implied_choices_are_not_pooled() -> None:
    asked = pl.DataFrame(
        {"annotator_id": ["p0"], "item_id": ["i9"], "system_x": ["a"], "system_y": ["b"], "winner": ["x"]}
    )
    found = analysed(orders_table(), choices=asked)
    assert {row.criterion for row in found.choices.pairs} == {"overall", "overall (orders)"}
    assert [row.criterion for row in found.orders] == ["overall (orders)"]


def test_orders_ranking_with_a_gap_is_missing() -> None:
    """A ranking with a gap is missing as a whole and counted once."""
    table = orders_table(3, 2).with_columns(
        rank=pl.when((pl.col("annotator_id") == "p0") & (pl.col("item_id") == "i0") & (pl.col("system") == "a"))
        .then(None)
        .otherwise("rank")
    )
    found = analysed(table)
    assert [(row.source, row.reason, row.n) for row in found.missing] == [("choices", "empty", 1)]
    assert [(row.n_orderings, row.n_annotators) for row in found.orders] == [(5, 3)]
    assert sum(row.n for row in found.order_places) == 20


def test_the_place_on_the_page_is_tested_within_annotators() -> None:
    rows, fair = analysed(orders_table(20, pull=0.8)).orders, analysed(orders_table(20)).orders
    assert rows[0].place_effect is not None
    assert rows[0].place_effect > 0.2
    assert rows[0].place_p is not None
    assert rows[0].place_p < 0.001
    assert fair[0].place_p is not None
    assert fair[0].place_p > 0.05
    table = orders_table(20, pull=0.8)
    ranked = table.with_columns(rank=pl.col("rank").rank("average").over("annotator_id", "item_id"))
    own = pl.col("rank").mean().over("system")
    left = ranked.with_columns(left=pl.col("rank") - own, place=pl.col("position") - 2.5)
    slope = (pl.col("place") * pl.col("left")).sum() / (pl.col("place") ** 2).sum()
    slopes = left.group_by("annotator_id").agg(slope.alias("slope"))["slope"].to_numpy()
    assert rows[0].place_p == pytest.approx(ttest_1samp(slopes, 0).pvalue, rel=1e-6)
    assert rows[0].place_effect == pytest.approx(slopes.mean())


def test_a_table_without_places_says_so() -> None:
    (row,) = analysed(orders_table().drop("position")).orders
    assert (row.place_p, str(row.place_reason)) == (None, "the table has no places on the page")


def test_concordance_is_whole_where_all_annotators_order_alike() -> None:
    same = orders_table(4, 1).with_columns(rank=pl.col("system").replace_strict({"a": 1, "b": 2, "c": 3, "d": 4}))
    (row,) = analysed(same).orders
    assert row.kendall_w == 1.0
    strengths = analysed(same).order_strengths
    assert all(one.strength is None and one.reason for one in strengths)
    assert [one.mean_rank for one in sorted(strengths, key=lambda one: one.system)] == [1, 2, 3, 4]


def test_rows_in_another_order_give_the_same_results() -> None:
    table = orders_table()
    turned = analysed(table.sample(fraction=1.0, shuffle=True, seed=3))
    by_system = {row.system: row for row in turned.order_strengths}
    for row in analysed(table).order_strengths:
        other = by_system[row.system]
        assert (other.strength, other.rank) == (pytest.approx(row.strength, abs=1e-9), row.rank)
        assert other.mean_rank == pytest.approx(row.mean_rank)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (pl.lit(0), "rank must be a whole number from 1, the best, got '0'"),
        (pl.lit(1.5), "rank must be a whole number from 1, the best, got '1.5'"),
        (pl.lit("first"), "rank must be a number with a decimal point or empty, got 'first'"),
    ],
)
def test_ranks_that_are_none_are_refused(change: pl.Expr, problem: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        checked(orders_table(1, 1).with_columns(rank=change))
    assert any(problem in one for one in caught.value.problems)


def test_a_system_twice_in_an_ordering_is_refused() -> None:
    with pytest.raises(AnalysisError, match="expected one answer a cell, got 2"):
        checked(pl.concat([orders_table(1, 1), orders_table(1, 1).head(1)]))


def test_orders_in_the_report() -> None:
    """The report says what orders say and studies without them nothing."""
    found = analysed(orders_table())
    ids = [section.id for section in build_document(found).sections]
    assert ids.index("orders") == ids.index("choices") + 1
    ratings = pl.DataFrame({"annotator_id": ["p"] * 4, "item_id": list("1122"), "system": list("abab"), "score": 1})
    without = analyse(check_frames({"ratings": ratings}, Reading()), Plan())
    assert "orders" not in [section.id for section in build_document(without).sections]
    assert found.headline is not None
    assert found.headline.source == "choices"
    assert "People rank " in found.headline.winner
    assert found.headline.certainty.startswith("They ranked ")
    both = analysed(orders_table(), ratings=ratings).headline
    assert both is not None
    assert both.source == "ratings"


def test_orders_report_best_on_top() -> None:
    """The report puts the best on top and says where the order depends on the model."""

    def said(*orders: str) -> tuple[str, list[str]]:
        rows = [
            (f"p{n}", "1", system, place + 1.0) for n, order in enumerate(orders) for place, system in enumerate(order)
        ]
        frame = pl.DataFrame(rows, schema=["annotator_id", "item_id", "system", "rank"], orient="row")
        section = next(one for one in build_document(analysed(frame)).sections if one.id == "orders")
        _, strengths, bullets, *_ = section.blocks
        return bullets.items[0], [row[0].text for row in strengths.rows]  # type: ignore[union-attr]

    words, top = said(*["bca"] * 3, "abc", "cab")
    assert "Plackett-Luce, Bradley-Terry and Thurstone order the systems alike" in words
    assert top == ["b", "c", "a"]
    words, top = said("acb", *["bca"] * 3, *["cab"] * 3)
    assert "Plackett-Luce c > a > b; Bradley-Terry and Thurstone c > b > a" in words
    assert top == ["c", "b", "a"]


def test_orders_report_explains_once() -> None:
    """The report says once what a tied last place and a common reason mean."""

    def said(table: pl.DataFrame) -> tuple[Results, str, list[str]]:
        found = analysed(table)
        section = next(one for one in build_document(found).sections if one.id == "orders")
        _, strengths, bullets, *_ = section.blocks
        notes = [column.title for column in strengths.columns]  # type: ignore[union-attr]
        return found, bullets.items[0], notes  # type: ignore[union-attr]

    table = orders_table()
    best = pl.col("rank").rank("min").over("annotator_id", "item_id")
    found, words, _ = said(table.with_columns(rank=pl.min_horizontal(best, 2)))
    (row,) = found.orders
    assert (row.n_partial, row.n_left_out, row.n_orderings) == (row.n_tied, 0, 60)
    assert f"{row.n_partial} end in a tied last place" in words
    assert "Plackett-Luce is shown first" in words
    assert all(one.strength is not None for one in found.order_strengths)
    _, words, titles = said(table.with_columns(rank=1))
    assert words.count("every annotator says the same, so there is no interval") == 1
    assert "Note" not in titles


def test_orders_report_counts_too_wide_ties() -> None:
    """The report counts orders whose ties are too wide for the strengths, where there are some."""

    def said(*orders: list[float]) -> str:
        rows = [
            (f"p{n}", "1", system, place)
            for n, order in enumerate(orders)
            for system, place in zip("abcdef", order, strict=True)
        ]
        frame = pl.DataFrame(rows, schema=["annotator_id", "item_id", "system", "rank"], orient="row")
        section = next(one for one in build_document(analysed(frame)).sections if one.id == "orders")
        return str(next(block for block in section.blocks if isinstance(block, Bullets)).items[0])

    plain = [[2.0, 1, 3, 4, 5, 6], [1.0, 3, 2, 5, 4, 6], [3.0, 1, 2, 4, 6, 5]]
    assert "1 allow more than 24 orders and are left out of the strengths" in said([1.0, 1, 1, 1, 1, 6], *plain)
    assert "left out" not in said(*plain)


def test_orders_group_that_never_ranked_a_system() -> None:
    """The comparisons of people with the fourth system leave those of the LLM as they are."""
    human = orders_table()
    llm = orders_table(seed=2).filter(pl.col("system") != "d")
    rows = pl.concat(
        [
            human.with_columns(annotator_kind=pl.lit("human")),
            llm.with_columns(
                annotator_kind=pl.lit("llm"),
                assignment_id="annotator_id",
                annotator_id=pl.lit("m"),
                rank=pl.col("rank").rank("min").over("annotator_id", "item_id").cast(pl.Int64),
            ).select(*human.columns, "annotator_kind", "assignment_id"),
        ],
        how="diagonal",
    )
    found = [row for row in analysed(rows).order_strengths if row.group == "m"]
    alone = analysed(rows.filter(annotator_kind="llm")).order_strengths
    assert [(row.system, row.strength, row.ci_low) for row in sorted(found, key=lambda row: row.system)] == [
        (row.system, row.strength, row.ci_low) for row in sorted(alone, key=lambda row: row.system)
    ]
    assert len(found) == 3
    assert all(row.strength is not None for row in found)


def test_orders_ordering_that_lacks_a_rank() -> None:
    """An ordering that lacks a rank is missing wherever its output stands."""
    found = []
    for systems in (("s", "t", "u"), ("u", "s", "t")):
        rows = [
            {"annotator_id": f"a{person}", "item_id": str(item), "system": system, "rank": ranks[system]}
            for person in range(6)
            for item in range(4)
            for ranks in [{"s": 1, "t": 2, "u": None}]
            for system in systems
        ]
        choices = check_frames({"orders": pl.DataFrame(rows)}, Reading()).choices
        assert choices is not None
        found.append((choices.height, choices["value"].null_count()))
    assert found == [(24, 24), (24, 24)]


def test_orders_of_one_output_are_told() -> None:
    rows = {"annotator_id": ["a", "b"], "item_id": ["1", "1"], "system": ["s", "s"], "rank": [1, 1]}
    with pytest.raises(AnalysisError, match="such as orders of one output"):
        analyse(check_frames({"orders": pl.DataFrame(rows)}, Reading()), Plan())
