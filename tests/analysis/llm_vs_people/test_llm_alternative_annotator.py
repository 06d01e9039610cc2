"""The alternative-annotator test: a worked example, the procedure written as plain loops, and what must win or lose."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, ttest_1samp

from analysis.llm_vs_people import AlternativeAnnotatorTest, alternative_annotator_test
from analysis.statistics.corrections import benjamini_yekutieli

Scores = npt.NDArray[np.float64]


def study(rng: np.random.Generator, n_units: int = 150, n_annotators: int = 4, noise: float = 0.3) -> Scores:
    """Draw labels 1 to 4; an annotator errs with probability ``noise``."""
    truth = rng.integers(1, 5, size=n_units)
    erred = rng.random((n_units, n_annotators)) < noise
    return np.where(erred, rng.integers(1, 5, size=(n_units, n_annotators)), truth[:, None]).astype(np.float64)


def by_loops(people: Scores, llm: Scores, scoring: str, epsilon: float) -> tuple[list[float], list[float]]:
    """Return p-values and advantages as the paper's section 3 states them, one unit after the other."""
    p_values, advantages = [], []
    for left_out in range(people.shape[1]):
        differences, won = [], []
        for row, answer in zip(people, llm, strict=True):
            others = np.delete(row, left_out)
            others = others[~np.isnan(others)]
            if np.isnan(row[left_out]) or np.isnan(answer) or not len(others):
                continue
            if scoring == "accuracy":
                of_llm, of_person = (np.mean(others == one) for one in (answer, row[left_out]))
            else:
                of_llm, of_person = (-np.sqrt(np.mean((others - one) ** 2)) for one in (answer, row[left_out]))
            won.append(float(of_llm >= of_person))
            differences.append(float(of_person >= of_llm) - float(of_llm >= of_person))
        p_values.append(float(ttest_1samp(differences, epsilon, alternative="less").pvalue))
        advantages.append(float(np.mean(won)))
    return p_values, advantages


def test_a_worked_example() -> None:
    people = [[1, 1, 1], [1, 2, 2], [1, 1, 2], [1, 1, 1], [1, 2, 1]]
    found = alternative_annotator_test(people, [1, 2, 2, 2, 1], scoring="accuracy", epsilon=0.2, min_units=5)
    # d of A: 0 -1 0 1 0, of B: 0 0 0 1 -1, of C: 0 0 0 1 0; t = (mean - 0.2) / (sd / sqrt 5), 4 degrees of freedom
    assert [one.t for one in found.annotators] == pytest.approx([-0.632456, -0.632456, 0.0], abs=1e-6)
    assert [one.p_value for one in found.annotators] == pytest.approx([0.280719, 0.280719, 0.5], abs=1e-6)
    assert [one.p_adjusted for one in found.annotators] == pytest.approx([0.771977, 0.771977, 0.916667], abs=1e-6)
    assert [one.llm_advantage for one in found.annotators] == pytest.approx([0.8, 0.8, 0.8])
    assert [one.person_advantage for one in found.annotators] == pytest.approx([0.8, 0.8, 1.0])
    assert (found.winning_rate, found.passes) == (0.0, False)
    assert found.advantage_probability == pytest.approx(0.8)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_rmse"])
@pytest.mark.parametrize("seed", range(3))
def test_it_agrees_with_the_procedure_in_plain_loops(scoring: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    people, llm = study(rng), study(rng, n_annotators=1)[:, 0]
    people[rng.random(people.shape) < 0.15] = np.nan
    llm[rng.random(llm.shape) < 0.05] = np.nan
    found = alternative_annotator_test(people, llm, scoring=scoring, epsilon=0.15)  # type: ignore[arg-type]
    p_values, advantages = by_loops(people, llm, scoring, 0.15)
    adjusted = false_discovery_control(p_values, method="by")
    assert [one.p_value for one in found.annotators] == pytest.approx(p_values, rel=1e-9)
    assert [one.p_adjusted for one in found.annotators] == pytest.approx(adjusted.tolist(), rel=1e-9)
    assert found.advantage_probability == pytest.approx(np.mean(advantages))
    assert found.winning_rate == np.mean(adjusted <= 0.05)


def test_labels_may_be_words() -> None:
    words = np.array(["bad", "fair", "good", "best"], dtype=object)
    people, llm = study(np.random.default_rng(5)), study(np.random.default_rng(6))[:, 0]
    numbers = alternative_annotator_test(people, llm, scoring="accuracy", epsilon=0.1)
    named = words[people.astype(int) - 1], words[llm.astype(int) - 1]
    assert alternative_annotator_test(*named, scoring="accuracy", epsilon=0.1) == numbers


def judged(seed: int, kind: str, epsilon: float = 0.2) -> AlternativeAnnotatorTest:
    """Let an LLM that copies a random person each time, or answers at random, stand for the people."""
    rng = np.random.default_rng(seed)
    people = study(rng, n_units=200)
    copied = people[np.arange(200), rng.integers(0, 4, size=200)]
    llm = copied if kind == "copy" else rng.integers(1, 5, size=200).astype(np.float64)
    return alternative_annotator_test(people, llm, scoring="accuracy", epsilon=epsilon)


def test_a_copy_of_random_people_passes_and_a_random_llm_fails() -> None:
    copies, random = ([judged(seed, kind) for seed in range(20)] for kind in ("copy", "random"))
    assert sum(bool(found.passes) for found in copies) == 20
    assert sum(bool(found.passes) for found in random) == 0
    assert max(found.winning_rate or 0 for found in random) == 0


def test_one_more_person_rarely_wins_without_a_margin() -> None:
    """At epsilon 0, H0 is nearly true for an LLM that errs as people do: few false wins, by theory at most 5 %."""
    wins = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        people = study(rng, n_units=100, n_annotators=5)
        found = alternative_annotator_test(people[:, :4], people[:, 4], scoring="accuracy", epsilon=0.0)
        wins += sum(bool(one.won) for one in found.annotators)
    assert wins / (60 * 4) < 0.05


@given(seed=st.integers(0, 10_000), scoring=st.sampled_from(["accuracy", "neg_rmse"]))
@settings(max_examples=15, deadline=None)
def test_order_and_names_do_not_matter(seed: int, scoring: str) -> None:
    rng = np.random.default_rng(seed)
    people, llm = study(rng, n_units=60, n_annotators=3), rng.integers(1, 5, size=60).astype(np.float64)
    rows, columns = rng.permutation(60), rng.permutation(3)
    found = alternative_annotator_test(people, llm, scoring=scoring, epsilon=0.1)  # type: ignore[arg-type]
    names = [str(column + 1) for column in columns]
    again = alternative_annotator_test(
        people[rows][:, columns],
        llm[rows],
        scoring=scoring,  # type: ignore[arg-type]
        epsilon=0.1,
        annotator_ids=names,
    )
    for one in again.annotators:
        same = found.annotators[int(one.annotator_id) - 1]
        assert one.p_value == pytest.approx(same.p_value, rel=1e-9)
    assert again.winning_rate == found.winning_rate


def test_doubled_units_of_one_item_add_no_evidence() -> None:
    rng = np.random.default_rng(2)
    people, llm = study(rng, n_units=80), study(rng, n_units=80)[:, 0]
    once = alternative_annotator_test(people, llm, scoring="accuracy", epsilon=0.1)
    twice = alternative_annotator_test(
        np.repeat(people, 2, axis=0), np.repeat(llm, 2), scoring="accuracy", epsilon=0.1, clusters=np.arange(160) // 2
    )
    assert [one.p_value for one in twice.annotators] == pytest.approx([one.p_value for one in once.annotators])
    assert {one.n_clusters for one in twice.annotators} == {80}


def test_equal_in_exact_arithmetic_is_a_tie() -> None:
    """0.1 + 0.2 stands for 0.3: neither the LLM nor the person is ahead by a last bit."""
    people = np.tile([0.3, 0.5, 0.1], (40, 1))
    llm = np.full(40, 0.1 + 0.2)
    found = alternative_annotator_test(people, llm, scoring="neg_rmse", epsilon=0.1)
    assert (found.annotators[0].llm_advantage, found.annotators[0].person_advantage) == (1.0, 1.0)


def test_a_copy_of_unanimous_people_is_tested_by_the_exact_bound() -> None:
    people = np.tile(np.arange(60.0)[:, None] % 4, (1, 3))
    found = alternative_annotator_test(people, people[:, 0], scoring="accuracy", epsilon=0.1)
    assert [one.p_value for one in found.annotators] == pytest.approx([0.9**60] * 3)
    assert {one.test for one in found.annotators} == {"exact bound"}
    assert found.passes
    wrong = alternative_annotator_test(people, people[:, 0] + 1, scoring="accuracy", epsilon=0.1)
    assert [one.p_value for one in wrong.annotators] == [1.0] * 3
    assert not wrong.passes


def test_too_few_units_or_annotators_have_a_reason() -> None:
    few = study(np.random.default_rng(1), n_units=20)
    found = alternative_annotator_test(few, few[:, 0], scoring="accuracy", epsilon=0.1)
    assert (found.passes, found.winning_rate) == (None, None)
    assert str(found.reason) == "0 annotators share at least 30 items with others and the LLM; 3 are needed"
    assert str(found.annotators[0].reason) == "20 items shared with others and the LLM; 30 are needed"
    two = study(np.random.default_rng(1), n_annotators=2)
    assert alternative_annotator_test(two, two[:, 0], scoring="accuracy", epsilon=0.1).passes is None
    nobody = np.full((5, 3), np.nan)
    assert alternative_annotator_test(nobody, np.zeros(5), scoring="neg_rmse", epsilon=0.1).n_units == 0


@pytest.mark.parametrize(
    ("people", "llm", "epsilon"),
    [([[1.0, 2.0]], [1.0, 2.0], 0.1), ([[1.0, np.inf]], [1.0], 0.1), ([[1.0, 2.0]], [1.0], 1.0)],
)
def test_bad_input_is_refused(people: list[list[float]], llm: list[float], epsilon: float) -> None:
    with pytest.raises(ValueError, match=r"do not fit|finite|epsilon"):
        alternative_annotator_test(people, llm, scoring="neg_rmse", epsilon=epsilon)


def test_benjamini_yekutieli_agrees_with_scipy() -> None:
    p_values = np.random.default_rng(0).random(12) ** 3
    found = benjamini_yekutieli([None, *p_values.tolist()])
    assert found.p_adjusted[0] is None
    assert list(found.p_adjusted[1:]) == pytest.approx(false_discovery_control(p_values, method="by").tolist())
    assert found.n_tests == 12
