"""A report warns of what simulations show to fall short."""

from __future__ import annotations

import numpy as np

from analysis import Plan
from analysis.statistics.t_tests import is_highly_skewed
from tests.analysis.made_answers import preferences, ratings, run


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
    assert warned(9, 20, "from fewer than 10 raters")
    assert not warned(10, 20, "from fewer than 10 raters")


def test_small_design_planned_welch_by_item() -> None:
    """A planned Welch test by item over other annotators is told."""
    rows = [
        (f"{system}{who}", f"i{item}", system, (who * 7 + item * item + len(system)) % 5)
        for system in ("x", "yy")
        for who in range(12)
        for item in range(4)
    ]
    by_item = run(ratings=ratings(rows), plan=Plan(unit="item"))
    assert sum("17% of studies, not 5%" in line for line in by_item["warnings"]) == 1
    assert "17% of studies" in by_item["headline"]["problems"][0]["text"]
    for plan in (Plan(), Plan(unit="annotator")):
        assert not any("17%" in line for line in run(ratings=ratings(rows), plan=plan)["warnings"])
    shared = [(who.strip("xy"), *rest) for who, *rest in rows]
    welch = run(ratings=ratings(shared), plan=Plan(unit="item", rating_test="welch"))
    assert not any("17%" in line for line in welch["warnings"])


def asked(answers: list[float]) -> list[tuple[str, str, str, object]]:
    return [(f"p{who}", "x", "y", answer) for who, answer in enumerate(answers)]


def test_highly_skewed_answers_are_told() -> None:
    """Most say 40% and one 90%: t is -3, and half of such studies of equal systems find a difference."""
    found = run(preferences=preferences(asked([0.4] * 19 + [0.9])))
    assert found["preferences"][0]["highly_skewed"]
    assert sum("1 of 1 tests of preferences rests on highly skewed values" in line for line in found["warnings"]) == 1
    even = run(preferences=preferences(asked([place / 20 for place in range(20)])))
    assert not even["preferences"][0]["highly_skewed"]
    assert not any("highly skewed" in line for line in even["warnings"])


def test_a_test_that_could_not_be_run_is_not_highly_skewed() -> None:
    found = run(preferences=preferences(asked([0.4] * 20)))
    assert (found["preferences"][0]["p_value"], found["preferences"][0]["highly_skewed"]) == (None, False)
    assert not any("highly skewed" in line for line in found["warnings"])


def test_the_bounds_of_highly_skewed_values() -> None:
    """Four of five equal are the bound; hand-worked skewness of 1 far value among n: (n - 2) / sqrt(n - 1)."""
    assert is_highly_skewed([1.0] * 4 + [2.0])
    assert not is_highly_skewed([1.0] * 3 + [2.0] * 2)
    steps = [place * 1e-6 for place in range(19)]
    assert is_highly_skewed([*steps, 1.0])
    assert not is_highly_skewed([*steps[:18], 1.0])  # 19 values are too few to see skewness
    mirrored = [-value for value in (*steps, 1.0)]
    assert is_highly_skewed(mirrored)


def test_few_unmarked_tests_find_what_is_not_there() -> None:
    """The design with the most false findings: 40% mostly and 90% rarely, 20 annotators."""
    rng = np.random.default_rng(2)
    found = marked = 0
    for _ in range(2000):
        values = np.where(rng.random(20) < 0.8, 0.4, 0.9)
        if values.min() == values.max():
            continue
        t = abs(values.mean() - 0.5) / (values.std(ddof=1) / np.sqrt(20))
        found += t > 2.093
        marked += t > 2.093 and is_highly_skewed(values.tolist())
    assert found / 2000 > 0.05
    assert (found - marked) / 2000 < 0.05
