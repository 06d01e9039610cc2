"""The one table of LLMs beside people: verdicts counted by hand, a correlation and a bias known beforehand."""

from __future__ import annotations

import re

import numpy as np
import pytest

from analysis.contribution import Shown
from analysis.printing.document import Table
from analysis.printing.names import Names
from analysis.raters.section import raters_compared
from analysis.report.orientation import oriented
from analysis.results.files import from_plain
from tests.analysis.made_answers import ratings, run

PEOPLE = {"A": 5, "B": 3, "C": 1, "D": 1}  # C and D alike: undecided
LLM = {"A": 5, "B": 1, "C": 3, "D": 2}  # B and C the other way round, C clearly before D


def table_of(llm: dict[str, int], shift: int = 0) -> Table:
    """Return the table; every rating is at random one lower, as it is, or one higher."""
    rng = np.random.default_rng(5)
    rows = [
        (rater, f"i{item}", system, score + int(rng.integers(-1, 2)) + (shift if rater == "gpt" else 0))
        for rater, scores in (*((f"p{person}", PEOPLE) for person in range(12)), ("gpt", llm))
        for item in range(20)
        for system, score in scores.items()
    ]
    results = oriented(from_plain(run(ratings=ratings(rows), llms=("gpt",))))
    return raters_compared(results.raters, Shown(results, Names(results)))


def cells_of(table: Table) -> dict[str, dict[str, str]]:
    titles = [column.title for column in table.columns]
    texts = [[" | ".join(filter(None, (field.text, field.detail))) for field in row] for row in table.rows]
    return {row[0]: dict(zip(titles, row, strict=True)) for row in texts}


def test_verdicts_are_counted_as_by_hand():
    row = cells_of(table_of(LLM))["gpt"]
    assert row["Same verdict"] == "3 of 6 | 1 undecided, 2 opposite"


def test_one_who_answers_as_people_do_finds_what_they_find():
    table = table_of(PEOPLE)
    row = cells_of(table)["gpt"]
    assert row["Same verdict"] == "6 of 6"
    assert float(row["Order of systems"]) > 0.9
    assert list(cells_of(table)) == ["gpt"]  # people have no verdict of their own to compare: their alpha is a note
    assert len(table.columns) <= 9
    assert [note for note in table.notes if re.fullmatch(r"Alpha among people: ratings 0\.\d\d\.", note)]


def test_bias_moves_as_the_llm_does():
    lower, as_it_is, higher = (
        float(cells_of(table_of(PEOPLE, shift))["gpt"]["Bias"].replace("\u2212", "-")) for shift in (-1, 0, 1)
    )
    assert (as_it_is - lower, higher - as_it_is) == (pytest.approx(1, abs=0.011), pytest.approx(1, abs=0.011))
    assert abs(as_it_is) < 0.3
