"""Events as HTTP posts: what is sent, signed, tried again, and where nothing is ever sent."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import delete, select

from mturk.endpoint.schema import deliveries
from mturk.endpoint.webhooks import WAITS, check_destination, deliver_due, hook_secret, new_client
from spa.server.http_server import serve_on_loopback
from tests.mturk.emulated import Emulator, emulator, refused

ALL = [
    "AssignmentAccepted",
    "AssignmentAbandoned",
    "AssignmentReturned",
    "AssignmentSubmitted",
    "AssignmentRejected",
    "AssignmentApproved",
    "HITCreated",
    "HITExpired",
    "HITReviewable",
    "HITExtended",
    "HITDisposed",
]


@dataclass
class Receiver:
    """A server that takes events and answers what it is told."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)  # of the next answers; then 200
    taken: list[tuple[str, bytes]] = field(default_factory=list)

    async def take(self, request: Request) -> Response:
        """Keep what came."""
        self.taken.append((request.headers["x-spa-signature"], await request.body()))
        status = self.statuses.pop(0) if self.statuses else 200
        return RedirectResponse(f"{self.url}/elsewhere") if status == 307 else Response(status_code=status)

    @property
    def events(self) -> list[dict[str, Any]]:
        """Return the events, in the order in which they came."""
        return [event for _, body in self.taken for event in json.loads(body)["Events"]]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with emulator(tmp_path_factory.mktemp("hooks") / "lab.sqlite", private_hooks=True) as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_on_its_way(lab: Emulator) -> None:
    """Forget what an earlier test left to be delivered."""
    lab.endpoint.call(lambda tx: tx.connection.execute(delete(deliveries)))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made, app = Receiver(), FastAPI()
    app.add_api_route("/{path:path}", made.take, methods=["POST", "GET"], response_model=None)
    with serve_on_loopback(app) as url:
        made.url = url
        yield made


def deliver(place: Emulator, *, later: float = 0.0) -> int:
    """Send what is due now, or after some seconds of this machine's clock."""
    with new_client() as client:
        return deliver_due(place.endpoint, place.host_key, client, wall=lambda: time.time() + later)


def told(place: Emulator, url: str, hit_type: str, events: list[str] = ALL, **more: Any) -> None:
    spec = {"Destination": url, "Transport": "SQS", "Version": "2006-05-05", "EventTypes": events}
    place.client.update_notification_settings(HITTypeId=hit_type, Notification=spec, **more)


def outcomes(place: Emulator) -> list[tuple[int, str | None, bool]]:
    """Return attempts, outcome, and whether another attempt will be made, of every event."""
    rows = place.endpoint.call(lambda tx: tx.connection.execute(select(deliveries).order_by(deliveries.c.number)).all())
    return [(row.attempts, row.outcome, row.next_at is not None) for row in rows]


def test_every_event_of_a_life_is_told_once_in_order(lab: Emulator, receiver: Receiver) -> None:
    hit = lab.hit(Title="before", MaxAssignments=2, LifetimeInSeconds=3600)
    told(lab, receiver.url + "/in?x=1", hit["HITTypeId"])
    hit_id = lab.hit(Title="before", MaxAssignments=2, LifetimeInSeconds=3600)["HITId"]
    first, second = lab.workers(2)
    lab.do("return", worker_id=first, assignment_id=lab.accept(first, hit_id))
    one = lab.submitted(hit_id, first)
    lab.accept(second, hit_id)
    lab.advance(600)
    lab.client.approve_assignment(AssignmentId=one)
    lab.client.create_additional_assignments_for_hit(HITId=hit_id, NumberOfAdditionalAssignments=1)
    two = lab.submitted(hit_id, second)
    lab.client.reject_assignment(AssignmentId=two, RequesterFeedback="no")
    lab.client.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=0)
    lab.advance(3000)
    lab.client.delete_hit(HITId=hit_id)
    while deliver(lab):
        pass
    mine = [event for event in receiver.events if event["HITId"] == hit_id]
    assert [event["EventType"] for event in mine] == [
        "HITCreated",
        "AssignmentAccepted",
        "AssignmentReturned",
        "AssignmentAccepted",
        "AssignmentSubmitted",
        "AssignmentAccepted",
        "AssignmentAbandoned",
        "AssignmentApproved",
        "HITExtended",
        "AssignmentAccepted",
        "AssignmentSubmitted",
        "AssignmentRejected",
        "HITReviewable",
        "HITExpired",
        "HITDisposed",
    ]
    assert {event["HITTypeId"] for event in mine} == {hit["HITTypeId"]}
    assert mine[4]["AssignmentId"] == one
    assert mine[4]["EventTimestamp"] == "2027-01-15T08:00:00+00:00"
    others = [event["EventType"] for event in receiver.events if event["HITId"] == hit["HITId"]]
    assert others == ["HITReviewable", "HITExpired"]
    documents = [json.loads(body)["EventDocId"] for _, body in receiver.taken]
    assert len(documents) == len(set(documents))
    assert deliver(lab) == 0


def test_an_event_is_signed_with_the_requesters_own_secret(lab: Emulator, receiver: Receiver) -> None:
    spec = {"Destination": receiver.url, "Transport": "SNS", "Version": "2006-05-05", "EventTypes": ["HITExpired"]}
    lab.client.send_test_event_notification(Notification=spec, TestEventType="Ping")
    assert deliver(lab) == 1
    ((signature, body),) = receiver.taken
    at, digest = (part.partition("=")[2] for part in signature.split(","))
    secret = hook_secret(lab.host_key, lab.key.requester_id)
    assert secret == lab.key.hook_secret
    assert hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest() == digest
    assert json.loads(body)["CustomerId"] == lab.key.requester_id
    assert receiver.events[0]["EventType"] == "Ping"


def test_what_is_not_taken_is_tried_again_and_at_last_given_up(lab: Emulator, receiver: Receiver) -> None:
    receiver.statuses = [500, 307, 404]
    spec = {"Destination": receiver.url, "Transport": "SQS", "Version": "2006-05-05", "EventTypes": ["HITExpired"]}
    lab.client.send_test_event_notification(Notification=spec, TestEventType="Ping")
    assert deliver(lab) == 1
    assert outcomes(lab)[-1] == (1, "it answered 500", True)
    assert deliver(lab) == 0  # not before its time
    for attempt, answered in enumerate(("it answered 307", "it answered 404", "delivered"), start=1):
        assert deliver(lab, later=100_000 * attempt) == 1
        assert outcomes(lab)[-1][1] == answered
    assert len(receiver.taken) == 4  # the redirect was not followed
    assert outcomes(lab)[-1] == (4, "delivered", False)
    receiver.statuses = [500] * 20
    lab.client.send_test_event_notification(Notification=spec, TestEventType="Ping")
    for attempt in range(1, len(WAITS) + 2):
        assert deliver(lab, later=100_000 * attempt) == 1
    assert outcomes(lab)[-1] == (len(WAITS) + 1, "given up: it answered 500", False)


def test_nobody_there_stops_nothing(lab: Emulator) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    spec = {"Destination": url, "Transport": "SQS", "Version": "2006-05-05", "EventTypes": ["HITExpired"]}
    lab.client.send_test_event_notification(Notification=spec, TestEventType="Ping")
    assert deliver(lab) == 1
    attempts, outcome, again = outcomes(lab)[-1]
    assert (attempts, again) == (1, True)
    assert "ConnectError" in str(outcome)


def test_switching_off_and_on_and_choosing_events(lab: Emulator, receiver: Receiver) -> None:
    hit_type = lab.hit(Title="switched")["HITTypeId"]
    with refused(lab, "ParameterValidationError"):
        lab.client.update_notification_settings(HITTypeId=hit_type, Active=True)  # there is none yet
    with refused(lab, "ParameterValidationError"):
        lab.client.update_notification_settings(HITTypeId=hit_type)
    told(lab, receiver.url, hit_type, ["HITCreated"], Active=False)
    lab.hit(Title="switched")
    lab.client.update_notification_settings(HITTypeId=hit_type, Active=True)
    shown = lab.hit(Title="switched")["HITId"]
    lab.client.update_expiration_for_hit(HITId=shown, ExpireAt=0)
    lab.client.update_notification_settings(HITTypeId=hit_type, Active=False)
    lab.hit(Title="switched")
    assert deliver(lab) == 1
    assert [(event["EventType"], event["HITId"]) for event in receiver.events] == [("HITCreated", shown)]


@pytest.mark.parametrize(
    "change",
    [
        {"Version": "2014-08-15"},
        {"EventTypes": ["Ping"]},
        {"EventTypes": []},
        {"EventTypes": ["Nonsense"]},
        {"Transport": "Fax"},
    ],
    ids=str,
)
def test_specifications_that_cannot_be_used_are_refused(lab: Emulator, change: dict[str, Any]) -> None:
    hit_type = lab.hit(Title="refused")["HITTypeId"]
    spec = {
        "Destination": "http://127.0.0.1:1/",
        "Transport": "SQS",
        "Version": "2006-05-05",
        "EventTypes": ["HITExpired"],
    }
    with refused(lab, "ParameterValidationError"):
        lab.client.update_notification_settings(HITTypeId=hit_type, Notification=spec | change)


@pytest.mark.parametrize(
    ("transport", "destination"),
    [("Email", "lab@example.org"), ("SNS", "arn:aws:sns:us-east-1:123456789012:t"), ("Email", "https://example.org/")],
)
def test_transports_that_are_left_out_name_the_one_that_is_there(
    lab: Emulator, transport: str, destination: str
) -> None:
    spec = {"Destination": destination, "Transport": transport, "Version": "2006-05-05", "EventTypes": ["HITExpired"]}
    with refused(lab, "SpaEndpoint.NotSupported") as answer:
        lab.client.send_test_event_notification(Notification=spec, TestEventType="Ping")
    assert "set Transport to SQS and Destination to a URL" in answer.value.response["Message"]


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/",
        "https://localhost/",
        "https://127.1/",
        "https://0x7f000001/",
        "https://2130706433/",
        "https://0.0.0.0/",
        "https://10.1.2.3/",
        "https://192.168.1.1/",
        "https://100.64.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://224.0.0.1/",
        "https://[::1]/",
        "https://[fe80::1]/",
        "https://[fd00::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[::ffff:127.0.0.1]:8443/x",
        "https://[2002:7f00:1::]/",
        "http://93.184.216.34/",
        "https://user:secret@93.184.216.34/",
        "ftp://93.184.216.34/",
        "https://",
        "https://[::1/",
        "https://93.184.216.34:99999/",
    ],
)
def test_nothing_is_sent_into_the_hosts_own_network(url: str) -> None:
    assert check_destination(url, private=False) is not None


def test_public_addresses_are_allowed() -> None:
    assert check_destination("https://93.184.216.34/hook?x=1", private=False) is None
    assert check_destination("https://[2606:2800:220:1:248:1893:25c8:1946]/", private=False) is None


def test_hooks_resolve_names_before_each_post(
    lab: Emulator, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that was public when it was entered, and leads home when the event is sent."""
    port = int(receiver.url.rpartition(":")[2])
    leads_to = ["93.184.216.34"]
    real = socket.getaddrinfo

    def look_up(host: str, *rest: Any, **more: Any) -> Any:
        if host != "hooks.example.org":
            return real(host, *rest, **more)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (leads_to[0], port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    url = f"https://hooks.example.org:{port}/"
    assert check_destination(url, private=False) is None
    leads_to[0] = "127.0.0.1"
    lab.endpoint.change_rules(private_hooks=False)
    try:
        spec = {"Destination": url, "Transport": "SQS", "Version": "2006-05-05", "EventTypes": ["HITExpired"]}
        with refused(lab, "InvalidTransportEndpoint"):
            lab.client.send_test_event_notification(Notification=spec, TestEventType="Ping")
        leads_to[0] = "93.184.216.34"
        lab.client.send_test_event_notification(Notification=spec, TestEventType="Ping")
        leads_to[0] = "127.0.0.1"
        assert deliver(lab) == 1
    finally:
        lab.endpoint.change_rules(private_hooks=True)
    assert "private network" in str(outcomes(lab)[-1][1])
    assert receiver.taken == []


def test_an_answer_of_any_size_is_not_read(lab: Emulator) -> None:
    """A receiver that never stops talking holds nothing up."""
    app = FastAPI()

    async def talk(request: Request) -> Response:
        from fastapi.responses import StreamingResponse

        async def forever() -> Any:
            while not await request.is_disconnected():
                yield b"x" * 65_536

        return StreamingResponse(forever())

    app.add_api_route("/", talk, methods=["POST"], response_model=None)
    with serve_on_loopback(app) as url:
        spec = {"Destination": url, "Transport": "SQS", "Version": "2006-05-05", "EventTypes": ["HITExpired"]}
        lab.client.send_test_event_notification(Notification=spec, TestEventType="Ping")
        assert deliver(lab) == 1
    assert outcomes(lab)[-1] == (1, "delivered", False)


def test_the_client_follows_no_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with new_client() as client:
        assert isinstance(client, httpx2.Client)
        assert not client.trust_env
