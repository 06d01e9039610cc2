"""People's mean over units of which an LLM answered all and people a part drawn with known chances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.statistics.checks import check_level, too_large
from analysis.statistics.coding import Floats
from analysis.statistics.reasons import Reason, why
from analysis.statistics.t_tests import NO_VARIATION, t_bound

SMALLEST = 1e-12  # of directions in which the columns differ
FEWEST = 4  # people's answers, below which nothing is tuned


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedMean:
    """Estimate of people's mean over all units.

    ``llm_weight`` (lambda) and ``offset`` make an LLM's answer f into offset + lambda f, which stands in for people's
    before theirs correct it. ``n`` units, of which people answered ``n_people``.
    """

    estimate: float
    ci_low: float | None
    ci_high: float | None
    se: float | None
    df: float | None
    llm_weight: float
    offset: float
    n: int
    n_people: int
    confidence: float
    reason: Reason | None = None


def audited_mean(
    people: Any,
    llm: Any,
    chance: Any,
    *,
    llm_weight: float | None = None,
    offset: float | None = None,
    confidence: float = 0.95,
) -> AuditedMean:
    """Estimate the mean that people would give over all units, from those that were drawn with known chances.

    theta = mean(a + w (y - a)) with a = offset + lambda f and w = 1 / chance where people answered, else 0 (active
    inference, equation 3, with an offset). Whatever a is, chances that were fixed before the answers make it unbiased;
    a good a makes it precise. Its variance is that of the terms over n. Unless given, lambda and offset make this
    variance least: least squares of w y on w - 1 and (w - 1) f. Their own error is allowed for by the jackknife's
    variance, each term's deviation over one less its leverage (HC3). t has G - 3 degrees of freedom (G - 1 where
    nothing is tuned), with G the effective number of people's answers, (sum of w)^2 / sum of w^2.

    Parameters
    ----------
    people : array of float, shape (n,)
        NaN where people were not asked.
    llm : array of float, shape (n,)
        The LLM's answers to all units.
    chance : array of float, shape (n,)
        With which each unit was drawn for people, above 0; fixed before its answer was known.
    llm_weight, offset : float, optional
        Lambda, and what is added, where set in advance; either given, the other defaults to 0.
    confidence : float

    Returns
    -------
    AuditedMean
        Without an interval but with a ``reason`` where people's answers are too few or nothing varies.

    Raises
    ------
    ValueError
        Values that are not finite, chances outside (0, 1], lengths that do not fit, or no answer of people.

    References
    ----------
    Zrnic, T. and Candès, E. J. (2024). Active statistical inference. ICML, PMLR 235. MacKinnon, J. G. and
    White, H. (1985). Some heteroskedasticity-consistent covariance matrix estimators with improved finite sample
    properties. Journal of Econometrics 29(3), 305-325.

    >>> found = audited_mean([0, 1, np.nan, np.nan], [0.1, 0.9, 0.5, 0.5], [0.8] * 4, llm_weight=1.0)
    >>> round(found.estimate, 3), round(found.se, 3)
    (0.5, 0.214)
    """
    check_level("confidence", confidence)
    y, f, chances = (np.asarray(values, dtype=np.float64) for values in (people, llm, chance))
    if not (y.ndim == f.ndim == chances.ndim == 1 and len(y) == len(f) == len(chances)):
        raise ValueError("people, llm and chance must be flat arrays of one length")
    asked = ~np.isnan(y)
    if not np.isfinite(f).all() or np.isinf(y).any() or too_large(f) or too_large(y[asked]):
        raise ValueError("expected finite numbers, none beyond 1e100 in size, and NaN where people were not asked")
    if not (np.all(chances > 0) and np.all(chances <= 1)):
        raise ValueError("chance must lie above 0 and at most at 1")
    if not asked.any():
        raise ValueError("people: expected at least one answer, got none")
    weight, answered = np.where(asked, 1 / chances, 0.0), np.where(asked, y, 0.0)
    effective = float(weight.sum() ** 2 / np.sum(weight**2))
    tuned = llm_weight is None and offset is None and effective >= FEWEST
    slope, shift, leverage = (
        _tuned(answered, f, weight) if tuned else (llm_weight or 0.0, offset or 0.0, np.zeros(len(f)))
    )
    stand_in = shift + slope * f
    terms = stand_in + weight * (answered - stand_in)
    found = AuditedMean(
        estimate=float(terms.mean()),
        ci_low=None,
        ci_high=None,
        se=None,
        df=None,
        llm_weight=slope,
        offset=shift,
        n=len(y),
        n_people=int(asked.sum()),
        confidence=confidence,
    )
    df = effective - (3 if tuned else 1)
    if df <= 0:
        return replace(found, reason=why("few_to_tune"))
    if np.ptp(y[asked]) == 0 or np.ptp(terms) == 0:
        return replace(found, reason=NO_VARIATION)
    away = (terms - found.estimate) / np.maximum(1 - leverage, 1 / len(f))
    se = float(np.sqrt(np.sum(away**2) / (len(f) if tuned else len(f) - 1) / len(f)))
    half = t_bound(df, confidence) * se
    return replace(found, se=se, df=df, ci_low=found.estimate - half, ci_high=found.estimate + half)


def _tuned(answered: Floats, f: Floats, weight: Floats) -> tuple[float, float, Floats]:
    """Return lambda and offset such that the terms vary least, and leverages; lambda is 0 for an even LLM."""
    centre = float(np.average(f, weights=weight))
    away = weight - 1
    columns = np.column_stack([np.ones(len(f)), away, away * (f - centre)])
    if np.ptp(f[weight > 0]) == 0:
        columns = columns[:, :2]
    basis, sizes, turned = np.linalg.svd(columns, full_matrices=False)
    kept = sizes > SMALLEST * sizes[0]
    basis = basis[:, kept]
    found = (basis.T @ (weight * answered) / sizes[kept]) @ turned[kept]
    slope = float(found[2]) if len(found) > 2 else 0.0
    return slope, float(found[1]) - slope * centre, np.sum(basis**2, axis=1)
