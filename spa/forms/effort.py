"""How much an annotator has to read and answer, and about how long that takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from spa.forms.form import Form
from spa.forms.form_text import page_text
from spa.forms.word_diff import CJK
from spa.study.stopping import counts_as_begun
from spa.study.study import Study

# Silent reading by language, from the IReST texts (Trauzettel-Klosinski & Dietz 2012, IOVS 53(9): English 228
# words a minute, Arabic 138, Chinese 255 characters). Brysbaert (2019, J. Memory and Language 109) gives 238
# English words for non-fiction and much the same for Chinese characters.
WORDS_PER_MINUTE = {"ar": 138.0}
DEFAULT_WORDS_PER_MINUTE = 230.0
CJK_CHARACTERS_PER_MINUTE = 255.0
# Assumed, not measured: making up one's mind, looking at an image, finding one's way on a page.
SECONDS_A_QUESTION = 8.0
SECONDS_AN_IMAGE = 6.0
SECONDS_A_PAGE = 3.0

SLACK = 4  # times its minutes that a form may take where nothing else is said

MOST_COUNTED = 4096  # texts
# compiled when first used: that takes longer than most commands use it
_CJK = f"[{CJK}]"
_WORD = rf"(?:(?![{CJK}])\w)+(?:['’\-](?:(?![{CJK}])\w)+)*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What one person faces; ``words`` counts a Chinese or Japanese character as one."""

    pages: int
    questions: int
    words: int
    minutes: float


def estimate_effort(form: Form, *, words_per_minute: float | None = None) -> Effort:
    """Estimate what a form asks of a person.

    Parameters
    ----------
    form : Form
        All pages count, those for people only included.
    words_per_minute : float, optional
        Reading speed; by the form's language where absent. Characters of Chinese and Japanese are
        read at a speed of their own.

    Returns
    -------
    Effort
        An exhibit is read once, however often pages repeat it. Each question, image and page takes
        a few seconds more.
    """
    primary = form.language.lower().split("-")[0]
    speed = words_per_minute or WORDS_PER_MINUTE.get(primary, DEFAULT_WORDS_PER_MINUTE)
    words, characters = _count_text(form)
    questions = sum(1 for _ in form.questions("people"))
    seconds = SECONDS_A_PAGE * len(form.pages) + SECONDS_A_QUESTION * questions + SECONDS_AN_IMAGE * _images(form)
    minutes = words / speed + characters / CJK_CHARACTERS_PER_MINUTE + seconds / 60
    return Effort(pages=len(form.pages), questions=questions, words=words + characters, minutes=round(minutes, 1))


def minutes_of(study: Study, form: Form) -> float:
    """Return how long a form takes: what the study says, else an estimate from its words and questions."""
    return study.people.minutes or estimate_effort(form).minutes


def minutes_allowed(study: Study, form: Form) -> float | None:
    """Return how long a visit may take: what the study says; where people count as they began, four times the form."""
    if study.people.minutes_allowed is not None or not counts_as_begun(study):
        return study.people.minutes_allowed
    return SLACK * minutes_of(study, form)


def whole_minutes(study: Study, form: Form) -> int:
    """Return how long a form takes in whole minutes, rounded up, as annotators are informed."""
    return ceil(minutes_of(study, form))


@lru_cache(MOST_COUNTED)  # outputs are counted on every page that shows them
def count_words(text: str) -> int:
    """Count the words of a text, and each Chinese or Japanese character as one.

    >>> count_words("Don't look back."), count_words("你好 world")
    (3, 3)
    """
    return len(re.findall(_WORD, text)) + len(re.findall(_CJK, text))


def _count_text(form: Form) -> tuple[int, int]:
    """Return words and CJK characters; the answers of a question are read once for each wording."""
    words = characters = 0
    read: set[str] = set()
    for page in form.pages:
        for part in page_text(page):
            known = part.exhibit.exhibit_id if part.role == "material" and part.exhibit else part.text
            if part.role not in ("title", "question") and known in read:
                continue
            read.add(known)
            words += len(re.findall(_WORD, part.text))
            characters += len(re.findall(_CJK, part.text))
    return words, characters


def _images(form: Form) -> int:
    shown = (exhibit for page in form.pages for block in page.exhibits for exhibit in block.exhibits)
    return len({exhibit.exhibit_id for exhibit in shown if exhibit.image is not None})
