"""No sentence of the first page contradicts a row that it speaks of, whatever the rows say."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import Plan, analyse
from analysis.answers.live_rows import LivePairRow, LiveStudy
from analysis.printing.lookup import PairResult, pair_results
from analysis.results.files import from_plain
from analysis.results.headline import headline_of
from analysis.results.live import live_row
from tests.analysis.made_answers import check, choices, preferences, ratings
from tests.analysis.results.claims_and_rows import (
    SYSTEMS,
    as_choices,
    fill,
    group_row,
    hold_to_the_rows,
    row_of,
)
from tests.analysis.sample_results import empty_results, preference, rating_pair


@st.composite
def random_results(draw: st.DrawFn) -> dict[str, Any]:
    n = draw(st.integers(2, 4))
    systems = SYSTEMS[:n]
    source = draw(st.sampled_from(["preferences", "choices", "ratings"]))
    group, kind = draw(st.sampled_from([("human", "human"), ("simulated", "simulated"), ("gpt", "llm")]))
    pairs = draw(st.lists(st.sampled_from([*combinations(systems, 2)]), min_size=1, unique=True))
    rows = [draw(random_row(source, group, pair)) for pair in pairs]
    results = {**empty_results(), "groups": [group_row(group, kind)]}
    results["settings"] = {**results["settings"], "confidence": draw(st.sampled_from([0.9, 0.95]))}
    if source == "preferences" and draw(st.booleans()):
        rows += [{**draw(random_row(source, group, pairs[0])), "exposure": 9}]
    fill(results, source, rows)
    if source != "ratings" and draw(st.booleans()):  # another way of asking beside it
        fill(results, "ratings", [draw(random_row("ratings", group, pairs[0]))])
    if draw(st.integers(0, 5)):
        results["rankings"] = [draw(random_ranking(source, group, systems))]
    if source == "ratings" and draw(st.booleans()):
        results["settings"] = {**results["settings"], "lower_is_better": ["overall"]}
        for row in rows:
            turned = {"x": "y", "y": "x"}
            row["verdict"] = turned.get(row["verdict"], row["verdict"])
            row["crossed_verdict"] = turned.get(str(row.get("crossed_verdict")), row.get("crossed_verdict"))
    return results


@st.composite
def random_row(draw: st.DrawFn, source: str, group: str, pair: tuple[str, str]) -> dict[str, Any]:
    x, y = pair
    towards = draw(st.sampled_from([0.3, 0.45, 0.5, 0.55, 0.7]))
    p_adjusted = 1.0 if towards == 0.5 else draw(st.sampled_from([0.0002, 0.03, 0.05, 0.3]))
    if source == "ratings":
        row = rating_pair(group, x, y, 4 * (towards - 0.5), p_adjusted)
    else:
        row = preference(group, x, y, towards, p_adjusted=p_adjusted)
    if source == "choices":
        row = as_choices(row)
    row["highly_skewed"] = draw(st.booleans())
    row["weights_reverse"] = draw(st.integers(0, 9)) == 0
    row |= {"n_answers": 100, "n_used": draw(st.sampled_from([100, 60]))}
    if source != "preferences":
        row["unit"] = draw(st.sampled_from(["annotator", "item"]))
        crossed = draw(st.sampled_from([None, "x", "y", "indifferent"]))
        row |= {"crossed_verdict": crossed, "disagree": None if crossed is None else crossed != row["verdict"]}
        p = None if crossed is None else 0.4 if crossed == "indifferent" else 0.01
        row |= {"p_crossed": p, "p_crossed_adjusted": p, "crossed_reason": "none" if crossed is None else None}
    if draw(st.integers(0, 4)) == 0:
        row = alike(row, source, draw(st.sampled_from([None, 0.0002, 0.3])))
    return row


def alike(row: dict[str, Any], source: str, bound: float | None) -> dict[str, Any]:
    """Return a row whose values are all the same, so that no test could be run."""
    nothing = dict.fromkeys(("ci_low", "ci_high", "t", "df", "p_value", "p_adjusted", "verdict"))
    more = {"stars": "", "reason": "no variation", "highly_skewed": False, "weights_reverse": False}
    if source != "preferences":
        more |= dict.fromkeys(("p_crossed", "p_crossed_adjusted", "crossed_verdict", "disagree"), None)
        more["crossed_reason"] = "none"
    known = None if row.get("mean", row.get("win_rate", row.get("mean_difference"))) in (0.5, 0.0) else bound
    return {**row, **nothing, **more, "p_unanimous": known, "all_alike": None if known is None else 88}


@st.composite
def random_ranking(draw: st.DrawFn, source: str, group: str, systems: tuple[str, ...]) -> dict[str, Any]:
    order = [[one] for one in draw(st.permutations(systems))]
    if draw(st.booleans()):
        order[:2] = [[*order[0], *order[1]]]
    return {"source": source, "group": group, "criterion": "overall", "order": order}


@settings(max_examples=150, deadline=None)
@given(random_results())
def test_no_sentence_contradicts_a_row_it_speaks_of(results: dict[str, Any]) -> None:
    hold_to_the_rows(from_plain(results))


@settings(max_examples=50, deadline=None)
@given(random_results(), st.data())
def test_no_sentence_contradicts_a_decision_of_a_live_study(results: dict[str, Any], data: st.DataObject) -> None:
    """What was decided replaces the test of its pair; a p-value is not printed beside it."""
    found = from_plain(results)
    source = headline_of(found).source
    assert source is not None
    decisions = st.sampled_from(["x", "y", "equal", "futile", None])
    rows = [decided(row, data.draw(decisions)) for row in pair_results(found, source) if data.draw(st.booleans())]
    live = replace(LIVE, answers=source, scale_width=4.0 if source == "ratings" else None, pairs=tuple(rows))
    live_results = replace(found, live=live)
    headline = headline_of(live_results)
    for claim in headline.claims:
        row = row_of(live_results, headline, claim)
        decision = None if row is None else live_row(live_results, source, row.test)
        if row is None or decision is None or claim.strength == "no_leader":
            continue
        winner = {"x": row.x, "y": row.y}.get(decision.decision or "")
        assert (claim.p_adjusted, claim.crossed) == (None, None)
        assert "adjusted p" not in headline.certainty
        assert claim.winner == (winner if winner == claim.leader else None)
        assert (claim.strength == "clear") == (winner is not None and winner == claim.leader)
        assert (claim.strength == "not_clear") == (winner is None)
        assert (claim.strength in ("contradicted", "circle")) == (winner is not None and winner == claim.runner_up)


LIVE = LiveStudy(
    answers="preferences", criteria=("overall",), error_rate=0.05, effect=0.1, margin=0.1, least=10, most=40,
    scale_width=None, groups=(), pairs=(),
)  # fmt: skip


def decided(row: PairResult, decision: Any) -> LivePairRow:
    """Return what a live study decided on the pair of a row."""
    return LivePairRow(
        group=row.test.group, criterion="overall", exposure=row.exposure, system_x=row.x, system_y=row.y, n=20,
        mean=0.6, low=0.4, high=0.8, decision=decision, decided_after=20 if decision else None, expected_more=None,
        n_asked=20, mean_asked=0.6,
    )  # fmt: skip


def random_tables(seed: int) -> dict[str, Any]:
    """Return small tables of one to three ways of asking, by people, an LLM or one person, often with clear winners."""
    rng = np.random.default_rng(seed)
    systems = SYSTEMS[: int(rng.integers(2, 5))]
    annotators = [f"p{number}" for number in range(int(rng.choice([1, 3, 12])))]
    better = dict(zip(systems, rng.normal(0, rng.choice([0.1, 1.5]), len(systems)), strict=True))
    frames: dict[str, Any] = {}
    asked = [name for name in ("preferences", "ratings", "choices") if rng.random() < 0.6] or ["choices"]
    pairs = [pair for pair in combinations(systems, 2) if rng.random() < 0.8] or [(systems[0], systems[1])]

    def chance(x: str, y: str) -> float:
        return float(1 / (1 + np.exp(better[y] - better[x] + rng.normal(0, 0.5))))

    if "preferences" in asked:
        frames["preferences"] = preferences((who, x, y, round(chance(x, y), 2)) for who in annotators for x, y in pairs)
    if "ratings" in asked:
        sign = rng.choice([1, -1])  # may contradict the others
        frames["ratings"] = ratings(
            (who, f"i{item}", system, int(np.clip(np.round(3 + sign * better[system] + rng.normal(0, 0.8)), 1, 5)))
            for who in annotators
            for item in range(4)
            for system in systems
        )
    if "choices" in asked:
        frames["choices"] = choices(
            (who, f"i{item}", x, y, str(rng.choice(["x", "y"], p=[p := chance(x, y), 1 - p])))
            for who in annotators
            for item in range(4)
            for x, y in pairs
        )
    return frames


@pytest.mark.parametrize("llm", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_no_sentence_contradicts_what_small_tables_give(seed: int, llm: bool) -> None:
    tables = check(llms=("p0",) if llm else (), **random_tables(seed))
    hold_to_the_rows(analyse(tables, Plan()))
