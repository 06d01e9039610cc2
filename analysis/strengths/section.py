"""Bradley-Terry strengths as a table and figures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from functools import partial
from typing import TypeAlias

from analysis.contribution import Shown
from analysis.figures.figures import means_plot
from analysis.printing.cells import Field, cell, number_column, tabulate, text_column
from analysis.printing.circle_words import circle_notes
from analysis.printing.document import Block, Cell, Figure, Fold, Table
from analysis.printing.lookup import drawn, grouped
from analysis.printing.names import Names
from analysis.printing.pictures import BESIDE, called, drawn_groups, everyone, folded, with_intervals
from analysis.printing.words import count, interval, number, sentence, slug
from analysis.strengths.strength_table import SystemStrength

PARTIAL = (
    "Two outputs in a tied last place of a ranking count as half a win for each, which pulls strengths together; "
    "the Plackett-Luce strengths count the choices before it alone"
)
APART = ("ratings_bt",)  # a second reading of the same answers
Strengths: TypeAlias = Sequence[SystemStrength]


def strength_blocks(rows: Strengths, shown: Shown, partial: Collection[tuple[str, str]]) -> list[Block]:
    """Return the table of strengths and its figures; ``partial``: groups and criteria with tied last places."""
    return [_strengths(rows, shown, partial), *_figures(shown.names, rows)] if rows else []


def _strengths(rows: Strengths, shown: Shown, partial: Collection[tuple[str, str]]) -> Table:
    names = shown.names
    fields: list[Field[SystemStrength]] = [
        text_column("System", lambda row: names.system(row.system)),
        text_column(
            "From",
            lambda row: sentence(names.source_by_group(row.source, row.group)),
            "the answers that the strength is fitted to",
        ),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Rank", lambda row: count(row.rank)),
        number_column(
            "Rank interval",
            lambda row: rank_interval(row.rank_low, row.rank_high),
            "places that the answers allow, for all systems of a table together",
        ),
        number_column("Strength", lambda row: number(row.strength)),
        number_column(f"{shown.confidence} confidence interval", lambda row: interval(row.ci_low, row.ci_high)),
        text_column("Note", _note, "how the interval was made, or why there is no strength"),
    ]
    apart = all(row.source in APART for row in rows)
    half = any(row.source == "choices" and (row.group, row.criterion) in partial for row in rows)
    return tabulate(
        "bradley_terry_ratings" if apart else "bradley_terry",
        f"Strength of each system (Bradley-Terry{' of ratings' if apart else ''})",
        fields,
        rows,
        [
            f"n: {everyone(shown.results, names)}.",
            *([f"{PARTIAL}."] if half else []),
            *circle_notes(shown.results, names, rows),
        ],
        constant=("From", "Criterion"),
    )


def _figures(names: Names, rows: Strengths) -> list[Block]:
    """Draw each source and criterion with at least one interval."""
    parts = grouped(rows, lambda row: (row.source, row.criterion))
    figured = drawn(dict.fromkeys(criterion for _, criterion in parts))
    return [
        _figure(own, names, source, criterion)
        for (source, criterion), own in parts.items()
        if criterion in figured and any(row.ci_low is not None for row in own)
    ]


def _figure(rows: Strengths, names: Names, source: str, criterion: str) -> Figure | Fold:
    fitted = [row for row in rows if row.strength is not None]
    drawn, left_out = drawn_groups(fitted, names)
    drawing = partial(
        means_plot,
        [{**asdict(row), "mean": row.strength} for row in drawn],
        **called(drawn, names),
        title="strength",
        alternative=f"Strength of each system with its interval; {BESIDE}.",
    )
    caption = (
        f"Bradley-Terry strengths{with_intervals(drawn, names)}: {names.source(source)}, {names.criterion(criterion)}. "
        f"Compare strengths only within a group.{left_out}"
    )
    return folded(f"strengths-{source}-{slug(criterion)}", drawing, caption, len(drawn))


def _note(row: SystemStrength) -> Cell:
    if row.reason:
        parts = [f"no strength: {row.reason}" if row.strength is None else str(row.reason), counts_alike(row.alike)]
        return Cell(text="; ".join(part for part in parts if part), tone="untested")
    if row.strength is None:
        return Cell(text="no strength: no reason was recorded", tone="untested")
    made, n = Names.unit(row.interval or ""), row.n_clusters
    parts = [f"{made}: {n}, {row.df:.1f} degrees of freedom" if made and n and row.df else made]
    parts.append(counts_alike(row.alike))
    return cell("; ".join(part for part in parts if part) or "\u2013")


def counts_alike(unit: str | None) -> str:
    """Say that each of a unit has the same total weight; nothing where every answer counts alike."""
    return f"every {Names.unit(unit)} counts alike" if unit else ""


def rank_interval(low: float | None, high: float | None) -> str:
    """Word the ranks that the answers allow."""
    if low is None or high is None:
        return "\u2013"
    return count(low) if low == high else f"{count(low)} to {count(high)}"
