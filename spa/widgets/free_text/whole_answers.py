"""Answers of several parts in free text: all parts or none, whatever the rule, as a first part would be no answer."""

from __future__ import annotations

from collections.abc import Callable

from spa.widgets.free_text.json_replies import UnreadableReply, find_payload
from spa.widgets.free_text.numbers import plain_text
from spa.widgets.free_text.phrases import DENIED, REFUSALS, REFUSED, UnreadableText
from spa.widgets.free_text.reader import without_marks
from spa.widgets.payload import UnreadableAnswer


def read_whole_answer(
    text: str,
    name: str,
    *,
    value: Callable[[object], str],
    named: Callable[[str], tuple[str, str] | None],
    incomplete: str,
) -> str:
    """Return the answer that a reply gives whole.

    Parameters
    ----------
    text : str
        The reply.
    name : str
        The question's, under which a JSON object may hold the answer; else the object is the answer.
    value : callable
        Reads the answer of JSON; raises UnreadableAnswer.
    named : callable
        From a text without marks to the answer that it names and the text up to its end, which may deny it; ``None``
        where it names no whole one.
    incomplete : str
        What is said of a reply without a whole answer that is no refusal.

    Raises
    ------
    UnreadableText
        Where there is none.
    """
    try:
        payload = find_payload(text)
        return value(payload.get(name, payload))
    except (UnreadableReply, UnreadableAnswer):
        found = named(without_marks(text))
    if found is not None and not DENIED.search(plain_text(found[1])):
        return found[0]
    raise UnreadableText(REFUSED if REFUSALS.search(plain_text(text)) else incomplete)
