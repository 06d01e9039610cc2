"""Utilities of standard gambles within annotators, and how many annotators find one system better by a stated size.

An annotator's utility of an output lies between the last chance at which the output was preferred for sure and the
first at which the gamble was; its middle stands for it. Utilities of one annotator have the references as their ends,
which another annotator may find further apart, so that nothing is averaged over annotators unless the study says that
they share these ends (Boutilier 2003, extremum equivalence).

Boutilier, C. (2003). On the foundations of expected expected utility. IJCAI, 285-290.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import ClassVar, Literal, TypeAlias

import polars as pl

from analysis.answers.gamble_tables import MULTIPLE, REVERSED, asked_once
from analysis.answers.plan import Pair, Plan
from analysis.statistics.reasons import Reason
from analysis.statistics.record import Coefficient, Count, Positive, Record, Share
from analysis.statistics.t_tests import ONE_UNIT, exact_mean, sign_test, t_bound
from analysis.statistics.wilson import wilson

DIFFERENCE = 0.1  # of two utilities, above which annotators are counted, where no study says another
CLOSE = 1e-9  # a difference this little above a size is equal to it
Clustered = Literal["annotator", "assignment"]
CheckName = Literal["second_anchor", "again"]
Unit: TypeAlias = tuple[str, str | None]  # an annotator; of an LLM with the assignment
Output: TypeAlias = tuple[str, str | None]  # item and sample
Three: TypeAlias = tuple[float, float, float]  # a utility with the chances below and above it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Utility(Record):
    """How good one annotator finds one system: 0 as the worst reference, 1 as the best; a mean over its outputs."""

    group: str
    criterion: str
    annotator_id: str
    assignment_id: str | None
    """Of an LLM, whose assignments count one by one."""
    system: str
    n: Positive
    """Outputs."""
    utility: Share
    """By the middle of each output's two chances."""
    lower: Share
    upper: Share
    """By the lower and by the upper chances."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class UtilityShare(Record):
    """How many annotators find one of two systems better by more than ``difference``, on the items of both."""

    group: str
    criterion: str
    system_x: str
    system_y: str
    difference: Share
    unit: Clustered
    n: Positive
    """Annotators (of an LLM: assignments) with a utility of both systems on one item."""
    n_x: Count
    n_y: Count
    """Those whose utility of x, or of y, is higher by more than the difference."""
    share_x: Share
    x_ci_low: Share
    x_ci_high: Share
    """From Wilson's bound of those of whom it is certain to that of those of whom it is possible, since each utility
    may lie anywhere between two chances."""
    x_middle_low: Share
    x_middle_high: Share
    """Wilson's interval of the share itself, as if utilities were the middles: too narrow where many differences are
    near the size."""
    share_y: Share
    y_ci_low: Share
    y_ci_high: Share
    y_middle_low: Share
    y_middle_high: Share
    n_certain_x: Count
    n_certain_y: Count
    """Of them, those of whom it holds wherever between their chances the utilities lie."""
    n_possible_x: Count
    n_possible_y: Count
    """Those of whom it may hold."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class UtilityDifference(Record):
    """How much better one annotator finds one of two systems, with what the chances leave open."""

    group: str
    criterion: str
    system_x: str
    system_y: str
    annotator_id: str
    assignment_id: str | None
    n: Positive
    """Items."""
    value: Coefficient
    lower: Coefficient
    upper: Coefficient


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class UtilityMean(Record):
    """A mean over annotators, where the study says that they share both ends; ``system_y``: of a difference."""

    explained: ClassVar[tuple[str, ...]] = ("ci_low", "ci_high")
    group: str
    criterion: str
    system_x: str
    system_y: str | None
    n: Positive
    """Annotators (of an LLM: assignments)."""
    mean: Coefficient
    ci_low: float | None
    ci_high: float | None
    """By t over them."""
    reason: Reason | None = None
    """Why there is no interval."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class UtilityLists(Record):
    """How the choice lists of one group were answered, all of them together."""

    group: str
    criterion: str
    n: Positive
    n_switched: Count
    """Once, from the output to the gamble."""
    n_all_sure: Count
    n_all_gamble: Count
    n_multiple: Count
    """More than once: they have no utility."""
    n_reversed: Count
    """From the gamble to the output: likewise."""
    n_missing: Count


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class UtilityCheck(Record):
    """Whether a utility is the same by a second list; each by its two chances."""

    group: str
    criterion: str
    check: CheckName
    """With an output as the worst of the gamble (independence), or the same list asked again."""
    n: Positive
    """Lists that can be compared with a first one."""
    n_alike: Count
    """Those whose chances leave room for one utility."""
    n_higher: Count
    n_lower: Count
    """Those by which the utility is higher, or lower, than by the first list."""
    n_silent: Count
    """Of those alike, how many never prefer the output to a gamble with the second anchor, and so say little."""
    n_annotators: Positive
    """Or, of an LLM, assignments."""
    annotators_higher: Count
    annotators_lower: Count
    """Those whose lists give a higher, or lower, utility more often than not."""
    p_value: Share | None
    """Sign test over them; null where none departs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityRows:
    """All rows."""

    utilities: Sequence[Utility] = ()
    shares: Sequence[UtilityShare] = ()
    differences: Sequence[UtilityDifference] = ()
    means: Sequence[UtilityMean] = ()
    lists: Sequence[UtilityLists] = ()
    checks: Sequence[UtilityCheck] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own:
    """The utilities of one annotator: system -> output -> utility."""

    of: dict[str, dict[Output, Three]] = field(default_factory=dict)

    def of_system(self, system: str) -> Three:
        """Return the mean over the outputs of a system."""
        return _mean([*self.of[system].values()])

    def difference(self, x: str, y: str) -> tuple[Three, int] | None:
        """Return the mean difference over items with outputs of both, and their number."""
        of_x, of_y = (_by_item(self.of.get(system, {})) for system in (x, y))
        both = [(of_x[item], of_y[item]) for item in of_x if item in of_y]
        if not both:
            return None
        return _mean([(a[0] - b[0], a[1] - b[2], a[2] - b[1]) for a, b in both]), len(both)


def utility_rows(
    gambles: pl.DataFrame, groups: Sequence[str], systems: Sequence[str], plan: Plan, *, size: float, shared: bool
) -> UtilityRows:
    """Compute all rows.

    Parameters
    ----------
    gambles : DataFrame
        Checked table of standard gambles after exclusions.
    groups, systems : sequence of str
        In the order of the results.
    plan : Plan
        Level of intervals, and which pairs are compared.
    size : float
        Difference of two utilities above which annotators are counted.
    shared : bool
        Whether means over annotators are allowed.
    """
    found: dict[str, list[Record]] = {name: [] for name in UtilityRows.__dataclass_fields__}
    gambles = gambles.with_columns(pl.col(pl.Categorical).cast(pl.String))
    for group in groups:
        for criterion in gambles["criterion"].unique(maintain_order=True).to_list():
            rows = gambles.filter(pl.col("group") == group, pl.col("criterion") == criterion)
            if rows.is_empty():
                continue
            llm = bool((rows["annotator_kind"] == "llm").all())
            one = _OneGroup(group, criterion, "assignment" if llm else "annotator", plan, size)
            annotators = one.annotators(rows)
            there = [name for name in systems if any(name in own.of for own in annotators.values())]
            differences = [row for pair in _pairs(there, plan) for row in one.differences(annotators, pair)]
            found["utilities"] += one.utilities(annotators, there)
            found["differences"] += differences
            found["shares"] += one.shares(differences)
            if shared:
                found["means"] += one.means(annotators, there, differences)
            found["lists"].append(one.lists(rows))
            found["checks"] += one.checks(rows, annotators)
    return UtilityRows(**{name: tuple(own) for name, own in found.items()})  # type: ignore[arg-type]


def _pairs(systems: Sequence[str], plan: Plan) -> list[Pair]:
    """Return the pairs compared: those of the plan, in their direction, else all."""
    there = {*systems}
    return [pair for pair in plan.pairs if {*pair} <= there] if plan.pairs else [*combinations(systems, 2)]


@dataclass(frozen=True, slots=True)
class _OneGroup:
    group: str
    criterion: str
    unit: Clustered
    plan: Plan
    size: float

    @property
    def place(self) -> dict[str, str]:
        return {"group": self.group, "criterion": self.criterion}

    def unit_of(self, row: Mapping[str, str | None]) -> Unit:
        own = row["annotator_id"] or ""
        return (own, row["assignment_id"]) if self.unit == "assignment" else (own, None)

    def annotators(self, rows: pl.DataFrame) -> dict[Unit, _Own]:
        """Gather the utilities of each annotator; of an output judged several times the mean."""
        given: dict[tuple[Unit, str, Output], list[Three]] = {}
        for row in asked_once(rows).iter_rows(named=True):
            place = self.unit_of(row), row["system"], (row["item_id"], row["sample"])
            given.setdefault(place, []).append((row["value"], row["lower"], row["upper"]))
        made: dict[Unit, _Own] = {}
        for (unit, system, output), values in sorted(given.items(), key=lambda one: _text(one[0])):
            made.setdefault(unit, _Own()).of.setdefault(system, {})[output] = _mean(values)
        return made

    def utilities(self, annotators: Mapping[Unit, _Own], systems: Sequence[str]) -> Iterator[Utility]:
        for (annotator, assignment), own in annotators.items():
            for system in (name for name in systems if name in own.of):
                value, lower, upper = own.of_system(system)
                yield Utility(
                    **self.place,
                    annotator_id=annotator,
                    assignment_id=assignment,
                    system=system,
                    n=len(own.of[system]),
                    utility=value,
                    lower=lower,
                    upper=upper,
                )

    def differences(self, annotators: Mapping[Unit, _Own], pair: Pair) -> Iterator[UtilityDifference]:
        for (annotator, assignment), own in annotators.items():
            found = own.difference(*pair)
            if found is not None:
                (value, lower, upper), n = found
                yield UtilityDifference(
                    **self.place,
                    system_x=pair[0],
                    system_y=pair[1],
                    annotator_id=annotator,
                    assignment_id=assignment,
                    n=n,
                    value=value,
                    lower=lower,
                    upper=upper,
                )

    def shares(self, differences: Sequence[UtilityDifference]) -> Iterator[UtilityShare]:
        for (x, y), own in _by_pair(differences).items():
            n, above, level = len(own), self.size + CLOSE, self.plan.confidence
            n_x, n_y = (sum(sign * row.value > above for row in own) for sign in (1, -1))
            certain = sum(row.lower > above for row in own), sum(-row.upper > above for row in own)
            possible = sum(row.upper > above for row in own), sum(-row.lower > above for row in own)
            (x_low, x_high), (y_low, y_high) = (wilson(number, n, level) for number in (n_x, n_y))
            yield UtilityShare(
                **self.place,
                system_x=x,
                system_y=y,
                difference=self.size,
                unit=self.unit,
                n=n,
                n_x=n_x,
                n_y=n_y,
                share_x=n_x / n,
                x_ci_low=wilson(certain[0], n, level)[0],
                x_ci_high=wilson(possible[0], n, level)[1],
                x_middle_low=x_low,
                x_middle_high=x_high,
                share_y=n_y / n,
                y_ci_low=wilson(certain[1], n, level)[0],
                y_ci_high=wilson(possible[1], n, level)[1],
                y_middle_low=y_low,
                y_middle_high=y_high,
                n_certain_x=certain[0],
                n_certain_y=certain[1],
                n_possible_x=possible[0],
                n_possible_y=possible[1],
            )

    def means(
        self, annotators: Mapping[Unit, _Own], systems: Sequence[str], differences: Sequence[UtilityDifference]
    ) -> Iterator[UtilityMean]:
        for system in systems:
            yield self.mean([own.of_system(system)[0] for own in annotators.values() if system in own.of], system)
        for (x, y), rows in _by_pair(differences).items():
            yield self.mean([row.value for row in rows], x, y)

    def mean(self, values: list[float], x: str, y: str | None = None) -> UtilityMean:
        n, mean = len(values), exact_mean(values)
        half = None
        if n > 1:
            spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
            half = t_bound(n - 1, self.plan.confidence) * spread
        return UtilityMean(
            **self.place,
            system_x=x,
            system_y=y,
            n=n,
            mean=mean,
            ci_low=None if half is None else mean - half,
            ci_high=None if half is None else mean + half,
            reason=ONE_UNIT if half is None else None,
        )

    def lists(self, rows: pl.DataFrame) -> UtilityLists:
        """Count how the lists were answered."""
        known = rows.filter(pl.col("value").is_not_null())
        reasons = rows["missing_reason"].to_list()
        n_gamble, n_sure = int((known["lower"] == 0).sum()), int((known["upper"] == 1).sum())
        n_multiple, n_reversed = reasons.count(MULTIPLE), reasons.count(REVERSED)
        return UtilityLists(
            **self.place,
            n=rows.height,
            n_switched=known.height - n_gamble - n_sure,
            n_all_sure=n_sure,
            n_all_gamble=n_gamble,
            n_multiple=n_multiple,
            n_reversed=n_reversed,
            n_missing=rows.height - known.height - n_multiple - n_reversed,
        )

    def checks(self, rows: pl.DataFrame, annotators: Mapping[Unit, _Own]) -> Iterator[UtilityCheck]:
        """Compare second lists with first ones of the same annotator and output."""
        signs: dict[CheckName, dict[Unit, list[int]]] = {"second_anchor": {}, "again": {}}
        silent = 0
        for row in rows.filter(pl.col("value").is_not_null()).iter_rows(named=True):
            check: CheckName = "again" if row["anchor"] is None else "second_anchor"
            if check == "again" and not row["again"]:
                continue
            unit = self.unit_of(row)
            own = annotators.get(unit, _Own()).of
            output = row["item_id"], row["sample"]
            first = own.get(row["system"], {}).get(output)
            second: Three | None = (row["value"], row["lower"], row["upper"])
            if row["anchor"] is not None and second is not None:
                anchor = _by_item(own.get(row["anchor"], {})).get(row["item_id"])
                second = None if anchor is None else chained(anchor, second)
            if first is None or second is None:
                continue
            sign = (second[1] > first[2] - CLOSE) - (second[2] < first[1] + CLOSE)
            signs[check].setdefault(unit, []).append(sign)
            silent += check == "second_anchor" and sign == 0 and row["lower"] == 0
        for check, by_unit in signs.items():
            given = [sign for own_signs in by_unit.values() for sign in own_signs]
            if given:
                totals = [sum(own_signs) for own_signs in by_unit.values()]
                higher, lower = sum(total > 0 for total in totals), sum(total < 0 for total in totals)
                yield UtilityCheck(
                    **self.place,
                    check=check,
                    n=len(given),
                    n_alike=given.count(0),
                    n_higher=given.count(1),
                    n_lower=given.count(-1),
                    n_silent=silent if check == "second_anchor" else 0,
                    n_annotators=len(by_unit),
                    annotators_higher=higher,
                    annotators_lower=lower,
                    p_value=sign_test(higher, lower),
                )


def chained(anchor: Three, conditional: Three) -> Three:
    """Return the utility between the two references that a list with a second anchor gives.

    Between the anchor z and the best reference an output is worth v, so between the references z + (1 - z) v, if the
    preference for a gamble does not depend on what else it holds (independence). Whoever never prefers the output may
    find it worse than the anchor.

    >>> [round(value, 3) for value in chained((0.2, 0.2, 0.2), (0.5, 0.4, 0.6))]
    [0.6, 0.52, 0.68]
    >>> chained((0.5, 0.35, 0.65), (0.025, 0.0, 0.05))[1]
    0.0
    """
    value, lower, upper = (z + (1 - z) * v for z, v in zip(anchor, conditional, strict=True))
    return value, lower if conditional[1] > 0 else 0.0, upper


def _by_item(outputs: Mapping[Output, Three]) -> dict[str, Three]:
    found: dict[str, list[Three]] = {}
    for (item, _), value in outputs.items():
        found.setdefault(item, []).append(value)
    return {item: _mean(values) for item, values in found.items()}


def _by_pair(differences: Sequence[UtilityDifference]) -> dict[Pair, list[UtilityDifference]]:
    found: dict[Pair, list[UtilityDifference]] = {}
    for row in differences:
        found.setdefault((row.system_x, row.system_y), []).append(row)
    return found


def _mean(values: Sequence[Three]) -> Three:
    value, lower, upper = (exact_mean([*own]) for own in zip(*values, strict=True))
    return value, lower, upper


def _text(place: tuple[Unit, str, Output]) -> list[str]:
    (annotator, assignment), system, (item, sample) = place
    return [annotator, assignment or "", system, item, sample or ""]
