"""Intraclass correlations: mean squares where every annotator rated every unit, a mixed model where not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from scipy.special import fdtrc, fdtri

from analysis.agreement.data import Answers, ReliabilityData, reliability_data
from analysis.agreement.result import Agreement, at_whole, no_answer, undefined
from analysis.statistics.checks import check_level
from analysis.statistics.reasons import Reason, why

if TYPE_CHECKING:
    from analysis.agreement.variance_components import Annotators, UnitShare

Form = Literal["icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k"]
MOST_ANNOTATORS = 200  # whose effects are modelled: a step costs the cube
NOISE = 1e-14  # a mean square this small beside the answers' own spread is rounding
EXACT = "F interval"
FORMS: tuple[Form, ...] = get_args(Form)
MODELS: dict[str, Annotators] = {"1": "absent", "2": "random", "3": "fixed"}
Bounds = tuple[float, float]


def icc(
    answers: Answers,
    *,
    form: Form,
    criterion: str | None = None,
    mapping: Mapping[str, str] | None = None,
    confidence: float = 0.95,
) -> Agreement:
    """Return an intraclass correlation with its interval.

    Complete tables, n units by k annotators, with the mean squares of units MSR, annotators MSC, residual MSE and
    within units MSW:

    - icc1 = (MSR - MSW) / (MSR + (k - 1) MSW), annotators differ from unit to unit;
    - icc2 = (MSR - MSE) / (MSR + (k - 1) MSE + k (MSC - MSE) / n), annotators are a sample, absolute agreement;
    - icc3 = (MSR - MSE) / (MSR + (k - 1) MSE), these annotators only, consistency;
    - icc1k, icc2k, icc3k: the same for the mean of k annotators.

    With missing cells the same quantities come from variance components estimated by REML (units random; annotators
    absent, random or fixed), and k is the harmonic mean of the answers a unit has.

    Parameters
    ----------
    answers : array of shape (n_units, n_annotators), tidy frame or ReliabilityData
        NaN, or no row, where an answer is missing.
    form : {"icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k"}
        Which one (Shrout and Fleiss' names; McGraw and Wong's ICC(1), ICC(A,1), ICC(C,1), then of k).
    criterion, mapping
        As for :func:`reliability_data`.
    confidence : float
        Level of the interval: from the F distribution where complete, else by profile likelihood.

    Returns
    -------
    Agreement
        1: all differences are between units. Complete tables may give values below 0, REML does not.

    Notes
    -----
    Time and memory O(units x annotators) where complete; with missing cells O(annotators^3) an iteration.

    References
    ----------
    Shrout, P. E. and Fleiss, J. L. (1979). Intraclass correlations. Psychological Bulletin, 86(2), 420-428.
    McGraw, K. O. and Wong, S. P. (1996). Forming inferences about some intraclass correlation coefficients.
    Psychological Methods, 1(1), 30-46 (tables 4 and 7; correction 1(4), 390).

    Examples
    --------
    >>> table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> round(icc(table, form="icc2k").value, 2)
    0.62
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    check_level("confidence", confidence)
    data = reliability_data(answers, criterion=criterion, mapping=mapping)
    return every_icc(data, confidence=confidence, forms=(form,))[0]


def every_icc(data: ReliabilityData, *, confidence: float, forms: Sequence[Form] = FORMS) -> tuple[Agreement, ...]:
    """Return several forms at the cost of fitting each model once."""
    reason = no_answer(data)
    if reason:
        return tuple(undefined(form, data, reason) for form in forms)
    if len(data.value) == data.n_units * data.n_annotators:
        squares = mean_squares(data.matrix())
        return tuple(_complete(data, form, squares, confidence) for form in forms)
    # complete tables, the usual case, need none of it
    from analysis.agreement.variance_components import fit_share, sufficient_sums

    models = {MODELS[form[3]] for form in forms if form[3] == "1" or data.n_annotators <= MOST_ANNOTATORS}
    sums = sufficient_sums(data, annotators=models != {"absent"})
    shares = {model: fit_share(sums, model, confidence=confidence) for model in sorted(models)}
    return tuple(_incomplete(data, form, shares.get(MODELS[form[3]]), confidence) for form in forms)


def mean_squares(table: np.ndarray) -> tuple[float, float, float, float]:
    """Return the mean squares of rows, columns, residual and within rows of a complete table.

    >>> [round(square, 2) for square in mean_squares(np.array([[1.0, 2.0], [3.0, 5.0]]))]
    [6.25, 2.25, 0.25, 1.25]
    """
    n, k = table.shape
    away = table - table.mean()
    rows, columns = away.mean(axis=1), away.mean(axis=0)
    ssr, ssc = k * float(rows @ rows), n * float(columns @ columns)
    away -= rows[:, None]
    ssw = float(np.einsum("ij,ij->", away, away))
    away -= columns
    sse = float(np.einsum("ij,ij->", away, away))
    floor = NOISE * (ssr + ssw)
    ssr, ssc, sse, ssw = (0.0 if square < floor else square for square in (ssr, ssc, sse, ssw))
    return ssr / (n - 1), ssc / (k - 1), sse / ((n - 1) * (k - 1)), ssw / (n * (k - 1))


def _complete(
    data: ReliabilityData, form: Form, squares: tuple[float, float, float, float], confidence: float
) -> Agreement:
    n, k = data.n_units, data.n_annotators
    value = _value(form, n, k, *squares)
    if value is None:
        return undefined(form, data, why("means_alike"), k=k)
    bounds = _bounds(form, n, k, *squares, confidence=confidence)
    return Agreement(
        measure=form,
        value=value,
        ci_low=bounds[0] if bounds else None,
        ci_high=bounds[1] if bounds else None,
        n_items=n,
        n_annotators=k,
        interval=EXACT if bounds else None,
        reason=None if bounds else why("no_interval_no_rest"),
        settings={"estimator": "mean squares", "k": k, "confidence": confidence},
    )


def _value(form: Form, n: int, k: int, msr: float, msc: float, mse: float, msw: float) -> float | None:
    between = {"1": msr - msw, "2": msr - mse, "3": msr - mse}[form[3]]
    total = {
        "icc1": msr + (k - 1) * msw,
        "icc2": msr + (k - 1) * mse + k * (msc - mse) / n,
        "icc3": msr + (k - 1) * mse,
        "icc1k": msr,
        "icc2k": msr + (msc - mse) / n,
        "icc3k": msr,
    }[form]
    return float(at_whole(np.float64(between / total))) if total > 0 else None


def _bounds(
    form: Form, n: int, k: int, msr: float, msc: float, mse: float, msw: float, *, confidence: float
) -> Bounds | None:
    level = (1 + confidence) / 2
    if form.startswith("icc2"):
        if mse == 0 or msr == 0:
            return None
        single = _bounds_agreement(n, k, msr, msc, mse, level)
    else:
        rest, df = (msw, n * (k - 1)) if form.startswith("icc1") else (mse, (n - 1) * (k - 1))
        if rest == 0 or msr == 0:
            return None
        ratio = msr / rest
        low, high = ratio / fdtri(n - 1, df, level), ratio * fdtri(df, n - 1, level)
        single = (float((low - 1) / (low + k - 1)), float((high - 1) / (high + k - 1)))
    if not -1 / (k - 1) < single[0] <= single[1]:
        return None  # Satterthwaite's approximation breaks down where units differ less than by chance
    return (stepped_up(single[0], k), stepped_up(single[1], k)) if form.endswith("k") else single


def _bounds_agreement(n: int, k: int, msr: float, msc: float, mse: float, level: float) -> Bounds:
    """Return the interval of icc2, with Satterthwaite's degrees of freedom (McGraw and Wong, table 7)."""
    value = (msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n)
    a, b = k * value / (n * (1 - value)), 1 + k * value * (n - 1) / (n * (1 - value))
    df = (a * msc + b * mse) ** 2 / ((a * msc) ** 2 / (k - 1) + (b * mse) ** 2 / ((n - 1) * (k - 1)))
    lower, upper = float(fdtri(n - 1, df, level)), float(fdtri(df, n - 1, level))
    rest = k * msc + (k * n - k - n) * mse
    return (n * (msr - lower * mse) / (lower * rest + n * msr), n * (upper * msr - mse) / (rest + n * upper * msr))


def stepped_up(value: float, k: float) -> float:
    """Return the reliability of the mean of k annotators (Spearman and Brown).

    >>> stepped_up(0.5, 3)
    0.75
    """
    return k * value / (1 + (k - 1) * value)


def _incomplete(data: ReliabilityData, form: Form, found: UnitShare | None, confidence: float) -> Agreement:
    if found is None:
        return undefined(form, data, why("too_many_annotators_incomplete", most=MOST_ANNOTATORS))
    k = float(data.n_units / np.sum(1 / data.sizes))
    settings: dict[str, Any] = {"estimator": "mixed model (REML)", "k": k, "confidence": confidence}
    if found.reason is not None:
        return undefined(form, data, found.reason, **settings)
    values = [found.value, found.low, found.high]
    if form.endswith("k"):
        values = [stepped_up(value, k) for value in values]
    return Agreement(
        measure=form,
        value=values[0],
        ci_low=values[1],
        ci_high=values[2],
        n_items=data.n_pairable,
        n_annotators=data.n_annotators,
        interval="profile likelihood",
        settings={**settings, "annotators": found.annotators},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ICCTest:
    """F test that units do not differ, beside an ICC of a complete table; ``reason`` where there is none."""

    form: Form
    f: float | None
    df1: int | None
    df2: int | None
    p_value: float | None
    reason: Reason | None = None


def icc_test(
    answers: Answers, *, form: Form, criterion: str | None = None, mapping: Mapping[str, str] | None = None
) -> ICCTest:
    """Test whether an intraclass correlation is above 0.

    F = MSR / MSW with n - 1 and n (k - 1) degrees of freedom for icc1 and icc1k, F = MSR / MSE with n - 1 and
    (n - 1)(k - 1) for the others; the p-value is that of a larger F. Whether units differ at all is a low bar: read
    the interval of :func:`icc` instead.

    Parameters
    ----------
    answers, form, criterion, mapping
        As for :func:`icc`; every annotator must have answered every unit.

    References
    ----------
    McGraw, K. O. and Wong, S. P. (1996). Psychological Methods, 1(1), 30-46, table 8 (rho = 0).

    >>> table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> found = icc_test(table, form="icc3")
    >>> round(found.f, 2), found.df1, found.df2, round(found.p_value, 5)
    (11.03, 5, 15, 0.00013)
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    data = reliability_data(answers, criterion=criterion, mapping=mapping)
    n, k = data.n_units, data.n_annotators
    reason = no_answer(data)
    if reason is None and len(data.value) != n * k:
        reason = why("cells_missing")
    squares = None if reason else mean_squares(data.matrix())
    rest = 0.0 if squares is None else squares[3] if form[3] == "1" else squares[2]
    if reason is None and rest == 0:
        reason = why("no_variation_within_units")
    if squares is None or reason is not None:
        return ICCTest(form=form, f=None, df1=None, df2=None, p_value=None, reason=reason)
    df2 = n * (k - 1) if form[3] == "1" else (n - 1) * (k - 1)
    ratio = squares[0] / rest
    return ICCTest(form=form, f=ratio, df1=n - 1, df2=df2, p_value=float(fdtrc(n - 1, df2, ratio)))
