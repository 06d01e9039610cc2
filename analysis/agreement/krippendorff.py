"""Krippendorff's alpha at four levels of measurement, with missing answers and an interval over units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, get_args

import numpy as np

from analysis.agreement.counts import Profiles, fold_profiles
from analysis.agreement.data import Answers, reliability_data
from analysis.agreement.labels import with_codes
from analysis.agreement.resampling import Statistic, interval_over_units
from analysis.agreement.result import PERFECT, Agreement, at_whole, no_answer, undefined
from analysis.statistics.checks import check_level
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import Reason, why

Level = Literal["nominal", "ordinal", "interval", "ratio"]
FEW_VALUES = 8  # up to which products of counts are fewer than what they stand for
WIDE = 4_000  # distinct values up to which every pair of values is compared at the ratio level


def krippendorff_alpha(
    answers: Answers,
    *,
    level: Level,
    criterion: str | None = None,
    mapping: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    replicates: int = 1000,
    rng: np.random.Generator | None = None,
) -> Agreement:
    """Return Krippendorff's alpha, 1 - observed / expected disagreement.

    alpha = 1 - (n - 1) sum_u [sum_(i != j) d(x_ui, x_uj) / (m_u - 1)] / sum_(i != j) d(x_i, x_j), over the n answers
    of units with m_u >= 2 answers. d is 1 for different values (nominal), (x - y)^2 (interval), ((x - y) / (x + y))^2
    (ratio), or the squared difference of mid-ranks (ordinal: the number of answers between two values, the two
    counted half). So no table of values x values is needed but at the ratio level.

    Which of a pair is listed first is chance. So the expected disagreement of answers about pairs is its mean over both
    ways of every unit, n unchanged: answers to one unit are compared as they are, those to different units half as they
    are and half with one of them turned.

    Parameters
    ----------
    answers : array of shape (n_units, n_annotators), tidy frame or ReliabilityData
        NaN, or no row, where an answer is missing; labels at the nominal level.
    level : {"nominal", "ordinal", "interval", "ratio"}
        How far apart two values are; there is no default.
    criterion, mapping
        As for :func:`reliability_data`.
    confidence : float
        Level of the interval.
    replicates : int
        Resamples of units for the interval (annotators are taken as they are); fewer than 50 units are left out
        one by one instead.
    rng : numpy.random.Generator, optional
        Source of randomness; without it there is no interval.

    Returns
    -------
    Agreement
        1: all agree; 0: as if values were dealt out by chance; below 0: less than by chance.

    Notes
    -----
    Time O(answers log answers + replicates x distinct count profiles x distinct values), memory O(answers), the
    replicates in parts.

    References
    ----------
    Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. University of Pennsylvania.
    Hayes, A. F. and Krippendorff, K. (2007). Answering the call for a standard reliability measure for coding data.
    Communication Methods and Measures, 1(1), 77-89.

    Examples
    --------
    >>> round(krippendorff_alpha([[1, 1], [2, 2], [3, 2], [1, 1]], level="nominal").value, 3)
    0.632
    """
    if level not in get_args(Level):
        raise ValueError(f"level must be one of {', '.join(get_args(Level))}, got {level!r}")
    measure = f"krippendorff_alpha_{level}"
    check_level("confidence", confidence)
    if level == "nominal":
        answers, _ = with_codes(answers, mapping=mapping)
    data = reliability_data(answers, criterion=criterion, mapping=mapping)
    reason = no_answer(data)
    profiles = None if reason else fold_profiles(data, at_least=2)
    if profiles is not None and level == "ratio":
        reason = _no_ratio(profiles.values)
    if profiles is None or reason:
        return undefined(measure, data, reason, level=level)
    return alpha_of_statistic(
        alpha_statistic(profiles, level),
        profiles.units,
        level=level,
        n_items=data.n_pairable,
        n_annotators=data.n_annotators,
        confidence=confidence,
        replicates=replicates,
        rng=rng,
    )


def alpha_of_statistic(
    statistic: Statistic,
    units: Ints,
    *,
    level: Level,
    n_items: int,
    n_annotators: int,
    confidence: float,
    replicates: int = 1000,
    rng: np.random.Generator | None = None,
) -> Agreement:
    """Return alpha with its interval, from its function of how often each profile of units counts."""
    value = float(statistic(units[None, :].astype(np.float64))[0])
    found = None
    if rng is not None and value < 1:
        found = interval_over_units(
            statistic, units, value=value, confidence=confidence, replicates=replicates, rng=rng
        )
    return Agreement(
        measure=f"krippendorff_alpha_{level}",
        value=value,
        ci_low=found.low if found else None,
        ci_high=found.high if found else None,
        n_items=n_items,
        n_annotators=n_annotators,
        interval=found.method if found else None,
        reason=found.reason if found else PERFECT if value == 1 else None,
        settings={
            "level": level,
            "confidence": confidence,
            "replicates": found.replicates if found else 0,
            "undefined_replicates": found.undefined if found else 0,
        },
    )


def _no_ratio(values: Floats) -> Reason | None:
    if values[0] < 0:
        return why("negative_ratio")
    if len(values) > WIDE:
        return why("too_many_ratios", most=WIDE)
    return None


def alpha_statistic(profiles: Profiles, level: Level) -> Statistic:
    """Return the function from weights (replicates x profiles) to alpha, one a replicate."""
    if profiles.turns and level not in ("nominal", "interval"):
        raise ValueError(f"answers about pairs are nominal or interval, got {level!r}")
    makers: dict[str, Callable[[Profiles], Statistic]] = {
        "nominal": _nominal,
        "ordinal": _ordinal,
        "interval": _interval,
        "ratio": _ratio,
    }
    return makers[level](profiles)


def _alpha(answers: Floats, within: Floats, total: Floats) -> Floats:
    """Return 1 - (n - 1) within / total, NaN where every answer is the same."""
    possible = total > 1e-12 * answers**2
    value = at_whole(1 - (answers - 1) * within / np.where(possible, total, 1.0))
    return np.where(possible, value, np.nan)


def _nominal(profiles: Profiles) -> Statistic:
    size = profiles.size.astype(np.float64)
    within = (size**2 - profiles.squares()) / (size - 1)
    table, of_unit = profiles.table(), np.zeros(len(size))
    if profiles.turns:
        counts = table if isinstance(table, np.ndarray) else table.toarray()
        table = (counts + counts[:, ::-1]) / 2
        of_unit = profiles.squares() - np.sum(table**2, axis=1)

    columns = np.column_stack([size, within, of_unit])

    def statistic(weights: Floats) -> Floats:
        answers, apart, own = (weights @ columns).T
        shares = (weights @ table) / answers[:, None]
        return _alpha(answers, apart, answers**2 * np.sum(shares * (1 - shares), axis=1) - own)

    return statistic


def _interval(profiles: Profiles) -> Statistic:
    values, turns = _unit_scale(profiles.values), profiles.turns
    size, sums, squares = profiles.size.astype(np.float64), profiles.sums(values), profiles.sums(values**2)
    return interval_statistic(size, sums, squares, profiles_agree(profiles), turns=turns)


def interval_statistic(
    size: Floats, sums: Floats, squares: Floats, agree: np.ndarray, *, turns: bool = False
) -> Statistic:
    """Return the function of :func:`alpha_statistic` at the interval level.

    Parameters
    ----------
    size, sums, squares : array of float, shape (n_profiles,)
        Answers of a unit, their sum, and the sum of their squares, on a scale from about -1 to 1.
    agree : array of bool, shape (n_profiles,)
        Units whose answers are all the same.
    turns : bool
        Whether the expected disagreement is the mean over both signs of every unit.
    """
    within = 2 * (squares - sums**2 / size) * size / (size - 1)
    within[agree] = 0.0
    columns = np.column_stack([size, within, squares, sums**2 if turns else sums])

    def statistic(weights: Floats) -> Floats:
        answers, apart, squared, summed = (weights @ columns).T
        return _alpha(answers, apart, 2 * (answers * squared - (summed if turns else summed**2)))

    return statistic


def _ordinal(profiles: Profiles) -> Statistic:
    """Mid-ranks depend on the resample: the interval form on the ranks of each replicate."""
    size = profiles.size.astype(np.float64)
    table, scaled = profiles.table(), profiles.table(size / (size - 1))
    turned = table.T.tocsr() if not isinstance(table, np.ndarray) else table.T
    differ = np.where(profiles_agree(profiles), 0.0, 1 / (size - 1))
    agreeing = profiles.table(np.where(profiles_agree(profiles), size / (size - 1), 0.0))
    if isinstance(table, np.ndarray) and table.shape[1] <= FEW_VALUES:
        return _ordinal_of_few(size, table, np.asarray(scaled - agreeing), differ)

    def statistic(weights: Floats) -> Floats:
        answers = (weights @ size)[:, None]
        counts = weights @ table
        ranks = (np.cumsum(counts, axis=1) - counts / 2) / answers - 0.5
        squared = np.sum((weights @ scaled - weights @ agreeing) * ranks**2, axis=1)
        within = 2 * (squared - np.sum(weights * differ * (ranks @ turned) ** 2, axis=1))
        total = 2 * (answers[:, 0] * np.sum(counts * ranks**2, axis=1) - np.sum(counts * ranks, axis=1) ** 2)
        return _alpha(answers[:, 0], within, total)

    return statistic


def _ordinal_of_few(size: Floats, table: Floats, apart: Floats, differ: Floats) -> Statistic:
    """Do the same of few values, where squared sums of ranks are forms of the products of counts."""
    n_values = table.shape[1]
    first, second = np.triu_indices(n_values)
    products = table[:, first] * table[:, second] * differ[:, None]
    times = np.where(first == second, 1.0, 2.0)
    columns = np.column_stack([size, table, apart, products])
    places = np.cumsum([1, n_values, n_values])

    def statistic(weights: Floats) -> Floats:
        answers, counts, alone, together = np.split(weights @ columns, places, axis=1)
        ranks = (np.cumsum(counts, axis=1) - counts / 2) / answers - 0.5
        within = np.sum(alone * ranks**2, axis=1) - np.sum(
            times * together * ranks[:, first] * ranks[:, second], axis=1
        )
        total = answers[:, 0] * np.sum(counts * ranks**2, axis=1) - np.sum(counts * ranks, axis=1) ** 2
        return _alpha(answers[:, 0], 2 * within, 2 * total)

    return statistic


def _ratio(profiles: Profiles) -> Statistic:
    size = profiles.size.astype(np.float64)
    values = profiles.values / profiles.values[-1]
    within = np.zeros(len(size))
    profile, code = (np.repeat(column, profiles.times) for column in (profiles.profile, profiles.code))
    for width in np.unique(profiles.size).tolist():
        rows = np.flatnonzero(profiles.size == width)
        own = values[code[np.isin(profile, rows)]].reshape(-1, width)
        for step in range(1, width):
            within[rows] += 2 * np.sum(_ratio_distance(own[:, step:], own[:, :-step]), axis=1)
    within /= size - 1
    table = profiles.table()
    distance = _ratio_distance(values[:, None], values[None, :])

    def statistic(weights: Floats) -> Floats:
        counts = weights @ table
        return _alpha(weights @ size, weights @ within, np.sum((counts @ distance) * counts, axis=1))

    return statistic


def _ratio_distance(x: Floats, y: Floats) -> Floats:
    """Return ((x - y) / (x + y))^2; two zeros are no distance apart."""
    total = x + y
    return np.asarray(((x - y) / np.where(total > 0, total, 1.0)) ** 2, dtype=np.float64)


def profiles_agree(profiles: Profiles) -> np.ndarray:
    """Tell which profiles hold one value only, so that rounding cannot make them disagree."""
    low = np.full(len(profiles.size), len(profiles.values))
    high = np.full(len(profiles.size), -1)
    np.minimum.at(low, profiles.profile, profiles.code)
    np.maximum.at(high, profiles.profile, profiles.code)
    return np.asarray(low == high)


def _unit_scale(values: Floats) -> Floats:
    """Put values on -1 to 1: interval distances do not mind, and nothing overflows or cancels."""
    scaled: Floats = (values - (values[0] / 2 + values[-1] / 2)) / (values[-1] / 2 - values[0] / 2)
    return scaled
