"""What choix computes again: strengths of systems that all won and lost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from analysis.comparisons.choice_cells import choice_cells, choice_judgements
from analysis.comparisons.preferences import Comparisons, combine, direct, preference_judgements
from analysis.comparisons.rating_cells import rating_cells, rating_differences
from analysis.comparisons.rating_judgements import rating_judgements
from analysis.contribution import Analysis, Checked
from analysis.statistics.coding import Floats
from analysis.strengths.fit import DENSE
from analysis.strengths.strength_table import Judgements, SystemStrength
from analysis.verification.claims import Claim, Claims, Left, Why, left, places


def claims(checked: Checked) -> Claims:
    """Claim strengths table by table; those with ties as an outcome no library has."""
    results = checked.results
    tables: dict[tuple[str, str, str], list[tuple[str, SystemStrength]]] = {}
    halves = {}
    for place, row in places("bradley_terry", results.bradley_terry):
        if row.strength is not None:
            tables.setdefault((row.source, row.group, row.criterion), []).append((place, row))
            halves[row.source, row.group, row.criterion, row.system] = row
    for place, fit in places("ties", results.ties):
        for inner, one in places(f"{place}.strengths", fit.strengths):
            yield from left(one, "strength", inner, "ties")
            yield from left(one, "strength_half", inner, "copy")
    for place, difference in places("ranking_differences", results.ranking_differences):
        yield from left(difference, "p_adjusted_a", place, "drawn")
        yield from left(difference, "p_adjusted_b", place, "drawn")
    if checked.analysis is None:
        return
    if checked.settings.regularisation is not None or any(len(rows) > DENSE for rows in tables.values()):
        why: Why = "many_systems" if checked.settings.regularisation is None else "regularised"
        for rows in tables.values():
            yield Left(paths=tuple(f"{place}.strength" for place, _ in rows), why=why)
        return
    for source, group, criterion, judged, systems in _judgements(checked.analysis):
        rows = tables.get((source, group, criterion), [])
        if rows:
            number = {system: place for place, system in enumerate(systems)}
            own = np.array([number[row.system] for _, row in rows])
            yield Claim(
                call="ilsr_pairwise",
                paths=tuple(f"{place}.strength" for place, _ in rows),
                figures=tuple(row.strength for _, row in rows if row.strength is not None),
                numbers={"wins": _wins(judged, len(systems), rows[0][1].alike, own)[np.ix_(own, own)]},
            )


def _judgements(analysis: Analysis) -> Iterator[tuple[str, str, str, Judgements, tuple[str, ...]]]:
    """Yield source, group and criterion of the comparisons, with these and all systems."""
    prepared = analysis.prepared
    kept, orders = prepared.kept, prepared.orders
    if "preferences" in kept:
        table, order = prepared.answers["preferences"], orders["preferences"]
        tests = Comparisons(table, order)
        llms = set(table.filter(pl.col("annotator_kind") == "llm")["group"].to_list())
        units = combine(direct(kept["preferences"], tests))
        for group, criterion, judged in preference_judgements(units, tests, order.systems, llms):
            yield "preferences", group, criterion, judged, order.systems
    if "choices" in kept:
        for chosen in choice_cells(kept["choices"], orders["choices"]):
            yield "choices", chosen.group, chosen.criterion, choice_judgements(chosen), orders["choices"].systems
    if "ratings" in kept:
        for rated in rating_cells(kept["ratings"], orders["ratings"]):
            judged = rating_judgements(rated, rating_differences(rated))
            yield "ratings_bt", rated.group, rated.criterion, judged, orders["ratings"].systems


def _wins(
    judged: Judgements, n_systems: int, alike: str | None, known: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> Floats:
    """Count what each system won of each other; where clusters count ``alike``, each has the same weight in all."""
    weights = np.ones(len(judged.x))
    if alike is not None:
        cluster = judged.of_unit if alike == judged.unit or judged.item is None else judged.item
        weights = (np.isin(judged.x, known) & np.isin(judged.y, known)).astype(np.float64)
        given = np.bincount(cluster, weights=weights)[cluster]
        weights = np.divide(weights, given, out=np.zeros_like(weights), where=given > 0)
    wins = np.zeros((n_systems, n_systems))
    np.add.at(wins, (judged.x, judged.y), weights * judged.won)
    np.add.at(wins, (judged.y, judged.x), weights * (1 - judged.won))
    return wins
