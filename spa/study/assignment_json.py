"""Assignments and blinding keys as canonical JSON: sorted keys, no spaces, so that equal means equal bytes."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from spa.study.assignment import Assignment, BlindingKey, Block, Comparison, OutputPair, RatedOutput, ShownOutput


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
    return json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _output_to_json(output: ShownOutput) -> list[str | int]:
    return [output.label, output.item_id, output.sample]  # by far the most frequent record, so a short one


def _outputs_from_json(records: list[list[Any]]) -> tuple[ShownOutput, ...]:
    return tuple([_shared_output(*record) for record in records])


@lru_cache(maxsize=16_384)  # labels and items meet again on form after form
def _shared_output(label: str, item_id: str, sample: int) -> ShownOutput:
    return ShownOutput(label=label, item_id=item_id, sample=sample)
