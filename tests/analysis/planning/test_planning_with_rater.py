"""``spa plan --with``: the cheaper of people alone and people beside an LLM."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from analysis.commands.plan import plan
from analysis.commands.plan_rater import _explained
from analysis.llm_vs_people.people_saved import people_saved
from analysis.planning.plan import RaterAssumptions
from analysis.planning.with_rater import _row, cheapest_share, units_of_rater
from spa.errors import AnalysisError

DESIGN = ("--tests", "3", "--pay", "4", "--simulations", "0", "--difference", "60", "--power", "0.8")


def run(*given: object) -> str:
    result = CliRunner().invoke(plan, [str(one) for one in given])
    return result.output if result.exit_code == 0 else str(result.exception)


@given(st.floats(0.05, 0.95), st.floats(1e-4, 2))
def test_the_cheapest_share_by_trying_all(explained: float, ratio: float) -> None:
    """No share costs less, of those as precise as people alone."""
    shares = np.linspace(1 - explained + 1e-6, 1, 4000)
    costs = [min(share + ratio * units_of_rater(share, explained), np.inf) for share in shares]
    best = cheapest_share(explained, price_ratio=ratio)
    own = 1.0 if best == 1 else best + ratio * units_of_rater(best, explained)
    assert own <= min(*costs, 1.0 if best == 1 else np.inf) + 1e-3
    if best < 1:
        units = units_of_rater(best, explained)
        assert best / (1 - explained * (1 - best / units)) == pytest.approx(1)


def row(explained: float, *, pool: int | None, unit: Any = "item", price: float = 0.01, each: int = 4) -> Any:
    rater = RaterAssumptions(
        rater="judge", explained=explained, measured=False, price=price, price_source="stated", items_a_form=each
    )
    return _row(0.1, 0.8, 40, rater, pay=5.0, unit=unit, pool=pool, each=each)


def test_people_who_judge_all_items_are_not_saved() -> None:
    """Of 100 items all are judged: 60 more save a fifth of people, half of what it could."""
    found = row(0.4, pool=100)
    assert (found.cheaper, found.with_cost, found.more_items) == ("people", None, 60)
    many = row(0.4, pool=1000)
    assert (many.cheaper, many.more_items) == ("both", 0)
    assert many.with_units <= 1000
    assert many.with_annotators < 40
    assert row(0.0, pool=1000).with_cost is None
    assert row(0.4, pool=None, unit="form", each=1, price=50).with_cost is None  # dearer than people


def test_plan_beside_a_stated_llm() -> None:
    text = run(*DESIGN, "--with", "judge", "--correlation", "-0.8", "--rater-price", "0.01")
    assert "With judge: it explains 64% of how people's answers vary, stated" in text
    assert "60%, power 80%: cheaper with the LLM" in text
    found = json.loads(run(*DESIGN, "--with", "judge", "--correlation", "0.8", "--rater-price", "0.01", "--json"))
    (only,) = found["plans"][0]["beside"]["rows"]
    assert only["with_cost"] == pytest.approx(only["with_annotators"] * 4 + only["with_units"] * 0.01)
    assert only["with_cost"] < only["cost"] == 4 * only["annotators"]


@pytest.mark.parametrize(
    ("given_options", "wrong"),
    [
        (("--correlation", "0.5"), "expected --with as well"),
        (("--with", "judge"), "without STUDY expected --correlation and --rater-price"),
        (("--with", "judge", "--correlation", "0.5"), "without STUDY expected"),
    ],
)
def test_plan_beside_an_unknown_llm_says_so(given_options: tuple[str, ...], wrong: str) -> None:
    assert wrong in run(*DESIGN, *given_options)


def test_plan_beside_an_llm_needs_the_pay() -> None:
    design = [one for one in DESIGN if one not in ("--pay", "4")]
    found = run(*design, "--with", "judge", "--correlation", "0.5", "--rater-price", "1")
    assert "expected the price of a person's form" in found


def test_plan_measures_in_finished_answers() -> None:
    """Rho^2 of the report's rows over all pairs, averaged over criteria; a rater without answers is named."""
    from analysis import Plan
    from analysis.answers.input import prepare_input
    from tests.analysis.llm_vs_people.test_people_saved import rated
    from tests.analysis.made_answers import check

    prepared = prepare_input(check(llms=("judge",), ratings=rated(0.8)), Plan())
    rows = list(people_saved(prepared.kept, prepared.orders, prepared.plan))
    explained, low, high = _explained(rows, "likert", "judge")
    assert explained == rows[0].limit
    assert (low, high) == (rows[0].limit_low, rows[0].limit_high)
    with pytest.raises(AnalysisError, match=r"no answers of it beside people's \(LLMs beside people: judge\)"):
        _explained(rows, "likert", "gpt")
