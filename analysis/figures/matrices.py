"""Tables of numbers, darker the higher: everything against everything, or some things by others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from analysis.figures.drawing import INK, LINE, SCREEN, Look, box, figure, grey, named, rule, stacked, text, text_width
from analysis.figures.plain_text import clean, percent
from spa.rounding import MINUS, number

CELL = 42  # pixels of a cell's side
HEAD = 92  # pixels of a cell under the name of its column
NAME_WIDTH = 170  # pixels for a name beside the matrix
NARROW = 44  # pixels of a name, and 20 of a cell, that a narrow figure needs
SMALL = 9  # pixels of the numbers in small cells
DARK = 0.72  # the cell is so dark that its text turns light
SHARES = {"0%": 0.0, "25%": 0.25, "50%": 0.5, "75%": 0.75, "100%": 1.0}  # what greys stand for: the whole scale
AGREEMENTS = {"0 or less": 0.0, "0.25": 0.25, "0.5": 0.5, "0.75": 0.75, "1": 1.0}
SIZES = {"0": 0.0, "\u00b10.25": 0.25, "\u00b10.5": 0.5, "\u00b10.75": 0.75, "\u00b11": 1.0}


def pair_matrix(
    rows: Iterable[Mapping[str, Any]],
    *,
    value: str = "mean",
    systems: Iterable[str] = (),
    system_names: Mapping[str, str] | None = None,
    alternative: str = "How often the system of a row is better than that of a column.",
    decided: Collection[frozenset[str]] = (),
    look: Look = SCREEN,
) -> str:
    """Draw every pair at once: the share of the row's system over the column's, darker the higher.

    Parameters
    ----------
    rows : iterable of mapping
        Rows of ``preferences`` or ``choices.pairs`` of one group, criterion and exposure.
    value : str
        Key of the share: ``"mean"`` or ``"win_rate"``.
    systems : iterable of str
        In which order they stand; those that no row names are left out, others follow as they first appear.
    system_names : mapping of str to str, optional
        Names to show instead of ids.
    alternative : str
        What a screen reader says in place of the figure.
    decided : collection of frozenset of str
        Pairs whose cells have a line.
    look : Look
        Where the figure is to stand.

    Returns
    -------
    str
        An SVG document; empty where there is no pair, or no room for them.
    """
    listed = list(rows)
    compared = dict.fromkeys(row[side] for row in listed for side in ("system_x", "system_y"))
    order = list(dict.fromkeys([*(system for system in systems if system in compared), *compared]))
    cells = []
    for row in listed:
        share = row.get(value)
        cells.append((row["system_x"], row["system_y"], share))
        cells.append((row["system_y"], row["system_x"], None if share is None else 1 - share))
    return _draw(order, cells, partial(percent, decimals=0), SHARES, system_names, alternative, look, decided)


def agreement_matrix(
    rows: Iterable[Mapping[str, Any]],
    *,
    value: str = "krippendorff_alpha",
    names: Mapping[str, str] | None = None,
    alternative: str = "How far every two annotators agree.",
    look: Look = SCREEN,
) -> str:
    """Draw how far every two annotators agree, darker the more.

    Parameters
    ----------
    rows : iterable of mapping
        Rows of ``annotator_pairs`` of a results.json, of one group and criterion.
    value : str
        Key of the measure: ``"krippendorff_alpha"``, ``"cohen_kappa"``, ``"kendall_tau"`` or ``"exact_agreement"``.
    names : mapping of str to str, optional
        Names to show instead of annotators' ids.
    alternative : str
        What a screen reader says in place of the figure.

    Returns
    -------
    str
        An SVG document; empty where there is no pair.
    """
    pairs = [(row["annotator_x"], row["annotator_y"], row.get(value)) for row in rows]
    order = list(dict.fromkeys(annotator for pair in pairs for annotator in pair[:2]))
    cells = [*pairs, *((y, x, shown) for x, y, shown in pairs)]
    return _draw(order, cells, number, AGREEMENTS, names, alternative, look)


def heat_map(
    cells: Mapping[tuple[str, str], float | None],
    *,
    alternative: str,
    look: Look = SCREEN,
) -> str:
    """Draw numbers from -1 to 1 by row and column, darker the further from 0.

    Parameters
    ----------
    cells : mapping of (str, str) to float or None
        From the names of row and column, in the order in which they stand, to what is written as it is.
    alternative : str
        What a screen reader says in place of the figure.

    Returns
    -------
    str
        An SVG document; empty where there is no cell.
    """
    if not cells:
        return ""
    rows, columns = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 1))
    beside, head = _widths(look, len(columns), HEAD)
    if not head:
        return ""
    heads = [look.wrap(clean(name), head - 6) for name in columns]
    names = [look.wrap(clean(name), beside) for name in rows]
    above = 8 + LINE * max(map(len, heads))
    height = max(LINE + 10, 4 + LINE * max(map(len, names)))
    marks = [
        text(head * (place + 0.5), LINE * (line - len(own) + 0.5) - 6, word, anchor="middle")
        for place, own in enumerate(heads)
        for line, word in enumerate(own)
    ]
    for place, own in enumerate(names):
        marks += stacked(own, -beside - 8, height * (place + 0.5))
    for (row, column), value in cells.items():
        left, top = head * columns.index(column), height * rows.index(row)
        if value is not None:
            marks.append(box(left + 1, top + 1, left + head - 1, top + height - 1, grey(abs(value))))
        sign = MINUS if value is not None and value < 0 else ""
        words = sign if look.numbers == "none" and value is not None else number(value)
        marks.append(text(left + head / 2, top + height / 2, words, anchor="middle", ink=_ink(value)))
    key, more = _key(SIZES, -beside - 8, height * len(rows), look)
    width, high = head * len(columns), height * len(rows) + more
    return figure([*marks, *key], width, high, alternative, left=beside + 8, above=above, look=look)


def _key(steps: Mapping[str, float], left: float, top: float, look: Look) -> tuple[list[str], float]:
    """Return what greys stand for, under a drawing without numbers, and the height of that."""
    if look.numbers != "none":
        return [], 0.0
    marks, middle = [], top + LINE
    for label, value in steps.items():
        marks.append(box(left, middle - 8, left + 16, middle + 8, grey(value), edge=0.7))
        marks.append(text(left + 20, middle, label, size=11))
        left += 30 + text_width(label)
    return marks, LINE + 10


def _widths(look: Look, columns: int, own: float) -> tuple[float, float]:
    """Return the room of names beside a matrix, and of each column; of a column 0 where a figure is too narrow."""
    if look.total is None:
        return NAME_WIDTH, own
    room = look.inner(0.0) - 8
    beside = min(NAME_WIDTH, max(NARROW, 0.35 * room))
    column = min(own, (room - beside) / columns)
    return room - column * columns, column if column >= 20 else 0.0


def _ink(value: float | None) -> str:
    """Return the colour of a number on its grey."""
    return INK if value is None else "#ffffff" if abs(value) > DARK else "#1a1a1a"


def _draw(
    order: Sequence[str],
    cells: Iterable[tuple[Any, ...]],
    shown_as: Callable[[float | None], str],
    steps: Mapping[str, float],
    names: Mapping[str, str] | None,
    alternative: str,
    look: Look,
    underlined: Collection[frozenset[str]] = (),
) -> str:
    """Draw cells (row, column, value) with their numbers, or with what the greys of ``steps`` stand for."""
    if not order:
        return ""
    beside, side = _widths(look, len(order), CELL)
    if not side:
        return ""
    size = 12 if side >= CELL - 4 else SMALL
    lines = [look.wrap(f"{place}  {named(names, key)}", beside) for place, key in enumerate(order, 1)]
    height = max(side, 4 + LINE * max(map(len, lines)))
    marks = [
        mark
        for place, own in enumerate(lines)
        for mark in (
            *stacked(own, -beside - 8, height * (place + 0.5)),
            text(side * (place + 0.5), -10, str(place + 1), anchor="middle"),
        )
    ]
    for row, column, value in cells:
        left, top = side * order.index(column), height * order.index(row)
        if value is not None:
            marks.append(box(left + 1, top + 1, left + side - 1, top + height - 1, grey(value)))
        middle = left + side / 2, top + height / 2
        written = look.numbers != "none" or value is None
        marks.append(text(*middle, shown_as(value) if written else "", size=size, anchor="middle", ink=_ink(value)))
        if frozenset((row, column)) in underlined:
            half, under = size, middle[1] + 0.7 * size * written
            marks.append(rule(middle[0] - half, under, middle[0] + half, under, colour=_ink(value), width=1.5))
    key, more = _key(steps, -beside - 8, height * len(order), look)
    width, high = side * len(order), height * len(order) + more
    return figure([*marks, *key], width, high, alternative, left=beside + 8, above=18, look=look)
