r"""Tables that fit a class: how wide each column may be, where rows break, which rows fit on a page.

LaTeX says only afterwards what was too wide. Widths are therefore reckoned beforehand, of each letter the widest of
Computer Modern and Times, upright and italic, so that a table that fits as reckoned fits in either.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from analysis.report.latex import escape
from analysis.report.paper.classes import TEX_POINTS, PaperClass, rounded_down

# em of one size, as TeX measures them at 10 pt
LETTERS: dict[str, float] = {
    letter: width
    for width, letters in {
        0.28: "l",
        0.32: ",.ij|",
        0.34: "!':;f \u00a0",
        0.36: "-",
        0.40: "I[]t",
        0.42: "()s",
        0.44: "r",
        0.46: "cez",
        0.52: "$*/0123456789?\\`ago{}\u2013\u2018\u2019",
        0.54: "Jkqvxy",
        0.56: '"bdhpu\u201c\u201d',
        0.58: "Sn",
        0.62: "Z^~",
        0.64: "L",
        0.66: "F",
        0.70: "EP",
        0.72: "B",
        0.74: "CRTw",
        0.76: "AHNUVXY",
        0.78: "&+<=>DKOQ_\u2212\u2260\u2264\u2265",
        0.80: "G",
        0.84: "#%m",
        0.92: "M",
        0.94: "@",
        1.04: "W",
    }.items()
    for letter in letters
}
WIDEST = 1.05  # of letters that are not listed
EM = {9: 9.3, 8: 8.55, 7: 8.0}  # by size of letters: small ones of Computer Modern are wider than their size
SIZES = tuple(EM)  # points of the letters of tables, those preferred first
LEADING = 1.2  # points between lines, of one of letters
GAP = 8.0  # points between two columns
RULES = 22.0  # points that the rules of a table take
PAGE = 515.0  # points of a page that a table may take; the least of the classes' is 541
TITLE = 13.6  # points of a line of a caption, in a class of 11 points
BREAKS = "/_-.:,;)]|"  # after which a long word may be broken
PIECE = 6  # letters after which it may be broken else
SHORT = 8.0  # em of words that are never broken
LONG_WORD = 18.0  # em of a word that may be broken in a caption; a column has 20 and more
FEW = 4  # columns of a table that is kept within a column of the class where that can be
NARROWEST = 40.0  # points of a column whose texts are broken over lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows under a heading of their own; ``""`` for none."""

    heading: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table as plain text, before it is laid out."""

    name: str  # stem of its file and end of its label
    caption: str
    titles: tuple[str, ...]
    numeric: tuple[bool, ...]
    groups: tuple[Rows, ...]
    notes: tuple[str, ...] = ()

    @property
    def every_row(self) -> list[tuple[str, ...]]:
        """All rows in order."""
        return [row for group in self.groups for row in group.rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How wide the columns are, in points; those that are ``broken`` have texts over several lines."""

    size: int
    starred: bool
    widths: tuple[float, ...]
    broken: tuple[bool, ...]

    @property
    def total(self) -> float:
        """Width of the table."""
        return sum(self.widths) + GAP * (len(self.widths) - 1)


@lru_cache(maxsize=1 << 14)
def ems(text: str) -> float:
    """Return how wide a line of text is at most, in units of the size of its letters."""
    return sum(LETTERS.get(one) or _of_accented(one) for one in text)


def _of_accented(letter: str) -> float:
    base = unicodedata.normalize("NFD", letter)[0]
    return LETTERS.get(base, WIDEST) + 0.05


@lru_cache(maxsize=1 << 14)
def pieces(word: str) -> tuple[str, ...]:
    """Return the parts between which a word may be broken.

    >>> pieces("gpt-4/temperature-0.7"), pieces("temperature")
    (('gpt-', '4/', 'temper', 'ature-', '0.', '7'), ('temperature',))
    """
    if ems(word) <= SHORT:
        return (word,)
    found, start = [], 0
    for place, letter in enumerate(word, 1):
        if place < len(word) and (place - start >= PIECE or letter in BREAKS):
            found.append(word[start:place])
            start = place
    return (*found, word[start:])


def _lines(text: str, width: float) -> list[str]:
    """Break a text into lines of at most a width, in em; words only where they are wider."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and ems(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        elif ems(word) <= width:
            lines.append(word)
        else:
            for number, piece in enumerate(pieces(word)):
                if number and lines and ems(lines[-1] + piece) <= width:
                    lines[-1] += piece
                else:
                    lines.append(piece)
    return lines or [""]


def _least(texts: Sequence[str]) -> float:
    """Return the em of the widest part that cannot be broken."""
    return max((ems(piece) for text in set(texts) for word in text.split(" ") for piece in pieces(word)), default=0.0)


def lay_out(sheet: Sheet, paper: PaperClass) -> list[tuple[tuple[int, ...], Layout]]:
    """Return which columns stand side by side, and how; several times where they do not fit beside each other.

    One column of the class where nothing has to be broken, or little in a table of a few columns; else both.
    """
    column, text = rounded_down(paper.column, TEX_POINTS), rounded_down(paper.text, TEX_POINTS)
    columns = list(zip(*sheet.every_row, strict=True)) or [()] * len(sheet.titles)
    everything = tuple(range(len(sheet.titles)))
    few = len(everything) <= FEW
    tried = [(column, False, SIZES[:2], False), (column, False, SIZES[:1] if few else (), True)]
    tried += [(text, True, SIZES[:1], False), (text, True, SIZES, True)]
    for width, starred, sizes, broken in tried:
        for size in sizes:
            found = _widths(sheet, columns, everything, width, size, broken=broken, starred=starred)
            if found is not None:
                return [(everything, found)]
    return _apart(sheet, columns, text)


def _widths(
    sheet: Sheet,
    columns: Sequence[Sequence[str]],
    places: Sequence[int],
    width: float,
    size: int,
    *,
    broken: bool,
    starred: bool,
) -> Layout | None:
    """Return the columns' widths at a size; ``None`` where they are wider than a width together."""
    room = width - GAP * (len(places) - 1)
    own = [columns[place] for place in places]
    heads = [max(map(ems, sheet.titles[place].split(" "))) if not broken else _least([sheet.titles[place]])
             for place in places]  # fmt: skip
    whole = [max([head, *map(ems, set(texts))]) * EM[size] + 0.5 for head, texts in zip(heads, own, strict=True)]
    if sum(whole) <= room:
        return Layout(size=size, starred=starred, widths=tuple(whole), broken=(False,) * len(places))
    if not broken:
        return None
    least = [
        min(one, max(_least(texts), head) * EM[size] + 0.5) for one, texts, head in zip(whole, own, heads, strict=True)
    ]
    few = len(places) <= FEW
    least = [
        one if sheet.numeric[place] and few else max(narrow, min(one, NARROWEST))
        for place, one, narrow in zip(places, whole, least, strict=True)
    ]
    left = room - sum(least)
    if left < 0 or (not starred and least[0] + left < 60):
        return None
    widths = _shared(least, whole, left)
    return Layout(
        size=size,
        starred=starred,
        widths=tuple(widths),
        broken=tuple(given < one - 0.01 for given, one in zip(widths, whole, strict=True)),
    )


def _shared(least: Sequence[float], whole: Sequence[float], left: float) -> list[float]:
    """Share what is left among columns that want more: narrow ones get all that they want, the others the rest."""
    widths = list(least)
    open_ = sorted(range(len(least)), key=lambda place: whole[place] - least[place])
    for number, place in enumerate(open_):
        more = min(whole[place] - least[place], left / (len(open_) - number))
        widths[place] += more
        left -= more
    return widths


def _apart(sheet: Sheet, columns: Sequence[Sequence[str]], width: float) -> list[tuple[tuple[int, ...], Layout]]:
    """Return as many columns side by side as fit, the first one, which heads the rows, each time."""
    found: list[tuple[tuple[int, ...], Layout]] = []
    rest = list(range(1, len(sheet.titles)))
    while rest:
        for many in range(len(rest), 0, -1):
            places = (0, *rest[:many])
            layout = _widths(sheet, columns, places, width, SIZES[1], broken=True, starred=True)
            if layout is not None:
                break
        else:
            raise ValueError(f"table {sheet.name!r}: two columns do not fit side by side")
        found.append((places, layout))
        rest = rest[many:]
    return found


def render_sheet(sheet: Sheet, paper: PaperClass) -> str:
    r"""Return a table as LaTeX floats that fit the class: ``table``, ``table*``, or several of them."""
    floats: list[str] = []
    for places, layout in lay_out(sheet, paper):
        for part in _pages(sheet, places, layout, paper):
            floats.append(_float(sheet, places, layout, part, again=bool(floats)))
    return "\n".join(floats) + "\n"


def _pages(sheet: Sheet, places: Sequence[int], layout: Layout, paper: PaperClass) -> list[list[Rows]]:
    """Part the rows so that each part fits on a page with its caption and notes."""
    line = layout.size * LEADING
    wide = rounded_down(paper.text if layout.starred else paper.column, TEX_POINTS)
    around = TITLE * len(_lines(sheet.caption, 0.9 * wide / paper.size)) + RULES + 30
    around += line * (max(len(_head(sheet, place, layout, number)) for number, place in enumerate(places)) + 1)
    around += 11 * len(_lines(" ".join(sheet.notes), 0.95 * wide / 8)) if sheet.notes else 0
    room = max(PAGE - around, 120.0)
    parts: list[list[Rows]] = [[]]
    used = 0.0
    for group in sheet.groups:
        kept: list[tuple[str, ...]] = []
        heading = line * len(_lines(group.heading, layout.total / EM[layout.size])) + 4 if group.heading else 0.0
        used += heading
        for row in group.rows:
            high = line * max(
                len(_lines(row[place], layout.widths[number] / EM[layout.size])) if layout.broken[number] else 1
                for number, place in enumerate(places)
            )
            if used + high > room and (kept or parts[-1]):
                if kept:
                    parts[-1].append(Rows(heading=group.heading, rows=tuple(kept)))
                parts.append([])
                kept, used = [], heading
            kept.append(row)
            used += high
        parts[-1].append(Rows(heading=group.heading, rows=tuple(kept)))
    return parts


def _head(sheet: Sheet, place: int, layout: Layout, number: int) -> list[str]:
    return _lines(sheet.titles[place], layout.widths[number] / EM[layout.size])


def _float(sheet: Sheet, places: Sequence[int], layout: Layout, groups: Sequence[Rows], *, again: bool) -> str:
    kind = "table*" if layout.starred else "table"
    shape = "@{}" + "".join(_shape(sheet, layout, number, place) for number, place in enumerate(places)) + "@{}"
    heads = [_title(sheet, place, layout, number) for number, place in enumerate(places)]
    caption = breakable(sheet.caption, LONG_WORD)
    lines = [
        rf"\begin{{{kind}}}[tbp]",
        r"\centering\emergencystretch\columnwidth\tolerance9999",
        rf"\addtocounter{{table}}{{-1}}\caption{{{caption} (continued)}}" if again else rf"\caption{{{caption}}}",
        *([] if again else [rf"\label{{tab:{sheet.name}}}"]),
        rf"\fontsize{{{layout.size}}}{{{layout.size * LEADING:g}}}\selectfont",
        rf"\setlength{{\tabcolsep}}{{{GAP / 2:g}pt}}",
        rf"\begin{{tabular}}{{{shape}}}",
        r"\toprule",
        " & ".join(heads) + r" \tabularnewline",
        r"\midrule",
    ]
    for number, group in enumerate(groups):
        if group.heading:
            lines += [r"\addlinespace"] if number else []
            wide = f"p{{{layout.total:.2f}pt}}" if ems(group.heading) * EM[layout.size] > layout.total else "l"
            shown = breakable(group.heading, layout.total / EM[layout.size])
            ragged = r"\raggedright " if wide != "l" else ""
            span = rf"\multicolumn{{{len(places)}}}{{@{{}}{wide}@{{}}}}{{{ragged}\textit{{{shown}}}}} \tabularnewline"
            lines.append(span)
        lines += [
            " & ".join(_field(row[place], layout, number, sheet.numeric[place]) for number, place in enumerate(places))
            + r" \tabularnewline"
            for row in group.rows
        ]
    lines += [r"\bottomrule", r"\end{tabular}"]
    if sheet.notes:
        notes = " ".join(breakable(note, LONG_WORD) for note in sheet.notes)
        lines.append(rf"\par\smallskip{{\fontsize{{8}}{{9.6}}\selectfont\raggedright {notes}\par}}")
    return "\n".join([*lines, rf"\end{{{kind}}}"])


def _shape(sheet: Sheet, layout: Layout, number: int, place: int) -> str:
    if layout.broken[number]:
        return f"p{{{layout.widths[number]:.2f}pt}}"
    return "r" if sheet.numeric[place] else "l"


def _title(sheet: Sheet, place: int, layout: Layout, number: int) -> str:
    lines = [escape(line) for line in _head(sheet, place, layout, number)]
    side = "r" if sheet.numeric[place] else "l"
    if len(lines) == 1 and not layout.broken[number]:
        return _no_argument(lines[0])
    ragged = (r"\raggedleft " if side == "r" else r"\raggedright ") if layout.broken[number] else ""
    body = r"\\".join(_no_argument(line) for line in lines)
    return rf"{ragged}\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}{body}\end{{tabular}}"


def _field(text: str, layout: Layout, number: int, numeric: bool) -> str:
    if not layout.broken[number]:
        return _no_argument(escape(text, keep_ends=True))
    return (r"\raggedleft " if numeric else r"\raggedright ") + breakable(text, layout.widths[number] / EM[layout.size])


def _no_argument(shown: str) -> str:
    """Keep the line break before it from taking a text for its argument."""
    return f"{{}}{shown}" if shown.startswith(("[", "*")) else shown


def breakable(text: str, width: float) -> str:
    """Return a text as LaTeX that may break words wider than a width, in em, where nothing else helps."""
    words = text.split(" ")
    shown = [
        escape(word, keep_ends=True)
        if ems(word) <= width
        else r"\penalty500{}".join(escape(piece, keep_ends=True) for piece in pieces(word))
        for word in words
    ]
    return _no_argument(" ".join(shown))
