"""Plans of error spans: counts against drawn ones, and the report's test of what simulated annotators mark."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result
from scipy import stats

from analysis.frames.measures import rating_tests
from analysis.planning.assumptions import assumed
from analysis.planning.contributions import answers
from analysis.planning.plan import annotators_for
from analysis.planning.simulate import count_answers
from analysis.planning.variance import Components
from spa.cli import main
from spa.commands.init import write_example
from spa.elicitation.spans import marked_errors, true_errors
from spa.records.form import AnswerOption
from spa.widgets import SpansAnswer

WEIGHTS = {"minor": 1.0, "major": 5.0}
ERRORS = SpansAnswer(
    text=" ".join(f"word{place}" for place in range(25)),
    severities=tuple(AnswerOption(value=one, text=one) for one in WEIGHTS),
    categories=(),
    no_errors="No errors",
)


def plan(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["plan", *map(str, arguments)])


@pytest.mark.parametrize(("n_items", "mean", "difference", "sd"), [(1, 4.0, 0.0, 7.0), (4, 1.0, 1.5, 2.0)])
def test_counts_are_those_of_gamma_mixed_poisson_counts(
    n_items: int, mean: float, difference: float, sd: float
) -> None:
    points, chances = count_answers(n_items, mean=mean, difference=difference, sd=sd)
    assert points @ chances == pytest.approx(difference, abs=1e-5)
    assert (points - difference) ** 2 @ chances == pytest.approx(sd**2, rel=1e-5)
    rng, spread = np.random.default_rng(3), n_items * sd**2 / (2 * mean) - 1
    x, y = (
        rng.poisson(rng.gamma(n_items * (mean + half) / spread, spread, 200_000))
        for half in (difference / 2, -difference / 2)
    )
    seen = np.array([np.mean(np.isclose((x - y) / n_items, point)) for point in points])
    assert np.abs(seen - chances).max() < 0.005
    mirrored = count_answers(n_items, mean=mean, difference=-difference, sd=sd)
    assert mirrored[1][::-1] == pytest.approx(chances)


@pytest.mark.parametrize(("difference", "sd"), [(2.0, 5.0), (0.5, 1.0)])
def test_counts_that_cannot_be_are_refused(difference: float, sd: float) -> None:
    with pytest.raises(ValueError, match="no counts have mean 1, difference"):
        count_answers(1, mean=1.0, difference=difference, sd=sd)


def test_the_reports_test_finds_what_was_planned() -> None:
    """Annotators of known recall and precision mark two outputs of each system."""
    rng = np.random.default_rng(5)
    rates = {"larch": 0.12, "juniper": 0.06}
    drawn = {system: [_weight(rate, number, rng) for number in range(4000)] for system, rate in rates.items()}
    x, y = (np.array(one).reshape(-1, 2).mean(axis=1) for one in drawn.values())
    components = Components(annotator_sd=float((x - y).std()))
    mean, difference = float((x + y).mean()) / 2, float((x - y).mean())
    design = assumed("spans", components=components, errors=mean, n_items=2, n_tests=3, exclusion_rate=0.0)
    needed = annotators_for(design, difference, 0.8, design.alpha).annotators
    assert needed is not None
    picked = rng.integers(len(x), size=(4000, needed))
    tested = stats.ttest_1samp((x - y)[picked], 0, axis=1)
    assert float(np.mean((tested.pvalue < design.alpha) & (tested.statistic > 0))) == pytest.approx(0.8, abs=0.025)
    table = [
        {"annotator_id": f"a{place}", "item_id": f"i{one}", "system": system, "score": scores[2 * number + one]}
        for place, number in enumerate(picked[0].tolist())
        for system, scores in drawn.items()
        for one in (0, 1)
    ]
    (reported,) = rating_tests(pl.DataFrame(table))
    assert reported.unit == "annotator"
    assert reported.p_value == pytest.approx(float(tested.pvalue[0]), abs=1e-10)


def _weight(rate: float, number: int, rng: np.random.Generator) -> float:
    errors = true_errors(ERRORS, rate, [str(rate), str(number)])
    marks = json.loads(marked_errors(ERRORS, errors, recall=0.8, precision=0.8, rng=rng))
    return sum(WEIGHTS[mark["severity"]] for mark in marks)


@pytest.mark.parametrize(
    ("family", "score", "n_tests"), [("criterion", "true", 3), ("all", "true", 9), ("all", "false", 6)]
)
def test_a_study_of_error_spans_is_planned(tmp_path: Path, family: str, score: str, n_tests: int) -> None:
    """Number of errors, their weights and the score after them share a family where all criteria do."""
    write_example(tmp_path, "spans")
    path = tmp_path / "study.toml"
    changed = path.read_text().replace("[spans]", f'[analysis]\nfamily = "{family}"\n\n[spans]\nscore = {score}')
    path.write_text(changed.replace('pages = "output"', 'pages = "item"').replace("outputs = 12", "items = 4"))
    result = plan(path, "--json", "--simulations", 400, "--difference", 1.5, "--power", 0.8)
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    (found,) = said["plans"]
    assert [found["assumptions"][name] for name in ("kind", "n_tests", "n_items")] == ["spans", n_tests, 4]
    assert found["rows"][0]["alone"]["power"]["value"] == pytest.approx(0.8, abs=0.08)
    assert found["rows"][0]["shown"] == "1.5 points"
    assert found["live"] == []
    assert {one["question"] for one in said["conclusions"]} >= {
        "which system has fewer or lighter errors",
        "that two systems have equally many errors",
    }


def test_power_does_not_change_with_the_unit_of_weights() -> None:
    """Many errors are about normal, whatever their number."""
    for errors in (200.0, 400.0):
        design = assumed("spans", components=Components(annotator_sd=30.0), errors=errors, exclusion_rate=0.0)
        assert answers(design, 10.0)[1].sum() == pytest.approx(1)
        normal = stats.norm.isf(0.025) + stats.norm.isf(0.2)
        assert annotators_for(design, 10.0, 0.8, 0.05).annotators == pytest.approx((3 * normal) ** 2 + 2, abs=1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--errors", "2"), "--errors: expected error spans, got another elicitation; add --elicitation spans"),
        (
            ("--elicitation", "spans", "--errors", "1", "--difference", "2"),
            "--difference: expected a difference above 0 and below 2 points, got 2",
        ),
    ],
)
def test_what_errors_leave_no_room_for_is_refused(options: tuple[str, ...], said: str) -> None:
    result = plan(*options)
    assert result.exit_code == 1
    assert said in result.stderr
