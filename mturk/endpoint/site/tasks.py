"""A worker's pages: finding, doing and returning HITs; history, earnings, messages and qualifications."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mturk.endpoint.assignments import ACCEPTED, APPROVED, REJECTED, RETURNED, SUBMITTED, HitAssignment
from mturk.endpoint.errors import PREFIX, MTurkRequestError
from mturk.endpoint.hits import HostedHit
from mturk.endpoint.repository import find_hit, find_type
from mturk.endpoint.site.frame_pages import Frame, FrameRefused, frame_for
from mturk.endpoint.site.groups import ORDERS, find_group, find_groups
from mturk.endpoint.site.handlers import Answer, SitePage, Visit, not_found, page_number, redirect
from mturk.endpoint.site.records import (
    Rows,
    entries,
    held_assignment,
    held_by,
    history,
    in_hand,
    offered_to,
    read_messages,
    record,
    sums,
)
from mturk.endpoint.site.texts import SiteTexts
from mturk.endpoint.store import secret_of
from mturk.endpoint.transaction import Transaction
from mturk.endpoint.worker_actions import MAX_HELD, accept, find_held, next_hit, preview, return_assignment
from mturk.endpoint.workers import request_qualification
from mturk.questions import QuestionRefused, XMLRefused, read_question

LONGEST_QUERY = 100  # characters
BECAME = {
    APPROVED: ("work.submitted_title", "work.submitted_now"),
    REJECTED: ("work.submitted_title", "history.Rejected"),
    RETURNED: ("work.returned_title", "work.returned_text"),
}


def show_list(visit: Visit) -> Answer:
    """Show the groups that the worker qualifies for."""
    asked = visit.request.query_params
    query = asked.get("q", "")[:LONGEST_QUERY]
    order = asked.get("sort", "newest")
    order = order if order in ORDERS else "newest"
    everything = asked.get("all") == "1"
    page = page_number(visit.request)
    filters = {"q": query, "sort": order} | ({"all": "1"} if everything else {})
    found = find_groups(visit.tx, visit.worker_id, query=query, order=order, everything=everything, page=page)
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
            "address": lambda number: "/hits?" + urlencode({**filters, "page": number}),
        },
    )


async def redirect_to_group(request: Request) -> Response:
    """Redirect from the preview URL that requesters' programs print to the group."""
    group = request.query_params.get("groupId", "")
    return redirect(f"/groups/{group}" if group.isascii() and group.isalnum() else "/hits")


def show_group(visit: Visit) -> Answer:
    """Show the next HIT of a group as a preview."""
    after = visit.request.query_params.get("after", "0")
    after_number = int(after) if after.isascii() and after.isdigit() and len(after) <= 12 else 0
    found = find_group(visit.tx, visit.worker_id, visit.path["group"], after=after_number)
    if found is None:
        raise not_found()
    group, hit = found
    if hit is None:
        return _gone(visit.texts)
    frame, refusal = _preview(visit, hit)
    return SitePage(
        template="group.html",
        frame_source=frame.sources if frame else None,
        context={"group": group, "hit": hit, "frame": frame, "refusal": refusal},
    )


def accept_hit(visit: Visit) -> Answer:
    """Accept the HIT that was shown, or the next of the group if that one is no longer available."""
    hit_id = visit.fields.get("hit", "")
    if (held := held_assignment(visit.tx, visit.worker_id, hit_id)) is not None:  # the button was pressed twice
        return redirect(f"/work/{held}")
    if visit.visitor.in_hand >= MAX_HELD:
        return _in_hand(visit, notice=visit.texts.say("work.full", n=str(MAX_HELD)))
    for name in _candidates(visit, hit_id):
        try:
            return redirect(f"/work/{accept(visit.tx, visit.worker_id, name).assignment_id}")
        except MTurkRequestError as refusal:
            if refusal.code != PREFIX + "InvalidHITState":
                raise
    return _gone(visit.texts)


def show_in_hand(visit: Visit) -> Answer:
    """Show the HITs that the worker holds."""
    returned = visit.request.query_params.get("returned") == "1"
    return _in_hand(visit, notice=visit.texts.say("work.returned") if returned else None)


def show_work(visit: Visit) -> Answer:
    """Show a HIT that the worker accepted, in its frame."""
    held = _held(visit)
    if held.status != ACCEPTED:
        return redirect(f"/work/{held.assignment_id}/done")
    hit = find_hit(visit.tx, held.hit_id)
    frame, refusal = _frame(visit, hit, held)
    return SitePage(
        template="work.html",
        frame_source=frame.sources if frame else None,
        context={
            "kind": find_type(visit.tx, hit.hit_type_id),
            "work": held,
            "left": max(0, int(held.deadline - visit.tx.now)),
            "frame": frame,
            "refusal": refusal,
        },
    )


def report_state(visit: Visit) -> Answer:
    """Return the state of an assignment, for the page's script."""
    held = _held(visit)
    return JSONResponse({"status": held.status, "left": max(0, held.deadline - visit.tx.now)})


def show_done(visit: Visit) -> Answer:
    """Show the outcome of an assignment, and the next HIT of its group."""
    held = _held(visit)
    if held.status == ACCEPTED:
        return redirect(f"/work/{held.assignment_id}")
    kind = find_type(visit.tx, find_hit(visit.tx, held.hit_id).hit_type_id)
    found = find_group(visit.tx, visit.worker_id, kind.group_id, after=0)
    title, text = _what_became(held, visit.texts)
    following = found[1] if found and found[0].qualified else None
    remaining = found[0].available if found else 0
    facts = {"kind": kind, "work": held, "title": title, "text": text, "following": following, "remaining": remaining}
    return SitePage(template="done.html", context=facts)


def ask_return(visit: Visit) -> Answer:
    """Ask for confirmation before a HIT is returned."""
    held = _held(visit)
    if held.status != ACCEPTED:
        return redirect(f"/work/{held.assignment_id}/done")
    kind = find_type(visit.tx, find_hit(visit.tx, held.hit_id).hit_type_id)
    return SitePage(template="return.html", context={"work": held, "kind": kind})


def return_hit(visit: Visit) -> Answer:
    """Return a HIT."""
    return_assignment(visit.tx, visit.worker_id, visit.path["assignment"])
    return redirect("/work?returned=1")


def _held(visit: Visit) -> HitAssignment:
    return find_held(visit.tx, visit.worker_id, visit.path["assignment"])


def _candidates(visit: Visit, hit_id: str) -> list[str]:
    group_id = visit.path["group"]
    found = find_group(visit.tx, visit.worker_id, group_id, after=0)
    if found is None:
        raise not_found()
    first = next_hit(visit.tx, visit.worker_id, group_id)
    names = []
    if hit_id.isascii() and hit_id.isalnum():
        hit = find_hit(visit.tx, hit_id)
        names = [hit_id] if hit.hit_type_id == found[0].kind.hit_type_id else []
    return [*names, *([first.hit_id] if first is not None else [])]


def _preview(visit: Visit, hit: HostedHit) -> tuple[Frame | None, str]:
    try:
        preview(visit.tx, visit.worker_id, hit.hit_id)
    except MTurkRequestError as refusal:
        if refusal.code != PREFIX + "DoesNotMeetRequirements":
            raise
        return None, visit.texts.say("preview.hidden")
    return _frame(visit, hit, None)


def _frame(visit: Visit, hit: HostedHit, held: HitAssignment | None) -> tuple[Frame | None, str]:
    try:
        frame = frame_for(
            read_question(hit.question),
            visit.settings,
            secret=secret_of(visit.tx.connection),
            kind="preview" if held is None else "work",
            hit_id=hit.hit_id,
            worker_id=visit.worker_id,
            assignment_id=None if held is None else held.assignment_id,
            deadline=hit.expires_at if held is None else held.deadline,
            now=visit.tx.now,
        )
    except FrameRefused:
        return None, visit.texts.say("work.same_host")
    except (QuestionRefused, XMLRefused):
        return None, visit.texts.say("work.broken")
    return frame, ""


def _in_hand(visit: Visit, *, notice: str | None) -> Answer:
    context = {"entries": in_hand(visit.tx, visit.worker_id), "notice": notice}
    return SitePage(template="in_hand.html", here="/work", context=context)


def _gone(texts: SiteTexts) -> Answer:
    labels = {"title": texts.say("preview.gone"), "text": texts.say("preview.gone_text")}
    link = {"link": "/hits", "link_text": texts.say("preview.back")}
    return SitePage(template="notice.html", context={**labels, **link, "action": None})


def _what_became(held: HitAssignment, texts: SiteTexts) -> tuple[str, str]:
    say = texts.say
    if held.status == SUBMITTED and held.auto_approval_at is not None:
        return say("work.submitted_title"), texts.text_with_time("work.submitted_text", held.auto_approval_at)
    title, text = BECAME.get(held.status, ("work.abandoned_title", "work.abandoned_text"))
    return say(title), say(text)


def show_history(visit: Visit) -> Answer:
    """Show submitted work."""
    return _one_page(visit, "history", history)


def show_earnings(visit: Visit) -> Answer:
    """Show earnings."""
    return _one_page(visit, "earnings", entries, sums=sums(visit.tx, visit.worker_id))


def show_messages(visit: Visit) -> Answer:
    """Show messages, and mark them as read."""
    return _one_page(visit, "messages", read_messages)


def show_qualifications(visit: Visit) -> Answer:
    """Show the worker's qualifications, and those that can be requested."""
    own = (visit.tx, visit.worker_id)
    found = {"record": record(*own), "held": held_by(*own), "offered": offered_to(*own)}
    return SitePage(template="qualifications.html", here="/qualifications", context=found)


def ask_qualification(visit: Visit) -> Answer:
    """Request a qualification that is offered."""
    type_id = visit.path["type"]
    if type_id not in {one.qualification_type_id for one in offered_to(visit.tx, visit.worker_id)}:
        raise not_found()
    request_qualification(visit.tx, visit.worker_id, type_id)
    return redirect("/qualifications")


def _one_page(
    visit: Visit, name: str, find: Callable[[Transaction, str, int], tuple[Rows, int]], **context: object
) -> Answer:
    page = page_number(visit.request)
    rows, pages = find(visit.tx, visit.worker_id, page)
    paging = {"entries": rows, "page": page, "pages": pages, "address": lambda number: f"/{name}?page={number}"}
    return SitePage(template=f"{name}.html", here=f"/{name}", context={**paging, **context})
