"""How often prediction-powered intervals hold the mean that people would give, in stated designs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from analysis.llm_vs_people import PredictionPoweredMean, prediction_powered_mean
from tests.calibration.table import Line

MORE = 400
NOMINAL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A way of collecting answers whose true mean is 0, and whether it is large enough to promise the level."""

    name: str
    study: Callable[[np.random.Generator], PredictionPoweredMean]
    enough: bool


def designs() -> Iterator[Design]:
    """Yield the designs of the table."""
    for n in (10, 20, 50, 100):
        for follows in (0.0, 0.5, 0.9):
            yield Design(
                name=f"{n} answers of people, {MORE} more of an LLM that correlates {follows:g}",
                study=lambda rng, n=n, follows=follows: _single(rng, n, follows),  # type: ignore[misc]
                enough=n >= 20,
            )
    for n in (10, 20, 50):
        yield Design(
            name=f"{n} annotators with 5 items each, clustered by annotator",
            study=lambda rng, n=n: _by_annotator(rng, n),  # type: ignore[misc]
            enough=n >= 20,
        )
        yield Design(
            name=f"{n} annotators on {n} items, 3 an item, clustered by both",
            study=lambda rng, n=n: _crossed(rng, n),  # type: ignore[misc]
            enough=n >= 20,
        )


def coverage(design: Design, runs: int, seed: int) -> Line:
    """Simulate one design."""
    rng = np.random.default_rng(seed)
    held, width, lost = 0, 0.0, 0
    for _ in range(runs):
        found = design.study(rng)
        if found.ci_low is None or found.ci_high is None:
            lost += 1
            continue
        held += found.ci_low <= 0 <= found.ci_high
        width += found.ci_high - found.ci_low
    done = max(runs - lost, 1)
    return Line(
        name=design.name,
        nominal=NOMINAL,
        seen=held / done,
        width=width / done,
        runs=runs,
        lost=lost,
        promised=design.enough,
    )


def _single(rng: np.random.Generator, n: int, follows: float) -> PredictionPoweredMean:
    hidden = rng.normal(size=n + MORE)
    people = follows * hidden[:n] + np.sqrt(1 - follows**2) * rng.normal(size=n)
    return prediction_powered_mean(people, hidden[:n] + 0.5, hidden[n:] + 0.5)


def _by_annotator(rng: np.random.Generator, n: int) -> PredictionPoweredMean:
    who = np.repeat(np.arange(n), 5)
    hidden = rng.normal(size=5 * n + MORE)
    people = hidden[: 5 * n] + 0.7 * rng.normal(size=n)[who] + rng.normal(size=5 * n)
    return prediction_powered_mean(people, hidden[: 5 * n] + 0.5, hidden[5 * n :] + 0.5, clusters=who)


def _crossed(rng: np.random.Generator, n: int) -> PredictionPoweredMean:
    item = np.repeat(np.arange(n), 3)
    who = np.concatenate([rng.choice(n, size=3, replace=False) for _ in range(n)])
    hidden = rng.normal(size=n + MORE)
    people = hidden[item] + 0.7 * rng.normal(size=n)[who] + rng.normal(size=3 * n)
    llm = hidden + 0.4 * rng.normal(size=n + MORE)
    return prediction_powered_mean(people, llm[item], llm[n:], clusters=(who, item))
