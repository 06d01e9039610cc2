"""Labels instead of numbers, for coefficients of categories without an order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import exact_agreement, fleiss_kappa, gwet_ac1, krippendorff_alpha

CELL = st.sampled_from(["A", "B", "good", None])
TABLES = st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=2, max_size=12)


def alpha(answers: Any) -> float | None:
    return krippendorff_alpha(answers, level="nominal").value


NOMINAL: list[Callable[[Any], float | None]] = [
    alpha,
    lambda answers: gwet_ac1(answers).value,
    lambda answers: fleiss_kappa(answers).value,
    lambda answers: exact_agreement(answers).value,
]


def test_opposite_labels_disagree_as_numbers_do() -> None:
    assert alpha([["A", "B"], ["B", "A"]]) == pytest.approx(-0.5)
    assert alpha([[0, 1], [1, 0]]) == pytest.approx(-0.5)


@pytest.mark.parametrize("measure", NOMINAL)
@given(table=TABLES)
def test_labels_give_what_any_numbers_for_them_give(
    measure: Callable[[Any], float | None], table: list[list[str | None]]
) -> None:
    numbers = {"A": 7.0, "B": -2.0, "good": 3.0, None: np.nan}
    expected = measure([[numbers[one] for one in row] for row in table])
    found = measure(table)
    assert found == (expected if expected is None else pytest.approx(expected, abs=1e-12))


def test_a_frame_of_labels_is_read_under_any_name() -> None:
    frame = pl.DataFrame({"who": ["a", "b"] * 2, "item_id": ["i", "i", "j", "j"], "label": ["A", "B", "B", "N/A"]})
    frame = pl.concat([frame, frame.with_columns(item_id=pl.col("item_id") + "2", label=pl.lit("B"))])
    names = {"who": "annotator_id", "label": "score"}
    found = krippendorff_alpha(frame, level="nominal", mapping=names)
    assert found.value == krippendorff_alpha([[0, 1], [1, np.nan], [1, 1], [1, 1]], level="nominal").value


def test_categories_that_nobody_chose_count() -> None:
    assert gwet_ac1([[1, 1]] * 5, categories=[1, 2, 3]).value == 1.0
    given = [["a", "a"], ["a", "b"], ["b", "b"]]
    assert (
        gwet_ac1(given, categories=["a", "b", "c"]).value
        == gwet_ac1([[1, 1], [1, 2], [2, 2]], categories=[1, 2, 3]).value
    )


def test_labels_have_no_order_and_no_distance() -> None:
    with pytest.raises(ValueError, match="answers must be numbers, units x annotators"):
        krippendorff_alpha([["A", "B"], ["B", "A"]], level="interval")
