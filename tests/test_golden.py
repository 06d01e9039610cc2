"""Every reference number of three published studies, computed from the raw files; ``make golden`` prints the count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau

from analysis import correlate
from tests.golden.__main__ import account, figures, told
from tests.golden.compare import RELATIVE, WHY_PLAIN, Block, compare, leaves
from tests.golden.hanna import Hanna
from tests.golden.papers import as_page, compare_with_papers

pytestmark = pytest.mark.one_process("golden")  # whose figures are computed once


@pytest.fixture(scope="module")
def blocks(shared_data: Path) -> dict[str, Block]:
    return account(shared_data)


def test_every_figure_agrees(blocks: dict[str, Block]) -> None:
    assert [line for block in blocks.values() for line in block.differing] == []
    assert sum(block.agreeing for block in blocks.values()) == 14_325


def test_golden_reasons_for_what_is_not_computed(blocks: dict[str, Block], shared_data: Path) -> None:
    """What is not computed has a reason and nothing is passed over."""
    why = {reason for block in blocks.values() for reason in block.not_computed}
    assert why == {WHY_PLAIN}
    counted = sum(block.agreeing + block.not_computed.total() + block.no_figure for block in blocks.values())
    assert counted == len(list(leaves(json.loads((shared_data / "expected_visible.json").read_text()))))
    assert f"{counted - 494 - 278:>8}" in told(blocks)


def test_exact_ties_do_not_depend_on_how_the_means_were_summed(shared_data: Path) -> None:
    """Means summed by numpy differ in the last bit; unrounded they give .5111 instead of .4944."""
    hanna, story = Hanna(shared_data), np.arange(96, 1056)
    means = [
        [float(np.mean(scores[story[story // 96 == system]])) for system in range(1, 11)]
        for scores in (hanna.scores["Beluga-13B 1", "RE"], hanna.people("RE"))
    ]
    expected = json.loads((shared_data / "expected_visible.json").read_text())["hanna"]["llm_vs_mean_human"]
    wanted = expected["Beluga-13B"]["1"]["RE"]["without_human_system"]["system"]
    assert correlate(*means).value == pytest.approx(wanted["kendall"]["r"], rel=1e-12)


@pytest.mark.parametrize(
    ("criterion", "llm", "way", "printed"),
    [("CH", "Beluga-13B", 4, 73), ("CH", "Mistral-7B", 4, 56), ("EM", "Llama-13B", 3, 38)],
)
def test_cells_that_differ_are_printed_as_if_tied_means_were_not(
    shared_data: Path, criterion: str, llm: str, way: int, printed: int
) -> None:
    """Means of the 96 stories straight from the file, by numpy and scipy: a last bit orders two equal ones."""
    table = pl.read_csv(shared_data / "hanna" / "ratings.csv")
    table = table.filter(pl.col("criterion") == criterion, pl.col("story_id") >= 96).sort("story_id")
    slots = [table.filter(pl.col("rater") == f"human_{slot}")["score"].to_numpy() for slot in (1, 2, 3)]
    asked = table.filter(pl.col("rater") == llm, pl.col("eval_prompt") == way)["score"].to_numpy()
    people, means = ((values.reshape(10, 96)).mean(axis=1) for values in (sum(slots) / 3, asked))
    assert round(100 * kendalltau(people, means).statistic) == printed
    assert (len(set(means)), len(set(means.round(10)))) == (10, 9)


@pytest.mark.parametrize(
    ("found", "agreeing", "differing"),
    [
        ([(("a", "b"), 1.0 + RELATIVE / 2)], 1, 0),
        ([(("a", "b"), 1.0 + RELATIVE * 2)], 0, 1),
        ([(("a", "b"), None)], 0, 1),
        ([], 0, 1),
        ([(("a", "b"), 1.0), (("a", "c"), 2.0)], 1, 1),
    ],
)
def test_golden_counts_every_difference(found: list[Any], agreeing: int, differing: int) -> None:
    """A figure that differs is missing or is unknown counts as differing."""
    blocks = compare({"a": {"b": 1.0}, "_versions": {"numpy": "2"}}, found)
    assert sum(block.agreeing for block in blocks.values()) == agreeing
    assert sum(len(block.differing) for block in blocks.values()) == differing
    assert blocks["_versions"].no_figure == 1


def test_small_p_values_are_compared_by_their_digits() -> None:
    wanted = {"sottana": {"p": 1e-30}}
    for found, agreeing in ((1.0000000001e-30, 1), (1.1e-30, 0)):
        assert compare(wanted, [(("sottana", "p"), found)])["sottana p"].agreeing == agreeing


def test_printed_values_agree_but_those_that_are_known_not_to(shared_data: Path) -> None:
    rows = compare_with_papers(figures(shared_data))
    assert [line for row in rows for line in row.unexpected] == []
    assert sum(len(row.known) for row in rows) == 7
    page = (Path(__file__).parent / "golden" / "comparisons.md").read_text()
    assert page == as_page(rows), "run python -m tests.golden --papers --out tests/golden/comparisons.md"
