"""Many tests, one error rate: Holm's correction, stars and verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from analysis.coding import Floats
from analysis.plan import Verdict

STARS = ((0.01, "***"), (0.05, "**"), (0.10, "*"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HolmResult:
    """Adjusted p-values in the order given, and which hypotheses are rejected at ``fwer``."""

    p_adjusted: Floats
    rejected: np.ndarray[Any, np.dtype[np.bool_]]
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
        Adjusted values; a hypothesis is rejected when its adjusted value is at most ``fwer``.

    Raises
    ------
    ValueError
        When a value does not lie in [0, 1].

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure.
    Scandinavian Journal of Statistics, 6(2), 65-70.

    >>> holm([0.01, 0.04, 0.03, 0.005]).p_adjusted.round(3).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    values = np.asarray(p_values, dtype=np.float64)
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError(f"p-values must lie in [0, 1], got {values.tolist()}")
    order = np.argsort(values, kind="stable")
    steps = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)), 1.0)
    adjusted = np.empty_like(values)
    adjusted[order] = steps
    return HolmResult(p_adjusted=adjusted, rejected=adjusted <= fwer, fwer=fwer)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenjaminiHochbergResult:
    """Adjusted p-values in the order given, ``None`` for a member without a test; ``n_tests`` counts the others."""

    p_adjusted: tuple[float | None, ...]
    rejected: tuple[bool | None, ...]
    n_tests: int
    fdr: float


def benjamini_hochberg(p_values: Sequence[float | None], *, fdr: float = 0.05) -> BenjaminiHochbergResult:
    """Adjust p-values so that the expected share of false rejections is at most ``fdr``.

    The k-th smallest of n p-values is multiplied by n / k; an adjusted value is never larger than
    one after it, nor than 1. Holds for independent tests and for positively dependent ones.

    Parameters
    ----------
    p_values : sequence of float or None, shape (n,)
        The family, raw p-values in [0, 1]; ``None`` is a member that could not be tested: it is left
        out and does not count. NaN is refused.
    fdr : float
        False discovery rate.

    Returns
    -------
    BenjaminiHochbergResult
        A hypothesis is rejected when its adjusted value is at most ``fdr``.

    Raises
    ------
    ValueError
        When a value does not lie in [0, 1].

    References
    ----------
    Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate. Journal of the Royal
    Statistical Society B, 57(1), 289-300.

    >>> benjamini_hochberg([0.01, None, 0.04, 0.03]).p_adjusted
    (0.03, None, 0.04, 0.04)
    """
    return _step_up(p_values, fdr, lambda n: 1.0)


def benjamini_yekutieli(p_values: Sequence[float | None], *, fdr: float = 0.05) -> BenjaminiHochbergResult:
    """Adjust p-values as Benjamini-Hochberg does, but right under any dependence between the tests.

    The k-th smallest of n p-values is multiplied by c(n) n / k with c(n) = 1 + 1/2 + ... + 1/n.

    Parameters
    ----------
    p_values : sequence of float or None, shape (n,)
        The family, as for :func:`benjamini_hochberg`.
    fdr : float
        False discovery rate.

    Returns
    -------
    BenjaminiHochbergResult
        A hypothesis is rejected when its adjusted value is at most ``fdr``.

    Raises
    ------
    ValueError
        When a value does not lie in [0, 1].

    References
    ----------
    Benjamini, Y. and Yekutieli, D. (2001). The control of the false discovery rate in multiple testing
    under dependency. Annals of Statistics, 29(4), 1165-1188, theorem 1.3.

    >>> benjamini_yekutieli([0.01, None, 0.04]).p_adjusted
    (0.03, None, 0.06)
    """
    return _step_up(p_values, fdr, lambda n: math.fsum(1 / k for k in range(1, n + 1)))


def _step_up(p_values: Sequence[float | None], fdr: float, factor: Callable[[int], float]) -> BenjaminiHochbergResult:
    tested = [place for place, p_value in enumerate(p_values) if p_value is not None]
    values = np.array([p_value for p_value in p_values if p_value is not None], dtype=np.float64)
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError(f"p-values must lie in [0, 1], got {values.tolist()}")
    n = len(values)
    order = np.argsort(values, kind="stable")
    steps = values[order] * (n * factor(n)) / np.arange(1, n + 1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0)
    by_place = dict(zip(tested, adjusted.tolist(), strict=True))
    listed = tuple(by_place.get(place) for place in range(len(p_values)))
    rejected = tuple(None if value is None else value <= fdr for value in listed)
    return BenjaminiHochbergResult(p_adjusted=listed, rejected=rejected, n_tests=n, fdr=fdr)


class RowWithTest(Protocol):
    """A row of results with one test."""

    @property
    def group(self) -> str: ...  # noqa: D102

    @property
    def criterion(self) -> str: ...  # noqa: D102

    @property
    def p_value(self) -> float | None: ...  # noqa: D102

    @property
    def effect(self) -> float: ...  # noqa: D102


Row = TypeVar("Row", bound=RowWithTest)


def with_verdicts(
    rows: Sequence[Row], *, fwer: float, family: str, lower_is_better: frozenset[str] = frozenset()
) -> list[Row]:
    """Correct the tests of one source family by family, and say what each found.

    Parameters
    ----------
    rows : sequence of rows
        Tests of one source; a row whose ``p_value`` is ``None`` joins no family.
    fwer : float
        Familywise error rate of each family.
    family : {"criterion", "all"}
        A family is all tests of a group and criterion, or of a group.
    lower_is_better : frozenset of str
        Criteria for which a positive effect speaks for y.

    Returns
    -------
    list of rows
        With ``p_adjusted``, ``n_tests`` (size of the family), ``stars`` and ``verdict``.
    """
    families: dict[Hashable, list[int]] = {}
    for place, row in enumerate(rows):
        if row.p_value is not None:
            key = (row.group, row.criterion) if family == "criterion" else row.group
            families.setdefault(key, []).append(place)
    done = list(rows)
    for members in families.values():
        p_values = [p for p in (rows[place].p_value for place in members) if p is not None]
        result = holm(p_values, fwer=fwer)
        for place, p_adjusted, rejected in zip(members, result.p_adjusted.tolist(), result.rejected, strict=True):
            turned = rows[place].criterion in lower_is_better
            done[place] = _replace(
                rows[place],
                p_adjusted=p_adjusted,
                n_tests=len(members),
                stars=stars(p_adjusted),
                verdict=_verdict(rows[place].effect, bool(rejected), turned),
            )
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


def _replace(row: Row, **changes: Any) -> Row:
    from dataclasses import replace

    update: Callable[..., Row] = replace
    return update(row, **changes)
