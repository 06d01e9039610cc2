"""What a rater's answers were asked with, kept by its fingerprint, so that a change can be told by its name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spa.errors import shortened
from spa.journal import JournalEntry
from spa.raters.endpoints.endpoint import mapping
from spa.records.raters import RaterVariant
from spa.responses.leases import Lease
from spa.responses.store import Store

KEY = "settings of "  # before a fingerprint, of a fact about the store
MOST_TOLD = 3  # settings that differ
LONGEST = 40  # characters of a value
UNBOUND = ("repeats", "attempts", "max_tokens", "max_completion_tokens")  # may change between answers


def note_settings(store: Store, variants: Iterable[RaterVariant]) -> None:
    """Keep what variants are asked with, once for each fingerprint."""
    for asked in {one.fingerprint: one for one in variants}.values():
        if store.meta(KEY + asked.fingerprint) is None:
            store.set_meta(KEY + asked.fingerprint, json.dumps(_settings(asked), sort_keys=True, ensure_ascii=True))


def changed_settings(store: Store, lease: Lease, calls: Sequence[JournalEntry], asked: RaterVariant) -> str:
    """Return, in brackets, what differs between a visit on record and how it would be asked now; "" if unknown."""
    fingerprint = getattr(lease.asked, "fingerprint", None)
    known = store.meta(f"{KEY}{fingerprint}")
    then = _sent(calls) if known is None else mapping(json.loads(known))
    now = _settings(asked)
    differ = [name for name, value in then.items() if value != now.get(name)]
    told = [f"{name}: {_shown(then[name])} then, {_shown(now.get(name))} now" for name in differ[:MOST_TOLD]]
    more = [f"{len(differ) - MOST_TOLD} more"] if len(differ) > MOST_TOLD else []
    return f" ({'; '.join([*told, *more])})" if told else ""


def _settings(asked: RaterVariant) -> dict[str, Any]:
    found = asked.protocol.model_dump(mode="json")
    return {"model": asked.rater.model, **{name: value for name, value in found.items() if name not in UNBOUND}}


def _sent(calls: Sequence[JournalEntry]) -> Mapping[str, Any]:
    """Return what the first request on record says of its settings, in stores that hold no others."""
    if not calls:
        return {}
    sent = mapping(mapping(json.loads(calls[0].request)).get("parameters"))
    return {name: sent.get(name) for name in ("model", "temperature", "top_p", "seed", "reasoning_effort")}


def _shown(value: object) -> str:
    return "not set" if value is None else shortened(json.dumps(value, ensure_ascii=False), LONGEST)
