"""Evidence of playing: which parts of clips were heard, read strictly, demanded, refuted by the clock, and exported."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from spa.forms.assets import asset_name
from spa.records.form import Exhibit, ExhibitsBlock, Form
from spa.responses.reading_evidence import (
    MOST_PARTS,
    minimum_seconds,
    parse_exposure,
    seconds_played,
    unseen_outputs,
    write_exposure,
)
from spa.responses.reading_rows import exposure_rows, exposures_of
from spa.responses.tidy_tables import EXPOSED
from spa.responses.unplayable_clips import unplayable_clips
from spa.server.app import create_app
from spa.simulation.simulated_annotators import ReadingHabit
from spa.study.load import load_study, study_fingerprint
from tests.browser.hand_made import HandMade
from tests.spa.small_study import raw_answer, write_study
from tests.spa.web_forms import small_form

SECONDS = 20.0  # of each clip
PARTS = st.lists(st.tuples(st.floats(0, 30), st.floats(0, 30)).map(sorted).map(tuple), max_size=8)


def form_of_clips() -> Form:
    """Return the small form with clips of 20 seconds in the place of texts; its reading page has e2, e3 and e4."""
    form = small_form()
    pages = []
    for page in form.pages:
        shown = (
            replace(
                block,
                exhibits=tuple(
                    replace(one, medium="audio", segments=(), file=Path("a.flac"), seconds=SECONDS)
                    for one in block.exhibits
                ),
            )
            if isinstance(block, ExhibitsBlock)
            else block
            for block in page.blocks
        )
        pages.append(replace(page, blocks=tuple(shown)))
    return replace(form, pages=tuple(pages))


PAGE = form_of_clips().pages[2]
LEAST = SECONDS - 0.3  # by hand: browsers may end up to 0.3 seconds early


def sent(seconds: float, played: object, **more: object) -> str:
    outputs = {name: [0, seconds, 1] for name in ("e2", "e3", "e4")}
    return json.dumps({"seconds": seconds, "outputs": outputs, "played": played, **more})


def unseen(text: str, **rules: float) -> list[str]:
    return [one.exhibit_id for one in unseen_outputs(PAGE, parse_exposure(text, PAGE), 6.0, **rules)]


@given(PARTS)
def test_seconds_played_are_counted_once(parts: list[tuple[float, float]]) -> None:
    """As by steps of a fine clock, and in any order."""
    step = 0.05
    counted = sum(
        step for number in range(round(SECONDS / step)) if any(a <= (number + 0.5) * step < b for a, b in parts)
    )
    found = seconds_played(tuple(parts), SECONDS)
    assert found == pytest.approx(counted, abs=0.02 + step * (len(parts) + 1))
    assert found == seconds_played(tuple(reversed(parts)), SECONDS) <= SECONDS


def test_clip_is_seen_once_all_of_it_was_played() -> None:
    """Time on screen does not count, nor a second run of the same part; a share is enough where the study says so."""
    assert minimum_seconds(PAGE, 6.0) == dict.fromkeys(("e2", "e3", "e4"), LEAST)
    assert minimum_seconds(PAGE, 6.0, 0.5) == dict.fromkeys(("e2", "e3", "e4"), SECONDS / 2 - 0.3)
    assert minimum_seconds(PAGE, 6.0, 0.0) == {}
    whole, halves, twice = [0, 20], [12, 20, 0, 12.5], [0, 10, 0, 10]
    assert unseen(sent(90.0, {"e2": whole, "e3": halves, "e4": twice})) == ["e4"]
    assert unseen(sent(90.0, {"e2": whole, "e3": halves, "e4": twice}), share_played=0.5) == []
    assert unseen(sent(90.0, {})) == ["e2", "e3", "e4"]
    assert unseen(sent(90.0, {"e3": whole}, unplayable=["e2", "e4"])) == []


def test_clips_share_the_time_of_the_page() -> None:
    """By hand: within 45 seconds two clips of 20 can be heard; whoever claims three is asked for the third."""
    whole = {name: [0, 20] for name in ("e2", "e3", "e4")}
    assert unseen(sent(45.0, whole)) == ["e4"]
    assert unseen(sent(90.0, whole), at_most=25.0) == ["e3", "e4"]
    assert unseen(sent(1.0, whole)) == ["e2", "e3", "e4"]


@pytest.mark.parametrize(
    "more",
    [
        {"played": []},
        {"played": {"e2": [0]}},
        {"played": {"e2": [2, 1]}},
        {"played": {"e2": [0, -1]}},
        {"played": {"e2": [0, True]}},
        {"played": {"e2": [0, 1] * (MOST_PARTS + 1)}},
        {"played": {"e1": [0, 1]}},  # what the systems were given
        {"played": {"e99": [0, 1]}},
        {"unplayable": "e2"},
        {"unplayable": ["e99"]},
        {"unplayable": [2]},
        {"heard": {}},
    ],
)
def test_playing_out_of_bounds_is_refused(more: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_exposure(json.dumps({"seconds": 9, "outputs": {}} | more), PAGE)
    with pytest.raises(ValueError, match="expected clips"):
        parse_exposure(json.dumps({"seconds": 9, "outputs": {}, "unplayable": ["e2"]}), small_form().pages[2])


def test_what_is_written_is_read_again() -> None:
    text = sent(33.5, {"e2": [0, 3.25, 7, 20]}, unplayable=["e4"])
    exposure = parse_exposure(text, PAGE)
    assert parse_exposure(write_exposure(exposure), PAGE) == exposure
    assert exposure.played == {"e2": ((0.0, 3.25), (7.0, 20.0))}


def test_simulated_people_hear_clips() -> None:
    """Whoever skips and races hears what is asked for."""
    for hurried in (False, True):
        habit = ReadingHabit(words_per_minute=240, skips=hurried, races=hurried, rng=np.random.default_rng(1))
        text = habit.evidence(form_of_clips(), 6.0)["p3"]
        assert unseen(text) == []
        assert set(json.loads(text)["played"]) == {"e2", "e3", "e4"}


def test_server_keeps_the_page_of_clips_unheard(tmp_path: Path) -> None:
    """By its own clock, too; what does not play lets the page go, and the table says all of it."""
    now = 1_000.0
    made = HandMade(tmp_path, form_of_clips(), seconds_per_100_words=6.0)
    whole = {name: [0, 20] for name in ("e2", "e3", "e4")}
    with made.store:
        client = TestClient(create_app(made, clock=lambda: now), follow_redirects=False)
        token = made.store.tokens()[0]
        client.post(f"/a/{token}")
        for page in made.made.pages[:2]:
            answers = {question.question_id: raw_answer(question) for question in page.questions}
            seen = {"reading": json.dumps({"seconds": 0, "outputs": {}})}
            assert client.post(f"/a/{token}/p/{page.page_id}", data=answers | seen).status_code == 303
        html = client.get(f"/a/{token}/p/p3").text
        assert html.count("<audio ") == 3
        players = f"/static/{asset_name('player.js')}"
        assert players in html
        assert players not in client.get(f"/a/{token}/p/p1").text  # pages without clips have no script for them
        assert f'data-seconds="{LEAST}"' in html

        def leave(text: str | None) -> int:
            fields = {} if text is None else {"reading": text}
            return client.post(f"/a/{token}/p/p3", data=fields).status_code

        now += 30.0
        assert leave(None) == 422  # without script nobody knows
        assert leave(sent(25.0, {"e2": [0, 20]})) == 422
        assert leave(sent(90.0, whole)) == 422  # in 30 seconds
        now += 12.0
        assert leave(sent(41.0, {"e2": [0, 20], "e3": [0, 20]}, unplayable=["e4"])) == 303
        assert client.get(f"/a/{token}/audio/e2").status_code == 404  # there is no such file here
        (visit,) = made.store.visits.leases()
        exposures = exposures_of(
            made.made,
            made.store.visits.payloads(visit.submission_id),
            submission_id=visit.submission_id,
            keyed=made.store.keyed,
            clocked=True,
        )
        systems = {"A": "a", "B": "b", "C": "c"}
        rows = [dict(zip(EXPOSED, row, strict=True)) for row in exposure_rows(made.made, exposures, systems, {})]
        of_audio = made.study.model_copy(update={"outputs": made.study.outputs.model_copy(update={"kind": "audio"})})
        assert unplayable_clips(of_audio, made.store) == {visit.annotator_id: 1}
        assert unplayable_clips(made.study, made.store) == {}
    clips = [row for row in rows if row["page"] == "p3"]
    assert [[row[name] for name in ("system", "length", "played", "unplayable", "known_by")] for row in clips] == [
        ["a", 20.0, 20.0, 0, "script"],
        ["b", 20.0, 20.0, 0, "script"],
        ["c", 20.0, 0.0, 1, "script"],
    ]
    assert {row["length"] for row in rows if row["page"] == "p1"} == {None}


def test_clip_of_a_question_is_heard_first(tmp_path: Path) -> None:
    """Of screening as of checks: until it was played its page stays, and it has a row under its own name."""
    form, now = small_form(), 1_000.0
    clip = Exhibit(
        exhibit_id="e90",
        caption="Clip",
        label=None,
        item_id="screening/hearing",
        medium="audio",
        file=Path("a.flac"),
        seconds=SECONDS,
    )
    pages = list(form.pages)
    pages[1] = replace(pages[1], blocks=(ExhibitsBlock(heading=None, exhibits=(clip,)), *pages[1].blocks))
    made = HandMade(tmp_path, replace(form, pages=tuple(pages)), seconds_per_100_words=6.0)
    answers = {page.page_id: {one.question_id: raw_answer(one) for one in page.questions} for page in pages[:2]}
    with made.store:
        client = TestClient(create_app(made, clock=lambda: now), follow_redirects=False)
        (token, _) = made.store.tokens()
        client.post(f"/a/{token}")

        def send(page: str, seconds: float, **more: object) -> int:
            reading = json.dumps({"seconds": seconds, "outputs": {}, **more})
            return client.post(f"/a/{token}/p/{page}", data=answers[page] | {"reading": reading}).status_code

        assert send("p1", 0) == 303
        html = client.get(f"/a/{token}/p/p2").text
        assert f'data-exhibit="e90" data-seconds="{LEAST}"' in html
        assert f"/static/{asset_name('player.js')}" in html
        now += 30.0
        assert send("p2", 29.0) == 422
        assert send("p2", 29.0, played={"e90": [0, 12]}) == 422
        assert send("p2", 29.0, outputs={"e90": [0, 29, 1]}, played={"e90": [0, 20]}) == 303
        (visit,) = made.store.visits.leases()
        exposures = exposures_of(
            made.made,
            made.store.visits.payloads(visit.submission_id),
            submission_id=visit.submission_id,
            keyed=made.store.keyed,
            clocked=True,
        )
    rows = [dict(zip(EXPOSED, row, strict=True)) for row in exposure_rows(made.made, exposures, {}, {})]
    names = ("page", "clip", "item_id", "system", "seconds", "length", "played", "unplayable")
    assert [[row[name] for name in names] for row in rows] == [
        ["p1", None, None, None, None, None, None, None],
        ["p2", "screening/hearing", None, None, 29.0, 20.0, 20.0, 0],
    ]
    simulated = ReadingHabit(words_per_minute=240, skips=False, races=True, rng=np.random.default_rng(1))
    assert json.loads(simulated.evidence(made.made, 6.0)["p2"])["played"] == {"e90": [0, SECONDS]}


def test_share_played_stands_in_no_fingerprint(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path))
    other = study.model_copy(update={"people": study.people.model_copy(update={"share_played": 0.5})})
    assert study_fingerprint(other) == study_fingerprint(study)
