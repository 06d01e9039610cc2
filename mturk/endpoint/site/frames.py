"""The application of the other origin: HITs in their frames, and the forms that they send.

It knows no cookie. What an address may show is signed into it, and which assignment may be submitted there.
"""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from mturk.endpoint.assignments import ACCEPTED
from mturk.endpoint.errors import MTurkRequestError
from mturk.endpoint.repository import find_assignment, find_hit
from mturk.endpoint.service import MTurkService
from mturk.endpoint.site.capabilities import Capability, read_capability
from mturk.endpoint.site.frame_pages import SIGNED, SUBMIT_PATH, outcome_policy, page_of, page_policy, submit_to
from mturk.endpoint.site.rendering import render, send_asset
from mturk.endpoint.site.security import HeaderMiddleware
from mturk.endpoint.site.settings import SiteSettings
from mturk.endpoint.site.submissions import STATUS, Outcome, SubmissionRefused, read_form, take
from mturk.endpoint.site.texts import choose_language, load_texts
from mturk.endpoint.store import secret_of
from mturk.endpoint.transaction import Transaction
from mturk.questions import HTMLQuestion, QuestionRefused, XMLRefused, read_question

EMBEDDED = ("iframe", "frame")  # as what a browser says that it wants the page
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",  # the address is the right to see the page
    "cache-control": "no-store",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-robots-tag": "noindex",
}


def create_frames(endpoint: MTurkService, settings: SiteSettings) -> FastAPI:
    """Create the application that serves HITs on the origin ``settings.frame_url``."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(HeaderMiddleware, headers={**HEADERS, "content-security-policy": outcome_policy(settings)})
    frames = Frames(endpoint, settings)
    app.add_route("/f/{token}", frames.show, methods=["GET"])
    for signed in ("", f"{SIGNED}{{signature}}"):  # without a signature it says why nothing is stored
        for slash in ("", "/"):  # scripts that add the path to "https://host/"
            app.add_route(f"{signed}{slash}{SUBMIT_PATH}", frames.take, methods=["POST"])
    app.add_route("/static/{name}", frames.send, methods=["GET"])
    return app


class Frames:
    """The routes of the other origin."""

    def __init__(self, endpoint: MTurkService, settings: SiteSettings) -> None:
        self.endpoint = endpoint
        self.settings = settings

    async def show(self, request: Request) -> Response:
        """Show the page of a HIT to whom its address was made for, inside the site."""
        wanted_as = request.headers.get("sec-fetch-dest", EMBEDDED[0])
        token = request.path_params["token"]
        page = await self.endpoint.run(lambda tx: self._question_page(tx, token))
        if page is None or wanted_as not in EMBEDDED:
            return self._page(request, "old", HTTPStatus.GONE)
        return HTMLResponse(page, headers={"content-security-policy": page_policy(self.settings)})

    async def take(self, request: Request) -> Response:
        """Take the answers of a form; they are on disk before the page says so."""
        outcome: Outcome
        try:
            form = await read_form(request)
            signature = request.path_params.get("signature", "")
            outcome = await self.endpoint.run(lambda tx: take(tx, form, signature=signature))
        except SubmissionRefused as refusal:
            outcome = refusal.outcome
        return self._page(request, outcome, STATUS[outcome])

    async def send(self, request: Request) -> Response:
        """Send a style sheet or script."""
        return send_asset(request.path_params["name"])

    def _question_page(self, tx: Transaction, token: str) -> str | None:
        secret = secret_of(tx.connection)
        capability = read_capability(secret, token, now=tx.now)
        if capability is None:
            return None
        try:
            hit_id = self._hit(tx, capability)
            question = None if hit_id is None else read_question(find_hit(tx, hit_id).question)
        except (MTurkRequestError, QuestionRefused, XMLRefused):
            return None
        if not isinstance(question, HTMLQuestion):
            return None
        address = self.settings.frame_url
        if capability.kind == "work":
            address = submit_to(self.settings, secret, assignment_id=capability.name, worker_id=capability.worker_id)
        return page_of(question, self.settings, submit_to=address)

    def _hit(self, tx: Transaction, capability: Capability) -> str | None:
        if capability.kind == "preview":
            return capability.name
        work = find_assignment(tx, capability.name)
        held = work.status == ACCEPTED and work.worker_id == capability.worker_id
        return work.hit_id if held else None

    def _page(self, request: Request, name: Outcome | str, status: HTTPStatus) -> Response:
        texts = load_texts(choose_language(None, request.headers.get("accept-language", "")))
        page = render(
            "frame.html",
            texts,
            place=self.settings.place,
            title=texts.say(f"frame.{name}"),
            text=texts.say(f"frame.{name}_text"),
            outcome=name,
        )
        return HTMLResponse(page, status_code=status)
