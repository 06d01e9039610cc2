"""False decisions of live studies in which nothing, or only some of it, is true."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtr

from analysis.sequential.replay import Replay, replay
from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats
from tests.calibration.sequential_holm import holm_replay

PEOPLE = 100
BATCH = 1000  # studies in memory
FIRST = 5  # people before the first t-test
TASTE_AND_NOISE = 1.0  # SD of what one output pleases beyond its system's utility
TIED = 0.1  # less is no difference to the person
Draw = Callable[[np.random.Generator, tuple[int, ...], Floats], Floats]


def preferences(rng: np.random.Generator, shape: tuple[int, ...], mean: Floats) -> Floats:
    """Draw beta-distributed preferences, SD .22, in halves of a percent (two directions averaged)."""
    total = mean * (1 - mean) / 0.22**2 - 1
    return np.round(200 * rng.beta(mean * total, (1 - mean) * total, shape)) / 200


def together(rng: np.random.Generator, shape: tuple[int, ...], mean: Floats) -> Floats:
    """Draw preferences of people who share half of their variance over the pairs."""
    common = rng.normal(0, 1, (*shape[:-1], 1))
    return np.clip(mean + 0.22 * (common + rng.normal(0, 1, shape)) / 2**0.5, 2 * mean - 1, 2 * mean).clip(0, 1)


def two_points(low: float, high: float) -> Draw:
    """Return a draw of two values: ``low`` mostly, ``high`` as often as the mean asks for."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...], mean: Floats) -> Floats:
        return np.where(rng.random(shape) < (mean - low) / (high - low), high, low)

    return draw


def ratings(rng: np.random.Generator, shape: tuple[int, ...], mean: Floats) -> Floats:
    """Draw differences of two ratings of 1 to 5, each a normal rounded, averaged over three items and mapped."""
    points = 4 * (2 * mean - 1)
    drawn = [np.clip(np.round(rng.normal(shift, 1, (3, *shape))), -2, 2).mean(axis=0) for shift in (points, 0 * points)]
    return ((drawn[0] - drawn[1]) / 4 + 1) / 2


def choices(rng: np.random.Generator, shape: tuple[int, ...], mean: Floats) -> Floats:
    """Draw one choice a person, ties in one of five."""
    drawn = rng.random(shape)
    return np.where(drawn < mean - 0.1, 1.0, np.where(drawn < mean + 0.1, 0.5, 0.0))


def rankings(rng: np.random.Generator, shape: tuple[int, ...], mean: Floats) -> Floats:
    """Draw three rankings of four systems a person: the share of them in which one stands before another.

    Systems please by utility, a taste of the person's own and chance; outputs that please about alike are tied. The six
    pairs of a person depend on one another. The first three means are those of the first system, the others 0.5.
    """
    x, y = np.triu_indices(4, 1)
    utility = np.r_[np.sqrt(2) * TASTE_AND_NOISE * ndtri(mean[0]), 0.0, 0.0, 0.0]
    taste = rng.normal(0, 1, (*shape[:-1], 1, 4))
    pleases = utility + 0.6 * taste + 0.8 * rng.normal(0, 1, (*shape[:-1], 3, 4))
    before = pleases[..., x] - pleases[..., y]
    return np.where(abs(before) < TIED, 0.5, before > 0).mean(axis=-2)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveDesign:
    """Pairs with their true means, how people answer, and the rule."""

    name: str
    draw: Draw
    means: tuple[float, ...]
    rule: StoppingRule
    people: int = PEOPLE
    replay: Callable[[Floats, StoppingRule], Replay] = replay


RULE = StoppingRule(effect=0.1, sd=0.22)
MARGIN = StoppingRule(effect=0.1, sd=0.22, margin=0.1)
ORDERS = StoppingRule(effect=0.1, sd=0.35)
EVEN = (0.5,) * 4
DESIGNS = (
    LiveDesign(name="preferences, SD .22", draw=preferences, means=EVEN, rule=RULE),
    LiveDesign(name="preferences, pairs correlated .5", draw=together, means=EVEN, rule=RULE),
    LiveDesign(name="preferences, 40 % mostly and 90 % rarely", draw=two_points(0.4, 0.9), means=EVEN, rule=RULE),
    LiveDesign(name="preferences, 45 % mostly and 100 % rarely", draw=two_points(0.45, 1.0), means=EVEN, rule=RULE),
    LiveDesign(name="preferences, 0 % or 100 % only", draw=two_points(0.0, 1.0), means=EVEN, rule=RULE),
    LiveDesign(name="preferences, ten pairs", draw=preferences, means=(0.5,) * 10, rule=RULE),
    LiveDesign(
        name="preferences, Holm on always-valid p-values",
        draw=preferences,
        means=EVEN,
        rule=RULE,
        replay=holm_replay,
    ),
    LiveDesign(name="ratings", draw=ratings, means=EVEN, rule=StoppingRule(effect=0.0625, sd=0.12)),
    LiveDesign(name="choices", draw=choices, means=EVEN, rule=StoppingRule(effect=0.1, sd=0.45)),
    LiveDesign(name="one of four pairs even", draw=preferences, means=(0.5, 0.6, 0.7, 0.8), rule=RULE),
    LiveDesign(name="two of four pairs even", draw=preferences, means=(0.5, 0.5, 0.65, 0.8), rule=RULE),
    LiveDesign(
        name="four pairs differ slightly (51 %), 300 people",
        draw=preferences,
        means=(0.51,) * 4,
        rule=RULE,
        people=300,
    ),
    LiveDesign(
        name="three pairs differ slightly (52 %), one even, 300 people",
        draw=preferences,
        means=(0.52, 0.52, 0.52, 0.5),
        rule=RULE,
        people=300,
    ),
    LiveDesign(name="margin .10, all pairs even", draw=preferences, means=EVEN, rule=MARGIN),
    LiveDesign(name="margin .10, all pairs at it", draw=preferences, means=(0.6, 0.4, 0.6, 0.4), rule=MARGIN),
    LiveDesign(name="margin .10, half at it and half even", draw=preferences, means=(0.6, 0.4, 0.5, 0.5), rule=MARGIN),
    LiveDesign(
        name="margin .10, at it, 55 % mostly and 100 % rarely",
        draw=two_points(0.55, 1.0),
        means=(0.6,) * 4,
        rule=MARGIN,
    ),
    LiveDesign(name="three rankings of four systems", draw=rankings, means=(0.5,) * 6, rule=ORDERS),
    LiveDesign(
        name="three rankings of four systems, one of them better",
        draw=rankings,
        means=(*(0.65,) * 3, *(0.5,) * 3),
        rule=ORDERS,
    ),
)


def table(runs: int, seed: int) -> Iterator[str]:
    """Yield the rows: false decisions of the rule, wrong directions among them, and of repeated t-tests."""
    yield "| design | any false decision | of a wrong direction | Holm t-test after every person |"
    yield "| --- | --- | --- | --- |"
    for place, design in enumerate(DESIGNS):
        rng = np.random.default_rng([seed, place])
        found = np.zeros(3)
        for _ in range(runs // BATCH):
            found += counts(design, BATCH, rng)
        shares = " | ".join(f"{100 * count / (runs // BATCH * BATCH):.1f} %" for count in found)
        yield f"| {design.name} | {shares} |"


def counts(design: LiveDesign, runs: int, rng: np.random.Generator) -> Floats:
    """Return how many studies had a false decision, one of wrong direction, and a false finding of repeated t-tests."""
    mean = np.array(design.means)
    values = design.draw(rng, (runs, design.people, len(mean)), mean)
    false, wrong = false_decisions(design.replay(values, design.rule).decisions, mean, design.rule)
    repeated = looked_at(values, mean, design.rule.error_rate)
    return np.array([false.any(axis=-1).sum(), wrong.any(axis=-1).sum(), repeated.sum()], dtype=np.float64)


def false_decisions(
    decisions: npt.NDArray[np.str_], mean: Floats, rule: StoppingRule
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Tell which decisions on hypotheses of these means are false, and which of these name the wrong direction."""
    wrong = ((decisions == "x") & (mean < 0.5)) | ((decisions == "y") & (mean > 0.5))
    margin = 1.0 if rule.margin is None else rule.margin
    false = wrong | (np.isin(decisions, ["x", "y"]) & (mean == 0.5))
    false |= (decisions == "equal") & (abs(mean - 0.5) >= margin - 1e-12)
    return false, wrong


def looked_at(values: Floats, mean: Floats, level: float) -> Floats:
    """Tell which studies ever had a false finding by Holm's t-tests after each person."""
    n = np.arange(1, values.shape[1] + 1)[:, None]
    centred = values - 0.5
    total, squares = centred.cumsum(axis=1), (centred**2).cumsum(axis=1)
    spread = np.maximum(squares - total**2 / n, 1e-12) / np.maximum(n - 1, 1) / n
    t = total / n / np.sqrt(spread)
    p_value = np.where(spread > 1e-9, 2 * stdtr(np.maximum(n - 1, 1), -abs(t)), 1.0)[:, FIRST - 1 :]
    order = np.argsort(p_value, axis=-1)
    steps = np.take_along_axis(p_value, order, axis=-1) <= level / np.arange(len(mean), 0, -1)
    rejected = np.zeros_like(steps)
    np.put_along_axis(rejected, order, np.logical_and.accumulate(steps, axis=-1), axis=-1)
    false = (mean == 0.5) | (np.sign(t[:, FIRST - 1 :]) != np.sign(mean - 0.5))
    return (rejected & false).any(axis=(1, 2))
