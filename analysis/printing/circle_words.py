"""What must stand beside a ranking of systems that beat each other in a circle."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeAlias

from analysis.printing.names import Names
from analysis.printing.words import percent, sentence
from analysis.records.results import Results

Ranked: TypeAlias = tuple[str, str, str]  # source, group and criterion
RATED_AS = {"ratings_bt": "ratings"}  # means always have an order; the shares of items behind them may go round


def circle_notes(results: Results, names: Names, rankings: Iterable[Any]) -> list[str]:
    """Return a sentence for each of these rankings, or strengths, whose systems go round in a circle beyond noise."""
    return notes_of(results, names, {(entry.source, entry.group, entry.criterion) for entry in rankings})


def notes_of(results: Results, names: Names, ranked: Collection[Ranked]) -> list[str]:
    """Return the same of what was asked of whom."""
    asked = {(RATED_AS.get(source, source), group, criterion) for source, group, criterion in ranked}
    return [
        f"{sentence(names.source_by_group(row.source, row.group))}, {names.criterion(row.criterion)}: no order "
        f"{'exists' if row.verdict == 'circle' else 'explains the pairs'}, as {way_round(row, names)}."
        for row in results.circles
        if row.verdict in ("circle", "no scale")
        and row.circle
        and (RATED_AS.get(row.source, row.source), row.group, row.criterion) in asked
    ]


def way_round(row: Any, names: Names) -> str:
    """Return "A beats B (83%), B beats C (72%), C beats A (75%)" of a row of ``circles``."""
    steps = zip(row.circle, (*row.circle[1:], *row.circle[:1]), row.circle_shares, strict=True)
    return ", ".join(f"{names.system(x)} beats {names.system(y)} ({percent(share)})" for x, y, share in steps)
