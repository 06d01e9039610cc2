"""In which language outputs are: what the study says, else what the script of most of their letters tells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice

from spa.media import medium_of
from spa.records.outputs import Outputs
from spa.records.study import Study

LETTERS = {  # of each script, by a language of it; the first is that of languages that are not listed
    "latin": "A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff",
    "zh": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
    "ja": "\u3040-\u30ff\uff66-\uff9f",
    "ko": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3",
    "th": "\u0e00-\u0e7f",
    "ar": "\u0620-\u064a\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc",
    "he": "\u05d0-\u05ea",
    "ru": "\u0400-\u04ff",
    "el": "\u0370-\u03ff\u1f00-\u1fff",
    "hi": "\u0900-\u097f",
}
ALSO = {"fa": "ar", "ur": "ar", "uk": "ru", "bg": "ru", "sr": "ru", "mr": "hi", "ne": "hi", "yi": "he"}  # same letters
KANA = 0.05  # of Chinese and Japanese characters, from which on a text is Japanese
LATIN, UNKNOWN = "latin", "und"  # the latter as in BCP 47
LOOKED_AT, BEGINNING = 500, 1_000  # outputs, and characters of each
WORD = re.compile(r"[^\W\d_]+")
COMMONEST, ENOUGH_WORDS, LEAST_COMMON = 50, 100, 0.15  # words; of all, the share of running text at least


def script_of(text: str) -> str | None:
    """Return the script of most letters of a text, by a language of it; ``None`` where it has no letter of these.

    >>> script_of("Words, words"), script_of("你好 world, 世界 很 大 大 大"), script_of("これは本です"), script_of("12")
    ('latin', 'zh', 'ja', None)
    """
    counted = Counter({name: len(re.findall(f"[{letters}]", text)) for name, letters in LETTERS.items()})
    if counted["ja"] >= KANA * (counted["ja"] + counted["zh"]) and counted["ja"]:
        counted["ja"] += counted.pop("zh")
    most, count = counted.most_common(1)[0]
    return most if count else None


def share_of_common_words(texts: Mapping[str, Iterable[str]]) -> dict[str, float]:
    """Return how much of each system's texts is made of the commonest words of the others, as a share of theirs.

    About 1 where systems write in one language, near 0 where one writes in another or does not write texts. Systems
    with fewer than :data:`ENOUGH_WORDS` words, beside their like or alone, are left out.

    >>> found = share_of_common_words({"a": ["the cat and the dog"] * 30, "b": ["die Katze und der Hund"] * 30})
    >>> found
    {'a': 0.0, 'b': 0.0}
    """
    counts = {
        system: Counter(word.casefold() for text in own for word in WORD.findall(text[:BEGINNING]))
        for system, own in texts.items()
    }
    shares: dict[str, float] = {}
    for system, own in counts.items():
        others = sum((counts[one] for one in counts if one != system), Counter[str]())
        common = {word for word, _ in others.most_common(COMMONEST)}
        of_others = sum(others[word] for word in common) / max(1, others.total())
        if min(own.total(), others.total()) >= ENOUGH_WORDS and of_others >= LEAST_COMMON:
            shares[system] = sum(own[word] for word in common) / own.total() / of_others
    return shares


def language_of(study: Study, outputs: Outputs) -> str:
    """Return the language of the outputs, as a tag such as "zh".

    It is what ``[outputs] language`` says, else the study's where their letters are of its script, else a language of
    their script; "und" where only the script is known.
    """
    if study.outputs.language is not None:
        return study.outputs.language
    reads = medium_of(study.outputs.kind).reads
    texts = islice((one.text for one in outputs.all() if one.text), LOOKED_AT)
    found = script_of("\n".join(reads(text)[:BEGINNING] for text in texts))
    own = study.language.split("-")[0].lower()
    if found is None or found == ALSO.get(own, own if own in LETTERS else LATIN):
        return study.language
    return UNKNOWN if found == LATIN else found
