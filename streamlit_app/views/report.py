"""The report as it would be written, part by part, and the files to take away."""

from __future__ import annotations

import io
import zipfile
from datetime import UTC, datetime

import streamlit as st

from analysis.answers.preregistration import frozen_plan
from analysis.heds import datasheets, sheet_files
from analysis.report import render_report
from analysis.report.document import Document
from analysis.report.parts import appendix, short_report
from analysis.report.sections import SECTIONS
from analysis.results.files import to_json
from streamlit_app import loading
from streamlit_app.rendering import show_headline, show_sections

HEADLINE = "answer"  # id of the section


def show() -> None:
    """Draw the page."""
    st.title("Report")
    state = loading.state()
    first = st.empty()  # until the section that opens with the same lines is there
    with first.container():
        show_headline(loading.analysed(state).results)
    with st.spinner("Writing the report\N{HORIZONTAL ELLIPSIS}"):
        found = loading.sections(state, SECTIONS)
    titles = {name: section.title for name, section in found.items()}
    chosen = st.multiselect("Sections", list(titles), default=list(titles), format_func=titles.__getitem__)
    if loading.has_store():
        _frozen()
    _downloads(state, tuple(name for name in titles if name in chosen))
    if HEADLINE in chosen:
        first.empty()
    sections = tuple(found[name] for name in titles if name in chosen)
    document = Document(title="", subtitle="", language="en", sections=sections)
    show_sections({section.id: section for section in short_report(document).sections})
    if left := appendix(document).sections:
        st.header("Appendix")
        show_sections({section.id: section for section in left})


def _downloads(state: str, chosen: tuple[str, ...]) -> None:
    files = _files(state, chosen)
    study = loading.options().name
    columns = st.columns(5)
    columns[0].download_button("Report (HTML)", files["report.html"], f"{study}-report.html", "text/html")
    tables = {name: text for name, text in files.items() if name.startswith(("tables/", "figures/"))}
    columns[1].download_button("Tables (CSV, LaTeX)", _zipped(tables), f"{study}-tables.zip", "application/zip")
    columns[2].download_button("Results (JSON)", files["results.json"], f"{study}-results.json", "application/json")
    columns[3].download_button("Report (Markdown)", files["report.md"], f"{study}-report.md", "text/markdown")
    if loading.has_store():
        columns[4].download_button("Datasheet (HEDS 3.0)", _datasheet(state), f"{study}-heds.zip", "application/zip")


@st.cache_data(show_spinner="Writing the report\N{HORIZONTAL ELLIPSIS}", max_entries=4)
def _files(state: str, chosen: tuple[str, ...]) -> dict[str, str]:
    results = loading.analysed(state).results
    return {**render_report(results, only=chosen, full=True), "results.json": to_json(results)}


@st.cache_data(show_spinner=False, max_entries=4)
def _datasheet(state: str) -> bytes:
    sheets = datasheets(loading.workspace(), loading.analysed(state).results)
    return _zipped(sheet_files(sheets))


def _zipped(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as folder:
        for name, text in files.items():
            folder.writestr(name, text)
    return packed.getvalue()


def _frozen() -> None:
    """Say whether the plan was frozen, and let a reviewer freeze it."""
    store = loading.workspace().store
    frozen = frozen_plan(store)
    if frozen is not None:
        when = datetime.fromtimestamp(frozen.frozen_at, UTC)
        st.caption(
            f"Plan frozen on {when:%Y-%m-%d %H:%M} UTC, SHA-256 {frozen.sha256[:16]}; the report lists what deviates."
        )
        return
    st.caption("The analysis plan has not been frozen; `spa freeze` does it before answers are collected.")
    if loading.options().reviewer is not None and st.button("Freeze the plan now"):
        loading.freeze_plan()
        st.rerun()
