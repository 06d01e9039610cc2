"""A report warns of what simulations show to fall short."""

from __future__ import annotations

import numpy as np

from analysis import Plan
from tests.analysis.answers import ratings, run


def warned(annotators: int, items: int, words: str) -> bool:
    rng = np.random.default_rng(1)
    rows = [
        (f"a{who}", f"i{item}", system, int(rng.integers(1, 6)))
        for who in range(annotators)
        for item in range(items)
        for system in "xy"
    ]
    return any(words in line for line in run(ratings=ratings(rows))["warnings"])


def test_few_units_are_told() -> None:
    assert warned(3, 14, "fewer than 30 units")  # two outputs an item
    assert not warned(3, 15, "fewer than 30 units")


def test_few_raters_are_told() -> None:
    assert warned(9, 20, "rest on fewer than 10 of them")
    assert not warned(10, 20, "rest on fewer than 10 of them")


def test_welch_by_item_is_told_and_by_annotator_is_not() -> None:
    rows = [
        (f"{system}{who}", f"i{item}", system, (who * 7 + item * item + len(system)) % 5)
        for system in ("x", "yy")
        for who in range(12)
        for item in range(4)
    ]
    by_item = run(ratings=ratings(rows))["warnings"]
    assert sum("Welch test by item" in line for line in by_item) == 1
    by_annotator = run(ratings=ratings(rows), plan=Plan(unit="annotator"))["warnings"]
    assert not any("Welch test by item" in line for line in by_annotator)
