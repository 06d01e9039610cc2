"""Cohen's kappa of two annotators; equal to statsmodels', which takes a second to load in every report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np
from scipy.special import ndtri

from analysis.agreement.counts import code_values
from analysis.agreement.data import Answers, ReliabilityData, reliability_data
from analysis.agreement.gwet import Weights, all_categories, unfit_categories, weight_matrix
from analysis.agreement.result import PERFECT, Agreement, beyond_chance, no_answer, undefined
from analysis.statistics.checks import check_level, check_one_of
from analysis.statistics.coding import Floats
from analysis.statistics.reasons import why


def cohen_kappa(
    answers: Answers,
    *,
    weights: Weights = "identity",
    criterion: str | None = None,
    mapping: Mapping[str, str] | None = None,
    categories: Sequence[float] | None = None,
    confidence: float = 0.95,
) -> Agreement:
    """Return Cohen's kappa: how far two annotators agree beyond what their own habits give by chance.

    kappa = (po - pe) / (1 - pe), po = sum w_ij p_ij, pe = sum w_ij p_i. p_.j, over the units that both answered. Of
    answers about pairs, pe is its mean over both ways of listing every unit's pair.

    Parameters
    ----------
    answers : array of shape (n_units, 2), tidy frame of two annotators, or ReliabilityData
        NaN, or no row, where an answer is missing.
    weights : {"identity", "linear", "quadratic", "ordinal"}
        Part agreement of two categories (:func:`analysis.agreement.gwet_ac2`); identity is the plain kappa.
    criterion, mapping
        As for :func:`reliability_data`.
    categories : sequence of float, optional
        All categories that could be given, used or not, which weights count; by default those that were.
    confidence : float
        Level of the interval: value ± normal quantile x the asymptotic standard error, at most 1.

    Returns
    -------
    Agreement
        1: both always agree; 0: as by chance. Other than two annotators: a reason. Time O(answers + categories^2).

    References
    ----------
    Cohen, J. (1960). A coefficient of agreement for nominal scales. Educ. and Psych. Measurement, 20(1), 37-46.
    Fleiss, J. L., Cohen, J. and Everitt, B. S. (1969). Large sample standard errors of kappa and weighted kappa.
    Psychological Bulletin, 72(5), 323-327 (equation 13).

    Examples
    --------
    >>> cohen_kappa([[1, 1], [1, 1], [1, 2], [2, 2]]).value
    0.5
    """
    check_level("confidence", confidence)
    check_one_of("weights", weights, get_args(Weights))
    data = reliability_data(answers, criterion=criterion, mapping=mapping)
    reason = no_answer(data)
    if reason is None and data.n_annotators != 2:
        reason = why("not_two_annotators", n=data.n_annotators)
    if reason:
        return undefined("cohen_kappa", data, reason, weights=weights)
    given, table = contingency(data)
    values = all_categories(given, categories)
    reason = unfit_categories(given, values)
    if reason:
        return undefined("cohen_kappa", data, reason, weights=weights)
    if len(values) > len(given):
        wide, place = np.zeros((len(values), len(values))), np.searchsorted(values, given)
        wide[np.ix_(place, place)] = table
        table = wide
    matrix = weight_matrix(values, weights)
    observed, chance = _observed_and_chance(table, matrix, turns=data.turns)
    if chance >= 1:
        return undefined("cohen_kappa", data, why("annotators_constant"), weights=weights)
    value = float(beyond_chance(observed, chance))
    share = table / table.sum()
    share = (share + share[::-1, ::-1]) / 2 if data.turns else share
    perfect = value == 1
    half = float(ndtri((1 + confidence) / 2)) * _standard_error(share, matrix, observed, chance, table.sum())
    return Agreement(
        measure="cohen_kappa",
        value=value,
        ci_low=None if perfect else value - half,
        ci_high=None if perfect else min(1.0, value + half),
        n_items=data.n_pairable,
        n_annotators=2,
        interval=None if perfect else "asymptotic standard error, normal",
        reason=PERFECT if perfect else None,
        settings={"weights": weights, "categories": len(values), "confidence": confidence},
    )


def kappa_of_table(table: Floats, *, turns: bool = False) -> float | None:
    """Return the plain kappa of a contingency table, ``None`` where each annotator gave one answer only."""
    observed, chance = _observed_and_chance(table, np.eye(len(table)), turns=turns)
    return None if chance >= 1 else float(beyond_chance(observed, chance))


def _observed_and_chance(table: Floats, matrix: Floats, *, turns: bool) -> tuple[float, float]:
    """Return both shares; where units ``turn``, two answers to different units meet half as they are, half turned."""
    n = float(table.sum())
    share = table / n
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    observed, chance = float(np.sum(matrix * share)), float(rows @ matrix @ columns)
    if turns:
        both_ways = (matrix + matrix[:, ::-1]) / 2
        chance = float(rows @ both_ways @ columns) + float(np.sum((matrix - both_ways) * share)) / n
    return observed, chance


def contingency(data: ReliabilityData) -> tuple[Floats, Floats]:
    """Return the values and the table (first annotator's x second's) over the units that both answered.

    Where answers are about pairs, the values lie on both sides of 0 alike.
    """
    both = data.sizes[data.unit] == 2
    values, codes = code_values(data.value[both], turns=data.turns)
    first = data.annotator[both] == 0
    x, y = np.zeros((2, data.n_units), dtype=np.int64)
    x[data.unit[both][first]], y[data.unit[both][~first]] = codes[first], codes[~first]
    cells = x[data.sizes == 2] * len(values) + y[data.sizes == 2]
    table = np.bincount(cells, minlength=len(values) ** 2).reshape(len(values), len(values))
    return values, table.astype(np.float64)


def _standard_error(share: Floats, matrix: Floats, observed: float, chance: float, n: float) -> float:
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    of_row, of_column = matrix @ columns, rows @ matrix
    part = matrix * (1 - chance) - (of_row[:, None] + of_column[None, :]) * (1 - observed)
    inner = float(np.sum(share * part**2)) - float(np.sum(share * part)) ** 2
    return float(np.sqrt(max(inner, 0.0) / n)) / (1 - chance) ** 2
