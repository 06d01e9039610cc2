"""Some buckets of the exchange with all that some annotators answered: who leaves, and preferences as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.answers.columns import LAYOUTS
from analysis.answers.exclusions import CONSISTENCY, Exclusion, apply_exclusions, find_exclusions
from analysis.answers.plan import Plan
from analysis.answers.tables import AnswerTables
from analysis.comparisons.preferences import Comparisons, Directed, direct, unit_numbers
from analysis.parts.buckets import BucketRange, Doubled, places_of
from analysis.preference_checks.filtering import failing_bounds
from analysis.statistics.coding import Floats, Ints, fold

Flags: TypeAlias = npt.NDArray[np.bool_]
Short: TypeAlias = npt.NDArray[np.int32]
REPEATS = ("assignment_id", "variant", "sample", "repeat")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreferenceTask:
    """What a worker needs to look through buckets of preferences; ``beside`` are the tables of who leaves."""

    buckets: BucketRange
    tests: Comparisons
    plan: Plan
    taus: Sequence[Decimal | None]
    beside: AnswerTables


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreferenceUnits:
    """Answers by unit and direction, 17 bytes each, and what is known of each unit.

    Somebody of whom only some assignments leave is two units: one with all answers, one with those left.

    Attributes
    ----------
    test, forward, value, unit : array, shape (n_answers,)
        As in :class:`analysis.comparisons.preferences.Directed`.
    everybody, base, kept : array of bool, shape (n_units,)
        Whether the unit belongs to all answers, to those that no rule but self-consistency excludes, and to those left.
    failing : array of int, shape (n_units,)
        How many bounds the largest sum of the unit exceeds.
    names : Series of str, shape (n_units,)
    """

    test: Short
    forward: Flags
    value: Floats
    unit: Short
    everybody: Flags
    base: Flags
    kept: Flags
    failing: Short
    names: pl.Series


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreferencesFound:
    """Who leaves by which rule, and the units; or the cells that are answered twice.

    Attributes
    ----------
    task : int
        The first bucket.
    exclusions : list of ((int, int), Exclusion)
        Each with the part and row in which the annotator first appears.
    left : list of (str, str)
        Group and annotator_id of all whom an exclusion names.
    checked : set of str
        Groups with somebody who was asked in both directions.
    repeating : set of str
        Groups in which somebody answered the same in several samples, repeats, variants or assignments.
    """

    task: int
    doubled: Doubled | None = None
    exclusions: Sequence[tuple[tuple[int, int], Exclusion]] = ()
    left: Sequence[tuple[str, str]] = ()
    checked: frozenset[str] = frozenset()
    repeating: frozenset[str] = frozenset()
    units: PreferenceUnits | None = None


def look_through(task: PreferenceTask) -> PreferencesFound:
    """Apply the rules to all that annotators answered; O(rows log rows) time, memory by the rows."""
    rows = task.buckets.rows().sort("bucket", "annotator", "part", "row").drop("bucket", "annotator")
    answered = rows.filter(pl.col("value").is_not_null())
    cell = [*LAYOUTS["preferences"].cell, "repeat"]
    twice = answered.filter(answered.select(cell).is_duplicated())
    if twice.height:
        return PreferencesFound(task=task.buckets.first, doubled=places_of(twice, *cell))
    beside = {name: table for name in ("annotators", "exclusions") if (table := getattr(task.beside, name)) is not None}
    own = {name: table.join(rows, on="annotator_id", how="semi") for name, table in beside.items()}
    exclusions = find_exclusions(AnswerTables(preferences=rows, **own), task.plan)
    who = [row.annotator_id for row in exclusions]
    own_rows = rows.filter(pl.col("annotator_id").is_in(who))
    first = own_rows.unique("annotator_id", keep="first", maintain_order=True)
    place = {name: (part, row) for name, part, row in first.select("annotator_id", "part", "row").iter_rows()}
    left = own_rows.select("group", "annotator_id").unique()
    units, checked = _units(rows, exclusions, task)
    several = answered.group_by("group", "annotator_id").agg(pl.struct(REPEATS).n_unique() > 1)
    return PreferencesFound(
        task=task.buckets.first,
        exclusions=[(place[row.annotator_id], row) for row in exclusions],
        left=left.rows(),
        checked=frozenset(checked),
        repeating=frozenset(several.filter(REPEATS[0])["group"].to_list()),
        units=units,
    )


def _units(
    rows: pl.DataFrame, exclusions: Sequence[Exclusion], task: PreferenceTask
) -> tuple[PreferenceUnits, set[str]]:
    """Average answers by unit and direction, and say to what each unit belongs."""
    rows = rows.with_columns(place=pl.int_range(pl.len(), dtype=pl.Int64))
    others = [row for row in exclusions if row.rule != CONSISTENCY]
    answered, base, kept = (
        apply_exclusions(rows, gone).filter(pl.col("value").is_not_null()) for gone in ((), others, exclusions)
    )
    whole = direct(answered, task.tests)
    unit, n = unit_numbers(answered), len(whole.names)
    of_row = np.zeros(rows.height, dtype=np.int64)
    of_row[answered["place"].to_numpy()] = unit
    counts = [np.bincount(of_row[frame["place"].to_numpy()], minlength=n) for frame in (answered, base, kept)]
    partial = np.flatnonzero((counts[1] > 0) & (counts[1] < counts[0]))
    of_base = of_row[base["place"].to_numpy()]
    of_unit = of_base[fold(unit_numbers(base)).first] if base.height else of_base
    failing_base, checked = failing_bounds(base, task.taus)
    failing = np.zeros(n, dtype=np.int64)
    failing[of_unit] = failing_base
    directed = [whole]
    if len(partial):
        left = direct(base, task.tests)
        again = np.full(n, -1)
        again[partial] = n + np.arange(len(partial))
        directed.append(_of_units(left, again[of_unit[left.unit]]))
    nobody = np.zeros(len(partial), dtype=np.bool_)
    some = np.ones(len(partial), dtype=np.bool_)
    names = pl.Series("name", whole.names, dtype=pl.String)
    found = PreferenceUnits(
        test=np.concatenate([one.test for one in directed]).astype(np.int32),
        forward=np.concatenate([one.forward for one in directed]),
        value=np.concatenate([one.value for one in directed]),
        unit=np.concatenate([one.unit for one in directed]).astype(np.int32),
        everybody=np.concatenate([np.ones(n, dtype=np.bool_), nobody]),
        base=np.concatenate([(counts[1] == counts[0]), some]),
        kept=np.concatenate([(counts[2] == counts[0]), counts[2][partial] > 0]),
        failing=np.concatenate([failing, failing[partial]]).astype(np.int32),
        names=pl.concat([names, names.gather(partial)]),
    )
    return found, checked


def _of_units(directed: Directed, unit: Ints) -> Directed:
    """Return the answers with other numbers of their units, without those that have none."""
    own = unit >= 0
    return Directed(test=directed.test[own], unit=unit[own], forward=directed.forward[own], value=directed.value[own])
