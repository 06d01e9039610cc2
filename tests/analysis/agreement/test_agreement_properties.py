"""What must hold of every coefficient of agreement, whatever the answers."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import (
    cohen_kappa,
    exact_agreement,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    icc,
    krippendorff_alpha,
    mean_kendall_tau,
    pairwise_agreement,
)
from analysis.agreement.counts import fold_profiles
from analysis.agreement.data import reliability_data
from analysis.agreement.krippendorff import alpha_statistic
from analysis.agreement.resampling import draw_weights
from analysis.agreement.result import Agreement
from spa.errors import AnalysisError

LEVELS: tuple[Any, ...] = ("nominal", "ordinal", "interval", "ratio")
FORMS: tuple[Any, ...] = ("icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k")
Measure = Callable[[Any], Agreement]
MEASURES: dict[str, Measure] = {
    **{f"alpha_{level}": lambda answers, level=level: krippendorff_alpha(answers, level=level) for level in LEVELS},
    **{form: lambda answers, form=form: icc(answers, form=form) for form in FORMS},
    "ac1": gwet_ac1,
    "ac2": gwet_ac2,
    "fleiss": fleiss_kappa,
    "exact": exact_agreement,
    "tau": mean_kendall_tau,
}


@st.composite
def answers(draw: st.DrawFn) -> np.ndarray:
    """Draw units x annotators on a scale of four steps, some missing."""
    n, k = draw(st.integers(3, 8)), draw(st.integers(2, 4))
    cells = st.sampled_from([1.0, 2.0, 3.0, 4.0, float("nan")])
    return np.array(draw(st.lists(st.lists(cells, min_size=k, max_size=k), min_size=n, max_size=n)))


def same(one: Agreement, other: Agreement) -> None:
    assert (one.value is None) == (other.value is None)
    for name in ("value", "ci_low", "ci_high"):
        found, wanted = getattr(one, name), getattr(other, name)
        assert (found is None) == (wanted is None)
        if found is not None:
            assert found == pytest.approx(wanted, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", MEASURES)
@settings(deadline=None, max_examples=25)
@given(table=answers(), data=st.data())
def test_order_of_units_and_names_of_annotators_do_not_matter(name: str, table: np.ndarray, data: Any) -> None:
    rows = data.draw(st.permutations(range(table.shape[0])))
    columns = data.draw(st.permutations(range(table.shape[1])))
    same(MEASURES[name](table), MEASURES[name](table[rows][:, columns]))


@pytest.mark.parametrize("name", MEASURES)
@settings(deadline=None, max_examples=25)
@given(table=answers())
def test_a_number_is_finite_or_has_a_reason(name: str, table: np.ndarray) -> None:
    found = MEASURES[name](table)
    if found.value is None:
        assert found.reason
    else:
        assert np.isfinite(found.value)
        assert found.value <= 1 + 1e-12
    for bound in (found.ci_low, found.ci_high):
        assert bound is None or np.isfinite(bound)
    if found.ci_low is not None and found.ci_high is not None and found.value is not None:
        assert found.ci_low <= found.value + 1e-9
        assert found.value <= found.ci_high + 1e-9


@given(table=answers())
def test_alpha_follows_its_coincidence_matrix(table: np.ndarray) -> None:
    """The textbook way, pair by pair, with the ordinal distance summed over the values between."""
    data = reliability_data(table)
    found = {level: krippendorff_alpha(table, level=level) for level in LEVELS}
    if found["nominal"].value is None:
        return
    values = np.array([1.0, 2.0, 3.0, 4.0])
    matrix = np.zeros((4, 4))
    for row in table:
        own = row[~np.isnan(row)].astype(int) - 1
        for i in range(len(own)):
            for j in range(len(own)):
                if i != j:
                    matrix[own[i], own[j]] += 1 / (len(own) - 1)
    counts, n = matrix.sum(axis=0), matrix.sum()
    ranks = np.cumsum(counts) - counts / 2
    distances = {
        "nominal": 1 - np.eye(4),
        "ordinal": (ranks[:, None] - ranks) ** 2,
        "interval": (values[:, None] - values) ** 2,
        "ratio": ((values[:, None] - values) / (values[:, None] + values)) ** 2,
    }
    for level, distance in distances.items():
        wanted = 1 - (n - 1) * np.sum(matrix * distance) / np.sum(np.outer(counts, counts) * distance)
        assert found[level].value == pytest.approx(wanted, abs=1e-12)
    assert found["nominal"].n_items == data.n_pairable


@pytest.mark.parametrize("level", LEVELS)
def test_weights_stand_for_repeated_units(level: Any) -> None:
    """A resample's alpha is the alpha of the units written out."""
    rng = np.random.default_rng(4)
    table = rng.integers(1, 5, (12, 3)).astype(float)
    table[rng.random(table.shape) < 0.1] = np.nan
    table = table[(~np.isnan(table)).sum(axis=1) >= 2]
    profiles = fold_profiles(reliability_data(table), at_least=2)
    (weights,) = draw_weights(profiles.units, 5, rng)
    assert weights.sum(axis=1).tolist() == [len(table)] * 5
    first = np.unique(profiles.of_unit, return_index=True)[1]
    for row, value in zip(weights, alpha_statistic(profiles, level)(weights), strict=True):
        written = np.repeat(table[first], row.astype(int), axis=0)
        assert krippendorff_alpha(written, level=level).value == pytest.approx(value, abs=1e-12)


def test_a_sparse_table_of_profiles_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    table = rng.integers(0, 30, (60, 3)).astype(float)
    dense = [krippendorff_alpha(table, level=level, rng=np.random.default_rng(1), replicates=50) for level in LEVELS]
    monkeypatch.setattr("analysis.agreement.counts.DENSE", 0)
    for one, level in zip(dense, LEVELS, strict=True):
        same(one, krippendorff_alpha(table, level=level, rng=np.random.default_rng(1), replicates=50))


@given(scale=st.floats(0.01, 1000), shift=st.floats(-1000, 1000))
def test_interval_measures_do_not_depend_on_the_unit(scale: float, shift: float) -> None:
    table = np.array([[1, 2, 2], [3, 3, 4], [5, 4, 4], [2, 1, 3.0]])
    for name in ("alpha_interval", *FORMS):
        same(MEASURES[name](table), MEASURES[name](table * scale + shift))


@given(table=answers())
def test_ordinal_alpha_sees_only_the_order(table: np.ndarray) -> None:
    same(MEASURES["alpha_ordinal"](table), MEASURES["alpha_ordinal"](np.exp(table)))


@pytest.mark.parametrize("name", [*MEASURES, "cohen"])
@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([[1], [2], [3]], "one annotator only"),
        ([[1, 2]], "one unit only"),
        ([[1, 2], [3, np.nan]], "one unit only"),
        ([[1, np.nan], [np.nan, 2]], "no unit was answered by two"),
        ([[np.nan, np.nan]], "no answers"),
        ([[1, np.inf], [2, 2], [3, 1]], "1 infinite value"),
        ([[3, 3], [3, 3], [3, 3]], "no variation"),
    ],
)
def test_what_cannot_be_computed_has_a_reason(name: str, table: Any, reason: str) -> None:
    found = cohen_kappa(np.array(table, dtype=float)) if name == "cohen" else MEASURES[name](np.array(table, float))
    if name == "exact" and reason == "no variation":
        assert found.value == 1
        assert found.ci_low is not None
        assert found.ci_low < 1
        return
    assert (found.value, found.ci_low, found.ci_high) == (None, None, None)
    assert found.reason is not None
    assert str(found.reason).startswith(reason)


def test_perfect_agreement_has_no_interval() -> None:
    """Perfect agreement has a value and no interval of no width."""
    table = [[1, 1], [2, 2], [3, 3]]
    for name in ("alpha_nominal", "icc1", "icc3k", "ac1", "fleiss"):
        found = MEASURES[name](table)
        assert found.value == 1
        assert found.ci_low is found.ci_high is None
        assert str(found.reason).startswith("no interval")


def test_agreement_reasons() -> None:
    """Values without a ratio and three annotators have their reasons."""
    assert str(krippendorff_alpha([[-1, 1], [2, 2]], level="ratio").reason) == "negative values have no ratio"
    assert str(cohen_kappa([[1, 1, 1], [2, 2, 1]]).reason) == "expected two annotators, got 3"
    assert str(gwet_ac1([[1, 1], [2, 1]], categories=[2, 3]).reason) == "answer 1 is none of the categories"


def test_frames_and_arrays_give_the_same() -> None:
    table = np.array([[1, 2, 2], [3, np.nan, 4], [5, 4, 4], [2, 1, 3.0]])
    rows = [
        {"item_id": f"i{unit // 2}", "system": f"s{unit % 2}", "annotator_id": f"a{who}", "criterion": "c", "score": v}
        for unit, row in enumerate(table)
        for who, v in enumerate(row.tolist())
    ]
    other = [{**row, "criterion": "d", "score": 1.0} for row in rows]
    frame = pl.DataFrame(rows + other)
    for name in ("ordinal", "interval"):
        level: Any = name
        wanted = krippendorff_alpha(table, level=level).value
        assert krippendorff_alpha(frame, level=level, criterion="c").value == pytest.approx(wanted)
    pandas = pytest.importorskip("pandas")
    assert icc(pandas.DataFrame(rows), form="icc1").value == pytest.approx(icc(table, form="icc1").value)


@settings(max_examples=60, deadline=None)
@given(answers=st.lists(st.lists(st.sampled_from([1.0, 2.0, 4.0, np.nan]), min_size=3, max_size=3), min_size=2))
def test_agreement_of_a_pair_alone(answers: list[list[float]]) -> None:
    """Those of one table of values x values are those of the answers, to the reason why one is missing."""
    data = reliability_data(answers)
    for pair in pairwise_agreement(data, level="ordinal"):
        x, y = data.annotators.index(pair.annotator_x), data.annotators.index(pair.annotator_y)
        both = data.of_annotators(x, y)
        kappa, alpha, alike = cohen_kappa(both), krippendorff_alpha(both, level="ordinal"), exact_agreement(both)
        assert pair.n_items == both.n_pairable
        assert pair.cohen_kappa == pytest.approx(kappa.value, abs=1e-12)
        assert pair.krippendorff_alpha == pytest.approx(alpha.value, abs=1e-12)
        assert pair.exact_agreement == alike.value
        assert pair.reason == alike.reason or alike.reason is None
        assert (pair.reason is None) == (None not in (pair.kendall_tau, kappa.value, alpha.value))


def test_a_frame_that_is_not_clear_is_refused() -> None:
    frame = pl.DataFrame({"item_id": ["i", "i"], "annotator_id": ["a", "a"], "score": [1, 2]})
    with pytest.raises(AnalysisError, match="rows 1 and 2: expected one answer a cell"):
        exact_agreement(frame)
    with pytest.raises(AnalysisError, match="several criteria"):
        exact_agreement(frame.with_columns(criterion=pl.Series(["x", "y"])))
    with pytest.raises(AnalysisError, match="column score is missing"):
        exact_agreement(frame.drop("score"))
    assert exact_agreement(frame.with_columns(repeat=pl.Series([1, 2]))).n_annotators == 2


def test_agreement_over_shared_answers() -> None:
    """Every pair of annotators is compared over what both answered."""
    table = [[1, 1, np.nan], [2, 3, 2], [3, 3, 1], [2, 2, np.nan]]
    pairs = pairwise_agreement(table)
    assert [(pair.annotator_x, pair.annotator_y, pair.n_items) for pair in pairs] == [
        ("1", "2", 4),
        ("1", "3", 2),
        ("2", "3", 2),
    ]
    assert [pair.exact_agreement for pair in pairs] == [0.75, 0.5, 0.0]
    assert str(pairs[2].reason) == "one of the two gave the same answer to every unit"


def test_sliders_of_ten_thousand_units_stay_small() -> None:
    """A table of units x values x values would take 800 MiB and more."""
    rng = np.random.default_rng(6)
    truth = rng.normal(50, 20, (10_000, 1))
    table = np.clip(np.round(truth + rng.normal(0, 15, (10_000, 5))), 0, 100)
    tracemalloc.start()
    found = krippendorff_alpha(table, level="ordinal", rng=rng, replicates=50)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * 2**20
    assert found.ci_low is not None
