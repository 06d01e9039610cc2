"""The raters: what they cost, where they failed, what they said, and whether they can replace people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import streamlit as st

from analysis.answers.columns import OVERALL
from analysis.printing.words import percent
from analysis.raters.rater_table import RaterRow
from analysis.records.results import Results
from spa.errors import AnalysisError
from spa.journal import STARTED
from spa.raters.request_log import CallCount, CallIndex, RaterCall, read_calls
from streamlit_app import blinding, loading, page_sections
from streamlit_app.rendering import plain, show_counts, show_sections, show_text, without_empty

PAGE = 100  # calls shown at once
CALLS, SIDE_BY_SIDE, CONTAMINATION = "Calls and raw answers", "Side by side", "Contamination"
EVERY = "all outcomes"
SOURCES = {"preferences": "SPA", "ratings": "ratings", "choices": "choices"}
EXPLAINED = {
    "Failed": "calls without a usable reply, repeated ones included",
    "Missing": "share of the questions without a usable answer",
    **{
        f"Tau, {words}": "Kendall's tau between its order of the systems and that of people; 1 means the same order"
        for words in SOURCES.values()
    },
    "Contradictions": "forms on which the two directions of a pair add up to more than allowed, out of all forms",
    "Can replace people": "criteria on which the alternative-annotator test passes",
}
HELP = {
    name: st.column_config.NumberColumn(help=words, format="%.2f")
    if name.startswith("Tau")
    else st.column_config.Column(help=words)
    for name, words in EXPLAINED.items()
}


def show() -> None:
    """Draw the page."""
    st.title("Raters")
    state = loading.state()
    index = loading.rater_calls(state)
    try:
        results = loading.analysed(state).results
    except AnalysisError:  # every call failed so far
        if not index.counts:
            raise
        results = None
    hidden = results is None or blinding.are_hidden()
    rows = compare_raters(results, index, with_results=not hidden)
    known = {} if hidden else loading.sections(state, page_sections.CONTAMINATION)
    if not rows and not show_sections(known):
        st.info(
            "No LLM has been asked yet; `spa rate` does that."
            if loading.has_store()
            else "No annotator of these tables is an LLM; --llm ID names those that are."
        )
    if not rows:
        return
    parts = [SIDE_BY_SIDE, *([CALLS] if index.counts else []), *([CONTAMINATION] if known else [])]
    part = st.segmented_control("Part", parts, default=SIDE_BY_SIDE, required=True, label_visibility="collapsed")
    if part == CALLS:
        _calls(index, st.selectbox("Rater", index.raters))
        return
    if part == CONTAMINATION:
        show_sections(known)
        return
    _show_rehearsed(results)
    if not index.counts:
        show_counts(rows)
    elif (chosen := _choose(rows)) in index.raters:
        _calls(index, chosen)
        return
    if results is not None:
        _same_answers(state, results)
        if not blinding.may_show():
            return
        show_sections(loading.sections(state, page_sections.RATERS))


def _choose(rows: Sequence[dict[str, object]]) -> str:
    """Show the table and return the rater of the row that was chosen, "" while none is."""
    picked = st.dataframe(rows, hide_index=True, on_select="rerun", selection_mode="single-row", column_config=HELP)
    for number in picked["selection"]["rows"]:
        return str(rows[number]["Rater"])
    st.caption("Choose a row to read the calls of that rater. Details of all raters follow below.")
    return ""


def compare_raters(results: Results | None, index: CallIndex, *, with_results: bool = True) -> list[dict[str, object]]:
    """Return a row for every LLM and variant: what it cost, what came of it, how far it agrees with people.

    How far they agree is a result, which is left out unless ``with_results``.
    """
    answered = [row for row in results.raters if row.annotator_kind == "llm"] if results is not None else []
    tests = results.llm_vs_people.alternative_annotator if results is not None else ()
    simulated = {row.group for row in results.groups if row.simulated} if results is not None else set()
    rows = []
    for rater in dict.fromkeys((*index.raters, *(row.group for row in answered))):
        calls = index.counts_of(rater)
        own = [row for row in answered if row.group == rater]
        made, costs = sum(each.calls for each in calls), [each.cost for each in calls if each.cost is not None]
        asked, missing = sum(row.n_asked for row in own), sum(row.n_missing for row in own)
        forms = next((row for row in own if row.n_forms is not None), None)
        passes = [row.passes for row in tests if row.group == rater and row.passes is not None]
        rows.append(
            {
                "Rater": rater,
                "Calls": made or None,
                "Failed": sum(each.calls for each in calls if each.outcome not in ("ok", STARTED)) if made else None,
                "Answers": asked - missing if own else None,
                "Missing": percent(missing / asked) if asked else None,
                **{f"Tau, {words}": _tau(own, source) if with_results else None for source, words in SOURCES.items()},
                "Contradictions": None if forms is None else f"{forms.n_inconsistent} of {forms.n_forms}",
                "Can replace people": None
                if not passes or rater in simulated or not with_results
                else f"{sum(passes)} of {len(passes)} criteria",
                "Seconds a call": round(sum(each.seconds for each in calls) / made, 2) if made else None,
                "Tokens": sum(each.prompt_tokens + each.completion_tokens for each in calls) if made else None,
                "Cost": float(sum(costs)) if costs else None,
            }
        )
    return without_empty(rows)


def _show_rehearsed(results: Results | None) -> None:
    """Say which raters are simulated; what they answer says nothing of an LLM."""
    simulated = [row.group for row in results.groups if row.simulated] if results is not None else []
    if simulated:
        st.caption(plain(f"Simulated (no LLM was asked): {', '.join(simulated)}."))


def _tau(rows: Sequence[RaterRow], source: str) -> float | None:
    """Return Kendall's tau with people over systems, of the question asked overall or else of the first criterion."""
    own = sorted((row for row in rows if row.source == source), key=lambda row: row.criterion != OVERALL)
    return next((round(row.system_kendall, 2) for row in own if row.system_kendall is not None), None)


def _tally(each: CallCount) -> dict[str, object]:
    return {
        "Outcome": each.outcome,
        "Calls": each.calls,
        "Prompt tokens": each.prompt_tokens,
        "Answer tokens": each.completion_tokens,
        "Seconds a call": round(each.seconds / each.calls, 2),
        "Cost": None if each.cost is None else float(each.cost),
    }


def _same_answers(state: str, results: Results) -> None:
    """Warn of a rater that answers the same to everything."""
    kinds = {row.group: row.annotator_kind for row in results.groups}
    for each in loading.profiles(state):
        if kinds.get(each.group) == "llm" and each.same_answer == 1:
            st.warning(f"{plain(each.annotator_id)} gave the same answer to every question.")


def _calls(index: CallIndex, rater: str) -> None:
    st.subheader(plain(rater))
    show_counts([_tally(each) for each in index.counts_of(rater)])
    columns = st.columns(2)
    own = {each.outcome: each.calls for each in index.counts_of(rater)}
    outcome = columns[0].selectbox("Outcome", [EVERY, *own], format_func=lambda name: _counted(name, own))
    numbers = index.of(rater, None if outcome == EVERY else outcome)
    pages = max(1, -(-len(numbers) // PAGE))
    page = int(columns[1].number_input(f"Page of {pages:,}", 1, pages, 1))
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
        "Questions": call.ask,
        "Attempt": call.attempt,
        "Outcome": call.outcome,
        "Seconds": None if call.seconds is None else round(call.seconds, 2),
        "Problem": call.facts.get("detail"),
        "Answer": call.reply_text[:200],
    }


def _call(call: RaterCall) -> None:
    if call.facts.get("detail"):
        st.warning(plain(call.facts["detail"]))
    texts = {"What was sent": call.request, "What came back": call.response or "nothing"}
    for column, (title, text) in zip(st.columns(2), texts.items(), strict=True):
        with column:
            st.markdown(f"**{title}**")
            show_text(_indented(text))


def _indented(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except ValueError:
        return text
