"""How a platform's visitors come into the survey server, and where they go when they are done.

A *door* is a callable ``mount(app, context)`` registered under the entry-point group ``spa.routes``.
It adds routes to the application (under a path of its own, such as ``/prolific``), asks its platform
who is there, and lets the ``context`` do the rest::

    def mount(app: FastAPI, context: SurveyContext) -> None:
        if not context.study.bridges["prolific"]:
            return

        @app.get("/prolific")
        def enter(pid: str, submission: str) -> Response:
            ...  # ask the platform whether this is so
            return context.admit(source="prolific", person=pid, external_id=submission)

        house.on_finish("prolific", lambda visit, outcome: house.leave("https://..."))

Routes that touch the store are plain functions, which the framework runs in threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from urllib.parse import urlsplit

from fastapi import FastAPI
from fastapi.responses import RedirectResponse, Response

from spa.forms.form import Form
from spa.forms.texts import Texts
from spa.responses.admission import AdmissionRefused, AdmissionRules, NoneLeft, QuotaFull, UnknownGroup
from spa.responses.families import StudyFamily
from spa.responses.outcomes import Outcome, is_claim
from spa.responses.store import Store
from spa.responses.submission import AnnotatorKind
from spa.responses.visits import PersonVisit
from spa.server.page_responses import send_notice, to
from spa.study.study import Study

GROUP = "spa.routes"  # entry points: name -> mount(app, context)
FORBIDDEN = 403
STATUS = {"full": 410, "quota": 410, "unknown": 404}  # of a refusal, by its notice

Finish = Callable[[PersonVisit, Outcome], Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyContext:
    """What a door may use of the survey server."""

    study: Study
    texts: Texts
    store: Store
    public_url: str  # where people reach this server, without a slash at the end; "" where nobody said
    clock: Callable[[], float]  # seconds since 1970
    form: Callable[[str], Form]  # assignment_id -> its form
    annotator_kind: AnnotatorKind = "human"
    links_only: bool = False  # nobody comes by the open link
    reserved: int = 0  # places for personal links
    family: StudyFamily | None = None  # studies that take each person once
    finish_handlers: dict[str, Finish] = field(default_factory=dict)  # source -> what happens at the end
    redirect_sites: set[str] = field(default_factory=set)  # addresses elsewhere that the end of a visit may lead to
    frame_sites: set[str] = field(default_factory=set)  # sites elsewhere that may show this server in a frame

    @property
    def rules(self) -> AdmissionRules:
        """What the study says about who may come."""
        return replace(AdmissionRules.of(self.study.people), reserved=self.reserved)

    def admit(
        self,
        *,
        source: str,
        person: str,
        external_id: str | None = None,
        session: int = 1,
        group: str | None = None,
        minutes_allowed: float | None = None,
    ) -> Response:
        """Let a person in whom the platform vouches for, or tell them politely why not.

        Parameters are those of ``Store.admit``; ``minutes_allowed`` is the study's unless it is given. A visit
        of the platform's stands by where all places are taken but not all are done.

        Returns
        -------
        Response
            A redirect to the visit, which shows the page that is due, or how the visit ended; or a page
            that says that all places are taken, that the time is over, or that they took part already.
        """
        now, new = self.clock(), False
        try:
            if self.family is not None and is_claim(external_id):
                self.family.refuse_others(source, person)  # entered when the platform confirms the visit
            elif self.family is not None:
                new = self.family.enter(source, person, now=now)
            lease = self.store.admit(
                source=source,
                person=person,
                external_id=external_id,
                session=session,
                group=group,
                minutes_allowed=self.study.people.minutes_allowed if minutes_allowed is None else minutes_allowed,
                annotator_kind=self.annotator_kind,
                overbook=external_id is not None,
                rules=self.rules,
                now=now,
            )
        except AdmissionRefused as refusal:
            if (
                new and self.family is not None and isinstance(refusal, NoneLeft | QuotaFull)
            ):  # another study may have a place for them
                self.family.leave(source, person)
            return self.refuse(refusal)
        return to(f"/a/{lease.token}")

    def group_of(self, parameters: Mapping[str, str]) -> str | None:
        """Return the quota group that the parameters of a link name; ``None`` where the study asks for none.

        Raises
        ------
        UnknownGroup
            If the study has groups by parameter and these name none of them.
        """
        by_parameter = [group for group in self.study.people.groups if group.parameter is not None]
        for group in by_parameter:
            if parameters.get(group.parameter or "") in group.values:
                return group.name
        if by_parameter:
            names = ", ".join(dict.fromkeys(str(group.parameter) for group in by_parameter))
            raise UnknownGroup(f"the link wants the parameter {names} with a value of [[people.groups]]")
        return None

    def refuse(self, refusal: AdmissionRefused) -> Response:
        """Tell a person why they cannot take part."""
        return self.notice(refusal.notice, STATUS.get(refusal.notice, FORBIDDEN))

    def notice(self, name: str, status: int = 200, *, link: str | None = None) -> Response:
        """Return a page in the study's language: the texts ``page.NAME_title`` and ``page.NAME_text``."""
        return send_notice(self.texts, name, status=status, link=link)

    def on_finish(self, source: str, finish: Finish) -> None:
        """Say what is shown, or where the browser goes, when a visit of this source has ended.

        ``finish(visit, outcome)`` is called each time the person asks for the end of the visit, when everything
        is on disk; ``visit.completion_code`` is that of the outcome (``Store.outcome_codes(source)``).
        """
        self.finish_handlers[source] = finish

    def allow_redirect_to(self, address: str) -> None:
        """Allow the last page to lead to another site, such as ``https://app.prolific.com``.

        Browsers hold a form to the content policy through all redirects.
        """
        parts = urlsplit(address)
        self.redirect_sites.add(f"{parts.scheme}://{parts.netloc}")

    def allow_framing_by(self, address: str) -> None:
        """Allow a site to show this server's pages in a frame. Nobody else may."""
        parts = urlsplit(address)
        self.frame_sites.add(f"{parts.scheme}://{parts.netloc}")

    def redirect(self, address: str) -> Response:
        """Send the browser to another site, one that :meth:`allow_redirect_to` named."""
        return RedirectResponse(address, status_code=303)


PlatformAdapter = Callable[[FastAPI, SurveyContext], None]


def installed_adapters() -> tuple[PlatformAdapter, ...]:
    """Return the doors of all installed packages."""
    doors: Iterable[PlatformAdapter] = (
        point.load() for point in sorted(entry_points(group=GROUP), key=lambda each: each.name)
    )
    return tuple(doors)
