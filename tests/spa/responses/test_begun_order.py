"""People count in the order in which they began: what was counted stays, and nobody who leaves blocks the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spa.responses.admission import AdmissionRefused, AdmissionRules
from spa.responses.begun_order import CountedVisits, begun_order, visit_status
from spa.responses.leases import Lease
from spa.responses.outcomes import COMPLETED, RETURNED, SCREENED_OUT, Outcome
from spa.responses.store import Store
from tests.spa.responses.test_store import draws

MINUTES = 10.0
TIME = 60 * MINUTES  # seconds that a visit may take
RULES = AdmissionRules(late_counts=False)
HUMAN = "human"


class People:
    """People who come to a study of twelve places, with a clock of their own."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.now = 1000.0
        self.came: list[str] = []  # submission ids

    def begin(self, person: str) -> None:
        """Let a person come, or come again."""
        try:
            lease = self.store.visits.admit(
                source="panel",
                person=person,
                external_id=f"of {person}",
                minutes_allowed=MINUTES,
                overbook=True,
                rules=RULES,
                now=self.now,
            )
        except AdmissionRefused:
            return
        if lease.submission_id not in self.came:
            self.came.append(lease.submission_id)

    def lease(self, number: int) -> Lease:
        """Return the visit of that number."""
        found = self.store.visits.get(self.came[number])
        assert found is not None
        return found

    def end(self, number: int, outcome: Outcome = COMPLETED) -> None:
        """End a visit now."""
        lease = self.lease(number)
        self.store.visits.finish(lease.submission((), 1.0), outcome, "code", now=self.now, rules=RULES)

    def give_back(self, number: int) -> None:
        """Let the platform report that a visit was returned."""
        self.store.visits.release(self.came[number], RETURNED, now=self.now, finished=True)

    def counted(self, later: float = 0.0) -> list[str]:
        """Return who counts now, or so many seconds later if nothing happens."""
        order = self.store.visits.begun_order(self.now + later).get(HUMAN)
        return [] if order is None else [visit.submission_id for visit in order.counted]


@pytest.fixture
def people(tmp_path: Path) -> Iterator[People]:
    with Store.create(tmp_path / "store.sqlite") as store:
        store.assignments.save("f", draws(12))
        yield People(store)


def test_whoever_is_fast_waits_for_those_who_began_before(people: People) -> None:
    for person in "abc":
        people.begin(person)
        people.now += 1
    people.end(2)
    assert people.counted() == []
    people.end(0)
    assert people.counted() == people.came[:1]
    order = people.store.visits.begun_order(people.now)[HUMAN]
    assert (order.waiting, order.late) == (1, 0)
    people.end(1)
    assert people.counted() == people.came


def test_nobody_who_leaves_blocks_the_study(people: People) -> None:
    for person in "abcde":
        people.begin(person)
    for number in (3, 4):
        people.end(number)
    people.give_back(0)
    people.end(1, SCREENED_OUT)
    assert people.counted() == []
    assert people.counted(later=TIME) == []  # to the last second
    assert people.counted(later=TIME + 1) == people.came[3:]


def test_late_answers_never_count_but_are_kept(people: People) -> None:
    people.begin("late")
    people.now += 1
    people.begin("quick")
    people.end(1)
    people.now += TIME
    assert people.counted() == people.came[1:]
    people.end(0)  # a second after its time
    late = people.lease(0)
    assert (late.outcome, late.extra, late.seat) == (COMPLETED, True, None)
    assert people.counted() == people.came[1:]
    assert people.store.visits.begun_order(people.now)[HUMAN].late == 1
    assert [one.extra for one in people.store.submissions()] == [True, False]


def test_begun_order_late_visit_takes_no_place(people: People) -> None:
    """A late visit takes no place again even where one is free."""
    people.begin("late")
    people.now += TIME + 1
    people.store.visits.release_overdue(people.now)
    people.end(0)
    assert people.lease(0).extra
    people.begin("next")  # gets the place that the late one had
    assert people.lease(1).assignment_id == people.lease(0).assignment_id
    people.give_back(1)
    assert people.lease(0).extra  # and does not give it back to them


def test_a_place_given_up_and_taken_again_counts_no_more(people: People) -> None:
    people.begin("undecided")
    people.now += 1
    people.begin("quick")
    people.end(1)
    people.give_back(0)
    assert people.counted() == people.came[1:]
    people.begin("undecided")
    people.end(0)
    assert people.counted() == people.came[1:]


def test_a_visit_given_back_after_it_counted_stays_counted(people: People) -> None:
    for person in "ab":
        people.begin(person)
    people.end(0)
    people.end(1)
    people.now += 1
    people.give_back(0)
    assert people.lease(0).extra
    assert people.counted() == people.came


def test_begun_order_first_of_two_counts(tmp_path: Path) -> None:
    """Of two at one place the first counts unless it is passed over."""
    for leaves in (False, True):
        with Store.create(tmp_path / f"{leaves}.sqlite") as store:
            store.assignments.save("f", draws(1))
            people = People(store)
            people.begin("holder")
            people.now += 1
            people.begin("in reserve")
            people.end(1)
            assert people.counted() == []
            if leaves:
                people.give_back(0)
            else:
                people.end(0)
            assert people.counted() == people.came[leaves:][:1]
            assert [people.lease(number).extra for number in (0, 1)] == [False, not leaves]
            assert people.store.visits.begun_order(people.now)[HUMAN].waiting == 0


def test_a_person_counts_once_and_an_unconfirmed_visit_waits(people: People) -> None:
    kept = {"assignment_id": "a00001", "annotator_kind": "human", "source": "mturk", "minutes_allowed": MINUTES}
    times = {"leased_at": 0.0, "deadline": TIME, "outcome": COMPLETED, "completed_at": 5.0}
    first = Lease(submission_id="1", annotator_id="p", external_id="claimed x", **kept, **times)  # type: ignore[arg-type]
    assert visit_status(first, 10 * TIME) == "open"
    assert begun_order([first], 10 * TIME)[HUMAN].waiting == 1
    one = Lease(submission_id="1", annotator_id="p", **kept, **times)  # type: ignore[arg-type]
    again = Lease(submission_id="2", annotator_id="p", **kept, **times)  # type: ignore[arg-type]
    assert [visit.submission_id for visit in begun_order([one, again], 9.0)[HUMAN].counted] == ["1"]


def test_begun_order_waits_for_platform_visits(people: People) -> None:
    """Forms handed out by a platform count once all who began before are known."""
    kept = {"annotator_kind": "human", "source": "mturk", "outcome": COMPLETED}
    slow = Lease(  # collected first, in the order of the platform's list
        submission_id="2", annotator_id="b", assignment_id="a2", leased_at=20.0, completed_at=30.0, **kept
    )  # type: ignore[arg-type]
    first = replace(slow, submission_id="1", annotator_id="a", assignment_id="a1", leased_at=10.0, completed_at=60.0)

    def counted(known_until: float) -> list[str]:
        return [visit.submission_id for visit in begun_order([slow, first], 99.0, known_until)[HUMAN].counted]

    assert [counted(until) for until in (0, 10, 15, 21)] == [[], [], ["1"], ["1", "2"]]


DONE = ["end", "end", "end", "end", "screen", "give back"]
EVENTS = st.one_of(
    st.tuples(st.just("begin"), st.sampled_from("abcdefghij")),
    st.tuples(st.sampled_from(DONE), st.integers(0, 9)),
    st.tuples(st.sampled_from(["wait", "wait", "sweep"]), st.sampled_from([1.0, 30.0, 200.0, TIME + 1])),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(EVENTS, min_size=8, max_size=40))
def test_whatever_happens_what_was_counted_is_counted_ever_after(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[str, object]]
) -> None:
    with Store.create(tmp_path_factory.mktemp("prefix") / "store.sqlite") as store:
        store.assignments.save("f", draws(12))
        people = People(store)
        before: list[str] = []
        for name, given_ in events:
            if name == "begin":
                people.begin(str(given_))
            elif name == "wait":
                people.now += float(given_)  # type: ignore[arg-type]
            elif name == "sweep":
                store.visits.release_overdue(people.now)
            elif people.came:
                number = int(given_) % len(people.came)  # type: ignore[call-overload]
                if name == "give back":
                    people.give_back(number)
                else:
                    people.end(number, COMPLETED if name == "end" else SCREENED_OUT)
            people.now += 0.25
            found = people.counted()
            assert found[: len(before)] == before
            assert people.counted(later=TIME)[: len(found)] == found
            before = found
        positions = [people.came.index(each) for each in before]
        assert positions == sorted(positions)
        people.now += TIME + 1
        assert store.visits.begun_order(people.now).get(HUMAN) is None or (
            store.visits.begun_order(people.now)[HUMAN].waiting == 0
        )


def as_of(
    now: float, number: int, times: tuple[float, float | None, float | None, float | None, Outcome]
) -> Lease | None:
    """Return what a store knows of a visit: when it began, was given up, was taken again, and ended."""
    began, given_up, again, ended, outcome = times
    if began > now:
        return None
    taken_again = again is not None and again <= now
    over = ended is not None and ended <= now
    return Lease(
        submission_id=str(number),
        annotator_id=str(number),
        assignment_id=str(number),
        annotator_kind="human",
        source="link",
        minutes_allowed=MINUTES,
        leased_at=began,
        deadline=(again if taken_again and again is not None else began) + TIME,
        released_at=given_up if given_up is not None and given_up <= now and not taken_again else None,
        outcome=outcome if over else None,
        completed_at=ended if over else None,
    )


@st.composite
def visits(draw: st.DrawFn) -> tuple[float, float | None, float | None, float | None, Outcome]:
    """Draw the times of a visit."""
    after = st.integers(1, int(1.5 * TIME))
    began = float(draw(st.integers(1, 300)))
    given_up = draw(st.none() | after.map(lambda more: began + more))
    again = None if given_up is None else draw(st.none() | after.map(lambda more: given_up + more))
    since = began if given_up is None else given_up if again is None else again
    ended = draw(st.none() | after.map(lambda more: since + more))
    return began, given_up, again, ended, draw(st.sampled_from([COMPLETED, COMPLETED, SCREENED_OUT]))


@settings(max_examples=400, deadline=None)
@given(st.lists(visits(), min_size=2, max_size=8), st.integers(1, 900), st.integers(1, 1800))
def test_begun_order_only_grows(
    timelines: list[tuple[float, float | None, float | None, float | None, Outcome]], earlier: float, more: float
) -> None:
    """Who counts at an earlier time is the beginning of who counts later."""
    timelines = sorted(timelines, key=lambda times: times[0])

    def counted(now: float) -> list[str]:
        known = [as_of(now, number, times) for number, times in enumerate(timelines)]
        order = begun_order([visit for visit in known if visit is not None], now).get(HUMAN)
        return [] if order is None else [visit.submission_id for visit in order.counted]

    before, later = counted(earlier), counted(earlier + more)
    assert later[: len(before)] == before
    finally_ = counted(20 * TIME)
    assert finally_ == [
        str(number)
        for number, (began, given_up, _again, ended, outcome) in enumerate(timelines)
        if outcome == COMPLETED and given_up is None and ended is not None and ended <= began + TIME
    ]


Times = tuple[float, float | None, float | None, float | None, Outcome]


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.tuples(visits(), st.sampled_from("abcd"), st.integers(1, 5)), min_size=2, max_size=9),
    st.lists(st.integers(1, 900), min_size=1, max_size=8),
    st.data(),
)
def test_counted_visits_kept_up_are_those_read_anew(
    timelines: list[tuple[Times, str, int]], steps: list[int], data: st.DataObject
) -> None:
    """Looks at later visits alone find who counts, though people and assignments come twice and a look is not taken."""
    timelines = sorted(timelines, key=lambda one: one[0][0])
    kept, counted, now = CountedVisits(), list[str](), 0.0
    for step in steps:
        now += step
        known = [
            (number, replace(visit, annotator_id=person, assignment_id=f"a{form}"))
            for number, (times, person, form) in enumerate(timelines, start=1)
            if (visit := as_of(now, number, times)) is not None
        ]
        found = kept.newly_counted([each for each in known if each[0] > kept.after], now)
        if data.draw(st.integers(0, 3)):
            kept.note(found)
            counted += [visit.submission_id for visit in found.counted]
            order = begun_order([visit for _, visit in known], now).get(HUMAN)
            assert counted == ([] if order is None else [visit.submission_id for visit in order.counted])
            assert len(counted) == len(kept.people) == len(kept.assignments)
            known_for_good = [visit_status(visit, now) != "open" for _, visit in known[: kept.after + 1]]
            assert known_for_good == [True] * kept.after + [False] * (len(known) > kept.after)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.tuples(visits(), st.sampled_from("abcdefgh"), st.integers(0, 400)), min_size=2, max_size=9),
    st.lists(st.tuples(st.integers(1, 900), st.integers(0, 700)), min_size=1, max_size=8),
)
def test_counted_visits_of_hits_are_those_read_anew(
    timelines: list[tuple[Times, str, int]], steps: list[tuple[int, int]]
) -> None:
    """So it is where a platform names visits when they are over, in any order, and some later than it should."""
    timelines = sorted(timelines, key=lambda one: (one[0][3] or one[0][0]) + one[2])  # as they are collected
    kept, counted, now = CountedVisits(), list[str](), 0.0
    for step, lag in steps:
        now += step
        until = now - lag
        known = [
            (number, replace(visit, annotator_id=person))
            for number, (times, person, later) in enumerate(timelines, start=1)
            if (times[3] or times[0]) + later <= now and (visit := as_of(now, number, times)) is not None
        ]
        known = sorted(known, key=lambda one: one[1].leased_at)
        for _ in range(2):
            shown = [
                (number, visit)
                for number, visit in known
                if visit.leased_at < until and ((visit.leased_at, number) > (kept.at, kept.after) or number > kept.last)
            ]
            if kept.are_later(shown, until):
                break
            kept, counted = CountedVisits(), []
        found = kept.newly_counted(shown, now, until)
        kept.note(found)
        counted += [visit.submission_id for visit in found.counted]
        order = begun_order([visit for _, visit in sorted(known, key=lambda one: one[0])], now, until).get(HUMAN)
        assert counted == ([] if order is None else [visit.submission_id for visit in order.counted])


def test_who_has_not_sent_a_page_yet_may_still_count(database: str) -> None:
    """The time to begin ends sooner than the visit's: that is no place taken again."""
    with Store.create(database) as store:
        store.assignments.save("fingerprint", draws(12), seed=1)
        visit = store.visits.admit(
            source="p", person="ada", minutes_allowed=MINUTES, now=0, rules=replace(RULES, minutes_to_begin=2)
        )
    assert visit.deadline == 120
    assert visit_status(visit, 60) == "open"
    assert visit_status(replace(visit, outcome=COMPLETED, completed_at=100.0), 100) == "counts"
    assert visit_status(replace(visit, deadline=TIME + 1), 60) == "passed over"  # taken again
