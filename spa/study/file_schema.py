"""The JSON Schema of ``study.toml``, with which editors complete keys and mark mistakes.

It is made from the records that check a study file (``python -m tests.study_schema`` writes it) and lies beside this
module; ``spa init`` copies it beside each new study.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spa.raters.vendors import providers
from spa.records.platforms import installed_platforms
from spa.study.schema_errors import key_choices, study_tables
from spa.study.study_file import study_file

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


def file_schema(meanings: Meanings) -> dict[str, Any]:
    """Make the schema of a study file with the tables of all installed platforms.

    Parameters
    ----------
    meanings : mapping
        What is shown beside a key of a table, as ``("[spa]", "exposure")``; keys may be absent.

    Returns
    -------
    dict
        JSON Schema, draft 2020-12. Every table refuses other keys than its own; ``[texts]``, whose keys belong to the
        form, takes any.
    """
    schema = study_file().model_json_schema()
    definitions: dict[str, Any] = schema["$defs"]
    for platform in installed_platforms():
        if platform.table is not None:
            own, name = platform.table.model_json_schema(), platform.table.__name__
            definitions |= own.pop("$defs", {})
            definitions[name] = own
            schema["properties"][platform.key] = {"$ref": f"#/$defs/{name}"}
    keys = definitions["Rater"]["properties"]
    keys["provider"] = {"default": keys["provider"]["default"], "enum": list(providers())} | keys["provider"]
    # The keys of texts have dots, with or without quotes around them: "form.title" = ... or form.title = ...
    text = {"type": "string"}
    inner = {"type": "object", "additionalProperties": text}
    schema["properties"]["texts"] = {"type": "object", "additionalProperties": {"anyOf": [text, inner]}}
    for header, record in study_tables():
        table = schema if record is study_file() else definitions[record.__name__]
        for key, property_ in table["properties"].items():
            if choices := key_choices(record.model_fields[key].metadata if key in record.model_fields else ()):
                table["properties"][key] = property_ = _with_choices(property_, choices)
            if (meaning := meanings.get((header, key))) is not None:
                property_["description"] = meaning
    plain = _as_toml(schema)
    return {"$schema": DIALECT, **plain, "title": "study.toml"}


def _with_choices(property_: dict[str, Any], choices: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of a text that names a member of an axis as that of a choice."""
    kept = {key: value for key, value in property_.items() if key not in ("type", "anyOf")}
    return {**kept, "enum": list(choices), "type": "string"}


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
