"""The answers that figures show behind their means, thinned to what a line of a figure can hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from analysis.answers.order import Order
from analysis.answers.tables import answered_rows
from analysis.printing.lookup import MOST_DRAWN
from analysis.statistics.coding import Floats, tally
from analysis.statistics.record import AnnotatorKind, Positive, Record

MOST_ANSWERS = 60  # of a mean; of more, so many evenly from the lowest to the highest
MOST_MEANS = 60  # of a criterion; where LLMs make them more, those of people alone are kept
DIGITS = 6
Place: TypeAlias = tuple[str, str, int | None, str, str | None]  # group, criterion, exposure, system and other


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SingleAnswers(Record):
    """What one group answered of one system, or of one against another, after exclusions."""

    source: Literal["preferences", "ratings"]
    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    exposure: int | None = None
    """Of preferences: outputs read of each system, where known."""
    system: str
    other: str | None = None
    """Of preferences: each pair has a row a side, with the chances that this system is better than the other."""
    n: Positive
    """Answers."""
    values: tuple[float, ...]
    """All of them from the lowest to the highest, or 60 evenly among them."""


def single_answers(
    kept: Mapping[str, pl.DataFrame], orders: Mapping[str, Order], groups: Sequence[tuple[str, AnnotatorKind]]
) -> list[SingleAnswers]:
    """Return what stands behind the means that figures show, in the order of the results.

    Parameters
    ----------
    kept : mapping of str to DataFrame
        Checked tables after exclusions, of which those of preferences and ratings count.
    orders : mapping of str to Order
        Order of groups, criteria and systems of each.
    groups : sequence of (str, str)
        Groups with their kinds.
    """
    people = [group for group, kind in groups if kind != "llm"]
    sources: tuple[tuple[Literal["preferences", "ratings"], Callable[[pl.DataFrame], dict[Place, Floats]]], ...]
    sources = (("preferences", _stated), ("ratings", _rated))
    return [
        SingleAnswers(
            source=source,
            group=group,
            criterion=criterion,
            exposure=exposure,
            system=system,
            other=other,
            n=len(values),
            values=thinned(values),
        )
        for source, given in sources
        if source in kept
        for (group, criterion, exposure, system, other), values in _few(given(kept[source]), orders[source], people)
    ]


def _stated(table: pl.DataFrame) -> dict[Place, Floats]:
    """Return the chances stated for either side of each pair."""
    found: dict[Place, list[Floats]] = {}
    columns = ("group", "criterion", "exposure", "system_x", "system_y")
    for (group, criterion, exposure, x, y), values in _listed(table, columns):
        found.setdefault((group, criterion, exposure, x, y), []).append(values)
        found.setdefault((group, criterion, exposure, y, x), []).append(1.0 - values)
    return {place: np.sort(np.concatenate(values)) for place, values in found.items()}


def _rated(table: pl.DataFrame) -> dict[Place, Floats]:
    """Return the ratings of each system; categories have no mean."""
    if table["elicitation"].null_count() < table.height:
        table = table.filter(pl.col("elicitation").cast(pl.String).ne_missing("category"))
    return {
        (group, criterion, None, system, None): values
        for (group, criterion, system), values in _listed(table, ("group", "criterion", "system"))
    }


def _listed(table: pl.DataFrame, columns: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], Floats]]:
    """Return the usable answers of each place, from the lowest to the highest."""
    counted = tally(answered_rows(table), *columns, "value")
    texts = [pl.col(name).cast(pl.String) for name in columns if name != "exposure"]
    places = counted.with_columns(pl.col("value").cast(pl.Float64)).sort("value").group_by(columns)
    for *place, values, times in places.agg("value", "n").with_columns(texts).iter_rows():
        yield tuple(place), np.repeat(np.array(values, dtype=np.float64), times)


def _few(found: Mapping[Place, Floats], order: Order, people: Sequence[str]) -> Iterator[tuple[Place, Floats]]:
    """Return those of the first criteria, and of a criterion no more than a figure shows."""
    every, own = Counter[str](), Counter[str]()
    for group, criterion, *_ in found:
        every[criterion] += 1
        own[criterion] += group in people
    shown = {
        criterion: order.groups if every[criterion] <= MOST_MEANS else people
        for criterion in order.criteria[:MOST_DRAWN]
        if own[criterion] <= MOST_MEANS or every[criterion] <= MOST_MEANS
    }
    ranks = [{name: at for at, name in enumerate(names)} for names in (order.groups, order.criteria, order.systems)]

    def rank(place: Place) -> tuple[int, ...]:
        group, criterion, exposure, system, other = place
        groups, criteria, systems = ranks
        return groups[group], criteria[criterion], exposure or 0, systems[system], systems.get(other or "", 0)

    kept = [place for place in found if place[0] in shown.get(place[1], ())]
    return ((place, found[place]) for place in sorted(kept, key=rank))


def thinned(values: Sequence[float] | Floats, most: int = MOST_ANSWERS) -> tuple[float, ...]:
    """Return ascending values, or so many of them, as many from above the middle as from below it.

    >>> thinned([0.0, 0.1, 0.2, 0.5, 0.6, 0.7, 1.0], 4)
    (0.0, 0.2, 0.6, 1.0)
    """
    last = len(values) - 1
    places: Sequence[int] = range(len(values))
    if len(values) > most:
        lower = [place * last // (most - 1) for place in range(most // 2)]
        places = [*lower, *(last - place for place in reversed(lower))]
    return tuple(round(float(values[place]), DIGITS) for place in places)
