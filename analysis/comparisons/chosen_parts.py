"""The choices of one group and criterion: their sums, and single answers where these are at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.answers.units import who_answers
from analysis.comparisons.choice_cells import ChoiceCells, choice_cells, choice_judgements
from analysis.comparisons.rating_judgements import judgements_of_counts
from analysis.records.results import Results
from analysis.statistics.coding import Floats, Folded, Ints, fold
from analysis.strengths.fit import DENSE
from analysis.strengths.strength_table import Judgements
from analysis.sums.criterion_sums import (
    PAIR,
    Columns,
    CriterionSums,
    EqualSums,
    counted_outcomes,
    equal_sums,
    sums_of_pairs,
    votes_of,
)
from analysis.sums.grid import TOGETHER, multiples_of
from analysis.sums.left_out import NeedsSingleAnswers
from analysis.sums.totals import AnswerTotals

WHOLE: Final = multiples_of(1.0)  # what parts of a table add up in place of 1
WEIGHED: Final = ("share", "square", "total", "higher")


@dataclass(frozen=True, kw_only=True, eq=False)
class ChosenPart:
    """Choices of one group and criterion.

    Attributes
    ----------
    sums : CriterionSums
        What nearly all statistics follow from.
    cells : ChoiceCells or None
        Single choices, for what does not follow from sums; ``None`` of a table in parts.
    """

    sums: CriterionSums
    cells: ChoiceCells | None = None

    @cached_property
    def listed(self) -> Ints:
        """What x * n_systems + y is of the pairs that are tested: of over 300 systems those compared more than once."""
        overall = self.sums.pairs["overall"]
        several = overall["n"] > (1 if len(self.sums.systems) > DENSE else 0)
        found: Ints = overall[PAIR][several]
        return found

    @cached_property
    def tested(self) -> CriterionSums:
        """The sums of these pairs, numbered in their order."""
        return sums_of_pairs(self.sums, self.listed)

    @cached_property
    def equal_pairs(self) -> EqualSums:
        """Those with everybody weighing the same."""
        return equal_sums(self.tested, "pairs", votes_of(self.tested))

    @property
    def n_untested(self) -> int:
        """How many pairs that were compared have no test."""
        return len(self.sums.pairs["overall"][PAIR]) - len(self.listed)

    @property
    def both_bad(self) -> Ints | None:
        """Ties of two that are bad, by tested pair; ``None`` where answers do not tell."""
        cells, listed = self.cells, self.listed
        if cells is None or cells.bad is None:
            return None
        pair = (cells.x * len(cells.systems) + cells.y)[cells.bad]
        pair = pair[np.isin(pair, listed)]
        return np.bincount(np.searchsorted(listed, pair), minlength=len(listed)).astype(np.int64)

    def judgements(self, plan: Plan) -> Judgements:
        """Return what strengths are fitted to: counts, or single choices, which intervals of both ways need."""
        if self.cells is not None:
            return choice_judgements(self.cells)
        return judgements_of_counts(partial(counted_outcomes, self.sums), plan, llm=self.sums.llm)


def chosen_parts(table: pl.DataFrame, order: Order) -> Iterator[ChosenPart]:
    """Yield the groups and criteria of a table of choices that have answers, in the order of the results."""
    yield from map(chosen_part, choice_cells(table, order))


def chosen_part(cells: ChoiceCells) -> ChosenPart:
    """Add up the cells of one group and criterion as those of parts are; O(cells log cells) time."""
    value = np.rint(cells.value * WHOLE)
    pair = cells.x * len(cells.systems) + cells.y
    rows: Columns = {
        PAIR: pair,
        "annotator": cells.annotator,
        "assignment": cells.assignment,
        "item": cells.item,
        "value": value,
        "above": (value > WHOLE / 2).astype(np.float64),
        "tied": (value == WHOLE / 2).astype(np.float64),
    }
    overall = fold(pair)
    away = value - value[overall.first][overall.of]  # 0 of every choice of a pair whose choices are alike
    squares = _sum(overall, away**2) - _sum(overall, away) ** 2 / np.bincount(overall.of)
    pairs: dict[str, Columns] = {"overall": {**_added(rows), "squares": squares / WHOLE**2}}
    nobody = {name: column[:0] for name, column in rows.items()}  # people's unit is the annotator
    rows_of = {"annotator": rows, "assignment": rows if cells.llm else nobody, "item": rows}
    for unit, own in rows_of.items():
        pairs[unit] = _added(own, unit)
    for kind, unit in TOGETHER.items():
        pairs[kind] = _together(rows_of[unit], pairs[unit], unit)
    annotators = len(np.unique(cells.annotator))
    who = who_answers(llm=cells.llm, n_annotators=annotators)
    pairs["weighed"] = _weighed(rows, pairs[who], who)
    sums = CriterionSums(
        kind="choices",
        group=cells.group,
        criterion=cells.criterion,
        llm=cells.llm,
        systems=cells.systems,
        scale=1.0,
        scores={},
        pairs=pairs,
        counts={},
        options=np.zeros(0),
        sampled=cells.sampled,
        n_annotators=annotators,
        clusters=len(fold(cells.annotator, cells.item)),
        blocks=len(fold(cells.block)),
        answers=len(pair) if cells.answers is None else cells.answers,
    )
    return ChosenPart(sums=sums, cells=cells)


def _sum(folded: Folded, values: Floats) -> Floats:
    return np.bincount(folded.of, weights=values, minlength=len(folded)).astype(np.float64)


def _added(rows: Columns, *units: str) -> dict[str, npt.NDArray[Any]]:
    """Add up by pair, and unit."""
    folded = fold(*(rows[name] for name in (PAIR, *units)))
    n = np.bincount(folded.of, minlength=len(folded)).astype(np.int64)
    return {
        **{name: rows[name][folded.first] for name in (PAIR, *units)},
        "n": n,
        "answers": n,
        "total": _sum(folded, rows["value"]) / WHOLE,
        **{name: _sum(folded, rows[name]).astype(np.int64) for name in ("above", "tied")},
    }


def _together(rows: Columns, by_unit: Columns, unit: str) -> Columns:
    """Add up what belongs to one unit and item, about the mean of the units' means, by how many choices that is."""
    if not len(rows[PAIR]):
        return {name: np.zeros(0, dtype=np.int64) for name in (PAIR, unit, "n", "clusters", "total", "squares")}
    pair, there = fold(by_unit[PAIR]), fold(rows[PAIR])
    middle = np.rint(WHOLE * _sum(pair, by_unit["total"] / by_unit["n"]) / np.bincount(pair.of))
    away = rows["value"] - middle[there.of]
    clusters = fold(rows[PAIR], rows[unit], rows["item"])
    n, total = np.bincount(clusters.of).astype(np.int64), _sum(clusters, away)
    of_pair, of_unit = (rows[name][clusters.first] for name in (PAIR, unit))
    alike = fold(of_pair, of_unit, n)
    return {
        PAIR: of_pair[alike.first],
        unit: of_unit[alike.first],
        "n": n[alike.first],
        "clusters": np.bincount(alike.of).astype(np.int64),
        "total": _sum(alike, total) / WHOLE,
        "squares": _sum(alike, total**2) / WHOLE**2,
    }


def _weighed(rows: Columns, by_unit: Columns, who: str) -> Columns:
    """Add up by item, a choice of one who made n about the pair weighing 1 / n, where some made more than others."""
    pair = fold(by_unit[PAIR])
    least = np.full(len(pair), np.iinfo(np.int64).max)
    most = np.zeros(len(pair), dtype=np.int64)
    np.minimum.at(least, pair.of, by_unit["n"])
    np.maximum.at(most, pair.of, by_unit["n"])
    uneven = (least < most)[fold(rows[PAIR]).of]
    own = {name: rows[name][uneven] for name in (PAIR, who, "item", "value", "above", "tied")}
    if not len(own[PAIR]):
        return {PAIR: own[PAIR], "item": own["item"], **dict.fromkeys(WEIGHED, np.zeros(0))}
    given = fold(own[PAIR], own[who])
    weight = 1 / np.bincount(given.of)[given.of]
    items = fold(own[PAIR], own["item"])
    columns = (weight, weight**2, weight * own["value"] / WHOLE, weight * (own["above"] + own["tied"] / 2))
    return {
        PAIR: own[PAIR][items.first],
        "item": own["item"][items.first],
        **{name: _sum(items, column) for name, column in zip(WEIGHED, columns, strict=True)},
    }


def _of_choices(text: str) -> Callable[[AnswerTotals, Results], str | None]:
    return lambda totals, _: text if totals.kind == "choices" else None


BOTH_BAD = NeedsSingleAnswers("both_bad", ("choices.pairs",), _of_choices("which ties are of two bad outputs"))
STRENGTHS_BOTH_WAYS = NeedsSingleAnswers(
    "strengths_both_ways",
    ("bradley_terry",),
    _of_choices("intervals of strengths by annotator and item at once"),
)
