"""What the first lines of the report say."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.llm_vs_people.llms_and_people import LLMsAndPeople
from analysis.printing.document import Bullets, Fold, Paragraph, Table, Terms
from analysis.printing.names import Names
from analysis.ranking.section import order_words
from analysis.report import render_report
from analysis.report.headline import headline
from analysis.report.sections import make_section
from analysis.report.warnings import warnings
from analysis.results.files import from_plain
from analysis.results.headline import headline_of
from analysis.statistics.rank_orders import Ranking, Unranked
from analysis.statistics.reasons import beside
from analysis.statistics.record import names_of
from analysis.strengths.existence import LOST_ALL, WON_ALL
from spa.rounding import number
from tests.analysis.sample_results import (
    empty_results,
    full_results,
    many_results,
    pair_results,
    preference,
    rating_pair,
    untested,
)


def lines_of(results: dict[str, Any]) -> dict[str, str]:
    """Return the four lines by their titles, with plain spaces."""
    return {title: text.replace("\u00a0", " ") for title, text in headline_of(from_plain(results)).lines()}


def winner(results: dict[str, Any]) -> str:
    return lines_of(results)["Who wins"]


def strength(results: dict[str, Any]) -> str:
    (claim,) = headline_of(from_plain(results)).claims
    return claim.strength


def items(results: dict[str, Any]) -> list[str]:
    section = headline(from_plain(results))
    return [item for block in section.blocks if isinstance(block, Bullets) for item in block.items]


def ranked(*rows: dict[str, Any], order: list[list[str]], source: str = "preferences") -> dict[str, Any]:
    ranking = {"source": source, "group": "human", "criterion": "overall", "order": order}
    return {**empty_results(), "preferences": list(rows), "rankings": [ranking]}


def test_one_pair():
    lines = lines_of(pair_results())
    assert lines["Who wins"] == "People prefer A & B most, clearly ahead of B."
    assert lines["By how much"] == (
        "They put the chance that A & B is better at 68.0% on average (95% confidence interval 63.3 to 72.7); "
        "adjusted p < .001, n = 88 people. "
        "It holds for annotators like these with these outputs."
    )
    assert lines["Can an LLM replace annotators?"] == "No LLM answered."


def test_the_section_opens_with_the_four_lines():
    section = headline(from_plain(pair_results()))
    assert section is not None
    first, rest = section.blocks[:2]
    assert isinstance(first, Paragraph)
    assert isinstance(rest, Terms)
    assert first.text == winner(pair_results())
    assert [title for title, _ in rest.items] == ["By how much", "Can an LLM replace annotators?", "Main caveats"]


def test_answers_that_compare_no_systems_have_a_first_page_too():
    page = headline(from_plain(empty_results()))
    (said, lines) = page.blocks[:2]
    assert isinstance(said, Paragraph)
    assert isinstance(lines, Terms)
    assert said.text == "Cannot be determined: there are no answers that compare two systems."
    assert [title for title, _ in lines.items] == ["By how much", "Can an LLM replace annotators?", "Main caveats"]


def test_a_pair_that_was_asked_the_other_way_round_is_turned():
    results = {**empty_results(), "preferences": [preference("human", "A", "B", 0.32, p_adjusted=0.004)]}
    assert winner(results) == "People prefer B most, clearly ahead of A."
    said = lines_of(results)["By how much"]
    assert "B is better at 68.0% on average (95% confidence interval 63.3 to 72.7); adjusted p = .004" in said


def test_no_bound_is_rounded_onto_what_the_verdict_rests_on():
    """50.02 to 58.8 leaves 50 out; 45.04 to 54.96 lies within five points of it."""
    clear = preference("human", "A", "B", 0.544, ci_low=0.5002, ci_high=0.588, p_adjusted=0.004)
    results = {**empty_results(), "preferences": [clear]}
    assert "(95% confidence interval above 50 to 58.8)" in lines_of(results)["By how much"]
    equal = {"p_equivalence": 0.01, "p_equivalence_adjusted": 0.01, "equivalent": True}
    alike = preference("human", "A", "B", 0.5, ci_low=0.4504, ci_high=0.5496, p_adjusted=0.9, **equal)
    results = {**results, "settings": {**results["settings"], "equivalence_margin": 0.05}, "preferences": [alike]}
    shown = render_report(from_plain(results), full=True)["report.md"]
    assert "above 45 to below 55" in shown  # the table of tests
    assert "above \u22125 to below 5 " in shown  # that of equivalence
    assert "45.0 to 55.0" not in shown


def test_a_share_lies_between_0_and_100():
    high = {**empty_results(), "preferences": [preference("human", "A", "B", 0.98, p_adjusted=0.004)]}
    assert "98.0% on average (95% confidence interval 93.3 to 100 (cut))" in lines_of(high)["By how much"]
    turned = {**empty_results(), "preferences": [preference("human", "A", "B", 0.02, p_adjusted=0.004)]}
    assert (
        "B is better at 98.0% on average (95% confidence interval 93.3 to 100 (cut))" in lines_of(turned)["By how much"]
    )


def test_a_first_place_that_the_test_does_not_confirm():
    results = ranked(
        preference("human", "A", "B", 0.54, p_adjusted=0.3),
        preference("human", "B", "C", 0.7),
        order=[["A"], ["B"], ["C"]],
    )
    assert strength(results) == "not_clear"
    assert winner(results) == "People prefer A most, but not clearly ahead of B."
    assert "This does not show that they are equal." in lines_of(results)["By how much"]


def test_a_first_place_that_its_own_test_contradicts():
    results = ranked(
        preference("human", "A", "B", 0.4), preference("human", "A", "C", 0.9), order=[["A"], ["B"], ["C"]]
    )
    assert strength(results) == "contradicted"
    assert "although B is clearly better where the two were compared" in winner(results)


def test_a_shared_first_place_has_no_winner():
    results = ranked(
        preference("human", "A", "B", 0.5, p_adjusted=0.9),
        preference("human", "A", "C", 0.9),
        order=[["A", "B"], ["C"]],
    )
    assert strength(results) == "no_leader"
    assert winner(results) == "People put no system alone in first place: A and B share it."


def rated(p_adjusted: float, crossed: float | None, unit: str) -> dict[str, Any]:
    """Return a study whose tests over units and over annotators and items say what they are told to."""
    verdicts = ["x" if p is not None and p <= 0.05 else "indifferent" for p in (p_adjusted, crossed)]
    over_both = {"p_crossed": crossed, "p_crossed_adjusted": crossed, "crossed_verdict": verdicts[1]}
    missing = {"crossed_reason": "no item was judged by two annotators"}
    row = {
        **rating_pair("human", "A", "B", 0.4, p_adjusted),
        "unit": unit,
        "disagree": None if crossed is None else verdicts[0] != verdicts[1],
        **(missing if crossed is None else over_both),
    }
    ranking = {"source": "ratings", "group": "human", "criterion": row["criterion"], "order": [["A"], ["B"]]}
    return {**empty_results(), "ratings": {"means": [], "pairs": [row]}, "rankings": [ranking]}


@pytest.mark.parametrize("unit", ["annotator", "item"])
@pytest.mark.parametrize("crossed", [0.01, 0.741, None])
@pytest.mark.parametrize("p_adjusted", [0.001, 0.3])
def test_clearly_is_said_only_where_no_test_speaks_against_it(p_adjusted: float, crossed: float | None, unit: str):
    lines = lines_of(rated(p_adjusted, crossed, unit))
    if p_adjusted > 0.05:
        expected = "not_clear"
    elif crossed == 0.741 or (crossed is None and unit == "item"):
        expected = "these_only"
    else:
        expected = "clear"
    assert strength(rated(p_adjusted, crossed, unit)) == expected
    assert ("clearly ahead" in lines["Who wins"].replace("not clearly", "")) == (expected == "clear")
    assert ("annotators only" in lines["Who wins"]) == (expected == "these_only")
    if expected == "these_only" and crossed is not None:
        assert "For other annotators and items it is not shown (crossed p = .741)." in lines["By how much"]
    if expected == "clear" and crossed is not None:
        assert "The test over other annotators and items agrees." in lines["By how much"]


def test_headline_direction_of_ratings():
    """The direction of ratings is said and an assumed one is a problem."""
    results = rated(0.001, 0.01, "annotator")
    lines = lines_of(results)
    assert lines["Who wins"].endswith("(assumed: higher is better).")
    assert "--lower-is-better" in lines["Main caveats"]
    results["settings"]["lower_is_better"] = [results["ratings"]["pairs"][0]["criterion"]]
    lines = lines_of(results)
    assert lines["Who wins"].endswith("(lower is better).")
    assert "--lower-is-better" not in lines["Main caveats"]


@pytest.mark.parametrize(
    ("passes", "reason", "expected"),
    [
        ([True], None, "gpt-4 (LLM): yes on overall."),
        ([False], None, "gpt-4 (LLM): no on overall."),
        ([True, False], None, "gpt-4 (LLM): yes on overall, no on second."),
        ([None], "2 annotators share 30 items; 3 are needed", "Cannot be determined: 2 annotators share 30 items; "
         "3 are needed."),
    ],
)  # fmt: skip
def test_whether_an_llm_can_replace_annotators(passes: list[bool | None], reason: str | None, expected: str):
    kind = {**full_results()["groups"][0], "group": "gpt-4", "annotator_kind": "llm"}
    row = {
        "people": "human",
        "group": "gpt-4",
        "source": "ratings",
        "epsilon": 0.1,
        "fdr": 0.05,
        "n_annotators": 3,
        "winning_rate": None,
        "advantage_probability": None,
        "annotators": [],
        "reason": reason or "rates are not given",
    }
    rows = [{**row, "criterion": name, "passes": one} for name, one in zip(("overall", "second"), passes, strict=False)]
    others = {name: [] for name in names_of(LLMsAndPeople) if name != "alternative_annotator"}
    results = {**pair_results(), "groups": [kind], "llm_vs_people": {"alternative_annotator": rows, **others}}
    assert lines_of(results)["Can an LLM replace annotators?"] == expected


def test_headline_llm_that_cannot_be_judged():
    """An LLM without people or without answers to single outputs cannot be judged."""
    kind = {**full_results()["groups"][0], "group": "gpt-4", "annotator_kind": "llm"}
    line = lines_of({**pair_results(), "groups": [kind]})["Can an LLM replace annotators?"]
    assert line == "Cannot be determined: single outputs were neither rated nor compared."
    line = lines_of({**rated(0.001, 0.01, "annotator"), "groups": [kind]})["Can an LLM replace annotators?"]
    assert line == "Cannot be determined: no people rated or chose the items that the LLM did."


def test_headline_three_severest_caveats():
    """The three most severe caveats are named with their places."""
    people = {**full_results()["groups"][0], "group": "human", "annotator_kind": "human"}
    people |= {"annotators": 9, "excluded_annotators": 4}
    lost = {"source": "preferences", "group": "human", "criterion": "overall", "reason": "no answer", "n": 7}
    results = {**pair_results(), "groups": [people], "missing": [lost]}
    results["preferences"].append(untested(preference("human", "A & B", "C", 1.0), "no variation"))
    found = headline_of(from_plain(results)).problems
    assert [problem.text for problem in found] == [
        "1 of 2 tests could not be run (no variation).",
        "4 of 9 people were excluded.",
        "Only 5 people are left.",
    ]
    assert [problem.section for problem in found] == ["preferences", "excluded", "asked"]


def test_headline_questions_never_shown():
    """Answers are no problem where their questions were never shown."""
    lost = {"source": "preferences", "group": "human", "criterion": "overall", "reason": "no answer", "n": 7}
    results = {**pair_results(), "missing": [lost, {**lost, "reason": "screened out", "n": 12}]}
    found = headline_of(from_plain(results)).problems
    assert [problem.text for problem in found] == ["7 answers are missing."]


def test_others_that_find_the_opposite_are_named():
    results = pair_results()
    results["ratings"]["pairs"] = [rating_pair("human", "B", "A & B", 0.4, 0.001)]
    assert "Ratings by people: agrees on 0 of 1 pair, contradicts on 1 (B over A & B)." in items(results)


def test_an_llm_is_one_subject():
    results = {**pair_results(), "groups": [{**full_results()["groups"][0], "group": "gpt-4", "annotator_kind": "llm"}]}
    results["preferences"] = [preference("gpt-4", "A", "B", 0.68)]
    assert winner(results) == "gpt-4 (LLM) prefers A most, clearly ahead of B."
    assert "not for people" in lines_of(results)["By how much"]


def test_ratings_speak_in_points():
    results = {**empty_results(), "ratings": {"means": [], "pairs": [rating_pair("human", "A", "B", -0.4, 0.001)]}}
    assert winner(results).startswith("People rate B best")
    assert lines_of(results)["By how much"].startswith("B is 0.40 points ahead; adjusted p = .001")


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(("difference", "ends"), [(-0.4, (-0.9, 0.1)), (-0.4, (-0.7, -0.1)), (0.4, (-0.1, 0.9))])
def test_the_interval_is_that_of_the_system_ahead(difference: float, ends: tuple[float, float], lower: bool):
    """Whichever system the pair names first, and whichever ratings are good, the mean lies within its interval."""
    pair = {**rating_pair("human", "A", "B", difference, 0.2), "ci_low": ends[0], "ci_high": ends[1]}
    results = {**empty_results(), "ratings": {"means": [], "pairs": [pair]}}
    results["settings"] = {**results["settings"], "lower_is_better": ["overall"] if lower else []}
    best = "A" if (difference > 0) != lower else "B"
    low, high = ends if difference > 0 else (-ends[1], -ends[0])
    said = lines_of(results)["By how much"]
    assert winner(results).startswith(f"People rate {best} best")
    shown = f"(95% confidence interval {number(low)} to {number(high)})"
    assert said.startswith(f"{best} is 0.40 points ahead {shown}")


def test_headline_criteria_without_overall():
    """Criteria are told apart where there is no overall question."""
    text = winner(many_results(3))
    assert text.startswith("Coherence: ")
    assert "; Relevance: " in text


@pytest.mark.parametrize("kinds", [("human", "simulated"), ("simulated", "llm"), ("human", "llm")])
def test_people_come_first(kinds: tuple[str, str]):
    first, second = kinds
    results = {
        **empty_results(),
        "groups": [{**full_results()["groups"][0], "group": kind, "annotator_kind": kind} for kind in kinds],
        "preferences": [preference(second, "A", "B", 0.3), preference(first, "A", "B", 0.7)],
    }
    assert "A most, clearly ahead of B" in winner(results)


def test_many_groups_do_not_bury_the_answer():
    results = pair_results()
    results["preferences"] += [preference(f"llm-{number:02d}", "A & B", "B", 0.68) for number in range(20)]
    section = headline(from_plain(results))
    assert section is not None
    (fold,) = section.appendix
    assert isinstance(fold, Fold)
    assert fold.summary.endswith("The other 14")


def test_two_systems_at_several_exposures_are_one_comparison():
    results = ranked(
        *(preference("human", "A", "B", mean, exposure=exposure) for mean, exposure in ((0.6, 1), (0.7, 4))),
        order=[["A"], ["B"]],
    )
    assert winner(results) == "People prefer A most, clearly ahead of B."
    assert "70.0%" in lines_of(results)["By how much"]  # after reading the most


def test_comparisons_without_a_test_are_told():
    results = ranked(
        preference("human", "A", "B", 0.7),
        untested(preference("human", "A", "C", 1.0, sd=0.0), "no variation: every value is the same"),
        order=[["A"], ["B"]],
    )
    results["rankings"][0]["unranked"] = [{"system": "C", "reason": "lost every comparison"}]
    assert (
        "1 of 2 tests could not be run (no variation: every value is the same)." in (lines_of(results)["Main caveats"])
    )
    section = headline(from_plain(results))
    assert section is not None
    table = next(block for block in section.blocks if isinstance(block, Table))
    assert [[field.text for field in row] for row in table.rows] == [["A", "1"], ["B", "2"], ["C", "\u2013"]]
    assert "No place for C: lost every comparison." in table.notes


def test_a_ranking_names_systems_without_a_place():
    left = (Unranked(system="C", reason=LOST_ALL),)
    ranking = Ranking(source="choices", group="human", criterion="overall", order=(("A",), ("B",)), unranked=left)
    assert order_words(Names(from_plain(empty_results())), ranking) == (
        "1. A, 2. B; no place: C (lost every comparison: weaker than all others, at no finite distance)"
    )


def test_warnings_call_groups_as_the_rest_of_the_report_does():
    results = full_results()
    texts = {"human": "human: only 3 annotators.", "gpt<4>/persona_a": "gpt<4>/persona_a, overall: too few."}
    results["warning_rows"] = [
        {"kind": "few_values", "group": group, "text": text}
        for group, text in (*texts.items(), (None, "human error is human."))
    ]
    section = warnings(from_plain(results))
    assert section is not None
    assert section.blocks == (
        Bullets(
            items=("People: only 3 annotators.", "gpt<4>/persona_a (LLM), overall: too few.", "human error is human.")
        ),
    )


def test_the_way_of_the_mean_with_exposure_is_told():
    results = ranked(
        *(preference("human", "A", "B", mean, exposure=exposure) for mean, exposure in ((0.6, 1), (0.7, 4))), order=[]
    )
    section = make_section(from_plain(results), "preferences")
    assert section is not None
    lines = [item for block in section.blocks if isinstance(block, Bullets) for item in block.items]
    assert lines == ["People, A over B: 60.0% after reading 1 output of each, 70.0% after 4."]


def test_headline_names_system_that_won_everything():
    """A system that won everything is named before the first of the others."""
    results = ranked(
        preference("human", "A", "B", 0.7),
        untested(preference("human", "C", "B", 1.0, sd=0.0), "no variation: every value is the same"),
        order=[["A"], ["B"]],
    )
    nothing = dict.fromkeys(("strength", "ci_low", "ci_high", "interval", "rank", "rank_low", "rank_high"))
    about = {"source": "preferences", "group": "human", "criterion": "overall", "system": "C"}
    results["bradley_terry"] = [{**about, **nothing, **beside("reason", WON_ALL)}]
    assert winner(results).startswith(
        "C won every comparison, which leaves no place to give; of the others, people prefer A"
    )
    results["preferences"] = results["preferences"][1:]
    assert winner(results) == (
        "C won every comparison by people, but no test could be run (no variation: every value is the same)."
    )
