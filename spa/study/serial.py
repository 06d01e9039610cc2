"""Assignments and blinding keys as canonical JSON: sorted keys, no spaces, the same bytes on any machine."""

from __future__ import annotations

import json
from dataclasses import asdict

from pydantic import TypeAdapter

from spa.study.assignment import Assignment, BlindingKey

ASSIGNMENT = TypeAdapter(Assignment)
KEY = TypeAdapter(BlindingKey)


def assignment_to_json(assignment: Assignment) -> str:
    """Write an assignment as canonical JSON."""
    return _canonical(asdict(assignment))


def assignment_from_json(text: str) -> Assignment:
    """Read what :func:`assignment_to_json` wrote."""
    return ASSIGNMENT.validate_json(text)


def key_to_json(key: BlindingKey) -> str:
    """Write a blinding key as canonical JSON."""
    return _canonical(asdict(key))


def key_from_json(text: str) -> BlindingKey:
    """Read what :func:`key_to_json` wrote."""
    return KEY.validate_json(text)


def _canonical(record: dict[str, object]) -> str:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
