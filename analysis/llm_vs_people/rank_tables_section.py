"""Ranks and mean ratings, rater by rater, laid out as Tables 2, 6 and 7 of Sottana et al. (2023)."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.figures.plain_text import shown_name
from analysis.llm_vs_people.rank_tables import AnnotatorRanks, LLMRanks, RankTableRow
from analysis.printing.cells import cell, criterion_cell
from analysis.printing.document import Block, Cell, Column, Fold, Heading, Paragraph, Table, build_table
from analysis.printing.names import Names
from analysis.printing.words import count, listed, number, plural, slug

MOST_RATERS = 12  # columns of a table by rater; everything stands in results.json
MOST_PAIRS = 6  # pairs of raters whose alpha has a column of its own
MOST_TABLES = 3  # LLMs whose ranks beside those of people stand open
ABSENT = LLMRanks(group="", ranks=None)  # of a rater who did not rank on a criterion
ALPHA = "Krippendorff\u2019s alpha of the ranks (interval level, systems as units; 1 = one order)"


def rank_tables(tables: Sequence[RankTableRow], names: Names) -> list[Block]:
    """Show mean ranks by people with those by each LLM, then each rater\u2019s means and ranks."""
    tables = [table for table in tables if table.mean_rank]
    if not tables:
        return []
    text = (
        "Each rater\u2019s mean rating of every system, turned into ranks: 1 is best, systems with equal means share "
        "their places. People\u2019s ranks are then averaged."
    )
    left_out = max(table.n_incomplete or 0 for table in tables)
    if left_out:
        text += f" Up to {plural(left_out, 'person', 'people')} a criterion did not rate every system and are left out."
    llms = list(dict.fromkeys(row.group for table in tables for row in table.llms if row.ranks))
    shown: list[str | None] = [*llms] or [None]
    beside: tuple[Block, ...] = tuple(_ranks_with(tables, llm, names, len(llms) > 1) for llm in shown)
    if len(beside) > MOST_TABLES:
        beside = (Fold(summary=f"Ranks by people and by each of {plural(len(llms), 'LLM')}", blocks=beside),)
    return [Heading(text="Ranks, rater by rater"), Paragraph(text=text), *beside, *_by_rater(tables, names)]


def _ranks_with(tables: Sequence[RankTableRow], llm: str | None, names: Names, several: bool) -> Table:
    """Lay out Table 2: systems by criteria, the LLM in brackets, and below it alpha without and with the LLM."""
    of_llm = [next((row for row in table.llms if row.group == llm), ABSENT) for table in tables]
    systems = list(dict.fromkeys(system for table in tables for system in table.systems))
    rows = [
        [
            cell(names.system(system)),
            *(
                _bracketed(_of(table, table.mean_rank, system), _of(table, own.ranks, system))
                for table, own in zip(tables, of_llm, strict=True)
            ),
        ]
        for system in systems
    ]
    people = names.group(tables[0].people)
    rows.append([cell(f"Alpha, {people}"), *(cell(number(table.alpha_of_people)) for table in tables)])
    if llm is not None:
        with_llm = [cell(number(own.alpha_with_people)) for own in of_llm]
        rows.append([cell(f"Alpha, {people} and {shown_name(llm)}"), *with_llm])
    counted = dict.fromkeys(str(table.n) for table in tables)
    caption = f"Mean rank by {people}" + ("" if llm is None else f", rank by {shown_name(llm)} in brackets")
    return build_table(
        f"ranks-{slug(llm or 'people')}" if several else "ranks",
        caption,
        [
            Column(title="System"),
            *(Column(title=names.criterion(table.criterion), numeric=True) for table in tables),
        ],
        rows,
        [f"{caption.split(',')[0]}: of {listed([*counted])} who rated every system. Alpha: {ALPHA}."],
    )


def _by_rater(tables: Sequence[RankTableRow], names: Names) -> list[Block]:
    """Lay out Tables 6 and 7: criteria and systems by raters, with alpha of every two raters where they are few."""
    people = list(dict.fromkeys(row.annotator_id for table in tables for row in table.annotators))
    llms = list(dict.fromkeys(row.group for table in tables for row in table.llms if row.ranks))
    raters = [*people, *llms][:MOST_RATERS] if len(people) <= MOST_RATERS else []
    if not raters:
        return []
    place = {rater: number_of for number_of, rater in enumerate(raters, 1)}
    alphas = [
        {
            tuple(sorted((place[pair.a], place[pair.b]))): pair.value
            for pair in table.alpha_pairs
            if pair.a in place and pair.b in place
        }
        for table in tables
    ]
    numbered = sorted({pair for found in alphas for pair in found}, key=lambda pair: pair[::-1])
    shown_pairs = numbered if len(numbered) <= MOST_PAIRS else []
    means, ranks = [], []
    for table, alpha_of in zip(tables, alphas, strict=True):
        of_rater: dict[str, AnnotatorRanks | LLMRanks] = {row.annotator_id: row for row in table.annotators}
        of_rater |= {row.group: row for row in table.llms}
        rated = [of_rater.get(rater, ABSENT) for rater in raters]
        for system in table.systems:
            head = [criterion_cell(names, table.criterion), cell(names.system(system))]
            shown = [(_of(table, row.means, system), _of(table, row.sds_population, system)) for row in rated]
            means.append([*head, *(_bracketed(mean, sd) for mean, sd in shown)])
            first = system == table.systems[0]
            of_pairs = [cell(number(alpha_of.get(pair)) if first else "") for pair in shown_pairs]
            ranks.append([*head, *(cell(count(_of(table, row.ranks, system))) for row in rated), *of_pairs])
    head_columns = [Column(title="Criterion"), Column(title="System")]
    columns = [Column(title=f"{place[rater]}: {shown_name(rater)}", numeric=True) for rater in raters]
    pair_columns = [Column(title=f"Alpha {one} and {other}", numeric=True) for one, other in shown_pairs]
    left = len(people) + len(llms) - len(raters)
    notes = [f"{plural(left, 'more LLM')} in results.json."] if left else []
    means_table = build_table(
        "means_by_rater",
        "Mean rating by each rater, standard deviation in brackets",
        [*head_columns, *columns],
        means,
        ["Standard deviations are those of the population (divided by n).", *notes],
        constant=("Criterion",),
    )
    ranks_table = build_table(
        "ranks_by_rater",
        "Rank by each rater, and agreement of every two" if shown_pairs else "Rank by each rater",
        [*head_columns, *columns, *pair_columns],
        ranks,
        [*([f"Alpha: {ALPHA} of two raters, by their numbers."] if shown_pairs else []), *notes],
        constant=("Criterion",),
    )
    return [Fold(summary="Means and ranks by each rater", blocks=(means_table, ranks_table))]


def _of(table: RankTableRow, values: Sequence[float | None] | None, system: str) -> float | None:
    """Return the value of one system, where it was rated and there are values."""
    return None if not values else dict(zip(table.systems, values, strict=True)).get(system)


def _bracketed(value: float | None, other: float | None) -> Cell:
    return cell(number(value) if other is None else f"{number(value)} ({number(other)})")
