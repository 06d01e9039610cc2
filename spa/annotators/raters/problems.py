"""What an endpoint may do instead of answering: what is tried again, what is not, and how it is told."""

from __future__ import annotations

from spa.annotators.raters.endpoint import Reply
from spa.annotators.raters.prices import Purse
from spa.study.raters import Rater

TRANSIENT = ("connection", "http_408", "http_409", "http_425", "http_429")  # a timeout may have been paid: no haste
HOPELESS = ("quota", "connection", "http_401", "http_403", "http_404")  # the same for every assignment


def is_transient(outcome: str) -> bool:
    """Tell whether the same request may be answered in a moment."""
    return outcome in TRANSIENT or outcome.startswith("http_5")


def is_hopeless(outcome: str) -> bool:
    """Tell whether every other request would come to the same."""
    return outcome in HOPELESS


def told(reply: Reply, rater: Rater, shown: str) -> str:
    """Return one line: what the endpoint did and what to do."""
    place = f"rater {rater.id!r}: {shown}"
    said = f" ({reply.detail})" if reply.detail else ""
    match reply.outcome:
        case "http_401" | "http_403":
            variable = rater.api_key_env
            return f"{place} did not accept the key{said}; set the environment variable {variable} to a valid one"
        case "http_404":
            return f"{place} does not know the address or the model {rater.model!r}{said}; correct base_url or model"
        case "quota":
            return f"{place} says that the account's quota is used up{said}; top it up and run the command again"
        case "connection":
            return f"{place} cannot be reached{said}; start the server or correct base_url"
        case "timeout":
            return f"{place} did not answer in time{said}; run the command again, or allow more with --timeout"
        case outcome:
            status = outcome.removeprefix("http_")
            return f"{place} answered {status}{said}; run the command again, what is answered is kept"


def budget_reached(rater: Rater, purse: Purse) -> str:
    """Return one line: what is spent, and what to do."""
    return (
        f"rater {rater.id!r}: the next request could pass the budget of {purse.budget:g} ({purse.spent:.4f} is spent, "
        "earlier runs and requests under way included); raise it with --budget, what is answered is kept"
    )
