"""Checking a platform's own table of the study file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from spa.errors import StudyError
from spa.records.problems import quote

Table = TypeVar("Table", bound=BaseModel)


def read_study_table(record: type[Table], raw: Mapping[str, Any], *, name: str, file: str, keys: str) -> Table:
    """Check a platform's table ``name`` of the study file; messages about unknown keys end in ``keys``.

    Raises
    ------
    StudyError
        With one line for each mistake.
    """
    try:
        return record.model_validate_json(json.dumps(raw, default=str), strict=True)
    except ValidationError as error:
        details = error.errors(include_url=False)
        raise StudyError(*(_line(f"{file}: [{name}]", detail, keys) for detail in details)) from error


def _line(table: str, detail: Any, keys: str) -> str:
    steps = " ".join(f"entry {step + 1}," if isinstance(step, int) else str(step) for step in detail["loc"])
    place, message = f"{table} {steps}".rstrip(" ,"), str(detail["msg"])
    if detail["type"] == "extra_forbidden":
        return f"{place}: no such key; {keys}"
    if detail["type"] == "missing":
        return f"{place}: required, and not there"
    if detail["type"] == "value_error":  # of the record itself: it says what is wrong with the table as a whole
        return f"{place}: {message.removeprefix('Value error, ')}"
    return f"{place}: {message[:1].lower()}{message[1:]}, got {quote(detail['input'])}"
