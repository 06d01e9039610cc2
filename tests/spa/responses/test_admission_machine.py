"""Whatever people do in whatever order: no place is given twice, nothing is lost, the least answered goes out first."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import select

from spa.records.form import Form
from spa.responses.admission import AdmissionRules, NoneLeft, SecondVisit
from spa.responses.erasure import find_person, forget_person
from spa.responses.leases import Lease, lock_leases
from spa.responses.outcomes import COMPLETED, FAILED_CHECKS, OUTCOMES, RETURNED, SCREENED_OUT, TIMED_OUT
from spa.responses.store import Store
from spa.responses.store_schema import places
from tests import postgres
from tests.spa.responses.test_store import draws, submission_of
from tests.spa.store_steps import reclaim, save_payload

ASSIGNMENTS = 2
RULES = AdmissionRules(per_assignment=2)
MINUTES = 10.0
NewDatabase = Callable[[], AbstractContextManager[str]]
PEOPLE = st.sampled_from(["ada", "bob", "eve", "joe", "kim", "lee"])


def no_forms(assignment_id: str) -> Form:
    """Refuse: where answers are deleted, nobody looks for the free texts in them."""
    raise AssertionError(assignment_id)


class Coming(RuleBasedStateMachine):
    """A small study and six people who come, answer, are late, leave and come back."""

    visits = Bundle("visits")

    def __init__(self, new_database: NewDatabase) -> None:
        super().__init__()
        self.new_database = new_database
        self.open = ExitStack()

    @initialize()
    def build(self) -> None:
        """Make a store in a database of its own."""
        self.store = self.open.enter_context(Store.create(self.open.enter_context(self.new_database())))
        self.store.assignments.save("fingerprint", draws(ASSIGNMENTS))
        self.now = 0.0
        self.sent: dict[str, int] = {}  # pages by visit
        self.codes: dict[str, str] = {}  # what was acknowledged
        self.named = self.coded = 0
        self.forgotten: set[str] = set()  # annotator ids

    def teardown(self) -> None:
        """Give the database back."""
        self.open.close()

    @rule(
        target=visits,
        person=PEOPLE,
        again=st.booleans(),
        passed=st.sampled_from([0.0, 1.0, 400.0, 700.0]),
        more=st.booleans(),
    )
    def come(self, person: str, again: bool, passed: float, more: bool) -> object:
        """Let a person in under the name of their last visit, or a new one."""
        if self.store.person_id("panel", person) in self.forgotten:
            return multiple()
        self.now += passed
        self.store.visits.release_overdue(self.now)  # so that what is free is known before somebody comes
        own = [lease for lease in self.store.visits.of_people() if lease.person == person]
        if own and again:
            name = str(own[-1].external_id)
        else:
            self.named += 1
            name = f"v{self.named}"
        seats = self.seats()
        had = {lease.assignment_id for lease in own}
        try:
            lease = self.store.visits.admit(
                source="panel",
                person=person,
                external_id=name,
                minutes_allowed=MINUTES,
                overbook=more,
                rules=RULES,
                now=self.now,
            )
        except SecondVisit:
            assert any(visit.finished for visit in own)
            return multiple()
        except NoneLeft:
            assert all(seats[each] == RULES.per_assignment for each in set(seats) - had)
            return multiple()
        open_before = [visit for visit in own if not visit.finished and visit.release_reason != "replaced"]
        if lease.standing_by:
            assert all(seats[each] == RULES.per_assignment for each in set(seats) - had)
            assert more or open_before
        elif not own:
            fewest = min(seats.values())
            first = next(each for each, people in sorted(seats.items()) if people == fewest)
            assert lease.assignment_id == first
        elif again:
            assert lease.submission_id == own[-1].submission_id
        elif open_before and open_before[-1].seat is not None:
            assert lease.assignment_id == open_before[-1].assignment_id
            self.sent[lease.submission_id] = self.sent.get(open_before[-1].submission_id, 0)
        self.sent.setdefault(lease.submission_id, len(self.store.visits.payloads(lease.submission_id)))
        return lease

    @rule(visit=visits)
    def answer(self, visit: Lease) -> None:
        """Send a page, also when the time is over."""
        number = self.sent[visit.submission_id]
        save_payload(self.store, visit.submission_id, f"p{number}", "{}")
        self.sent[visit.submission_id] += 1

    @rule(visit=visits, outcome=st.sampled_from([COMPLETED, COMPLETED, SCREENED_OUT, FAILED_CHECKS]))
    def finish(self, visit: Lease, outcome: object) -> None:
        """End a visit; the first end counts."""
        assert outcome in OUTCOMES
        if visit.annotator_id in self.forgotten:
            return
        submission = replace(submission_of(visit), outcome=str(outcome))
        self.coded += 1
        code = f"code {self.coded}"
        ended = self.store.visits.finish(submission, outcome, code, rules=RULES, now=self.now)  # type: ignore[arg-type]
        assert ended.completion_code == self.codes.setdefault(visit.submission_id, code)

    @rule(visit=visits, reason=st.sampled_from([TIMED_OUT, RETURNED]), finished=st.booleans())
    def release(self, visit: Lease, reason: str, finished: bool) -> None:
        """Hear of a platform that somebody left."""
        before = self.seats()[visit.assignment_id]
        freed = self.store.visits.release(visit.submission_id, reason, now=self.now, finished=finished)
        taken = before - self.seats()[visit.assignment_id]
        assert taken in ((0, 1) if freed else (0,))  # an answer that came late may take the place at once

    @rule(visit=visits)
    def forget(self, visit: Lease) -> None:
        """Delete a person with all answers."""
        with self.store.transaction() as connection:
            lock_leases(connection)
            own = find_person(connection, [], person=visit.annotator_id, submission=None)
            forget_person(connection, own, forms=no_forms, hashed=self.store.keyed, with_answers=True)
        self.forgotten.add(visit.annotator_id)
        for each in own:
            self.codes.pop(each.submission_id, None)
            self.sent[each.submission_id] = 0

    @rule()
    def wait(self) -> None:
        """Let everybody's time run out."""
        self.now += 60 * MINUTES + 1
        self.store.visits.release_overdue(self.now)

    @rule(visit=visits)
    def claim(self, visit: Lease) -> None:
        """Come back to a page that is still open."""
        lease = reclaim(self.store, visit.submission_id, rules=RULES, now=self.now)
        if lease.released and lease.release_reason == TIMED_OUT:
            assert self.seats()[lease.assignment_id] == RULES.per_assignment

    def seats(self) -> Counter[str]:
        """Return how many people hold a place of each assignment."""
        held = Counter({f"a{number:05}": 0 for number in range(1, ASSIGNMENTS + 1)})
        held.update(lease.assignment_id for lease in self.store.visits.leases() if lease.seat is not None)
        return held

    @invariant()
    def no_place_is_given_twice(self) -> None:
        """No seat has two people, and no person has two seats."""
        if not hasattr(self, "store"):
            return
        leases = list(self.store.visits.leases())
        seated = [(lease.assignment_id, lease.seat) for lease in leases if lease.seat is not None]
        assert len(seated) == len(set(seated))
        assert {seat for _, seat in seated} <= {"person 1", "person 2"}
        assert max(self.seats().values()) <= RULES.per_assignment
        people = [lease.annotator_id for lease in leases if lease.seat is not None]
        assert len(people) == len(set(people))

    @invariant()
    def the_count_of_places_taken_is_right(self) -> None:
        """Compare what is noted beside each assignment with what the visits say."""
        if not hasattr(self, "store"):
            return
        with self.store.reading() as connection:
            noted = {row.assignment_id: row.people for row in connection.execute(select(places))}
        assert noted == dict(self.seats())

    @invariant()
    def who_is_overdue_is_found(self) -> None:
        """See that an open visit is noted as released unless it holds a place or waits for one."""
        if not hasattr(self, "store"):
            return
        for lease in self.store.visits.leases():
            assert lease.finished or (lease.released_at is None) == (lease.seat is not None or lease.standing_by)

    @invariant()
    def nothing_is_lost(self) -> None:
        """All pages and all ends are there; what holds no place and was completed is marked."""
        if not hasattr(self, "store"):
            return
        for submission_id, pages in self.sent.items():
            assert len(self.store.visits.payloads(submission_id)) == pages
        leases = {lease.submission_id: lease for lease in self.store.visits.leases()}
        assert {each.submission_id for each in self.store.submissions()} == set(self.codes)
        for submission_id, code in self.codes.items():
            lease = leases[submission_id]
            assert lease.completion_code == code
            assert lease.extra == (lease.completed and lease.seat is None)
            assert lease.completed or lease.seat is None

    @invariant()
    def no_late_answer_stands_beside_a_free_place(self) -> None:
        """Count an answer that was only late as soon as its assignment has a place."""
        if not hasattr(self, "store"):
            return
        seats = self.seats()
        for lease in self.store.visits.leases():
            waits = (lease.extra and lease.release_reason == TIMED_OUT) or lease.release_reason == "standby"
            if waits and lease.seat is None and seats[lease.assignment_id] < RULES.per_assignment:
                raise AssertionError(f"{lease.submission_id} waits, and {lease.assignment_id} has a free place")


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database(request: pytest.FixtureRequest) -> NewDatabase:
    """Return what makes one database after another, each gone when its block ends."""
    if request.param == "sqlite":
        return new_file
    cluster: postgres.Cluster = request.getfixturevalue("postgres_cluster")
    return cluster.database


@contextmanager
def new_file() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "study.sqlite")


def test_people_come_and_go_in_any_order(new_database: NewDatabase) -> None:
    unhurried = settings(max_examples=8, stateful_step_count=30, deadline=None)
    run_state_machine_as_test(lambda: Coming(new_database), settings=unhurried)


def test_twenty_at_once_share_no_place_and_spread_evenly(database: str) -> None:
    """Twenty threads over two connections pools: sixteen people come, finish or are sent away, and come again."""
    with Store.create(database) as one, Store.open(database) as two, ThreadPoolExecutor(20) as threads:
        one.assignments.save("fingerprint", draws(8))

        def go(number: int) -> str:
            store, person = (one, two)[number % 2], f"person {number % 16}"
            lease = store.visits.admit(source="panel", person=person, rules=RULES, now=1.0)
            save_payload(store, lease.submission_id, "p1", str(number))
            store.visits.finish(submission_of(lease), COMPLETED, f"code {number}", rules=RULES, now=2.0)
            return f"{person} {lease.assignment_id}"

        went = Counter(threads.map(go, range(48)))
        assert len(went) == 16
        leases = list(one.visits.leases())
        assert Counter(lease.assignment_id for lease in leases) == Counter({f"a{n:05}": 2 for n in range(1, 9)})
        assert len({(lease.assignment_id, lease.seat) for lease in leases}) == 16
        assert sum(len(one.visits.payloads(lease.submission_id)) for lease in leases) == 48
        assert len(list(one.submissions())) == 16
