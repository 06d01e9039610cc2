"""Audits that end when decided: values for bets, from an LLM's answers and those of people drawn with known chances.

A unit's term is a + w (y - a): a is what people are expected to say, from the LLM's answer and earlier waves alone,
and w one over the unit's chance where people answered, else 0. Whatever a and the chances are, as long as both were
fixed before the wave, its mean is that of people. With y in [0, 1], a within 1/2 +- h and no chance below a floor, it
lies within 1/2 +- R, R = 1/2 + (1/2 + h) (1 / floor - 1), so that bets of less than 1 / R a unit can never lose all:
they need no variance and no normal approximation, and keep the error rate for answers of two values, too. A bet hangs
on earlier waves alone, never on its own unit's a or chance: means are 1/2 over units, not at each answer of the LLM.

The closer an LLM, the larger h may be and the smaller the stakes must be. Each wave takes the h at which the capital is
expected to grow fastest, and 0 where that is hardly faster, as the largest of several estimates is too large. With h =
0, a = 1/2, a term is 1/2 + (y - 1/2) / chance where people answered and 1/2 elsewhere: the bets are those of people
alone, stake for stake. So a useless LLM costs its requests, and no part of the capital has to be held back for people
alone.

References
----------
Csillag, D., Struchiner, C. J. and Goedert, G. T. (2025). Prediction-powered e-values. ICML, PMLR 267. Zrnic, T. and
Candès, E. J. (2024). Active statistical inference. ICML, PMLR 235, section 4 (sequential).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.sequential.bets import LARGEST, Range
from analysis.sequential.futility import log_growth
from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats

EVEN = 0.5
PRIOR = 30.0  # people's answers that a mean of 1/2 is worth, and errors as large as without the LLM
SMALLEST = 1e-6
CLEAR = 4.0  # squared t of a slope up to which the LLM is left out: two standard errors
FASTER = 1.05  # times as fast as with people alone must capital be expected to grow where the LLM stands in
WITHIN = (0.0, 0.1, 0.2, 0.3, 0.5)  # distances from 1/2 among which the largest of what people are expected to say


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """What people are expected to say to a unit, and how bets on its term are planned.

    Attributes
    ----------
    llm_weight, offset : float
        Lambda, and what is added: offset + lambda f.
    within : float
        How far from 1/2 that may lie at most.
    reach : float
        R, how far from 1/2 a term may lie at most.
    sd : float
        Of terms, by earlier waves.
    growth : float
        Of the logarithm of the capital, expected of a unit where people's mean lies as far from 1/2 as planned.
    """

    llm_weight: float = 0.0
    offset: float = EVEN
    within: float = 0.0
    reach: float
    sd: float
    growth: float

    def of(self, llm: Floats) -> Floats:
        """Return what people are expected to say where the LLM said so; 1/2 where it has not answered (NaN)."""
        return _expected(llm, self.llm_weight, self.offset, self.within)


def stand_in(
    people: Floats, llm: Floats, weight: Floats, rule: StoppingRule, *, chance: Floats, floor: float, share: float
) -> StandIn:
    """Fit what people are expected to say on earlier waves.

    Weighted least squares of people's answers on the LLM's. The slope b is drawn towards 0 by the factor 1 - c / t^2,
    with t of b, and is 0 where that is negative (positive-part James-Stein); the mean is drawn to 1/2 as if ten more
    answers said so, of which errors and variances have the rule's SD.

    Parameters
    ----------
    people, llm, weight : array of float, shape (n,)
        Answers on [0, 1] to units of earlier waves that both answered, and one over their chances; may be empty.
    rule : StoppingRule
        Its effect and SD are what bets are planned for.
    chance : array of float, shape (n,)
        That these units would have now.
    floor, share : float
        Least chance of any unit, and the mean.
    """
    total = len(people)
    share_of = weight / weight.mean() if total else weight
    mean = float(share_of @ people) / total if total else EVEN
    drawn = (mean * total + PRIOR * EVEN) / (total + PRIOR)
    slope, centre = _slope(people - mean, llm, share_of) if total > 2 else (0.0, 0.0)
    offset = drawn - slope * centre
    planned = rule.sd**2 + rule.effect**2  # of people's answers about 1/2
    about_even = share_of @ (people - EVEN) ** 2
    alone = (float(about_even) + PRIOR * planned) / share
    found: list[StandIn] = []
    for within in WITHIN:
        error = (people - _expected(llm, slope, offset, within)) ** 2
        moment = float(about_even + share_of @ (error * (1 / chance - 1))) + PRIOR * planned / share
        sd = float(np.sqrt(max(planned / share * moment / alone - rule.effect**2, SMALLEST)))
        reach = EVEN + (EVEN + within) * (1 / floor - 1)
        stake = min(rule.effect / (sd**2 + rule.effect**2), LARGEST / reach)
        growth = log_growth(stake, rule.effect, sd)
        found.append(
            StandIn(llm_weight=slope, offset=offset, within=within, reach=reach, sd=sd, growth=growth)
            if within
            else StandIn(reach=reach, sd=sd, growth=growth)
        )
    fastest = max(found, key=lambda one: one.growth)
    return fastest if fastest.growth > FASTER * found[0].growth else found[0]


def _slope(people: Floats, llm: Floats, share: Floats) -> tuple[float, float]:
    """Return the slope of people's answers on the LLM's, drawn towards 0, and the LLM's mean."""
    total = len(people)
    centre = float(share @ llm) / total
    away = llm - centre
    squares = float(share @ away**2)
    if squares <= 0:
        return 0.0, centre
    slope = float(share @ (away * people)) / squares
    error = float(share**2 @ (away * (people - slope * away)) ** 2) / squares**2 * total / (total - 2)  # HC1
    return slope * max(0.0, 1 - CLEAR * error / slope**2) if slope else 0.0, centre


def _expected(llm: Floats, llm_weight: float, offset: float, within: float) -> Floats:
    found = np.clip(offset + llm_weight * llm, EVEN - within, EVEN + within)
    return np.where(np.isnan(found), EVEN, found)


def audit_terms(people: Floats, expected: Floats, chance: Floats) -> Floats:
    """Return the terms of units, whose mean is that of people, shape (...).

    Parameters
    ----------
    people : array of float
        In [0, 1]; NaN where people were not asked.
    expected, chance : array of float
        What people were expected to say, and with which chance they were asked; both fixed before.
    """
    asked = ~np.isnan(people)
    return expected + np.where(asked, (np.where(asked, people, 0.0) - expected) / chance, 0.0)


def term_range(reach: Floats, sd: Floats) -> Range:
    """Return where terms will lie, whoever is asked and whatever is answered, and their SD."""
    return Range(low=EVEN - reach, high=EVEN + reach, sd=sd)
