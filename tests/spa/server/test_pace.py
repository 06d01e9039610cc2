"""How a study came along, beside a plain computation."""

from __future__ import annotations

from decimal import Decimal
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.responses.status import MOST_POINTS, pace_of
from spa.responses.visits import PersonVisit


def handed_in(at: float, took: float, kind: str = "human", *, extra: bool = False) -> PersonVisit:
    return PersonVisit(
        submission_id=f"s{at}-{took}-{kind}",
        assignment_id="a1",
        annotator_id="annotator",
        annotator_kind=kind,  # type: ignore[arg-type]
        source="link",
        token=None,
        outcome="completed",
        completion_code="C",
        completed_at=at,
        leased_at=at - took,
        extra=extra,
        person=None,
        pages=1,
        last_seen=at,
    )


@given(st.lists(st.tuples(st.floats(1e9, 2e9), st.floats(60, 7200)), min_size=1, max_size=60, unique_by=lambda v: v[0]))
def test_each_point_counts_and_takes_the_median_of_all_before_it(forms: list[tuple[float, float]]) -> None:
    points = pace_of([handed_in(at, took) for at, took in forms], Decimal("3.00"))
    done = sorted(forms)
    assert [point.at for point in points] == [at for at, _ in done]
    assert [point.handed_in for point in points] == list(range(1, len(done) + 1))
    for place, point in enumerate(points, start=1):
        typical = median(at - (at - took) for at, took in done[:place])
        assert point.median_minutes == pytest.approx(typical / 60)
        assert float(point.hourly_pay or 0) == pytest.approx(3 * 3600 / typical, abs=0.006)


def test_pace_ignores_late_and_simulated() -> None:
    """Late answers and simulated annotators beside people do not count."""
    visits = [handed_in(2e9, 60), handed_in(2e9 + 1, 600, extra=True), handed_in(2e9 + 2, 1, "simulated")]
    (point,) = pace_of(visits, None)
    assert (point.handed_in, point.median_minutes, point.hourly_pay) == (1, 1.0, None)
    (alone,) = pace_of([handed_in(2e9 + 2, 1, "simulated")], Decimal("3.00"))
    assert (alone.handed_in, alone.hourly_pay) == (1, None)  # a form a second is no wage


def test_a_long_curve_is_thinned_and_keeps_its_end() -> None:
    visits = [handed_in(1e9 + number, 60) for number in range(3 * MOST_POINTS)]
    points = pace_of(visits, Decimal(1))
    assert len(points) <= MOST_POINTS + 1
    assert (points[0].handed_in, points[-1].handed_in) == (1, 3 * MOST_POINTS)
