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
from analysis.comparisons.rating_cells import RatingCells
from analysis.comparisons.sides import PEOPLE
from analysis.comparisons.tests import Tests
from analysis.records.results import Key
from analysis.statistics.coding import Floats, Ints, code, fold, snap
from analysis.statistics.record import Source

EVEN = 0.5
EXACT = 1e12  # size of whole scores below which rounding to 13 digits changes no difference
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
        if source == "ratings":
            yield from _of_ratings(tests, wanted, prepared.plan)
            continue
        own = answered_rows(table).filter(pl.col("annotator_kind").is_in(list(PEOPLE)))
        yield from _of_pairs(own, prepared.orders[source], wanted, source)  # type: ignore[arg-type]


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
            who = code(own["annotator_id"])
            yield PairAnswers(
                source=source,
                group=group,
                criterion=criterion,
                system_x=x,
                system_y=y,
                names=who.ids,
                person=who.of,
                value=1 - value if turned else value,
                even=EVEN,
            )


def _of_ratings(tests: Tests, asked: Pairs, plan: Plan) -> Iterator[PairAnswers]:
    for cells in tests.rated:
        pairs = asked.get(("ratings", cells.group, cells.criterion), ())
        if not pairs:
            continue
        annotator, scores = _side_by_side(cells)
        sign = -1.0 if cells.criterion in plan.lower_is_better else 1.0
        place = {system: number for number, system in enumerate(cells.systems)}
        whole = cells.scale < EXACT and bool(np.all(np.rint(scores) == scores))  # so that all differences are
        for x, y in pairs:
            difference = sign * (scores[place[x]] - scores[place[y]])
            both = slice(None) if whole else np.flatnonzero(difference == difference)
            difference, who = difference[both], annotator[both]
            if not len(who):
                continue
            there = np.flatnonzero(np.bincount(who))
            person = np.zeros(int(there[-1]) + 1, dtype=np.int64)
            person[there] = np.arange(len(there))
            yield PairAnswers(
                source="ratings",
                group=cells.group,
                criterion=cells.criterion,
                system_x=x,
                system_y=y,
                names=tuple(map(tests.raters.__getitem__, there.tolist())),
                person=person[who],
                value=difference + 0.0 if whole else snap(difference, scale=cells.scale, digits=13),
                even=0.0,
            )


def _side_by_side(cells: RatingCells) -> tuple[Ints, Floats]:
    """Return who judged each item, and the mean score of each system there, shape (systems, annotators and items).

    NaN where there is none.
    """
    if cells.once and len(cells.value) == len(cells.systems) * (cells.block[-1] - cells.block[0] + 1):  # whole blocks
        return cells.annotator[:: len(cells.systems)], cells.value.reshape(-1, len(cells.systems)).T
    judged = fold(cells.annotator, cells.item)
    n_judged = len(judged.first)
    size = n_judged * len(cells.systems)
    where = cells.system * n_judged + judged.of
    scores = np.full(size, np.nan)
    scores[where] = cells.value
    if np.count_nonzero(scores == scores) < len(where):  # several answers of somebody about an output
        n = np.bincount(where, minlength=size)
        total = np.bincount(where, weights=cells.value, minlength=size)
        scores = np.divide(total, n, out=np.full(size, np.nan), where=n > 0)
    return cells.annotator[judged.first], scores.reshape(-1, n_judged)
