"""Length and readability of single texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

from analysis.metrics.scores import MetricScores, MetricSettings, SystemTexts, mean
from spa.media.words import count_words
from spa.study.filters import sentence_ends

LONG = 6  # letters that a long word of LIX has more than
_LETTER = re.compile(r"[^\W\d_]")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_BETWEEN_WORDS = re.compile(r"[\s—–…]+|--+")
_TITLE = re.compile(  # or another word that is cut short before a name; or a single capital but "I"
    r"\b(?:Mrs?|Ms|Drs?|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Sen|Rep|Gov|Hon|St|Mt|vs|cf|viz|e\.g|i\.e|[A-HJ-Z])\.$"
)
_NUMBERED = re.compile(  # cut short before a number
    r"\b(?:[Ff]igs?|[Nn]os?|[Vv]ol|[Pp]p?|[Cc]h|[Ee]qs?|[Aa]pprox|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.$"
)
_GOES_ON = re.compile(r"[^\S\n]+[^\W\d_A-Z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCounts:
    """What readability is computed from."""

    letters: int
    characters: int  # letters and digits
    words: int
    long_words: int
    sentences: int


def length(texts: SystemTexts, settings: MetricSettings) -> list[MetricScores]:
    """Count words (a Chinese or Japanese character is one) and characters; neither more nor fewer are better."""
    counts = {
        "words": [float(count_words(text)) for text in texts.outputs],
        "characters": [float(len(text.strip())) for text in texts.outputs],
    }
    return _undirected(counts)


def readability(texts: SystemTexts, settings: MetricSettings) -> list[MetricScores]:
    """Compute ARI, Coleman-Liau and LIX; higher is harder to read, which is neither better nor worse.

    A text without a letter has 0.

    * automated_readability_index: 4.71 characters / words + 0.5 words / sentences - 21.43, characters being letters
      and digits.
    * coleman_liau_index: 0.0588 L - 0.296 S - 15.8 with L letters and S sentences in 100 words.
    * lix: words / sentences + 100 long words / words, long being more than 6 letters.

    References
    ----------
    Senter, R. J. and Smith, E. A. (1967). Automated readability index. AMRL-TR-66-220. Coleman, M. and Liau, T. L.
    (1975). J. Applied Psychology, 60(2), 283-284. Björnsson, C. H. (1968). Läsbarhet.

    >>> texts = SystemTexts(outputs=["Boil water. Add tea."], references=[()], sources=[""])
    >>> [round(row.values[0], 2) for row in readability(texts, MetricSettings())]
    [-2.77, -8.55, 2.0]
    """
    counts = [count_text(text) for text in texts.outputs]
    formulas: dict[str, Callable[[TextCounts], float]] = {
        "automated_readability_index": lambda n: 4.71 * n.characters / n.words + 0.5 * n.words / n.sentences - 21.43,
        "coleman_liau_index": lambda n: (5.88 * n.letters - 29.6 * n.sentences) / n.words - 15.8,
        "lix": lambda n: n.words / n.sentences + 100 * n.long_words / n.words,
    }
    return _undirected({name: [of(n) if n.letters else 0.0 for n in counts] for name, of in formulas.items()})


def count_text(text: str) -> TextCounts:
    """Count letters, words and sentences.

    A word is what stands between spaces or dashes and has a letter or a digit: "well-known", "3.5" and "e.g." are one.
    A sentence ends as :func:`spa.study.filters.sentence_ends` says (. ! ? … and their forms in other scripts before
    a space, or a line end), but for a full stop that a small letter follows or that ends a title, a usual abbreviation
    or an initial ("Dr. J. Smith"); it has a word at least, however short.

    >>> count_text("Stop. Dr. J. Smith paid 3.5 pounds, e.g. for tea. Well-known!").sentences
    3
    """
    words = [word for word in _BETWEEN_WORDS.split(text) if _LETTER_OR_DIGIT.search(word)]
    sizes = [len(_LETTER.findall(word)) for word in words]
    ends = [end for end in sentence_ends(text) if not _goes_on(text, end)]
    parts = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    return TextCounts(
        letters=sum(sizes),
        characters=sum(len(_LETTER_OR_DIGIT.findall(word)) for word in words),
        words=len(words),
        long_words=sum(size > LONG for size in sizes),
        sentences=sum(_LETTER_OR_DIGIT.search(part) is not None for part in parts),
    )


def _goes_on(text: str, end: int) -> bool:
    """Say whether a mark ends no sentence: a full stop of an abbreviation, or one that a small letter follows."""
    if text[end - 1] not in ".…" or text[end : end + 1] == "\n" or not text[end:].strip():
        return False
    before, after = text[max(0, end - 10) : end], text[end:].lstrip()[0]
    return bool(_GOES_ON.match(text, end) or _TITLE.search(before) or (after.isdigit() and _NUMBERED.search(before)))


def _undirected(values: dict[str, list[float]]) -> list[MetricScores]:
    signature = f"spa-eval|version:{version('spa-eval')}"
    return [
        MetricScores(metric=name, values=own, corpus=mean(own), higher_is_better=None, signature=signature)
        for name, own in values.items()
    ]
