"""Assignments: seeded, balanced, blind."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import groupby, islice, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from spa.elicitation.assignment_json import assignment_from_json, assignment_to_json
from spa.elicitation.balanced_orders import Balancing, WilliamsOrders
from spa.elicitation.spa import Spa
from spa.errors import StudyError
from spa.records.assignment import (
    key_from_json,
    key_to_json,
)
from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.study.sampling import label_name, sample_assignments, study_rng
from tests.spa.elicitation.drawn_studies import drawn, neighbours, within_one
from tests.spa.forks import FORKS, load_before, trace_draws
from tests.strategies import outputs_of, small_study, studies

# Drawn once and kept: a change here changes every study that is under way.
GOLDEN = {
    "places and neighbours": "2610a78a0ca0520abac9a08368820b2803aa324975bb7cba066867002c389b71",
    "places": "4a8d7cc6745b6935ea7c1b55978153dd2e268a83ded661327d33474286ad7bfb",  # of stores of version 0.1
}


def test_assignments_of_every_way_stand_in_sets():
    study = small_study(choices={}, ranking={}, likert={}, spa={})
    first, again = (drawn(study, outputs_of(study, items=8), count=3) for _ in range(2))
    assert {a for a, _ in first} == {a for a, _ in again}
    assert len({a for a, _ in first}) == 3
    assert first[0][0].groups_of("choices")


@pytest.mark.parametrize("balancing", GOLDEN)
def test_sampling_same_seed_gives_same_bytes(balancing: Balancing):
    """The same study and seed give the same bytes on any machine."""
    study = small_study(seed=7, likert={"outputs": 1}, choices={}, spa={"exposure": 3, "directions": "both"})
    outputs = outputs_of(study, items=11, samples=2)
    draws = sample_assignments(study, outputs, count=20, rng=study_rng(study.seed), balancing=balancing)
    lines = [assignment_to_json(assignment) + key_to_json(key) for assignment, key in draws]
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == GOLDEN[balancing]


def test_only_raw_bits_are_used():
    """Generator methods may change between numpy versions; the raw bits may not."""

    class RawBits:
        def __init__(self, seed: int) -> None:
            self.bits = np.random.PCG64(seed)
            self.random_raw = self.bits.random_raw

    class Bare:
        def __init__(self, seed: int) -> None:
            self.bit_generator = RawBits(seed)

    study = small_study(likert={"outputs": 1}, choices={})
    outputs = outputs_of(study)
    bare = list(sample_assignments(study, outputs, count=9, rng=Bare(study.seed)))  # type: ignore[arg-type]
    assert bare == drawn(study, outputs, 9)


def test_global_random_state_plays_no_part():
    study = small_study()
    outputs = outputs_of(study)
    before = drawn(study, outputs, 5)
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    assert drawn(study, outputs, 5) == before


def test_another_seed_gives_another_draw():
    outputs = outputs_of(small_study())
    assert drawn(small_study(seed=1), outputs, 5) != drawn(small_study(seed=2), outputs, 5)


def test_drawing_more_does_not_change_the_first():
    study = small_study()
    outputs = outputs_of(study)
    assert drawn(study, outputs, 40)[:13] == drawn(study, outputs, 13)


def test_drawing_is_lazy():
    study = small_study()
    draws = sample_assignments(study, outputs_of(study), count=10**12, rng=study_rng(0))
    assert [assignment.assignment_id for assignment, _ in islice(draws, 2)] == ["a00001", "a00002"]


def test_memory_stays_flat():
    study = small_study(choices={}, likert={"outputs": 1})
    load_before()
    heard, told = FORKS.Pipe(duplex=False)
    drawing = FORKS.Process(target=trace_draws, args=(study, outputs_of(study, samples=3), told))
    drawing.start()
    told.close()
    with heard:
        assert heard.recv() < 200_000  # bytes; the 1,500 assignments would take some 8 million
    drawing.join()


whole_items = studies().filter(lambda case: not case[0].single_outputs)


@given(whole_items, st.integers(1, 25))
@hypothesis_settings(max_examples=40, deadline=None)
def test_items_and_samples_are_shown_equally_often(case: tuple[Study, Outputs], count: int):
    study, outputs = case
    items: Counter[str] = Counter()
    samples: Counter[tuple[str, str, int]] = Counter()
    for assignment, key in drawn(study, outputs, count):
        cells = {(shown.item_id, shown.label) for block in assignment.blocks for shown in block.shown}
        assert len(cells) == sum(len(block.shown) for block in assignment.blocks)
        shown_items = {item for item, _ in cells}
        assert len(shown_items) == study.items_per_annotator
        items.update(shown_items)
        for block in assignment.blocks:
            samples.update((each.item_id, key.systems[each.label], each.sample) for each in block.shown)
    assert within_one(items, over=len(outputs.items))
    for (item_id, system), made in outputs.cells.items():
        of_cell = Counter({n: samples[item_id, system, n] for n in range(1, len(made) + 1)})
        assert within_one(of_cell, over=len(made))


@given(st.sets(st.integers(0, 17)), st.integers(1, 18), st.integers(1, 2), st.integers(1, 12))
@hypothesis_settings(max_examples=60, deadline=None)
def test_single_outputs_are_dealt_equally_often(absent: set[int], dealt: int, samples: int, count: int):
    """Outputs of 6 items by 3 systems, some of them absent, each under a label of its own."""
    gone = [(f"i{cell % 6}", ("zzgood", "zzfair", "zzpoor")[cell // 6]) for cell in absent]
    study = small_study(spa=None, likert={"pages": "output"}, categories=None, design={"outputs": dealt})
    outputs = outputs_of(study, samples=samples, absent=gone)
    there = {(one.item_id, one.system, one.sample) for one in outputs.all()}
    assume(len(there) >= dealt)
    rated: Counter[tuple[str, str, int]] = Counter()
    for assignment, key in drawn(study, outputs, count):
        cells = [(key.systems[one.output.label], one.output) for one in assignment.rated]
        assert [one.label for _, one in cells] == [label_name(place) for place in range(dealt)] == list(key.systems)
        mine = {(one.item_id, system, one.sample) for system, one in cells}
        assert len(mine) == dealt
        rated.update(mine)
    assert set(rated) <= there
    assert within_one(rated, over=len(there))


def test_blocked_order_balances_first_systems():
    """Chiang & Lee (2023), appendix C.1: all stories of one writer, then those of the other."""
    study = small_study(spa=None, likert={"pages": "output", "order": "blocked"}, design={"outputs": 9})
    first = []
    for assignment, key in drawn(study, outputs_of(study), 6):
        systems = [key.systems[one.output.label] for one in assignment.rated]
        assert len(systems) == 9
        assert sum(x != y for x, y in pairwise(systems)) == 2
        first.append(systems[0])
    assert Counter(first) == dict.fromkeys(("zzgood", "zzfair", "zzpoor"), 2)


@pytest.mark.parametrize(
    ("likert", "design"),
    [
        ({"pages": "output", "order": "arms"}, {"outputs": 12}),
        ({"outputs": "all", "order": "arms"}, {"items": 4}),
    ],
)
def test_arms_are_half_blocked_and_half_mixed(likert: dict[str, Any], design: dict[str, int]):
    """Chiang & Lee (2023), Table 5, as two arms of one study: of two forms each one has its systems in blocks."""
    study = small_study(spa=None, likert=likert, design=design)
    runs = []
    for assignment, key in drawn(study, outputs_of(study), 8):
        systems = [key.systems[one.output.label] for one in assignment.rated]
        runs.append(sum(x != y for x, y in pairwise(systems)) == 2)
    assert [sum(runs[place : place + 2]) for place in range(0, 8, 2)] == [1] * 4


@pytest.mark.parametrize(("absent", "dealt", "share"), [(0, 6, (3, 3)), (4, 4, (3, 1)), (0, 12, (6, 6))])
def test_single_outputs_hold_each_system_by_its_share(absent: int, dealt: int, share: tuple[int, int]):
    study = small_study(
        systems=[{"id": "x"}, {"id": "y"}], spa=None, likert={"pages": "output"}, design={"outputs": dealt}
    )
    outputs = outputs_of(study, absent=[(f"i{number}", "y") for number in range(absent)])
    orders = set()
    for _, key in drawn(study, outputs, 24 // dealt * 2 if not absent else 6):
        counts = Counter(key.systems.values())
        assert (counts["x"], counts["y"]) == share
        orders.add(tuple(key.systems.values()))
    assert len(orders) > 1


@given(whole_items, st.integers(1, 5))
@hypothesis_settings(max_examples=40, deadline=None)
def test_each_run_of_k_assignments_is_a_latin_square(case: tuple[Study, Outputs], runs: int):
    study, outputs = case
    labels = len(study.compared)
    draws = drawn(study, outputs, labels * runs)
    for start in range(0, len(draws), labels):
        cells = Counter(pair for _, key in draws[start : start + labels] for pair in key.systems.items())
        expected = 1 if study.design.labels == "counterbalanced" else labels
        assert set(cells.values()) == {expected}
    names = tuple(label_name(place) for place in range(labels))
    assert all(assignment.blocks[0].labels == names for assignment, _ in draws)


@given(studies(), st.integers(1, 25))
@hypothesis_settings(max_examples=40, deadline=None)
def test_directions_and_sides_are_balanced(case: tuple[Study, Outputs], count: int):
    study, outputs = case
    first: Counter[tuple[str, str]] = Counter()
    sides: Counter[tuple[str, str]] = Counter()
    for assignment, key in drawn(study, outputs, count):
        assert len(assignment.comparisons) == len(study.pairs_of("spa"))
        for comparison in assignment.comparisons:
            x, y = comparison.directions[0]
            first[key.systems[x], key.systems[y]] += 1
            if (spa := study.section(Spa)) is not None and spa.directions == "both":
                assert comparison.directions == ((x, y), (y, x))
            else:
                assert comparison.directions == ((x, y),)
        for choice in assignment.groups_of("choices"):
            assert choice[0].item_id == choice[1].item_id
            sides[key.systems[choice[0].label], key.systems[choice[1].label]] += 1
    for counts, pairs in ((first, study.pairs_of("spa")), (sides, study.pairs_of("choices"))):
        for x, y in pairs:
            if study.design.directions == "fixed":
                assert counts[y, x] == 0
            else:
                assert abs(counts[x, y] - counts[y, x]) <= 1


def test_each_run_is_drawn_anew():
    dealing = WilliamsOrders(6, study_rng(1))
    assert len({tuple(dealing.deal()) for _ in range(600)}) > 300


def shown_orders(study: Study, count: int) -> dict[str, list[list[str]]]:
    """Return all that annotators meet one after another, in the systems' names."""
    found: dict[str, list[list[str]]] = defaultdict(list)
    for assignment, key in drawn(study, outputs_of(study, items=24), count):
        systems = key.systems
        found["labels"] += [[systems[label] for label in block.labels] for block in assignment.blocks]
        found["rankings"] += [
            [systems[output.label] for output in ranking] for ranking in assignment.groups_of("ranking")
        ]
        found["comparisons"].append([pair_name(systems, each.directions[0]) for each in assignment.comparisons])
        chosen = [
            (each[0].item_id, pair_name(systems, (each[0].label, each[1].label)))
            for each in assignment.groups_of("choices")
        ]
        found["choices"] += [[pair for _, pair in own] for _, own in groupby(chosen, key=lambda each: each[0])]
        read = [systems[each.output.label] for each in assignment.rated]
        found["blocked"].append([system for system, _ in groupby(read)])
    return found


def pair_name(systems: Mapping[str, str], labels: Iterable[str]) -> str:
    return " ".join(sorted(systems[label] for label in labels))


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize(
    ("shown", "asked"),
    {
        "labels": {"spa": {"exposure": 1}},
        "rankings": {"spa": None, "ranking": {"outputs": "first"}, "design": {"items": 1}},
        "comparisons": {"spa": {"exposure": 1, "comparisons": "all"}},
        "choices": {"spa": None, "choices": {"outputs": "all"}, "design": {"items": 1}},
        "blocked": {"spa": None, "likert": {"pages": "output", "order": "blocked"}, "design": {"outputs": 10}},
    }.items(),
)
def test_whatever_is_shown_comes_after_everything_else_alike(shown: str, asked: dict[str, Any], k: int):
    """A system that always follows the same one is compared with it by contrast, however many annotators come."""
    study = small_study(systems=[{"id": f"s{number}"} for number in range(k)], seed=k, **asked)
    things = k * (k - 1) // 2 if shown in ("comparisons", "choices") else k
    full = 2 * (2 * things if things % 2 else things)
    orders = shown_orders(study, full + 1)[shown]
    counted = neighbours(orders[:full])
    if things > 1:
        assert set(counted.values()) == {full // things}
        assert len(counted) == things * (things - 1)
        assert max(Counter(order[0] for order in orders[:full]).values()) == full // things


def test_question_order_rotates_with_assignment():
    """Question order rotates with the assignment and is not tied to direction."""
    study = small_study(spa={"exposure": 1, "comparisons": "all", "directions": "one"}, seed=5)
    places: Counter[tuple[frozenset[str], int]] = Counter()
    first: Counter[tuple[str, str]] = Counter()
    for assignment, key in drawn(study, outputs_of(study), 600):
        asked = [tuple(key.systems[label] for label in each.directions[0]) for each in assignment.comparisons]
        places.update((frozenset(pair), place) for place, pair in enumerate(asked))
        first[asked[0]] += 1
    assert set(places.values()) == {200}
    assert min(first.values()) > 70  # each of six ordered pairs opens about 100 of 600 forms


def test_fixed_orders_are_the_order_of_the_study():
    design = {"labels": "fixed", "question_order": "fixed", "directions": "fixed"}
    study = small_study(design=design, spa={"exposure": 1, "comparisons": [["zzpoor", "zzgood"], ["zzfair", "zzgood"]]})
    for assignment, key in drawn(study, outputs_of(study), 7):
        assert key.systems == {"A": "zzgood", "B": "zzfair", "C": "zzpoor"}
        assert [each.directions[0] for each in assignment.comparisons] == [("C", "A"), ("B", "A")]


def test_rated_outputs_by_section():
    criterion = {"id": "errors", "name": "errors", "options": [{"text": "0", "score": 0}, {"text": "1", "score": 1}]}
    study = small_study(
        spa={"exposure": 4},
        criteria=[criterion],
        likert={"outputs": "first"},
        continuous={"outputs": "all"},
        categories={"outputs": 2},
    )
    seen = set()
    for assignment, _ in drawn(study, outputs_of(study), 30):
        rows = [assignment.blocks[0].shown[start : start + 3] for start in range(0, 12, 3)]
        by = {
            name: [each.output for each in assignment.rated if each.elicitation == name]
            for name in ("likert", "continuous", "category")
        }
        assert by["likert"] == list(rows[0])
        assert by["continuous"] == [output for row in rows for output in row]
        picked = [number for number, row in enumerate(rows) if row[0] in by["category"]]
        assert by["category"] == [output for number in picked for output in rows[number]]
        seen.add(tuple(picked))
    assert len(seen) == 6  # every pair of four rows comes up


def test_labels_beyond_z():
    study = small_study(systems=[{"id": f"zz{n}"} for n in range(28)], spa={"exposure": 1, "comparisons": "chain"})
    assignment, key = drawn(study, outputs_of(study), 1)[0]
    assert assignment.blocks[0].labels[-3:] == ("Z", "AA", "AB")
    assert set(key.systems.values()) == {system.id for system in study.systems}


@given(studies())
@hypothesis_settings(max_examples=25, deadline=None)
def test_an_assignment_survives_json_and_names_no_system(case: tuple[Study, Outputs]):
    study, outputs = case
    for assignment, key in drawn(study, outputs, 3):
        text = assignment_to_json(assignment)
        assert assignment_from_json(text) == assignment
        assert key_from_json(key_to_json(key)) == key
        assert "zz-" not in text
        assert text == json.dumps(json.loads(text), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def test_too_few_items_is_one_clear_line():
    study = small_study(spa={"exposure": 3, "same_items": False}, choices={})
    with pytest.raises(StudyError) as caught:
        sample_assignments(study, outputs_of(study, items=8), count=1, rng=study_rng(0))
    assert len(caught.value.problems) == 2
    assert "shows 9 different items, got 8" in caught.value.problems[0]


def test_a_negative_count_is_a_programmers_mistake():
    study = small_study()
    with pytest.raises(ValueError, match="0 or more"):
        sample_assignments(study, outputs_of(study), count=-1, rng=study_rng(0))


def test_neighbours_follow_the_order_of_the_letters():
    names = [label_name(place) for place in range(60)]
    assert all((len(one), one) < (len(other), other) for one, other in pairwise(names))
