"""The annotators' routes: start, pages, end; responses are rendered after the queued write is on disk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import cast, get_args

from fastapi.responses import HTMLResponse, JSONResponse, Response
from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from spa.forms.effort import whole_minutes
from spa.forms.html import Addresses, PageState, render_notice
from spa.live import is_live
from spa.records.form import NOTHING_ASKED, Form, Page
from spa.responses import outcomes
from spa.responses.batches import BatchedReader, BatchedWriter
from spa.responses.leases import Lease, lease_of_token, lock_leases
from spa.responses.outcomes import Outcome
from spa.responses.rehearsal import is_rehearsal
from spa.responses.tokens import add_token, has_token, is_token, random_token
from spa.server.form_posts import FormPost, largest_post, read_post, read_press
from spa.server.form_progress import FormProgress
from spa.server.health_check import HealthCheck
from spa.server.page_responses import (
    find_shown,
    page_response,
    paths_of_captions,
    paths_of_clips,
    paths_of_files,
    redirect_to,
    send_asset,
    send_captions,
    send_shown,
)
from spa.server.survey_context import SurveyContext
from spa.server.visit_cookie import ELSEWHERE, VisitCookie, is_from_elsewhere
from spa.server.visit_transactions import Navigation, VisitTransactions

NAVIGATION: dict[str | None, Navigation] = {direction: direction for direction in get_args(Navigation)}
RECENT = 2.0  # seconds
MOST_RECENT = 2_000  # visits
MOST_RECENT_BYTES = 16_000_000  # of what was sent in them
END_TEXTS: dict[str, str] = {  # the texts that each outcome ends with
    outcomes.COMPLETED: "done",
    outcomes.SCREENED_OUT: "screened",
    outcomes.NO_CONSENT: "declined",
    outcomes.FAILED_CHECKS: "failed",
    outcomes.QUOTA_FULL: "quota",
}


class SurveyRoutes:
    """The routes of one study."""

    def __init__(self, context: SurveyContext, form_of: Callable[[str], Form], *, source: str) -> None:
        self.context = context
        self.study = context.study
        self.texts = context.texts
        self.store = context.store
        self._clip_turn = asyncio.Semaphore(1)
        self._reader, self._writer = BatchedReader(context.store), BatchedWriter(context.store)
        self._visits = VisitTransactions(context, form_of, source=source)
        self._cookie = VisitCookie(
            study_id=self.study.id, kind="visit", public_url=context.public_url, keyed=context.store.keyed
        )
        self._recent = RecentVisits(one_process=context.store.is_file)
        self._health = HealthCheck(context.store)

    def close(self) -> None:
        """Finish the reads and writes that were begun."""
        self._reader.close()
        self._writer.close()

    def _minutes_of(self, visit: FormProgress) -> int:
        """Return how long the form of a visit takes: in a live study, later ones ask less."""
        return whole_minutes(self.study, visit.form) if is_live(self.study) else self.context.minutes()

    @property
    def routes(self) -> list[Route]:
        """Return plain Starlette routes: FastAPI's overhead would exceed the work itself."""
        open_link = [Route("/", self.show_start, methods=["GET"]), Route("/", self.start, methods=["POST"])]
        return [  # the most frequent first, as they are tried in this order
            Route("/a/{token}/p/{page_id}", self.show_page, methods=["GET"]),
            Route("/a/{token}/p/{page_id}", self.submit_page, methods=["POST"]),
            *([] if self.context.links_only else open_link),
            Route("/health", self.report_health, methods=["GET"]),
            Route("/static/{name}", self.show_asset, methods=["GET"]),
            Route("/a/{token}", self.enter, methods=["GET"]),
            Route("/a/{token}", self.take_place, methods=["POST"]),
            Route("/a/{token}/done", self.show_end, methods=["GET"]),
            Route("/a/{token}/next", self.begin_session, methods=["POST"]),
            *(Route(path, self.show_clip, methods=["GET"]) for path in paths_of_clips("/a/{token}")),
            *(Route(path, self.show_file, methods=["GET"]) for path in paths_of_files("/a/{token}")),
            *(Route(path, self.show_captions, methods=["GET"]) for path in paths_of_captions("/a/{token}")),
        ]

    async def show_start(self, request: Request) -> Response:
        """Show the open link's start page; its button creates a personal link with a place."""
        self.context.group_of(request.query_params)
        fields = self._cookie.first_page_fields(request)
        return self.context.first_page(request, own_address=True, fields=fields)

    async def start(self, request: Request) -> Response:
        """Create a link with a place and redirect to it, or to this browser's existing visit."""
        group = self.context.group_of(request.query_params)
        pressed = self._cookie.pressed(await read_press(request))
        for earlier in (self._cookie.token(request), pressed):
            if earlier is not None and await self._reader.read(partial(self._can_resume, token=earlier)):
                return self._cookie.set(request, redirect_to(f"/a/{earlier}"), earlier)
        busy = self.context.busy(request)
        if busy is not None:
            return busy
        await asyncio.to_thread(self.context.live.refresh)

        def make(connection: Connection) -> str:  # whoever is refused gets no link
            lock_leases(connection)  # or another process may make the same
            token = random_token() if pressed is None else pressed
            if has_token(connection, token):
                if self._can_resume(connection, token):  # the button was pressed twice
                    return token
                token = random_token()
            add_token(connection, token)
            self._visits.admit(connection, token, group=group)
            return token

        token = await self._writer.write(make)
        self.context.note_place(request, token)
        return self._cookie.set(request, redirect_to(f"/a/{token}"), token)

    async def report_health(self, request: Request) -> Response:
        """Report that the server works and its store takes what is written to it."""
        fingerprint = await asyncio.to_thread(self._health.fingerprint)
        rehearsal = await asyncio.to_thread(lambda: is_rehearsal(self.store))
        facts = {"status": "ok", "study": self.study.id, "fingerprint": fingerprint, "rehearsal": rehearsal}
        return JSONResponse(facts)

    async def show_asset(self, request: Request) -> Response:
        """Send the style sheet or the script."""
        return send_asset(request.path_params["name"])

    async def enter(self, request: Request) -> Response:
        """Redirect to the page that is due; before its first use, show the page whose button takes a place."""
        token = request.path_params["token"]
        visit = await self._find(token)
        fields = {ELSEWHERE: "yes"} if is_from_elsewhere(request) else {}
        if visit is None:
            self.context.group_of(request.query_params)
            return self.context.first_page(request, own_address=True, fields=fields)
        if visit.lease.released and not await self._reader.read(lambda one: self._visits.can_return(one, visit.lease)):
            if await self._reader.read(lambda one: self._visits.can_begin_again(one, visit.lease)):
                return self.context.first_page(request, own_address=True, fields=fields)
            return self._gone(visit)
        return self._due(request, token, visit, remember=not is_from_elsewhere(request))

    async def take_place(self, request: Request) -> Response:
        """Give the person with a link a place, or an expired one back, and redirect to the page that is due."""
        token = request.path_params["token"]
        fields = await read_press(request)
        known = await self._find(token)
        abandoned = known is not None and known.lease.released and not known.sent
        busy = self.context.busy(request) if abandoned else None
        if busy is not None:
            return busy
        if known is None:
            await asyncio.to_thread(self.context.live.refresh)
        parameters = request.query_params
        visit = await self._writer.write(lambda connection: self._visits.open_visit(connection, token, parameters))
        if visit.lease.released:
            return self._gone(visit)
        if abandoned:
            self.context.note_place(request, token)
        return self._due(request, token, visit, remember=ELSEWHERE not in fields)

    async def show_page(self, request: Request) -> Response:
        """Show a page with its saved answers, ``marked`` with its gaps; a page beyond the due one redirects back."""
        token, page_id = request.path_params["token"], request.path_params["page_id"]
        visit = self._recent.pop(token) or await self._find(token)
        if visit is None:
            return redirect_to(f"/a/{token}")
        page = visit.page(page_id)
        if page is None:
            raise HTTPException(404)
        if visit.lease.finished or visit.is_ahead(page):
            return redirect_to(self._due_address(token, visit))
        asked = request.query_params
        shown = self._render(request, visit, page, mark_gaps="marked" in asked, script="script" in asked)
        shown.status_code = HTTPStatus.OK
        return shown

    async def submit_page(self, request: Request) -> Response:
        """Save a page, then redirect forward or back, or show it again with its gaps marked."""
        token, page_id = request.path_params["token"], request.path_params["page_id"]
        go = NAVIGATION.get(request.query_params.get("go", "on"))
        if not is_token(token):
            self._count_refused("link")
            raise HTTPException(404)
        post = await self._read_post(request, token, page_id)
        self._recent.pop(token)
        seen = _seen(request)
        result = await self._writer.write(
            lambda connection: self._visits.submit(connection, token, page_id, post, go, seen=seen)
        )
        if isinstance(result, str):
            self._count_refused("link" if result == "unknown" else "visit")
            if result == "unknown":
                raise HTTPException(404)
            return _onward(request, f"/a/{token}")  # the page whose button takes a place
        visit, page = result.visit, result.page
        if result.refused is not None:
            self._count_refused(result.refused)
        if page is None:
            raise HTTPException(404)
        if result.refused in ("large", "full"):
            raise HTTPException(413)
        if result.refused == "closed":
            return self._closed(request, go, self._due_address(token, visit))
        if result.unusable is not None:
            raise HTTPException(result.unusable)
        if go == "stay":
            return Response(status_code=HTTPStatus.NO_CONTENT, headers={"seen": str(visit.times_sent(page))})
        if result.ended:
            return _onward(request, f"/a/{token}/done")
        if go == "back":
            return _onward(request, f"/a/{token}/p/{visit.neighbour(page, -1).page_id}")
        if not visit.is_complete(page):
            if go == "step" and visit.step_is_done(page):
                return redirect_to(f"/a/{token}/p/{page.page_id}")
            return self._render(request, visit, page, mark_gaps=True)
        last = page is visit.form.pages[-1]
        self._recent.put(token, visit)
        return _onward(request, f"/a/{token}/p/{(visit.due if last else visit.neighbour(page, 1)).page_id}")

    async def _read_post(self, request: Request, token: str, page_id: str) -> FormPost:
        """Return what is sent for a page; what is not small is read as far as the page has use for it."""

        async def largest() -> int:
            visit = await self._find(token)
            page = None if visit is None else visit.page(page_id)
            return 0 if visit is None or page is None or visit.is_ahead(page) else largest_post(page)

        try:
            return await read_post(request, largest)
        except HTTPException as error:
            self._count_refused({413: "large", 408: "slow"}.get(error.status_code, "link"))
            raise

    def _count_refused(self, reason: str) -> None:
        self.context.refused_posts[reason] += 1

    def _closed(self, request: Request, go: Navigation | None, due: str) -> Response:
        """Lead to the page that is due; a script, which keeps what was entered, is told by the status."""
        if go == "stay" or request.headers.get("accept") == "application/json":
            return JSONResponse({"next": due}, HTTPStatus.CONFLICT)
        return redirect_to(due)

    async def show_end(self, request: Request) -> Response:
        """Show the outcome and its code, or redirect to the study's or the platform's completion page."""
        token = request.path_params["token"]
        visit = await self._find(token)
        outcome = None if visit is None else visit.lease.outcome
        if visit is None or outcome is None:
            return redirect_to(f"/a/{token}" if visit is None else self._due_address(token, visit))
        more = outcome == outcomes.COMPLETED and visit.lease.session < self.study.people.sessions
        debriefing = self.study.debriefing.text if outcome == outcomes.COMPLETED and not more else None
        led_by_platform = visit.lease.source in self.context.finish_handlers
        to_address = outcome == outcomes.COMPLETED and not more and self.study.people.completion_url is not None
        if debriefing is not None and (led_by_platform or to_address) and "go" not in request.query_params:
            title, text = (self.texts.say(f"page.done_{part}") for part in ("title", "text"))
            onward = f"/a/{token}/done?go=on"
            return HTMLResponse(
                render_notice("done", self.texts, title=title, text=text, debriefing=debriefing, onward=onward)
            )
        if led_by_platform:
            return await asyncio.to_thread(self._platform_page, visit, cast(Outcome, outcome))
        if to_address:
            return redirect_to(str(self.study.people.completion_url))
        name = END_TEXTS[outcome]
        return HTMLResponse(
            render_notice(
                "done",
                self.texts,
                title=self.texts.say(f"page.{name}_title"),
                text=self.texts.say(f"page.{name}_text"),
                code=visit.lease.completion_code,
                completed=outcome == outcomes.COMPLETED,
                debriefing=debriefing,
                next_session=f"/a/{token}/next" if more else None,
            )
        )

    async def begin_session(self, request: Request) -> Response:
        """Begin the next session of a study with several; repeating the request changes nothing."""
        token = request.path_params["token"]
        await asyncio.to_thread(self.context.live.refresh)
        await self._find(token)  # refuses a link of nobody

        def begin(connection: Connection) -> None:
            lease = lease_of_token(connection, token)
            if lease is not None and lease.completed and lease.session < self.study.people.sessions:
                self._visits.admit(connection, token, session=lease.session + 1)

        await self._writer.write(begin)
        return redirect_to(f"/a/{token}")

    async def show_file(self, request: Request) -> Response:
        """Send a file that this person's form shows."""
        visit = await self._find(request.path_params["token"])
        if visit is None:
            raise HTTPException(404)
        exhibit = find_shown(visit.form, request.path_params["exhibit_id"])
        return await asyncio.to_thread(send_shown, request, visit.form, exhibit)

    async def show_clip(self, request: Request) -> Response:
        """Find a part of a clip, one at a time: where many people play clips at once, pages pass between them."""
        async with self._clip_turn:
            return await self.show_file(request)

    async def show_captions(self, request: Request) -> Response:
        """Send the captions of a clip that this person's form shows."""
        visit = await self._find(request.path_params["token"])
        if visit is None:
            raise HTTPException(404)
        return await asyncio.to_thread(send_captions, find_shown(visit.form, request.path_params["exhibit_id"]))

    def _can_resume(self, connection: Connection, token: str) -> bool:
        lease = lease_of_token(connection, token)
        return lease is not None and not (lease.finished and self.study.people.repeat)

    async def _find(self, token: str) -> FormProgress | None:
        """Return a person's visit; ``None`` for a link that nobody has taken a place with."""
        if not is_token(token):
            raise HTTPException(404)
        found = await self._reader.read(lambda connection: self._visits.find(connection, token))
        if found == "unknown":
            raise HTTPException(404)
        return None if found == "not admitted" else found

    def _gone(self, visit: FormProgress) -> Response:
        """Say that the place was given up; the page that is open in a browser may still be sent, and is kept."""
        late = visit.lease.release_reason == outcomes.TIMED_OUT
        return self.context.notice("expired" if late else "left", HTTPStatus.GONE)

    def _due(self, request: Request, token: str, visit: FormProgress, *, remember: bool) -> Response:
        """Redirect to the page that is due; a browser may ``remember`` a visit of the links."""
        due = redirect_to(self._due_address(token, visit))
        if visit.lease.external_id is not None or self.context.links_only or not remember:
            return due
        return self._cookie.set(request, due, token)

    def _platform_page(self, visit: FormProgress, outcome: Outcome) -> Response:
        """Let the platform adapter answer; it may query the store and the platform."""
        known = self.store.visits.get(visit.lease.submission_id)
        if known is None:
            raise HTTPException(404)
        return self.context.finish_handlers[visit.lease.source](known, outcome)

    def _by_address(self, lease: Lease) -> bool:
        """Return whether a person comes back by the visit's own address, and not by the platform."""
        return lease.external_id is None or lease.source in self.context.own_addresses

    def _due_address(self, token: str, visit: FormProgress) -> str:
        return f"/a/{token}/done" if visit.lease.finished else f"/a/{token}/p/{visit.due.page_id}"

    def _render(
        self, request: Request, visit: FormProgress, page: Page, *, mark_gaps: bool = False, script: bool = False
    ) -> Response:
        base = f"/a/{request.path_params['token']}"
        site = self.context.public_url or str(request.base_url).rstrip("/")
        in_steps = visit.in_steps(page) and not script
        measured = visit.seconds_per_100_words and not in_steps
        state = PageState(
            answers=visit.fields(page),
            gaps=visit.gaps(page) if mark_gaps else {},
            minutes=self._minutes_of(visit) if page is visit.form.pages[0] else None,
            seen=visit.times_sent(page),
            received=round(1000 * visit.received_at[page.page_id]) if page.page_id in visit.received_at else None,
            unseen=visit.unseen(page) if mark_gaps else (),
            minimum_seconds=visit.minimum_seconds(page) if measured else None,
            conduct=self.context.conduct if measured and visit.may_count(page) else NOTHING_ASKED,
            resume_address=site + base if self._by_address(visit.lease) else "",
            step=visit.step(page, now=self.context.clock(), again=mark_gaps) if in_steps else None,
        )
        addresses = Addresses(
            action=f"{base}/p/{page.page_id}", file=lambda exhibit: f"{base}/{exhibit.medium}/{exhibit.exhibit_id}"
        )
        return page_response(visit.form, page, self.texts, addresses=addresses, state=state)


def _seen(request: Request) -> int | None:
    """Return how often a page had been sent when it was shown where it is sent from now; ``None`` of a program."""
    said = request.query_params.get("seen", "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else None


def _onward(request: Request, address: str) -> Response:
    """Lead to a page: a browser's form by a redirect, the page's script by the address, which it opens itself."""
    return (
        JSONResponse({"next": address}) if request.headers.get("accept") == "application/json" else redirect_to(address)
    )


class RecentVisits:
    """Visits whose page was saved within the last two seconds, so that the redirect after it needs no query.

    Used only if one process serves the study (``one_process``): otherwise another may have saved a page since.
    """

    def __init__(self, *, one_process: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._one_process = one_process
        self._clock = clock
        self._visits: dict[str, tuple[float, FormProgress]] = {}  # the oldest first
        self._bytes = 0

    def put(self, token: str, visit: FormProgress) -> None:
        """Keep a visit for the request that follows."""
        if not self._one_process:
            return
        self._drop(token)
        self._visits[token] = (self._clock(), visit)
        self._bytes += visit.received
        while self._visits and (len(self._visits) > MOST_RECENT or self._bytes > MOST_RECENT_BYTES or self._is_late()):
            self._drop(next(iter(self._visits)))

    def _is_late(self) -> bool:
        return self._clock() - next(iter(self._visits.values()))[0] >= RECENT

    def _drop(self, token: str) -> tuple[float, FormProgress] | None:
        dropped = self._visits.pop(token, None)
        if dropped is not None:
            self._bytes -= dropped[1].received
        return dropped

    def pop(self, token: str) -> FormProgress | None:
        """Return a visit once, unless it is too old to be relied on."""
        kept = self._drop(token)
        return kept[1] if kept is not None and self._clock() - kept[0] < RECENT else None
