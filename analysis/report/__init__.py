"""From results.json to a report that a reader understands: HTML, Markdown, LaTeX, CSV and figures."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from analysis.figures.plain_text import clean
from analysis.printing.document import Document, Figure, Section, Thumbnails, every_block
from analysis.records.results import Results
from analysis.report.csv_tables import csv_tables
from analysis.report.html import render_html
from analysis.report.latex import latex_tables
from analysis.report.markdown import render_markdown
from analysis.report.methods_page import methods_files
from analysis.report.parts import APPENDIX, REPORT, appendix, full_report, short_report
from analysis.report.pdf import find_browser, print_pdf
from analysis.report.sections import build_document, sections_before
from spa.errors import AnalysisError

__all__ = ["render_report", "report_files", "write_report"]


def write_report(
    results: Results,
    folder: Path,
    *,
    full: bool = False,
    pdf: bool = False,
    browser: Path | None = None,
    thumbnails: Thumbnails | None = None,
    paper: str | None = None,
) -> list[Path]:
    """Write the report of results.

    Parameters
    ----------
    results : Results
        As :func:`analysis.analyse` or :func:`analysis.read_results` returns them.
    folder : Path
        Made where it does not exist. Files of a former report of the same names are replaced.
    full : bool
        Put everything into the report, which then has no appendix.
    pdf : bool
        Write report and appendix as PDF too, which Chromium prints.
    browser : Path, optional
        The Chromium to use, where it is not found by itself.
    thumbnails : callable, optional
        Small pictures of an output (item, system, sample), shown beside what is said of it, as addresses that hold
        them (``data:image/...``).
    paper : str, optional
        Class whose columns tables and figures for a paper fit: "acl", "neurips" or "generic".

    Returns
    -------
    list of Path
        report.html and report.md, appendix.html and appendix.md, methods.md, methods.tex and methods.bib, report.pdf
        and appendix.pdf, then figures/*.svg and tables/*.csv, tables/*.tex; for a paper also paper/*.tex, *.pdf and
        *.svg. The same results give the same bytes, of a PDF of the report apart from its date.

    Raises
    ------
    AnalysisError
        A file cannot be written, or no PDF can be made. Each file is written beside its place and then renamed.
    """
    written = []
    contents = report_files(results, full=full, pdf=pdf, browser=browser, thumbnails=thumbnails, paper=paper)
    for name, content in contents.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, content)
        except OSError as error:
            raise AnalysisError(
                f"{path}: the report cannot be written ({error.strerror or error}); choose another folder"
            ) from error
        written.append(path)
    return written


def report_files(
    results: Results,
    *,
    full: bool = False,
    pdf: bool = False,
    browser: Path | None = None,
    thumbnails: Thumbnails | None = None,
    paper: str | None = None,
    before: Mapping[str, Section | None] | None = None,
) -> dict[str, bytes]:
    """Return the content of every file that :func:`write_report` writes, by its path within the folder.

    ``before`` are sections that were made already (:func:`made_before`).
    """
    command = find_browser(browser) if pdf else ""
    texts = render_report(results, full=full, thumbnails=thumbnails, before=before)
    rendered = {name: text.encode("utf-8") for name, text in texts.items()}
    if pdf:  # all of it before the first file is touched
        for stem, part in _parts(build_document(clean(results)), full=full).items():
            rendered[f"{stem}.pdf"] = print_pdf(render_html(replace(part, beside=""), thumbnails), command)
    if paper is not None:
        from analysis.report.paper import paper_files

        shown: Results = clean(results)
        rendered |= paper_files(shown, full_report(build_document(shown, before or {})), paper)
    return rendered


def render_report(
    results: Results,
    *,
    only: Collection[str] | None = None,
    full: bool = False,
    thumbnails: Thumbnails | None = None,
    before: Mapping[str, Section | None] | None = None,
) -> dict[str, str]:
    """Return the text of every file of the report by its path within the folder.

    Parameters
    ----------
    only : collection of str, optional
        Ids of the sections to show; all of them unless given.
    full : bool
        Put everything into the report, which then has no appendix.
    thumbnails : callable, optional
        As for :func:`write_report`.
    before : mapping, optional
        Sections that were made already (:func:`made_before`).
    """
    shown: Results = clean(results)
    document = build_document(shown, before or {})
    if only is not None:
        kept = tuple(section for section in document.sections if section.id in only)
        document = replace(document, sections=kept)
    everything, parts = full_report(document), _parts(document, full=full)
    return {
        **{f"{stem}.html": render_html(part, thumbnails) for stem, part in parts.items()},
        **{f"{stem}.md": render_markdown(part) for stem, part in parts.items()},
        **methods_files(shown),
        **{f"figures/{figure.name}.svg": figure.svg for figure in _figures(everything)},
        **{f"tables/{name}": text for name, text in sorted({**csv_tables(shown), **latex_tables(everything)}.items())},
    }


def made_before(results: Results) -> dict[str, Section | None]:
    """Make what the report says whatever comes of computing figures again."""
    return sections_before(clean(results))


def _parts(document: Document, *, full: bool) -> dict[str, Document]:
    return {REPORT: full_report(document)} if full else {REPORT: short_report(document), APPENDIX: appendix(document)}


def _figures(document: Document) -> list[Figure]:
    blocks = (block for section in document.sections for block in every_block(section.blocks))
    return [block for block in blocks if isinstance(block, Figure)]


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
