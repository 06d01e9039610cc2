"""What the sentence that both directions sum to at most 100 % may do; ``--out FILE`` writes the table.

Nothing here says what people do on reading it: that is assumed, in several ways, and its consequences are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import stats

from analysis.statistics.coding import Floats
from tests.calibration.command import write_table

Effect = Literal["none", "half understand", "all understand", "all comply"]
EFFECTS: tuple[Effect, ...] = ("none", "half understand", "all understand", "all comply")
TAU, LEVEL = 1.1, 0.05
ANNOTATORS, PAIRS = 60, 4  # as in the image study of Ethayarajh & Jurafsky (2022)
MEAN, SPREAD = 0.6, 4.0  # of annotators' own chances: a beta distribution with this mean, as if from so many outputs
HEAD = """# The rule of sums in the instructions

The preset says that the chances of both directions of a pair are at most 100 % together; `[instructions] explain_sum =
false` leaves that out, as on the paper's form. The self-consistency filter measures the same (sum at most 1.1), so the
sentence coaches what is measured. **No simulation can say what a sentence does to people**: its effect is assumed here
in four ways, and what follows is counted (`make calibrate`, {runs:,} studies a cell, seed {seed}).

Assumed: {annotators} annotators judge {pairs} pairs in both directions; the estimate is of the first pair. An
annotator's own chances are beta-distributed about {mean:.0%}. A stated chance is the share of successes in *samples*
draws at it, the form of random variation that Howe and Costello (2020) find in stated probabilities; fewer are noisier.
Most people state complements, as support theory says of two hypotheses (Tversky and Koehler 1994): the second direction
is 1 less the first. A share states the directions *independently*, and adds a *bias* towards what is asked. On reading
the sentence, half or all of these state complements (*understand*), or all lower the second answer as far as they must
(*comply*), which passes the filter and mends nothing. Mandel (2005) found that tasks which make people think of the
complement increase coherence; nobody measured this sentence, nor whether its example (80 and 20 %) draws answers. In
the paper's image study, which asked without it, 29 of 60 stayed after all exclusions.

Each cell: share left out; mean error of the estimate in points (of it, the first direction alone); power at 5 % for one
pair; false findings where the mean is 50 %. With `guess`, those who state directions independently state anything; with
`fixed`, everybody is asked about the same direction first.
"""
TAIL = """
**What follows.** Where the direction asked first is counterbalanced, the default, and those who state directions
independently know what they prefer, no assumed effect moves the estimate by more than {error:.1f} points, false
findings stay within {least:.1%} to {most:.1%}, and power grows, where it is least from {power_without:.0%} to
{power_with:.0%}, as fewer leave. Where they guess, the filter finds them without the sentence and nobody who complies
with it: of {guess_share} who guess, power is {guess_with:.0%} for {guess_without:.0%}, the estimate {guess_error:+.1f}
points for {guess_plain:+.1f}. Where everybody is asked about the same direction first, the sentence lets a bias into
both: {fixed_error:+.1f} points and {fixed_false:.0%} false findings, for {plain_error:+.1f} and {plain_false:.1%}
without; `spa check` warns of that pair of settings.

So it depends on who the people above 1.1 are, which only an experiment can tell. The default stays, for want of
evidence; `explain_sum = false` asks as the paper did. With the sentence, attention checks find guessers, the filter
does not.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Who answers: the share who state directions independently, draws behind a chance, bias to what is asked."""

    independent: float
    samples: int
    bias: float
    fixed: bool = False  # the same direction comes first for everybody
    guessing: bool = False  # those who state directions independently state anything

    @property
    def named(self) -> str:
        """What the table calls them."""
        return f"{self.independent:.0%}{', fixed' if self.fixed else ', guess' if self.guessing else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a study of such people comes to, on average."""

    left_out: float
    error: float  # of the mean of both directions, in points
    error_first: float  # of the direction asked first alone, in points
    power: float
    false: float

    def cell(self) -> str:
        """Return one cell of the table."""
        errors = f"{_signed(self.error)} ({_signed(self.error_first)})"
        return f"{self.left_out:.0%}; {errors}; {self.power:.0%}; {self.false:.1%}"


def _signed(points: float) -> str:
    return f"{round(points, 1) + 0.0:+.1f}"


def answers(
    people: People, effect: Effect, *, mean: float, runs: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Return what is stated of x over y and of y over x, and which is asked first: studies, annotators, pairs."""
    shape = (runs, ANNOTATORS, PAIRS)
    own = rng.beta(mean * SPREAD, (1 - mean) * SPREAD, size=shape)
    turned = np.zeros(shape, bool) if people.fixed else rng.random(shape) < 0.5  # y over x is asked first
    first_truth = np.where(turned, 1 - own, own)
    independent = rng.random((runs, ANNOTATORS, 1)) < people.independent
    first = rng.binomial(people.samples, first_truth) / people.samples
    second = rng.binomial(people.samples, 1 - first_truth) / people.samples
    if people.guessing:
        first, second = (np.where(independent, rng.random(shape), stated) for stated in (first, second))
    first = np.where(independent, np.minimum(first + people.bias, 1), first)
    second = np.where(independent, np.minimum(second + people.bias, 1), 1 - first)
    share = {"none": 0.0, "half understand": 0.5, "all understand": 1.0, "all comply": 0.0}[effect]
    understood = independent & (rng.random((runs, ANNOTATORS, 1)) < share)
    second = np.where(understood, 1 - first, second)
    if effect == "all comply":
        second = np.minimum(second, 1 - first)
    return np.where(turned, second, first), np.where(turned, first, second), turned.astype(float)


def estimates(forward: Floats, reverse: Floats) -> tuple[Floats, Floats, Floats]:
    """Return who stays, and of the first pair the mean and p-value of each study, as a report has them."""
    kept = np.all(np.round(forward + reverse, 9) <= TAU, axis=2)
    combined = np.where(kept, (forward[:, :, 0] + 1 - reverse[:, :, 0]) / 2, np.nan)
    number = kept.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(combined, axis=1) / number
        error = np.sqrt(np.nansum((combined - mean[:, None]) ** 2, axis=1) / (number - 1) / number)
        p_value = np.where(number > 1, 2 * stats.t.sf(np.abs(mean - 0.5) / error, number - 1), np.nan)
    return kept.astype(float), mean, p_value


def simulate(people: People, effect: Effect, *, runs: int, seed: int) -> Found:
    """Let people answer after the sentence, or without it."""
    rng = np.random.default_rng(seed)
    forward, reverse, turned = answers(people, effect, mean=MEAN, runs=runs, rng=rng)
    kept, mean, p_value = estimates(forward, reverse)
    first = np.where(turned[:, :, 0] == 1, 1 - reverse[:, :, 0], forward[:, :, 0])
    of_first = np.nansum(np.where(kept == 1, first, np.nan), axis=1) / kept.sum(axis=1)
    equal = estimates(*answers(people, effect, mean=0.5, runs=runs, rng=rng)[:2])[2]
    return Found(
        left_out=float(1 - kept.mean()),
        error=float(100 * np.nanmean(mean - MEAN)),
        error_first=float(100 * np.nanmean(of_first - MEAN)),
        power=float(np.mean(p_value <= LEVEL)),
        false=float(np.mean(equal <= LEVEL)),
    )


def designs() -> Iterator[People]:
    """Yield who may answer."""
    yield People(independent=0.0, samples=10, bias=0.0)
    for samples in (10, 30):
        for bias in (0.0, 0.1):
            for independent in (0.3, 0.6):
                yield People(independent=independent, samples=samples, bias=bias)
    for independent in (0.3, 0.6):
        yield People(independent=independent, samples=10, bias=0.0, guessing=True)
    yield replace(People(independent=0.6, samples=10, bias=0.1), fixed=True)


def write(runs: int, seed: int) -> Iterator[str]:
    """Yield the document as far as it is known."""
    text = HEAD.format(runs=runs, seed=seed, annotators=ANNOTATORS, pairs=PAIRS, mean=MEAN)
    text += (
        f"\n| independent | samples | bias | {' | '.join(EFFECTS)} |\n| --- | --- | --- |{' --- |' * len(EFFECTS)}\n"
    )
    found: dict[People, dict[Effect, Found]] = {}
    for people in designs():
        own = found[people] = {effect: simulate(people, effect, runs=runs, seed=seed) for effect in EFFECTS}
        cells = " | ".join(one.cell() for one in own.values())
        text += f"| {people.named} | {people.samples} | {people.bias:g} | {cells} |\n"
        yield text
    yield text + _summary(found)


def _summary(found: dict[People, dict[Effect, Found]]) -> str:
    knowing = [own for people, own in found.items() if people.independent and not (people.fixed or people.guessing)]
    read = [own[effect] for own in knowing for effect in EFFECTS if effect != "none"]
    least = min(knowing, key=lambda own: own["none"].power)
    (fixed,) = (own for people, own in found.items() if people.fixed)
    worst = max(fixed.values(), key=lambda one: one.false)
    people, guess = next((people, own) for people, own in found.items() if people.guessing)
    return TAIL.format(
        error=max(abs(one.error) for one in read),
        least=min(one.false for one in read),
        most=max(one.false for one in read),
        power_without=least["none"].power,
        power_with=least["all comply"].power,
        guess_share=f"{people.independent:.0%}",
        guess_with=guess["all comply"].power,
        guess_without=guess["none"].power,
        guess_error=guess["all comply"].error,
        guess_plain=guess["none"].error,
        fixed_error=worst.error,
        fixed_false=worst.false,
        plain_error=fixed["none"].error,
        plain_false=fixed["none"].false,
    )


if __name__ == "__main__":
    write_table("sum_rule", __doc__, write, runs=4000)
