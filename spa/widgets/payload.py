"""What arrives for a question, before it is read as an answer: a string of a page, a JSON value of an LLM.

Nothing is guessed, and what arrived is kept verbatim beside what it was read as.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

NO_ANSWER = "no answer"
SHOWN_CHARACTERS = 60  # of an unreadable answer, in its reason; the raw form is kept whole
LONGEST_NUMBER = 40  # characters
DIRECTION_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u061c\ufeff"))  # pasted along with right-to-left text
PERCENT_SIGNS = str.maketrans(dict.fromkeys("\u066a\uff05\ufe6a", "%"))
PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class AnsweredTwice:
    """What a payload holds for a field that was sent more than once."""

    values: tuple[object, ...]


class UnreadableAnswer(Exception):
    """The answer cannot be used; the message is the reason, ``level`` a number off the scale."""

    def __init__(self, reason: str, level: object = None) -> None:
        super().__init__(reason)
        self.level = None if level is None else str(level)


def payload_from_pairs(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Build a payload that remembers which fields were sent more than once.

    Takes the fields of a form post, or serves as ``object_pairs_hook`` of :func:`json.loads`.

    >>> payload_from_pairs([("q1", "70"), ("q2", "4"), ("q1", "30")])
    {'q1': AnsweredTwice(values=('70', '30')), 'q2': '4'}
    """
    gathered: dict[str, list[object]] = {}
    for name, value in pairs:
        gathered.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else AnsweredTwice(tuple(values)) for name, values in gathered.items()}


def verbatim(raw: object) -> str:
    """Return what arrived as text: a string as it is, any other JSON value as JSON."""
    if isinstance(raw, str):
        return raw
    if isinstance(raw, AnsweredTwice):
        return verbatim(list(raw.values))
    try:
        return json.dumps(raw, ensure_ascii=False, default=repr)
    except RecursionError:
        return "(nested too deeply to be written down)"
    except ValueError:  # Python writes no whole number of more than 4,300 digits in decimal
        return hex(raw) if isinstance(raw, int) else repr(type(raw))


def bare(text: str) -> str:
    """Return the text without the marks of writing direction and the white space around it."""
    return (text if text.isascii() else text.translate(DIRECTION_MARKS)).strip()


def as_number(raw: object, *, unit: str = "") -> Decimal | None:
    """Return a finite number written plainly, in the digits of any script; ``None`` for anything else."""
    if isinstance(raw, bool):
        return None
    if isinstance(raw, int):
        return Decimal(raw)
    if isinstance(raw, float):
        return Decimal(repr(raw)) if math.isfinite(raw) else None
    if not isinstance(raw, str):
        return None
    text = bare(raw)
    if len(text) > LONGEST_NUMBER:
        return None
    if unit:
        text = text.translate(PERCENT_SIGNS).removesuffix(unit).rstrip()
    # unicodedata.decimal knows the digits of every script and refuses superscripts: "10²" is not 102
    plain = text if text.isascii() else "".join(str(unicodedata.decimal(character, character)) for character in text)
    return Decimal(plain) if PLAIN_NUMBER.fullmatch(plain) else None


def quoted(raw: object) -> str:
    """Return what arrived, short enough for a reason of one line and printable anywhere."""
    text = verbatim(raw)
    if len(text) > SHOWN_CHARACTERS:
        text = f"{text[:SHOWN_CHARACTERS]}..."
    return repr(text) if isinstance(raw, str) else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an object with exactly these properties, as strict structured output wants it."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
