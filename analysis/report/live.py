"""What a live study decided and when, and what later exclusions change; p-values that do not hold under looking."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from analysis.answers.live_rows import LiveGroup, LivePairRow, LiveStudy
from analysis.report.cells import cell
from analysis.report.document import Block, Column, Fold, Paragraph, Section, Table, build_table
from analysis.results.live import NOT_UNDER_LOOKING, contradicted, turned_live
from analysis.results.live_words import level_of, live_interval, live_value
from analysis.results.records import Results
from analysis.results.words import Names, count, listed, percent, plural, sentence, share_interval
from analysis.statistics.record import Source
from spa.live import decision_words, margin_words, rank_words, ranked

P_VALUE = re.compile(r"\bp\b")
MOST_LISTED = 6  # pairs whose estimates later exclusions change


def live_blocks(results: Results, names: Names, source: Source) -> list[Block]:
    """Return the decisions of a live study; nothing in a section of answers that decided nothing."""
    live = results.live
    if live is None or live.answers != source:
        return []
    if live.systems:
        return _ranking(live, names)
    rows = [_from_leader(row) for row in live.pairs]
    return [
        Paragraph(text=_how_it_ended(live, names)),
        _table(live, rows, names),
        Paragraph(text=_sensitivity(live, rows, names)),
    ]


def _ranking(live: LiveStudy, names: Names) -> list[Block]:
    """Return the systems by their share of wins, and which are the best few or which ranks they may have."""
    columns = [
        Column(title="System"),
        Column(title="Group"),
        Column(title="n", explanation="annotators whose choices count for it", numeric=True),
        Column(title="Share won (%)", explanation="against systems drawn at random, ties half", numeric=True),
        Column(title=f"{level_of(live)} interval (%)", explanation="of all together, at every look", numeric=True),
        Column(title="Ranks", explanation="that the intervals allow; 1 = best")
        if live.order
        else Column(title=f"Among the best {live.top}"),
    ]
    rows = sorted(ranked(live.systems), key=lambda row: row.group)
    cells = [
        [
            cell(names.system(row.system)),
            cell(names.group(row.group)),
            cell(count(row.n)),
            cell(percent(row.score)),
            cell(share_interval(row.low, row.high)),
            cell(rank_words(row) if live.order else "yes" if row.leads else "no"),
        ]
        for row in rows
    ]
    ended = listed([f"{_units(one, names)}{'' if one.enough else ' so far'}" for one in live.groups])
    sought, asked, title = f"the best {live.top} systems", "the systems near the border", "The best few"
    if live.order:
        sought = f"an order of the systems, none before one that wins {100 * (live.epsilon or 0):g} points more"
        asked, title = "systems whose place was uncertain", "The order"
    text = (
        f"This study looked for {sought}, after every annotator: found after {ended}. "
        f"The chance of a false answer is at most {100 * live.error_rate:g}%. Later annotators were asked about "
        f"{asked}, so that shares of all choices are biased."
    )
    table = build_table("live", title, columns, cells, constant=("Group",), csv="live_systems")
    return [Paragraph(text=text), table]


def _units(group: LiveGroup, names: Names) -> str:
    forms = "forms by " if names.kind(group.group) == "llm" else ""
    return f"{group.units} {forms}{names.group(group.group)}"


def _from_leader(row: LivePairRow) -> LivePairRow:
    behind = row.decision == "y" or (row.decision != "x" and row.mean is not None and row.mean < 0.5)
    return turned_live(row) if behind else row


def _how_it_ended(live: LiveStudy, names: Names) -> str:
    parts = []
    for group in live.groups:
        own = [row for row in live.pairs if row.group == group.group]
        futile = sum(row.decision == "futile" for row in own)
        decided = sum(row.decision is not None for row in own) - futile
        gone = f" ({group.excluded} excluded)" if group.excluded else ""
        given_up = f", {futile} given up as futile" if futile else ""
        parts.append(f"{decided} of {len(own)}{given_up}, after {_units(group, names)}{gone}")
    return (
        "This study was looked at after every annotator: a pair was asked about until it was decided, with at most "
        f"{live.most} annotators. Decided: {'; '.join(parts)}. The chance of any false decision is at most "
        f"{100 * live.error_rate:g}% over all pairs and looks together. Means are biased away from no difference where "
        "a decision ended the asking; the intervals hold all the same."
    )


def _table(live: LiveStudy, rows: list[LivePairRow], names: Names) -> Table:
    unit = "" if live.scale_width else " (%)"
    columns = [
        Column(title="Pair", explanation="the system that is ahead stands first"),
        Column(title="Group"),
        Column(title="Criterion"),
        Column(title="Outputs read", numeric=True),
        Column(title="n", explanation="annotators (of an LLM, forms) until the decision", numeric=True),
        Column(title="Mean", explanation="biased where a decision ended the asking", numeric=True),
        Column(
            title=f"{level_of(live)} interval{unit}",
            explanation="holds at every look, at the level that a decision on the pair needs",
            numeric=True,
        ),
        Column(title="Decision"),
        Column(title="After", explanation="annotators of the group when it fell", numeric=True),
        Column(title="More expected", explanation="annotators, until it may fall", numeric=True),
        Column(title="All exclusions", explanation="mean and n after exclusions made later, too", numeric=True),
    ]
    within = margin_words(live.margin, live.scale_width)
    cells = [
        [
            cell(names.over(row)),
            cell(names.group(row.group)),
            cell(names.criterion(row.criterion)),
            cell(count(row.exposure)),
            cell(count(row.n)),
            cell(live_value(live, row.mean)),
            cell(live_interval(live, row)),
            cell(decision_words(row.decision, names.system(row.system_x), names.system(row.system_y), within)),
            cell(count(row.decided_after)),
            cell(count(row.expected_more)),
            cell("" if row.mean_kept is None else f"{live_value(live, row.mean_kept)}, n = {row.n_kept}"),
        ]
        for row in rows
    ]
    constant = ("Group", "Criterion", "Outputs read")
    return build_table("live", "What was decided, and when", columns, cells, constant=constant, csv="live")


def _sensitivity(live: LiveStudy, rows: list[LivePairRow], names: Names) -> str:
    """Say how fixed estimates of those who counted while the study ran change with later exclusions."""
    known = [row for row in rows if row.mean_kept is not None]
    changed = [row for row in known if (row.n_asked, row.mean_asked) != (row.n_kept, row.mean_kept)]
    if not known:
        return "Sensitivity: no fixed estimates over annotators stand beside the decisions."
    if not changed:
        return "Sensitivity: exclusions and repeat submissions that came later change no estimate."
    against = sum(contradicted(live, row) for row in changed)
    shown = [
        f"{names.over(row)} {live_value(live, row.mean_asked)} (n = {row.n_asked}) to "
        f"{live_value(live, row.mean_kept)} (n = {row.n_kept})"
        for row in sorted(changed, key=lambda row: not contradicted(live, row))[:MOST_LISTED]
    ]
    more = f" and {plural(len(changed) - MOST_LISTED, 'other')}" if len(changed) > MOST_LISTED else ""
    contradicts = f"{plural(against, 'decision')} no longer agree{'s' if against == 1 else ''} with the mean"
    return (
        f"Sensitivity: exclusions and repeat submissions that came later change {len(changed)} of {len(known)} fixed "
        f"estimates: {listed(shown)}{more}; {contradicts if against else 'no decision is contradicted'}."
    )


def with_caveats(section: Section) -> Section:
    """Return a section of a live study whose tables of p-values say that these do not hold under looking."""
    return replace(section, blocks=_marked(section.blocks), appendix=_marked(section.appendix))


def _marked(blocks: Iterable[Block]) -> tuple[Block, ...]:
    marked: list[Block] = []
    for block in blocks:
        if isinstance(block, Fold):
            block = replace(block, blocks=_marked(block.blocks))
        elif isinstance(block, Table) and any(P_VALUE.search(column.title) for column in block.columns):
            block = replace(block, notes=(sentence(NOT_UNDER_LOOKING), *block.notes))
        marked.append(block)
    return tuple(marked)
