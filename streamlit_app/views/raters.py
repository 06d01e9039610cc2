"""The LLM raters: what they cost, where they failed, what they said, and how far they may stand in for people."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import streamlit as st

from spa.raters.request_log import CallCount, CallIndex, RaterCall, read_calls
from streamlit_app import loading
from streamlit_app.rendering import plain, show_sections, without_empty

SECTIONS = ("raters", "llm-vs-people", "calibration", "explanations")
PAGE = 100  # calls shown at once
CALLS, SIDE_BY_SIDE = "Calls and raw answers", "Side by side"
EVERY = "all outcomes"


def show() -> None:
    """Draw the page."""
    state = loading.state()
    st.title("Raters")
    index = loading.rater_calls(state)
    if not loading.has_store():
        _same_answers(state)
        if not show_sections(loading.sections(state, SECTIONS)):
            st.info("No annotator of these tables is an LLM; --llm ID names those that are.")
        return
    if not index.counts:
        st.info("No LLM has been asked yet; `spa rate` does that.")
        return
    parts = [SIDE_BY_SIDE, CALLS]
    part = st.segmented_control("Part", parts, default=SIDE_BY_SIDE, required=True, label_visibility="collapsed")
    if part == CALLS:
        _calls(index)
        return
    st.dataframe(without_empty([_tally(each) for each in index.counts]), hide_index=True)
    _same_answers(state)
    show_sections(loading.sections(state, SECTIONS))


def _tally(each: CallCount) -> dict[str, object]:
    return {
        "Rater": each.rater,
        "Outcome": each.outcome,
        "Calls": each.calls,
        "Prompt tokens": each.prompt_tokens,
        "Answer tokens": each.completion_tokens,
        "Seconds a call": round(each.seconds / each.calls, 2),
        "Cost": None if each.cost is None else float(each.cost),
    }


def _same_answers(state: str) -> None:
    """Warn of a rater that answers the same to everything."""
    kinds = {row.group: row.annotator_kind for row in loading.analysed(state).results.groups}
    for each in loading.profiles(state):
        if kinds.get(each.group) == "llm" and each.same_answer == 1:
            st.warning(f"{plain(each.annotator_id)} gave one and the same answer to everything.")


def _calls(index: CallIndex) -> None:
    columns = st.columns(3)
    rater = columns[0].selectbox("Rater", index.raters)
    own = {each.outcome: each.calls for each in index.counts if each.rater == rater}
    outcome = columns[1].selectbox("Outcome", [EVERY, *own], format_func=lambda name: _counted(name, own))
    numbers = index.of(rater, None if outcome == EVERY else outcome)
    pages = max(1, -(-len(numbers) // PAGE))
    page = int(columns[2].number_input(f"Page of {pages:,}", 1, pages, 1))
    calls = read_calls(loading.workspace().store, numbers[(page - 1) * PAGE : page * PAGE])
    picked = st.dataframe(
        without_empty([_line(call) for call in calls]), hide_index=True, on_select="rerun", selection_mode="single-row"
    )
    rows = picked["selection"]["rows"]
    if rows:
        _call(calls[rows[0]])
    else:
        st.caption("Choose a row to read what was sent and the raw answer.")


def _counted(name: str, own: dict[str, int]) -> str:
    return f"{name} ({sum(own.values()) if name == EVERY else own[name]:,})"


def _line(call: RaterCall) -> dict[str, object]:
    return {
        "When (UTC)": datetime.fromtimestamp(call.begun_at, UTC).strftime("%Y-%m-%d %H:%M:%S"),
        "Form": call.assignment_id,
        "Asked": call.ask,
        "Attempt": call.attempt,
        "Outcome": call.outcome,
        "Seconds": None if call.seconds is None else round(call.seconds, 2),
        "What was wrong": call.facts.get("detail"),
        "Answer": call.said[:200],
    }


def _call(call: RaterCall) -> None:
    """Show one call whole, as text."""
    if call.facts.get("detail"):
        st.warning(plain(call.facts["detail"]))
    sent, came = st.columns(2)
    sent.markdown("**What was sent**")
    sent.code(_indented(call.request), language=None, wrap_lines=True, height=420)
    came.markdown("**What came back**")
    came.code(_indented(call.response or "nothing"), language=None, wrap_lines=True, height=420)


def _indented(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except ValueError:
        return text
