"""What an endpoint may do instead of answering: which failures are retried, which end a run, and their messages."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np

from spa.raters.endpoints.absences import ABSENCES
from spa.raters.endpoints.endpoint import LLMReply
from spa.records.raters import Rater

FIRST_WAIT = 1.0  # seconds before the second try, then double
LONGEST_WAIT = 60.0  # an endpoint that wants a longer wait is left alone until the next run


class Remedy(NamedTuple):
    """What one outcome means for the run, and its message after the endpoint's name."""

    message: str  # fields: {said}, {model}, {variable}, {status}, {longest}
    retry: bool = False  # the same request may be answered in a moment
    hopeless: bool = False  # every other request would fail alike


KEY = Remedy("did not accept the key{said}; set the environment variable {variable} to a valid one", hopeless=True)
MOVED = Remedy("redirects requests{said}; set base_url to the new address, redirects are not followed", hopeless=True)
REFUSED = Remedy(
    "refuses the request ({status}){said}; change what it names in the rater, a retry would be refused too"
)
OTHER = "answered {status}{said}; run the command again, what is answered is kept"
FAILURES = {
    "connection": Remedy("cannot be reached{said}; start the server or correct base_url", retry=True, hopeless=True),
    "dropped": Remedy("closed the connection before its answer was complete{said}; run the command again", retry=True),
    "garbled": Remedy("did not answer with JSON{said}; check that base_url leads to the API itself", retry=True),
    "failed": Remedy("answered with an error{said}; run the command again, what is answered is kept", retry=True),
    "timeout": Remedy("did not answer in time{said}; run the command again, or allow more with --timeout"),
    "quota": Remedy("says that the account's quota is used up{said}; top it up and run again", hopeless=True),
    "no_model": Remedy("does not know the model {model!r}{said}; correct model", hopeless=True),
    **{absence.outcome: Remedy(absence.message, hopeless=True) for absence in ABSENCES},
    **dict.fromkeys(("http_401", "http_403"), KEY),
    **dict.fromkeys(("http_301", "http_302", "http_303", "http_307", "http_308"), MOVED),
    "http_404": Remedy(
        "does not know the address or the model {model!r}{said}; correct base_url or model", hopeless=True
    ),
    "http_405": REFUSED._replace(hopeless=True),
    **dict.fromkeys(("http_408", "http_409", "http_425"), Remedy(OTHER, retry=True)),
    "http_429": Remedy(
        "says that there are too many requests (429){said}, and says so again after waits of up to {longest:.0f} s; "
        "lower concurrency, or run the command again when the account allows more",
        retry=True,
    ),
}


def remedy_for(outcome: str) -> Remedy:
    """Return what an outcome means; a timeout may have been paid for, and is not retried at once."""
    if outcome in FAILURES:
        return FAILURES[outcome]
    return REFUSED if outcome.startswith("http_4") else Remedy(OTHER, retry=outcome.startswith("http_5"))


def is_refusal(outcome: str) -> bool:
    """Return whether the server rejects this request, however often it is sent."""
    return outcome.startswith("http_4") and not remedy_for(outcome).retry


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
    message = remedy_for(reply.outcome).message
    if is_refusal(reply.outcome) and "max_completion_tokens" in reply.detail:
        instead = "set max_completion_tokens instead of max_tokens"
        message = message.replace("change what it names in the rater", instead)
    if reply.outcome in ("http_404", "http_405", "garbled") and not urlsplit(shown).path.strip("/"):
        message = message.rstrip() + f"; base_url usually ends in /v1: {shown.rstrip('/')}/v1"
    facts = {"said": said, "model": rater.model, "variable": rater.api_key_env, "longest": LONGEST_WAIT}
    return f"{place} " + message.format(status=reply.outcome.removeprefix("http_"), **facts)
