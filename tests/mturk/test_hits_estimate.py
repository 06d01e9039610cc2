"""The estimate is what is charged; HITs are split where that is cheaper, and only there."""

from __future__ import annotations

from decimal import Decimal
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mturk.eligibility import MASTERS
from mturk.fees import assignment_fee, estimate, split
from tests.mturk.emulated import HIT, Emulator

MOST = 12  # annotators of one example
NUMBERS = count()


@pytest.fixture(scope="module")
def workers(place: Emulator) -> list[str]:
    return place.workers(MOST, country="US", masters=True)


def charged(emulator: Emulator, hits: tuple[int, ...], reward: Decimal, masters: bool, workers: list[str]) -> Decimal:
    """Publish HITs, let everybody answer, approve all, and return what the endpoint's ledger says."""
    needed = [{"QualificationTypeId": MASTERS, "Comparator": "Exists"}] if masters else []
    given = {**HIT, "Reward": str(reward), "QualificationRequirements": needed}
    for size in hits:
        hit_id = emulator.client.create_hit(**{**given, "MaxAssignments": size})["HIT"]["HITId"]
        done = emulator.do("work", hit_ids=[hit_id], worker_ids=workers[:size], fields={"a": "1"})["assignment_ids"]
        for assignment_id in done:
            emulator.client.approve_assignment(AssignmentId=assignment_id)
    entries = emulator.control.get("ledger").json()["entries"]
    own = [one for one in entries if one["requester_id"] == emulator.key.requester_id]
    return sum((Decimal(one["amount"]) + Decimal(one["fee"]) for one in own), Decimal(0))


@settings(
    max_examples=8,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # to find a smaller example costs minutes, and none is needed
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    cents=st.integers(min_value=1, max_value=300),
    annotators=st.integers(min_value=1, max_value=MOST),
    masters=st.booleans(),
)
def test_the_estimate_is_what_is_charged(
    place: Emulator, workers: list[str], cents: int, annotators: int, masters: bool
) -> None:
    reward = Decimal(cents) / 100
    hits = split(annotators, reward, masters=masters)
    expected = estimate(hits, reward, masters=masters)
    with place.seen_by(f"estimated {next(NUMBERS)}") as own:
        assert charged(own, hits, reward, masters, workers) == expected.total


@given(cents=st.integers(min_value=0, max_value=10_000), annotators=st.integers(min_value=1, max_value=300))
def test_no_other_way_of_splitting_into_nines_or_one_is_cheaper(cents: int, annotators: int) -> None:
    reward = Decimal(cents) / 100
    hits = split(annotators, reward)
    assert sum(hits) == annotators
    assert all(size >= 1 for size in hits)
    cost = estimate(hits, reward).total
    one = annotators * (reward + assignment_fee(reward, max_assignments=annotators))
    apart = annotators * (reward + assignment_fee(reward, max_assignments=1))
    assert cost == min(one, apart)
    assert len(hits) == 1 or cost < one


def test_the_pay_an_hour_is_said() -> None:
    assert estimate([3], Decimal("1.00"), minutes=6.0).hourly == Decimal("10.00")
    assert estimate([3], Decimal("1.00")).hourly is None
