"""Splitting a table into parts changes no byte of what both hold; what parts leave out is named, with its keys."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis import Plan, Reading, read_tables
from analysis.answers.tables import AnswerTables
from analysis.parts import reading
from analysis.parts.preferences import read_preferences
from analysis.parts.reading import read_totals
from analysis.records.results import Results
from analysis.results import analyse_preferences, analyse_sums
from analysis.results.analyse import analyse
from analysis.results.files import to_json
from spa.errors import AnalysisError
from tests.analysis.random_tables import random_table

PARTS = (1, 2, 7, 50)
SEEDS = {"ratings": range(24), "choices": range(16), "preferences": range(10)}
NAMES = ("source", "group", "criterion", "system", "system_x", "system_y", "measure", "method", "level", "annotator_id")
NAMES = (*NAMES, "rater", "variant", "exposure", "score", "kind", "text", "rule", "assignment_id", "measure_a")
NAMES = (*NAMES, "measure_b", "against", "of", "readout", "annotator_kind", "family", "people", "llm", "a", "b")
NAMES = (*NAMES, "upper_bound", "term")
# Alpha at the interval level is of the answers here, of their sums there; crossed tests of choices likewise.
ROUNDED = ("agreement", "ratings.by_system", "raters")
ENTRIES = {"preferences": analyse_preferences.LEFT_OUT}


def from_parts(kind: str, where: str, plan: Plan) -> Results:
    if kind == "preferences":
        found = read_preferences(where, Reading(), plan, beside=AnswerTables())
        return analyse_preferences.analyse_preferences_in_parts(found, plan)
    return analyse_sums.analyse_totals(read_totals(where, kind, Reading()), plan)  # type: ignore[arg-type]


def written(table: pl.DataFrame, folder: Path, k: int, rng: np.random.Generator) -> str:
    """Deal rows to k parts, their order kept; those without a row are not written."""
    folder.mkdir()
    part = np.sort(rng.integers(0, k, table.height))
    for number in np.unique(part).tolist():
        table.filter(pl.Series(part == number)).write_csv(folder / f"{number:02}.csv")
    return str(folder)


def named(row: Any, at: str) -> tuple[Any, ...]:
    names = (*NAMES, "reason") if at == "missing" else NAMES
    return tuple(map(str, map(row.get, names))) if isinstance(row, dict) else (str(row),)


def differing(whole: Any, parts: Any, at: str = "") -> Iterator[str]:
    """Yield the keys at which the parts have another value, or rows that the whole lacks, or lack some."""
    if whole == parts:
        return
    if isinstance(whole, dict) and isinstance(parts, dict):
        if "needs_single_answers" in (parts.get("reason_code"), parts.get("crossed_reason_code")):
            yield f"{at} -"
            return
        for key in whole.keys() | parts.keys():
            yield from differing(whole.get(key), parts.get(key), f"{at}.{key}" if at else key)
    elif isinstance(whole, list) and isinstance(parts, list):
        rows: dict[tuple[Any, ...], list[Any]] = {}
        for row in whole:
            rows.setdefault(named(row, at), []).append(row)
        for row in parts:
            if not rows.get(named(row, at)):
                untested = row.get("reason_code") == "needs_single_answers" or row.get("p_value", 0) is None
                yield f"{at} {'-' if untested else '+'}"
            else:
                yield from differing(rows[named(row, at)].pop(0), row, at)
        yield from (f"{at} -" for own in rows.values() for _ in own)
    else:
        about_same = at.startswith(ROUNDED) and isinstance(whole, float) and isinstance(parts, float)
        if not (about_same and math.isclose(whole, parts, rel_tol=1e-9, abs_tol=1e-11)):
            yield at if parts is not None else f"{at} -"


def unexplained(whole: dict[str, Any], parts: dict[str, Any], kind: str) -> set[str]:
    """Return where both hold other values, and what parts lack without naming it."""
    (summed,) = (row for row in parts["warning_rows"] if row["kind"] == "summed")
    parts["warning_rows"].remove(summed)
    entries = ENTRIES.get(kind, analyse_sums.left_out_entries())
    keys = tuple(key for entry in entries if entry.name in summed["left_out"] for key in entry.keys)
    for one in (whole, parts):
        del one["settings"]["inputs"], one["warnings"]
    lost = (
        at
        for at in differing(whole, parts)
        if at.startswith(keys) and (at.endswith(" -") or at.startswith("headline") or "reason" in at)
    )
    return {*differing(whole, parts)} - {*lost}


@pytest.mark.parametrize(("kind", "seed"), [(kind, seed) for kind, seeds in SEEDS.items() for seed in seeds])
def test_parts_and_the_whole_say_the_same(
    kind: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 2:
        monkeypatch.setattr(reading, "SMALL", 0)  # as in large parts, whose rows are added up by themselves
    table, plan = random_table(kind, seed)
    table.write_csv(tmp_path / f"{kind}.csv")
    whole = to_json(analyse(read_tables({kind: tmp_path / f"{kind}.csv"}, Reading()), plan))
    rng = np.random.default_rng(seed)
    found = set()
    for k in PARTS:
        try:
            parts = to_json(from_parts(kind, written(table, tmp_path / f"{k}", k, rng), plan))
        except AnalysisError as error:
            assert "needs all ratings at once" in str(error)  # noqa: PT017
            return
        results = json.loads(parts)
        del results["settings"]["inputs"]
        if (said := json.dumps(results)) not in found:
            assert unexplained(json.loads(whole), json.loads(parts), kind) == set()
        found.add(said)
    assert len(found) == 1
