"""Budgets, fees, bonuses and the ledger: what is owed is what was approved."""

from __future__ import annotations

import csv
import io
import json
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

from spa.cli import main
from tests.mturk.emulated import Emulator, emulator, pages_of, refused

DAY = 86_400


def balance(own: Emulator) -> tuple[str, str]:
    found = own.client.get_account_balance()
    return found["AvailableBalance"], found["OnHoldBalance"]


def rows(own: Emulator) -> list[dict[str, object]]:
    """Return the ledger of this requester."""
    found = own.control.get("ledger").json()["entries"]
    return [row for row in found if row["requester_id"] == own.key.requester_id]


def test_a_hit_binds_what_it_may_cost_and_frees_what_it_does_not(own: Emulator) -> None:
    assert balance(own) == ("10000.00", "0.00")
    hit_id = own.hit(MaxAssignments=3, LifetimeInSeconds=3600)["HITId"]
    assert balance(own) == ("9998.20", "1.80")
    first, second = own.workers(2)
    one, two = own.submitted(hit_id, first), own.submitted(hit_id, second)
    assert balance(own) == ("9998.20", "1.80")
    own.client.approve_assignment(AssignmentId=one)
    assert balance(own) == ("9998.20", "1.20")
    own.client.reject_assignment(AssignmentId=two, RequesterFeedback="blank")
    assert balance(own) == ("9998.80", "0.60")
    own.advance(3600)
    assert balance(own) == ("9999.40", "0.00")


@pytest.mark.parametrize(
    ("reward", "maximum", "masters", "fee"),
    [
        ("1.00", 9, False, "0.20"),
        ("1.00", 10, False, "0.40"),
        ("1.00", 9, True, "0.25"),
        ("0.01", 1, False, "0.01"),
        ("0.07", 1, False, "0.01"),
        ("0.08", 1, False, "0.02"),
        ("0.50", 1, True, "0.13"),
    ],
)
def test_fees_are_those_of_the_price_list(own: Emulator, reward: str, maximum: int, masters: bool, fee: str) -> None:
    """0.25 of 0.50 is 12.5 cents, rounded half up; the rates are worked by hand and computed again here."""
    rate = Decimal("0.20") + (Decimal("0.20") if maximum >= 10 else 0) + (Decimal("0.05") if masters else 0)
    exact = (Decimal(reward) * rate).quantize(Decimal("0.01"), ROUND_HALF_UP)
    assert str(max(exact, Decimal("0.01"))) == fee
    asked = [{"QualificationTypeId": "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH", "Comparator": "Exists"}] if masters else []
    hit_id = own.hit(Reward=reward, MaxAssignments=maximum, QualificationRequirements=asked)["HITId"]
    (worker,) = own.workers(masters=masters)
    own.client.approve_assignment(AssignmentId=own.submitted(hit_id, worker))
    assert [(row["amount"], row["fee"]) for row in rows(own)] == [(reward, fee)]


def test_no_more_is_promised_than_the_budget_holds(place: Emulator) -> None:
    with place.seen_by("thrifty", budget=200) as own:
        first = own.hit(MaxAssignments=3)["HITId"]  # 1.80 of 2.00
        with refused(own, "InsufficientFunds") as told:
            own.hit(MaxAssignments=1)
        assert "0.60 US dollars with fees, and 0.20 are available" in told.value.response["Message"]
        with refused(own, "InsufficientFunds"):
            own.client.create_additional_assignments_for_hit(HITId=first, NumberOfAdditionalAssignments=1)
        (worker,) = own.workers()
        work = own.submitted(first, worker)
        with refused(own, "InsufficientFunds"):
            own.client.send_bonus(WorkerId=worker, BonusAmount="0.50", AssignmentId=work, Reason="fast")
        own.do("fund", name="thrifty", amount="-1.50")
        with refused(own, "InsufficientFunds"):
            own.client.approve_assignment(AssignmentId=work)
        assert own.client.get_assignment(AssignmentId=work)["Assignment"]["AssignmentStatus"] == "Submitted"
        own.do("fund", name="thrifty", amount="1.50")
        own.client.approve_assignment(AssignmentId=work)


def test_what_time_approves_is_owed_whatever_the_budget(place: Emulator) -> None:
    with place.seen_by("careless", budget=60) as own:
        (worker,) = own.workers()
        own.submitted(own.hit(MaxAssignments=1, AutoApprovalDelayInSeconds=60)["HITId"], worker)
        own.do("fund", name="careless", amount="-0.60")
        own.advance(60)
        assert [row["amount"] for row in rows(own)] == ["0.50"]
        assert balance(own)[0] == "0.00"


def test_a_bonus_is_owed_once_a_token(own: Emulator) -> None:
    hit_id = own.hit()["HITId"]
    (worker,) = own.workers()
    work = own.submitted(hit_id, worker)
    given = {"WorkerId": worker, "BonusAmount": "1.05", "AssignmentId": work, "Reason": "Fast & good."}
    own.client.send_bonus(**given, UniqueRequestToken="one")
    with refused(own, "DuplicateRequest") as told:
        own.client.send_bonus(**given, UniqueRequestToken="one")
    assert 'The idempotency token "one" has already been processed' in told.value.response["Message"]
    own.client.send_bonus(**given, UniqueRequestToken="two")
    listed = pages_of(own.client, "list_bonus_payments", "BonusPayments", AssignmentId=work)
    assert [(paid["BonusAmount"], paid["Reason"], paid["WorkerId"]) for paid in listed] == [
        ("1.05", "Fast & good.", worker)
    ] * 2
    assert len(own.client.list_bonus_payments(HITId=hit_id)["BonusPayments"]) == 2
    own.advance(DAY)
    own.client.send_bonus(**given, UniqueRequestToken="one")  # after a day it is another bonus
    assert [(row["kind"], row["amount"], row["fee"]) for row in rows(own)] == [("bonus", "1.05", "0.21")] * 3


def test_endpoint_bonus_needs_recent_work(own: Emulator) -> None:
    """A bonus is for work that was submitted by this worker lately."""
    hit_id = own.hit()["HITId"]
    first, second = own.workers(2)
    held = own.accept(first, hit_id)
    given = {"WorkerId": first, "BonusAmount": "1", "AssignmentId": held, "Reason": "r"}
    with refused(own, "AssignmentDoesNotExist"):
        own.client.send_bonus(**given)
    own.submit(first, held)
    with refused(own, "ParameterValidationError"):
        own.client.send_bonus(**{**given, "WorkerId": second})
    with refused(own, "ParameterValidationError"):
        own.client.send_bonus(**{**given, "BonusAmount": "0.00"})
    with refused(own, "ParameterValidationError"):
        own.client.list_bonus_payments()
    own.advance(184 * DAY)
    with refused(own, "InvalidAssignmentState"):
        own.client.send_bonus(**given)
    assert [row["kind"] for row in rows(own)] == ["reward"]  # which time approved


def test_the_host_issues_keys_grants_and_exports_for_payroll(tmp_path: Path) -> None:
    store = str(tmp_path / "lab.sqlite")

    def run(*words: str) -> str:
        result = CliRunner().invoke(main, ["mturk", *words, "--store", store])
        assert result.exit_code == 0, result.output
        return result.output

    issued = json.loads(run("keys", "add", "lab", "--budget", "5", "--json"))
    assert issued["secret_access_key"] in run("keys", "add", "=lab") or len(issued["secret_access_key"]) == 40
    listed = run("keys", "list")
    assert issued["access_key_id"] in listed
    assert issued["secret_access_key"] not in listed
    assert "can now spend 6.50 US dollars" in run("fund", "lab", "1.50", "--note", "grant 17")
    left = {"requester": "lab", "left_amount": "7.50", "currency": "USD"}
    assert json.loads(run("fund", "lab", "1.00", "--json")) == left
    with emulator(store, fees="none") as place:
        client = place.client_of(place.requester("=lab", budget=1000))
        assert client.get_account_balance()["AvailableBalance"] == "10.00"
        with place.seen_by("=lab") as own:
            (worker,) = own.workers(name="=Ada")
            own.client.approve_assignment(AssignmentId=own.submitted(own.hit()["HITId"], worker))
    assert run("ledger", "--format", "json") == run("ledger", "--json")
    (row,) = json.loads(run("ledger", "--json"))
    assert (row["worker"], row["amount"], row["fee"], row["at"]) == (
        "=Ada",
        "0.50",
        "0.00",
        "2027-01-15T08:00:00+00:00",
    )
    (line,) = csv.DictReader(io.StringIO(run("ledger", "--since", "2027-01-15")))
    assert (line["worker"], line["requester"], line["amount"]) == ("'=Ada", "'=lab", "0.50")
    assert list(csv.DictReader(io.StringIO(run("ledger", "--since", "2027-01-16")))) == []
    revoked = run("keys", "revoke", issued["access_key_id"], "--json")
    assert json.loads(revoked) == {"revoked": issued["access_key_id"]}
    failed = CliRunner().invoke(main, ["mturk", "fund", "nobody", "1", "--store", store])
    assert failed.exit_code == 1
    assert "there is no requester 'nobody'" in failed.output
