"""How familiar a text looks to a model, of the log-probabilities of its tokens; higher is more familiar."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.statistics.checks import check_level
from analysis.statistics.coding import Floats
from analysis.statistics.record import Positive, Record, Share

SHARE = 0.2  # K of Shi et al. (2024), fixed before any text is seen


@dataclass(frozen=True, slots=True, kw_only=True)
class FamiliarityScores:
    """Scores of one text; but for perplexity, higher means more familiar."""

    min_k: float
    min_k_plus_plus: float
    log_likelihood: float  # mean natural log-probability of a token
    perplexity: float  # exp of minus that
    zlib_ratio: float  # log_likelihood per byte of the text compressed by zlib


def familiarity_scores(
    text: str, log_probabilities: Floats, means: Floats, variances: Floats, *, share: float = SHARE
) -> FamiliarityScores:
    """Return all scores of a text.

    Parameters
    ----------
    text : str
        The text, for zlib.
    log_probabilities : array of shape (n_tokens,)
        Natural log-probability of each token given those before it.
    means, variances : array of shape (n_tokens,)
        Of the log-probability over the vocabulary at each place, weighted by probability.
    share : float
        Share of the tokens that Min-K% Prob and Min-K%++ look at.

    References
    ----------
    Carlini, N. et al. (2021). Extracting training data from large language models. USENIX Security (zlib).
    """
    mean = float(np.mean(log_probabilities))
    return FamiliarityScores(
        min_k=min_k_probability(log_probabilities, share=share),
        min_k_plus_plus=min_k_plus_plus(log_probabilities, means, variances, share=share),
        log_likelihood=mean,
        perplexity=math.exp(min(-mean, 700.0)),
        zlib_ratio=mean / len(zlib.compress(text.encode("utf-8", "surrogatepass"))),
    )


def min_k_probability(log_probabilities: Floats | Sequence[float], *, share: float = SHARE) -> float:
    """Return Min-K% Prob: the mean log-probability of the least probable tokens.

    Of n tokens, the floor of ``share`` n least probable count, at least one.

    References
    ----------
    Shi, W. et al. (2024). Detecting pretraining data from large language models. ICLR, equation 1.

    >>> min_k_probability([-1.0, -4.0, -2.0, -0.5, -0.5], share=0.4)
    -3.0
    """
    check_level("share", share)
    lowest = np.sort(np.asarray(log_probabilities, float))[: max(1, int(len(log_probabilities) * share))]
    return float(np.mean(lowest))


def min_k_plus_plus(log_probabilities: Floats, means: Floats, variances: Floats, *, share: float = SHARE) -> float:
    """Return Min-K%++: as :func:`min_k_probability`, of z-scores within the vocabulary at each place.

    A place at which the model is certain, so that the variance is 0, counts as 0.

    References
    ----------
    Zhang, J. et al. (2025). Min-K%++: improved baseline for detecting pre-training data from large language models.
    ICLR, equations 3 and 4.
    """
    sd = np.sqrt(np.asarray(variances, float))
    distance = np.asarray(log_probabilities, float) - means
    return min_k_probability(np.divide(distance, sd, out=np.zeros_like(distance), where=sd > 0), share=share)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Auc(Record):
    """Chance that a seen text scores higher than an unseen one, ties half, with its interval."""

    value: Share
    ci_low: Share
    ci_high: Share
    n_seen: Positive
    n_unseen: Positive


def auc(seen: Sequence[float], unseen: Sequence[float], *, confidence: float = 0.95) -> Auc:
    """Return the area under the ROC curve, with an interval that has a width where all are told apart too.

    Parameters
    ----------
    seen, unseen : sequence of float
        Scores of texts that the model was trained on and of texts that it was not, at least one of each.
    confidence : float
        Level of the interval: all areas from which the one found differs by less than z standard errors there.

    References
    ----------
    Newcombe, R. G. (2006). Confidence intervals for an effect size measure based on the Mann-Whitney statistic,
    part 2. Statistics in Medicine, 25(4), 559-573, method 5.

    >>> auc([3, 4], [1, 3]).value
    0.875
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri
    from scipy.stats import mannwhitneyu

    check_level("confidence", confidence)
    n, m = len(seen), len(unseen)
    value = float(mannwhitneyu(seen, unseen).statistic) / (n * m)
    z, size = float(ndtri((1 + confidence) / 2)), (n + m) / 2 - 1

    def beyond(area: float) -> float:
        spread = area * (1 - area) * (1 + size * (1 - area) / (2 - area) + size * area / (1 + area)) / (n * m)
        return (value - area) ** 2 - z**2 * spread

    edge = 1e-12  # at 0 and 1 the spread is 0
    low = brentq(beyond, 0.0, min(value, 1 - edge)) if value > 0 else 0.0
    high = brentq(beyond, max(value, edge), 1.0) if value < 1 else 1.0
    return Auc(value=value, ci_low=float(low), ci_high=float(high), n_seen=n, n_unseen=m)


def calibrated_threshold(unseen: Sequence[float], *, false_positive_rate: float) -> float | None:
    """Return the score above which a text is predicted as seen.

    It is the score of rank floor(rate (n + 1)) from the top among n unseen ones: a further text like them lies above
    it with at most the chance ``false_positive_rate``.

    Returns
    -------
    float or None
        ``None`` where there are too few for so low a rate (less than 1 / rate - 1).

    References
    ----------
    Vovk, V., Gammerman, A. & Shafer, G. (2005). Algorithmic learning in a random world. Springer (conformal p-values).

    >>> calibrated_threshold([1, 2, 3, 4], false_positive_rate=0.4)
    3.0
    """
    check_level("false_positive_rate", false_positive_rate)
    rank = math.floor(false_positive_rate * (len(unseen) + 1) + 1e-9)
    return float(sorted(unseen, reverse=True)[rank - 1]) if rank else None
