"""How simulated annotators read: evidence that pages accept, each habit as its name says, answers as before."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from analysis.answers.exclusions import find_exclusions
from analysis.answers.study_answers import answers_of
from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.media.words import count_words
from spa.responses.reading_evidence import parse_exposure, unseen_outputs
from spa.simulation.simulated_annotators import SimulatedAnnotator, Temperament
from spa.simulation.true_utilities import TrueUtilities
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from spa.study.warnings import study_warnings
from tests.spa.hand_made import hand_made
from tests.spa.small_study import PEOPLE, STUDY, write_study
from tests.spa.web_forms import small_form

TRUTH = TrueUtilities(utilities={"good": 0.5, "poor": -0.5})
FORM = small_form()
RULES = "analysis.min_outputs_seen = 0.9\nanalysis.max_words_per_minute = 600\nanalysis.max_same_answers = 0.9"
TRUTH_FILE = """[utilities]
ada = 0.5
bob = -0.5
[temperament]
"""


def annotator(seed: int = 0, **traits: float) -> SimulatedAnnotator:
    return SimulatedAnnotator(TRUTH, Temperament(**traits), rng=np.random.default_rng(seed))


@pytest.mark.parametrize("least", [0.0, 6.0, 200.0])
@pytest.mark.parametrize("traits", [{}, {"racing": 1}, {"skipping_outputs": 1}], ids=str)
def test_every_page_may_be_left(least: float, traits: dict[str, float]) -> None:
    evidence = annotator(**traits).habit.evidence(FORM, least)
    for page in FORM.pages:
        exposure = parse_exposure(evidence[page.page_id], page)
        assert unseen_outputs(page, exposure, least) == ()


def test_simulated_racers_and_skippers() -> None:
    """Who races reads faster than anybody and who skips sees less."""
    page = FORM.pages[2]
    words = sum(count_words(one.text) for one in page.new_outputs)

    def speeds(**traits: float) -> list[float]:
        read = [annotator(seed, **traits).habit.evidence(FORM, 0.0)[page.page_id] for seed in range(400)]
        return [60 * words / json.loads(text)["seconds"] for text in read]

    assert np.median(speeds()) == pytest.approx(240, rel=0.1)
    assert np.median(speeds(racing=1)) == pytest.approx(1500, rel=0.1)
    assert np.median(speeds(words_per_minute=350.0)) == pytest.approx(350, rel=0.1)
    seen = [
        output[2]
        for seed in range(100)
        for output in json.loads(annotator(seed, skipping_outputs=1).habit.evidence(FORM, 6.0)[page.page_id])[
            "outputs"
        ].values()
    ]
    assert np.mean([share < 0.9 for share in seen]) == pytest.approx(0.5, abs=0.1)


def test_how_outputs_are_read_changes_no_answer() -> None:
    form, key = hand_made()
    plain = annotator(3).answers(form, key)
    assert annotator(3, racing=1, skipping_outputs=1).answers(form, key) == plain
    straight = annotator(3, straight_lining=1)
    assert straight.careless == "straight"
    assert straight.answers(form, key) != plain


@pytest.mark.parametrize(
    ("trait", "rule"),
    [
        ("skipping_outputs", "outputs_seen"),
        ("racing", "reading_speed"),
        ("failing_checks", "attention_checks"),
        (None, None),
    ],
)
def test_each_habit_is_found_by_its_rule_from_form_to_analysis(
    tmp_path: Path, trait: str | None, rule: str | None
) -> None:
    """Over the real server: pages, store, table of reading, rules."""
    path = write_study(tmp_path, STUDY.replace(PEOPLE, f"people.annotators = 6\n{RULES}"))
    truth = tmp_path / "truth.toml"
    systems = [system.id for system in load_study(path).compared]
    lines = [f'"{system}" = 0.{place}' for place, system in enumerate(systems)]
    truth.write_text("\n".join(["[utilities]", *lines, "[temperament]", f"{trait} = 1" if trait else ""]))
    for command in (["build", str(path)], ["simulate", str(path), "--truth", str(truth), "--seed", "2"]):
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output
    with open_workspace(path, rehearsal=True, read_only=True) as workspace:
        found = answers_of(workspace)
    excluded = find_exclusions(found.tables, found.plan)
    assert {row.rule for row in excluded} == ({rule} if rule else set())
    assert len(excluded) == (6 if rule else 0)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("people.seconds_per_100_words = 0\nanalysis.min_outputs_seen = 0.9", "seconds_per_100_words = 0 measures"),
        ("people.seconds_per_100_words = 0\nanalysis.max_words_per_minute = 600", "seconds_per_100_words = 0 measures"),
        ("analysis.max_words_per_minute = 300", "honest people read that fast; expected 500 or more"),
        (RULES, None),
    ],
)
def test_check_explains_rules_that_cannot_apply(tmp_path: Path, lines: str, words: str | None) -> None:
    path = write_study(tmp_path, STUDY.replace(PEOPLE, f"people.annotators = 6\n{lines}"))
    study = load_study(path)
    found = [line for line in study_warnings(study, load_outputs(study)) if line.startswith("[analysis] m")]
    assert [words in line for line in found if words] == ([True] if words else [])
    assert bool(found) == bool(words)
