"""Where the study stands: what came in, what is under way, and what needs a look."""

from __future__ import annotations

from collections import Counter

import streamlit as st

from analysis.alarms import Alarm, find_alarms
from spa.errors import AnalysisError
from spa.responses.visits import Visit
from streamlit_app import loading
from streamlit_app.queue import NOBODY, Entry
from streamlit_app.showing import plain

EVERY = 15  # seconds between two looks at the store


def show() -> None:
    """Draw the page."""
    st.title("Overview")
    _live()


@st.fragment(run_every=EVERY)
def _live() -> None:
    state = loading.state()
    visits = loading.visits()
    wanted = loading.workspace().store.count_assignments()
    _counts(visits, wanted)
    for alarm in _alarms(state, visits):
        (st.error if alarm.severe else st.warning)(plain(alarm.text))
    _table(visits)
    _raters(state)


def _counts(visits: list[Visit], wanted: int) -> None:
    done = sum(visit.completed and not visit.extra for visit in visits)
    shown = {
        "Handed in": f"{done:,} of {wanted:,}",
        "Under way": f"{sum(not visit.finished and not visit.released for visit in visits):,}",
        "Dropped out": f"{sum(visit.released for visit in visits):,}",
        "Ended early": f"{sum(visit.finished and not visit.completed for visit in visits):,}",
        "Late, kept apart": f"{sum(visit.extra for visit in visits):,}",
    }
    for column, (title, value) in zip(st.columns(len(shown)), shown.items(), strict=True):
        column.metric(title, value)
    st.progress(min(1.0, done / wanted) if wanted else 0.0)


def _alarms(state: str, visits: list[Visit]) -> list[Alarm]:
    try:
        results, profiles = loading.analysed(state).results, loading.profiles(state)
    except AnalysisError:
        results, profiles = None, []
    return find_alarms(results, profiles, visits)


def _table(visits: list[Visit]) -> None:
    """Count visits by source, quota group and status."""
    if not visits:
        st.info("Nobody has come yet.")
        return
    counted: dict[tuple[str, str], Counter[str]] = {}
    for visit in visits:
        entry = Entry(visit=visit, standing=NOBODY, profile=None, rules=())
        counted.setdefault((visit.source, visit.people_group or ""), Counter())[entry.status] += 1
    statuses = list(dict.fromkeys(status for counts in counted.values() for status in counts))
    rows = [
        {"Source": source, "Group": group, **{status: counts[status] for status in statuses}}
        for (source, group), counts in counted.items()
    ]
    st.dataframe(rows, hide_index=True)


def _raters(state: str) -> None:
    counted = loading.rater_calls(state)
    if not counted:
        return
    st.subheader("LLM raters")
    rows = []
    for rater in dict.fromkeys(each.rater for each in counted):
        own = [each for each in counted if each.rater == rater]
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
    st.dataframe(rows, hide_index=True)
