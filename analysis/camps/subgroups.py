"""Rows of results.json: what subgroups of people prefer, and whether they prefer differently."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import fdtrc

from analysis.answers.plan import Plan
from analysis.camps.own_answers import PairAnswers
from analysis.statistics.coding import Floats
from analysis.statistics.corrections import adjusted_in_families, reaches
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Probability, Record, Source, Spread, replace_fields
from analysis.statistics.t_tests import exact_mean, is_highly_skewed, one_sample

FEWEST_SKEWED = 30  # people of the smallest subgroup, from whom on skewed values were seen to do no harm
FEWEST = 20  # people of the smallest subgroup, from whom on its own spread is known well enough
UNEVEN = 2  # times as many people in the largest as in the smallest, up to which they do none
SKEWED = 1.0  # skewness of the deviations from the subgroups' means
PLACE = ("source", "group", "criterion", "system_x", "system_y")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PeopleColumn(Record):
    """A column by which the people of a group are compared."""

    group: str
    column: str
    n: Count | None
    """People who say something there; null, as missing, where it would tell how many are withheld."""
    missing: Count | None
    """People who say nothing there, who are no subgroup."""
    declared: bool
    """Whether the plan named the column that was frozen before any form was handed in."""
    reason: Reason | None = None
    """Why nothing is compared by it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SubgroupMean(Record):
    """What the people of one subgroup prefer; without figures where it is withheld."""

    explained: ClassVar[tuple[str, ...]] = ("n", "estimate")

    source: Source
    group: str
    criterion: str
    system_x: str
    system_y: str
    column: str
    subgroup: str
    n: Count | None
    """People."""
    estimate: float | None
    """Mean over people: of chances or shares of x; of ratings points by which x is better than y."""
    ci_low: float | None = None
    ci_high: float | None = None
    reason: Reason | None = None
    """Why it is withheld: few people, or another subgroup could be computed from it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SubgroupTest(Record):
    """Whether the subgroups of a column prefer differently (Brown-Forsythe test of their means over people)."""

    explained: ClassVar[tuple[str, ...]] = ("p_value", "p_adjusted", "differ")

    source: Source
    group: str
    criterion: str
    system_x: str
    system_y: str
    column: str
    n: Count
    """People of the subgroups that are shown, who alone are tested."""
    n_subgroups: Count
    spread: Spread | None = None
    """Largest mean less the smallest."""
    reversed: bool | None = None
    """Whether the means lie on both sides of no preference."""
    f: float | None = None
    df_1: float | None = None
    df_2: float | None = None
    """At most the smallest subgroup's, n - 1, times the others, where under 20 people are half of the largest."""
    p_value: Probability | None = None
    p_adjusted: Probability | None = None
    """Adjusted over all such tests of the group, a family of their own."""
    n_tests: Count | None = None
    differ: bool | None = None
    highly_skewed: bool = False
    """Whether the level of the test is in doubt: the values of a subgroup are most equal, or a few far out."""
    declared: bool = False
    """Whether the plan named the column that was frozen before any form was handed in."""
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FTest:
    """Statistic, degrees of freedom and p-value."""

    f: float
    df_1: float
    df_2: float
    p_value: float


def brown_forsythe(samples: Sequence[Floats], *, most_df: float = math.inf) -> FTest | None:
    """Test whether independent samples have the same mean, whatever their variances.

    Parameters
    ----------
    samples : sequence of array of float, shape (n_j,)
        At least two samples of at least two values each. Sums are exactly rounded: no order matters.
    most_df : float
        Denominator degrees of freedom at most.

    Returns
    -------
    FTest or None
        ``None`` where no value differs from another of its sample. Of two samples it is Welch's t squared.

    References
    ----------
    Brown, M. B. and Forsythe, A. B. (1974). The small sample behavior of some statistics which test the equality of
    several means. Technometrics 16(1), 129-132. Mehrotra, D. V. (1997). Improving the Brown-Forsythe solution to the
    generalized Behrens-Fisher problem. Communications in Statistics: Simulation and Computation 26(3), 1139-1145.

    >>> found = brown_forsythe([np.array([1.0, 2, 3]), np.array([2.0, 4, 6])])
    >>> round(found.f, 4), round(found.df_1, 4), round(found.df_2, 4), round(found.p_value, 4)
    (2.4, 1.0, 2.9412, 0.2209)
    """
    lists = sorted((one.tolist() for one in samples), key=lambda one: (len(one), sorted(one)))
    sizes = [len(one) for one in lists]
    total = sum(sizes)
    means = [exact_mean(one) for one in lists]
    middle = math.fsum(value for one in lists for value in one) / total
    variances = [
        math.fsum((value - mean) ** 2 for value in one) / (len(one) - 1) if min(one) < max(one) else 0.0
        for one, mean in zip(lists, means, strict=True)
    ]
    shares = [n / total for n in sizes]
    parts = [(1 - share) * variance for share, variance in zip(shares, variances, strict=True)]
    within = math.fsum(parts)
    if not within > 0:
        return None
    between = math.fsum(n * (mean - middle) ** 2 for n, mean in zip(sizes, means, strict=True))
    df_2 = min(most_df, within**2 / math.fsum(part**2 / (n - 1) for part, n in zip(parts, sizes, strict=True)))
    weighed = math.fsum(share * variance for share, variance in zip(shares, variances, strict=True))
    squares = math.fsum(variance**2 * (1 - 2 * share) for share, variance in zip(shares, variances, strict=True))
    df_1 = within**2 / (squares + weighed**2)
    f = between / within
    return FTest(f=f, df_1=df_1, df_2=df_2, p_value=float(fdtrc(df_1, df_2, f)))


def most_degrees(samples: Sequence[Floats]) -> float:
    """Return the denominator degrees of freedom that a test of these samples may have at most.

    Where the smallest has fewer than 20 values and at most half of the largest, one less than its values, times the
    other samples: it makes most of the error, and where its values are coarse (a few choices each) the degrees of
    freedom that are estimated are too many.

    >>> most_degrees([np.zeros(10), np.ones(40)]), most_degrees([np.zeros(10), np.ones(12)])
    (9, inf)
    """
    sizes = [len(sample) for sample in samples]
    uneven = min(sizes) < FEWEST and UNEVEN * min(sizes) <= max(sizes)
    return (len(sizes) - 1) * (min(sizes) - 1) if uneven else math.inf


def small_and_constant(samples: Sequence[Floats]) -> int | None:
    """Return the size of the smallest sample of fewer than 20 values that are all equal; ``None`` where there is none.

    Of ten people who each chose once, all choose what eight of ten prefer in a tenth of studies.

    >>> small_and_constant([np.ones(10), np.arange(40.0)]), small_and_constant([np.ones(20), np.arange(40.0)])
    (10, None)
    """
    return min((len(one) for one in samples if len(one) < FEWEST and one.min() == one.max()), default=None)


def is_small_and_skewed(samples: Sequence[Floats]) -> bool:
    """Say whether the test of these samples is known to err too often.

    So it does where values are skewed (m3 / m2^1.5 of all deviations from the samples' means beyond 1) and the smallest
    sample has fewer than 30 values and less than half of the largest: its own tail is often not among its values, so
    that neither its mean nor its variance shows it.

    >>> one_far_off = [*[1.0] * 8, 0.9, 0.1]
    >>> is_small_and_skewed([np.array(one_far_off), np.array(one_far_off * 3)])
    True
    >>> is_small_and_skewed([np.array(one_far_off), np.array(one_far_off)])
    False
    """
    sizes = [len(sample) for sample in samples]
    if min(sizes) >= FEWEST_SKEWED or UNEVEN * min(sizes) >= max(sizes):
        return False
    away = np.sort(np.concatenate([sample - exact_mean(sample.tolist()) for sample in samples]))
    second, third = exact_mean((away**2).tolist()), exact_mean((away**3).tolist())
    bound: float = SKEWED * second**1.5
    return abs(third) > bound


def shown_subgroups(counts: Mapping[str, int], least: int, *, missing: int = 0) -> frozenset[str]:
    """Return the subgroups whose figures may be shown.

    Those of fewer than ``least`` people are withheld; and, if all that are withheld and those who say nothing
    (``missing``) are fewer together, the smallest of the others too (all of one size), or what is withheld could be
    computed from the rest and the whole.

    >>> sorted(shown_subgroups({"a": 40, "b": 12, "c": 3}, 10)), sorted(shown_subgroups({"a": 40, "b": 9}, 10))
    (['a'], [])
    >>> sorted(shown_subgroups({"a": 40, "b": 12, "c": 3}, 10, missing=7))
    ['a', 'b']
    """
    shown = {name for name, n in counts.items() if n >= least}
    hidden = sum(n for name, n in counts.items() if name not in shown)
    hidden += missing if hidden else 0
    if 0 < hidden < least and shown:  # one more is enough, since it has ``least`` people itself
        smallest = min(counts[name] for name in shown)
        shown -= {name for name in shown if counts[name] == smallest}
    return frozenset(shown)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subgroups:
    """Rows of all columns, in their order."""

    columns: list[PeopleColumn]
    means: list[SubgroupMean]
    tests: list[SubgroupTest]


def subgroups(
    answers: Iterable[PairAnswers],
    people: pl.DataFrame | None,
    groups: Mapping[str, Sequence[str]],
    plan: Plan,
    *,
    declared: frozenset[str] = frozenset(),
) -> Subgroups:
    """Compare what people prefer by columns that say something of them.

    Parameters
    ----------
    answers : iterable of PairAnswers
        What each person answered about each pair.
    people : DataFrame or None
        ``annotator_id`` and columns, a row a person.
    groups : mapping of str to sequence of str
        People of each group who answered.
    plan : Plan
        Columns, least people of a subgroup, correction, confidence.
    declared : frozenset of str
        Columns of the plan that was frozen before any form was handed in.
    """
    found = Subgroups(columns=[], means=[], tests=[])
    values = {column: _values(people, column) for column in plan.compare_people_by}
    for column, of_person in values.items():
        for group, members in groups.items():
            found.columns.append(_column(column, of_person, group, members, plan, declared))
    for compared in subgroups_of_pairs(answers, people, plan):
        found.means.extend(_means(compared, plan))
        found.tests.append(replace_fields(_test(compared, plan), declared=compared.place["column"] in declared))
    return Subgroups(columns=found.columns, means=found.means, tests=_adjusted(found.tests, plan))


def _values(people: pl.DataFrame | None, column: str) -> Mapping[str, str] | None:
    if people is None or column not in people.columns:
        return None
    return dict(people.select("annotator_id", column).drop_nulls().iter_rows())


def _column(
    column: str,
    of_person: Mapping[str, str] | None,
    group: str,
    members: Sequence[str],
    plan: Plan,
    declared: frozenset[str],
) -> PeopleColumn:
    counts: dict[str, int] = {}
    for name in members:
        if of_person is not None and name in of_person:
            counts[of_person[name]] = counts.get(of_person[name], 0) + 1
    n = sum(counts.values())
    missing = len(members) - n
    shown = shown_subgroups(counts, plan.compare_people_least, missing=missing)
    hidden = sum(of for name, of in counts.items() if name not in shown)
    reason = None
    if of_person is None:
        reason = why("no_column_of_people", column=column)
    elif len(counts) < 2:
        reason = why("one_subgroup")
    elif len(shown) < 2:
        reason = why("small_subgroups", least=plan.compare_people_least)
    safe = not hidden or hidden >= plan.compare_people_least  # else how many say nothing would tell how many are hidden
    return PeopleColumn(
        group=group,
        column=column,
        n=n if safe else None,
        missing=missing if safe else None,
        declared=column in declared,
        reason=reason,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Compared:
    """Means of the people of each subgroup, by its name and ascending, of one pair and column (``place``)."""

    place: Mapping[str, str]
    even: float
    samples: Mapping[str, Floats]
    shown: frozenset[str]

    @property
    def tested(self) -> list[Floats]:
        """Return the samples that are shown."""
        return [sample for name, sample in self.samples.items() if name in self.shown]


def subgroups_of_pairs(answers: Iterable[PairAnswers], people: pl.DataFrame | None, plan: Plan) -> Iterator[Compared]:
    """Yield the means of the people of each subgroup, of each pair and column that the plan names."""
    values = {column: of for column in plan.compare_people_by if (of := _values(people, column)) is not None}
    for pair in answers:
        means = pair.means().tolist()
        for column, of_person in values.items():
            own: dict[str, list[float]] = {}
            for name, value in zip(pair.names, means, strict=True):
                if name in of_person:
                    own.setdefault(of_person[name], []).append(value)
            if own:
                counts = {name: len(one) for name, one in own.items()}
                yield Compared(
                    place={
                        **{name: getattr(pair, name) for name in PLACE},
                        "column": column,
                    },
                    even=pair.even,
                    samples={name: np.array(sorted(own[name])) for name in sorted(own)},
                    shown=shown_subgroups(
                        counts, plan.compare_people_least, missing=len(pair.names) - sum(counts.values())
                    ),
                )


def _means(compared: Compared, plan: Plan) -> Iterator[SubgroupMean]:
    withheld = why("subgroup_withheld", least=plan.compare_people_least)
    place: dict[str, Any] = {**compared.place}
    for name, sample in compared.samples.items():
        if name not in compared.shown:
            yield SubgroupMean(**place, subgroup=name, n=None, estimate=None, reason=withheld)
            continue
        test = one_sample(sample, against=compared.even, confidence=plan.confidence)
        yield SubgroupMean(
            **place, subgroup=name, n=test.n, estimate=test.mean, ci_low=test.ci_low, ci_high=test.ci_high
        )


def _test(compared: Compared, plan: Plan) -> SubgroupTest:
    samples, place = compared.tested, dict[str, Any](compared.place)
    base = SubgroupTest(**place, n=sum(map(len, samples)), n_subgroups=len(samples))
    if len(samples) < 2:
        small = len(compared.samples) > 1
        return replace_fields(
            base, reason=why("small_subgroups", least=plan.compare_people_least) if small else why("one_subgroup")
        )
    means = [exact_mean(sample.tolist()) for sample in samples]
    known = {"spread": max(means) - min(means), "reversed": min(means) < compared.even < max(means)}
    found = brown_forsythe(samples, most_df=most_degrees(samples))
    if found is None:
        return replace_fields(base, **known, reason=why("no_variation"))
    alike = small_and_constant(samples)
    if alike is not None:
        reason = why("small_constant_subgroup", n=alike, needed=FEWEST)
        return replace_fields(base, **known, highly_skewed=True, reason=reason)
    if is_small_and_skewed(samples):
        few = why("small_skewed_subgroup", n=min(map(len, samples)), needed=FEWEST_SKEWED)
        return replace_fields(base, **known, highly_skewed=True, reason=few)
    skewed = any(is_highly_skewed(sample) for sample in samples)
    return replace_fields(
        base, **known, f=found.f, df_1=found.df_1, df_2=found.df_2, p_value=found.p_value, highly_skewed=skewed
    )


def _adjusted(tests: Sequence[SubgroupTest], plan: Plan) -> list[SubgroupTest]:
    """Correct the tests of each group together: sources, criteria, pairs and columns."""
    done = adjusted_in_families(tests, lambda row: row.group, correction=plan.correction, rate=plan.fwer)
    return [
        row if row.p_adjusted is None else replace_fields(row, differ=reaches(row.p_adjusted, plan.fwer))
        for row in done
    ]
