"""Bonuses: two steps, each once, whatever breaks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from spa.platforms.review import unpaid_bonuses
from spa.responses.decisions import Decision, add_decision
from tests.prolific.conftest import running
from tests.prolific.running_study import Running, Visitor, running_study


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, list[Visitor]]]:
    """Yield a study with three people who were approved."""
    folder = tmp_path_factory.mktemp("bonuses")
    with running(folder / "platform.sqlite") as emulator, running_study(folder, emulator, places=3) as study:
        study_id = study.publish()
        visitors = [study.complete(study_id) for _ in range(3)]
        study.spa("approve", yes=True)
        yield study, visitors


def listed(path: Path, *lines: str) -> str:
    path.write_text("\n".join(["recipient,amount,reason", *lines]) + "\n")
    return str(path)


def paid_times(study: Running, reason_amount: int) -> Counter[str]:
    return Counter(one["submission_id"] for one in study.emulator.people.payments() if one["cents"] == reason_amount)


def test_a_bonus_is_priced_first_and_paid_once_for_a_reason(
    paid: tuple[Running, list[Visitor]], tmp_path: Path
) -> None:
    study, (one, two, _) = paid
    file = listed(tmp_path / "b.csv", f"{one.submission_id},1.50,good reasons", f"{two.person},1.50,good reasons")
    told = study.spa("bonus", "--from", file).output
    assert "bonuses USD 3.00, fees USD 1.00, taxes USD 0.00, total USD 4.00" in told
    facts = study.json("bonus", "--from", file)
    (session,) = facts.pop("sessions")
    assert (session["total_amount"], session["paid"]) == ("4.00", 0)
    assert facts.pop("list")[0] == {"submission_id": one.submission_id, "amount": "1.50", "reason": "good reasons"}
    assert facts == {"bonuses": 2, "paid_before": 0, "to_pay": 2, "currency": "USD", "corrected": []}
    assert paid_times(study, 150) == {}
    done = study.spa("bonus", "--from", file, "--json", yes=True)
    assert json.loads(done.stdout)["sessions"] == [session | {"paid": 2}]
    assert "2 bonuses, 0 already paid, 2 to pay" in done.stderr
    assert paid_times(study, 150) == {one.submission_id: 1, two.submission_id: 1}
    *earlier, set_up, pay = study.json("journal")
    (create,) = [call for call in earlier if call["key"].startswith("create study")]
    assert (create["reward_amount"], create["request"]["reward"]) == ("2.00", 200)
    assert (set_up["currency"], set_up["bonuses_amount"], set_up["total_amount"]) == ("USD", "3.00", "4.00")
    assert set_up["bonus_amounts"] == {one.submission_id: "1.50", two.submission_id: "1.50"}
    assert set_up["request"]["amounts"] == {one.submission_id: 150, two.submission_id: 150}
    assert pay["bonus_amounts"] == {f"{who.submission_id} good reasons": "1.50" for who in (one, two)}
    assert "2 already paid, 0 to pay" in study.spa("bonus", "--from", file, yes=True).output
    assert paid_times(study, 150) == {one.submission_id: 1, two.submission_id: 1}


def test_bonus_decided_is_owed_until_paid(paid: tuple[Running, list[Visitor]]) -> None:
    """A bonus that a reviewer decided is owed until it is paid."""
    study, (one, *_) = paid
    store = study.workspace.store
    visit = store.visits.find("prolific", one.submission_id)
    assert visit is not None
    with store.transaction() as connection:
        decision = Decision(
            submission_id=visit.submission_id,
            action="bonus",
            reviewer="Ana",
            decided_at=0.0,
            note="Explained with care.",
            amount=Decimal("0.70"),
        )
        add_decision(connection, decision)
    assert [bonus.amount for bonus in unpaid_bonuses(store)] == [Decimal("0.70")]
    study.spa("bonus", "--decided", yes=True)
    assert paid_times(study, 70) == {one.submission_id: 1}
    assert unpaid_bonuses(store) == []


def test_bonus_corrected_amount_pays_the_difference(paid: tuple[Running, list[Visitor]], tmp_path: Path) -> None:
    """A corrected amount is told and its difference paid under a reason of its own."""
    study, (one, two, _) = paid
    before = len(study.emulator.people.payments())
    lines = [f"{who.submission_id},0.51,care" for who in (one, two)]
    study.spa("bonus", "--from", listed(tmp_path / "b.csv", *lines), yes=True)
    corrected = [f"{one.submission_id},0.92,care", f"{two.submission_id},0.20,care"]
    told = study.spa("bonus", "--from", listed(tmp_path / "b.csv", *corrected), yes=True).output
    assert "2 bonuses, 2 already paid, 0 to pay" in told
    assert (
        f"  {one.submission_id}: expected USD 0.51 for care, as paid, got USD 0.92: the difference of USD 0.41 is "
        "not paid; list it with another reason, such as care (correction)" in told
    )
    assert (
        f"{two.submission_id}: expected USD 0.51 for care, as paid, got USD 0.20: a payment cannot be reduced" in told
    )
    assert len(study.emulator.people.payments()) == before + 2
    difference = listed(tmp_path / "b.csv", f"{one.submission_id},0.41,care (correction)")
    study.spa("bonus", "--from", difference, yes=True)
    assert paid_times(study, 41) == {one.submission_id: 1}


@pytest.mark.parametrize("fault", ["drop_after_effect", "500_after_effect"])
def test_bonus_without_answer_is_not_sent_again(
    paid: tuple[Running, list[Visitor]], tmp_path: Path, fault: str
) -> None:
    """A payment without an answer is seen on the platform and not sent again."""
    study, (one, _, three) = paid
    amount = 40 + len(fault)  # told apart from other tests' payments
    lines = [f"{who.submission_id},0.{amount},{fault}" for who in (one, three)]
    file = listed(tmp_path / "b.csv", *lines)
    study.emulator.people.plan("PayBonusPayments", fault)
    assert "paid: 2" in study.spa("bonus", "--from", file, yes=True).output
    study.spa("bonus", "--from", file, yes=True)
    assert paid_times(study, amount) == {one.submission_id: 1, three.submission_id: 1}


def test_a_payment_that_nobody_can_see_waits_for_a_person(
    paid: tuple[Running, list[Visitor]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection drops before any effect: that looks like a payment under way; an earlier one is no sign of it."""
    monkeypatch.setattr("prolific.bonuses.MOST_POLLS", 2)
    study, (one, *_) = paid
    study.spa("bonus", "--from", listed(tmp_path / "a.csv", f"{one.submission_id},0.31,as much before"), yes=True)
    file = listed(tmp_path / "b.csv", f"{one.submission_id},0.31,lost")
    study.emulator.people.plan("PayBonusPayments", "drop")
    for _ in range(2):
        assert "nothing was sent again" in study.spa("bonus", "--from", file, yes=True, code=1).stderr
    assert len(study.emulator.people.requests("PayBonusPayments")) == len(
        {one["path"] for one in study.emulator.people.requests("PayBonusPayments")}
    )
    assert paid_times(study, 31) == {one.submission_id: 1}
    study.spa("bonus", "--from", file, "--settle", "unpaid", yes=True)
    assert paid_times(study, 31) == {one.submission_id: 2}


@pytest.mark.parametrize("kind", ["429", "wallet_short"])
def test_a_payment_that_is_refused_is_made_by_the_next_run(
    paid: tuple[Running, list[Visitor]], tmp_path: Path, kind: str
) -> None:
    study, (one, *_) = paid
    amount = {"429": 32, "wallet_short": 33}[kind]
    file = listed(tmp_path / "b.csv", f"{one.submission_id},0.{amount},{kind}")
    study.emulator.people.plan("PayBonusPayments", kind)
    study.spa("bonus", "--from", file, yes=True, code=1)
    assert paid_times(study, amount) == {}
    study.spa("bonus", "--from", file, yes=True)
    assert paid_times(study, amount) == {one.submission_id: 1}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{id},150,cents for units", "above the cap of USD 2.00"),
        ("{id},1.505,too fine", "two decimals at most"),
        ("{id},-1,taking", "above 0"),
        ("{id},nan,nothing", "expected an amount"),
        ("{id},1.00,", "expected a reason"),
        ("{id},1.00,care\n{id},1.00,care", "the reason 'care' is listed twice"),
        ("5ce69ff9b1e73b000146186d,1.00,stranger", "did not take part"),
    ],
)
def test_what_nobody_can_mean_is_refused(
    paid: tuple[Running, list[Visitor]], tmp_path: Path, line: str, told: str
) -> None:
    study, (one, *_) = paid
    before = len(study.emulator.people.payments())
    file = listed(tmp_path / "b.csv", line.format(id=one.submission_id))
    assert told in study.spa("bonus", "--from", file, yes=True, code=1).stderr
    assert len(study.emulator.people.payments()) == before
