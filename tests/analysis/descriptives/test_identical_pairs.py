"""How identical pairs were rated: Chiang & Lee (2023), section 4.3, worked by hand."""

from __future__ import annotations

import polars as pl
import pytest

from tests.analysis.made_answers import ratings, render_report, run


def rated() -> pl.DataFrame:
    return ratings([("ann", "i0", "a", 3), ("gpt", "i0", "a", 4)])


def pairs(**scores: list[float | None]) -> pl.DataFrame:
    rows = [(who, "meaning", score, 5) for who, given in scores.items() for score in given]
    return pl.DataFrame(rows, schema=["annotator_id", "criterion", "score", "expected"], orient="row")


def test_each_group_has_its_own_mean_beside_what_is_expected() -> None:
    given = pairs(ann=[5, 4], gpt=[5, 5, 5, None])
    results = run(ratings=rated(), identical_pairs=given, llms=("gpt",))
    of_people, of_llm = results["identical_pairs"]
    assert [of_people[name] for name in ("group", "n", "n_expected", "mean")] == ["human", 2, 1, 4.5]
    assert of_people["sd"] == pytest.approx(0.5**0.5)
    assert (of_llm["group"], of_llm["n"], of_llm["n_missing"], of_llm["n_expected"]) == ("gpt", 3, 1, 3)
    assert (of_llm["expected"], of_llm["mean"], of_llm["sd"]) == (5, 5, 0)
    html = render_report(results)["report.html"]
    assert "Identical pairs" in html
    assert "5.00" in html


def test_groups_that_were_not_asked_have_no_row() -> None:
    results = run(ratings=rated(), identical_pairs=pairs(gpt=[None]), llms=("gpt",))
    (row,) = results["identical_pairs"]
    assert (row["group"], row["n"], row["mean"], row["sd"]) == ("gpt", 0, None, None)
    assert "Identical pairs" in render_report(results)["report.html"]
    without = run(ratings=rated(), llms=("gpt",))
    assert without["identical_pairs"] == []
    assert "Identical pairs" not in render_report(without)["report.html"]
