"""Studies made for a check of their plans, and who judges one of their pairs in assignments as ``spa build`` draws."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from analysis.planning.assumptions import Kind
from analysis.statistics.coding import Ints
from spa import load_outputs, load_study, sample_assignments, study_rng
from spa.records.assignment import Assignment, BlindingKey
from spa.records.outputs import Outputs
from spa.records.study import Study

HEAD = """id = "made"
title = "Made"
[outputs]
files = ["outputs.jsonl"]
layout = "wide"
item_text = "prompt"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeStudy:
    """A study file to be written: so many systems, items and criteria, and the tables of what is asked.

    ``asked`` holds the table that asks, ``analysis``, ``design`` and ``people`` further keys of these tables.
    """

    asked: str
    systems: int = 2
    items: int = 20
    criteria: int = 1
    analysis: str = ""
    design: str = ""
    people: str = ""

    def write(self, folder: Path, annotators: int) -> tuple[Study, Outputs]:
        """Write the study and its outputs, and read both as ``spa build`` does."""
        systems = [f"s{number}" for number in range(self.systems)]
        parts = [HEAD, *(f'[[systems]]\nid = "{system}"\n' for system in systems)]
        names = [f"c{number}" for number in range(self.criteria)]
        parts += [f'[[criteria]]\nid = "{name}"\nname = "{name}"\nquestion = "How {name}?"\n' for name in names]
        parts += [self.asked, f"[analysis]\n{self.analysis}\n", f"[design]\n{self.design}\n"]
        parts += [f"[people]\nannotators = {annotators}\n{self.people}\n"]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "study.toml").write_text("".join(parts), encoding="utf-8")
        rows = (
            {"item_id": f"i{item}", "prompt": f"Text {item}", **{s: f"Words of {s} about {item}." for s in systems}}
            for item in range(self.items)
        )
        (folder / "outputs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        study = load_study(folder / "study.toml")
        return study, load_outputs(study)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answered:
    """What annotators are asked about one system or pair, a row a question: who, in which visit, about which item."""

    who: Ints
    visit: Ints
    item: Ints

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(self.who)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Who judges one pair of a study. Ratings have two sides, which are the same where all of them pair.

    Attributes
    ----------
    annotators, items : int
        Of the study, whether they are asked about the pair or not.
    x, y : Answered
        Of SPA an item that was read before a comparison; of choices and rankings y is x.
    """

    annotators: int
    items: int
    x: Answered
    y: Answered

    @property
    def paired(self) -> bool:
        """Whether every rating of one system has one of the other beside it."""
        return self.x is self.y


@dataclass(slots=True)
class _Rows:
    who: list[int] = field(default_factory=list)
    visit: list[int] = field(default_factory=list)
    item: list[int] = field(default_factory=list)

    def add(self, who: int, visit: int, items: Sequence[int]) -> None:
        self.who += [who] * len(items)
        self.visit += [visit] * len(items)
        self.item += items

    def sorted(self) -> Answered:
        order = np.lexsort((self.item, self.visit, self.who))
        columns = (np.array(column, dtype=np.int64)[order] for column in (self.who, self.visit, self.item))
        who, visit, item = columns
        return Answered(who=who, visit=visit, item=item)


def draw_layout(study: Study, outputs: Outputs, kind: Kind, annotators: int, rng: np.random.Generator) -> Layout:
    """Draw assignments and note who judges one pair, drawn too.

    Assignments go to people as a server hands them out: one after another, first to all who come once, in random order,
    then to those who come again.
    """
    pairs = _pairs(study, kind)
    pair = pairs[rng.integers(len(pairs))]
    place = {item.item_id: number for number, item in enumerate(outputs.items)}
    needed = study.people.assignments_for(annotators)
    arrivals = np.concatenate([rng.permutation(annotators) for _ in range(study.people.sessions)])
    x, y = _Rows(), _Rows()
    drawn = sample_assignments(study, outputs, count=needed, rng=study_rng(int(rng.integers(2**32))))
    for number, (assignment, key) in enumerate(drawn):
        judged = [[place[item] for item in side] for side in _judged(assignment, key, kind, pair)]
        for visit in range(number, len(arrivals), needed):
            for rows, items in zip((x, y), judged, strict=True):
                rows.add(int(arrivals[visit]), visit, items)
    one, other = x.sorted(), y.sorted()
    columns = ("who", "visit", "item")
    same = len(one) == len(other) and all(np.array_equal(getattr(one, c), getattr(other, c)) for c in columns)
    return Layout(annotators=annotators, items=len(place), x=one, y=one if same else other)


def _pairs(study: Study, kind: Kind) -> Sequence[tuple[str, str]]:
    systems = [system.id for system in study.compared]
    every = [(x, y) for number, x in enumerate(systems) for y in systems[number + 1 :]]
    return study.pairs_of(kind) or every


def _judged(assignment: Assignment, key: BlindingKey, kind: Kind, pair: tuple[str, str]) -> tuple[list[str], list[str]]:
    """Return the items that one visit asks about for either system of a pair."""
    both = list(_both(assignment, key, kind, set(pair)))
    if kind in ("likert", "spans"):
        rated = [one.output for one in assignment.rated if one.elicitation == kind]
        found = [[output.item_id for output in rated if key.systems[output.label] == system] for system in pair]
        return found[0], found[1]
    return both, both


def _both(assignment: Assignment, key: BlindingKey, kind: Kind, pair: set[str]) -> Iterator[str]:
    """Yield the items behind the comparisons, choices or rankings of a pair; of an exposure study the first block's."""
    if kind == "spa":
        least = min(block.exposure for block in assignment.blocks)
        for comparison in assignment.comparisons:
            block = assignment.blocks[comparison.block]
            labels = comparison.directions[0]
            if {key.systems[label] for label in labels} == pair and block.exposure == least:
                yield from (output.item_id for output in block.shown if output.label == labels[0])
    if kind == "choices":
        for choice in assignment.groups_of("choices"):
            if {key.systems[output.label] for output in (choice[0], choice[1])} == pair:
                yield choice[0].item_id
    if kind == "ranking":
        for ranked in assignment.groups_of("ranking"):
            if pair <= {key.systems[output.label] for output in ranked}:
                yield ranked[0].item_id
