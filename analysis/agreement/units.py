"""What was answered to units, whoever gave it: all that coefficients need that ask for nobody's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.agreement.counts import Profiles, fold_profiles, profiles_of_counts
from analysis.agreement.data import ReliabilityData
from analysis.agreement.krippendorff import Level, alpha_statistic, interval_statistic
from analysis.agreement.resampling import Statistic
from analysis.agreement.result import CONSTANT, no_answer, too_few
from analysis.statistics.coding import Floats, Ints, scale_of, snap
from analysis.statistics.reasons import Reason
from analysis.sums.grid import OPTIONS

Sums = Mapping[str, npt.NDArray[Any]]  # answers of each unit (``n``), their sum, and the sum of their squares


@dataclass(frozen=True, kw_only=True, eq=False)
class AnsweredUnits:
    """Answers by unit.

    Attributes
    ----------
    n_annotators, n_units, n_pairable : int
        Raters, units, and units with at least two answers.
    constant : bool
        Whether all answers that can be paired are the same.
    reason : Reason or None
        Why no coefficient is defined.
    scale : float
        Largest size of an answer.
    fold : callable or None
        From a number to the profiles of units with at least so many answers; ``None`` where sums alone are known.
    sums : callable
        Returns the sums of units with two answers.
    averaged : bool
        Whether some answers are means of several.
    """

    n_annotators: int
    n_units: int
    n_pairable: int
    constant: bool
    reason: Reason | None
    scale: float
    fold: Callable[[int], Profiles] | None
    sums: Callable[[], Sums]
    averaged: bool = False

    @cached_property
    def paired(self) -> Profiles:
        """Units with two answers."""
        assert self.fold is not None
        return self.fold(2)

    @cached_property
    def every(self) -> Profiles:
        """All units."""
        assert self.fold is not None
        return self.paired if self.n_pairable == self.n_units else self.fold(1)

    def alpha(self, level: Level) -> tuple[Statistic, Ints]:
        """Return Krippendorff's alpha as a function of how often each profile counts, and how often each is there.

        At the interval level it follows from the sums of units where some answers are means, or more are different than
        are counted one by one.
        """
        if level == "interval" and not self._are_counted:
            return _interval(self.sums(), self.scale)
        return alpha_statistic(self.paired, level), self.paired.units

    @property
    def _are_counted(self) -> bool:
        if self.fold is None or self.averaged:
            return False
        return self.paired.turns or len(self.every.values) <= OPTIONS


def units_of_answers(data: ReliabilityData) -> AnsweredUnits:
    """Return the units of single answers."""
    return AnsweredUnits(
        n_annotators=data.n_annotators,
        n_units=data.n_units,
        n_pairable=data.n_pairable,
        constant=data.constant,
        reason=no_answer(data),
        scale=scale_of(data.value),
        fold=lambda at_least: fold_profiles(data, at_least=at_least),
        sums=partial(_sums, data),
        averaged=data.averaged,
    )


def _sums(data: ReliabilityData) -> Sums:
    paired = data.sizes > 1
    total, squares = (
        np.bincount(data.unit, weights=weights, minlength=data.n_units)[paired]
        for weights in (data.value, data.value**2)
    )
    return {"n": data.sizes[paired], "total": total, "squares": squares}


def units_of_counts(values: Floats, counts: Ints, *, n_annotators: int, turns: bool = False) -> AnsweredUnits:
    """Return units to which each of the ``values`` was given so often, shape (n_units, n_values)."""
    sizes = counts.sum(axis=1)
    paired = _rows(counts, sizes > 1)
    given = values[paired.any(axis=0)]
    constant = len(given) == 1 and not (turns and bool(given[0]))

    def fold(at_least: int) -> Profiles:
        """Leave out values that nobody gave, nor would if pairs were listed the other way round."""
        own = _rows(counts, sizes >= at_least)
        there = np.flatnonzero(own.any(axis=0))
        if turns:
            there = np.union1d(there, len(values) - 1 - there)
        given = own if len(there) == len(values) else own[:, there]
        return profiles_of_counts(values[there], given, turns=turns)

    return AnsweredUnits(
        n_annotators=n_annotators,
        n_units=int(np.count_nonzero(sizes)),
        n_pairable=len(paired),
        constant=constant,
        reason=too_few(n_annotators, len(paired)) or (CONSTANT if constant else None),
        scale=scale_of(values),
        fold=fold,
        sums=lambda: {"n": paired.sum(axis=1), "total": paired @ values, "squares": paired @ values**2},
    )


def _rows(counts: Ints, kept: npt.NDArray[np.bool_]) -> Ints:
    """Return some rows of a table whose columns lie together."""
    rows: Ints = counts if kept.all() else counts.T[:, kept].T
    return rows


def units_of_sums(sums: Sums, *, n_annotators: int, scale: float) -> AnsweredUnits:
    """Return units of whose answers the sums alone are known."""
    paired = sums["n"] > 1
    own = {name: sums[name][paired] for name in ("n", "total", "squares")}
    means = snap(own["total"] / own["n"], scale=scale)
    constant = bool(paired.any()) and bool(np.all(means == means[0])) and bool(_agree(own, scale).all())
    return AnsweredUnits(
        n_annotators=n_annotators,
        n_units=len(paired),
        n_pairable=int(paired.sum()),
        constant=constant,
        reason=too_few(n_annotators, int(paired.sum())) or (CONSTANT if constant else None),
        scale=scale,
        fold=None,
        sums=lambda: own,
    )


def _agree(sums: Sums, scale: float) -> npt.NDArray[np.bool_]:
    rest: Floats = sums["squares"] - sums["total"] ** 2 / sums["n"]
    return np.asarray(snap(rest, scale=scale**2 * float(sums["n"].max(initial=1))) == 0)


def _interval(sums: Sums, scale: float) -> tuple[Statistic, Ints]:
    """Return alpha at the interval level as a function of how often units with the same sums count."""
    n, most = sums["n"].astype(np.float64), float(sums["n"].max(initial=1))
    alike = [n, snap(sums["total"], scale=scale * most), snap(sums["squares"], scale=scale**2 * most)]
    _, first, units = np.unique(np.stack(alike, axis=1), axis=0, return_index=True, return_counts=True)
    own = {name: sums[name][first].astype(np.float64) for name in ("n", "total", "squares")}
    n, total, squares = (own[name] for name in ("n", "total", "squares"))
    middle = float(units @ total) / max(float(units @ n), 1.0)
    away, away_squared = total - n * middle, squares - 2 * middle * total + n * middle**2
    statistic = interval_statistic(n, away / scale, away_squared / scale**2, _agree(own, scale))
    return statistic, units.astype(np.int64)
