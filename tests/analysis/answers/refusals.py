"""Tables of answers that are refused, and small tables of pairs."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from analysis.answers.options import Reading
from analysis.answers.tables import check_frames
from spa.errors import AnalysisError


def refusal(frame: dict[str, list[Any]], kind: str, **reading: Any) -> str:
    with pytest.raises(AnalysisError) as caught:
        check_frames({kind: pl.DataFrame(frame)}, Reading(**reading))
    return "\n".join(
        caught.value.with_options(
            {
                "values": "--value",
                "sides": "--sides",
                "numbers": "--numbers",
                "names": "--name",
                "criteria": "--criteria",
            }
        )
    )


def pair(winners: list[str], systems: tuple[str, str] = ("alpha", "beta")) -> dict[str, list[Any]]:
    n = len(winners)
    return {
        "annotator_id": ["a"] * n,
        "item_id": [str(k) for k in range(n)],
        "system_x": [systems[k % 2] for k in range(n)],
        "system_y": [systems[1 - k % 2] for k in range(n)],
        "winner": winners,
    }
