"""Orders of systems, best first, and how well two orders agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analysis.coding import Floats

STRENGTH_TIE = 1e-9  # strengths closer than this are equal in exact arithmetic


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Systems of one source, group and criterion, best first; tied ones stand together."""

    source: str
    group: str
    criterion: str
    order: tuple[tuple[str, ...], ...]
    unranked: tuple[dict[str, str], ...] = ()  # system, reason


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingAgreement:
    """Kendall's tau-b between two rankings over the systems that both rank."""

    a: str
    b: str
    criterion: str
    kendall_tau: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    n_systems: int = 0
    reason: str | None = None


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

    tau-b = (concordant - discordant) / sqrt(pairs untied in the first · pairs untied in the second)

    References
    ----------
    Kendall, M. G. (1945). The treatment of ties in ranking problems. Biometrika, 33(3), 239-251.

    >>> kendall_tau(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])).__round__(4)
    0.3333
    """
    rows, columns = np.triu_indices(len(first), 1)
    signs_first = np.sign(first[rows] - first[columns])
    signs_second = np.sign(second[rows] - second[columns])
    untied = float(np.sum(signs_first**2)) * float(np.sum(signs_second**2))
    return float(np.sum(signs_first * signs_second)) / untied**0.5 if untied else None


def agreement_of_rankings(rankings: Sequence[Ranking]) -> list[RankingAgreement]:
    """Compare every two rankings of the same criterion."""
    rows = []
    placed = [ranks(ranking.order) for ranking in rankings]
    for (one, ranks_one), (two, ranks_two) in combinations(zip(rankings, placed, strict=True), 2):
        if one.criterion != two.criterion:
            continue
        common = [system for system in ranks_one if system in ranks_two]
        first = np.array([ranks_one[system] for system in common], dtype=np.float64)
        second = np.array([ranks_two[system] for system in common], dtype=np.float64)
        tau = kendall_tau(first, second)
        few = "fewer than two systems are ranked by both" if len(common) < 2 else "all systems are tied in one of them"
        rows.append(
            RankingAgreement(
                a=f"{one.source}:{one.group}",
                b=f"{two.source}:{two.group}",
                criterion=one.criterion,
                kendall_tau=tau,
                n_systems=len(common),
                reason=few if tau is None else None,
            )
        )
    return rows
