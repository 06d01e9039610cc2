"""Coefficients that correct the agreement of pairs for chance: Gwet's AC1 and AC2, Fleiss' kappa; exact agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from scipy.special import stdtrit

from analysis.agreement.counts import Profiles
from analysis.agreement.data import Answers, reliability_data
from analysis.agreement.krippendorff import profiles_agree
from analysis.agreement.labels import Categories, with_codes
from analysis.agreement.result import CONSTANT, PERFECT, Agreement, beyond_chance, undefined
from analysis.agreement.units import AnsweredUnits, units_of_answers
from analysis.statistics.checks import check_level
from analysis.statistics.coding import Floats
from analysis.statistics.reasons import Reason, why
from analysis.statistics.wilson import wilson

Weights = Literal["identity", "linear", "quadratic", "ordinal"]
MOST_CATEGORIES = 1_000
LINEARISED = "linearised variance over units, t"


def gwet_ac1(
    answers: Answers,
    *,
    criterion: str | None = None,
    mapping: Mapping[str, str] | None = None,
    categories: Categories | None = None,
    confidence: float = 0.95,
) -> Agreement:
    """Return Gwet's AC1: agreement corrected for chance, steady where one category prevails.

    AC1 = (pa - pe) / (1 - pe), pa the mean over units of the share of agreeing pairs, pe = sum_c pi_c (1 - pi_c) /
    (q - 1), with pi_c the mean over units of the share of category c, and q categories. Of answers about pairs, pe is
    its mean over both ways of listing every unit's pair.

    Parameters
    ----------
    answers : array of shape (n_units, n_annotators), tidy frame or ReliabilityData
        Numbers or labels; NaN, or no row, where an answer is missing; units with one answer count towards pi only.
    criterion, mapping
        As for :func:`reliability_data`.
    categories : sequence of float or str, optional
        All categories that could be given, used or not; by default those that were.
    confidence : float
        Level of the interval: value ± t(n - 1) standard errors over n units, at most 1.

    Returns
    -------
    Agreement
        1: all agree; 0: as by chance. Time O(answers log answers), then O(profiles x categories).

    References
    ----------
    Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of high agreement.
    British Journal of Mathematical and Statistical Psychology, 61(1), 29-48.
    Gwet, K. L. (2014). Handbook of inter-rater reliability, 4th ed. (missing answers, chapter 5).

    Examples
    --------
    >>> round(gwet_ac1([[1, 1], [1, 1], [1, 2], [2, 2]]).value, 3)
    0.529
    """
    answers, numbers = with_codes(answers, categories, mapping=mapping)
    data = reliability_data(answers, criterion=criterion, mapping=mapping)
    return coefficient_of_units(
        "gwet_ac1", units_of_answers(data), categories=numbers, confidence=confidence, weights="identity"
    )


def gwet_ac2(
    answers: Answers,
    *,
    weights: Weights = "quadratic",
    criterion: str | None = None,
    mapping: Mapping[str, str] | None = None,
    categories: Sequence[float] | None = None,
    confidence: float = 0.95,
) -> Agreement:
    """Return Gwet's AC2: AC1 with part agreement for categories that lie close.

    pa counts a pair of categories by its weight w, and pe = sum(w) / (q (q - 1)) sum_c pi_c (1 - pi_c).

    Parameters
    ----------
    answers : array of shape (n_units, n_annotators), tidy frame or ReliabilityData
        NaN, or no row, where an answer is missing.
    weights : {"quadratic", "linear", "ordinal", "identity"}
        1 - ((x - y) / range)^2, 1 - |x - y| / range, or 1 - C(d + 1, 2) / C(q, 2) for d steps between ranks.
    criterion, mapping, categories, confidence
        As for :func:`gwet_ac1`; name the categories where some of the scale were never given.

    References
    ----------
    Gwet, K. L. (2014). Handbook of inter-rater reliability, 4th ed. Advanced Analytics, chapters 4 and 5.

    Examples
    --------
    >>> round(gwet_ac2([[1, 1], [1, 2], [3, 3], [2, 3]], weights="linear").value, 3)
    0.448
    """
    if weights not in get_args(Weights):
        raise ValueError(f"weights must be one of {', '.join(get_args(Weights))}, got {weights!r}")
    data = reliability_data(answers, criterion=criterion, mapping=mapping)
    return coefficient_of_units(
        "gwet_ac2", units_of_answers(data), categories=categories, confidence=confidence, weights=weights
    )


def fleiss_kappa(
    answers: Answers,
    *,
    criterion: str | None = None,
    mapping: Mapping[str, str] | None = None,
    confidence: float = 0.95,
) -> Agreement:
    """Return Fleiss' kappa: agreement of pairs corrected by the overall shares of the categories.

    kappa = (pa - pe) / (1 - pe), pe = sum_c pi_c^2; pi_c, and pe of answers about pairs, as for :func:`gwet_ac1`. With
    equally many answers a unit pi_c is Fleiss' p_c.

    Parameters
    ----------
    answers : array of shape (n_units, n_annotators), tidy frame or ReliabilityData
        NaN, or no row, where an answer is missing (Gwet's generalisation of Fleiss' equal numbers).
    criterion, mapping
        As for :func:`reliability_data`.
    confidence : float
        Level of the interval: value ± t(n - 1) linearised standard errors over n units, at most 1.

    References
    ----------
    Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin, 76(5), 378-382.
    Gwet, K. L. (2014). Handbook of inter-rater reliability, 4th ed. (variance and missing answers).

    Examples
    --------
    >>> round(fleiss_kappa([[1, 1], [1, 1], [1, 2], [2, 2]]).value, 3)
    0.467
    """
    answers, _ = with_codes(answers, mapping=mapping)
    data = reliability_data(answers, criterion=criterion, mapping=mapping)
    return coefficient_of_units("fleiss_kappa", units_of_answers(data), confidence=confidence)


def exact_agreement(
    answers: Answers,
    *,
    criterion: str | None = None,
    mapping: Mapping[str, str] | None = None,
    confidence: float = 0.95,
) -> Agreement:
    """Return the share of units to which all annotators gave the very same answer.

    Parameters
    ----------
    answers : array of shape (n_units, n_annotators), tidy frame or ReliabilityData
        NaN, or no row, where an answer is missing; units with fewer than two answers do not count.
    criterion, mapping
        As for :func:`reliability_data`.
    confidence : float
        Level of Wilson's interval over units, which has a width at shares of 0 and 1 too.

    Returns
    -------
    Agreement
        From 0 to 1; not corrected for chance, and smaller the more annotators there are.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. JASA, 22, 209-212.
    As used by Chiang, C.-H. and Lee, H. (2023). Can large language models be an alternative to human evaluations?
    ACL 2023, table 1.

    Examples
    --------
    >>> exact_agreement([[1, 1, 1], [1, 1, 2], [2, 2, float("nan")], [3, 1, 1]]).value
    0.5
    """
    check_level("confidence", confidence)
    answers, _ = with_codes(answers, mapping=mapping)
    data = reliability_data(answers, criterion=criterion, mapping=mapping)
    return share_alike(units_of_answers(data), confidence=confidence)


def share_alike(units: AnsweredUnits, *, confidence: float) -> Agreement:
    """Return :func:`exact_agreement` of answers by unit."""
    n = units.n_pairable
    if units.reason is not None and units.reason is not CONSTANT:
        return undefined("exact_agreement", units, units.reason)
    alike = int(units.paired.units[profiles_agree(units.paired)].sum())
    ci_low, ci_high = wilson(alike, n, confidence)
    return Agreement(
        measure="exact_agreement",
        value=alike / n,
        ci_low=ci_low if alike else 0.0,
        ci_high=ci_high if alike < n else 1.0,
        n_items=n,
        n_annotators=units.n_annotators,
        interval="Wilson interval over units",
        settings={"confidence": confidence},
    )


def weight_matrix(values: Floats, weights: Weights) -> Floats:
    """Return the agreement of every two categories, 1 on the diagonal.

    >>> weight_matrix(np.array([1.0, 2.0, 3.0]), "linear")[0].tolist()
    [1.0, 0.5, 0.0]
    """
    if weights == "identity":
        return np.eye(len(values))
    if weights == "ordinal":
        rank = np.arange(len(values))
        steps = np.abs(rank[:, None] - rank[None, :])
        ordinal: Floats = 1 - steps * (steps + 1) / (len(values) * (len(values) - 1))
        return ordinal
    apart = np.abs(values[:, None] - values[None, :]) / (values.max() - values.min())
    graded: Floats = 1 - (apart if weights == "linear" else apart**2)
    return graded


def _agreeing(counts: Floats, size: Floats, matrix: Floats) -> Floats:
    """Return the weighted share of agreeing pairs of each profile; 0 where there is no pair."""
    pairs = size * (size - 1)
    found = np.einsum("ij,ij->i", counts, counts @ matrix - 1) / np.where(pairs > 0, pairs, 1)
    found[pairs == 0] = 0.0
    agreeing: Floats = found
    return agreeing


def coefficient_of_units(
    measure: str,
    units: AnsweredUnits,
    *,
    categories: Sequence[float] | None = None,
    confidence: float,
    weights: Weights | None = None,
) -> Agreement:
    """Return :func:`chance_corrected` of answers by unit, or why it is not defined."""
    check_level("confidence", confidence)
    reason = units.reason
    if reason is CONSTANT and categories is not None and len(set(categories)) > 1 and weights:
        reason = None  # chance, then, is no agreement on the others
    if reason is None:
        values = all_categories(units.every.values, categories)
        reason = unfit_categories(units.every.values, values)
        if reason is None:
            return chance_corrected(
                measure, units.every, values, n_annotators=units.n_annotators, confidence=confidence, weights=weights
            )
    return undefined(measure, units, reason, **({"weights": weights} if weights else {}))


def all_categories(scores: Floats, categories: Sequence[float] | None) -> Floats:
    """Return the categories that count, ascending: those declared, else those given."""
    return scores if categories is None else np.unique(np.asarray(categories, dtype=np.float64))


def unfit_categories(scores: Floats, categories: Floats) -> Reason | None:
    """Say why a coefficient cannot be computed with these categories, or ``None``."""
    unknown = np.setdiff1d(scores, categories)
    if len(unknown):
        return why("unknown_category", answer=float(unknown[0]))
    return why("too_many_categories", n=len(categories)) if len(categories) > MOST_CATEGORIES else None


def chance_corrected(
    measure: str,
    profiles: Profiles,
    values: Floats,
    *,
    n_annotators: int,
    confidence: float,
    weights: Weights | None = None,
) -> Agreement:
    """Return (pa - pe) / (1 - pe) with the interval of its linearisation (Gwet 2014, equations 5.3.7 ff.).

    ``values`` are the categories, those of ``profiles`` among them. Chance is Gwet's where there are ``weights``, else
    Fleiss'; of pairs that could be listed either way, its mean over both ways of every unit.
    """
    place = np.searchsorted(values, profiles.values)[profiles.code]
    shape = (len(profiles.size), len(values))
    key = profiles.profile * shape[1] + place
    counts = np.bincount(key, weights=profiles.times, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    units = profiles.units.astype(np.float64)
    q, size = len(values), counts.sum(axis=1)
    matrix = weight_matrix(values, weights or "identity")
    shares = counts / size[:, None]
    prevalence = units @ shares / units.sum()
    n = float(units.sum())
    both, within = shares, np.zeros(len(size))
    if profiles.turns:
        both = (shares + shares[:, ::-1]) / 2
        prevalence = (prevalence + prevalence[::-1]) / 2
        within = np.sum(shares**2 - both**2, axis=1) / n  # a unit meets itself as it is
    alike, alike_of_unit = float(prevalence @ prevalence + units @ within / n), both @ prevalence
    alike_of_unit += (within + float(units @ within / n)) / 2
    scale = float(matrix.sum()) / (q * (q - 1)) if weights else None
    chance = alike if scale is None else scale * (1 - alike)
    chance_of_unit = alike_of_unit if scale is None else scale * (1 - alike_of_unit)
    paired, agreeing = size >= 2, _agreeing(counts, size, matrix)
    n_paired = float(units[paired].sum())
    observed = float(units @ agreeing) / n_paired
    value = float(beyond_chance(observed, chance))
    of_unit = n / n_paired * np.where(paired, agreeing - chance, 0.0) / (1 - chance)
    away = of_unit - 2 * (1 - value) * (chance_of_unit - chance) / (1 - chance) - value
    variance = float(units @ away**2) / (n * (n - 1))
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * variance**0.5
    perfect = bool(np.all(agreeing[paired] == 1))
    return Agreement(
        measure=measure,
        value=value,
        ci_low=None if perfect else value - half,
        ci_high=None if perfect else min(1.0, value + half),
        n_items=int(n_paired),
        n_annotators=n_annotators,
        interval=None if perfect else LINEARISED,
        reason=PERFECT if perfect else None,
        settings={**({"weights": weights} if weights else {}), "categories": q, "confidence": confidence},
    )
