"""The report as it would be written, part by part, and the files to take away."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime

import streamlit as st

from analysis.answers.preregistration import frozen_plan
from analysis.heds import datasheets, sheet_files
from analysis.printing.document import Document
from analysis.report import render_report
from analysis.report.parts import appendix, short_report
from analysis.report.sections import section_ids
from analysis.results.files import to_json
from streamlit_app import blinding, downloads, loading
from streamlit_app.rendering import show_headline, show_sections

HEADLINE = "answer"  # id of the section


def show() -> None:
    """Draw the page."""
    st.title("Report")
    state = loading.state()
    results = loading.analysed(state).results
    if loading.has_store():
        _frozen()
    if not blinding.may_show():
        return
    first = st.empty()
    with first.container():
        show_headline(results)
        st.info("Writing the report\N{HORIZONTAL ELLIPSIS}", icon="spinner")
    found = loading.sections(state, section_ids())
    titles = {name: section.title for name, section in found.items()}
    chosen = st.multiselect("Sections", list(titles), default=list(titles), format_func=titles.__getitem__)
    _downloads(state, tuple(name for name in titles if name in chosen))
    first.empty()
    if HEADLINE not in chosen:  # which opens with the same lines
        with first:
            show_headline(results)
    sections = tuple(found[name] for name in titles if name in chosen)
    document = Document(title="", subtitle="", language="en", sections=sections)
    show_sections({section.id: section for section in short_report(document).sections})
    if left := appendix(document).sections:
        st.header("Appendix")
        show_sections({section.id: section for section in left})


def _downloads(state: str, chosen: tuple[str, ...]) -> None:
    """Offer the files, each of which is written when it is asked for."""
    offered: list[tuple[str, str, str, Callable[[], str | bytes]]] = [
        ("Report (HTML)", "report.html", "text/html", lambda: _files(state, chosen)["report.html"]),
        ("Tables (CSV, LaTeX)", "tables.zip", "application/zip", lambda: _tables(state, chosen)),
        ("Results (JSON)", "results.json", "application/json", lambda: to_json(loading.analysed(state).results)),
        ("Report (Markdown)", "report.md", "text/markdown", lambda: _files(state, chosen)["report.md"]),
    ]
    if loading.has_store():
        offered.append(("Datasheet (HEDS 3.0)", "heds.zip", "application/zip", lambda: _datasheet(state)))
    for column, (label, name, kind, make) in zip(st.columns(5), offered, strict=False):
        file = f"{loading.options().name}-{name}"
        downloads.offer(label, make, file, kind, within=column)


@st.cache_data(show_spinner=False, max_entries=4)
def _files(state: str, chosen: tuple[str, ...]) -> dict[str, str]:
    return render_report(loading.analysed(state).results, only=chosen, full=True)


def _tables(state: str, chosen: tuple[str, ...]) -> bytes:
    files = _files(state, chosen)
    return _zipped({name: text for name, text in files.items() if name.startswith(("tables/", "figures/", "methods."))})


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
    store = loading.workspace().store
    frozen = frozen_plan(store)
    if frozen is not None:
        when = datetime.fromtimestamp(frozen.frozen_at, UTC)
        st.caption(
            f"Plan frozen on {when:%Y-%m-%d %H:%M} UTC, SHA-256 {frozen.sha256[:16]}; the report lists what deviates."
        )
        return
    st.caption("The analysis plan has not been frozen; `spa freeze` does it before answers are collected.")
    if loading.reviewer() is not None and st.button("Freeze the plan now"):
        loading.freeze_plan()
        st.rerun()
