"""``results.json`` written from records and read back, of this schema and of the one before; and its JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from analysis import rooms
from analysis.records.results import Key, Results, described_class, results_class
from analysis.records.row_tables import with_rows
from analysis.results.records import SCHEMA, keys_of
from analysis.statistics.reasons import folded
from analysis.statistics.record import REASON_CODE, plain
from spa.errors import AnalysisError, unreadable

if TYPE_CHECKING:
    from pydantic import TypeAdapter

DIALECT = "https://json-schema.org/draft/2020-12/schema"
RENAMED = {"lopsided": "highly_skewed"}  # keys of schema 1
SCHEMA_FILE = Path(__file__).with_name("results.schema.json")


def as_plain(results: Results) -> dict[str, Any]:
    """Return results as dicts, lists and numbers: the content of ``results.json``."""
    return plain(results)  # type: ignore[no-any-return]


def to_json(results: Results) -> str:
    """Write results as JSON; NaN and infinity are refused."""
    from pydantic_core import to_json as encoded  # four times as fast as json

    content = as_plain(results)
    text = encoded(content, indent=1, inf_nan_mode="constants").decode()
    if "NaN" in text or "Infinity" in text:  # a name may hold these words, a number may not
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
    return text + "\n"


def from_plain(content: Mapping[str, Any]) -> Results:
    """Make records of the content of a ``results.json`` of this schema or of schema 1.

    Parameters
    ----------
    content : mapping
        What JSON holds. Keys that schema 1 called otherwise are renamed; keys without rows may be absent.

    Raises
    ------
    pydantic.ValidationError
        When a key is missing or holds what the schema does not allow.
    """
    current = folded(_renamed(content) if content.get("schema") == 1 else dict(content))
    return with_rows(_adapter().validate_json(json.dumps(current, allow_nan=False), strict=True))


def read_results(path: str | Path) -> Results:
    """Read a ``results.json``, also of schema 1.

    Parameters
    ----------
    path : str or Path
        File that ``spa report`` or :func:`analysis.write_results` wrote.

    Raises
    ------
    AnalysisError
        When the file cannot be read or is no ``results.json``.
    """
    from pydantic import ValidationError

    try:
        return from_plain(json.loads(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise AnalysisError(unreadable(path, error)) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise AnalysisError(
            f"{path}: expected a results.json of schema 1 or {SCHEMA}; {place}: {first['msg']}"
        ) from error
    except (AttributeError, TypeError, ValueError) as error:
        raise AnalysisError(f"{path}: expected a results.json, got no JSON object ({error})") from error


def results_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``results.json``, made from the records."""
    made = _simplified(_adapter_of(keys_of(rooms.CONTRIBUTIONS), described=True).json_schema(mode="serialization"))
    made["$defs"]["ReasonCode"] = REASON_CODE
    about = {
        "$schema": DIALECT,
        "$id": f"https://spa-eval.invalid/results-{SCHEMA}.schema.json",
        "title": f"results.json of spa report, version {SCHEMA}",
    }
    return {**about, **{key: made[key] for key in sorted(made)}}


def schema_text() -> str:
    """Return the text of the schema's file: one line a property."""
    return _lines(results_schema(), open_keys=("$defs", "properties")) + "\n"


def _renamed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {RENAMED.get(key, key): SCHEMA if key == "schema" else _renamed(item) for key, item in value.items()}
    return [_renamed(item) for item in value] if isinstance(value, list | tuple) else value


def _simplified(schema: Any, *, named: bool = False) -> Any:
    """Leave out titles, which repeat the names, and write "number or null" as one type; ``named``: keys are names."""
    if isinstance(schema, list):
        return [_simplified(part) for part in schema]
    if isinstance(schema, str):
        return " ".join(schema.split())  # descriptions
    if not isinstance(schema, dict):
        return schema
    if schema == REASON_CODE:
        return {"$ref": "#/$defs/ReasonCode"}  # many codes, written once
    found = {
        key: _simplified(part, named=not named and key in ("properties", "$defs"))
        for key, part in schema.items()
        if named or key not in ("title", "default")
    }
    either = found.get("anyOf", ())
    if len(either) == 2 and either[1] == {"type": "null"} and isinstance(either[0].get("type"), str):
        first = found.pop("anyOf")[0]
        found = {**first, "type": [first["type"], "null"], **found}
        if "enum" in found:
            found["enum"] = [*found["enum"], None]
    return found


def _lines(schema: Mapping[str, Any], *, open_keys: tuple[str, ...], depth: int = 1) -> str:
    parts = []
    for key, value in schema.items():
        text = json.dumps(value, ensure_ascii=False)
        if key in open_keys:
            inner = {
                name: _lines(part, open_keys=("properties",), depth=depth + 2)
                if "properties" in part
                else json.dumps(part, ensure_ascii=False)
                for name, part in value.items()
            }
            rows = ",\n".join(f'{" " * (depth + 1)}"{name}": {row}' for name, row in inner.items())
            text = f"{{\n{rows}\n{' ' * depth}}}"
        parts.append(f'{" " * depth}"{key}": {text}')
    return "{\n" + ",\n".join(parts) + f"\n{' ' * (depth - 1)}}}"


def _adapter() -> TypeAdapter[Results]:
    return _adapter_of(keys_of(rooms.CONTRIBUTIONS), described=False)


@cache
def _adapter_of(keys: tuple[Key[Any], ...], *, described: bool) -> TypeAdapter[Results]:
    from pydantic import TypeAdapter

    return TypeAdapter(described_class(keys, _describe) if described else results_class(keys))


def _describe(kind: Any, about: str) -> Any:
    from pydantic import Field

    return Annotated[kind, Field(description=about)]
