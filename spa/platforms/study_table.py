"""Checking a platform's own table of the study file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from spa.errors import StudyError
from spa.study.problems import quote

Table = TypeVar("Table", bound=BaseModel)


def read_study_table(record: type[Table], raw: Mapping[str, Any], *, name: str, file: Path | str, keys: str) -> Table:
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


def _plain(value: Any) -> Any:
    """Return frozen mappings and tuples as dicts and lists."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


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
