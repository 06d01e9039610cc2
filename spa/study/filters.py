"""Conditions that an item must meet, with the evidence of those that fail, and texts cut to whole sentences."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spa.media.words import count_words

if TYPE_CHECKING:
    from spa.records.study import OutputFilter

CLOSING = "\"'”’»›)]}」』）】》〉］｝"  # quotes and brackets that may follow the end of a sentence
# A sentence of a script with spaces ends where space, a line end or the end of the text follows;
# full-width marks end one wherever they stand.
_SENTENCE_END = rf"(?:[.!?…؟۔।]+[{re.escape(CLOSING)}]*(?=\s|$)|[。！？｡]+[{re.escape(CLOSING)}]*|\n+)"


def failures(condition: OutputFilter, text: str) -> Iterator[tuple[str, str]]:
    """Yield (rule, evidence) for every part of a condition that the text does not meet."""
    if condition.starts_with is not None and not text.startswith(condition.starts_with):
        yield "starts_with", f'starts with "{text[:30]}", expected "{condition.starts_with}"'
    for part in condition.contains_none_of:
        if part in text:
            yield "contains_none_of", f'contains "{part}"'
    if condition.ends_in_punctuation and not ends_in_punctuation(text):
        yield "ends_in_punctuation", f'ends with "{text.rstrip()[-20:]}"'
    yield from _length("words", count_words(text), condition.min_words, condition.max_words)
    yield from _length("characters", len(text.strip()), condition.min_characters, condition.max_characters)


def _length(unit: str, length: int, least: int | None, most: int | None) -> Iterator[tuple[str, str]]:
    if least is not None and length < least:
        yield f"min_{unit}", f"{length} {unit}, expected at least {least}"
    if most is not None and length > most:
        yield f"max_{unit}", f"{length} {unit}, expected at most {most}"


def ends_in_punctuation(text: str) -> bool:
    """Return whether the last visible character, closing quotes and brackets aside, is punctuation.

    Two apostrophes, with which corpora of tokens end a quotation, are punctuation themselves: the prompts of
    Ethayarajh & Jurafsky (2022) end so.

    >>> ends_in_punctuation('He said "no."'), ends_in_punctuation("and then"), ends_in_punctuation("好。")
    (True, False, True)
    """
    text = text.rstrip()
    bare = text if text.endswith("''") else text.rstrip(CLOSING).rstrip()
    return bool(bare) and unicodedata.category(bare[-1]).startswith("P")


def sentence_ends(text: str) -> Iterator[int]:
    """Yield the positions after each whole sentence, closing quotes included.

    A sentence ends with . ! ? … or their Chinese, Japanese, Arabic, Urdu or Hindi forms, or with its
    line. What follows the last of these is no whole sentence.

    >>> list(sentence_ends('He said "no." Then he'))
    [13]
    """
    for match in re.finditer(_SENTENCE_END, text):
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
