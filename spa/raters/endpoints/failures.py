"""What an endpoint may do instead of answering: what is tried again, what is not, and how it is told."""

from __future__ import annotations

import numpy as np

from spa.raters.endpoints.endpoint import LLMReply
from spa.study.raters import Rater

TRANSIENT = ("connection", "dropped", "garbled", "failed", "http_408", "http_409", "http_425", "http_429")
HOPELESS = (  # the same for every assignment
    *("quota", "no_model", "no_schema", "connection", "http_401", "http_403", "http_404", "http_405"),
    *("http_301", "http_302", "http_303", "http_307", "http_308"),
)
FIRST_WAIT = 1.0  # seconds before the second try, then double
LONGEST_WAIT = 60.0  # an endpoint that wants a longer wait is left alone until the next run


def is_transient(outcome: str) -> bool:
    """Tell whether the same request may be answered in a moment; a timeout may have been paid, and is in no haste."""
    return outcome in TRANSIENT or outcome.startswith("http_5")


def is_hopeless(outcome: str) -> bool:
    """Tell whether every other request would come to the same."""
    return outcome in HOPELESS


def is_refusal(outcome: str) -> bool:
    """Tell whether the server will not have this request, however often it is sent."""
    return outcome.startswith("http_4") and outcome not in TRANSIENT


def backoff(trial: int, rng: np.random.Generator) -> float:
    """Return the seconds to wait before trying again, ``trial`` tries after the first.

    Twice as long each time, and less by a random part of up to a half, so that tasks do not come back together.
    """
    return min(FIRST_WAIT * 2.0**trial, LONGEST_WAIT) * float(rng.uniform(0.5, 1.0))


def failure_message(reply: LLMReply, rater: Rater, shown: str) -> str:
    """Return one line: what the endpoint did and what to do."""
    place = f"rater {rater.id!r}: {shown}"
    said = f" ({reply.detail})" if reply.detail else ""
    if reply.retry_after is not None and reply.retry_after > LONGEST_WAIT:
        return f"{place} asks to wait {reply.retry_after:.0f} s{said}; run the command again then"
    match reply.outcome:
        case "http_401" | "http_403":
            variable = rater.api_key_env
            return f"{place} did not accept the key{said}; set the environment variable {variable} to a valid one"
        case "http_404":
            return f"{place} does not know the address or the model {rater.model!r}{said}; correct base_url or model"
        case "no_model":
            return f"{place} does not know the model {rater.model!r}{said}; correct model"
        case "no_schema":
            return f'{place} takes no JSON schema (response_format){said}; set answer_format = "json" in the rater'
        case "http_301" | "http_302" | "http_303" | "http_307" | "http_308":
            return f"{place} sends requests elsewhere{said}; set base_url to where it is, nothing is sent on unasked"
        case "garbled":
            return f"{place} answered with something that is no JSON{said}; see that base_url leads to the API itself"
        case "dropped":
            return f"{place} broke the connection off before its answer was whole{said}; run the command again"
        case "failed":
            return f"{place} answered with an error of its own{said}; run the command again, what is answered is kept"
        case "quota":
            return f"{place} says that the account's quota is used up{said}; top it up and run the command again"
        case "connection":
            return f"{place} cannot be reached{said}; start the server or correct base_url"
        case "timeout":
            return f"{place} did not answer in time{said}; run the command again, or allow more with --timeout"
        case "http_429":
            return (
                f"{place} says that there are too many requests (429){said}, and says so again after waits of up to "
                f"{LONGEST_WAIT:.0f} s; lower concurrency, or run the command again when the account allows more"
            )
        case outcome if is_refusal(outcome):
            change = "change what it names in the rater"
            if "max_completion_tokens" in reply.detail:
                change = "set max_completion_tokens in place of max_tokens"
            status = outcome.removeprefix("http_")
            return f"{place} refuses the request ({status}){said}; {change}, the same would be refused again"
        case outcome:
            status = outcome.removeprefix("http_")
            return f"{place} answered {status}{said}; run the command again, what is answered is kept"
