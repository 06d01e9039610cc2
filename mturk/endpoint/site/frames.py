"""The application of the second origin, which serves HITs in frames and takes their forms.

It uses no cookies. What a URL may show, and which assignment may be submitted to it, is signed into the URL.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Literal
from urllib.parse import parse_qsl

from fastapi import FastAPI
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from mturk.answers import NothingAnswered, render_answers
from mturk.endpoint.assignments import ACCEPTED, KNOWN_TO_REQUESTERS
from mturk.endpoint.errors import MTurkRequestError
from mturk.endpoint.repository import find_assignment, find_hit
from mturk.endpoint.service import MTurkService
from mturk.endpoint.site import frame_pages
from mturk.endpoint.site.rendering import render, send_asset
from mturk.endpoint.site.settings import SiteSettings
from mturk.endpoint.site.texts import choose_language, load_texts
from mturk.endpoint.store import secret_of
from mturk.endpoint.transaction import Transaction
from mturk.endpoint.worker_actions import submit
from mturk.questions import PREVIEW_ID, SUBMIT_PATH, HTMLQuestion, QuestionRefused, XMLRefused, read_question
from spa.importers.mturk.answers import MOST_FIELDS, AnswerRefused
from spa.server.form_posts import read_body
from spa.server.request_guard import PlainPaths
from spa.server.security_headers import HEADERS, SecurityHeaders

EMBEDDED = ("iframe", "frame")  # as what a browser says that it wants the page
FRAME_HEADERS = {name: value for name, value in HEADERS.items() if name != "cross-origin-opener-policy"} | {
    "referrer-policy": "no-referrer"  # the address is the right to see the page
}
LARGEST_BODY = 2_000_000  # bytes; the answers' XML has a lower limit of its own
PLAIN, PARTS = "application/x-www-form-urlencoded", "multipart/form-data"
STATUS: dict[Outcome, HTTPStatus] = {
    "submitted": HTTPStatus.OK,
    "preview": HTTPStatus.BAD_REQUEST,
    "unknown": HTTPStatus.NOT_FOUND,
    "already": HTTPStatus.CONFLICT,
    "expired": HTTPStatus.GONE,
    "empty": HTTPStatus.BAD_REQUEST,
    "large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "file": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "refused": HTTPStatus.BAD_REQUEST,
}
Outcome = Literal["submitted", "preview", "unknown", "already", "expired", "empty", "large", "file", "refused"]


def create_frames(endpoint: MTurkService, settings: SiteSettings) -> FastAPI:
    """Create the application that serves HITs on the origin ``settings.frame_url``."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.add_middleware(SecurityHeaders, policy=partial(frame_pages.outcome_policy, settings), headers=FRAME_HEADERS)
    app.add_middleware(PlainPaths)
    frames = Frames(endpoint, settings)
    app.add_route("/f/{token}", frames.show, methods=["GET"])
    for signed in ("", f"{frame_pages.SIGNED}{{signature}}"):  # without a signature it says why nothing is stored
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
        """Show the page of a HIT to the worker for whom its URL was signed, inside the site's frame only."""
        wanted_as = request.headers.get("sec-fetch-dest", EMBEDDED[0])
        token = request.path_params["token"]
        page = await self.endpoint.run(lambda tx: self._question_page(tx, token))
        if page is None or wanted_as not in EMBEDDED:
            return self._page(request, "old", HTTPStatus.GONE)
        return HTMLResponse(page, headers={"content-security-policy": frame_pages.page_policy(self.settings)})

    async def take(self, request: Request) -> Response:
        """Store the answers of a form before the page confirms them."""
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
        capability = frame_pages.read_capability(secret, token, now=tx.now)
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
            address = frame_pages.submit_to(
                self.settings, secret, assignment_id=capability.name, worker_id=capability.worker_id
            )
        return frame_pages.page_of(question, self.settings, submit_to=address)

    def _hit(self, tx: Transaction, capability: frame_pages.Capability) -> str | None:
        if capability.kind == "preview":
            return capability.name
        work = find_assignment(tx, capability.name)
        held = work.status == ACCEPTED and work.worker_id == capability.worker_id
        return work.hit_id if held else None

    def _page(self, request: Request, name: Outcome | str, status: HTTPStatus) -> Response:
        texts = load_texts(choose_language(None, request.headers.get("accept-language", "")))
        title, text = texts.say(f"frame.{name}"), texts.say(f"frame.{name}_text")
        page = render("frame.html", texts, place=self.settings.place, title=title, text=text, outcome=name)
        return HTMLResponse(page, status_code=status)


class SubmissionRefused(Exception):
    """A form post that is not accepted; the argument is the outcome."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome: Outcome = outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class SentForm:
    """The assignment that a form names, and its answers as XML."""

    assignment_id: str
    answer: str


async def read_form(request: Request) -> SentForm:
    """Read a form post with answers to an assignment; raise SubmissionRefused if it is anything else."""
    pairs = await read_pairs(request)
    asked = next((value for name, value in pairs if name == "assignmentId" and value), None)
    assignment_id = asked or request.query_params.get("assignmentId", "")
    if assignment_id == PREVIEW_ID:
        raise SubmissionRefused("preview")
    if not (assignment_id.isascii() and assignment_id.isalnum() and len(assignment_id) <= 64):
        raise SubmissionRefused("unknown")
    try:
        return SentForm(assignment_id=assignment_id, answer=render_answers(pairs))
    except NothingAnswered as error:
        raise SubmissionRefused("empty") from error
    except AnswerRefused as error:
        raise SubmissionRefused("large") from error


async def read_pairs(request: Request) -> list[tuple[str, str]]:
    """Return the fields of a form post in the order sent."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (PLAIN, PARTS):
        raise SubmissionRefused("refused")
    body = await read_body(request, LARGEST_BODY)
    if body is None:
        raise SubmissionRefused("large")
    if kind == PARTS:
        return await _read_parts(request.headers, body)
    try:
        return parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS + 10)
    except ValueError as error:
        raise SubmissionRefused("refused") from error


def take(tx: Transaction, form: SentForm, *, signature: str) -> Outcome:
    """Store an answer posted to the URL signed for its assignment; a reload that posts it again counts as stored."""
    try:
        work = find_assignment(tx, form.assignment_id)
    except MTurkRequestError:
        return "unknown"
    secret = secret_of(tx.connection)
    if not frame_pages.may_submit(secret, signature, assignment_id=work.assignment_id, worker_id=work.worker_id):
        return "unknown"
    if work.status in KNOWN_TO_REQUESTERS:
        return "submitted" if work.answer == form.answer else "already"
    if work.status != ACCEPTED or tx.now >= work.deadline:
        return "expired"
    submit(tx, work.worker_id, work.assignment_id, form.answer)
    return "submitted"


async def _read_parts(headers: Headers, body: bytes) -> list[tuple[str, str]]:
    async def whole() -> AsyncGenerator[bytes, None]:
        yield body

    parser = MultiPartParser(headers, whole(), max_files=20, max_fields=MOST_FIELDS + 10, max_part_size=LARGEST_BODY)
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, UnicodeDecodeError) as error:
        raise SubmissionRefused("refused") from error
    try:
        pairs = []
        for name, value in form.multi_items():
            if not isinstance(value, UploadFile):
                pairs.append((name, value))
            elif value.filename or value.size:  # a field for a file that was left empty is sent without a name
                raise SubmissionRefused("file")
        return pairs
    finally:
        await form.close()
