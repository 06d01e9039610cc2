"""Bradley-Terry strengths, and the ranking that each way of asking gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from analysis.ranking.tied import TieFit
from analysis.report.cells import Field, cell, number_column, tabulate, text_column
from analysis.report.document import Block, Cell, Column, Fold, Paragraph, Section, Table, build_table
from analysis.report.plots import strengths_figure
from analysis.results.findings import confidence_words, drawn, grouped
from analysis.results.records import Results
from analysis.results.words import Names, count, interval, number, percent, plural, sentence
from analysis.statistics.rank_orders import Ranking
from analysis.strengths.rows import SystemStrength

PARTIAL = (
    "Two outputs in a tied last place of a ranking count as half a win for each, which pulls strengths together; "
    "the Plackett-Luce strengths count the choices before it alone"
)
APART = ("ratings_bt",)  # a second reading of the same answers
Strengths: TypeAlias = Sequence[SystemStrength]


def strengths(results: Results) -> Section | None:
    """Report strengths with intervals and all rankings."""
    names, rows, rankings = Names(results), results.bradley_terry, results.rankings
    if not rows and not rankings:
        return None
    blocks: list[Block] = []
    if rows:
        blocks += [
            Paragraph(
                text="The Bradley-Terry model gives each system one number, its strength, that fits all its "
                "comparisons at once. A system 1 point stronger than another is expected to be preferred to it in 73% "
                "of comparisons; strengths average zero, so only differences between them matter."
            ),
            *_of(results, names, [row for row in rows if row.source not in APART]),
            *_ties(names, [row for row in results.ties if row.source not in APART]),
        ]
    if rankings:
        shown = [entry for entry in rankings if entry.source not in APART]
        blocks += [_rankings(names, shown, "rankings")] if shown else []
    apart = [row for row in rows if row.source in APART]
    ranked = [entry for entry in rankings if entry.source in APART]
    if apart or ranked:
        about = Paragraph(
            text="The same model on ratings: an annotator\u2019s two ratings of one item are taken as a comparison, "
            "which the higher rating wins. The steps of the scale need not be equally wide for that."
        )
        tied = _ties(names, [row for row in results.ties if row.source in APART])
        inner = [
            *_of(results, names, apart),
            *tied,
            *([_rankings(names, ranked, "rankings_ratings")] if ranked else []),
        ]
        blocks.append(Fold(summary="Ratings taken as comparisons", blocks=(about, *inner)))
    return Section(id="strengths", title="Strengths and rankings", blocks=tuple(blocks))


def _of(results: Results, names: Names, rows: Strengths) -> list[Block]:
    return [_strengths(results, names, rows), *_figures(names, rows)] if rows else []


def _ties(names: Names, rows: Sequence[TieFit]) -> list[Block]:
    """Say what giving ties a parameter of their own changes, and show the strengths where the order changes."""
    known = [row for row in rows if row.same_order is not None]
    if not known:
        return []
    turned = [row for row in known if not row.same_order]
    about_ties = "A tie counts half a win for each system. Giving ties a parameter of their own (Davidson, 1970) " + (
        "leaves every order as it is." if not turned else f"changes {plural(len(turned), 'order')}; see the table."
    )
    if not turned:
        return [Paragraph(text=about_ties)]
    columns = [
        Column(title="System"),
        Column(title="From"),
        Column(title="Criterion"),
        Column(title="Ties", explanation="share of the comparisons", numeric=True),
        Column(title="Strength", explanation="with ties as half wins", numeric=True),
        Column(title="With ties apart", explanation="strength by Davidson\u2019s model", numeric=True),
    ]
    cells = [
        [
            cell(names.system(one.system)),
            cell(sentence(names.source_by_group(row.source, row.group))),
            cell(names.criterion(row.criterion)),
            cell(percent(row.share)),
            cell(number(one.strength_half)),
            cell(number(one.strength)),
        ]
        for row in turned
        for one in row.strengths
    ]
    name = "ties_ratings" if turned[0].source in APART else "ties"
    table = build_table(name, "Strengths where ties change the order", columns, cells, constant=("From", "Criterion"))
    return [Paragraph(text=about_ties), table]


def _strengths(results: Results, names: Names, rows: Strengths) -> Table:
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
        number_column(
            f"{confidence_words(results)} confidence interval", lambda row: interval(row.ci_low, row.ci_high)
        ),
        text_column("Note", _note, "how the interval was made, or why there is no strength"),
    ]
    apart = all(row.source in APART for row in rows)
    partial = {(row.group, row.criterion) for row in results.orders if row.n_partial}
    half = any(row.source == "choices" and (row.group, row.criterion) in partial for row in rows)
    return tabulate(
        "bradley_terry_ratings" if apart else "bradley_terry",
        f"Strength of each system (Bradley-Terry{' of ratings' if apart else ''})",
        fields,
        rows,
        [f"{PARTIAL}."] if half else [],
        constant=("From", "Criterion"),
    )


def _figures(names: Names, rows: Strengths) -> list[Block]:
    """Draw each source and criterion with at least one interval."""
    parts = grouped(rows, lambda row: (row.source, row.criterion))
    figured = drawn(dict.fromkeys(criterion for _, criterion in parts))
    return [
        strengths_figure(own, names, source, criterion)
        for (source, criterion), own in parts.items()
        if criterion in figured and any(row.ci_low is not None for row in own)
    ]


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


def _rankings(names: Names, rankings: Sequence[Ranking], name: str) -> Table:
    fields: list[Field[Ranking]] = [
        text_column("Ranking from", lambda entry: sentence(names.source_by_group(entry.source, entry.group))),
        text_column("Criterion", lambda entry: names.criterion(entry.criterion)),
        text_column(
            "Best to worst",
            lambda entry: Cell(text=order_words(names, entry), tone="plain" if entry.order else "untested"),
            "an equals sign joins systems that share a place",
        ),
    ]
    return tabulate(name, "Rankings", fields, rankings, constant=("Criterion",))


def order_words(names: Names, entry: Ranking) -> str:
    """Return "1. a, 2. b = c, 4. d"."""
    if not entry.order:
        return "no ranking: no reason was recorded"
    place, parts = 1, []
    for tied in entry.order:
        parts.append(f"{place}. {' = '.join(names.system(system) for system in tied)}")
        place += len(tied)
    left = "".join(f"; no place: {names.system(one.system)} ({one.reason})" for one in entry.unranked)
    return ", ".join(parts) + left
