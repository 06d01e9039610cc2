"""What is fixed before a wave of an audit: with which chances its units are put before people, and what is expected.

Everything follows from earlier waves; a unit's chance from its own doubt as well, see :mod:`analysis.audit.chances`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.audit.audit_bets import StandIn, stand_in
from analysis.audit.chances import ChanceScale, chance_scale
from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats

PRIOR = 10.0  # people who count, that the share of those who do is drawn to
FASTER = 1.1  # times as fast must capital be expected to grow where units are drawn by doubt


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownUnits:
    """Units of earlier waves that people answered.

    Attributes
    ----------
    people, llm : array of float, shape (n, k)
        Answers to each hypothesis, on [0, 1]; NaN: not asked, or not answered.
    chance, doubt : array of float, shape (n,)
        With which chance each was drawn, and how unsure the LLM was; NaN: not known.
    before : array of float, shape (m,)
        Doubt on all units of earlier waves, whoever answered.
    """

    people: Floats
    llm: Floats
    chance: Floats
    doubt: Floats
    before: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WavePlan:
    """A wave: chances by doubt, and a stand-in for each hypothesis."""

    scale: ChanceScale
    stand_ins: tuple[StandIn, ...]

    @property
    def reach(self) -> Floats:
        """How far from 1/2 a term may lie, shape (k,)."""
        return np.array([one.reach for one in self.stand_ins])

    @property
    def sd(self) -> Floats:
        """The SD of terms, shape (k,)."""
        return np.array([one.sd for one in self.stand_ins])

    def expected(self, llm: Floats) -> Floats:
        """Return what people are expected to say, shape (n, k), where the LLM said so."""
        return np.column_stack([one.of(llm[:, place]) for place, one in enumerate(self.stand_ins)])


def share_kept(counted: int, done: int) -> float:
    """Return the share of people whose answers count, of those who completed; by which chances are multiplied.

    Drawn to 1 as if ten more had counted. Who is left out has answered no unit, whatever was expected of it; where the
    share is estimated a little wrong, the means of terms are off by that error times what was expected less 1/2.
    """
    return (counted + PRIOR) / (done + PRIOR)


def plan_wave(
    known: KnownUnits, rule: StoppingRule, *, share: float, floor: float, by_doubt: bool, decides: bool
) -> WavePlan:
    """Plan the next wave.

    Parameters
    ----------
    known : KnownUnits
    rule : StoppingRule
        Whose effect and SD the bets are planned for.
    share, floor : float
        Expected share of units that people answer, and the least chance of any.
    by_doubt : bool
        Whether units of which the LLM is less sure may be drawn more often.
    decides : bool
        Whether the audit ends when decided: units are then drawn by doubt only where bets gain by it.
    """
    even = _fitted(known, rule, ChanceScale(share=share, floor=share), share)
    if not by_doubt:
        return even
    scale = _scale(known, even, share, floor)
    if scale is None:
        return even
    found = _fitted(known, rule, scale, share)
    growth = [sum(one.growth for one in plan.stand_ins) for plan in (found, even)]
    return found if not decides or growth[0] > FASTER * growth[1] else even


def _fitted(known: KnownUnits, rule: StoppingRule, scale: ChanceScale, share: float) -> WavePlan:
    now, found = scale.of(known.doubt), []
    for people, llm in zip(known.people.T, known.llm.T, strict=True):
        both = ~np.isnan(people) & ~np.isnan(llm)
        weight, chance = 1 / known.chance[both], now[both]
        found.append(stand_in(people[both], llm[both], weight, rule, chance=chance, floor=scale.floor, share=share))
    return WavePlan(scale=scale, stand_ins=tuple(found))


def _scale(known: KnownUnits, plan: WavePlan, share: float, floor: float) -> ChanceScale | None:
    off = (known.people - plan.expected(known.llm)) ** 2
    off[np.isnan(known.llm)] = np.nan
    told = ~np.isnan(off).all(axis=1) & ~np.isnan(known.doubt)
    if not told.any():
        return None
    error, before = np.sqrt(np.nanmean(off[told], axis=1)), known.before
    return chance_scale(error, known.doubt[told], 1 / known.chance[told], before, share=share, floor=floor)
