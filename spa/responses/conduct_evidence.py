"""Evidence of conduct: what the page's script counts while a page is filled in, read when it is exported.

It arrives in one field beside a page's answers and is stored with them. It decides nothing: a page is taken whatever
the field holds, and one of a browser without script has none. Keys, texts and places are never among it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields

from spa.records.form import NOTHING_ASKED, ConductAsked
from spa.records.study import Study
from spa.records.texts import Texts
from spa.responses.reading_evidence import MOST_SECONDS, required_seconds

CONDUCT = "conduct"  # the field; no question is called so
TOLD = "page.consent_conduct"  # the text that says what is recorded, in the place of OF_READING
OF_READING = "page.consent_reading"
OF_PROGRAMS = ("page.consent_programs", "page.honeypot", "page.injected")  # of what is there for programs
HONEYPOT = "honeypot"  # the field of the box that no person sees; no question is called so
LONGEST = 300  # characters; a page that was open for weeks takes about 80
MOST = 100_000_000  # of anything counted


@dataclass(frozen=True, slots=True, kw_only=True)
class PageConduct:
    """How one page was filled in, summed over its visits; the fields are sent in this order.

    An answer is the first entry in a question since the page was opened. It is unprompted where no pointer, touch or
    key did anything since the answer before, as where a program sets it, but also speech control or a screen reader.
    It is timed where it and the answer before were given with a mouse, and fast where the second press followed the
    first sooner than a hand gets there: 96 ms * log2(distance / width + 1), where width is the smaller side of what was
    pressed. This is Fitts' law as MacKenzie and Buxton (1992, CHI, 219-226) write it for two dimensions, with the slope
    of Card, English and Burr (1978, Ergonomics 21, 601-613) for the mouse and without their constant of 1.03 s. It is
    10.4 bits a second; people reach about 4.3 (MacKenzie and Soukoreff 2003, CHI Extended Abstracts, 760-761).
    """

    pastes: int  # into free texts
    letters: int  # of these
    away: int  # times that the page was hidden or without focus for two seconds or longer
    seconds: float  # of these times
    moves: int  # of a mouse
    touches: int  # of a finger or pen
    keys: int  # pressed, none held
    answers: int
    unprompted: int  # of them
    timed: int  # of them
    fast: int  # of those timed
    automated: int  # 1: the browser says that a program controls it (navigator.webdriver)


NAMES = tuple(field.name for field in fields(PageConduct))


def parse_conduct(text: str) -> PageConduct:
    """Parse the field sent with a page: a JSON list of the numbers of a :class:`PageConduct`.

    Raise ValueError if it is anything else, or its numbers are out of bounds or contradict one another.

    >>> parse_conduct("[1,240,0,0,83,0,12,4,0,3,0,0]").letters
    240
    """
    if len(text) > LONGEST:
        raise ValueError(f"expected at most {LONGEST} characters, got {len(text)}")
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("expected a list of numbers") from None
    if not isinstance(found, list) or len(found) != len(NAMES):
        raise ValueError(f"expected {len(NAMES)} numbers")
    values = {name: _number(name, value) for name, value in zip(NAMES, found, strict=True)}
    conduct = PageConduct(**values)  # type: ignore[arg-type]
    if not conduct.fast <= conduct.timed <= conduct.answers >= conduct.unprompted or conduct.automated > 1:
        raise ValueError("expected no more of a part than of the whole")
    return conduct


def _number(name: str, value: object) -> float:
    most = MOST_SECONDS if name == "seconds" else MOST
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValueError(f"{name}: expected a number from 0 to {most:g}")
    if name == "seconds":
        return float(value)
    if value != int(value):
        raise ValueError(f"{name}: expected a whole number")
    return int(value)


def conduct_asked(study: Study, texts: Texts) -> ConductAsked:
    """Return what pages record: where reading is measured, unless switched off, and only where they say so.

    A study that says in words of its own what is recorded says all of it: it is kept to them.
    """
    people = study.people
    if not (people.conduct and required_seconds(study, texts) and texts.has(TOLD) and _says(study.texts)):
        return NOTHING_ASKED
    told = texts.has(*OF_PROGRAMS)
    return ConductAsked(counts=True, honeypot=people.honeypot and told, injected=people.injected if told else None)


def _says(own: Mapping[str, str]) -> bool:
    return TOLD in own or OF_READING not in own
