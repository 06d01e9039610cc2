"""How the ratings of one criterion are spread: bars of each group, and the same as a table."""

from __future__ import annotations

from analysis.descriptives.rating_counts import RatingCount
from analysis.report.cells import cell, titled
from analysis.report.document import Block, Cell, Column, Fold, Table, build_table
from analysis.report.plots import spread_figure
from analysis.results.findings import KIND_ORDER
from analysis.results.words import Names, count, number, percent, plural, slug

MOST_FIGURES = 6  # groups that are drawn, people first; the table has all


def spread(
    rows: list[RatingCount], names: Names, criterion: str, *, several: bool, figures: bool = True
) -> list[Block]:
    """Return what a reader opens to see how often each score was given; nothing where the scale is continuous."""
    if not rows:
        return []
    scores = sorted({row.score for row in rows})
    groups = sorted(dict.fromkeys(row.group for row in rows), key=lambda group: KIND_ORDER.get(names.kind(group), 2))
    bars = [
        spread_figure(
            [row for row in rows if row.group == group],
            names,
            scores,
            f"spread-{slug(criterion)}-{slug(group)}" if several else f"spread-{slug(group)}",
        )
        for group in (groups[:MOST_FIGURES] if figures else ())
    ]
    table = _table(rows, names, scores, criterion, several)
    some = f", {MOST_FIGURES} of {plural(len(groups), 'group')} drawn" if len(groups) > MOST_FIGURES and figures else ""
    return [Fold(summary=f"How the ratings are spread{some}", blocks=(*bars, table))]


def _table(rows: list[RatingCount], names: Names, scores: list[float], criterion: str, several: bool) -> Table:
    columns = [Column(title="System"), Column(title="Group")]
    columns += [Column(title=f"{score:g}", explanation="share of the ratings", numeric=True) for score in scores]
    columns.append(Column(title="Ratings", numeric=True))
    found = {(row.group, row.system, row.score): row for row in rows}
    places = dict.fromkeys((row.group, row.system, row.n_ratings) for row in rows)
    cells = [
        [
            cell(names.system(system)),
            cell(names.group(group)),
            *(_share(found.get((group, system, score))) for score in scores),
            cell(count(n)),
        ]
        for group, system, n in places
    ]
    return build_table(
        *titled("rating_counts", "How often each score was given", names, criterion, several=several, rated=True),
        columns,
        cells,
    )


def _share(row: RatingCount | None) -> Cell:
    return cell(percent(0.0)) if row is None else cell(percent(row.share), detail=number(row.n, 0))
