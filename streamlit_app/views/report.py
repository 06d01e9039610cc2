"""The report as it would be written, part by part, and the files to take away."""

from __future__ import annotations

import io
import zipfile

import streamlit as st

from analysis.report import render_report
from analysis.results import to_json
from streamlit_app import loading
from streamlit_app.showing import show_sections


def show() -> None:
    """Draw the page."""
    state = loading.state()
    found = loading.analysed(state)
    st.title("Report")
    titles = {name: section.title for name, section in found.sections.items()}
    chosen = st.multiselect("Sections", list(titles), default=list(titles), format_func=titles.__getitem__)
    _downloads(state, tuple(name for name in titles if name in chosen))
    show_sections(found.sections, chosen)


def _downloads(state: str, chosen: tuple[str, ...]) -> None:
    files = _files(state, chosen)
    study = loading.workspace().study.id
    columns = st.columns(4)
    columns[0].download_button("Report (HTML)", files["report.html"], f"{study}-report.html", "text/html")
    columns[1].download_button("Tables (CSV, LaTeX)", _zipped(files), f"{study}-tables.zip", "application/zip")
    columns[2].download_button("Results (JSON)", files["results.json"], f"{study}-results.json", "application/json")
    columns[3].download_button("Report (Markdown)", files["report.md"], f"{study}-report.md", "text/markdown")


@st.cache_data(show_spinner="Writing the report\N{HORIZONTAL ELLIPSIS}", max_entries=4)
def _files(state: str, chosen: tuple[str, ...]) -> dict[str, str]:
    results = loading.analysed(state).results
    return {**render_report(results, only=chosen), "results.json": to_json(results)}


def _zipped(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as folder:
        for name, text in files.items():
            if name.startswith(("tables/", "figures/")):
                folder.writestr(name, text)
    return packed.getvalue()
