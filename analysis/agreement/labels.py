"""Labels instead of numbers: categories without an order, for the coefficients that ask for none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from analysis.agreement.data import Answers, ReliabilityData
from analysis.answers.conversion import is_frame, polars_of, rename_columns
from spa.tables.scale_words import MISSING

Categories = Sequence[float] | Sequence[str]


def with_codes(
    answers: Answers, categories: Categories | None = None, *, mapping: Any = None
) -> tuple[Answers, Sequence[float] | None]:
    """Return answers and categories with a number for each label; numbers, also as texts, stay as they are.

    Labels are numbered in the order of the alphabet, which no coefficient for categories without an order looks at.
    ``None``, NaN, an empty text and what tables take as no answer are missing.

    >>> with_codes([["B", "A"], ["A", None]])[0].tolist()
    [[1.0, 0.0], [0.0, nan]]
    """
    if isinstance(answers, ReliabilityData):
        return answers, _numbers(categories)
    if is_frame(answers):
        frame = rename_columns(polars_of(answers, place="ratings table"), mapping, place="ratings table")
        if "score" not in frame.columns or frame["score"].dtype.is_numeric():
            return answers, _numbers(categories)
        texts = frame["score"].cast(pl.String).str.strip_chars()
        if not _labelled(texts):
            return answers, _numbers(categories)
        codes = _codes(texts, categories)
        back = {new: old for old, new in (mapping or {}).items() if old in polars_of(answers).columns}
        coded = frame.with_columns(_coded(texts, codes).alias("score")).rename(back)
        return coded, _of_categories(codes, categories)
    table = np.asarray(answers, dtype=object)
    flat = [one if isinstance(one, str) or one is None or one != one else str(one) for one in table.ravel().tolist()]
    texts = pl.Series([one if isinstance(one, str) else None for one in flat], dtype=pl.String).str.strip_chars()
    if not any(isinstance(one, str) for one in table.ravel().tolist()) or not _labelled(texts):
        return answers, _numbers(categories)
    codes = _codes(texts, categories)
    return _coded(texts, codes).cast(pl.Float64).to_numpy().reshape(table.shape), _of_categories(codes, categories)


def _labelled(texts: pl.Series) -> bool:
    """Whether a column holds texts that are neither numbers nor words for no answer."""
    given = texts.filter(texts.is_not_null() & (texts != "") & ~texts.str.contains(MISSING))
    return given.cast(pl.Float64, strict=False).null_count() > 0


def _codes(texts: pl.Series, categories: Categories | None) -> dict[str, float]:
    given = texts.filter(texts.is_not_null() & (texts != "") & ~texts.str.contains(MISSING))
    labels = sorted({*given.to_list(), *map(str, categories or ())})
    return {label: float(number) for number, label in enumerate(labels)}


def _coded(texts: pl.Series, codes: dict[str, float]) -> pl.Series:
    return texts.replace_strict(codes, default=None, return_dtype=pl.Float64)


def _of_categories(codes: dict[str, float], categories: Categories | None) -> list[float] | None:
    return None if categories is None else [codes[str(one)] for one in categories]


def _numbers(categories: Categories | None) -> list[float] | None:
    return None if categories is None else [float(one) for one in categories]
