"""Bias contrasts: known effects are found, people's own bias cancels, intervals hold the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from analysis.llm_vs_people import BiasContrast, bias_profile
from analysis.llm_vs_people.bias import CONFOUNDED


def of(found: tuple[BiasContrast, ...], kind: str, level: str | None = None) -> BiasContrast:
    return next(one for one in found if one.kind == kind and level in (None, one.level))


def test_severity_is_the_paired_t_interval() -> None:
    rng = np.random.default_rng(0)
    people = rng.integers(1, 6, size=40).astype(np.float64)
    rater = people - 0.5 + rng.normal(size=40)
    found = of(bias_profile(rater, people), "severity")
    difference = rater - people
    half = t.ppf(0.975, 39) * difference.std(ddof=1) / np.sqrt(40)
    assert (found.estimate, found.ci_low) == pytest.approx((difference.mean(), difference.mean() - half))


def test_bias_contrasts_with_robust_error() -> None:
    """Contrasts are differences of means with the cluster robust error."""
    rng = np.random.default_rng(1)
    people, rater = rng.normal(size=(2, 30))
    position = np.arange(30) % 3 + 1
    found = of(bias_profile(rater, people, position=position), "position")
    first, later = ((rater - people)[mask] for mask in (position == 1, position != 1))
    variance = 30 / 29 * sum(((part - part.mean()) ** 2).sum() / len(part) ** 2 for part in (first, later))
    half = t.ppf(0.975, 29) * np.sqrt(variance)
    assert found.estimate == pytest.approx(first.mean() - later.mean())
    assert found.ci_high == pytest.approx(first.mean() - later.mean() + half)
    assert (found.n, found.n_level, found.n_clusters) == (30, 10, 30)


def test_bias_found_within_systems() -> None:
    """The good system stands first more often: only within systems the position is told apart from quality."""
    rng = np.random.default_rng(2)
    system = rng.integers(0, 2, size=800)
    position = np.where(rng.random(800) < np.where(system == 1, 0.8, 0.2), 1, 2)
    length = rng.normal(200, 50, size=800)
    people = 3 + system + 0.01 * (length - 200)
    rater = people + 0.6 * system + 0.4 * (position == 1) + rng.normal(size=800) * 0.3
    plain = of(bias_profile(rater, people, position=position), "position")
    within = bias_profile(rater, people, position=position, length=length, systems=system)
    assert plain.ci_low is not None
    assert plain.ci_low > 0.6
    found = of(within, "position")
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert found.ci_low < 0.4 < found.ci_high
    of_length = of(within, "length")
    assert of_length.ci_low is not None
    assert of_length.ci_high is not None
    assert of_length.ci_low < 0 < of_length.ci_high


def test_intervals_hold_the_truth_with_clusters() -> None:
    held, studies = 0, 600
    for seed in range(studies):
        rng = np.random.default_rng(seed)
        item = np.repeat(np.arange(40), 4)
        label = np.array(["A", "B", "C", "D"])[np.concatenate([rng.permutation(4) for _ in range(40)])]
        rater = rng.normal(size=40)[item] + 0.3 * (label == "A") + rng.normal(size=160)
        found = of(bias_profile(rater, np.zeros(160), label=label, clusters=item), "label", "A")
        assert found.ci_low is not None
        assert found.ci_high is not None
        held += found.ci_low <= 0.3 <= found.ci_high
    assert abs(held / studies - 0.95) < 3 * np.sqrt(0.95 * 0.05 / studies)


def test_a_letter_that_always_names_one_system_has_a_reason() -> None:
    rng = np.random.default_rng(3)
    label = np.array(["A", "B"] * 20)
    found = bias_profile(rng.normal(size=40), rng.normal(size=40), label=label, systems=label)
    assert {str(one.reason) for one in found if one.kind == "label"} == {"cannot be distinguished from the systems"}
    assert of(found, "label").estimate is None


def test_what_cannot_be_tested_has_a_reason() -> None:
    same = bias_profile([2.0, 3.0], [1.0, 2.0], position=[1, 1])
    assert str(of(same, "severity").reason) == "no variation: every value is the same"
    assert of(same, "severity").estimate == 1.0
    assert str(of(same, "position").reason) == "all units are on one side of the contrast"
    assert "one value only" in str(of(bias_profile([2.0], [1.0]), "severity").reason)


def test_naming_a_pair_the_other_way_round_changes_nothing() -> None:
    """Turned, an answer is one minus itself; who stands first, what is longer and the letters change sides with it."""
    rng = np.random.default_rng(4)
    n = 60
    pair, item = np.arange(n) % 3, np.arange(n) % 20
    first, length = rng.integers(1, 3, n), rng.normal(0, 5, n).round()
    label = np.array([list(rng.permutation(list("ABC")))[:2] for _ in range(n)])
    people = rng.uniform(0, 1, n)
    rater = np.clip(people + 0.1 * (first == 1) + 0.02 * length + 0.05 * (label[:, 0] == "B"), 0, 1)
    about: Any = {"systems": pair, "clusters": item, "pairs": True}
    found = bias_profile(rater, people, position=first, length=length, label=label, **about)
    turn = pair == 1
    other = bias_profile(
        np.where(turn, 1 - rater, rater),
        np.where(turn, 1 - people, people),
        position=np.where(turn, 3 - first, first),
        length=np.where(turn, -length, length),
        label=np.where(turn[:, None], label[:, ::-1], label),
        **about,
    )
    assert [(one.kind, one.level) for one in found] == [
        ("position", "first"), ("length", "longer"), ("label", "A"), ("label", "B"), ("label", "C"),
    ]  # fmt: skip
    for one, again in zip(found, other, strict=True):
        assert (again.n, again.n_clusters, again.reason) == (one.n, one.n_clusters, one.reason)
        assert [again.estimate, again.ci_low, again.ci_high] == pytest.approx([one.estimate, one.ci_low, one.ci_high])
    for position in (np.ones(n), 1 + turn):  # each pair is always shown in one order
        assert bias_profile(rater, people, position=position, **about)[0].reason == CONFOUNDED


def test_bad_input_is_refused() -> None:
    for rater, people in (([], []), ([np.nan], [1.0])):
        with pytest.raises(ValueError, match="expected"):
            bias_profile(rater, people)
    with pytest.raises(ValueError, match="position: expected 2 values"):
        bias_profile([1.0, 2.0], [1.0, 2.0], position=[1])
