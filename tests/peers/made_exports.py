"""Exports of made answers, the same every time, and what was answered in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spa.exporters import exporter_of
from tests.spa.exporters.test_export_formats import battles, study

CRITERIA = ("fluency", "faith")
Answers = dict[str, list[dict[str, Any]]]


def made_answers() -> Answers:
    """Return 60 battles, a seventh without answer, and ratings by two people of which some are missing."""
    rng = np.random.default_rng(17)
    ratings = [
        {
            "item_id": f"i{item}",
            "system": system,
            "sample": sample,
            "annotator_id": person,
            "criterion": criterion,
            "score": None if rng.random() < 0.2 else float(rng.integers(1, 6)),
        }
        for item in range(5)
        for system in "ab"
        for sample in (1, 2)
        for person in ("p1", "p2")
        for criterion in CRITERIA
        if rng.random() < 0.9
    ]
    return {"choices": battles(rng, "overall"), "ratings": ratings}


def write_exports(folder: Path) -> None:
    """Write what each peer reads to a folder of its name."""
    export = study(**made_answers())
    for key in ("arena", "huggingface", "inspect"):
        exporter_of(key).write(export, folder / key)
