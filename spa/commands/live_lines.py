"""What a live study has decided so far, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spa.live import LivePair, LiveState
    from spa.study.study import Study

UNITS = {"human": "people", "simulated": "simulated annotators"}


def live_lines(study: Study, state: LiveState) -> list[str]:
    """Return a line on the group, then one for each pair: its confidence interval and its decision."""
    if state.systems:
        found = f"the best {study.stopping.top} are {'decided' if state.best_found else 'open'}"
    else:
        futile = sum(pair.decision == "futile" for pair in state.pairs)
        decided = sum(pair.decision is not None for pair in state.pairs) - futile
        found = f"{decided} of {len(state.pairs)} decided" + (f", {futile} futile" if futile else "")
    goes_on = "nobody else needs to be asked" if state.enough else "asking goes on"
    gone = f" ({state.excluded} excluded)" if state.excluded else ""
    units = UNITS.get(state.group, f"forms by {state.group}")
    head = f"{state.units} of at most {state.most} {units}{gone}: {found}, {goes_on}"
    names = {system.id: system.name or system.id for system in study.systems}
    if state.systems:
        return [head, "  share won against the others (intervals that hold at every look):", *_systems(state, names)]
    how = "mean chance that the first is better" if state.answers == "preferences" else "the first is better above 50 %"
    several = len({pair.criterion for pair in state.pairs}) > 1
    exposed = len({pair.exposure for pair in state.pairs}) > 1
    lines = [head, f"  intervals that hold at every look ({how}):"]
    for pair in state.pairs:
        place = [pair.criterion] if several else []
        place += [f"exposure {pair.exposure}"] if exposed else []
        about = f" ({', '.join(place)})" if place else ""
        x, y = names[pair.system_x], names[pair.system_y]
        words = decision_words(study, pair, {pair.system_x: x, pair.system_y: y})
        lines.append(f"  {x} over {y}{about}: {100 * pair.low:.0f} to {100 * pair.high:.0f} %; {words}")
    return lines


def _systems(state: LiveState, names: dict[str, str]) -> list[str]:
    """Return a line for each system, the best so far first."""
    rows = sorted(state.systems, key=lambda row: (not row.leads, -(row.score or 0)))
    return [
        f"  {names[row.system]}: {100 * row.low:.0f} to {100 * row.high:.0f} %"
        + ("; among the best so far" if row.leads else "")
        for row in rows
    ]


def decision_words(study: Study, pair: LivePair, names: dict[str, str]) -> str:
    """Return what is decided of a pair, and after how many; or how many more that may take."""
    match pair.decision:
        case "x" | "y":
            found = f"{names[pair.system_x if pair.decision == 'x' else pair.system_y]} is better"
        case "equal":
            found = f"equal within {100 * (study.stopping.margin or 0):g} points of 50 %"
        case "futile":
            return f"futile after {pair.decided_after}: a decision within the planned number is unlikely"
        case None:
            more = "" if pair.expected_more is None else f", some {pair.expected_more:.0f} more expected"
            return f"open{more}"
    return f"{found}, decided after {pair.decided_after}"
