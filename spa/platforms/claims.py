"""Visits that their platform has not confirmed: anybody can make such addresses up, so few may come from one block."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response

from spa.server.rate_limits import Buckets, Rate, client_block, is_network
from spa.server.survey_context import SurveyContext

LEAST = 3
TEN_MINUTES = 600.0  # seconds
LOOPBACK = ("127.", "::/")  # rehearsals and tests; a proxy on this machine says for whom it asks


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
        if not wait:
            return None
        self._context.unbegun.tell()
        return self._context.ask_to_wait(wait)


def in_ten_minutes(context: SurveyContext, share: int) -> Rate:
    """Return a rate of one block: this share of what may begin from it in a minute, which ``--new-visits`` raises."""
    times = max(LEAST, context.unbegun.most // share)
    return Rate(burst=times, a_second=times / TEN_MINUTES)
