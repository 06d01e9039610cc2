"""Two reviewers of submissions on Prolific: nothing reaches the platform before it is settled, then it does once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from spa.responses.decisions import Action, Decision
from spa.responses.two_reviewers import decide, let_decide
from tests.prolific.conftest import Emulator
from tests.prolific.running_study import Running, Visitor, running_study
from tests.prolific.test_rejecting import MESSAGE, claimed, status_of, waiting, written

WAITING = "AWAITING REVIEW"


def say(running: Running, reviewer: str, action: Action, visitor: Visitor) -> None:
    """Decide as the dashboard does."""
    visit = running.workspace.store.visits.find("prolific", visitor.submission_id)
    assert visit is not None
    rejects = {"rule": "NO_DATA", "note": MESSAGE} if action == "propose_rejection" else {}
    decision = Decision(submission_id=visit.submission_id, action=action, reviewer=reviewer, decided_at=0.0, **rejects)
    with running.workspace.store.transaction() as connection:
        decide(connection, decision)


def sent(running: Running) -> tuple[list[str], list[str]]:
    """Return the submissions that the platform was asked to approve, and to reject, in order."""
    people = running.emulator.people
    approved = [
        name for one in people.requests("BulkApproveSubmissions") for name in json.loads(one["body"])["submission_ids"]
    ]
    return approved, [one["path"].split("/")[-3] for one in people.requests("TransitionSubmission")]


@pytest.fixture
def running(tmp_path: Path, fresh_emulator: Emulator) -> Iterator[Running]:
    with running_study(tmp_path, fresh_emulator, places=4) as running:
        with running.workspace.store.transaction() as connection:
            let_decide(connection, 2)
        yield running


def test_two_reviewers_send_once_agreed(running: Running, tmp_path: Path) -> None:
    """Nothing is sent before two agree or a third settled and then once."""
    study_id = running.publish()
    agreed, paid, refused = waiting(running, study_id), waiting(running, study_id), claimed(running, study_id)
    both = (agreed, paid, refused)
    told = running.spa("approve", yes=True).stdout
    assert "3 wait for two reviewers (spa dashboard); --json lists these, --also ID pays one nonetheless" in told
    assert sent(running) == ([], [])

    def carry_out() -> None:
        """Run what sends decisions, as often as somebody may; whether the file may be sent is looked at elsewhere."""
        for _ in range(2):
            running.json("approve", yes=True)
            file = written(tmp_path, refused.submission_id, "NO_DATA")
            running.spa("reject", "--from", file, yes=True, code=None)

    for visitor in both:
        say(running, "Ana", "approve" if visitor is agreed else "propose_rejection", visitor)
    carry_out()
    assert [status_of(running, one) for one in both] == [WAITING] * 3
    for visitor in (paid, refused):
        say(running, "Ben", "approve", visitor)
    carry_out()
    assert [status_of(running, one) for one in both] == [WAITING] * 3
    result = running.spa("reject", "--from", written(tmp_path, refused.submission_id, "NO_DATA"), yes=True, code=1)
    assert "expected a rejection that two reviewers agree on or a third settled" in result.stderr
    assert sent(running) == ([], [])
    say(running, "Ben", "approve", agreed)
    say(running, "Cem", "approve", paid)
    say(running, "Cem", "propose_rejection", refused)
    carry_out()
    assert [status_of(running, one) for one in both] == ["APPROVED", "APPROVED", "REJECTED"]
    approved, rejected = sent(running)
    assert sorted(approved) == sorted(one.submission_id for one in (agreed, paid))
    assert rejected == [refused.submission_id]
