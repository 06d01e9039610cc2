"""Annotators beside one another: by hand, and against the mean of the others reckoned the long way."""

from __future__ import annotations

from statistics import correlation, fmean

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.monitoring.annotator_profiles import annotator_profiles
from tests.analysis.made_answers import check, choices, preferences, ratings


def test_one_annotator_by_hand() -> None:
    """Ann scores 1 2 4 where the others' means are 2 3 4: severe by 2/3; her sums are 1.0 and 1.2."""
    scores = {"ann": (1, 2, 4), "ben": (2, 4, 4), "cat": (2, 2, 4)}
    rated = ratings([(who, f"i{n}", "x", score) for who, own in scores.items() for n, score in enumerate(own)])
    ann = [("ann", "x", "y", 0.7), ("ann", "y", "x", 0.3), ("ann", "x", "z", 0.8), ("ann", "z", "x", 0.4)]
    told = preferences([*ann, ("ben", "x", "y", 0.5), ("ben", "y", "x", 0.5)])
    chosen = choices([("ann", "i0", "x", "y", "x"), ("ann", "i1", "x", "y", "tie"), ("ann", "i2", "x", "y", "y")])
    people = pl.DataFrame({"annotator_id": ["ann", "ben", "cat"], "seconds": ["60", "", "90.5"]})
    found = annotator_profiles(check(ratings=rated, preferences=told, choices=chosen, annotators=people))
    first, ben, cat = sorted(found, key=lambda each: each.annotator_id)
    assert first.answers == 10
    assert first.severity == pytest.approx(-2 / 3)
    assert first.correlation == pytest.approx(correlation([1, 2, 4], [2, 3, 4]))
    assert first.largest_sum == pytest.approx(1.2)
    assert first.distance == pytest.approx(0.2)
    assert first.left_share == 0.5
    assert (first.seconds, ben.seconds, cat.seconds) == (60, None, 90.5)
    assert cat.largest_sum is cat.distance is cat.left_share is None


def test_straight_lining_and_the_first_column_are_seen() -> None:
    rows = [("ann", f"i{n}", system, 3) for n in range(4) for system in "xy"]
    rows += [("ben", f"i{n}", system, 5 if system == "x" else 2) for n in range(4) for system in "xy"]
    table = ratings(rows, position=["1", "2"] * 8)
    ann, ben = annotator_profiles(check(ratings=table))
    assert (ann.same_answer, ann.first_column, ann.correlation) == (1.0, 0.0, None)
    assert (ben.same_answer, ben.first_column) == (0.5, 3.0)


def test_how_outputs_were_seen_by_hand() -> None:
    """Ann saw x for 2 + 4 seconds on two pages, y for 3, of z the beginning: two of three, 3 seconds at the median."""
    seen = [("ann", "x", 2.0), ("ann", "y", 3.0), ("ann", "x", 4.0), ("ann", "z", 1.0), ("ann", None, None)]
    rows = [("human", "a1", "i1", 1, 0.5 if system == "z" else 1.0, *row) for row in seen for system in row[1:2]]
    names = ["annotator_kind", "assignment_id", "item_id", "sample", "scrolled", "annotator_id", "system", "seconds"]
    reading = pl.DataFrame(rows, schema=names, orient="row")
    answers = check(ratings=ratings([("ann", "i1", "x", 4), ("ben", "i1", "x", 2)]))
    ann, ben = annotator_profiles(answers, reading)
    assert ann.outputs_seen == pytest.approx(2 / 3)
    assert ann.seconds_per_output == 3
    assert ben.outputs_seen is ben.seconds_per_output is None
    assert annotator_profiles(answers, reading.clear())[0].outputs_seen is None


def test_who_is_alone_is_compared_with_nobody() -> None:
    (alone,) = annotator_profiles(check(ratings=ratings([("ann", "i1", "x", 4), ("ann", "i2", "x", "")])))
    assert (alone.answers, alone.missing) == (1, 1)
    assert alone.severity is None
    assert alone.correlation is None


@settings(max_examples=20, deadline=None)
@given(
    st.dictionaries(
        st.tuples(st.sampled_from("abcd"), st.sampled_from("12345")), st.integers(1, 5), min_size=1, max_size=20
    )
)
def test_severity_is_the_distance_from_the_mean_of_the_others(scores: dict[tuple[str, str], int]) -> None:
    found = annotator_profiles(
        check(ratings=ratings([(who, item, "x", score) for (who, item), score in scores.items()]))
    )
    for each in found:
        gaps = []
        for (who, item), score in scores.items():
            others = [s for (w, i), s in scores.items() if i == item and w != who]
            if who == each.annotator_id and others:
                gaps.append(score - fmean(others))
        assert each.severity == (pytest.approx(fmean(gaps)) if gaps else None)
