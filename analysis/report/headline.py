"""The answer in a few plain sentences, and every ranking beside the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from analysis.comparisons.ratings_section import means_figure
from analysis.comparisons.share_figures import leading_figure
from analysis.contribution import Shown
from analysis.printing.cells import Field, cell, number_column, tabulate, text_column
from analysis.printing.circle_words import circle_notes
from analysis.printing.document import (
    Block,
    Bullets,
    Cell,
    Figure,
    Fold,
    Link,
    Links,
    Paragraph,
    Section,
    Table,
    Terms,
)
from analysis.printing.levels import discovery_words
from analysis.printing.lookup import (
    OVERALL,
    SOURCES,
    agreement_with,
    first_criteria,
    main_group,
    main_source,
    pair_findings,
    pair_results,
    rank_of,
    tests_by_source,
)
from analysis.printing.names import Names
from analysis.printing.words import NONE, listed, number, plural, sentence
from analysis.records.results import Results
from analysis.report.warnings import warning_lines
from analysis.results.headline import headline_of
from analysis.results.headline_rows import Headline
from analysis.statistics.record import Source

MOST_LINES = 6  # lines on who agrees
MOST_TURNED = 3  # reversed pairs named at once
MOST_RANKINGS = 9  # columns that a reader can still compare
MOST_DOTS = 30  # of the picture, so that it stays on the first page


def headline(results: Results) -> Section:
    """Open with who wins, three more lines and a picture, then say whether other ways of asking agree.

    Of answers that compare no systems, the lines alone, which say so.
    """
    source, names = main_source(results), Names(results)
    found = results.headline or headline_of(results)
    (_, winner), *rest, (title, text) = found.lines()
    problems = tuple(Link(text=problem.text, target=problem.section) for problem in found.problems)
    if found.more:
        problems += (Link(text=found.more, target="warnings"),)
    lines = Terms(items=(*rest, (title, problems or text)))
    blocks: list[Block] = [Paragraph(text=winner, weight="headline"), lines]
    if discovery_words(results.settings):
        blocks.append(Paragraph(text=discovery_words(results.settings)))
    more_others: list[Block] = []
    ranking = None
    if source is not None:
        group, criteria = main_group(results, source), first_criteria(results, source)
        blocks.extend(_picture(results, names, source, group, criteria[0], found))
        others, more_others = _others(results, names, source, group, criteria)
        blocks += others
        ranking = _ranking_table(results, names, criteria)
    if cautions := warning_lines(results):
        link = Link(text=plural(len(cautions), "warning"), target="warnings")
        blocks.append(Links(label="Read first:", items=(link,)))
    blocks += [ranking] if ranking else []
    return Section(id="answer", title="The answer", blocks=tuple(blocks), appendix=tuple(more_others))


def _picture(
    results: Results, names: Names, source: Source, group: str, criterion: str, found: Headline
) -> list[Block]:
    """Return the answers on one criterion, people beside LLMs: mean chances or wins of the leader, or mean ratings."""
    several, shown = len(first_criteria(results, source)) > 1, Shown(results, names)
    if source != "ratings":
        tests = tests_by_source(results)[source]
        rows = [row for row in tests if row.criterion == criterion]
        leader = next((claim.leader for claim in found.claims if claim.criterion == criterion), None)
        picture = leading_figure(shown, rows, source, criterion, several, leader=leader, most_dots=MOST_DOTS)
        return [picture] if picture else []
    means = [row for row in results.ratings.means if row.criterion == criterion]
    values = {row.system: row.mean for row in means if row.group == group and row.mean is not None}
    if not values:
        return []
    order = sorted(values, key=values.__getitem__, reverse=criterion not in names.lower_is_better)
    place = {system: at for at, system in enumerate(order)}  # not `number`: Python 3.12.1 would hide the function below
    means.sort(key=lambda row: place.get(row.system, len(place)))
    most_groups = max(1, MOST_DOTS // len(order))
    drawn = means_figure(means, shown, criterion, several, most_groups=most_groups, tabled=False)
    figure = drawn if isinstance(drawn, Figure) else next(one for one in drawn.blocks if isinstance(one, Figure))
    listing = listed([f"{names.system(system)} {number(values[system])}" for system in order])
    alternative = f"Mean ratings by {names.group(group)}, best first: {listing}"
    return [replace(figure, name="answer", alternative=alternative)]


def _others(
    results: Results, names: Names, source: Source, group: str, criteria: tuple[str, ...]
) -> tuple[list[Block], list[Block]]:
    """Return a line on each other source and group that judged the same pairs: those shown, and those for later."""
    base = pair_findings(results, source, group, criteria)
    lines = []
    for other_source, other_group in _columns(results):
        if (other_source, other_group) == (source, group):
            continue
        other = pair_findings(results, other_source, other_group, criteria)
        same, opposite, pairs = agreement_with(base, other)
        if pairs:
            turned = [_turned(names, key, other[key]) for key in opposite]
            lines.append(_agreement_words(names.source_by_group(other_source, other_group), same, turned, pairs))
    if not lines:
        return [], []
    question = f"Do other measures agree with {names.source_by_group(source, group)}?"
    first, rest = tuple(lines[:MOST_LINES]), tuple(lines[MOST_LINES:])
    more: list[Block] = [Fold(summary=f"{question} The other {len(rest)}", blocks=(Bullets(items=rest),))]
    return [Paragraph(text=question), Bullets(items=first)], more if rest else []


def _turned(names: Names, judged: tuple[str, frozenset[str]], winners: set[str]) -> str:
    criterion, pair = judged
    about = "" if criterion == OVERALL else f", {names.criterion(criterion)}"
    return " and ".join(
        f"{names.system(winner)} over {names.system(*pair - {winner})}{about}" for winner in sorted(winners - {""})
    )


def _agreement_words(name: str, same: int, turned: list[str], pairs: int) -> str:
    if same == pairs:
        return f"{sentence(name)}: agrees on {'the one pair' if pairs == 1 else f'all {pairs} pairs'}."
    turn = ""
    if turned:
        named = f" ({'; '.join(turned)})" if len(turned) <= MOST_TURNED else ""
        turn = f", contradicts on {len(turned)}{named}"
    undecided = pairs - same - len(turned)
    rest = f"; on {undecided}, only one of the two is clear" if undecided else ""
    return f"{sentence(name)}: agrees on {same} of {plural(pairs, 'pair')}{turn}{rest}."


def _columns(results: Results) -> list[tuple[Source, str]]:
    rankings = results.rankings
    known = [(entry.source, entry.group) for entry in rankings if entry.source != "ratings_bt"]
    found = [(entry.source, entry.test.group) for source in SOURCES for entry in pair_results(results, source)]
    return list(dict.fromkeys([*known, *found]))


def _ranking_table(results: Results, names: Names, criteria: tuple[str, ...]) -> Table | None:
    """Return systems by rankings: a place for each way of asking."""
    chosen = [
        entry
        for entry in results.rankings
        if entry.criterion in criteria and entry.source != "ratings_bt" and entry.order
    ]
    if not chosen:
        return None
    left_out, chosen = max(0, len(chosen) - MOST_RANKINGS), chosen[:MOST_RANKINGS]
    ranks = [rank_of(entry.order) for entry in chosen]
    systems = sorted(
        dict.fromkeys(system for order in ranks for system in order),
        key=lambda system: tuple(order.get(system, len(order) + 1) for order in ranks),
    )
    apart = {one.system: one.reason for entry in chosen for one in entry.unranked}
    systems += [system for system in apart if system not in systems]
    tied = any(len(set(order.values())) < len(order) for order in ranks)
    absent = any(system not in order for order in ranks for system in systems)
    notes = [f"1 is best{'; =, shared' if tied else ''}{f'; {NONE}, no place' if absent else ''}."]
    notes += [f"No place for {names.system(system)}: {reason}." for system, reason in apart.items()]
    notes += circle_notes(results, names, chosen)
    if left_out:
        notes.append(f"{plural(left_out, 'more ranking')} under \u201cStrengths and rankings\u201d.")
    fields: list[Field[str]] = [text_column("System", names.system)]
    for entry, order in zip(chosen, ranks, strict=True):
        title = sentence(names.source_by_group(entry.source, entry.group))
        of_criterion = f": {names.criterion(entry.criterion)}" if len(criteria) > 1 else ""
        fields.append(number_column(title + of_criterion, partial(_rank_cell, order)))
    return tabulate("ranking", "Place of each system, by each way of asking", fields, systems, notes)


def _rank_cell(order: Mapping[str, int], system: str) -> Cell:
    if system not in order:
        return cell("\u2013")
    tied = list(order.values()).count(order[system]) > 1
    return cell(f"{order[system]}{'=' if tied else ''}")
