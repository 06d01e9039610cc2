"""Who leaves: exact sums, one direction only, people and LLMs, the annotators table."""

from __future__ import annotations

from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import Plan, Reading, check_frames
from analysis.answers.exclusions import apply_exclusions, find_exclusions
from spa import AnalysisError
from tests.analysis.made_answers import check, preferences, ratings, run

HUNDREDTHS = st.integers(0, 100)


def rules(tables: object, plan: Plan | None = None) -> list[tuple[str, str | None, str]]:
    found = find_exclusions(tables, plan or Plan())  # type: ignore[arg-type]
    return [(row.annotator_id, row.assignment_id, row.rule) for row in found]


@settings(max_examples=25, deadline=None)
@given(HUNDREDTHS, HUNDREDTHS, st.integers(100, 200))
def test_a_sum_in_hundredths_is_compared_exactly(p: int, q: int, bound: int) -> None:
    """0.1 + 0.2 style noise must not exclude: whole percents decide."""
    table = preferences([("a", "x", "y", p / 100), ("a", "y", "x", q / 100)])
    plan = Plan(consistency_tau=Decimal(bound) / 100)
    assert bool(rules(check(preferences=table), plan)) == (p + q > bound)


@pytest.mark.parametrize(
    ("forth", "back", "fails"),
    [
        ("0.55", "0.55", False),
        ("0.7", "0.4", False),
        ("0.8", "0.3", False),
        ("0.55000000000000000001", "0.55", True),
        ("1", "1", True),
        ("1e-1", "1.0", False),
    ],
)
def test_sums_at_the_bound_are_decided_in_the_decimals_written(forth: str, back: str, fails: bool) -> None:
    table = preferences([("a", "x", "y", forth), ("a", "y", "x", back)])
    assert rules(check(preferences=table)) == ([("a", None, "self_consistency")] if fails else [])


def test_the_evidence_shows_the_sum() -> None:
    table = preferences([("a", "x", "y", 0.7), ("a", "y", "x", 0.6)], exposure=5)
    (row,) = find_exclusions(check(preferences=table), Plan())
    assert row.evidence == "overall at exposure 5: P(x > y) + P(y > x) = 0.7 + 0.6 = 1.3, more than 1.1"


def test_consistency_sums_skip_incomplete_pairs() -> None:
    """One direction missing answers and other comparisons are not summed."""
    table = preferences(
        [("a", "x", "y", 0.9), ("a", "y", "x", ""), ("b", "x", "y", 0.9), ("b", "y", "x", 0.9)],
        exposure=[5, 5, 1, 2],
    )
    assert rules(check(preferences=table)) == []
    by_criterion = preferences([("b", "x", "y", 0.9), ("b", "y", "x", 0.9)], criterion=["style", "sense"])
    assert rules(check(preferences=by_criterion)) == []


def test_repeats_are_averaged_before_the_sum() -> None:
    table = preferences([("a", "x", "y", 0.9), ("a", "x", "y", 0.5), ("a", "y", "x", 0.4)], repeat=["1", "2", "1"])
    assert rules(check(preferences=table)) == []  # 0.7 + 0.4 is the bound


def test_a_failing_person_leaves_every_table() -> None:
    pairs = [("a", "x", "y", 0.9), ("a", "y", "x", 0.9), ("b", "x", "y", 0.6), ("b", "y", "x", 0.4)]
    results = run(
        preferences=preferences(pairs), ratings=ratings([("a", "i", "x", 5), ("b", "i", "x", 4), ("b", "i", "y", 2)])
    )
    assert [row["annotator_id"] for row in results["exclusions"]] == ["a"]
    assert [row["mean"] for row in results["ratings"]["means"]] == [4, 2]
    assert results["preferences"][0]["n"] == 1
    assert results["groups"][0]["excluded_annotators"] == 1
    forward, back = results["preference_directions"]
    assert (forward["n"], forward["n_symmetry"], forward["mean_sum"]) == (1, 2, pytest.approx(1.4))
    assert (back["system_x"], back["system_y"]) == ("y", "x")


def test_of_an_llm_the_assignment_leaves_for_its_way_of_asking() -> None:
    table = preferences(
        [("g", "x", "y", 0.9), ("g", "y", "x", 0.9), ("g", "x", "y", 0.6), ("g", "x", "y", 0.7)],
        assignment_id=["a1", "a1", "a2", "a1"],
        variant=["v", "v", "v", "w"],
    )
    scores = ratings([("g", "i", "x", 5), ("g", "i", "x", 3), ("g", "i", "x", 2)]).with_columns(
        pl.Series("assignment_id", ["a1", "a2", "a1"]), pl.Series("variant", ["v", "v", "w"])
    )
    results = run(preferences=table, ratings=scores, llms=("g",))
    assert [(row["assignment_id"], row["group"]) for row in results["exclusions"]] == [("a1", "g/v")]
    kept = {(row["group"], row["n"], row["mean"]) for row in results["ratings"]["means"]}
    assert kept == {("g/v", 1, 3), ("g/w", 1, 2)}
    assert any(line.startswith("g/v: 1 of 2 forms (50%) failed self-consistency") for line in results["warnings"])


def test_exclusions_from_annotators_table() -> None:
    """Screening checks and submissions come from the annotators table."""
    people = pl.DataFrame(
        {
            "annotator_id": ["a", "b", "c", "d", "g"],
            "annotator_kind": ["human", "human", "human", "human", "llm"],
            "screening_passed": ["false", "true", None, "yes", "false"],
            "checks_failed": [0, 2, 1, None, 9],
            "checks_total": [2, 2, 2, None, 9],
            "submissions": [1, 1, 1, 2, 90],
        }
    )
    answers = ratings([(name, "i", "x", 3) for name in "abcdg"])
    tables = check(ratings=answers, annotators=people)
    assert rules(tables, Plan(max_failed_checks=1)) == [
        ("a", None, "screening"),
        ("b", None, "attention_checks"),
        ("d", None, "repeat_submissions"),
    ]
    assert [row[0] for row in rules(tables)] == ["a", "b", "c", "d"]
    results = run(ratings=answers, annotators=people, plan=Plan(max_failed_checks=1))
    assert {row["group"]: row["n"] for row in results["ratings"]["means"]} == {"human": 1, "g": 1}


def test_sessions_of_a_study_in_several_are_no_repeats() -> None:
    people = pl.DataFrame({"annotator_id": ["a", "b"], "submissions": [3, 3], "sessions": [3, 2]})
    tables = check(ratings=ratings([("a", "i", "x", 3), ("b", "i", "x", 3)]), annotators=people)
    (row,) = find_exclusions(tables, Plan())
    assert (row.annotator_id, row.rule) == ("b", "repeat_submissions")
    assert row.evidence == "3 submissions, one allowed in each of 2 sessions"


def test_exclusions_late_and_incomplete_visits() -> None:
    """Late and incomplete visits leave unless the plan keeps them."""
    visits = ["completed", "extra", "incomplete", "quota_full", "whatever"]
    names = [f"a{number}" for number in range(5)]
    answers = ratings([(name, "i", "x", 3) for name in names], assignment_id=names, visit=visits)
    tables = check(ratings=answers)
    early = ("a3", "a3", "ended_early")
    assert rules(tables) == [("a1", "a1", "extra_answers"), ("a2", "a2", "incomplete_answers"), early]
    assert rules(tables, Plan(extra_answers="keep", incomplete_answers="keep")) == [early]
    kept = apply_exclusions(tables.answers()["ratings"], find_exclusions(tables, Plan()))
    assert kept["annotator_id"].to_list() == ["a0", "a4"]
    unnamed = check(ratings=ratings([("a", "i", "x", 3)], visit=["extra"]))
    assert rules(unnamed) == [("a", None, "extra_answers")]


def test_the_first_submission_can_be_kept() -> None:
    people = pl.DataFrame({"annotator_id": ["a"], "submissions": [2]})
    answers = ratings([("a", "i", "x", 3), ("a", "j", "x", 5)], assignment_id=["a9", "a1"])
    tables = check(ratings=answers, annotators=people)
    plan = Plan(repeat_submissions="first")
    assert rules(tables, plan) == [("a", "a1", "repeat_submissions")]
    assert apply_exclusions(tables.answers()["ratings"], find_exclusions(tables, plan))["value"].to_list() == [3]
    unnamed = check(ratings=ratings([("a", "i", "x", 3)]), annotators=people)
    with pytest.raises(AnalysisError, match="cannot be determined"):
        find_exclusions(unnamed, plan)


TWICE = [("a", "i", "x", 3), ("a", "i", "y", 1), ("a", "i", "x", 5), ("a", "j", "x", 4), ("b", "i", "x", 2)]
ASSIGNED = ["a1", "a1", "a2", "a2", "b1"]


def test_exclusions_repeats_shown_by_answers() -> None:
    """Repeated answers show repeated submissions where nobody counted them."""
    table = ratings(TWICE, assignment_id=ASSIGNED)
    tables = check(ratings=table)
    (row,) = find_exclusions(tables, Plan())
    assert (row.annotator_id, row.assignment_id, row.rule) == ("a", None, "repeat_submissions")
    assert row.evidence.startswith("1 question answered in an earlier assignment as well")
    first = Plan(repeat_submissions="first")
    assert rules(tables, first) == [("a", "a2", "repeat_submissions")]
    means = run(ratings=table, plan=first)["ratings"]["means"]
    assert [(mean["system"], mean["n"], mean["mean"]) for mean in means] == [("x", 2, 2.5), ("y", 1, 1.0)]
    for plan, words in ((Plan(), "left out entirely"), (first, "only with the first")):
        rows = run(ratings=table, plan=plan)["warning_rows"]
        (text,) = [row["text"] for row in rows if row["kind"] == "repeat_submissions"]
        assert text.startswith("human: 1 annotator submitted more than once")
        assert words in text


@pytest.mark.parametrize(
    "others",
    [
        {"annotators": pl.DataFrame({"annotator_id": ["a", "b"], "submissions": [1, 1]})},
        {"annotators": pl.DataFrame({"annotator_id": ["a"], "submissions": [2], "sessions": [2]})},
        {"exclusions": pl.DataFrame({"annotator_id": ["a"], "assignment_id": ["a1"], "rule": ["review"]})},
    ],
    ids=["counted", "sessions", "one is left out already"],
)
def test_exclusions_no_repeat_where_said_otherwise(others: dict[str, pl.DataFrame]) -> None:
    """Answers are no repeated submission where something else says so."""
    tables = check(ratings=ratings(TWICE, assignment_id=ASSIGNED), **others)
    assert "repeat_submissions" not in {rule for *_, rule in rules(tables)}


@pytest.mark.parametrize(
    "columns",
    [{"repeat": ["1", "1", "2", "2", "1"]}, {"sample": ["1", "1", "2", "2", "1"]}, {"annotator_kind": "llm"}],
    ids=str,
)
def test_exclusions_what_is_no_repeated_submission(columns: dict[str, object]) -> None:
    """Numbered repeats other outputs and LLMs are no repeated submissions."""
    assert rules(check(ratings=ratings(TWICE, assignment_id=ASSIGNED, **columns))) == []


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), HUNDREDTHS, HUNDREDTHS), min_size=1, max_size=3, unique_by=lambda row: row[0]
    )
)
def test_kept_and_excluded_make_up_the_whole(people: list[tuple[str, int, int]]) -> None:
    rows = [row for who, p, q in people for row in ((who, "x", "y", p / 100), (who, "y", "x", q / 100))]
    tables = check(preferences=preferences(rows))
    table = tables.answers()["preferences"]
    gone = find_exclusions(tables, Plan())
    kept = apply_exclusions(table, gone)
    leavers = table.filter(pl.col("annotator_id").is_in([row.annotator_id for row in gone]))
    assert kept.height + leavers.height == table.height
    assert {row.annotator_id for row in gone} == {who for who, p, q in people if p + q > 110}


def test_a_person_is_checked_over_all_visits() -> None:
    """The unit of a person is the person, also where the two directions were asked in two visits."""
    apart = preferences([("a", "x", "y", 0.9), ("a", "y", "x", 0.9)], assignment_id=["a1", "a2"])
    assert rules(check(preferences=apart)) == [("a", None, "self_consistency")]
    assert rules(check(preferences=apart, llms=("a",))) == []


def test_a_submission_that_is_not_kept_contradicts_nothing() -> None:
    pairs = [("a", "x", "y", 0.6), ("a", "y", "x", 0.4), ("a", "x", "y", 0.9), ("a", "y", "x", 0.9)]
    table = preferences(pairs, assignment_id=["a1", "a1", "a2", "a2"])
    people = pl.DataFrame({"annotator_id": ["a"], "submissions": [2]})
    tables = check(preferences=table, annotators=people)
    assert rules(tables, Plan(repeat_submissions="first")) == [("a", "a2", "repeat_submissions")]


def test_exclusion_of_an_llm_assignment() -> None:
    """An assignment of an LLM leaves a table that tells no variants."""
    pairs = [("g", "x", "y", 0.9), ("g", "y", "x", 0.9), ("g", "x", "y", 0.6)]
    table = preferences(pairs, assignment_id=["a1", "a1", "a2"])
    scores = ratings([("g", "i", "x", 5), ("g", "i", "x", 3)], assignment_id=["a1", "a2"])
    named = {"variant": ["v", "v", "v"]}
    for asked, rated in (
        (table, scores.with_columns(variant=pl.lit("v"))),
        (table.with_columns(pl.Series(name, value) for name, value in named.items()), scores),
    ):
        (mean,) = run(preferences=asked, ratings=rated, llms=("g",))["ratings"]["means"]
        assert (mean["n"], mean["mean"]) == (1, 3)


def test_the_plain_way_of_asking_an_llm_leaves_alone() -> None:
    pairs = [("g", "x", "y", 0.9), ("g", "y", "x", 0.9), ("g", "x", "y", 0.6), ("g", "y", "x", 0.4)]
    table = preferences(pairs, assignment_id="a1", variant=[None, None, "v", "v"])
    results = run(preferences=table, llms=("g",))
    assert {row["group"]: row["n"] for row in results["preferences"]} == {"g": 0, "g/v": 1}


def test_who_leaves_is_counted_in_the_group_of_the_answers() -> None:
    people = pl.DataFrame({"annotator_id": ["a"], "submissions": [2]})
    scores = ratings(
        [("a", "i", "x", 5), ("b", "i", "x", 3), ("a", "j", "x", 3)], group=["experts", "experts", "crowd"]
    )
    results = run(ratings=scores, annotators=people)
    assert [row["group"] for row in results["exclusions"]] == ["experts"]
    assert {row["group"]: row["excluded_annotators"] for row in results["groups"]} == {"experts": 1, "crowd": 1}


def test_exclusion_given_with_evidence() -> None:
    """A given exclusion leaves with its evidence and the others stay."""
    table = preferences([(name, *pair) for name in "abc" for pair in (("x", "y", 0.8), ("y", "x", 0.2))])
    given_away = pl.DataFrame({"annotator_id": ["b"], "rule": ["review"], "evidence": ["answered in ten seconds"]})
    tables = check(preferences=table, exclusions=given_away)
    (row,) = find_exclusions(tables, Plan())
    assert (row.annotator_id, row.assignment_id, row.group, row.rule) == ("b", None, "human", "review")
    assert row.evidence == "answered in ten seconds"
    kept = apply_exclusions(tables.preferences, [row])  # type: ignore[arg-type]
    assert kept["annotator_id"].unique(maintain_order=True).to_list() == ["a", "c"]
    assert run(preferences=table, exclusions=given_away)["preferences"][0]["n"] == 2


def test_exclusion_of_one_assignment() -> None:
    """A given exclusion of one assignment leaves the others of that annotator."""
    table = preferences([("a", "x", "y", 0.8), ("a", "x", "y", 0.7)], assignment_id=["a1", "a2"])
    given_away = pl.DataFrame({"annotator_id": ["a"], "assignment_id": ["a1"], "rule": ["review"]})
    tables = check(preferences=table, exclusions=given_away)
    (row,) = find_exclusions(tables, Plan())
    assert row.evidence == "no reason was noted"
    assert apply_exclusions(tables.preferences, [row])["assignment_id"].to_list() == ["a2"]  # type: ignore[arg-type]


def test_a_given_exclusion_must_not_go_by_a_rule_of_the_plan() -> None:
    table = preferences([("a", "x", "y", 0.8)])
    given_away = pl.DataFrame({"annotator_id": ["a"], "rule": ["screening"]})
    with pytest.raises(AnalysisError, match=r"row 1: rule must be a name of your own.*got 'screening'"):
        check(preferences=table, exclusions=given_away)


@pytest.mark.parametrize("agreed", [False, True])
def test_exclusions_screened_out_without_answer(agreed: bool) -> None:
    """People screened out without an answer are counted and not excluded."""
    ratings = pl.DataFrame(
        {
            "annotator_id": [f"a{person}" for person in range(3) for _ in range(4)],
            "item_id": ["1", "1", "2", "2"] * 3,
            "system": ["oak", "elm"] * 6,
            "score": [1, 2, 3, 4, 5, 4, 3, 2, 1, 2, 3, 3],
        }
    )
    annotators = pl.DataFrame(
        {"annotator_id": ["a0", "a1", "a2", "z0", "z1", "z2"], "screening_passed": [1, 1, 1, 0, 0, None]}
    )
    tables = check_frames({"ratings": ratings, "annotators": annotators}, Reading(), agreed=agreed)
    said = {file.table: file.notes for file in tables.inputs}
    assert said["annotators"] == ("3 of 6 annotators have no answers, 2 of them screened out",)
    assert find_exclusions(tables, Plan()) == []
