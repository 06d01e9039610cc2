"""The rows of results.json that say how far a difference of ratings or choices holds when tested otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Annotated, Any, ClassVar

from annotated_types import Ge

from analysis.answers.plan import Plan
from analysis.comparisons.choices import CHANCE, ChoiceTest
from analysis.comparisons.ratings import RatingTest
from analysis.rating_checks.effect_sizes import known_number
from analysis.rating_checks.many_tests import ManyTests
from analysis.rating_checks.pair_effects import Effects
from analysis.rating_checks.part import METHODS, Method, PartChecks
from analysis.rating_checks.respacing import Holds, Respacing
from analysis.statistics.coding import Floats
from analysis.statistics.corrections import OUTSIDE_FAMILY, Verdict, adjust, members_by_family
from analysis.statistics.effect_sizes import APPROXIMATE, NONCENTRAL
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Probability, Record, Share, replace_fields

SINGLE = why("needs_single_answers")
AtLeastOne = Annotated[float, Ge(1)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RobustnessRow(Record):
    """One pair tested in another way.

    ``system_x`` and ``system_y`` are null where no pair of the group and criterion could be, all for one reason.
    """

    explained: ClassVar[tuple[str, ...]] = ("p_value", "p_adjusted", "verdict")
    group: str
    criterion: str
    system_x: str | None
    system_y: str | None
    method: Method
    n: Count | None
    """Wilcoxon and z_scores: units; ordinal: clusters; crossed: differences."""
    estimate: float | None
    """Wilcoxon: rank-biserial correlation; z_scores: mean difference in standard deviations of the annotator;
    ordinal: log-odds ratio of higher ratings; crossed: mean difference. Positive: x is rated higher."""
    p_value: Probability | None
    p_adjusted: Probability | None = None
    """Holm over one method, group and criterion."""
    verdict: Verdict | None = None
    agrees: bool | None = None
    """With the verdict of ratings.pairs."""
    left_out: Count | None = None
    """Z_scores: annotators of this pair whose scores are all the same."""
    reason: Reason | None
    """Why there is no test."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RespacingRow(Record):
    """How far the order of two mean ratings depends on the steps of the scale being equally far apart."""

    group: str
    criterion: str
    system_x: str
    system_y: str
    holds: Holds | None
    """Whether x's mean is above y's on every, no or some spacing of the scale; null where both were rated alike."""
    ratio: AtLeastOne | None
    """Where it depends: the order shown is kept while no step of the scale is worth more than this many times
    another."""
    share: Share | None
    """Share of all spacings, uniform, on which x's mean is above y's."""
    levels: tuple[float, ...] = ()
    """The scale that the example is about."""
    example: tuple[float, ...]
    """Values of its levels that reverse the order; empty where nothing does or the scale has more than 11 levels."""
    rounding: bool | None = None
    """Whether the means differ by less than one step, so that what rounding hides could reverse the order; null
    where ratings are not whole numbers."""
    reason: Reason | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OtherTests:
    """Collects the checks of ratings and choices part by part, and makes their rows when verdicts are there."""

    plan: Plan
    ratings: list[PartChecks] = field(default_factory=list)
    choices: list[ManyTests] = field(default_factory=list)

    def rating_rows(
        self, tests: Sequence[RatingTest]
    ) -> tuple[list[RatingTest], list[RobustnessRow], list[RespacingRow]]:
        """Add effect sizes and the crossed test to the tests of ratings, and list the other checks.

        Parameters
        ----------
        tests : sequence of RatingTest
            All tests with their verdicts, part after part.

        Returns
        -------
        tuple of list
            The tests, the checks method by method, and what another spacing of the scale would change.
        """
        parts = self.ratings
        effects = [_effect_sizes(part.effects, place) for part in parts for place in range(len(part.respacing))]
        pairs = [replace_fields(test, **sizes) for test, sizes in zip(tests, effects, strict=True)]
        robustness: list[RobustnessRow] = []
        for method in METHODS:
            found = _correct(method, [part.methods[method] for part in parts], tests, self.plan)
            if method == "crossed":
                df = _numbers([part.methods[method].df for part in parts])
                fields = map(_crossed_fields, found, df)
                pairs = [replace_fields(test, **crossed) for test, crossed in zip(pairs, fields, strict=True)]
            if method == "z_scores":
                left_out = (count for part in parts for count in part.left_out.tolist())
                found = [replace_fields(row, left_out=count) for row, count in zip(found, left_out, strict=True)]
            rows = iter(found)
            for part in parts:
                robustness += _shorten(list(islice(rows, len(part.respacing))))
        spacings = (spacing for part in parts for spacing in part.respacing)
        respacing = [
            RespacingRow(**_names(test), **{name: getattr(spacing, name) for name in Respacing.__slots__})
            for test, spacing in zip(tests, spacings, strict=True)
        ]
        return pairs, robustness, respacing

    def choice_rows(self, tests: Sequence[ChoiceTest]) -> list[ChoiceTest]:
        """Add the crossed test to the tests of choices."""
        found = _correct("crossed", self.choices, tests, self.plan, against=CHANCE, turns=False)
        fields = map(_crossed_fields, found, _numbers([part.df for part in self.choices]))
        return [replace_fields(test, **crossed) for test, crossed in zip(tests, fields, strict=True)]


def _shorten(rows: list[RobustnessRow]) -> list[RobustnessRow]:
    """Return the rows of a part; one without systems for all where none could be tested, for one reason."""
    reasons = {row.reason for row in rows}
    if len(rows) > 1 and len(reasons) == 1 and reasons != {None}:
        return [replace_fields(rows[0], system_x=None, system_y=None, n=None, estimate=None)]
    return rows


def _names(test: RatingTest | ChoiceTest) -> dict[str, Any]:
    return {name: getattr(test, name) for name in ("group", "criterion", "system_x", "system_y")}


def _effect_sizes(effects: Effects, place: int) -> dict[str, Any]:
    found: dict[str, Any] = {"effect_reason": effects.reasons[place]}
    for name in ("d_z", "hedges_g", "superiority"):
        for key, column in zip((name, f"{name}_low", f"{name}_high"), getattr(effects, name), strict=True):
            found[key] = known_number(column[place])
    if found["d_z"] is not None:
        found["d_z_interval"] = NONCENTRAL if effects.exact[place] else APPROXIMATE
    return found


def _crossed_fields(crossed: RobustnessRow, df: float | None) -> dict[str, Any]:
    return {
        "p_crossed": crossed.p_value,
        "p_crossed_adjusted": crossed.p_adjusted,
        "crossed_df": None if crossed.p_value is None else df,
        "crossed_verdict": crossed.verdict,
        "disagree": None if crossed.agrees is None else not crossed.agrees,
        "crossed_reason": crossed.reason,
    }


def _correct(
    method: Method,
    parts: Sequence[ManyTests],
    tests: Sequence[RatingTest | ChoiceTest],
    plan: Plan,
    *,
    against: float = 0.0,
    turns: bool = True,
) -> list[RobustnessRow]:
    """Correct one method's tests family by family as planned, and set each verdict beside that of the main test."""
    reasons = [reason for part in parts for reason in part.reasons]
    n = [n for part in parts for n in part.n.tolist()]
    estimates, p_values = (_numbers([getattr(part, name) for part in parts]) for name in ("estimate", "p_value"))
    rows = [
        RobustnessRow(
            **_names(test),
            method=method,
            n=size,
            estimate=estimate,
            p_value=p_value if reason is None else None,
            reason=OUTSIDE_FAMILY if test.reason == OUTSIDE_FAMILY else reason,
        )
        for test, size, estimate, p_value, reason in zip(tests, n, estimates, p_values, reasons, strict=True)
    ]
    lost = {place for place, row in enumerate(rows) if row.reason == SINGLE}
    families = [replace_fields(row, p_value=1.0) if place in lost else row for place, row in enumerate(rows)]
    for members in members_by_family(families, plan.family):
        if not lost.isdisjoint(members):  # of a table in parts: what is known of a family is not corrected as all of it
            continue
        result = adjust([rows[place].p_value for place in members], correction=plan.correction, rate=plan.fwer)
        for place, p_adjusted, rejected in zip(members, result.p_adjusted, result.rejected, strict=True):
            test, row = tests[place], rows[place]
            effect = (row.estimate or 0.0) - against
            if turns and test.criterion in plan.lower_is_better:
                effect = -effect
            verdict: Verdict = ("x" if effect > 0 else "y") if rejected and effect else "indifferent"
            agrees = None if test.verdict is None else verdict == test.verdict
            rows[place] = replace_fields(row, p_adjusted=p_adjusted, verdict=verdict, agrees=agrees)
    return rows


def _numbers(columns: Sequence[Floats]) -> list[float | None]:
    return [known_number(value) for column in columns for value in column]
