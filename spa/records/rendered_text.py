"""Where the words of a text stand in the source from which it was rendered, and the other way round."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|[^\\W\u3040-\u30ff\u3400-\u9fff]+")
FARTHEST = 300  # words of the source that may stand between two words of the text: addresses, languages of code
LONGEST_PARTED = 60  # characters of a word that marks part in the source


@dataclass(frozen=True, slots=True)
class Placed:
    """A stretch of the text, half-open, and the one of the source that says it."""

    start: int
    end: int
    source_start: int
    source_end: int


@lru_cache(512)
def placed_words(source: str, text: str) -> tuple[Placed, ...]:
    """Find the words of a text in its source, in order; words that are not there in one piece are left out.

    >>> [(one.start, one.source_start) for one in placed_words("A **big** dog", "A big dog")]
    [(0, 0), (2, 4), (6, 10)]
    """
    places: dict[str, list[int]] = {}
    words = list(WORD.finditer(source))
    for number, word in enumerate(words):
        places.setdefault(word[0], []).append(number)
    found: list[Placed] = []
    following = 0
    for word in WORD.finditer(text):
        numbers = places.get(word[0], [])
        at = bisect_left(numbers, following)
        if at < len(numbers) and numbers[at] - following <= FARTHEST:
            first = last = numbers[at]
        elif (parted := _parted(word[0], words, places, following)) is not None:
            first, last = parted
        else:
            continue
        place = word.start()
        for match in words[first : last + 1]:
            found.append(Placed(place, place + len(match[0]), match.start(), match.end()))
            place += len(match[0])
        following = last + 1
    return tuple(found)


def _parted(
    word: str, words: Sequence[re.Match[str]], places: Mapping[str, list[int]], following: int
) -> tuple[int, int] | None:
    """Return the first and last of the source's words that make a word, as in ``*un*common``; None if none do."""
    if len(word) > LONGEST_PARTED:
        return None
    for cut in range(len(word) - 1, 0, -1):
        numbers = places.get(word[:cut], [])
        at = bisect_left(numbers, following)
        if at == len(numbers) or numbers[at] - following > FARTHEST:
            continue
        last, made = numbers[at], cut
        while made < len(word) and last + 1 < len(words) and word.startswith(words[last + 1][0], made):
            last += 1
            made += len(words[last][0])
        if made == len(word):
            return numbers[at], last
    return None


def in_text(source: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the stretch of the text that a stretch of the source says; ``None`` where it says no word of it.

    >>> in_text("A **big** dog", "A big dog", 2, 9)
    (2, 5)
    """
    words = placed_words(source, text)
    first = bisect_right(words, start, key=lambda one: one.source_end)
    last = bisect_left(words, end, key=lambda one: one.source_start)
    if first >= last:
        return None
    begin, stop = words[first], words[last - 1]
    return begin.start + max(0, start - begin.source_start), stop.end - max(0, stop.source_end - end)
