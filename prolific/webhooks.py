"""Webhooks: the platform's notifications that a submission changed, which free abandoned places sooner.

The signature of an event is verified over its raw bytes, and the event is recorded once. It only makes us fetch the
submission, whose status on the platform is what counts.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import threading
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import Response

from prolific.api.access import IDENTIFIER
from prolific.api.client import Prolific
from prolific.api.problems import ProlificError, ProlificRequestRefused
from prolific.api.records import Subscription
from prolific.prolific_study import ProlificStudy
from prolific.reconcile import release_gone
from prolific.study_body import ENTRY_PATH
from spa.journal import STARTED, Journal, begin
from spa.responses.payloads import fields_of
from spa.server.form_posts import read_body
from spa.server.survey_context import SurveyContext

WINDOW_SECONDS = 300.0
log = logging.getLogger("uvicorn.error")
KIND = "prolific event"  # in the journal; scope "event", key is the event's id
SCOPE = "event"
LARGEST = 100_000  # bytes
LONGEST_ID = 200
ASK_AGAIN_SECONDS = 60.0
SUBMISSION_CHANGED = "submission.status.change"
EVENTS = (SUBMISSION_CHANGED, "study.status.change")


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature of a webhook: base64 of HMAC-SHA-256 over timestamp and raw body.

    >>> signature("s", "1", b"{}")
    'CiV1TD0Yu7cq2KGtsIxzYnuIl8N8IS89HrZiz9VpEGE='
    """
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def is_signed(secret: str, *, claimed: str, timestamp: str, body: bytes) -> bool:
    """Compare a signature in constant time."""
    return hmac.compare_digest(signature(secret, timestamp, body).encode(), claimed.encode("utf-8", "surrogatepass"))


def is_recent(timestamp: str, now: float) -> bool:
    """Return whether a timestamp (seconds or milliseconds since 1970) lies within five minutes of now.

    >>> is_recent("1000", 1200.0), is_recent("1000000", 1200.0), is_recent("1000", 1301.0), is_recent("soon", 1.0)
    (True, True, False, False)
    """
    try:
        seconds = float(timestamp)
    except ValueError:
        return False
    return any(abs(now - value) <= WINDOW_SECONDS for value in (seconds, seconds / 1000))


async def raw_body(request: Request) -> bytes:
    """Return the bytes of a request, up to a limit."""
    body = await read_body(request, LARGEST)
    if body is None:
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return body


Raw = Annotated[bytes, Depends(raw_body)]


class WebhookReceiver:
    """The route that receives webhooks; the signing secret is fetched from the platform and kept in memory only."""

    def __init__(self, context: SurveyContext, client: Prolific | None, project: str) -> None:
        self._context = context
        self._client = client
        self._project = project
        self._journal = Journal(context.store)
        self._secrets: tuple[str, ...] = ()
        self._fetched_at = float("-inf")
        self._one = threading.Lock()

    def mount(self, app: FastAPI) -> None:
        """Add the route."""
        app.add_api_route(f"{ENTRY_PATH}/hooks", self.take, methods=["POST"], response_model=None)

    def take(self, request: Request, body: Raw) -> Response:
        """Process an event once; a repeat is acknowledged and changes nothing."""
        self._check(request, body)
        event_id = request.headers.get("x-event-id", "")
        if not 0 < len(event_id) <= LONGEST_ID or not event_id.isascii():
            raise HTTPException(HTTPStatus.BAD_REQUEST)
        with self._context.store.transaction() as connection:
            seen = self._journal.calls(KIND, SCOPE, event_id)
            call = None if seen else begin(connection, KIND, SCOPE, event_id, self._without_names(body))
        if call is not None:
            self._journal.finish(call, self._act(body))
        elif (
            seen[-1].outcome == STARTED
        ):  # taken and not finished: the server was killed, or the platform did not answer
            self._journal.finish(seen[-1], self._act(body))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    def _check(self, request: Request, body: bytes) -> None:
        timestamp = request.headers.get("x-prolific-request-timestamp", "")
        given = request.headers.get("x-prolific-request-signature", "")
        if not is_recent(timestamp, self._context.clock()):
            raise HTTPException(HTTPStatus.FORBIDDEN)
        if any(is_signed(one, claimed=given, timestamp=timestamp, body=body) for one in self._secrets):
            return
        self._ask_secrets()  # a new secret replaces the old one for all subscriptions
        if not any(is_signed(one, claimed=given, timestamp=timestamp, body=body) for one in self._secrets):
            raise HTTPException(HTTPStatus.FORBIDDEN)

    def _ask_secrets(self) -> None:
        """Fetch the signing secret from the platform, at most once a minute however many requests come."""
        if self._client is None:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE)
        with self._one:
            now = self._context.clock()
            if now - self._fetched_at < ASK_AGAIN_SECONDS:
                return
            self._fetched_at = now
            try:
                self._secrets = self._client.hooks.secrets(self._client.workspace_of(self._project))
            except ProlificError as error:
                self._fetched_at = float("-inf")
                log.error("%s", error)
                raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE) from error

    def _without_names(self, body: bytes) -> str:
        """Return what is recorded of an event, without personal ids."""
        event = fields_of(body)
        facts = {"event_type": event.get("event_type"), "status": event.get("status")}
        return json.dumps({**facts, "resource": self._context.store.keyed(str(event.get("resource_id", "")))})

    def _act(self, body: bytes) -> str:
        """Fetch the submission that an event names, release its place if it is abandoned, and return the outcome.

        Where the platform does not answer, the event is answered by 503: it comes again, within a day.
        """
        event = fields_of(body)
        if event.get("event_type") != SUBMISSION_CHANGED:
            return "noted"
        submission_id = str(event.get("resource_id", ""))
        if self._client is None or IDENTIFIER.fullmatch(submission_id) is None:
            return "noted"
        try:
            record = self._client.submissions.fetch(submission_id)
        except ProlificRequestRefused as error:
            log.error("%s", error)
            if error.status == HTTPStatus.TOO_MANY_REQUESTS:
                raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE) from error
            return "left to collect"
        except ProlificError as error:
            log.error("%s", error)
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE) from error
        return "released" if release_gone(self._context.store, record, now=self._context.clock()) else "noted"


def hook_address(public_url: str) -> str:
    """Return the URL at which the survey server receives webhooks.

    >>> hook_address("https://survey.example.org/")
    'https://survey.example.org/prolific/hooks'
    """
    return f"{public_url.rstrip('/')}{ENTRY_PATH}/hooks"


def subscribe(prolific_study: ProlificStudy, public_url: str, *, new_secret: bool = False) -> tuple[Subscription, ...]:
    """Subscribe the survey server to events of submissions and studies.

    A signing secret is created only if the workspace has none, or on request: it replaces the old one for all
    subscriptions of the workspace.
    """
    workspace_id = prolific_study.platform.workspace_of(prolific_study.table.project)
    if new_secret or not prolific_study.platform.hooks.secrets(workspace_id):
        prolific_study.platform.hooks.create_secret(workspace_id)
    address = hook_address(public_url)
    made = []
    for event in EVENTS:
        own = [
            one
            for one in prolific_study.platform.hooks.subscriptions(workspace_id)
            if one.target_url == address and one.event_type == event
        ]
        confirmed = [one for one in own if _confirmed(prolific_study, one)]
        for extra in [one for one in own if one not in confirmed[:1]]:
            prolific_study.platform.hooks.delete(extra.subscription_id)
        made.append(confirmed[0] if confirmed else _subscribe(prolific_study, workspace_id, event, address))
    return tuple(made)


def unsubscribe(prolific_study: ProlificStudy, public_url: str) -> int:
    """End the subscriptions of the survey server and return their number."""
    workspace_id = prolific_study.platform.workspace_of(prolific_study.table.project)
    address = hook_address(public_url)
    own = [one for one in prolific_study.platform.hooks.subscriptions(workspace_id) if one.target_url == address]
    for one in own:
        prolific_study.platform.hooks.delete(one.subscription_id)
    return len(own)


def _subscribe(prolific_study: ProlificStudy, workspace_id: str, event: str, address: str) -> Subscription:
    made = prolific_study.platform.hooks.subscribe(workspace_id, event, address)
    prolific_study.idempotent_calls.record(f"subscribe {event} {address}", {}, subscription_id=made.subscription_id)
    return made


def _confirmed(prolific_study: ProlificStudy, one: Subscription) -> bool:
    """Return whether this store confirmed a subscription, which the platform does not show."""
    facts = prolific_study.idempotent_calls.done(f"subscribe {one.event_type} {one.target_url}")
    return facts is not None and facts.get("subscription_id") == one.subscription_id and one.enabled


def check_address(public_url: str) -> None:
    """Refuse a URL that the platform could not reach."""
    if not public_url.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        raise ProlificError(f"webhooks: expected a public https address, got {public_url}")
