"""Pairwise choices: which of two outputs of one item is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from analysis.answers.equal_weights import items_of_counts, weight_fields
from analysis.answers.live_rows import LiveVerdict
from analysis.answers.plan import Plan
from analysis.answers.units import Unit, UnitRule, UnitValues, averages_of_sums
from analysis.comparisons.chosen_parts import ChosenPart
from analysis.comparisons.unanimity import with_unanimity
from analysis.statistics.corrections import Verdict
from analysis.statistics.reasons import Reason
from analysis.statistics.record import Count, Probability, Record, Share
from analysis.statistics.t_tests import one_sample, sign_test
from analysis.sums.criterion_sums import PAIR, items_of_pair, people_of_pair, rows_of_units
from analysis.sums.grid import UNITS

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
    def estimate(self) -> float:
        """Return the win rate of x."""
        return self.win_rate

    @property
    def effect(self) -> float:
        """How far the win rate lies from chance; positive speaks for x."""
        return self.win_rate - CHANCE


def compare_choices(chosen: ChosenPart, plan: Plan) -> list[ChoiceTest]:
    """Test for every pair whether x wins as often as y.

    The share won is averaged within the unit and a one-sample t against 0.5 is taken over units. Where the unit is the
    item by default, each annotator weighs the same (:mod:`analysis.answers.equal_weights`). ``p_binomial`` is the
    exact two-sided sign test over the untied choices, which takes them as independent. Above 300 systems, pairs that
    were compared once are left out: they have no test.
    """
    part, pairs = chosen.tested, chosen.listed
    k, overall = len(part.systems), part.pairs["overall"]
    annotators = np.bincount(part.pairs["annotator"][PAIR], minlength=len(pairs)).astype(np.int64)
    equal, bad = chosen.equal_pairs, chosen.both_bad

    def averages(units: Sequence[Unit]) -> list[UnitValues | None]:
        rows = rows_of_units(part.pairs, np.array([UNITS.index(unit) for unit in units], dtype=np.int64))
        return averages_of_sums(units, rows[PAIR], rows["n"], rows["total"], scale=1.0)

    rule = UnitRule(planned=plan.unit, llm=part.llm)
    units = averages([rule.choose(count) for count in annotators.tolist()])
    counts = zip(*(overall[name].tolist() for name in ("n", "tied", "above")), strict=True)
    rows = []
    for number, (unit, (n, ties, wins)) in enumerate(zip(units, counts, strict=True)):
        assert unit is not None  # each of these pairs was compared
        people, losses = people_of_pair(equal, number), n - ties - wins
        if rule.is_default(unit.unit):
            even = people.even
            weighed = items_of_counts(unit.values, unit.counts) if even else items_of_pair(equal, number, scale=1.0)
            result = weighed.test(against=CHANCE, confidence=plan.confidence)
        else:
            result = one_sample(unit.values, against=CHANCE, confidence=plan.confidence)
        rows.append(
            ChoiceTest(
                group=part.group,
                criterion=part.criterion,
                system_x=part.systems[pairs[number] // k],
                system_y=part.systems[pairs[number] % k],
                unit=unit.unit,
                unit_note=unit.note,
                wins_x=wins,
                wins_y=losses,
                ties=ties,
                both_bad=None if bad is None else int(bad[number]),
                win_rate=result.mean,
                p_binomial=sign_test(wins, losses),
                n_answers=n,
                **weight_fields(people, result.mean, against=CHANCE, scale=1.0),
                **result.columns(),
            )
        )
    return with_unanimity(rows, part.systems, averages, annotators=annotators, llm=part.llm, pairs=pairs)
