"""What cannot be analysed is refused in one line or null with a reason: never a NaN, never a crash."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest

import analysis
from analysis import Plan, Scale
from analysis.correlations import PairedScores
from spa import AnalysisError

NAN, INF = math.nan, math.inf
Columns = dict[str, list[Any]]
PREFERENCES: Columns = {
    "annotator_id": ["a", "b", "c", "d"],
    "system_x": ["s"] * 4,
    "system_y": ["t"] * 4,
    "preference": [0.7, 0.6, 0.8, 0.65],
}
RATINGS: Columns = {
    "annotator_id": ["a", "a", "b", "b"] * 2,
    "item_id": ["1"] * 4 + ["2"] * 4,
    "system": ["s", "t"] * 4,
    "score": [5, 3, 4, 4, 2, 3, 4, 1],
}
CHOICES: Columns = {
    "annotator_id": ["a", "a", "b", "b"],
    "item_id": ["1", "2", "1", "2"],
    "system_x": ["s"] * 4,
    "system_y": ["t"] * 4,
    "winner": ["x", "y", "tie", "x"],
}
OF_ALL = ("system_strengths", "rankings", "bradley_terry", "excluded")
OF_PREFERENCES = ("preference_tests", "preference_directions", *OF_ALL)
OF_CHOICES = ("choice_tests", *OF_ALL)
OF_RATINGS = ("rating_means", "rating_tests", "agreement_measures", "rating_correlations", *OF_ALL)
COEFFICIENTS: dict[str, dict[str, Any]] = {
    "krippendorff_alpha": {"level": "interval"},
    "icc": {"form": "icc2"},
    "icc_test": {"form": "icc2"},
    "gwet_ac1": {},
    "gwet_ac2": {"weights": "linear"},
    "cohen_kappa": {},
    "fleiss_kappa": {},
    "exact_agreement": {},
    "mean_kendall_tau": {},
    "pairwise_agreement": {},
}
WITH_INTERVAL = [name for name in COEFFICIENTS if name not in {"icc_test", "mean_kendall_tau", "pairwise_agreement"}]
REFUSED_PREFERENCES = {
    "percent": (
        {"preference": [70, 60, 80, 65]},
        r"\[0, 1\] \(divide percentages by 100\), got '70'",
    ),
    "negative": ({"preference": [-0.1, 0.6, 0.8, 0.6]}, r"must lie in \[0, 1\]"),
    "a system against itself": ({"system_y": ["s"] * 4}, "system_x and system_y must be two systems"),
    "a cell twice": ({"annotator_id": ["a"] * 4}, "expected one answer a cell, got 4"),
    "infinite": ({"preference": [INF, 0.6, 0.8, 0.6]}, "preference must be finite"),
    "a word": ({"preference": ["high", "0.6", "0.8", "0.6"]}, "must be a number"),
    "an unknown kind": (
        {"annotator_kind": ["robot"] * 4},
        "must be human, llm or simulated, got 'robot'",
    ),
    "nobody": ({"annotator_id": [None, "b", "c", "d"]}, "annotator_id must not be empty"),
    "merged cells": ({"annotator_id": ["a", None, "c", None]}, "got nothing; where a name stands in the first of its"),
    "no rows": ({name: [] for name in PREFERENCES}, "no rows"),
}
REFUSED_RATINGS = {
    "off the scale": ({"score": [9, 3, 4, 4, 2, 3, 4, 1]}, r"score must lie in \[1, 5\]"),
    "a cell twice": ({"item_id": ["1"] * 8}, "expected one answer a cell, got 2"),
    "infinite": ({"score": [INF, 3, 4, 4, 2, 3, 4, 1]}, "score must be finite"),
    "beyond floating point": ({"score": [1e300, 3, 4, 4, 2, 3, 4, 1]}, "to be squared|must lie in"),
    "below floating point": ({"score": [1e-300, 3, 4, 4, 2, 3, 4, 1]}, "to be squared|must lie in"),
    "words": ({"score": ["good"] * 8}, "must be a number"),
    "an unknown kind": ({"annotator_kind": ["robot"] * 8}, "annotator_kind must be"),
    "no rows": ({name: [] for name in RATINGS}, "no rows"),
}
REFUSED_CHOICES = {
    "an unknown winner": ({"winner": ["both"] * 4}, "winner must be x, y or tie"),
    "a system against itself": ({"system_y": ["s"] * 4}, "must be two systems"),
    "a cell twice": ({"item_id": ["1"] * 4}, "expected one answer a cell, got 2"),
    "an unknown kind": ({"annotator_kind": ["robot"] * 4}, "annotator_kind must be"),
    "no rows": ({name: [] for name in CHOICES}, "no rows"),
}
REASONS = ("reason", "reasons", "no_interval", "interval_reason")
NEEDS_REASON = ("p_value", "value", "strength", "kendall_tau", "t", "mean", "d_z")


def nameless(found: Any, explained: bool = False) -> Iterator[str]:
    """Yield the places of a result that are NaN, infinite, or null without a reason beside them."""
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        cells = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
        told = any(cells.get(name) and any(np.atleast_1d(cells[name])) for name in REASONS)
        for name, cell in cells.items():
            if cell is None and name in NEEDS_REASON and not told:
                yield f"{name} is null without a reason"
            yield from nameless(cell, told)
    elif isinstance(found, Mapping):
        for cell in found.values():
            yield from nameless(cell, explained)
    elif isinstance(found, list | tuple):
        for cell in found:
            yield from nameless(cell, explained)
    elif isinstance(found, np.ndarray) and found.dtype.kind == "f":
        if not explained and not np.isfinite(found).all():
            yield f"{found}"
    elif isinstance(found, float) and not math.isfinite(found) and not explained:
        yield f"{found}"


def refused(work: Callable[[], Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match) as raised:
        work()
    lines = raised.value.problems if isinstance(raised.value, AnalysisError) else [str(raised.value)]
    assert all(line and "\n" not in line for line in lines)


def frame_of(good: Columns, changed: Mapping[str, Any]) -> pl.DataFrame:
    columns = {**good, **changed}
    shortest = min(len(column) for column in columns.values())
    return pl.DataFrame({name: column[:shortest] for name, column in columns.items()}, strict=False)


@pytest.mark.parametrize("name", OF_PREFERENCES)
@pytest.mark.parametrize(("changed", "match"), REFUSED_PREFERENCES.values(), ids=REFUSED_PREFERENCES)
def test_preferences_that_are_refused(name: str, changed: Columns, match: str) -> None:
    refused(lambda: getattr(analysis, name)(frame_of(PREFERENCES, changed)), AnalysisError, match)


@pytest.mark.parametrize("name", OF_RATINGS)
@pytest.mark.parametrize(("changed", "match"), REFUSED_RATINGS.values(), ids=REFUSED_RATINGS)
def test_ratings_that_are_refused(name: str, changed: Columns, match: str) -> None:
    refused(lambda: getattr(analysis, name)(frame_of(RATINGS, changed), scale=(1, 5)), AnalysisError, match)


@pytest.mark.parametrize("name", OF_CHOICES)
@pytest.mark.parametrize(("changed", "match"), REFUSED_CHOICES.values(), ids=REFUSED_CHOICES)
def test_choices_that_are_refused(name: str, changed: Columns, match: str) -> None:
    refused(lambda: getattr(analysis, name)(frame_of(CHOICES, changed)), AnalysisError, match)


@pytest.mark.parametrize("name", COEFFICIENTS)
@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"item_id": ["1"] * 8}, "expected one answer a cell, got 2"),
        ({name: [] for name in RATINGS}, "no rows"),
        ({"criterion": ["fluency", "relevance"] * 4}, "several criteria"),
    ],
)
def test_frames_that_no_coefficient_takes(name: str, changed: Columns, match: str) -> None:
    work = getattr(analysis, name)
    refused(lambda: work(frame_of(RATINGS, changed), **COEFFICIENTS[name]), AnalysisError, match)
    refused(lambda: work(pl.DataFrame({"score": [1]}), **COEFFICIENTS[name]), AnalysisError, "are missing")


OF_LABELS = ("fleiss_kappa", "exact_agreement", "gwet_ac1")  # which take texts as categories


@pytest.mark.parametrize("name", [name for name in COEFFICIENTS if name not in OF_LABELS])
def test_words_are_no_scores(name: str) -> None:
    words = frame_of(RATINGS, {"score": ["good"] * 8})
    refused(lambda: getattr(analysis, name)(words, **COEFFICIENTS[name]), AnalysisError, "must be a number")


LITTLE: dict[str, tuple[tuple[str, ...], Columns, Columns]] = {
    "one annotator": (OF_PREFERENCES, PREFERENCES, {"preference": [0.7]}),
    "all the same": (OF_PREFERENCES, PREFERENCES, {"preference": [0.7] * 4}),
    "all indifferent": (OF_PREFERENCES, PREFERENCES, {"preference": [0.5] * 4}),
    "nothing but missing": (OF_PREFERENCES[:4], PREFERENCES, {"preference": [None] * 4}),
    "one rating": (OF_RATINGS, RATINGS, {"score": [4]}),
    "one rater": (OF_RATINGS, RATINGS, {"score": [4, 2]}),
    "one item": (OF_RATINGS, RATINGS, {"score": [4, 2, 5, 3]}),
    "equal ratings": (OF_RATINGS, RATINGS, {"score": [3] * 8}),
    "one system": (OF_RATINGS, RATINGS, {"system": ["s"] * 8, "item_id": list("12345678")}),
    "no rating": (OF_RATINGS[:6], RATINGS, {"score": [None] * 8}),
    "one choice": (OF_CHOICES, CHOICES, {"winner": ["x"]}),
    "ties only": (OF_CHOICES, CHOICES, {"winner": ["tie"] * 4}),
    "one wins all": (OF_CHOICES, CHOICES, {"winner": ["x"] * 4}),
    "no choice": (OF_CHOICES[:3], CHOICES, {"winner": [None] * 4}),
}


@pytest.mark.parametrize(("name", "case"), [(name, case) for case, (names, _, _) in LITTLE.items() for name in names])
def test_too_little_to_compute_with_is_null_with_a_reason(name: str, case: str) -> None:
    _, good, changed = LITTLE[case]
    assert list(nameless(getattr(analysis, name)(frame_of(good, changed)))) == []


MATRICES: dict[str, Any] = {
    "one annotator": [[1], [2], [3]],
    "one unit": [[1, 2]],
    "all the same": [[3, 3], [3, 3], [3, 3]],
    "infinite": [[1, 2], [INF, 2], [3, 3]],
    "nothing": [[NAN, NAN], [NAN, NAN]],
    "no unit": np.zeros((0, 2)),
    "no annotator": np.zeros((0, 0)),
    "beyond floating point": [[1e300, 2], [1, 2], [3, 3]],
}


@pytest.mark.parametrize("name", COEFFICIENTS)
@pytest.mark.parametrize("case", MATRICES)
def test_matrices_without_a_coefficient_have_a_reason(name: str, case: str) -> None:
    found = getattr(analysis, name)(MATRICES[case], **COEFFICIENTS[name])
    if name == "pairwise_agreement":
        assert all(pair.reason for pair in found)
        return
    if (name, case) == ("exact_agreement", "all the same"):
        assert found.value == 1
        return
    value = found.f if name == "icc_test" else found.value
    assert (value, bool(found.reason)) == (None, True)


@pytest.mark.parametrize("form", ["icc2", "icc3", "icc2k", "icc3k"])
def test_one_answer_each_leaves_nothing_to_estimate(form: Any) -> None:
    """Annotators who each gave one answer leave nothing to estimate."""
    found = analysis.icc([[4, 1, 1], [4, 1, 1], [4, NAN, 1]], form=form)
    assert (found.value, str(found.reason)) == (None, "each annotator gave one answer only: no variation is left")


@pytest.mark.parametrize("name", WITH_INTERVAL)
@pytest.mark.parametrize("confidence", [0, 1, 2, -1, NAN, INF, None])
def test_a_confidence_lies_between_0_and_1(name: str, confidence: Any) -> None:
    work = getattr(analysis, name)
    table = [[1, 2], [2, 2], [1, 1]]
    refused(lambda: work(table, confidence=confidence, **COEFFICIENTS[name]), ValueError, "confidence must lie between")


@pytest.mark.parametrize("method", ["kendall", "spearman", "pearson"])
@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1], [2]),
        ([1, 2], [2, 1]),
        ([1, 1, 1], [1, 2, 3]),
        ([1, INF, 2], [1, 2, 3]),
        ([1, NAN, 2], [1, 2, 3]),
        ([], []),
    ],
)
def test_lists_without_a_correlation_have_a_reason(method: Any, x: list[float], y: list[float]) -> None:
    found = analysis.correlate(x, y, method=method)
    assert (found.value, found.p_value, bool(found.reason)) == (None, None, True)
    a, b = np.array(x, dtype=np.float64), np.array(y, dtype=np.float64)
    paired = PairedScores(item=np.arange(len(a)), system=np.zeros(len(a), dtype=np.int64), a=a, b=b)
    assert list(nameless(analysis.correlate_levels(paired))) == []


PAIR = np.array([[0.0, 1.0], [1.0, 0.0]])
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "share of 70": (lambda: analysis.bradley_terry(["a"], ["b"], [70]), "percent: divide by 100"),
    "share of NaN": (lambda: analysis.bradley_terry(["a"], ["b"], [NAN]), "must lie in"),
    "infinite share": (lambda: analysis.bradley_terry(["a"], ["b"], [INF]), "must lie in"),
    "against itself": (lambda: analysis.bradley_terry(["a"], ["a"], [1]), "compared with itself"),
    "no id": (lambda: analysis.bradley_terry([None], ["b"], [1]), "ids must not be missing"),
    "lengths": (lambda: analysis.bradley_terry(["a"], ["b", "c"], [1]), "length"),
    "negative wins": (lambda: analysis.fit_bradley_terry(-PAIR, ["a", "b"]), "finite and at least 0"),
    "infinite wins": (
        lambda: analysis.fit_bradley_terry(np.array([[0, INF], [1, 0]]), ["a", "b"]),
        "finite and at least 0",
    ),
    "wins of another shape": (lambda: analysis.fit_bradley_terry(PAIR, ["a"]), "wins must be 1 x 1"),
    "negative ties": (lambda: analysis.fit_davidson(PAIR, -PAIR, ["a", "b"]), "ties must be finite"),
    "p of NaN": (lambda: analysis.holm([NAN]), r"must lie in \[0, 1\]"),
    "p of 2": (lambda: analysis.benjamini_hochberg([2.0]), r"must lie in \[0, 1\]"),
    "r of 2": (lambda: analysis.williams(2, 0.3, 0.2, 30), r"must lie in \[-1, 1\]"),
    "n of NaN": (lambda: analysis.williams(0.4, 0.3, 0.2, NAN), "n must be a whole number"),  # type: ignore[arg-type]
    "n of 3.5": (lambda: analysis.effect_size(mean=0.6, sd=0.3, n=3.5), "whole number"),  # type: ignore[arg-type]
    "sd of NaN": (lambda: analysis.effect_size(mean=0.6, sd=NAN, n=3), "sd must be a finite number"),
    "mean of NaN": (lambda: analysis.effect_size(mean=NAN, sd=0.1, n=3), "mean must be a finite number"),
    "effect of NaN": (lambda: analysis.two_one_sided(NAN, se=0.1, df=9, margin=0.1), "effect must be a finite"),
    "margin of 0": (
        lambda: analysis.two_one_sided(0.1, se=0.1, df=9, margin=0),
        "margin must be a finite number above",
    ),
    "infinite n": (lambda: analysis.t_power(0.5, INF, alpha=0.05), "n must be a finite"),
    "alpha of 2": (lambda: analysis.t_power(0.5, 30, alpha=2), "alpha must lie"),
    "no difference": (lambda: analysis.annotators_needed(NAN, sd=0.3, alpha=0.05), "must be a finite number"),
    "sd of 0": (lambda: analysis.annotators_needed(0.1, sd=0, alpha=0.05), "sd must be above 0"),
    "unknown level": (lambda: analysis.krippendorff_alpha(PAIR, level="x"), "level must be one of"),  # type: ignore[arg-type]
    "unknown form": (lambda: analysis.icc(PAIR, form="x"), "form must be one of"),  # type: ignore[arg-type]
    "unknown weights": (lambda: analysis.cohen_kappa(PAIR, weights="x"), "weights must be one of"),  # type: ignore[arg-type]
    "unknown method": (lambda: analysis.correlate([1], [1], method="x"), "method must be one of"),  # type: ignore[arg-type]
    "unknown unit": (lambda: Plan(unit="page"), "unit must be one of"),  # type: ignore[arg-type]
    "unknown family": (lambda: Plan(family="x"), "family must be one of"),  # type: ignore[arg-type]
    "fwer of NaN": (lambda: Plan(fwer=NAN), "fwer must lie between"),
    "regularisation of 0": (lambda: Plan(regularisation=0), "regularisation must be a finite number above 0"),
    "negative checks": (lambda: Plan(max_failed_checks=-1), "max_failed_checks must be a whole number"),
    "negative seed": (lambda: Plan(seed=-1), "seed must be a whole number"),
    "scale upside down": (lambda: Scale(criterion=None, low=5, high=1), "from a number to a larger one"),
    "scale of NaN": (lambda: Scale(criterion=None, low=NAN, high=1), "from a number to a larger one"),
    "three dimensions": (lambda: analysis.icc(np.zeros((2, 2, 2)), form="icc1"), "2 dimensions"),
    "infinite answers": (lambda: analysis.prediction_powered_mean([INF, 1], [1, 2], [1, 2]), "finite"),
    "huge answers": (lambda: analysis.prediction_powered_mean([1e300, 1], [1, 2], [1, 2]), "1e100"),
    "unknown scoring": (
        lambda: analysis.alternative_annotator_test([[1, 2], [2, 1]], [1, 2], scoring="x", epsilon=0.1),  # type: ignore[arg-type]
        "scoring must be one of",
    ),
    "differences beyond floating point": (lambda: analysis.cohens_d_z([1e300, 1, 2]), "within 1e100"),
    "infinite scores": (lambda: analysis.hedges_g([1, INF], [1, 2]), "scores_x must be finite"),
    "missing scores": (lambda: analysis.superiority([1, NAN], [1, 2]), "leave out what is missing"),
    "scores to standardise": (lambda: analysis.z_scores([1, INF], ["a", "a"]), "scores must be finite"),
    "confidence of a bias": (lambda: analysis.bias_profile([1, 2], [2, 1], confidence=2), "confidence must lie"),
    "confidence of calibration": (
        lambda: analysis.assess_calibration([0.5], [1], confidence=NAN),
        "confidence must lie",
    ),
    "infinite means": (lambda: analysis.rank_table([[INF, 1]], annotators=["a"], systems=["s", "t"]), "finite"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_named_in_one_line(case: str) -> None:
    refused(WRONG[case][0], ValueError, WRONG[case][1])


def test_the_sweep_itself_finds_a_nan() -> None:
    found = analysis.correlate([1, 2, 3], [1, 3, 2])
    assert list(nameless(found)) == []
    assert list(nameless(dataclasses.replace(found, value=NAN))) == ["nan"]
    assert list(nameless(dataclasses.replace(found, value=None))) == ["value is null without a reason"]
