"""Which engine reckons the power of a design: the one place where that is chosen."""

from __future__ import annotations

from typing import Protocol

from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.planning.assumptions import Assumptions
from analysis.planning.contributions import Contributions
from analysis.planning.units import FewOrMany, OverItems
from analysis.planning.unpaired import unpaired_test


class Engine(Protocol):
    """Power of one design, by the test that the report runs on it."""

    @property
    def most(self) -> int:
        """Annotators up to which it reckons."""
        ...

    @property
    def switch(self) -> int | None:
        """Annotators from which on the test is another one, so that power can fall there."""
        ...

    def power(self, annotators: int, difference: float, alpha: float) -> float:
        """Return the chance to find a difference above 0, in its direction, with so many recruited."""
        ...

    def sawtooth_span(self, annotators: int, difference: float, alpha: float) -> int:
        """Return among how many more annotators than so many power can step down again; 0 where it only rises."""
        ...

    def possible(self, difference: float) -> bool:
        """Whether answers such as assumed can differ so much."""
        ...

    def too_few(self, difference: float, power: float, alpha: float) -> str | None:
        """Return why no number of annotators is enough, where that is known beforehand."""
        ...


def engine_for(assumptions: Assumptions, annotators: int | None = None) -> Engine:
    """Return the engine of a design; ``annotators`` where the number is given, which may decide on the unit."""
    if assumptions.own_items is not None:
        return unpaired_test(assumptions.components, assumptions.own_items, assumptions.exclusion_rate)
    if assumptions.kind == "spa" or assumptions.unit == "annotator":
        return Contributions(assumptions=assumptions)
    if assumptions.unit == "item" or (annotators is not None and annotators < ENOUGH_ANNOTATORS):
        return OverItems(assumptions=assumptions, recruited=annotators)
    return FewOrMany(assumptions=assumptions)
