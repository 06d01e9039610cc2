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
    # marks that pdflatex does not know as letters
    "\u2260": r"\ensuremath{\neq}",
    "\u2264": r"\ensuremath{\leq}",
    "\u2265": r"\ensuremath{\geq}",
    "\u2248": r"\ensuremath{\approx}",
    "\u00ab": r"\ensuremath{\ll}",
    "\u00bb": r"\ensuremath{\gg}",
    "\u2190": r"\ensuremath{\leftarrow}",
    "\u2191": r"\ensuremath{\uparrow}",
    "\u2192": r"\ensuremath{\rightarrow}",
    "\u2193": r"\ensuremath{\downarrow}",
    "\u221a": r"\ensuremath{\surd}",
    "\u221e": r"\ensuremath{\infty}",
}
GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho varsigma sigma tau "
    "upsilon phi chi psi omega"
).split()  # from U+03B1 on; capitals are 32 before
CAPITALS = ("gamma", "delta", "theta", "lambda", "xi", "pi", "sigma", "phi", "psi", "omega")  # others look Latin
SPECIAL |= {chr(0x3B1 + place): rf"\ensuremath{{\{name}}}" for place, name in enumerate(GREEK) if name != "omicron"}
SPECIAL |= {chr(0x391 + GREEK.index(name)): rf"\ensuremath{{\{name.title()}}}" for name in CAPITALS}
LETTERS = str.maketrans(SPECIAL)
LATIN = (  # letters beyond ASCII that pdflatex sets in any class, without further packages or encodings
    "\u00a1-\u00aa\u00ac\u00ae-\u00ba\u00bc-\u00cf\u00d1-\u00dd\u00df-\u00ef\u00f1-\u00fd\u00ff-\u0103"
    "\u0106-\u010f\u0112-\u0117\u011a-\u0125\u0128-\u012d\u0130-\u0137\u0139-\u013e\u0141-\u0148\u014c-\u0165"
    "\u0168-\u0171\u0174-\u017e\u0192\u0218-\u021b\u2014\u2020-\u2022\u20ac\u2122"
)
BEYOND_LATIN = re.compile(rf"[^\t\n\r\f\v\x20-\x7e{LATIN}{''.join(map(re.escape, SPECIAL))}]")
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
    head = " & ".join(escape(short_title(column.title)) for column in table.columns) + r" \\"
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


def short_title(title: str) -> str:
    """Return the title of a column as papers abbreviate it, whose columns do not wrap.

    >>> short_title("95% confidence interval (%)")
    '95% CI (%)'
    """
    return title.replace("confidence interval", "CI").replace("Confidence interval", "CI")


def escape_notes(notes: Iterable[str]) -> list[str]:
    """Return notes as one small paragraph under the table."""
    text = " ".join(escape(note) for note in notes)
    return [rf"\par\smallskip{{\footnotesize {text}\par}}"] if text else []


def cell_text(field: Cell) -> str:
    """Return what a printed field says on one line."""
    detail = field.detail if field.detail.startswith("(") else f"({field.detail})"
    return field.brief or (f"{field.text} {detail}" if field.detail else field.text)


def _cell(field: Cell) -> str:
    return _shown(cell_text(field))


@lru_cache(maxsize=REMEMBERED)
def _shown(text: str) -> str:
    shown = escape(text, keep_ends=True)
    return f"{{}}{shown}" if shown.startswith(("[", "*")) else shown  # else taken for an argument of the line break
