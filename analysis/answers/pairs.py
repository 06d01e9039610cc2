"""Which pairs of systems are compared, and so form the families of tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.answers.plan import Pair, Plan
from analysis.answers.reading import read_raw
from spa.errors import AnalysisError, ArgumentProblem, shortened
from spa.tables.options import TableOptions

if TYPE_CHECKING:
    from analysis.answers.order import Order
    from analysis.answers.study_facts import StudyFacts

COLUMNS = ("system_x", "system_y")


def read_pairs(path: Path, mapping: Mapping[str, str]) -> tuple[Pair, ...]:
    """Read a table with a row a pair: system_x, system_y.

    Raises
    ------
    AnalysisError
        When the file cannot be read, lacks a column, or has an empty cell.
    """
    table = read_raw(path, TableOptions(mapping=mapping), frozenset(COLUMNS))
    lacking = [name for name in COLUMNS if name not in table.frame.columns]
    if lacking:
        raise AnalysisError(f"{path}: expected the columns {', '.join(COLUMNS)}, got {shortened(repr(table.columns))}")
    rows = list(table.frame.select(COLUMNS).iter_rows())
    empty = [number for number, row in zip(table.numbers(), rows, strict=True) if not all(row)]
    if empty:
        raise AnalysisError(f"{path}, row {empty[0]}: expected two systems, got an empty cell")
    return tuple((x, y) for x, y in rows)


def with_pairs(plan: Plan, orders: Mapping[str, Order], study: StudyFacts | None = None) -> Plan:
    """Return the plan with the pairs that are compared: where none are named, with none, which means all.

    They are those of the study; of tables without one those that the plan names, else those of the preferences, else
    those of which something was expected.

    Parameters
    ----------
    plan : Plan
        As it was made.
    orders : mapping of str to Order
        The order of each answer table.
    study : StudyFacts, optional
        A study that only rates has no pairs: it compares every two systems.

    Raises
    ------
    AnalysisError
        When the plan names a pair twice, a system with itself, or one that no answers compare.
    """
    if study is not None:
        return replace(plan, pairs=study.pairs, pairs_from="study" if study.pairs else None)
    if plan.pairs:
        problems = list(_problems(plan.pairs, orders))
        if problems:
            raise AnalysisError(*problems)
        return replace(plan, pairs_from="named")
    if "preferences" in orders:
        return replace(plan, pairs=orders["preferences"].pairs, pairs_from="preferences")
    if plan.expected:
        pairs = {frozenset((row.system_x, row.system_y)): (row.system_x, row.system_y) for row in plan.expected}
        return replace(plan, pairs=tuple(pairs.values()), pairs_from="expected")
    return replace(plan, pairs_from=None)


def _problems(pairs: Iterable[Pair], orders: Mapping[str, Order]) -> Iterator[ArgumentProblem]:
    systems = sorted({system for order in orders.values() for system in order.systems})
    compared = {frozenset(pair) for order in orders.values() for pair in order.pairs}
    if "ratings" in orders:
        compared |= {frozenset(pair) for pair in combinations(orders["ratings"].systems, 2)}
    seen: set[frozenset[str]] = set()
    for x, y in pairs:
        pair = frozenset((x, y))
        unknown = [name for name in (x, y) if name not in systems]
        if x == y:
            wrong = "expected two systems, got one twice"
        elif unknown:
            wrong = f"no system {shortened(repr(unknown[0]))} (there are: {shortened(', '.join(systems), 200)})"
        elif pair in seen:
            wrong = "named twice; expected each pair once, in one direction"
        elif pair not in compared:
            wrong = "no answers compare these two"
        else:
            seen.add(pair)
            continue
        seen.add(pair)
        yield ArgumentProblem(
            "pairs", in_python=f"={[(x, y)]!r}", in_command=f" {shortened(x)} {shortened(y)}", after=f": {wrong}"
        )
