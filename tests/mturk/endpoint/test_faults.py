"""Faults that are ordered: what a client sees, and what the endpoint has done meanwhile."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, HTTPClientError, ReadTimeoutError

from tests import patience
from tests.mturk.emulated import HIT, Emulator, refused


@pytest.fixture
def faulty(own: Emulator):  # type: ignore[no-untyped-def]
    yield own
    own.do("faults", faults=[])


def order(own: Emulator, **fault: Any) -> None:
    own.do("faults", faults=[fault])


def count(own: Emulator) -> int:
    return int(own.client.list_hits(MaxResults=100)["NumResults"])


@pytest.mark.parametrize(
    ("kind", "effect"),
    [("throttle", 0), ("error_before", 0), ("error_after", 1), ("drop_before", 0), ("drop_after", 1)],
)
def test_a_fault_comes_before_or_after_the_effect(faulty: Emulator, kind: str, effect: int) -> None:
    order(faulty, kind=kind, operation="CreateHIT")
    with pytest.raises((ClientError, ConnectionClosedError, HTTPClientError)) as told:
        faulty.client.create_hit(**HIT)
    if kind == "throttle":
        assert "(ThrottlingException)" in str(told.value)
        assert "Rate exceeded" in str(told.value)
    elif kind.startswith("error"):
        assert isinstance(told.value, ClientError)
        assert told.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
    else:
        assert isinstance(told.value, ConnectionClosedError)
    assert count(faulty) == effect
    assert faulty.hit()["HITStatus"] == "Assignable"  # the next call is a good one


@pytest.mark.parametrize("kind", ["error_after", "drop_after", "throttle", "error_before"])
def test_endpoint_retry_creates_one_hit_and_bonus(faulty: Emulator, kind: str) -> None:
    """A client that tries again creates one HIT with a token and pays one bonus."""
    eager = faulty.client_of(faulty.key, retries={"total_max_attempts": 3})
    order(faulty, kind=kind, operation="CreateHIT")
    with refused(faulty, "HitAlreadyExists") if kind.endswith("after") else nullcontext():
        eager.create_hit(**HIT, UniqueRequestToken=kind)
    assert count(faulty) == 1
    (worker,) = faulty.workers()
    work = faulty.submitted(faulty.client.list_hits()["HITs"][0]["HITId"], worker)
    order(faulty, kind=kind, operation="SendBonus")
    given = {"WorkerId": worker, "AssignmentId": work, "BonusAmount": "1", "Reason": "r", "UniqueRequestToken": "b"}
    with refused(faulty, "DuplicateRequest") if kind.endswith("after") else nullcontext():
        eager.send_bonus(**given)
    assert len(faulty.client.list_bonus_payments(AssignmentId=work)["BonusPayments"]) == 1


def test_without_a_token_a_retry_creates_twice(faulty: Emulator) -> None:
    """The trap that the fault is there to show."""
    eager = faulty.client_of(faulty.key, retries={"total_max_attempts": 3})
    order(faulty, kind="drop_after", operation="CreateHIT")
    eager.create_hit(**HIT)
    assert count(faulty) == 2


def test_an_answer_may_come_too_late(faulty: Emulator) -> None:
    order(faulty, kind="slow", operation="CreateHIT", seconds=1.5)
    hasty = faulty.client_of(faulty.key, read_timeout=0.2)
    with pytest.raises(ReadTimeoutError):
        hasty.create_hit(**HIT)
    deadline = time.monotonic() + patience.SECONDS
    while not count(faulty) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert count(faulty) == 1


def test_every_nth_call_of_any_operation(faulty: Emulator) -> None:
    order(faulty, kind="throttle", skip=1, every=3, times=2)
    seen = []
    for _ in range(8):
        try:
            faulty.client.get_account_balance()
            seen.append("good")
        except ClientError as told:
            seen.append(told.response["Error"]["Code"])
    assert [number for number, one in enumerate(seen) if one == "ThrottlingException"] == [1, 4]


@pytest.mark.parametrize(
    "fault", [{"kind": "nonsense"}, {"kind": "throttle", "every": 0}, {"kind": "throttle", "x": 1}], ids=str
)
def test_an_order_that_says_nothing_clear_is_refused(faulty: Emulator, fault: dict[str, Any]) -> None:
    answer = faulty.control.post("faults", json={"faults": [fault]})
    assert answer.status_code == 400
    assert "fault" in answer.json()["error"]


def test_no_page_in_a_browser_reaches_the_controls(faulty: Emulator) -> None:
    """A form or a simple request of another origin cannot say that it sends JSON."""
    answer = faulty.control.post("clock", content=b'{"advance": 1}', headers={"content-type": "text/plain"})
    assert answer.status_code == 415


def test_the_clock_never_goes_back(faulty: Emulator) -> None:
    before = faulty.clock()
    assert faulty.control.post("clock", json={"advance": -1}).status_code == 400
    assert faulty.clock() == before
    with refused(faulty, "HITDoesNotExist"):
        faulty.client.get_hit(HITId="3NOSUCH")
