"""What each room claims, computed again by libraries; and that every figure is claimed or counted with its reason."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis import Plan, Reading, check_frames
from analysis.agreement import kappa, pairwise
from analysis.correlations import coefficients
from analysis.covariates import logistic
from analysis.llm_vs_people import alternative_annotator
from analysis.orders import plackett_luce
from analysis.records.results import Results
from analysis.results.files import results_schema
from analysis.verification.claims import WORDS
from analysis.verification.figures import KAPPAS, NAMED, figures_of
from analysis.verification.outcome import Verification
from tests.analysis.covariates.test_held_constant import judged
from tests.analysis.made_answers import choices, preferences, ratings
from tests.analysis.serial_context.test_serial_context import study
from tests.analysis.verification.in_process import analysed, verified

SYSTEMS = ("a", "b", "c", "d")
UNEXPLAINED = WORDS["no_call"]


def outcome(results: Results) -> Verification:
    found = results.verification
    assert isinstance(found, Verification)
    assert found.n_different == 0, found.differences
    assert found.figures == found.recomputed + sum(row.n for row in found.not_recomputed)
    assert UNEXPLAINED not in {row.reason for row in found.not_recomputed}
    return found


def rated(n_items: int = 40, seed: int = 2) -> pl.DataFrame:
    """Return ratings of four people and an LLM, each of four systems on every item."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(n_items):
        quality = rng.normal(size=4) + np.array([0.6, 0.2, 0, -0.4])
        for who, noise in (("p1", 0.6), ("p2", 0.8), ("p3", 1.0), ("p4", 1.2), ("llm", 0.7)):
            scores = np.clip(np.round(3 + quality + rng.normal(scale=noise, size=4)), 1, 5).astype(int)
            rows += [(who, f"i{item}", system, score) for system, score in zip(SYSTEMS, scores.tolist(), strict=True)]
    return ratings(rows)


def measured(n_items: int = 40, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        [
            (f"i{item}", system, name, str(rng.random()))
            for item in range(n_items)
            for system in SYSTEMS
            for name in "MN"
        ],
        ["item_id", "system", "metric", "score"],
        orient="row",
    )


@pytest.fixture(scope="module")
def llm() -> Results:
    return verified(ratings=rated(), metrics=measured(), llms=("llm",), plan=Plan(unit="item"))


def test_an_llm_beside_people_and_metrics_is_computed_again(llm: Results) -> None:
    found = outcome(llm)
    assert found.recomputed > 150
    assert {row.library for row in found.libraries} == {"scipy", "statsmodels", "choix"}


def test_averages_over_criteria_are_computed_again() -> None:
    frames = [rated(20, seed).with_columns(criterion=pl.lit(name)) for seed, name in ((4, "clear"), (5, "fluent"))]
    results = verified(ratings=pl.concat(frames), llms=("llm",), plan=Plan(unit="item"))
    assert results.correlations_of_averages
    outcome(results)


def test_arms_and_places_are_accounted_for() -> None:
    mixed = study(4, n=12).with_columns(("m" + pl.col("annotator_id")).alias("annotator_id"))
    results = verified(ratings=pl.concat([study(3, n=12, mixed=False), mixed]))
    assert results.serial_arms
    found = outcome(results)
    assert WORDS["within"] in {row.reason for row in found.not_recomputed}


def changed(monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> None:
    """Let a function give a millionth more."""
    exact = getattr(where, name)
    monkeypatch.setattr(where, name, lambda *numbers, **more: exact(*numbers, **more) * (1 + 1e-6))


def calls_that_differ(results: Results) -> set[str]:
    return {row.call.rpartition(".")[2] for row in results.verification.differences}


def test_a_changed_kappa_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = kappa.kappa_of_table
    monkeypatch.setattr(pairwise, "kappa_of_table", lambda *table, **more: (exact(*table, **more) or 0) * (1 + 1e-6))
    assert "cohens_kappa" in calls_that_differ(verified(ratings=rated(14)))


def test_a_changed_error_over_items_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, alternative_annotator, "stdtr")
    assert "OLS" in calls_that_differ(verified(ratings=rated(), llms=("llm",)))


def test_a_changed_correlation_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, coefficients, "ndtr")
    assert "kendalltau" in calls_that_differ(verified(ratings=rated(), llms=("llm",)))


def test_a_perfect_correlation_is_left_out() -> None:
    """Scipy's r of three exact lines is a last bit below 1, which makes a p-value of 1e-8."""
    outputs = [(f"i{item}", system, n + item % 2) for item in range(6) for n, system in enumerate("abc")]
    rows = [(who, *output) for output in outputs for who in ("p1", "llm")]
    found = outcome(verified(ratings=ratings(rows), llms=("llm",)))
    assert WORDS["perfect"] in {row.reason for row in found.not_recomputed}


def ordered(n: int = 20, *, tied: bool = False, seed: int = 7) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(n):
        place = np.argsort(np.argsort(-(np.array([1.0, 0.3, -0.3, -1.0]) + rng.gumbel(size=4)))) + 1
        if tied and number == 0:
            place = np.ones(4, dtype=np.int64)
        rows += [
            (f"p{number % 10}", f"i{number}", system, str(rank)) for system, rank in zip(SYSTEMS, place, strict=True)
        ]
    return pl.DataFrame(rows, ["annotator_id", "item_id", "system", "rank"], orient="row")


def test_orders_are_computed_again_by_choix() -> None:
    results = verified(orders=ordered())
    outcome(results)
    assert any(row.strength is not None for row in results.order_strengths)


def test_orders_with_ties_are_left_out() -> None:
    found = outcome(verified(orders=ordered(tied=True)))
    assert WORDS["choix_weights"] in {row.reason for row in found.not_recomputed}


def test_a_changed_plackett_luce_strength_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = plackett_luce._Stages.solve
    monkeypatch.setattr(plackett_luce._Stages, "solve", lambda self, *rest: exact(self, *rest) * (1 + 1e-6))
    assert "ilsr_rankings" in calls_that_differ(verified(orders=ordered()))


def held() -> Results:
    tables = check_frames(judged(n_items=40), Reading(llms=("judge",), output_columns=("novelty",)))
    return analysed(tables, Plan(control=("length",)))[0]


def test_strengths_with_covariates_are_computed_by_glm() -> None:
    results = held()
    outcome(results)
    assert results.controlled_strengths


def test_a_changed_controlled_strength_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, logistic, "_highest")
    assert {"GLM", "ilsr_pairwise_dense"} <= calls_that_differ(held())


def test_ties_and_preferences_of_exposures_are_accounted_for() -> None:
    rng = np.random.default_rng(1)
    rows, exposures = [], []
    for who in range(12):
        for exposure in (1, 5, 10):
            for x, y in combinations(SYSTEMS[:3], 2):
                rows.append((f"p{who}", x, y, round(float(rng.uniform(0.2, 0.95)), 2)))
                exposures.append(exposure)
    results = verified(preferences=preferences(rows, exposure=exposures))
    outcome(results)
    assert results.exposure_trend
    assert results.first_exposure
    assert results.coherence
    drawn = [
        (f"p{who}", "i", x, y, str(rng.choice(["x", "y", "tie"])))
        for who in range(12)
        for x, y in combinations("abc", 2)
    ]
    found = outcome(verified(choices=choices(drawn)))
    assert WORDS["ties"] in {row.reason for row in found.not_recomputed}


def test_unanimous_answers_and_their_families_are_accounted_for() -> None:
    """Bounds count as comparisons of the family, whose tests are padded."""
    rows = [(f"p{who}", "a", "b", 0.9) for who in range(12)]
    rows += [(f"p{who}", "b", "c", 0.3 + who % 5 / 10) for who in range(12)]
    found = outcome(verified(preferences=preferences(rows)))
    assert WORDS["bound"] in {row.reason for row in found.not_recomputed}


def test_every_kind_of_figure_is_known() -> None:
    """Keys of the schema that are p-values, strengths or kappas; a new one needs a claim or a reason."""
    keys = {
        f"{name}.{key}"
        for name, kind in results_schema()["$defs"].items()
        for key, about in kind.get("properties", {}).items()
        if (key.startswith("p_") or key in NAMED) and "number" in str(about)
    }
    assert keys == set(FIGURES.split())


FIGURES = """
    AnnotatorComparison.p_adjusted AnnotatorComparison.p_value AnnotatorPairRow.cohen_kappa CampsRow.p_adjusted
    CampsRow.p_value CircleRow.p_adjusted
    CircleRow.p_value ChoiceTest.p_adjusted
    ChoiceTest.p_binomial ChoiceTest.p_crossed ChoiceTest.p_crossed_adjusted ChoiceTest.p_equivalence
    ChoiceTest.p_equivalence_adjusted ChoiceTest.p_unanimous ChoiceTest.p_value CoherenceRow.p_adjusted
    CoherenceRow.p_value ComparisonRow.p_adjusted ComparisonRow.p_one_sided ComparisonRow.p_value
    ControlledStrength.controlled ControlledStrength.strength CorrelationRow.p_adjusted CorrelationRow.p_value
    DirectionSummary.p_adjusted DirectionSummary.p_symmetry DirectionSummary.p_symmetry_selected
    DirectionSummary.p_value DisagreeingVerdict.p_adjusted ExposureTrend.p_adjusted ExposureTrend.p_value
    FirstExposure.p_adjusted FirstExposure.p_value FirstShownRow.p_value HeadlineClaim.p_adjusted
    HeadlineClaim.p_crossed_adjusted HeadlineClaim.p_unanimous MetricTest.p_adjusted MetricTest.p_value
    ObservedPowerRow.p_value OrderStrength.strength OrderSummary.place_p PreferenceTest.p_adjusted
    PreferenceTest.p_equivalence PreferenceTest.p_equivalence_adjusted PreferenceTest.p_unanimous
    PreferenceTest.p_value RankingDifference.p_adjusted_a RankingDifference.p_adjusted_b RatingTest.p_adjusted
    RatingTest.p_crossed RatingTest.p_crossed_adjusted RatingTest.p_equivalence RatingTest.p_equivalence_adjusted
    RatingTest.p_unanimous RatingTest.p_value ReviewAgreement.kappa RobustnessRow.p_adjusted RobustnessRow.p_value
    Separation.p_value SerialArms.p_adjusted SerialArms.p_value SerialContext.p_adjusted SerialContext.p_value
    SubgroupTest.p_adjusted SubgroupTest.p_value SweepRow.p_adjusted SweepRow.p_value SystemCorrelation.p_adjusted
    SystemCorrelation.p_value
    SystemStrength.strength ThirdSystem.p_adjusted ThirdSystem.p_value TiedStrength.strength TiedStrength.strength_half
    UtilityCheck.p_value
"""


def test_figures_are_found_wherever_they_stand(llm: Results) -> None:
    found = figures_of(llm)
    assert any(path.startswith("llm_vs_people.alternative_annotator[0].annotators[0].p_") for path in found)
    assert all(type(value) is float for value in found.values())
    assert KAPPAS == {"cohen_kappa", "fleiss_kappa"}


def test_no_claim_is_made_of_answers_in_parts() -> None:
    """Their corrections follow from the results, their tests do not."""
    from analysis.results.verified import gather

    results = verified(choices=choices([(f"p{who}", "i", "a", "b", "xy"[who % 3 == 0]) for who in range(12)]))
    gathered = gather(results, None)
    assert {claim.call for claim in gathered.claims} == {"binomtest", "multipletests"}
    assert {one.why for one in gathered.left} >= {"in_parts"}
