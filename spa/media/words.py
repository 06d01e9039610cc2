"""How many words a text has, and how fast people read them."""

from __future__ import annotations

import re
from functools import lru_cache

# Silent reading by language, from the IReST texts (Trauzettel-Klosinski & Dietz 2012, IOVS 53(9): English 228
# words a minute, Arabic 138, Chinese 255 characters). Brysbaert (2019, J. Memory and Language 109) gives 238
# English words for non-fiction and much the same for Chinese characters.
WORDS_PER_MINUTE = {"ar": 138.0}
DEFAULT_WORDS_PER_MINUTE = 230.0
CJK_CHARACTERS_PER_MINUTE = 255.0

# Chinese and Japanese put no spaces between words: there a character is a word. Korean does.
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"

MOST_COUNTED = 4096  # texts
# compiled when first used: that takes longer than most commands use it
_CJK = f"[{CJK}]"
_WORD = rf"(?:(?![{CJK}])\w)+(?:['’\-](?:(?![{CJK}])\w)+)*"


def count_words(text: str) -> int:
    """Count the words of a text, and each Chinese or Japanese character as one.

    >>> count_words("Don't look back."), count_words("你好 world")
    (3, 3)
    """
    words, characters = count_words_and_characters(text)
    return words + characters


@lru_cache(MOST_COUNTED)  # texts are counted on every page that shows them, and forms of a study say the same
def count_words_and_characters(text: str) -> tuple[int, int]:
    """Count the words of a text, and its Chinese and Japanese characters apart.

    >>> count_words_and_characters("你好 world")
    (1, 2)
    """
    return len(re.findall(_WORD, text)), len(re.findall(_CJK, text))
