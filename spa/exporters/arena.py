"""Battles as Chatbot Arena's tools read them: ``model_a``, ``model_b``, ``winner``."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from spa.exporters.export_format import ExportedFiles, ExportFormat, FileNames, StudyExport, answered, not_held
from spa.responses.table_files import write_table

ELSE = ("annotator_kind", "sample_x", "sample_y", "variant", "repeat")
WINNERS = {"x": "model_a", "y": "model_b", "tie": "tie"}  # any other word is counted as a tie by arena-rank 0.1.1


def _write(study: StudyExport, folder: Path) -> ExportedFiles:
    """Write a file of battles for each criterion: what is asked of different qualities is not one rating."""
    choices, notes = answered(study.tables.choices, "winner")
    rows: dict[Path, int | None] = {}
    name = FileNames()
    for (criterion,), own in choices.group_by("criterion", maintain_order=True):
        battles = own.select(
            question_id="item_id",
            model_a="system_x",
            model_b="system_y",
            winner=pl.col("winner").replace_strict(WINNERS),
            judge="annotator_id",
        )
        path = folder / f"{name(str(criterion))}.csv"
        write_table(battles, path, format="csv")
        rows[path] = battles.height
    return ExportedFiles(rows=rows, notes=(*notes, *not_held(choices, ELSE)))


FORMAT = ExportFormat(key="arena", holds=("choices",), write=_write)
