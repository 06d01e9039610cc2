"""A TOML document written from its values: for the copy of a study that is rehearsed."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import Any


def toml_text(document: Mapping[str, Any]) -> str:
    """Return a document with each of its top-level values on a line of its own.

    >>> print(toml_text({"id": "a", "people": {"pay": 2.5, "groups": [{"name": "x"}]}}))
    "id" = "a"
    "people" = {"pay" = 2.5, "groups" = [{"name" = "x"}]}
    <BLANKLINE>
    """
    return "".join(f"{_text(name)} = {_value(value)}\n" for name, value in document.items())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, datetime.date | datetime.time):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(name)} = {_value(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(inner) for inner in value) + "]"
    raise TypeError(f"TOML has no {type(value).__name__}")


def _text(text: str) -> str:
    """Quote a text; JSON and TOML quote alike, but for the delete character and surrogate pairs."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
