"""Who may come: the same person back to the same assignment, late answers kept, quotas and sessions."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from sqlalchemy import insert

from spa.records.submission import Submission
from spa.responses.admission import AdmissionRules, IdInUse, NoneLeft, QuotaFull, SecondVisit, WrongSession
from spa.responses.erasure import find_person, forget_person
from spa.responses.leases import Lease, lock_leases
from spa.responses.outcomes import COMPLETED, NO_CONSENT, OUTCOMES, RETURNED, SCREENED_OUT, TIMED_OUT, claimed_name
from spa.responses.store import Store
from spa.responses.store_schema import payloads
from tests.spa.responses.test_store import draws, submission_of
from tests.spa.store_steps import join_group, reclaim, save_payload

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """Return a store with three assignments."""
    with Store.create(database) as built:
        built.assignments.save("fingerprint", draws(3), seed=3)
        yield built


def come(store: Store, person: str, visit: str | None = None, *, now: float = 0.0, **more: Any) -> Lease:
    return store.visits.admit(source="prolific", person=person, external_id=visit, now=now, **more)


def end(store: Store, lease: Lease, outcome: Any = COMPLETED, *, now: float = 0.0, code: str = "C") -> Lease:
    submission: Submission = replace(submission_of(lease), outcome=outcome)
    return store.visits.finish(submission, outcome, code, now=now)


def test_admission_same_person_same_assignment(store: Store) -> None:
    """The same visit and the same person get the same assignment."""
    first = come(store, "ada", "v1")
    assert come(store, "ada", "v1", now=5) == first
    assert come(store, "ada") == first
    assert come(store, "bob", "v2").assignment_id == "a00002"
    assert store.visits.of_token(first.token or "") == first
    with pytest.raises(SecondVisit):
        come(store, "mallory", "v1")


def test_a_person_goes_on_in_another_visit_of_the_platform(store: Store) -> None:
    first = come(store, "ada", "v1")
    save_payload(store, first.submission_id, "p1", "{}")
    second = come(store, "ada", "v2", now=9)
    assert (second.assignment_id, second.seat, second.token) == (first.assignment_id, first.seat, first.token)
    assert [payload.page_id for payload in store.visits.payloads(second.submission_id)] == ["p1"]
    old = store.visits.find("prolific", "v1")
    assert old is not None
    assert (old.seat, old.release_reason, old.person) == (None, "replaced", "ada")
    assert [visit.external_id for visit in store.visits.of_people("prolific")] == ["v1", "v2"]


def test_a_second_visit_is_refused_unless_the_study_allows_it(store: Store) -> None:
    done = end(store, come(store, "ada", "v1"))
    assert come(store, "ada", "v1") == done
    with pytest.raises(SecondVisit):
        come(store, "ada", "v2")
    assert come(store, "ada", "v2", rules=AdmissionRules(repeat=True)).assignment_id == "a00002"


def test_a_claim_is_kept_out_by_no_claim_but_by_a_visit(store: Store) -> None:
    """Anybody may have made up the earlier one; what the platform confirmed keeps further ones out."""
    claims = [claimed_name(name) for name in ("one", "two", "three")]
    ended = end(store, come(store, "ada", claims[0]))
    other = come(store, "ada", claims[1], now=1)
    assert (other.finished, other.token != ended.token) == (False, True)
    end(store, come(store, "ada", "v1", now=2), now=3)
    with pytest.raises(SecondVisit):
        come(store, "ada", claims[2], now=4)


def test_admission_dropout_returns_while_place_is_free(store: Store) -> None:
    """A dropout gives the place back and comes back while it is free."""
    late = come(store, "ada", "v1", minutes_allowed=10)
    assert store.visits.release_overdue(600.0) == 0
    assert store.visits.release_overdue(600.1) == 1
    assert reclaim(store, late.submission_id, now=700).deadline == 1300
    assert store.visits.release_overdue(1301) == 1
    assert come(store, "bob", "v2").assignment_id == "a00001"
    assert reclaim(store, late.submission_id, now=1302).released
    ended = end(store, late)
    assert (ended.extra, ended.outcome, ended.completion_code) == (True, "completed", "C")
    store.visits.release(come(store, "bob", "v2").submission_id, RETURNED, now=1400)
    assert not end(store, late).extra  # the place that became free went to the answers that were there
    assert come(store, "eve", "v3").assignment_id == "a00002"


def test_admission_standby_gets_first_free_place(store: Store) -> None:
    """Whoever a platform sends too many stands by and gets the first place that is free."""

    def more(person: str, **keys: Any) -> Lease:
        return come(store, person, f"v of {person}", overbook=True, minutes_allowed=10, **keys)

    first, second, third = (more(name) for name in ("ada", "bob", "eve"))
    end(store, second)
    beside = more("joe", now=1)
    assert (beside.assignment_id, beside.seat, beside.standing_by, beside.released) == ("a00001", None, True, False)
    assert more("joe", now=2) == beside
    waiting = more("kim", now=2)
    assert waiting.assignment_id == "a00003"
    with pytest.raises(NoneLeft):
        more("lee", now=3)
    assert end(store, waiting).extra
    assert not end(store, first).extra
    ended = end(store, beside)
    assert (ended.extra, ended.release_reason) == (True, "standby")
    assert store.visits.release_overdue(601) == 1  # eve
    assert not end(store, waiting).extra
    assert end(store, third).extra


def test_admission_standby_takes_place_and_drops_out(store: Store) -> None:
    """Whoever stands by takes the place at once and may drop out too."""
    given = [come(store, name, name, overbook=True, minutes_allowed=5) for name in ("ada", "bob", "eve", "joe", "kim")]
    store.visits.release(given[0].submission_id, RETURNED, now=1)
    joe = store.visits.get(given[3].submission_id)
    assert joe is not None
    assert (joe.seat, joe.standing_by, joe.release_reason) == ("person 1", False, None)
    assert store.visits.release_overdue(301) == 4  # also kim, who had no place
    kim = store.visits.get(given[4].submission_id)
    assert kim is not None
    assert (kim.released, kim.release_reason) == (True, "timed_out")


def test_admission_returned_visit_takes_no_place(store: Store) -> None:
    """Whoever gave a visit back takes no place and loses nothing."""
    gone = come(store, "ada", "v1", minutes_allowed=10)
    store.visits.release_overdue(601)
    assert not store.visits.release(gone.submission_id, RETURNED, now=602)
    assert reclaim(store, gone.submission_id, now=603).released
    assert end(store, gone).extra
    done = end(store, come(store, "bob", "v2"))
    assert not store.visits.release(done.submission_id, RETURNED, now=604)
    assert store.visits.release(done.submission_id, RETURNED, now=604, finished=True)
    assert end(store, done).extra


def test_whoever_ends_early_gives_the_place_to_somebody_else(store: Store) -> None:
    first = end(store, come(store, "ada", "v1"), SCREENED_OUT)
    assert (first.seat, first.finished, first.completed, first.extra) == (None, True, False, False)
    assert come(store, "bob", "v2").assignment_id == first.assignment_id
    with pytest.raises(SecondVisit):
        come(store, "ada", "v3")
    end(store, come(store, "eve", "v4"), NO_CONSENT)
    assert [submission.outcome for submission in store.submissions()] == [SCREENED_OUT]


def test_the_least_answered_assignment_goes_out_first(store: Store) -> None:
    rules = AdmissionRules(per_assignment=2)
    given = [come(store, f"person {number}", rules=rules).assignment_id for number in range(4)]
    assert given == ["a00001", "a00002", "a00003", "a00001"]
    come(store, "person 4", rules=rules)
    come(store, "person 5", rules=rules)
    with pytest.raises(NoneLeft):
        come(store, "person 6", rules=rules)


def test_quotas_are_kept_and_a_dropout_frees_its_place(store: Store) -> None:
    rules = AdmissionRules(places={"women": 1, "men": 1})
    ada = come(store, "ada", group="women", rules=rules, minutes_allowed=1)
    with pytest.raises(QuotaFull):
        come(store, "eve", group="women", rules=rules)
    assert come(store, "eve", group="women", rules=rules, now=61).people_group == "women"
    bob = come(store, "bob", rules=rules)
    join_group(store, bob.submission_id, "men", rules=rules)
    with pytest.raises(QuotaFull):
        join_group(store, ada.submission_id, "men", rules=rules)


def test_admission_sessions_follow_one_another(store: Store) -> None:
    """Each session has another assignment and follows the one before."""
    rules = AdmissionRules(sessions=2)
    first = come(store, "ada", "v1", rules=rules)
    with pytest.raises(WrongSession):
        come(store, "ada", "v2", session=2, rules=rules)
    end(store, first)
    second = come(store, "ada", "v2", session=2, rules=rules)
    assert (second.session, second.assignment_id) == (2, "a00002")
    with pytest.raises(WrongSession):
        come(store, "ada", "v3", session=3, rules=rules)


def test_completion_codes_by_outcome_and_source(store: Store) -> None:
    """Each outcome of each source has a random code of its own."""
    codes = store.visits.outcome_codes("prolific")
    assert tuple(codes) == OUTCOMES
    assert store.visits.outcome_codes("prolific") == codes
    assert len({*codes.values(), *store.visits.outcome_codes("mturk").values()}) == 2 * len(OUTCOMES)


def test_two_processes_that_wait_for_one_another_are_both_served(postgres_url: str) -> None:
    """One holds a visit, by a page of it, and wants to give leases; the other gives leases and wants the visit."""
    sent = Event()
    with Store.create(postgres_url) as one, Store.open(postgres_url) as two, ThreadPoolExecutor(1) as other:
        one.assignments.save("fingerprint", draws(1))
        visit = come(one, "ada", "v1")

        def finish_after_a_page() -> None:
            with two.transaction() as connection:
                connection.exec_driver_sql("SET LOCAL deadlock_timeout = '60s'")  # so that the other gives way
                page = {"submission_id": visit.submission_id, "page_id": "p1", "body": "{}", "received_at": 1.0}
                connection.execute(insert(payloads), page)
                sent.set()
                with two.reading() as looking:  # until the other holds the lock of the leases and waits for this visit
                    while not looking.exec_driver_sql(WAITING).scalar():
                        looking.rollback()
                lock_leases(connection)

        waiting = other.submit(finish_after_a_page)
        assert sent.wait(20)
        assert one.visits.release(visit.submission_id, RETURNED, now=2.0)
        waiting.result(timeout=60)
        assert [page.page_id for page in one.visits.payloads(visit.submission_id)] == ["p1"]


def test_admission_forgotten_place_goes_to_late_answers(store: Store) -> None:
    """The place of somebody forgotten goes to the answers that came late."""
    late = come(store, "ada", "v1", minutes_allowed=10)
    store.visits.release_overdue(601)
    done = end(store, come(store, "bob", "v2", now=602))
    assert end(store, late).extra
    with store.transaction() as connection:
        lock_leases(connection)
        gone = find_person(connection, [], person=done.annotator_id, submission=None)
        forget_person(
            connection,
            gone,
            forms=lambda _: pytest.fail("no text is looked for"),
            hashed=store.keyed,
            with_answers=True,
        )
    assert not end(store, late).extra
    assert come(store, "eve", "v3").assignment_id == "a00002"


def test_admission_extra_answers_take_no_place(store: Store) -> None:
    """Extra answers that were set apart take no place that becomes free."""
    late = come(store, "ada", "v1", minutes_allowed=10)
    store.visits.release_overdue(601)
    holder = come(store, "bob", "v2", now=602)
    assert end(store, late).extra
    assert not store.visits.release(late.submission_id, "not_submitted", now=603, finished=True)
    assert store.visits.release(holder.submission_id, RETURNED, now=604)
    assert end(store, late).extra


def test_who_gave_the_visit_back_is_not_late_afterwards(store: Store) -> None:
    """A platform that says "timed out" of a returned visit makes no late answer of it, which would wait for a place."""
    lease = come(store, "ada", "v1")
    store.visits.release(lease.submission_id, RETURNED, now=1.0)
    end(store, lease)
    store.visits.release(lease.submission_id, TIMED_OUT, now=2.0, finished=True)
    (visit,) = store.visits.of_people("prolific")
    assert (visit.release_reason, visit.extra, visit.seat) == (RETURNED, True, None)


def test_admission_unproved_id_takes_nothing_over(store: Store) -> None:
    """Who cannot prove an id takes no visit over and blocks no session."""
    rules = AdmissionRules(minutes_to_begin=10)
    mine = come(store, "ada", "v1", proven=False, rules=rules, new_token="the-first-press")
    assert (mine.token, mine.deadline) == ("the-first-press", 600)
    for visit in ("v1", "v2", None):
        with pytest.raises(IdInUse):
            come(store, "ada", visit, proven=False, rules=rules)
    theirs = come(store, "eve", "v1", proven=False, rules=rules, new_token="the-first-press")
    assert (theirs.name_given, theirs.external_id) == ("v1", f"v1 {theirs.annotator_id}")
    assert theirs.token not in (None, mine.token)
    again = come(store, "ada", "v1", proven=False, rules=rules, now=601)  # nobody began
    assert (again.external_id, again.submission_id != mine.submission_id) == ("v1", True)
    gone = store.visits.of_token(mine.token or "")
    assert gone is not None
    assert (gone.external_id, gone.released) == (None, True)
    store.visits.release(again.submission_id, RETURNED, now=602)  # long before its time is over
    third = come(store, "ada", "v1", proven=False, rules=rules, now=603)
    assert third.submission_id not in (mine.submission_id, again.submission_id)


def test_admission_earlier_link_leads_to_later_visit(store: Store) -> None:
    """A link of an earlier visit leads to the later one that went on with it."""
    first = come(store, "ada", "v1")
    save_payload(store, first.submission_id, "p1", "{}")
    later = come(store, "ada", "v2")
    assert (later.token, later.assignment_id) == (first.token, first.assignment_id)
    assert come(store, "ada", "v1") == later
