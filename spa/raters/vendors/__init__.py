"""Vendors: the ways to reach models. One module each, all of them in ``VENDORS``; nobody else knows one by name.

What a vendor brings is listed in :mod:`spa.raters.vendors.vendor`. Libraries are loaded where a connection is opened.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from spa.errors import StudyError
from spa.raters.endpoints.endpoint import LLMReply, ReplyFormat, mapping, read_reply
from spa.raters.vendors.anthropic import ANTHROPIC
from spa.raters.vendors.chat import CHAT
from spa.raters.vendors.gemini import GEMINI
from spa.raters.vendors.local import LOCAL
from spa.raters.vendors.responses import RESPONSES
from spa.raters.vendors.simulated import SIMULATED
from spa.raters.vendors.vendor import Vendor
from spa.records.raters import Rater

VENDORS: tuple[Vendor, ...] = (
    CHAT,
    RESPONSES,
    ANTHROPIC,
    GEMINI,
    LOCAL,
    SIMULATED,
)  # the first reads what no other recognises


def providers() -> dict[str, str]:
    """Return what a study file may name as ``provider``, with what it stands for.

    >>> list(providers())
    ['chat', 'batch', 'responses', 'anthropic', 'gemini', 'local']
    """
    found = {}
    for vendor in VENDORS:
        if vendor.model is None:
            found[vendor.key] = vendor.about
        if vendor.batch_key is not None:
            found[vendor.batch_key] = vendor.batch_about
    return found


def batch_providers() -> tuple[str, ...]:
    """Return the providers whose raters can be asked through batches."""
    return tuple(vendor.key for vendor in VENDORS if vendor.batches is not None)


def provider_here() -> str:
    """Return the provider of models on this machine."""
    return next(vendor.key for vendor in VENDORS if vendor.on_this_machine)


def provider_with(key: str) -> str:
    """Return the first provider that takes a key of a rater's protocol."""
    return next(vendor.key for vendor in VENDORS if key not in vendor.refused_keys)


def limit_keys() -> tuple[str, ...]:
    """Return every name under which recorded requests hold the most tokens of an answer."""
    return tuple(dict.fromkeys(key for vendor in VENDORS for key in vendor.limit_keys))


def vendor_of(rater: Rater) -> Vendor:
    """Return a rater's vendor; raise StudyError where its provider is unknown."""
    for vendor in VENDORS:
        if vendor.model == rater.model and rater.provider == VENDORS[0].key:
            return vendor
    for vendor in VENDORS:
        if rater.provider in (vendor.key, vendor.batch_key):
            return vendor
    known = ", ".join(f'"{name}"' for name in providers())
    raise StudyError(f'rater {rater.id!r}, provider: expected one of {known}, got "{rater.provider}"; correct it')


def in_batches(rater: Rater) -> bool:
    """Return whether a rater is asked through batches."""
    return rater.batch or rater.provider == vendor_of(rater).batch_key


def read_body(body: str) -> LLMReply:
    """Read the body of an answer, whatever it holds.

    Bodies are stored verbatim and read again on every run, so that this works on the body alone.
    """
    return read_reply(body, format_of)


def format_of(body: Mapping[str, Any]) -> ReplyFormat:
    """Return the format of a body."""
    return next((vendor for vendor in VENDORS if vendor.replies.recognises(body)), VENDORS[0]).replies


def samples_of(reply: LLMReply, number: int) -> list[LLMReply]:
    """Return each of several answers of one response as a reply of its own.

    The first has what the response counts, which was paid once. Answers that were asked for and did not come are
    "not_sampled"; a response without any answer, and a failure, is that of all.
    """
    if number == 1 or not reply.model_replied or reply.body is None:
        return [reply] * number
    found = mapping(json.loads(reply.body))
    bodies = format_of(found).split(found)[:number]
    replies = [read_body(json.dumps(body)) for body in bodies] or [reply]
    return replies + [LLMReply(outcome="not_sampled")] * (number - len(replies))


def texts_of(reply: LLMReply) -> Sequence[str]:
    """Return what was said in each answer of a response, with thoughts."""
    found = mapping(json.loads(reply.body or "{}"))
    return format_of(found).texts(found) or ([reply.text] if reply.text else [])


def top_tokens(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tokens of the answer that a body holds, each with its ``top_logprobs`` where the endpoint gave any."""
    return [mapping(token) for token in format_of(body).tokens(body)]
