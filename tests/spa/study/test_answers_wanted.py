"""``[design] answers_per_output``: as many assignments as that many answers about each output take, and no more."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spa.commands.init import write_example
from spa.commands.workspace import open_workspace
from spa.errors import StudyError
from spa.raters.visits import rater_visits
from spa.records.raters import Rater, rater_variants
from spa.study.answers_wanted import answers_wanted_problems, dealt_by_assignment, enough_for, with_people_needed
from spa.study.load import load_study
from spa.study.sampling import sample_assignments, study_rng
from tests.spa.rehearsed import spa
from tests.strategies import outputs_of, small_study


def dealing(outputs: int, answers: int, per_assignment: int = 1, **fields: Any) -> Any:
    design = {"outputs": outputs, "answers_per_output": answers}
    people = {"annotators": 30, "per_assignment": per_assignment}
    return small_study(spa=None, likert={"pages": "output"}, design=design, people=people, **fields)


@given(st.integers(1, 14), st.integers(1, 7), st.integers(1, 9), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_every_output_is_dealt_exactly_as_often(items: int, runs: int, most: int, per_assignment: int) -> None:
    """No output more or less than wanted, in the fewest forms, whose sizes differ by one at most."""
    made_for = small_study(spa=None, likert={"pages": "output"}, design={"outputs": 1})
    made = outputs_of(made_for, items=items)
    number = sum(1 for _ in made.of_compared(made_for))
    most = min(most, number)
    study = dealing(most, runs * per_assignment, per_assignment)
    sizes = dealt_by_assignment(study, made)
    assert len(sizes) == -(-number * runs // most)
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= most
    dealt: Counter[tuple[str, str, int]] = Counter()
    for assignment, key in sample_assignments(study, made, count=len(sizes), rng=study_rng(0)):
        shown = [(one.item_id, key.systems[one.label], one.sample) for one in assignment.blocks[0].shown]
        assert len(set(shown)) == len(shown)
        dealt.update(shown)
    assert set(dealt.values()) == {runs}
    assert len(dealt) == number
    assert with_people_needed(study, made).people.annotators == len(sizes) * per_assignment


def test_raters_are_asked_as_many_forms_as_repeats_need() -> None:
    """Twelve outputs, four a form, six answers: six runs of three forms, of which three repeats need two."""
    study = dealing(4, 6)
    made = outputs_of(study, items=4)
    names = [f"a{number:05}" for number in range(1, 20)]
    asked = {repeats: len(enough_for(study, made, names, repeats)) for repeats in (1, 2, 3, 4, 6, 9)}
    assert asked == {1: 18, 2: 9, 3: 6, 4: 6, 6: 3, 9: 3}
    assert enough_for(dealing(4, 6).model_copy(update={"design": small_study().design}), made, names, 3) == names


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"likert": {"pages": "item"}, "design": {"answers_per_output": 3}}, 'expected pages = "output"'),
        ({"people": {"annotators": 3, "sessions": 2}}, "expected sessions = 1"),
        ({"people": {"annotators": 3, "per_assignment": 2}}, "a multiple of [people] per_assignment"),
    ],
)
def test_what_answers_per_output_cannot_be_beside(fields: dict[str, Any], told: str) -> None:
    """One line each: where, expected, found, what to do."""
    design = {"outputs": 4, "answers_per_output": 3}
    study = small_study(spa=None, **{"likert": {"pages": "output"}, "design": design, **fields})
    (line,) = [one.message for one in answers_wanted_problems(study)]
    assert line.startswith("[design] answers_per_output: expected ")
    assert told in line
    assert len(line) < 500


def test_number_of_annotators_is_said_once(tmp_path: Path) -> None:
    """The study file names answers or annotators; of both it is told, and the number follows from the outputs."""
    write_example(tmp_path, "chiang-lee")
    study = tmp_path / "study.toml"
    assert load_study(study).people.annotators == 12
    study.write_text(study.read_text(encoding="utf-8") + "\n[people]\nannotators = 9\n", encoding="utf-8")
    with pytest.raises(StudyError, match=r"answers_per_output: expected no annotators in \[people\]"):
        load_study(study)


def test_build_says_how_many_and_raters_ask_no_more(tmp_path: Path) -> None:
    """24 stories, 6 a form, three answers: 12 forms; a rater with three repeats is asked about four."""
    write_example(tmp_path, "chiang-lee")
    built = spa("build", tmp_path / "study.toml").stdout
    assert "12 assignments" in built
    assert "24 outputs, each shown in 3 assignments" in built
    assert "3 answers about each ([design] answers_per_output) take 12 assignments" in built
    with open_workspace(tmp_path / "study.toml") as workspace:
        asked = {
            repeats: len(
                rater_visits(
                    workspace.store,
                    rater_variants(Rater(id="judge", model="m", repeats=repeats)),
                    asking=workspace.asking,
                )
            )
            for repeats in (1, 3)
        }
    assert asked == {1: 12, 3: 12}  # visits: twelve forms once, four forms three times
