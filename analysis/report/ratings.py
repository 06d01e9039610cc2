"""Ratings of single outputs: means, the tests between systems, and how often each score was given."""

from __future__ import annotations

from analysis.comparisons.ratings import RatingMean
from analysis.descriptives.rating_counts import RatingCount
from analysis.report.cells import Field, cell, columns_of, number_column, places_of, tabulate, text_column, titled
from analysis.report.document import (
    Block,
    Cell,
    Fold,
    Heading,
    Paragraph,
    Section,
    Table,
)
from analysis.report.live import live_blocks
from analysis.report.pair_tables import level_words, pair_table
from analysis.report.plots import means_figure, spread_figure
from analysis.results.claim_words import MOST_CLAIMS
from analysis.results.findings import (
    KIND_ORDER,
    OVERALL,
    by_criterion,
    confidence_words,
    drawn,
    figures_words,
    first_criteria,
    main_source,
    opened,
)
from analysis.results.records import Results
from analysis.results.words import Names, count, interval, number, percent, plural, sentence, slug

MOST_FIGURES = 6  # groups that are drawn, people first; the table has all


def ratings(results: Results) -> Section | None:
    """Report mean ratings and the tested differences, one part a criterion."""
    names, means, pairs = Names(results), results.ratings.means, results.ratings.pairs
    if not means and not pairs:
        return None
    appendix: list[Block] = []
    means_of, pairs_of, counts_of = by_criterion(means), by_criterion(pairs), by_criterion(results.rating_counts)
    criteria = list(dict.fromkeys((*means_of, *pairs_of)))
    intro = f"Annotators rated single outputs; here their ratings are averaged. {level_words(results)}"
    blocks: list[Block] = [Paragraph(text=f"{intro} {figures_words(criteria)}".strip())]
    blocks += live_blocks(results, names, "ratings")
    several, figured = len(criteria) > 1, drawn(criteria)
    answered = first_criteria(results, "ratings")[0] if main_source(results) == "ratings" else None  # the first picture
    for criterion in criteria:
        title = sentence(names.directed(criterion))
        means_part: list[Block] = []
        pairs_part: list[Block] = []
        again: list[Block] = []
        spreads: list[Block] = []
        own_means, own_pairs = means_of.get(criterion, []), pairs_of.get(criterion, [])
        if own_means:
            means_part.append(_means(results, names, own_means, criterion, several))
            if criterion in figured:
                (again if criterion == answered else means_part).append(
                    means_figure(own_means, names, criterion, several)
                )
            own_counts = counts_of.get(criterion, [])
            spreads = spread(own_counts, names, criterion, several=several, figures=criterion in figured)
        if own_pairs:
            pairs_part.append(pair_table(results, names, own_pairs, "ratings", criterion, several))
        head = [Heading(text=title)] if several else []
        if criterion in opened(criteria):
            blocks += [*head, *means_part, *pairs_part]
            appendix += [*again, *spreads]
        elif OVERALL not in criteria and len(criteria) <= MOST_CLAIMS and pairs_part:
            blocks += [*head, *pairs_part]
            appendix.append(Fold(summary=f"{title}: means", blocks=(*means_part, *again, *spreads)))
        else:
            parts = (*means_part, *again, *pairs_part, *spreads)
            appendix.append(Fold(summary=f"{title}: means and differences", blocks=parts))
    return Section(id="ratings", title="How single outputs were rated", blocks=tuple(blocks), appendix=tuple(appendix))


def _means(results: Results, names: Names, rows: list[RatingMean], criterion: str, several: bool) -> Table:
    fields: list[Field[RatingMean]] = [
        text_column("System", lambda row: names.system(row.system)),
        text_column("Group", lambda row: names.group(row.group)),
        number_column("n", lambda row: count(row.n), "ratings counted"),
        number_column("Mean", lambda row: number(row.mean)),
        number_column(
            f"{confidence_words(results)} confidence interval",
            lambda row: interval(row.ci_low, row.ci_high),
            "the range in which the true mean may well "
            "lie; ratings of one annotator (or item) count as belonging together",
        ),
        number_column("SD", lambda row: number(row.sd), "standard deviation: how far single ratings lie from the mean"),
    ]
    title = titled("ratings_means", "Mean ratings", names, criterion, several=several, rated=True)
    return tabulate(*title, fields, rows, csv="ratings_means")


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
    table = _spread_table(rows, names, scores, criterion, several)
    some = f", {MOST_FIGURES} of {plural(len(groups), 'group')} drawn" if len(groups) > MOST_FIGURES and figures else ""
    return [Fold(summary=f"How the ratings are spread{some}", blocks=(*bars, table))]


def _spread_table(rows: list[RatingCount], names: Names, scores: list[float], criterion: str, several: bool) -> Table:
    def place(row: RatingCount) -> tuple[str, str]:
        return row.group, row.system

    titles = {score: f"{score:g}" for score in scores}
    fields: list[Field[RatingCount]] = [
        text_column("System", lambda row: names.system(row.system)),
        text_column("Group", lambda row: names.group(row.group)),
        *columns_of(rows, place, lambda row: row.score, titles, _spread_share, "share of the ratings"),
        number_column("Ratings", lambda row: count(row.n_ratings)),
    ]
    title = titled("rating_counts", "How often each score was given", names, criterion, several=several, rated=True)
    return tabulate(*title, fields, places_of(rows, place))


def _spread_share(row: RatingCount | None) -> Cell:
    return cell(percent(0.0)) if row is None else cell(percent(row.share), detail=number(row.n, 0))
