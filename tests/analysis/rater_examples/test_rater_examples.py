"""An LLM with examples beside the same without: against a jackknife, by hand, by symmetry and by simulation."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.answers.input import prepare_input
from analysis.answers.plan import Plan
from analysis.commands.judge_options import judges_of
from analysis.rater_examples.example_effect import ExampleEffect, example_effects
from tests.analysis.made_answers import build_document, check, choices, ratings, run
from tests.analysis.made_answers import validate as check_schema

PLAN = Plan(examples=(("gpt/examples", "gpt/no examples"),))
LLMS = ("gpt/examples", "gpt/no examples")
SYSTEMS = ("a", "b", "c")
Rated = list[tuple[str, str, str, float]]


def rated(rng: np.random.Generator, *, items: int, noise: tuple[float, float]) -> Rated:
    """Return ratings of two people and of the LLM, with noise of its own with examples and without."""
    rows: Rated = []
    for item in range(items):
        shared = rng.normal(size=2)  # of both readings of the LLM, within an item
        for place, system in enumerate(SYSTEMS):
            true = 0.5 * place + rng.normal()
            rows += [(f"p{n}", f"i{item}", system, round(true + 0.3 * rng.normal(), 3)) for n in range(2)]
            for name, one, common in zip(LLMS, noise, shared, strict=True):
                rows.append((name, f"i{item}", system, round(true + one * (0.7 * common + rng.normal()), 3)))
    return rows


def effects(*, plan: Plan, **tables: pl.DataFrame) -> list[ExampleEffect]:
    return list(example_effects(prepare_input(check(llms=LLMS, **tables), plan)))


def only(rows: list[ExampleEffect]) -> dict[str, Any]:
    [row] = rows
    return {field.name: getattr(row, field.name) for field in fields(row)}


def difference(rows: Rated, leave_out: str | None = None) -> float:
    scores = {(who, item, system): score for who, item, system, score in rows if item != leave_out}
    cells = sorted({(item, system) for _, item, system in scores})
    people = [np.mean([scores[f"p{n}", *cell] for n in range(2)]) for cell in cells]
    shown, bare = (float(np.corrcoef([scores[name, *cell] for cell in cells], people)[0, 1]) for name in LLMS)
    return shown - bare


def test_correlations_equal_numpy_and_a_jackknife() -> None:
    """The difference is that of numpy's coefficients, its error that of leaving out each item."""
    rows = rated(np.random.default_rng(1), items=80, noise=(0.5, 1.0))
    row = only(effects(ratings=ratings(rows), plan=PLAN))
    assert row["difference"] == pytest.approx(difference(rows))
    assert row["difference"] == pytest.approx(row["value"] - row["value_without"])
    assert (row["measure"], row["n"], row["n_items"]) == ("correlation", 240, 80)
    left = np.array([difference(rows, f"i{item}") for item in range(80)])
    error = (79 / 80 * ((left - left.mean()) ** 2).sum()) ** 0.5
    half = (row["ci_high"] - row["ci_low"]) / 2
    assert half == pytest.approx(1.9904502 * error, rel=0.08)  # t of 79 degrees of freedom


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Of 60 studies in which examples change nothing, about 95 % of the intervals hold 0."""
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(60):
        row = only(effects(ratings=ratings(rated(rng, items=40, noise=(0.8, 0.8))), plan=PLAN))
        held += row["ci_low"] <= 0 <= row["ci_high"]
    assert held >= 52  # the chance of fewer is below 0.01


def test_only_outputs_that_both_judged_count() -> None:
    """An item that one of the two was not asked about changes nothing."""
    rows = rated(np.random.default_rng(3), items=20, noise=(0.5, 1.0))
    more = [(name, "other", "a", 9.0) for name in ("p0", "p1", LLMS[1])]
    one, two = (only(effects(ratings=ratings(each), plan=PLAN)) for each in (rows, [*rows, *more]))
    assert one["difference"] == pytest.approx(two["difference"])
    assert (two["n"], two["n_items"]) == (60, 20)
    turned = only(effects(ratings=ratings(rows), plan=replace(PLAN, examples=(LLMS[::-1],))))
    assert turned["difference"] == pytest.approx(-one["difference"])


def test_agreement_of_choices_by_hand() -> None:
    """A tie agrees by half; sides do not matter."""
    rows = [
        *(("p0", f"i{n}", "a", "b", winner) for n, winner in enumerate(["x", "x", "y", "tie"])),
        *((LLMS[0], f"i{n}", "b", "a", winner) for n, winner in enumerate(["y", "y", "x", "y"])),
        *((LLMS[1], f"i{n}", "a", "b", winner) for n, winner in enumerate(["y", "x", "tie", "x"])),
    ]
    row = only(effects(choices=choices(rows), plan=PLAN))
    assert (row["value"], row["value_without"]) == pytest.approx(((1 + 1 + 1 + 0.5) / 4, (0 + 1 + 0.5 + 0.5) / 4))
    apart = np.array([1.0, 0.0, 0.5, 0.0])
    half = 3.182446305284263 * apart.std(ddof=1) / 2  # t of 3 degrees of freedom
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((0.375 - half, 0.375 + half))


def test_what_cannot_be_told_has_its_reason() -> None:
    """Without people, and where an LLM answers everything alike."""
    rows = rated(np.random.default_rng(4), items=5, noise=(0.5, 1.0))
    alone = only(effects(ratings=ratings([row for row in rows if row[0] in LLMS]), plan=PLAN))
    assert (alone["difference"], bool(alone["reason"])) == (None, True)
    flat = [(*row[:3], 3.0 if row[0] == LLMS[0] else row[3]) for row in rows]
    same = only(effects(ratings=ratings(flat), plan=PLAN))
    assert (same["value"], same["difference"], bool(same["reason"])) == (None, None, True)
    assert same["value_without"] is not None


def test_the_report_says_it_in_a_sentence_and_pairs_of_rows() -> None:
    """One row with examples and one without; the option of tables says which is which."""
    plan = Plan(examples=judges_of({"examples": ("gpt/examples=gpt/no examples",)})["examples"])
    assert plan == PLAN
    results = run(ratings=ratings(rated(np.random.default_rng(5), items=40, noise=(0.2, 2.0))), llms=LLMS, plan=plan)
    check_schema(results)
    [section] = [one for one in build_document(results).sections if one.id == "examples"]
    said, table = section.blocks
    assert "clearly bring LLMs nearer to people in 1 of 1 comparisons" in said.text  # type: ignore[union-attr]
    assert len(table.rows) == 2  # type: ignore[union-attr]
