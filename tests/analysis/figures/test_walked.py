"""Every figure of every sort of study keeps the rules; those of the demo and of the papers' examples where they run."""

from __future__ import annotations

import pytest

from analysis.results.files import from_plain
from tests.analysis.figures.walked import broken, figures_of, values
from tests.analysis.methods.many_results import MADE, made
from tests.analysis.sample_results import many_results

pytestmark = pytest.mark.one_process("methods")  # which makes each of the results once


@pytest.mark.parametrize("study", MADE)
def test_figures_keep_the_rules(study: str) -> None:
    assert broken(from_plain(made(study))) == []


def test_figures_of_many_pairs_keep_the_rules() -> None:
    assert broken(from_plain(many_results())) == []


def test_first_page_alone_writes_its_values() -> None:
    """No table has the chances of the leading system, so its figure says them; bars have an axis instead."""
    results = from_plain(made("two criteria and an LLM"))
    stated = from_plain(made("a study"))
    for one in (results, stated):
        assert [figure.name for figure in figures_of(one) if values(figure.svg)] == ["answer"]
    (bars,) = [figure.svg for figure in figures_of(results) if figure.name == "spread-fluency-human"]
    assert ">share of the ratings, from the middle<" in bars
    assert ">0%<" in bars
