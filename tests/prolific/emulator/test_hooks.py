"""The emulated platform tells its subscribers: over HTTP, signed, again until it is taken, and sometimes oddly."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import Response

from prolific.webhooks import is_recent, is_signed
from spa.server.http_server import serve_on_loopback
from tests import patience
from tests.prolific.conftest import Emulator
from tests.prolific.emulator.drafts import published


@dataclass(slots=True)
class Mailbox:
    """A subscriber that keeps what it gets and answers as told."""

    url: str = ""
    status: int = 200
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def statuses(self, submission: str) -> list[str]:
        """Return what was told about a submission, in the order in which it came."""
        read = [json.loads(body) for _, body in self.got]
        return [str(one["status"]) for one in read if one["resource_id"] == submission]


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    """Run a subscriber."""
    box, app = Mailbox(), FastAPI()

    @app.post("/hook")
    async def take(request: Request) -> Response:
        body = await request.body()
        with box.lock:
            box.got.append((dict(request.headers), body))
        return Response(status_code=box.status)

    with serve_on_loopback(app) as url:
        box.url = f"{url}/hook"
        yield box


def subscribed(emulator: Emulator, box: Mailbox, event: str = "submission.status.change") -> tuple[str, str]:
    """Subscribe and confirm; return the subscription and the signing secret."""
    api = emulator.api
    workspace = api.get("/api/v1/workspaces/").json()["results"][0]["id"]
    wanted = {"workspace_id": workspace, "event_type": event, "target_url": box.url}
    assert api.post("/api/v1/hooks/subscriptions/", json=wanted).status_code == 400  # a secret comes first
    secret = api.post("/api/v1/hooks/secrets/", json={"workspace_id": workspace}).json()["value"]
    made = api.post("/api/v1/hooks/subscriptions/", json=wanted)
    assert made.status_code == 201
    path = f"/api/v1/hooks/subscriptions/{made.json()['id']}/"
    assert api.post(path, json={"secret": "another"}).status_code == 400
    assert api.post(path, json={"secret": made.headers["X-Hook-Secret"]}).json()["is_enabled"] is True
    return made.json()["id"], secret


def eventually(condition: Callable[[], Any]) -> Any:
    """Wait for something to become true and return it."""
    deadline = time.monotonic() + patience.SECONDS
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    pytest.fail("waited in vain")


def test_a_change_is_told_and_signed_over_its_bytes(fresh_emulator: Emulator) -> None:
    """Every status of a submission arrives, with a signature that the receiving side accepts."""
    with mailbox() as box:
        subscription, secret = subscribed(fresh_emulator, box)
        visit = fresh_emulator.people.enter(published(fresh_emulator.api))
        fresh_emulator.people.complete(visit["id"], "DONE")
        eventually(lambda: len(box.got) >= 3)
    assert box.statuses(visit["id"]) == ["RESERVED", "ACTIVE", "AWAITING REVIEW"]
    for headers, body in box.got:
        timestamp = headers["x-prolific-request-timestamp"]
        assert is_recent(timestamp, time.time())
        given = headers["x-prolific-request-signature"]
        assert is_signed(secret, claimed=given, timestamp=timestamp, body=body)
        assert not is_signed(secret, claimed=given, timestamp=timestamp, body=body + b" ")
        assert json.loads(body)["participant_id"] == visit["participant_id"]
    listed = fresh_emulator.api.get(f"/api/v1/hooks/subscriptions/{subscription}/events/?status=SUCCEEDED").json()
    assert [one["id"] for one in listed["results"]] == [headers["x-event-id"] for headers, _ in box.got]


def test_what_is_not_taken_is_sent_again_and_in_the_end_given_up(fresh_emulator: Emulator) -> None:
    """An error leads to further attempts, eleven at most, under the same id; the event is then FAILED."""
    people = fresh_emulator.people
    with mailbox() as box:
        box.status = 500
        subscription, _ = subscribed(fresh_emulator, box, "study.status.change")
        study = published(fresh_emulator.api)  # PUBLISHING, ACTIVE
        path = f"/api/v1/hooks/subscriptions/{subscription}/events/"
        for attempts in range(1, 13):
            eventually(lambda wanted=2 * attempts: len(people.do("GET", "deliveries/")["results"]) >= wanted)
            people.advance(seconds=42 * 2 ** (attempts - 1))
        failed = eventually(lambda: fresh_emulator.api.get(f"{path}?status=FAILED").json()["results"])
        assert {one["resource_id"] for one in failed} == {study}
        assert len(box.got) == 24
        assert len({headers["x-event-id"] for headers, _ in box.got}) == 2


def test_hooks_off_after_five_days_of_failures(fresh_emulator: Emulator) -> None:
    """What is sent after five days of failures, and fails, is the last that is sent."""
    people = fresh_emulator.people
    with mailbox() as box:
        box.status = 503
        subscription, _ = subscribed(fresh_emulator, box, "study.status.change")
        path = f"/api/v1/hooks/subscriptions/{subscription}/"
        published(fresh_emulator.api)
        eventually(lambda: len(box.got) >= 2)
        assert fresh_emulator.api.get(path).json()["is_enabled"] is True
        people.advance(days=5.1)
        eventually(lambda: fresh_emulator.api.get(path).json()["is_enabled"] is False)


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("duplicate", ["RESERVED", "RESERVED", "ACTIVE"]),
        ("reorder", ["ACTIVE", "RESERVED"]),
        ("lose", ["ACTIVE", "RESERVED"]),
    ],
)
def test_events_arrive_twice_late_or_in_another_order(fresh_emulator: Emulator, kind: str, wanted: list[str]) -> None:
    """Each oddity of delivery can be asked for; nothing is lost in the end."""
    people = fresh_emulator.people
    with mailbox() as box:
        subscribed(fresh_emulator, box)
        study, (person,) = published(fresh_emulator.api), people.join()
        people.plan("webhooks", kind)
        taken = people.take(study, person)
        if kind == "duplicate":
            eventually(lambda: len(box.got) == 2)
            assert len({headers["x-event-id"] for headers, _ in box.got}) == 1
        else:
            eventually(lambda: people.do("GET", "faults/")["results"][0]["happened"])
        people.do("POST", f"submissions/{taken['id']}/start/")
        eventually(lambda: "ACTIVE" in box.statuses(taken["id"]))
        people.advance(minutes=5)
        eventually(lambda: len(box.statuses(taken["id"])) == len(wanted))
    assert box.statuses(taken["id"]) == wanted


def test_a_new_secret_replaces_the_old_one_everywhere(fresh_emulator: Emulator) -> None:
    """A workspace has one secret; what is sent afterwards is signed with the new one."""
    api = fresh_emulator.api
    with mailbox() as box:
        _, old = subscribed(fresh_emulator, box, "study.status.change")
        workspace = api.get("/api/v1/workspaces/").json()["results"][0]["id"]
        new = api.post("/api/v1/hooks/secrets/", json={"workspace_id": workspace}).json()["value"]
        published(api)
        eventually(lambda: box.got)
    headers, body = box.got[0]
    facts = {
        "claimed": headers["x-prolific-request-signature"],
        "timestamp": headers["x-prolific-request-timestamp"],
        "body": body,
    }
    assert is_signed(new, **facts)
    assert not is_signed(old, **facts)
