"""Conditions that an item must meet; an item that fails leaves the study with evidence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from spa.study.study import OutputFilter

# Scripts that are written without spaces count a word a character.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|[^\W_]+(?:['’\-][^\W_]+)*"
)
CLOSING = "\"'”’»›)]}」』）】》〉］｝"  # quotes and brackets that may follow the end of a sentence


def count_words(text: str) -> int:
    """Return the number of words; a Chinese or Japanese character counts as one.

    >>> count_words("It's a well-known fact."), count_words("我喜欢诗。")
    (4, 4)
    """
    return sum(1 for _ in _WORD.finditer(text))


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
    """Tell whether the last visible character, closing quotes and brackets aside, is punctuation.

    >>> ends_in_punctuation('He said "no."'), ends_in_punctuation("and then"), ends_in_punctuation("好。")
    (True, False, True)
    """
    bare = text.rstrip().rstrip(CLOSING).rstrip()
    return bool(bare) and unicodedata.category(bare[-1]).startswith("P")
