"""History, earnings, messages and qualifications of a worker."""

from __future__ import annotations

from collections.abc import Callable

from mturk.endpoint.site.handlers import Answer, SitePage, Visit, not_found, page_number, redirect
from mturk.endpoint.site.records import Rows, entries, held_by, history, offered_to, read_messages, record, sums
from mturk.endpoint.transaction import Transaction
from mturk.endpoint.workers import request_qualification


def show_history(visit: Visit) -> Answer:
    """Show submitted work."""
    return _one_page(visit, "history", history)


def show_earnings(visit: Visit) -> Answer:
    """Show what the ledger owes."""
    return _one_page(visit, "earnings", entries, sums=sums(visit.tx, visit.worker_id))


def show_messages(visit: Visit) -> Answer:
    """Show messages; they count as read afterwards."""
    return _one_page(visit, "messages", read_messages)


def show_qualifications(visit: Visit) -> Answer:
    """Show qualifications held and offered."""
    own = (visit.tx, visit.worker_id)
    found = {"record": record(*own), "held": held_by(*own), "offered": offered_to(*own)}
    return SitePage(template="qualifications.html", here="/qualifications", context=found)


def ask_qualification(visit: Visit) -> Answer:
    """Ask for a qualification that is offered."""
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
