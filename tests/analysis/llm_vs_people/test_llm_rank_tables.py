"""Rank tables of Sottana et al. (2023), Tables 2 and 7, against ranks computed with independent libraries."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis import Plan, Reading, read_tables
from analysis.llm_vs_people import rank_table
from analysis.llm_vs_people.rank_tables import alphas_of_ranks
from analysis.printing.document import Table, every_block, whole
from analysis.printing.words import count, number
from analysis.report.sections import make_section
from analysis.results.files import from_plain
from tests.analysis.made_answers import analyse
from tests.golden.papers import PRINTED


@pytest.fixture(scope="module", params=["summarization", "simplification"])
def task(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def results(task: str, shared_data: Path) -> dict[str, Any]:
    path = shared_data / "sottana" / f"{task}_ratings.csv"
    tables = read_tables({"ratings": path}, Reading(mapping={"rater": "annotator_id"}, llms=("gpt4",)))
    return analyse(tables, Plan())


@pytest.fixture(scope="module")
def found_and_expected(task: str, results: dict[str, Any], shared_data: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    expected = json.loads((shared_data / "expected_visible.json").read_text())["sottana"][task]
    return results["llm_vs_people"], expected["per_criterion"]


def test_the_report_shows_every_value_that_the_paper_prints(task: str, results: dict[str, Any]) -> None:
    """Tables 2, 6 and 7 of the paper, digit for digit, in the cells of the report."""
    section = make_section(from_plain(results), "llm-vs-people")
    assert section is not None
    shown = {block.name: _cells(block) for block in every_block(whole(section).blocks) if isinstance(block, Table)}
    compared = Counter[str]()
    for table in tomllib.loads(PRINTED.read_text())["table"]:
        if table["path"][:2] != ["sottana", task]:
            continue
        criterion, quantity = table["path"][3:5]
        for row, values in table["rows"].items():
            for column, value in zip(table["columns"], values, strict=True):
                about = column if criterion == "{column}" else criterion
                text = _shown(shown, about, quantity, row, column)
                assert text == (number(value, 2) if table["digits"] == 2 else count(value)), (
                    table["path"],
                    row,
                    column,
                )
                compared[table["source"].split(",")[0]] += 1
    assert (
        compared
        == {
            "summarization": {"Table 2": 4 * (4 + 4 + 2), "Table 6": 4 * 4 * 4 * 2, "Table 7": 4 * (4 * 4 + 6)},
            "simplification": {"Table 2": 3 * (4 + 4 + 2), "Table 6": 3 * 4 * 4 * 2, "Table 7": 3 * (4 * 4 + 6)},
        }[task]
    )


RATERS = ("57e2b7c38e00270001b43aba", "5995e3cf9845ef00014de380", "61102f9292f5e6301b5bea45", "gpt4")


def _cells(table: Table) -> dict[tuple[str, ...], str]:
    heads = 1 if table.columns[0].title == "System" else 2
    titles = [column.title for column in table.columns]
    return {
        (*(one.text for one in row[:heads]), title): one.text
        for row in table.rows
        for title, one in zip(titles[heads:], row[heads:], strict=True)
    }


def _shown(tables: dict[str, dict[tuple[str, ...], str]], criterion: str, quantity: str, row: str, column: str) -> str:
    """Find what the report shows for a printed value."""
    if quantity == "alpha_of_ranks":
        name = {"interval_humans": "Alpha, people", "interval_humans_gpt4": "Alpha, people and gpt4"}[row]
        return tables["ranks"][name, criterion]
    if row == "alpha_of_ranks_pairwise_interval":
        one, other = sorted(1 + RATERS.index(rater) for rater in column.split("|"))
        return tables["ranks_by_rater"][criterion, "gold_reference", f"Alpha {one} and {other}"]
    if quantity == "mean_human_rank" or column == criterion:
        outer, _, inner = tables["ranks"][row, criterion].partition(" (")
        return outer if quantity == "mean_human_rank" else inner.rstrip(")")
    key = (criterion, row, f"{1 + RATERS.index(column)}: {column}")
    if quantity == "rank":
        return tables["ranks_by_rater"][key]
    mean, _, sd = tables["means_by_rater"][key].partition(" (")
    return mean if quantity == "mean" else sd.rstrip(")")


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


def test_rank_table_ties() -> None:
    """Ties are averaged in exact arithmetic and low may be best."""
    means = [[0.1 + 0.2, 0.3, 1.0], [2.0, 1.0, 3.0]]
    high = rank_table(means, annotators=["a", "b"], systems=["x", "y", "z"])
    low = rank_table(means, annotators=["a", "b"], systems=["x", "y", "z"], lower_is_better=True)
    assert [row.ranks for row in high.annotators] == [(2.5, 2.5, 1.0), (2.0, 3.0, 1.0)]
    assert [row.ranks for row in low.annotators] == [(1.5, 1.5, 3.0), (2.0, 1.0, 3.0)]
    assert high.mean_rank == (2.25, 2.75, 1.0)


def test_who_did_not_rate_every_system_is_left_out_and_named() -> None:
    found = rank_table([[1.0, np.nan], [1.0, 2.0]], annotators=["a", "b"], systems=["x", "y"])
    assert (found.n, found.mean_rank) == (1, (2.0, 1.0))
    assert (found.annotators[0].ranks, str(found.annotators[0].reason)) == (None, "did not rate every system")
    nobody = rank_table([[1.0, np.nan]], annotators=["a"], systems=["x", "y"])
    assert (nobody.mean_rank, str(nobody.reason)) == (None, "no annotator rated every system")
    with pytest.raises(ValueError, match="expected"):
        rank_table([[1.0]], annotators=["a"], systems=["x", "y"])
    with pytest.raises(ValueError, match="finite"):
        rank_table([[1.0, np.inf]], annotators=["a"], systems=["x", "y"])
