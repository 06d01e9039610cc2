"""``results.json`` written from records and read back, of this and of earlier schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from analysis.results.records import Results
from spa.errors import AnalysisError, shortened


def as_plain(results: Results) -> dict[str, Any]:
    """Return results as dicts, lists and numbers: the content of ``results.json``."""
    return asdict(results)


def to_json(results: Results) -> str:
    """Write results as JSON; NaN and infinity are refused."""
    return json.dumps(as_plain(results), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def from_plain(content: Mapping[str, Any]) -> Results:
    """Make records of the content of a ``results.json``; keys that earlier versions did not write are empty.

    Raises
    ------
    pydantic.ValidationError
        When a key is missing or holds what the schema does not allow.
    """
    return _adapter().validate_python(_completed(Results, content))


def read_results(path: str | Path) -> Results:
    """Read a ``results.json``.

    Raises
    ------
    AnalysisError
        When the file cannot be read or is no ``results.json``.
    """
    try:
        return from_plain(json.loads(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValidationError, ValueError, TypeError) as error:
        raise AnalysisError(
            shortened(f"{path}: expected a results.json, found another content ({' '.join(str(error).split())})")
        ) from error


def results_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``results.json``, made from the records."""
    return _adapter().json_schema(mode="serialization")


def _completed(kind: Any, value: Any) -> Any:
    """Add to a record as read what a field says of its absence: nothing, or no rows."""
    if isinstance(value, list | tuple):
        return [_completed(next(iter(get_args(kind)), Any), item) for item in value]
    if not isinstance(value, Mapping):
        return value
    record: Any = next((each for each in (kind, *get_args(kind)) if is_dataclass(each)), None)
    if record is None:
        return value
    hints, found = _hints(record), dict(value)
    for name, hint in hints.items():
        if name in found:
            found[name] = _completed(hint, found[name])
        elif type(None) in get_args(hint):
            found[name] = None
        elif get_origin(hint) is tuple:
            found[name] = ()
        elif is_dataclass(hint):
            found[name] = _completed(hint, {})
    return found


@cache
def _hints(record: type) -> dict[str, Any]:
    names = {field.name for field in fields(record)}
    return {name: hint for name, hint in get_type_hints(record).items() if name in names}


@cache
def _adapter() -> TypeAdapter[Results]:
    return TypeAdapter(Results)
