"""Ratings as records of Inspect's ``precomputed_scores``."""

from __future__ import annotations

import json
import math
from pathlib import Path

import polars as pl

from spa.exporters.export_format import ExportedFiles, ExportFormat, FileNames, StudyExport
from spa.files import write_text

FILE = ("system", "annotator_id", "variant", "repeat")  # one record an id and epoch: a second one is refused there
RECORD = ("item_id", "sample")


def _write(study: StudyExport, folder: Path) -> ExportedFiles:
    """Write ``SYSTEM.ANNOTATOR.json``: a record for each output shown, whose value is a number a criterion.

    A criterion without an answer is NaN, as null counts as 0 and a missing key is an error; samples are epochs.
    """
    ratings = study.tables.ratings
    criteria = ratings["criterion"].unique(maintain_order=True).to_list()
    averaged: tuple[str, ...] = ()
    if "turn" in ratings.columns:  # a record holds one number a criterion
        scored = ratings.height
        ratings = ratings.group_by(*FILE, *RECORD, "criterion", maintain_order=True).agg(pl.col("score").mean())
        averaged = (f"{scored} scores of turns are averaged to {ratings.height} of outputs",)
    rows: dict[Path, int | None] = {}
    name = FileNames()
    for names, own in ratings.group_by(FILE, maintain_order=True):
        records = [
            {"id": item, "epoch": sample, "value": dict.fromkeys(criteria, math.nan) | _scores(each)}
            for (item, sample), each in own.group_by(RECORD, maintain_order=True)
        ]
        path = folder / f"{name(*(str(one) for one in names if one is not None))}.json"
        write_text(path, json.dumps(records, ensure_ascii=False) + "\n", private=True)
        rows[path] = len(records)
    notes = (
        ()
        if not rows
        else (
            "precomputed_scores drops records whose id and epoch are not in the log, in silence: compare its number of "
            "scored samples with the records of each file",
        )
    )
    return ExportedFiles(rows=rows, notes=(*averaged, *notes))


def _scores(rows: pl.DataFrame) -> dict[str, float]:
    given = rows.filter(pl.col("score").is_not_null())
    return dict(given.select("criterion", "score").iter_rows())


FORMAT = ExportFormat(key="inspect", holds=("ratings",), write=_write)
