"""Orders of systems, best first, and Kendall's tau of two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.statistics.coding import Floats
from analysis.statistics.reasons import Reason
from analysis.statistics.record import Positive, RankedSource, Record

STRENGTH_TIE = 1e-9  # strengths closer than this are equal in exact arithmetic


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Place(Record):
    """The rank of a system, and the ranks that the answers allow (``None`` where nothing bounds them)."""

    system: str
    rank: Positive
    rank_low: int | None
    """Best rank that the answers allow."""
    rank_high: int | None
    """Worst rank that the answers allow."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Unranked(Record):
    """A system without a rank, and why."""

    system: str
    reason: Reason | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Ranking(Record):
    """Systems of one source, group and criterion, best first."""

    source: RankedSource
    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    order: tuple[tuple[str, ...], ...]
    """Best first; tied systems together."""
    unranked: tuple[Unranked, ...] = ()
    places: tuple[Place, ...] = ()
    """Ranked systems, best first."""
    rank_interval: str | None = None
    """How the ranks that the answers allow were made."""


def order_systems(
    values: Mapping[str, float], *, tie: float, lower_is_better: bool = False
) -> tuple[tuple[str, ...], ...]:
    """Order systems by value, best first; neighbours that differ by at most ``tie`` are tied.

    >>> order_systems({"a": 1.0, "b": 2.0, "c": 1.0}, tie=0.0)
    (('b',), ('a', 'c'))
    """
    places: list[list[str]] = []
    last = None
    sign = 1 if lower_is_better else -1
    for system, value in sorted(values.items(), key=lambda pair: sign * pair[1]):
        if last is not None and abs(value - last) <= tie:
            places[-1].append(system)
        else:
            places.append([system])
        last = value
    listed = {system: place for place, system in enumerate(values)}
    return tuple(tuple(sorted(place, key=listed.__getitem__)) for place in places)


def ranks(order: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return the rank of each system, 1 = best; tied systems share the better rank.

    >>> ranks([["b"], ["a", "c"], ["d"]])
    {'b': 1, 'a': 2, 'c': 2, 'd': 4}
    """
    found: dict[str, int] = {}
    for place in order:
        found |= dict.fromkeys(place, len(found) + 1)
    return found


def kendall_tau(first: Floats, second: Floats) -> float | None:
    """Return Kendall's tau-b of two lists of ranks; ``None`` where one of them is constant.

    tau-b = (concordant - discordant) / sqrt(pairs untied in the first · pairs untied in the second); equal to that of
    scipy.stats, which takes half a second to load in every report.

    References
    ----------
    Kendall, M. G. (1945). The treatment of ties in ranking problems. Biometrika, 33(3), 239-251.

    >>> kendall_tau(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])).__round__(4)
    0.3333
    """
    signs_first, signs_second = (np.sign(side[:, None] - side) for side in (first, second))  # each pair twice
    untied = float(np.sum(signs_first**2)) * float(np.sum(signs_second**2))
    return float(np.sum(signs_first * signs_second)) / untied**0.5 if untied else None
