"""Power of tests of annotators' contributions: one number of each annotator, on the scale on which people answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from analysis.planning.assumptions import CHANCE, Assumptions
from analysis.planning.dealt import even_power
from analysis.planning.power import LEAST, chances_to_stay
from analysis.planning.ranked import mixed_shares
from analysis.planning.scale_power import MANY, ScaleTest
from analysis.planning.simulate import count_answers, scale_answers
from analysis.planning.solve import MOST
from analysis.statistics.coding import Floats, Ints

FINEST = 80  # steps of the scale of drawn Likert answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Contributions:
    """The engine of designs whose test has one number an annotator."""

    assumptions: Assumptions
    most: int = MOST
    switch: int | None = None

    def possible(self, difference: float) -> bool:
        """Whether answers of this SD can differ so much."""
        return impossible(self.assumptions, difference) is None

    def too_few(self, difference: float, power: float, alpha: float) -> str | None:
        """Return why no number of annotators is enough: no answers such as assumed differ so much."""
        return impossible(self.assumptions, difference)

    def power(self, annotators: int, difference: float, alpha: float) -> float:
        """Return the power with so many recruited; none where no answers lie so."""
        kept, chances = staying(self.assumptions, annotators)
        return self.averaged(kept, chances, annotators, difference, alpha)

    def averaged(self, kept: Ints, chances: Floats, recruited: int, difference: float, alpha: float) -> float:
        """Return the power where so many of the recruited stay, each number with its chance."""
        test = _scale_test(self.assumptions, difference, alpha)
        if test is None:
            return 0.0
        changed = self._evenness(kept, recruited, difference, alpha)
        found = test.averaged(kept, chances)
        return found if changed is None else min(float(chances.sum()), max(0.0, found + float(chances @ changed)))

    def _evenness(self, kept: Ints, recruited: int, difference: float, alpha: float) -> Floats | None:
        """Return by how much evenly dealt items raise the power of so many who stay; ``None`` where they do not."""
        made, hands = self.assumptions, self.assumptions.even_hands
        if hands is None:
            return None
        shared, n = made.components.item_sd**2, np.maximum(kept, LEAST)
        of_items, of_mean = shared * hands.share, shared * hands.share_of_mean(n, recruited)
        own = made.sd**2 - of_items
        uneven, even = (
            even_power(difference, own=own, of_items=of_items, of_mean=by_mean, n=kept, alpha=alpha)
            for by_mean in (of_items / n, of_mean)
        )
        return even - uneven

    def sawtooth_span(self, annotators: int, difference: float, alpha: float) -> int:
        """Return among how many more annotators power can step down: with few different answers, as sums do."""
        test = _scale_test(self.assumptions, difference, alpha)
        kept = annotators * (1 - self.assumptions.absent)
        if test is None or not test.coarse or kept > MANY:
            return 2
        return math.ceil(test.sawtooth_span(kept) / (1 - self.assumptions.absent))


def staying(assumptions: Assumptions, annotators: int) -> tuple[Ints, Floats]:
    """Return how many of the recruited may be tested, and how likely each number is.

    Who is excluded is random. Dealt choices are balanced, so that about the same number of annotators meets each pair;
    who meets which systems in rankings is random.
    """
    rate, meets = assumptions.exclusion_rate, assumptions.meets
    if assumptions.kind != "choices" or meets >= 1:
        return chances_to_stay(annotators, assumptions.absent)
    met = math.floor(annotators * meets)
    more = annotators * meets - met
    low, high = chances_to_stay(met, rate), chances_to_stay(met + 1, rate)
    return np.concatenate([low[0], high[0]]), np.concatenate([(1 - more) * low[1], more * high[1]])


def spread_of_mean(assumptions: Assumptions, kept: Ints, recruited: int) -> Floats:
    """Return the SD of the mean of so many who stay, as a share of that of independent contributions."""
    hands, n = assumptions.even_hands, np.maximum(kept, 1)
    if hands is None:
        return np.ones(len(n))
    shared = assumptions.components.item_sd**2
    own = assumptions.sd**2 - shared * hands.share
    return np.sqrt((own / n + shared * hands.share_of_mean(n, recruited)) / (assumptions.sd**2 / n))


def impossible(assumptions: Assumptions, difference: float) -> str | None:
    """Return why no answers such as assumed differ so much; ``None`` where some do."""
    return _answers(assumptions, difference)[1]


@lru_cache(maxsize=1024)
def _answers(assumptions: Assumptions, difference: float) -> tuple[tuple[Floats, Floats] | None, str | None]:
    try:
        return answers(assumptions, difference), None
    except ValueError as error:
        return None, str(error)


@lru_cache(maxsize=1024)
def _scale_test(assumptions: Assumptions, difference: float, alpha: float) -> ScaleTest | None:
    drawn = _answers(assumptions, difference)[0]
    return None if drawn is None else scale_test(assumptions, drawn, alpha)


def scale_test(assumptions: Assumptions, drawn: tuple[Floats, Floats], alpha: float) -> ScaleTest:
    """Return the test of these answers against no difference; ``drawn`` as from :func:`answers`."""
    points, chances = drawn
    null, rate = CHANCE[assumptions.kind], assumptions.absent
    return ScaleTest(points=points, chances=chances, null=null, alpha=alpha, exclusion_rate=rate)


def answers(assumptions: Assumptions, difference: float) -> tuple[Floats, Floats]:
    """Return the contributions that the check draws: on the scale, in the steps in which people answer.

    SPA: 5% steps, 1% where those do not allow the SD, half as wide where two directions are averaged; Likert: whole
    points over the items rated; ranking: orders; choices: wins and ties; spans: weighted errors over the outputs
    marked.

    Raises
    ------
    ValueError
        When no answers have that mean and SD.
    """
    if assumptions.kind in ("ranking", "choices"):
        made = assumptions
        return mixed_shares(made.components, made.judged, difference, made.ties, made.pool)
    if assumptions.kind == "spans":
        return count_answers(
            assumptions.items_judged, mean=assumptions.errors, difference=difference, sd=assumptions.sd
        )
    mean = CHANCE[assumptions.kind] + difference
    if assumptions.kind == "spa":
        try:
            return scale_answers(0.0, 1.0, 20 * assumptions.directions, mean=mean, sd=assumptions.sd)
        except ValueError:  # an SD that steps of 5% do not allow
            return scale_answers(0.0, 1.0, 100 * assumptions.directions, mean=mean, sd=assumptions.sd)
    ends = assumptions.points - 1
    steps = 2 * ends * max(1, min(assumptions.items_judged, FINEST // (2 * ends)))
    return scale_answers(-ends, ends, steps, mean=mean, sd=assumptions.sd)
