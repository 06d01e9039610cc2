"""The one JSON object of a reply, found strictly."""

from __future__ import annotations

import json
import re

from spa.widgets.payload import payload_from_pairs

JSON_START = re.compile(r'\{\s*["}]')  # a brace of prose is none
# Numbers stay the text that arrived: 70.0 is kept as 70.0, and no length of digits is a problem.
DECODER = json.JSONDecoder(object_pairs_hook=payload_from_pairs, parse_int=str, parse_float=str, parse_constant=str)


class UnreadableReply(Exception):
    """No single JSON object is in the text; the message is the reason."""


class SeveralObjects(UnreadableReply):
    """More than one JSON object is in the text."""


def find_payload(text: str) -> dict[str, object]:
    """Return the one JSON object of a reply, alone, in a code fence or between sentences.

    Raise UnreadableReply if there is none, more than one (SeveralObjects), or a broken one. Nothing is mended.

    >>> find_payload('My answers: {"q1": 70, "q2": "4"}')
    {'q1': '70', 'q2': '4'}
    """
    found: list[dict[str, object]] = []
    place = 0
    while (start := JSON_START.search(text, place)) is not None:
        try:
            value, place = DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError) as error:
            raise UnreadableReply("the reply holds broken JSON") from error
        found.append(value)
        if len(found) > 1:
            raise SeveralObjects("the reply holds more than one JSON object, expected one")
    if not found:
        raise UnreadableReply("the reply holds no JSON object")
    return found[0]


def find_list(text: str) -> str:
    """Return the one JSON list of a reply, alone or between sentences; raise UnreadableReply as :func:`find_payload`.

    >>> find_list('I found none: [].')
    '[]'
    """
    found: list[str] = []
    place = 0
    while (place := text.find("[", place)) >= 0:
        try:
            _, end = DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1  # a bracket of prose
            continue
        found.append(text[place:end])
        place = end
    if len(found) != 1:
        raise UnreadableReply(f"expected one JSON list in the reply, got {len(found) or 'none'}")
    return found[0]
