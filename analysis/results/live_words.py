"""Decisions of a live study in words."""

from __future__ import annotations

from analysis.answers.live_rows import LivePairRow, LiveStudy
from analysis.results.words import Names, count, interval, listed, percent, plural, share_interval, signed
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
    ended = any(one.group == group and one.all_decided for one in live.groups)
    rows = [row for row in ranked(live.systems) if row.group == group and (row.leads or live.order)]
    if not rows or not ended:
        return ""
    found = "in this order" if live.order else f"to be the best {live.top}"
    shown = [names.system(row.system) for row in rows[:MOST_NAMED]]
    more = [f"{len(rows) - MOST_NAMED} more"] if len(rows) > MOST_NAMED else []
    return f"Found {found}, with an error rate of at most {100 * live.error_rate:g}%: {listed([*shown, *more])}."


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
