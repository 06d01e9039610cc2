"""Power of tests of annotators' contributions: one number of each annotator, on the scale on which people answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from analysis.planning.assumptions import CHANCE, Assumptions
from analysis.planning.power import expected_power
from analysis.planning.ranked import share_answers
from analysis.planning.scale_power import ScaleTest
from analysis.planning.simulate import count_answers, scale_answers
from analysis.planning.solve import MOST
from analysis.statistics.coding import Floats

FINEST = 80  # steps of the scale of drawn Likert answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Contributions:
    """The engine of designs whose test has one number an annotator."""

    assumptions: Assumptions
    most: int = MOST
    jagged: bool = True

    def possible(self, difference: float) -> bool:
        """Whether answers of this SD can differ so much."""
        return _scale_test(self.assumptions, difference, self.assumptions.alpha) is not None

    def too_few(self, difference: float, power: float, alpha: float) -> str | None:
        """Return nothing: more annotators always find more."""
        return None

    def power(self, annotators: int, difference: float, alpha: float) -> float:
        """Return the power with so many recruited; where no answers lie so, that of normal ones."""
        test = _scale_test(self.assumptions, difference, alpha)
        if test is not None:
            return test.power(annotators)
        made = self.assumptions
        return expected_power(difference / made.sd, annotators, alpha=alpha, exclusion_rate=made.absent)


@lru_cache(maxsize=64)
def _scale_test(assumptions: Assumptions, difference: float, alpha: float) -> ScaleTest | None:
    try:
        return scale_test(assumptions, answers(assumptions, difference), alpha)
    except ValueError:
        return None


def scale_test(assumptions: Assumptions, drawn: tuple[Floats, Floats], alpha: float) -> ScaleTest:
    """Return the test of these answers against no difference; ``drawn`` as from :func:`answers`."""
    points, chances = drawn
    null, rate = CHANCE[assumptions.kind], assumptions.absent
    return ScaleTest(points=points, chances=chances, null=null, alpha=alpha, exclusion_rate=rate, seed=0)


def answers(assumptions: Assumptions, difference: float) -> tuple[Floats, Floats]:
    """Return the contributions that the check draws: on the scale, in the steps in which people answer.

    SPA: 5% steps, 2.5% where two directions are averaged; Likert: whole points over the items rated; ranking: orders;
    choices: wins and ties; spans: weighted errors over the outputs marked.

    Raises
    ------
    ValueError
        When no answers have that mean and SD.
    """
    if assumptions.kind in ("ranking", "choices"):
        times = max(times for times, _ in assumptions.judged)
        return share_answers(assumptions.components, times, difference, assumptions.ties)
    if assumptions.kind == "spans":
        return count_answers(assumptions.n_items, mean=assumptions.errors, difference=difference, sd=assumptions.sd)
    mean = CHANCE[assumptions.kind] + difference
    if assumptions.kind == "spa":
        return scale_answers(0.0, 1.0, 20 * assumptions.directions, mean=mean, sd=assumptions.sd)
    ends = assumptions.points - 1
    steps = 2 * ends * max(1, min(assumptions.n_items, FINEST // (2 * ends)))
    return scale_answers(-ends, ends, steps, mean=mean, sd=assumptions.sd)
