"""The platform adapter for any panel: participants arrive by a link to ``/panel`` and leave by a redirect with a code.

Nobody is verified: whoever knows the link can change the ids in it. An id only distinguishes participants; the panel's
own list, or the codes with which they return, must decide who is paid.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import Response

from spa.responses.outcomes import Outcome
from spa.responses.visits import PersonVisit
from spa.server.survey_context import SurveyContext
from spa.server.survey_routes import END_TEXTS
from spa.study.panel import Panel, PanelRedirects

PATH = "/panel"
IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@~-]{0,99}", re.ASCII)
PLACEHOLDER = re.compile(r"\{(code|participant|session)\}")


def mount(app: FastAPI, context: SurveyContext) -> None:
    """Serve ``/panel`` where the study has a table ``[panel]``."""
    panel = context.study.panel
    if panel is None:
        return
    adapter = PanelAdapter(context, panel)
    app.add_api_route(PATH, adapter.enter, methods=["GET", "HEAD", "POST"], response_model=None)
    for address in adapter.redirects.values():
        context.allow_redirect_to(address)
    context.on_finish(panel.name, adapter.leave)


class PanelAdapter:
    """The routes by which participants of one panel arrive and leave."""

    def __init__(self, context: SurveyContext, panel: Panel) -> None:
        self.context = context
        self.panel = panel
        named = {outcome: getattr(panel.redirects, outcome) for outcome in PanelRedirects.model_fields}
        self.redirects: dict[str, str] = {outcome: address for outcome, address in named.items() if address}

    def enter(self, request: Request) -> Response:
        """Admit the participant whom the URL names, or continue their visit."""
        given = request.query_params
        participant = given.get(self.panel.participant, "")
        session = None if self.panel.session is None else given.get(self.panel.session, "")
        if not all(IDENTIFIER.fullmatch(one) for one in (participant, session) if one is not None):
            return self.context.notice("unknown", HTTPStatus.BAD_REQUEST)
        if self.panel.study is not None and given.get(self.panel.study) != self.panel.study_id:
            return self.context.notice("unknown", HTTPStatus.FORBIDDEN)
        if request.method != "POST":
            return self.context.first_page(request)
        return self.context.admit(
            source=self.panel.name,
            person=participant,
            external_id=session,
            group=self.context.group_of(given),
        )

    def leave(self, visit: PersonVisit, outcome: Outcome) -> Response:
        """Redirect to the URL of the outcome; without one, show how the visit ended."""
        address = self.redirects.get(outcome)
        if address is None:
            return self.context.notice(END_TEXTS[outcome])
        values = {"code": visit.completion_code, "participant": visit.person, "session": visit.external_id}
        return self.context.redirect(fill(address, values))


def fill(address: str, values: dict[str, str | None]) -> str:
    """Replace the placeholders of a URL by escaped values, or by nothing where a value is missing.

    >>> fill("https://p.example/done?cc={code}&id={participant}", {"code": "A1", "participant": "x&y=/?"})
    'https://p.example/done?cc=A1&id=x%26y%3D%2F%3F'
    """
    return PLACEHOLDER.sub(lambda found: quote(values.get(found[1]) or "", safe=""), address)
