"""Preferences in parts: the report of the whole table, whatever the split."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import Plan, Reading, check_frames
from analysis.answers.tables import AnswerTables, read_annotator_tables
from analysis.commands.report import report
from analysis.parts import part as parts
from analysis.parts import rows
from analysis.parts.preferences import read_preferences
from analysis.results.analyse import analyse
from analysis.results.analyse_preferences import analyse_preferences_in_parts
from analysis.results.files import to_json
from spa.errors import AnalysisError
from tests.analysis.parts.test_parts_read import split
from tests.compare_results import differences
from tests.dask_here import in_this_process

SIGNS = ("careless_signs", "careless_sign_counts")
SINGLE = ("single_answers", *SIGNS, "explanations", "llm_vs_people", "warnings", "warning_rows", "headline", "settings")


def preferences(
    seed: int = 3, *, people: int = 14, llm: int = 5, exposures: tuple[str | None, ...] = ("1", "5")
) -> pl.DataFrame:
    """State preferences over all pairs of four systems, most in both directions; some contradict themselves."""
    rng, rows = np.random.default_rng(seed), []
    who = [(f"p{number:02}", "human", None, None) for number in range(people)]
    who += [("gpt", "llm", f"t{number}", f"v{number % 2}") for number in range(llm)]
    for annotator, kind, visit, variant in who:
        lean = rng.normal(0, 0.05)
        for criterion in ("fluency", "cover"):
            for exposure in exposures:
                for x, y in np.ndindex(4, 4):
                    if x == y or rng.random() < 0.2:
                        continue
                    said = np.clip(0.48 + lean + 0.1 * (y - x) + rng.normal(0, 0.05), 0, 1)
                    shown = "" if rng.random() < 0.04 else f"{said:.2f}"
                    rows.append((annotator, kind, visit, variant, criterion, exposure, "ABCD"[x], "ABCD"[y], shown))
    names = ["annotator_id", "annotator_kind", "assignment_id", "variant", "criterion", "exposure"]
    table = pl.DataFrame(rows, [*names, "system_x", "system_y", "preference"], orient="row", infer_schema_length=None)
    return table.sample(fraction=1, shuffle=True, seed=seed)


def in_parts(where: str, plan: Plan, beside: AnswerTables | None = None) -> dict[str, Any]:
    found = read_preferences(where, Reading(), plan, beside=beside or AnswerTables())
    results: dict[str, Any] = json.loads(to_json(analyse_preferences_in_parts(found, plan)))
    return results


def differing(tables: AnswerTables, found: dict[str, Any], plan: Plan, *, several: bool = False) -> Iterator[str]:
    """Yield where the results of the table and of its parts differ, in all that parts can tell."""
    whole = json.loads(to_json(analyse(tables, plan)))
    left = [row for row in whole["agreement"] if row["group"] == "human" and not several]
    results = [{name: value for name, value in one.items() if name not in SINGLE} for one in (whole, found)]
    results[0]["agreement"] = left
    for one in results:
        one["raters"] = [row if row["group"] == "human" else without_agreement(row) for row in one["raters"]]
        if several:
            del one["raters"]
        one["exclusions"].sort(key=lambda row: (row["rule"], row["annotator_id"], row["assignment_id"] or ""))
    yield from differences(*results)


def without_agreement(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the table of raters without the agreement of an LLM with itself."""
    alone = ("n_raters", "alpha", "alpha_measure", "exact_agreement")
    return {key: value for key, value in row.items() if key not in alone and not key.startswith("agreement_reason")}


def small_steps(patch: pytest.MonkeyPatch, at_once: int = 150) -> None:
    patch.setattr(parts, "ROWS", 80)
    patch.setattr(rows, "ROW_GROUP", 16)
    patch.setattr("analysis.parts.preferences.AT_ONCE", at_once)


@given(data=st.data())
@settings(max_examples=3, deadline=None)
def test_no_split_changes_a_figure(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    table = preferences(data.draw(st.integers(0, 99)), people=12, llm=3)
    cuts = sorted(data.draw(st.sets(st.integers(1, table.height - 1), max_size=3)))
    with pytest.MonkeyPatch.context() as patch:
        small_steps(patch, data.draw(st.integers(50, 400)))
        found = in_parts(split(table, tmp_path_factory.mktemp("parts"), cuts), Plan())
    assert len(found["exclusions"]) > 1
    assert list(differing(check_frames({"preferences": table}, Reading()), found, Plan())) == []


@pytest.mark.parametrize(
    ("made", "plan"),
    [
        ({"llm": 0, "exposures": (None,)}, Plan(consistency_tau=None, equivalence_margin=0.1)),
        ({"people": 6}, Plan(consistency_tau=Decimal("1.05"), regularisation=0.5, family="all")),
    ],
    ids=["people", "few"],
)
def test_the_report_is_that_of_the_whole_table(
    made: dict[str, Any], plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_steps(monkeypatch)
    table = preferences(**made)
    found = in_parts(split(table, tmp_path / "p", [100, 200], "csv"), plan)
    assert list(differing(check_frames({"preferences": table}, Reading()), found, plan)) == []
    assert found["warnings"][-1].endswith(", how much people\u2019s true preferences differ.")


@pytest.mark.parametrize("submissions", ["exclude", "first"])
def test_rules_look_at_all_that_somebody_answered(
    submissions: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_steps(monkeypatch)
    again = preferences(5, llm=0, people=3).with_columns(assignment_id=pl.lit("second"))
    table = pl.concat([preferences(llm=0).with_columns(assignment_id=pl.lit("first")), again])
    late = (pl.col("annotator_id") == "p02") & (pl.col("assignment_id") == "second")
    table = table.with_columns(visit=pl.when(late).then(pl.lit("incomplete")))
    people = pl.DataFrame({"annotator_id": ["p04", "p05", "q"], "checks_failed": [2, 0, 3], "submissions": [1, 1, 1]})
    plan = Plan(repeat_submissions=submissions)
    tables = check_frames({"preferences": table, "annotators": people}, Reading())
    found = in_parts(split(table, tmp_path / "p", [150]), plan, AnswerTables(annotators=tables.annotators))
    assert {"repeat_submissions", "incomplete_answers", "attention_checks"} <= {
        row["rule"] for row in found["exclusions"]
    }
    assert list(differing(tables, found, plan, several=True)) == []


def test_mistakes_are_those_of_the_whole_table(tmp_path: Path) -> None:
    table = preferences(llm=0).filter(pl.col("preference") != "")
    where = split(pl.concat([table, table[3:4]]), tmp_path / "p", [50])
    with pytest.raises(AnalysisError, match=r"part-000.parquet, row 4 and .*part-001.parquet, row \d+: expected one"):
        in_parts(where, Plan())
    wrong = table.with_columns(preference=pl.lit("70"))
    with pytest.raises(AnalysisError, match=r"preference must lie in \[0, 1\]"):
        in_parts(split(wrong, tmp_path / "wrong", [50]), Plan())
    with pytest.raises(AnalysisError, match="the rule same_answers needs single answers"):
        in_parts(split(table, tmp_path / "rule", [50]), Plan(max_same_answers=0.9))


def test_the_command_reads_parts_on_a_cluster_or_here(tmp_path: Path) -> None:
    table = preferences(llm=0)
    where = split(table, tmp_path / "p", [100, 200], "jsonl")
    (tmp_path / "people.csv").write_text("annotator_id,screening_passed\np01,no\nnobody,no\n")
    beside = ["--annotators", str(tmp_path / "people.csv"), "--json"]
    page = CliRunner().invoke(report, ["--preferences", where, *beside, "--out", str(tmp_path / "out")])
    assert page.exit_code == 0, page.output
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    assert "p01" in {row["annotator_id"] for row in found["exclusions"]}
    assert "nobody" not in {row["annotator_id"] for row in found["exclusions"]}
    assert [row["file"] for row in found["settings"]["inputs"]] == ["p (3 parts)", "people.csv"]
    assert found["settings"]["inputs"][1]["notes"] == ["1 of 2 annotators has no answers"]
    with in_this_process() as running, distributed.Client(running, set_as_default=False) as client:
        tables = read_annotator_tables({"annotators": tmp_path / "people.csv"}, Reading())
        totals = read_preferences(where, Reading(), Plan(), beside=tables, client=client, scratch=tmp_path)
    assert json.loads(to_json(analyse_preferences_in_parts(totals, Plan()))) == found
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "p", "people.csv"]
