"""Small study files for tests, written where a test wants them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from spa.errors import StudyError
from spa.records.outputs import Outputs
from spa.study.load import load_study
from spa.study.outputs import load_outputs

HEAD = 'id = "small"\ntitle = "Small"\n'
OUTPUTS = '[outputs]\nfiles = ["outputs.jsonl"]\n'
SYSTEMS = '[[systems]]\nid = "x"\n[[systems]]\nid = "y"\n'
SPA = "[spa]\nexposure = 1\n"


def long_rows(texts: Mapping[str, Mapping[str, str]]) -> list[dict[str, str]]:
    """Return rows in the long layout from item -> system -> text."""
    return [
        {"item_id": item, "system": system, "output": text, "source": f"source of {item}"}
        for item, answers in texts.items()
        for system, text in answers.items()
    ]


ROWS = long_rows({f"i{number}": {"x": f"X wrote {number}.", "y": f"Y wrote {number}."} for number in range(6)})


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_study(
    folder: Path, *, head: str = HEAD, outputs: str = OUTPUTS, systems: str = SYSTEMS, rest: str = SPA
) -> Path:
    """Write a study file whose parts can be replaced, and outputs where there are none."""
    if not (folder / "outputs.jsonl").exists():
        write_rows(folder / "outputs.jsonl", ROWS)
    path = folder / "study.toml"
    path.write_text(head + outputs + systems + rest, encoding="utf-8")
    return path


def problems_of(path: Path) -> list[str]:
    """Load a study that must fail; return its problems without the folder."""
    with pytest.raises(StudyError) as caught:
        load_study(path)
    return [problem.replace(f"{path.parent}/", "") for problem in caught.value.problems]


def outputs_of(folder: Path, rows: Sequence[Mapping[str, object]], **parts: str) -> Outputs:
    write_rows(folder / "outputs.jsonl", rows)
    return load_outputs(load_study(write_study(folder, **parts)))


def output_problems(folder: Path, rows: Sequence[Mapping[str, object]], **parts: str) -> list[str]:
    with pytest.raises(StudyError) as caught:
        outputs_of(folder, rows, **parts)
    return [problem.replace(f"{folder}/", "") for problem in caught.value.problems]
