"""Rankings as the report tests them: by annotator, the share of orders in which one system stands before another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import betabinom

from analysis.planning.variance import Components
from analysis.statistics.coding import Floats
from spa.study.study import Study


def ranking_components(sd: float) -> Components:
    """Return why shares differ: annotators by ``sd``, and each order by chance, as none is tied.

    >>> ranking_components(0.1).contribution_sd(1)
    0.5
    """
    return Components(annotator_sd=sd, residual_sd=math.sqrt(0.25 - sd**2))


def ranking_answers(components: Components, n_items: int, difference: float) -> tuple[Floats, Floats]:
    """Return the shares that one annotator can give over ``n_items`` orders, and their chances.

    An annotator's own chance to put x before y is beta distributed with mean 0.5 + ``difference`` and the SD between
    annotators; the share is beta-binomial. Ties, which are left out, narrow it.

    Raises
    ------
    ValueError
        When no chances have that mean and SD.

    References
    ----------
    Skellam, J. G. (1948). A probability distribution derived from the binomial distribution by regarding the
    probability of success as variable between the sets of trials. JRSS B, 10(2), 257-261.
    """
    mean, variance = 0.5 + difference, components.annotator_sd**2
    if not 0 < variance < mean * (1 - mean):
        raise ValueError(f"no shares have mean {mean:g} and an SD of {components.annotator_sd:g} between annotators")
    both = mean * (1 - mean) / variance - 1
    chances = np.zeros(2 * n_items + 1)  # steps of half an order, so that 0.5 is one of them
    chances[::2] = betabinom.pmf(np.arange(n_items + 1), n_items, mean * both, (1 - mean) * both)
    points = np.linspace(0.0, 1.0, len(chances))
    return (points[::2], chances[::2]) if n_items % 2 == 0 else (points, chances)


def ranking_design(study: Study) -> dict[str, Any]:
    """Return the family of tests of a study's [ranking], and how many orders of one annotator hold both of a pair."""
    if study.ranking is None:
        raise ValueError("the study has no [ranking]")
    systems = len(study.compared)
    size = study.ranking.size or systems
    pages = {"first": 1, "all": study.items_per_annotator}.get(str(study.ranking.outputs), study.ranking.outputs)
    pairs = systems * (systems - 1) // 2
    return {"n_tests": pairs, "n_items": max(1, round(int(pages) * size * (size - 1) / (2 * pairs)))}
