"""Audits that end when decided: values for bets, from an LLM's answers and those of people drawn with known chances.

A unit's value is a + w (y - a): a is what people are expected to say, from the LLM's answer and earlier waves alone,
and w one over the unit's chance where people answered, else 0. Whatever a and the chances are, as long as both were
fixed before the wave, its mean is that of people; and as a and y lie in [0, 1] and chances above a floor, it lies
within 1/2 +- (1 / floor - 1/2). Bets on bounded values need no variance: they keep the error rate for answers of
two values, where a normal approximation does not.

References
----------
Csillag, D., Struchiner, C. J. and Goedert, G. T. (2025). Prediction-powered e-values. ICML, PMLR 267. Zrnic, T. and
Candès, E. J. (2024). Active statistical inference. ICML, PMLR 235, section 4 (sequential).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from analysis.sequential.rule import StoppingRule
from analysis.statistics.checks import check_level
from analysis.statistics.coding import Floats

EVEN = 0.5
PRIOR = 10.0  # people's answers that a slope of 0 and a mean of 1/2 are worth before the first wave


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """What people are expected to say to a unit: offset + lambda f, within [0, 1]."""

    llm_weight: float = 0.0
    offset: float = EVEN

    def of(self, llm: Floats) -> Floats:
        """Return it for the LLM's answers."""
        return np.clip(self.offset + self.llm_weight * llm, 0.0, 1.0)


def stand_in(people: Floats, llm: Floats, weight: Floats) -> StandIn:
    """Fit what people are expected to say on earlier waves.

    Weighted least squares of people's answers on the LLM's, its slope and mean drawn to 0 and to 1/2 as if ten more
    answers said so: an LLM that people do not follow is left out, and no first wave is needed for it.

    Parameters
    ----------
    people, llm, weight : array of float, shape (n,)
        Answers on [0, 1] to units of earlier waves that both answered, and one over their chances; may be empty.
    """
    if not len(people):
        return StandIn()
    share = weight / weight.mean()
    total = len(people)
    centre = float(share @ llm) / total
    spread = float(share @ (llm - centre) ** 2)
    mean = (float(share @ people) + PRIOR * EVEN) / (total + PRIOR)
    if spread <= 0:
        return StandIn(offset=mean)
    slope = float(share @ ((llm - centre) * (people - float(share @ people) / total))) / spread
    slope *= total / (total + PRIOR)
    return StandIn(llm_weight=slope, offset=mean - slope * centre)


def audit_values(people: Floats, llm: Floats, chance: Floats, expected: StandIn, *, floor: float) -> Floats:
    """Return the values of units on [0, 1], 1/2 where people see no difference, shape (n,).

    Parameters
    ----------
    people : array of float, shape (n,)
        In [0, 1]; NaN where people were not asked.
    llm, chance : array of float, shape (n,)
        The LLM's answers, in [0, 1]; the units' chances, ``floor`` at least.
    expected : StandIn
        Of earlier waves.
    floor : float
        The study's least chance, which sets the scale: a value is 1/2 + (term - 1/2) / (2 / floor - 1).
    """
    asked = ~np.isnan(people)
    before = expected.of(llm)
    terms = before + np.where(asked, (np.where(asked, people, 0.0) - before) / chance, 0.0)
    return EVEN + (terms - EVEN) / (2 / floor - 1)


def audit_rule(rule: StoppingRule, *, floor: float, share: float, correlation: float) -> StoppingRule:
    """Return the rule for values of :func:`audit_values`: distances shrink as these do.

    The bets' standard deviation is that of terms where people are drawn with a mean chance of ``share`` and go with the
    LLM by ``correlation``: sd^2 (rho^2 + (1 - rho^2) / share). A wrong one costs people, never validity.
    """
    check_level("floor", floor)
    explained = correlation**2
    sd = rule.sd * np.sqrt(explained + (1 - explained) / share)
    scale = 2 / floor - 1
    margin = None if rule.margin is None else rule.margin / scale
    return replace(rule, effect=rule.effect / scale, margin=margin, sd=min(0.5, float(sd) / scale))
