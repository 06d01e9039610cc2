"""What answers that are all alike say: a bound on their chance where no test can be run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from analysis.answers.units import Unit, UnitRule, UnitValues
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.record import Record, replace_fields

CHANCE = 0.5
Row = TypeVar("Row", bound=Record)


def unanimous_p(share: float, n: int) -> float | None:
    """Bound the chance that ``n`` independent answers are all one share on either side, were there no preference.

    A value X in [0, 1] of mean m is c or more with a chance of at most m / c (Markov's inequality). If independent
    values have means m_1 ... m_n whose average is at most 0.5, all of them are c or more with a chance of at most
    m_1 ... m_n / c^n, which is at most (0.5 / c)^n, as a geometric mean is at most the arithmetic one; shares below 0.5
    are those of the other system. Whatever c the answers happen to have, the bound is a valid p-value: it is
    p or less only where all values are 0.5 p^(-1/n) or more, whose chance is at most p. Both sides double it. No
    smaller bound holds: values of 0 and c, with a mean of 0.5, reach it.

    Parameters
    ----------
    share : float
        The value in [0, 1] that all have, above 0.5 for x.
    n : int
        Independent values: annotators, of an LLM assignments.

    Returns
    -------
    float or None
        min(1, 2 (0.5 / c)^n) with c the larger of ``share`` and 1 - ``share``; ``None`` where ``share`` is 0.5.

    References
    ----------
    Markov's inequality; for shares of 0 and 1 it is the exact two-sided sign test.

    >>> unanimous_p(1.0, 14), unanimous_p(0.0, 2), unanimous_p(0.5, 14)
    (0.0001220703125, 0.5, None)
    """
    if share == CHANCE:
        return None
    return min(1.0, 2 * float((CHANCE / max(share, 1 - share)) ** n))


def alike(values: Floats | None, width: float | None = None) -> dict[str, Any]:
    """Return ``all_alike`` and ``p_unanimous`` of a row, of one test; nothing where values differ or there is one.

    Parameters
    ----------
    values : array of float, shape (n,), or None
        One number an annotator (LLM: assignment): a share, or with ``width`` a difference of scores.
    width : float, optional
        Highest score less the lowest: a difference d is the share (d / width + 1) / 2.
    """
    if values is None or len(values) < 2 or values.min() != values.max():
        return {}
    value = float(values[0])
    bound = unanimous_p(value if width is None else (value / width + 1) / 2, len(values))
    return {} if bound is None else {"all_alike": len(values), "p_unanimous": bound}


def with_unanimity(
    rows: Sequence[Row],
    systems: Sequence[str],
    averages: Callable[[Sequence[Unit]], list[UnitValues | None]],
    *,
    annotators: Ints,
    llm: bool,
    width: float | None = None,
    test: str | None = None,
    pairs: Ints | None = None,
) -> list[Row]:
    """Add the bound to the rows without a test whose annotators, LLMs' assignments, are all alike.

    What one annotator says of several items is not independent, so annotators are counted also where the unit of the
    test is the item.

    Parameters
    ----------
    rows : sequence of ChoiceTest or RatingTest
        Tests of one group and criterion.
    systems : sequence of str
        All systems.
    averages : callable
        From the unit of every pair to its values, averaged within the unit.
    annotators : array of int, shape (n_pairs,)
        Who judged both systems.
    llm, width
        Whether the group is an LLM; as for :func:`alike`.
    test : str, optional
        Rows of another test are left as they are.
    pairs : array of int, shape (n_pairs,), optional
        What x * n_systems + y is of each pair; by default their numbers.
    """
    place = {system: number for number, system in enumerate(systems)}
    open_rows: list[tuple[int, int]] = []
    for at, row in enumerate(rows):
        if _is_open(row, test):
            x, y = (place[getattr(row, name)] for name in ("system_x", "system_y"))
            pair = x * len(systems) + y if pairs is None else int(np.searchsorted(pairs, x * len(systems) + y))
            if llm or annotators[pair] > 1:
                open_rows.append((at, pair))
    if not open_rows:
        return list(rows)
    rule = UnitRule(planned="annotator", llm=llm)
    found = averages([rule.choose(count) for count in annotators.tolist()])
    done = list(rows)
    for at, pair in open_rows:
        units = found[pair]
        if units is not None and (more := alike(units.values, width)):
            done[at] = replace_fields(rows[at], **more)
    return done


def _is_open(row: Any, test: str | None) -> bool:
    """Say whether a row, of that test, has none and speaks for one of the two."""
    return row.p_value is None and row.effect != 0 and (test is None or row.test == test)
