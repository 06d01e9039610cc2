"""Pairs of systems, as the keys ``comparisons`` and ``baseline`` of a section name them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Literal

from spa.records.problems import StudyProblem, mistake, quote, unfit_system
from spa.records.study import Pairs, Section, Study, System
from spa.records.toml_table import Ident

Comparisons = Literal["all", "chain", "baseline"] | tuple[tuple[Ident, Ident], ...]


def expand_pairs(comparisons: str | Pairs, baseline: str | None, compared: tuple[System, ...]) -> Pairs:
    """Spell out "all", "chain" (each with the one listed before it) or "baseline" (second in each) as ordered pairs."""
    if not isinstance(comparisons, str):
        return comparisons
    ids = [system.id for system in compared]
    if comparisons == "chain":
        return tuple((later, earlier) for earlier, later in pairwise(ids))
    if comparisons == "baseline":
        return tuple((other, baseline) for other in ids if baseline is not None and other != baseline)
    return tuple(combinations(ids, 2))


def pair_problems(study: Study, table: str, comparisons: object, baseline: str | None) -> Iterator[StudyProblem]:
    """Yield what is wrong with the pairs that a section names."""
    if baseline is not None:
        yield from unfit_system(study, f"{table} baseline", baseline)
        if comparisons != "baseline":
            yield mistake(f"{table} baseline", 'none unless comparisons = "baseline"', quote(baseline), "remove it")
    elif comparisons == "baseline":
        yield mistake(f"{table} baseline", 'a system, as comparisons = "baseline"', "none", 'add baseline = "..."')
    if not isinstance(comparisons, tuple):
        return
    if not comparisons:
        yield mistake(f"{table} comparisons", "at least one pair", "[]", 'add pairs, or write "all"')
    seen: set[frozenset[str]] = set()
    for number, (system_x, system_y) in enumerate(comparisons, start=1):
        place = f"{table} comparisons, entry {number}"
        for system in dict.fromkeys((system_x, system_y)):
            yield from unfit_system(study, place, system)
        if system_x == system_y:
            yield mistake(place, "two systems", f"{quote(system_x)} against itself", "change one")
        if frozenset((system_x, system_y)) in seen:
            do = "remove it ([spa] directions says whether both directions are asked)"
            yield mistake(place, "each pair once", f"{quote([system_x, system_y])} twice", do)
        seen.add(frozenset((system_x, system_y)))


def disconnected(study: Study, section: Section) -> Iterator[str]:
    """Warn of systems that no chain of comparisons connects."""
    pairs = section.pairs(study)
    if not pairs:
        return
    part = {one.id: frozenset([one.id]) for one in study.compared}
    for x, y in pairs:
        joined = part[x] | part[y]
        part.update(dict.fromkeys(joined, joined))
    if len(parts := dict.fromkeys(part.values())) > 1:
        listed = "; ".join(", ".join(name for name in part if name in group) for group in parts)
        yield (
            f"[{section.key}] comparisons: {len(parts)} groups of systems with no comparison between them ({listed}); "
            "Bradley-Terry cannot put them on one scale"
        )
