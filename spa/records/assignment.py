"""A questionnaire drawn for one annotator, and the key that says which system a label hides.

The two are separate records: an ``Assignment`` may travel with a form, a ``BlindingKey``
never leaves the store.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOutput:
    """One output on the form: what the system behind ``label`` made of ``item_id``."""

    label: str
    item_id: str
    sample: int  # which of several outputs of that system for that item; 1 where there is one


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Outputs read together: every label at the same exposure.

    An ordinary study has one block; an exposure study one for each exposure. Where single outputs are dealt,
    each has a label of its own.
    """

    exposure: int
    labels: tuple[str, ...]  # in the order of the columns
    shown: tuple[ShownOutput, ...]  # row by row: first item of every label, second item, ...

    @property
    def rows(self) -> list[tuple[ShownOutput, ...]]:
        """The outputs row by row, one of every label in each."""
        width = len(self.labels)
        return [self.shown[start : start + width] for start in range(0, len(self.shown), width)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two labels judged against each other; ``directions`` in the order in which they are asked."""

    block: int  # index into Assignment.blocks
    directions: tuple[tuple[str, str], ...]  # (label_x, label_y); both directions or one


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedOutput:
    """One output that is rated, and in which way; each way may want other outputs."""

    elicitation: str  # what tables of answers call the way
    output: ShownOutput


Group = tuple[ShownOutput, ...]  # outputs of one item, in the order of the page


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A questionnaire drawn for one annotator; names no system."""

    assignment_id: str  # "a00001", ...
    number: int  # 0-based place in the draw
    blocks: tuple[Block, ...]
    comparisons: tuple[Comparison, ...] = ()  # in the order asked
    rated: tuple[RatedOutput, ...] = ()  # in the order of the pages
    groups: Mapping[str, tuple[Group, ...]] = field(default_factory=dict, hash=False)  # judged together, by way

    def groups_of(self, key: str) -> tuple[Group, ...]:
        """Return the outputs that a way of asking has judged together; none where it does not."""
        return self.groups.get(key, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindingKey:
    """Which system each label of one assignment hides."""

    assignment_id: str
    systems: dict[str, str]  # label -> system id
    blocks: dict[str, int]  # label -> index of its block


@dataclass(frozen=True, slots=True)
class AssignmentLabels:
    """What the labels of one assignment hide, and in which column each stood."""

    systems: dict[str, str]
    positions: dict[str, int]  # 1-based


def key_to_json(key: BlindingKey) -> str:
    """Return a blinding key as one line of JSON; it never leaves the store."""
    return canonical_json(asdict(key))


def key_from_json(text: str) -> BlindingKey:
    """Return the key that ``key_to_json`` wrote; labels come back sorted."""
    return BlindingKey(**json.loads(text))


def canonical_json(record: dict[str, Any]) -> str:
    """Write JSON with sorted keys and no spaces, so that equal records are equal bytes."""
    return json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def label_name(position: int) -> str:
    """Return the label of a column: A to Z, then AA, AB, ...

    >>> [label_name(position) for position in (0, 25, 26, 27, 702)]
    ['A', 'Z', 'AA', 'AB', 'AAA']
    """
    name = ""
    position += 1
    while position:
        position, letter = divmod(position - 1, 26)
        name = chr(ord("A") + letter) + name
    return name
