r"""The files of a paper: ``paper.tex`` shows which table and figure is which, and compiles as it is.

Letters that pdflatex cannot set, such as Chinese ones, are declared in each file as stand-ins, "[name 1]".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from itertools import count
from typing import Any, TypeVar

from analysis.figures.pdf import svg_to_pdf
from analysis.printing.document import Document, Figure, Section, Table, every_block
from analysis.printing.levels import correction_name, level
from analysis.printing.live_words import chance_of_error
from analysis.printing.lookup import confidence_words
from analysis.printing.names import Names
from analysis.printing.pictures import everyone
from analysis.records.results import Results
from analysis.report.latex import BEYOND_LATIN, LEFT_OUT, WHITE, cell_text, short_title
from analysis.report.paper.classes import PAPERS, PIXELS, TEX_POINTS, PaperClass, look_of
from analysis.report.paper.layout import LONG_WORD, SHORT, Rows, Sheet, breakable, render_sheet
from analysis.report.paper.main_tables import main_tables
from analysis.report.parts import full_report
from analysis.report.sections import build_document, shown_results
from analysis.results.files import to_json
from analysis.statistics.record import rows_with_fields, with_fields

Value = TypeVar("Value")
NUMBERS = frozenset({int, bool, float, type(None)})
RUN = re.compile(rf"{BEYOND_LATIN.pattern}+")
TAKEN = re.compile(r"\[name (\d+)\]")
SPACES = re.compile("[\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]")
STRAY = "?"  # for a letter that no text held beforehand
MOST_DECLARED = 40  # in the comment of one file


class StandIns:
    """Replaces runs of letters beyond Latin, the same run by the same name wherever it stands.

    Parameters
    ----------
    texts : str
        All that is to be printed. Runs are numbered as they first appear in it; numbers that it holds in such names
        itself are not used.

    >>> stand_ins = StandIns("\u516c\u5f0f, \u9e66\u9e49")
    >>> stand_ins.printable("\u9e66\u9e49 over \u516c\u5f0f")
    '[name 2] over [name 1]'
    """

    def __init__(self, texts: str) -> None:
        taken = set(TAKEN.findall(texts))
        free = (f"[name {number}]" for number in count(1) if str(number) not in taken)
        runs = () if texts.isascii() else dict.fromkeys(RUN.findall(_set_as_one(texts)))
        self._names: dict[str, str] = dict(zip(runs, free, strict=False))

    @property
    def declared(self) -> Mapping[str, str]:
        """What each stand-in stands for."""
        return {name: run for run, name in self._names.items()}

    def printable(self, value: Value) -> Value:
        """Return a text, or all texts of records, without letters beyond Latin."""
        changed: Any = value
        if isinstance(value, str):
            changed = value if value.isascii() else self._text(value)
        elif is_dataclass(value) and not isinstance(value, type):
            changed = with_fields(value, self.printable, NUMBERS)
        elif isinstance(value, Mapping):
            changed = {self.printable(key): self.printable(item) for key, item in value.items()}
        elif isinstance(value, tuple):
            changed = rows_with_fields(value, self.printable, NUMBERS) or tuple(map(self.printable, value))
        return changed  # type: ignore[no-any-return]

    def _text(self, text: str) -> str:
        shown = RUN.sub(self._stand_in, _set_as_one(text))
        return text if shown == text else shown

    def _stand_in(self, found: re.Match[str]) -> str:
        return self._names.get(found[0], STRAY)

    def comments(self, text: str) -> list[str]:
        """Return the lines of LaTeX comments that declare the stand-ins of a text."""
        used = dict.fromkeys(f"[name {number}]" for number in TAKEN.findall(text))
        declared = self.declared
        lines = [f"% {name} stands for {declared[name]}" for name in used if name in declared]
        more = len(lines) - MOST_DECLARED
        return lines if more <= 0 else [*lines[:MOST_DECLARED], f"% and {more} more, which paper.tex lists"]


HEIGHT = re.compile(r' height="([\d.]+)"')  # of an SVG, in pixels
TALLEST = 460.0  # points of a figure, which has its caption under it
FLOATS = 20  # after which a page ends, as LaTeX keeps few waiting
BEGINS = r"\begin{table"
EACH = re.compile(rf"\n(?={re.escape(BEGINS)})")  # parts of a long table are tables, too
COUNTS = "n: "  # begins notes that captions have
MAIN, APPENDIX = "paper/paper.tex", "paper/appendix.tex"


def paper_files(results: Results, document: Document, paper: str) -> dict[str, bytes]:
    """Return the files of a report for a class by their path within the folder.

    Parameters
    ----------
    results : Results
        Without what no format may hold (:func:`analysis.figures.plain_text.clean`).
    document : Document
        The report of these results, with all that it says.
    paper : str
        Key of :data:`PAPERS`.
    """
    kind = PAPERS[paper]
    stand_ins = StandIns(to_json(results))
    if stand_ins.declared:
        results = stand_ins.printable(results)
        document = full_report(build_document(results))
    captions = Captions(results)
    main = {f"paper/{sheet.name}.tex": sheet for sheet in main_tables(shown_results(results))}
    sections = [(section, list(_sheets(section, captions))) for section in document.sections]
    made = {sheet.name: render_sheet(sheet, kind) for _, sheets in sections for sheet in sheets}
    files = {path: render_sheet(sheet, kind) for path, sheet in main.items()}
    files |= {f"tables/{name}.tex": text for name, text in made.items()}
    files[APPENDIX] = _appendix(
        [(section, {sheet.name: made[sheet.name] for sheet in own}) for section, own in sections if own]
    )
    named = {path: _commented(text, stand_ins) for path, text in files.items()}
    figures = list(_figures(document, kind))
    named[MAIN] = _paper(document, kind, list(main.values()), figures, captions, stand_ins)
    named |= {f"paper/{one.figure.name}.svg": one.svg for one in figures if one.svg}
    made_pdf = {f"paper/{one.figure.name}.pdf": svg_to_pdf(one.svg) for one in figures if one.svg}
    return {path: text.encode("utf-8") for path, text in named.items()} | made_pdf


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """A figure of the report as wide as a column, or as the page where it needs that; empty where neither holds it."""

    figure: Figure
    svg: str
    starred: bool


def _figures(document: Document, kind: PaperClass) -> Iterator[_Drawn]:
    for section in document.sections:
        for figure in every_block(section.blocks):
            if isinstance(figure, Figure) and figure.drawing is not None:
                draw = figure.drawing
                tried = ((inches, draw(look=look_of(inches, kind))) for inches in (kind.figure, kind.text))
                inches, svg = next(((one, made) for one, made in tried if made), (kind.text, ""))
                high = float(HEIGHT.findall(svg)[0]) * TEX_POINTS / PIXELS if svg else 0.0
                yield _Drawn(figure=figure, svg=svg if high <= TALLEST else "", starred=inches > kind.column)


def _sheets(section: Section, captions: Captions) -> Iterator[Sheet]:
    for table in every_block(section.blocks):
        if isinstance(table, Table) and table.name not in LEFT_OUT:
            yield as_sheet(table, captions)


def as_sheet(table: Table, captions: Captions) -> Sheet:
    """Return a table of the report as plain text, its caption with all that it rests on."""
    rows = tuple(tuple(WHITE.sub(" ", cell_text(field)).strip() for field in row) for row in table.rows)
    return Sheet(
        name=table.name,
        caption=WHITE.sub(" ", captions.of_table(table)),
        titles=tuple(WHITE.sub(" ", short_title(column.title)) for column in table.columns),
        numeric=tuple(column.numeric for column in table.columns),
        groups=(Rows(heading="", rows=rows),),
        notes=tuple(WHITE.sub(" ", note) for note in (*_explained(table), *table.notes) if not note.startswith(COUNTS)),
    )


def _explained(table: Table) -> list[str]:
    """Say what the columns of a table mean, since a table of a paper stands alone."""
    lines = [f"{short_title(column.title)}: {column.explanation}" for column in table.columns if column.explanation]
    return [f"{'; '.join(lines)}."] if lines else []


def _commented(text: str, stand_ins: StandIns) -> str:
    return "\n".join(["% needs \\usepackage{booktabs}", *stand_ins.comments(text), text])


def _appendix(sections: Sequence[tuple[Section, Mapping[str, str]]]) -> str:
    lines: list[str] = []
    floats = 0
    for section, tables in sections:
        which = ", ".join(rf"\ref{{tab:{name}}}" for name in tables)
        lines += [rf"\subsection*{{{_heading(section.title)}}}", rf"Table{'s' if len(tables) > 1 else ''} {which}."]
        for part in (part for table in tables.values() for part in EACH.split(table)):
            lines.append(part)
            floats += part.startswith(BEGINS)
            if floats >= FLOATS:
                lines.append(r"\clearpage")
                floats = 0
    return "\n".join([*lines, r"\clearpage", ""])


def _heading(title: str) -> str:
    return rf"\raggedright {breakable(WHITE.sub(' ', title), SHORT)}"


def _shown(drawn: _Drawn, captions: Captions) -> list[str]:
    """Return a figure with its caption, or that it is too large for a page."""
    name, caption = drawn.figure.name, breakable(WHITE.sub(" ", captions.of_figure(drawn.figure)), LONG_WORD)
    if not drawn.svg:
        return [rf"\par\noindent\texttt{{{breakable(name, SHORT)}}} does not fit on a page: {caption}\par"]
    kind = "figure*" if drawn.starred else "figure"
    return [
        rf"\begin{{{kind}}}[tbp]",
        rf"\centering\emergencystretch\columnwidth\tolerance9999 \includegraphics{{{name}.pdf}}",
        rf"\caption{{{caption} (\texttt{{{breakable(name, SHORT)}}})}}",
        rf"\label{{fig:{name}}}",
        rf"\end{{{kind}}}",
    ]


def _paper(
    document: Document,
    kind: PaperClass,
    sheets: Sequence[Sheet],
    figures: Sequence[_Drawn],
    captions: Captions,
    stand_ins: StandIns,
) -> str:
    """Return a document of the class's lengths that shows all tables and figures under what they are."""
    declared = [f"% {name} stands for {run}" for name, run in stand_ins.declared.items()]
    lines = [
        f"% What each table and figure of this folder is. Lengths are those of {kind.title}; in a paper:",
        f"% {kind.preamble} \\usepackage{{booktabs,graphicx}}",
        *(
            ["% LaTeX cannot set these letters here, so that other names stand for them:", *declared]
            if declared
            else []
        ),
        rf"\documentclass[{kind.size}pt{',twocolumn' if kind.columns == 2 else ''}]{{article}}",
        r"\usepackage{booktabs,graphicx}",
        rf"\setlength{{\textwidth}}{{{kind.text}in}}",
        *([rf"\setlength{{\columnsep}}{{{kind.text - 2 * kind.column:.4f}in}}"] if kind.columns == 2 else []),
        rf"\setlength{{\oddsidemargin}}{{{(8.5 - kind.text) / 2 - 1:.4f}in}}",
        r"\setlength{\topmargin}{-.5in}\setlength{\headheight}{0pt}\setlength{\headsep}{0pt}",
        r"\setlength{\textheight}{9in}\raggedbottom",
        r"\renewcommand{\topfraction}{.95}\renewcommand{\dbltopfraction}{.95}\renewcommand{\textfraction}{.05}",
        r"\renewcommand{\floatpagefraction}{.8}\renewcommand{\dblfloatpagefraction}{.8}",
        r"\setcounter{topnumber}{9}\setcounter{dbltopnumber}{9}\setcounter{totalnumber}{20}",
        r"\begin{document}\sloppy\emergencystretch\columnwidth",
        rf"\section*{{{_heading(document.title)}}}",
    ]
    if declared:
        lines.append(r"Names in letters that \LaTeX{} cannot set here are written as [name 1] and so on.")
    for place, sheet in enumerate(sheets, 1):
        lines += [
            rf"\subsection*{{\texttt{{{_heading(f'{sheet.name}.tex')}}}}}",
            rf"{breakable(sheet.caption, LONG_WORD)} Table~\ref{{tab:{sheet.name}}}.",
            rf"\input{{{sheet.name}}}",
            *([r"\clearpage"] if place % FLOATS == 0 else []),
        ]
    lines += [r"\clearpage", r"\section*{Figures}"] if figures else []
    for place, drawn in enumerate(figures, 1):
        lines += [*_shown(drawn, captions), *([r"\clearpage"] if place % FLOATS == 0 else [])]
    lines += [r"\clearpage", r"\appendix", r"\section*{Appendix: \texttt{appendix.tex}}", r"\input{appendix}"]
    return "\n".join([*lines, r"\end{document}", ""])


WITHOUT_ANSWERS = frozenset({"systems", "questions", "families", "metrics_signatures"})  # what was asked, and how
BEFORE = ("groups", "exclusions", "missing", "careless", "sign_evidence")  # exclusions: how names of tables begin
P = re.compile(r"(?:^| )p(?: |$)")  # title of a column of p-values
ADJUSTED = frozenset({"Adjusted p", "Crossed p"})
VERDICTS = re.compile("erdict|Do they agree|^Expected$|^Ahead$")  # titles of columns that follow from tests
CORRECTED = re.compile(r"Benjamini-Hochberg|Benjamini-Yekutieli|Holm")
COUNTED = re.compile(r"^n\b")


class Captions:
    """Captions of the tables and figures of a report, each with what it rests on."""

    def __init__(self, results: Results) -> None:
        self._results, self._names = results, Names(results)
        self._everyone = everyone(results, self._names)
        self._before = everyone(results, self._names, before=True)

    def of_figure(self, figure: Figure) -> str:
        """Return the caption of a figure with its units, else with all who answered."""
        return " ".join(filter(None, (figure.caption, figure.units or self._n(self._everyone))))

    def of_table(self, table: Table) -> str:
        """Return the caption of a table with its tests and intervals, and what n is."""
        return " ".join([f"{table.caption}.", *(f"{part}." for part in self._parts(table))])

    def _parts(self, table: Table) -> Iterator[str]:
        yield from filter(None, (self._tests(table),))
        titles = [column.title for column in table.columns]
        if any("onfidence interval" in title for title in titles):
            yield f"Intervals: {confidence_words(self._results)}"
        if table.units:
            yield table.units.rstrip(".")
        elif table.name.startswith(BEFORE):
            yield self._n(self._before, " before exclusions").rstrip(".")
        elif table.name not in WITHOUT_ANSWERS:
            counted = next((column for column in table.columns if COUNTED.match(column.title)), None)
            of = self._everyone
            said = "" if counted is None else f"{counted.explanation or 'as listed'}; of "
            yield f"n: {said}{of}" if of else f"n: {said.removesuffix('; of ') or 'as listed'}"

    def _tests(self, table: Table) -> str:
        """Say how p-values were corrected, at what level verdicts are found."""
        if table.tested:
            return table.tested
        settings, live = self._results.settings, self._results.live
        corrected = [column for column in table.columns if column.title in ADJUSTED]
        if corrected:
            own = CORRECTED.search(" ".join(column.explanation for column in corrected))
            return f"p: adjusted by {own[0] if own else correction_name(settings)}, level {level(settings)}"
        if any(P.search(column.title) for column in table.columns):
            return f"p: not corrected, level {level(settings)}"
        if any(VERDICTS.search(column.title) or column.title == "Decision" for column in table.columns):
            if live is not None:
                return f"Decisions of the study, {chance_of_error(live)}"
            return f"Verdicts: p adjusted by {correction_name(settings)}, level {level(settings)}"
        return ""

    @staticmethod
    def _n(who: str, more: str = "") -> str:
        return f"n: {who}{more}." if who else ""


def _set_as_one(text: str) -> str:
    """Return a text with letters and their accents as one, and every space as one that LaTeX knows."""
    return SPACES.sub(" ", unicodedata.normalize("NFC", text))
