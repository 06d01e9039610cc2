"""Best-worst scaling: rows that name the best and the worst of the systems shown, and the choices that they imply."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import PurePath

import polars as pl

from analysis.answers.column_contents import Columns
from analysis.answers.column_names import likeliest, words_of
from analysis.answers.options import Reading
from analysis.answers.reading import RawTable
from spa.errors import AnalysisError, shortened
from spa.tables.paths import inside

BEST, WORST, SHOWN = "best", "worst", "shown"
ENDS = ((BEST, WORST), ("most", "least"))  # words of columns' names
SEPARATORS = ("|", ";", ",")  # of names in a cell, the surest first
LEAST_SHOWN = 2
WAY = "best_worst"  # the elicitation of the choices


@dataclass(frozen=True, slots=True, kw_only=True)
class PageColumns:
    """The columns of best-worst answers: of the best, of the worst, and of the systems shown, in one or in several."""

    best: str
    worst: str
    shown: tuple[str, ...]

    @property
    def listed(self) -> bool:
        """Whether one column holds all names of a row."""
        return len(self.shown) == 1


def ends_named(columns: Columns, free: Sequence[str]) -> tuple[str, str] | None:
    """Return the two columns that are called the best and the worst, or the most and the least."""
    for words in ENDS:
        found = [[name for name in free if word in words_of(name) and columns.is_word(name)] for word in words]
        if all(len(one) == 1 for one in found):
            return found[0][0], found[1][0]
    return None


def page_given(columns: Columns, options: Reading) -> PageColumns | None:
    """Return the columns of best-worst answers where options, or our own names, say what they are."""
    given = {new: old for old, new in options.mapping.items()}
    best, worst, listed = (given.get(name, name) for name in (BEST, WORST, SHOWN))
    held = tuple(options.systems) or (listed,)
    if not {best, worst, *held} <= {*columns.frame.columns}:
        return None
    return PageColumns(best=best, worst=worst, shown=held)


def extremes_alone(columns: Columns, free: Sequence[str]) -> tuple[str, str] | None:
    """Return the columns of the best and the worst, which never hold one name as both.

    They hold the same names, or nothing else is called as systems or scores are: one system may always be the best.
    """
    ends = ends_named(columns, free)
    if ends is None or any(map(columns.numeric, ends)) or (columns.frame[ends[0]] == columns.frame[ends[1]]).any():
        return None
    shared = {*columns.values(ends[0])} & {*columns.values(ends[1])}
    others = [name for role in ("system", "score") for _, name in likeliest(free, role) if name not in ends]
    return ends if len(shared) >= LEAST_SHOWN or not others else None


def extremes_marked(columns: Columns, free: Sequence[str]) -> tuple[str, str] | None:
    """Return the columns of 1 and 0 that mark the best and the worst of several rows, never one row as both."""
    ends = ends_named(columns, free)
    if ends is None or any({*columns.values(name)} - {"0", "0.0"} not in ({"1"}, {"1.0"}) for name in ends):
        return None
    both = columns.frame.select(pl.all_horizontal(pl.col(*ends).str.starts_with("1")).any()).item()
    return None if both else ends


def page_listed(columns: Columns, free: Sequence[str]) -> PageColumns | None:
    """Return the columns of best-worst answers whose systems are listed in the cells of one column."""
    ends = ends_named(columns, free)
    if ends is None:
        return None
    rows = columns.frame.select(ends).drop_nulls()
    for name in free:
        if name in ends:
            continue
        whole = columns.frame.select(name, *ends).drop_nulls()
        cells = [(names_in(cell), best, worst) for cell, best, worst in whole.iter_rows()]
        if len(cells) == rows.height > 0 and all({best, worst} <= {*(names or ())} for names, best, worst in cells):
            return PageColumns(best=ends[0], worst=ends[1], shown=(name,))
    return None


def names_in(cell: str) -> list[str] | None:
    """Return the names in a cell: a list of JSON, or names between signs; ``None`` where there are none, or one twice.

    >>> names_in('["a", "b, c"]'), names_in("a|b, c"), names_in("a, b"), names_in("a")
    (['a', 'b, c'], ['a', 'b, c'], ['a', 'b'], None)
    """
    found = inside(cell)
    sign = next((sign for sign in SEPARATORS if sign in cell), None)
    if isinstance(found, list):
        names = [str(name).strip() for name in found if isinstance(name, str)]
        names = names if len(names) == len(found) else []
    else:
        names = [] if sign is None else [name.strip() for name in cell.split(sign)]
    return names if len(names) >= LEAST_SHOWN and all(names) and len({*names}) == len(names) else None


def with_choices_of_pages(table: RawTable, options: Sequence[str]) -> RawTable:
    """Return a table of best-worst answers with a row for each choice that they imply; others as they are.

    The best is chosen over each other system of its row, each other over the worst. A row is a visit of its own
    (``assignment_id``) where the table names none; a person's further rows about an item are repeats.

    Parameters
    ----------
    table : RawTable
        With ``best`` and ``worst``, and ``shown`` or the columns of ``options``.
    options : sequence of str
        Columns that hold a system of the row each.

    Raises
    ------
    AnalysisError
        Where a row names a best or worst that it does not show, or the same for both.
    """
    frame = table.frame
    held = [name for name in options if name in frame.columns] or [SHOWN]
    if not {BEST, WORST, *held} <= {*frame.columns} or {"winner", "system_x"} & {*frame.columns}:
        return table
    numbers = table.numbers()
    texts = frame.select(pl.col(BEST, WORST, *held).cast(pl.String))
    rows: list[int] = []
    made: list[tuple[str, str, str]] = []
    empty = 0
    for row, (best, worst, *cells) in enumerate(texts.iter_rows()):
        if best is None or worst is None:
            empty += 1
            continue
        place = f"{table.place}, row {numbers[row]}"
        shown = _shown(dict(zip(held, cells, strict=True)), place)
        top, bottom = (_named(word, shown, place, end) for word, end in ((best, BEST), (worst, WORST)))
        if top == bottom:
            raise AnalysisError(f"{place}: expected two systems as best and worst, got {top} as both; correct the row")
        for x, y in combinations(shown.values(), 2):
            if {x, y} & {top, bottom}:
                made.append((x, y, "x" if x == top or y == bottom else "y"))
                rows.append(row)
    said = ["the best of a row is chosen over each other system, each other over the worst"]
    said += [f"rows without a best and a worst, left out: {empty:,}"] if empty else []
    if not made:
        raise AnalysisError(f"{table.place}: expected a best and a worst, got rows without them")
    firsts, seconds, winners = zip(*made, strict=True)
    own = frame.drop(BEST, WORST, *held)[rows].with_columns(
        system_x=pl.Series(firsts),
        system_y=pl.Series(seconds),
        winner=pl.Series(winners),
        elicitation=pl.lit(WAY),
        placed=pl.lit(False),
        _page=pl.Series(rows),
    )
    file = PurePath(table.place).name  # rows of several files have the same numbers
    own = _visits(own, pl.Series([f"{file}:{numbers[row]}" for row in rows]))
    return replace(table, frame=own, rows=pl.Series([numbers[row] for row in rows]), notes=(*table.notes, *said))


def _visits(frame: pl.DataFrame, numbers: pl.Series) -> pl.DataFrame:
    """Make a visit of each row from which choices came, where the table tells no visits and no repeats."""
    about = [name for name in ("annotator_id", "criterion", "item_id") if name in frame.columns]
    if "repeat" not in frame.columns and about and "assignment_id" not in frame.columns:
        nth = pl.col("_page").rank("dense").over(about)
        several = (pl.col("_page").n_unique() > 1).over(about)
        frame = frame.with_columns(repeat=pl.when(several).then(nth.cast(pl.String)))
    if "assignment_id" not in frame.columns:
        frame = frame.with_columns(assignment_id=numbers)
    return frame.drop("_page")


def _shown(cells: Mapping[str, str | None], place: str) -> dict[str, str]:
    """Return the systems of a row by the column, or the place in a list, in which they stand."""
    if [*cells] == [SHOWN]:
        names = names_in(cells[SHOWN] or "")
        if names is None:
            got = shortened(repr(cells[SHOWN] or "nothing"), 60)
            raise AnalysisError(f"{place}: expected the systems shown in {SHOWN}, such as a|b|c, got {got}")
        return {str(n): name for n, name in enumerate(names, 1)}
    shown = {column: name for column, name in cells.items() if name is not None}
    if len({*shown.values()}) < max(len(shown), LEAST_SHOWN):
        raise AnalysisError(f"{place}: expected different systems in {', '.join(cells)}, got {[*shown.values()]}")
    return shown


def _named(word: str, shown: Mapping[str, str], place: str, end: str) -> str:
    """Return the system that a word names: by its own name, else by the column in which it stands, or its sign."""
    if word in shown.values():
        return word
    signs = {sign: name for column, name in shown.items() for sign in (column, re.split(r"[\W_]+", column)[-1])}
    signs |= {words_of(column)[-1]: name for column, name in shown.items()}
    found = signs.get(word) or signs.get(word.casefold())
    if found is None or len(shown) == 1:
        there = shortened(", ".join(shown.values()), 120)
        raise AnalysisError(
            f"{place}: expected a system of the row as {end} ({there}), got {shortened(repr(word), 60)}; correct it"
        )
    return found
