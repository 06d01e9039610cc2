"""Plans of pairwise choices, with and without ties: against enumeration, and the report's test of drawn choices."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result
from scipy import stats

from analysis.frames.measures import choice_tests
from analysis.planning.assumptions import assumed
from analysis.planning.contributions import scale_test
from analysis.planning.plan import annotators_for, detectable
from analysis.planning.ranked import choice_design, share_answers, share_components
from spa.cli import main
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from tests.spa.small_study import BEGINNING, write_study

STUDY = f"""{BEGINNING}
people = {{annotators = 60}}
design = {{items = 6}}

[choices]
"""


def plan(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["plan", *map(str, arguments)])


@pytest.mark.parametrize("n_items", [1, 2, 5])
@pytest.mark.parametrize(("ties", "sd", "difference"), [(0.0, 0.1, 0.1), (0.2, 0.1, 0.15), (0.5, 0.2, 0.0)])
def test_shares_are_those_of_drawn_choices(n_items: int, ties: float, sd: float, difference: float) -> None:
    """Annotators have a chance of their own to choose x where they do not tie."""
    points, chances = share_answers(share_components(sd, ties), n_items, difference, ties)
    rng, mean = np.random.default_rng(3), 0.5 + difference / (1 - ties)
    both = mean * (1 - mean) / (sd / (1 - ties)) ** 2 - 1
    own = rng.beta(mean * both, (1 - mean) * both, (200_000, 1))
    shape = (200_000, n_items)
    drawn = np.where(rng.random(shape) < ties, 0.5, rng.random(shape) < own).mean(axis=1)
    seen = np.array([np.mean(np.isclose(drawn, point)) for point in points])
    assert np.abs(seen - chances).max() < 0.005
    assert chances.sum() == pytest.approx(1)
    if difference == 0:
        variance = (points - 0.5) ** 2 @ chances
        assert share_components(sd, ties).contribution_sd(n_items) == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize(("annotators", "excluded", "alpha"), [(60, 0.0, 0.05), (327, 0.1, 0.05 / 6)])
def test_power_of_one_choice_each_is_that_of_all_outcomes(annotators: int, excluded: float, alpha: float) -> None:
    """Without ties a study is its number of wins, so that power goes up and down with each annotator who stays."""
    chance = 0.6

    def power(n: int) -> float:
        wins = np.arange(n + 1)
        with np.errstate(divide="ignore"):
            t = (wins / n - 0.5) / np.sqrt(wins / n * (1 - wins / n) / (n - 1))
        return float(stats.binom.pmf(wins, n, chance)[t > stats.t.ppf(1 - alpha / 2, n - 1)].sum())

    kept = np.arange(int(0.7 * annotators), annotators + 1)
    expected = stats.binom.pmf(kept, annotators, 1 - excluded) @ [power(n) for n in kept.tolist()]
    design = assumed("choices", exclusion_rate=excluded)
    test = scale_test(design, share_answers(design.components, 1, chance - 0.5), alpha)
    assert test.power(annotators) == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize("width", [0.0, 0.6])
def test_the_reports_test_finds_what_was_planned(width: float) -> None:
    """Annotators tie outputs that please about alike; shares are then no beta-binomial distribution."""
    rng, better, n_items, taste, noise = np.random.default_rng(5), 0.6, 3, 0.4, 1.0
    latent = better + taste * rng.standard_normal((400_000, 1)) + noise * rng.standard_normal((400_000, 2))
    value = np.where(abs(latent) < width, 0.5, latent > 0)
    ties, mean = float(np.mean(value == 0.5)), float(value.mean())
    sd = float(np.sqrt(np.cov(value.T)[0, 1]))
    design = assumed(
        "choices",
        components=share_components(sd, ties),
        judged=((n_items, 1.0),),
        ties=ties,
        n_tests=3,
        exclusion_rate=0.0,
    )
    needed = annotators_for(design, mean - 0.5, 0.8, design.alpha).annotators
    assert needed is not None
    tastes = better + taste * rng.standard_normal((4000, needed, 1))
    drawn = tastes + noise * rng.standard_normal((4000, needed, n_items))
    values = np.where(abs(drawn) < width, 0.5, drawn > 0)
    tested = stats.ttest_1samp(values.mean(axis=2), 0.5, axis=1)
    assert float(np.mean((tested.pvalue < design.alpha) & (tested.statistic > 0))) == pytest.approx(0.8, abs=0.025)
    annotator, item = (place.ravel().tolist() for place in np.indices((needed, n_items)))
    winner = np.array(["y", "tie", "x"])[(2 * values[0]).astype(int)].ravel().tolist()
    table = pl.DataFrame(
        {
            "annotator_id": [f"a{one}" for one in annotator],
            "item_id": [f"i{one}" for one in item],
            "system_x": "alpha",
            "system_y": "beta",
            "winner": winner,
        }
    )
    (reported,) = choice_tests(table)
    assert reported.unit == "annotator"
    assert reported.p_value == pytest.approx(float(tested.pvalue[0]), abs=1e-10)


def test_a_study_of_choices_is_planned(tmp_path: Path) -> None:
    path = write_study(tmp_path, STUDY)
    result = plan(path, "--json", "--simulations", 400, "--difference", 65)
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    (found,) = said["plans"]
    assert [found["assumptions"][name] for name in ("kind", "n_tests", "judged")] == ["choices", 3, [[6, 1.0]]]
    assert found["rows"][0]["alone"]["power"]["value"] == pytest.approx(0.8, abs=0.08)
    assert {one["truth"] for one in found["live"]} >= {"all differ", "one differs"}
    assert "which system is chosen more often" in {one["question"] for one in said["conclusions"]}
    fewer = json.loads(plan(path, "--json", "--simulations", 0, "--difference", 65, "--ties", 0.4).stdout)["plans"][0]
    assert fewer["rows"][0]["need"]["annotators"] < found["rows"][0]["need"]["annotators"]
    shown = plan(path, "--simulations", 0, "--difference", 70).stdout
    assert "Choices: 3 tests, 6 choices between both systems by each annotator" in shown


def test_dealt_pairs_need_more_annotators_each_pair_as_many(tmp_path: Path) -> None:
    path = write_study(tmp_path, STUDY + "per_annotator = 1")
    study = load_study(path)
    assert choice_design(study, load_outputs(study)) == {"n_tests": 3, "judged": ((0, 2 / 3), (1, 1 / 3))}
    whole = assumed("choices", n_tests=3)
    dealt = assumed("choices", n_tests=3, judged=((0, 1 - 1 / 3), (1, 1 / 3)))
    all_, third = (annotators_for(one, 0.2, 0.8, one.alpha).annotators for one in (whole, dealt))
    assert all_ is not None
    assert third is not None
    assert third == pytest.approx(3 * all_, rel=0.05)
    shown = plan(path, "--simulations", 0, "--difference", 70).stdout.replace("\n", " ")
    assert "A pair is judged by 33.3% of the annotators" in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--ties", "0.2"), "--ties: expected choices, got another elicitation; add --elicitation choices"),
        (
            ("--elicitation", "choices", "--ties", "0.6", "--sd", "0.4"),
            "--sd: of choices expected an SD between annotators above 0 and below 0.316",
        ),
        (
            ("--elicitation", "choices", "--ties", "0.6", "--difference", "75"),
            "expected a preference in percent above 50 and below 70, such as 60, got 75",
        ),
    ],
)
def test_what_ties_leave_no_room_for_is_refused(options: tuple[str, ...], said: str) -> None:
    result = plan(*options)
    assert result.exit_code == 1
    assert said in result.stderr


def test_planned_pairs_of_many_systems(tmp_path: Path) -> None:
    """Of 50 systems hardly anybody meets a pair, at a level of 0.05 / 1225."""
    few = assumed("choices", n_tests=1225, judged=((0, 1 - 12 / 1225), (1, 12 / 1225)))
    assert "too few for 80% power" in str(detectable(few, 400, 0.8).reason)
    live = '\n[stopping]\nrule = "when_decided"\ntop = 1\n'
    path = write_study(tmp_path, STUDY + "per_annotator = 1" + live)
    expected = (
        "expected a study that asks [spa], [likert], [spans], [ranking] or [choices], got [choices] to rank all systems"
    )
    assert expected in plan(path).stderr
    checked = CliRunner().invoke(main, ["check", str(path), "--json"])
    conclusions = json.loads(checked.stdout)["conclusions"]
    assert conclusions[0]["question"] == "which system is chosen more often"
    assert "is not planned" in conclusions[0]["reason"]
