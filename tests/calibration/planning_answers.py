"""Answers of simulated studies: drawn from what a plan takes for granted, by none of the code that plans."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from analysis.planning.assumptions import Kind
from analysis.statistics.coding import Floats
from tests.calibration.planning_studies import Answered, Layout

Booleans = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is true of a pair: the difference, and the spread of the answers about it.

    SPA, choices, rankings: shares; ratings and error spans: points. ``sd`` is between annotators, ``item_sd`` between
    items and the same for all, ``residual_sd`` between an annotator's items.
    """

    kind: Kind
    difference: float
    sd: float
    item_sd: float = 0.0
    residual_sd: float = 0.0
    points: int = 5
    directions: int = 1
    ties: float = 0.0
    errors: float = 4.0

    def own_sd(self, answers: int) -> float:
        """SD of the average of an annotator's answers, without what items share."""
        return math.sqrt(self.sd**2 + self.residual_sd**2 / answers)


@lru_cache(maxsize=256)
def most_even(low: float, high: float, steps: int, mean: float, sd: float) -> tuple[Floats, Floats]:
    """Return points of a scale and their chances: of largest entropy with this mean and SD (Jaynes 1957).

    p(x) ~ exp(a x + b x²), found as the minimum of the convex dual.
    """
    points = np.linspace(low, high, steps + 1)
    unit = (points - mean) / (high - low)
    features = np.stack([unit, unit**2 - (sd / (high - low)) ** 2])
    scale = np.abs(features).max(axis=1)
    features = features / scale[:, None]

    def dual(weights: Floats) -> tuple[float, Floats]:
        exponent = weights @ features
        return float(logsumexp(exponent)), np.asarray(features @ np.exp(exponent - logsumexp(exponent)))

    def curvature(weights: Floats) -> Floats:
        exponent = weights @ features
        weighted = features * np.exp(exponent - logsumexp(exponent))
        return np.asarray(weighted @ features.T - np.outer(weighted.sum(axis=1), weighted.sum(axis=1)))

    found = minimize(dual, np.zeros(2), jac=True, hess=curvature, method="trust-exact", options={"gtol": 1e-9})
    exponent = found.x @ features
    chances = np.exp(exponent - logsumexp(exponent))
    got = float(chances @ points), math.sqrt(float(chances @ (points - chances @ points) ** 2))
    if abs(got[0] - mean) > 1e-4 * (high - low) or abs(got[1] - sd) > 1e-3 * sd:
        raise ValueError(f"no answers from {low:g} to {high:g} in {steps} steps have mean {mean:g} and SD {sd:g}")
    return points, chances


def draw_answers(
    truth: Truth, layout: Layout, by_item: Booleans, stay: Booleans, rng: np.random.Generator, *, crowd: bool = False
) -> Floats:
    """Draw x minus y (or the share of x) for each question of a layout whose ratings pair, shape (studies, questions).

    Parameters
    ----------
    truth : Truth
    layout : Layout
    by_item : array of bool, shape (studies,)
        Whether the report tests over items, for these annotators only: then items are drawn, and the annotators who
        stay differ by ``truth.difference`` on average (unless each judges once). Else annotators are drawn, and the
        items of the study have the mean ``truth.difference`` and the SD ``truth.item_sd``.
    crowd : bool
        Whether annotators are drawn in tests over items, too: where these are planned for ten or more.
    stay : array of bool, shape (studies, annotators)
    """
    asked = layout.x
    items = draw_items(truth.item_sd, layout.items, by_item, rng)[:, asked.item] if truth.item_sd else 0.0
    if truth.kind in ("choices", "ranking"):
        return _choose(truth, layout, items, by_item & (not crowd), stay, rng)
    answers = np.empty((len(stay), len(asked)))
    once = len(np.unique(asked.who)) == len(asked)  # then items and annotators are the same units
    if once or not by_item.all():
        answers[:] = contributions(truth, layout, len(stay), rng)[:, asked.who]
    if by_item.any() and not once:
        size = (int(by_item.sum()), layout.annotators)
        own = rng.normal(0, truth.sd, size)
        own = own if crowd else centred(own, stay[by_item] & there(asked, layout))
        answers[by_item] = truth.difference + own[:, asked.who]
        answers[by_item] += rng.normal(0, truth.residual_sd, (size[0], len(asked)))
    return answers + items


def there(asked: Answered, layout: Layout) -> Booleans:
    """Return who is asked at all, shape (annotators,)."""
    return np.bincount(asked.who, minlength=layout.annotators) > 0


def centred(effects: Floats, stay: Booleans) -> Floats:
    """Take the mean of those who stay out of each study's effects."""
    counted = np.maximum(stay.sum(axis=1, keepdims=True), 1)
    return np.asarray(effects - (effects * stay).sum(axis=1, keepdims=True) / counted)


def draw_items(sd: float, items: int, by_item: Booleans, rng: np.random.Generator) -> Floats:
    """Draw what items share, shape (studies, items): of a test over annotators with just this SD and mean 0."""
    drawn = rng.standard_normal((len(by_item), items))
    if items > 1:
        fixed = drawn - drawn.mean(axis=1, keepdims=True)
        fixed /= np.sqrt((fixed**2).mean(axis=1, keepdims=True))
    else:
        fixed = np.zeros_like(drawn)
    return sd * np.where(by_item[:, None], drawn, fixed)


def contributions(truth: Truth, layout: Layout, studies: int, rng: np.random.Generator) -> Floats:
    """Draw an annotator's average without what items share, shape (studies, annotators), on the steps of the scale."""
    times = np.bincount(layout.x.who, minlength=layout.annotators)
    found = np.empty((studies, layout.annotators))
    for number in np.unique(times).tolist():
        size = (studies, int((times == number).sum()))
        found[:, times == number] = truth.difference if number == 0 else _averages(truth, number, size, rng)
    return found


def _averages(truth: Truth, times: int, size: tuple[int, int], rng: np.random.Generator) -> Floats:
    sd = truth.own_sd(times)
    if truth.kind == "spans":
        ratio = times * sd**2 / (2 * truth.errors)
        if ratio <= 1:
            raise ValueError(f"no counts have mean {truth.errors:g} and SD {sd:g}")
        x, y = (
            rng.negative_binomial(times * (truth.errors + half) / (ratio - 1), 1 / ratio, size)
            for half in (truth.difference / 2, -truth.difference / 2)
        )
        return np.asarray((x - y) / times)
    if truth.kind == "spa":
        points, chances = most_even(0.0, 1.0, 20 * truth.directions, 0.5 + truth.difference, sd)
    else:
        ends = truth.points - 1
        points, chances = most_even(-ends, ends, 2 * ends * times, truth.difference, sd)
    return points[np.minimum(np.searchsorted(np.cumsum(chances), rng.random(size)), len(points) - 1)]


def _choose(
    truth: Truth,
    layout: Layout,
    items: Floats | float,
    by_item: Booleans,
    stay: Booleans,
    rng: np.random.Generator,
) -> Floats:
    """Draw choices: won 1, tied 0.5, lost 0; each annotator has a beta distributed chance to win what is not tied."""
    asked, untied = layout.x, 1 - truth.ties
    mean, sd = 0.5 + truth.difference / untied, truth.sd / untied
    both = mean * (1 - mean) / sd**2 - 1
    own = rng.beta(mean * both, (1 - mean) * both, stay.shape)
    own[by_item] = mean + centred(own[by_item], stay[by_item] & there(asked, layout))
    chance = own[:, asked.who] + items / untied
    won = (rng.random(chance.shape) < chance).astype(np.float64)
    return np.where(rng.random(chance.shape) < truth.ties, 0.5, won) if truth.ties else won


def draw_sides(truth: Truth, layout: Layout, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw the ratings of one study whose ratings do not all pair: normal, each system's with half the variances.

    So differences have the components of ``truth``.
    """
    half, found = math.sqrt(0.5), []
    for side, mean in ((layout.x, truth.difference), (layout.y, 0.0)):
        own = rng.normal(0, half * truth.sd, layout.annotators)[side.who]
        items = rng.normal(0, half * truth.item_sd, layout.items)[side.item]
        found.append(mean + own + items + rng.normal(0, half * truth.residual_sd, len(side)))
    return found[0], found[1]
