"""A submission's form on an address of its own: with files it is too large for an address that holds it whole."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from spa.forms.html import render_whole
from spa.media import page_sources
from spa.server.form_progress import FormProgress
from spa.study.narrowing import respondents_of
from streamlit_app import loading

POLICY = (  # in a sandbox it belongs to no site: nothing in an output runs, loads or reaches the dashboard
    f"sandbox; default-src 'none'; style-src 'unsafe-inline'; {page_sources('data:')}font-src data:; "
    "frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)


def address_of(submission_id: str) -> str:
    """Return the path of a submission's form."""
    return f"/submitted-form/{quote(submission_id, safe='')}"


def show_form(request: Request) -> Response:
    """Answer with a form as the annotator saw it, the answers in place; the door has let the request in."""
    workspace = loading.workspace()
    visit = workspace.store.visits.get(request.path_params["submission_id"])
    if visit is None:
        return PlainTextResponse("There is no such submission.", status_code=404)
    form = workspace.form(visit.assignment_id, respondents=respondents_of(visit.annotator_kind))
    progress = FormProgress.from_payloads(form, visit, workspace.store.visits.payloads(visit.submission_id))
    answers = {name: str(value) for sent in progress.sent.values() for name, value in sent.fields.items()}
    html = render_whole(form, workspace.texts, answers=answers)
    return HTMLResponse(html, headers={"content-security-policy": POLICY})


ROUTE = Route("/submitted-form/{submission_id}", show_form)
