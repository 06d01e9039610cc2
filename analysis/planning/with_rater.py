"""Whether people alone are cheaper, or fewer people with an LLM's answers to more forms or items."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from analysis.planning.plan import BesideRater, PowerPlan, RaterAssumptions, WithRater
from spa.errors import AnalysisError

TUNING = 2  # people who pay for lambda, which is chosen on their answers
LEAST = 1e-6  # share of the variance that an LLM explains, below which it explains nothing


def unit_of(kind: str) -> Literal["form", "item"]:
    """Return over what an LLM's answers stand in for people's: of preferences forms, of all others items."""
    return "form" if kind == "spa" else "item"


def beside_rater(plan: PowerPlan, rater: RaterAssumptions) -> BesideRater:
    """Return the cheaper plan of each row that a number of annotators can find.

    People's U units alone are as precise as n units of theirs with M of the LLM where
    n / (1 - rho^2 (1 - n / M)) = U; the price c n + d M is least at n = U (1 - rho^2 + sqrt(d rho^2 (1 - rho^2) / c)),
    c and d being the prices of a unit. Forms are drawn as many as are wanted; items are those of the study, at most.
    Two more people pay for the choice of lambda.

    Parameters
    ----------
    plan : PowerPlan
        With the pay of a submission.
    rater : RaterAssumptions

    Raises
    ------
    AnalysisError
        Where the pay is not known.

    References
    ----------
    Angelopoulos, A. N., Duchi, J. C. and Zrnic, T. (2023). PPI++: Efficient prediction-powered inference. arXiv
    2311.01453, example 6.1.
    """
    assumptions = plan.assumptions
    if not assumptions.pay:
        raise AnalysisError("--with: expected the price of a person's form, got none; add --pay or [people] pay")
    pay = float(assumptions.pay) * assumptions.sessions
    rows = [row.need for row in plan.rows if row.need.annotators is not None]
    unit = unit_of(assumptions.kind)
    pool = assumptions.pool if unit == "item" else None
    each = rater.items_a_form * assumptions.sessions if unit == "item" else 1
    found = tuple(
        _row(need.difference, need.power, need.annotators or 0, rater, pay=pay, unit=unit, pool=pool, each=each)
        for need in rows
    )
    return BesideRater(rater=rater, rows=found)


def _row(
    difference: float,
    power: float,
    annotators: int,
    rater: RaterAssumptions,
    *,
    pay: float,
    unit: Literal["form", "item"],
    pool: int | None,
    each: int,
) -> WithRater:
    units = annotators * each if pool is None else min(pool, annotators * each)
    alone = WithRater(difference=difference, power=power, unit=unit, annotators=annotators, cost=annotators * pay)
    if rater.explained < LEAST:
        return alone
    a_unit = annotators * pay / units
    per_unit = rater.price / each
    best = cheapest_share(rater.explained, price_ratio=per_unit / a_unit)
    if best >= 1:
        return alone
    share = best
    if pool is not None and units_of_rater(best, rater.explained) * units > pool:
        if pool == units:
            return replace(alone, more_items=math.ceil(units * (2 - rater.explained)) - pool)
        share = (1 - rater.explained) * pool / (pool - rater.explained * units)  # with all items that there are
    people = math.ceil(share * annotators) + TUNING
    if people >= annotators:
        return alone
    asked = math.ceil(units_of_rater(share, rater.explained) * units)
    asked = asked if pool is None else min(asked, pool)
    cost = people * pay + asked * per_unit
    return replace(
        alone,
        with_annotators=people,
        with_units=asked,
        with_cost=cost,
        cheaper="both" if cost < alone.cost else "people",
    )


def cheapest_share(explained: float, *, price_ratio: float) -> float:
    """Return the share of people that is cheapest beside an LLM, 1 where people alone are.

    Parameters
    ----------
    explained : float
        Rho^2.
    price_ratio : float
        Price of a unit of the LLM over that of people.

    >>> round(cheapest_share(0.81, price_ratio=0.01), 3)
    0.229
    """
    left = 1 - explained
    return min(1.0, left + math.sqrt(price_ratio * explained * left))


def units_of_rater(share: float, explained: float) -> float:
    """Return how many units the LLM answers, over people's alone, where so large a share of people is asked.

    >>> round(units_of_rater(0.229, 0.81), 2)
    4.76
    """
    rest = share - (1 - explained)
    return math.inf if rest <= 0 else explained * share / rest


def rater_lines(beside: BesideRater, shown: Callable[[float], str], currency: str) -> list[str]:
    """Say in lines which plan is cheaper; ``shown`` writes a difference."""
    rater = beside.rater
    how = "measured in the answers of this study" if rater.measured else "stated"
    interval = ""
    if rater.explained_low is not None and rater.explained_high is not None:
        interval = f" ({100 * rater.explained_low:.0f} to {100 * rater.explained_high:.0f}%)"
    lines = [
        f"With {rater.rater}: it explains {100 * rater.explained:.0f}%{interval} of how people's answers vary, {how}; "
        f"its answers to a form cost {rater.price:.4g} {currency} ({rater.price_source})."
    ]
    for row in beside.rows:
        what = f"{shown(row.difference)}, power {100 * row.power:g}%"
        lines.append(f"{what}: {_said(row, currency)}.")
    needed = [row.more_items for row in beside.rows if row.more_items]
    if needed:
        lines.append(
            f"People judge every item of the study, so {rater.rater} saves none of them: {min(needed):,} items more, "
            f"which it alone answers, would save {50 * rater.explained:.0f}% of the people."
        )
    return lines


def _said(row: WithRater, currency: str) -> str:
    alone = f"people alone, {row.annotators:,} annotators for {row.cost:,.2f} {currency}"
    if row.with_annotators is None or row.with_units is None or row.with_cost is None:
        return alone if row.more_items else f"{alone}; the LLM saves nobody at these prices"
    both = (
        f"{row.with_annotators:,} annotators and the LLM on {row.with_units:,} {row.unit}s for {row.with_cost:,.2f} "
        f"{currency}"
    )
    if row.cheaper == "both":
        return f"cheaper with the LLM, {both} instead of {row.annotators:,} for {row.cost:,.2f} {currency}"
    return f"cheaper by {alone}, instead of {both}"
