"""What earlier answers of a live study change in later assignments: pairs left out, or others dealt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from spa.elicitation import ways
from spa.records.assignment import Assignment, BlindingKey, Block, Group

Pair = tuple[str, str]  # two systems, in either order
Respondents = Literal["people", "llm"]  # each see an assignment as adapted for them, or else as drawn


def respondents_of(annotator_kind: str) -> Respondents:
    """Return whom a kind of annotators belongs to; simulated annotators stand for people."""
    return "llm" if annotator_kind == "llm" else "people"


def narrowed(assignment: Assignment, key: BlindingKey, decided: Collection[Pair]) -> Assignment:
    """Return an assignment that asks about no decided pair.

    Comparisons and choices of these pairs are left out, and so are the outputs of systems that no comparison or
    choice left is about (where there are none: systems of which every pair is decided). A ranking keeps the outputs
    that have an open pair in it; what decides nothing keeps those that are left, where there are two. Labels, order,
    and which direction comes first stay as drawn, so that what is left is as balanced as before. The two systems of a
    ``decided`` pair stand in either order.
    """
    closed = {frozenset(pair) for pair in decided}

    def is_open(label_x: str, label_y: str) -> bool:
        return frozenset((key.systems[label_x], key.systems[label_y])) not in closed

    comparisons = tuple(each for each in assignment.comparisons if is_open(*each.directions[0]))
    groups = {name: _with_open_pairs(name, found, is_open) for name, found in assignment.groups.items()}
    paired = [name for name in groups if not ways()[name].settings.of_all_systems]
    if assignment.comparisons or paired:
        labels = {label for each in comparisons for label in each.directions[0]}
        labels |= {output.label for name in paired for group in groups[name] for output in group}
    else:
        systems = set(key.systems.values())
        asked = {one for one in systems for other in systems - {one} if frozenset((one, other)) not in closed}
        labels = {label for label, system in key.systems.items() if system in asked}
    left = {
        name: tuple(group for whole in found if len(group := _of_labels(whole, labels)) > 1)
        for name, found in groups.items()
    }
    return replace(
        assignment,
        blocks=tuple(_with_labels(block, labels) for block in assignment.blocks),
        comparisons=comparisons,
        rated=tuple(each for each in assignment.rated if each.output.label in labels),
        groups={name: found for name, found in left.items() if found},
    )


def _with_open_pairs(name: str, groups: tuple[Group, ...], is_open: Callable[[str, str], bool]) -> tuple[Group, ...]:
    """Return the outputs of each group that have an open pair in it, where the way of asking can decide pairs."""
    if ways()[name].settings().decides() is None:
        return groups
    return tuple(
        tuple(one for one in group if any(one != other and is_open(one.label, other.label) for other in group))
        for group in groups
    )


def _of_labels(outputs: Group, labels: Collection[str]) -> Group:
    return tuple(output for output in outputs if output.label in labels)


def _with_labels(block: Block, labels: Collection[str]) -> Block:
    return replace(
        block,
        labels=tuple(label for label in block.labels if label in labels),
        shown=_of_labels(block.shown, labels),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DealtPair:
    """A pair dealt in the place of one drawn; ``subject`` is the system whose score the answer counts for."""

    system_x: str
    system_y: str
    subject: str | None  # None: both


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedUpTo:
    """Which visits a live study has counted when it changes assignments; of two, the later one knows more."""

    group: str
    recounts: int  # see spa.responses.recounts
    visits: int  # that counted since


def redealt(key: BlindingKey, assignment: Assignment, pairs: Sequence[DealtPair]) -> BlindingKey:
    """Return the key under which the same labels and items hide other pairs, choice by choice."""
    systems = dict(key.systems)
    dealt = [group for found in assignment.groups.values() for group in found]
    for (x, y), pair in zip(dealt, pairs, strict=True):
        systems |= {x.label: pair.system_x, y.label: pair.system_y}
    return replace(key, systems=systems)
