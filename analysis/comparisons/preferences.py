"""Preference probabilities: one number an annotator, pair and exposure, tested against chance."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from analysis.answers.live_rows import LiveVerdict
from analysis.answers.order import Order
from analysis.answers.units import unit_name
from analysis.comparisons.unanimity import alike
from analysis.statistics.coding import Floats, Ints, code, fold, snap, split_by
from analysis.statistics.corrections import Verdict
from analysis.statistics.effect_sizes import APPROXIMATE, NONCENTRAL, d_z_bounds
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Probability, Record, Share
from analysis.statistics.t_tests import one_sample
from analysis.strengths.strength_table import Judgements

CHANCE = 0.5
NOBODY = why("no_answers_left")
UNTESTED = {**dict.fromkeys(("mean", "sd", "ci_low", "ci_high", "t", "df", "p_value")), "n": 0, "reason": NOBODY}
CELL = ("annotator_id", "assignment_id", "variant", "sample")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PreferenceTest(Record):
    """Mean P(x preferred to y) of one group, criterion, exposure and pair, tested against 0.5."""

    explained: ClassVar[tuple[str, ...]] = ("p_value", "p_adjusted", "verdict")
    n_answers: ClassVar[None] = None  # as of the tests of ratings and choices: here each gave one number
    n_used: ClassVar[None] = None
    most_of_one: ClassVar[None] = None
    pooled_estimate: ClassVar[None] = None
    others_estimate: ClassVar[None] = None
    one_gave_most: ClassVar[bool] = False
    weights_reverse: ClassVar[bool] = False
    p_crossed: ClassVar[None] = None
    crossed_verdict: ClassVar[None] = None
    disagree: ClassVar[None] = None
    p_crossed_adjusted: ClassVar[None] = None

    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    exposure: int | None
    system_x: str
    system_y: str
    n: Count
    """Annotators; of an LLM, assignments."""
    mean: Share | None
    """Mean P(x preferred to y)."""
    sd: float | None
    ci_low: float | None
    ci_high: float | None
    t: float | None
    df: float | None
    p_value: Probability | None
    p_adjusted: Probability | None = None
    """Adjusted within the family (settings.correction)."""
    n_tests: int | None = None
    """Size of the family: its tests that could be run; all its comparisons where some have p_unanimous."""
    stars: Literal["", "*", "**", "***"] = ""
    """Adjusted p below .10, .05, .01."""
    verdict: Verdict | None = None
    """X: system_x is preferred; null where there is no test."""
    decision: LiveVerdict | None = None
    """Of a live study, which verdict follows while p_value does not hold; null in a study of fixed size."""
    p_equivalence: Probability | None = None
    """Larger p of the two one-sided tests against the declared margin; null: no margin, or no test."""
    p_equivalence_adjusted: Probability | None = None
    """Holm-adjusted, in a family of its own."""
    equivalent: bool | None = None
    """Within the declared margin."""
    d_z: float | None = None
    """(mean - 0.5) / sd."""
    d_z_low: float | None = None
    d_z_high: float | None = None
    d_z_interval: Literal["noncentral t", "normal approximation"] | None = None
    highly_skewed: bool = False
    """The level of the t-test is in doubt: most values equal, or a few far out."""
    reason: Reason | None = None
    """Why a number is missing."""
    p_unanimous: Probability | None = None
    """Where all units are alike and no test can be run: at most this is the chance that all agree so if there were no
    difference, times the comparisons of the family; null: they differ, or sit at no difference."""
    all_alike: Count | None = None
    """Annotators (of an LLM: assignments) whose averages are the same; null where p_unanimous is."""

    @property
    def estimate(self) -> float | None:
        """Return the mean."""
        return self.mean

    @property
    def effect(self) -> float:
        """How far the mean lies from chance; positive speaks for x."""
        return 0.0 if self.mean is None else self.mean - CHANCE


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
                **({"mean": result.mean, "sd": result.sd, **result.columns()} if result else UNTESTED),
                **(alike(values) if result else {}),
            )
        )
    return rows


def with_effect_sizes(rows: Sequence[PreferenceTest], *, confidence: float) -> list[PreferenceTest]:
    """Add Cohen's d_z against chance and its interval; where there is none the row's ``reason`` already says why."""
    known = [place for place, row in enumerate(rows) if row.mean is not None and row.sd]
    mean, sd, n = (np.array([getattr(rows[place], name) for place in known]) for name in ("mean", "sd", "n"))
    d_z = (mean.astype(np.float64) - CHANCE) / sd
    low, high, exact = d_z_bounds(d_z, n.astype(np.int64), confidence)
    done = list(rows)
    for at, place in enumerate(known):
        done[place] = replace(
            rows[place],
            d_z=float(d_z[at]),
            d_z_low=float(low[at]),
            d_z_high=float(high[at]),
            d_z_interval=NONCENTRAL if exact[at] else APPROXIMATE,
        )
    return done


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
