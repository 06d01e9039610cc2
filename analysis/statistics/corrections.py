"""Many tests, one error rate: Holm, Benjamini-Hochberg, stars and verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from analysis.statistics.coding import DIGITS, Floats
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import replace_fields

Verdict = Literal["x", "y", "indifferent"]
TURNED: dict[Verdict | None, Verdict | None] = {"x": "y", "y": "x", "indifferent": "indifferent", None: None}
Correction = Literal["holm", "bh"]
Procedure = Literal["holm", "bh", "by"]
OUTSIDE_FAMILY = why("outside_family")  # the reason of a row that keeps its raw p-value
STARS = ((0.01, "***"), (0.05, "**"), (0.10, "*"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjusted:
    """A family corrected: values in the order given, ``None`` for a member without a test.

    ``n_tests`` is the size of the family: the members with a test, unless more were counted. A hypothesis is rejected
    when its adjusted value :func:`reaches` the rate.
    """

    p_adjusted: tuple[float | None, ...]
    rejected: tuple[bool | None, ...]
    n_tests: int
    correction: Procedure
    rate: float


def adjust(
    p_values: Sequence[float | None],
    *,
    correction: Procedure = "holm",
    rate: float = 0.05,
    n_tests: int | None = None,
) -> Adjusted:
    """Correct one family of tests as planned.

    Parameters
    ----------
    p_values : sequence of float or None, shape (n,)
        Raw p-values in [0, 1]; ``None`` is a member that could not be tested: it is left out, does
        not count, and comes back as ``None``. NaN is refused.
    correction : {"holm", "bh", "by"}
        ``holm`` bounds the chance of any false rejection, ``bh`` (Benjamini-Hochberg) the expected share of
        false rejections among all rejections, ``by`` (Benjamini-Yekutieli) that share under any dependence.
    rate : float
        That chance or share.
    n_tests : int, optional
        Size of the family where it has more members than p-values: those corrected are then the smallest of a family
        whose others are 1.

    Raises
    ------
    ValueError
        When a value does not lie in [0, 1], the correction is unknown, or ``n_tests`` is less than the p-values.

    Notes
    -----
    The same figures as :func:`holm`, :func:`benjamini_hochberg` and :func:`benjamini_yekutieli`. A report uses these
    few lines because statsmodels takes 0.7 s to load; the tests hold the two together.

    Examples
    --------
    >>> adjust([0.01, None, 0.04, 0.03]).p_adjusted
    (0.03, None, 0.06, 0.06)
    >>> adjust([0.01, None, 0.04, 0.03], correction="bh").p_adjusted
    (0.03, None, 0.04, 0.04)
    >>> adjust([0.01, None, 0.04, 0.03], n_tests=4).p_adjusted
    (0.04, None, 0.09, 0.09)
    """
    if correction not in get_args(Procedure):
        raise ValueError(f'correction must be "holm", "bh" or "by", got {correction!r}')
    compute = _holm if correction == "holm" else partial(_step_up, correction)
    more = 0 if n_tests is None else n_tests - sum(p_value is not None for p_value in p_values)
    if more < 0:
        raise ValueError(f"n_tests must count all p-values, got {n_tests}")
    if not more:
        return _adjusted(p_values, correction, rate, compute)
    found = _adjusted([*p_values, *(1.0,) * more], correction, rate, compute)
    own = len(p_values)
    return replace_fields(found, p_adjusted=found.p_adjusted[:own], rejected=found.rejected[:own])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HolmResult:
    """Adjusted p-values in the order given, and which hypotheses are rejected at ``fwer``."""

    p_adjusted: Floats
    rejected: npt.NDArray[np.bool_]
    fwer: float


def holm(p_values: Sequence[float], *, fwer: float = 0.05) -> HolmResult:
    """Adjust p-values so that the familywise error rate is at most ``fwer``.

    The k-th smallest of n p-values is multiplied by n - k + 1; an adjusted value is never
    smaller than one before it, nor larger than 1.

    Parameters
    ----------
    p_values : sequence of float, shape (n_tests,)
        Raw two-sided p-values in [0, 1]. NaN is refused: a test that could not be run is
        not a member of the family.
    fwer : float
        Familywise error rate.

    Returns
    -------
    HolmResult
        A hypothesis is rejected when its adjusted value is at most ``fwer``.

    Raises
    ------
    ValueError
        When a value does not lie in [0, 1].

    Notes
    -----
    statsmodels' ``multipletests`` collects garbage in each call for Holm: 0.1 s instead of 0.03 ms
    (``tests/benchmarks/bench_libraries.py``).

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure.
    Scandinavian Journal of Statistics, 6(2), 65-70.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, 0.005]).p_adjusted.round(3).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    found = adjust(p_values, correction="holm", rate=fwer)
    return HolmResult(
        p_adjusted=np.array(found.p_adjusted, dtype=np.float64),
        rejected=np.array(found.rejected, dtype=np.bool_),
        fwer=fwer,
    )


def benjamini_hochberg(p_values: Sequence[float | None], *, fdr: float = 0.05) -> Adjusted:
    """Adjust p-values so that the expected share of false rejections is at most ``fdr``, by statsmodels.

    The k-th smallest of n p-values is multiplied by n / k; an adjusted value is never larger than
    one after it, nor than 1. Holds for independent tests and for positively dependent ones.

    Parameters
    ----------
    p_values : sequence of float or None, shape (n,)
        As for :func:`adjust`.
    fdr : float
        False discovery rate.

    References
    ----------
    Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate. Journal of the Royal
    Statistical Society B, 57(1), 289-300.

    Examples
    --------
    >>> [p and round(p, 3) for p in benjamini_hochberg([0.01, None, 0.04, 0.03]).p_adjusted]
    [0.03, None, 0.04, 0.04]
    """
    return _adjusted(p_values, "bh", fdr, partial(_of_statsmodels, "fdr_bh"))


def benjamini_yekutieli(p_values: Sequence[float | None], *, fdr: float = 0.05) -> Adjusted:
    """Adjust p-values as Benjamini-Hochberg does, but right under any dependence between the tests, by statsmodels.

    The k-th smallest of n p-values is multiplied by c(n) n / k with c(n) = 1 + 1/2 + ... + 1/n.

    Parameters
    ----------
    p_values : sequence of float or None, shape (n,)
        As for :func:`adjust`.
    fdr : float
        False discovery rate.

    References
    ----------
    Benjamini, Y. and Yekutieli, D. (2001). The control of the false discovery rate in multiple testing
    under dependency. Annals of Statistics, 29(4), 1165-1188, theorem 1.3.

    Examples
    --------
    >>> [p and round(p, 3) for p in benjamini_yekutieli([0.01, None, 0.04]).p_adjusted]
    [0.03, None, 0.06]
    """
    return _adjusted(p_values, "by", fdr, partial(_of_statsmodels, "fdr_by"))


def _adjusted(
    p_values: Sequence[float | None], correction: Procedure, rate: float, compute: Callable[[Floats], Floats]
) -> Adjusted:
    tested = np.array([p_value for p_value in p_values if p_value is not None], dtype=np.float64)
    if not np.all((tested >= 0) & (tested <= 1)):
        raise ValueError(f"p-values must lie in [0, 1], got {tested.tolist()}")
    values = iter(compute(tested).tolist() if len(tested) else ())
    listed = tuple(None if p_value is None else next(values) for p_value in p_values)
    rejected = tuple(None if value is None else reaches(value, rate) for value in listed)
    return Adjusted(p_adjusted=listed, rejected=rejected, n_tests=len(tested), correction=correction, rate=rate)


def _of_statsmodels(method: str, values: Floats) -> Floats:
    from statsmodels.stats.multitest import multipletests  # 0.7 s to load

    adjusted: Floats = multipletests(values, method=method)[1]
    return adjusted


def _holm(values: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)), 1.0)
    return adjusted


def _step_up(correction: Procedure, values: Floats) -> Floats:
    rank = np.arange(len(values), 0, -1)
    order = np.argsort(values, kind="stable")[::-1]
    factor = len(values) * (math.fsum(1 / rank) if correction == "by" else 1.0)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.minimum.accumulate(values[order] * factor / rank), 1.0)
    return adjusted


def reaches(p_adjusted: float, rate: float) -> bool:
    """Say whether an adjusted p-value is at most the rate, in the digits that the results print.

    A value equal to the rate counts; the last bits of a product of p-values do not.

    >>> reaches(0.05, 0.05), reaches(0.05 + 1e-17, 0.05), reaches(0.0500001, 0.05)
    (True, True, False)
    """
    return float(f"{p_adjusted:.{DIGITS}g}") <= rate


class FamilyMember(Protocol):
    """A row of results with one test."""

    @property
    def group(self) -> str: ...  # noqa: D102

    @property
    def criterion(self) -> str: ...  # noqa: D102

    @property
    def p_value(self) -> float | None: ...  # noqa: D102

    @property
    def reason(self) -> Reason | None: ...  # noqa: D102


class RowWithTest(FamilyMember, Protocol):
    """A row with a test and what it is about."""

    @property
    def effect(self) -> float: ...  # noqa: D102


Row = TypeVar("Row", bound=RowWithTest)


def members_by_family(rows: Sequence[FamilyMember], family: str) -> list[list[int]]:
    """Return the places of the tests that are corrected together, family by family.

    Parameters
    ----------
    rows : sequence of rows
        A row without a test, or of a pair that is not compared, is no member.
    family : {"criterion", "all"}
        A family is all tests of a group and criterion, or of a group.
    """
    families: dict[tuple[str, str | None], list[int]] = {}
    for place, row in enumerate(rows):
        if row.p_value is not None and row.reason != OUTSIDE_FAMILY:
            families.setdefault((row.group, None if family == "all" else row.criterion), []).append(place)
    return list(families.values())


def sizes_of_families(rows: Sequence[FamilyMember], family: str) -> dict[tuple[str, str | None], int]:
    """Return by group and criterion (pooled: ``None``) how many comparisons count in a family.

    They are those with a test. Where some have none and ``p_unanimous`` all count, run or not: only so do all claims
    together, those of tests and those of unanimous answers, keep the family's error rate.
    """
    counted: dict[tuple[str, str | None], list[bool]] = {}
    unanimous = set()
    for row in rows:
        if row.reason == OUTSIDE_FAMILY:
            continue
        key = row.group, None if family == "all" else row.criterion
        counted.setdefault(key, []).append(row.p_value is not None)
        if getattr(row, "p_unanimous", None) is not None:
            unanimous.add(key)
    return {key: len(tested) if key in unanimous else sum(tested) for key, tested in counted.items()}


def with_verdicts(
    rows: Sequence[Row],
    *,
    fwer: float,
    family: str,
    lower_is_better: frozenset[str] = frozenset(),
    correction: Correction = "holm",
) -> list[Row]:
    """Correct the tests of one source family by family, and say what each found.

    Parameters
    ----------
    rows : sequence of rows
        Tests of one source; only members of :func:`members_by_family` are corrected and concluded from.
    fwer : float
        Error rate of each family: familywise under ``holm``, of false discoveries under ``bh``.
    family : {"criterion", "all"}
        A family is all tests of a group and criterion, or of a group.
    lower_is_better : frozenset of str
        Criteria for which a positive effect speaks for y.
    correction : {"holm", "bh"}
        As in :func:`adjust`.

    Returns
    -------
    list of rows
        With ``p_adjusted``, ``n_tests`` (size of the family), ``stars`` and ``verdict``; rows without a test with
        ``p_unanimous`` times the size.
    """
    done = list(rows)
    sizes = sizes_of_families(rows, family)
    for place, row in enumerate(rows):
        bound = getattr(row, "p_unanimous", None)
        if bound is not None:
            size = sizes[row.group, None if family == "all" else row.criterion]
            done[place] = replace_fields(row, p_unanimous=min(1.0, bound * size), n_tests=size)
    for members in members_by_family(rows, family):
        first = rows[members[0]]
        size = sizes[first.group, None if family == "all" else first.criterion]
        result = adjust([rows[place].p_value for place in members], correction=correction, rate=fwer, n_tests=size)
        for place, p_adjusted, rejected in zip(members, result.p_adjusted, result.rejected, strict=True):
            if p_adjusted is None:
                continue
            turned = rows[place].criterion in lower_is_better
            done[place] = replace_fields(
                rows[place],
                p_adjusted=p_adjusted,
                n_tests=result.n_tests,
                stars=stars(p_adjusted),
                verdict=_verdict(rows[place].effect, bool(rejected), turned),
            )
    return done


class WithP(Protocol):
    """A row with a p-value, and place for the adjusted one."""

    @property
    def p_value(self) -> float | None: ...  # noqa: D102


Tested = TypeVar("Tested", bound=WithP)


def adjusted_in_families(
    rows: Sequence[Tested], family: Callable[[Tested], Hashable | None], *, correction: Procedure, rate: float
) -> list[Tested]:
    """Return rows with ``p_adjusted`` and ``n_tests``, the size of their family; of the family ``None`` as they are."""
    families: dict[Hashable, list[int]] = {}
    for place, row in enumerate(rows):
        if (key := family(row)) is not None:
            families.setdefault(key, []).append(place)
    done = list(rows)
    for members in families.values():
        result = adjust([rows[place].p_value for place in members], correction=correction, rate=rate)
        for place, p_adjusted in zip(members, result.p_adjusted, strict=True):
            if p_adjusted is not None:
                done[place] = replace_fields(rows[place], p_adjusted=p_adjusted, n_tests=result.n_tests)
    return done


def stars(p_adjusted: float) -> str:
    """Mark an adjusted p-value below .10, .05 and .01 with one, two and three stars.

    >>> stars(0.03), stars(0.2)
    ('**', '')
    """
    return next((marks for bound, marks in STARS if p_adjusted < bound), "")


def _verdict(effect: float, rejected: bool, turned: bool) -> Verdict:
    if not rejected or effect == 0:
        return "indifferent"
    return "x" if (effect > 0) != turned else "y"
