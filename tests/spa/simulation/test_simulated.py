"""Simulated annotators: their answers are accepted, follow their truth, and show the published claim about Likert."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from spa.elicitation.choices import ChoiceTarget
from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spa import PreferenceTarget
from spa.errors import StudyError
from spa.records.form import CheckTarget, ConfirmationTarget, ScreeningTarget
from spa.records.submission import Response
from spa.responses.answers import parse_answers
from spa.simulation.simulated_annotators import PERFECT, SimulatedAnnotator, Temperament, load_truth
from spa.simulation.true_utilities import TrueUtilities, even_truth, likert_reversal_truth
from tests.spa.hand_made import hand_made, question_ids

FLAT = TrueUtilities(utilities={"good": 0.5, "poor": -0.5}, item_sd=0, output_sd=0)
shares = st.floats(0, 1)
temperaments = st.builds(
    Temperament,
    noise_sd=st.floats(0, 3),
    taste_sd=st.floats(0, 3),
    doubt=st.floats(0, 3),
    severity_sd=st.floats(0, 3),
    indifference=shares,
    carelessness=shares,
    inconsistency=shares,
    not_eligible=shares,
    failing_checks=shares,
    rounding=st.sampled_from([0.0, 1.0, 5.0, 10.0]),
)


def answered(truth: TrueUtilities, temperament: Temperament, *, seed: int = 0, **layout: object) -> dict[str, str]:
    form, key = hand_made(**layout)  # type: ignore[arg-type]
    return SimulatedAnnotator(truth, temperament, rng=np.random.default_rng(seed)).answers(form, key)


@settings(max_examples=60)
@given(temperaments, st.integers(0, 2**32), st.floats(-9, 9))
def test_whoever_answers_every_answer_is_accepted(temperament: Temperament, seed: int, better: float) -> None:
    form, key = hand_made()
    truth = TrueUtilities(utilities={"good": better, "poor": 0})
    answers = SimulatedAnnotator(truth, temperament, rng=np.random.default_rng(seed)).answers(form, key)
    parsed = parse_answers(form.questions("people"), answers)
    assert [answer for answer in parsed if not isinstance(answer, Response)] == []
    assert len(parsed) == len(answers)


def test_simulated_answers_follow_the_seed() -> None:
    """The same seed gives the same answers and another seed others."""
    first, again, other = (
        answered(TrueUtilities(utilities=FLAT.utilities), Temperament(), seed=seed) for seed in (4, 4, 5)
    )
    assert first == again != other


def test_an_annotator_without_noise_answers_as_worked_by_hand() -> None:
    # x - y = 1, five outputs each, doubt 0.5: Phi(1 / (0.5 sqrt(2/5))) = Phi(3.162) = 0.9992
    # utilities 0.5 and -0.5 on -2.5 .. 2.5 are 3.0 and 2.0 of 5: the ceiling keeps them, 0-100 has 60 and 40
    form, _ = hand_made()
    answers = answered(FLAT, PERFECT)
    assert [answers[name] for name in question_ids(form, PreferenceTarget)] == ["100", "0"]
    assert [answers[name] for name in question_ids(form, RatingTarget)] == ["3", "60", "2", "40"]
    assert [answers[name] for name in question_ids(form, ChoiceTarget)] == ["x"]
    assert [answers[name] for name in question_ids(form, ConfirmationTarget)] == ["yes"]
    assert [answers[name] for name in question_ids(form, ScreeningTarget)] == ["yes"]
    assert [answers[name] for name in question_ids(form, CheckTarget)] == ["no"]


def test_more_outputs_make_an_annotator_surer() -> None:
    form, _ = hand_made()
    first = question_ids(form, PreferenceTarget)[0]
    temperament = PERFECT.model_copy(update={"doubt": 2.0})
    percent = [
        int(answered(FLAT, temperament, items=tuple(f"i{n}" for n in range(exposure)), rated=("i0",))[first])
        for exposure in (1, 2, 4, 8)
    ]
    assert percent == [64, 69, 76, 84]  # Phi(sqrt(m/2) / 2)


@given(st.floats(-2, 2), st.floats(0, 1), st.integers(0, 999))
def test_what_is_left_over_of_both_directions_is_indifference(better: float, indifference: float, seed: int) -> None:
    truth = FLAT.model_copy(update={"utilities": {"good": better, "poor": 0.0}})
    temperament = PERFECT.model_copy(update={"indifference": indifference, "noise_sd": 0.3})
    form, _ = hand_made()
    forward, reverse = (
        int(answered(truth, temperament, seed=seed)[name]) for name in question_ids(form, PreferenceTarget)
    )
    assert 100 - 100 * indifference - 1 <= forward + reverse <= 101
    assert forward + reverse <= 110


@given(st.floats(-5, 5), st.integers(0, 9999), st.sampled_from([1.0, 5.0]))
def test_the_inconsistent_always_exceed_the_bound(better: float, seed: int, rounding: float) -> None:
    truth = FLAT.model_copy(update={"utilities": {"good": better, "poor": 0.0}})
    form, _ = hand_made()
    answers = answered(truth, Temperament(inconsistency=1, rounding=rounding), seed=seed)
    assert sum(int(answers[name]) for name in question_ids(form, PreferenceTarget)) > 110


def test_shares_are_shares_of_annotators() -> None:
    temperament = Temperament(carelessness=0.2, inconsistency=0.3, not_eligible=0.1, failing_checks=0.15)
    people = [SimulatedAnnotator(FLAT, temperament, rng=rng) for rng in np.random.default_rng(1).spawn(4000)]
    found = [
        np.mean([person.careless != "no" for person in people]),
        np.mean([person.inconsistent for person in people]),
        np.mean([not person.eligible for person in people]),
        np.mean([person.fails_checks for person in people]),
    ]
    assert found == pytest.approx([0.2, 0.3, 0.1, 0.15], abs=0.02)


def test_those_who_fail_screening_or_checks_answer_them_wrongly() -> None:
    form, _ = hand_made()
    answers = answered(FLAT, Temperament(not_eligible=1, failing_checks=1))
    assert [answers[name] for name in question_ids(form, ScreeningTarget)] == ["no"]
    assert [answers[name] for name in question_ids(form, CheckTarget)] == ["yes"]


def test_simulated_straight_liners() -> None:
    """Straight liners give one answer to every question of a kind."""
    form, key = hand_made()
    everybody = [
        SimulatedAnnotator(FLAT, Temperament(carelessness=1), rng=rng) for rng in np.random.default_rng(2).spawn(20)
    ]
    kinds = {person.careless for person in everybody}
    assert kinds == {"random", "straight"}
    straight = next(person for person in everybody if person.careless == "straight")
    answers = straight.answers(form, key)
    assert {answers[name] for name in question_ids(form, PreferenceTarget)} == {"50"}


def test_thresholds_replace_the_ceiling_and_ties_need_closeness() -> None:
    form, _ = hand_made()
    strict = PERFECT.model_copy(update={"thresholds": (0.0, 0.6, 0.7, 0.8), "tie_width": 1.5})
    answers = answered(FLAT, strict)
    likert = [
        question.question_id
        for question in form.questions("people")
        if isinstance(question.target, RatingTarget) and question.target.elicitation == "likert"
    ]
    assert [answers[name] for name in likert] == ["2", "1"]
    assert answers[question_ids(form, ChoiceTarget)[0]] == "tie"


@pytest.mark.parametrize(
    ("utility", "rating"), [(-9.0, "1"), (-2.5, "1"), (-1.5, "1"), (-1.49, "2"), (0.5, "3"), (0.51, "4"), (9.0, "5")]
)
def test_a_likert_rating_is_the_ceiling_of_the_scaled_utility(utility: float, rating: str) -> None:
    """Remark 2 of Ethayarajh and Jurafsky (2022): [0, 1] -> 1, (1, 2] -> 2, ...; here the scale begins at -2.5."""
    form, _ = hand_made()
    truth = FLAT.model_copy(update={"utilities": {"good": utility, "poor": 0.0}})
    assert answered(truth, PERFECT)[question_ids(form, RatingTarget)[0]] == rating


def test_a_criterion_of_something_bad_turns_the_rating() -> None:
    form, _ = hand_made()
    truth = FLAT.model_copy(update={"lower_is_better": frozenset({"overall"})})
    answers = answered(truth, PERFECT)
    assert [answers[name] for name in question_ids(form, RatingTarget)] == ["2", "40", "3", "60"]


def test_criteria_are_correlated_with_the_overall_utility() -> None:
    truth = TrueUtilities(utilities={"a": 0.0}, criterion_sd=0.5)
    overall = [truth.utility("a", f"i{n}", 1) for n in range(500)]
    fluency = [truth.utility("a", f"i{n}", 1, "fluency") for n in range(500)]
    # item and output effects are shared: variance .5^2 + .7^2 = .74 of .74 + .5^2 = .99
    assert np.corrcoef(overall, fluency)[0, 1] == pytest.approx((0.74 / 0.99) ** 0.5, abs=0.05)
    assert np.mean(overall) == pytest.approx(0, abs=0.15)
    assert np.std(overall) == pytest.approx(0.74**0.5, abs=0.1)


def test_reversal_by_averaged_likert() -> None:
    """Proposition 2 of Ethayarajh and Jurafsky (2022): the better system has the lower mean rating."""
    items = tuple(f"i{n}" for n in range(20))
    truth = likert_reversal_truth("good", "poor", items)
    assert truth.utilities["good"] > truth.utilities["poor"]
    mean = {name: np.mean([truth.utility(name, item, 1) for item in items]) for name in truth.utilities}
    assert mean == pytest.approx(truth.utilities)
    population = Temperament(noise_sd=0.03, taste_sd=0, severity_sd=0.02, doubt=1.0)
    preferences, differences = [], []
    for person, rng in enumerate(np.random.default_rng(2022).spawn(60)):
        drawn = tuple(rng.permutation(items)[:5])
        labels = {"A": "good", "B": "poor"} if person % 2 == 0 else {"A": "poor", "B": "good"}
        form, key = hand_made(f"a{person:05}", systems=labels, items=drawn, rated=drawn)
        answers = SimulatedAnnotator(truth, population, rng=rng).answers(form, key)
        forward, ratings = {}, {"good": [], "poor": []}
        for answer in parse_answers(form.questions("people"), answers):
            if isinstance(answer.target, PreferenceTarget):
                forward[labels[answer.target.label_x]] = answer.value
            elif isinstance(answer.target, RatingTarget) and answer.target.elicitation == "likert":
                ratings[labels[answer.target.label]].append(answer.value)
        preferences.append((forward["good"] + 1 - forward["poor"]) / 2)
        differences.append(np.mean(ratings["good"]) - np.mean(ratings["poor"]))
    spa = stats.ttest_1samp(preferences, 0.5)
    likert = stats.ttest_1samp(differences, 0.0)
    assert spa.statistic > 0
    assert spa.pvalue < 0.001
    assert likert.statistic < 0
    assert likert.pvalue < 0.001
    # Proposition 1: the bias is the difference of the mean residuals, 0.1 - 0.9
    assert np.mean(differences) - 0.3 == pytest.approx(-0.8, abs=0.15)


def test_a_truth_file_is_read_and_its_mistakes_are_all_named(tmp_path: Path) -> None:
    path = tmp_path / "truth.toml"
    path.write_text('seed = 3\nlower_is_better = ["errors"]\n[utilities]\na = 1\nb = -1.5\n')
    read = load_truth(path)
    assert (read.utilities, read.seed, read.lower_is_better) == ({"a": 1, "b": -1.5}, 3, frozenset({"errors"}))
    assert read.temperament is None
    path.write_text("[utilities]\na = 1\n[temperament]\ncarelessness = 0.5\n")
    assert load_truth(path).temperament == Temperament(carelessness=0.5)
    path.write_text("item_sd = -1\nnoise = 3\n[utilities]\na = nan\n")
    with pytest.raises(StudyError) as caught:
        load_truth(path)
    assert len(caught.value.problems) == 3
    assert all(str(path) in problem for problem in caught.value.problems)
    for hostile in (b"\xff", b"a = ", b""):
        path.write_bytes(hostile)
        with pytest.raises(StudyError):
            load_truth(path)
    with pytest.raises(StudyError):
        load_truth(tmp_path / "absent.toml")


def test_a_truth_without_the_system_says_so() -> None:
    with pytest.raises(StudyError, match="'davinci'"):
        even_truth(["ada"]).utility("davinci", "i1", 1)
    with pytest.raises(StudyError, match="sample 2"):
        likert_reversal_truth("x", "y", ["i1"]).utility("x", "i1", 2)
    with pytest.raises(ValidationError):
        TrueUtilities(utilities={"a": 0}, low=1, high=1)
    with pytest.raises(ValueError, match="margin"):
        likert_reversal_truth("x", "y", ["i1"], margin=0.3)


@pytest.mark.parametrize("points", [2, 5, 7])
def test_reversal_leaves_other_systems_worse(points: int) -> None:
    """Systems without a part in a reversal are worse than both."""
    truth = likert_reversal_truth("x", "y", ["i1", "i2"], others=["z"], points=points)
    assert truth.utility("z", "i1", 1) < truth.utilities["y"] < truth.utilities["x"]
