"""Rows about two systems with the other one named first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeVar

from analysis.statistics.corrections import TURNED
from analysis.statistics.record import names_of, replace_fields

EXCHANGED = (
    ("system_x", "system_y"),
    ("wins_x", "wins_y"),
    ("mean_forward", "mean_back"),
    ("shift_forward", "shift_back"),
)
SHARES = ("mean", "win_rate", "superiority", "share", "share_with", "share_without")  # of x: one minus it is that of y
DIFFERENCES = ("mean_difference", "t", "d_z", "hedges_g", "effect", "shared_difference")  # x minus y
OPPOSITE: Mapping[Any, Any] = {**TURNED, "always": "never", "never": "always"}
SIDES = ("verdict", "crossed_verdict", "decision", "holds", "order_a", "order_b", "ahead")
UNSIGNED = "mean_distance"  # from 0.5, to either side: neither it nor its interval is of one system
# a share or a difference
OF_ITS_SOURCE = ("ci", "estimate", "pooled_estimate", "others_estimate", "people_mean", "people_ci")
Row = TypeVar("Row")


def turned(row: Row) -> Row:
    """Return a row about two systems with the second named first, and every number with it.

    Shares become one minus themselves, differences change their sign, intervals exchange their ends, counts and
    verdicts change sides. Turning twice gives the row back.
    """
    turning = _turning(names_of(type(row)))
    share = turning.share or getattr(row, "source", "") in ("preferences", "choices")
    changes: dict[str, Any] = {name: getattr(row, other) for name, other in turning.exchanged}
    for name, other, is_share in turning.numbers:
        changes[name] = _of_the_other(getattr(row, other), share=share if is_share is None else is_share)
    for name in turning.sides:
        changes[name] = _other_side(getattr(row, name))
    for name in turning.several:
        changes[name] = tuple(replace_fields(one, verdict=_other_side(one.verdict)) for one in getattr(row, name))
    return replace_fields(row, **changes)


class _Turning(NamedTuple):
    """What turning does to a kind of row: each field with the field whose value it gets."""

    share: bool  # whether an effect named in OF_ITS_SOURCE is a share, whatever the row's source
    exchanged: tuple[tuple[str, str], ...]
    numbers: tuple[tuple[str, str, bool | None], ...]  # and whether it is a share; None: as its source is
    sides: tuple[str, ...]
    several: tuple[str, ...]  # verdicts of several sources or groups


@cache
def _turning(names: tuple[str, ...]) -> _Turning:
    numbers: list[tuple[str, str, bool | None]] = []
    for name in names if UNSIGNED not in names else ():
        base = name.removesuffix("_low").removesuffix("_high")
        end = name.removeprefix(base)
        other = base + {"_low": "_high", "_high": "_low"}.get(end, end)
        if base in SHARES or base in DIFFERENCES:
            numbers.append((name, other, base in SHARES))
        elif base in OF_ITS_SOURCE:
            numbers.append((name, other, None))
    return _Turning(
        share="mean" in names or "win_rate" in names,
        exchanged=tuple(pair for one, other in EXCHANGED if one in names for pair in ((one, other), (other, one))),
        numbers=tuple(numbers),
        sides=tuple(name for name in SIDES if name in names),
        several=tuple(name for name in ("verdicts",) if name in names),
    )


def _other_side(found: str | None) -> Any:
    return OPPOSITE.get(found, found)  # what favours neither system stays


def _of_the_other(value: float | None, *, share: bool) -> float | None:
    if value is None:
        return None
    return round(1 - value, 15) if share else 0.0 - value  # not -0.0


def aligned(rows: Iterable[Row]) -> list[Row]:
    """Return rows with each pair in the direction of its first row of a criterion, so that a figure shows it once."""
    directions: dict[tuple[str, frozenset[str]], str] = {}
    found = []
    for row in rows:
        about: Any = row
        key = about.criterion, frozenset((about.system_x, about.system_y))
        found.append(row if directions.setdefault(key, about.system_x) == about.system_x else turned(row))
    return found
