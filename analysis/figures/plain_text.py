"""Text that every format of a report may hold, whatever a table of answers contained."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

LONGEST_NAME = 80
NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")


def clean(value: Any) -> Any:
    r"""Replace characters that no report format may hold; lists and dicts are copied.

    Control characters end the drawing program, lone surrogates cannot be written, and
    direction overrides can turn a line of a table round.

    >>> clean({"system": "a\x00b", "n": 3})
    {'system': 'a\ufffdb', 'n': 3}
    """
    if value is None or isinstance(value, float | int):
        return value  # most of what results hold
    if isinstance(value, str):
        return value if value.isascii() and value.isprintable() else NOT_TEXT.sub("\ufffd", value)
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(**{field.name: clean(getattr(value, field.name)) for field in fields(value)})
    if isinstance(value, Mapping):
        return {clean(key): clean(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(clean(item) for item in value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    return value


@lru_cache(maxsize=4096)
def shown_name(text: str) -> str:
    r"""Return a name on one line, cut where it is very long, kept apart where it runs from right to left.

    >>> shown_name("two\n lines")
    'two lines'
    """
    text = str(text)
    if text.startswith("\u2068") and text.endswith("\u2069"):
        text = text[1:-1]  # shown before
    line = " ".join(clean(text).split())
    if len(line) > LONGEST_NAME:
        line = f"{line[: LONGEST_NAME - 20]}\u2026{line[-19:]}"  # long names often differ at their end
    if any(unicodedata.bidirectional(character) in ("R", "AL") for character in line):
        return f"\u2068{line}\u2069"  # first strong isolate: neighbours keep their direction
    return line
