"""Each HIT, review and payment once: with every fault at every call, kills in between, and tokens too old to send.

``faults.md`` shows what is proved here as a table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest

from mturk import idempotent_calls as once_module
from mturk import replies
from mturk.bonuses import MTurkBonusPayer
from tests.mturk.studies import Bench

FAULTS = ("throttle", "error_before", "drop_before", "error_after", "drop_after")  # the last two took effect


class Killed(BaseException):
    """The process is gone; nothing catches it."""


def order(bench: Bench, kind: str, operation: str, **more: Any) -> None:
    """Order one fault in the stead of those before."""
    bench.emulator.do("faults", faults=[{"kind": kind, "operation": operation, **more}])


def order_all(bench: Bench, operation: str) -> None:
    """Order every fault, one call after the other: three tries of the first call, its fourth, the second call."""
    orders = [{"kind": kind, "operation": operation, "skip": place} for place, kind in enumerate(FAULTS)]
    bench.emulator.do("faults", faults=orders)


def faults_left(bench: Bench) -> int:
    """Return how many ordered faults did not strike."""
    return len(bench.emulator.control.get("state").json()["faults"])


def entries(bench: Bench, kind: str) -> list[Mapping[str, Any]]:
    """Return the rows of the endpoint's ledger of one kind."""
    return [one for one in bench.emulator.control.get("ledger").json()["entries"] if one["kind"] == kind]


def handed_in(bench: Bench) -> list[str]:
    """Publish, let everybody answer, and collect; returns the endpoint's ids of the submissions."""
    bench.run("publish", "--yes")
    workers = bench.emulator.workers(3, country="US")
    done = [bench.answer(hit["HITId"], worker) for hit, worker in zip(bench.hits(), workers, strict=True)]
    bench.run("collect")
    return done


@pytest.fixture
def kill_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Return a switch: die before or after the next call of an operation took effect, before anything is noted."""
    real = replies.call

    def switch(operation: str, moment: str) -> None:
        def dying(method: Callable[..., Mapping[str, Any]], parameters: Mapping[str, Any]) -> replies.MTurkReply:
            if method.__name__ != operation:
                return real(method, parameters)
            monkeypatch.setattr(once_module, "call", real)
            if moment == "after":
                real(method, parameters)
            raise Killed

        monkeypatch.setattr(once_module, "call", dying)

    yield switch
    monkeypatch.setattr(once_module, "call", real)


@pytest.mark.parametrize("operation", ["CreateHITWithHITType", "CreateQualificationType", "CreateHITType"])
def test_faults_while_publishing_make_each_hit_once(bench: Bench, operation: str) -> None:
    order_all(bench, operation)
    while bench.run_any("publish", "--yes") != 0:  # a call without a token is given up, and made again by hand
        pass
    if operation == "CreateHITWithHITType":
        assert faults_left(bench) == 0
    assert len({hit["RequesterAnnotation"] for hit in bench.hits()}) == len(bench.hits()) == 3
    assert bench.json("publish", "--yes")["made"] == []
    assert bench.json("status")["unfinished_calls"] == 0


def test_a_hit_that_is_not_listed_yet_is_known_by_its_token(bench: Bench) -> None:
    bench.emulator.do("rules", lag=10**9)  # what is new shows in no list
    order(bench, "drop_after", "CreateHITWithHITType", times=2)
    bench.run("publish", "--yes")
    bench.emulator.do("rules", lag=0)
    assert len(bench.hits()) == 3
    assert bench.json("publish", "--yes")["made"] == []


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_while_publishing_makes_each_hit_once(
    bench: Bench, kill_at: Callable[[str, str], None], moment: str
) -> None:
    for operation in ("create_qualification_type", "create_hit_with_hit_type", "create_hit_with_hit_type"):
        kill_at(operation, moment)
        with pytest.raises(Killed):
            bench.run("publish", "--yes")
    bench.run("publish", "--yes")
    assert len(bench.hits()) == 3
    assert bench.json("status")["unfinished_calls"] == 0
    assert (
        len(
            bench.emulator.client.list_qualification_types(
                MustBeRequestable=False, MustBeOwnedByCaller=True, Query="Took part"
            )["QualificationTypes"]
        )
        == 1
    )


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_token_too_old_is_never_sent_again(
    bench: Bench, kill_at: Callable[[str, str], None], moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A day later the endpoint has forgotten the token: the HIT is looked for, and only if absent made anew."""
    kill_at("create_hit_with_hit_type", moment)
    with pytest.raises(Killed):
        bench.run("publish", "--yes")
    day = 25 * 3600
    bench.emulator.advance(day)
    monkeypatch.setitem(once_module.IdempotentMTurkCalls.__init__.__kwdefaults__, "clock", lambda: time.time() + day)
    bench.run("publish", "--yes")
    assert len(bench.hits()) == 3
    outcomes = [line.split()[3] for line in bench.run("journal").stdout.splitlines() if "a00001" in line]
    assert outcomes == (["done"] if moment == "after" else ["lapsed", "done"])


def test_faults_while_reviewing_pay_each_submission_once(bench: Bench) -> None:
    handed_in(bench)
    order_all(bench, "ApproveAssignment")
    assert bench.json("approve", "--yes")["approved"] == 3
    assert faults_left(bench) == 0
    assert len(entries(bench, "reward")) == 3
    assert bench.json("status")["collected"] == {"Approved": 3}


def test_faults_while_paying_pay_each_bonus_once(bench: Bench) -> None:
    done = handed_in(bench)
    named = [argument for one in done for argument in ("--assignment", one)]
    paid = ("bonus", *named, "--amount", "0.25", "--reason", "Thank you for the care.", "--yes")
    order_all(bench, "SendBonus")
    assert bench.json(*paid)["paid"] == 3
    assert faults_left(bench) == 0
    assert bench.json(*paid)["paid"] == 0
    assert [one["amount"] for one in entries(bench, "bonus")] == ["0.25"] * 3


def test_a_bonus_whose_answer_never_comes_is_not_paid_twice(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    done = handed_in(bench)
    paid = ("bonus", "--assignment", done[0], "--amount", "0.25", "--reason", "Thank you.", "--yes")
    with monkeypatch.context() as lagging:
        lagging.setattr(
            MTurkBonusPayer, "_find", lambda self, bonus, token: None
        )  # nor does it show in the list of payments
        order(bench, "drop_after", "SendBonus", times=100)
        assert "nobody knows whether it took effect" in bench.run(*paid, code=1).stderr
        bench.emulator.do("faults", faults=[])
        refused = bench.run(*paid, code=1).stderr  # the repeat of a token is refused, which proves nothing
        assert "the endpoint refused" in refused
        assert bench.json("status")["unfinished_calls"] == 1
    assert bench.json(*paid)["paid"] == 1
    assert len(entries(bench, "bonus")) == 1


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_while_paying_pays_once(bench: Bench, kill_at: Callable[[str, str], None], moment: str) -> None:
    done = handed_in(bench)
    kill_at("approve_assignment", moment)
    with pytest.raises(Killed):
        bench.run("approve", "--yes")
    bench.run("approve", "--yes")
    assert len(entries(bench, "reward")) == 3
    paid = ["bonus", "--assignment", done[0], "--amount", "0.25", "--reason", "Thank you.", "--yes"]
    kill_at("send_bonus", moment)
    with pytest.raises(Killed):
        bench.run(*paid)
    other = ["1.00" if argument == "0.25" else argument for argument in paid]
    assert "repeat it as it was" in bench.run(*other, code=1).stderr
    bench.run(*paid)
    assert bench.json(*paid)["paid"] == 0
    assert len(entries(bench, "bonus")) == 1
    bench.run(*paid, "--purpose", "second")
    assert len(entries(bench, "bonus")) == 2


def test_faults_while_extending_add_places_once(bench: Bench) -> None:
    bench.run("publish", "--yes")
    order_all(bench, "CreateAdditionalAssignmentsForHIT")
    bench.run("extend", "--assignments", "2", "--yes")
    assert faults_left(bench) == 0
    assert {hit["MaxAssignments"] for hit in bench.hits()} == {3}
    assert bench.json("extend", "--assignments", "2", "--yes")["cost"] == str(Decimal("7.20"))
    assert {hit["MaxAssignments"] for hit in bench.hits()} == {5}
    assert "from ten on another fee holds" in bench.run("extend", "--assignments", "5", "--yes", code=1).stderr


def test_a_message_that_may_have_arrived_is_not_sent_again(bench: Bench) -> None:
    handed_in(bench)
    bench.run("approve", "--yes")
    message = ("notify", "--subject", "Part two", "--text", "It is open.", "--yes")
    order(bench, "drop_after", "NotifyWorkers")
    assert "nobody knows" in bench.run(*message, code=1).stderr
    assert bench.json(*message) == {"annotators": 3, "failed": {}, "unknown": 3, "sent": 0, "before": 0}
    assert bench.json(*message, "--again")["sent"] == 3
    assert bench.json(*message)["before"] == 3
