"""Every call of the raters as it was made and answered, one line of JSON each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from spa.files import written_whole
from spa.journal import Journal, JournalEntry
from spa.raters.visits import KIND
from spa.responses.leases import Lease
from spa.responses.store import Store

FILE = "calls.jsonl"


def write_calls(store: Store, folder: Path) -> tuple[Path, int]:
    """Write all calls of a store to ``calls.jsonl`` and return the path and their number; memory stays flat."""
    path = folder / FILE
    number = 0
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for row in raw_calls(store):
            file.write(json.dumps(row, ensure_ascii=True) + "\n")
            number += 1
    return path, number


def raw_calls(store: Store) -> Iterator[dict[str, Any]]:
    """Yield what is on record of every call to an LLM, oldest first."""
    visits = {lease.submission_id: lease for lease in store.leases() if lease.annotator_kind == "llm"}
    for call in Journal(store).every(KIND):
        yield _row(call, visits[call.scope])


def _row(call: JournalEntry, visit: Lease) -> dict[str, Any]:
    request = json.loads(call.request)
    asked = visit.asked
    return {
        "annotator_id": visit.annotator_id,
        "variant": None if asked is None else asked.variant,
        "repeat": None if asked is None else asked.repeat,
        "assignment_id": visit.assignment_id,
        "ask": call.key,
        "attempt": call.attempt,
        "outcome": call.outcome,
        "begun_at": call.begun_at,
        "seconds": call.seconds,
        **{name: call.facts.get(name) for name in ("prompt_tokens", "completion_tokens", "cached_tokens", "cost")},
        "model": call.facts.get("model"),
        "fingerprint": call.facts.get("fingerprint"),
        "detail": call.facts.get("detail"),
        "prompt_sha256": sha256(json.dumps(request.get("messages"), sort_keys=True).encode()).hexdigest(),
        "request": request,
        "response": call.response,
    }
