"""Ratings of single outputs: means, the tests between systems, and how often each score was given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from analysis.comparisons.pair_tables import pair_table
from analysis.comparisons.rating_counts import RatingCount
from analysis.comparisons.ratings import RatingMean, RatingTest
from analysis.contribution import Shown
from analysis.figures.figures import means_plot, rating_bars
from analysis.printing.cells import Field, cell, columns_of, number_column, places_of, tabulate, text_column, titled
from analysis.printing.document import (
    Block,
    Cell,
    Figure,
    Fold,
    Heading,
    Paragraph,
    Section,
    Table,
)
from analysis.printing.levels import level_words
from analysis.printing.live_blocks import live_blocks
from analysis.printing.lookup import (
    MOST_CLAIMS,
    OVERALL,
    by_criterion,
    drawn,
    figures_words,
    first_criteria,
    main_source,
    opened,
)
from analysis.printing.names import Names
from analysis.printing.pictures import (
    BESIDE,
    BESIDE_AFTER,
    MOST_GROUPS,
    Rows,
    called,
    drawn_groups,
    folded,
    how_many,
    of_criterion,
    people_first,
    pictured,
    with_intervals,
)
from analysis.printing.words import count, interval, number, percent, plural, sentence, slug
from analysis.single_answers.behind import AnswersBehind

MOST_FIGURES = 6  # groups that are drawn, people first; the table has all


def ratings(
    means: Sequence[RatingMean], pairs: Sequence[RatingTest], counts: Sequence[RatingCount], shown: Shown
) -> Section | None:
    """Report mean ratings and the tested differences, one part a criterion."""
    if not means and not pairs:
        return None
    names = shown.names
    appendix: list[Block] = []
    means_of, pairs_of, counts_of = by_criterion(means), by_criterion(pairs), by_criterion(counts)
    criteria = list(dict.fromkeys((*means_of, *pairs_of)))
    clear = level_words(shown.settings, live=shown.live)
    intro = f"Annotators rated single outputs; here their ratings are averaged. {clear}"
    blocks: list[Block] = [Paragraph(text=f"{intro} {figures_words(criteria)}".strip())]
    blocks += live_blocks(shown.results, names, "ratings")
    several, figured = len(criteria) > 1, drawn(criteria)
    first = main_source(shown.results) == "ratings"
    answered = first_criteria(shown.results, "ratings")[0] if first else None  # the first picture
    for criterion in criteria:
        title = sentence(names.directed(criterion))
        means_part: list[Block] = []
        pairs_part: list[Block] = []
        again: list[Block] = []
        spreads: list[Block] = []
        own_means, own_pairs = means_of.get(criterion, []), pairs_of.get(criterion, [])
        if own_means:
            means_part.append(_means(shown, own_means, criterion, several))
            if criterion in figured:
                (again if criterion == answered else means_part).append(
                    means_figure(own_means, shown, criterion, several)
                )
            own_counts = counts_of.get(criterion, [])
            spreads = _spread(own_counts, names, criterion, several=several, figures=criterion in figured)
        if own_pairs:
            pairs_part.append(pair_table(shown, own_pairs, "ratings", criterion, several))
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


def _means(shown: Shown, rows: list[RatingMean], criterion: str, several: bool) -> Table:
    names = shown.names
    fields: list[Field[RatingMean]] = [
        text_column("System", lambda row: names.system(row.system)),
        text_column("Group", lambda row: names.group(row.group)),
        number_column("n", lambda row: count(row.n), "ratings counted"),
        number_column("Mean", lambda row: number(row.mean)),
        number_column(
            f"{shown.confidence} confidence interval",
            lambda row: interval(row.ci_low, row.ci_high),
            "the range in which the true mean may well "
            "lie; ratings of one annotator (or item) count as belonging together",
        ),
        number_column("SD", lambda row: number(row.sd), "standard deviation: how far single ratings lie from the mean"),
    ]
    title = titled("ratings_means", "Mean ratings", names, criterion, several=several, rated=True)
    return tabulate(*title, fields, rows, csv="ratings_means", units=how_many(rows, names))


def _spread(
    rows: list[RatingCount], names: Names, criterion: str, *, several: bool, figures: bool = True
) -> list[Block]:
    """Return what a reader opens to see how often each score was given; nothing where the scale is continuous."""
    if not rows:
        return []
    scores = sorted({row.score for row in rows})
    groups = people_first((row.group for row in rows), names)
    bars = [
        _spread_figure(
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


def means_figure(
    rows: Rows, shown: Shown, criterion: str, several: bool, *, most_groups: int = MOST_GROUPS, tabled: bool = True
) -> Figure | Fold:
    """Return the figure of mean ratings, folded where it is long; ``tabled``: beside a table of them."""
    names = shown.names
    drawn, left_out = drawn_groups(rows, names, most_groups)
    behind = AnswersBehind(shown.results, names, "ratings")
    drawing = partial(
        means_plot,
        behind.rows(drawn),
        **called(drawn, names),
        title=f"mean rating ({names.direction(criterion)})",
        alternative=f"Mean rating of each system with its interval; {BESIDE}.",
    )
    caption = (
        f"Mean ratings{with_intervals(drawn, names)}{of_criterion(names, criterion, several)}. "
        f"The axis shows the part of the scale in use.{behind.words(drawn)}{left_out}"
    )
    return folded(
        f"ratings-{slug(criterion)}" if several else "ratings",
        drawing,
        caption,
        len(drawn),
        how_many(drawn, names),
        tabled=tabled,
    )


def _spread_figure(rows: Sequence[RatingCount], names: Names, scores: Sequence[float], name: str) -> Figure:
    """Return the bars of how often each system got each score, of one group and criterion."""
    drawing = partial(
        rating_bars,
        [asdict(row) for row in rows],
        scores=scores,
        system_names={row.system: names.system(row.system) for row in rows},
        alternative=f"How often each system got each score; {BESIDE_AFTER}.",
    )
    caption = (
        f"{sentence(names.group(rows[0].group))}: how often each system got each score. What lies below the middle "
        "of the scale goes to the left of the line, what lies above to the right, the middle itself half to each side."
    )
    counts = sorted({row.n_ratings for row in rows})
    least = f"{counts[0]:,} to " if len(counts) > 1 else ""
    n = f"n: {least}{plural(counts[-1], 'rating')} of a system."
    return pictured(name, drawing, caption, BESIDE_AFTER, n)
