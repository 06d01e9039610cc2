"""No sentence of the first page contradicts a row that it speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import Plan, analyse
from analysis.answers.live_rows import LivePairRow, LiveStudy
from analysis.printing.cells import SKEWED, verdict
from analysis.printing.document import Bullets, Links, Paragraph, Section, Table, Terms, whole
from analysis.printing.lookup import PairResult, pair_results
from analysis.printing.names import Names
from analysis.printing.words import p_value, percent
from analysis.records.results import Results
from analysis.report.headline import headline
from analysis.report.sections import make_section
from analysis.report.warnings import warnings
from analysis.results.caveats import SEVERITY
from analysis.results.certainty_words import p_words
from analysis.results.files import from_plain
from analysis.results.headline import headline_of
from analysis.results.headline_rows import Headline, HeadlineClaim
from analysis.results.live import live_row
from tests.analysis.made_answers import check, choices, preferences, ratings, run
from tests.analysis.sample_results import empty_results, preference, rating_pair

SYSTEMS = ("alder", "birch", "cedar", "dogwood")
ROOT = Path(__file__).parents[3]


def claim_and_lines(results: dict[str, Any]) -> tuple[HeadlineClaim, dict[str, str]]:
    headline = headline_of(from_plain(results))
    (claim,) = headline.claims
    return claim, {title: text.replace("\u00a0", " ") for title, text in headline.lines()}


def caveat_kinds(results: dict[str, Any]) -> list[str | None]:
    headline = headline_of(from_plain(results))
    return [problem.kind for problem in (*headline.problems, *headline.more_problems)]


# What each claim must keep to, checked against the rows.


def row_of(results: Results, headline: Headline, claim: HeadlineClaim) -> PairResult | None:
    """Return the row that a claim speaks of."""
    assert headline.source is not None
    rows = [
        row
        for row in pair_results(results, headline.source)
        if (row.test.group, row.test.criterion, row.exposure) == (headline.group, claim.criterion, claim.exposure)
        and {row.x, row.y} == {claim.leader, claim.runner_up}
    ]
    return rows[0] if rows else None


def hold_to_the_rows(results: Results) -> Headline:
    """Check every claim of a headline, and its sentences, against the rows it was made of."""
    headline = headline_of(results)
    for claim in headline.claims:
        row = row_of(results, headline, claim)
        if claim.strength in ("no_leader", "untested"):
            assert claim.winner is None
            continue
        assert row is not None
        hold_claim_to_row(results, claim, row)
    if len(headline.claims) == 1 and headline.source is not None:
        hold_words_to_claim(results, headline)
    return headline


def hold_claim_to_row(results: Results, claim: HeadlineClaim, row: PairResult) -> None:
    fwer, test = results.settings.fwer, row.test
    if claim.winner is not None:
        assert claim.winner == claim.leader
    match claim.strength:
        case "unanimous":
            assert test.p_value is None
            assert claim.p_unanimous == test.p_unanimous
            assert test.p_unanimous is not None
            assert test.p_unanimous <= fwer
            assert (claim.winner, row.ahead) == (claim.leader, claim.leader)
        case "clear" | "these_only" | "skewed" | "tests_opposed":
            assert row.winner == claim.leader
            assert test.p_adjusted is not None
            assert test.p_adjusted <= fwer
            assert (claim.winner is None) == (claim.strength == "tests_opposed")
        case "contradicted" | "circle":
            assert claim.winner is None
            assert row.winner == claim.runner_up or (row.winner is None and row.ahead == claim.runner_up)
        case "not_clear":
            assert claim.winner is None
            assert row.winner is None
        case "weights_reverse":
            assert claim.winner is None
            assert test.weights_reverse
        case "items_decide":
            assert claim.winner is None
            assert test.items_decide
    if claim.strength == "clear":
        assert not test.highly_skewed
        assert claim.crossed in ("agrees", None)
    crossed = getattr(test, "crossed_verdict", None)
    if claim.crossed is not None:
        assert (claim.crossed == "agrees") == (crossed == test.verdict and crossed in ("x", "y"))
        assert (claim.crossed == "opposite") == ({crossed, test.verdict} == {"x", "y"})
        assert (claim.crossed == "open") == (crossed == test.verdict == "indifferent")
    if claim.strength == "circle":
        winners = {
            frozenset((one.x, one.y)): one.winner or one.ahead
            for one in sorted(pair_results(results, row.source), key=lambda one: one.exposure or 0)
            if one.test.verdict is not None or one.p_unanimous is not None
        }
        for better, worse in zip(claim.circle, [*claim.circle[1:], claim.circle[0]], strict=True):
            assert winners[frozenset((better, worse))] == better


def hold_words_to_claim(results: Results, headline: Headline) -> None:
    """Check that the sentences name systems, numbers and agreement of their claim only."""
    (claim,) = headline.claims
    said = {name for name in SYSTEMS if re.search(rf"\b{name}\b", headline.winner)}
    known = {claim.leader, claim.runner_up, *claim.circle, *claim.passed_over, *claim.unbeaten}
    first = next((row.order[0] for row in results.rankings if row.order and row.source == headline.source), ())
    row = row_of(results, headline, claim)
    if claim.strength in ("no_leader", "untested"):
        known |= {*first, *(SYSTEMS if len({*_compared(results, headline)}) == 2 else ())}
    assert said <= known
    assert ("where the two were compared" in headline.winner) <= (len({*_compared(results, headline)}) > 2)
    assert ("clearly ahead of" in headline.winner.replace("not clearly", "").replace("no winner", "")) <= (
        claim.strength in ("clear", "tests_opposed")
    )
    assert ("annotators and items agrees" in headline.certainty) <= (claim.crossed == "agrees")
    if row is None or claim.strength in ("unanimous", "circle") or results.live is not None:
        return
    if row.test.p_adjusted is not None:
        assert f"adjusted {p_words(row.test.p_adjusted)}," in headline.certainty
    if row.test.ci_low is not None:
        assert f"({100 * results.settings.confidence:g}% confidence interval" in headline.certainty
    if row.source != "ratings" and row.value is not None and row.ahead is not None:
        share = row.value if row.ahead == row.x else 1 - row.value
        text = headline.certainty + headline.winner
        assert percent(share) in text or share == 1.0


def _compared(results: Results, headline: Headline) -> set[str]:
    assert headline.source is not None
    rows = [row for row in pair_results(results, headline.source) if row.test.group == headline.group]
    return {one for row in rows for one in (row.x, row.y)}


# Random results: rows that say whatever they say.


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


def fill(results: dict[str, Any], source: str, rows: list[dict[str, Any]]) -> None:
    if source == "preferences":
        results["preferences"] = rows
    elif source == "choices":
        results["choices"] = {"pairs": rows}
    else:
        results["ratings"] = {"means": [], "pairs": rows}


def group_row(group: str, kind: str, **changes: Any) -> dict[str, Any]:
    row = {
        "group": group,
        "annotator_kind": kind,
        "annotators": 1 if kind == "llm" else 88,
        "assignments": 88,
        "excluded_annotators": 0,
        "excluded_assignments": 0,
        "form": None,
    }
    return row | changes


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


def as_choices(row: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in row.items() if name not in ("exposure", "mean", "sd")}
    wins = round(100 * row["mean"])
    return {**kept, "unit": "annotator", "wins_x": wins, "wins_y": 100 - wins, "ties": 0, "win_rate": row["mean"]}


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


def test_nobody_left_is_said_without_a_winner() -> None:
    """Everybody gives 90 % in both directions, which the bound on their sum excludes."""
    rows = [(f"p{who}", *pair, 0.9) for who in range(12) for pair in (("alder", "birch"), ("birch", "alder"))]
    found = run(preferences=preferences(rows))
    headline = hold_to_the_rows(from_plain(found))
    assert headline.claims[0].winner is None
    assert headline.problems[0].kind == "all_excluded"


# Cases by hand.


def rated(verdict: str, crossed: str | None) -> dict[str, Any]:
    """Return two systems whose test and crossed test say what they are told to; alder is ranked first."""
    p = {"x": 0.0004, "y": 0.0004, "indifferent": 0.3}[verdict]
    row = rating_pair("human", "alder", "birch", -0.4 if verdict == "y" else 0.4, p)
    p_crossed = {"x": 0.014, "y": 0.014, "indifferent": 0.4, None: None}[crossed]
    row |= {"crossed_verdict": crossed, "p_crossed": p_crossed, "p_crossed_adjusted": p_crossed}
    row |= {"disagree": None if crossed is None else crossed != verdict}
    row |= {"crossed_reason": "one annotator" if crossed is None else None}
    ranking = {"source": "ratings", "group": "human", "criterion": "overall", "order": [["alder"], ["birch"]]}
    return {**empty_results(), "ratings": {"means": [], "pairs": [row]}, "rankings": [ranking]}


@pytest.mark.parametrize(
    ("verdict", "crossed", "strength", "said"),
    [
        ("x", "x", "clear", "The test over other annotators and items agrees."),
        ("x", "y", "tests_opposed", "adjusted p < .001"),
        ("x", "indifferent", "these_only", "it is not shown (crossed p = .400)"),
        ("x", None, "clear", "other items were not tested"),
        ("indifferent", "y", "not_clear", "Only the test over other annotators and items finds birch better"),
        ("indifferent", "x", "not_clear", "Only the test over other annotators and items finds alder better"),
        ("indifferent", "indifferent", "not_clear", "Nor does the test over other annotators and items find"),
        ("indifferent", None, "not_clear", "This does not show that they are equal."),
    ],
)
def test_what_the_crossed_test_says_beside_the_test(
    verdict: str, crossed: str | None, strength: str, said: str
) -> None:
    claim, lines = claim_and_lines(rated(verdict, crossed))
    assert claim.strength == strength
    assert said in lines["By how much"]
    assert ("agrees" in lines["By how much"]) == (verdict == crossed == "x")


def test_claims_name_the_better_of_two() -> None:
    """The ranking has alder first and the one test birch: nothing else was compared."""
    claim, lines = claim_and_lines(rated("y", "y"))
    assert (claim.leader, claim.strength) == ("birch", "clear")
    assert "compared" not in lines["Who wins"]


def test_two_systems_of_which_nobody_is_clearly_first() -> None:
    results = rated("indifferent", None)
    results["ratings"]["pairs"][0]["mean_difference"] = -0.4
    claim, lines = claim_and_lines(results)
    assert (claim.leader, claim.winner, claim.strength) == (None, None, "no_leader")
    assert lines["Who wins"].startswith("People put neither alder nor birch clearly first")


def circle() -> list[tuple[str, str, str, str, str]]:
    """Twelve people choose alder over birch, birch over cedar, cedar over dogwood, dogwood over alder, 4 of 5 times."""
    rounds = [*zip(SYSTEMS, (*SYSTEMS[1:], SYSTEMS[0]), strict=True)]
    return [
        (f"p{who}", f"i{item}", x, y, "y" if (who + item + place) % 5 == 0 else "x")
        for who in range(12)
        for item in range(5)
        for place, (x, y) in enumerate(rounds)
        if not (place == 3 and item == 0 and who < 6)  # a little less, so that one is first
    ]


def test_a_circle_names_no_winner_and_is_a_caveat() -> None:
    found = run(choices=choices(circle()))
    headline = hold_to_the_rows(from_plain(found))
    (claim,) = headline.claims
    assert claim.strength == "circle"
    assert claim.winner is None
    assert set(claim.circle) == set(SYSTEMS)
    assert headline.winner.startswith("No winner can be named: by the answers of people,")
    assert headline.problems[0].kind == "circle"


def test_no_preference_at_all_is_no_circle() -> None:
    """Six equal systems: the share of cyclic variance is .68 by chance alone (Jiang et al. 2011), and says nothing."""
    rng = np.random.default_rng(4)
    systems = [*SYSTEMS, "elm", "fir"]
    rows = [
        (f"p{who}", f"i{item}", x, y, str(rng.choice(["x", "y"])))
        for who in range(12)
        for item in range(5)
        for x, y in combinations(systems, 2)
    ]
    found = run(choices=choices(rows))
    assert "circle" not in caveat_kinds(found)
    assert found["headline"]["claims"][0]["strength"] in ("not_clear", "no_leader")


def test_parts_that_were_never_compared_are_a_caveat() -> None:
    rows = [
        (f"p{who}", f"i{item}", x, y, "xy"[(who + item) % 3 == 0])
        for who in range(12)
        for item in range(3)
        for x, y in (("alder", "birch"), ("cedar", "dogwood"))
    ]
    found = run(choices=choices(rows))
    assert caveat_kinds(found)[0] == "disconnected"
    assert "alder and birch are one" in found["headline"]["problems"][0]["text"]
    assert found["headline"]["winner"] == (
        "People name nobody first, as some systems were never compared with the others."
    )


def test_claims_contradicted_order_names_no_winner() -> None:
    """Of three: alder is first by all comparisons together and loses clearly to birch."""
    rows = [
        as_choices(preference("human", "alder", "birch", 0.4)),
        as_choices(preference("human", "alder", "cedar", 0.95)),
        as_choices(preference("human", "birch", "cedar", 0.5, p_adjusted=1.0)),
    ]
    ranking = {"source": "choices", "group": "human", "criterion": "overall"}
    order = [["alder"], ["birch"], ["cedar"]]
    results = {**empty_results(), "choices": {"pairs": rows}, "rankings": [{**ranking, "order": order}]}
    claim, lines = claim_and_lines(results)
    assert (claim.strength, claim.winner, claim.runner_up) == ("contradicted", None, "birch")
    assert "birch is clearly better where the two were compared" in lines["Who wins"]
    rows[1] = as_choices(preference("human", "birch", "cedar", 0.05))  # birch, whom alder beats by nothing
    assert claim_and_lines(results)[0].strength == "contradicted"


def test_claims_fragile_winner_is_not_named() -> None:
    """A winner that turns with one annotator's weight is not named."""
    row = as_choices(preference("human", "alder", "birch", 0.25, n=6, p_adjusted=0.02))
    row |= {"wins_x": 185, "wins_y": 25, "n_answers": 210, "n_used": 210, "most_of_one": 200}
    row |= {"pooled_estimate": 0.88, "others_estimate": 0.1, "weights_reverse": True}
    ranking = {"source": "choices", "group": "human", "criterion": "overall", "order": [["alder"], ["birch"]]}
    results = {**empty_results(), "choices": {"pairs": [row]}, "rankings": [ranking]}
    claim, lines = claim_and_lines(results)
    assert (claim.strength, claim.winner) == ("weights_reverse", None)
    assert lines["Who wins"] == (
        "No winner can be named: one person gave 200 of 210 answers; the other 5 choose birch."
    )
    assert "weights_reverse" not in caveat_kinds(results)  # the first line says it
    shared = {**results, "choices": {"pairs": [{**row, "others_estimate": 0.7}]}}
    assert claim_and_lines(shared)[1]["Who wins"] == (
        "No winner can be named: if every person counts the same, birch is ahead; if every answer does, alder."
    )
    results["choices"]["pairs"].append({**row, "criterion": "wit"})
    assert "weights_reverse" in caveat_kinds(results)


def test_one_of_six_who_gave_most_answers_decides_nothing() -> None:
    """One gives 200 of 210 answers, alder in 9 of 10; the other five always choose birch."""
    rows = [("p0", f"i{item}", "alder", "birch", "y" if item % 10 == 0 else "x") for item in range(200)]
    rows += [(f"p{who}", f"i{item}", "alder", "birch", "y") for who in range(1, 6) for item in range(2)]
    found = run(choices=choices(rows))["headline"]
    (claim,) = found["claims"]
    assert (claim["strength"], claim["winner"]) == ("weights_reverse", None)
    assert found["winner"] == "No winner can be named: one person gave 200 of 210 answers; the other 5 choose birch."
    assert found["problems"][0]["kind"] == "one_gave_most"
    assert found["problems"][0]["text"] == "One person gave 200 of 210 answers (alder\u2013birch)."


def test_the_share_of_answers_used_stands_on_the_first_page() -> None:
    results = rated("x", "x")
    results["ratings"]["pairs"][0] |= {"n_answers": 480, "n_used": 100}
    _, lines = claim_and_lines(results)
    assert "from 100 of 480 answers about the two" in lines["By how much"]
    assert "alder and birch on 100 of 480." in lines["Main caveats"]
    results["ratings"]["pairs"][0] |= {"n_used": 432}  # nine tenths
    _, lines = claim_and_lines(results)
    assert "answers about the two" not in lines["By how much"]
    assert "part_used" not in caveat_kinds(results)


def test_unanimous_people_are_evidence() -> None:
    rows = [(f"p{who}", f"i{item}", "alder", "birch", "x") for who in range(14) for item in range(4)]
    found = run(choices=choices(rows))
    headline = hold_to_the_rows(from_plain(found))
    assert headline.claims[0].strength == "unanimous"
    assert headline.winner == (
        "All 14 people chose alder in all 56 comparisons (chance at most .0002 if there were no preference)."
    )
    assert "untested" not in caveat_kinds(found)
    few = hold_to_the_rows(from_plain(run(choices=choices([row for row in rows if row[0] in ("p1", "p2", "p3")]))))
    assert few.claims[0].strength == "not_clear"
    assert few.certainty.startswith("All 3 people chose alder in all 12 comparisons (chance at most .25 if there")


def both_ways(spa: float, likert: float, *, p_likert: float = 0.003) -> dict[str, Any]:
    ranking = {"source": "preferences", "group": "human", "criterion": "overall", "order": [["alder"], ["birch"]]}
    return {
        **empty_results(),
        "preferences": [preference("human", "alder", "birch", spa)],
        "ratings": {"means": [], "pairs": [rating_pair("human", "alder", "birch", likert, p_likert)]},
        "rankings": [ranking],
    }


def test_claims_ratings_opposite_of_spa() -> None:
    """Ratings that say the opposite of SPA are the first caveat."""
    found = headline_of(from_plain(both_ways(0.7, -0.4)))
    assert found.problems[0].kind == "other_source_opposite"
    assert found.problems[0].text.replace("\u00a0", " ") == (
        "The opposite is clear in ratings by people: birch is better than alder (adjusted p = .003)."
    )
    for results in (both_ways(0.7, 0.4), both_ways(0.7, -0.4, p_likert=0.3)):
        assert "other_source_opposite" not in caveat_kinds(results)


def test_claims_skewed_first_place_is_not_clear() -> None:
    """A first place on highly skewed values is not called clear."""
    results = both_ways(0.7, 0.4)
    results["preferences"][0]["highly_skewed"] = True
    claim, lines = claim_and_lines(results)
    assert claim.strength == "skewed"
    assert "clearly" not in lines["Who wins"]
    assert "1 test rests on highly skewed values (SPA: alder\u2013birch)." in lines["Main caveats"]


def test_claims_of_tests_beyond_their_level() -> None:
    """What a test that does not keep its level shows is not extended to others."""
    results = rated("x", None)
    row = results["ratings"]["pairs"][0]
    row |= {"level_problem": "three annotators beside nine"}
    claim, lines = claim_and_lines(results)
    assert claim.strength == "these_only"
    assert lines["By how much"].endswith("The test does not keep its level on this design.")
    row |= {"level_problem": None, "highly_skewed": True}
    claim, lines = claim_and_lines(results)
    assert claim.strength == "skewed"
    assert "It holds" not in lines["By how much"]


def test_a_simulated_rater_alone_is_no_llm() -> None:
    row = preference("simulated-rater", "alder", "birch", 0.7, n=24)
    groups = [group_row("simulated-rater", "llm", simulated=True)]
    _, lines = claim_and_lines({**empty_results(), "groups": groups, "preferences": [row]})
    assert lines["Who wins"] == "The simulated rater prefers alder most, clearly ahead of birch."
    assert lines["By how much"].endswith("n = 24 forms. This shows how the method works, not what people think.")
    assert lines["Can an LLM replace annotators?"] == "Rehearsal: not asked of an LLM."


@pytest.mark.parametrize(
    ("group", "kind", "units"),
    [("gpt", "llm", "24 forms"), ("simulated", "simulated", "24 simulated annotators"), ("human", "human", "24 people"),
     ("experts", "human", "24 annotators")],
)  # fmt: skip
def test_units_are_named_by_what_they_are(group: str, kind: str, units: str) -> None:
    row = preference(group, "alder", "birch", 0.7, n=24)
    results = {**empty_results(), "groups": [group_row(group, kind)], "preferences": [row]}
    assert f"n = {units}." in claim_and_lines(results)[1]["By how much"]


def games(first: int, of: int) -> list[tuple[str, str, str, str, str]]:
    """Return games of a judge, both orders of each: in some it takes the output shown first both times."""
    rows = []
    for item in range(of):
        one = "x" if item % 2 else "y"
        rows.append(("judge", f"i{item}", "alder", "birch", "x" if item < first else one))
        rows.append(("judge", f"i{item}", "birch", "alder", "x" if item < first else {"x": "y", "y": "x"}[one]))
    return rows


def test_a_judge_that_takes_what_it_is_shown_first_is_a_caveat() -> None:
    found = run(choices=choices(games(40, 40)), llms=("judge",))
    (row,) = found["first_shown"]
    assert (row["n"], row["first"], row["second"], row["biased"]) == (40, 40, 0, True)
    texts = [problem["text"] for problem in found["headline"]["problems"]]
    assert any("took the output shown first in both orders in 40 of 40" in text for text in texts)
    fair = run(choices=choices(games(3, 40)), llms=("judge",))
    assert fair["first_shown"][0]["biased"] is False  # 3 of 3: p = .25
    assert "position" not in caveat_kinds(fair)


def test_missing_answers_that_are_all_one_systems_say_so() -> None:
    rows = [
        (f"p{who}", f"i{item}", system, 1 + (who + item + len(system)) % 5)
        for who in range(12)
        for item in range(3)
        for system in ("alder", "birch")
    ]
    lost = [(*row[:3], "" if row[2] == "birch" and row[0] < "p3" else row[3]) for row in rows]
    found = run(ratings=ratings(lost))
    assert {row["system"] for row in found["missing"]} == {"birch"}
    (text,) = [p["text"] for p in found["headline"]["problems"] if p["kind"] == "missing_answers"]
    assert text.endswith("answers are missing, all about birch.")
    both = [(*row[:3], "" if row[0] < "p3" else row[3]) for row in rows]
    assert {row["system"] for row in run(ratings=ratings(both))["missing"]} == {None}


def test_a_rehearsal_says_that_no_llm_was_asked() -> None:
    rows = [(f"p{who}", "alder", "birch", 0.5 + who / 30) for who in range(12)]
    asked = [("simulated-rater", "alder", "birch", 0.5 + who / 30) for who in range(12)]
    frame = preferences([*rows, *asked], assignment_id=[f"a{n}" for n in range(24)])
    kinds = ["simulated"] * 12 + ["llm"] * 12
    found = run(preferences=frame.with_columns(pl.Series("annotator_kind", kinds)))
    assert [row["simulated"] for row in found["groups"]] == [False, True]
    assert found["headline"]["stand_in"] == "Rehearsal: not asked of an LLM."


def test_the_published_order_of_caveats_is_that_of_the_code() -> None:
    page = (ROOT / "docs" / "report.md").read_text()
    (part,) = re.findall(r"^## Main caveats\n(.*?)^## ", page, flags=re.M | re.S)
    listed = re.findall(r"`(\w+)`", part.split(":", 1)[1])
    assert listed == [kind for kind, _ in SEVERITY]


def test_three_caveats_are_shown_and_the_number_of_the_others() -> None:
    row = preference("human", "alder", "birch", 0.7, highly_skewed=True)
    lost = {"source": "preferences", "group": "human", "criterion": "overall", "reason": "no answer", "n": 7}
    people = group_row("human", "human", annotators=9, excluded_annotators=4)
    results = {**empty_results(), "preferences": [row], "missing": [lost], "groups": [people]}
    found = headline_of(from_plain(results))
    assert [problem.kind for problem in found.problems] == ["highly_skewed", "many_excluded", "few_annotators"]
    assert [problem.kind for problem in found.more_problems] == ["missing_answers"]
    assert dict(found.lines())["Main caveats"].endswith("And 1 more.")


@pytest.mark.parametrize("rated_only", [False, True])
def test_the_first_page_of_a_study_without_faults_stays_short(rated_only: bool) -> None:
    """As short as before it said what it says now: 69 words of preferences with one warning, 72 of ratings."""
    results = {**empty_results(), "groups": [group_row("human", "human")]}
    results |= {
        "warnings": ["human: x."],
        "warning_rows": [{"kind": "few_values", "group": "human", "text": "human: x."}],
    }
    results["preferences"] = [preference("human", "A", "B", 0.68)]
    if rated_only:
        row = rating_pair("human", "A", "B", 0.4, 0.001) | {"ci_low": 0.2, "ci_high": 0.6}
        results |= {"preferences": [], "ratings": {"means": [], "pairs": [row]}}
        results["settings"] = {**results["settings"], "lower_is_better": ["wit"]}
    section = headline(from_plain(results))
    assert section is not None
    assert len(" ".join(texts_of(section)).split()) <= (64 if rated_only else 61)


def texts_of(section: Section) -> Iterator[str]:
    """Yield the running text of a section, without its pictures and tables."""
    for block in section.blocks:
        match block:
            case Paragraph():
                yield block.text
            case Terms():
                for title, text in block.items:
                    yield f"{title} {text if isinstance(text, str) else ' '.join(link.text for link in text)}"
            case Links():
                yield f"{block.label} {' '.join(link.text for link in block.items)}"


def test_the_number_of_further_caveats_leads_to_all_of_them() -> None:
    row = preference("human", "alder", "birch", 0.7, highly_skewed=True)
    lost = {"source": "preferences", "group": "human", "criterion": "overall", "reason": "no answer", "n": 7}
    people = group_row("human", "human", annotators=9, excluded_annotators=4)
    results = from_plain({**empty_results(), "preferences": [row], "missing": [lost], "groups": [people]})
    results = replace(results, headline=headline_of(results))
    first, all_of_them = headline(results), warnings(results)
    assert first is not None
    assert all_of_them is not None
    links = dict(next(block for block in first.blocks if isinstance(block, Terms)).items)["Main caveats"]
    assert not isinstance(links, str)
    assert [(link.text, link.target) for link in links][-1] == ("and 1 more", "warnings")
    bullets = next(block for block in all_of_them.blocks if isinstance(block, Bullets))
    assert len(bullets.items) == 4


def test_warnings_are_counted_as_they_are_printed() -> None:
    """Nine warnings of which some say the same of two groups are fewer lines, and the first page says how many."""
    groups = [group_row(name, "human") for name in ("one", "two")]
    rows = [{"kind": "few_values", "group": name, "text": f"{name}: only {n} values."} for n, name in enumerate("ab")]
    results = {**empty_results(), "groups": groups, "warning_rows": [*rows, {**rows[0], "text": "a: another."}]}
    results |= {"preferences": [preference("one", "alder", "birch", 0.7)], "warnings": ["1", "2", "3"]}
    first = headline(from_plain(results))
    assert first is not None
    (links,) = [block for block in first.blocks if isinstance(block, Links)]
    assert [link.text for link in links.items] == ["2 warnings"]


def test_a_highly_skewed_row_has_one_mark_in_place_of_evidence() -> None:
    names = Names(from_plain(empty_results()))
    for skewed, detail in ((True, SKEWED), (False, "very strong evidence")):
        row = from_plain(
            {**empty_results(), "preferences": [preference("human", "alder", "birch", 0.7, highly_skewed=skewed)]}
        ).preferences[0]
        cell = verdict(row, names, "preferences")
        assert (cell.text, cell.detail) == ("alder preferred", detail)


@pytest.mark.parametrize(
    ("groups", "counted"),
    [
        ({"gpt": "llm"}, "forms"),
        ({"human": "human"}, "people"),
        ({"simulated": "simulated"}, "simulated annotators"),
        ({"human": "human", "gpt": "llm"}, "people (for LLMs, forms)"),
        ({"human": "human", "experts": "human", "gpt": "llm"}, "annotators (for LLMs, forms)"),
    ],
)
def test_tables_say_what_n_counts(groups: dict[str, str], counted: str) -> None:
    results = {**empty_results(), "groups": [group_row(group, kind) for group, kind in groups.items()]}
    results["preferences"] = [preference(group, "alder", "birch", 0.7) for group in groups]
    section = make_section(from_plain(results), "preferences")
    assert section is not None
    columns = [column for block in section.blocks if isinstance(block, Table) for column in block.columns]
    assert counted in [column.explanation for column in columns if column.title == "n"]


def test_an_expected_preference_that_is_not_found_is_undecided() -> None:
    row = {"source": "preferences", "group": "human", "criterion": "overall", "exposure": 5, "system_x": "alder",
           "system_y": "birch", "expected": "x", "found": "indifferent", "recovered": False}  # fmt: skip
    tested = preference("human", "alder", "birch", 0.55, p_adjusted=0.135)
    section = make_section(from_plain({**empty_results(), "preferences": [tested], "expected": [row]}), "expected")
    assert section is not None
    tables = [block for block in whole(section).blocks if isinstance(block, Table)]
    texts = [cell.text for table in tables for cells in table.rows for cell in cells]
    assert "not recovered: ~ undecided" in texts
    assert not any("no difference" in text for text in texts)


def test_what_was_not_tested_is_said_as_it_is_ranked() -> None:
    for scores, order, said in (
        ({"alder": 5, "birch": 4, "cedar": 4}, [["alder"], ["birch", "cedar"]], "People put alder first, but no test"),
        ({"alder": 5, "birch": 5, "cedar": 4}, [["alder", "birch"], ["cedar"]], "People put no system alone in first"),
    ):
        rows = [(f"p{one}", f"i{one % 3}", *each) for one in range(12) for each in scores.items()]
        results = run(ratings=ratings(rows))
        assert [row["order"] for row in results["rankings"] if row["source"] == "ratings"] == [order]
        assert results["headline"]["winner"].startswith(said)


def test_a_p_value_above_the_level_is_not_printed_as_the_level() -> None:
    assert [p_value(value) for value in (0.05, 0.0501, 0.0499, 0.0506)] == [".050", ".0501", ".050", ".051"]
