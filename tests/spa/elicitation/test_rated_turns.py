"""Turns of dialogues rated one by one: after what led to each, by people and models alike, and by no other section."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.elicitation.ratings import RatingTarget, TurnTarget
from spa.errors import StudyError
from spa.forms.build import build_form
from spa.forms.html import render_page
from spa.forms.prompt import render_prompt, render_turn
from spa.forms.prompt_turns import turns_of as prompt_turns
from spa.forms.texts import load_texts
from spa.media import medium_of
from spa.media.medium import Turns
from spa.media.turns import canonical, turns_of
from spa.records.assignment import AssignmentLabels
from spa.records.form import ExplanationTarget, Form, Page
from spa.responses.answer_rows import target_from_json, target_to_json
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from tests.spa.forms.test_form_equality import check_one_form
from tests.spa.tiny_images import tiny_png

SYSTEMS = ("zzgood", "zzpoor")
STUDY = """id = "talk"
title = "Talk"
[outputs]
files = ["outputs.jsonl"]
kind = "conversation"
unit = "turn"
[[systems]]
id = "zzgood"
[[systems]]
id = "zzpoor"
[design]
items = 2
[likert]
outputs = "all"
"""
CALL = {"role": "assistant", "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]}
Make = Callable[..., Path]


def dialogue(name: str, replies: int) -> list[dict[str, Any]]:
    """Return a dialogue of so many replies, the second with a call of a tool before it."""
    said: list[dict[str, Any]] = [{"role": "system", "content": f"Told {name}"}]
    for number in range(1, replies + 1):
        said.append({"role": "user", "content": f"Asked {name} {number}"})
        if number == 2:
            said += [CALL, {"role": "tool", "content": f"Found {name}"}]
        said.append({"role": "assistant", "content": f"Said {name} {number}"})
    return said


def study_of_turns(folder: Path, study: str = STUDY, **replaced: list[dict[str, Any]]) -> Path:
    """Write a study of three items, whose dialogues have one to three replies; ``replaced`` by system and item."""
    rows = [
        {
            "item_id": f"i{item}",
            "system": system,
            "output": replaced.get(f"{system}{item}", dialogue(f"{place}{item}", 1 + (item + place) % 3)),
        }
        for item in range(3)
        for place, system in enumerate(SYSTEMS)
    ]
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / "study.toml"
    path.write_text(study)
    return path


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return what writes such a study."""
    return partial(study_of_turns, tmp_path)


def form_of(path: Path) -> Form:
    study = load_study(path)
    outputs = load_outputs(study)
    ((assignment, key),) = sample_assignments(study, outputs, count=1, rng=study_rng(study.seed))
    return build_form(study, outputs, assignment, key, load_texts(study.language, study.texts))


def rated(page: Page) -> TurnTarget:
    (target,) = {question.target for question in page.questions if isinstance(question.target, TurnTarget)}
    return target


TURNS = st.lists(st.sampled_from(["user", "assistant", "system", "tool"]), min_size=1, max_size=12)


@given(TURNS)
def test_cut_dialogue_is_whole_and_each_part_has_a_reply(roles: list[str]) -> None:
    """Joined, the parts are the dialogue but for an ending that nobody answers; none has what follows a reply."""
    source = canonical(json.dumps([{"role": role, "content": f"{n}"} for n, role in enumerate(roles)]))
    cut = medium_of("conversation").turns
    assert cut is not None
    turns = cut(source)
    parts = [turns_of(part) for part in turns.each]
    joined = [turn for part in parts for turn in part]
    whole = list(turns_of(source))
    assert joined == whole[: len(joined)]
    assert all(turn.role != "assistant" for turn in whole[len(joined) :])
    assert turns.rest == (bool(parts) and len(joined) < len(whole))
    for part in parts:
        roles_of_part = [turn.role for turn in part]
        replied = roles_of_part[roles_of_part.index("assistant") :]
        assert {"user", "system"}.isdisjoint(replied)


def test_page_of_a_turn_shows_what_led_to_it(make: Make) -> None:
    """All earlier turns are open, the item's and the tool's too; nothing that follows stands on the page."""
    path = make()
    form = form_of(path)
    texts = load_texts("en", {})
    pages = [page for page in form.pages if page.kind == "rating"]
    outputs = load_outputs(load_study(path))
    counts = [len(medium_of(one).turns(one.text or "").each) for one in outputs.all() if one.item_id != _left(form)]  # type: ignore[misc]
    assert len(pages) == sum(counts)
    for page in pages:
        target = rated(page)
        shown = [exhibit for block in page.exhibits for exhibit in block.exhibits]
        assert [exhibit.turn for exhibit in shown] == list(range(1, target.turn + 1))
        html = render_page(form, page, texts)
        assert re.findall(r"Said \d\d (\d)", html) == [str(number) for number in range(1, target.turn + 1)]
        assert ("Found" in html) == (target.turn > 1)
        assert 'class="item repeated' not in html
        assert [exhibit.turn for exhibit in page.new_outputs] == [target.turn]  # read before: all others
        assert html.count("How good is this turn of System") == 1
    check_one_form(form)


def _left(form: Form) -> str:
    """Return the item that a form of two does not show."""
    shown = {exhibit.item_id for page in form.pages for exhibit in page.outputs}
    (left,) = {"i0", "i1", "i2"} - shown
    return left


def test_model_reads_each_turn_once_in_a_conversation(make: Make) -> None:
    """In a prompt of all pages each turn is sent once; question by question all before it, and nothing after."""
    form = form_of(make())
    whole = "".join(fragment.text or "" for fragment in render_prompt(form).fragments)
    said = re.findall(r"Said \d\d \d", whole)
    assert len(said) == len(set(said))
    for turn in prompt_turns(form, "question"):
        (target,) = {one.target for one in turn.questions}
        assert isinstance(target, TurnTarget)
        text = "".join(fragment.text or "" for fragment in render_turn(turn).fragments)
        assert re.findall(r"Said \d\d (\d)", text) == [str(number) for number in range(1, target.turn + 1)]


def test_one_page_asks_between_the_turns(make: Make) -> None:
    """Where a page holds all, each turn stands on it once, its questions below it."""
    form = form_of(make(STUDY + 'pages = "one"\n'))
    (page,) = (page for page in form.pages if page.kind == "rating")
    html = render_page(form, page, load_texts("en", {}))
    order = re.findall(r"Said \d\d (\d)|(How good)", html)
    assert [said or asked for said, asked in order][1::2] == ["How good"] * (len(order) // 2)
    assert len(re.findall(r"Said \d\d \d", html)) == len(page.questions) == len(page.new_outputs)
    check_one_form(form)


def test_single_outputs_are_cut_into_turns(make: Make) -> None:
    """Dealt one by one, dialogues have no label, and one column."""
    form = form_of(make(STUDY.replace("[design]\nitems = 2\n", "[design]\noutputs = 3\n") + 'pages = "output"\n'))
    texts = load_texts("en", {})
    for page in form.pages:
        if page.kind == "rating":
            html = render_page(form, page, texts)
            assert "How do you rate this turn of the assistant overall?" in html
            assert 'data-columns="1"' in html
            assert f"Dialogue to rate, turn {rated(page).turn}" in html
    assert "This study is about single dialogues." in render_page(form, form.pages[0], texts)
    check_one_form(form)


def test_systems_are_judged_after_whole_dialogues(make: Make) -> None:
    """[spa] beside ratings of turns: its pages show dialogues whole."""
    form = form_of(make(STUDY.replace("[design]\nitems = 2\n", "[spa]\nexposure = 2\n")))
    reading = [exhibit for page in form.pages if page.kind == "reading" for exhibit in page.outputs]
    assert len(reading) == 4
    assert {exhibit.turn for exhibit in reading} == {None}
    assert reading[0].caption.endswith(", dialogue 1")
    assert {type(q.target).__name__ for q in form.questions("everybody")} == {"PreferenceTarget", "TurnTarget"}


def test_stored_turns_are_read_back_and_are_rows() -> None:
    """With the reason asked beside a rating; ratings of whole outputs are stored as before."""
    whole = RatingTarget(label="A", item_id="i", sample=1, criterion="c", elicitation="likert")
    turn = TurnTarget(label="A", item_id="i", sample=1, criterion="c", elicitation="likert", turn=3)
    assert "turn" not in target_to_json(whole)
    for target in (whole, turn, ExplanationTarget(of=turn)):
        assert target_from_json(target_to_json(target)) == target
    labels = AssignmentLabels(systems={"A": "s"}, positions={"A": 1})
    assert [target.rows(2.0, labels)[0][-1] for target in (whole, turn)] == [None, 3]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('kind = "conversation"', 'kind = "markdown"'), 'expected kind = "conversation" beside it, got "markdown"'),
        (("[likert]\n", "[choices]\n"), "expected [spa], [likert], [continuous], [categories] alone, got [choices]"),
        (("[likert]\n", "[ranking]\n"), "expected [spa], [likert], [continuous], [categories] alone, got [ranking]"),
        (
            ('[likert]\noutputs = "all"\n', "[spa]\nexposure = 2\n"),
            "expected a section that rates: [likert], [continuous], [categories], got none",
        ),
        (("[likert]\n", "[spans]\n"), "alone, got [spans]"),
        (('unit = "turn"', 'unit = "line"'), "unit"),
    ],
)
def test_unit_where_it_means_nothing_is_one_line(make: Make, change: tuple[str, str], said: str) -> None:
    """What compares whole outputs says so, with what to do."""
    path = make(STUDY.replace(*change))
    with pytest.raises(StudyError, match=re.escape(said)) as refused:
        load_study(path)
    assert len([line for line in refused.value.problems if said in line]) == 1


def test_dialogue_without_a_reply_is_refused_with_its_row(make: Make) -> None:
    with pytest.raises(StudyError, match=r"outputs\.jsonl line 3: expected a turn of the assistant to rate, got none"):
        load_outputs(load_study(make(zzgood1=[{"role": "user", "content": "Anybody?"}])))


def test_what_follows_the_last_reply_is_counted(make: Make) -> None:
    thanked = [*dialogue("x", 1), {"role": "user", "content": "Thanks"}]
    (said,) = load_outputs(load_study(make(zzgood1=thanked))).notes
    assert "1 of the outputs end with a turn of the user, not shown" in said
    assert medium_of("conversation").turns is not None
    assert Turns(each=("a",)).rest is False


def test_pictures_stand_in_the_turns_that_name_them(tmp_path: Path) -> None:
    """A turn holds the files that it names, and none of the others: people and models are shown each once."""
    (tmp_path / "a.png").write_bytes(tiny_png())
    talk = dialogue("x", 3)
    talk[-1] = {"role": "assistant", "content": "Said xx 3 ![sun](a.png)"}
    path = study_of_turns(tmp_path, STUDY, **{f"{system}{item}": talk for system in SYSTEMS for item in range(3)})
    form = form_of(path)
    held = {(one.turn, len(one.within)) for page in form.pages for one in page.outputs}
    assert held == {(1, 0), (2, 0), (3, 1)}
    texts = load_texts("en", {})
    for page in form.pages:
        if page.kind == "rating":
            assert render_page(form, page, texts).count("<img ") == (rated(page).turn == 3)
    (message,) = render_prompt(form).chat_messages("")
    assert len([part for part in message["content"] if part["type"] == "image_url"]) == 4  # two systems, two items
