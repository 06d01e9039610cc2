"""What the first lines of the report say."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.report.closing import warnings
from analysis.report.document import Bullets, Fold, Paragraph, Table
from analysis.report.headline import headline
from analysis.report.preferences import preferences
from analysis.report.strengths import order_words
from analysis.report.words import Names
from analysis.results.files import from_plain
from analysis.statistics.rank_orders import Ranking, Unranked
from analysis.strengths.fit import WON_ALL
from tests.analysis.sample_results import (
    empty_results,
    full_results,
    many_results,
    pair_results,
    preference,
    rating_pair,
    untested,
)


def told(results: dict[str, Any]) -> str:
    """Return all sentences of the headline, with plain spaces."""
    section = headline(from_plain(results))
    assert section is not None
    lines = []
    for block in section.blocks:
        if isinstance(block, Paragraph):
            lines.append(block.text)
        if isinstance(block, Bullets):
            lines.extend(block.items)
    return "\n".join(lines).replace("\u00a0", " ")


def ranked(*rows: dict[str, Any], order: list[list[str]], source: str = "preferences") -> dict[str, Any]:
    ranking = {"source": source, "group": "human", "criterion": "overall", "order": order}
    return {**empty_results(), "preferences": list(rows), "rankings": [ranking]}


def test_one_pair():
    assert told(pair_results()) == (
        "People prefer A & B to B: on average they put the chance that A & B is better at 68.0% "
        "(95% interval 63.3 to 72.7), adjusted p < .001."
    )


def test_a_pair_that_was_asked_the_other_way_round_is_turned():
    results = {**empty_results(), "preferences": [preference("human", "A", "B", 0.32, p_adjusted=0.004)]}
    assert told(results) == (
        "People prefer B to A: on average they put the chance that B is better at 68.0% "
        "(95% interval 63.3 to 72.7), adjusted p = .004."
    )


def test_a_share_lies_between_0_and_100():
    high = told({**empty_results(), "preferences": [preference("human", "A", "B", 0.98, p_adjusted=0.004)]})
    assert "at 98.0% (95% interval 93.3 to 100.0)" in high
    turned = told({**empty_results(), "preferences": [preference("human", "A", "B", 0.02, p_adjusted=0.004)]})
    assert "that B is better at 98.0% (95% interval 93.3 to 100.0)" in turned


def test_a_first_place_that_the_test_does_not_confirm():
    results = ranked(
        preference("human", "A", "B", 0.54, p_adjusted=0.3),
        preference("human", "B", "C", 0.7),
        order=[["A"], ["B"], ["C"]],
    )
    assert told(results).startswith("People place A first, but not clearly before B: ")
    assert told(results).endswith("Of the 2 comparisons, 1 shows a clear difference.")


def test_a_first_place_that_its_own_test_contradicts():
    results = ranked(
        preference("human", "A", "B", 0.4), preference("human", "A", "C", 0.9), order=[["A"], ["B"], ["C"]]
    )
    assert told(results).startswith(
        "People place A first by all comparisons together, although B is clearly better where the two were compared: "
    )


def test_no_preference_is_not_called_equality():
    results = {**empty_results(), "preferences": [preference("human", "A", "B", 0.51, p_adjusted=0.6)]}
    assert told(results).startswith("People show no clear preference in the one comparison.")
    assert told(results).endswith("That does not prove the systems equal.")


def test_others_that_find_the_opposite_are_named():
    results = pair_results()
    results["ratings"]["pairs"] = [rating_pair("human", "B", "A & B", 0.4, 0.001)]
    assert "Ratings by people: the same on 0 of 1 shared pair, and the opposite on 1 (B over A & B)." in told(results)


def test_an_llm_is_one_subject():
    results = {**pair_results(), "groups": [{**full_results()["groups"][0], "group": "gpt-4", "annotator_kind": "llm"}]}
    results["preferences"] = [preference("gpt-4", "A", "B", 0.68)]
    assert told(results).startswith("gpt-4 (LLM) prefers A to B: on average it puts the chance")


def test_ratings_speak_in_points():
    results = {**empty_results(), "ratings": {"means": [], "pairs": [rating_pair("human", "A", "B", -0.4, 0.001)]}}
    assert told(results) == (
        "People rate B better than A: the ratings of B are 0.40 points higher on average, adjusted p = .001."
    )


def test_criteria_are_told_apart_where_there_is_no_overall_question():
    lines = told(many_results(3)).splitlines()
    assert lines[0] == "2 criteria were judged, here by people:"
    assert [line.split(":")[0] for line in lines[1:3]] == ["Coherence", "Relevance"]


@pytest.mark.parametrize("kinds", [("human", "simulated"), ("simulated", "llm"), ("human", "llm")])
def test_people_come_first(kinds: tuple[str, str]):
    first, second = kinds
    results = {
        **empty_results(),
        "groups": [{**full_results()["groups"][0], "group": kind, "annotator_kind": kind} for kind in kinds],
        "preferences": [preference(second, "A", "B", 0.3), preference(first, "A", "B", 0.7)],
    }
    assert "A to B" in told(results).splitlines()[0]


def test_many_groups_do_not_bury_the_answer():
    results = pair_results()
    results["preferences"] += [preference(f"llm-{number:02d}", "A & B", "B", 0.68) for number in range(20)]
    section = headline(from_plain(results))
    assert section is not None
    folds = [block for block in section.blocks if isinstance(block, Fold)]
    assert [fold.summary for fold in folds] == ["The other 12"]


def test_two_systems_at_several_exposures_are_one_comparison():
    results = ranked(
        *(preference("human", "A", "B", mean, exposure=exposure) for mean, exposure in ((0.6, 1), (0.7, 4))),
        order=[["A"], ["B"]],
    )
    assert told(results).startswith("People prefer A to B: ")
    assert told(results).endswith(
        "This is after reading 4 outputs of each. The difference is clear at all 2 exposures."
    )


def test_comparisons_without_a_test_are_told():
    results = ranked(
        preference("human", "A", "B", 0.7),
        untested(preference("human", "A", "C", 1.0, sd=0.0), "no variation: every value is the same"),
        order=[["A"], ["B"]],
    )
    results["rankings"][0]["unranked"] = [{"system": "C", "reason": "lost every comparison"}]
    assert "1 more comparison could not be tested (no variation: every value is the same)." in told(results)
    section = headline(from_plain(results))
    assert section is not None
    table = next(block for block in section.blocks if isinstance(block, Table))
    assert [[field.text for field in row] for row in table.rows] == [["A", "1"], ["B", "2"], ["C", "\u2013"]]
    assert "No place for C: lost every comparison." in table.notes


def test_a_ranking_names_systems_without_a_place():
    left = (Unranked(system="C", reason="lost every comparison"),)
    ranking = Ranking(source="choices", group="human", criterion="overall", order=(("A",), ("B",)), unranked=left)
    assert order_words(Names(from_plain(empty_results())), ranking) == "1. A, 2. B; no place: C (lost every comparison)"


def test_warnings_call_groups_as_the_rest_of_the_report_does():
    results = full_results()
    results["warnings"] = ["human: only 3 annotators.", "gpt<4>/persona_a, overall: too few.", "human error is human."]
    section = warnings(from_plain(results))
    assert section is not None
    assert section.blocks[1:] == (
        Bullets(
            items=("People: only 3 annotators.", "gpt<4>/persona_a (LLM), overall: too few.", "human error is human.")
        ),
    )


def test_the_way_of_the_mean_with_exposure_is_told():
    results = ranked(
        *(preference("human", "A", "B", mean, exposure=exposure) for mean, exposure in ((0.6, 1), (0.7, 4))), order=[]
    )
    section = preferences(from_plain(results))
    assert section is not None
    lines = [item for block in section.blocks if isinstance(block, Bullets) for item in block.items]
    assert lines == ["People, A over B: 60.0% after reading 1 output of each, 70.0% after 4."]


def test_a_system_that_won_everything_is_named_before_the_first_of_the_others():
    results = ranked(
        preference("human", "A", "B", 0.7),
        untested(preference("human", "C", "B", 1.0, sd=0.0), "no variation: every value is the same"),
        order=[["A"], ["B"]],
    )
    results["rankings"][0]["unranked"] = [{"system": "C", "reason": WON_ALL}]
    won = "People let C win every comparison, which leaves it without a place in the ranking. Of the other systems: "
    assert told(results).startswith(won + "people prefer A")
    results["preferences"] = results["preferences"][1:]
    assert told(results).startswith(
        "The answers of people allow no test (no variation: every value is the same). C won"
    )
