"""Calibration of stated probabilities: values worked by hand, edges of bins, and an honest repair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.llm_vs_people import assess_calibration, recalibrate


def test_a_worked_example() -> None:
    """Brier (1950): .09 + .09 + .49 + .04 over 4; error: bin of .7 is off by .3 - .5, the others by .3 and .2."""
    found = assess_calibration([0.7, 0.7, 0.3, 0.2], [1, 0, 0, 0])
    assert found.brier_score == pytest.approx((0.09 + 0.49 + 0.09 + 0.04) / 4)
    assert found.calibration_error == pytest.approx((2 * 0.2 + 0.3 + 0.2) / 4)
    at = found.bins[7]
    assert (at.low, at.high, at.n, at.mean_outcome) == (0.7, 0.8, 2, 0.5)
    assert at.mean_stated == pytest.approx(0.7)
    assert (at.ci_low, at.ci_high) == pytest.approx((0.094531, 0.905469), abs=1e-6)  # Wilson (1927), 1 of 2
    assert found.bins[0].n == 0
    assert found.bins[0].mean_outcome is None


@given(st.integers(1, 20), st.data())
def test_an_edge_belongs_to_the_bin_above(n_bins: int, data: st.DataObject) -> None:
    """0.7 is an edge of ten bins although 0.7 * 10 need not be 7 in floating point."""
    edge = data.draw(st.integers(0, n_bins))
    found = assess_calibration([edge / n_bins], [1.0], n_bins=n_bins)
    assert found.bins[min(edge, n_bins - 1)].n == 1
    sums = assess_calibration([0.1 + 0.2, 0.7 - 0.4], [1.0, 1.0])
    assert sums.bins[3].n == 2


@given(
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=40), st.integers(1, 12)
)
def test_mirrored_pairs_and_bounds(answers: list[tuple[float, float]], n_bins: int) -> None:
    stated, outcome = np.array(answers).T
    found = assess_calibration(stated, outcome, n_bins=n_bins)
    mirrored = assess_calibration(1 - stated, 1 - outcome, n_bins=n_bins)
    assert mirrored.brier_score == pytest.approx(found.brier_score, abs=1e-12)
    assert found.calibration_error is not None
    assert 0 <= found.calibration_error <= 1
    assert sum(one.n for one in found.bins) == len(answers)
    assert assess_calibration(stated, outcome, n_bins=1).calibration_error == pytest.approx(
        abs(stated.mean() - outcome.mean()), abs=1e-12
    )


def overconfident(seed: int, n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """State 0.5 + 2 (p - 0.5), in round tens as LLMs do, where p is true."""
    rng = np.random.default_rng(seed)
    true = rng.uniform(0.25, 0.75, size=n)
    return np.round(np.clip(2 * true - 0.5, 0, 1), 1), (rng.random(n) < true).astype(np.float64)


def test_overconfidence_is_found_and_repaired() -> None:
    stated, outcome = overconfident(0)
    found = recalibrate(stated, outcome)
    assert found.after is not None
    assert found.after.calibration_error is not None
    assert found.before.calibration_error is not None
    assert found.before.calibration_error > 0.1
    assert found.after.calibration_error < 0.03
    assert found.after.brier_score < found.before.brier_score - 0.01  # type: ignore[operator]
    again = recalibrate(stated, outcome)
    assert np.array_equal(again.recalibrated, found.recalibrated)


def test_no_answer_helps_to_repair_itself() -> None:
    """Outcomes without any relation cannot be learned: an in-sample fit would look better than chance."""
    rng = np.random.default_rng(1)
    stated, outcome = rng.random(60), rng.integers(0, 2, size=60).astype(np.float64)
    changed = outcome.copy()
    changed[7] = 1 - changed[7]
    before, after = (recalibrate(stated, one, n_folds=60).recalibrated for one in (outcome, changed))
    assert before[7] == after[7]
    assert not np.array_equal(before, after)


def test_clusters_stay_in_one_fold() -> None:
    stated, outcome = overconfident(2, n=90)
    who = np.arange(90) % 30
    changed = outcome.copy()
    changed[who == 4] = 1 - changed[who == 4]
    before, after = (recalibrate(stated, one, clusters=who, n_folds=30).recalibrated for one in (outcome, changed))
    assert np.array_equal(before[who == 4], after[who == 4])


def test_calibration_too_few_or_wrong_answers() -> None:
    """Too few answers have a reason and wrong ones are refused."""
    few = recalibrate([0.2, 0.8], [0, 1])
    assert (few.after, str(few.reason)) == (None, "2 independent answers for 5 folds")
    assert str(assess_calibration([], []).reason) == "no answers"
    for stated, outcome in (([70], [1]), ([0.7], [2]), ([0.7, 0.2], [1])):
        with pytest.raises(ValueError, match=r"expected|one length"):
            assess_calibration(stated, outcome)
