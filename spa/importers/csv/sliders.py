"""Sliders that nobody moved: their answer is where the slider began, put within its ends.

jsPsych's slider begins at 50 unless told otherwise (``slider_start``), also on a scale of 1 to 7, where the browser
then shows, and records, 7.
"""

from __future__ import annotations

from spa.errors import ResponseError, shortened
from spa.importers.csv.mapping import QuestionColumn
from spa.importers.csv.sheets import Cell, SheetRow
from spa.importers.foreign_files import number_of

START = "slider_start"  # jsPsych's column
UNTOUCHED = "slider not moved"


def is_untouched(question: QuestionColumn, row: SheetRow, cell: Cell) -> bool:
    """Whether an answer stands where its slider began.

    >>> from spa.importers.csv.sheets import SheetRow
    >>> question = QuestionColumn(column="q", start_column="slider_start", ends=(1, 7))
    >>> row = SheetRow(place="a.csv, row 2", cells={"slider_start": "50", "q": "7"})
    >>> is_untouched(question, row, "7"), is_untouched(question, row, "6")
    (True, False)
    """
    if question.start_column is None or not isinstance(cell, str):
        return False
    text = row.text(question.start_column)
    start = number_of(text) if text is not None else None
    if text is not None and start is None:
        raise ResponseError(
            f"{row.place}, {question.start_column}: expected the number at which the slider began, got "
            f"{shortened(repr(text))}"
        )
    if start is None:
        return False
    low, high = question.ends or (start, start)
    return number_of(cell) == min(max(start, low), high)
