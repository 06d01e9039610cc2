"""A rounded bound lies on the side of what it is compared with on which the bound lies."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from spa.rounding import MINUS, bound, bounds, number

SHARES = st.floats(0, 1) | st.integers(0, 10_000).map(lambda one: one / 10_000)
DIFFERENCES = st.floats(-5, 5) | st.integers(-5000, 5000).map(lambda one: one / 10_000)


def side_of(text: str, mark: float) -> int:
    """Return on which side of a mark a reader sees a bound: -1 below it, 0 on it, 1 above it."""
    found = re.fullmatch(rf"(below |above )?({MINUS}?[\d.,]+)", text)
    assert found is not None, text
    shown = float(found[2].replace(MINUS, "-").replace(",", ""))
    if shown == mark:
        return {"below ": -1, None: 0, "above ": 1}[found[1]]
    return 1 if shown > mark else -1


def shown_to_exclude(text: str, mark: float) -> bool:
    low, high = text.split(" to ")
    return side_of(low, mark) > 0 or side_of(high, mark) < 0


@given(ends=st.tuples(SHARES, SHARES), decimals=st.integers(0, 3))
@example(ends=(0.11, 0.497), decimals=0)
@example(ends=(0.503, 0.6), decimals=0)
@example(ends=(0.5, 0.6), decimals=0)
def test_rounded_interval_of_shares_about_half(ends: tuple[float, float], decimals: int) -> None:
    """An interval of shares is shown to leave half out where it does and nowhere else."""
    low, high = sorted(ends)
    shown = bounds(low, high, decimals, shift=2, marks=[0.5])
    assert shown_to_exclude(shown, 50) == (low > 0.5 or high < 0.5)


@given(ends=st.tuples(DIFFERENCES, DIFFERENCES))
@example(ends=(0.004, 1.0))
@example(ends=(-1.0, -1e-9))
@example(ends=(-1.0, 0.0))
def test_rounded_interval_of_differences_about_zero(
    ends: tuple[float, float],
) -> None:
    """An interval of differences is shown to leave zero out where it does and nowhere else."""
    low, high = sorted(ends)
    assert shown_to_exclude(bounds(low, high), 0) == (low > 0 or high < 0)


@given(value=SHARES, margin=st.integers(1, 400).map(lambda one: one / 1000), decimals=st.integers(0, 2))
@example(value=0.5496, margin=0.05, decimals=1)
@example(value=0.474, margin=0.027, decimals=0)
@example(value=0.5005, margin=0.001, decimals=0)
def test_rounded_bound_stays_on_its_side_of_margin(value: float, margin: float, decimals: int) -> None:
    """A bound within the margin is shown within it and one beyond it beyond."""
    text = bound(value, decimals, shift=2, marks=(0.5 - margin, 0.5, 0.5 + margin))
    marks = [mark / 1000 for mark in (500 - round(1000 * margin), 500, 500 + round(1000 * margin))]
    named = float(text.split()[-1]) / 100 if " " in text else None
    for mark in marks if named is None else [mark for mark in marks if abs(mark - named) < 1e-9]:
        assert side_of(text, round(100 * mark, 9)) == (value > mark) - (value < mark)


@given(value=DIFFERENCES, decimals=st.integers(0, 3))
def test_a_bound_without_marks_is_the_number(value: float, decimals: int) -> None:
    assert bound(value, decimals, marks=()) == number(value, decimals)


def test_no_mark_shows_the_error_of_its_sum() -> None:
    """0.5 + 0.07 is 0.5700000000000001 in binary."""
    assert bound(0.5699, 0, shift=2, marks=[0.5 + 0.07]) == "below 57"
