"""Small tables of answers for the tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from analysis import AnswerTables, Plan, Reading, StudyFacts, check_frames, report, results_schema
from analysis import analyse as analyse_records
from analysis.printing.document import Document
from analysis.report import sections
from analysis.report.parts import full_report
from analysis.results.files import from_plain, to_json

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


@cache
def _validator() -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(results_schema())


def validate(results: Results) -> None:
    """Require that results are as the schema says; that this is a schema is tested once, which takes longest."""
    _validator().validate(results)


def check(*, llms: tuple[str, ...] = (), **frames: pl.DataFrame) -> AnswerTables:
    """Check frames as files would be."""
    return check_frames(frames, Reading(llms=llms))


def run(
    *, plan: Plan | None = None, study: StudyFacts | None = None, llms: tuple[str, ...] = (), **frames: pl.DataFrame
) -> Results:
    """Check and analyse frames."""
    return analyse(check(llms=llms, **frames), plan or Plan(), study=study)


def analyse(tables: AnswerTables, plan: Plan, **more: Any) -> Results:
    """Analyse tables; what results.json then holds."""
    found: Results = json.loads(to_json(analyse_records(tables, plan, **more)))
    return found


def render_report(results: Results, *, full: bool = True, **more: Any) -> dict[str, str]:
    """Render the report of what a results.json holds, all in one unless asked otherwise."""
    return report.render_report(from_plain(results), full=full, **more)


def build_document(results: Results) -> Document:
    """Build the document of what a results.json holds, all in one."""
    return full_report(sections.build_document(from_plain(results)))


def write_report(results: Results, folder: Path) -> list[Path]:
    """Write the report of what a results.json holds."""
    return report.write_report(from_plain(results), folder)
