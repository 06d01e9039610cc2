"""Annotators, assignments and items of a table in memory, numbered in the order in which those of parts are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from analysis.answers.units import unit_name
from analysis.statistics.coding import Codes, Ints, code, fold
from analysis.sums.keys import key_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitCodes:
    """Units of each row: ``annotator``, ``assignment`` (numbered across annotators) and ``item``, with their names.

    Numbers ascend with the keys of the ids, as those of a table in parts do, so that what is added up unit by unit is
    added up in the same order.
    """

    annotator: Codes
    assignment: Codes
    item: Codes

    @property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """Return the names of units by number."""
        return {unit: getattr(self, unit).ids for unit in ("annotator", "assignment", "item")}


def unit_codes(table: pl.DataFrame) -> UnitCodes:
    """Return numbers of the units of a table's rows; O(rows) time."""
    who, item = (code(table[name]) for name in ("annotator_id", "item_id"))
    annotator = _by_key(who.ids, who.of, _ids(who.ids))
    if table["assignment_id"].null_count() == table.height:  # each annotator has one, without an id
        assignment = Codes(ids=tuple(unit_name(name, "") for name in annotator.ids), of=annotator.of)
    else:
        assignment = _assignments(who, code(table["assignment_id"]))
    return UnitCodes(annotator=annotator, assignment=assignment, item=_by_key(item.ids, item.of, _ids(item.ids)))


def _assignments(who: Codes, visit: Codes) -> Codes:
    """Return assignments, numbered across annotators."""
    first = fold(who.of, visit.of)
    people = [who.ids[number] for number in who.of[first.first].tolist()]
    visits = [visit.ids[number] for number in visit.of[first.first].tolist()]
    names = tuple(unit_name(person, own) for person, own in zip(people, visits, strict=True))
    return _by_key(names, first.of, _ids(people), _ids(visits))


def _ids(names: list[str] | tuple[str, ...]) -> pl.Series:
    return pl.Series([name or None for name in names], dtype=pl.String)


def _by_key(names: tuple[str, ...], of: Ints, *ids: pl.Series) -> Codes:
    """Return units numbered in the order of their keys."""
    if len(names) < 2:
        return Codes(ids=names, of=of)
    order = np.argsort(key_of(*ids).to_numpy(), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return Codes(ids=tuple(map(names.__getitem__, order.tolist())), of=rank[of])
