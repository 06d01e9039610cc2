"""Places are opened a wave at a time: never too many, never none while somebody is needed."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa import live
from spa.errors import PlatformError, StudyError
from spa.live import Decision, LivePair, LiveState
from spa.platforms.waves import Wave, describe_wave, next_wave, people_state, repeat_until_over
from spa.records.study import Study
from spa.responses.store import Store


def live_state(*, units: int, most: int, decided: bool = False, group: str = "human") -> LiveState:
    """Return the state of a study of one pair."""
    decision: Decision | None = "x" if decided else None
    pair = LivePair(
        criterion="overall",
        exposure=None,
        system_x="a",
        system_y="b",
        n=units,
        mean=0.5,
        low=0.0,
        high=1.0,
        decision=decision,
    )
    return LiveState(group=group, answers="choices", units=units, excluded=0, most=most, pairs=(pair,))


@st.composite
def moments(draw: st.DrawFn) -> dict[str, int]:
    """Draw a moment of a study: some places are completed, some held, some free."""
    most, wave = draw(st.integers(1, 60)), draw(st.integers(1, 20))
    places = draw(st.integers(0, most))
    completed = draw(st.integers(0, places))
    at_work = draw(st.integers(0, places - completed))
    return {"most": most, "wave": wave, "places": places, "completed": completed, "at_work": at_work}


@given(moments(), st.data())
def test_never_too_many_and_never_none_while_somebody_is_needed(moment: dict[str, int], data: st.DataObject) -> None:
    units = data.draw(st.integers(0, moment["completed"]))
    state = data.draw(st.sampled_from([None, live_state(units=units, most=moment["most"])]))
    found = next_wave(state, **moment)
    assert 0 <= found.places <= moment["most"] - moment["places"]
    assert moment["at_work"] + found.places <= max(moment["wave"], moment["at_work"])
    taken = moment["completed"] + moment["at_work"]
    if taken < moment["places"]:
        assert found.places == 0  # somebody may still come
    if moment["at_work"] == 0 and taken == moment["places"] < moment["most"]:
        assert found.places > 0
    assert (found.places > 0) == (found.reason == "open")


@given(moments(), st.booleans())
def test_nothing_is_opened_once_it_is_enough(moment: dict[str, int], decided: bool) -> None:
    state = live_state(units=0 if decided else moment["most"], most=moment["most"], decided=decided)
    assert next_wave(state, **moment) == Wave(places=0, reason="enough")


@given(most=st.integers(1, 40), wave=st.integers(1, 15), excluded=st.integers(0, 5), elsewhere=st.integers(0, 10))
def test_an_undecided_study_asks_all_that_it_may_and_ends(most: int, wave: int, excluded: int, elsewhere: int) -> None:
    """Everybody finishes before the next look; some are excluded, and some answered without the platform."""
    places = completed = 0
    for _ in range(most + 1):
        units = elsewhere + max(0, completed - excluded)
        found = next_wave(live_state(units=units, most=most), wave=wave, most=most, places=places, completed=completed)
        if found.places == 0:
            break
        places += found.places
        completed = places
    assert places == (0 if elsewhere >= most else min(most, most - elsewhere + excluded))


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ({"places": 0}, Wave(places=10, reason="open")),
        ({"places": 10, "completed": 9}, Wave(places=0, reason="under way")),  # a place is free
        ({"places": 10, "completed": 4, "at_work": 6}, Wave(places=0, reason="under way")),
        ({"places": 10, "completed": 5, "at_work": 5}, Wave(places=5, reason="open")),
        ({"places": 20, "completed": 20}, Wave(places=5, reason="open")),  # 25 at most
        ({"places": 25, "completed": 24, "at_work": 1}, Wave(places=0, reason="under way")),
        ({"places": 25, "completed": 25}, Wave(places=0, reason="most")),
        ({"places": 10, "completed": 12}, Wave(places=10, reason="open")),  # two came late
    ],
)
def test_what_follows_from_the_places(moment: dict[str, int], expected: Wave) -> None:
    assert next_wave(live_state(units=0, most=25), wave=10, most=25, **moment) == expected


def test_who_answered_elsewhere_needs_no_place() -> None:
    state = live_state(units=19, most=25)
    assert next_wave(state, wave=10, most=25, places=0).places == 6


def test_a_line_says_what_is_decided_and_what_follows() -> None:
    state = live_state(units=7, most=25, decided=True)
    assert describe_wave(state, next_wave(state, wave=10, most=25, places=10, completed=7)) == (
        "1 of 1 comparisons are decided after 7 annotators; no further places are needed"
    )
    assert describe_wave(None, Wave(places=3, reason="open")) == "no answers yet; next wave: 3 places"


def test_waves_go_on_past_passing_errors() -> None:
    """Looking goes on past errors that pass but not from the first."""
    said: list[str] = []
    waits: list[float] = []

    def look_at(*found: bool | Exception, every: float | None = 5.0) -> bool:
        coming = iter(found)

        def look() -> bool:
            one = next(coming)
            if isinstance(one, Exception):
                raise one
            return one

        passing = (PlatformError,)
        return repeat_until_over(look, every=every, passing=passing, announce=said.append, sleep=waits.append)

    assert look_at(False, PlatformError("gone"), False, True)
    assert (said, waits) == (["gone; trying again in 5 seconds"], [5.0] * 3)
    assert not look_at(False, every=None)
    with pytest.raises(PlatformError, match="at once"):
        look_at(PlatformError("at once"), True)
    with pytest.raises(StudyError):
        look_at(False, StudyError("for good"), True)


def test_waves_simulated_count_only_in_rehearsals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated annotators stand for people only in rehearsals."""
    state = live_state(units=1, most=2, group="simulated")
    monkeypatch.setattr(live, "live_states", lambda study, store, exported=None: (state,))
    study, store = cast(Study, None), cast(Store, None)
    assert people_state(study, store, rehearsed=True) is state
    assert people_state(study, store) is None


def test_waves_replace_excluded_people() -> None:
    """The excluded are replaced until the places are used up which a line says."""
    state = replace(live_state(units=22, most=25), excluded=3)
    assert next_wave(state, wave=10, most=30, places=25, completed=25) == Wave(places=3, reason="open")
    used_up = next_wave(state, wave=10, most=25, places=25, completed=25)
    assert describe_wave(state, used_up) == (
        "0 of 1 comparisons are decided after 22 annotators; all planned places are completed, 3 of them by people "
        "who are excluded, so none may be opened; raise [people] annotators to continue"
    )
