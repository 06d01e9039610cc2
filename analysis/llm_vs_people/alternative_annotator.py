"""May an LLM stand in for an annotator? The alternative-annotator test of Calderon, Reichart and Dror (2025)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import stdtr

from analysis.comparisons.sides import PeopleKind
from analysis.llm_vs_people.clustered import cluster_codes
from analysis.statistics.checks import check_one_of
from analysis.statistics.coding import Floats, Folded, Ints, fold, scale_of, snap
from analysis.statistics.corrections import adjust
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Probability, Record, names_of

Truths = np.ndarray[Any, np.dtype[np.bool_]]
Scoring = Literal["accuracy", "neg_rmse"]
UnitSource = Literal["ratings", "choices"]
ENOUGH_UNITS = 30
ENOUGH_ANNOTATORS = 3
MAJORITY = 0.5
T_TEST, EXACT_BOUND = "one-sided t", "exact bound"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AnnotatorComparison(Record):
    """One person left out, and how well the LLM and this person agree with the other people.

    ``llm_advantage`` is the share of units on which the LLM scores at least as well as the person,
    ``person_advantage`` the share on which the person scores at least as well as the LLM.
    """

    annotator_id: str
    n_units: Count
    n_clusters: Count | None = None
    llm_advantage: Probability | None
    person_advantage: Probability | None
    test: str | None = None
    t: float | None = None
    p_value: Probability | None
    p_adjusted: Probability | None
    won: bool | None
    reason: Reason | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeAnnotatorTest:
    """Winning rate and verdict; ``passes`` is null with a ``reason`` where the test cannot be run."""

    scoring: Scoring
    epsilon: float
    fdr: float
    n_units: int
    n_annotators: int
    winning_rate: float | None
    advantage_probability: float | None
    passes: bool | None
    annotators: tuple[AnnotatorComparison, ...]
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AlternativeAnnotatorRow(Record):
    """Test of one LLM on one criterion, a row of ``llm_vs_people.alternative_annotator``."""

    people: PeopleKind
    group: str
    criterion: str
    source: UnitSource = "ratings"
    scoring: Scoring | None = None
    epsilon: Probability | None
    fdr: Probability | None
    n_units: Count | None = None
    n_annotators: Count
    """People who share enough items."""
    n_left_out: Count | None = None
    winning_rate: Probability | None
    advantage_probability: Probability | None
    passes: bool | None
    annotators: tuple[AnnotatorComparison, ...]
    """Each person left out in turn."""
    reason: Reason | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LongAnswers:
    """People's answers, one row an answer, beside the LLM's answer to the same unit.

    ``value`` and ``llm`` hold numbers, or codes of labels for ``accuracy``; ``cluster`` numbers what
    hangs together (the item, where several systems' outputs of it were rated).
    """

    unit: Ints
    annotator: Ints
    cluster: Ints
    value: Floats
    llm: Floats
    annotator_ids: tuple[str, ...]


def alternative_annotator_test(
    people: Any,
    llm: Any,
    *,
    scoring: Scoring,
    epsilon: float,
    fdr: float = 0.05,
    clusters: Any = None,
    annotator_ids: Sequence[str] | None = None,
    min_units: int = ENOUGH_UNITS,
    min_annotators: int = ENOUGH_ANNOTATORS,
) -> AlternativeAnnotatorTest:
    """Test whether an LLM may stand in for the people who annotated.

    Each person j is left out in turn. On each unit i that j, the LLM and at least one other person
    answered, S scores the agreement with the others: ``accuracy`` is the share of others with the same
    answer, ``neg_rmse`` is -sqrt(mean of squared differences). With W_f = 1{S(LLM) >= S(j)} and
    W_h = 1{S(j) >= S(LLM)}, rho_f and rho_h their means and d = W_h - W_f, the hypothesis
    H0: rho_f <= rho_h - epsilon is tested by t = (mean d - epsilon) / SE, one-sided (small t speaks for
    the LLM). After Benjamini-Yekutieli at ``fdr``, the winning rate omega is the share of people for
    whom H0 is rejected; the LLM passes where omega >= 0.5. The average advantage probability, the mean
    of rho_f, compares LLMs.

    Two things go beyond the paper. SE is clustered where ``clusters`` are given (else it is the plain
    one). Where all d are equal the t-test has no standard error: if no unit speaks for the person, H0
    is tested by the exact bound p = (1 - epsilon)^G, since under H0 a unit (cluster) speaks for the
    person with probability of at least epsilon; if every unit does, p = 1.

    Parameters
    ----------
    people : array, shape (n_units, n_annotators)
        Answers of people; NaN (None for labels) where one is missing. A column must be one person: a
        slot that many people filled compares the LLM with a mixture of them.
    llm : array, shape (n_units,)
        The LLM's answers, NaN (None) where missing.
    scoring : {"accuracy", "neg_rmse"}
        For labels, and for numbers.
    epsilon : float
        Advantage that people are made to give away because the LLM is cheaper; to be chosen before the
        answers are seen. The paper suggests 0.2 for experts, 0.15 for skilled annotators, 0.1 for crowds.
    fdr : float
        Error rate q of Benjamini-Yekutieli.
    clusters : array of ids, shape (n_units,), optional
        Units of one cluster hang together.
    annotator_ids : sequence of str, optional
        Names of the columns.
    min_units : int
        Units (clusters) that a person needs to be compared with, 30 in the paper.
    min_annotators : int
        People needed for a verdict, 3 as the paper advises.

    Returns
    -------
    AlternativeAnnotatorTest

    Raises
    ------
    ValueError
        Shapes that do not fit, an infinite value, or an epsilon outside [0, 1).

    References
    ----------
    Calderon, N., Reichart, R. and Dror, R. (2025). The Alternative Annotator Test for LLM-as-a-Judge.
    ACL 2025, 16051-16081, section 3; arXiv 2501.10970.
    """
    check_one_of("scoring", scoring, get_args(Scoring))
    table = np.asarray(people, dtype=object if scoring == "accuracy" else np.float64)
    answers = np.asarray(llm, dtype=table.dtype)
    if table.ndim != 2 or answers.shape != table.shape[:1]:
        raise ValueError(f"people (units x annotators) and llm (units) do not fit: {table.shape}, {answers.shape}")
    there = ~_absent(table) & ~_absent(answers)[:, None]
    ids = tuple(annotator_ids) if annotator_ids else tuple(str(place + 1) for place in range(table.shape[1]))
    if len(ids) != table.shape[1]:
        raise ValueError(f"expected {table.shape[1]} annotator_ids, one a column, got {len(ids)}")
    unit, annotator = (place.astype(np.int64) for place in np.nonzero(there))
    (cluster,) = cluster_codes(clusters, len(answers))
    value, of_llm = table[there], answers[unit]
    if scoring == "accuracy":
        labels = {label: float(code) for code, label in enumerate(dict.fromkeys([*value, *of_llm]))}
        value, of_llm = (np.array([labels[label] for label in column], dtype=np.float64) for column in (value, of_llm))
    if not (np.isfinite(value).all() and np.isfinite(of_llm).all()):
        raise ValueError("answers must be finite; NaN marks a missing one")
    rows = LongAnswers(
        unit=unit, annotator=annotator, cluster=cluster[unit], value=value, llm=of_llm, annotator_ids=ids
    )
    return compare_with_each_annotator(
        rows, scoring=scoring, epsilon=epsilon, fdr=fdr, min_units=min_units, min_annotators=min_annotators
    )


def compare_with_each_annotator(
    rows: LongAnswers,
    *,
    scoring: Scoring,
    epsilon: float,
    fdr: float,
    min_units: int = ENOUGH_UNITS,
    min_annotators: int = ENOUGH_ANNOTATORS,
) -> AlternativeAnnotatorTest:
    """Run :func:`alternative_annotator_test` on long rows; cost grows with the number of answers."""
    closer, shared = _closer(rows, scoring)
    own = fold(rows.annotator[shared], rows.cluster[shared])
    size = np.bincount(own.of)
    worse, better = (np.bincount(own.of[(closer == side)[shared]], minlength=len(own)) for side in (-1, 1))
    annotator = rows.annotator[shared][own.first]
    counts = {"n": size, "worse": worse, "better": better, "clusters": size > 0, **cluster_sums(size, worse - better)}
    k = len(rows.annotator_ids)
    added = {name: np.bincount(annotator, weights=of, minlength=k).astype(np.int64) for name, of in counts.items()}
    return compare_sums(
        AnnotatorSums(n_units=len(np.unique(rows.unit[shared])), **added),
        rows.annotator_ids,
        scoring=scoring,
        epsilon=epsilon,
        fdr=fdr,
        min_units=min_units,
        min_annotators=min_annotators,
    )


def _closer(rows: LongAnswers, scoring: Scoring) -> tuple[Ints, Truths]:
    """Return who is closer to a person's others (1: the LLM, -1: the person), and which answers have others."""
    units = fold(rows.unit)
    n = np.bincount(units.of)[units.of]
    closer = _closer_label(rows, units) if scoring == "accuracy" else _closer_number(rows, units, n)
    return closer, n > 1


def differences_by_person(rows: LongAnswers, *, scoring: Scoring) -> dict[str, tuple[Ints, Ints]]:
    """Return W_h - W_f of each person's answers that others answered, too, and their clusters."""
    closer, shared = _closer(rows, scoring)
    found = {}
    for number, name in enumerate(rows.annotator_ids):
        own = shared & (rows.annotator == number)
        found[name] = -closer[own], rows.cluster[own]
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnnotatorSums:
    """What the test needs, one number a person but for ``n_units``, the units that two people and the LLM answered.

    Attributes
    ----------
    n, worse, better, clusters : array of int
        Units shared with others and the LLM, those on which the LLM scores worse and better than the person, and their
        clusters.
    squares, products, sizes : array of int
        Of each cluster (worse - better)², (worse - better) n and n², added up.
    """

    n_units: int
    n: Ints
    worse: Ints
    better: Ints
    clusters: Ints
    squares: Ints
    products: Ints
    sizes: Ints


def cluster_sums(size: Any, difference: Any) -> dict[str, Any]:
    """Return what the clusters of a person add to ``squares``, ``products`` and ``sizes``."""
    return {"squares": difference * difference, "products": difference * size, "sizes": size * size}


def compare_sums(
    sums: AnnotatorSums,
    annotator_ids: Sequence[str],
    *,
    scoring: Scoring,
    epsilon: float,
    fdr: float,
    min_units: int = ENOUGH_UNITS,
    min_annotators: int = ENOUGH_ANNOTATORS,
) -> AlternativeAnnotatorTest:
    """Run :func:`alternative_annotator_test` on sums; cost grows with the number of people."""
    if not 0 <= epsilon < 1:
        raise ValueError(f"epsilon must lie in [0, 1), got {epsilon!r}")
    columns = (getattr(sums, name).tolist() for name in names_of(AnnotatorSums)[1:])
    compared = [
        _compare(name, *own, epsilon=epsilon, min_units=min_units)
        for name, *own in zip(annotator_ids, *columns, strict=True)
    ]
    adjusted = adjust([one.p_value for one in compared], correction="by", rate=fdr)
    done = tuple(
        replace(one, p_adjusted=p_adjusted, won=won)
        for one, p_adjusted, won in zip(compared, adjusted.p_adjusted, adjusted.rejected, strict=True)
    )
    tested = [one for one in done if one.won is not None]
    enough = len(tested) >= min_annotators
    rate = sum(bool(one.won) for one in tested) / len(tested) if enough else None
    advantages = [one.llm_advantage for one in tested if one.llm_advantage is not None]
    return AlternativeAnnotatorTest(
        scoring=scoring,
        epsilon=epsilon,
        fdr=fdr,
        n_units=sums.n_units,
        n_annotators=len(tested),
        winning_rate=rate,
        advantage_probability=sum(advantages) / len(advantages) if advantages else None,
        passes=None if rate is None else rate >= MAJORITY,
        annotators=done,
        reason=None if enough else why("few_annotators_sharing", n=len(tested), items=min_units, needed=min_annotators),
    )


def _closer_label(rows: LongAnswers, units: Folded) -> Ints:
    """Return 1 where more of the person's others agree with the LLM than with the person, -1 where fewer."""
    both = fold(np.tile(units.of, 2), np.unique(np.concatenate([rows.value, rows.llm]), return_inverse=True)[1])
    size = len(rows.value)
    same = np.bincount(both.of[:size], minlength=len(both))
    of_llm = same[both.of[size:]] - (rows.llm == rows.value)
    closer: Ints = np.sign(of_llm - (same[both.of[:size]] - 1)).astype(np.int64)
    return closer


def _closer_number(rows: LongAnswers, units: Folded, n: Ints) -> Ints:
    middle = float(rows.value.mean()) if len(rows.value) else 0.0  # sums lose no digits to a far-off mean
    value, llm = rows.value - middle, rows.llm - middle
    total = np.bincount(units.of, weights=value)[units.of].astype(np.float64)
    return closer_to_others(value, llm, total, n, scale=max(scale_of(value), scale_of(llm)))


def closer_to_others(value: Floats, llm: Floats, total: Floats, n: Ints, *, scale: float) -> Ints:
    """Return 1 where the LLM has the smaller mean squared distance from a person's others, -1 where the person has.

    The sum over the m others x of (llm - x)² - (value - x)² is (llm - value) (m (llm + value) - 2 sum of x). ``total``
    and ``n`` are of all people's answers to the unit.

    >>> closer_to_others(np.array([5.0]), np.array([3.0]), np.array([7.0]), np.array([2]), scale=5.0).tolist()
    [1]
    """
    away = snap(llm - value, scale=scale)
    beyond = snap((llm + value) - 2 * (total - value) / np.maximum(n - 1, 1), scale=scale)
    return (-np.sign(away) * np.sign(beyond)).astype(np.int64)


def _compare(
    name: str,
    n: int,
    worse: int,
    better: int,
    clusters: int,
    squares: int,
    products: int,
    sizes: int,
    *,
    epsilon: float,
    min_units: int,
) -> AnnotatorComparison:
    test, t, p_value, reason = None, None, None, None
    difference = worse - better  # n (W_h - W_f)
    if clusters < min_units:
        reason = why("few_shared_items", n=clusters, needed=min_units)
    elif abs(difference) == n or not (worse or better):
        test, p_value = EXACT_BOUND, 1.0 if difference > 0 else (1 - epsilon) ** clusters
    else:
        # n² times the squared distances of the clusters' sums from their size times the mean: in whole numbers, exact
        rest = n**2 * squares - 2 * n * difference * products + difference**2 * sizes
        if rest:
            se = math.sqrt(clusters / (clusters - 1) * rest) / n**2
            test, t = T_TEST, (difference / n - epsilon) / se
            p_value = float(stdtr(clusters - 1, t))
        else:
            reason = why("items_alike")
    return AnnotatorComparison(
        annotator_id=name,
        n_units=n,
        n_clusters=clusters,
        llm_advantage=1 - worse / n if n else None,
        person_advantage=1 - better / n if n else None,
        test=test,
        t=t,
        p_value=p_value,
        p_adjusted=None,
        won=None,
        reason=reason,
    )


def _absent(values: np.ndarray[Any, Any]) -> Truths:
    if values.dtype != object:
        empty: Truths = np.isnan(values)
        return empty
    missing = [value is None or value != value for value in values.ravel().tolist()]  # only NaN differs from itself
    return np.array(missing, dtype=np.bool_).reshape(values.shape)
