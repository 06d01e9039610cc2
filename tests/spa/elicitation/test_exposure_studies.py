"""Studies of exposure: two systems whose labels and exposures are balanced over assignments."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from spa.study.sampling import exposure_run
from tests.spa.elicitation.drawn_studies import drawn
from tests.strategies import outputs_of, small_study

EXPOSURE_STUDY = {"exposure_study": {"system_x": "zzgood", "system_y": "zzpoor"}}


def test_exposure_study_blocks_and_labels():
    """An exposure study has disjoint blocks with labels of their own."""
    study = small_study(spa=EXPOSURE_STUDY, likert={"outputs": "first"}, choices={"outputs": "first"})
    outputs = outputs_of(study, items=15, samples=4)
    order: Counter[tuple[int, ...]] = Counter()
    first_letter: Counter[tuple[int, str]] = Counter()
    items: Counter[str] = Counter()
    draws = drawn(study, outputs, 40)
    for assignment, key in draws:
        assert [block.labels for block in assignment.blocks] == [("A", "B"), ("C", "D"), ("E", "F"), ("G", "H")]
        shown = [{each.item_id for each in block.shown} for block in assignment.blocks]
        assert [len(each) for each in shown] == [block.exposure for block in assignment.blocks]
        assert len(set.union(*shown)) == 15
        items.update(set.union(*shown))
        order[tuple(block.exposure for block in assignment.blocks)] += 1
        for index, (block, comparison) in enumerate(zip(assignment.blocks, assignment.comparisons, strict=True)):
            one, other = block.labels
            assert {key.systems[one], key.systems[other]} == {"zzgood", "zzpoor"}
            assert {key.blocks[one], key.blocks[other], comparison.block} == {index}
            assert {frozenset(pair) for pair in comparison.directions} == {frozenset(block.labels)}
            assert len([each for each in block.shown if each.label == one]) == block.exposure
            first_letter[block.exposure, key.systems[one]] += 1
        assert len(assignment.rated) == 8
        assert len(assignment.groups_of("choices")) == 4
    after = Counter(pair for exposures, times in order.items() for pair in list(pairwise(exposures)) * times)
    assert set(after.values()) == {10}
    assert len(after) == 12
    assert set(first_letter.values()) == {20}


@pytest.mark.parametrize("question_order", ["counterbalanced", "fixed"])
@given(count=st.integers(2, 6), runs=st.integers(1, 3), seed=st.integers(0, 99))
@hypothesis_settings(max_examples=30, deadline=None)
def test_an_exposure_study_balances_labels_and_exposures(question_order: str, count: int, runs: int, seed: int):
    """Neither system owns a letter, nor the first column of an exposure, nor of a form."""
    exposures = list(range(1, count + 1))
    study = small_study(
        seed=seed,
        spa={"exposure_study": EXPOSURE_STUDY["exposure_study"] | {"exposures": exposures}},
        design={"question_order": question_order},
    )
    draws = drawn(study, outputs_of(study, items=sum(exposures)), exposure_run(count) * runs)
    letters = Counter(pair for _, key in draws for pair in key.systems.items())
    first = Counter((block.exposure, key.systems[block.labels[0]]) for one, key in draws for block in one.blocks)
    assert set(letters.values()) == set(first.values()) == {len(draws) // 2}
    assert len(letters) == 4 * count
    assert len(first) == 2 * count
    for assignment, key in draws:
        assert len({key.systems[block.labels[0]] for block in assignment.blocks}) == 2


def test_a_fixed_exposure_study_is_as_published():
    """Ethayarajh & Jurafsky (2022), appendix B: A-B saw 1, C-D 2, E-F 4, G-H 8; the first letter never changed."""
    fixed = {"labels": "fixed", "question_order": "fixed", "directions": "fixed"}
    study = small_study(spa=EXPOSURE_STUDY, design=fixed)
    for assignment, key in drawn(study, outputs_of(study, items=15), 5):
        assert [block.exposure for block in assignment.blocks] == [1, 2, 4, 8]
        assert [key.systems[label] for label in "ACEG"] == ["zzgood"] * 4
        assert [each.directions[0] for each in assignment.comparisons] == [
            ("A", "B"),
            ("C", "D"),
            ("E", "F"),
            ("G", "H"),
        ]


def test_fixed_labels_stay_with_exposure():
    """Fixed labels stay with their exposure when blocks rotate."""
    study = small_study(spa=EXPOSURE_STUDY, design={"labels": "fixed"})
    for assignment, _ in drawn(study, outputs_of(study, items=15), 5):
        letters = {block.exposure: block.labels for block in assignment.blocks}
        assert letters == {1: ("A", "B"), 2: ("C", "D"), 4: ("E", "F"), 8: ("G", "H")}
