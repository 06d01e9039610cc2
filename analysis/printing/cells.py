"""Cells of the report's tables: verdicts, crossed tests, missing values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from analysis.answers.live_rows import LiveVerdict
from analysis.printing.document import Cell, Column, Table, build_table
from analysis.printing.evidence import evidence
from analysis.printing.lookup import KIND_ORDER, PairResult, PairTest, grouped
from analysis.printing.names import Names
from analysis.printing.turning import turned
from analysis.printing.words import NONE, SPACE, p_value, percent, signed, slug

Row = TypeVar("Row")
Key = TypeVar("Key", bound=Hashable)
Field: TypeAlias = tuple[Column, Callable[[Row], str | Cell]]  # a column, and what makes its cell of a row
VERDICT = Column(title="Verdict", explanation="below it the evidence that the adjusted p gives (Muff et al. 2022)")


def cell(text: str, **more: Any) -> Cell:
    """Return a cell that knows whether it has something to show."""
    return Cell(text=text, known=text not in ("", NONE), **more)


def text_column(title: str, value: Callable[[Row], str | Cell], explanation: str = "") -> Field[Row]:
    """Return a column of texts; ``value`` makes the cell of a row."""
    return Column(title=title, explanation=explanation), value


def number_column(title: str, value: Callable[[Row], str | Cell], explanation: str = "") -> Field[Row]:
    """Return a column of numbers; ``value`` makes the cell of a row."""
    return Column(title=title, explanation=explanation, numeric=True), value


def columns_of(
    rows: Iterable[Row],
    place: Callable[[Row], Hashable],
    key: Callable[[Row], Key],
    titles: Mapping[Key, str],
    value: Callable[[Row | None], str | Cell],
    explanation: str = "",
) -> list[Field[Row]]:
    """Return a column for each key; ``value`` makes the cell of the row with that key at the same place, if any."""
    found = {(place(row), key(row)): row for row in rows}

    def made(one: Key) -> Callable[[Row], str | Cell]:
        return lambda row: value(found.get((place(row), one)))

    return [number_column(title, made(one), explanation) for one, title in titles.items()]


def places_of(rows: Iterable[Row], place: Callable[[Row], Hashable]) -> list[Row]:
    """Return one row of each place, for a table that has :func:`columns_of` the others."""
    return [own[0] for own in grouped(rows, place).values()]


def tabulate(
    name: str, caption: str, fields: Sequence[Field[Row]], rows: Iterable[Row], notes: Sequence[str] = (), **more: Any
) -> Table:
    """Make a table of records, a row each; ``more`` is what :func:`analysis.printing.document.build_table` takes."""
    cells = [[made if isinstance(made := value(row), Cell) else cell(made) for _, value in fields] for row in rows]
    return build_table(name, caption, [column for column, _ in fields], cells, notes, **more)


def titled(
    stem: str, caption: str, names: Names, criterion: str, *, several: bool, rated: bool = False
) -> tuple[str, str]:
    """Return name and caption of a table of one criterion, of several; of ratings with their direction."""
    if not several:
        return stem, f"{caption} ({names.direction(criterion)})" if rated else caption
    return (
        f"{stem}-{slug(criterion)}",
        f"{caption}: {names.directed(criterion) if rated else names.criterion(criterion)}",
    )


def criterion_cell(names: Names, criterion_id: str, source: str = "ratings") -> Cell:
    """Return the name of a criterion, of ratings with the direction in which they are good."""
    rated = source in ("ratings", "ratings_bt")
    return cell(names.criterion(criterion_id), detail=names.direction(criterion_id) if rated else "")


def crossed(row: PairTest) -> Cell:
    """Return the adjusted p of the test over annotators and items, marked where its verdict differs."""
    return cell(p_value(row.p_crossed_adjusted) + (f"{SPACE}\u2260" if row.disagree else ""))


MOST_IMPORTANT = "the smallest adjusted p, those of people first"


def importance(rows: Sequence[PairTest], names: Names) -> tuple[float, ...]:
    """Return the weights of rows in a table that has to be cut."""
    return tuple(
        10.0 * KIND_ORDER.get(names.kind(row.group), 2) + (2.0 if row.p_adjusted is None else row.p_adjusted)
        for row in rows
    )


SKEWED = "highly skewed"  # in place of what p would say
VERBS = {"preferences": "preferred", "ratings": "rated better", "choices": "chosen more often"}
SYMBOLS = {"x": ">", "y": "<", "indifferent": "~"}


DECIDED: dict[LiveVerdict, Cell] = {
    "equal": Cell(text="equal within the margin", tone="even"),
    "futile": Cell(text="futile: a decision was unlikely", tone="even"),
    "open": Cell(text="open", tone="even"),
    "not_deciding": Cell(text=NONE, tone="untested", known=False),
}


def decided(decision: LiveVerdict, x: str, y: str) -> Cell:
    """Return the verdict of a live study in words."""
    if decision in ("x", "y"):
        return Cell(text=f"{x if decision == 'x' else y} is better", tone="clear")
    return DECIDED[decision]


def verdict(row: Any, names: Names, source: str) -> Cell:
    """Return the conclusion of one test in words, or why there is none."""
    found, decision = row.verdict, getattr(row, "decision", None)  # not of every test
    if decision is not None:
        return decided(decision, names.system(row.system_x), names.system(row.system_y))
    graded = evidence(row.p_adjusted) if row.p_adjusted is not None else ""
    if found is not None and getattr(row, "highly_skewed", False):  # not of every test
        graded = SKEWED
    if found in ("x", "y"):
        winner = row.system_x if found == "x" else row.system_y
        return Cell(text=f"{names.system(winner)} {VERBS[source]}", detail=graded, tone="clear")
    if found == "indifferent":
        words = "no clear preference" if source != "ratings" else "no clear difference"
        equivalent = getattr(row, "equivalent", False)  # not of every test
        return Cell(text=f"{words}; equivalent" if equivalent else words, detail=graded, tone="even")
    if row.p_value is not None:
        return Cell(text=f"no verdict: {row.reason}", tone="untested")
    bound = getattr(row, "p_unanimous", None)  # not of every test
    if bound is not None:
        return Cell(text="all answered alike", detail=evidence(bound), tone="even")
    return Cell(text=f"not tested: {row.reason or 'no reason was recorded'}", tone="untested")


def estimate(entry: PairResult, *, turn: bool = False) -> str:
    """Return the estimate as a share or a difference: "68.8%" or "+0.64"."""
    value = replace(entry, test=turned(entry.test)).value if turn else entry.value
    if value is None:
        return ""
    return signed(value) if entry.source == "ratings" else percent(value)
