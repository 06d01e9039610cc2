"""Single answers behind means: each side of a pair, thinned evenly, drawn the same each time, and none from sums."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.figures.drawing import crowd, scale
from analysis.printing.document import Figure
from analysis.results.files import from_plain
from analysis.single_answers.answers import MOST_ANSWERS, thinned
from tests.analysis.figures.walked import figures_of
from tests.analysis.made_answers import preferences, ratings, run

DOT = re.compile(r"M(-?[\d.]+),(-?[\d.]+)h0")


def values(results: dict[str, Any], **place: object) -> list[list[float]]:
    return [row["values"] for row in results["single_answers"] if place.items() <= row.items()]


def figure(results: dict[str, Any], name: str) -> Figure:
    (found,) = [one for one in figures_of(from_plain(results)) if one.name == name]
    return found


def test_chances_stand_on_both_sides_of_a_pair() -> None:
    """Both directions of a question count for either system; who is excluded is not shown."""
    rows = [("p1", "a", "b", 0.8), ("p1", "b", "a", 0.1), ("p2", "a", "b", 0.6), ("p3", "a", "b", 0.9)]
    results = run(preferences=preferences([*rows, ("p3", "b", "a", 0.7)]))
    assert values(results, system="a", other="b") == [[0.6, 0.8, 0.9]]
    assert values(results, system="b", other="a") == [[0.1, 0.2, 0.4]]
    drawn = figure(results, "preferences")
    assert len(DOT.findall(drawn.svg)) == 3
    assert "Dots: single answers." in drawn.caption


def test_many_ratings_are_thinned_and_said_to_be() -> None:
    """Of 200 ratings 60 dots, whose shares are theirs; the whole range of answers lies on the axis."""
    frame = ratings([(f"p{n}", f"i{n % 5}", "ab"[n % 2], 1 + n % 4 + (n > 396)) for n in range(400)])
    results = run(ratings=frame)
    (a, b) = (row for row in results["single_answers"] if row["source"] == "ratings")
    assert (a["n"], b["n"], len(a["values"]), a["values"][0], b["values"][-1]) == (200, 200, MOST_ANSWERS, 1, 5)
    assert sum(value == 1 for value in a["values"]) == MOST_ANSWERS / 2
    drawn = figure(results, "ratings")
    assert len(DOT.findall(drawn.svg)) == 2 * MOST_ANSWERS
    assert "Dots: single answers (60 evenly of more)." in drawn.caption
    assert drawn.drawing is not None
    assert drawn.drawing() == drawn.svg


def test_of_many_means_those_of_people_are_kept() -> None:
    """Sixty-four LLMs and people rate a system: dots behind people's mean alone, and the caption says where."""
    llms = tuple(f"m{n}" for n in range(64))
    frame = pl.concat([ratings([(who, f"i{n}", "a", 1 + n) for n in range(3)]) for who in ("p1", "p2", *llms)])
    results = run(ratings=frame, llms=llms)
    assert {row["group"] for row in results["single_answers"]} == {"human"}
    (answer,) = {figure.caption for figure in figures_of(from_plain(results)) if figure.name == "ratings"}
    assert "single answers where they are shown" in answer


@given(st.lists(st.integers(0, 100), max_size=300), st.integers(2, 80).map(lambda half: 2 * half))
def test_thinned_from_either_side_is_the_same(answers: list[int], most: int) -> None:
    """First and last stay, and turning all values round turns what is kept."""
    ascending = sorted(answer / 100 for answer in answers)
    kept = thinned(ascending, most)
    assert len(kept) == min(len(ascending), most)
    assert (kept[:1], kept[-1:]) == (tuple(ascending[:1]), tuple(ascending[-1:]))
    other = thinned(sorted(1 - answer for answer in ascending), most)
    assert other == pytest.approx([1 - value for value in reversed(kept)])


def test_dots_stay_within_their_line() -> None:
    """No dot lies outside the axis or on another line, and values that are alone stand where the axis has them."""
    across = scale(0, 1, 0, 300)
    places = [(float(x), float(y)) for x, y in DOT.findall(crowd([0.0] * 20 + [0.3] + [1.0] * 20, across, 50, 300))]
    assert len(set(places)) == 41
    assert all(0 <= x <= 300 and 44 <= y <= 56 for x, y in places)
    assert places[20][0] == pytest.approx(90)
    assert crowd([], across, 50, 300) == ""


def test_lines_without_answers_have_no_dots() -> None:
    """Choices are one side or the other; results that were written before have none to show."""
    results = run(ratings=ratings([(f"p{n}", "i1", name, 1 + n % 5) for n in range(8) for name in "ab"]))
    results["single_answers"] = []
    drawn = figure(results, "ratings")
    assert not DOT.findall(drawn.svg)
    assert "Dots" not in drawn.caption
