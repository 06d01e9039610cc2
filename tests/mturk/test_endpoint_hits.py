"""HITs over boto3 against the endpoint: creating, listing, expiring, extending, disposing of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mturk.emulated import HIT, Emulator, emulator


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with emulator(tmp_path_factory.mktemp("endpoint") / "lab.sqlite") as running:
        yield running


def counters(place: Emulator, hit_id: str) -> tuple[str, int, int, int]:
    """Return the state and how many assignments are available, pending and completed."""
    hit = place.get(hit_id)
    names = ("Available", "Pending", "Completed")
    available, pending, completed = (hit[f"NumberOfAssignments{name}"] for name in names)
    return hit["HITStatus"], available, pending, completed


def test_the_counters_follow_each_step(place: Emulator) -> None:
    hit_id = place.hit(MaxAssignments=2)["HITId"]
    first, second = place.workers(2)
    assert counters(place, hit_id) == ("Assignable", 2, 0, 0)
    one = place.accept(first, hit_id)
    assert counters(place, hit_id) == ("Assignable", 1, 1, 0)
    two = place.accept(second, hit_id)
    assert counters(place, hit_id) == ("Unassignable", 0, 2, 0)
    place.submit(first, one)
    assert counters(place, hit_id) == ("Unassignable", 0, 1, 0)
    place.submit(second, two)
    assert counters(place, hit_id) == ("Reviewable", 0, 0, 0)
    place.client.approve_assignment(AssignmentId=one)
    place.client.reject_assignment(AssignmentId=two, RequesterFeedback="empty")
    assert counters(place, hit_id) == ("Reviewable", 0, 0, 2)
    place.client.delete_hit(HITId=hit_id)
    assert place.get(hit_id)["HITStatus"] == "Disposed"


def test_a_token_creates_one_hit_a_day(place: Emulator) -> None:
    first = place.hit(UniqueRequestToken="once")["HITId"]
    with pytest.raises(place.client.exceptions.RequestError) as told:
        place.client.create_hit(**HIT, UniqueRequestToken="once")
    assert told.value.response["TurkErrorCode"] == "AWS.MechanicalTurk.HitAlreadyExists"
    assert first in told.value.response["Message"]
    place.advance(86_399)
    with pytest.raises(place.client.exceptions.RequestError):
        place.client.create_hit(**HIT, UniqueRequestToken="once")
    place.advance(1)
    assert place.hit(UniqueRequestToken="once")["HITId"] != first
