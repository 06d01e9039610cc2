"""A live study: what is decided of each pair, how its confidence sequence came there, what that costs and saves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from spa.commands.live_lines import UNITS, audit_line, interval_words, progress_line, progress_words, units_of
from spa.live import rank_words, ranked
from spa.study.stopping import criteria_apart
from streamlit_app import blinding, loading
from streamlit_app.rendering import plain, show_counts, show_metrics

if TYPE_CHECKING:
    from analysis.live.savings import LiveSavings
    from analysis.live.state import LiveHistory, LivePoint
    from spa.live import LivePair, LiveState

EVERY = 15  # seconds between two looks at the store
IN_A_ROW = 3
MOST_DRAWN = 24  # charts, the open pairs first
BLUE, ORANGE = "#0072B2", "#D55E00"
MEANING = {
    "preferences": "The mean chance that the first system is better; at 50% there is no preference.",
    "choices": "The share of choices that the first system wins, ties half; at 50% there is no preference.",
    "ratings": "The difference of ratings on a scale from 0 to 100%; at 50% there is none, above it the first is "
    "better.",
}


def show() -> None:
    """Draw the page."""
    st.title("Live")
    if blinding.may_show():
        _live()


@st.fragment(run_every=EVERY)
def _live() -> None:
    groups = loading.live_groups(loading.state())
    if not groups:
        st.info("Nobody has completed a form yet, so nothing is decided.")
        return
    group = groups[0]
    if len(groups) > 1:
        shown = {name: UNITS.get(name, name) for name in groups}
        group = st.segmented_control("Answers of", groups, default=group, format_func=shown.__getitem__, required=True)
    history, savings = loading.live_history(loading.state(), group)
    _metrics(history.state, savings)
    _audit(history.state)
    if rows := [*(_row(history.state, pair) for pair in history.state.pairs), *_systems(history.state)]:
        st.subheader("Decisions")
        show_counts(rows)
        st.caption(plain(_how(history.state)))
    if not history.paths:
        return
    st.subheader("Confidence over time")
    st.caption(plain(f"{MEANING[history.state.answers]} The bands cover the true means at all times."))
    _charts(history)


def _audit(state: LiveState) -> None:
    """Say how far the waves of an audit are, in the words of ``spa status``."""
    study = loading.workspace().study
    if words := audit_line(study, state):
        st.markdown(plain(f"{progress_line(study, state)}; {words}."))


def _how(state: LiveState) -> str:
    rate = loading.stopping()["error_rate"]
    end = "No further answers are needed." if state.enough else "Answers are collected until all is decided."
    study, store = loading.workspace().study, loading.workspace().store
    about = " on one criterion" if criteria_apart(study, store.live_rules) else ""
    chance = f"The chance of any false decision{about} is at most {100 * rate:g}%, however often this page is opened."
    return f"{end} {chance}" + (
        " Means of decided pairs are biased, because collection stopped once they were clear." if state.pairs else ""
    )


def _metrics(state: LiveState, savings: LiveSavings) -> None:
    decided = f"{sum(pair.decision not in (None, 'futile') for pair in state.pairs):,} of {len(state.pairs):,}"
    if state.systems:
        decided = "yes" if state.systems_decided else "not yet"
    currency = loading.workspace().study.people.currency
    shown = {
        f"Counted {units_of(state.group)}": f"{state.units:,} of at most {state.most:,}",
        "Excluded": f"{state.excluded:,}",
    }
    if state.pairs or state.systems:
        shown["Decided"] = decided
    money = {"Paid so far": savings.spent, "Saved" if state.enough else "Not yet spent": savings.left}
    shown |= {title: f"{amount:,.2f} {currency}" for title, amount in money.items() if amount is not None}
    if savings.questions:
        shown["Questions saved"] = f"{savings.questions:,}"
        shown["Minutes saved"] = f"{savings.minutes:,.1f}"
    show_metrics(shown)
    st.progress(min(1.0, state.units / state.most))


def _row(state: LiveState, pair: LivePair) -> dict[str, object]:
    return {
        "Pair": _title(state, pair),
        "n": pair.n,
        "Mean (%)": None if pair.mean is None else round(100 * pair.mean, 1),
        "Interval": _interval(pair.low, pair.high),
        "Decision": progress_words(loading.workspace().study, pair, loading.system_names()),
    }


def _systems(state: LiveState) -> list[dict[str, object]]:
    """Return the rows of a study that looks for the best few or the order, the best so far first."""
    names, in_order = loading.system_names(), loading.workspace().study.stopping.order
    return [
        {
            "System": names[row.system],
            "n": row.n,
            "Share won (%)": None if row.score is None else round(100 * row.score, 1),
            "Interval": _interval(row.low, row.high),
        }
        | ({"Ranks": rank_words(row)} if in_order else {"Among the best": "yes" if row.leads else "no"})
        for row in ranked(state.systems)
    ]


def _interval(low: float, high: float) -> str:
    return interval_words(loading.workspace().study, low, high)


def _title(state: LiveState, pair: LivePair) -> str:
    names = loading.system_names()
    about = [pair.criterion] if len({one.criterion for one in state.pairs}) > 1 else []
    about += [f"{pair.exposure} outputs read"] if len({one.exposure for one in state.pairs}) > 1 else []
    return f"{names[pair.system_x]} over {names[pair.system_y]}" + (f" ({', '.join(about)})" if about else "")


def _charts(history: LiveHistory) -> None:
    drawn = sorted(zip(history.state.pairs, history.paths, strict=True), key=lambda one: one[0].decision is not None)
    for start in range(0, min(len(drawn), MOST_DRAWN), IN_A_ROW):
        columns = st.columns(IN_A_ROW)
        for column, (pair, path) in zip(columns, drawn[start : start + IN_A_ROW], strict=False):
            with column:
                _chart(history.state, pair, path)
    if len(drawn) > MOST_DRAWN:
        st.caption(f"{len(drawn) - MOST_DRAWN:,} more pairs are in the table only.")


def _chart(state: LiveState, pair: LivePair, path: tuple[LivePoint, ...]) -> None:
    words = progress_words(loading.workspace().study, pair, loading.system_names())
    st.markdown(f"**{plain(_title(state, pair))}**  \n{plain(words)}")
    rows = [
        {"units": point.units, "mean": None if point.mean is None else 100 * point.mean, "low": 100 * point.low,
         "high": 100 * point.high, "interval": _interval(point.low, point.high)}
        for point in path
    ]  # fmt: skip
    x = {
        "field": "units",
        "type": "quantitative",
        "title": units_of(state.group),
        "scale": {"domain": [0, max(state.units, 10)]},
        "axis": {"grid": False, "tickMinStep": 1, "tickCount": 5},
    }
    y = {"type": "quantitative", "title": None, "scale": {"domain": [0, 100]}, "axis": {"values": [0, 50, 100]}}
    margin = 100 * (loading.stopping()["margin"] or 0.0)
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "area", "opacity": 0.25, "color": BLUE},
            "encoding": {"y": {"field": "low", **y}, "y2": {"field": "high"}},
        },
        {"mark": {"type": "line", "color": BLUE}, "encoding": {"y": {"field": "mean", **y}}},
        *(_rule(50 + shift, dashed=shift != 0) for shift in sorted({-margin, 0.0, margin})),
    ]
    if pair.decided_after is not None:
        layers.append(_mark(pair.decided_after))
    tooltip: list[dict[str, str]] = [
        *({"field": name, "type": "quantitative", "format": ".0f"} for name in ("units", "mean")),
        {"field": "interval", "type": "nominal"},
    ]
    spec = {"data": {"values": rows}, "encoding": {"x": x, "tooltip": tooltip}, "layer": layers, "height": 190}
    alt = f"{_title(state, pair)}: interval from {_interval(pair.low, pair.high)}, {words}"
    st.vega_lite_chart(spec, alt=alt)


def _rule(value: float, *, dashed: bool) -> dict[str, Any]:
    mark = {"type": "rule", "color": "#888888", **({"strokeDash": [3, 3]} if dashed else {})}
    return {
        "data": {"values": [{"even": value}]},
        "mark": mark,
        "encoding": {"x": None, "tooltip": None, "y": {"field": "even", "type": "quantitative"}},
    }


def _mark(units: int) -> dict[str, Any]:
    where = {"field": "units", "type": "quantitative"}
    return {
        "data": {"values": [{"units": units}]},
        "mark": {"type": "rule", "color": ORANGE, "strokeWidth": 2},
        "encoding": {"x": where, "tooltip": None},
    }
