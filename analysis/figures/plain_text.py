"""Text that every format of a report may hold, whatever a table of answers contained."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import lru_cache
from typing import Any

from analysis.statistics.record import rows_with_fields, with_fields
from spa.rounding import NONE, number

LONGEST_NAME = 80
NUMBERS = frozenset({int, bool, float, type(None)})
NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
SET_APART = re.compile("(\u2068[^\u2066-\u2069]*\u2069)")  # a first strong isolate, closed
UNMARKED = str.maketrans("", "", "\u2068\u2069")
REPLACED = "\ufffd"


def clean(value: Any) -> Any:
    r"""Replace characters that no report format may hold; lists and dicts are copied.

    Control characters end the drawing program, lone surrogates cannot be written, and
    direction overrides can turn a line of a table round; a name that is set apart stays so.

    >>> clean({"system": "a\x00b", "n": 3})
    {'system': 'a\ufffdb', 'n': 3}
    """
    if value is None or isinstance(value, float | int):
        return value  # most of what results hold
    if isinstance(value, str):
        if NOT_TEXT.search(value) is None:
            return value
        return "".join(
            f"\u2068{NOT_TEXT.sub(REPLACED, part[1:-1])}\u2069" if place % 2 else NOT_TEXT.sub(REPLACED, part)
            for place, part in enumerate(SET_APART.split(value))
        )
    if is_dataclass(value) and not isinstance(value, type):
        return with_fields(value, clean, NUMBERS)
    if isinstance(value, Mapping):
        return {clean(key): clean(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return rows_with_fields(value, clean, NUMBERS) or tuple(clean(item) for item in value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    return value


@lru_cache(maxsize=4096)
def shown_name(text: str) -> str:
    r"""Return a name on one line, cut where it is very long, kept apart where it runs from right to left.

    >>> shown_name("two\n lines")
    'two lines'
    """
    line = " ".join(clean(str(text)).translate(UNMARKED).split())
    if len(line) > LONGEST_NAME:
        line = f"{line[: LONGEST_NAME - 20]}\u2026{line[-19:]}"  # long names often differ at their end
    if any(unicodedata.bidirectional(character) in ("R", "AL") for character in line):
        return f"\u2068{line}\u2069"  # first strong isolate: neighbours keep their direction
    return line


def percent(value: float | None, decimals: int = 1) -> str:
    """Return a share in percent.

    >>> percent(0.6875), percent(None)
    ('68.8%', '\u2013')
    """
    return NONE if value is None else f"{number(value, decimals, shift=2)}%"
