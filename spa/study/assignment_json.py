"""Assignments and blinding keys as canonical JSON: sorted keys, no spaces, so that equal means equal bytes."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from spa.study.assignment import Assignment, BlindingKey, Block, Comparison, OutputPair, RatedOutput, ShownOutput


def assignment_to_json(assignment: Assignment) -> str:
    """Return an assignment as one line of JSON; it names no system."""
    return _canonical(
        {
            "assignment_id": assignment.assignment_id,
            "number": assignment.number,
            "blocks": [
                {
                    "exposure": block.exposure,
                    "labels": block.labels,
                    "shown": [_output_to_json(output) for output in block.shown],
                }
                for block in assignment.blocks
            ],
            "comparisons": [{"block": each.block, "directions": each.directions} for each in assignment.comparisons],
            "rated": [
                {"elicitation": each.elicitation, "output": _output_to_json(each.output)} for each in assignment.rated
            ],
            "choices": [
                [_output_to_json(each.output_x), _output_to_json(each.output_y)] for each in assignment.choices
            ],
            **(
                {"rankings": [list(map(_output_to_json, each)) for each in given]}
                if (given := assignment.rankings)
                else {}
            ),
        }
    )


def assignment_from_json(text: str) -> Assignment:
    """Return the assignment that ``assignment_to_json`` wrote."""
    record = json.loads(text)
    return Assignment(
        assignment_id=record["assignment_id"],
        number=record["number"],
        blocks=tuple(
            Block(
                exposure=block["exposure"],
                labels=tuple(block["labels"]),
                shown=tuple([_output_from_json(output) for output in block["shown"]]),
            )
            for block in record["blocks"]
        ),
        comparisons=tuple(
            Comparison(block=each["block"], directions=tuple((x, y) for x, y in each["directions"]))
            for each in record["comparisons"]
        ),
        rated=tuple(
            RatedOutput(elicitation=each["elicitation"], output=_output_from_json(each["output"]))
            for each in record["rated"]
        ),
        choices=tuple(
            OutputPair(output_x=_output_from_json(x), output_y=_output_from_json(y)) for x, y in record["choices"]
        ),
        rankings=tuple(tuple(map(_output_from_json, each)) for each in record.get("rankings", ())),
    )


def key_to_json(key: BlindingKey) -> str:
    """Return a blinding key as one line of JSON; it never leaves the store."""
    return _canonical({"assignment_id": key.assignment_id, "systems": key.systems, "blocks": key.blocks})


def key_from_json(text: str) -> BlindingKey:
    """Return the key that ``key_to_json`` wrote; labels come back sorted."""
    record = json.loads(text)
    return BlindingKey(assignment_id=record["assignment_id"], systems=record["systems"], blocks=record["blocks"])


def _canonical(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _output_to_json(output: ShownOutput) -> list[str | int]:
    return [output.label, output.item_id, output.sample]  # by far the most frequent record, so a short one


def _output_from_json(record: list[Any]) -> ShownOutput:
    return _shared_output(*record)


@lru_cache(maxsize=16_384)  # labels and items meet again on form after form
def _shared_output(label: str, item_id: str, sample: int) -> ShownOutput:
    return ShownOutput(label=label, item_id=item_id, sample=sample)
