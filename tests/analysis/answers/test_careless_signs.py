"""Signs of careless answering: whom each finds, what is said, and what changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import Plan
from analysis.answers.careless import CARELESS_RULES, relative_speeds
from analysis.answers.careless_signs import SIGNS, careless_signs
from analysis.answers.exclusions import find_exclusions
from analysis.methods.annotators import CARELESS
from analysis.report.excluded import BOUNDS, RULES
from tests.analysis.made_answers import check, preferences, ratings, render_report, run, validate
from tests.calibration.careless_languages import READERS, TEXTS, found_share

Frames = dict[str, pl.DataFrame]
PAIRS = [(x, y) for x in "wxyz" for y in "wxyz" if x < y]
VARIED = {"ann": 0, "bo": 1, "cy": 2}  # people who vary their answers, each begins elsewhere


def frames(*, criterion: tuple[str, ...] = ("overall",)) -> Frames:
    """Honest people, and one for each sign: "same", "both" (80 and 80), "fast" on screen, "clock", and "check"."""
    people = [*VARIED, "same", "both", "fast", "clock", "check"]
    rated = [
        (who, f"i{n}", system, 3 if who == "same" else 1 + (n + column + VARIED.get(who, place)) % 5)
        for place, who in enumerate(people)
        for n in range(6)
        for column, system in enumerate("wxyz")
    ]
    stated = [
        (who, *pair, 0.8 if who == "both" else 0.5 if who == "same" else (0.7, 0.2)[pair[0] > pair[1]])
        for who in people
        for x, y in PAIRS
        for pair in ((x, y), (y, x))
    ]
    read = [
        (who, "a1", f"p{n}", f"i{n}", system, 1, 60, 6.0 if who == "fast" else 30.0, 1.0, 15.0)
        for who in people
        if who != "clock"
        for n in range(6)
        for system in "w"
    ]
    names = ["annotator_id", "assignment_id", "page", "item_id", "system", "sample", "words", "seconds", "scrolled"]
    reading = pl.DataFrame(read, [*names, "usual_seconds"], orient="row").with_columns(page_seconds=pl.col("seconds"))
    passed = [300.0 if who == "clock" else 900.0 for who in people]
    annotators = pl.DataFrame({"annotator_id": people, "checks_failed": [int(who == "check") for who in people]})
    return {
        "ratings": pl.concat([ratings(rated, criterion=one, assignment_id="a1") for one in criterion]),
        "preferences": pl.concat([preferences(stated, criterion=one, assignment_id="a1") for one in criterion]),
        "reading": reading,
        "annotators": annotators.with_columns(
            checks_total=pl.lit(1), usual_seconds=pl.lit(810.0), passed_seconds=pl.Series(passed)
        ),
    }


def shown(given: Frames, plan: Plan | None = None) -> dict[str, set[str]]:
    """Return who shows each sign."""
    tables, plan = check(**given), plan or Plan(consistency_tau=None)
    signs = careless_signs(tables, plan, find_exclusions(tables, plan))
    return {sign: {one.annotator_id for one in signs if one.sign == sign and one.shown} for sign in SIGNS}


FOUND = {
    "reading_speed": {"clock"},
    "same_answers": {"same", "both"},
    "both_directions": {"both"},
    "attention_checks": {"check"},
}


def test_signs_find_whom_they_are_about() -> None:
    """Each finds its own: 2.5 times the usual speed is none; 2.7 by the clock is one; 50% and 50% obey the sum."""
    assert shown(frames()) == FOUND
    fast = frames()
    fast["reading"] = fast["reading"].with_columns(pl.col("seconds", "page_seconds") * 0.95)
    assert shown(fast)["reading_speed"] == {"clock", "fast"}


def test_signs_speeds_by_hand() -> None:
    """15 usual seconds in 6 are 2.5 times; without evidence, 810 of the form in 300 are 2.7; the faster counts."""
    tables = check(**frames())
    speeds = relative_speeds(tables.reading, tables.annotators)
    assert {who: speeds[who] for who in ("ann", "fast", "clock")} == {
        "ann": (pytest.approx(0.9), 0),
        "fast": (pytest.approx(2.5), 6),
        "clock": (pytest.approx(2.7), 0),
    }
    refuted = tables.reading.with_columns(known_by=pl.lit("refuted"))  # type: ignore[union-attr]
    assert relative_speeds(refuted, tables.annotators)["fast"] == (pytest.approx(0.9), 0)
    assert relative_speeds(None, None) == {}


def _relabelled(given: Frames) -> Frames:
    names = dict(zip("wxyz", "zwyx", strict=True))
    return {
        kind: frame.with_columns(pl.col(name).replace(names) for name in frame.columns if name.startswith("system"))
        for kind, frame in given.items()
    }


def _swapped(given: Frames) -> Frames:
    """Name each pair the other way round, which asks the other direction first."""
    frame = given["preferences"]
    return given | {"preferences": frame.reverse()}


def _in_two_visits(given: Frames) -> Frames:
    """Let everybody answer every second item, and every second pair, in another visit."""
    half = pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("a1")).otherwise(pl.lit("a2"))
    both = {kind: given[kind].with_columns(assignment_id=half) for kind in ("ratings", "preferences", "reading")}
    return given | both


def _in_parts(given: Frames) -> Frames:
    """Put the rows of a table into the order of two parts read one after the other."""
    cut = {kind: frame.height // 3 for kind, frame in given.items()}
    return {kind: pl.concat([frame.slice(cut[kind]), frame.head(cut[kind])]) for kind, frame in given.items()}


@pytest.mark.parametrize("change", [_relabelled, _swapped, _in_two_visits, _in_parts])
def test_signs_stay_over_joints(change: Callable[[Frames], Frames]) -> None:
    """Other names of systems, the other direction first, two visits, tables in parts: the same people show the same."""
    assert shown(change(frames())) == FOUND
    two = frames(criterion=("overall", "style"))
    assert shown(change(two)) == FOUND


@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False))
def test_signs_do_not_follow_the_order_of_rows(random: object) -> None:
    seed = random.randrange(1000)  # type: ignore[attr-defined]
    assert shown({kind: frame.sample(fraction=1, shuffle=True, seed=seed) for kind, frame in frames().items()}) == FOUND


def test_signs_follow_declared_bounds() -> None:
    """A declared bound is that of the sign, and its rule excludes; what nothing declares excludes nobody."""
    none = Plan(consistency_tau=None)
    given = frames()
    tables = check(**given)
    assert {row.annotator_id for row in find_exclusions(tables, none)} == {"check"}
    plan = Plan(consistency_tau=None, max_reading_speed=2.45, max_same_answers=0.95, usual_answer=0.5)
    found = find_exclusions(tables, plan)
    assert {(row.annotator_id, row.rule) for row in found} == {
        ("check", "attention_checks"),
        ("fast", "relative_speed"),
        ("clock", "relative_speed"),
        ("same", "same_answers"),
        ("both", "same_answers"),
    }
    signs = {(one.annotator_id, one.sign): one for one in careless_signs(tables, plan, found) if one.shown}
    assert signs["fast", "reading_speed"].excluded_by == "relative_speed"
    words = signs["clock", "reading_speed"].evidence
    assert words == (
        "read 2.7 times as fast as usual (all words of the form by the server's clock over the visit), more than 2.45 "
        "is a sign"
    )
    in_words = Plan(consistency_tau=None, max_words_per_minute=500)  # "fast" read 600
    assert shown(given, in_words)["reading_speed"] == {"fast", "clock"}
    contradicting = Plan(consistency_tau=Decimal("1.1"))
    rows = [row for row in careless_signs(tables, contradicting, find_exclusions(tables, contradicting)) if row.shown]
    assert {row.excluded_by for row in rows if row.annotator_id == "both"} == {"self_consistency"}


def test_signs_spare_what_others_answer() -> None:
    """The highest rating throughout, on a scale where others give it to most, is no sign; the middle one is."""

    def scale(constant: int) -> Frames:
        rated = [
            (who, f"i{n}", "x", constant if who == "same" else 5 if n % 4 else 4)
            for who in [*VARIED, "same"]
            for n in range(16)
        ]
        return {"ratings": ratings(rated)}

    assert shown(scale(5))["same_answers"] == set()
    assert shown(scale(3))["same_answers"] == {"same"}
    plan = Plan(max_same_answers=0.95)
    tables = check(**scale(5))
    assert [row.annotator_id for row in find_exclusions(tables, plan)] == ["same"]  # as declared rules always were
    assert find_exclusions(tables, Plan(max_same_answers=0.95, usual_answer=0.5)) == []
    robots = {"ratings": ratings([(who, f"i{n}", "x", 3) for who in "abc" for n in range(16)])}
    assert shown(robots)["same_answers"] == set("abc")  # nobody varies, so nobody excuses anybody


def test_signs_need_enough_to_judge_by() -> None:
    few = {kind: frame.head(9) for kind, frame in frames().items()}
    tables = check(ratings=few["ratings"])
    assert [one.evidence for one in careless_signs(tables, Plan(), [])] == [None] * 4
    told = careless_signs(check(**frames()), Plan(), [], sum_explained=False)
    assert all(one.evidence is None for one in told if one.sign == "both_directions")


@pytest.mark.parametrize("language", TEXTS)
def test_signs_spare_fast_readers_of_a_script(language: str) -> None:
    """Small; the table is ``make calibrate``. At 1,500 English words a minute everybody shows the sign."""
    _, fast, race = READERS
    for beside, clock in ((False, False), (True, False), (False, True)):
        rng = np.random.default_rng(5)
        assert found_share(language, fast, 100, rng, beside=beside, clock=clock) <= 0.02
        assert found_share(language, race, 5, rng, beside=beside, clock=clock) == 1.0


def test_signs_are_reported() -> None:
    """The report counts them, says that nobody leaves, names the evidence, and puts them among the main caveats."""
    results = run(**frames(), plan=Plan(consistency_tau=None))
    validate(results)
    (caveat,) = [one for one in results["headline"]["problems"] if one["kind"] == "careless"]
    assert caveat["text"] == (
        "4 of 8 people show signs of careless answering: faster than 2.6 times the usual reading speed (1), the same "
        "answer throughout (2), one answer to both directions of pairs (1), failed attention checks (1); excluded: 1 "
        "yes (attention checks), 3 no, as the plan does not say so."
    )
    assert "human: 4 of 8 people show signs" in " ".join(results["warnings"])
    text = render_report(results)["report.md"]
    assert "Signs of careless answering" in text
    assert "read 2.7 times as fast as usual" in text
    declared = Plan(consistency_tau=Decimal("1.1"), max_reading_speed=2.6, max_same_answers=0.95)
    found = run(**frames(), plan=declared)
    more = [*found["headline"]["problems"], *found["headline"]["more_problems"]]
    (caveat,) = [one for one in more if one["kind"].startswith("careless")]
    assert (caveat["kind"], "excluded: yes" in caveat["text"]) == ("careless_excluded", True)
    written = render_report(found)  # every rule has its words, in the methods and among the terms, too
    assert "times as fast as their texts are usually read silently" in " ".join(written.values())
    assert {*CARELESS} == {*BOUNDS} == {*CARELESS_RULES} <= {*RULES}
    honest = {kind: frame.filter(pl.col("annotator_id").is_in([*VARIED])) for kind, frame in frames().items()}
    assert run(**honest)["careless_signs"] == []
    assert np.all([row["shown"] == 0 for row in run(**honest)["careless_sign_counts"]])
