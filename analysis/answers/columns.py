"""What a tidy table holds: its columns, and the checks of one column's values."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import polars as pl

from analysis.statistics.coding import FEW, Different, translate
from analysis.statistics.record import Record
from spa.errors import ArgumentProblem, shortened
from spa.tables.scale_words import MISSING

ROLES = {  # columns of one kind of names
    "annotator_id": ("annotator_id",),
    "item_id": ("item_id",),
    "system": ("system", "system_x", "system_y"),
    "criterion": ("criterion",),
    "assignment_id": ("assignment_id",),
    "sample": ("sample", "sample_x", "sample_y"),
}
OTHER_NAMES = ("variant", "group", "metric")  # in which letters alone are written in one way
NAMED = frozenset((*(column for own in ROLES.values() for column in own), *OTHER_NAMES))
KINDS = ("human", "llm", "simulated")
OVERALL = "overall"
NOTHING = ("NaN", "nan", "NA")  # a cell that is empty, as pandas and R write it
COMPARED = ("system_x", "system_y")
SHOWN = 5  # row numbers that a message names
FILES_SHOWN = 2  # with the names of their files


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Columns of one kind of table.

    ``cell`` are those whose combination may be answered once, ``shown`` say how the form showed what was asked.
    """

    required: tuple[str, ...]
    answer: str
    cell: tuple[str, ...]
    shown: tuple[str, ...]


COMMON = ("annotator_id", "assignment_id", "variant", "criterion")
LAYOUTS = {
    "preferences": Layout(
        required=("annotator_id", "system_x", "system_y", "preference"),
        answer="preference",
        cell=(*COMMON, "item_id", "sample", "exposure", "system_x", "system_y"),
        shown=("asked_first", "label_x", "label_y"),
    ),
    "ratings": Layout(
        required=("annotator_id", "item_id", "system", "score"),
        answer="score",
        cell=(*COMMON, "elicitation", "item_id", "sample", "system"),
        shown=("position", "label"),
    ),
    "choices": Layout(
        required=("annotator_id", "item_id", "system_x", "system_y", "winner"),
        answer="winner",
        cell=(*COMMON, "item_id", "sample", "sample_x", "sample_y", "system_x", "system_y"),
        shown=("label_x", "label_y"),
    ),
    "orders": Layout(
        required=("annotator_id", "item_id", "system", "rank"),
        answer="rank",
        cell=(*COMMON, "item_id", "system"),
        shown=("position", "label"),
    ),
    "gambles": Layout(
        required=("annotator_id", "item_id", "system", "utility"),
        answer="utility",
        cell=(*COMMON, "item_id", "sample", "system", "anchor", "again"),
        shown=("position", "label"),
    ),
}
# kept where a table has them, and not made where it has not
OPTIONAL = ("turn", "readout", "form", "mass", "readings_differ", "explanation", "missing_level", "visit", "both_bad")
SWITCHES = ("lower", "upper", "switches")  # of a choice list: between which chances it switches, and how often
EXTREMES = ("best", "worst", "shown")  # of best-worst answers, a row for all systems shown
METRIC_COLUMNS = ("item_id", "system", "metric", "score")
CORPUS_METRIC_COLUMNS = METRIC_COLUMNS[1:]
ANSWERS = tuple(LAYOUTS)
WITH_ITEMS = (*ANSWERS, "spans")
ANSWER_COLUMNS = (*COMMON, "annotator_kind", "item_id", "sample", "repeat", "elicitation", "group", "missing_reason")
ANNOTATOR_COLUMNS = (
    "annotator_id",
    "annotator_kind",
    "group",
    "submissions",
    "sessions",
    "screening_passed",
    "checks_failed",
    "checks_total",
    "seconds",
    "usual_seconds",
    "passed_seconds",
)
IDENTICAL_PAIR_COLUMNS = ("annotator_id", "annotator_kind", "group", "variant", "criterion", "score", "expected")
READING_COLUMNS = (
    "annotator_id",
    "assignment_id",
    "page",
    "page_seconds",
    "item_id",
    "system",
    "sample",
    "words",
    "seconds",
    "scrolled",
)
EXCLUSION_COLUMNS = ("annotator_id", "assignment_id", "rule", "evidence")
REQUIRED_SPANS = ("annotator_id", "item_id", "system", "start", "end", "severity")
SPAN_COLUMNS = (*REQUIRED_SPANS, "text", "weight", "category", "reason", "characters")
MARKED_TEXTS = ("target", "source")  # in which WMT marks an error
VERBATIM = frozenset(("text", "output", *MARKED_TEXTS))  # texts of which every blank counts
KNOWN = {
    **{
        kind: frozenset((*ANSWER_COLUMNS, *OPTIONAL, *layout.required, *layout.cell, *layout.shown))
        - ({"turn"} if kind != "ratings" else set())
        | ({*SWITCHES} if kind == "gambles" else set())
        | ({*EXTREMES} if kind == "choices" else set())
        for kind, layout in LAYOUTS.items()
    },
    "metrics": frozenset((*METRIC_COLUMNS, "higher_is_better", "signature")),
    "corpus_metrics": frozenset(CORPUS_METRIC_COLUMNS),
    "identical_pairs": frozenset(IDENTICAL_PAIR_COLUMNS),
    "annotators": frozenset(ANNOTATOR_COLUMNS),
    "spans": frozenset(
        (*ANSWER_COLUMNS, *SPAN_COLUMNS, *MARKED_TEXTS, "readout", "form", "visit", "label", "position")
    ),
    "reading": frozenset(
        (
            *(*READING_COLUMNS, "turn", "annotator_kind", "group", "label", "variant", "known_by", "usual_seconds"),
            *("length", "played", "unplayable", "clip"),
        )
    ),
    "exclusions": frozenset((*EXCLUSION_COLUMNS, "annotator_kind", "group")),
    "outputs": frozenset(("item_id", "system", "sample", "text", "output")),
}

NUMBERS = frozenset(  # columns that hold them; in texts without commas between cells they may have decimal commas
    (
        "score",
        "preference",
        "rank",
        "utility",
        "lower",
        "upper",
        "weight",
        "seconds",
        "page_seconds",
        "usual_seconds",
        "passed_seconds",
        "scrolled",
        "length",
        "played",
        "words",
        "mass",
        "expected",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Scale(Record):
    """Bounds that a score must keep, for one criterion or (``None``) for all others."""

    criterion: str | None
    low: float
    high: float

    def __post_init__(self) -> None:
        """Check the bounds."""
        if not -math.inf < self.low < self.high < math.inf:
            raise ValueError(f"expected a scale from a number to a larger one, got {self.low!r} to {self.high!r}")


class Check:
    """Collects what is wrong with one table, one line a kind of mistake."""

    def __init__(
        self,
        frame: pl.DataFrame,
        place: str,
        *,
        named: Collection[str] = (),
        compared: tuple[str, str] = COMPARED,
        parts: tuple[str, ...] = (),
        different: Different | None = None,
    ) -> None:
        self.frame = frame
        self.place = place
        self.compared = compared  # what the columns of two systems are called in the file
        self.nothing = [word for word in NOTHING if word not in named]  # in columns of names
        self.parts = parts  # columns by which items of one id are several
        self.different = different or Different()
        self.files: tuple[tuple[str, int], ...] = ()  # of several files together: each, and how many rows it has
        self.problems: list[str] = []

    def coded(self, column: str) -> bool:
        """Whether a column holds categories, whose different values are quicker looked at than its rows."""
        return isinstance(self.frame[column].dtype, pl.Categorical)

    def refuse(self, wrong: pl.Expr | pl.Series, column: str, rule: str) -> None:
        """Name the rows in which ``wrong`` holds, the rule of the column, and the first value that breaks it."""
        marked = wrong if isinstance(wrong, pl.Series) else self.frame.select(wrong).to_series()
        if marked.any():
            found = self.frame.filter(wrong).select("row", pl.col(column).alias("value"))
            value = found["value"][0]
            got = "nothing" if value is None else shortened(repr(value))
            self.problems.append(f"{self.place}, {rows_named(found['row'])}: {rule}, got {got}")

    def rows_named(self, rows: Sequence[int], at: Sequence[int]) -> str:
        """Name rows, those at these places of all; of several files together with the file of each."""
        ends = list(accumulate(height for _, height in self.files))
        if not ends or ends[-1] != self.frame.height:
            return rows_named(pl.Series(rows))
        named = [
            f"row {row} of {shortened(self.files[bisect(ends, place)][0], 60)}"
            for row, place in zip(rows[:FILES_SHOWN], at, strict=False)
        ]
        return ", ".join([*named, *([f"{len(rows) - FILES_SHOWN} more"] if len(rows) > FILES_SHOWN else [])])

    def names(self, column: str) -> None:
        """Require something in every row of a column; "NaN" and "NA" are nothing, unless they were said to be names."""
        if not self._holds(column, (None, *self.nothing)):
            return
        name = pl.col(column)
        if not self.frame.select((name.is_null() | name.is_in(self.nothing)).any()).item():
            return
        rule = f"{column} must not be empty"
        empty = self.frame[column].is_null()
        self.refuse(empty, column, rule)
        if 2 * empty.sum() >= len(empty) and not empty[0]:
            more = "; where a name stands in the first of its rows alone, as in merged cells, write it in every row"
            self.problems[-1] = f"{self.problems[-1]}{more}"
        for word in self.nothing:
            there = len(self.problems)
            self.refuse(pl.col(column) == word, column, rule)
            for problem in self.problems[there:]:
                line = f"{problem}; if that is a name, keep it with "
                self.problems[there] = ArgumentProblem(
                    "names", before=line, in_python=f"={(word,)}", in_command=f" {word}"
                )

    def blank(self, columns: Iterable[str]) -> None:
        """Take "NaN" and "NA" in columns that may be empty as empty."""
        some = [name for name in columns if self._holds(name, self.nothing)]
        if some:
            self.frame = self.frame.with_columns(
                pl.when(~pl.col(name).is_in(self.nothing)).then(name).alias(name) for name in some
            )

    def _holds(self, column: str, words: Collection[str | None]) -> bool:
        """Whether a column may hold one of some words; of many texts that are no categories nobody looks."""
        texts = self.frame[column]
        if len(texts) > FEW:
            if not self.coded(column):
                return True
            texts = self.different.of(texts)
        return not {*words}.isdisjoint(texts.to_list())

    def number(self, column: str, name: str) -> pl.Series | None:
        """Parse a column of numbers into ``name``; what is ``MISSING`` or empty is missing, infinity is refused.

        Return the different texts that are neither.
        """
        texts = self.frame[column]
        coded = self.coded(column)
        distinct = self.different.of(texts).cast(pl.String) if coded else texts
        wrong = _no_number(distinct)
        words = None
        if wrong.any():
            words = distinct.filter(wrong).unique(maintain_order=True)
            unread = translate(texts, _no_number, self.different) if coded else wrong
            self.refuse(unread, column, f"{column} must be a number with a decimal point or empty")
        value = translate(texts, _numbers, self.different) if coded else _numbers(texts)
        numbers = _numbers(distinct) if coded else value
        if np.count_nonzero(np.isfinite(numbers.to_numpy())) < len(numbers) - numbers.null_count():
            self.refuse(value.is_infinite(), column, f"{column} must be finite")
            value = value.set(~value.is_finite(), None)
        elif coded:
            self.different.know(value, numbers.unique(maintain_order=True))
        self.frame = with_column(self.frame, value.alias(name))
        return words

    def whole(self, column: str) -> None:
        """Turn a column into whole numbers of 0 or more; empty stays empty."""
        height = self.frame.height
        if self.frame[column].null_count() == height:
            self.frame = with_column(self.frame, empty_column(column, height, pl.Int64))
            return
        text = pl.col(column)
        plain = text.str.replace(r"\.0+$", "").cast(pl.Int64, strict=False)
        self.refuse(text.is_not_null() & (plain.is_null() | (plain < 0)), column, f"{column} must be a whole number")
        self.frame = self.frame.with_columns(plain.alias(column))

    def truth(self, column: str) -> None:
        """Turn true/false, yes/no or 1/0 into a truth value; empty stays empty (not asked)."""
        text = pl.col(column).str.to_lowercase()
        yes, no = text.is_in(["true", "yes", "1", "1.0"]), text.is_in(["false", "no", "0", "0.0"])
        self.refuse(text.is_not_null() & ~yes & ~no, column, f"{column} must be true, false or empty")
        self.frame = self.frame.with_columns(pl.when(yes).then(True).when(no).then(False).otherwise(None).alias(column))


def _numbers(texts: pl.Series) -> pl.Series:
    numbers = texts.cast(pl.Float64, strict=False)
    if _all_read(texts, numbers):
        return numbers
    return texts.set(texts.str.contains(MISSING), None).cast(pl.Float64, strict=False)


def _no_number(texts: pl.Series) -> pl.Series:
    """Mark the texts that are neither a number nor a word for a missing answer."""
    number = texts.cast(pl.Float64, strict=False)
    if _all_read(texts, number):
        return pl.repeat(False, len(texts), eager=True)
    return texts.is_not_null() & ~texts.str.contains(MISSING) & (number.is_null() | number.is_nan())


def _all_read(texts: pl.Series, numbers: pl.Series) -> bool:
    """Whether every text is a number."""
    return int(np.count_nonzero(np.isnan(numbers.to_numpy()))) == texts.null_count()


def rows_named(rows: pl.Series) -> str:
    """Name rows in a message.

    >>> rows_named(pl.Series([2, 5])), rows_named(pl.Series([7]))
    ('rows 2 and 5', 'row 7')
    """
    listed = [str(row) for row in rows.head(SHOWN).to_list()]
    if len(rows) == 1:
        return f"row {listed[0]}"
    if len(rows) > SHOWN:
        return f"rows {', '.join(listed)} and {len(rows) - SHOWN} more"
    return f"rows {', '.join(listed[:-1])} and {listed[-1]}"


def with_column(frame: pl.DataFrame, column: pl.Series) -> pl.DataFrame:
    """Return a frame with a column put in or replaced; a tenth of what polars' plan for it takes.

    >>> with_column(pl.DataFrame({"a": [1], "b": [2]}), pl.Series("a", [3])).to_dicts()
    [{'a': 3, 'b': 2}]
    """
    if column.name in frame.columns:
        return frame.clone().replace_column(frame.get_column_index(column.name), column)
    return frame.hstack([column])


def empty_column(name: str, height: int, dtype: pl.DataType | type[pl.DataType]) -> pl.Series:
    """Return a column without values."""
    return pl.Series(name, [None], dtype=dtype).new_from_index(0, height)
