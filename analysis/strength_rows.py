"""Rows of ``bradley_terry`` in the results: which systems, what answers hang together by, which ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.coding import Floats, Ints
from analysis.plan import Plan
from analysis.ranking import STRENGTH_TIE, order_systems, ranks
from analysis.strengths.counting import compact
from analysis.strengths.estimate import bradley_terry
from analysis.units import ENOUGH_ANNOTATORS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judgements:
    """Comparisons of one source, group and criterion: x won the share ``won`` of y.

    ``of_unit`` numbers the annotator (of an LLM: the assignment) as ``unit`` says; ``item`` is
    ``None`` where a comparison is about no item. ``weights``, where given, says how often each row occurred.
    """

    x: Ints
    y: Ints
    won: Floats
    unit: str
    of_unit: Ints
    item: Ints | None
    weights: Floats | None = None

    @property
    def n_units(self) -> int:
        """Number of units that occur."""
        return compact(self.of_unit)[0]

    def clusters(self, wanted: str) -> dict[str, Ints]:
        """Choose what the interval is clustered by.

        The unit where there are at least 10 of it, else the item; the unit as well where there is no
        item, and what the plan fixes goes before.
        """
        enough = wanted == "annotator" or (wanted == "auto" and self.n_units >= ENOUGH_ANNOTATORS)
        if enough or self.item is None:
            return {self.unit: self.of_unit}
        return {"item": self.item}


def strength_rows(
    source: str, group: str, criterion: str, judgements: Judgements, systems: Sequence[str], plan: Plan
) -> list[dict[str, Any]]:
    """Fit the systems that were compared at all, with intervals, and rank those that have a strength.

    The largest |t| of the rank intervals is drawn anew from the plan's seed for every table, so that
    no table depends on another.
    """
    compared, of = np.unique(np.concatenate([judgements.x, judgements.y]), return_inverse=True)
    if not len(compared):
        return []
    names = [systems[place] for place in compared.tolist()]
    found = bradley_terry(
        of[: len(judgements.x)],
        of[len(judgements.x) :],
        judgements.won,
        systems=names,
        clusters=judgements.clusters(plan.unit),
        weights=judgements.weights,
        regularisation=plan.regularisation,
        confidence=plan.confidence,
        rng=np.random.default_rng(plan.seed),
    )
    known = np.isfinite(found.strength)
    values = {names[place]: float(found.strength[place]) for place in np.flatnonzero(known).tolist()}
    turned = source == "ratings_bt" and criterion in plan.lower_is_better
    places = ranks(order_systems(values, tie=STRENGTH_TIE, lower_is_better=turned))
    low, high = found.rank_low, found.rank_high
    if turned:
        low, high = len(values) + 1 - high, len(values) + 1 - low
    bounded = known & (found.interval is not None)
    return [
        {
            "source": source,
            "group": group,
            "criterion": criterion,
            "system": name,
            "strength": values.get(name),
            "ci_low": float(found.ci_low[place]) if bounded[place] else None,
            "ci_high": float(found.ci_high[place]) if bounded[place] else None,
            "interval": found.interval if bounded[place] else None,
            "n_clusters": found.n_clusters if bounded[place] else None,
            "rank": places.get(name),
            "rank_low": int(low[place]) if bounded[place] else None,
            "rank_high": int(high[place]) if bounded[place] else None,
            "regularisation": plan.regularisation,
            "reason": found.reasons[place] or (None if bounded[place] else found.no_interval),
        }
        for place, name in enumerate(names)
    ]
