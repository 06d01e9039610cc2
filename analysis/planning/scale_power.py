"""Power of the t-test of answers on a scale, which are neither normal nor continuous."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtrit

from analysis.planning.power import LEAST, chances_to_stay, expected_power, t_power
from analysis.planning.simulate import simulate_family
from analysis.statistics.coding import Floats

FEW = 12  # annotators expected to stay, up to which power is simulated
MANY = 5000  # annotators, above which the normal formula is exact enough
RUNS = 100_000  # simulated studies of few annotators: a standard error of 0.13 points at a power of 0.8
FEWEST = 5  # answers from which the sum of squares is near enough to normal
NODES = 3  # numbers of annotators between which what a scale changes is interpolated
COARSE = 2  # different answers, such as won and lost, of which power goes up and down with each annotator
LEAST_CHANCE = 1e-12  # of a sum of answers; rounding hides what is rarer


def sum_power(points: Floats, chances: Floats, *, null: float, n: int, alpha: float) -> float:
    """Return the chance that a two-sided one-sample t-test finds the mean above ``null``.

    The sum s of n answers has its exact distribution, the n-th power of the characteristic function; so have
    mean and variance of the sum of squares, given s. The test rejects where that sum of squares is at most
    s^2 / n (1 + (n - 1) / c^2), c the critical value of t; its distribution given s is taken as normal.

    Parameters
    ----------
    points : array of float, shape (n_points,)
        Possible answers, at equal steps; ``null`` lies a whole number of steps from each.
    chances : array of float, shape (n_points,)
        How likely each is.
    null : float
        Mean under the null hypothesis, below the true one.
    n : int
        Answers tested, at least 2.
    alpha : float
        Level of the test.

    Notes
    -----
    Simulated power of 15 answers or more differs by less than 0.2 points, of fewer by up to 1 point
    (``tests/calibration/planning.md``).
    """
    step = points[1] - points[0]
    steps = np.rint((points - null) / step)
    squares = steps**2 - float(chances @ steps**2)  # around their mean, which saves digits
    length = n * (len(steps) - 1) + 1
    size = 1 << (length - 1).bit_length()
    once, squared, fourth = (np.fft.rfft(chances * weight, size) for weight in (1.0, squares, squares**2))
    rest = once ** (n - 2)
    of_sum, first, second = (
        np.fft.irfft(transform * rest, size)[:length]
        for transform in (once**2, n * once * squared, n * once * fourth + n * (n - 1) * squared**2)
    )
    likely = of_sum > LEAST_CHANCE
    of_sum, first, second = of_sum[likely], first[likely] / of_sum[likely], second[likely] / of_sum[likely]
    total = (n * steps[0] + np.arange(length))[likely]
    most = total**2 / n * (1 + (n - 1) / float(stdtrit(n - 1, alpha / 2)) ** 2)
    most = total + 2 * np.floor((most - total) / 2) + 1  # a square is even where its root is: every second sum occurs
    found = ndtr((most - n * float(chances @ steps**2) - first) / np.sqrt(np.maximum(second - first**2, 1e-9)))
    return float(np.sum(of_sum * found * (total > 0)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScaleTest:
    """A t-test of answers whose chances are known.

    Attributes
    ----------
    points, chances : array of float, shape (n_points,)
        Possible answers, at equal steps, and how likely each is (see ``scale_answers``).
    null : float
        Mean under the null hypothesis; the true mean lies above it.
    alpha : float
        Level of the test.
    exclusion_rate : float
        Share of the recruited that the analysis leaves out, in [0, 1).
    seed : int
        Of the simulation for few annotators.
    """

    points: Floats
    chances: Floats
    null: float
    alpha: float
    exclusion_rate: float
    seed: int

    @property
    def effect(self) -> float:
        """Difference divided by the SD of one answer."""
        mean = float(self.points @ self.chances)
        return (mean - self.null) / math.sqrt(float((self.points - mean) ** 2 @ self.chances))

    def formula(self, annotators: int) -> float:
        """Return the power of normal answers with this mean and SD."""
        return expected_power(self.effect, annotators, alpha=self.alpha, exclusion_rate=self.exclusion_rate)

    def power(self, annotators: int, *, runs: int = RUNS) -> float:
        """Return the power with so many annotators recruited.

        Up to ``FEW`` who are expected to stay it is simulated in ``runs`` studies (0: computed as for more);
        up to ``MANY`` it is :func:`sum_power`, averaged over how many stay.
        """
        expected = annotators * (1 - self.exclusion_rate)
        if annotators < LEAST or expected > MANY:
            return self.formula(annotators)
        if runs and expected <= FEW:
            found = simulate_family(
                [(self.points, self.chances)],
                null=self.null,
                annotators=annotators,
                exclusion_rate=self.exclusion_rate,
                fwer=self.alpha,
                replicates=runs,
                rng=np.random.default_rng([self.seed, annotators]),
            )
            return found.power.value
        kept, chances = chances_to_stay(annotators, self.exclusion_rate)
        kept, chances = kept[kept >= FEWEST], chances[kept >= FEWEST]
        if not len(kept):
            return self.formula(annotators)
        likely = kept[chances > 1e-5 * chances.max()]
        coarse = np.count_nonzero(self.chances) <= COARSE
        nodes = likely if coarse else np.unique(np.linspace(likely[0], likely[-1], NODES).astype(int))
        changed = [
            sum_power(self.points, self.chances, null=self.null, n=int(n), alpha=self.alpha)
            - float(t_power(self.effect, n, alpha=self.alpha))
            for n in nodes
        ]
        return self.formula(annotators) + float(chances @ np.interp(kept, nodes, changed))
