"""Exports of made answers, the same every time, and what was answered in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

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


def made_battles() -> list[dict[str, Any]]:
    """Return 4,000 battles of four models, whose answers differ in length and headings, which count."""
    rng = np.random.default_rng(23)
    rows = []
    for _ in range(4000):
        a, b = (int(one) for one in rng.permutation(4)[:2])
        length, headings = float(a - b + rng.normal()), float(rng.integers(-2, 3))
        ahead = 0.4 * (b - a) + 0.9 * length - 0.3 * headings + rng.logistic()
        winner = "tie" if abs(ahead) < 0.2 else "model_a" if ahead > 0 else "model_b"
        rows.append(
            {
                "model_a": f"m{a}",
                "model_b": f"m{b}",
                "winner": winner,
                "length": round(length, 4),
                "headings": headings,
            }
        )
    return rows


def write_exports(folder: Path) -> None:
    """Write what each peer reads to a folder of its name."""
    export = study(**made_answers())
    for key in ("arena", "huggingface", "inspect"):
        exporter_of(key).write(export, folder / key)
    pl.DataFrame(made_battles()).write_csv(folder / "arena" / "contextual.csv")
