"""Every two annotators compared: exact agreement, Kendall's tau-b, kappa and alpha over the units both answered."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analysis.agreement.counts import Profiles, code_values
from analysis.agreement.data import Answers, ReliabilityData, reliability_data
from analysis.agreement.gwet import exact_agreement
from analysis.agreement.kappa import cohen_kappa, contingency, kappa_of_table
from analysis.agreement.krippendorff import Level, alpha_statistic, krippendorff_alpha
from analysis.agreement.result import Agreement, no_answer, undefined
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import Reason, why

FEW_ANNOTATORS = 10  # up to which every pair of them is shown
MOST_FOR_TAU = 20  # up to which tau is averaged over their pairs, system by system: 190 pairs
WIDE = 200  # distinct values up to which tau is counted in a table of values x values
ONE_VALUE = why("one_of_two_constant")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorPair:
    """Two annotators over the ``n_items`` units that both answered; ``reason`` where a number is missing."""

    annotator_x: str
    annotator_y: str
    n_items: int
    exact_agreement: float | None
    kendall_tau: float | None
    cohen_kappa: float | None
    krippendorff_alpha: float | None
    level: Level
    reason: Reason | None


def pairwise_agreement(
    answers: Answers,
    *,
    level: Level = "ordinal",
    criterion: str | None = None,
    mapping: Mapping[str, str] | None = None,
) -> tuple[AnnotatorPair, ...]:
    """Compare every two annotators.

    Parameters
    ----------
    answers : array of shape (n_units, n_annotators), tidy frame or ReliabilityData
        NaN, or no row, where an answer is missing.
    level : {"ordinal", "nominal", "interval", "ratio"}
        Level of Krippendorff's alpha of the pair.
    criterion, mapping
        As for :func:`reliability_data`.

    Returns
    -------
    tuple of AnnotatorPair
        k (k - 1) / 2 rows for k annotators, in their order. Time O(k x answers) and a table of values a pair.

    Examples
    --------
    >>> (pair,) = pairwise_agreement([[1, 1], [2, 3], [3, 3]])
    >>> pair.n_items, round(pair.exact_agreement, 2), round(pair.kendall_tau, 2)
    (3, 0.67, 0.82)
    """
    data = reliability_data(answers, criterion=criterion, mapping=mapping)
    values, codes = code_values(data.value, turns=data.turns) if len(data.value) else (data.value, data.unit)
    if len(values) > WIDE or no_answer(data):
        return tuple(_compare(data, x, y, level) for x, y in combinations(range(data.n_annotators), 2))
    return tuple(_compare_table(data, x, y, level, values, table) for x, y, table in _tables(data, codes, len(values)))


def _compare(data: ReliabilityData, x: int, y: int, level: Level) -> AnnotatorPair:
    both = data.of_annotators(x, y)
    same = exact_agreement(both)
    kappa, alpha = cohen_kappa(both), krippendorff_alpha(both, level=level)
    tau, reason = (None, same.reason) if same.value is None or data.turns else _tau(both)
    return AnnotatorPair(
        annotator_x=data.annotators[x],
        annotator_y=data.annotators[y],
        n_items=both.n_pairable,
        exact_agreement=same.value,
        kendall_tau=tau,
        cohen_kappa=kappa.value,
        krippendorff_alpha=alpha.value,
        level=level,
        reason=same.reason or reason or kappa.reason if None in (tau, kappa.value, alpha.value) else None,
    )


def _compare_table(data: ReliabilityData, x: int, y: int, level: Level, values: Floats, table: Floats) -> AnnotatorPair:
    """Do what :func:`_compare` does, from the table of values x values alone."""
    given = np.flatnonzero(table.any(axis=0) | table.any(axis=1))
    if len(given) < 2 or table.sum() < 2 or level == "ratio":
        return _compare(data, x, y, level)  # which says why there is no coefficient
    if data.turns:
        given = np.unique(np.concatenate([given, len(values) - 1 - given]))
    table = table[np.ix_(given, given)]
    tau = None if data.turns else kendall_of_table(table)
    n, kappa = table.sum(), kappa_of_table(table, turns=data.turns)
    return AnnotatorPair(
        annotator_x=data.annotators[x],
        annotator_y=data.annotators[y],
        n_items=int(n),
        exact_agreement=float(np.trace(table) / n),
        kendall_tau=tau,
        cohen_kappa=kappa,
        krippendorff_alpha=_alpha_of_table(values[given], table, level, turns=data.turns),
        level=level,
        reason=ONE_VALUE if tau is None and not data.turns else None,
    )


def _alpha_of_table(values: Floats, table: Floats, level: Level, *, turns: bool) -> float:
    """Return alpha of two annotators; a profile is two values, whoever gave which."""
    together = np.triu(table + np.tril(table, -1).T)
    pair = np.nonzero(together)
    profiles = Profiles(
        values=values,
        profile=np.repeat(np.arange(len(pair[0])), 2),
        code=np.column_stack(pair).ravel(),
        times=np.ones(2 * len(pair[0]), dtype=np.int64),
        size=np.full(len(pair[0]), 2),
        units=together[pair].astype(np.int64),
        of_unit=np.zeros(0, dtype=np.int64),
        turns=turns,
    )
    return float(alpha_statistic(profiles, level)(together[pair][None, :])[0])


def _tables(data: ReliabilityData, codes: Ints, k: int) -> Iterator[tuple[int, int, Floats]]:
    """Yield every two annotators and the table of values x values over the units that both answered."""
    answers = [np.flatnonzero(data.annotator == number) for number in range(data.n_annotators)]
    for x, own in enumerate(answers):
        given = np.full(data.n_units, -1)
        given[data.unit[own]] = codes[own]
        for y in range(x + 1, data.n_annotators):
            first, second = given[data.unit[answers[y]]], codes[answers[y]]
            shared = first >= 0
            table = np.bincount(first[shared] * k + second[shared], minlength=k * k).reshape(k, k)
            yield x, y, table.astype(np.float64)


def mean_kendall_tau(
    answers: Answers, *, criterion: str | None = None, mapping: Mapping[str, str] | None = None
) -> Agreement:
    """Return the mean of Kendall's tau-b over all pairs of annotators for whom it is defined.

    Parameters
    ----------
    answers : array of shape (n_units, n_annotators), tidy frame or ReliabilityData
        NaN, or no row, where an answer is missing.
    criterion, mapping
        As for :func:`reliability_data`.

    Returns
    -------
    Agreement
        1: all rank the units alike. ``settings`` count the pairs used and the pairs without a tau. No interval.

    Examples
    --------
    >>> mean_kendall_tau([[1, 2, 1], [2, 3, 2], [3, 4, 3]]).value
    1.0
    """
    data = reliability_data(answers, criterion=criterion, mapping=mapping)
    reason = no_answer(data)
    if reason:
        return undefined("mean_kendall_tau", data, reason)
    taus = list(_taus(data))
    found = [tau for tau in taus if tau is not None]
    settings = {"pairs": len(found), "undefined_pairs": len(taus) - len(found)}
    if not found:
        return undefined("mean_kendall_tau", data, why("no_pair_varies"), **settings)
    return Agreement(
        measure="mean_kendall_tau",
        value=math.fsum(found) / len(found),
        n_items=data.n_pairable,
        n_annotators=data.n_annotators,
        reason=why("no_interval_pairs_overlap"),
        settings=settings,
    )


def _taus(data: ReliabilityData) -> Iterator[float | None]:
    """Yield tau-b of every two annotators, ``None`` where they share fewer than two units or one does not vary."""
    values, codes = code_values(data.value)
    if len(values) <= WIDE:
        for _, _, table in _tables(data, codes, len(values)):
            yield kendall_of_table(table) if table.sum() >= 2 else None
        return
    for x, y in combinations(range(data.n_annotators), 2):
        both = data.of_annotators(x, y)
        yield _tau(both)[0] if both.n_pairable >= 2 else None


def _tau(both: ReliabilityData) -> tuple[float | None, Reason | None]:
    few = len(np.unique(both.value)) <= WIDE
    tau = kendall_of_table(contingency(both)[1]) if few else _kendall_of_values(both)
    return tau, ONE_VALUE if tau is None else None


def kendall_of_table(table: Floats) -> float | None:
    """Return Kendall's tau-b of a contingency table with ascending rows and columns, ``None`` if a side is constant.

    tau-b = (C - D) / sqrt((pairs not tied in x) (pairs not tied in y)).

    References
    ----------
    Kendall, M. G. (1945). The treatment of ties in ranking problems. Biometrika, 33(3), 239-251.

    >>> kendall_of_table(np.array([[2.0, 0.0], [0.0, 2.0]]))
    1.0
    """
    below = np.zeros_like(table)
    below[1:, 1:] = np.cumsum(np.cumsum(table, axis=0), axis=1)[:-1, :-1]
    turned = table[:, ::-1]
    against = np.zeros_like(table)
    against[1:, 1:] = np.cumsum(np.cumsum(turned, axis=0), axis=1)[:-1, :-1]
    score = float(np.sum(table * below) - np.sum(turned * against))
    n = table.sum()
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    untied_x, untied_y = float(n**2 - rows @ rows) / 2, float(n**2 - columns @ columns) / 2
    if untied_x == 0 or untied_y == 0:
        return None
    return max(-1.0, min(1.0, score / math.sqrt(untied_x * untied_y)))


def _kendall_of_values(both: ReliabilityData) -> float | None:
    from scipy.stats import kendalltau  # 0.8 s to load, and only scales with very many values need it

    table = both.matrix()
    table = table[~np.isnan(table).any(axis=1)]
    if any(np.ptp(table[:, side]) == 0 for side in (0, 1)):
        return None
    return float(kendalltau(table[:, 0], table[:, 1]).statistic)
