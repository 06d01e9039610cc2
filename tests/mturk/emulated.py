"""An emulator for tests: the real application on a real port, a clock that stands still until it is moved."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
import httpx2
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from mturk.endpoint.app import create_app
from mturk.endpoint.emulator import MovableClock, add_emulator, emulator_key
from mturk.endpoint.keys import IssuedKey, issue, load_host_key
from mturk.endpoint.service import MTurkService
from mturk.endpoint.store import open_store
from mturk.endpoint.transaction import HostRules
from spa.server.http_server import serve_on_loopback

QUESTION = (
    '<HTMLQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd">'
    "<HTMLContent><![CDATA[<!DOCTYPE html><title>t</title><form><input name='a'></form>]]></HTMLContent>"
    "<FrameHeight>0</FrameHeight></HTMLQuestion>"
)
START = 1_800_000_000.0  # seconds since 1970
HIT = {
    "Title": "Compare two writers",
    "Description": "Read, then judge.",
    "Keywords": "reading, text",
    "Reward": "0.50",
    "LifetimeInSeconds": 86_400,
    "AssignmentDurationInSeconds": 600,
    "MaxAssignments": 3,
    "Question": QUESTION,
}


@dataclass
class Emulator:
    """A running emulator and the ways into it."""

    url: str
    endpoint: MTurkService
    clock: MovableClock
    host_key: bytes
    key: IssuedKey
    opened: list[Any] = field(default_factory=list)

    @cached_property
    def client(self) -> Any:
        """Return a boto3 client of the requester "emulator", which tries nothing twice."""
        return self.client_of(self.key)

    @cached_property
    def control(self) -> httpx2.Client:
        """Return a client of the control routes."""
        self.opened.append(made := httpx2.Client(base_url=f"{self.url}/emulator/", timeout=60))
        return made

    def client_of(self, key: IssuedKey, **config: Any) -> Any:
        """Return a boto3 client of a requester."""
        made = boto3.client(
            "mturk",
            region_name="us-east-1",
            endpoint_url=self.url,
            aws_access_key_id=key.access_key_id,
            aws_secret_access_key=key.secret_access_key,
            config=Config(**{"retries": {"total_max_attempts": 1}, **config}),
        )
        self.opened.append(made)
        return made

    @contextmanager
    def seen_by(self, name: str, budget: int = 1_000_000) -> Iterator[Emulator]:
        """Yield the same emulator as another requester sees it, whose lists hold nothing of others."""
        parts = (self.url, self.endpoint, self.clock, self.host_key)
        other = Emulator(*parts, self.requester(name, budget))
        try:
            yield other
        finally:
            other.close()

    def close(self) -> None:
        """Close what was opened."""
        for opened in self.opened:
            opened.close()

    def requester(self, name: str, budget: int = 1_000_000) -> IssuedKey:
        """Issue a key to another requester; the budget is in cents."""
        return self.endpoint.call(lambda tx: issue(tx, name, self.host_key, budget=budget))

    def do(self, route: str, **given: Any) -> dict[str, Any]:
        """Post to a control route and return what it answers, which must be success."""
        answer = self.control.post(route, json=given)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def workers(self, count: int = 1, **given: Any) -> list[str]:
        """Enter workers and return their ids."""
        return list(self.do("workers", count=count, **given)["worker_ids"])

    def hit(self, **changes: Any) -> dict[str, Any]:
        """Create a HIT and return it as the client reads it."""
        return dict(self.client.create_hit(**{**HIT, **changes})["HIT"])

    def get(self, hit_id: str) -> dict[str, Any]:
        """Return a HIT as it is now."""
        return dict(self.client.get_hit(HITId=hit_id)["HIT"])

    def accept(self, worker_id: str, hit_id: str) -> str:
        """Let a worker accept a HIT and return the assignment's id."""
        return str(self.do("accept", worker_id=worker_id, hit_id=hit_id)["assignment_id"])

    def submit(self, worker_id: str, assignment_id: str, **fields: str) -> None:
        """Let a worker submit the fields of a form."""
        self.do("submit", worker_id=worker_id, assignment_id=assignment_id, fields=fields or {"a": "1"})

    def submitted(self, hit_id: str, worker_id: str) -> str:
        """Let a worker accept and submit, and return the assignment's id."""
        work = self.accept(worker_id, hit_id)
        self.submit(worker_id, work)
        return work

    def offers(self, worker_id: str) -> list[dict[str, Any]]:
        """Return what a worker sees of this requester's HITs."""
        seen = self.do("offers", worker_id=worker_id)["offers"]
        return [offer for offer in seen if offer["kind"]["requester_id"] == self.key.requester_id]

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.do("clock", advance=seconds)


@contextmanager
def emulator(target: str | Path, **rules: Any) -> Iterator[Emulator]:
    """Yield an emulator on a store that is made where it is absent; MTurk's fees unless told otherwise."""
    place = str(target)
    with open_store(place, create=True) as store:
        host_key = secrets.token_bytes(32) if "://" in place else load_host_key(place, create=True)
        clock = MovableClock(frozen_at=START)
        endpoint = MTurkService(store, clock=clock, rules=HostRules(**{"fees": "mturk", **rules}))
        key = emulator_key(endpoint, host_key, budget=1_000_000)
        app = add_emulator(create_app(endpoint, host_key), endpoint, clock)
        with serve_on_loopback(app) as url:  # type: ignore[arg-type]
            running = Emulator(url=url, endpoint=endpoint, clock=clock, host_key=host_key, key=key)
            try:
                yield running
            finally:
                running.close()


@contextmanager
def refused(place: Emulator, code: str) -> Iterator[Any]:
    """Expect that a call is refused with this code; the service's own codes without their prefix.

    boto3 shows ``TurkErrorCode`` for the errors of the model alone, the kind of the others.
    """
    with pytest.raises(ClientError) as told:
        yield told
    found = str(told.value.response.get("TurkErrorCode", told.value.response["Error"]["Code"]))
    assert found.removeprefix("AWS.MechanicalTurk.") == code, told.value.response


def pages_of(client: Any, operation: str, result: str, **given: Any) -> list[dict[str, Any]]:
    """Return all results of a list, page by page, as boto3's paginator reads them."""
    pages = client.get_paginator(operation).paginate(PaginationConfig={"PageSize": 2}, **given)
    return [one for page in pages for one in page[result]]
