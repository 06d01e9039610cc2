"""Assignments of a study, drawn by its own seed, and whether things are dealt alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from spa.records.assignment import (
    Assignment,
    BlindingKey,
)
from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.study.sampling import sample_assignments, study_rng


def drawn(study: Study, outputs: Outputs, count: int) -> list[tuple[Assignment, BlindingKey]]:
    return list(sample_assignments(study, outputs, count=count, rng=study_rng(study.seed)))


def within_one(counts: Counter[Any], *, over: int) -> bool:
    """Tell whether ``over`` things were counted equally often, to within one."""
    values = [*counts.values(), *[0] * (over - len(counts))]
    return len(counts) <= over and max(values) - min(values) <= 1


def neighbours(orders: Iterable[Sequence[Hashable]]) -> Counter[tuple[Hashable, Hashable]]:
    """Count how often one thing came right after another."""
    return Counter(pair for order in orders for pair in pairwise(order))
