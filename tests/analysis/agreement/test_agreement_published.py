"""Coefficients of agreement against published tables, and against statsmodels where it has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as peer_fleiss

from analysis import cohen_kappa, fleiss_kappa, gwet_ac1, gwet_ac2, icc, krippendorff_alpha, pairwise_agreement
from analysis.agreement.pairwise import kendall_of_table

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[2] / "golden" / "agreement.json").read_text())


def table(rows: list[list[float | None]]) -> np.ndarray:
    return np.array([[np.nan if value is None else value for value in row] for row in rows], dtype=float)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_krippendorffs_worked_example(level: Any) -> None:
    block = GOLDEN["krippendorff_worked_example"]
    found = krippendorff_alpha(table(block["units_by_annotators"]), level=level)
    assert found.value == pytest.approx(block[level], abs=5e-4)
    assert (found.n_items, found.n_annotators) == (11, 4)
    if level == "nominal":
        above, below = block["nominal_exact"]
        assert found.value == pytest.approx(above / below, rel=1e-14)


def test_krippendorffs_two_observers() -> None:
    block = GOLDEN["krippendorff_two_observers"]
    for name in ("binary", "nominal"):
        found = krippendorff_alpha(table(block[name]), level="nominal")
        assert found.value == pytest.approx(block[f"{name}_alpha"], abs=5e-4)


@pytest.mark.parametrize("form", ["icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k"])
def test_table_of_shrout_and_fleiss(form: Any) -> None:
    block = GOLDEN["shrout_fleiss"]
    found = icc(block["units_by_annotators"], form=form)
    assert found.value == pytest.approx(block[form], abs=5e-3)
    assert [found.ci_low, found.ci_high] == pytest.approx(block["bounds_of_pingouin"][form], abs=5.1e-3)


def test_fleiss_and_his_diagnoses() -> None:
    ratings = np.array(GOLDEN["fleiss_1971"]["ratings"])
    found = fleiss_kappa(ratings)
    assert found.value == pytest.approx(GOLDEN["fleiss_1971"]["kappa"], abs=5e-4)
    counts = np.array([[np.count_nonzero(row == value) for value in range(1, 6)] for row in ratings])
    assert found.value == pytest.approx(float(peer_fleiss(counts)), rel=1e-12)


@pytest.mark.parametrize(("weights", "peer"), [("identity", None), ("linear", "linear"), ("quadratic", "quadratic")])
def test_cohens_kappa_and_its_interval_match_statsmodels(weights: Any, peer: str | None) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(1, 6, 80)
    ratings = np.column_stack([x, np.clip(x + rng.integers(-1, 2, 80), 1, 5)])
    counts = np.zeros((5, 5))
    np.add.at(counts, (ratings[:, 0] - 1, ratings[:, 1] - 1), 1)
    wanted = cohens_kappa(counts, wt=peer)
    found = cohen_kappa(ratings, weights=weights)
    assert found.value == pytest.approx(wanted.kappa, rel=1e-12)
    assert found.ci_low == pytest.approx(wanted.kappa_low, rel=1e-9)
    assert found.ci_high == pytest.approx(wanted.kappa_upp, rel=1e-9)


def test_ac1_by_hand() -> None:
    """Two of three units agree: pa = 2/3; pi = 1/2 each, so pe = 1/2 and AC1 = 1/3."""
    assert gwet_ac1([[1, 1], [2, 2], [1, 2]]).value == pytest.approx(1 / 3)


def test_a_category_nobody_chose_counts_for_ac1_when_named() -> None:
    """With q = 3, pe = (1/4 + 1/4) / 2 = 1/4 and AC1 = (2/3 - 1/4) / (3/4) = 5/9."""
    assert gwet_ac1([[1, 1], [2, 2], [1, 2]], categories=[1, 2, 3]).value == pytest.approx(5 / 9)


@pytest.mark.parametrize(("weights", "wanted"), [("linear", 0.203125 / 0.453125), ("identity", 0.171875 / 0.671875)])
def test_ac2_by_hand(weights: Any, wanted: float) -> None:
    """Shares 3/8, 2/8, 3/8: sum pi (1 - pi) = .65625; linear: pa .75, pe 5/6 of it; identity: pa .5, pe half of it."""
    assert gwet_ac2([[1, 1], [1, 2], [3, 3], [2, 3]], weights=weights).value == pytest.approx(wanted)


def test_kendalls_tau_matches_scipy() -> None:
    from scipy.stats import kendalltau

    rng = np.random.default_rng(8)
    for _ in range(20):
        ratings = rng.integers(1, 5, (15, 2)).astype(float)
        (pair,) = pairwise_agreement(ratings)
        assert pair.kendall_tau == pytest.approx(float(kendalltau(*ratings.T).statistic), abs=1e-12)
    assert kendall_of_table(np.array([[3.0, 2.0]])) is None


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_with_missing_answers_matches_the_peer(level: Any) -> None:
    block = GOLDEN["missing_answers"]
    found = krippendorff_alpha(table(block["units_by_annotators"]), level=level)
    assert found.value == pytest.approx(block[f"alpha_{level}"], rel=1e-12)


@pytest.mark.parametrize("weights", ["identity", "linear", "quadratic", "ordinal"])
def test_gwet_and_fleiss_with_missing_answers_match_the_peer(weights: Any) -> None:
    block = GOLDEN["missing_answers"]
    answers = table(block["units_by_annotators"])
    found = gwet_ac2(answers, weights=weights)
    assert [found.value, found.ci_low, found.ci_high] == pytest.approx(block["gwet"][weights], abs=1e-11)
    if weights == "identity":
        kappa = fleiss_kappa(answers)
        assert [kappa.value, kappa.ci_low, kappa.ci_high] == pytest.approx(block["fleiss"], abs=1e-11)


ENDS = [[1, 1], [2, 2], [5, 5], [1, 2], [2, 1], [5, 5], [1, 1], [2, 5], [2, 2], [5, 2], [1, 1], [5, 5]]


@pytest.mark.parametrize(
    ("weights", "categories", "gwet", "cohen"),
    [
        ("identity", None, 0.5, 0.5),
        ("ordinal", None, 0.7, 0.7),
        ("quadratic", None, 0.71154, 0.71154),
        ("identity", range(1, 6), 0.6, 0.5),
        ("ordinal", range(1, 6), 0.70833, 0.69118),
        ("linear", range(1, 6), 0.66667, 0.625),
        ("quadratic", range(1, 6), 0.72222, 0.71154),
    ],
)
def test_steps_that_nobody_used_count_as_in_the_peer(weights: Any, categories: Any, gwet: float, cohen: float) -> None:
    """Scores 1, 2 and 5 of a scale from 1 to 5: irrCAC 0.4.4 (of two annotators its conger is Cohen's kappa)."""
    assert gwet_ac2(ENDS, weights=weights, categories=categories).value == pytest.approx(gwet, abs=5e-6)
    found = cohen_kappa(ENDS, weights=weights, categories=categories)
    assert found.value == pytest.approx(cohen, abs=5e-6)
    assert found.settings["categories"] == (5 if categories else 3)
    assert cohen_kappa(ENDS, weights=weights, categories=[1, 2]).value is None


def test_where_all_alike_chance_is_none_of_the_other_categories() -> None:
    """Pi (1 - pi) is 0 for every category, so AC1 = (1 - 0) / (1 - 0)."""
    found = gwet_ac1([[1, 1]] * 5, categories=[1, 2, 3])
    assert (found.value, found.ci_low, found.settings["categories"]) == (1.0, None, 3)
    assert found.reason is not None
    assert gwet_ac1([[1, 1]] * 5).value is None
    assert gwet_ac1([[1, 1]] * 5, categories=[1]).value is None
    assert cohen_kappa([[1, 1]] * 5, categories=[1, 2]).value is None


@pytest.mark.parametrize("scale", [1.0, 0.1, 1 / 3])
def test_what_is_0_or_1_is_so_to_the_last_bit(scale: float) -> None:
    even = np.repeat([[1, 1], [1, 2], [2, 1], [2, 2]], 3, axis=0) * scale
    assert [cohen_kappa(even).value, fleiss_kappa(even).value, gwet_ac1(even).value] == [0.0, 0.0, 0.0]
    same = np.repeat([[1, 1, 1], [2, 2, 2], [4, 4, 4]], 3, axis=0) * scale
    assert [fleiss_kappa(same).value, gwet_ac1(same).value, cohen_kappa(same[:, :2]).value] == [1.0, 1.0, 1.0]
    for level in ("nominal", "ordinal", "interval", "ratio"):
        assert krippendorff_alpha(same, level=level).value == 1.0  # type: ignore[arg-type]
    for firsts, seconds, mixed in (
        (1, 3, 4),
        (1, 5, 5),
        (3, 6, 9),
    ):  # (n - 1) mixed = c (n - c), c seconds of n answers
        chance = np.array([[1, 1]] * firsts + [[2, 2]] * seconds + [[1, 2]] * mixed) * scale
        for level in ("nominal", "ordinal", "interval", "ratio"):
            assert krippendorff_alpha(chance, level=level).value == 0.0  # type: ignore[arg-type]
