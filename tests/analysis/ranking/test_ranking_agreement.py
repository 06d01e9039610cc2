"""Resampled rankings: against rows drawn by hand, joint draws, properties, coverage; supported differences."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis import Plan, bradley_terry
from analysis.answers.order import order_of
from analysis.comparisons.choice_cells import choice_cells, choice_judgements
from analysis.comparisons.rated_parts import rated_parts
from analysis.ranking.agreement import agreement_of_rankings
from analysis.ranking.means_of_sums import mean_sums
from analysis.ranking.replicates import ReplicateSums, draw_scores, pools, unit_names, win_sums
from analysis.statistics.rank_orders import Ranking, order_systems
from analysis.strengths.bounds import rank_intervals
from analysis.strengths.strength_table import strength_table
from tests.analysis.made_answers import choices, preferences, ratings, run

Results = dict[str, Any]
SYSTEMS = "abcd"


def scored(rng: np.random.Generator, gaps: tuple[float, ...], annotators: int = 12) -> list[tuple[str, str, str, Any]]:
    """Rate each system by each annotator on two items, around the gaps."""
    return [
        (f"p{who:02}", item, system, float(np.clip(np.round(3 + gap + rng.normal(0, 0.8)), 1, 5)))
        for who in range(annotators)
        for item in "ij"
        for system, gap in zip(SYSTEMS, gaps, strict=False)
    ]


def liked(rng: np.random.Generator, gaps: tuple[float, ...], annotators: int = 12) -> list[tuple[str, str, str, float]]:
    """State a preference for every pair, around the gaps."""
    return [
        (f"p{who:02}", x, y, round(float(np.clip(0.5 + 0.25 * (a - b) + rng.normal(0, 0.15), 0, 1)), 2))
        for who in range(annotators)
        for place, (x, a) in enumerate(zip(SYSTEMS, gaps, strict=False))
        for y, b in list(zip(SYSTEMS, gaps, strict=False))[place + 1 :]
    ]


def rows_of(results: Results) -> dict[tuple[str, str], Results]:
    return {(row["a"], row["b"]): row for row in results["ranking_agreement"]}


def checked(**frames: pl.DataFrame) -> Any:
    from analysis import Reading, check_frames

    return check_frames(frames, Reading()).answers()


def test_replicate_scores_equal_their_rows() -> None:
    """Means and strengths of weighted sums, against the same annotators' rows written out."""
    rng = np.random.default_rng(4)
    tables = checked(ratings=ratings(scored(rng, (0.6, 0.2, 0, -0.5))))
    order = order_of(tables["ratings"], ["human"], None)
    (part,) = rated_parts(tables["ratings"], order)
    sums = mean_sums(part.sums, unit_names(tables["ratings"]), Plan())
    weights = rng.multinomial(12, np.full(12, 1 / 12)).astype(float)
    assert (sums.unit, sums.names[:2]) == ("annotator", ("p00", "p01"))
    of = {name: place for place, name in enumerate(sums.names)}
    frame = tables["ratings"]
    times = np.array([weights[of[name]] for name in frame["annotator_id"].cast(pl.String).to_list()])
    system = np.array(frame["system"].cast(pl.String).to_list())
    value = frame["value"].to_numpy()
    expected = [np.average(value[system == name], weights=times[system == name]) for name in SYSTEMS]
    assert sums.scores(weights[:, None])[0] == pytest.approx(expected)


@pytest.mark.parametrize("regularisation", [None, 0.7])
def test_replicate_strengths_equal_their_rows(regularisation: float | None) -> None:
    """Strengths of a replicate are those of the rows it stands for."""
    rng = np.random.default_rng(6)
    picks = [
        (f"p{who:02}", f"i{number}", x, y, str(rng.choice(["x", "x", "y", "tie"])))
        for who in range(12)
        for number, (x, y) in enumerate([("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("a", "c")])
    ]
    table = checked(choices=choices(picks))["choices"]
    order = order_of(table, ["human"], None)
    (cells,) = choice_cells(table, order)
    judged, plan = choice_judgements(cells), Plan(regularisation=regularisation)
    found = strength_table("choices", "human", "overall", judged, order.systems, plan)
    assert found is not None
    sums = win_sums(found, judged, unit_names(table), plan)
    assert sums is not None
    weights = rng.multinomial(12, np.full(12, 1 / 12)).astype(float)
    of = {name: place for place, name in enumerate(sums.names)}
    who = [name for name in unit_names(table)["annotator"]]
    repeats = np.array([int(weights[of[who[unit]]]) for unit in judged.of_unit.tolist()])
    rows = np.repeat(np.arange(len(repeats)), repeats)
    again = bradley_terry(
        judged.x[rows], judged.y[rows], judged.won[rows], systems=order.systems, regularisation=regularisation
    )
    assert sums.scores(weights[:, None])[0] == pytest.approx(again.strength, abs=1e-4)
    mirrored = replace(judged, x=judged.y, y=judged.x, won=1 - judged.won)
    turned = win_sums(found, mirrored, unit_names(table), plan)
    assert turned is not None
    assert turned.scores(weights[:, None]) == pytest.approx(sums.scores(weights[:, None]), abs=1e-9)


def test_people_who_gave_both_are_drawn_once() -> None:
    """Two rankings of the same sums by the same people agree in every replicate; by other people they do not."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 30))
    made = {"criterion": "overall", "systems": tuple("abcd"), "unit": "annotator", "group": "human"}
    names = tuple(f"p{n}" for n in range(30))
    one, two = (
        ReplicateSums(source=s, names=names, sums=values, counts=np.ones((4, 30)), **made) for s in ("ratings", "x")
    )
    far = ReplicateSums(
        source="far", names=tuple(f"q{n}" for n in range(30)), sums=values, counts=np.ones((4, 30)), **made
    )
    assert pools([one, two, far]) == [[0, 1], [2]]
    first, second, other = draw_scores([one, two, far], seed=1, n_replicates=50)
    assert first is not None
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
    order = order_systems(dict(zip("abcd", values.mean(axis=1).tolist(), strict=True)), tie=0)
    rankings = [
        Ranking(source=each.source, group="human", criterion="overall", order=order) for each in (one, two, far)
    ]
    same, apart, _ = agreement_of_rankings(rankings, [one, two, far])
    assert (same.ci_low, same.ci_high, same.kendall_tau) == (1, 1, 1)
    assert same.interval == "resampled; the same annotators drawn for both"
    assert apart.interval == "resampled; annotators drawn apart"
    assert apart.ci_low is not None
    assert apart.ci_low < 1 == apart.ci_high


def test_the_results_have_an_interval_that_holds_the_coefficient() -> None:
    rng = np.random.default_rng(1)
    gaps = (0.9, 0.3, -0.2, -1.0)
    results = run(preferences=preferences(liked(rng, gaps, 30)), ratings=ratings(scored(rng, gaps, 30)))
    row = rows_of(results)["preferences:human", "ratings:human"]
    assert row["kendall_tau"] == 1
    assert -1 <= row["ci_low"] <= row["kendall_tau"] <= row["ci_high"] <= 1
    assert row["interval"] == "resampled; the same annotators drawn for both"
    assert run(preferences=preferences(liked(np.random.default_rng(1), gaps)))["ranking_agreement"] == []


def test_an_llms_assignments_are_drawn_together_beside_people() -> None:
    """Preferences that say what the ratings say agree with these in each replicate, whoever else is in the table."""
    rng = np.random.default_rng(5)
    scores, people = (scored(rng, (0.1, 0.05, 0, -0.1), n) for n in (40, 12))
    given = {(who, item, system): score for who, item, system, score in scores}
    likes = [
        (who, x, y, (np.sign([given[who, item, x] - given[who, item, y] for item in "ij"]).mean() + 1) / 2)
        for who in sorted({row[0] for row in scores})
        for x, y in combinations(SYSTEMS, 2)
    ]
    liked_by_llm = preferences([("gpt", *row[1:]) for row in likes], assignment_id=[who for who, *_ in likes])
    rated = ratings([("gpt", *row[1:]) for row in scores], assignment_id=[who for who, *_ in scores])
    beside = ratings([(f"a{who}", *row) for who, *row in people], assignment_id=[f"a{who}" for who, *_ in people])
    for table in (rated, pl.concat([beside, rated])):
        row = rows_of(run(preferences=liked_by_llm, ratings=table, llms=("gpt",)))["preferences:gpt", "ratings_bt:gpt"]
        assert row["interval"] == "resampled; the same assignments drawn for both"
        assert (row["ci_low"], row["kendall_tau"], row["ci_high"]) == (1, 1, 1)


@settings(max_examples=3, deadline=None)
@given(st.permutations(range(4)), st.integers(0, 2**16))
def test_names_of_systems_and_annotators_do_not_matter(places: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    likes, scores = liked(rng, (0.5, 0.2, 0, -0.6), 30), scored(rng, (0.2, 0.5, -0.6, 0), 30)
    new = dict(zip(SYSTEMS, (f"s{place}" for place in places), strict=True))
    renamed = [(f"w{who[::-1]}", new[x], new[y], value) for who, x, y, value in likes]
    again = [(f"w{who[::-1]}", item, new[system], value) for who, item, system, value in scores]
    one = rows_of(run(preferences=preferences(likes), ratings=ratings(scores)))
    two = rows_of(run(preferences=preferences(renamed), ratings=ratings(again)))
    for key, row in one.items():
        assert row["ci_low"] is not None
        for value in ("kendall_tau", "ci_low", "ci_high"):
            assert two[key][value] == pytest.approx(row[value], abs=1e-9)


def test_too_little_to_resample_is_said() -> None:
    likes = [("p", "a", "b", 0.8), ("p", "b", "c", 0.7), ("p", "a", "c", 0.9)]
    scores: list[tuple[str, str, str, object]] = [("p", "i", system, 5 - place) for place, system in enumerate("abc")]
    row = rows_of(run(preferences=preferences(likes), ratings=ratings(scores)))["preferences:human", "ratings:human"]
    assert (row["ci_low"], row["interval"]) == (None, None)
    assert "fewer than two annotators or items" in row["reason"]


@pytest.mark.parametrize("utilities", [(0.9, 0.3, -0.2, -1.0), (0.9, 0.0, -0.9)])  # three are the fewest systems
def test_fewer_than_thirty_units_have_no_interval(utilities: tuple[float, ...]) -> None:
    """With 10 annotators 72 to 88% of intervals held the truth."""
    rng = np.random.default_rng(1)
    likes, scores = liked(rng, utilities, 30), scored(rng, utilities, 30)
    for people, reason in (
        (30, None),
        (29, "no interval: one of the rankings rests on 29 annotators, and it needs 30"),
    ):
        who = {f"p{number:02}" for number in range(people)}
        some = [one for one in scores if one[0] in who]
        found = rows_of(run(preferences=preferences(likes), ratings=ratings(some)))
        row = found["preferences:human", "ratings:human"]
        assert row["kendall_tau"] == 1
        assert (row["ci_low"] is None, row["reason"]) == (reason is not None, reason)


def covered(first: np.ndarray, second: np.ndarray, rng: np.random.Generator, studies: int = 60) -> float:
    """Return how often the interval holds the true tau of two mean-rated orders by the same 30 people."""
    k, people = len(first), 30
    truth = stats.kendalltau(first, second).statistic
    names, systems = tuple(f"p{n:02}" for n in range(people)), tuple(f"s{n}" for n in range(k))
    hits = 0
    for study in range(studies):
        shared = rng.normal(size=(k, people))
        sums = [
            ReplicateSums(
                source=source,
                group="human",
                criterion="c",
                systems=systems,
                unit="annotator",
                names=names,
                sums=(true[:, None] + 0.5 * shared + 0.8 * rng.normal(size=(k, people))),
                counts=np.ones((k, people)),
            )
            for source, true in (("one", first), ("two", second))
        ]
        rankings = [
            Ranking(
                source=own.source,
                group="human",
                criterion="c",
                order=order_systems(dict(zip(systems, np.asarray(own.sums).mean(axis=1).tolist(), strict=True)), tie=0),
            )
            for own in sums
        ]
        (row,) = agreement_of_rankings(rankings, sums, seed=study)
        assert row.ci_low is not None
        assert row.ci_high is not None
        hits += row.ci_low - 1e-9 <= truth <= row.ci_high + 1e-9
    return hits / studies


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.arange(8) * 0.12, np.arange(8) * 0.12),  # close systems, the same order: plain percentiles hold 1 never
        (np.arange(5) * 0.3, -np.arange(5) * 0.3),
        (np.arange(6) * 0.3, np.array([3, 0, 5, 1, 2, 4]) * 0.3),
    ],
)
def test_the_interval_holds_the_true_tau(first: np.ndarray, second: np.ndarray) -> None:
    assert covered(first, second, np.random.default_rng(2)) >= 0.95 - 2 * (0.05 * 0.95 / 60) ** 0.5


def test_ranking_difference_p_values() -> None:
    """P values of differences are those of t for two and adjusted for more."""
    strength, matrix = np.array([0.4, -0.4]), np.array([[0.04, -0.04], [-0.04, 0.04]])
    t = 0.8 / 0.4
    exact = 2 * stats.t.sf(t, 11)
    bound = rank_intervals(strength, matrix, df=11, confidence=0.95, rng=None)
    drawn = rank_intervals(strength, matrix, df=11, confidence=0.95, rng=np.random.default_rng(0))
    assert bound.p_values[0, 1] == pytest.approx(exact)
    assert drawn.p_values[0, 1] == pytest.approx(exact, abs=4 * (exact / 10_000) ** 0.5)
    three = np.diag([0.04, 0.04, 0.04]) - 0.04 / 3
    spread = np.array([0.5, 0.0, -0.5])
    several = rank_intervals(spread, three, df=np.inf, confidence=0.95, rng=np.random.default_rng(0))
    tukey = stats.studentized_range.sf(0.5 / np.sqrt(0.08) * np.sqrt(2), 3, np.inf)
    assert several.p_values[0, 1] == pytest.approx(tukey, abs=0.015)


def test_ranking_supported_difference() -> None:
    """A supported difference needs two clear and opposite orders."""
    rng = np.random.default_rng(3)
    likes, scores = liked(rng, (0.9, 0.5, 0, -0.9), 30), scored(rng, (-0.9, 0.05, 0.0, 0.9), 30)
    results = run(preferences=preferences(likes), ratings=ratings(scores))
    rows = {(row["system_x"], row["system_y"]): row for row in results["ranking_differences"]}
    row = rows["a", "d"]
    assert (row["a"], row["b"], row["order_a"], row["order_b"]) == ("preferences:human", "ratings:human", "x", "y")
    assert (row["evidence_a"], row["evidence_b"], row["support"]) == ("test of the pair", "test of the pair", "both")
    assert max(row["p_adjusted_a"], row["p_adjusted_b"]) <= 0.05
    for row in rows.values():
        assert (row["support"] == "both") == (row["clear_a"] and row["clear_b"])
    tested = {row["p_adjusted"] for row in results["preferences"]}
    assert {row["p_adjusted_a"] for row in rows.values()} <= tested


def test_a_pair_never_compared_is_judged_by_its_strengths() -> None:
    rng = np.random.default_rng(5)
    likes = [row for row in liked(rng, (0.9, 0.3, -0.3, -0.9), 30) if (row[1], row[2]) != ("a", "d")]
    every = Plan(pairs=tuple(combinations("abcd", 2)))  # else ratings are tested over the pairs of the preferences
    rated = ratings(scored(rng, (-0.9, 0.5, 0.3, 0.9), 30))
    results = run(preferences=preferences(likes), ratings=rated, plan=every)
    row = next(r for r in results["ranking_differences"] if {r["system_x"], r["system_y"]} == {"a", "d"})
    assert (row["evidence_a"], row["support"]) == ("difference of strengths", "both")
    ranking = next(row for row in results["rankings"] if row["source"] == "ratings")
    beaten = [r for r in results["ratings"]["pairs"] if r["verdict"] in ("x", "y")]
    for place in ranking["places"]:
        lost = sum((r["system_y"] if r["verdict"] == "x" else r["system_x"]) == place["system"] for r in beaten)
        assert place["rank_low"] == 1 + lost <= place["rank"] <= place["rank_high"]


def test_orders_that_differ_within_noise_are_not_supported() -> None:
    rng = np.random.default_rng(7)
    results = run(preferences=preferences(liked(rng, (0, 0, 0, 0))), ratings=ratings(scored(rng, (0, 0, 0, 0))))
    assert results["ranking_differences"]
    assert {row["support"] for row in results["ranking_differences"]} == {"none"}
