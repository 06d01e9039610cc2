"""What a live study decided and when, and what later exclusions change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.answers.live_rows import LiveGroup, LivePairRow, LiveStudy, LiveSystemRow, contradicted, turned_live
from analysis.printing.cells import Field, number_column, tabulate, text_column
from analysis.printing.document import Block, Link, Links, Paragraph, Table
from analysis.printing.live_words import chance_of_error, level_of, live_interval, live_value
from analysis.printing.names import Names
from analysis.printing.words import count, listed, percent, plural, share_interval
from analysis.statistics.record import Source
from spa.live import decision_words, margin_words, rank_words, ranked

if TYPE_CHECKING:
    from analysis.records.results import Results

AUDITED = " They are those of the audit: of all forms, by people\u2019s answers and the rater\u2019s."
NOT_RATED = " They are those of the audit, whose rater has answered no form: by people\u2019s answers alone."
IN_AUDIT = Links(label="What was decided, and when:", items=(Link(text="What the audit found", target="audit"),))
MOST_LISTED = 6  # pairs whose estimates later exclusions change


def live_blocks(results: Results, names: Names, source: Source) -> list[Block]:
    """Return the decisions of a live study; nothing in a section of answers that decided nothing.

    Those of an audit stand in its own section.
    """
    live = results.live
    if live is None or live.answers != source:
        return []
    if live.systems:
        return _ranking(live, names)
    rows = []
    for row in live.pairs:
        behind = row.decision == "y" or (row.decision != "x" and row.mean is not None and row.mean < 0.5)
        rows.append(turned_live(row) if behind else row)
    if live.audited and any(row.decision is not None for row in results.audit):
        return [Paragraph(text=_how_it_ended(live, names) + AUDITED), IN_AUDIT]
    ended = Paragraph(text=_how_it_ended(live, names) + (NOT_RATED if live.audited else _counted(live)))
    later = [] if live.audited else [Paragraph(text=_sensitivity(live, rows, names))]
    return [ended, _table(live, rows, names), *later]


def _ranking(live: LiveStudy, names: Names) -> list[Block]:
    """Return the systems by their share of wins, and which are the best few or which ranks they may have."""
    fields: list[Field[LiveSystemRow]] = [
        text_column("System", lambda row: names.system(row.system)),
        text_column("Group", lambda row: names.group(row.group)),
        number_column("n", lambda row: count(row.n), "annotators (for LLMs, forms) whose choices count for it"),
        number_column("Share won (%)", lambda row: percent(row.score), "against systems drawn at random, ties half"),
        number_column(
            f"{level_of(live)} confidence interval (%)",
            lambda row: share_interval(row.low, row.high),
            "of all together, at every look",
        ),
        text_column("Ranks", rank_words, "that the intervals allow; 1 = best")
        if live.order
        else text_column(f"Among the best {live.top}", lambda row: "yes" if row.leads else "no"),
    ]
    rows = sorted(ranked(live.systems), key=lambda row: row.group)
    ended = listed([f"{_found_words(one)} after {_units(one, names)}" for one in live.groups])
    sought, asked, title = f"the best {live.top} systems", "the systems near the border", "The best few"
    if live.order:
        sought = f"an order of the systems, none before one that wins {100 * (live.epsilon or 0):g} points more"
        asked, title = "systems whose place was uncertain", "The order"
    text = (
        f"This study looked for {sought}, after every annotator: {ended}. "
        f"The chance of a false answer is at most {100 * live.error_rate:g}%. Later annotators were asked about "
        f"{asked}, so that shares of all choices are biased."
    )
    table = tabulate("live", title, fields, rows, constant=("Group",), csv="live_systems")
    return [Paragraph(text=text), table]


def _found_words(group: LiveGroup) -> str:
    return "found" if group.all_decided else "not found" if group.enough else "not yet found"


def _units(group: LiveGroup, names: Names) -> str:
    forms = "forms by " if names.kind(group.group) == "llm" else ""
    return f"{group.units} {forms}{names.group(group.group)}"


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
        f"{live.most} annotators. Decided: {'; '.join(parts)}. The chance of any false decision is "
        f"{chance_of_error(live)}. Means are biased away from no difference where "
        "a decision ended the asking; the intervals hold all the same."
    )


def _counted(live: LiveStudy) -> str:
    """Return, with a space before it, in which order people counted and how many came too late."""
    if live.counted == "completed":
        return ""
    late = sum(group.late for group in live.groups)
    return " People counted in the order in which they began" + (
        f"; {late} completed too late to count." if late else "."
    )


def _table(live: LiveStudy, rows: list[LivePairRow], names: Names) -> Table:
    unit = "" if live.scale_width else " (%)"
    within = margin_words(live.margin, live.scale_width)
    fields: list[Field[LivePairRow]] = [
        text_column("Pair", names.over, "the system that is ahead stands first"),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Outputs read", lambda row: count(row.exposure)),
        number_column("n", lambda row: count(row.n), "annotators (for LLMs, forms) until the decision"),
        number_column("Mean", lambda row: live_value(live, row.mean), "biased where a decision ended the asking"),
        number_column(
            f"{level_of(live)} confidence interval{unit}",
            lambda row: live_interval(live, row),
            "holds at every look, at the level that a decision on the pair needs",
        ),
        text_column(
            "Decision",
            lambda row: decision_words(row.decision, names.system(row.system_x), names.system(row.system_y), within),
        ),
        number_column(
            "After", lambda row: count(row.decided_after), "annotators (for LLMs, forms) of the group when it was made"
        ),
        number_column(
            "More expected", lambda row: count(row.expected_more), "annotators (for LLMs, forms) until it may be made"
        ),
        number_column(
            "All exclusions",
            lambda row: "" if row.mean_kept is None else f"{live_value(live, row.mean_kept)}, n = {row.n_kept}",
            "mean and n after exclusions made later, too",
        ),
    ]
    constant = ("Group", "Criterion", "Outputs read")
    return tabulate("live", "What was decided, and when", fields, rows, constant=constant, csv="live")


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
