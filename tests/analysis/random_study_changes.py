"""What is done to random studies that may change no figure: other names, another order, other sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from tests.analysis.random_studies import RandomStudy
from tests.analysis.test_metamorphic import differing, figures, without_position

Changed: TypeAlias = tuple[RandomStudy, Mapping[str, str]]  # a study, and by its names the former ones
Change: TypeAlias = Callable[[RandomStudy, np.random.Generator], Changed]
COLUMNS = {
    "systems": ("system", "system_x", "system_y"),
    "items": ("item_id",),
    "annotators": ("annotator_id",),
    "criteria": ("criterion",),
}
WHO = ("annotator_id", "group", "variant", "criterion", "system", "item_id")  # what exports are sorted by
KEPT = "overall"  # a criterion whose name means something


def shuffled(study: RandomStudy, rng: np.random.Generator) -> Changed:
    """Put rows and columns in another order."""
    tables = {
        kind: table.sample(fraction=1, shuffle=True, seed=int(rng.integers(1_000_000)))
        for kind, table in study.tables.items()
    }
    tables = {kind: table.select(rng.permutation(table.columns).tolist()) for kind, table in tables.items()}
    return replace(study, tables=tables), {}


def sorted_by_a_column(study: RandomStudy, rng: np.random.Generator) -> Changed:
    """Put rows in the order of one column, or in its opposite, as an export does."""
    column = str(rng.choice(sorted({name for table in study.tables.values() for name in table.columns if name in WHO})))
    back = bool(rng.random() < 0.5)
    tables = {
        kind: table.sort(column, descending=back, maintain_order=True) if column in table.columns else table
        for kind, table in study.tables.items()
    }
    return replace(study, tables=tables), {}


def renamed(what: str) -> Change:
    """Return what gives other names, whose order by letters is another."""

    def change(study: RandomStudy, rng: np.random.Generator) -> Changed:
        columns = [
            (kind, name) for kind, table in study.tables.items() for name in COLUMNS[what] if name in table.columns
        ]
        found = sorted({one for kind, name in columns for one in study.tables[kind][name]} - {KEPT})
        new = [f"Zz{what[:3]}{number:03}q" for number in rng.permutation(len(found))]
        names = dict(zip(found, new, strict=True))
        tables = {
            kind: table.with_columns(pl.col(name).replace(names) for of, name in columns if of == kind)
            for kind, table in study.tables.items()
        }
        plan = study.plan
        if what == "criteria":
            plan = replace(plan, lower_is_better=frozenset(names.get(one, one) for one in plan.lower_is_better))
        roles = {names.get(name, name): role for name, role in study.reading.system_roles.items()}
        roles = {name: role and replace(role, system=name) for name, role in roles.items()}
        reading = study.reading if what != "systems" else replace(study.reading, system_roles=roles)
        former = {after: before for before, after in names.items()}
        return replace(study, tables=tables, plan=plan, reading=reading), former

    return change


def in_two_sessions(study: RandomStudy, rng: np.random.Generator) -> Changed:
    """Let people answer in two sessions: some items in each, of preferences about systems some pairs."""
    if any("assignment_id" in table.columns for table in study.tables.values()):  # forms of LLMs are units of theirs
        return study, {}
    tables = {}
    for kind, table in study.tables.items():
        about = ("item_id",) if "item_id" in table.columns else ("system_x", "system_y")  # both directions in one
        half = pl.sum_horizontal(pl.col(name).hash(1) % 2 for name in about) % 2
        session = pl.concat_str([half, "annotator_id"]) if "annotator_id" in table.columns else None
        tables[kind] = table if session is None else table.with_columns(assignment_id=session)
    return replace(study, tables=tables), {}


def sides_swapped(study: RandomStudy, rng: np.random.Generator) -> Changed:
    """Name the other system first in half of the choices."""
    if "choices" not in study.tables:
        return study, {}
    table = study.tables["choices"]
    turn, (x, y) = pl.Series(rng.random(table.height) < 0.5), (pl.col("system_x"), pl.col("system_y"))
    table = table.with_columns(
        system_x=pl.when(turn).then(y).otherwise(x),
        system_y=pl.when(turn).then(x).otherwise(y),
        winner=pl.when(turn).then(pl.col("winner").replace({"x": "y", "y": "x"})).otherwise("winner"),
    )
    return replace(study, tables={**study.tables, "choices": table}), {}


CHANGES: Mapping[str, Change] = {
    "shuffled": shuffled,
    "sorted": sorted_by_a_column,
    **{what: renamed(what) for what in COLUMNS},
    "sides_swapped": sides_swapped,
    "in_two_sessions": in_two_sessions,
}


def changed_figures(study: RandomStudy, change: str, seed: int) -> list[tuple[str, Any, Any]]:
    """Return which figures change: the path of each, and both values."""
    other, names = CHANGES[change](study, np.random.default_rng([seed, 5]))
    before, after = figures(study.analyse(), {}), figures(other.analyse(), names)
    if change == "sides_swapped":
        before, after = without_position(before), without_position(after)
    counted = ".groups.assignments" if change == "in_two_sessions" else None
    return [row for row in differing(before, after) if row[0] != counted]
