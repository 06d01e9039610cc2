"""Power where answers are often all alike, which no test can use: enumeration, drawn studies, monotony, symmetry."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.planning.assumptions import Assumptions, assumed
from analysis.planning.contributions import answers
from analysis.planning.plan import annotators_for, detectable, power_at
from analysis.planning.ranked import mixed_shares, share_components
from analysis.planning.scale_power import won_power
from analysis.planning.simulate import holm_rejects, simulate_family
from analysis.planning.variance import Components
from analysis.statistics.t_tests import one_sample
from spa.cli import main


def drawn_power(design: Assumptions, difference: float, annotators: int, runs: int, seed: int = 1) -> float:
    """Draw every answer and exclusion, and test by scipy; answers that are all alike are no test."""
    rng = np.random.default_rng(seed)
    points, chances = answers(design, difference)
    null, found = (0.0 if design.in_points else 0.5), 0
    kept, runs_of = np.unique(rng.binomial(annotators, 1 - design.absent, size=runs), return_counts=True)
    for stay, number in zip(kept.tolist(), runs_of.tolist(), strict=True):
        values = rng.choice(points, p=chances, size=(number, stay))
        if stay < 2 or not (differ := np.ptp(values, axis=1) > 0).any():
            continue
        tested = stats.ttest_1samp(values[differ], null, axis=1)
        found += int(((tested.pvalue <= design.alpha * (1 + 1e-9)) & (tested.statistic > 0)).sum())
    return found / runs


@pytest.mark.parametrize(
    ("design", "difference", "annotators", "right"),
    [
        (assumed("choices"), 0.45, 14, 0.464),
        (assumed("choices", n_tests=6), 0.4, 15, 0.57),
        (assumed("spa", components=Components(annotator_sd=0.01)), 0.499, 14, 0.21),
    ],
)
def test_answers_that_are_all_alike_are_not_found(
    design: Assumptions, difference: float, annotators: int, right: float
) -> None:
    """Once 98.8, 81.2 and 100%."""
    found = power_at(design, annotators, difference, design.alpha)
    assert found == pytest.approx(right, abs=0.015)
    seen = drawn_power(design, difference, annotators, 4000)
    assert found == pytest.approx(seen, abs=3 * np.sqrt(seen * (1 - seen) / 4000) + 0.002)


@pytest.mark.parametrize(
    ("design", "difference", "annotators"),
    [
        (assumed("choices", judged=((1, 0.5), (2, 0.5)), n_tests=6), 0.2, 40),
        (assumed("choices", judged=((3, 1.0),), n_tests=435), 0.35, 30),
        (assumed("choices", components=share_components(0.05, 0.8), ties=0.8), 0.07, 25),
        (assumed("choices", components=share_components(0.0005, 0.99), ties=0.99), 0.004, 300),
        (assumed("ranking", judged=((0, 0.3), (1, 0.3), (2, 0.4)), n_tests=15), 0.3, 30),
        (assumed("ranking", judged=((6, 1.0),), components=share_components(0.3)), 0.1, 4),
        (assumed("likert", n_tests=6, components=Components(annotator_sd=0.5)), 2.0, 8),
        (assumed("likert", n_items=4, components=Components(annotator_sd=0.3)), 3.0, 22),
        (assumed("spa", directions=2, components=Components(annotator_sd=0.01), n_tests=435), 0.4, 24),
        (assumed("spa", components=Components(annotator_sd=0.485)), 0.1, 90),
        (assumed("spa", components=Components(annotator_sd=0.05), n_tests=6), 0.01, 260),
        (assumed("spa", components=Components(annotator_sd=0.09), n_tests=15), 0.49, 21),
    ],
)
def test_corners_have_the_power_of_drawn_studies(design: Assumptions, difference: float, annotators: int) -> None:
    seen = drawn_power(design, difference, annotators, 3000)
    found = power_at(design, annotators, difference, design.alpha)
    assert found == pytest.approx(seen, abs=0.005 + 3 * np.sqrt(max(seen * (1 - seen), 0.002) / 3000))


@pytest.mark.parametrize(
    ("won", "lost", "n", "alpha"), [(0.6, 0.1, 7, 0.05), (0.9, 0.1, 9, 0.05 / 6), (0.5, 0.2, 8, 0.2)]
)
def test_exact_power_of_won_tied_and_lost(won: float, lost: float, n: int, alpha: float) -> None:
    """Tested by the report's own test."""
    chances, wanted = {1.0: won, -1.0: lost, 0.0: 1 - won - lost}, 0.0
    for study in product(*[[value for value, chance in chances.items() if chance > 1e-12]] * n):
        test = one_sample(np.array(study), against=0.0, confidence=0.95)
        if test.p_value is not None and test.p_value <= alpha and test.mean > 0:
            wanted += float(np.prod([chances[value] for value in study]))
    assert won_power(won, lost, n=n, alpha=alpha) == pytest.approx(wanted, abs=1e-12)


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 120), st.floats(0.02, 0.45), st.floats(0.0, 0.9), st.sampled_from([0.05, 0.05 / 6, 0.05 / 435]))
def test_choices_can_be_turned_and_more_pairs_never_help(n: int, lost: float, tied: float, alpha: float) -> None:
    won, lost = (1 - tied) * (1 - lost), (1 - tied) * lost
    both = won_power(won, lost, n=n, alpha=alpha) + won_power(lost, won, n=n, alpha=alpha)
    assert 0 <= both <= 1 + 1e-12
    assert won_power(won, won, n=n, alpha=alpha) <= won_power(won, lost, n=n, alpha=alpha) + 1e-9 if tied else True
    assert won_power(won, lost, n=n, alpha=alpha / 2) <= won_power(won, lost, n=n, alpha=alpha) + 1e-12


@pytest.mark.parametrize(
    ("design", "difference", "power"),
    [
        (assumed("choices", exclusion_rate=0.0), 0.25, 0.8),
        (assumed("choices", exclusion_rate=0.0, n_tests=6), 0.1, 0.8),
        (assumed("choices", n_tests=3), 0.2, 0.9),
        (assumed("choices", exclusion_rate=0.0, judged=((2, 1.0),)), 0.2, 0.8),
        (assumed("spa", components=Components(annotator_sd=0.01)), 0.499, 0.8),
    ],
)
def test_from_the_number_recommended_on_power_stays(design: Assumptions, difference: float, power: float) -> None:
    """Power of choices goes up and down with each annotator: the first number that reaches it is not enough."""
    need = annotators_for(design, difference, power, design.alpha)
    assert need.annotators is not None
    assert need.reached == power_at(design, need.annotators, difference, design.alpha)
    later = [power_at(design, need.annotators + more, difference, design.alpha) for more in range(120)]
    assert min(later) >= power
    assert power_at(design, need.annotators - 1, difference, design.alpha) < power


def test_the_number_needed_finds_the_difference_that_it_detects() -> None:
    """One engine: 13 and 14 annotators once differed in what they find from what was recommended."""
    for design, difference in ((assumed("spa"), 0.3), (assumed("choices", judged=((6, 1.0),)), 0.3)):
        need = annotators_for(design, difference, 0.8, design.alpha).annotators
        assert need is not None
        found, fewer = (detectable(design, count, 0.8).difference for count in (need, need - 1))
        assert found is not None
        assert found <= difference + 1e-6
        assert fewer is None or fewer > difference


def test_planned_unanimous_answers_in_family() -> None:
    """The report bounds their chance, and every comparison counts then; answers that are all even are left out."""
    p_values = np.array([[0.02, np.nan, np.nan]] * 2)
    assert holm_rejects(p_values, fwer=0.05, counting_all=np.array([False, True]))[:, 0].tolist() == [True, False]
    points = np.array([0.0, 0.5, 1.0])
    alike, even, differs = (
        (points, np.array([0, 0, 1.0])),
        (points, np.array([0, 1.0, 0])),
        (points, np.array([0.3, 0, 0.7])),
    )
    common = {"null": 0.5, "annotators": 40, "exclusion_rate": 0.0, "fwer": 0.05, "replicates": 4000}
    rng = np.random.default_rng(3)
    lone = simulate_family([differs], rng=rng, **common).power.value
    with_even = simulate_family([differs, even, even], rng=rng, **common).power.value
    with_alike = simulate_family([differs, alike, even], rng=rng, **common)
    assert with_even == pytest.approx(lone, abs=0.04)
    corrected = won_power(0.7, 0.3, n=40, alpha=0.05 / 3)
    assert with_alike.power.value == pytest.approx(corrected / 2, abs=0.03)  # the other true difference has no test


def test_planned_shares_are_mixed() -> None:
    """Shares of annotators who judge more and less often are mixed."""
    rng, judged = np.random.default_rng(4), ((0, 0.2), (1, 0.3), (2, 0.3), (3, 0.2))
    made = share_components(0.1)
    points, chances = mixed_shares(made, judged, 0.1)
    times = rng.choice([1, 2, 3], p=[0.375, 0.375, 0.25], size=200_000)
    both = 0.6 * 0.4 / 0.01 - 1
    drawn = rng.binomial(times, rng.beta(0.6 * both, 0.4 * both, len(times))) / times
    for point, chance in zip(points, chances, strict=True):
        assert np.mean(np.isclose(drawn, point)) == pytest.approx(chance, abs=0.005)


@pytest.mark.parametrize(("times", "pool", "item_sd"), [(4, 4, 0.2), (4, 8, 0.2), (3, None, 0.15), (2, 2, 0.1)])
def test_items_scatter_shares_as_they_scatter_ratings(times: int, pool: int | None, item_sd: float) -> None:
    """item^2 / k (M - k) / (M - 1), and nothing where everybody judges all: drawn with items of their own chances."""
    made, rng = share_components(0.15, item_sd=item_sd), np.random.default_rng(5)
    size = 4000 if pool is None else pool
    effects = rng.normal(0, 1, size)
    effects = item_sd * (effects - effects.mean()) / effects.std()
    people, own = 40_000, rng.choice([-0.15, 0.15], 40_000)
    judged = (
        np.argsort(rng.random((people, size)), axis=1)[:, :times]
        if size < 100
        else rng.integers(0, size, (people, times))
    )
    shares = (rng.random((people, times)) < 0.5 + own[:, None] + effects[judged]).mean(axis=1)
    design = assumed("choices", components=made, judged=((times, 1.0),), pool=pool)
    assert design.sd == pytest.approx(shares.std(), rel=0.015)
    points, chances = answers(design, 0.0)
    assert float(np.sqrt((points - 0.5) ** 2 @ chances)) == pytest.approx(design.sd, rel=1e-3)


@pytest.mark.parametrize("ties", ["0.9", "0.99", "0.999"])
def test_many_ties_are_planned_or_refused_in_one_line(ties: str) -> None:
    most = 50 + 50 * (1 - float(ties))
    usual = CliRunner().invoke(
        main, ["plan", "--elicitation", "choices", "--ties", ties, "--simulations", "0", "--power", "0.8", "--json"]
    )
    rows = json.loads(usual.stdout)["plans"][0]["rows"]
    differences = sorted({row["need"]["difference"] for row in rows})
    assert differences == pytest.approx([share * (1 - float(ties)) for share in (0.05, 0.1, 0.15)])
    found = CliRunner().invoke(main, ["plan", "--elicitation", "choices", "--ties", ties, "--difference", "60"])
    assert found.exit_code == 1
    assert f"expected a preference in percent above 50 and below {most:g}, such as 5" in found.stderr
    difference = 50 + 0.3 * 100 * (1 - float(ties))
    asked = ["--difference", f"{difference:g}", "--power", "0.8", "--simulations", "2000", "--json"]
    found = CliRunner().invoke(main, ["plan", "--elicitation", "choices", "--ties", ties, *asked])
    assert found.exit_code == 0, found.stderr
    (row,) = json.loads(found.stdout)["plans"][0]["rows"]
    assert row["need"]["reached"] == pytest.approx(0.8, abs=0.02)
    assert row["alone"]["power"]["value"] == pytest.approx(row["need"]["reached"], abs=0.03)
    wide = CliRunner().invoke(main, ["plan", "--elicitation", "choices", "--ties", ties, "--sd", "0.2", *asked])
    assert wide.exit_code == 1
    assert len(wide.stderr) < 500


def test_planned_thousands_of_equal_answers() -> None:
    """Once 5,692 annotators and 100%: one answer in 250,000 differs, and without one there is no test."""
    design = assumed("spa", components=Components(annotator_sd=0.0001))
    rare = 1 - float(answers(design, 0.1)[1].max())
    found = power_at(design, 6000, 0.1, design.alpha)
    assert found == pytest.approx(1 - (1 - rare) ** 5400, abs=1e-3)
    assert found < 0.05
