"""The table ``conduct``: how each page of a person's form was filled in, and how that is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from itertools import groupby
from math import inf
from typing import Literal

from spa.records.form import ConductAsked, Form, Page
from spa.records.submission import AnnotatorKind
from spa.responses.conduct_evidence import CONDUCT, HONEYPOT, NAMES, PageConduct, parse_conduct
from spa.responses.payloads import Payload, fields_of
from spa.responses.reading_evidence import clocked_seconds
from spa.widgets import widget_of

# counted by the page's script; refuted: by its count the page was away for longer than passed on the server's clock;
# unreadable: something else was sent; none: nothing was, as by a browser without script, or by a program without one
KnownBy = Literal["script", "refuted", "unreadable", "none"]
NOTHING = (None,) * len(NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownConduct:
    """How a page was filled in, and how that is known."""

    known_by: KnownBy
    conduct: PageConduct | None  # None: nothing is known


def conduct_of(payloads: tuple[Payload, ...], *, asked: bool) -> dict[str, KnownConduct]:
    """Return how each page of a person's visit was filled in, by page id; what was sent last for a page counts.

    Pages that were sent without evidence are absent, unless it was ``asked`` for.
    """
    last = {payload.page_id: payload for payload in payloads}
    found: dict[str, KnownConduct] = {}
    for page_id, payload in last.items():
        text = fields_of(payload.body).get(CONDUCT)
        if text is not None:
            found[page_id] = _read(text)
        elif asked:
            found[page_id] = KnownConduct(known_by="none", conduct=None)
    said = [(page_id, last[page_id].received_at, one.seconds) for page_id, one in _counted(found)]
    most = clocked_seconds(said, min((payload.received_at for payload in payloads), default=0.0))
    for page_id, one in _counted(found):
        if one.seconds > most.get(page_id, inf):
            found[page_id] = KnownConduct(known_by="refuted", conduct=one)
    return found


def _read(text: object) -> KnownConduct:
    try:
        if isinstance(text, str):
            return KnownConduct(known_by="script", conduct=parse_conduct(text))
    except ValueError:  # kept as it came, with the answers
        pass
    return KnownConduct(known_by="unreadable", conduct=None)


def _counted(found: Mapping[str, KnownConduct]) -> list[tuple[str, PageConduct]]:
    return [(page_id, one.conduct) for page_id, one in found.items() if one.conduct is not None]


def seconds_between(payloads: tuple[Payload, ...]) -> dict[str, float]:
    """Return how long each page took by the server's clock: from the page before until it was first left, in seconds.

    The first page of a visit is absent: when it was opened is not known here.
    """
    seconds: dict[str, float] = {}
    before: float | None = None
    for page_id, group in groupby(payloads, key=lambda payload: payload.page_id):
        received = [payload.received_at for payload in group][-1]
        if before is not None:
            seconds.setdefault(page_id, round(max(received - before, 0.0), 2))
        before = received
    return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedPrograms:
    """Whether a page was answered as it asks programs to answer it."""

    honeypot: bool  # the box is ticked that no person sees
    injected: bool  # the word stands in a free text


def followed_of(form: Form, payloads: tuple[Payload, ...], asked: ConductAsked) -> dict[str, FollowedPrograms]:
    """Return what was done of what pages ask of programs, by page id; what was sent last for a page counts."""
    last = {payload.page_id: fields_of(payload.body) for payload in payloads}
    return {
        page.page_id: FollowedPrograms(
            honeypot=HONEYPOT in last[page.page_id],
            injected=asked.injected is not None and _is_written(asked.injected, page, last[page.page_id]),
        )
        for page in form.pages
        if page.page_id in last
    }


def _is_written(word: str, page: Page, fields: Mapping[str, object]) -> bool:
    written = (fields.get(one.question_id) for one in page.questions if widget_of(one.answer).is_free)
    return any(isinstance(text, str) and word.casefold() in text.casefold() for text in written)


def conduct_rows(form: Form, payloads: tuple[Payload, ...], asked: ConductAsked) -> Iterator[tuple[object, ...]]:
    """Yield the columns of table ``CONDUCT`` for each page of a visit that was sent."""
    known, took = conduct_of(payloads, asked=asked.counts), seconds_between(payloads)
    followed = followed_of(form, payloads, asked)
    for page in form.pages:
        one = known.get(page.page_id)
        if one is not None:
            counted = NOTHING if one.conduct is None else astuple(one.conduct)
            done = followed[page.page_id]
            did = (1 if done.honeypot else None, 1 if done.injected else None)
            yield (page.page_id, page.kind, one.known_by, took.get(page.page_id), *counted, *did)


def may_have_conduct(payloads: tuple[Payload, ...], annotator_kind: AnnotatorKind, *, asked: bool) -> bool:
    """Tell whether a visit has rows, without its form: a simulated one, and one that was filled in elsewhere, has none.

    What a platform's own page collects, as that of a HIT, arrives at one moment.
    """
    if annotator_kind != "human" or len({payload.received_at for payload in payloads}) < 2:
        return False
    return asked or any(f'"{CONDUCT}"' in payload.body for payload in payloads)


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitConduct:
    """How a visit was filled in, summed over its pages: signs beside one another, never a sum of signs."""

    pages: int  # sent
    script: int  # of these pages: counted by the page's script,
    none: int  # without evidence,
    unreadable: int  # with something that is none,
    refuted: int  # with more than passed on the server's clock; what they counted is left out
    honeypot: int  # pages on which the box is ticked that no person sees
    injected: int  # pages with the word that only programs are asked for
    counted: PageConduct  # of the pages counted; automated: 1 where any page says so


def visit_conduct(form: Form, payloads: tuple[Payload, ...], asked: ConductAsked) -> VisitConduct:
    """Sum up how a person's visit was filled in."""
    known = [*conduct_of(payloads, asked=asked.counts).values()]
    followed = [*followed_of(form, payloads, asked).values()]
    pages = [one.conduct for one in known if one.conduct is not None and one.known_by == "script"]
    sums = {name: sum(getattr(page, name) for page in pages) for name in NAMES}
    sums["automated"] = min(sums["automated"], 1)
    by = Counter(one.known_by for one in known)
    return VisitConduct(
        pages=len({payload.page_id for payload in payloads}),
        script=by["script"],
        none=by["none"],
        unreadable=by["unreadable"],
        refuted=by["refuted"],
        honeypot=sum(one.honeypot for one in followed),
        injected=sum(one.injected for one in followed),
        counted=PageConduct(**sums),
    )
