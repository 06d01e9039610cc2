"""The two sides that are set against each other: people and LLMs, from one table of answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl

from analysis.answers.order import Order

PeopleKind = Literal["human", "simulated"]
PEOPLE: tuple[PeopleKind, ...] = ("human", "simulated")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sides:
    """Answered rows of people (``kind``: human, or simulated where there are no people) and of LLMs."""

    kind: PeopleKind
    people: pl.DataFrame
    llms: pl.DataFrame


def sides_of(table: pl.DataFrame | None) -> Sides | None:
    """Return both sides of a table; ``None`` where one is empty."""
    if table is None:
        return None
    kind = people_kind(table)
    if kind is None or not (table["annotator_kind"] == "llm").any():
        return None
    answered = pl.col("value").is_not_null()
    people, llms = (table.filter(answered & (pl.col("annotator_kind") == side)) for side in (kind, "llm"))
    return None if people.is_empty() or llms.is_empty() else Sides(kind=kind, people=people, llms=llms)


def people_kind(table: pl.DataFrame) -> PeopleKind | None:
    """Return "human", or "simulated" where there are no people; ``None`` for LLMs alone."""
    kinds = set(table["annotator_kind"].unique().to_list())
    return next((kind for kind in PEOPLE if kind in kinds), None)


def by_group(llms: pl.DataFrame, order: Order) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the rows of each group, in the order of the results."""
    parts = llms.partition_by("group", as_dict=True, include_key=False)
    for group in order.groups:
        if (group,) in parts:
            yield group, parts[(group,)]
