"""What `spa check` says of outputs that last: loudness and length beside others of the same item."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spa.records.outputs import Outputs
from spa.study.clip_warnings import clip_warnings
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from tests.spa.study_files import OUTPUTS, long_rows, write_rows, write_study

LOUD, LONG = "differ by more than 3 LU", "differ in length by more than 1.5 times"
SOFT = "silent, or too short or soft for a measure of loudness"
Measures = dict[tuple[int, str], tuple[float | None, float | None]]


def lines_of(folder: Path, measures: Measures) -> list[str]:
    """Return the warnings of a study whose outputs have these seconds and loudnesses, else 4 s and -20 LUFS."""
    texts = {f"i{n}": {"x": f"The fox came back {n} times.", "y": f"Nobody saw it on day {n}."} for n in range(4)}
    write_rows(folder / "outputs.jsonl", long_rows(texts))
    study = load_study(write_study(folder, outputs=OUTPUTS, rest="[choices]\n[design]\nitems = 2\n"))
    read: Outputs = load_outputs(study)
    cells = {
        (item_id, system): tuple(
            replace(one, seconds=seconds, loudness=loudness)
            for one in made
            for seconds, loudness in [measures.get((int(item_id[1:]), system), (4.0, -20.0))]
        )
        for (item_id, system), made in read.cells.items()
    }
    return list(clip_warnings(study, replace(read, cells=cells)))


@pytest.mark.parametrize(
    ("measures", "said"),
    [
        ({}, []),
        ({(1, "x"): (4.0, -17.0)}, []),  # 3 LU
        ({(1, "x"): (4.0, -16.9)}, [f"outputs {LOUD} in 1 of 4 items (most in item i1: x -16.9 LUFS, y -20.0 LUFS)"]),
        ({(2, "y"): (6.1, -20.0)}, [f"outputs {LONG} in 1 of 4 items (most in item i2: y 6.1 s, x 4.0 s)"]),
        (
            {(3, "y"): (4.0, None)},
            [f"1 of 8 outputs are {SOFT} (first: item i3, y)"],
        ),
    ],
)
def test_differences_within_items_are_said(measures: Measures, said: list[str], tmp_path: Path) -> None:
    found = lines_of(tmp_path, measures)
    assert len(found) == len(said)
    assert all(line.startswith(one) for line, one in zip(found, said, strict=True))


def test_texts_have_neither_loudness_nor_length(tmp_path: Path) -> None:
    everywhere: Measures = {(n, system): (None, None) for n in range(4) for system in "xy"}
    assert lines_of(tmp_path, everywhere) == []
