"""Finding a HIT, looking at it, accepting, working on it, giving it back."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mturk.endpoint.assignments import ACCEPTED, APPROVED, RETURNED, SUBMITTED, HitAssignment
from mturk.endpoint.errors import PREFIX, MTurkRequestError
from mturk.endpoint.hits import HostedHit
from mturk.endpoint.repository import find_hit, find_type
from mturk.endpoint.site.frame_pages import Frame, FrameRefused, frame_for
from mturk.endpoint.site.groups import ORDERS, find_group, find_groups
from mturk.endpoint.site.handlers import Answer, SiteHandlers, SitePage, not_found, page_number, redirect
from mturk.endpoint.site.records import held_assignment, in_hand
from mturk.endpoint.site.sessions import Visitor
from mturk.endpoint.site.texts import SiteTexts
from mturk.endpoint.store import secret_of
from mturk.endpoint.transaction import Transaction
from mturk.endpoint.worker_actions import MAX_HELD, accept, find_held, next_hit, preview, return_assignment
from mturk.questions import QuestionRefused, XMLRefused, read_question

LONGEST_QUERY = 100  # characters
TRIES = 5  # HITs of a group that others take at the same moment


class TaskPages(SiteHandlers):
    """The routes of finding and working."""

    async def show_list(self, request: Request) -> Response:
        """Show the groups that the worker qualifies for."""
        query = request.query_params.get("q", "")[:LONGEST_QUERY]
        order = request.query_params.get("sort", "newest")
        order = order if order in ORDERS else "newest"
        everything = request.query_params.get("all") == "1"
        page = page_number(request)
        kept = {"q": query, "sort": order} | ({"all": "1"} if everything else {})

        def work(tx: Transaction, visitor: Visitor) -> Answer:
            found = find_groups(tx, visitor.worker_id, query=query, order=order, everything=everything, page=page)
            return SitePage(
                template="hits.html",
                here="/hits",
                context={
                    "groups": found.groups,
                    "found": found.count,
                    "pages": found.pages,
                    "page": page,
                    "query": query,
                    "order": order,
                    "orders": tuple(ORDERS),
                    "everything": everything,
                    "address": lambda number: "/hits?" + urlencode({**kept, "page": number}),
                },
            )

        return await self.for_worker(request, work)

    async def redirect_to_group(self, request: Request) -> Response:
        """Lead from an address as requesters' programs print it to the group."""
        group = request.query_params.get("groupId", "")
        return redirect(f"/groups/{group}" if group.isascii() and group.isalnum() else "/hits")

    async def show_group(self, request: Request) -> Response:
        """Show the next HIT of a group as a preview."""
        group_id, texts = request.path_params["group"], self.texts(request)
        after = request.query_params.get("after", "0")
        after_number = int(after) if after.isascii() and after.isdigit() and len(after) <= 12 else 0

        def work(tx: Transaction, visitor: Visitor) -> Answer:
            found = find_group(tx, visitor.worker_id, group_id, after=after_number)
            if found is None:
                raise not_found()
            group, hit = found
            if hit is None:
                return self._gone(texts)
            frame, refusal = self._preview(tx, visitor, hit, texts)
            return SitePage(
                template="group.html",
                frame_source=frame.sources if frame else None,
                context={"group": group, "hit": hit, "frame": frame, "refusal": refusal},
            )

        return await self.for_worker(request, work)

    async def accept(self, request: Request) -> Response:
        """Accept the HIT that was shown, or the next of the group where somebody else took it meanwhile."""
        group_id, texts = request.path_params["group"], self.texts(request)
        wanted = (await self.fields(request)).get("hit", "")

        def work(tx: Transaction, visitor: Visitor) -> Answer:
            if (held := held_assignment(tx, visitor.worker_id, wanted)) is not None:  # the button was pressed twice
                return redirect(f"/work/{held}")
            if visitor.in_hand >= MAX_HELD:
                return self._in_hand(tx, visitor, notice=texts.say("work.full", n=str(MAX_HELD)))
            for name in self._candidates(tx, visitor, group_id, wanted):
                try:
                    return redirect(f"/work/{accept(tx, visitor.worker_id, name).assignment_id}")
                except MTurkRequestError as refusal:
                    if refusal.code != PREFIX + "InvalidHITState":
                        raise
            return self._gone(texts)

        return await self.for_worker(request, work)

    async def show_in_hand(self, request: Request) -> Response:
        """Show what the worker has in hand."""
        say = self.texts(request).say
        notice = say("work.returned") if request.query_params.get("returned") == "1" else None
        return await self.for_worker(request, partial(self._in_hand, notice=notice))

    async def show_work(self, request: Request) -> Response:
        """Show a HIT that the worker accepted, in its frame."""
        name, texts = request.path_params["assignment"], self.texts(request)

        def work(tx: Transaction, visitor: Visitor) -> Answer:
            held = find_held(tx, visitor.worker_id, name)
            if held.status != ACCEPTED:
                return redirect(f"/work/{name}/done")
            hit = find_hit(tx, held.hit_id)
            frame, refusal = self._frame(tx, visitor, hit, held, texts)
            return SitePage(
                template="work.html",
                frame_source=frame.sources if frame else None,
                context={
                    "kind": find_type(tx, hit.hit_type_id),
                    "work": held,
                    "left": max(0, int(held.deadline - tx.now)),
                    "frame": frame,
                    "refusal": refusal,
                },
            )

        return await self.for_worker(request, work)

    async def report_state(self, request: Request) -> Response:
        """Say in what state an assignment is, for the page's script."""
        name = request.path_params["assignment"]

        def work(tx: Transaction, visitor: Visitor) -> Answer:
            held = find_held(tx, visitor.worker_id, name)
            return JSONResponse({"status": held.status, "left": max(0, held.deadline - tx.now)})

        return await self.for_worker(request, work)

    async def show_done(self, request: Request) -> Response:
        """Show what became of an assignment, and the way to the next."""
        name, texts = request.path_params["assignment"], self.texts(request)

        def work(tx: Transaction, visitor: Visitor) -> Answer:
            held = find_held(tx, visitor.worker_id, name)
            if held.status == ACCEPTED:
                return redirect(f"/work/{name}")
            kind = find_type(tx, find_hit(tx, held.hit_id).hit_type_id)
            found = find_group(tx, visitor.worker_id, kind.group_id, after=0)
            title, text = _what_became(held, texts)
            following = found[1] if found and found[0].qualified else None
            return SitePage(
                template="done.html",
                context={
                    "kind": kind,
                    "work": held,
                    "title": title,
                    "text": text,
                    "following": following,
                    "remaining": found[0].available if found else 0,
                },
            )

        return await self.for_worker(request, work)

    async def ask_return(self, request: Request) -> Response:
        """Ask whether a HIT is to be returned."""
        name = request.path_params["assignment"]

        def work(tx: Transaction, visitor: Visitor) -> Answer:
            held = find_held(tx, visitor.worker_id, name)
            if held.status != ACCEPTED:
                return redirect(f"/work/{name}/done")
            kind = find_type(tx, find_hit(tx, held.hit_id).hit_type_id)
            return SitePage(template="return.html", context={"work": held, "kind": kind})

        return await self.for_worker(request, work)

    async def return_assignment(self, request: Request) -> Response:
        """Return a HIT."""
        await self.fields(request)
        name = request.path_params["assignment"]

        def work(tx: Transaction, visitor: Visitor) -> Answer:
            return_assignment(tx, visitor.worker_id, name)
            return redirect("/work?returned=1")

        return await self.for_worker(request, work)

    def _candidates(self, tx: Transaction, visitor: Visitor, group_id: str, wanted: str) -> list[str]:
        found = find_group(tx, visitor.worker_id, group_id, after=0)
        if found is None:
            raise not_found()
        group = found[0]
        first = next_hit(tx, visitor.worker_id, group_id)
        names = []
        if wanted.isascii() and wanted.isalnum():
            hit = find_hit(tx, wanted)
            names = [wanted] if hit.hit_type_id == group.kind.hit_type_id else []
        return [*names, *([first.hit_id] if first is not None else [])]

    def _preview(self, tx: Transaction, visitor: Visitor, hit: HostedHit, texts: SiteTexts) -> tuple[Frame | None, str]:
        try:
            preview(tx, visitor.worker_id, hit.hit_id)
        except MTurkRequestError as refusal:
            if refusal.code != PREFIX + "DoesNotMeetRequirements":
                raise
            return None, texts.say("preview.hidden")
        return self._frame(tx, visitor, hit, None, texts)

    def _frame(
        self, tx: Transaction, visitor: Visitor, hit: HostedHit, held: HitAssignment | None, texts: SiteTexts
    ) -> tuple[Frame | None, str]:
        try:
            frame = frame_for(
                read_question(hit.question),
                self.settings,
                secret=secret_of(tx.connection),
                kind="preview" if held is None else "work",
                hit_id=hit.hit_id,
                worker_id=visitor.worker_id,
                assignment_id=None if held is None else held.assignment_id,
                deadline=hit.expires_at if held is None else held.deadline,
                now=tx.now,
            )
        except FrameRefused:
            return None, texts.say("work.same_host")
        except (QuestionRefused, XMLRefused):
            return None, texts.say("work.broken")
        return frame, ""

    def _in_hand(self, tx: Transaction, visitor: Visitor, *, notice: str | None) -> Answer:
        entries = in_hand(tx, visitor.worker_id)
        return SitePage(template="in_hand.html", here="/work", context={"entries": entries, "notice": notice})

    def _gone(self, texts: SiteTexts) -> Answer:
        say = texts.say
        return SitePage(
            template="notice.html",
            context={
                "title": say("preview.gone"),
                "text": say("preview.gone_text"),
                "action": None,
                "link": "/hits",
                "link_text": say("preview.back"),
            },
        )


def _what_became(held: HitAssignment, texts: SiteTexts) -> tuple[str, str]:
    say = texts.say
    if held.status == SUBMITTED and held.auto_approval_at is not None:
        return say("work.submitted_title"), texts.text_with_time("work.submitted_text", held.auto_approval_at)
    if held.status == APPROVED:
        return say("work.submitted_title"), say("work.submitted_now")
    if held.status == RETURNED:
        return say("work.returned_title"), say("work.returned_text")
    if held.status == "Rejected":
        return say("work.submitted_title"), say("history.Rejected")
    return say("work.abandoned_title"), say("work.abandoned_text")
