"""Which of two measures is closer to people: Williams's test on Kendall's tau with the same people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Literal

from analysis.answers.plan import Alternative
from analysis.correlations.coefficients import Series, correlate_series, prepare
from analysis.correlations.levels import group_means
from analysis.correlations.scores import Scores, common_outputs
from analysis.correlations.williams import NOT_HIGHER, williams
from analysis.statistics.coding import Ints
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Coefficient, Count, Positive, Probability, Record

EVERY_PAIR_UP_TO = 12  # measures; beyond, each is compared with the first, so that pairs do not outgrow the data
FEWEST_SYSTEMS = 10  # as few as Chhun et al. (2024) compare; of fewer, tau has too few values for a t to hold
ComparedLevel = Literal["overall", "system"]
COMPARED_LEVELS: tuple[ComparedLevel, ...] = ("overall", "system")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ComparisonRow(Record):
    """One row of ``comparisons_of_correlations``.

    ``value_a`` and ``value_b`` are the raw correlations with ``target``, ``value_ab`` that of a with
    b; ``turned`` names the sides whose sign was turned for the test. ``t`` is positive where a is
    closer to the target. ``p_one_sided`` is for a closer than b; ``p_value`` is two-sided or, where ``alternative`` is
    "greater", that one: null where b is as close, as in Chhun et al. (2024).
    """

    explained: ClassVar[tuple[str, ...]] = ("p_value",)
    a: str
    b: str
    target: str
    criterion: str
    level: ComparedLevel
    method: str
    value_a: Coefficient | None
    value_b: Coefficient | None
    value_ab: Coefficient | None = None
    turned: tuple[Literal["a", "b"], ...] = ()
    n: Count
    t: float | None = None
    df: Positive | None = None
    p_one_sided: Probability | None = None
    p_value: Probability | None
    p_adjusted: Probability | None = None
    n_tests: Positive | None = None
    verdict: Literal["a", "b", "indifferent"] | None = None
    alternative: Alternative = "two-sided"
    reason: Reason | None = None

    def judged(self, level: float) -> ComparisonRow:
        """Say which side is closer to the target where the adjusted p-value is at most ``level``."""
        if self.p_adjusted is None or self.t is None:
            return self
        verdict: Literal["a", "b", "indifferent"] = "a" if self.t > 0 else "b"
        return replace(self, verdict=verdict if self.p_adjusted <= level and self.t != 0 else "indifferent")


class Kendalls:
    """Kendall's tau of any two of several measures on one level, each prepared and computed once."""

    def __init__(self, level: ComparedLevel, n_systems: int) -> None:
        self.level = level
        self.n_systems = n_systems
        self.sides: dict[tuple[str, bytes], Series] = {}
        self.values: dict[tuple[str, str, bytes], tuple[float | None, Reason | None]] = {}

    def tau(self, first: Scores, second: Scores, outputs: Ints, key: bytes) -> tuple[float | None, Reason | None]:
        """Return tau-b over the outputs, or why there is none; ``key`` identifies the outputs."""
        known = (first.name, second.name, key)
        if known not in self.values:
            sides = (self._side(first, outputs, key), self._side(second, outputs, key))
            found = correlate_series(*sides, "kendall")
            self.values[known] = found.value, found.reason
        return self.values[known]

    def n(self, outputs: Ints) -> int:
        """Count what is correlated."""
        return len(outputs) if self.level == "overall" else len(set((outputs % self.n_systems).tolist()))

    def _side(self, scores: Scores, outputs: Ints, key: bytes) -> Series:
        if (scores.name, key) not in self.sides:
            values = scores.at(outputs)
            means = values if self.level == "overall" else group_means(outputs % self.n_systems, values)
            self.sides[scores.name, key] = prepare(means)
        return self.sides[scores.name, key]


def compare_measures(
    measures: Sequence[Scores],
    target: Scores,
    criterion: str,
    n_systems: int,
    *,
    alternative: Alternative = "two-sided",
) -> list[ComparisonRow]:
    """Test for pairs of measures whether one correlates higher with the target.

    All pairs of up to 12 measures; of more, the first one (the first LLM where there is one) against
    every other, as Chhun et al. (2024) do. The choice does not look at the correlations, so the
    p-values need no allowance for it. All three correlations are taken over the outputs that both
    measures and the target have.

    A measure declared as lower-is-better is turned; a metric of which nobody said is turned where it
    runs against the target, so its size counts, as in Chhun et al.; an LLM is never turned.

    By ``alternative`` "greater" the first one alone is compared with every other, one-sided, and where it is not closer
    there is no test, so that only tests of the others are corrected together: as Chhun et al. (2024) do. Of measures
    that are alike, up to twice as many are then called closer as the rate of the correction says.
    """
    every = len(measures) <= EVERY_PAIR_UP_TO and alternative == "two-sided"
    pairs = list(combinations(measures, 2)) if every else [(measures[0], other) for other in measures[1:]]
    rows = []
    for level in COMPARED_LEVELS:
        taus = Kendalls(level, n_systems)
        rows += [_compare(a, b, target, criterion, taus, alternative) for a, b in pairs]
    return rows


def _compare(
    a: Scores, b: Scores, target: Scores, criterion: str, taus: Kendalls, alternative: Alternative
) -> ComparisonRow:
    outputs = common_outputs(target, a, b)
    key = outputs.tobytes()
    (value_a, why_a), (value_b, why_b) = (taus.tau(side, target, outputs, key) for side in (a, b))
    value_ab, why_ab = taus.tau(a, b, outputs, key)
    n = taus.n(outputs)
    turned: tuple[Literal["a", "b"], ...] = ()
    tested: dict[str, Any] = {"p_value": None, "reason": why_a or why_b or why_ab}
    if taus.level == "system" and n < FEWEST_SYSTEMS:
        tested["reason"] = why("few_systems", n=n, needed=FEWEST_SYSTEMS)
    elif value_a is not None and value_b is not None and value_ab is not None:
        sign_a, sign_b = _sign(a, value_a), _sign(b, value_b)
        turned = (*(("a",) if sign_a < 0 else ()), *(("b",) if sign_b < 0 else ()))
        test = williams(sign_a * value_a, sign_b * value_b, sign_a * sign_b * value_ab, n)
        tested = {"t": test.t, "df": test.df, "p_one_sided": test.p_one_sided, "p_value": test.p_two_sided}
        tested["reason"] = test.reason
        if alternative == "greater" and test.t is not None:
            higher = test.t > 0
            tested |= {"p_value": test.p_one_sided} if higher else {"p_value": None, "reason": NOT_HIGHER}
    return ComparisonRow(
        a=a.name,
        b=b.name,
        target=target.name,
        criterion=criterion,
        level=taus.level,
        method="kendall",
        value_a=value_a,
        value_b=value_b,
        value_ab=value_ab,
        turned=turned,
        n=n,
        alternative=alternative,
        **tested,
    )


def _sign(scores: Scores, value: float) -> int:
    return scores.direction or (-1 if value < 0 else 1)
