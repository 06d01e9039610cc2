"""What a mean rating and its interval need of each system: counts, sums by unit, squares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.answers.equal_weights import AnnotatorTotals
from analysis.answers.units import Unit, UnitValues, count_by
from analysis.statistics.clustered_difference import ClusteredValues
from analysis.statistics.coding import Floats, Ints, fold, snap
from analysis.statistics.weighed_items import WeighedItems

LONG = 1 << 20  # rows from which scores are counted instead of added up one by one
CHUNK = 1 << 16  # rows counted at a time, so that their keys stay in the cache
WIDEST = 1 << 22  # largest table of systems x units x scores


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreTotals:
    """Totals of each system, all of shape (n_systems,).

    ``squares`` adds up the squared distances from the mean; ``annotators`` counts who rated the system;
    ``sums(system, unit)`` adds up the distances from its mean by unit, one number a unit that has it.
    """

    count: Ints
    mean: Floats
    squares: Floats
    annotators: Ints
    sums: Callable[[int, str], Floats]

    def sd(self, system: int) -> float | None:
        """Return the standard deviation (n - 1) of one system's scores; ``None`` for a single one."""
        n = int(self.count[system])
        return float(np.sqrt(self.squares[system] / (n - 1))) if n > 1 else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RatingTotals:
    """What the tests of one group and criterion need of its ratings; systems are numbered as in ``systems``.

    Attributes
    ----------
    llm : bool
        Whether an LLM rated.
    present : list of int
        Systems with a rating.
    both : array of int, shape (n_systems, n_systems)
        Annotators who rated both systems; of one system, who rated it.
    n_annotators : int
        Annotators with a rating.
    answers, outputs : array of int, shape (n_systems,)
        Ratings of each system, and outputs as rated: samples of one in one block count once.
    averages : callable
        From the unit of every ordered pair (x * n_systems + y) to its differences x - y, averaged within the unit.
    unit_means : callable
        Mean rating of one system by unit.
    same_annotators : callable
        Whether two systems were rated by the same annotators.
    sides : callable
        Sums of two systems by annotator or assignment, by item, and by both; all annotators alike, or all ratings.
    raters : callable
        Ratings of one system by annotator or assignment.
    people : callable
        Differences of an ordered pair by annotator (of few LLMs: by assignment).
    items : callable
        Differences of an ordered pair by item, everybody weighing the same.
    scale : float
        Largest size of the ratings.
    """

    group: str
    criterion: str
    llm: bool
    systems: tuple[str, ...]
    present: list[int]
    both: Ints
    n_annotators: int
    answers: Ints
    outputs: Ints
    averages: Callable[[Sequence[Unit]], list[UnitValues | None]]
    unit_means: Callable[[int, Unit], Floats]
    same_annotators: Callable[[int, int], bool]
    sides: Callable[[int, int, Unit, bool], tuple[ClusteredValues, ClusteredValues]]
    raters: Callable[[int, Unit], AnnotatorTotals]
    people: Callable[[int], AnnotatorTotals]
    items: Callable[[int], WeighedItems]
    scale: float


def total_scores(system: Ints, value: Floats, columns: dict[str, Ints], n_systems: int, scale: float) -> ScoreTotals:
    """Add up scores by system and unit.

    Parameters
    ----------
    system : array of int, shape (n,)
        System of each score.
    value : array of float, shape (n,)
        Scores; their means are rounded to 12 digits of ``scale``, distances from it to 13.
    columns : dict of str to array of int, shape (n,)
        Who or what each score belongs to, by unit; "annotator" among them.

    Returns
    -------
    ScoreTotals
        O(n). Many rows of whole numbers are counted once by system, unit and score, and the rest costs by cells.
    """
    if len(value) >= LONG:
        counted = _of_counts(system, value, columns, n_systems, scale)
        if counted is not None:
            return counted
    count = np.bincount(system, minlength=n_systems)
    total = np.bincount(system, weights=value, minlength=n_systems)
    mean = snap(total / np.maximum(count, 1), scale=scale)
    rest = snap(value - mean[system], scale=scale, digits=13)

    def sums(number: int, unit: str) -> Floats:
        own = system == number
        found = np.bincount(fold(columns[unit][own]).of, weights=rest[own])
        return found.astype(np.float64)

    return ScoreTotals(
        count=count,
        mean=mean,
        squares=np.bincount(system, weights=rest**2, minlength=n_systems).astype(np.float64),
        annotators=count_by(system, columns["annotator"], n_systems),
        sums=sums,
    )


def _of_counts(
    system: Ints, value: Floats, columns: dict[str, Ints], n_systems: int, scale: float
) -> ScoreTotals | None:
    """Count by system, unit and score; ``None`` where scores are not few whole numbers."""
    tables: dict[str, Floats] = {}

    def table(unit: str) -> Floats | None:
        if unit not in tables:
            found = _count(system, columns[unit], value, n_systems, scale)
            if found is None:
                return None
            tables[unit] = found
        return tables[unit]

    by_annotator = table("annotator")
    if by_annotator is None:
        return None
    scores = np.arange(by_annotator.shape[2]) - scale
    counts = by_annotator.sum(axis=1)
    count = counts.sum(axis=1)
    mean = snap(counts @ scores / np.maximum(count, 1), scale=scale)
    rest = snap(scores[None, :] - mean[:, None], scale=scale, digits=13)

    def sums(number: int, unit: str) -> Floats:
        found = table(unit)
        if found is None:  # too many units to count
            own = system == number
            place = (value[own] + scale).astype(np.int64)
            return np.bincount(fold(columns[unit][own]).of, weights=rest[number][place]).astype(np.float64)
        there = found[number].any(axis=1)
        added: Floats = found[number][there] @ rest[number]
        return added

    return ScoreTotals(
        count=count.astype(np.int64),
        mean=mean,
        squares=np.sum(counts * rest**2, axis=1),
        annotators=np.count_nonzero(by_annotator.any(axis=2), axis=1).astype(np.int64),
        sums=sums,
    )


def _count(system: Ints, unit: Ints, value: Floats, n_systems: int, scale: float) -> Floats | None:
    """Return systems x units x scores from -scale to scale."""
    n_units, n_scores = int(unit.max()) + 1, 2 * int(scale) + 1
    size = n_systems * n_units * n_scores
    if scale != int(scale) or size > WIDEST:
        return None
    counts = np.zeros(size, dtype=np.int64)
    step = max(CHUNK, size)
    for start in range(0, len(value), step):
        rows = slice(start, start + step)
        score = value[rows] + scale
        whole = score.astype(np.int64)
        if not np.array_equal(whole, score):
            return None
        key = system[rows] * n_units
        key += unit[rows]
        key *= n_scores
        key += whole
        counts += np.bincount(key, minlength=size)
    return counts.reshape(n_systems, n_units, n_scores).astype(np.float64)
