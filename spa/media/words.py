"""How many words a text has, and how fast people read them silently.

One count serves the time that an output must be on screen, minutes, pay, filters, metrics and reports.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

# Silent reading by the script of the text. Brysbaert (2019, J. Memory and Language 109) gives 238 words a minute for
# English non-fiction, and 183 aloud. The speeds of IReST (Trauzettel-Klosinski & Dietz 2012, IOVS 53(9): Arabic 138
# words, Chinese 255 characters a minute) were measured aloud, so they are multiplied by 238/183.
WORDS_PER_MINUTE = 238.0
ARABIC_WORDS_PER_MINUTE = 179.0
CJK_CHARACTERS_PER_MINUTE = 332.0

# Chinese and Japanese put no spaces between words: there a character is a word. Korean does.
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"

# Nor do these scripts, digits aside. Their words are not looked up: a word is so many letters, signs above and below
# not counted (means of sentences in the four languages, divided by the dictionaries of ICU 78).
LETTERS_A_WORD = {
    "\u0e01-\u0e3e\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf": 3.2,  # Thai, Lao
    "\u1780-\u17d7\u17dc\u17dd": 2.9,  # Khmer
    "\u1000-\u103f\u1050-\u108f\u109a-\u109f\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f": 2.0,  # Burmese
}

MOST_COUNTED = 4096  # texts
ARABIC = "\u0600-\u065f\u066e-\u06ef\u06fa-\u06ff\u0750-\u077f\u0870-\u08ff\ufb50-\ufdff\ufe70-\ufeff"
# compiled when first used: that takes longer than most commands use it
WITHOUT_SPACES = CJK + "".join(LETTERS_A_WORD)
SPACED_WORD = rf"[^\W_{WITHOUT_SPACES}][^\W{WITHOUT_SPACES}]*(?:['’\-][^\W_{WITHOUT_SPACES}][^\W{WITHOUT_SPACES}]*)*"


@dataclass(frozen=True, slots=True, kw_only=True)
class WordCounts:
    """Words of a text, by how fast they are read."""

    arabic: int  # in Arabic letters
    cjk: int  # Chinese and Japanese characters, each a word
    other: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.arabic + self.cjk + self.other

    @property
    def minutes(self) -> float:
        """How long they take to read silently."""
        return (
            self.arabic / ARABIC_WORDS_PER_MINUTE + self.cjk / CJK_CHARACTERS_PER_MINUTE + self.other / WORDS_PER_MINUTE
        )


class _WithoutMarks(dict[int, int | None]):
    """What stays of a text's characters: vowel signs, accents and joiners belong to the letter before."""

    def __missing__(self, code: int) -> int | None:
        joins = unicodedata.category(chr(code))[0] == "M" or code in (0x200C, 0x200D)
        self[code] = None if joins else code
        return self[code]


_WITHOUT_MARKS = _WithoutMarks()


def count_words(text: str) -> int:
    """Count the words of a text by Unicode's letters, marks and digits.

    Marks and joiners belong to their word, so the same text counts alike with and without vowel signs, composed or
    decomposed. A Chinese or Japanese character is a word; of Thai, Lao, Khmer and Burmese so many letters are
    (``LETTERS_A_WORD``).

    >>> count_words("Don't look back."), count_words("你好 world"), count_words("كِتَابٌ")
    (3, 3, 1)
    """
    return words_by_speed(text).total


@lru_cache(MOST_COUNTED)  # texts are counted on every page that shows them, and forms of a study say the same
def words_by_speed(text: str) -> WordCounts:
    """Count the words of a text, those apart that are read at a speed of their own.

    >>> words_by_speed("你好 world")
    WordCounts(arabic=0, cjk=2, other=1)
    """
    if text.isascii():
        return WordCounts(arabic=0, cjk=0, other=len(re.findall(SPACED_WORD, text)))
    bare = unicodedata.normalize("NFC", text).translate(_WITHOUT_MARKS)
    spaced = len(re.findall(SPACED_WORD, bare))
    arabic = len(re.findall(rf"(?=[{ARABIC}]){SPACED_WORD}", bare))
    unspaced = sum(_words(len(re.findall(f"[{script}]", bare)), rate) for script, rate in LETTERS_A_WORD.items())
    return WordCounts(
        arabic=min(arabic, spaced),
        cjk=len(re.findall(f"[{CJK}]", bare)),
        other=spaced - min(arabic, spaced) + unspaced,
    )


def _words(letters: int, rate: float) -> int:
    return max(round(letters / rate), 1) if letters else 0
