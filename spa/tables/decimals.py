"""Numbers with a decimal comma, in files whose cells no comma parts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from spa.errors import TableError, shortened

WHOLE = r"^[+-]?\d+$"
COMMA = r"^[+-]?\d+,\d+(?:[eE][+-]?\d+)?$"
POINT = r"^[+-]?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?$"
IN_THOUSANDS = r"^[+-]?\d{1,3}(?:\.\d{3})+$"  # 1.234: by itself the same as a point
THOUSANDS_COMMA = r"^[+-]?\d{1,3}(?:\.\d{3})+,\d+$"
THOUSANDS_POINT = r"^[+-]?\d{1,3}(?:,\d{3})+\.\d+$"


@dataclass(slots=True)
class DecimalCommas:
    """Reads columns of numbers, one piece of a file after the other.

    A column has decimal commas where each cell with a digit is a number so written, or a whole one: ``2,5`` is then 2.5
    and ``1.234,5`` is 1234.5. Where points stand for the same in other cells, the column is refused. Other columns stay
    as they are.
    """

    path: Path
    commas: dict[str, str] = field(default_factory=dict)  # column -> a cell that has one
    points: dict[str, str] = field(default_factory=dict)
    thousands: set[str] = field(default_factory=set)

    def read(self, frame: pl.DataFrame, columns: Collection[str]) -> pl.DataFrame:
        """Return the frame with decimal points."""
        changed = [self._column(frame[name]) for name in frame.columns if name in columns]
        return frame.with_columns(changed) if changed else frame

    def notes(self) -> tuple[str, ...]:
        """Say which columns had decimal commas."""
        return (f"decimal commas in {shortened(', '.join(self.commas), 120)}",) if self.commas else ()

    def _column(self, column: pl.Series) -> pl.Series:
        texts = column.unique().cast(pl.String).drop_nulls()
        texts = texts.str.strip_chars()
        commas = texts.filter(texts.str.contains(COMMA) | texts.str.contains(THOUSANDS_COMMA))
        name = column.name
        if not len(commas) and name not in self.commas:
            self._note_points(name, texts)
            return column
        forms = (WHOLE, COMMA, POINT, IN_THOUSANDS, THOUSANDS_COMMA, THOUSANDS_POINT)
        numbers = texts.filter(texts.str.contains(r"\d"))
        if not numbers.str.contains("|".join(forms)).all():
            return column  # whoever reads it says which is no number
        if len(commas):
            self.commas.setdefault(name, str(commas.min()))
        if texts.str.contains(THOUSANDS_COMMA).any():
            self.thousands.add(name)
        self._note_points(name, texts)
        if name in self.points and name in self.commas:
            raise TableError(
                f"{self.path}, column {name}: expected one decimal sign, got {shortened(self.commas[name], 30)} and "
                f"{shortened(self.points[name], 30)}; write all of its numbers with the same one"
            )
        read = column.cast(pl.String).str.strip_chars()
        fits = read.str.contains(f"{COMMA}|{THOUSANDS_COMMA}|{IN_THOUSANDS}")
        plain = read.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
        return read.zip_with(~fits.fill_null(False), plain).cast(column.dtype)

    def _note_points(self, name: str, texts: pl.Series) -> None:
        points = texts.str.contains(POINT)
        if name in self.thousands:
            points &= ~texts.str.contains(IN_THOUSANDS)
        found = texts.filter(points | texts.str.contains(THOUSANDS_POINT))
        if len(found):
            self.points.setdefault(name, str(found.min()))
