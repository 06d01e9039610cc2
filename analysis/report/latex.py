r"""Tables for a paper: booktabs, ready to be taken in with ``\input``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from analysis.printing.document import REMEMBERED, Cell, Document, Table, every_block

LEFT_OUT = ("exclusion_evidence", "input_files", "dropped_items")  # for checking, not for a paper
LONGEST = 40  # rows that fit on a page
SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"\textbar{}",
    '"': "''",
    "`": r"\textasciigrave{}",
    "\u2212": r"$-$",
    "\u00a0": "~",
    "\u2013": "--",
    "\u2018": "`",
    "\u2019": "'",
    "\u201c": "``",
    "\u201d": "''",
    "\u2026": r"\ldots{}",
    "\u2068": "",
    "\u2069": "",
}
LETTERS = str.maketrans(SPECIAL)
BEYOND_LATIN = re.compile("[^\x00-\u024f]")
WHITE = re.compile(r"[ \t\n\r\f\v]+")  # a non-breaking space stays


def escape(text: str, *, keep_ends: bool = False) -> str:
    r"""Return text that LaTeX prints letter by letter, on one line.

    >>> print(escape(r"50% of a_b \x {y}"))
    50\% of a\_b \textbackslash{}x \{y\}
    """
    line = WHITE.sub(" ", text)
    return (line if keep_ends else line.strip()).translate(LETTERS)


def latex_tables(document: Document) -> dict[str, str]:
    """Return the LaTeX of each table by its file name."""
    tables = (block for section in document.sections for block in every_block(section.blocks))
    return {
        f"{table.name}.tex": render_latex(table)
        for table in tables
        if isinstance(table, Table) and table.name not in LEFT_OUT
    }


def render_latex(table: Table) -> str:
    r"""Return one ``table`` environment; a ``longtable`` where the rows do not fit on a page."""
    long = len(table.rows) > LONGEST
    shape = "".join("r" if column.numeric else "l" for column in table.columns)
    head = " & ".join(escape(_short(column.title)) for column in table.columns) + r" \\"
    rows = [" & ".join(_cell(field) for field in row) + r" \\" for row in table.rows]
    title = [rf"\caption{{{escape(table.caption)}.}}", rf"\label{{tab:{table.name}}}"]
    notes = escape_notes(table.notes)
    comments = [f"% needs \\usepackage{{booktabs}}{' and ' + chr(92) + 'usepackage{longtable}' if long else ''}"]
    if any(BEYOND_LATIN.search(line) for line in (head, *rows)):
        comments.append("% holds letters beyond Latin: compile with XeLaTeX or LuaLaTeX and a font that has them")
    if long:
        body = [
            rf"\begin{{longtable}}{{{shape}}}",
            "\n".join(title) + r" \\",
            rf"\toprule {head} \midrule \endhead",
            *rows,
            r"\bottomrule",
            r"\end{longtable}",
            *notes,
        ]
    else:
        body = [
            r"\begin{table}",
            r"\centering\small",
            *title,
            rf"\begin{{tabular}}{{{shape}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            *notes,
            r"\end{table}",
        ]
    return "\n".join([*comments, *body]) + "\n"


def _short(title: str) -> str:
    """Return the title of a column as papers abbreviate it, whose columns do not wrap.

    >>> _short("95% confidence interval (%)")
    '95% CI (%)'
    """
    return title.replace("confidence interval", "CI").replace("Confidence interval", "CI")


def escape_notes(notes: Iterable[str]) -> list[str]:
    """Return notes as one small paragraph under the table."""
    text = " ".join(escape(note) for note in notes)
    return [rf"\par\smallskip{{\footnotesize {text}\par}}"] if text else []


def _cell(field: Cell) -> str:
    return _shown(field.brief or (f"{field.text} ({field.detail})" if field.detail else field.text))


@lru_cache(maxsize=REMEMBERED)
def _shown(text: str) -> str:
    shown = escape(text, keep_ends=True)
    return f"{{}}{shown}" if shown.startswith(("[", "*")) else shown  # else taken for an argument of the line break
