"""Who decided, looked behind the labels and took files away, and when: both logs, which are only added to."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import streamlit as st

from analysis.monitoring.short_names import short_names
from spa.responses.dashboard_log import LogLine
from spa.responses.decisions import ACTIONS
from spa.tables.formulas import without_formulas
from streamlit_app import downloads, loading
from streamlit_app.queue import action_words


def show() -> None:
    """Draw the page."""
    st.title("Log")
    st.caption("Every decision, every download and who asked to see the systems. Nothing is changed or removed here.")
    lines = loading.log_lines()
    if not lines:
        st.info("Nothing has been decided, downloaded or unblinded yet.")
        return
    names = {visit.submission_id: visit.annotator_id for visit in loading.visits()}
    short = short_names([*names.values()])
    rows = [
        {
            "When (UTC)": line.when[:16].replace("T", " "),
            "Who": line.who,
            "What": _words(line),
            "Annotator": short.get(names.get(line.submission_id or "", ""), ""),
            "Detail": line.detail or "",
        }
        for line in reversed(lines)
    ]
    st.dataframe(rows, hide_index=True, height=min(600, 36 * (len(rows) + 1)))
    downloads.offer("Log (CSV)", lambda: log_csv(lines), f"{loading.options().name}-log.csv", "text/csv")


def _words(line: LogLine) -> str:
    if line.decision is None:
        return line.action
    action = next(action for action in ACTIONS if action == line.action)
    return f"{line.decision}. {action_words(action)}"


def log_csv(lines: Sequence[LogLine]) -> str:
    """Return both logs as a CSV table, oldest first, without cells that a spreadsheet would run."""
    rows = [(line.when, line.who, line.action, line.submission_id, line.decision, line.detail) for line in lines]
    columns = {"when": pl.String, "who": pl.String, "action": pl.String, "submission_id": pl.String}
    schema = pl.Schema({**columns, "decision": pl.Int64, "detail": pl.String})
    return without_formulas(pl.DataFrame(rows, schema=schema, orient="row")).write_csv()
