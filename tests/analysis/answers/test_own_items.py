"""Items named by output: told on the way in, and cut back to what every system was given."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import Plan, Reading, analyse, check_frames
from analysis.answers.own_items import cut, find_own_items
from spa.errors import AnalysisError

RNG = np.random.default_rng(4)
SHARED = pl.DataFrame(
    {
        "annotator_id": [f"a{person}" for person in range(12) for _ in range(10)],
        "item_id": [str(item) for _ in range(12) for item in range(5) for _ in range(2)],
        "system": ["oak", "elm"] * 60,
        "score": RNG.integers(1, 6, 120).tolist(),
    }
)
OWN = [f"{system}_{item}" for system, item in zip(SHARED["system"], SHARED["item_id"], strict=True)]
NAMED = SHARED.clone().replace_column(1, pl.Series("item_id", OWN))


def test_ids_that_hold_the_system_are_told_with_the_option() -> None:
    (file,) = check_frames({"ratings": NAMED}, Reading()).inputs
    assert file.notes == (
        "each of the 10 ids of items occurs with one system, and they differ by its name (oak_0, elm_0), so nothing is "
        "compared on one item; --cut-system takes it out (0), which leaves 5 items",
    )
    assert check_frames({"ratings": SHARED}, Reading()).inputs[0].notes == ()


def test_cut_they_are_the_items_that_systems_share() -> None:
    shared = analyse(check_frames({"ratings": SHARED}, Reading()), Plan())
    own = analyse(check_frames({"ratings": NAMED}, Reading(cut_system=True)), Plan())
    assert own.ratings == shared.ratings
    assert analyse(check_frames({"ratings": NAMED}, Reading()), Plan()).ratings != shared.ratings


def test_an_id_without_its_system_is_refused() -> None:
    with pytest.raises(AnalysisError, match="expected an item_id with the name of 'oak', got '0'"):
        check_frames({"ratings": SHARED}, Reading(cut_system=True))


@given(st.text("ab1", min_size=1, max_size=3), st.text("xy2", min_size=1, max_size=3), st.sampled_from("-_/.:#"))
def test_a_name_is_cut_at_either_end(system: str, item: str, joint: str) -> None:
    assert cut(f"{system}{joint}{item}", system) == item
    assert cut(f"{item}{joint}{system}", system) == item


def test_ids_of_different_inputs_are_left_alone() -> None:
    assert find_own_items([("oak_1", "oak"), ("elm_2", "elm"), ("oak_3", "oak")]) is None
    assert find_own_items([("1", "oak"), ("2", "elm")]) is None
