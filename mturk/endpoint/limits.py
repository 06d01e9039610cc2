"""Limits that the documentation of the service states and its model does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mturk.endpoint.errors import invalid

LENGTHS: Mapping[str, tuple[int, int]] = {  # characters
    "Title": (1, 128),
    "Description": (1, 2000),
    "Keywords": (0, 1000),
    "RequesterAnnotation": (0, 255),
    "Subject": (1, 200),
    "MessageText": (1, 4096),
    "Name": (1, 200),
    "Reason": (1, 1024),
    "RequesterFeedback": (0, 1024),
}
RANGES: Mapping[str, tuple[int, int]] = {
    "AssignmentDurationInSeconds": (30, 31_536_000),
    "LifetimeInSeconds": (30, 31_536_000),
    "AutoApprovalDelayInSeconds": (0, 2_592_000),
    "MaxAssignments": (1, 1_000_000_000),
    "NumberOfAdditionalAssignments": (1, 1_000_000_000),
    "RetryDelayInSeconds": (0, 31_536_000),
}
AUTO_APPROVAL_DELAY = 2_592_000  # seconds, where it is not given
QUESTION_BYTES = 65_535


def check_limits(given: Mapping[str, Any]) -> None:
    """Check lengths and ranges of the parameters of any operation.

    Raises
    ------
    Refusal
        Naming the first parameter that is too short, too long, too small or too large.
    """
    for name, (least, most) in LENGTHS.items():
        if name in given and not least <= len(given[name]) <= most:
            raise invalid(name, f"expected {least} to {most} characters, got {len(given[name])}")
    for name, (least, most) in RANGES.items():
        if name in given and not least <= given[name] <= most:
            raise invalid(name, f"expected {least} to {most}, got {given[name]}")
