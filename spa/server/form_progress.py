"""A person's progress through a form: answered pages, the page that is due, the submission.

Everything is read from the stored payloads, so a reload, another device or a restart of the
server changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from spa.forms.html import Gap, ReadingStep, told_on
from spa.records.form import CheckTarget, Exhibit, Form, Page, ScreeningTarget
from spa.records.submission import Missing, Response, Submission
from spa.responses import outcomes
from spa.responses.answers import parse_answers
from spa.responses.conduct_evidence import CONDUCT
from spa.responses.leases import Lease
from spa.responses.payloads import Payload
from spa.responses.reading_evidence import (
    READING,
    PageExposure,
    clips_to_play,
    clocked_seconds,
    joined_exposure,
    minimum_seconds,
    parse_exposure,
    unseen_outputs,
    write_exposure,
)
from spa.responses.reading_steps import (
    SERVED,
    ServedOutput,
    parse_served,
    serve_output,
    signed_text,
    step_page,
    unserved_outputs,
    write_served,
)
from spa.widgets import fields_of
from spa.widgets.payload import NO_ANSWER

Fields = Mapping[str, str]
NOTHING: Fields = MappingProxyType({})
MOST_KEPT = 4096  # pages of visits; one takes some kB
MOST_KEPT_BYTES = 16_000_000  # of what was sent for them


def _sign_nothing(text: str) -> str:
    """Sign nothing: no field is accepted."""
    return ""


@dataclass(frozen=True, kw_only=True)
class SentPage:
    """What was sent for a page and all that follows from that alone: read once, and shared between requests."""

    page: Page
    fields: Fields
    seconds_per_100_words: float = 0.0  # least time on screen of an output; 0: none
    share_played: float = 1.0  # least share of a clip that is played

    @cached_property
    def answers(self) -> tuple[Response | Missing, ...]:
        """The answers, missing ones included."""
        return parse_answers(self.page.questions, self.fields)

    @cached_property
    def gaps(self) -> Mapping[str, Gap]:
        """The questions that have no usable answer."""
        return {
            answer.question_id: "empty" if answer.reason == NO_ANSWER else "unusable"
            for answer in self.answers
            if isinstance(answer, Missing)
        }

    @cached_property
    def exposure(self) -> PageExposure | None:
        """The evidence of reading; ``None`` where it is absent or cannot be read."""
        try:
            return parse_exposure(self.fields[READING], self.page)
        except (KeyError, ValueError):
            return None

    @cached_property
    def unseen(self) -> tuple[Exhibit, ...]:
        """The new outputs that were not seen by the evidence of reading."""
        exposure = self.exposure or PageExposure(seconds=0.0, outputs={})
        return unseen_outputs(self.page, exposure, self.seconds_per_100_words, share_played=self.share_played)


class KeptPages(dict[tuple[str, str, str], SentPage]):
    """Pages that need not be read again, by submission, page and what was sent.

    All are dropped at ``MOST_KEPT``, and at ``MOST_KEPT_BYTES``.
    """

    bytes = 0

    def __setitem__(self, key: tuple[str, str, str], sent: SentPage) -> None:
        """Keep a page."""
        self.bytes += len(key[2])
        if len(self) >= MOST_KEPT or self.bytes > MOST_KEPT_BYTES:
            self.clear()
            self.bytes = len(key[2])
        super().__setitem__(key, sent)


@dataclass(frozen=True)
class FormProgress:
    """One person's way through one form; ``sent`` is what was sent last for each page."""

    form: Form
    lease: Lease
    sent: Mapping[str, SentPage]
    received_at: Mapping[str, float] = field(default_factory=dict)  # seconds since 1970, of the same pages
    seconds_per_100_words: float = 0.0  # least time on screen of an output; 0: none
    share_played: float = 1.0  # least share of a clip that is played
    keyed: Callable[[str], str] = field(default=_sign_nothing, repr=False, compare=False)  # the store's keyed hash
    received: int = 0  # bytes of all that was sent, readable or not
    bodies: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)  # all that was sent for a page

    @classmethod
    def from_payloads(
        cls,
        form: Form,
        lease: Lease,
        payloads: Iterable[Payload],
        *,
        seconds_per_100_words: float = 0.0,
        share_played: float = 1.0,
        keyed: Callable[[str], str] = _sign_nothing,
        kept: KeptPages | None = None,
    ) -> FormProgress:
        """Read the stored payloads; of several for a page the latest counts, of what is no page of the form none.

        Pages in ``kept`` are not read again; new ones are added.
        """
        kept = KeptPages() if kept is None else kept
        payloads = tuple(payloads)
        last = {payload.page_id: payload for payload in payloads}
        bodies: dict[str, tuple[str, ...]] = {}
        for payload in payloads:
            bodies[payload.page_id] = (*bodies.get(payload.page_id, ()), payload.body)
        pages = [page for page in form.pages if page.page_id in last]
        sent = {}
        for page in pages:
            body = last[page.page_id].body
            key = lease.submission_id, page.page_id, body
            found = kept.get(key)
            if found is None:
                found = SentPage(
                    page=page,
                    fields=json.loads(body),
                    seconds_per_100_words=seconds_per_100_words,
                    share_played=share_played,
                )
                kept[key] = found
            sent[page.page_id] = found
        return cls(
            form=form,
            lease=lease,
            sent=sent,
            received_at={page.page_id: last[page.page_id].received_at for page in pages},
            seconds_per_100_words=seconds_per_100_words,
            share_played=share_played,
            keyed=keyed,
            received=sum(len(payload.body) for payload in payloads),
            bodies=bodies,
        )

    def reading(self, page: Page, fields: Fields) -> SentPage:
        """Return a page of this visit as it is sent now."""
        return SentPage(
            page=page,
            fields=fields,
            seconds_per_100_words=self.seconds_per_100_words,
            share_played=self.share_played,
        )

    def minimum_seconds(self, page: Page) -> dict[str, float]:
        """Return how long each output new on a page must be on screen, or played, by exhibit id; none where 0."""
        return minimum_seconds(page, self.seconds_per_100_words, self.share_played)

    def with_page(self, sent: SentPage, *, now: float) -> FormProgress:
        """Return the visit after a page was sent."""
        page_id, received = sent.page.page_id, self.received + sum(map(len, sent.fields.values()))
        return replace(
            self,
            sent={**self.sent, page_id: sent},
            received_at={**self.received_at, page_id: now},
            received=received,
            bodies={**self.bodies, page_id: (*self.bodies.get(page_id, ()), json.dumps(dict(sent.fields)))},
        )

    def times_sent(self, page: Page) -> int:
        """Return how often a page was sent, drafts included."""
        return len(self.bodies.get(page.page_id, ()))

    def together(self, page: Page, fields: Fields, seen: int | None) -> Fields:
        """Return what is sent for a page with what came from elsewhere since it had been sent ``seen`` times.

        That stays where ``fields`` are as they were shown, question by question; of the time on screen the longer.
        """
        if seen is None or seen >= self.times_sent(page):
            return fields
        shown = json.loads(self.bodies[page.page_id][seen - 1]) if seen else NOTHING
        now = self.fields(page)
        found = dict(fields)
        for question in page.questions:
            names = [*fields_of(question).values()]
            if all(fields.get(name, "") == shown.get(name, "") for name in names):
                found = {name: value for name, value in found.items() if name not in names}
                found |= {name: now[name] for name in names if name in now}
        exposures = [sent.exposure for sent in (self.reading(page, now), self.reading(page, fields))]
        if exposures[0] is not None:
            found[READING] = write_exposure(joined_exposure(*(one for one in exposures if one is not None)))
        return found

    def page(self, page_id: str) -> Page | None:
        """Return a page of the form by its id."""
        return next((page for page in self.form.pages if page.page_id == page_id), None)

    def fields(self, page: Page) -> Fields:
        """Return what was sent last for a page; nothing where nothing was."""
        sent = self.sent.get(page.page_id)
        return NOTHING if sent is None else sent.fields

    def neighbour(self, page: Page, step: int) -> Page:
        """Return the page before (-1) or after (1) a page, or the page itself at the ends."""
        place = self.form.pages.index(page) + step
        return self.form.pages[min(max(place, 0), len(self.form.pages) - 1)]

    def answers(self, page: Page) -> tuple[Response | Missing, ...]:
        """Return the answers given on a page, missing ones included."""
        return (self.sent.get(page.page_id) or self.reading(page, NOTHING)).answers

    def gaps(self, page: Page) -> Mapping[str, Gap]:
        """Return the questions of a page that have no usable answer yet."""
        return (self.sent.get(page.page_id) or self.reading(page, NOTHING)).gaps

    def unseen(self, page: Page) -> tuple[Exhibit, ...]:
        """Return the new outputs of a page that neither its evidence of reading nor its steps say were seen."""
        if not self.seconds_per_100_words or not page.new_measured:
            return ()
        sent = self.sent.get(page.page_id) or self.reading(page, NOTHING)
        if READING in sent.fields:
            exposure, most = sent.exposure, self._clocked.get(page.page_id)
            if exposure is None or most is None or exposure.seconds <= most:
                return sent.unseen
            return unseen_outputs(
                page, exposure, self.seconds_per_100_words, share_played=self.share_played, at_most=most
            )
        if SERVED not in sent.fields and self.lease.annotator_kind != "human":  # a program that plays a person
            return ()
        until = self.received_at.get(page.page_id, 0.0)
        return unserved_outputs(
            page, self.served(page), self.seconds_per_100_words, share_played=self.share_played, until=until
        )

    @cached_property
    def _clocked(self) -> Mapping[str, float]:
        """How long each page was on screen at most by the server's clock; a simulated person reads at once."""
        if self.lease.annotator_kind != "human":
            return {}
        said = [
            (page_id, self.received_at[page_id], sent.exposure.seconds)
            for page_id, sent in self.sent.items()
            if page_id in self.received_at and sent.exposure is not None
        ]
        return clocked_seconds(said, min([self.lease.leased_at, *self.received_at.values()]))

    def may_count(self, page: Page) -> bool:
        """Return whether a page may count how it is filled in: nobody was told who sent the page that says so before.

        Such a visit began without script, under an earlier release, or while it was switched off.
        """
        telling = told_on(self.form)
        sent = self.sent.get(telling.page_id)
        return page is telling or sent is None or CONDUCT in sent.fields

    def served(self, page: Page) -> tuple[ServedOutput, ...]:
        """Return the outputs that were served one by one on a page; none where that cannot be read."""
        try:
            return parse_served(self.fields(page).get(SERVED, ""), self.sign(page))
        except ValueError:
            return ()

    def sign(self, page: Page) -> Callable[[str], str]:
        """Return what signs the outputs that are served on a page of this visit."""
        return lambda listed: self.keyed(signed_text(self.lease.submission_id, page.page_id, listed))

    def in_steps(self, page: Page) -> bool:
        """Return whether outputs are served one by one: their page, or else the one before, was sent without script.

        Clips are not: without script nobody knows whether they were played.
        """
        if not self.seconds_per_100_words or not page.new_measured or self.lease.annotator_kind != "human":
            return False
        sent = self.sent.get(page.page_id) or self.sent.get(self.neighbour(page, -1).page_id)
        return sent is not None and READING not in sent.fields and not clips_to_play(page, self.minimum_seconds(page))

    def step(self, page: Page, *, now: float, again: bool = False) -> ReadingStep:
        """Return the step that is due on a page: an output alone, or the whole page after the last.

        Its time begins ``now``, or with ``again`` when it was served first.
        """
        left, served = self.unseen(page), self.served(page)
        names = {exhibit.exhibit_id for exhibit in left}
        if not again:
            served = tuple(output for output in served if output.exhibit_id not in names)
        if left and left[0].exhibit_id not in {output.exhibit_id for output in served}:
            served = serve_output(served, left[0], now=now)
        total = len(self.minimum_seconds(page))
        shown = step_page(page, left[0]) if left and total > 1 else page
        field = write_served(served, self.sign(page))
        return ReadingStep(page=shown, served=field, alone=shown is not page, number=len(served), total=total)

    def step_is_done(self, page: Page) -> bool:
        """Return whether the output that was served last was with the reader for its minimum."""
        served, unseen = self.served(page), {exhibit.exhibit_id for exhibit in self.unseen(page)}
        return bool(served) and served[-1].exhibit_id not in unseen

    def is_complete(self, page: Page) -> bool:
        """Return whether a page was sent with usable answers after its outputs were seen."""
        return page.page_id in self.sent and not self.gaps(page) and not self.unseen(page)

    @cached_property
    def due(self) -> Page:
        """The first page not answered; the last page where all are."""
        waiting = (page for page in self.form.pages if not self.is_complete(page))
        return next(waiting, self.form.pages[-1])

    @property
    def all_answered(self) -> bool:
        """Whether every page was sent with usable answers."""
        return self.is_complete(self.due)

    def is_ahead(self, page: Page) -> bool:
        """Return whether a page comes after the one that is due."""
        return self.form.pages.index(page) > self.form.pages.index(self.due)

    @property
    def _responses(self) -> Iterator[Response]:
        return (answer for sent in self.sent.values() for answer in sent.answers if isinstance(answer, Response))

    @cached_property
    def screened_out(self) -> bool:
        """Whether an answer to a screening question is not eligible."""
        return any(
            isinstance(answer.target, ScreeningTarget) and answer.value not in answer.target.eligible
            for answer in self._responses
        )

    @property
    def failed_checks(self) -> int:
        """How many attention checks were answered wrongly."""
        checks = ((answer.value, answer.target) for answer in self._responses if isinstance(answer.target, CheckTarget))
        return sum(check.kind == "attention" and value not in check.accepted for value, check in checks)

    @property
    def screening(self) -> Mapping[str, str]:
        """The answers to the screening questions, by the id of the question."""
        return {
            answer.target.screening_id: str(answer.value)
            for answer in self._responses
            if isinstance(answer.target, ScreeningTarget)
        }

    def submission(self, now: float, outcome: outcomes.Outcome) -> Submission:
        """Build what is handed in; ``now`` is in seconds since 1970."""
        answers = [answer for page in self.form.pages for answer in self.answers(page)]
        if outcome != outcomes.COMPLETED:
            reason = outcomes.NEVER_ASKED[outcome]
            answers = [
                replace(answer, reason=reason) if isinstance(answer, Missing) and answer.raw is None else answer
                for answer in answers
            ]
        seconds = round(self.lease.seconds_until(now), 3)
        return replace(self.lease.submission(tuple(answers), seconds), outcome=outcome)
