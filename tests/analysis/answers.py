"""Small tables of answers for the tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from analysis import AnswerTables, Plan, Reading, StudyFacts, analyse, check_frames

Results = dict[str, Any]


def preferences(rows: Iterable[tuple[str, str, str, object]], **columns: object) -> pl.DataFrame:
    """Build a table of (annotator, system_x, system_y, preference)."""
    names = ["annotator_id", "system_x", "system_y", "preference"]
    frame = pl.DataFrame([(*row[:3], str(row[3])) for row in rows], names, orient="row")
    return with_columns(frame, columns)


def ratings(rows: Iterable[tuple[str, str, str, object]], **columns: object) -> pl.DataFrame:
    """Build a table of (annotator, item, system, score)."""
    frame = pl.DataFrame(
        [(*row[:3], str(row[3])) for row in rows], ["annotator_id", "item_id", "system", "score"], orient="row"
    )
    return with_columns(frame, columns)


def choices(rows: Iterable[tuple[str, str, str, str, str]], **columns: object) -> pl.DataFrame:
    """Build a table of (annotator, item, system_x, system_y, winner)."""
    names = ["annotator_id", "item_id", "system_x", "system_y", "winner"]
    return with_columns(pl.DataFrame(list(rows), names, orient="row"), columns)


def with_columns(frame: pl.DataFrame, columns: dict[str, object]) -> pl.DataFrame:
    """Add constant columns, or lists as they are."""
    return frame.with_columns(
        pl.Series(name, value)
        if isinstance(value, Sequence) and not isinstance(value, str)
        else pl.lit(value).alias(name)
        for name, value in columns.items()
    )


def check(*, llms: tuple[str, ...] = (), **frames: pl.DataFrame) -> AnswerTables:
    """Check frames as files would be."""
    return check_frames(frames, Reading(llms=llms))


def run(
    *, plan: Plan | None = None, study: StudyFacts | None = None, llms: tuple[str, ...] = (), **frames: pl.DataFrame
) -> Results:
    """Check and analyse frames."""
    return analyse(check(llms=llms, **frames), plan or Plan(), study=study)
