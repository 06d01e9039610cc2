"""False decisions of live studies with several deciding criteria, which are one family, and were each one by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.sequential.replay import replay
from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats
from tests.calibration.sequential_errors import BATCH, MARGIN, PEOPLE, RULE, false_decisions

NUMBERS = (1, 2, 4, 8)
CORRELATIONS = (0.0, 0.5, 0.95)
SD = 0.22
EVEN = (0.5, 0.5, 0.5, 0.5)
SOME_DIFFER = (0.6, 0.5, 0.5, 0.8)
ALL_DIFFER = (0.6, 0.65, 0.7, 0.8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """What is true of the pairs: means by the first criterion, and by each of the others."""

    name: str
    first: tuple[float, ...]
    others: tuple[float, ...]
    rule: StoppingRule = RULE

    def means(self, criteria: int) -> Floats:
        """Return the means of all, shape (criteria, pairs)."""
        return np.array([self.first, *[self.others] * (criteria - 1)])


TRUTHS = (
    Criteria(name="all pairs even", first=EVEN, others=EVEN),
    Criteria(name="all differ by the first criterion, none by others", first=ALL_DIFFER, others=EVEN),
    Criteria(name="two of four pairs even by each", first=SOME_DIFFER, others=SOME_DIFFER),
    Criteria(name="margin .10, half at it and half even", first=(0.6, 0.4, 0.5, 0.5), others=(0.6, 0.4, 0.5, 0.5),
             rule=MARGIN),
)  # fmt: skip


def answers(rng: np.random.Generator, runs: int, people: int, means: Floats, correlation: float) -> Floats:
    """Draw preferences, shape (runs, people, criteria * pairs), of which those of one pair correlate over criteria."""
    shape = (runs, people, means.shape[1])
    common = np.sqrt(correlation) * rng.normal(0, 1, shape)[:, :, None, :]
    own = np.sqrt(1 - correlation) * rng.normal(0, 1, (runs, people, *means.shape))
    drawn = np.clip(means + SD * (common + own), 2 * means - 1, 2 * means).clip(0, 1)  # even: the mean stays
    return drawn.reshape(runs, people, -1)


def counts(truth: Criteria, criteria: int, correlation: float, runs: int, rng: np.random.Generator) -> Floats:
    """Return how many studies had a false decision: all criteria one family, and each one by itself."""
    means = truth.means(criteria)
    values = answers(rng, runs, PEOPLE, means, correlation)
    return np.array([false_studies(values, means.ravel(), truth.rule, size) for size in (means.size, means.shape[1])])


def false_studies(values: Floats, means: Floats, rule: StoppingRule, size: int) -> float:
    """Return how many studies had a false decision, with so many hypotheses in each family."""
    parts = [replay(values[..., at : at + size], rule).decisions for at in range(0, len(means), size)]
    found = false_decisions(np.concatenate(parts, axis=-1), means, rule)[0]
    return float(found.any(axis=-1).sum())


def table(runs: int, seed: int) -> Iterator[str]:
    """Yield the rows: by number of criteria one family, and the same answers with a family for each criterion."""
    numbers = " | ".join(str(number) for number in NUMBERS)
    yield f"| truth | correlation | {numbers} | apart: {numbers} |"
    yield "| --- " * (2 + 2 * len(NUMBERS)) + "|"
    for place, truth in enumerate(TRUTHS):
        for at, correlation in enumerate(CORRELATIONS):
            shares = []
            for criteria in NUMBERS:
                rng = np.random.default_rng([seed, 11, place, at, criteria])
                found = sum(counts(truth, criteria, correlation, BATCH, rng) for _ in range(max(runs // BATCH, 1)))
                shares.append([f"{100 * count / (max(runs // BATCH, 1) * BATCH):.1f} %" for count in found])
            together, apart = (" | ".join(column) for column in zip(*shares, strict=True))
            yield f"| {truth.name} | {correlation:g} | {together} | {apart} |"
