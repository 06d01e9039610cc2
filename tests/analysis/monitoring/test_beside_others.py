"""One form beside the others: by hand."""

from __future__ import annotations

import pytest

from analysis.monitoring.compared_answers import compare_answers
from tests.analysis.made_answers import check, preferences, ratings


def test_own_answers_beside_means() -> None:
    """Own answers stand beside the means of people and of raters."""
    rated = ratings(
        [
            ("ann", "i1", "x", 2),
            ("ben", "i1", "x", 4),
            ("cat", "i1", "x", 5),
            ("gpt", "i1", "x", 1),
            ("ann", "i2", "x", ""),
        ],
        assignment_id=["a1", "a2", "a3", "a4", "a1"],
    )
    told = preferences([("ann", "x", "y", 0.9), ("ben", "x", "y", 0.5), ("ben", "y", "x", 0.1)])
    tables = check(ratings=rated, preferences=told, llms=("gpt",))
    first, second, third = compare_answers(tables, "ann", None)
    assert (first.source, first.own, first.people, first.n_people, first.raters) == ("preferences", 0.9, 0.5, 1, None)
    assert (second.own, second.people, second.n_people) == (2, 4.5, 2)
    assert (second.raters, second.n_raters) == (1, 1)
    assert (third.own, third.reason, third.n_people) == (None, "empty", 0)


def test_repeats_of_one_annotator_count_once() -> None:
    rows = [("ann", "i1", "x", 3), ("gpt", "i1", "x", 1), ("gpt", "i1", "x", 3), ("llama", "i1", "x", 5)]
    tables = check(ratings=ratings(rows, repeat=["", "1", "2", ""]), llms=("gpt", "llama"))
    (row,) = compare_answers(tables, "ann", None)
    assert row.raters == pytest.approx((2 + 5) / 2)
    assert row.n_raters == 2


def test_another_form_of_the_same_annotator_is_not_shown() -> None:
    rows = [("ann", "i1", "x", 3), ("ann", "i2", "x", 4)]
    tables = check(ratings=ratings(rows, assignment_id=["a1", "a2"]))
    assert [row.item_id for row in compare_answers(tables, "ann", "a2")] == ["i2"]
    assert compare_answers(tables, "nobody", None) == []
