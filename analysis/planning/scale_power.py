"""Power of the t-test of answers on a scale, which are neither normal nor continuous, and may be all alike."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.special import bdtrc, gammainc, gammaln, ndtr, ndtri, stdtrit

from analysis.planning.power import LEAST, chances_to_stay, expected_power, t_power
from analysis.planning.simulate import FINE
from analysis.statistics.coding import Floats, Ints

FEW = 20  # answers up to which power is simulated, but where no more than three different ones are given
RUNS = 25_000  # simulated studies of few answers: a standard error of 0.25 points at a power of 0.8
MANY = 5000  # annotators, above which the normal formula is exact enough
APART = 1.1  # ratio of neighbouring numbers of annotators between which power is interpolated
SMALL = 64  # annotators up to whom power is reckoned for each number who stay
COARSE = 5  # different answers up to which power can step down with an annotator more
NEVER = 1e-15  # power that counts as none
RARE = 1e-6  # chance of a number of annotators, beside the likeliest, that is left out
OFTEN = 1e-3  # chance of an answer that counts for that
LEAST_CHANCE = 1e-12  # of a sum of answers; rounding hides what is rarer
MOST_TEETH = 200
EXACT = 1 + 1e-9  # of a sum of squares that decides; ties of the test are rejections


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lattice:
    """Answers as ``first + step * place``, less the mean under the null hypothesis, and the chance of each place."""

    first: float
    step: float
    chances: Floats


def lattice(points: Floats, chances: Floats, null: float) -> Lattice:
    """Return the coarsest lattice of the answers that are ever given.

    Parameters
    ----------
    points : array of float, shape (n_points,)
        Possible answers, at equal steps.
    chances : array of float, shape (n_points,)
        How likely each is.
    null : float
        Mean under the null hypothesis.

    >>> found = lattice(np.array([0, 0.5, 1]), np.array([0.4, 0, 0.6]), 0.5)
    >>> found.first, found.step, found.chances.tolist()
    (-0.5, 1.0, [0.4, 0.6])
    """
    given = np.flatnonzero(chances > LEAST_CHANCE * LEAST_CHANCE)
    between = int(np.gcd.reduce(np.diff(given))) if len(given) > 1 else 1
    own = chances[given[0] : given[-1] + 1 : between]
    step = (points[1] - points[0]) * between
    return Lattice(first=float(points[given[0]] - null), step=float(step), chances=own / own.sum())


def sum_power(points: Floats, chances: Floats, *, null: float, n: int, alpha: float) -> float:
    """Return the chance that a two-sided one-sample t-test finds the mean above that of the null hypothesis.

    The sum s of n answers has its exact distribution, the n-th power of the characteristic function; so have, given
    s and that not all answers are alike, which is no test, mean and variance of the sum of squared deviations. The
    test rejects where that sum is at most (n - 1) s^2 / n / c^2, c the critical value of t. Given s it is taken to be
    gamma distributed, as it is for normal answers, on the lattice on which it lies.

    Parameters
    ----------
    points, chances : array of float, shape (n_points,)
        Possible answers, at equal steps, and how likely each is.
    null : float
        Mean under the null hypothesis, below the true one.
    n : int
        Answers tested, at least 2.
    alpha : float
        Level of the test.

    Notes
    -----
    Simulated power of more than 20 answers differs by less than 0.5 points (``tests/calibration/planning.md``).
    """
    made = lattice(points, chances, null)
    chances, place = made.chances, np.arange(len(made.chances))
    mean = float(chances @ place)
    squares = (place - mean) ** 2
    variance = float(chances @ squares)
    rest = squares - variance  # around their mean, which saves digits
    length = n * (len(place) - 1) + 1
    size = _fast_length(length)
    once, squared, fourth = (np.fft.rfft(chances * weight, size) for weight in (1.0, rest, rest**2))
    others = once ** (n - 2)
    of_sum, first, second = (
        np.fft.irfft(transform * others, size)[:length]
        for transform in (once**2, n * once * squared, n * once * fourth + n * (n - 1) * squared**2)
    )
    alike = chances**n
    for weighted, each in ((of_sum, 1.0), (first, n * rest), (second, (n * rest) ** 2)):
        weighted[n * place] -= alike * each
    total = np.arange(length)
    centred = n * made.first / made.step + total  # the sum of answers, in steps
    likely = (of_sum > LEAST_CHANCE) & (centred > 0)
    of_sum, total, centred = of_sum[likely], total[likely], centred[likely]
    first, second = first[likely] / of_sum, second[likely] / of_sum
    deviations = np.maximum(first + n * variance - (total - n * mean) ** 2 / n, 1e-9)
    spread = np.maximum(second - first**2, 0.0)
    most = EXACT * (n - 1) * centred**2 / n / float(stdtrit(n - 1, alpha / 2)) ** 2
    squares_most = most + total**2 / n  # of places; they are even where their sum is
    most = total + 2 * np.floor((squares_most - total) / 2) + 1 - total**2 / n
    shape = deviations**2 / np.maximum(spread, 1e-9)
    found = np.where(spread < 1e-6, most >= deviations, gammainc(shape, np.maximum(most, 0) * shape / deviations))
    return float(of_sum @ found)


def _fast_length(least: int) -> int:
    """Return a length at which a Fourier transform is fast: 4, 5, 6 or 8 times a power of 2."""
    half = 1 << max((least - 1).bit_length() - 3, 0)
    return next(times * half for times in (4, 5, 6, 8) if times * half >= least)


def won_power(won: float, lost: float, *, n: int, alpha: float) -> float:
    """Return the exact power of the t-test of n answers of 1, 0 or -1, the rest ties, found above 0.

    Of u answers that are no ties, w are won; the test rejects where 2w - u is at least the root of u k, with
    k = n c^2 / (c^2 + n - 1) and c the critical value of t, unless all n are won.

    >>> round(won_power(0.95, 0.05, n=14, alpha=0.05), 3)
    0.508
    """
    squared = float(stdtrit(n - 1, alpha / 2)) ** 2
    least = n * squared / (squared + n - 1) / EXACT
    decided = won + lost
    middle, reach = n * decided, 9 * math.sqrt(n * decided * max(1 - decided, 0.0)) + 40
    untied = np.arange(max(1, math.floor(middle - reach)), min(n, math.ceil(middle + reach)) + 1)
    if decided < 1 - LEAST_CHANCE:
        logs = gammaln(n + 1) - gammaln(untied + 1) - gammaln(n - untied + 1)
        chances = np.exp(logs + untied * math.log(decided) + (n - untied) * math.log1p(-decided))
    else:
        untied, chances = np.array([n]), np.ones(1)
    wins = np.ceil((untied + np.sqrt(least * untied)) / 2)
    share = won / decided
    found = np.where(wins <= untied, bdtrc(np.minimum(wins - 1, untied), untied, share), 0.0)
    found = np.where(wins <= 0, 1.0, found)
    alike = won**n if wins[-1] <= n and untied[-1] == n else 0.0
    return max(0.0, float(chances @ found) - alike)


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
        Of the simulation for few annotators; its draws are the same whatever the answers.
    """

    points: Floats
    chances: Floats
    null: float
    alpha: float
    exclusion_rate: float = 0.0
    seed: int = 0
    powers: dict[int, float] = field(default_factory=dict)

    @property
    def effect(self) -> float:
        """Difference divided by the SD of one answer."""
        mean = float(self.points @ self.chances)
        return (mean - self.null) / math.sqrt(float((self.points - mean) ** 2 @ self.chances))

    @property
    def lattice(self) -> Lattice:
        """The answers that are ever given."""
        return lattice(self.points, self.chances, self.null)

    @property
    def counted(self) -> tuple[float, float] | None:
        """Chances of won and lost where an answer is one of these, the same distance from the null, or a tie."""
        made = self.lattice
        first, chances = made.first / made.step, made.chances
        if len(chances) > 3 or not math.isclose(first, -(first + len(chances) - 1), abs_tol=1e-9):
            return None
        return float(chances[-1]), float(chances[0])

    @property
    def coarse(self) -> bool:
        """Whether so few different answers are given that power can step down with an annotator more."""
        return int(np.count_nonzero(self.chances > OFTEN)) <= COARSE

    def sawtooth_span(self, kept: float) -> int:
        """Return among how many more than ``kept`` annotators power may step down.

        The critical sum of n answers is about c SD sqrt(n); it passes a step of their sum once in as many answers.
        """
        spread = self.lattice.step * self.effect / (float(self.points @ self.chances) - self.null)
        critical = -float(stdtrit(max(kept - 1, 1.0), self.alpha / 2))
        return min(math.ceil(3 * spread * math.sqrt(kept) / critical) + 4, MOST_TEETH)

    def formula(self, annotators: int) -> float:
        """Return the power of normal answers with this mean and SD."""
        return expected_power(self.effect, annotators, alpha=self.alpha, exclusion_rate=self.exclusion_rate)

    def power(self, annotators: int) -> float:
        """Return the power with so many annotators recruited, averaged over how many stay by chance."""
        return self.averaged(*chances_to_stay(annotators, self.exclusion_rate))

    def averaged(self, kept: Ints, chances: Floats) -> float:
        """Return the power where so many annotators stay, each number with its chance."""
        likely = (kept >= LEAST) & (chances > RARE * chances.max())
        kept, chances = kept[likely], chances[likely]
        if not len(kept):
            return 0.0
        many = kept[0] > MANY
        if many and self.counted is None:
            alike = float(self.chances.max()) ** kept  # no test; any other answer is rarer
            return float(chances @ (t_power(self.effect, kept, alpha=self.alpha) * (1 - alike)))
        if (self.coarse or kept[-1] <= SMALL) and not many:  # whose power is not smooth
            return float(chances @ self._of_each(kept))
        nodes = np.array(_nodes(int(kept[0]), int(kept[-1])))
        reached = np.clip(self._of_each(nodes), NEVER, 1 - NEVER)
        away = ndtri(reached) - self.effect * np.sqrt(nodes)  # of a normal test it would hardly change
        return float(chances @ ndtr(self.effect * np.sqrt(kept) + np.interp(kept, nodes, away)))

    def _of_each(self, numbers: Ints) -> list[float]:
        """Return the power with each number, ascending; of few the most first, whose simulation holds the others."""
        return [self.with_annotators(n) for n in reversed(numbers.tolist())][::-1]

    def with_annotators(self, n: int) -> float:
        """Return the power with n annotators, at least 2."""
        if n not in self.powers:
            if self.counted is not None:
                won, lost = self.counted
                self.powers[n] = won_power(won, lost, n=n, alpha=self.alpha)
            elif n <= FEW:
                few = few_powers(self.lattice, self.alpha, self.seed, n)
                self.powers.update(zip(range(LEAST, n + 1), few, strict=True))
            else:
                self.powers[n] = sum_power(self.points, self.chances, null=self.null, n=n, alpha=self.alpha)
        return self.powers[n]


def _nodes(low: int, high: int) -> list[int]:
    """Return numbers that enclose a range, all up to ``FEW``, the same for every range."""
    grid = list(range(LEAST, FEW + 2))
    while grid[-1] < high:
        grid.append(max(grid[-1] + 1, round(APART * grid[-1])))
    return grid[bisect_right(grid, low) - 1 : bisect_left(grid, high) + 1]


def few_powers(made: Lattice, alpha: float, seed: int, most: int) -> list[float]:
    """Return the simulated powers of 2, 3, up to ``most`` answers, each study's first ones; ``FEW`` at most."""
    table = np.searchsorted(np.cumsum(made.chances)[:-1], (np.arange(FINE) + 0.5) / FINE, side="right")
    answers, drawn = made.first + made.step * table, _drawn(seed)
    alike, first = np.ones(RUNS, dtype=bool), answers[drawn[0]]
    total, squares = first.copy(), first**2
    found = []
    for n in range(LEAST, most + 1):
        own = answers[drawn[n - 1]]
        alike &= own == first
        total += own
        squares += own**2
        least = n / (1 + (n - 1) / float(stdtrit(n - 1, alpha / 2)) / float(stdtrit(n - 1, alpha / 2))) / EXACT
        found.append(float(np.count_nonzero((total > 0) & (total**2 >= least * squares) & ~alike) / RUNS))
    return found


@lru_cache(maxsize=2)
def _drawn(seed: int) -> Ints:
    """Return which answer is given, shape (FEW, RUNS)."""
    return np.random.default_rng(seed).integers(0, FINE, size=(FEW, RUNS), dtype=np.uint16).astype(np.int64)
