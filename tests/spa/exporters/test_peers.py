"""What the tools found that read our exports (``make peers``) is what was answered in them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest

import tests.peers
from tests.peers.made_exports import CRITERIA, made_answers
from tests.spa.exporters.test_export_formats import rating_gap

FOUND = json.loads((Path(tests.peers.__file__).parent / "peers.json").read_text())


def test_arena_rank_found_who_won() -> None:
    kept = [row for row in made_answers()["choices"] if row["winner"] is not None]
    won = Counter("tie" if row["winner"] == "tie" else row[f"system_{row['winner']}"] for row in kept)
    assert FOUND["arena"]["battles"] == len(kept)
    assert FOUND["arena"]["gap"] == pytest.approx(rating_gap(won), abs=0.01)


def test_inspect_found_every_score_of_everybody() -> None:
    """Each record met a sample and epoch of the log, and what is missing counts nowhere."""
    files = {key: found for key, found in FOUND["inspect"].items() if key != "version"}
    assert sorted(files) == ["a.p1", "a.p2", "b.p1", "b.p2"]
    for name, found in files.items():
        system, person = name.split(".")
        rows = [row for row in made_answers()["ratings"] if (row["system"], row["annotator_id"]) == (system, person)]
        assert found["matched"] == len({(row["item_id"], row["sample"]) for row in rows})
        for criterion in CRITERIA:
            scores = [row["score"] for row in rows if row["criterion"] == criterion and row["score"] is not None]
            assert found[criterion] == [pytest.approx(fmean(scores), abs=1e-6), len(scores)]


def test_datasets_loads_the_largest_table_when_none_is_named() -> None:
    sizes = {name: len(rows) for name, rows in made_answers().items()}
    assert FOUND["huggingface"]["rows"] == sizes
    assert FOUND["huggingface"]["default_rows"] == max(sizes.values())
