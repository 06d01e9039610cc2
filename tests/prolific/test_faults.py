"""Faults of the platform and the network, each caused here, and their effect: faults.md."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from prolific.api.access import Access
from prolific.api.client import Prolific
from prolific.api.problems import ProlificRequestRefused
from spa.journal import Journal
from tests.prolific.conftest import Emulator, running
from tests.prolific.running_study import TOKEN, Running, running_study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str]]:
    folder = tmp_path_factory.mktemp("faults")
    all_day = "maximum_minutes = 1439"  # nobody runs out of time while the platform's clock is put forward
    with (
        running(folder / "platform.sqlite") as emulator,
        running_study(folder, emulator, places=90, prolific=all_day) as study,
    ):
        yield study, study.publish()


@pytest.mark.parametrize("fault", ["429", "500", "drop", "drop_after_effect", "500_after_effect"])
def test_bulk_approval_that_goes_wrong_pays_once(study: tuple[Running, str], fault: str) -> None:
    running, study_id = study
    visitor = running.complete(study_id)
    running.emulator.people.plan("BulkApproveSubmissions", fault)
    assert running.json("approve", yes=True)[0]["approved"] == 1
    assert running.emulator.people.see(visitor.submission_id)["status"] == "APPROVED"


def test_a_status_that_nobody_documented_waits(study: tuple[Running, str]) -> None:
    """PROCESSING right after the code: neither approved nor called a difference; approved when it has passed."""
    running, study_id = study
    people = running.emulator.people
    people.behave(processing_status=True, lag_requests=1000)
    visitor = running.complete(study_id)
    assert people.see(visitor.submission_id)["status"] == "PROCESSING"
    assert visitor.submission_id not in running.json("approve", yes=True)[0]["to_approve"]
    assert [
        one for one in running.json("reconcile")[0]["differences"] if one["submission_id"] == visitor.submission_id
    ] == []
    people.behave(processing_status=False, lag_requests=2)
    people.advance(seconds=10)
    assert running.json("approve", yes=True)[0]["approved"] == 1


def test_a_study_that_is_momentarily_full_is_not_over(study: tuple[Running, str]) -> None:
    """The study says AWAITING REVIEW while somebody is at work; their answers are taken all the same."""
    running, study_id = study
    running.emulator.people.behave(awaiting_review_when_full=True)
    visitor = running.arrive(study_id)
    visitor.answer()
    visitor.hand_in()
    running.emulator.people.behave(awaiting_review_when_full=False)
    assert visitor.submission_id in running.json("approve")[0]["to_approve"]


@pytest.mark.parametrize("form", ["documented", "wrapped", "bare", "message"])
def test_refusals_are_told_in_each_of_their_forms(study: tuple[Running, str], form: str) -> None:
    running, _ = study
    running.emulator.people.behave(error_form=form)
    with (
        Prolific(Access(base_url=running.emulator.url, token=TOKEN)) as prolific,
        pytest.raises(ProlificRequestRefused) as refusal,
    ):
        prolific.studies.fetch("0" * 24)
    running.emulator.people.behave(error_form="documented")
    assert refusal.value.missing
    assert "HTTP 404" in str(refusal.value)


def test_lists_of_many_pages_are_read_to_the_end(study: tuple[Running, str]) -> None:
    running, study_id = study
    for _ in range(21):
        running.arrive(study_id)
    with Prolific(Access(base_url=running.emulator.url, token=TOKEN)) as prolific:
        listed = [one.submission_id for one in prolific.submissions.of_study(study_id)]
    counts = running.emulator.people.do("GET", f"studies/{study_id}/state/")["counts"]
    assert len(set(listed)) == len(listed) == sum(counts.values())
    assert len(listed) > 20


def test_webhooks_twice_late_or_out_of_order(study: tuple[Running, str]) -> None:
    """Webhooks that come twice out of order or late end in the same."""
    running, study_id = study
    people, store = running.emulator.people, running.workspace.store
    running.spa("hooks", "--public-url", running.url)
    for kind in ("duplicate", "reorder", "lose"):
        people.plan("webhooks", kind)
    visitors = [running.arrive(study_id) for _ in range(3)]
    limit = time.monotonic() + 90
    for visitor in visitors:
        while visitor.open().status_code != 303:  # whoever has to wait tries again
            assert time.monotonic() < limit
            time.sleep(0.2)
        people.give_back(visitor.submission_id)
    while True:
        visits = [store.visits.find("prolific", visitor.submission_id) for visitor in visitors]
        if all(visit is not None and visit.released for visit in visits):
            break
        assert time.monotonic() < limit, visits
        time.sleep(0.1)  # deliveries are made in a thread of their own
        people.advance(seconds=2)  # what was lost is sent again, signed with a time that may differ by five minutes
    assert [visit.release_reason for visit in visits if visit is not None] == ["returned"] * 3
    events = [call.key for call in Journal(store).calls("prolific event", "event")]
    assert len(events) == len(set(events))


def test_an_event_comes_again_where_the_platform_was_silent(study: tuple[Running, str]) -> None:
    """The submission that an event names cannot be fetched: the event is not taken, and acted on the next time."""
    running, study_id = study
    people, store = running.emulator.people, running.workspace.store
    running.spa("hooks", "--public-url", running.url)
    visitor = running.arrive(study_id)
    assert visitor.open().status_code == 303
    people.plan("GetSubmission", "500", count=6)
    people.give_back(visitor.submission_id)
    limit = time.monotonic() + 90
    while (visit := store.visits.find("prolific", visitor.submission_id)) is None or not visit.released:
        assert time.monotonic() < limit, visit
        time.sleep(0.1)
        people.advance(seconds=2)
    asked = [one["status"] for one in people.requests("GetSubmission")]
    assert 500 in asked
    assert visit.release_reason == "returned"


def test_platform_approves_after_21_days(study: tuple[Running, str]) -> None:
    """What nobody reviews is approved by the platform after 21 days."""
    running, study_id = study
    visitor = running.complete(study_id)
    running.emulator.people.advance(days=21, minutes=1)
    assert running.emulator.people.see(visitor.submission_id)["status"] == "APPROVED"
    assert running.json("approve", yes=True)[0]["to_approve"] == []
    told = [
        one["kind"]
        for one in running.json("reconcile")[0]["differences"]
        if one["submission_id"] == visitor.submission_id
    ]
    assert told == []


def test_too_little_money_when_it_is_published_leaves_the_draft(tmp_path: Path, fresh_emulator: Emulator) -> None:
    with running_study(tmp_path, fresh_emulator, places=2) as study:
        study.create()
        fresh_emulator.people.plan("PublishStudy", "wallet_short")
        more = ("--public-url", study.url, "--accept", "eligible people")
        assert "does not cover" in study.spa("publish", *more, yes=True, code=1).stderr
        assert study.json("status")[0]["status"] == "UNPUBLISHED"
        study.spa("publish", *more, yes=True)
        assert study.json("status")[0]["status"] == "ACTIVE"


def test_a_draft_is_tried_out_without_money(tmp_path: Path, fresh_emulator: Emulator) -> None:
    with running_study(tmp_path, fresh_emulator, places=2) as study:
        fresh_emulator.api.post("/api/v1/researchers/participants/", json={"email": "try@example.org"})
        assert study.json("create", "--public-url", study.url, "--try-out")["try_out"]


@pytest.mark.parametrize("fault", ["drop_after_effect", "500_after_effect", "drop"])
def test_a_message_whose_answer_is_lost_is_sent_once(study: tuple[Running, str], fault: str) -> None:
    running, study_id = study
    visitor = running.arrive(study_id)
    running.emulator.people.plan("BulkMessageParticipants", fault)
    for _ in range(2):
        running.spa("message", "--to", visitor.submission_id, "--text", f"Hello, {fault}.", yes=True)
    got = running.emulator.people.do("GET", f"participants/{visitor.person}/messages/")["results"]
    assert [one["body"] for one in got] == [f"Hello, {fault}."]
