"""Thurstone strengths of systems, a second model to hold the order of Plackett-Luce against."""

from __future__ import annotations

import warnings

import numpy as np

from analysis.statistics.coding import Floats


def thurstone(wins: Floats) -> Floats:
    """Estimate strengths from pairs by Thurstone's model, case V: i beats j with chance Phi(s_i - s_j).

    Maximum likelihood by statsmodels, mean zero; a tie is half a win for each.

    Parameters
    ----------
    wins : array of float, shape (k, k)
        Entry [i, j] is what i won of j; each system must reach every other by wins.

    References
    ----------
    Thurstone, L. L. (1927). A law of comparative judgment. Psychological Review, 34(4), 273-286.

    >>> thurstone(np.array([[0.0, 3.0], [1.0, 0.0]])).round(4).tolist()
    [0.3372, -0.3372]
    """
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.families.links import Probit
    from statsmodels.genmod.generalized_linear_model import GLM
    from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

    first, second = np.nonzero(np.triu(wins + wins.T))
    difference = np.eye(len(wins))[first] - np.eye(len(wins))[second]
    won = np.column_stack([wins[first, second], wins[second, first]])
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):  # of a scale that nobody needs
        warnings.simplefilter("ignore", PerfectSeparationWarning)  # said of every perfect fit
        fitted = GLM(won, difference[:, 1:], family=Binomial(link=Probit())).fit(tol=1e-12)
    strength = np.concatenate([[0.0], fitted.params])
    return np.asarray(strength - strength.mean())
