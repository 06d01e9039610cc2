"""What resampling needs of the sums of a table: means by unit, and what tells units apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

import numpy as np

from analysis.answers.plan import Plan
from analysis.answers.units import UnitRule
from analysis.ranking.replicates import ReplicateSums, sums_of_units
from analysis.sums.criterion_sums import CriterionSums
from analysis.sums.grid import UNITS
from analysis.sums.totals import AnswerTotals


def mean_sums(part: CriterionSums, names: Mapping[str, Sequence[str]], plan: Plan) -> ReplicateSums:
    """Sum the ratings of each system by unit: the annotator where there are enough, else the item."""
    unit = UnitRule(planned=plan.unit, llm=part.llm).choose(part.n_annotators)
    own = part.scores[unit]
    n = own["n"].astype(np.float64)
    return sums_of_units(part, unit, names[unit], own["system"], own[unit], n, own["total"], plan)


class NumberedUnits(Sequence[str]):
    """Names of units by number."""

    def __init__(self, n_units: int) -> None:
        self._n_units = n_units

    def __len__(self) -> int:
        return self._n_units

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[str]: ...
    def __getitem__(self, number: int | slice) -> str | Sequence[str]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(self._n_units))]
        return str(number)


def names_of_units(totals: AnswerTotals) -> dict[str, Sequence[str]]:
    """Return what tells units apart in resampling: names where they are known."""
    names: dict[str, Sequence[str]] = {unit: NumberedUnits(totals.sizes[unit]) for unit in UNITS}
    if totals.names is not None:
        names["annotator"] = totals.names["annotator_id"].to_list()
    return names
