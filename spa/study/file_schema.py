"""The JSON Schema of ``study.toml``, with which editors complete keys and mark mistakes.

It is made from the records that check a study file (``python -m tests.study_schema`` writes it) and lies beside this
module; ``spa init`` copies it beside each new study.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from spa.study.schema_errors import study_tables
from spa.study.study import Study

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_NAME = "study.schema.json"  # beside study.toml
SCHEMA_FILE = Path(__file__).with_name(SCHEMA_NAME)
Meanings = Mapping[tuple[str, str], str]  # (header of the table, key) -> what the key means


def schema_line() -> str:
    """Return the line before the first key of a study file that tells editors where its schema is."""
    return f"#:schema ./{SCHEMA_NAME}"


def schema_text() -> str:
    """Return the schema as it is written beside a study."""
    return SCHEMA_FILE.read_text(encoding="utf-8")


def is_outdated(study: Path) -> bool:
    """Return whether a schema lies beside a study file that another release wrote."""
    beside = study.with_name(SCHEMA_NAME)
    return beside.is_file() and beside.read_text(encoding="utf-8", errors="replace") != schema_text()


def file_schema(platforms: Mapping[str, type[BaseModel]], meanings: Meanings) -> dict[str, Any]:
    """Make the schema of a study file.

    Parameters
    ----------
    platforms : mapping
        Name of a platform's table -> the record that checks it; ``Study`` itself holds such tables as they are.
    meanings : mapping
        What is shown beside a key of a table, as ``("[spa]", "exposure")``; keys may be absent.

    Returns
    -------
    dict
        JSON Schema, draft 2020-12. Every table refuses other keys than its own; ``[texts]``, whose keys belong to the
        form, takes any.
    """
    schema = Study.model_json_schema()
    definitions: dict[str, Any] = schema["$defs"]
    for name, record in platforms.items():
        own = record.model_json_schema()
        definitions |= own.pop("$defs", {})
        definitions[record.__name__] = own
        schema["properties"][name] = {"$ref": f"#/$defs/{record.__name__}"}
    # The keys of texts have dots, with or without quotes around them: "form.title" = ... or form.title = ...
    text = {"type": "string"}
    inner = {"type": "object", "additionalProperties": text}
    schema["properties"]["texts"] = {"type": "object", "additionalProperties": {"anyOf": [text, inner]}}
    for header, record in study_tables():
        table = schema if record is Study else definitions[record.__name__]
        for key, property_ in table["properties"].items():
            if (meaning := meanings.get((header, key))) is not None:
                property_["description"] = meaning
    plain = _as_toml(schema)
    return {"$schema": DIALECT, **plain, "title": "study.toml"}


def _as_toml(schema: Any) -> Any:
    """Leave out what no TOML file can hold, null, and the titles that repeat the names of keys."""
    if isinstance(schema, list):
        return [_as_toml(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _as_toml(value) for key, value in schema.items() if not _says_nothing(key, value)}
    choices = [each for each in kept.get("anyOf", ()) if each != {"type": "null"}]
    if len(choices) == 1:
        del kept["anyOf"]
        return {**choices[0], **kept}
    return {**kept, "anyOf": choices} if choices else kept


def _says_nothing(key: str, value: Any) -> bool:
    return (
        (key == "title" and isinstance(value, str))
        or (key == "default" and value is None)
        or (key == "format" and value == "path")
    )
