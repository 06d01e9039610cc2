"""Pairwise choices: which of two outputs of one item is better."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.answers.equal_weights import (
    AnnotatorTotals,
    Answers,
    PairWeights,
    items_of_counts,
    weight_fields,
)
from analysis.answers.live_rows import LiveVerdict
from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.answers.units import Unit, UnitRule, UnitValues, average_by_unit, count_by, who_answers
from analysis.comparisons.unanimity import with_unanimity
from analysis.statistics.coding import Floats, Ints, code, fold
from analysis.statistics.corrections import Verdict
from analysis.statistics.reasons import Reason
from analysis.statistics.record import Count, Probability, Record, Share
from analysis.statistics.t_tests import one_sample, sign_test
from analysis.statistics.weighed_items import WeighedItems
from analysis.strengths.rows import Judgements

CHANCE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ChoiceTest(Record):
    """Share of choices that x won (a tie is half), averaged within the unit and tested against 0.5.

    Everybody weighs the same, also where the unit is the item because there are few annotators.
    """

    explained: ClassVar[tuple[str, ...]] = ("p_value", "p_adjusted", "verdict")

    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    system_x: str
    system_y: str
    unit: Unit
    unit_note: str | None = None
    n: Count
    """Units."""
    wins_x: Count
    wins_y: Count
    ties: Count
    win_rate: Share
    """Of x, a tie is half: mean over annotators (LLM: assignments); over items where the plan names them."""
    ci_low: float | None
    ci_high: float | None
    t: float | None = None
    df: float | None = None
    p_value: Probability | None
    p_adjusted: Probability | None = None
    """Adjusted within the family (settings.correction)."""
    n_tests: int | None = None
    """Size of the family: its tests that could be run; all its comparisons where some have p_unanimous."""
    p_binomial: Probability | None = None
    """Exact sign test over the untied choices."""
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
    highly_skewed: bool = False
    """The level of the t-test is in doubt: most values equal, or a few far out."""
    reason: Reason | None = None
    """Why a number is missing."""
    p_unanimous: Probability | None = None
    """Where all units are alike and no test can be run: at most this is the chance that all agree so if there were no
    difference, times the comparisons of the family; null: they differ, or sit at no difference."""
    all_alike: Count | None = None
    """Annotators (of an LLM: assignments) whose averages are the same; null where p_unanimous is."""
    p_crossed: Probability | None = None
    """The same question over annotators and items at once, both taken as drawn."""
    p_crossed_adjusted: Probability | None = None
    """Holm-adjusted over the crossed tests of the family."""
    crossed_df: float | None = None
    """Satterthwaite's degrees of freedom."""
    crossed_verdict: Verdict | None = None
    disagree: bool | None = None
    """Whether crossed_verdict differs from verdict; null where one is missing."""
    crossed_reason: Reason | None = None
    """Why there is no crossed test."""

    n_answers: Count | None = None
    """Choices between the two systems."""
    n_used: Count | None = None
    """Those of them that the test rests on."""
    most_of_one: Count | None = None
    """Those used that one annotator (LLM: assignment) gave, who gave most."""
    pooled_estimate: Share | None = None
    """win_rate with every answer alike, not every annotator (LLM: assignment); null where it is the same."""
    others_estimate: Share | None = None
    """win_rate without the annotator (LLM: assignment) who gave most; null where nobody else answered."""
    one_gave_most: bool = False
    """Whether one annotator (LLM: assignment) gave half of those used or more, and 1.5 times an equal share."""
    weights_reverse: bool = False
    """Whether the means over annotators and over answers lie on different sides of no difference: no winner."""
    probabilities: bool = False
    """The answers are preferences about items: win_rate is the mean chance given to x; wins are those above a half."""
    both_bad: Count | None = None
    """Ties in which both were called bad; null where no answer of the table says so."""

    @property
    def effect(self) -> float:
        """How far the win rate lies from chance; positive speaks for x."""
        return self.win_rate - CHANCE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChoiceCells:
    """Choices of one group and criterion, one value a cell: the share that x won (x before y in the order)."""

    group: str
    criterion: str
    llm: bool
    systems: tuple[str, ...]
    x: Ints
    y: Ints
    annotator: Ints
    assignment: Ints
    item: Ints
    value: Floats
    bad: npt.NDArray[np.bool_] | None = None  # ties of two that are bad

    @property
    def n_annotators(self) -> int:
        """How many annotators chose."""
        return len(np.unique(self.annotator))

    @property
    def votes(self) -> Unit:
        """Who has one vote: the annotator, or of few LLMs the assignment."""
        return who_answers(llm=self.llm, n_annotators=self.n_annotators)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChoiceTotals:
    """What the tests of one group and criterion need of its choices; a pair's number is x * n_systems + y.

    Attributes
    ----------
    n_annotators : int
        Annotators with a choice.
    annotators : array of int, shape (n_pairs,)
        How many chose between the two.
    outcomes : array of int, shape (n_pairs, 3)
        Cells that x lost, tied and won.
    bad : array of int, shape (n_pairs,), optional
        Ties of two that are bad; ``None`` where answers do not tell.
    averages : callable
        From the unit of every pair to the share that x won, averaged within the unit.
    people : callable
        Choices of a pair by annotator (of few LLMs: by assignment).
    items : callable
        Choices of a pair by item, everybody weighing the same.
    """

    group: str
    criterion: str
    llm: bool
    systems: tuple[str, ...]
    n_annotators: int
    annotators: Ints
    outcomes: Ints
    bad: Ints | None
    averages: Callable[[Sequence[Unit]], list[UnitValues | None]]
    people: Callable[[int], AnnotatorTotals]
    items: Callable[[int], WeighedItems]


def choice_cells(table: pl.DataFrame, order: Order) -> Iterator[ChoiceCells]:
    """Yield the answered cells of each group and criterion, repeats averaged, turned to the order of systems."""
    table = table.filter(pl.col("value").is_not_null())
    if table.is_empty():
        return
    group, criterion = code(table["group"], order.groups).of, code(table["criterion"], order.criteria).of
    x, y = code(table["system_x"], order.systems).of, code(table["system_y"], order.systems).of
    annotator = code(table["annotator_id"]).of
    assignment = fold(annotator, code(table["assignment_id"]).of).of
    item, variant = code(table["item_id"]).of, code(table["variant"]).of
    sample = fold(*(code(table[name]).of for name in ("sample", "sample_x", "sample_y"))).of
    llm = (table["annotator_kind"] == "llm").to_numpy()
    cells = fold(group, criterion, assignment, variant, item, sample, x, y)
    first = cells.first
    bad = None
    if "both_bad" in table.columns and table["both_bad"].any():
        said = table["both_bad"].fill_null(False).to_numpy().astype(np.float64)
        bad = cells.mean(said) == 1  # each time that it was asked
    turned = x[first] > y[first]
    share = cells.mean(table["value"].to_numpy())
    share = np.where(turned, 1 - share, share)
    ends = np.cumsum(np.bincount(fold(group[first], criterion[first]).of))
    for number, end in enumerate(ends.tolist()):
        rows = slice(ends[number - 1] if number else 0, end)  # folds are sorted by their columns
        own = first[rows]
        yield ChoiceCells(
            group=order.groups[group[own[0]]],
            criterion=order.criteria[criterion[own[0]]],
            llm=bool(llm[own[0]]),
            systems=order.systems,
            x=np.minimum(x[own], y[own]),
            y=np.maximum(x[own], y[own]),
            annotator=annotator[own],
            assignment=assignment[own],
            item=item[own],
            value=share[rows],
            bad=None if bad is None else bad[rows],
        )


def compare_choices(cells: ChoiceCells, plan: Plan) -> list[ChoiceTest]:
    """Test for every pair whether x wins as often as y.

    The share won is averaged within the unit and a one-sample t against 0.5 is taken over units. Where the unit is the
    item by default, each annotator weighs the same (:mod:`analysis.answers.equal_weights`). ``p_binomial`` is the
    exact two-sided sign test over the untied choices, which takes them as independent.
    """
    k = len(cells.systems)
    pair = cells.x * k + cells.y

    def averages(units: Sequence[Unit]) -> list[UnitValues | None]:
        columns = {"annotator": cells.annotator, "assignment": cells.assignment, "item": cells.item}
        return average_by_unit(pair, cells.value, **columns, units=units, scale=1.0)

    who = cells.assignment if cells.votes == "assignment" else cells.annotator
    weights = PairWeights(
        lambda: [Answers(pair=pair, value=cells.value, who=who, item=cells.item)],
        k * k,
        width={"who": int(who.max()) + 1, "item": int(cells.item.max()) + 1},
        scale=1.0,
    )
    outcomes = 1 + np.sign(cells.value - CHANCE).astype(np.int64)
    totals = ChoiceTotals(
        group=cells.group,
        criterion=cells.criterion,
        llm=cells.llm,
        systems=cells.systems,
        n_annotators=cells.n_annotators,
        annotators=count_by(pair, cells.annotator, k * k),
        outcomes=np.bincount(pair * 3 + outcomes, minlength=k * k * 3).reshape(k * k, 3).astype(np.int64),
        bad=None if cells.bad is None else np.bincount(pair[cells.bad], minlength=k * k),
        averages=averages,
        people=weights.people,
        items=weights.items,
    )
    return compare_choice_totals(totals, plan)


def compare_choice_totals(totals: ChoiceTotals, plan: Plan) -> list[ChoiceTest]:
    """Do what :func:`compare_choices` does, from the totals of one group and criterion."""
    k = len(totals.systems)
    rule = UnitRule(planned=plan.unit, llm=totals.llm)
    units = totals.averages([rule.choose(count) for count in totals.annotators.tolist()])
    rows = []
    for number, (unit, (losses, ties, wins)) in enumerate(zip(units, totals.outcomes.tolist(), strict=True)):
        if unit is None:
            continue
        people = totals.people(number)
        if rule.is_default(unit.unit):
            weighed = items_of_counts(unit.values, unit.counts) if people.even else totals.items(number)
            result = weighed.test(against=CHANCE, confidence=plan.confidence)
        else:
            result = one_sample(unit.values, against=CHANCE, confidence=plan.confidence)
        rows.append(
            ChoiceTest(
                group=totals.group,
                criterion=totals.criterion,
                system_x=totals.systems[number // k],
                system_y=totals.systems[number % k],
                unit=unit.unit,
                unit_note=unit.note,
                wins_x=wins,
                wins_y=losses,
                ties=ties,
                both_bad=None if totals.bad is None else int(totals.bad[number]),
                win_rate=result.mean,
                p_binomial=sign_test(wins, losses),
                n_answers=wins + ties + losses,
                **weight_fields(people, result.mean, against=CHANCE, scale=1.0),
                **result.columns(),
            )
        )
    return with_unanimity(rows, totals.systems, totals.averages, annotators=totals.annotators, llm=totals.llm)


def choice_judgements(cells: ChoiceCells) -> Judgements:
    """Return each cell as one comparison for Bradley-Terry; a tie is half for each."""
    return Judgements(
        x=cells.x,
        y=cells.y,
        won=cells.value,
        unit="assignment" if cells.llm else "annotator",
        of_unit=cells.assignment if cells.llm else cells.annotator,
        item=cells.item,
    )
