"""Decisions of a live study in words."""

from __future__ import annotations

from analysis.answers.live_rows import LivePairRow, LiveStudy
from analysis.printing.names import Names
from analysis.printing.words import count, interval, listed, percent, plural, sentence, share_interval, signed
from spa.live import compared_with, margin_words, ranked

MOST_NAMED = 10  # systems of an order, in a line


def level_of(live: LiveStudy) -> str:
    """Return the level of the confidence sequences, as "95%"."""
    return f"{100 * (1 - live.error_rate):g}%"


def chance_of_error(live: LiveStudy) -> str:
    """Return how likely any false decision is, and over what: "at most 5% over all pairs and looks together"."""
    over = "criteria, pairs and looks" if len(live.criteria) > 1 and not live.criteria_apart else "pairs and looks"
    each = [f"on each of {len(live.criteria)} criteria"] if len(live.criteria) > 1 and live.criteria_apart else []
    each += ["for each group by itself"] if len(live.groups) > 1 else []
    return f"at most {100 * live.error_rate:g}% over all {over} together{f', {listed(each)}' if each else ''}"


def live_value(live: LiveStudy, value: float | None) -> str:
    """Return a mean in percent; of ratings as a difference in points, above 0 where the first is better."""
    if live.scale_width is None:
        return percent(value)
    return signed(None if value is None else (2 * value - 1) * live.scale_width)


def live_interval(live: LiveStudy, row: LivePairRow) -> str:
    """Return the bounds of a confidence sequence as :func:`live_value` shows means."""
    marks = live_marks(live)
    if live.scale_width is None:
        return share_interval(row.low, row.high, marks=marks)
    low, high = ((2 * value - 1) * live.scale_width for value in (row.low, row.high))
    return interval(low, high, marks=marks)


def live_marks(live: LiveStudy) -> tuple[float, ...]:
    """Return what bounds are compared with: no difference, and the ends of the margin, in points of ratings."""
    marks, width = compared_with(live.margin), live.scale_width
    return marks if width is None else tuple((2 * value - 1) * width for value in marks)


def ranking_words(live: LiveStudy, group: str, names: Names) -> str:
    """Return which are the best few, or the order, where it was looked for and is decided."""
    rows = [row for row in ranked(live.systems) if row.group == group and (row.leads or live.order)]
    if not rows or not ranking_found(live, group):
        return ""
    found = f"to be the best {live.top}"
    if live.order:
        found = f"in this order (none before one that wins {100 * (live.epsilon or 0):g} points more)"
    shown = [names.system(row.system) for row in rows[:MOST_NAMED]]
    more = [f"{len(rows) - MOST_NAMED} more"] if len(rows) > MOST_NAMED else []
    return f"Found {found}, with an error rate of at most {100 * live.error_rate:g}%: {listed([*shown, *more])}."


def is_ranked(live: LiveStudy | None, group: str) -> bool:
    """Tell whether a study looked for a group's best few, or for its order."""
    return live is not None and any(row.group == group for row in live.systems)


def ranking_found(live: LiveStudy, group: str) -> bool:
    """Tell whether the best few, or the order, are found."""
    return any(one.group == group and one.all_decided for one in live.groups)


def ranking_winner(live: LiveStudy, group: str, names: Names) -> str:
    """Return the first line on a study that looked for the best few or an order."""
    rows = [row for row in ranked(live.systems) if row.group == group]
    best = [row.system for row in rows if row.leads] or [rows[0].system]
    who, s = names.who(group), "s" if names.kind(group) == "llm" else ""
    sought = "order" if live.order else "best system" if live.top == 1 else f"best {live.top}"
    if not ranking_found(live, group):
        of = plural(len(rows), "system") if live.order else f"{len(rows)}"
        return f"By the choices of {who}, the {sought} of {of} cannot be named."
    shown = listed(
        [*map(names.system, best[:MOST_NAMED]), *([f"{len(best) - MOST_NAMED} more"] * (len(best) > MOST_NAMED))]
    )
    place = "the first of the order that was found" if live.order else f"the {sought} of {len(rows)}"
    return f"{who if s else sentence(who)} choose{s} {shown} most, {place}."


def ranking_evidence(live: LiveStudy, group: str, names: Names) -> str:
    """Return by what share the first of a ranking is ahead, and what was found."""
    first = next(row for row in ranked(live.systems) if row.group == group)
    limits = f"{share_interval(first.low, first.high)}% ({level_of(live)} confidence interval that holds at every look)"
    share = f"{names.system(first.system)} won {percent(first.score)} against systems drawn at random: {limits}."
    return " ".join(filter(None, (share, ranking_words(live, group, names))))


def live_evidence(live: LiveStudy, row: LivePairRow, names: Names) -> str:
    """Return the decision that the first line of a headline rests on; ``row`` names the leader first."""
    unit = "form" if names.kind(row.group) == "llm" else "annotator"
    x, y = names.system(row.system_x), names.system(row.system_y)
    what = "difference of mean ratings in points" if live.answers == "ratings" else "mean chance that it is better"
    if live.answers == "choices":
        what = "share of choices that it wins"
    shown = f"{what} than {y}" if live.answers == "preferences" else f"{what} against {y}"
    limits = f"{live_interval(live, row)}{'' if live.scale_width else '%'}"
    where = f"{shown}: {limits} ({level_of(live)} confidence interval that holds at every look)"
    after = f"after {plural(row.decided_after, unit)}" if row.decided_after is not None else ""
    match row.decision:
        case "x" | "y":
            start = f"Decided {after}; {x}'s {where}. "
            bias = f"The mean of {live_value(live, row.mean)} is biased, as asking ended where it was clear."
            return start + bias
        case "equal":
            within = margin_words(live.margin, live.scale_width)
            return f"Decided {after} that the two are equal within {within}; {x}'s {where}."
        case "futile":
            return f"Given up {after}, as a decision had become unlikely; {x}'s {where}."
    more = "" if row.expected_more is None else f", some {count(row.expected_more)} more expected"
    return f"Not decided after {plural(row.n, unit)}{more}; {x}'s {where}."
