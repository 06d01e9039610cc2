"""What a platform adapter may use of the survey server.

A *platform adapter* is the callable ``mount(app, context)`` of a :class:`spa.records.platforms.Platform`.
It adds routes under its own path (such as ``/lab``), verifies visitors with its platform and calls ``context``::

    def mount(app: FastAPI, context: SurveyContext) -> None:
        if "lab" not in context.study.platforms:
            return

        @app.api_route("/lab", methods=["GET", "HEAD", "POST"])
        def enter(request: Request, pid: str, submission: str) -> Response:
            if request.method != "POST":  # whoever only looks takes no place
                known = context.known_visit("lab", person=pid, external_id=submission)
                return known or context.first_page(request)
            ...  # verify with the platform
            return context.admit(source="lab", person=pid, external_id=submission)

        context.on_finish("lab", lambda visit, outcome: context.redirect("https://..."))

Routes that use the store are plain functions, which the framework runs in threads.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import urlsplit

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.requests import Request

from spa.forms.html import render_notice
from spa.live import LiveProgress
from spa.records.form import ConductAsked, Form
from spa.records.platforms import installed_platforms
from spa.records.study import Study
from spa.records.submission import AnnotatorKind
from spa.records.texts import Texts
from spa.responses.admission import AdmissionRefused, AdmissionRules, NoneLeft, QuotaFull, UnknownGroup
from spa.responses.conduct_evidence import conduct_asked
from spa.responses.outcomes import Outcome, is_claim
from spa.responses.reading_evidence import required_seconds, share_to_play
from spa.responses.store import Store
from spa.responses.study_families import StudyFamily
from spa.responses.visits import PersonVisit
from spa.server.page_responses import redirect_to, send_notice
from spa.server.rate_limits import MINUTE, Limits, UnbegunVisits, client_block
from spa.study.stopping import counts_as_begun

FORBIDDEN = 403
LEAST_TO_BEGIN = 15.0  # minutes
NO_FIELDS: Mapping[str, str] = MappingProxyType({})
STATUS = {"full": 410, "quota": 410, "unknown": 404, "paused": 503}  # of a refusal, by its notice

Finish = Callable[[PersonVisit, Outcome], Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyContext:
    """The study, its store and the hooks that a platform adapter may use."""

    study: Study
    texts: Texts
    store: Store
    public_url: str  # where people reach this server, without a slash at the end; "" if unknown
    clock: Callable[[], float]  # seconds since 1970
    form: Callable[[str], Form]  # assignment_id -> its form
    live: LiveProgress
    minutes: Callable[[], int]  # how long a form takes; all are about as long as the first
    annotator_kind: AnnotatorKind = "human"
    links_only: bool = False  # the open link is closed
    reserved: int = 0  # places for personal links
    minutes_allowed: float | None = None  # of a visit; None: any time
    family: StudyFamily | None = None  # studies that accept each person once
    finish_handlers: dict[str, Finish] = field(default_factory=dict)  # source -> response at the end of a visit
    redirect_sites: set[str] = field(default_factory=set)  # other sites that a finished visit may be redirected to
    frame_sites: set[str] = field(default_factory=set)  # other sites that may show this server in a frame
    own_codes: set[str] = field(default_factory=set)  # sources with a completion code for each person
    own_addresses: set[str] = field(default_factory=set)  # sources whose people come back by the visit's own address
    open_doors: set[str] = field(default_factory=lambda: {"/"})  # paths whose posts --new-visits limits
    refused: Counter[str] = field(default_factory=Counter)  # people turned away by this process, by their notice
    unbegun: UnbegunVisits = field(default_factory=lambda: UnbegunVisits(Limits().block_visits.burst, clock=time.time))
    refused_posts: Counter[str] = field(default_factory=Counter)  # of pages, not stored: how many by reason
    resources: ExitStack = field(default_factory=ExitStack)  # closed when the server stops

    @property
    def rules(self) -> AdmissionRules:
        """The study's admission rules."""
        late_counts = not counts_as_begun(self.study)
        rules = AdmissionRules.of(self.study.people)
        return replace(
            rules,
            pausable=True,
            reserved=self.reserved,
            closed=self.live.enough,
            more_to_come=self.live.more_to_come,
            late_counts=late_counts,
            minutes_to_begin=self.minutes_to_begin,
        )

    @property
    def minutes_to_begin(self) -> float:
        """How long a place is held for somebody who answers no page."""
        return self.study.people.minutes_to_begin or max(LEAST_TO_BEGIN, self.minutes())

    @property
    def seconds_per_100_words(self) -> float:
        """The least time that outputs are on screen; 0 if nothing is measured, or the language lacks its texts."""
        return required_seconds(self.study, self.texts)

    @property
    def share_played(self) -> float:
        """The least share of a clip that is played; 0 if it is not asked for, or the language lacks its texts."""
        return share_to_play(self.study, self.texts)

    @property
    def conduct(self) -> ConductAsked:
        """What pages record of how they are filled in."""
        return conduct_asked(self.study, self.texts)

    def first_page(
        self, request: Request, *, own_address: bool = False, fields: Mapping[str, str] = NO_FIELDS
    ) -> Response:
        """Return the page whose button asks for a place: it posts to the address at which it is shown, with ``fields``.

        Places are taken by such a post alone: mail scanners, previews and images of other sites only fetch addresses.
        With ``own_address`` the page says that the address after it is to be kept.
        """
        lines = [self.texts.say("page.start_text")] if own_address else []
        if self.texts.has("page.minutes"):
            lines.insert(0, self.texts.say("page.minutes", minutes=str(self.minutes())))
        query = request.url.query
        values = {"title": self.study.title, "lines": lines, "fields": fields, "begin": True}
        action = f"{request.url.path}?{query}" if query else request.url.path
        return HTMLResponse(render_notice("start", self.texts, action=action, **values))

    def known_visit(self, source: str, *, person: str, external_id: str | None = None) -> Response | None:
        """Redirect to the visit that a platform's person has already; ``None`` where a place has to be asked for.

        The caller knows that it is this person: by the platform's word, a signature, or a cookie. Without the
        platform's name of the visit, the person's last one is meant.
        """
        annotator_id = self.store.person_id(source, person)
        own = [visit for visit in self.store.visits.of_annotator(annotator_id) if visit.token is not None]
        named = [visit for visit in own if external_id in (None, visit.external_id, visit.name_given)]
        return redirect_to(f"/a/{named[-1].token}") if named and not named[-1].released else None

    def busy(self, request: Request) -> Response | None:
        """Return the page that tells somebody to wait whose address block holds many places without having begun."""
        wait = self.unbegun.wait(client_block(request.scope))
        if not wait:
            return None
        self.unbegun.tell()
        return self.ask_to_wait(wait)

    def ask_to_wait(self, seconds: float) -> Response:
        """Return the page that tells somebody to come again after so many seconds, and count it."""
        self.refused["busy"] += 1
        response = self.notice("busy", HTTPStatus.TOO_MANY_REQUESTS)
        response.headers["retry-after"] = str(math.ceil(seconds))
        return response

    def note_place(self, request: Request, token: str) -> None:
        """Note that somebody took a place by a door at which anybody may."""
        self.unbegun.add(client_block(request.scope), token, seconds=MINUTE * self.minutes_to_begin)

    def admit(
        self,
        *,
        source: str,
        person: str,
        external_id: str | None = None,
        session: int = 1,
        group: str | None = None,
        minutes_allowed: float | None = None,
        has_place: bool = False,
        vouched: bool = False,
        named: bool = True,
        proven: bool = True,
        new_token: str | None = None,
        displaces: Collection[str] = (),
    ) -> Response:
        """Admit a person whom the platform has verified: redirect to the visit, or say why they cannot take part.

        Call it for a POST alone, such as the one of :meth:`first_page`.
        The parameters are those of ``StoredVisits.admit``. Whoever ``has_place``, given by the platform before they
        came, also comes in when a live study has decided everything, or the study is paused. ``minutes_allowed``
        defaults to the study's; where late answers never count, the shorter of both holds. With an ``external_id`` a
        visit waits in reserve if every place is taken but not all are completed. Who never begins loses the place after
        ``minutes_to_begin``, unless the platform has ``vouched`` for the visit: then it takes the place back itself.
        An ``external_id`` that the platform has not ``named`` itself may be given by two people.
        Who has not ``proven`` to be the person continues no visit of theirs. A new visit opens with ``new_token``.
        Where no place is left, it takes that of one of the visits which it ``displaces``: those that the platform does
        not count.
        """
        now, new, own = self.clock(), False, self.study.people.minutes_allowed
        if minutes_allowed is None:
            minutes_allowed = self.minutes_allowed
        elif own is not None and counts_as_begun(self.study):
            minutes_allowed = min(minutes_allowed, own)
        self.live.refresh()
        try:
            if self.family is not None and is_claim(external_id):
                self.family.refuse_others(source, person)  # entered when the platform confirms the visit
            elif self.family is not None:
                new = self.family.enter(source, person, now=now)
            lease = self.store.visits.admit(
                source=source,
                person=person,
                external_id=external_id,
                session=session,
                group=group,
                minutes_allowed=minutes_allowed,
                annotator_kind=self.annotator_kind,
                overbook=external_id is not None,
                vouched=vouched,
                named=named,
                proven=proven,
                new_token=new_token,
                displaces=displaces,
                rules=replace(self.rules, closed=False, pausable=False) if has_place else self.rules,
                now=now,
            )
        except AdmissionRefused as refusal:
            # another study of the family may still have a place
            if new and self.family is not None and isinstance(refusal, NoneLeft | QuotaFull):
                self.family.leave(source, person)
            return self.refuse(refusal)
        if lease.token is None:  # the platform's visit ended with the person's link, such as one that was imported
            return self.notice("second", FORBIDDEN)
        return redirect_to(f"/a/{lease.token}")

    def group_of(self, parameters: Mapping[str, str]) -> str | None:
        """Return the quota group that a link's parameters name; ``None`` if the study has none by parameter.

        Raise UnknownGroup if the study has groups by parameter and these name none of them.
        """
        by_parameter = [group for group in self.study.people.groups if group.parameter is not None]
        for group in by_parameter:
            if parameters.get(group.parameter or "") in group.values:
                return group.name
        if by_parameter:
            names = ", ".join(dict.fromkeys(str(group.parameter) for group in by_parameter))
            raise UnknownGroup(f"the link: expected the parameter {names} with a value from [[people.groups]]")
        return None

    def refuse(self, refusal: AdmissionRefused) -> Response:
        """Return the page that explains why a person cannot take part, and count it."""
        self.refused[refusal.notice] += 1
        known = self.texts.has(f"page.{refusal.notice}_title", f"page.{refusal.notice}_text")
        return self.notice(refusal.notice if known else "full", STATUS.get(refusal.notice, FORBIDDEN))

    def notice(self, name: str, status: int = 200, *, link: str | None = None) -> Response:
        """Return a page in the study's language: the texts ``page.NAME_title`` and ``page.NAME_text``."""
        return send_notice(self.texts, name, status=status, link=link)

    def on_finish(self, source: str, finish: Finish) -> None:
        """Register what visitors from a source get when their visit has ended.

        ``finish(visit, outcome)`` runs each time the end page is requested, after everything is on disk;
        ``visit.completion_code`` is the code of the outcome (``StoredVisits.outcome_codes(source)``).
        """
        self.finish_handlers[source] = finish

    def allow_redirect_to(self, address: str) -> None:
        """Allow redirects to another site after the last page: browsers apply ``form-action`` to every redirect."""
        parts = urlsplit(address)
        self.redirect_sites.add(f"{parts.scheme}://{parts.netloc}")

    def allow_framing_by(self, address: str) -> None:
        """Allow a site to show this server's pages in a frame."""
        parts = urlsplit(address)
        self.frame_sites.add(f"{parts.scheme}://{parts.netloc}")

    def redirect(self, address: str) -> Response:
        """Redirect to a site allowed by :meth:`allow_redirect_to`."""
        return RedirectResponse(address, status_code=303)


PlatformAdapter = Callable[[FastAPI, SurveyContext], None]


def installed_adapters() -> tuple[PlatformAdapter, ...]:
    """Return the platform adapters of all installed packages, in the order of their platforms' keys."""
    return tuple(platform.mount for platform in installed_platforms())
