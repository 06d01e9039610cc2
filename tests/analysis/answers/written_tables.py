"""Tables written to be read, and what is said where they cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis import AnswerTables, Reading, read_tables
from spa import AnalysisError

HEADER = "annotator_id,system_x,system_y,preference\n"
RATINGS = "annotator_id,item_id,system,score\n"


def read(
    tmp_path: Path, text: str | bytes, kind: str = "preferences", name: str = "t.csv", **reading: object
) -> AnswerTables:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_tables({kind: path}, Reading(**reading))  # type: ignore[arg-type]


def refusal(
    tmp_path: Path, text: str | bytes, kind: str = "preferences", name: str = "t.csv", **reading: object
) -> str:
    with pytest.raises(AnalysisError) as caught:
        read(tmp_path, text, kind, name, **reading)
    return str(caught.value)


ROW = "a,x,y,0.5\n"

ANSWER = {"annotator_id": "a", "system_x": "x", "system_y": "y", "preference": 0.5}


def line(**changes: object) -> str:
    return json.dumps({**ANSWER, **changes}) + "\n"
