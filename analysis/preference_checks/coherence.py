"""Whether preferences along triples fit together: if A over B and B over C, then A over C, and how strongly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

import numpy as np
from scipy.special import ndtri

from analysis.answers.plan import Plan
from analysis.comparisons.preferences import CHANCE, Comparisons, UnitPreferences
from analysis.statistics.coding import Floats, Ints, snap
from analysis.statistics.corrections import adjust
from analysis.statistics.record import Record
from analysis.statistics.t_tests import one_sample

NO_TRIPLE = "no three systems were all compared with each other by one annotator (as in a chain of pairs)"
CERTAIN = "every annotator gave 0 or 1 to one of the pairs, whose odds are infinite"
Truths = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoherenceRow(Record):
    """Three systems, or all triples of a group, criterion and exposure together (systems ``None``).

    ``share_weak`` and ``share_strong`` are the shares of annotators (of an LLM: assignments) with at least one
    triple that violates weak and strong stochastic transitivity. a is the system of the three that is preferred
    most on average, c the one preferred least. ``mean_discrepancy`` is the mean of
    logit P(a > c) - logit P(a > b) - logit P(b > c): 0 is what Bradley-Terry implies; below 0 the stated
    preference is nearer to chance than the two steps imply. ``group_`` values are those of the group's mean
    preferences. Over all triples the discrepancies are averaged in size.
    """

    group: str
    criterion: str
    exposure: int | None
    system_a: str | None
    system_b: str | None
    system_c: str | None
    n_triples: int
    n: int
    share_weak: float | None
    weak_low: float | None
    weak_high: float | None
    share_strong: float | None
    strong_low: float | None
    strong_high: float | None
    n_discrepancy: int
    n_certain: int
    mean_discrepancy: float | None
    sd: float | None
    ci_low: float | None
    ci_high: float | None
    t: float | None
    df: float | None
    p_value: float | None
    p_adjusted: float | None
    n_tests: int | None
    group_weak: bool | None
    group_strong: bool | None
    group_discrepancy: float | None
    reason: str | None


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
        raise ValueError(f"two preferences in [0, 1], not certain of opposites, are wanted, got {p_ab!r} and {p_bc!r}")
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
    for key, numbers in parts.items():
        systems = [name for name in tests.order.systems if any(name in pair for pair in numbers)]
        if len(systems) < 3:
            continue
        triples = [
            found for three in combinations(systems, 3) if (found := _triple(answered, numbers, three)) is not None
        ]
        if not triples:
            rows.append(_row(key, None, None, plan.confidence))
            continue
        checked = _check(triples)
        rows.append(_together(key, checked, plan.confidence))
        rows += [_row(key, one.triple.systems, one, plan.confidence) for one in checked]
    return _adjusted(rows, plan)


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
    """Return units, ascending, and values of every test."""
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
    """Put the system first that is preferred most on average, so that the sign of a discrepancy means something."""
    ab, bc, ac = (math.fsum(column) / len(column) for column in values.T.tolist())
    worth = snap(np.array([ab + ac, bc - ab + 1, 2 - ac - bc]), scale=1.0)
    i, j, k = sorted(range(3), key=lambda place: -worth[place])
    over = {(0, 1): values[:, 0], (1, 2): values[:, 1], (0, 2): values[:, 2]}
    over |= {(y, x): snap(1 - column, scale=1.0, digits=13) for (x, y), column in over.items()}
    columns = [over[i, j], over[j, k], over[i, k]]
    return _Triple(systems=(systems[i], systems[j], systems[k]), unit=unit, values=np.column_stack(columns))


def _row(
    key: tuple[str, str, int | None],
    systems: tuple[str, str, str] | None,
    checked: _Checked | None,
    confidence: float,
) -> CoherenceRow:
    a, b, c = systems or (None, None, None)
    base = CoherenceRow(
        group=key[0],
        criterion=key[1],
        exposure=key[2],
        system_a=a,
        system_b=b,
        system_c=c,
        n_triples=int(checked is not None),
        n=0,
        **dict.fromkeys(("share_weak", "weak_low", "weak_high", "share_strong", "strong_low", "strong_high")),
        n_discrepancy=0,
        n_certain=0,
        **dict.fromkeys(("mean_discrepancy", "sd", "ci_low", "ci_high", "t", "df", "p_value", "p_adjusted")),
        n_tests=None,
        group_weak=None,
        group_strong=None,
        group_discrepancy=None,
        reason=NO_TRIPLE,
    )
    if checked is None:
        return base
    n, values = len(checked.weak), checked.gaps
    result = one_sample(values, against=0.0, confidence=confidence) if len(values) else None
    of_means = _discrepancies(checked.means)
    return replace(
        _shared(base, n, int(checked.weak.sum()), int(checked.strong.sum()), confidence),
        n_discrepancy=len(values),
        n_certain=n - len(values),
        mean_discrepancy=result.mean if result else None,
        sd=result.sd if result else None,
        ci_low=result.ci_low if result else None,
        ci_high=result.ci_high if result else None,
        t=result.t if result else None,
        df=result.df if result else None,
        p_value=result.p_value if result else None,
        group_weak=checked.group_weak,
        group_strong=checked.group_strong,
        group_discrepancy=float(of_means[0]) if len(of_means) else None,
        reason=result.reason if result else CERTAIN,
    )


def _together(key: tuple[str, str, int | None], checked: list[_Checked], confidence: float) -> CoherenceRow:
    units = np.unique(np.concatenate([one.triple.unit for one in checked]))
    weak, strong = np.zeros(len(units), dtype=bool), np.zeros(len(units), dtype=bool)
    sizes: dict[int, list[float]] = {}
    certain = 0
    for one in checked:
        place = np.searchsorted(units, one.triple.unit)
        weak[place] |= one.weak
        strong[place] |= one.strong
        certain += int(np.sum(~one.finite))
        for unit, size in zip(place[one.finite].tolist(), np.abs(one.gaps).tolist(), strict=True):
            sizes.setdefault(unit, []).append(size)
    values = np.array([math.fsum(own) / len(own) for own in sizes.values()])
    result = one_sample(values, against=0.0, confidence=confidence) if len(values) else None
    base = replace(_row(key, None, None, confidence), n_triples=len(checked))
    return replace(
        _shared(base, len(units), int(weak.sum()), int(strong.sum()), confidence),
        n_discrepancy=len(values),
        n_certain=certain,
        mean_discrepancy=result.mean if result else None,
        sd=result.sd if result else None,
        ci_low=result.ci_low if result else None,
        ci_high=result.ci_high if result else None,
        reason="sizes over all triples; each triple is tested by itself" if result else CERTAIN,
    )


def _shared(base: CoherenceRow, n: int, weak: int, strong: int, confidence: float) -> CoherenceRow:
    (weak_low, weak_high), (strong_low, strong_high) = (wilson(count, n, confidence) for count in (weak, strong))
    return replace(
        base,
        n=n,
        share_weak=weak / n,
        weak_low=weak_low,
        weak_high=weak_high,
        share_strong=strong / n,
        strong_low=strong_low,
        strong_high=strong_high,
    )


def wilson(count: int, n: int, confidence: float) -> tuple[float, float]:
    """Return the score interval of a share.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. Journal of
    the American Statistical Association, 22(158), 209-212.

    >>> [round(end, 4) for end in wilson(8, 10, 0.95)]
    [0.4902, 0.9433]
    """
    z = float(ndtri((1 + confidence) / 2))
    share = count / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def _discrepancies(values: Floats) -> Floats:
    """Return stated minus implied log odds of a over c, where none of the three is 0 or 1."""
    finite = values[np.all((values > 0) & (values < 1), axis=1)]
    log_odds = np.log(finite) - np.log1p(-finite)
    return snap(log_odds[:, 2] - log_odds[:, 0] - log_odds[:, 1], scale=10.0, digits=13)


def _adjusted(rows: list[CoherenceRow], plan: Plan) -> list[CoherenceRow]:
    """Correct the tests of triples family by family, as planned."""
    families: dict[tuple[str, ...], list[int]] = {}
    for place, row in enumerate(rows):
        if row.p_value is not None:
            key = (row.group,) if plan.family == "all" else (row.group, row.criterion)
            families.setdefault(key, []).append(place)
    done = list(rows)
    for members in families.values():
        p_values = [p_value for place in members if (p_value := rows[place].p_value) is not None]
        for place, p_adjusted in zip(
            members, adjust(p_values, correction=plan.correction, rate=plan.fwer).p_adjusted, strict=True
        ):
            done[place] = replace(rows[place], p_adjusted=p_adjusted, n_tests=len(members))
    return done
