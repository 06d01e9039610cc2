"""A questionnaire drawn for one annotator, and the key that says which system a label hides.

The two are separate records: an ``Assignment`` may travel with a form, a ``BlindingKey``
never leaves the store.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from spa.study.study import RatingTable

RatedBy = Literal["likert", "continuous", "category", "spans"]
RATED_BY: dict[RatedBy, RatingTable] = {
    "likert": "likert",
    "continuous": "continuous",
    "category": "categories",
    "spans": "spans",
}


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

    elicitation: RatedBy
    output: ShownOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPair:
    """Two outputs of one item between which the annotator chooses."""

    output_x: ShownOutput
    output_y: ShownOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A questionnaire drawn for one annotator; names no system."""

    assignment_id: str  # "a00001", ...
    number: int  # 0-based place in the draw
    blocks: tuple[Block, ...]
    comparisons: tuple[Comparison, ...] = ()  # in the order asked
    rated: tuple[RatedOutput, ...] = ()  # in the order of the pages
    choices: tuple[OutputPair, ...] = ()
    rankings: tuple[tuple[ShownOutput, ...], ...] = ()  # outputs of one item each, in the order of the page


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindingKey:
    """Which system each label of one assignment hides."""

    assignment_id: str
    systems: dict[str, str]  # label -> system id
    blocks: dict[str, int]  # label -> index of its block
