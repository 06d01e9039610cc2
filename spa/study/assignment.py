"""A questionnaire drawn for one annotator, and the key that says which system a label hides.

The two are separate records: an ``Assignment`` may travel with a form, a ``BlindingKey``
never leaves the store.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal

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


def assignment_to_json(assignment: Assignment) -> str:
    """Return an assignment as one line of JSON; it names no system."""
    record = {
        "assignment_id": assignment.assignment_id,
        "number": assignment.number,
        "blocks": [
            {"exposure": block.exposure, "labels": block.labels, "shown": list(map(_output_to_json, block.shown))}
            for block in assignment.blocks
        ],
        "comparisons": [{"block": each.block, "directions": each.directions} for each in assignment.comparisons],
        "rated": [
            {"elicitation": each.elicitation, "output": _output_to_json(each.output)} for each in assignment.rated
        ],
        "choices": [[_output_to_json(each.output_x), _output_to_json(each.output_y)] for each in assignment.choices],
    }
    if assignment.rankings:
        record["rankings"] = [list(map(_output_to_json, each)) for each in assignment.rankings]
    return _canonical(record)


def assignment_from_json(text: str) -> Assignment:
    """Return the assignment that ``assignment_to_json`` wrote."""
    record = json.loads(text)
    return Assignment(
        assignment_id=record["assignment_id"],
        number=record["number"],
        blocks=tuple(
            Block(exposure=block["exposure"], labels=tuple(block["labels"]), shown=_outputs_from_json(block["shown"]))
            for block in record["blocks"]
        ),
        comparisons=tuple(
            Comparison(block=each["block"], directions=tuple((x, y) for x, y in each["directions"]))
            for each in record["comparisons"]
        ),
        rated=tuple(
            RatedOutput(elicitation=each["elicitation"], output=_shared_output(*each["output"]))
            for each in record["rated"]
        ),
        choices=tuple(
            OutputPair(output_x=_shared_output(*x), output_y=_shared_output(*y)) for x, y in record["choices"]
        ),
        rankings=tuple(map(_outputs_from_json, record.get("rankings", ()))),
    )


def key_to_json(key: BlindingKey) -> str:
    """Return a blinding key as one line of JSON; it never leaves the store."""
    return _canonical(asdict(key))


def key_from_json(text: str) -> BlindingKey:
    """Return the key that ``key_to_json`` wrote; labels come back sorted."""
    return BlindingKey(**json.loads(text))


def _canonical(record: dict[str, Any]) -> str:
    """Write JSON with sorted keys and no spaces, so that equal records are equal bytes."""
    return json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _output_to_json(output: ShownOutput) -> list[str | int]:
    return [output.label, output.item_id, output.sample]  # by far the most frequent record, so a short one


def _outputs_from_json(records: list[list[Any]]) -> tuple[ShownOutput, ...]:
    return tuple([_shared_output(*record) for record in records])


@lru_cache(maxsize=16_384)  # labels and items meet again on form after form
def _shared_output(label: str, item_id: str, sample: int) -> ShownOutput:
    return ShownOutput(label=label, item_id=item_id, sample=sample)
