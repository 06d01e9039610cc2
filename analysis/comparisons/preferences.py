"""Preference probabilities: one number an annotator, pair and exposure, tested against chance."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from analysis.answers.order import Order
from analysis.answers.units import unit_name
from analysis.statistics.coding import Floats, Ints, code, fold, snap, split_by
from analysis.statistics.corrections import Verdict
from analysis.statistics.record import Record
from analysis.statistics.t_tests import TTest, one_sample
from analysis.strengths.rows import Judgements

CHANCE = 0.5
NOBODY = "no answers are left"
UNTESTED = {**dict.fromkeys(("ci_low", "ci_high", "t", "df", "p_value")), "n": 0, "reason": NOBODY}
CELL = ("annotator_id", "assignment_id", "variant", "sample")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceTest(Record):
    """Mean P(x preferred to y) of one group, criterion, exposure and pair, tested against 0.5."""

    group: str
    criterion: str
    exposure: int | None
    system_x: str
    system_y: str
    n: int
    mean: float | None
    sd: float | None
    ci_low: float | None
    ci_high: float | None
    t: float | None
    df: float | None
    p_value: float | None
    p_adjusted: float | None = None
    n_tests: int | None = None
    stars: str = ""
    verdict: Verdict | None = None
    p_equivalence: float | None = None
    p_equivalence_adjusted: float | None = None
    equivalent: bool | None = None
    d_z: float | None = None
    d_z_low: float | None = None
    d_z_high: float | None = None
    d_z_interval: str | None = None
    lopsided: bool = False
    reason: str | None = None

    @property
    def effect(self) -> float:
        """How far the mean lies from chance; positive speaks for x."""
        return 0.0 if self.mean is None else self.mean - CHANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionSummary(Record):
    """One direction as it was asked.

    ``n``, ``mean`` and ``sd`` are those of the annotators kept, ``n_before``, ``mean_before`` and ``sd_before``
    those of everybody, before exclusions. ``mean_sum`` is the mean of
    P(x > y) + P(y > x) over the ``n_symmetry`` annotators who answered both, before
    exclusions, and ``p_symmetry`` the p-value of the t-test that it is 1; ``mean_excess`` is that mean
    minus 1, with its t interval. ``mean_excess_selected`` is the same of those kept: a bound on the sum
    selects them by it, so it lies low by construction and is not tested.
    """

    group: str
    criterion: str
    exposure: int | None
    system_x: str
    system_y: str
    n: int
    mean: float | None
    sd: float | None
    mean_sum: float | None
    n_symmetry: int
    p_symmetry: float | None
    mean_excess: float | None = None
    excess_low: float | None = None
    excess_high: float | None = None
    n_selected: int = 0
    mean_excess_selected: float | None = None
    n_before: int = 0
    mean_before: float | None = None
    sd_before: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Directed:
    """Answers averaged to one number a unit and direction, before both directions are put together.

    ``test`` numbers (group, criterion, exposure, pair); ``forward`` says that the answer is
    about the pair in the direction in which it is listed. ``names`` identify the units in other tables.
    """

    test: Ints
    unit: Ints
    forward: np.ndarray[tuple[int], np.dtype[np.bool_]]
    value: Floats
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitPreferences:
    """One number a unit and test: P(x preferred to y) in the direction listed."""

    test: Ints
    unit: Ints
    value: Floats


class Comparisons:
    """Numbers every (group, criterion, exposure, pair) that was asked, in the order of the results."""

    def __init__(self, table: pl.DataFrame, order: Order) -> None:
        """Take the whole table, before exclusions."""
        self.order = order
        self.exposures = sorted({value for value in table["exposure"].to_list() if value is not None})
        places = {pair: place for place, pair in enumerate(order.pairs)}
        asked = table.select("group", "criterion", "exposure", "system_x", "system_y").unique(maintain_order=True)
        self.keys = sorted({self._key(row, places) for row in asked.iter_rows()})
        self._numbers = {key: number for number, key in enumerate(self.keys)}
        self._places = places
        turned = {
            2 * self._numbers[self._key(row, places)] + ((row[3], row[4]) not in places) for row in asked.iter_rows()
        }
        self.directions = sorted(turned)  # 2 · test, + 1 for the direction that is not listed

    def _key(self, row: tuple[str, str, int | None, str, str], places: dict[tuple[str, str], int]) -> tuple[int, ...]:
        group, criterion, exposure, x, y = row
        return (
            self.order.groups.index(group),
            self.order.criteria.index(criterion),
            -1 if exposure is None else self.exposures.index(exposure),
            places[(x, y)] if (x, y) in places else places[(y, x)],
        )

    def name(self, number: int) -> tuple[str, str, int | None, str, str]:
        """Return group, criterion, exposure, system_x and system_y of a test."""
        group, criterion, exposure, pair = self.keys[number]
        shown = None if exposure < 0 else self.exposures[exposure]
        return (self.order.groups[group], self.order.criteria[criterion], shown, *self.order.pairs[pair])

    def numbers(self, table: pl.DataFrame) -> tuple[Ints, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        """Return the test of every row, and whether the row asks in the direction listed."""
        columns = ["group", "criterion", "exposure", "system_x", "system_y"]
        kinds = table.select(columns).unique(maintain_order=True)
        rows = list(kinds.iter_rows())
        kinds = kinds.with_columns(
            pl.Series("test", [self._numbers[self._key(row, self._places)] for row in rows], dtype=pl.Int64),
            pl.Series("forward", [(row[3], row[4]) in self._places for row in rows], dtype=pl.Boolean),
        )
        joined = table.select(columns).join(kinds, on=columns, how="left", nulls_equal=True, maintain_order="left")
        return joined["test"].to_numpy(), joined["forward"].to_numpy()


def direct(table: pl.DataFrame, tests: Comparisons) -> Directed:
    """Average repeats within their cell, then cells within unit and direction.

    The unit is the annotator; of an LLM it is the assignment.
    """
    table = table.filter(pl.col("value").is_not_null())
    test, forward = tests.numbers(table)
    cell = [code(table[name]).of for name in CELL]
    of_unit = unit_numbers(table)
    unit = of_unit
    value = table["value"].to_numpy()
    cells = fold(test, forward.astype(np.int64), unit, *cell)
    averaged = cells.mean(value)
    test, forward, unit = test[cells.first], forward[cells.first], unit[cells.first]
    units = fold(test, forward.astype(np.int64), unit)
    return Directed(
        test=test[units.first],
        unit=unit[units.first],
        forward=forward[units.first],
        value=snap(units.mean(averaged), scale=1.0, digits=14),
        names=_names_of(table, of_unit),
    )


def unit_numbers(table: pl.DataFrame) -> Ints:
    """Give every row the number of its unit: the annotator, of an LLM the assignment and the variant."""
    annotator, assignment, variant = (code(table[name]).of for name in CELL[:3])
    llm = (table["annotator_kind"] == "llm").to_numpy()
    return fold(annotator, np.where(llm, assignment + 1, 0), np.where(llm, variant + 1, 0)).of


def _names_of(table: pl.DataFrame, unit: Ints) -> tuple[str, ...]:
    """Name every unit, in the order of its number."""
    first = fold(unit).first
    rows = table[first].select("annotator_id", "assignment_id", pl.col("annotator_kind") == "llm")
    return tuple(unit_name(str(who), (visit or "") if llm else None) for who, visit, llm in rows.iter_rows())


def combine(directed: Directed) -> UnitPreferences:
    """Put both directions together: the mean of P(x > y) and 1 - P(y > x), or whichever was asked."""
    both = fold(directed.test, directed.unit)
    value = np.where(directed.forward, directed.value, 1 - directed.value)
    return UnitPreferences(
        test=directed.test[both.first],
        unit=directed.unit[both.first],
        value=snap(both.mean(value), scale=1.0, digits=13),
    )


def compare_preferences(units: UnitPreferences, tests: Comparisons, *, confidence: float) -> list[PreferenceTest]:
    """Test for every pair whether the mean preference is 0.5 (two-sided one-sample t).

    Parameters
    ----------
    units : UnitPreferences
        One number an annotator (LLM: assignment), pair and exposure.
    tests : Comparisons
        All tests that the study asked for; one without answers left is null with a reason.
    confidence : float
        Level of the t interval of the mean.

    References
    ----------
    Ethayarajh, K. and Jurafsky, D. (2022). The Authenticity Gap in Human Evaluation. EMNLP, section 5.2.
    """
    rows = []
    for number, values in enumerate(split_by(units.test, units.value, len(tests.keys))):
        group, criterion, exposure, x, y = tests.name(number)
        result = one_sample(values, against=CHANCE, confidence=confidence) if len(values) else None
        rows.append(
            PreferenceTest(
                group=group,
                criterion=criterion,
                exposure=exposure,
                system_x=x,
                system_y=y,
                mean=result.mean if result else None,
                sd=result.sd if result else None,
                **(result.columns() if result else UNTESTED),
            )
        )
    return rows


def summarise_directions(
    everybody: Directed, kept: Directed, tests: Comparisons, *, confidence: float = 0.95
) -> list[DirectionSummary]:
    """Describe each direction as asked, and test whether the two directions add up to 1.

    Parameters
    ----------
    everybody : Directed
        All answers, before exclusions: the basis of ``n_before``, ``mean_sum`` and ``p_symmetry``.
    kept : Directed
        The answers that stay: the basis of ``n``, ``mean`` and ``sd``.
    tests : Comparisons
        The pairs and the direction in which they are listed.
    confidence : float
        Level of the interval of ``mean_excess``.
    """
    rows = []
    n_tests = len(tests.keys)
    values, before = (
        split_by(directed.test * 2 + ~directed.forward, directed.value, 2 * n_tests) for directed in (kept, everybody)
    )
    sums, selected = _sums(everybody, n_tests), _sums(kept, n_tests)
    for direction in tests.directions:
        group, criterion, exposure, x, y = tests.name(direction // 2)
        if direction % 2:
            x, y = y, x
        own, asked = values[direction], before[direction]
        both, left = sums[direction // 2], selected[direction // 2]
        summary, of_all = (
            one_sample(each, against=CHANCE, confidence=0.95) if len(each) else None for each in (own, asked)
        )
        symmetry = one_sample(both, against=1.0, confidence=confidence) if len(both) else None
        rows.append(
            DirectionSummary(
                group=group,
                criterion=criterion,
                exposure=exposure,
                system_x=x,
                system_y=y,
                n=len(own),
                mean=summary.mean if summary else None,
                sd=summary.sd if summary else None,
                mean_sum=symmetry.mean if symmetry else None,
                n_symmetry=len(both),
                p_symmetry=symmetry.p_value if symmetry else None,
                mean_excess=_less_one(symmetry.mean if symmetry else None),
                excess_low=_less_one(symmetry.ci_low if symmetry else None),
                excess_high=_less_one(symmetry.ci_high if symmetry else None),
                n_selected=len(left),
                mean_excess_selected=_less_one(math.fsum(left.tolist()) / len(left) if len(left) else None),
                n_before=len(asked),
                mean_before=of_all.mean if of_all else None,
                sd_before=of_all.sd if of_all else None,
                reason=_why_null(summary, symmetry),
            )
        )
    return rows


def _less_one(value: float | None) -> float | None:
    return None if value is None else value - 1


def _why_null(summary: TTest | None, symmetry: TTest | None) -> str | None:
    if summary is None:
        return NOBODY
    return symmetry.reason if symmetry else "nobody answered both directions"


def _sums(directed: Directed, n_tests: int) -> list[Floats]:
    both = fold(directed.test, directed.unit)
    count = np.bincount(both.of, minlength=len(both))
    total = np.bincount(both.of, weights=directed.value, minlength=len(both))
    complete = count == 2
    return split_by(directed.test[both.first][complete], snap(total[complete], scale=1.0, digits=13), n_tests)


def preference_judgements(
    units: UnitPreferences, tests: Comparisons, systems: Sequence[str], llms: Collection[str]
) -> Iterator[tuple[str, str, Judgements]]:
    """Yield group, criterion and their comparisons, exposures pooled: x wins P(x preferred to y), y the rest.

    Parameters
    ----------
    llms : collection of str
        Groups that are LLMs, whose unit is the assignment.
    """
    place = {system: number for number, system in enumerate(systems)}
    names = [tests.name(number) for number in range(len(tests.keys))]
    x = np.array([place[name[3]] for name in names], dtype=np.int64)
    y = np.array([place[name[4]] for name in names], dtype=np.int64)
    parts: dict[tuple[str, str], int] = {}
    part = np.array([parts.setdefault(name[:2], len(parts)) for name in names], dtype=np.int64)[units.test]
    for (group, criterion), number in parts.items():
        own = part == number
        if own.any():
            yield (
                group,
                criterion,
                Judgements(
                    x=x[units.test[own]],
                    y=y[units.test[own]],
                    won=units.value[own],
                    unit="assignment" if group in llms else "annotator",
                    of_unit=units.unit[own],
                    item=None,
                ),
            )
