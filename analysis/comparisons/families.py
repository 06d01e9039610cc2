"""Which tests were corrected together, how, and who could not take part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.answers.plan import Plan
from analysis.statistics.corrections import OUTSIDE_FAMILY, Correction, in_family
from analysis.statistics.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Untestable(Record):
    """A comparison that would have been a member, had its test been possible."""

    system_x: str
    system_y: str
    criterion: str
    exposure: int | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Family(Record):
    """Tests corrected together; ``criterion`` is ``None`` where the plan pools criteria.

    ``n_tests`` counts the members, the tests that could be run; ``untestable`` names the others.
    """

    source: str
    group: str
    criterion: str | None
    correction: Correction
    rate: float
    n_tests: int
    untestable: tuple[Untestable, ...]


def families_of(source: str, rows: Sequence[Any], plan: Plan) -> list[Family]:
    """Name the families of one source, in the order of its tests.

    Parameters
    ----------
    source : str
        What was asked: ``preferences``, ``ratings``, ``choices`` or the name of a further set of tests.
    rows : sequence of rows
        Tests as :func:`analysis.statistics.corrections.with_verdicts` takes them, one row a comparison.
    plan : Plan
        Family, correction and rate.
    """
    found: dict[tuple[str, str | None], list[Any]] = {}
    for row in rows:
        found.setdefault((row.group, None if plan.family == "all" else row.criterion), []).append(row)
    return [
        Family(
            source=source,
            group=group,
            criterion=criterion,
            correction=plan.correction,
            rate=plan.fwer,
            n_tests=sum(map(in_family, members)),
            untestable=tuple(_named(row) for row in members if row.p_value is None and row.reason != OUTSIDE_FAMILY),
        )
        for (group, criterion), members in found.items()
    ]


def _named(row: Any) -> Untestable:
    return Untestable(
        system_x=row.system_x,
        system_y=row.system_y,
        criterion=row.criterion,
        exposure=getattr(row, "exposure", None),
        reason=row.reason,
    )
