"""How often each score was given, beside the means of the same ratings."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.answers.plan import Plan
from tests.analysis.made_answers import analyse, check, ratings


def counts_of(rows):
    results = analyse(check(ratings=ratings(rows)), Plan(seed=0))
    return results["rating_counts"], results["ratings"]["means"]


def test_ratings_are_counted_by_system():
    counts, _ = counts_of([(f"a{n}", "i", "x", score) for n, score in enumerate([5, 3, 1, 5])] + [("a0", "i", "y", 3)])
    assert [(row["system"], row["score"], row["n"], row["share"]) for row in counts] == [
        ("x", 1, 1, 0.25),
        ("x", 3, 1, 0.25),
        ("x", 5, 2, 0.5),
        ("y", 3, 1, 1.0),
    ]


def test_a_scale_with_more_than_eleven_scores_is_not_listed():
    assert len(counts_of([("a", f"i{n}", "x", n) for n in range(11)])[0]) == 11
    assert counts_of([("a", f"i{n}", "x", n) for n in range(12)])[0] == []


@settings(max_examples=20)
@given(st.lists(st.tuples(st.sampled_from("xyz"), st.integers(1, 7)), min_size=1, max_size=40))
def test_rating_counts_agree_with_means(scores):
    """Counts give the number and the mean that the means state."""
    counts, means = counts_of([(f"a{n % 5}", f"i{n}", system, score) for n, (system, score) in enumerate(scores)])
    assert len(means) == len({row["system"] for row in counts})
    for mean in means:
        own = [row for row in counts if row["system"] == mean["system"]]
        assert sum(row["n"] for row in own) == mean["n"] == own[0]["n_ratings"]
        assert sum(row["share"] for row in own) == pytest.approx(1)
        assert sum(row["share"] * row["score"] for row in own) == pytest.approx(mean["mean"])
