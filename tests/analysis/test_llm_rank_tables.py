"""Rank tables of Sottana et al. (2023), Tables 2 and 7, against ranks computed with independent libraries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis import Plan, Reading, analyse, read_tables
from analysis.llm_vs_people import rank_table


@pytest.fixture(scope="module", params=["summarization", "simplification"])
def found_and_expected(request: pytest.FixtureRequest, shared_data: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    path = shared_data / "sottana" / f"{request.param}_ratings.csv"
    tables = read_tables({"ratings": path}, Reading(mapping={"rater": "annotator_id"}, llms=("gpt4",)))
    expected = json.loads((shared_data / "expected_visible.json").read_text())["sottana"][request.param]
    return analyse(tables, Plan())["llm_vs_people"], expected["per_criterion"]


def test_ranks_of_each_person_of_gpt4_and_the_mean_rank_match(
    found_and_expected: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    found, expected = found_and_expected
    tables = {table["criterion"]: table for table in found["rank_tables"]}
    assert tables.keys() == expected.keys()
    for criterion, wanted in expected.items():
        table = tables[criterion]
        systems = table["systems"]
        ranks = {row["annotator_id"]: dict(zip(systems, row["ranks"], strict=True)) for row in table["annotators"]}
        ranks |= {row["group"]: dict(zip(systems, row["ranks"], strict=True)) for row in table["llms"]}
        assert ranks == wanted["rank"]
        mean_rank = dict(zip(systems, table["mean_rank"], strict=True))
        assert mean_rank == pytest.approx(wanted["mean_human_rank"], rel=1e-11)


def test_ties_are_averaged_in_exact_arithmetic_and_low_may_be_best() -> None:
    means = [[0.1 + 0.2, 0.3, 1.0], [2.0, 1.0, 3.0]]
    high = rank_table(means, annotators=["a", "b"], systems=["x", "y", "z"])
    low = rank_table(means, annotators=["a", "b"], systems=["x", "y", "z"], lower_is_better=True)
    assert [row.ranks for row in high.annotators] == [(2.5, 2.5, 1.0), (2.0, 3.0, 1.0)]
    assert [row.ranks for row in low.annotators] == [(1.5, 1.5, 3.0), (2.0, 1.0, 3.0)]
    assert high.mean_rank == (2.25, 2.75, 1.0)


def test_who_did_not_rate_every_system_is_left_out_and_named() -> None:
    found = rank_table([[1.0, np.nan], [1.0, 2.0]], annotators=["a", "b"], systems=["x", "y"])
    assert (found.n, found.mean_rank) == (1, (2.0, 1.0))
    assert (found.annotators[0].ranks, found.annotators[0].reason) == (None, "did not rate every system")
    nobody = rank_table([[1.0, np.nan]], annotators=["a"], systems=["x", "y"])
    assert (nobody.mean_rank, nobody.reason) == (None, "no annotator rated every system")
    with pytest.raises(ValueError, match="wanted"):
        rank_table([[1.0]], annotators=["a"], systems=["x", "y"])
    with pytest.raises(ValueError, match="finite"):
        rank_table([[1.0, np.inf]], annotators=["a"], systems=["x", "y"])
