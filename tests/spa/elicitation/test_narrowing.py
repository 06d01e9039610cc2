"""What is decided is left out of later assignments; all else stays as it was drawn."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.forms.build import build_form
from spa.forms.texts import load_texts
from spa.records.assignment import Assignment, BlindingKey
from spa.study.load import load_study
from spa.study.narrowing import narrowed
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from tests.spa.small_study import BEGINNING, STUDY, SYSTEMS, write_study

Draws = list[tuple[Assignment, BlindingKey]]
PAIRS = list(combinations(SYSTEMS, 2))
ALL_PAIRS = STUDY.replace('"chain"', '"all"')
RANKINGS = f"""{BEGINNING}
[ranking]
"""
BESIDE = f"""{BEGINNING}
[choices]
comparisons = "chain"
criteria = []
[best_worst]
criteria = ["fluency"]
overall = false
[[criteria]]
id = "fluency"
name = "fluency"
"""
RATINGS = f"""{BEGINNING}
[likert]
"""


def drawn(folder: Path, text: str) -> Draws:
    study = load_study(write_study(folder, text))
    return list(sample_assignments(study, load_outputs(study), count=12, rng=study_rng(study.seed)))


@pytest.fixture(scope="module")
def draws(tmp_path_factory: pytest.TempPathFactory) -> Draws:
    return drawn(tmp_path_factory.mktemp("all"), ALL_PAIRS)


def asked(assignment: Assignment, key: BlindingKey) -> list[tuple[str, ...]]:
    """Return the systems of each direction asked and each choice, in order."""
    labels = [direction for each in assignment.comparisons for direction in each.directions]
    labels += [(each[0].label, each[1].label) for each in assignment.groups_of("choices")]
    return [tuple(key.systems[label] for label in pair) for pair in labels]


@given(decided=st.sets(st.sampled_from(PAIRS)), place=st.integers(0, 11), turned=st.booleans())
def test_open_pairs_are_asked_as_drawn_and_no_other(
    draws: Draws, decided: set[tuple[str, str]], place: int, turned: bool
) -> None:
    assignment, key = draws[place]
    left = narrowed(assignment, key, [pair[::-1] if turned else pair for pair in decided])
    closed = {frozenset(pair) for pair in decided}
    assert asked(left, key) == [pair for pair in asked(assignment, key) if frozenset(pair) not in closed]
    systems = {system for pair in asked(left, key) for system in pair}
    for block, whole in zip(left.blocks, assignment.blocks, strict=True):
        assert block.labels == tuple(label for label in whole.labels if key.systems[label] in systems)
        assert block.shown == tuple(output for output in whole.shown if key.systems[output.label] in systems)
    assert {key.systems[each.output.label] for each in left.rated} == systems
    assert narrowed(left, key, decided) == left


def test_ratings_leave_systems_of_which_every_pair_is_decided(tmp_path: Path) -> None:
    assignment, key = drawn(tmp_path, RATINGS)[0]
    assert narrowed(assignment, key, PAIRS[:1]) == assignment  # alpha and beta are still held against gamma
    left = narrowed(assignment, key, PAIRS[:2])
    assert {key.systems[each.output.label] for each in left.rated} == {"beta", "gamma"}


def test_narrowed_ranking_keeps_open_pairs(tmp_path: Path) -> None:
    """A ranking keeps the outputs that have an open pair in it."""
    assignment, key = drawn(tmp_path, RANKINGS)[0]
    assert narrowed(assignment, key, PAIRS[:1]) == assignment
    for ranked, whole in zip(
        narrowed(assignment, key, PAIRS[:2]).groups_of("ranking"), assignment.groups_of("ranking"), strict=True
    ):
        assert ranked == tuple(one for one in whole if key.systems[one.label] in ("beta", "gamma"))
    assert narrowed(assignment, key, PAIRS).groups_of("ranking") == ()
    two_of_three = RANKINGS + "size = 2"
    assignment, key = drawn(tmp_path, two_of_three)[0]
    systems = [{key.systems[one.label] for one in ranked} for ranked in assignment.groups_of("ranking")]
    left = narrowed(assignment, key, PAIRS[:1]).groups_of("ranking")
    assert [{key.systems[one.label] for one in ranked} for ranked in left] == [
        pair for pair in systems if pair != set(PAIRS[0])
    ]


@pytest.mark.parametrize("decided", [PAIRS[:number] for number in range(len(PAIRS))])
def test_narrowed_groups_stand_in_blocks(tmp_path: Path, decided: list[tuple[str, str]]) -> None:
    """What does not decide asks about outputs that are left, and about two at least."""
    study = load_study(write_study(tmp_path, BESIDE))
    outputs, texts = load_outputs(study), load_texts(study.language, study.texts)
    for assignment, key in sample_assignments(study, outputs, count=6, rng=study_rng(study.seed)):
        left = narrowed(assignment, key, decided)
        shown = {output for block in left.blocks for output in block.shown}
        for groups in left.groups.values():
            assert all(len(group) >= 2 and shown.issuperset(group) for group in groups)
        assert list(build_form(study, outputs, left, key, texts).questions("everybody"))
