"""Rank tables of Sottana et al. (2023), Tables 2 and 7, against ranks computed with independent libraries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis import Plan, Reading, analyse, read_tables
from analysis.llm_vs_people import rank_table
from analysis.llm_vs_people.rank_tables import alphas_of_ranks


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


def test_alphas_of_ranks_without_and_with_gpt4_match(
    found_and_expected: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    """Tables 2 (three people, then GPT-4 as well) and 7 (two at a time) of the paper."""
    found, expected = found_and_expected
    for table in found["rank_tables"]:
        wanted = expected[table["criterion"]]
        assert table["alpha_of_people"] == pytest.approx(wanted["alpha_of_ranks"]["interval_humans"], abs=1e-11)
        (llm,) = table["llms"]
        assert llm["alpha_with_people"] == pytest.approx(wanted["alpha_of_ranks"]["interval_humans_gpt4"], abs=1e-11)
        pairs = {frozenset((pair["a"], pair["b"])): pair["value"] for pair in table["alpha_pairs"]}
        pairwise = wanted["alpha_of_ranks_pairwise_interval"]
        assert pairs.keys() == {frozenset(key.split("|")) for key in pairwise}
        for key, value in pairwise.items():
            assert pairs[frozenset(key.split("|"))] == pytest.approx(value, abs=1e-11)


def test_alphas_of_ranks_need_two_who_ranked() -> None:
    """Opposite orders of three: observed (4 + 0 + 4) / 3 = 8/3, expected 2 · 24 / 30 = 8/5, alpha = 1 - 5/3."""
    systems = ["x", "y", "z"]
    one = rank_table([[1.0, 2.0, 3.0]], annotators=["a"], systems=systems)
    other = rank_table([[3.0, 2.0, 1.0]], annotators=["m"], systems=systems)
    found = alphas_of_ranks(one, other)
    assert found.of_people is None
    assert found.with_llm == (pytest.approx(-2 / 3),)
    assert [(pair.a, pair.b) for pair in found.pairs] == [("a", "m")]
    nobody = rank_table([[np.nan, 2.0, 3.0]], annotators=["m"], systems=systems)
    assert alphas_of_ranks(one, nobody).with_llm == (None,)


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
