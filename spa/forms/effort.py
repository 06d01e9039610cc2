"""How much an annotator has to read and answer, and about how long that takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from spa.forms.form_text import exhibits_of, page_text
from spa.media import medium_of, seconds_of
from spa.media.words import CJK_CHARACTERS_PER_MINUTE, WordCounts, words_by_speed
from spa.records.form import ExplanationTarget, Form, Judgement
from spa.records.study import Study
from spa.records.texts import Texts
from spa.study.stopping import counts_as_begun

# Assumed, not measured: making up one's mind, finding one's way on a page.
SECONDS_A_QUESTION = 8.0
SECONDS_A_PAGE = 3.0

SLACK = 4  # times its minutes that a form may take where nothing else is said


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
        Reading speed; by the script of the texts where absent. Characters of Chinese and Japanese are
        read at a speed of their own.

    Returns
    -------
    Effort
        An exhibit is read once, however often pages repeat it. Each question and page takes a few
        seconds more, and so does what is looked at.
    """
    read = list(_texts_read(form))
    words = sum(counts.total for counts in read)
    if words_per_minute is None:
        minutes = sum(counts.minutes for counts in read)
    else:
        characters = sum(counts.cjk for counts in read)
        minutes = (words - characters) / words_per_minute + characters / CJK_CHARACTERS_PER_MINUTE
    questions = sum(1 for _ in form.questions("people"))
    seconds = SECONDS_A_PAGE * len(form.pages) + SECONDS_A_QUESTION * questions + _seconds_of_exhibits(form)
    return Effort(pages=len(form.pages), questions=questions, words=words, minutes=round(minutes + seconds / 60, 1))


def minutes_of(study: Study, form: Form) -> float:
    """Return how long a form takes: what the study says, else an estimate from its words and questions."""
    return study.people.minutes or estimate_effort(form).minutes


def minutes_allowed(study: Study, form: Form) -> float | None:
    """Return how long a visit may take: what the study says; where people count as they began, four times the form."""
    if study.people.minutes_allowed is not None or not counts_as_begun(study):
        return study.people.minutes_allowed
    return SLACK * minutes_of(study, form)


def overview(form: Form, texts: Texts) -> str:
    """Return what is asked, of how many outputs, and who gets the answers; "" where a translation lacks the words.

    Ways of asking that the texts have no words for are counted and not named.
    """
    shown = [one for page in form.pages for block in page.exhibits for one in block.exhibits if one.label is not None]
    if not shown or not texts.has("page.overview"):
        return ""
    targets = [one.target for one in form.questions("everybody") if not isinstance(one.target, ExplanationTarget)]
    ways = dict.fromkeys(target.way for target in targets if isinstance(target, Judgement))
    named = [texts.say(key) for way in ways if texts.has(key := f"page.asks_{way}")]
    questions = str(len(targets))
    if named:
        words = texts.entries["form.list_separator"].join(dict.fromkeys(named))
        questions = texts.say("form.scale_end", number=questions, words=words)
    key = f"page.overview{medium_of(shown[0]).wording}"
    outputs = len({(one.label, one.item_id, one.sample) for one in shown})
    return texts.say(key if texts.has(key) else "page.overview", outputs=str(outputs), questions=questions)


def whole_minutes(study: Study, form: Form) -> int:
    """Return how long a form takes in whole minutes, rounded up, as annotators are informed."""
    return ceil(minutes_of(study, form))


def usual_seconds(form: Form) -> float:
    """Return how long the words that a form shows anew usually take to read silently, by the script of each text.

    Every text counts once, however often pages repeat it; questions and answering take no time.
    """
    read = {}
    for page in form.pages:
        for part in page_text(page):
            shown = part.exhibit if part.role == "material" else None
            read[part.text if shown is None else shown.exhibit_id] = (
                words_by_speed(part.text) if shown is None else words_by_speed(medium_of(shown).reads(shown.text))
            )
    return 60 * sum(counts.minutes for counts in read.values())


def _texts_read(form: Form) -> Iterator[WordCounts]:
    """Yield the words of each text of a form; the answers of a question are read once for each wording."""
    known_parts: set[str] = set()
    for page in form.pages:
        for part in page_text(page):
            known = part.exhibit.exhibit_id if part.role == "material" and part.exhibit else part.text
            if part.role not in ("title", "question") and known in known_parts:
                continue
            known_parts.add(known)
            shown = part.exhibit if part.role == "material" else None
            yield words_by_speed(part.text if shown is None else medium_of(shown).reads(shown.text))


def _seconds_of_exhibits(form: Form) -> float:
    """Return how long it takes to look at everything that is shown, beside the reading of its words."""
    shown = (exhibit for page in form.pages for block in page.exhibits for exhibit in exhibits_of(block))
    return sum(map(seconds_of, {one.exhibit_id: one for one in shown}.values()))
