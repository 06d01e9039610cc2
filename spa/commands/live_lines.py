"""What a live study has decided so far, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spa.live import compared_with, decision_words, margin_words, rank_words, ranked
from spa.rounding import bounds
from spa.study.stopping import deciding_answers, rating_scale_width

if TYPE_CHECKING:
    from spa.live import LivePair, LiveState, LiveSystem
    from spa.records.study import Study

UNITS = {"human": "people", "simulated": "simulated annotators"}


def units_of(group: str) -> str:
    """Return what is counted of a group: people, or an LLM's forms."""
    return UNITS.get(group, f"forms by {group}")


def progress_line(study: Study, state: LiveState) -> str:
    """Return how many people count, what is decided, and whether others are asked."""
    if state.systems:
        what = "the order is" if study.stopping.order else f"the best {study.stopping.top} are"
        found = f"{what} {'decided' if state.systems_decided else 'open'}"
    elif state.audit is not None and not state.pairs:
        found = "of a fixed number"
    else:
        futile = sum(pair.decision == "futile" for pair in state.pairs)
        decided = sum(pair.decision is not None for pair in state.pairs) - futile
        found = f"{decided} of {len(state.pairs)} decided" + (f", {futile} futile" if futile else "")
    goes_on = "no further answers are needed" if state.enough else "collection continues"
    gone = f" ({state.excluded} excluded)" if state.excluded else ""
    gone += f" ({state.late} too late)" if state.late else ""
    gone += f" ({state.waiting} wait for others who began before)" if state.waiting else ""
    return f"{state.units} of at most {state.most} {units_of(state.group)}{gone}: {found}, {goes_on}"


def audit_line(study: Study, state: LiveState) -> str | None:
    """Return how far the waves of an audit are, and its rater; ``None`` of any other study."""
    audit = state.audit
    if audit is None or study.audit is None:
        return None
    how = ", by the rater's doubt" if audit.by_doubt else ""
    rated = f"; {study.audit.rater} has answered {audit.rated:,} of {audit.forms:,} forms"
    return (
        f"audit: wave {audit.wave}{how}, {audit.completed} of {audit.drawn} forms drawn are answered; "
        f"{audit.passed} of {audit.forms} passed, {100 * audit.share:.0f}% drawn"
        f"{rated if audit.rated < audit.forms else ''}"
    )


def live_lines(study: Study, state: LiveState) -> list[str]:
    """Return a line on the group, then one for each pair: its confidence interval and its decision."""
    heads, audit = [progress_line(study, state)], audit_line(study, state)
    heads += [] if audit is None else [f"  {audit}"]
    names = {system.id: system.name or system.id for system in study.systems}
    if audit is not None and not state.pairs:
        return heads
    if state.systems:
        return [
            *heads,
            "  share won against the others (intervals valid at any time):",
            *_systems(study, state, names),
        ]
    how = "mean chance that the first is better" if state.answers == "preferences" else "the first is better above 50%"
    several = len({pair.criterion for pair in state.pairs}) > 1
    exposed = len({pair.exposure for pair in state.pairs}) > 1
    lines = [*heads, f"  intervals valid at any time ({how}):"]
    for pair in state.pairs:
        place = [pair.criterion] if several else []
        place += [f"exposure {pair.exposure}"] if exposed else []
        about = f" ({', '.join(place)})" if place else ""
        x, y = names[pair.system_x], names[pair.system_y]
        words = progress_words(study, pair, {pair.system_x: x, pair.system_y: y})
        lines.append(f"  {x} over {y}{about}: {interval_words(study, pair.low, pair.high)}; {words}")
    return lines


def _systems(study: Study, state: LiveState, names: dict[str, str]) -> list[str]:
    """Return a line for each system, the best so far first."""

    def place(row: LiveSystem) -> str:
        if study.stopping.order:
            return f"; rank {rank_words(row)}"
        return "; among the best so far" if row.leads else ""

    return [
        f"  {names[row.system]}: {interval_words(study, row.low, row.high)}{place(row)}"
        for row in ranked(state.systems)
    ]


def interval_words(study: Study, low: float, high: float) -> str:
    """Return a confidence interval in percent, of which no bound is rounded onto 50% or the margin.

    An interval that leaves 50% out is shown to do so: "11 to below 50%".
    """
    return f"{bounds(low, high, 0, shift=2, marks=compared_with(study.stopping.margin))}%"


def progress_words(study: Study, pair: LivePair, names: dict[str, str]) -> str:
    """Return what is decided of a pair, and after how many; or how many more that may take."""
    answers, margin = deciding_answers(study), study.stopping.margin
    within = margin_words(margin, rating_scale_width(study) if answers == "ratings" else None)
    found = decision_words(pair.decision, names[pair.system_x], names[pair.system_y], within)
    if pair.decision is None:
        return found if pair.expected_more is None else f"{found}, about {pair.expected_more:.0f} more expected"
    return f"{found}, {'given up' if pair.decision == 'futile' else 'decided'} after {pair.decided_after}"
