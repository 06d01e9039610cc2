"""Assignments as stores keep them: one line of JSON, the same bytes for the same draw."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from spa.elicitation import ways
from spa.records.assignment import Assignment, Block, Comparison, RatedOutput, ShownOutput, canonical_json


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
    }
    for key, way in ways().items():
        if (groups := assignment.groups_of(key)) or way.always_stored:
            record[way.stored_as or key] = [list(map(_output_to_json, group)) for group in groups]
    return canonical_json(record)


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
        groups={
            key: tuple(map(_outputs_from_json, groups))
            for key, way in ways().items()
            if (groups := record.get(way.stored_as or key))
        },
    )


def _output_to_json(output: ShownOutput) -> list[str | int]:
    return [output.label, output.item_id, output.sample]  # by far the most frequent record, so a short one


def _outputs_from_json(records: list[list[Any]]) -> tuple[ShownOutput, ...]:
    return tuple([_shared_output(*record) for record in records])


@lru_cache(maxsize=16_384)  # labels and items meet again on form after form
def _shared_output(label: str, item_id: str, sample: int) -> ShownOutput:
    return ShownOutput(label=label, item_id=item_id, sample=sample)
