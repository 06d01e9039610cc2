"""What each person answered about each pair: one number for every output that he or she judged apart from others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from analysis.answers.input import AnalysisInput
from analysis.answers.order import Order, toward
from analysis.answers.plan import Plan
from analysis.answers.tables import answered_rows
from analysis.comparisons.rating_cells import RatingCells, rating_cells
from analysis.comparisons.sides import PEOPLE
from analysis.comparisons.tests import Tests
from analysis.records.results import Key
from analysis.statistics.coding import Floats, Ints, fold, snap
from analysis.statistics.record import Source
from analysis.sums.units import unit_codes

EVEN = 0.5
APART = {  # what tells answers about separate outputs apart; both directions of one are one answer
    "preferences": ("assignment_id", "exposure", "sample"),
    "choices": ("item_id", "sample_first", "sample_second", "sample"),
}
Pairs = Mapping[tuple[Source, str, str], Sequence[tuple[str, str]]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairAnswers:
    """Answers of people to one pair.

    Attributes
    ----------
    names : tuple of str, shape (people,)
        Annotators, in no order that means something.
    person : array of int, shape (n,)
        Who gave each answer.
    value : array of float, shape (n,)
        Chance or share of x in [0, 1]; of ratings by how many points x is better than y.
    even : float
        Where neither is better: 0.5, or 0.
    """

    source: Source
    group: str
    criterion: str
    system_x: str
    system_y: str
    names: tuple[str, ...]
    person: Ints
    value: Floats
    even: float

    @property
    def counts(self) -> Ints:
        """Return how many answers each person gave."""
        return np.bincount(self.person, minlength=len(self.names))

    def means(self) -> Floats:
        """Return each person's mean."""
        sums = np.bincount(self.person, weights=self.value, minlength=len(self.names))
        scale = float(np.abs(self.value).max(initial=1.0))
        return snap(sums / self.counts, scale=scale, digits=13)


OWN_ANSWERS: Key[tuple[PairAnswers, ...]] = Key("own_answers", tuple)


def own_answers(prepared: AnalysisInput, tests: Tests) -> Iterator[PairAnswers]:
    """Yield what people answered about each pair that is tested, in the order of the tests.

    Parameters
    ----------
    prepared : AnalysisInput
        Answers kept; LLMs are left out.
    tests : Tests
        Of the same answers: they say which pairs are compared, and in which direction.
    """
    asked = _pairs(tests)
    people = {group for group, kind in prepared.groups if kind in PEOPLE}
    for source, table in prepared.kept.items():
        wanted = {key: pairs for key, pairs in asked.items() if key[0] == source and key[1] in people}
        if not wanted:
            continue
        own = answered_rows(table).filter(pl.col("annotator_kind").is_in(list(PEOPLE)))
        order = prepared.orders[source]
        if source == "ratings":
            yield from _of_ratings(own, order, wanted, prepared.plan)
        else:
            yield from _of_pairs(own, order, wanted, source)  # type: ignore[arg-type]


def _pairs(tests: Tests) -> Pairs:
    """Return the pairs of each source, group and criterion, each once."""
    found: dict[tuple[Source, str, str], dict[tuple[str, str], None]] = {}
    every: Iterable[tuple[Source, Iterable[object]]] = (
        ("preferences", tests.preferences),
        ("ratings", tests.ratings),
        ("choices", tests.choices),
    )
    for source, rows in every:
        for row in rows:
            key = (source, row.group, row.criterion)  # type: ignore[attr-defined]
            found.setdefault(key, {})[row.system_x, row.system_y] = None  # type: ignore[attr-defined]
    return {key: tuple(pairs) for key, pairs in found.items()}


def _of_pairs(table: pl.DataFrame, order: Order, asked: Pairs, source: Source) -> Iterator[PairAnswers]:
    place = ("group", "criterion", "x", "y")
    sampled = {"sample_x", "sample_y"} <= {*table.columns}
    there = {*table.columns} | ({"sample_first", "sample_second"} if sampled else set())
    unit = (*place, "annotator_id", *(name for name in APART[source] if name in there))
    texts = [name for name in (*place[:2], "annotator_id", "system_x", "system_y") if name in table.columns]
    averaged = toward(table.with_columns(pl.col(texts).cast(pl.String)), order, unit)
    parts = averaged.sort(unit).partition_by(place, as_dict=True)
    for (_, group, criterion), pairs in asked.items():
        for x, y in pairs:
            own, turned = parts.get((group, criterion, x, y)), False
            if own is None:
                own, turned = parts.get((group, criterion, y, x)), True
            if own is None:
                continue
            value = own["value"].to_numpy()
            who = own["annotator_id"].to_list()
            yield _answers((source, group, criterion, x, y), who, 1 - value if turned else value, EVEN)


def _answers(key: tuple[Source, str, str, str, str], who: Sequence[str], value: Floats, even: float) -> PairAnswers:
    source, group, criterion, x, y = key
    names = dict.fromkeys(who)
    number = {name: place for place, name in enumerate(names)}
    return PairAnswers(
        source=source,
        group=group,
        criterion=criterion,
        system_x=x,
        system_y=y,
        names=tuple(names),
        person=np.array([number[name] for name in who], dtype=np.int64),
        value=value,
        even=even,
    )


def _of_ratings(table: pl.DataFrame, order: Order, asked: Pairs, plan: Plan) -> Iterator[PairAnswers]:
    units = unit_codes(table)
    names = units.names["annotator"]
    for cells in rating_cells(table, order, units):
        pairs = asked.get(("ratings", cells.group, cells.criterion), ())
        if not pairs:
            continue
        annotator, scores = _side_by_side(cells)
        sign = -1.0 if cells.criterion in plan.lower_is_better else 1.0
        place = {system: number for number, system in enumerate(cells.systems)}
        for x, y in pairs:
            difference = sign * (scores[:, place[x]] - scores[:, place[y]])
            both = ~np.isnan(difference)
            if both.any():
                who = [names[number] for number in annotator[both].tolist()]
                value = snap(difference[both], scale=cells.scale, digits=13)
                yield _answers(("ratings", cells.group, cells.criterion, x, y), who, value, 0.0)


def _side_by_side(cells: RatingCells) -> tuple[Ints, Floats]:
    """Return who judged each item, and the mean score of each system there, shape (annotator and item, systems)."""
    judged = fold(cells.annotator, cells.item)
    shape = (len(judged.first), len(cells.systems))
    where = judged.of * shape[1] + cells.system
    n = np.bincount(where, minlength=shape[0] * shape[1])
    total = np.bincount(where, weights=cells.value, minlength=shape[0] * shape[1])
    scores = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0).reshape(shape)
    return cells.annotator[judged.first], scores
