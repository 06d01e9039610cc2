"""Rows of tables that are no data, as surveys and spreadsheets write them: further names of columns, and totals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from spa.errors import shortened
from spa.tables.scale_words import MISSING

QUALTRICS = '{"ImportId"'  # in the third row of Qualtrics' exports
HEADS, LOOKED_AT = 3, 1_000  # rows in which names may go on, and that are looked at
LEAST_ROWS = 3  # of numbers, below a word that is a name and no answer
LEAST_COLUMNS = 2
UNNAMED = re.compile(r"(Unnamed: \d+|__index_level_\d+__|_duplicated_\d+|column_\d+)?")  # what readers call those
LAST = 5  # rows at the end that may be totals
TOTALS = re.compile(
    r"(?i)(?:grand |over-?all )?(?:totals?|means?|averages?|avg\.?|sums?|medians?|st\.? ?dev\.?|std\.?(?: ?dev\.?)?|sd"
    r"|count|gesamt|summe|mittelwert|durchschnitt|somme|moyenne|promedio|media)\s*:?"
)
NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?%?")


def header_problem(columns: Mapping[str, Sequence[object]], first_row: int) -> str | None:
    """Say what is wrong where an answer stands in place of the header, or names of columns below it, too.

    Parameters
    ----------
    columns : mapping of str to sequence
        The cells of each column, as texts.
    first_row : int
        What a reader calls the first of them.

    Returns
    -------
    str or None
        What is expected, what was found and what to do; ``None`` of a header and rows. An answer is what has a number
        above numbers, and a word that comes again below it, or two such words.

    Examples
    --------
    >>> cells = {"rater": ["", "a", "b", "c"], "x": ["fluency", "4", "3", "5"], "": ["adequacy", "2", "2", "1"]}
    >>> header_problem(cells, 2)[:78]
    'expected one row with the names of columns, got more in row 2 (fluency, adequa'
    >>> header_problem({"x": ["4", "3", "5"]}, 2) is None
    True
    >>> header_problem({"gpt": ["gpt", "t5", "t5"], "4": ["3", "5", "1"]}, 2)[:59]
    'expected the names of columns in row 1, got an answer (gpt,'
    """
    starts = {name: [_text(cell) for cell in cells[:LOOKED_AT]] for name, cells in columns.items()}
    if any(cell.startswith(QUALTRICS) for cells in starts.values() for cell in cells[:HEADS]):
        return (
            "expected one row with the names of columns, got an export of Qualtrics with three; spa import qualtrics "
            "reads it, and a mapping says what its questions are (spa import qualtrics --help)"
        )
    if answer := _answer_for_header(starts):
        words = shortened(", ".join(starts), 100)
        return (
            f"expected the names of columns in row {first_row - 1}, got an answer ({words}): {shortened(answer, 40)} "
            "stands below it, too; write a row of names above it, such as annotator_id,item_id,system,score"
        )
    named = {name: cells[0] for name, cells in starts.items() if cells and _is_name(cells[0])}
    numbers = [name for name in named if _are_numbers(starts[name][1:])]
    answered = any(cells and NUMBER.fullmatch(cells[0]) for cells in starts.values())
    if len(numbers) < LEAST_COLUMNS or len({named[name] for name in numbers}) < LEAST_COLUMNS or answered:
        return None
    words = shortened(", ".join(named[name] for name in numbers), 100)
    both = next((f"{name} {named[name]}" for name in numbers if not UNNAMED.fullmatch(name)), "")
    such = f", such as {shortened(both, 60)}" if both else ""
    return (
        f"expected one row with the names of columns, got more in row {first_row} ({words}); write both rows as one"
        f"{such}, or remove row {first_row}"
    )


def _answer_for_header(columns: Mapping[str, Sequence[str]]) -> str | None:
    """Return a name that stands among the cells of its own column, where the names as a whole look like a row."""
    again = [name for name, cells in columns.items() if _is_name(name) and name in cells]
    numbers = any(NUMBER.fullmatch(name) and _are_numbers(cells) for name, cells in columns.items())
    return again[0] if again and (numbers or len(again) >= LEAST_COLUMNS) else None


def totals(columns: Mapping[str, Sequence[object]]) -> tuple[str, list[str]] | None:
    """Return the column in which rows at the end of a table begin with a word for totals, and these words.

    >>> totals({"rater": ["a", "b", "Total", "Mean"], "score": ["4", "5", "9", "4.5"]})
    ('rater', ['Total', 'Mean'])
    >>> totals({"system": ["mean", "mean", "x"], "score": ["4", "5", "9"]}) is None  # a name among others
    True
    """
    for name, cells in columns.items():
        ends = [_text(cell) for cell in cells[-LAST:]]
        words = [word for word in ends if TOTALS.fullmatch(word)]
        last = words and ends[-len(words) :] == words and len({*words}) == len(words)
        if last and len(words) < len(cells) and not any(_text(cell) in words for cell in cells[: -len(words)]):
            return name, words
        if any(ends):
            return None
    return None


def _text(cell: object) -> str:
    return cell.strip() if isinstance(cell, str) else "" if cell is None else str(cell)


def _is_name(cell: str) -> bool:
    return bool(cell) and NUMBER.fullmatch(cell) is None and not re.match(MISSING, cell)


def _are_numbers(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell and not re.match(MISSING, cell)]
    return len(filled) >= LEAST_ROWS and all(NUMBER.fullmatch(cell) for cell in filled)
