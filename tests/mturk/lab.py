"""A lab of its own for each test: an endpoint with its site on two ports, a requester, workers and a clock by hand."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from mturk.endpoint.app import create_app
from mturk.endpoint.errors import MTurkRequestError
from mturk.endpoint.keys import IssuedKey, issue
from mturk.endpoint.operations import OPERATIONS
from mturk.endpoint.operations.call import OperationCall
from mturk.endpoint.repository import find_assignment
from mturk.endpoint.service import MTurkService
from mturk.endpoint.site.app import PortDispatcher, add_site
from mturk.endpoint.site.frame_pages import submit_to
from mturk.endpoint.site.frames import create_frames
from mturk.endpoint.site.sessions import invite
from mturk.endpoint.site.settings import SiteSettings
from mturk.endpoint.store import open_store, secret_of
from mturk.endpoint.transaction import HostRules, Transaction
from mturk.endpoint.workers import add_worker
from mturk.questions import SUBMIT_PATH, ExternalQuestion, HTMLQuestion, render_question
from spa.importers.mturk.answers import answer_pairs, read_answers
from spa.server.http_server import Listener, listen, server_config

HOST_KEY = b"k" * 32
FORM = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>t</title></head><body>
<form method="post" action="/mturk/externalSubmit"><input type="hidden" name="assignmentId" id="assignmentId">
<label>How good? <input name="score"></label><button>Send</button></form>
<script>
document.getElementById("assignmentId").value = new URLSearchParams(location.search).get("assignmentId");
</script></body></html>"""


class ManualClock:
    """A clock that the test moves."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A form that reached the site."""

    path: str
    status: int
    with_cookies: bool


class Recorder:
    """Notes the forms that an application is sent."""

    def __init__(self, app: Any, posted: list[Posted]) -> None:
        self.app = app
        self.posted = posted

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on and note what was answered."""

        async def noting(message: Any) -> None:
            if message["type"] == "http.response.start" and scope["method"] == "POST":
                cookies = any(name == b"cookie" for name, _ in scope["headers"])
                self.posted.append(Posted(path=scope["path"], status=message["status"], with_cookies=cookies))
            await send(message)

        await self.app(scope, receive, noting)


class Lab:
    """An endpoint with one requester; the site is served where ``site_url`` and ``frame_url`` say."""

    def __init__(self, endpoint: MTurkService, clock: ManualClock, settings: SiteSettings) -> None:
        self.endpoint = endpoint
        self.clock = clock
        self.settings = settings
        self.posted: list[Posted] = []
        self.key = self._new_key("A lab")

    @property
    def requester_id(self) -> str:
        """Return the id of the requester."""
        return self.key.requester_id

    @property
    def site_url(self) -> str:
        """Return the origin of the site."""
        return self.settings.site_url

    @property
    def frame_url(self) -> str:
        """Return the origin of the frames."""
        return self.settings.frame_url

    def ask(self, operation: str, requester_id: str | None = None, **given: Any) -> dict[str, Any]:
        """Carry out an operation of the protocol for the requester."""
        asking = requester_id or self.requester_id

        def work(tx: Transaction) -> dict[str, Any]:
            call = OperationCall(tx=tx, requester_id=asking, operation=operation, parameters=given)
            return OPERATIONS[operation](call)

        return self.endpoint.call(work)

    def publish(self, html: str = FORM, *, url: str | None = None, title: str = "Rate a story", **given: Any) -> str:
        """Create a HIT and return its id."""
        question = HTMLQuestion(html=html) if url is None else ExternalQuestion(url=url)
        settings = {
            "Title": title,
            "Description": "Read a story and say how good it is.",
            "Keywords": "reading, stories",
            "Reward": "0.50",
            "MaxAssignments": 1,
            "AssignmentDurationInSeconds": 3600,
            "LifetimeInSeconds": 86_400,
            "AutoApprovalDelayInSeconds": 604_800,
            "Question": render_question(question),
        }
        return str(self.ask("CreateHIT", **{**settings, **given})["HIT"]["HITId"])

    def worker(self, name: str = "Wanda", **facts: Any) -> str:
        """Enter a worker and return the id."""
        return self.endpoint.call(lambda tx: add_worker(tx, name, **facts)).worker_id

    def invitation(self, worker_id: str, **settings: Any) -> str:
        """Return the address of a new invitation."""
        token = self.endpoint.call(lambda tx: invite(tx, worker_id, **settings))
        return f"{self.site_url}/invite/{token}"

    def submissions(self, hit_id: str) -> list[dict[str, Any]]:
        """Return what the requester collects of a HIT, answers as dicts."""
        found = self.ask("ListAssignmentsForHIT", HITId=hit_id, MaxResults=100)["Assignments"]
        return [{**one, "fields": dict(answer_pairs(read_answers(one["Answer"])))} for one in found]

    def submit_address(self, assignment_id: str) -> str:
        """Return where the page of an assignment is told to post its form; of an unknown one, where anybody may."""

        def work(tx: Transaction) -> str:
            try:
                held = find_assignment(tx, assignment_id)
            except MTurkRequestError:
                return self.frame_url
            secret = secret_of(tx.connection)
            return submit_to(self.settings, secret, assignment_id=assignment_id, worker_id=held.worker_id)

        return self.endpoint.call(work) + SUBMIT_PATH

    @contextmanager
    def visitor(self, worker_id: str | None = None) -> Iterator[Visitor]:
        """Yield a browser, signed in where a worker is named."""
        with httpx2.Client(base_url=self.site_url, follow_redirects=True, timeout=60) as client:
            visitor = Visitor(self, client)
            yield visitor if worker_id is None else visitor.sign_in(worker_id)

    def _new_key(self, name: str) -> IssuedKey:
        return self.endpoint.call(lambda tx: issue(tx, name, HOST_KEY, budget=1_000_000))


class Visitor:
    """A worker's browser without a window: cookies, and the headers that a page of the site's own sends."""

    def __init__(self, lab: Lab, client: httpx2.Client) -> None:
        self.lab = lab
        self.client = client

    def sign_in(self, worker_id: str) -> Visitor:
        """Come in by a new invitation."""
        assert self.press(self.lab.invitation(worker_id).removeprefix(self.lab.site_url)).url.path == "/hits"
        return self

    def press(self, path: str) -> httpx2.Response:
        """Open an invitation and press its button."""
        self.get(path)
        return self.post(path)

    def get(self, path: str, **headers: str) -> httpx2.Response:
        """Open a page."""
        return self.client.get(path, headers=headers)

    def post(self, path: str, **fields: str) -> httpx2.Response:
        """Send a form as a page of the site would."""
        return self.client.post(path, data=fields, headers={"origin": self.lab.site_url})

    def accept(self, hit_id: str) -> str:
        """Accept a HIT and return the assignment's id."""
        group = self.lab.ask("GetHIT", HITId=hit_id)["HIT"]["HITGroupId"]
        landed = self.post(f"/groups/{group}/accept", hit=hit_id)
        assert landed.status_code == 200, landed.text
        return landed.url.path.removeprefix("/work/")

    def submit(self, **fields: str) -> httpx2.Response:
        """Send a form as a frame would: to the address it was given, without an origin and without cookies."""
        where = self.lab.submit_address(fields.get("assignmentId", ""))
        return httpx2.post(where, data=fields, headers={"origin": "null"}, timeout=60)

    def frame_address(self, path: str) -> str:
        """Return the address of the frame on a page."""
        found = re.search(r'<iframe class="hit" src="([^"]*)"', self.get(path).text)
        assert found is not None
        return unescape(found[1])


def title_of(response: httpx2.Response) -> str:
    """Return the first heading of a page."""
    found = re.search(r"<h1[^>]*>(.*?)</h1>", response.text)
    assert found is not None, response.text
    return unescape(found[1])


@contextmanager
def open_lab(store: str | Path, *, popups: bool = False, clock: Any = None) -> Iterator[Lab]:
    """Serve a lab's endpoint and site on two free ports while a block runs; its clock is moved by hand."""
    clock = clock or ManualClock()
    with ExitStack() as stack:
        opened = stack.enter_context(open_store(store, create=True))
        site = stack.enter_context(listen("127.0.0.1", 0))
        frames = stack.enter_context(listen("127.0.0.1", 0))
        endpoint = MTurkService(opened, clock=clock, rules=HostRules())
        settings = SiteSettings(
            site_url=site.address, frame_url=frames.address, place="Lab HITs", popups=popups, clock=clock
        )
        lab = Lab(endpoint, clock, settings)
        main = create_app(endpoint, HOST_KEY)  # as served: the protocol and the site on one port
        add_site(main, endpoint, settings)
        app = PortDispatcher(
            Recorder(main, lab.posted),
            create_frames(endpoint, settings),
            frame_port=frames.socket.getsockname()[1],
        )
        stack.enter_context(serving(app, (site, frames)))
        yield lab


@contextmanager
def serving(app: Any, listeners: Sequence[Listener]) -> Iterator[None]:
    """Run an application on sockets that are bound already."""
    server = uvicorn.Server(server_config(app, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [one.socket for one in listeners]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
