"""Choices added up: what follows from the sums is what follows from the choices one by one, in fractions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from analysis import Reading
from analysis.answers.input import prepare_input
from analysis.answers.tables import check_frames
from analysis.comparisons import chosen_parts
from analysis.comparisons.choice_cells import ChoiceCells, choice_cells
from analysis.comparisons.chosen_parts import chosen_part
from analysis.rating_checks.part_sums import crossed_tests_of
from analysis.sums.criterion_sums import votes_of
from tests.analysis.random_tables import random_table


def squares(values: Sequence[Fraction], weights: Sequence[Fraction], of: Sequence[Hashable]) -> tuple[Fraction, int]:
    """Return the squared weighted sums by cluster times G / (G - 1), and G."""
    sums: dict[Hashable, Fraction] = defaultdict(Fraction)
    for value, weight, cluster in zip(values, weights, of, strict=True):
        sums[cluster] += weight * value
    n = len(sums)
    return sum(one * one for one in sums.values()) * Fraction(n, max(n - 1, 1)), n


def degrees_of_freedom(cells: ChoiceCells, who: Sequence[int], kept: Sequence[bool]) -> float | None:
    """Return Satterthwaite's degrees of freedom in fractions; ``None`` where the formula is not used."""
    rows = zip(cells.value.tolist(), who, cells.item.tolist(), kept, strict=True)
    values, people, items = zip(
        *((Fraction(value).limit_denominator(4), a, i) for value, a, i, own in rows if own), strict=True
    )
    times = {one: people.count(one) for one in people}
    weights = [Fraction(1, len(times) * times[one]) for one in people]
    mean = sum(weight * value for weight, value in zip(weights, values, strict=True))
    rest = [value - mean for value in values]
    by_person, by_item, by_both = (
        squares(rest, weights, of) for of in (people, items, [*zip(people, items, strict=True)])
    )
    if min(by_person[1], by_item[1]) < 3 or not by_person[0] or not by_item[0]:
        return None
    whole = max(by_person[0] + by_item[0] - by_both[0], by_person[0], by_item[0])
    df = whole**2 / (by_person[0] ** 2 / (by_person[1] - 1) + by_item[0] ** 2 / (by_item[1] - 1))
    return float(max(df, Fraction(1)))


@pytest.mark.parametrize("seed", [3, 5, 10])
def test_crossed_tests_of_sums_in_fractions(seed: int) -> None:
    """Degrees of freedom keep twelve digits, though distances from a mean are small beside the answers."""
    table, plan = random_table("choices", seed)
    prepared = prepare_input(check_frames({"choices": table}, Reading()), plan, None)
    compared = 0
    for cells in choice_cells(prepared.kept["choices"], prepared.orders["choices"]):
        part = chosen_part(cells)
        n, who = len(part.listed), getattr(cells, votes_of(part.sums)).tolist()
        found = crossed_tests_of(part.tested, part.equal_pairs, np.arange(n), n, against=0.5, confidence=0.95)
        pair = cells.x * len(cells.systems) + cells.y
        for number in range(n):
            df = degrees_of_freedom(cells, who, (pair == part.listed[number]).tolist())
            near = df is not None and abs(found.df[number] / df - 1) < 0.01  # else few items carry the weight
            if near:
                assert found.df[number] == pytest.approx(df, rel=1e-12)
                compared += 1
    assert compared > 2


def test_pairs_compared_once_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many systems the sums of pairs that were compared once are left out, and counted."""
    monkeypatch.setattr(chosen_parts, "DENSE", 1)
    table, plan = random_table("choices", 5)
    prepared = prepare_input(check_frames({"choices": table.head(9)}, Reading()), plan, None)
    for cells in choice_cells(prepared.kept["choices"], prepared.orders["choices"]):
        part = chosen_part(cells)
        times = np.unique(cells.x * len(cells.systems) + cells.y, return_counts=True)[1]
        assert (len(part.listed), part.n_untested) == (int((times > 1).sum()), int((times == 1).sum()))
        assert part.n_untested
        assert part.tested.pairs["overall"]["n"].tolist() == times[times > 1].tolist()
        assert part.tested.n_annotators == part.sums.n_annotators
