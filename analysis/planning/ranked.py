"""Rankings and choices as the report tests them: by annotator, the share in which one system beats another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from analysis.planning.variance import Components
from analysis.statistics.coding import Floats
from spa.study.study import Study


def share_components(sd: float, ties: float = 0.0) -> Components:
    """Return why shares differ: annotators by ``sd``, and each order or choice by chance.

    Parameters
    ----------
    sd : float
        Between annotators' own shares, above 0 and below (1 - ``ties``) / 2.
    ties : float
        Share of ties, each half a win, in [0, 1).

    >>> share_components(0.1).contribution_sd(1), share_components(0.1, ties=0.36).contribution_sd(1)
    (0.5, 0.4)
    """
    return Components(annotator_sd=sd, residual_sd=math.sqrt((1 - ties) / 4 - sd**2))


def share_answers(components: Components, n_items: int, difference: float, ties: float = 0.0) -> tuple[Floats, Floats]:
    """Return the shares that one annotator can give over ``n_items`` orders or choices, and their chances.

    Each is tied with the chance ``ties``. Of the others an annotator's own chance to put x before y is beta
    distributed, such that the share has the mean 0.5 + ``difference`` and the SD between annotators; wins among them
    are beta-binomial.

    Raises
    ------
    ValueError
        When no chances have that mean and SD.

    References
    ----------
    Skellam, J. G. (1948). A probability distribution derived from the binomial distribution by regarding the
    probability of success as variable between the sets of trials. JRSS B, 10(2), 257-261.
    """
    from scipy.stats import betabinom, binom  # 0.4 s to load

    mean, variance = 0.5 + difference / (1 - ties), (components.annotator_sd / (1 - ties)) ** 2
    if not 0 < variance < mean * (1 - mean):
        shown, sd = 0.5 + difference, components.annotator_sd
        tied = f" with {100 * ties:g}% ties" if ties else ""
        raise ValueError(f"no shares{tied} have mean {shown:g} and an SD of {sd:g} between annotators")
    both = mean * (1 - mean) / variance - 1
    chances = np.zeros(2 * n_items + 1)  # steps of half an order, so that 0.5 is one of them
    for untied, chance in enumerate(binom.pmf(np.arange(n_items + 1), n_items, 1 - ties)):
        won = np.arange(untied + 1)
        chances[n_items - untied + 2 * won] += chance * betabinom.pmf(won, untied, mean * both, (1 - mean) * both)
    points = np.linspace(0.0, 1.0, len(chances))
    return (points[::2], chances[::2]) if n_items % 2 == 0 and not ties else (points, chances)


def ranking_design(study: Study) -> dict[str, Any]:
    """Return the family of tests of a study's [ranking], and how many orders of one annotator hold both of a pair."""
    if study.ranking is None:
        raise ValueError("the study has no [ranking]")
    systems = len(study.compared)
    size = study.ranking.size or systems
    pages = {"first": 1, "all": study.items_per_annotator}.get(str(study.ranking.outputs), study.ranking.outputs)
    pairs = systems * (systems - 1) // 2
    return {"n_tests": pairs, **_judged(int(pages) * size * (size - 1) / (2 * pairs))}


def choice_design(study: Study) -> dict[str, Any]:
    """Return the family of tests of a study's [choices], and how often one annotator chooses between both of a pair."""
    if study.choices is None:
        raise ValueError("the study has no [choices]")
    pairs, exposures = len(study.choice_pairs), None if study.spa is None else study.spa.exposure_study
    dealt, shown = study.choices.per_annotator, study.choices.outputs
    if dealt is not None:
        return {"n_tests": pairs, **_judged(dealt / pairs)}
    items = study.items_per_annotator if exposures is None else min(exposures.exposures)
    return {"n_tests": pairs, **_judged(1 if shown == "first" else items if shown == "all" else min(shown, items))}


def _judged(expected: float) -> dict[str, Any]:
    """Return how often an annotator judges a pair, taken as never or a whole number of times."""
    times, meets = max(1, round(expected)), min(1.0, expected)
    return {"judged": ((times, 1.0),) if meets == 1 else ((0, 1 - meets), (times, meets))}
