"""Whether preferences along triples fit together: if A over B and B over C, then A over C, and how strongly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import Any, ClassVar

import numpy as np

from analysis.answers.plan import Plan
from analysis.comparisons.hypothesis_families import with_adjusted_p
from analysis.comparisons.preferences import CHANCE, Comparisons, UnitPreferences
from analysis.statistics.coding import Floats, Ints, snap
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Probability, Record, Share
from analysis.statistics.t_tests import TTest, one_sample
from analysis.statistics.wilson import wilson

NO_TRIPLE = why("no_triple")
CERTAIN = why("infinite_odds")
Truths = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CoherenceRow(Record):
    """Three systems, or all triples of a group, criterion and exposure together (systems null).

    a is the system of the three that is preferred most on average, c the one preferred least. Weak and strong:
    violations of weak and strong stochastic transitivity, by single annotators (of an LLM: assignments) in at least
    one triple, or by the group's mean preferences. A discrepancy of 0 is what Bradley-Terry implies; below 0 the
    stated preference of a over c is nearer to chance than the two steps imply.
    """

    explained: ClassVar[tuple[str, ...]] = ("p_value", "p_adjusted")

    group: str
    criterion: str
    exposure: int | None
    system_a: str | None = None
    system_b: str | None = None
    system_c: str | None = None
    n_triples: Count = 0
    n: Count = 0
    share_weak: Share | None = None
    """Share of units that violate weak stochastic transitivity."""
    weak_low: Share | None = None
    weak_high: Share | None = None
    share_strong: Share | None = None
    strong_low: Share | None = None
    strong_high: Share | None = None
    n_discrepancy: Count = 0
    n_certain: Count = 0
    """Left out of the discrepancy: an answer of 0 or 1."""
    mean_discrepancy: float | None = None
    """Mean logit P(a > c) - logit P(a > b) - logit P(b > c); of all triples, of its size."""
    sd: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    t: float | None = None
    df: float | None = None
    p_value: Probability | None = None
    p_adjusted: Probability | None = None
    """Adjusted within the family (settings.correction)."""
    n_tests: int | None = None
    group_weak: bool | None = None
    group_strong: bool | None = None
    group_discrepancy: float | None = None
    reason: Reason | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Triple:
    """P(a > b), P(b > c), P(a > c) of the units that answered all three; a is preferred most on average, c least."""

    systems: tuple[str, str, str]
    unit: Ints
    values: Floats  # shape (n_units, 3)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Checked:
    """A triple with what was found of each unit; ``means`` over units, the group's own verdicts, and log odds.

    ``finite`` marks the units none of whose three answers is 0 or 1; ``gaps`` are their discrepancies.
    """

    triple: _Triple
    weak: Truths
    strong: Truths
    finite: Truths
    gaps: Floats
    means: Floats
    group_weak: bool
    group_strong: bool


def violations(values: Floats) -> tuple[Truths, Truths]:
    """Say which triples violate weak and which violate strong stochastic transitivity.

    Parameters
    ----------
    values : array of float, shape (n, 3)
        P(a > b), P(b > c), P(a > c) of each of n annotators.

    Returns
    -------
    weak, strong : array of bool, shape (n,)
        Weak: for some order of the three, i over j and j over k are at least 0.5 and i over k is
        below it. Strong: i over k is below the larger of the two.

    References
    ----------
    Tversky, A. (1969). Intransitivity of preferences. Psychological Review, 76(1), 31-48.

    >>> weak, strong = violations(np.array([[0.8, 0.7, 0.9], [0.8, 0.7, 0.6], [0.8, 0.7, 0.4]]))
    >>> weak.tolist(), strong.tolist()
    ([False, False, True], [False, True, True])
    """
    over = np.full((3, 3, len(values)), CHANCE)
    for (i, j), column in zip(((0, 1), (1, 2), (0, 2)), values.T, strict=True):
        over[i, j], over[j, i] = column, snap(1 - column, scale=1.0, digits=13)
    weak, strong = np.zeros(len(values), dtype=bool), np.zeros(len(values), dtype=bool)
    for i, j, k in permutations(range(3)):
        both = (over[i, j] >= CHANCE) & (over[j, k] >= CHANCE)
        weak |= both & (over[i, k] < CHANCE)
        strong |= both & (over[i, k] < np.maximum(over[i, j], over[j, k]))
    return weak, strong


def implied_preference(p_ab: float, p_bc: float) -> float:
    """Return P(a > c) that Bradley-Terry implies: the odds multiply.

    >>> round(implied_preference(0.8, 0.5), 12), round(implied_preference(0.75, 0.75), 12)
    (0.8, 0.9)
    """
    if not (0 <= p_ab <= 1 and 0 <= p_bc <= 1) or {p_ab, p_bc} == {0, 1}:
        raise ValueError(f"expected two preferences in [0, 1], not certain of opposites, got {p_ab!r} and {p_bc!r}")
    both = p_ab * p_bc
    return both / (both + (1 - p_ab) * (1 - p_bc))


def coherence(units: UnitPreferences, tests: Comparisons, plan: Plan) -> list[CoherenceRow]:
    """Check the triples of every group, criterion and exposure at which three systems or more were compared.

    Returns
    -------
    list of CoherenceRow
        First all triples together, then each one. A part without
        any complete triple has one row with a reason.
    """
    rows = []
    answered = _by_test(units, len(tests.keys))
    parts: dict[tuple[str, str, int | None], dict[tuple[str, str], int]] = {}
    for number in range(len(tests.keys)):
        group, criterion, exposure, x, y = tests.name(number)
        parts.setdefault((group, criterion, exposure), {})[x, y] = number
    for (group, criterion, exposure), numbers in parts.items():
        systems = [name for name in tests.order.systems if any(name in pair for pair in numbers)]
        if len(systems) < 3:
            continue
        triples = [
            found for three in combinations(systems, 3) if (found := _triple(answered, numbers, three)) is not None
        ]
        base = CoherenceRow(group=group, criterion=criterion, exposure=exposure, reason=NO_TRIPLE)
        if not triples:
            rows.append(base)
            continue
        checked = _check(triples)
        rows.append(_together(base, checked, plan.confidence))
        rows += [_of_triple(base, one, plan.confidence) for one in checked]
    return with_adjusted_p(rows, plan, family=plan.family)


def _check(triples: Sequence[_Triple]) -> list[_Checked]:
    """Look at all triples of a part at once: a call for each would cost more than its work."""
    ends = np.cumsum([len(triple.unit) for triple in triples])[:-1]
    values = np.concatenate([triple.values for triple in triples])
    finite = np.all((values > 0) & (values < 1), axis=1)
    gaps = np.full(len(values), np.nan)
    gaps[finite] = _discrepancies(values)
    means = np.array([[math.fsum(column) / len(column) for column in triple.values.T.tolist()] for triple in triples])
    of_group = violations(snap(means, scale=1.0, digits=13))
    parts = (np.split(column, ends) for column in (*violations(values), finite, gaps))
    return [
        _Checked(
            triple=triple,
            weak=weak,
            strong=strong,
            finite=known,
            gaps=own[known],
            means=mean[None, :],
            group_weak=bool(group_weak),
            group_strong=bool(group_strong),
        )
        for triple, weak, strong, known, own, mean, group_weak, group_strong in zip(
            triples, *parts, means, *of_group, strict=True
        )
    ]


def _by_test(units: UnitPreferences, n_tests: int) -> list[tuple[Ints, Floats]]:
    order = np.lexsort((units.unit, units.test))
    ends = np.cumsum(np.bincount(units.test, minlength=n_tests))[:-1]
    return list(zip(np.split(units.unit[order], ends), np.split(units.value[order], ends), strict=True))


def _triple(
    answered: Sequence[tuple[Ints, Floats]], numbers: Mapping[tuple[str, str], int], systems: tuple[str, str, str]
) -> _Triple | None:
    a, b, c = systems
    columns = []
    for x, y in ((a, b), (b, c), (a, c)):
        if (x, y) in numbers:
            columns.append(answered[numbers[x, y]])
        elif (y, x) in numbers:
            unit, values = answered[numbers[y, x]]
            columns.append((unit, snap(1 - values, scale=1.0, digits=13)))
        else:
            return None
    shared = columns[0][0]
    for unit, _ in columns[1:]:
        shared = shared if np.array_equal(shared, unit) else np.intersect1d(shared, unit, assume_unique=True)
    if not len(shared):
        return None
    values = np.column_stack([values[np.searchsorted(unit, shared)] for unit, values in columns])
    return _ordered(systems, shared, values)


def _ordered(systems: tuple[str, str, str], unit: Ints, values: Floats) -> _Triple:
    """Put the system first that is preferred most on average, so that the sign of a discrepancy means something.

    Of two that are preferred alike, the one that is preferred to the other stands before it.
    """
    ab, bc, ac = (math.fsum(column) / len(column) for column in values.T.tolist())
    worth = snap(np.array([ab + ac, bc - ab + 1, 2 - ac - bc]), scale=1.0)
    direct = snap(np.array([ab, bc, ac]), scale=1.0)
    mean = {(0, 1): direct[0], (1, 2): direct[1], (0, 2): direct[2]}
    mean |= {(y, x): 1 - share for (x, y), share in mean.items()}

    def place(way: tuple[int, ...]) -> tuple[float, float, float, list[str]]:
        one, two, three = way
        return -worth[one], -worth[two], -round(mean[one, two] + mean[two, three], 12), [systems[at] for at in way]

    i, j, k = min(permutations(range(3)), key=place)
    over = {(0, 1): values[:, 0], (1, 2): values[:, 1], (0, 2): values[:, 2]}
    over |= {(y, x): snap(1 - column, scale=1.0, digits=13) for (x, y), column in over.items()}
    columns = [over[i, j], over[j, k], over[i, k]]
    return _Triple(systems=(systems[i], systems[j], systems[k]), unit=unit, values=np.column_stack(columns))


def _of_triple(base: CoherenceRow, checked: _Checked, confidence: float) -> CoherenceRow:
    """Describe one triple, with the test that its mean discrepancy is 0."""
    a, b, c = checked.triple.systems
    result = one_sample(checked.gaps, against=0.0, confidence=confidence) if len(checked.gaps) else None
    of_means = _discrepancies(checked.means)
    return replace(
        base,
        system_a=a,
        system_b=b,
        system_c=c,
        n_triples=1,
        **_violated(checked.weak, checked.strong, confidence),
        n_certain=len(checked.weak) - len(checked.gaps),
        **(_averaged(result) | {"t": result.t, "df": result.df, "p_value": result.p_value} if result else {}),
        group_weak=checked.group_weak,
        group_strong=checked.group_strong,
        group_discrepancy=float(of_means[0]) if len(of_means) else None,
        reason=result.reason if result else CERTAIN,
    )


def _together(base: CoherenceRow, checked: list[_Checked], confidence: float) -> CoherenceRow:
    """Describe all triples of a part: who violates at least one, and how large their discrepancies are."""
    units = np.unique(np.concatenate([one.triple.unit for one in checked]))
    weak, strong = np.zeros(len(units), dtype=bool), np.zeros(len(units), dtype=bool)
    sizes: dict[int, list[float]] = {}
    for one in checked:
        place = np.searchsorted(units, one.triple.unit)
        weak[place] |= one.weak
        strong[place] |= one.strong
        for unit, size in zip(place[one.finite].tolist(), np.abs(one.gaps).tolist(), strict=True):
            sizes.setdefault(unit, []).append(size)
    values = np.array([math.fsum(own) / len(own) for own in sizes.values()])
    result = one_sample(values, against=0.0, confidence=confidence) if len(values) else None
    return replace(
        base,
        n_triples=len(checked),
        **_violated(weak, strong, confidence),
        n_certain=sum(int(np.sum(~one.finite)) for one in checked),
        **(_averaged(result) if result else {}),
        reason=why("over_triples") if result else CERTAIN,
    )


def _violated(weak: Truths, strong: Truths, confidence: float) -> dict[str, Any]:
    n = len(weak)
    found: dict[str, Any] = {"n": n}
    for name, units in (("weak", weak), ("strong", strong)):
        count = int(units.sum())
        found[f"share_{name}"] = count / n
        found[f"{name}_low"], found[f"{name}_high"] = wilson(count, n, confidence)
    return found


def _averaged(result: TTest) -> dict[str, Any]:
    names = {"n_discrepancy": "n", "mean_discrepancy": "mean", "sd": "sd", "ci_low": "ci_low", "ci_high": "ci_high"}
    return {name: getattr(result, own) for name, own in names.items()}


def _discrepancies(values: Floats) -> Floats:
    """Return stated minus implied log odds of a over c, where none of the three is 0 or 1."""
    finite = values[np.all((values > 0) & (values < 1), axis=1)]
    log_odds = np.log(finite) - np.log1p(-finite)
    return snap(log_odds[:, 2] - log_odds[:, 0] - log_odds[:, 1], scale=10.0, digits=13)
