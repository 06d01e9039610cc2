"""What holds of every figure of every report: what a table says is not written again, and a paper can have it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analysis.figures.plain_text import clean
from analysis.printing.document import Figure, Section, Table, every_block
from analysis.records.results import Results
from analysis.report.latex import LEFT_OUT
from analysis.report.paper import PAPERS
from analysis.report.paper.classes import look_of
from analysis.report.paper.files import WITHOUT_ANSWERS, Captions
from analysis.report.parts import full_report
from analysis.report.sections import build_document, shown_results

TEXT = re.compile(r'<text[^>]*font-size="(\d+)px"[^>]*>([^<]*)</text>')
VALUE = re.compile(r"\u2212?\d[\d,]*(?:\.\d+%?|%)")  # whole numbers count rows and columns
AXIS = 11  # pixels of the labels of axes and keys
N = r"\bn(?: \(answers\))?: [\w\u2068]"
TOO_LARGE = ("wins-", "agreement-")  # matrices of more systems or raters than a page is wide


def broken(results: Results) -> list[str]:
    """Return what is wrong with the figures of a report, and with captions in a paper."""
    shown = clean(results)
    document = full_report(build_document(shown))
    captions = Captions(shown_results(shown))
    return [
        fault
        for section in document.sections
        for fault in (*_of_section(section), *_of_captions(section, captions, answered=bool(shown.groups)))
    ]


def _of_captions(section: Section, captions: Captions, *, answered: bool) -> Iterator[str]:
    """Yield captions that lack n, the level of their intervals and tests, or how p was corrected."""
    for block in every_block(section.blocks):
        if isinstance(block, Figure):
            titles, caption = [], captions.of_figure(block)
        elif isinstance(block, Table) and block.name not in LEFT_OUT:
            titles, caption = [column.title for column in block.columns], captions.of_table(block)
        else:
            continue
        wanted = [N] if answered and block.name not in WITHOUT_ANSWERS else []
        tested = any(re.search(r"\bp\b|erdict", title) for title in titles)
        wanted += [r"level \.\d|Decisions of the study", r"adjusted|not corrected|Decisions"] if tested else []
        wanted += [r"\d%"] if any("onfidence interval" in title for title in titles) else []
        lacking = [words for words in wanted if not re.search(words, caption)]
        if lacking:
            yield f"caption of {block.name} lacks {lacking}: {caption}"
        if ".." in caption or ";." in caption or len(re.findall(N, caption)) > 1:
            yield f"caption of {block.name}: {caption}"


def figures_of(results: Results) -> list[Figure]:
    """Return all figures of a report."""
    document = full_report(build_document(clean(results)))
    blocks = (block for section in document.sections for block in every_block(section.blocks))
    return [block for block in blocks if isinstance(block, Figure)]


def values(svg: str) -> list[str]:
    """Return the values that a figure writes; labels of axes are none."""
    return [words for size, words in TEXT.findall(svg) if int(size) != AXIS and VALUE.fullmatch(words)]


def _of_section(section: Section) -> Iterator[str]:
    blocks = every_block(section.blocks)
    cells = {
        field.text.rstrip("%") for table in blocks if isinstance(table, Table) for row in table.rows for field in row
    }
    for figure in blocks:
        if not isinstance(figure, Figure):
            continue
        twice = [value for value in values(figure.svg) if value.rstrip("%") in cells]
        if twice:
            yield f"{figure.name} writes {twice[:3]}, which a table beside it holds"
        if figure.drawing is None:
            yield f"{figure.name} has no form for a paper"
            continue
        for paper in ("acl", "neurips"):
            kind = PAPERS[paper]
            tried = (figure.drawing(look=look_of(inches, kind)) for inches in (kind.figure, kind.text))
            svg = next(filter(None, tried), "")
            if not svg and not figure.name.startswith(TOO_LARGE):
                yield f"{figure.name} does not fit {paper}"
            if "currentColor" in svg:
                yield f"{figure.name} takes its colour from a page that a paper lacks"
