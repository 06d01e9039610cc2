"""In which direction a text is laid out: by the majority of its letters, never by the first one alone."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Literal

from markupsafe import Markup, escape

Direction = Literal["ltr", "rtl", "auto"]

STRONG: dict[str, Literal["ltr", "rtl"]] = {"L": "ltr", "R": "rtl", "AL": "rtl"}  # classes of Unicode's UAX 9
_FROM_RIGHT = re.compile("[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^“”\n]*”|«[^«»\n]*»|‘[^‘’\n]*’|`[^`\n]*`")


@lru_cache(4096)  # texts are on every page that shows them
def direction_of(text: str) -> Direction:
    """Return the direction of a text: that of most of its strong letters; "auto" where it has none.

    As many of both read from the right, since a text in a script of that direction names things in Latin letters, and
    hardly the other way round.

    >>> direction_of("ChatGPT كاتب آخر يكتب القصة"), direction_of("The word كاتب means writer"), direction_of("12 %")
    ('rtl', 'ltr', 'auto')
    """
    if not _FROM_RIGHT.search(text):
        return "ltr" if any(sign.isalpha() for sign in text) else "auto"
    strong = Counter(found for sign in text if (found := STRONG.get(unicodedata.bidirectional(sign))) is not None)
    if not strong:
        return "auto"
    return "rtl" if strong["rtl"] >= strong["ltr"] else "ltr"


def isolated(text: str) -> Markup:
    """Return a text as HTML in which quotations of the other direction stand by themselves.

    What is quoted in letters from the left within a text from the right keeps its own order and punctuation. The text
    content stays the same.

    >>> print(isolated('"C++" هو'))
    <bdi dir="ltr">&#34;C++&#34;</bdi> هو
    """
    if direction_of(text) != "rtl":
        return escape(text)
    parts: list[Markup] = []
    place = 0
    for found in _QUOTED.finditer(text):
        if direction_of(found[0]) == "ltr":
            parts += (escape(text[place : found.start()]), Markup('<bdi dir="ltr">{}</bdi>').format(found[0]))
            place = found.end()
    return Markup("").join([*parts, escape(text[place:])])
