"""What the headline claims of made answers, and why it names no winner."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from analysis.results.files import from_plain
from analysis.results.headline import headline_of
from tests.analysis.made_answers import choices, preferences, run
from tests.analysis.results.claims_and_rows import (
    SYSTEMS,
    as_choices,
    caveat_kinds,
    claim_and_lines,
    group_row,
    hold_to_the_rows,
)
from tests.analysis.sample_results import empty_results, preference, rating_pair


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


def test_headline_speaks_of_the_group_with_most_answers() -> None:
    people = [(group, who) for group, n in (("alpha", 8), ("zeta", 14)) for who in range(n)]
    rows = [(f"{group}{who}", "i", "tea", "water", "tea" if who % 3 else "water") for group, who in people]
    results = run(choices=choices(rows, group=[group for group, _ in people]))
    assert (results["headline"]["source"], results["headline"]["group"]) == ("choices", "zeta")


def test_one_even_answer_is_untested_not_without_a_leader() -> None:
    (claim,) = run(preferences=preferences([("p", "tea", "water", 0.5)]))["headline"]["claims"]
    assert (claim["strength"], claim["leader"]) == ("untested", None)


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
