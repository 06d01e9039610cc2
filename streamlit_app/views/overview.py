"""Where the study stands: what came in, what is under way, and what needs attention."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from analysis.monitoring.alarms import Alarm, find_alarms
from analysis.printing.words import sentence
from spa.errors import AnalysisError
from spa.records.platforms import lowest_hourly_pay
from spa.responses.status import COUNT_WORDS, COUNTED, Status, hourly_pay, pace_of, summarise_visits
from spa.responses.unplayable_clips import unplayable_line
from spa.responses.visits import PersonVisit
from streamlit_app import blinding, loading
from streamlit_app.rendering import link_to, plain, show_counts, show_headline, show_metrics

if TYPE_CHECKING:
    from spa.raters.request_log import CallIndex

EVERY = 15  # seconds between two looks at the store
SHORT = 60_000.0  # milliseconds; simulated annotators are done in less
FEWEST_POINTS = 3  # forms handed in from which a curve says something
UNKNOWN = "\N{EN DASH}"


def show() -> None:
    """Draw the page."""
    st.title("Overview")
    _live()


@st.fragment(run_every=EVERY)
def _live() -> None:
    state = loading.state()
    visits = loading.visits()
    found = loading.workspace()
    status = summarise_visits(
        visits, assignments=found.store.assignments.for_people, people=found.study.people, now=time.time()
    )
    above = st.container()  # what is known after what stands below
    _counts(status)
    _pace(status, visits)
    columns = st.columns(2, gap="large")
    parts: list[Callable[[], None]] = [*_curves(visits, status), partial(_table, status)]
    for number, draw in enumerate(parts):
        with columns[number % 2]:
            draw()
    with above:
        try:
            results, profiles = loading.analysed(state).results, loading.profiles(state)
        except AnalysisError:
            results, profiles = None, []
        calls = loading.rater_calls(state)
        if results is not None and blinding.may_show():
            show_headline(results)
        alarms = find_alarms(results, profiles, visits, calls=calls.counts, unpaid=loading.unpaid())
        _alarms([*_low_pay(status), *_unplayable(state), *alarms])
    with columns[1]:
        _raters(calls)


def _counts(status: Status) -> None:
    dropped, extra = (sum(getattr(line, name) for line in status.lines) for name in ("dropped", "extra"))
    shown = {
        "Submitted": f"{status.completed:,} of {status.places:,}",
        "In progress": f"{status.at_work:,}",
        "Free places": f"{status.free:,}",
        "Dropped out": f"{dropped:,}",
        "Late (excluded)": f"{extra:,}",
    }
    show_metrics(shown)
    st.progress(min(1.0, status.completed / status.places) if status.places else 0.0)


def _pace(status: Status, visits: list[PersonVisit]) -> None:
    end = UNKNOWN if status.expected_end is None else f"{datetime.fromtimestamp(status.expected_end, UTC):%d %b %H:%M}"
    minutes = loading.planned_minutes()
    people = sum(visit.completed and not visit.extra and visit.annotator_kind == "human" for visit in visits)
    money = {
        "Hourly pay": status.hourly_pay,
        "Planned hourly pay": hourly_pay(status.pay, minutes),
        "Paid so far": None if status.pay is None else status.pay * people,
        "Total pay when complete": None if status.pay is None else status.pay * status.places,
    }
    show_metrics(
        {
            "Median minutes": UNKNOWN if status.median_minutes is None else f"{status.median_minutes:,.1f}",
            "Planned minutes": UNKNOWN if minutes is None else f"{minutes:,.1f}",
            **{title: _money(amount, status.currency) for title, amount in money.items()},
            "Ended (UTC)" if status.completed >= status.places else "Expected end (UTC)": end,
        }
    )
    if status.stalled is not None:
        st.caption(plain(f"No end is expected: {status.stalled}."))


def _money(amount: Decimal | None, currency: str) -> str:
    return UNKNOWN if amount is None else f"{amount:,.2f} {currency}"


def _curves(visits: list[PersonVisit], status: Status) -> list[Callable[[], None]]:
    """Return what draws the curves: forms handed in and their pay an hour over time, each with its reference line."""
    points = pace_of(visits, status.pay)
    if len(points) < FEWEST_POINTS:
        return []
    handed = [{"at": point.at * 1000, "value": point.handed_in} for point in points]
    drawn: list[Callable[[], None]] = [
        partial(_curve, handed, "Submitted (UTC)", status.places, f"planned: {status.places:,}")
    ]
    if points[-1].hourly_pay is not None:
        paid = [{"at": point.at * 1000, "value": float(point.hourly_pay or 0)} for point in points]
        low = lowest_hourly_pay(status.currency)
        title = f"Hourly pay at the median so far ({status.currency})"
        if low is None:
            drawn.append(partial(_curve, paid, title, None, ""))
        else:
            drawn.append(partial(_curve, paid, title, float(low.amount), f"{low.platform}'s minimum: {low.amount:.2f}"))
    return drawn


def _curve(rows: list[dict[str, float]], title: str, against: float | None, words: str) -> None:
    own = {"title": None, "scale": {"zero": True}, "axis": {"tickCount": 4}}
    axis: dict[str, Any] = {"tickCount": 4, "grid": False}
    if rows[-1]["at"] - rows[0]["at"] < SHORT:
        axis["format"] = "%H:%M:%S"  # else parts of a second stand there without it
    came = {"title": None, "scale": {"type": "utc"}, "axis": axis}
    line = {
        "data": {"values": rows},
        "mark": {"type": "line", "interpolate": "step-after", "color": "#0072B2"},
        "encoding": {
            "x": {"field": "at", "type": "temporal", **came},
            "y": {"field": "value", "type": "quantitative", **own},
            "tooltip": [
                {"field": "at", "timeUnit": "utcyearmonthdatehoursminutes", "type": "temporal", "title": "UTC"},
                {"field": "value", "type": "quantitative", "title": title},
            ],
        },
    }
    layers = [line] if against is None else [line, *_reference_line(against, words)]
    alt = f"{title} over time" + ("" if against is None else f"; {words}")
    st.caption(plain(title))
    st.vega_lite_chart({"layer": layers, "height": 150}, alt=alt)


def _reference_line(value: float, words: str) -> list[dict[str, Any]]:
    """Return a dashed line across a drawing, and its words."""
    line = {"values": [{"value": value, "words": words}]}
    height = {"field": "value", "type": "quantitative"}
    text = {"type": "text", "align": "left", "baseline": "bottom", "dy": -3, "color": "#D55E00"}
    return [
        {"data": line, "mark": {"type": "rule", "strokeDash": [4, 3], "color": "#D55E00"}, "encoding": {"y": height}},
        {"data": line, "mark": text, "encoding": {"x": {"value": 4}, "y": height, "text": {"field": "words"}}},
    ]


def _low_pay(status: Status) -> list[Alarm]:
    """Return an alarm where the pay an hour, at the median or else as planned, is below what a platform allows."""
    low = lowest_hourly_pay(status.currency)
    pay = status.hourly_pay or hourly_pay(status.pay, loading.planned_minutes())
    if low is None or pay is None or pay >= low.amount:
        return []
    which = "planned" if status.hourly_pay is None else "median"
    least = f"{low.platform}'s minimum of {low.amount:.2f}"
    text = f"The {which} hourly pay is {pay} {status.currency}, below {least}: raise the pay."
    return [Alarm(text=text, page="Plan")]


def _unplayable(state: str) -> list[Alarm]:
    """Return an alarm where people say that clips do not play."""
    line = unplayable_line(loading.unplayable(state))
    return [] if line is None else [Alarm(text=sentence(line), page="Submissions")]


def _alarms(alarms: list[Alarm]) -> None:
    """Show what needs attention, each line leading to its page."""
    st.subheader("Needs attention")
    if not alarms:
        st.caption("Nothing needs attention.")
    for alarm in sorted(alarms, key=lambda alarm: not alarm.severe):
        whole = "  \n".join(plain(name) for name in alarm.whole) or None
        link_to(alarm.page, alarm.text, ":material/error:" if alarm.severe else ":material/warning:", help=whole)


def _table(status: Status) -> None:
    if not status.lines:
        st.info("Nobody has started yet.")
        return
    kept = [name for name in COUNTED if name == "begun" or any(getattr(line, name) for line in status.lines)]
    rows = [
        {
            "Source": line.source,
            "Group": line.people_group,
            "Planned": line.places,
            **{COUNT_WORDS[name].capitalize(): getattr(line, name) for name in kept},
        }
        for line in status.lines
    ]
    show_counts(rows)


def _raters(index: CallIndex) -> None:
    if not index.counts:
        return
    st.subheader("Raters")
    rows = []
    for rater in index.raters:
        own = index.counts_of(rater)
        costs = [each.cost for each in own if each.cost is not None]
        rows.append(
            {
                "Rater": rater,
                "Calls": sum(each.calls for each in own),
                "Failed": sum(each.calls for each in own if each.outcome != "ok"),
                "Tokens": sum(each.prompt_tokens + each.completion_tokens for each in own),
                "Cost": float(sum(costs)) if costs else None,
            }
        )
    show_counts(rows)
