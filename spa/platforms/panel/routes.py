"""The platform adapter for any panel: participants arrive by a link to ``/panel`` and leave by a redirect with a code.

A panel that signs its links vouches for the ids in them. A signature is HMAC-SHA256 (hexadecimal) with a secret that
only the panel and the server know, over all other parameters in the order of their names, percent-encoded with capital
letters (RFC 3986: letters, digits and ``-._~`` stay) and joined by ``&``.

Of any other panel nobody is verified: whoever knows the link can change its ids. Then an id belongs to the browser that
began with it, or to who has the visit's own address; others who come with it see neither answers nor code, and the
panel's own list, or the codes, must decide who is paid.
"""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from urllib.parse import quote, urlencode

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from spa.errors import StudyError
from spa.forms.html import render_notice
from spa.platforms.panel.table import KEY, Panel, PanelRedirects, read_panel
from spa.responses.admission import is_in_use
from spa.responses.leases import lease_of_token
from spa.responses.outcomes import Outcome
from spa.responses.tokens import is_token
from spa.responses.visits import PersonVisit
from spa.server.form_posts import Press
from spa.server.page_responses import redirect_to
from spa.server.survey_context import SurveyContext
from spa.server.survey_routes import END_TEXTS
from spa.server.visit_cookie import ELSEWHERE, VisitCookie

PATH = "/panel"
IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@~-]{0,99}", re.ASCII)
PLACEHOLDER = re.compile(r"\{(code|participant|session)\}")
SHORTEST = 16  # characters of a secret
OWN_ADDRESS = "address"  # field with the visit's own address


def mount(app: FastAPI, context: SurveyContext) -> None:
    """Serve ``/panel`` where the study has a table ``[panel]``."""
    mount_with(app, context, os.environ)


def mount_with(app: FastAPI, context: SurveyContext, environment: Mapping[str, str]) -> None:
    """Serve it with the panel's secret from an environment."""
    raw = context.study.platforms.get(KEY)
    if raw is None:
        return
    panel = read_panel(raw, "study file")
    adapter = PanelAdapter(context, panel, panel_secret(panel, environment))
    app.add_api_route(PATH, adapter.show, methods=["GET", "HEAD"], response_model=None)
    app.add_api_route(PATH, adapter.enter, methods=["POST"], response_model=None)
    context.own_codes.add(panel.name)
    if adapter.secret is None:
        context.own_addresses.add(panel.name)
        context.open_doors.add(PATH)
    for address in adapter.redirects.values():
        context.allow_redirect_to(address)
    context.on_finish(panel.name, adapter.leave)


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelVisitor:
    """The ids in a link, and whether it is certain that they are the visitor's."""

    participant: str
    session: str | None
    proven: bool


class PanelAdapter:
    """The routes by which participants of one panel arrive and leave."""

    def __init__(self, context: SurveyContext, panel: Panel, secret: str | None) -> None:
        self.context = context
        self.panel = panel
        self.secret = secret
        named = {outcome: getattr(panel.redirects, outcome) for outcome in PanelRedirects.model_fields}
        self.redirects: dict[str, str] = {outcome: address for outcome, address in named.items() if address}
        self._cookie = VisitCookie(
            study_id=context.study.id, kind="panel", public_url=context.public_url, keyed=context.store.keyed
        )

    def show(self, request: Request) -> Response:
        """Lead a participant on who has begun; show others the first page."""
        who = self._visitor(request)
        if isinstance(who, Response):
            return who
        if who.proven:
            known = self.context.known_visit(self.panel.name, person=who.participant, external_id=who.session)
            return known or self.context.first_page(request)
        if self._is_in_use(who):
            return self._ask_for_address(request)
        return self.context.first_page(request, own_address=True, fields=self._cookie.first_page_fields(request))

    def enter(self, request: Request, fields: Press) -> Response:
        """Admit the participant whom the link names, at the press of the first page's button."""
        who = self._visitor(request)
        if isinstance(who, Response):
            return who
        if OWN_ADDRESS in fields:
            token = fields[OWN_ADDRESS].strip().rpartition("/a/")[2].partition("/")[0]
            return redirect_to(f"/a/{token}") if self._is_of(token, who) else self._ask_for_address(request)
        pressed = None if who.proven else self._cookie.pressed(fields)
        in_use = not who.proven and self._is_in_use(who)
        if pressed is not None and self._is_of(pressed, who):  # the button was pressed again, maybe at this moment
            return self._cookie.set(request, redirect_to(f"/a/{pressed}"), pressed)
        if in_use:
            return self._ask_for_address(request)
        busy = None if who.proven else self.context.busy(request)
        if busy is not None:
            return busy
        response = self.context.admit(
            source=self.panel.name,
            person=who.participant,
            external_id=who.session,
            group=self.context.group_of(request.query_params),
            named=self.secret is not None,
            proven=who.proven,
            new_token=pressed,
        )
        address = response.headers.get("location")
        if who.proven:
            return response
        if address is None and pressed is not None and self._is_of(pressed, who):  # pressed twice at once
            address = f"/a/{pressed}"
            response = redirect_to(address)
        if address is None:
            return response
        token = address.removeprefix("/a/")
        self.context.note_place(request, token)
        if ELSEWHERE not in fields:
            self._cookie.set(request, response, token)
        return response

    def leave(self, visit: PersonVisit, outcome: Outcome) -> Response:
        """Redirect to the URL of the outcome; without one, show how the visit ended."""
        address = self.redirects.get(outcome)
        if address is None:
            return self.context.notice(END_TEXTS[outcome])
        values = {"code": visit.completion_code, "participant": visit.person, "session": visit.name_given}
        return self.context.redirect(fill(address, values))

    def _visitor(self, request: Request) -> PanelVisitor | Response:
        """Return who comes, or the response to whom the link does not lead in."""
        given = request.query_params
        participant = given.get(self.panel.participant, "")
        session = None if self.panel.session is None else given.get(self.panel.session, "")
        if not all(IDENTIFIER.fullmatch(one) for one in (participant, session) if one is not None):
            return self.context.notice("unknown", HTTPStatus.BAD_REQUEST)
        if self.panel.study is not None and given.get(self.panel.study) != self.panel.study_id:
            return self.context.notice("unknown", HTTPStatus.FORBIDDEN)
        if self.secret is not None and not is_signed(self.secret, given.multi_items(), name=self.panel.signature):
            return self.context.notice("unknown", HTTPStatus.FORBIDDEN)
        who = PanelVisitor(participant=participant, session=session, proven=True)
        own = self.secret is not None or self._is_of(self._cookie.token(request), who)
        return PanelVisitor(participant=participant, session=session, proven=own)

    def _is_of(self, token: str | None, who: PanelVisitor) -> bool:
        """Return whether a token opens a visit of this participant."""
        if token is None or not is_token(token):
            return False
        with self.context.store.reading() as connection:
            lease = lease_of_token(connection, token)
        return lease is not None and lease.annotator_id == self._annotator_id(who)

    def _is_in_use(self, who: PanelVisitor) -> bool:
        repeat = self.context.study.people.repeat
        with self.context.store.reading() as connection:
            now = self.context.clock()
            return is_in_use(connection, self._annotator_id(who), who.session, repeat=repeat, now=now)

    def _annotator_id(self, who: PanelVisitor) -> str:
        return self.context.store.person_id(self.panel.name, who.participant)

    def _ask_for_address(self, request: Request) -> Response:
        """Ask somebody whose id has begun already for the visit's own address."""
        texts = self.context.texts
        if not texts.has("page.in_use_title", "page.in_use_text", "page.in_use_address", "page.in_use_go"):
            return self.context.notice("second", HTTPStatus.FORBIDDEN)
        page = render_notice(
            "start",
            texts,
            title=texts.say("page.in_use_title"),
            lines=[texts.say("page.in_use_text")],
            action=f"{request.url.path}?{request.url.query}",
            asked=(OWN_ADDRESS, texts.say("page.in_use_address")),
            button=texts.say("page.in_use_go"),
        )
        return HTMLResponse(page, HTTPStatus.FORBIDDEN)


def fill(address: str, values: dict[str, str | None]) -> str:
    """Replace the placeholders of a URL by escaped values, or by nothing where a value is missing.

    >>> fill("https://p.example/done?cc={code}&id={participant}", {"code": "A1", "participant": "x&y=/?"})
    'https://p.example/done?cc=A1&id=x%26y%3D%2F%3F'
    """
    return PLACEHOLDER.sub(lambda found: quote(values.get(found[1]) or "", safe=""), address)


def signature_of(secret: str, parameters: Iterable[tuple[str, str]]) -> str:
    """Return the signature of a link with these parameters.

    >>> signature_of("a secret that nobody knows", [("participant", "ada@x"), ("a", "1")])[:16]
    '5b7a37da78ebb19a'
    """
    signed = urlencode(sorted(parameters), quote_via=quote, safe="")
    return hmac.new(secret.encode(), signed.encode(), sha256).hexdigest()


def is_signed(secret: str, parameters: Iterable[tuple[str, str]], *, name: str) -> bool:
    """Return whether a link's parameters, none given twice, carry their own signature under ``name``."""
    given = list(parameters)
    found = dict(given)
    if len(found) < len(given):
        return False
    signature = found.pop(name, "")
    expected = signature_of(secret, found.items())
    return hmac.compare_digest(signature.lower().encode("utf-8", "surrogatepass"), expected.encode())


def panel_secret(panel: Panel, environment: Mapping[str, str]) -> str | None:
    """Return the secret with which the panel signs its links; ``None`` where it signs none.

    Raise StudyError where the environment does not have it.
    """
    if panel.secret_env is None:
        return None
    secret = environment.get(panel.secret_env, "")
    if len(secret) < SHORTEST:
        got = "none" if not secret else f"{len(secret)} characters"
        raise StudyError(
            f"[panel] secret_env: expected the panel's secret in the environment variable {panel.secret_env}, at least "
            f"{SHORTEST} characters, got {got}; set it before `spa serve`, or remove the key if the panel cannot sign"
        )
    return secret
