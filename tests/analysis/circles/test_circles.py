"""Does one order exist: published decompositions, properties, simulations with known truth, sentences."""

from __future__ import annotations

import json
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from analysis import Plan
from analysis.circles import flows
from analysis.circles.circles import CircleRow, _all_clear, _with_verdicts
from analysis.circles.flows import Answers, PairGraph, against_one_order, cyclic_intervals, strongest_circle
from analysis.statistics.coding import Floats
from analysis.statistics.record import replace_fields
from tests.analysis.made_answers import choices, preferences, ratings, render_report, run
from tests.analysis.report.test_paper_tables import files
from tests.calibration.circle_shares import Design, missed
from tests.calibration.circles import rejections, studied

OPEN = Plan(consistency_tau=None)


def complete(k: int) -> PairGraph:
    low, high = np.triu_indices(k, 1)
    return PairGraph(k=k, low=low, high=high)


def test_four_cycle_is_harmonic_only(shared_data: Path) -> None:
    """No triangle, so what goes round is harmonic: numpy's figures for the linear flow, by the same split."""
    folder = shared_data.parent / "cases" / "statistics" / "four-cycle"
    if not folder.exists():
        pytest.skip("the case is not here")
    wanted = json.loads((folder / "expected.json").read_text())
    shares = [wanted["win_share"][pair] for pair in ("A over B", "B over C", "C over D", "D over A")]
    graph = PairGraph(k=4, low=np.array([0, 1, 2, 0]), high=np.array([1, 2, 3, 3]))
    found = graph.shares(np.array([*shares[:3], 1 - shares[3]]) - 0.5, np.full(4, 60.0))
    assert found is not None
    assert (graph.n_cycles, len(graph.triangles)) == (1, wanted["triangles"])
    assert found.gradient == pytest.approx(wanted["share_gradient"], abs=1e-9)
    assert (found.curl, found.harmonic) == (0.0, pytest.approx(wanted["share_harmonic"], abs=1e-9))
    (row,) = run(choices=pl.read_csv(folder / "choices.csv", infer_schema=False))["circles"]
    assert (row["verdict"], row["circle"]) == ("circle", ["A", "B", "C", "D"])
    assert row["circle_shares"] == pytest.approx(shares)
    assert (row["share_curl"], row["n_triples"], row["n_cycles"]) == (0, 0, 1)
    assert row["share_harmonic"] > 0.95
    assert (row["curl_low"], row["harmonic_low"]) == (None, row["cyclic_low"])
    assert row["p_adjusted"] == 0.001


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 6), st.integers(0, 10_000))
def test_parts_of_a_flow_by_projections(k: int, seed: int) -> None:
    """Shares equal those of dense weighted projections on orders and triangles, and add up to 1."""
    rng = np.random.default_rng(seed)
    low, high = np.triu_indices(k, 1)
    kept = rng.random(len(low)) < 0.8
    kept[: k - 1] = True
    graph = PairGraph(k=k, low=low[kept], high=high[kept])
    flow, weights = rng.normal(size=kept.sum()), rng.integers(1, 9, kept.sum()).astype(np.float64)
    found = graph.shares(flow, weights)
    root = np.sqrt(weights)
    around = graph.around.toarray() / root

    def projected(columns: Floats) -> float:
        fitted = columns @ np.linalg.lstsq(columns, flow * root, rcond=None)[0]
        return float(fitted @ fitted / np.sum((flow * root) ** 2))

    assert found is not None
    assert found.gradient == pytest.approx(projected(graph.differences.toarray() * root[:, None]))
    assert found.curl == pytest.approx(projected(around.T) if len(around) else 0, abs=1e-8)
    assert found.gradient + found.curl + found.harmonic == pytest.approx(1)


def test_an_order_leaves_nothing_round() -> None:
    graph = complete(5)
    values = np.array([0.3, -0.2, 1.5, 0.0, -0.9])
    found = graph.shares(values[graph.low] - values[graph.high], np.arange(1.0, 11))
    assert found is not None
    assert (found.curl, found.harmonic) == (0, 0)
    assert strongest_circle(graph, 1 / (1 + np.exp(values[graph.high] - values[graph.low]))) == ()


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 5), st.data())
def test_the_strongest_circle_by_trying_all(k: int, data: Any) -> None:
    graph = complete(k)
    share = np.array(data.draw(st.lists(st.integers(0, 10), min_size=len(graph.low), max_size=len(graph.low)))) / 10
    over = {(a, b): value for a, b, value in zip(graph.low.tolist(), graph.high.tolist(), share.tolist(), strict=True)}
    over |= {(b, a): 1 - value for (a, b), value in over.items()}

    def weakest(way: tuple[int, ...]) -> float:
        return min(over[two] for two in zip(way, (*way[1:], way[0]), strict=True))

    every = [way for size in range(3, k + 1) for part in combinations(range(k), size) for way in permutations(part)]
    best = max(weakest(way) for way in every)
    found = strongest_circle(graph, share)
    if best <= 0.5:
        assert found == ()
    else:
        assert weakest(found) == pytest.approx(best)
        assert len(found) == min(len(way) for way in every if weakest(way) >= best - 1e-12)


def rock_paper_scissors(n: int = 12, *, sure: float = 0.75, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    pairs = (("rock", "scissors"), ("scissors", "paper"), ("paper", "rock"))
    return choices(
        (f"p{who}", f"i{item}", x, y, "x" if rng.random() < sure else "y")
        for who in range(n)
        for item in range(6)
        for x, y in pairs
    )


def test_circle_is_said_beside_rankings() -> None:
    results = run(choices=rock_paper_scissors())
    (row,) = results["circles"]
    assert row["verdict"] == "circle"
    assert row["circle"] == ["scissors", "paper", "rock"]  # from its clearest step
    assert row["circle_shares"][0] == max(row["circle_shares"])
    assert row["weak_broken"] == row["moderate_broken"] == row["strong_broken"] == 1
    (triple,) = results["circle_triples"]
    assert triple["weak_high"] < 0
    assert triple["weak_margin"] == pytest.approx(triple["share_ac"] - 0.5)
    text = render_report(results)["report.md"]
    assert text.count("no order exists") == 3  # beside the places, the rankings, and in the section
    assert "rock beats scissors" in text
    paper = files(results, "acl")  # each of its tables with places or strengths, and that of the choices
    said = {name for name, text in paper.items() if "no order exists" in text}
    assert said == {
        "paper/main-choices.tex",
        "paper/appendix.tex",
        *(f"tables/{name}.tex" for name in ("ranking", "rankings", "bradley_terry")),
    }
    assert row["cyclic_high"] is None  # of twelve people


def test_circles_with_names_sides_and_rows_changed() -> None:
    """Other names of people, swapped sides and shuffled rows change no figure."""
    frame = rock_paper_scissors(20)
    turned = frame.with_columns(
        pl.col("annotator_id").str.replace("p", "z9").alias("annotator_id"),
        pl.col("system_y").alias("system_x"),
        pl.col("system_x").alias("system_y"),
        pl.col("winner").replace({"x": "y", "y": "x"}),
    ).sample(fraction=1, shuffle=True, seed=3)
    one, two = (run(choices=each)["circles"][0] for each in (frame, turned))
    same = (
        "share_gradient",
        "share_curl",
        "expected_cyclic",
        "p_value",
        "verdict",
        "n",
        "strong_broken",
        "cyclic_low",
        "cyclic_high",
    )
    assert [one[name] for name in same] == pytest.approx([two[name] for name in same])
    assert set(one["circle"]) == set(two["circle"])
    assert 0.5 < one["cyclic_low"] < one["cyclic_high"] <= 1
    assert (one["curl_low"], one["curl_high"], one["harmonic_high"]) == (one["cyclic_low"], one["cyclic_high"], None)
    assert "; without noise " in render_report(run(choices=frame))["report.md"]


def test_margins_of_a_triple_by_t() -> None:
    """Intervals are those of each person's share of A over C less that of a step; n is whoever said anything."""
    rng = np.random.default_rng(8)
    pairs = (("a", "b", 0.8), ("b", "c", 0.65), ("a", "c", 0.7))
    rows = [
        (f"p{who:02}", f"i{item}", x, y, "x" if rng.random() < sure else "y")
        for who in range(14)
        for x, y, sure in pairs
        for item in range(5)
    ]
    (triple,) = run(choices=choices(rows), plan=Plan(unit="annotator"))["circle_triples"]
    share = {
        (x, y): np.array(
            [
                np.mean([row[4] == "x" for row in rows if row[0] == f"p{who:02}" and row[2:4] == (x, y)])
                for who in range(14)
            ]
        )
        for x, y, _ in pairs
    }
    assert (triple["system_a"], triple["system_b"], triple["system_c"]) == ("a", "b", "c")
    smaller, larger = sorted((share["a", "b"], share["b", "c"]), key=np.mean)
    for name, least in (("weak", np.full(14, 0.5)), ("moderate", smaller), ("strong", larger)):
        away = share["a", "c"] - least
        low, high = ttest_1samp(away, 0).confidence_interval()
        assert [triple[f"{name}_{end}"] for end in ("margin", "low", "high")] == pytest.approx([away.mean(), low, high])
    fewer = [row for row in rows if row[0] != "p00" or row[2:4] == ("a", "b")]
    assert run(choices=choices(fewer), plan=Plan(unit="annotator"))["circle_triples"][0]["n"] == 14


def test_circles_too_small_to_matter_leave_an_order() -> None:
    """An order that is rejected, but explains all but a twentieth beyond noise, stands."""
    row = CircleRow(
        source="choices", group="human", criterion="overall", unit="annotator", n=900, n_systems=3, n_pairs=3,
        n_cycles=1, n_triples=1, share_gradient=0.955, share_curl=0.045, share_harmonic=0, expected_cyclic=0.001,
        p_value=0.001,
    )  # fmt: skip
    larger = replace_fields(row, share_gradient=0.94)
    assert [one.verdict for one in _with_verdicts([row], [True], Plan())] == ["order"]
    assert [one.verdict for one in _with_verdicts([larger], [True], Plan())] == ["circle"]
    noisy = replace_fields(larger, expected_cyclic=0.011)  # of which the rest is less
    assert [one.verdict for one in _with_verdicts([noisy], [True], Plan())] == ["order"]
    two = _with_verdicts([larger, replace_fields(larger, criterion="tone", p_value=0.03)], [True, True], Plan())
    assert [(one.p_adjusted, one.n_tests) for one in two] == [(0.002, 2), (0.03, 2)]


def test_steps_of_a_circle_are_clear_among_all_pairs() -> None:
    """Each step by the tests of all compared pairs together, whether or not they are steps."""
    way, rng = (0, 1, 2), np.random.default_rng(1)
    pairs = np.array([0, 0, 0, 1, 1, 2]), np.array([1, 2, 3, 2, 3, 3])
    value = rng.permuted(np.tile(np.repeat([0.0, 1.0], [4, 16])[:, None], 6), axis=0)  # 16 of 20: p = .004
    value[:, 1] = 1 - value[:, 1]
    value[:, [2, 4, 5]] = np.repeat([0.0, 1.0], 10)[:, None]

    def clear(fwer: float) -> bool:
        answers = Answers(
            graph=PairGraph(k=4, low=pairs[0], high=pairs[1]), value=value, n_answers=np.full(6, 20.0), stated=False
        )
        return _all_clear(answers, way, Plan(fwer=fwer))

    p_value = ttest_1samp(value[:, 0], 0.5).pvalue
    assert [clear(fwer) for fwer in (p_value, 3 * p_value, 5.9 * p_value, 6.1 * p_value)] == [False, False, False, True]


def test_ratings_count_as_shares_never_means() -> None:
    """Each system has the higher rating of the next on two of three items; their means are the same."""
    dice = {"a": (2, 4, 9), "b": (1, 6, 8), "c": (3, 5, 7)}
    frame = ratings(
        (f"p{who}", f"i{one}{two}", system, faces[roll])
        for who in range(12)
        for one in range(3)
        for two in range(3)
        for system, faces, roll in (("a", dice["a"], one), ("b", dice["b"], two))
    )
    other = ratings(
        (f"p{who}", f"j{pair}{one}{two}", system, dice[system][roll])
        for who in range(12)
        for pair in ("bc", "ca")
        for one in range(3)
        for two in range(3)
        for system, roll in zip(pair, (one, two), strict=True)
    )
    (row,) = run(ratings=pl.concat([frame, other]))["circles"]
    assert row["source"] == "ratings_bt"
    assert row["circle"] == ["a", "b", "c"]
    assert row["circle_shares"] == pytest.approx([5 / 9] * 3)
    lower = run(ratings=pl.concat([frame, other]), plan=Plan(lower_is_better=frozenset({"overall"})))["circles"][0]
    assert lower["circle"] == ["a", "c", "b"]


def test_a_chain_says_that_nothing_goes_round() -> None:
    rows = [(f"p{who}", *pair, 0.6 + who / 50) for who in range(10) for pair in (("a", "b"), ("b", "c"))]
    (row,) = run(preferences=preferences(rows), plan=OPEN)["circles"]
    assert (row["share_gradient"], row["p_value"], row["n_cycles"]) == (None, None, 0)
    assert "chain" in row["reason"]
    assert run(preferences=preferences([("a", "x", "y", 0.6), ("b", "x", "y", 0.7)]))["circles"] == []


def test_seven_people_are_not_tested() -> None:
    (row,) = run(choices=rock_paper_scissors(7), plan=Plan(unit="annotator"))["circles"]
    assert (row["p_value"], row["verdict"]) == (None, None)
    assert row["share_curl"] > 0.5
    assert "7 units a pair are too few" in row["reason"]
    apart = rock_paper_scissors(21).filter(
        pl.col("annotator_id").str.slice(1).cast(int) % 3 == pl.col("system_x").rank("dense") - 1
    )
    (row,) = run(choices=apart, plan=Plan(unit="annotator"))["circles"]
    assert (row["n"], row["p_value"]) == (21, None)  # each pair was judged by seven


def test_a_circle_of_unclear_steps_is_a_caveat() -> None:
    """The order is rejected, though not every step is clear: the places do not stand without that sentence."""
    results = run(choices=rock_paper_scissors(sure=0.62))
    (row,) = results["circles"]
    assert (row["verdict"], len(row["circle"])) == ("no scale", 3)
    said = [problem["text"] for problem in results["headline"]["problems"] if problem["kind"] == "circle"]
    assert said == [
        "No order explains the pairs: paper beats rock (62.5%), rock beats scissors (59.7%), scissors beats paper "
        "(59.7%)."
    ]
    assert render_report(results)["report.md"].count("no order explains the pairs, as paper beats") == 2


def test_what_may_be_noise_is_no_circle() -> None:
    """More goes round than expected, in a circle by the means, and the test does not reject: one order stays."""
    (row,) = run(choices=rock_paper_scissors(sure=0.56, seed=12))["circles"]
    assert row["circle"]
    assert 1 - row["share_gradient"] > row["expected_cyclic"] + 0.05
    assert row["p_value"] > 0.05
    assert row["verdict"] == "order"


def test_noise_leaves_its_share_of_a_complete_graph() -> None:
    """Without any preference (k - 2) / k of the variation goes round, and the expectation says so."""
    rng, graph = np.random.default_rng(4), complete(5)
    value = rng.binomial(4, 0.5, (60, len(graph.low))) / 4
    answers = Answers(graph=graph, value=value, n_answers=np.full(len(graph.low), 240.0), stated=False)
    assert against_one_order(answers, rng=rng, draws=199).expected == pytest.approx(3 / 5, abs=0.06)


@pytest.mark.parametrize("stated", [False, True])
def test_one_order_is_rarely_rejected(stated: bool) -> None:
    found = rejections(k=4, n=12, circle=0.0, stated=stated, runs=150, draws=99, seed=5)
    assert found is not None
    assert found <= 0.085  # 5 % and two errors


@pytest.mark.parametrize("stated", [False, True])
def test_a_circle_is_found(stated: bool) -> None:
    found = rejections(k=3, n=20, circle=0.8, stated=stated, runs=40, draws=99, seed=6)
    assert found is not None
    assert found >= 0.9


@pytest.mark.parametrize("circle", [0.0, 0.5])
def test_the_share_that_goes_round_is_held(circle: float) -> None:
    above, below, width = missed(Design(k=4, circle=circle, stated=True), 20, runs=120, seed=7, draws=199)
    assert above + below <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 120)
    assert 0.01 < width < 0.3


@pytest.mark.parametrize(("part", "circle", "longer"), [("curl", 0.5, 0.0), ("harmonic", 0.0, 0.5)])
def test_the_share_of_each_part_is_held(part: str, circle: float, longer: float) -> None:
    """A triangle and a longer circle, of which one goes round: its share is held, and the other's may be nothing."""
    design = Design(k=6, circle=circle, stated=True, longer=longer)
    above, below, width = missed(design, 40, runs=100, seed=9, part=part, draws=199)
    assert above + below <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 100)
    assert 0.01 < width < 0.2
    other = "harmonic" if part == "curl" else "curl"
    assert design.truth(part) > 0.02 > design.truth(other)
    rng = np.random.default_rng(2)
    found = cyclic_intervals(design.study(400, rng), rng=rng)
    assert found is not None
    assert getattr(found, part)[0] > 0.01 > getattr(found, other)[0]


def test_circles_of_one_kind_have_one_interval() -> None:
    """Only triangles, or none: the interval of both together is that of the one part, and the other has none."""
    rng = np.random.default_rng(3)
    low, high = np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3])
    square = Answers(
        graph=PairGraph(k=4, low=low, high=high),
        value=np.clip(rng.normal(0.6, 0.2, (60, 4)), 0.01, 0.99),
        n_answers=np.full(4, 60.0),
        stated=True,
    )
    found = cyclic_intervals(square, rng=rng)
    assert found is not None
    assert (found.curl, found.harmonic) == (None, found.cyclic)
    graph = PairGraph(k=5, low=np.array([0, 0, 1, 2]), high=np.array([1, 2, 2, 3]))
    hanging = Answers(graph=graph, value=square.value, n_answers=square.n_answers, stated=True)
    found = cyclic_intervals(hanging, rng=rng)
    assert found is not None
    assert (found.curl, found.harmonic) == (found.cyclic, None)


def test_a_sure_circle_is_measured_without_noise() -> None:
    """Many people: the interval closes in on the share of the true log odds, below that of the sample of few."""
    rng, graph = np.random.default_rng(8), complete(3)
    flow = np.array([0.8, 0.1, 0.5])
    shares = graph.shares(flow, np.ones(3))
    assert shares is not None
    value = 1 / (1 + np.exp(-flow - rng.normal(0, 0.8, (4000, 3))))
    found = cyclic_intervals(Answers(graph=graph, value=value, n_answers=np.full(3, 4000.0), stated=True), rng=rng)
    assert found is not None
    low, high = found.cyclic
    assert low < shares.curl < high < low + 0.06
    assert (found.curl, found.harmonic) == (found.cyclic, None)
    alike = Answers(graph=graph, value=np.full((9, 3), 0.7), n_answers=np.full(3, 9.0), stated=True)
    assert cyclic_intervals(alike, rng=rng) is None


def test_circles_stated_chances_by_each_own_odds() -> None:
    """Annotators whose own log odds add up give no circle, though their mean chances do not add up."""
    answers = studied(k=3, n=200, circle=0.0, stated=True, spread=2.0, rng=np.random.default_rng(7))
    shares = answers.graph.shares(answers.flow, answers.n)
    assert shares is not None
    assert shares.curl < 0.02


def test_circles_of_few_triangles_as_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few triangles are solved for at once, and many step by step, to the same shares."""
    rng = np.random.default_rng(5)
    low, high = np.array([*combinations(range(7), 2)]).T[:, np.sort(rng.permutation(21)[:17])]
    graph = PairGraph(k=7, low=low, high=high)
    flow, weights = rng.normal(size=17), rng.integers(1, 60, 17).astype(np.float64)
    few = graph.shares(flow, weights)
    monkeypatch.setattr(flows, "FEW", 0)
    many = graph.shares(flow, weights)
    assert few is not None
    assert many is not None
    assert (few.curl, few.harmonic) == pytest.approx((many.curl, many.harmonic), abs=1e-10)
    assert few.curl > 0.05
