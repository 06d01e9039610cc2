"""The endpoint with other manners: what botocore's model of the protocol leaves open is done otherwise.

A proxy before an endpoint. Answers have fields that no model names, times as whole or broken numbers, lists begin with
an empty page that has a successor, rows come in another order, and a request is throttled now and then.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from tests.proxy import ProxyHandler, serving

TIMES = frozenset(
    {
        "AcceptTime",
        "ApprovalTime",
        "AutoApprovalTime",
        "CreationTime",
        "Deadline",
        "Expiration",
        "GrantTime",
        "RejectionTime",
        "SubmitTime",
    }
)
JSON = {"Content-Type": "application/x-amz-json-1.1"}
THROTTLED = {"__type": "ThrottlingException", "message": "Rate exceeded"}


def otherwise(value: Any, turn: int) -> Any:
    """Say the same in another way."""
    if isinstance(value, list):
        return [otherwise(one, turn) for one in reversed(value)]
    if not isinstance(value, dict):
        return value
    told: dict[str, Any] = {"NewInThisVersion": {"Since": [2031]}}
    for name, one in reversed(value.items()):
        is_time = name in TIMES and isinstance(one, int | float)
        told[name] = (int(one) if turn % 2 else float(one) + 0.25) if is_time else otherwise(one, turn)
    return told


@contextmanager
def other_manners(endpoint: str, *, every: int = 20) -> Iterator[str]:
    """Serve an endpoint with other manners; one request in ``every`` is throttled."""
    turns = itertools.count(1)
    kept: dict[str, bytes] = {}

    class Handler(ProxyHandler):
        def do_POST(self) -> None:
            turn = next(turns)
            body = self.asked()
            asked = json.loads(body or b"{}")
            if turn % every == 0:
                self.send(400, json.dumps(THROTTLED).encode(), JSON)
                return
            token = asked.get("NextToken")
            if token in kept:
                self.send(200, kept[token], JSON)
                return
            passed = dict(self.headers.items())
            came = httpx2.post(endpoint + self.path, content=body, headers=passed, trust_env=False)
            text = json.dumps(otherwise(came.json(), turn)).encode() if came.content else b""
            operation = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
            if came.status_code == 200 and token is None and operation.startswith("List"):
                token = f"page-{turn}"
                kept[token] = text
                empty = {name: [] for name, one in came.json().items() if isinstance(one, list)}
                text = json.dumps({"NextToken": token, "NumResults": 0, **empty}).encode()
            self.send(came.status_code, text, JSON)

    with serving(Handler) as address:
        yield address
