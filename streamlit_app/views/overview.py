"""Where the study stands: what came in, what is under way, and what needs a look."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import streamlit as st

from analysis.monitoring.alarms import find_alarms
from spa.errors import AnalysisError
from spa.responses.status import COUNTED, Status, pace_of, summarise_visits
from spa.responses.visits import PersonVisit
from streamlit_app import loading
from streamlit_app.rendering import plain, show_counts

if TYPE_CHECKING:
    from analysis.monitoring.annotator_profiles import AnnotatorProfile
    from analysis.results.records import Results

EVERY = 15  # seconds between two looks at the store
SHORT = 60_000.0  # milliseconds; simulated annotators are done in less
LOW_PAY = {"GBP": 6.0, "USD": 8.0}  # least pay an hour that Prolific allows
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
        visits, assignments=len(found.store.assignments), people=found.study.people, now=time.time()
    )
    answer = st.container()  # stands here, and is known after what stands below
    _counts(status)
    _pace(status)
    _curves(visits, status)
    alarms = st.container()  # stand here, and are known after what stands below
    _table(status)
    try:
        results, profiles = loading.analysed(state).results, loading.profiles(state)
    except AnalysisError:
        results, profiles = None, []
    with answer:
        _headline(results)
    with alarms:
        _alarms(results, profiles, visits, status)
    _raters(state)


def _counts(status: Status) -> None:
    dropped, extra = (sum(getattr(line, name) for line in status.lines) for name in ("dropped", "extra"))
    shown = {
        "Handed in": f"{status.completed:,} of {status.places:,}",
        "Under way": f"{status.at_work:,}",
        "Still free": f"{status.free:,}",
        "Dropped out": f"{dropped:,}",
        "Late, kept apart": f"{extra:,}",
    }
    _metrics(shown)
    st.progress(min(1.0, status.completed / status.places) if status.places else 0.0)


def _pace(status: Status) -> None:
    end = UNKNOWN if status.expected_end is None else f"{datetime.fromtimestamp(status.expected_end, UTC):%d %b %H:%M}"
    spent = None if status.pay is None else status.pay * status.completed
    budget = None if status.pay is None else status.pay * status.places
    _metrics(
        {
            "Median minutes": UNKNOWN if status.median_minutes is None else f"{status.median_minutes:,.1f}",
            "Planned minutes": UNKNOWN if status.planned_minutes is None else f"{status.planned_minutes:,.1f}",
            "Pay an hour": UNKNOWN if status.hourly_pay is None else f"{status.hourly_pay:,} {status.currency}",
            "Pay so far": UNKNOWN if spent is None else f"{spent:,} of {budget:,} {status.currency}",
            "Ended (UTC)" if status.completed >= status.places else "Expected end (UTC)": end,
        }
    )


def _curves(visits: list[PersonVisit], status: Status) -> None:
    """Draw what was handed in by when, and what it paid an hour, each beside what it is held against."""
    points = pace_of(visits, status.pay)
    if len(points) < FEWEST_POINTS:
        return
    handed, paid = st.columns(2)
    with handed:
        rows = [{"at": point.at * 1000, "value": point.handed_in} for point in points]
        _curve(rows, "Handed in (UTC)", status.places, f"planned: {status.places:,}")
    if points[-1].hourly_pay is None:
        return
    with paid:
        rows = [{"at": point.at * 1000, "value": float(point.hourly_pay or 0)} for point in points]
        low = LOW_PAY.get(status.currency)
        title = f"Pay an hour at the running median ({status.currency})"
        _curve(rows, title, low, "" if low is None else f"least that Prolific allows: {low:.2f}")


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
    layers = [line] if against is None else [line, *_held_against(against, words)]
    told = f"{title} over time" + ("" if against is None else f"; {words}")
    st.caption(plain(title))
    st.vega_lite_chart({"layer": layers, "height": 150}, alt=told)


def _held_against(value: float, words: str) -> list[dict[str, Any]]:
    """Return a dashed line across a drawing, and its words."""
    held = {"values": [{"value": value, "words": words}]}
    height = {"field": "value", "type": "quantitative"}
    text = {"type": "text", "align": "left", "baseline": "bottom", "dy": -3, "color": "#D55E00"}
    return [
        {"data": held, "mark": {"type": "rule", "strokeDash": [4, 3], "color": "#D55E00"}, "encoding": {"y": height}},
        {"data": held, "mark": text, "encoding": {"x": {"value": 4}, "y": height, "text": {"field": "words"}}},
    ]


def _metrics(shown: dict[str, str]) -> None:
    with st.container(horizontal=True, gap="large"):
        for title, value in shown.items():
            st.metric(title, value, width="content")


def _headline(results: Results | None) -> None:
    """Show the four lines that the report opens with."""
    if results is not None and results.headline is not None:
        st.markdown("  \n".join(f"**{title}**: {plain(text)}" for title, text in results.headline.lines()))


def _alarms(
    results: Results | None, profiles: list[AnnotatorProfile], visits: list[PersonVisit], status: Status
) -> None:
    low = LOW_PAY.get(status.currency)
    if low is not None and status.hourly_pay is not None and status.hourly_pay < low:
        paid = f"At the median this pays {status.hourly_pay} {status.currency} an hour"
        st.warning(plain(f"{paid}, below {low:.2f}: raise the pay."))
    for alarm in find_alarms(results, profiles, visits):
        (st.error if alarm.severe else st.warning)(plain(alarm.text))


def _table(status: Status) -> None:
    """Show the counts by source and quota group, without those that are all zero."""
    if not status.lines:
        st.info("Nobody has come yet.")
        return
    kept = [name for name in COUNTED if name == "begun" or any(getattr(line, name) for line in status.lines)]
    rows = [
        {
            "Source": line.source,
            "Group": line.people_group,
            "Planned": line.places,
            **{name.replace("_", " ").capitalize(): getattr(line, name) for name in kept},
        }
        for line in status.lines
    ]
    show_counts(rows)


def _raters(state: str) -> None:
    index = loading.rater_calls(state)
    if not index.counts:
        return
    st.subheader("LLM raters")
    rows = []
    for rater in index.raters:
        own = [each for each in index.counts if each.rater == rater]
        costs = [each.cost for each in own if each.cost is not None]
        rows.append(
            {
                "Rater": rater,
                "Calls": sum(each.calls for each in own),
                "Not answered": sum(each.calls for each in own if each.outcome != "ok"),
                "Tokens": sum(each.prompt_tokens + each.completion_tokens for each in own),
                "Cost": float(sum(costs)) if costs else None,
            }
        )
    show_counts(rows)
