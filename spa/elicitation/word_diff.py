"""The words in which an output differs from the text that it was made from."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from difflib import SequenceMatcher

from spa.media.words import CJK
from spa.records.form import Segment

_TOKEN = rf"(?s:[{CJK}]|(?:[^\W{CJK}]+(?:['’\-][^\W{CJK}]+)*)|\s+|.)"  # compiled when first used
_ALIGNED = 3_000  # words; aligning takes up to the square of their number: a second here, hours for a megabyte


def mark_differences(source: str, output: str) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
    """Return both texts as segments, marked where a word has no counterpart in the other.

    Parameters
    ----------
    source, output : str
        Words are compared exactly, punctuation counts as a word, white space does not count. Where more than
        3,000 words may differ, a word is marked if it occurs nowhere in the other text's stretch.

    Returns
    -------
    tuple of two tuples of Segment
        Source and output; the segments of each join up to the whole text.

    >>> before, after = mark_differences("The cat sat.", "The dog sat.")
    >>> [(part.text, part.marked) for part in after]
    [('The ', False), ('dog', True), (' sat.', False)]
    """
    of_source, of_output = _tokens(source), _tokens(output)
    in_source = [place for place, token in enumerate(of_source) if not token.isspace()]
    in_output = [place for place, token in enumerate(of_output) if not token.isspace()]
    marked_source: set[int] = set()
    marked_output: set[int] = set()
    words_source = [of_source[place] for place in in_source]
    words_output = [of_output[place] for place in in_output]
    for source_run, output_run in _differing_runs(words_source, words_output):
        marked_source.update(_between(in_source, source_run))
        marked_output.update(_between(in_output, output_run))
    return _segments(of_source, marked_source), _segments(of_output, marked_output)


def _differing_runs(source: list[str], output: list[str]) -> Iterator[tuple[range, range]]:
    """Yield runs of words that have no counterpart, as places in both texts (one of the two may be empty)."""
    start = _common_start(source, output)
    same_end = _common_start(source[start:][::-1], output[start:][::-1])
    middle_source = source[start : len(source) - same_end]
    middle_output = output[start : len(output) - same_end]
    if max(len(middle_source), len(middle_output)) > _ALIGNED:
        known_source, known_output = set(middle_source), set(middle_output)
        for place, word in enumerate(middle_source, start=start):
            if word not in known_output:
                yield range(place, place + 1), range(0)
        for place, word in enumerate(middle_output, start=start):
            if word not in known_source:
                yield range(0), range(place, place + 1)
        return
    matcher = SequenceMatcher(None, middle_source, middle_output, autojunk=False)
    for what, from_source, to_source, from_output, to_output in matcher.get_opcodes():
        if what != "equal":
            yield range(start + from_source, start + to_source), range(start + from_output, start + to_output)


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    for token in re.findall(_TOKEN, text):
        # A combining mark (Arabic vowels, for one) is no \w but belongs to the word before it.
        joins = bool(tokens) and not tokens[-1].isspace()
        if joins and (unicodedata.category(token[0])[0] == "M" or _ends_in_mark(tokens[-1], token)):
            tokens[-1] += token
        else:
            tokens.append(token)
    return tokens


def _ends_in_mark(word: str, token: str) -> bool:
    return unicodedata.category(word[-1])[0] == "M" and token[0].isalpha() and re.match(f"[{CJK}]", token) is None


def _common_start(first: list[str], second: list[str]) -> int:
    pairs = zip(first, second, strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))


def _between(places: list[int], run: range) -> range:
    """Return the tokens of a run of words, white space between them included."""
    return range(places[run.start], places[run.stop - 1] + 1) if run else range(0)


def _segments(tokens: list[str], marked: set[int]) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    run: list[str] = []
    for place, token in enumerate(tokens):
        if run and (place in marked) != (place - 1 in marked):
            segments.append(Segment(text="".join(run), marked=place - 1 in marked))
            run = []
        run.append(token)
    if run:
        segments.append(Segment(text="".join(run), marked=len(tokens) - 1 in marked))
    return tuple(segments)
