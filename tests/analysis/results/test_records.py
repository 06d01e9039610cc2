"""Rows of results change column by column as they do one by one."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, asdict, replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.figures.plain_text import clean
from analysis.ranking.tied import TiedStrength
from analysis.statistics.rank_orders import Unranked
from analysis.statistics.reasons import why
from analysis.statistics.record import rounded

TEXT = st.sampled_from(["plain", "con\x00trol", "\u2068set apart\u2069", ""])
NUMBER = st.none() | st.floats(allow_nan=False, allow_infinity=False)
STRENGTHS = st.builds(TiedStrength, system=TEXT, strength=NUMBER, strength_half=NUMBER)
OTHERS = st.builds(Unranked, system=TEXT, reason=st.builds(partial(why, "unspecified"), text=TEXT))


def strength(value: float | None) -> TiedStrength:
    """Return a row with that strength."""
    return TiedStrength(system="a", strength=value, strength_half=None)


@given(st.lists(STRENGTHS | OTHERS, max_size=6))
def test_rows_become_what_each_becomes_alone(rows: list[Any]) -> None:
    assert rounded(tuple(rows)) == tuple(rounded(row) for row in rows)
    assert clean(tuple(rows)) == tuple(clean(row) for row in rows)


def test_rows_to_which_nothing_happens_are_kept() -> None:
    rows = (strength(0.5), strength(None))
    assert clean(rows) is rows
    assert all(new is old for new, old in zip(clean(list(rows)), rows, strict=True))


def test_one_number_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ArithmeticError, match="not finite"):
        rounded([strength(1.0), strength(math.inf)])


def test_records_compare_and_show_as_dataclasses_do() -> None:
    one = strength(0.5)
    assert one == strength(0.5)
    assert hash(one) == hash(strength(0.5))
    assert one != strength(None)
    assert one != ("a", 0.5, None)
    assert repr(one) == "TiedStrength(system='a', strength=0.5, strength_half=None)"
    assert asdict(replace(one, system="b")) == {"system": "b", "strength": 0.5, "strength_half": None}
    with pytest.raises(FrozenInstanceError):
        one.system = "b"  # type: ignore[misc]
