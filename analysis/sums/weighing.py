"""Sums by item in which every annotator weighs the same: a second look, when it is known who gave how many answers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.answers.units import who_answers
from analysis.statistics.coding import Ints
from analysis.sums.grid import OVER, TOGETHER, Grid, Sums

MANY = 100_000  # annotators of a pair from which on weights have fewer digits, so that their sums have room
SQUARED = 100  # bits of the largest squared weight of an answer
BITS, FEWER = 62, 50  # of the largest weight, and of the same for many


def uneven_weights(sums: Sums, grid: Grid) -> dict[str, pl.DataFrame]:
    """Return the weights of annotators (of few LLMs: assignments) where they gave different numbers of answers.

    Returns
    -------
    dict of str to DataFrame
        By "scores" and "pairs", where some is uneven: ``about, who, votes, weight, squared``. ``votes`` names the
        column of ``who``; a value of one who gave n weighs 2^62 / n and, squared, 2^100 / n², rounded to whole
        numbers, so that sums do not depend on how the answers are split.
    """
    found = {}
    for of in OVER:
        if f"{of}_annotator" not in sums:
            continue
        few, counts = _few_annotators(sums, grid), []
        for unit in TOGETHER.values():
            frame = sums[f"{of}_{unit}"]
            by_visit = np.isin(grid.part_of(frame["about"].to_numpy(), of), few)
            own = by_visit if unit == "assignment" else ~by_visit
            counts.append([frame[name].to_numpy()[own] for name in ("about", unit, "n")])
        about, who, n = (np.concatenate(columns) for columns in zip(*counts, strict=True))
        uneven = _uneven(about, n)
        if uneven.any():
            largest = int(np.unique(about[uneven], return_counts=True)[1].max())
            bits, given = BITS if largest < MANY else FEWER, n[uneven].tolist()
            votes = np.repeat([*TOGETHER.values()], [len(own) for own, *_ in counts])[uneven]
            weights = {
                "weight": [_divided(1 << bits, each) for each in given],
                "squared": [_divided(1 << SQUARED, each**2) for each in given],
            }
            columns = {"about": pl.Series(about[uneven]), "who": pl.Series(who[uneven])}
            columns["votes"] = pl.Series(votes.tolist(), dtype=pl.String)
            whole = {name: pl.Series(own, dtype=pl.Int128) for name, own in weights.items()}
            found[of] = pl.DataFrame(columns | whole)
    return found


def _uneven(about: Ints, n: Ints) -> npt.NDArray[np.bool_]:
    """Mark the rows of what somebody gave more values about than somebody else."""
    if not len(n) or n.min() == n.max():
        return np.zeros(len(n), dtype=np.bool_)
    of = np.unique(about, return_inverse=True)[1]
    least, most = np.full(int(of.max()) + 1, n.max()), np.zeros(int(of.max()) + 1, dtype=np.int64)
    np.minimum.at(least, of, n)
    np.maximum.at(most, of, n)
    return (least < most)[of]


def _divided(whole: int, by: int) -> int:
    return (2 * whole + by) // (2 * by)


def _few_annotators(sums: Sums, grid: Grid) -> list[int]:
    """Return the groups and criteria, by one number, in which assignments have votes."""
    if not grid.llm:
        return []
    answered = "scores" if "scores_annotator" in sums else "pairs"
    frame = sums[f"{answered}_annotator"]
    part, who = grid.part_of(frame["about"].to_numpy(), answered), frame["annotator"].to_numpy()
    llms = [number for number in np.unique(part).tolist() if number // len(grid.order.criteria) in grid.llm]
    counts = {number: len(np.unique(who[part == number])) for number in llms}
    return [number for number, n in counts.items() if who_answers(llm=True, n_annotators=n) == "assignment"]
