"""Visits that their platform has not confirmed: anybody can make such addresses up, so few may come from one block."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response

from spa.server.rate_limits import Buckets, Rate, client_block, is_network
from spa.server.survey_context import SurveyContext

LOOPBACK = ("127.", "::1/", "::/")  # rehearsals and tests; a proxy on this machine says for whom it asks


class ClaimLimit:
    """How often one address block may do something for which nobody vouches.

    Parameters
    ----------
    context : SurveyContext
        Of the server; its clock fills the buckets.
    rate : Rate
        Of one block, and of one ``subject`` where the limit has several.
    """

    def __init__(self, context: SurveyContext, rate: Rate) -> None:
        self._context = context
        self._buckets = Buckets(rate, clock=context.clock)

    def refusal(self, request: Request, subject: str = "") -> Response | None:
        """Return the page that asks somebody to come again in a moment; ``None`` where this is one time more."""
        block = client_block(request.scope)
        if not is_network(block) or block.startswith(LOOPBACK):
            return None
        wait = self._buckets.take(f"{block} {subject}")
        return self._context.ask_to_wait(wait) if wait else None
