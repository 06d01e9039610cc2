"""Which tests are corrected together, how, and which could not take part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from analysis.answers.plan import Plan
from analysis.statistics.corrections import (
    OUTSIDE_FAMILY,
    Correction,
    FamilyMember,
    Verdict,
    adjust,
    members_by_family,
    sizes_of_families,
)
from analysis.statistics.reasons import Reason
from analysis.statistics.record import Count, Record, Source


class ComparedPair(FamilyMember, Protocol):
    """A row with the test of a pair of systems."""

    @property
    def system_x(self) -> str: ...  # noqa: D102

    @property
    def system_y(self) -> str: ...  # noqa: D102

    @property
    def p_adjusted(self) -> float | None: ...  # noqa: D102

    @property
    def verdict(self) -> Verdict | None: ...  # noqa: D102


Row = TypeVar("Row", bound=FamilyMember)
PairRow = TypeVar("PairRow", bound=ComparedPair)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Untestable(Record):
    """A comparison that would have been a member, had its test been possible."""

    system_x: str
    system_y: str
    criterion: str
    exposure: int | None
    reason: Reason | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Family(Record):
    """Tests corrected together."""

    source: str
    group: str
    criterion: str | None
    """Null: the plan pools criteria."""
    correction: Correction
    rate: float
    """Familywise error rate (holm) or false discovery rate (bh)."""
    n_tests: Count
    """Members: tests that could be run; all comparisons, run or not, where unanimous answers are claims too."""
    outside: Count = 0
    """Tests of pairs that are not compared (settings.pairs); they keep their raw p-value."""
    untestable: tuple[Untestable, ...]
    """Comparisons without a test; they count only where some of them have p_unanimous."""


def within_family(rows: Sequence[PairRow], plan: Plan, source: Source) -> list[PairRow]:
    """Mark the tests of pairs that are not compared, which keep their raw p-value and join no family.

    A study compares what it asks: its pairs are those of its ratings, beside which it asks about no others.
    """
    if not plan.pairs or (plan.pairs_from == "study" and source != "ratings"):
        return list(rows)
    update: Callable[..., PairRow] = replace
    compared = {frozenset(pair) for pair in plan.pairs}
    return [
        row
        if frozenset((row.system_x, row.system_y)) in compared
        else update(row, reason=OUTSIDE_FAMILY, p_unanimous=None, all_alike=None)
        for row in rows
    ]


def with_adjusted_p(rows: Sequence[Row], plan: Plan, *, family: str) -> list[Row]:
    """Add ``p_adjusted`` and ``n_tests`` (size of the family) to the tests of one source, corrected as planned."""
    update: Callable[..., Row] = replace
    done = list(rows)
    for members in members_by_family(rows, family):
        p_values = [rows[place].p_value for place in members]
        result = adjust(p_values, correction=plan.correction, rate=plan.fwer)
        for place, p_adjusted in zip(members, result.p_adjusted, strict=True):
            done[place] = update(rows[place], p_adjusted=p_adjusted, n_tests=result.n_tests)
    return done


def families_of(source: str, rows: Sequence[ComparedPair], plan: Plan) -> list[Family]:
    """Name the families of one source, in the order of its tests.

    Parameters
    ----------
    source : str
        What was asked: ``preferences``, ``ratings``, ``choices`` or the name of a further set of tests.
    rows : sequence of rows
        Tests, one row a comparison.
    plan : Plan
        Family, correction and rate.
    """
    found: dict[tuple[str, str | None], list[ComparedPair]] = {}
    for row in rows:
        found.setdefault((row.group, None if plan.family == "all" else row.criterion), []).append(row)
    return [
        Family(
            source=source,
            group=group,
            criterion=criterion,
            correction=plan.correction,
            rate=plan.fwer,
            n_tests=sum(sizes_of_families(members, plan.family).values()),
            outside=sum(row.reason == OUTSIDE_FAMILY for row in members),
            untestable=tuple(
                Untestable(
                    system_x=row.system_x,
                    system_y=row.system_y,
                    criterion=row.criterion,
                    exposure=getattr(row, "exposure", None),
                    reason=row.reason,
                )
                for row in members
                if row.p_value is None and row.reason != OUTSIDE_FAMILY
            ),
        )
        for (group, criterion), members in found.items()
    ]
