"""Reliability data: who gave which value to which unit, read from arrays and tidy frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from analysis.answers.conversion import is_frame, polars_of, rename_columns
from analysis.statistics.coding import DENSE, Floats, Ints, Numbers, fold, join_keys, number
from spa.errors import AnalysisError, shortened
from spa.tables.scale_words import MISSING

UNIT = ("item_id", "system", "sample")
ANNOTATOR = ("annotator_id", "variant", "repeat")
Answers: TypeAlias = Any  # array (units x annotators), a polars or pandas frame, or ReliabilityData


@dataclass(frozen=True, kw_only=True, eq=False)
class ReliabilityData:
    """Answers as whole-number codes; a missing answer is absent.

    Attributes
    ----------
    unit, annotator : array of int, shape (n_answers,)
        Number of the unit and of the annotator of each answer; no cell stands twice.
    value : array of float, shape (n_answers,)
        The answers, finite.
    annotators : tuple of str
        Names by number.
    n_units : int
        Units with at least one answer.
    n_infinite : int
        Answers that were infinite and are not among the values.
    turns : bool
        Whether answers are about pairs, from -1 to 1 for the one listed first: listed the other way round, a unit's
        answers change their sign. Which way is chance, so that coefficients average over both ways of every unit.
    averaged : bool
        Whether some answers are means of several.
    """

    unit: Ints
    annotator: Ints
    value: Floats
    annotators: tuple[str, ...]
    n_units: int
    n_infinite: int = 0
    turns: bool = False
    averaged: bool = False

    @property
    def n_annotators(self) -> int:
        """Number of annotators with at least one answer."""
        return len(self.annotators)

    @cached_property
    def sizes(self) -> Ints:
        """Answers of each unit, shape (n_units,)."""
        return np.bincount(self.unit, minlength=self.n_units)

    @property
    def n_pairable(self) -> int:
        """Units with at least two answers."""
        return int(np.count_nonzero(self.sizes >= 2))

    @property
    def constant(self) -> bool:
        """Whether every answer that can be paired is the same, whichever way pairs are listed."""
        sizes = self.sizes
        paired = self.value if len(sizes) and sizes.min() >= 2 else self.value[sizes[self.unit] >= 2]
        alike = bool(len(paired)) and bool(paired.min() == paired.max())
        return alike and not (self.turns and paired[0])

    def matrix(self) -> Floats:
        """Return units x annotators with NaN where there is no answer, in O(units x annotators) memory."""
        table = np.full((self.n_units, self.n_annotators), np.nan)
        table[self.unit, self.annotator] = self.value
        return table

    def complete_rows(self) -> Floats:
        """Return the rows of :meth:`matrix` without a missing answer, in O(answers) memory."""
        complete = self.sizes == self.n_annotators
        if complete.all():
            return self.matrix()
        table = np.empty((int(complete.sum()), self.n_annotators))
        kept = complete[self.unit]
        table[(np.cumsum(complete) - 1)[self.unit[kept]], self.annotator[kept]] = self.value[kept]
        return table

    def of_annotators(self, *numbers: int) -> ReliabilityData:
        """Keep the answers of some annotators."""
        kept = np.isin(self.annotator, numbers)
        own = from_codes(
            self.unit[kept],
            fold(self.annotator[kept]).of if kept.any() else self.annotator[kept],
            self.value[kept],
            tuple(self.annotators[number] for number in np.unique(self.annotator[kept]).tolist()),
        )
        return replace(own, n_infinite=self.n_infinite, turns=self.turns)


def reliability_data(
    answers: Answers, *, criterion: str | None = None, mapping: Mapping[str, str] | None = None
) -> ReliabilityData:
    """Read answers for a coefficient of agreement.

    Parameters
    ----------
    answers : array of shape (n_units, n_annotators), polars or pandas frame, or ReliabilityData
        An array holds NaN where an answer is missing. A tidy frame has ``annotator_id``, ``item_id`` and
        ``score``; ``system`` and ``sample`` make the unit, ``variant`` and ``repeat`` the annotator, where present.
    criterion : str, optional
        Which criterion of a frame that holds several.
    mapping : mapping of str to str, optional
        Columns of a frame that have other names: yours -> that of the tidy table.

    Raises
    ------
    AnalysisError
        A frame with a missing column, several criteria, a score that is no number, or two answers of one
        annotator to one unit.
    ValueError
        An array of a wrong shape.

    Examples
    --------
    >>> data = reliability_data([[1, 2], [3, float("nan")]])
    >>> data.n_units, data.n_annotators, data.n_pairable
    (2, 2, 1)
    """
    if isinstance(answers, ReliabilityData):
        return answers
    if is_frame(answers):
        return _from_frame(
            rename_columns(polars_of(answers, place="ratings table"), mapping, place="ratings table"), criterion
        )
    try:
        table = np.asarray(answers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        texts = (one for one in np.asarray(answers, dtype=object).ravel().tolist() if isinstance(one, str))
        got = shortened(repr(next(texts, answers)), 40)
        expected = "answers must be numbers, units x annotators (coefficients of the nominal level take labels)"
        raise ValueError(f"{expected}, got {got}") from error
    if table.ndim != 2:
        raise ValueError(f"answers must be units x annotators (2 dimensions), got {table.ndim}")
    unit, annotator = np.nonzero(~np.isnan(table))
    names = tuple(str(number + 1) for number in range(table.shape[1]))
    return _compact(unit, annotator, table[unit, annotator], names)


def from_codes(unit: Ints, annotator: Ints, value: Floats, annotators: tuple[str, ...]) -> ReliabilityData:
    """Make reliability data of codes; units are renumbered so that each has an answer."""
    finite = np.isfinite(value)
    n_infinite = 0
    if not finite.all():
        n_infinite = int(np.isinf(value).sum())
        unit, annotator, value = unit[finite], annotator[finite], value[finite]
    present = np.bincount(unit) > 0 if len(unit) else np.zeros(0, dtype=bool)
    if not present.all():
        unit = (np.cumsum(present) - 1)[unit]
    return ReliabilityData(
        unit=unit.astype(np.int64, copy=False),
        annotator=annotator,
        value=value,
        annotators=annotators,
        n_units=int(present.sum()),
        n_infinite=n_infinite,
    )


def _compact(unit: Ints, annotator: Ints, value: Floats, names: tuple[str, ...]) -> ReliabilityData:
    present = np.bincount(annotator, minlength=len(names)) > 0
    if present.all():
        return from_codes(unit, annotator, value, names)
    kept = tuple(name for name, there in zip(names, present.tolist(), strict=True) if there)
    return from_codes(unit, (np.cumsum(present) - 1)[annotator], value, kept)


def _from_frame(frame: pl.DataFrame, criterion: str | None) -> ReliabilityData:
    if frame.is_empty() or not {"annotator_id", "item_id", "score"} <= set(frame.columns):
        raise _as_checked(frame)
    if "criterion" in frame.columns:
        found = sorted(map(str, frame["criterion"].unique().to_list()))
        if criterion is not None and criterion not in found:
            raise AnalysisError(f"no criterion {criterion!r} (there are: {', '.join(found)})")
        if criterion is None and len(found) > 1:
            raise AnalysisError(f"several criteria ({', '.join(found)}): name one with criterion=")
        if criterion is not None:
            frame = frame.filter(pl.col("criterion") == criterion)
    if not frame["score"].dtype.is_numeric():
        frame = frame.with_columns(_numbers(frame))
    score = frame["score"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    unit = join_keys(*_coded(frame, UNIT))
    if len(unit) and int(unit.max()) >= DENSE * len(unit):
        unit = fold(unit).of
    who = fold(*_coded(frame, ANNOTATOR))
    annotator, names = who.of, _names(frame, who.first)
    given = ~np.isnan(score)
    if not given.all():
        unit, annotator, score = unit[given], annotator[given], score[given]
    if len(score) and _doubled(unit, annotator, len(names)):
        raise _as_checked(frame)
    return _compact(unit, annotator, score, names)


def _numbers(frame: pl.DataFrame) -> pl.Series:
    """Read scores written as text, as the checks of files do."""
    text = frame["score"].cast(pl.String).str.strip_chars()
    empty = text.is_null() | (text == "") | text.str.contains(MISSING)
    number = text.cast(pl.Float64, strict=False)
    if (number.is_null() & ~empty).any():
        raise _as_checked(frame)
    return number.set(empty, None).alias("score")


def _as_checked(frame: pl.DataFrame) -> AnalysisError:
    """Say in the words of the checks of files what is wrong with a frame."""
    from analysis.answers.options import Reading
    from analysis.answers.tables import check_frames  # nothing but a mistake needs them

    if frame.is_empty():
        return AnalysisError("ratings table: no rows, expected at least one")
    checked = frame if "system" in frame.columns else frame.with_columns(system=pl.lit("-"))
    try:
        check_frames({"ratings": checked}, Reading())
    except AnalysisError as error:
        return AnalysisError(*(line.replace(", system -", "") for line in error.problems))
    return AnalysisError(
        "expected one answer of an annotator to a unit, got several; number further ones in a column 'repeat'"
    )


def _coded(frame: pl.DataFrame, columns: tuple[str, ...]) -> list[Numbers]:
    return [number(frame[name]) for name in columns if name in frame.columns]


def _names(frame: pl.DataFrame, first: Ints) -> tuple[str, ...]:
    rows = frame.select(name for name in ANNOTATOR if name in frame.columns)[first.tolist()]
    return tuple("/".join(str(part) for part in row if part is not None) for row in rows.iter_rows())


def _doubled(unit: Ints, annotator: Ints, n_annotators: int) -> bool:
    cells = unit * n_annotators
    cells += annotator
    size = int(cells.max()) + 1
    if size <= 8 * len(cells):  # counting is cheaper than sorting unless the table is sparse
        return bool(np.bincount(cells).max() > 1)
    return len(np.unique(cells)) < len(cells)
