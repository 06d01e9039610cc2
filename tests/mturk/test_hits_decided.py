"""What reviewers decide in the store is what the endpoint then holds: once, and nothing that was taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from typing import Any

import click
import pytest
from click.testing import CliRunner
from sqlalchemy import select

from mturk.endpoint.schema import messages
from mturk.review_rules import SHORTEST_REASON
from mturk.reviewing import IS_REJECTED, PAID_ALREADY
from spa.cli import main
from spa.platforms.review import PROPOSED, rules_for, unpaid_bonuses
from spa.responses.admission import AdmissionRules, Arrival, admit_submitted
from spa.responses.decisions import Action, Decision
from spa.responses.two_reviewers import decide as add_decision
from spa.responses.two_reviewers import let_decide, read_visit_decisions
from tests.mturk.studies import Bench, answers_to
from tests.mturk.test_hits_exactly_once import Killed, entries, handed_in, kill_at, order

__all__ = ["kill_at"]  # a fixture
REASON = "Every question was answered with 50, whatever the texts said."


def decide(bench: Bench, assignment: str, action: Action, **given: Any) -> int:
    """Keep a decision on what was handed in, as the dashboard does."""
    with bench.open() as workspace:
        visit = workspace.store.visits.find("mturk", assignment)
        assert visit is not None
        said = {"reviewer": "Ana", **given}
        decision = Decision(submission_id=visit.submission_id, action=action, decided_at=0.0, **said)
        with workspace.store.transaction() as connection:
            return add_decision(connection, decision)


def undo(bench: Bench, assignment: str, number: int) -> None:
    decide(bench, assignment, "undo", undoes=number)


def status_of(bench: Bench, assignment: str) -> str:
    """Return what the endpoint says of a submission."""
    return str(bench.emulator.client.get_assignment(AssignmentId=assignment)["Assignment"]["AssignmentStatus"])


def feedback_to(bench: Bench, assignment: str) -> str | None:
    found: str | None = bench.emulator.client.get_assignment(AssignmentId=assignment)["Assignment"].get(
        "RequesterFeedback"
    )
    return found


def mailbox(bench: Bench) -> list[tuple[str, str]]:
    """Return subject and text of all messages at the endpoint but those that it wrote itself."""
    query = select(messages.c.subject, messages.c.body).where(
        messages.c.requester_id == bench.emulator.key.requester_id
    )
    return [tuple(row) for row in bench.emulator.endpoint.call(lambda moment: moment.connection.execute(query).all())]


def with_a_gap(bench: Bench) -> tuple[str, list[str]]:
    """Publish, let one of three leave an answer out, and collect; returns their submission and the others'."""
    bench.run("publish", "--yes")
    workers = bench.emulator.workers(3, country="US")
    hits = [hit["HITId"] for hit in bench.hits()]
    name = next(name for name, value in answers_to(bench.form_of(hits[0])).items() if value == "70")
    gap = bench.emulator.accept(workers[0], hits[0])
    bench.emulator.submit(workers[0], gap, **{**answers_to(bench.form_of(hits[0])), name: ""})
    whole = [bench.answer(hit, worker) for hit, worker in zip(hits[1:], workers[1:], strict=True)]
    bench.run("collect")
    return gap, whole


def test_hits_reviewers_approvals(bench: Bench) -> None:
    """What a reviewer approved goes and what was taken back does not."""
    gap, whole = with_a_gap(bench)
    number = decide(bench, gap, "approve")
    told = bench.json("approve")
    assert (set(told["assignments"]), list(told["vouched_for"]), told["left"]) == ({gap, *whole}, [gap], {})
    undo(bench, gap, number)
    told = bench.json("approve", "--yes")
    assert (set(told["assignments"]), list(told["left"])) == (set(whole), [gap])
    assert [status_of(bench, one) for one in (gap, *whole)] == ["Submitted", "Approved", "Approved"]
    decide(bench, gap, "approve")
    assert bench.json("approve", "--yes")["approved"] == 1
    assert bench.json("approve", "--yes")["approved"] == 0
    assert len(entries(bench, "reward")) == 3


def test_hits_proposed_rejection_is_never_approved(bench: Bench) -> None:
    """Whom a reviewer proposed to reject is never approved with all others."""
    first, second, third = handed_in(bench)
    decide(bench, first, "propose_rejection", note=REASON)
    told = bench.json("approve", "--yes", "--except", third)
    assert (told["assignments"], told["left"]) == ([second], {first: PROPOSED})
    assert PROPOSED in bench.run("approve").stdout
    assert [status_of(bench, one) for one in (first, second, third)] == ["Submitted", "Approved", "Submitted"]
    decide(bench, third, "exclude", note="one key")  # out of the analysis, and paid all the same
    assert bench.json("approve", "--yes", "--also", first)["approved"] == 2
    assert len(entries(bench, "reward")) == 3


def test_hits_with_two_reviewers(bench: Bench) -> None:
    """With two reviewers only what both or a third decided is carried out."""
    first, second, third = handed_in(bench)
    with bench.open() as workspace, workspace.store.transaction() as connection:
        let_decide(connection, 2)
    assert bench.json("approve")["left"] == dict.fromkeys((first, second, third), "waits for two reviewers")
    decide(bench, first, "propose_rejection", note=REASON)
    decide(bench, second, "propose_rejection", note=REASON)
    decide(bench, second, "propose_rejection", note=REASON, reviewer="Ben")
    decide(bench, third, "propose_rejection", note=REASON)
    decide(bench, third, "approve", reviewer="Ben")
    told = bench.json("approve")
    held = {first: "waits for a second reviewer", second: PROPOSED, third: "waits for a third reviewer"}
    assert (told["assignments"], told["left"]) == ([], held)
    assert (
        "1 waits for a second reviewer, 1 waits for a third reviewer (spa dashboard); --json lists these, --also ID "
        "pays one nonetheless"
    ) in bench.run("approve").stdout
    assert bench.json("approve", "--also", first)["assignments"] == [first]
    assert bench.json("reject", "--decided")["assignments"] == [second]
    alone = ("reject", "--assignment", first, "--reason", REASON, "--yes")
    assert "two reviewers agree on" in bench.run(*alone, code=1).stderr
    decide(bench, third, "approve", reviewer="Cem")
    assert bench.json("approve", "--yes")["assignments"] == [third]
    assert bench.json("reject", "--decided", "--yes")["assignments"] == [second]
    bench.run("collect")
    with bench.open() as workspace, workspace.store.reading() as connection:  # what the command notes stands by itself
        left_out = [each.exclusion for each in read_visit_decisions(connection).values() if each.exclusion]
    assert [each.reviewer for each in left_out] == ["spa mturk"]


def test_the_later_of_two_decisions_on_pay_stands(bench: Bench) -> None:
    first, second, _ = handed_in(bench)
    decide(bench, first, "propose_rejection", note=REASON)
    decide(bench, first, "approve")
    decide(bench, second, "approve")
    decide(bench, second, "propose_rejection", note=REASON)
    assert list(bench.json("approve", "--yes")["left"]) == [second]
    assert bench.json("reject", "--decided", "--yes")["assignments"] == [second]
    assert [status_of(bench, one) for one in (first, second)] == ["Approved", "Rejected"]


def test_hits_doubt_outweighs_approval(bench: Bench) -> None:
    """The reviewer saw good answers, not that they are the person's second."""
    bench.run("publish", "--yes")
    worker = bench.emulator.workers(1, country="US")[0]
    done = [bench.answer(hit["HITId"], worker) for hit in bench.hits()[:2]]
    bench.run("collect")
    for one in done:
        decide(bench, one, "approve")
    told = bench.json("approve", "--yes")
    assert told["approved"] == 1
    assert [reason for reason in told["left"].values() if "another HIT of this study" in reason]


def test_hits_proposed_rejections_once_each(bench: Bench) -> None:
    """Proposed rejections are carried out once each with its own words."""
    first, second, third = handed_in(bench)
    decide(bench, first, "propose_rejection", rule="one key", note=REASON)
    number = decide(bench, second, "propose_rejection", note=REASON)
    decide(bench, third, "propose_rejection", note="The texts cannot be read in two seconds.")
    undo(bench, second, number)
    assert bench.json("reject", "--decided")["rejected"] == 0
    assert {status_of(bench, one) for one in (first, second, third)} == {"Submitted"}
    assert bench.json("reject", "--decided", "--except", first, "--yes")["assignments"] == [third]
    told = bench.json("reject", "--decided", "--yes")
    assert (told["assignments"], told["rejected"], told["rejected_before"]) == ([first], 1, 1)
    again = bench.json("reject", "--decided", "--yes")
    assert (again["rejected"], again["rejected_before"]) == (0, 2)
    assert [status_of(bench, one) for one in (first, second, third)] == ["Rejected", "Submitted", "Rejected"]
    assert feedback_to(bench, first) == REASON
    assert feedback_to(bench, third) == "The texts cannot be read in two seconds."


def test_hits_unexplained_rejection_holds_all_back(bench: Bench) -> None:
    """One message that explains nothing holds all rejections back."""
    first, second, third = handed_in(bench)
    decide(bench, first, "propose_rejection", note=REASON)
    decide(bench, second, "propose_rejection", note="bad")
    decide(bench, third, "propose_rejection", note="x" * 1025)
    told = bench.run("reject", "--decided", "--yes", code=1).stderr
    assert f"decision 2 on {second}, message: expected {SHORTEST_REASON} to 1024 characters" in told
    assert f"decision 3 on {third}" in told
    assert {status_of(bench, one) for one in (first, second, third)} == {"Submitted"}


def test_hits_reviewed_otherwise_already(bench: Bench) -> None:
    """What is reviewed otherwise already is told and stops nothing."""
    first, second, _ = handed_in(bench)
    bench.run("approve", "--assignment", first, "--yes")
    bench.run("reject", "--assignment", second, "--reason", REASON, "--yes")
    decide(bench, first, "propose_rejection", note=REASON)
    decide(bench, second, "approve")
    assert bench.json("reject", "--decided", "--yes")["left"] == {first: PAID_ALREADY}
    assert bench.json("approve", "--yes")["left"] == {second: IS_REJECTED}
    assert bench.json("approve", "--assignment", second, "--override", "--yes")["approved"] == 1


def unpaid(bench: Bench) -> list[Decimal | None]:
    with bench.open() as workspace:
        return [decision.amount for decision in unpaid_bonuses(workspace.store)]


def test_hits_decided_bonuses_paid_once(bench: Bench) -> None:
    """Decided bonuses are paid once each and the note is the reason."""
    first, second, third = handed_in(bench)
    for amount in ("0.25", "0.50"):
        decide(bench, first, "bonus", amount=Decimal(amount), note="Explained with care.")
    number = decide(bench, second, "bonus", amount=Decimal("0.75"), note="Taken back.")
    undo(bench, second, number)
    decide(bench, third, "bonus", amount=Decimal("0.25"), note="Explained with care.")
    assert bench.json("bonus", "--decided") | {"paid": 0} == bench.json("bonus", "--decided")
    assert entries(bench, "bonus") == []
    assert unpaid(bench) == [Decimal("0.25"), Decimal("0.50"), Decimal("0.25")]
    told = bench.json("bonus", "--decided", "--yes")
    assert unpaid(bench) == []
    assert (told["paid"], told["total"]) == (3, "1.20")
    assert bench.json("bonus", "--decided", "--yes")["paid"] == 0
    paid = [(one["assignment_id"], one["amount"], one["reason"]) for one in entries(bench, "bonus")]
    assert sorted(paid) == sorted(
        (one, amount, "Explained with care.") for one, amount in ((first, "0.25"), (first, "0.50"), (third, "0.25"))
    )
    decide(bench, first, "bonus", amount=Decimal("0.25"), note="Explained with care.")  # decided again, paid again
    assert bench.json("bonus", "--decided", "--yes")["paid"] == 1
    assert len(entries(bench, "bonus")) == 4


def test_a_terminal_is_told_that_bonuses_are_being_paid(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: dict[str, int] = {}

    def bar(steps: Iterator[object], *, label: str, length: int, **_: object) -> AbstractContextManager[Any]:
        shown[label] = length
        return nullcontext(steps)

    decide(bench, handed_in(bench)[0], "bonus", amount=Decimal("0.25"), note="Explained with care.")
    monkeypatch.setattr(click, "progressbar", bar)
    assert "1 paid" in bench.run("bonus", "--decided", "--yes").stdout
    assert shown == {"paying": 1}


def test_a_decided_bonus_above_the_reward_wants_a_cap(bench: Bench) -> None:
    first, second, _ = handed_in(bench)
    decide(bench, first, "bonus", amount=Decimal("0.50"), note="Thank you.")
    decide(bench, second, "bonus", amount=Decimal("50"), note="A slip of the finger.")
    told = bench.run("bonus", "--decided", "--yes", code=1).stderr
    assert "$50.00 is above the cap of $1.00" in told
    assert entries(bench, "bonus") == []
    assert bench.json("bonus", "--decided", "--cap", "50", "--yes")["paid"] == 2
    assert bench.json("bonus", "--decided", "--yes")["paid"] == 0  # what was paid needs no cap again


def test_hits_note_that_is_no_reason(bench: Bench) -> None:
    """A note that is no reason for the protocol stops no payment half way."""
    first, second, _ = handed_in(bench)
    decide(bench, first, "bonus", amount=Decimal("0.25"), note="Thank you.")
    number = decide(bench, second, "bonus", amount=Decimal("0.25"), note="x" * 1025)
    assert "expected a note of at most 1024 characters" in bench.run("bonus", "--decided", "--yes", code=1).stderr
    assert entries(bench, "bonus") == []
    undo(bench, second, number)
    assert bench.json("bonus", "--decided", "--yes")["paid"] == 1


def test_a_bonus_undone_while_it_was_being_paid_is_told(bench: Bench, kill_at: Callable[[str, str], None]) -> None:
    first, *_ = handed_in(bench)
    number = decide(bench, first, "bonus", amount=Decimal("0.25"), note="Thank you.")
    kill_at("send_bonus", "after")
    with pytest.raises(Killed):
        bench.run("bonus", "--decided", "--yes")
    undo(bench, first, number)
    told = bench.run("bonus", "--decided", "--yes").stdout
    assert f"bonus/{first}/decision {number}: interrupted, and the decision was withdrawn" in told


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_while_paying_decided_bonuses_pays_each_once(
    bench: Bench, kill_at: Callable[[str, str], None], moment: str
) -> None:
    done = handed_in(bench)
    for one in done:
        decide(bench, one, "bonus", amount=Decimal("0.25"), note="Thank you.")
    kill_at("send_bonus", moment)
    with pytest.raises(Killed):
        bench.run("bonus", "--decided", "--yes")
    assert len(entries(bench, "bonus")) == (1 if moment == "after" else 0)
    bench.run("bonus", "--decided", "--yes")
    assert bench.json("bonus", "--decided", "--yes")["paid"] == 0
    assert sorted(one["assignment_id"] for one in entries(bench, "bonus")) == sorted(done)
    assert bench.json("status")["unfinished_calls"] == 0


def test_a_fault_after_the_effect_pays_a_decided_bonus_once(bench: Bench) -> None:
    done = handed_in(bench)
    decide(bench, done[0], "bonus", amount=Decimal("0.25"), note="Thank you.")
    order(bench, "drop_after", "SendBonus")
    bench.run("bonus", "--decided", "--yes")
    assert bench.json("bonus", "--decided", "--yes")["paid"] == 0
    assert len(entries(bench, "bonus")) == 1


def test_decided_messages_go_out_once_whatever_the_subject(bench: Bench) -> None:
    first, second, third = handed_in(bench)
    decide(bench, first, "message", note="Did the page break?")
    decide(bench, second, "message", note="Did the page break?")
    number = decide(bench, third, "message", note="Taken back.")
    undo(bench, third, number)
    told = bench.json("notify", "--decided", "--yes")
    assert (told["sent"], len(told["failed"])) == (0, 2)  # whose work is not reviewed yet cannot be written to
    bench.run("approve", "--yes")
    assert "2 messages, 0 already sent, 2 to send" in bench.run("notify", "--decided").stdout
    assert mailbox(bench) == []
    assert bench.json("notify", "--decided", "--yes")["sent"] == 2
    again = bench.json("notify", "--decided", "--subject", "Another subject", "--yes")
    assert (again["sent"], again["before"]) == (0, 2)
    assert mailbox(bench) == [("Which writer is better?", "Did the page break?")] * 2
    decide(bench, first, "message", note="It is mended now.")
    bench.run("notify", "--decided", "--subject", "The page", "--yes")
    assert mailbox(bench)[2:] == [("The page", "It is mended now.")]


def test_hits_message_is_not_sent_twice(bench: Bench) -> None:
    """A decided message that may have arrived is not sent again."""
    first, *_ = handed_in(bench)
    bench.run("approve", "--yes")
    decide(bench, first, "message", note="Did the page break?")
    order(bench, "drop_after", "NotifyWorkers")
    assert "nobody knows" in bench.run("notify", "--decided", "--yes", code=1).stderr
    assert bench.json("notify", "--decided", "--yes")["unknown"] == 1
    assert len(mailbox(bench)) == 1


def test_hits_decision_waits_for_collection(bench: Bench) -> None:
    """An annotator is still at work on the survey server, or what they handed in is not collected yet."""
    handed_in(bench)
    with bench.open() as workspace, workspace.store.transaction() as connection:
        annotator_id = workspace.store.person_id("mturk", "ALATE")
        arrival = Arrival(annotator_id=annotator_id, source="mturk", person="ALATE", external_id="3LATE")
        admit_submitted(connection, arrival, "a00001", AdmissionRules(), now=0.0)
    decide(bench, "3LATE", "bonus", amount=Decimal("0.25"), note="Thank you.")
    decide(bench, "3LATE", "propose_rejection", note=REASON)
    decide(bench, "3LATE", "message", note="Is it open still?")
    for command in ("bonus", "reject", "notify"):
        assert bench.json(command, "--decided", "--yes")["waiting"] == 1
    assert "run `spa mturk collect`" in bench.run("bonus", "--decided").stdout
    assert entries(bench, "bonus") == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("approve", "--assignment", "3X", "--also", "3Y"),
        ("reject", "--decided", "--reason", REASON),
        ("reject",),
        ("reject", "--assignment", "3X", "--reason", REASON, "--except", "3Y"),
        ("bonus", "--decided", "--file", "bonuses.csv"),
        ("bonus", "--cap", "1.00", "--file", "bonuses.csv"),
        ("notify", "--decided", "--text", "Hello"),
        ("notify", "--text", "Hello"),
    ],
)
def test_options_that_contradict_each_other_are_wrong_usage(arguments: tuple[str, ...]) -> None:
    command, *rest = arguments
    assert CliRunner().invoke(main, ["mturk", command, "study.toml", *rest]).exit_code == 2


def test_the_dashboard_is_given_the_rules_and_the_commands() -> None:
    rules = rules_for("mturk")
    assert rules is not None
    assert (rules.categories, rules.shortest_message) == ((), 10)
    assert "spa mturk bonus STUDY --decided" in rules.commands
