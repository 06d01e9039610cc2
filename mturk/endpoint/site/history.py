"""History, earnings, messages and qualifications of a worker."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from mturk.endpoint.site.handlers import Answer, SiteHandlers, SitePage, not_found, page_number, redirect
from mturk.endpoint.site.records import entries, held_by, history, offered_to, read_messages, record, sums
from mturk.endpoint.site.sessions import Visitor
from mturk.endpoint.transaction import Transaction
from mturk.endpoint.workers import request_qualification


class HistoryPages(SiteHandlers):
    """The routes of what is past."""

    async def show_history(self, request: Request) -> Response:
        """Show submitted work."""
        page = page_number(request)

        def work(tx: Transaction, visitor: Visitor) -> Answer:
            shown, pages = history(tx, visitor.worker_id, page)
            return _listed("history.html", "/history", shown, page, pages)

        return await self.for_worker(request, work)

    async def show_earnings(self, request: Request) -> Response:
        """Show what the ledger owes."""
        page = page_number(request)

        def work(tx: Transaction, visitor: Visitor) -> Answer:
            shown, pages = entries(tx, visitor.worker_id, page)
            return _listed("earnings.html", "/earnings", shown, page, pages, sums=sums(tx, visitor.worker_id))

        return await self.for_worker(request, work)

    async def show_messages(self, request: Request) -> Response:
        """Show messages; they count as read afterwards."""
        page = page_number(request)

        def work(tx: Transaction, visitor: Visitor) -> Answer:
            shown, pages = read_messages(tx, visitor.worker_id, page)
            return _listed("messages.html", "/messages", shown, page, pages)

        return await self.for_worker(request, work)

    async def show_qualifications(self, request: Request) -> Response:
        """Show qualifications held and offered."""

        def work(tx: Transaction, visitor: Visitor) -> Answer:
            return SitePage(
                template="qualifications.html",
                here="/qualifications",
                context={
                    "record": record(tx, visitor.worker_id),
                    "held": held_by(tx, visitor.worker_id),
                    "offered": offered_to(tx, visitor.worker_id),
                },
            )

        return await self.for_worker(request, work)

    async def ask_qualification(self, request: Request) -> Response:
        """Ask for a qualification that is offered."""
        await self.fields(request)
        type_id = request.path_params["type"]

        def work(tx: Transaction, visitor: Visitor) -> Answer:
            if type_id not in {one.qualification_type_id for one in offered_to(tx, visitor.worker_id)}:
                raise not_found()
            request_qualification(tx, visitor.worker_id, type_id)
            return redirect("/qualifications")

        return await self.for_worker(request, work)


def _listed(template: str, here: str, shown: Sequence[object], page: int, pages: int, **context: object) -> Answer:
    return SitePage(
        template=template,
        here=here,
        context={
            "entries": shown,
            "page": page,
            "pages": pages,
            "address": lambda number: f"{here}?page={number}",
            **context,
        },
    )
