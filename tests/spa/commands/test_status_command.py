"""``spa status``: every visit is counted once, and minutes, pay and the expected end follow from the times."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from click.testing import CliRunner

from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.records.people import People, PeopleGroup
from spa.responses.admission import AdmissionRules
from spa.responses.outcomes import COMPLETED, SCREENED_OUT
from spa.responses.status import Status, summarise_visits
from spa.responses.store import Store
from tests.spa.responses.test_store import draws, submission_of
from tests.spa.server.served_study import build
from tests.spa.small_study import STUDY

MINUTE = 60.0
PEOPLE = People(
    annotators=5,
    pay=Decimal("3.00"),
    minutes=15.0,
    groups=(PeopleGroup(name="women", places=2, parameter="g", values=("w",)),),
)


def test_status_counts_visits_minutes_and_pay(tmp_path: Path) -> None:
    """Worked by hand: 10 and 20 minutes, so 15 at the median; 3.00 for 15 minutes is 12.00 an hour."""
    rules = AdmissionRules.of(PEOPLE)
    with Store.create(tmp_path / "s.sqlite") as store:
        store.assignments.save("f", draws(5))

        def come(
            person: str, minute: float, ends: float | None = None, *, outcome: str = COMPLETED, **more: object
        ) -> None:
            lease = store.visits.admit(source="panel", person=person, now=minute * MINUTE, rules=rules, **more)  # type: ignore[arg-type]
            if ends is not None:
                submission = replace(submission_of(lease), outcome=outcome)
                store.visits.finish(submission, outcome, "C", now=ends * MINUTE, rules=rules)  # type: ignore[arg-type]

        come("ada", 0, 10, group="women")
        come("robot", 0, 1, annotator_kind="simulated", outcome=SCREENED_OUT)
        come("bob", 5, 25)
        come("eve", 5, 6, outcome=SCREENED_OUT)
        come("joe", 6, minutes_allowed=10)
        come("kim", 20, minutes_allowed=60)
        found = summarise_visits(store.visits.of_people(), assignments=5, people=PEOPLE, now=40 * MINUTE)
        late = summarise_visits(store.visits.of_people(), assignments=2, people=PEOPLE, now=400 * MINUTE)
    assert (found.places, found.completed, found.at_work, found.free) == (5, 2, 1, 2)
    counted = [(line.people_group, line.places, line.begun, line.completed) for line in found.lines]
    assert counted == [("women", 2, 1, 1), (None, None, 5, 1)]
    (_, rest) = found.lines
    assert (rest.at_work, rest.dropped, rest.screened_out, rest.extra) == (1, 1, 2, 0)
    assert (found.median_minutes, found.hourly_pay, found.planned_hourly_pay) == (
        15,
        Decimal("12.00"),
        Decimal("12.00"),
    )
    assert found.expected_end == (40 + 3 * 30) * MINUTE  # one in the 30 minutes since the first
    assert (late.free, late.expected_end, found.stalled, late.stalled) == (0, 25 * MINUTE, None, None)


def test_no_end_is_expected_while_nobody_is_at_work(tmp_path: Path) -> None:
    """The end that the pace promises would move with the clock for ever."""
    with Store.create(tmp_path / "s.sqlite") as store:
        store.assignments.save("f", draws(3))
        for person, minute in (("ada", 0), ("bob", 10)):
            lease = store.visits.admit(source="panel", person=person, now=minute * MINUTE)
            store.visits.finish(submission_of(lease), COMPLETED, "C", now=(minute + 5) * MINUTE)

        def status_at(minute: float) -> Status:
            return summarise_visits(store.visits.of_people(), assignments=3, people=PEOPLE, now=minute * MINUTE)

        for minute in (16, 1600):
            assert (status_at(minute).expected_end, status_at(minute).stalled) == (None, "1 place free, nobody at work")
        store.visits.admit(source="panel", person="eve", now=1600 * MINUTE, minutes_allowed=30)
        assert (status_at(1605).expected_end, status_at(1605).stalled) == (3205 * MINUTE, None)
        assert status_at(1640).stalled == "1 place free, nobody at work"  # eve left


def test_status_visit_with_clock_set_back(tmp_path: Path) -> None:
    """A visit during which the clock was set back took no time."""
    rules = AdmissionRules.of(PEOPLE)
    with Store.create(tmp_path / "s.sqlite") as store:
        store.assignments.save("f", draws(1))
        lease = store.visits.admit(source="panel", person="ada", now=90 * MINUTE, rules=rules)
        store.visits.finish(submission_of(lease), COMPLETED, "C", now=40 * MINUTE, rules=rules)
        found = summarise_visits(store.visits.of_people(), assignments=1, people=PEOPLE, now=41 * MINUTE)
    assert (found.median_minutes, found.hourly_pay) == (0, None)


def test_the_time_of_simulated_annotators_says_nothing_of_pay(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.sqlite") as store:
        store.assignments.save("f", draws(5))
        lease = store.visits.admit(source="link", person="robot", now=0.0, annotator_kind="simulated")
        store.visits.finish(submission_of(lease), COMPLETED, "C", now=MINUTE)
        found = summarise_visits(store.visits.of_people(), assignments=5, people=PEOPLE, now=2 * MINUTE)
    assert (found.median_minutes, found.hourly_pay, found.planned_hourly_pay) == (1.0, None, Decimal("12.00"))


def test_the_command_tells_it_and_writes_json(tmp_path: Path) -> None:
    path = build(tmp_path, STUDY.replace("annotators = 6", 'annotators = 6, pay = "2.00"'))
    empty = CliRunner().invoke(main, ["status", str(path)])
    assert "0 of 6 submitted, 0 in progress, 6 free" in empty.output
    assert "No visits yet." in empty.output
    with open_workspace(path) as workspace:
        lease = workspace.store.visits.admit(source="panel", person="ada", now=0.0)
        workspace.store.visits.finish(submission_of(lease), COMPLETED, "C", now=600.0)
        codes = workspace.store.visits.outcome_codes("panel")
    told = CliRunner().invoke(main, ["status", str(path), "--codes"])
    assert told.exit_code == 0, told.output
    assert "1 of 6 submitted" in told.output
    assert "5 places free, nobody at work" in told.output
    assert "expected" not in told.output
    assert "median of 10.0 minutes" in told.output
    assert "12.00 USD an hour at the median" in told.output
    assert codes["completed"] in told.output
    facts = json.loads(CliRunner().invoke(main, ["status", str(path), "--json"]).output)
    assert (facts["completed"], facts["lines"][0]["source"], facts["hourly_pay"]) == (1, "panel", "12.00")
    assert "codes" not in facts
