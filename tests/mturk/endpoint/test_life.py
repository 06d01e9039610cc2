"""Whatever happens in whatever order: counters add up, nobody works twice, the ledger is what was owed."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import func, select

from mturk.endpoint.assignments import ABANDONED, ACCEPTED, APPROVED, REJECTED, RETURNED, SUBMITTED
from mturk.endpoint.emulator import MovableClock
from mturk.endpoint.errors import MTurkRequestError
from mturk.endpoint.keys import issue
from mturk.endpoint.operations import OPERATIONS
from mturk.endpoint.operations.call import OperationCall
from mturk.endpoint.schema import assignments, hits, ledger, requesters
from mturk.endpoint.service import MTurkService
from mturk.endpoint.store import open_store
from mturk.endpoint.transaction import HostRules, Transaction
from mturk.endpoint.worker_actions import accept, return_assignment, submit
from mturk.endpoint.workers import add_worker
from tests.mturk.emulated import HIT, START

PLACE = st.integers(0, 11)
STEPS = st.sampled_from([1.0, 299.0, 600.0, 3600.0, 86_400.0, 40 * 86_400.0, 121 * 86_400.0])


class Life(RuleBasedStateMachine):
    """One requester, a few workers and HITs, and a clock."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        folder = Path(tempfile.mkdtemp(prefix="spa-life-"))
        self.stack.callback(shutil.rmtree, folder)
        store = self.stack.enter_context(open_store(folder / "lab.sqlite", create=True))
        self.clock = MovableClock(frozen_at=START)
        self.endpoint = MTurkService(store, clock=self.clock, rules=HostRules(fees="mturk"))
        self.hits: list[str] = []
        self.held: list[tuple[str, str]] = []  # worker and assignment, whatever became of it
        self.done: list[tuple[str, str]] = []  # those that were submitted
        self.bonuses = 0

    def teardown(self) -> None:
        """Close the store."""
        self.stack.close()

    @initialize()
    def enter(self) -> None:
        """Enter a requester and workers."""
        key = self.endpoint.call(lambda tx: issue(tx, "lab", b"k" * 32, budget=1_000_000))
        self.requester_id = key.requester_id
        self.workers = [self.endpoint.call(lambda tx: add_worker(tx, "w")).worker_id for _ in range(4)]

    def ask(self, operation: str, **given: object) -> dict[str, object] | None:
        """Carry out an operation; a refusal is None and must change nothing, which the invariants see."""

        def work(tx: Transaction) -> dict[str, object]:
            given_all = dict(given)
            call = OperationCall(tx=tx, requester_id=self.requester_id, operation=operation, parameters=given_all)
            return OPERATIONS[operation](call)

        try:
            return self.endpoint.call(work)
        except MTurkRequestError:
            return None

    @rule(
        maximum=st.sampled_from([1, 3, 9, 10]),
        life=st.sampled_from([60, 3600, 200_000]),
        delay=st.sampled_from([0, 500, 86_400]),
    )
    def create(self, maximum: int, life: int, delay: int) -> None:
        """Create a HIT."""
        changes = {"MaxAssignments": maximum, "LifetimeInSeconds": life, "AutoApprovalDelayInSeconds": delay}
        made = self.ask("CreateHIT", **{**HIT, **changes})
        assert made is not None
        self.hits.append(made["HIT"]["HITId"])  # type: ignore[index]

    @precondition(lambda self: self.hits)
    @rule(hit=PLACE, worker=st.integers(0, 3))
    def accept(self, hit: int, worker: int) -> None:
        """Let a worker accept, where that is allowed."""
        worker_id, hit_id = self.workers[worker], self.hits[hit % len(self.hits)]
        try:
            work = self.endpoint.call(lambda tx: accept(tx, worker_id, hit_id))
        except MTurkRequestError:
            return
        self.held.append((worker_id, work.assignment_id))

    @precondition(lambda self: self.held)
    @rule(which=st.integers(0, 40), back=st.sampled_from([False, False, True]))
    def finish(self, which: int, back: bool) -> None:
        """Let a worker submit or return, where that is allowed."""
        worker_id, name = self.held[-1 - which % len(self.held)]
        try:
            if back:
                self.endpoint.call(lambda tx: return_assignment(tx, worker_id, name))
            else:
                self.endpoint.call(lambda tx: submit(tx, worker_id, name, "<x/>"))
                self.done.append((worker_id, name))
        except MTurkRequestError:
            return

    @precondition(lambda self: self.held)
    @rule(which=st.integers(0, 40), how=st.sampled_from(["approve", "reject", "override", "bonus"]))
    def review(self, which: int, how: str) -> None:
        """Let the requester decide, where that is allowed."""
        pool = self.done or self.held
        worker_id, name = pool[-1 - which % len(pool)]
        if how == "approve":
            self.ask("ApproveAssignment", AssignmentId=name)
        elif how == "override":
            self.ask("RejectAssignment", AssignmentId=name, RequesterFeedback="no")
            self.ask("ApproveAssignment", AssignmentId=name, OverrideRejection=True)
        elif how == "reject":
            self.ask("RejectAssignment", AssignmentId=name, RequesterFeedback="no")
        else:
            given = {"WorkerId": worker_id, "BonusAmount": "0.25", "AssignmentId": name, "Reason": "r"}
            self.bonuses += self.ask("SendBonus", **given) is not None

    @precondition(lambda self: self.hits)
    @rule(hit=PLACE, how=st.sampled_from(["more", "expire", "open", "reviewing", "revert", "delete"]))
    def change(self, hit: int, how: str) -> None:
        """Let the requester change a HIT, where that is allowed."""
        hit_id = self.hits[hit % len(self.hits)]
        if how == "more":
            self.ask("CreateAdditionalAssignmentsForHIT", HITId=hit_id, NumberOfAdditionalAssignments=2)
        elif how in ("expire", "open"):
            self.ask("UpdateExpirationForHIT", HITId=hit_id, ExpireAt=self.clock() + (5000 if how == "open" else 0))
        elif how == "delete":
            self.ask("DeleteHIT", HITId=hit_id)
        else:
            self.ask("UpdateHITReviewStatus", HITId=hit_id, Revert=how == "revert")

    @rule(seconds=STEPS)
    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.move(seconds)

    @invariant()
    def all_adds_up(self) -> None:
        """Check the tables against one another after every step."""
        if hasattr(self, "requester_id"):
            self.endpoint.call(self.check)

    def check(self, tx: Transaction) -> None:
        """Count again what the endpoint counts along."""
        connection = tx.connection
        works = connection.execute(select(assignments)).all()
        held = 0
        for hit in connection.execute(select(hits)):
            own = [work for work in works if work.hit_id == hit.hit_id]
            count = {status: sum(work.status == status for work in own) for status in {work.status for work in own}}
            pending, waiting = count.get(ACCEPTED, 0), count.get(SUBMITTED, 0)
            reviewed = count.get(APPROVED, 0) + count.get(REJECTED, 0)
            assert (hit.pending, hit.submitted, hit.completed) == (pending, waiting, reviewed)
            left = hit.maximum - pending - waiting - reviewed
            assert left >= 0
            taken = [work.worker_id for work in own if work.status not in (RETURNED, ABANDONED)]
            assert len(taken) == len(set(taken))
            assert sorted(work.turn for work in own if work.turn) == list(range(1, waiting + reviewed + 1))
            if hit.status == "Assignable":
                assert left
                assert hit.expires_at > tx.now
            if hit.status in ("Reviewable", "Reviewing", "Disposed"):
                assert not pending
                assert not left or hit.expires_at <= tx.now or hit.status == "Disposed"
            if hit.status == "Unassignable":
                assert pending
            if hit.status == "Disposed":
                assert not waiting
            else:
                bound = pending + waiting + (left if hit.expires_at > tx.now else 0)
                held += bound * (50 + (20 if hit.maximum >= 10 else 10))
        for work in works:
            assert work.status != ACCEPTED or work.deadline > tx.now
            assert work.status != SUBMITTED or work.auto_approval_at > tx.now
        rewards = connection.execute(select(ledger).where(ledger.c.kind == "reward")).all()
        assert sorted(row.assignment_id for row in rewards) == sorted(
            work.assignment_id for work in works if work.status == APPROVED
        )
        assert {row.cents for row in rewards} <= {50}
        bonuses = connection.execute(select(ledger).where(ledger.c.kind == "bonus")).all()
        assert [(row.cents, row.fee) for row in bonuses] == [(25, 5)] * self.bonuses
        known = connection.execute(select(requesters)).one()
        assert known.spent == (connection.scalar(select(func.sum(ledger.c.cents + ledger.c.fee))) or 0)
        assert known.held == held


def test_the_counters_add_up_whatever_happens() -> None:
    run_state_machine_as_test(Life, settings=settings(max_examples=15, stateful_step_count=40, deadline=None))
