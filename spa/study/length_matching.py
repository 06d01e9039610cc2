"""Cuts a text to whole sentences, so that a longer text has no advantage by its length."""

from __future__ import annotations

import re
from collections.abc import Iterator

from spa.study.filters import CLOSING

# A sentence of a script with spaces ends where space, a line end or the end of the text follows;
# full-width marks end one wherever they stand.
_END = re.compile(rf"(?:[.!?…؟۔।]+[{re.escape(CLOSING)}]*(?=\s|$)|[。！？｡]+[{re.escape(CLOSING)}]*|\n+)")


def sentence_ends(text: str) -> Iterator[int]:
    """Yield the positions after each whole sentence, closing quotes included.

    A sentence ends with . ! ? … or their Chinese, Japanese, Arabic, Urdu or Hindi forms, or with its
    line. What follows the last of these is no whole sentence.

    >>> list(sentence_ends('He said "no." Then he'))
    [13]
    """
    for match in _END.finditer(text):
        yield match.end()


def cut_to_sentences(text: str, longest: int) -> str:
    """Return as many whole sentences from the start as fit.

    At most ``longest`` characters; empty where not even the first sentence fits.

    >>> cut_to_sentences("One. Two two. Three.", 13)
    'One. Two two.'
    """
    whole = text.strip()
    if len(whole) <= longest:
        return whole
    whole_sentences = ""
    for end in sentence_ends(whole):
        candidate = whole[:end].rstrip()
        if len(candidate) > longest:
            break
        whole_sentences = candidate
    return whole_sentences
