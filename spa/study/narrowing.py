"""What earlier answers of a live study change in later assignments: pairs left out, or others dealt."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from spa.study.assignment import Assignment, BlindingKey, Block

Pair = tuple[str, str]  # two systems, in either order
Respondents = Literal["people", "llm"]  # each see an assignment as adapted for them, or else as drawn


def respondents_of(annotator_kind: str) -> Respondents:
    """Return whom a kind of annotators belongs to; simulated annotators stand for people."""
    return "llm" if annotator_kind == "llm" else "people"


def narrowed(assignment: Assignment, key: BlindingKey, decided: Collection[Pair]) -> Assignment:
    """Return an assignment that asks about no decided pair.

    Comparisons and choices of these pairs are left out, and so are the outputs of systems that no comparison or
    choice left is about (where there are none: systems of which every pair is decided). A ranking keeps the outputs
    that have an open pair in it. Labels, order, and which direction comes first stay as drawn, so that what is left is
    as balanced as before.

    Parameters
    ----------
    assignment, key : Assignment, BlindingKey
        As drawn.
    decided : collection of pairs of system ids
        In either order.
    """
    closed = {frozenset(pair) for pair in decided}

    def is_open(label_x: str, label_y: str) -> bool:
        return frozenset((key.systems[label_x], key.systems[label_y])) not in closed

    comparisons = tuple(each for each in assignment.comparisons if is_open(*each.directions[0]))
    choices = tuple(each for each in assignment.choices if is_open(each.output_x.label, each.output_y.label))
    rankings = [
        tuple(one for one in ranked if any(one != other and is_open(one.label, other.label) for other in ranked))
        for ranked in assignment.rankings
    ]
    if assignment.comparisons or assignment.choices:
        labels = {label for each in comparisons for label in each.directions[0]}
        labels |= {label for each in choices for label in (each.output_x.label, each.output_y.label)}
    else:
        systems = set(key.systems.values())
        asked = {one for one in systems for other in systems - {one} if frozenset((one, other)) not in closed}
        labels = {label for label, system in key.systems.items() if system in asked}
    blocks = tuple(_with_labels(block, labels) for block in assignment.blocks)
    return replace(
        assignment,
        blocks=blocks,
        comparisons=comparisons,
        rated=tuple(each for each in assignment.rated if each.output.label in labels),
        choices=choices,
        rankings=tuple(ranked for ranked in rankings if ranked),
    )


def _with_labels(block: Block, labels: Collection[str]) -> Block:
    return replace(
        block,
        labels=tuple(label for label in block.labels if label in labels),
        shown=tuple(output for output in block.shown if output.label in labels),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DealtPair:
    """A pair dealt in the place of one drawn; ``subject`` is the system whose score the answer counts for."""

    system_x: str
    system_y: str
    subject: str | None  # None: both


def redealt(key: BlindingKey, assignment: Assignment, pairs: Sequence[DealtPair]) -> BlindingKey:
    """Return the key under which the same labels and items hide other pairs, choice by choice."""
    systems = dict(key.systems)
    for choice, pair in zip(assignment.choices, pairs, strict=True):
        systems |= {choice.output_x.label: pair.system_x, choice.output_y.label: pair.system_y}
    return replace(key, systems=systems)
