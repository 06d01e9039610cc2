"""Conversations: every layout is one, nothing of it is lost, and what is no turn is refused in a line."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.errors import StudyError
from spa.media import medium_of
from spa.media.turns import canonical, turns_of
from spa.records.form import Exhibit, Segment
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from spa.study.warnings import study_warnings

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases" / "traces" / "conversation_layouts"
CONVERSATION = medium_of("conversation")
SAID = (
    ("system", None, "Be brief."),
    ("user", None, "Weather?"),
    ("assistant", "look", '{"city": "Ulm"}'),
    ("tool", None, "sun"),
    ("assistant", None, "Sunny."),
)
ARGUMENTS = {"city": "Ulm"}
LAYOUTS: dict[str, list[dict[str, Any]]] = {  # the same dialogue as each tool writes it
    "chat": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?", "name": None},
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"city": "Ulm"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "sun"},
        {"role": "assistant", "content": "Sunny.", "finish_reason": "stop", "logprobs": {"content": []}},
    ],
    "items": [
        {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
        {"type": "message", "role": "user", "content": "Weather?"},
        {"type": "function_call", "name": "look", "arguments": '{"city": "Ulm"}', "call_id": "c1", "id": "f1"},
        {"type": "function_call_output", "call_id": "c1", "output": "sun"},
        {
            "type": "message",
            "id": "m1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Sunny.", "annotations": []}],
        },
    ],
    "blocks": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": ARGUMENTS}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "sun"}]}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Sunny."}]},
    ],
    "parts": [
        {"role": "system", "parts": [{"text": "Be brief."}]},
        {"role": "user", "parts": [{"text": "Weather?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": ARGUMENTS}}]},
        {"role": "function", "parts": [{"functionResponse": {"name": "look", "response": "sun"}}]},
        {"role": "model", "parts": [{"text": "Sunny."}]},
    ],
    "spans": [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Weather?"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": ARGUMENTS}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "sun"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "Sunny."}], "finish_reason": "stop"},
    ],
    "shared": [
        {"from": "system", "value": "Be brief."},
        {"from": "human", "value": "Weather?"},
        {"from": "function_call", "value": "x"},
        {"from": "observation", "value": "sun"},
        {"from": "gpt", "value": "Sunny."},
    ],
}
LAYOUTS["shared"].pop(2)  # a call without a name


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_the_same_dialogue(layout: str) -> None:
    """Whatever roles and parts are called; null and what says nothing is no content."""
    wanted = [one for one in SAID if layout != "shared" or one[1] is None]
    for written in (LAYOUTS[layout], {"messages": LAYOUTS[layout]}, {"contents": LAYOUTS[layout], "id": None}):
        turns = turns_of(canonical(json.dumps(written)))
        assert [(turn.role, turn.call, turn.text) for turn in turns] == wanted


@pytest.mark.skipif(not CASES.is_dir(), reason="no cases of failed inputs beside the project")
def test_files_of_tools_are_dialogues() -> None:
    for path in CASES.glob("*.json"):
        turns = turns_of(canonical(path.read_text()))
        assert turns[0].role == "user"
        assert len(turns) >= 4


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("Hello", "expected a conversation as a JSON list of turns, got 'Hello'"),
        ("[]", "expected a list of turns, got an empty list"),
        ('{"messages": [], "model": "alpha"}', "or an object with messages alone, got an object with messages, model"),
        ('["a"]', "turn 1: expected an object with role and content, got 'a'"),
        ('[{"role": "narrator", "content": "a"}]', "turn 1: expected a role of system"),
        (
            '[{"role": "user", "content": "a"}, {"role": "assistant", "content": " "}]',
            "turn 2: expected what",
        ),
        ('[{"role": "user", "content": "a", "mood": "b"}]', "got the key 'mood'"),
        ('[{"role": "user", "content": 5}]', "turn 1: expected text, got 5"),
        ('[{"role": "assistant", "tool_calls": [{"function": {"arguments": ""}}]}]', "expected the name of the tool"),
        ('[{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]', "got type 'image_url' without"),
        ('[{"type": "reasoning", "summary": []}]', "expected a list of turns, got none that says anything"),
        ('[{"type": "screen_call_note"}]', "expected a message or a tool call, got type 'screen_call_note'"),
    ],
)
def test_what_is_no_turn_is_refused(cell: str, said: str) -> None:
    """No template sees an empty turn, and no tool call or unknown key is dropped."""
    with pytest.raises(ValueError, match=re.escape(said)) as refused:
        canonical(cell)
    assert len(str(refused.value)) < 400


TEXTS = st.text(min_size=1, max_size=20).filter(str.strip)
TURNS = st.lists(
    st.one_of(
        st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system", "tool"]), "content": TEXTS}),
        st.builds(
            lambda name, text: {"role": "assistant", "tool_calls": [{"name": name, "arguments": text}]}, TEXTS, TEXTS
        ),
    ),
    min_size=1,
    max_size=5,
)


@given(TURNS)
def test_one_layout_is_read_as_itself(turns: list[dict[str, Any]]) -> None:
    """What is said stands in it word for word; reading it again changes nothing."""
    once = canonical(json.dumps(turns))
    said = [turn.get("content") or turn["tool_calls"][0]["arguments"] for turn in turns]
    assert [turn.text for turn in turns_of(once)] == said
    assert canonical(once) == once


def exhibit(layout: str, **names: str) -> Exhibit:
    source = canonical(json.dumps(LAYOUTS[layout]))
    return Exhibit(
        exhibit_id="e1",
        caption="A",
        label="A",
        item_id="1",
        medium="conversation",
        segments=(Segment(text=source),),
        names=tuple(names.items()),
    )


def test_a_dialogue_folds_what_neither_side_says() -> None:
    """Roles are called in the form's language; a model reads the same turns, and what is folded."""
    shown = CONVERSATION.shown(exhibit("chat", role_user="Nutzer", role_call="Ruft"), lambda one: "")
    assert re.findall(r'<(div|details) class="turn (\w+)"', shown) == [
        ("details", "system"),
        ("div", "user"),
        ("details", "tool"),
        ("details", "tool"),
        ("div", "assistant"),
    ]
    assert '<p class="role">Nutzer:</p>' in shown
    assert "<summary>Ruft: look:</summary>" in shown
    said = CONVERSATION.said(exhibit("chat", role_user="Nutzer"))
    assert said.split("\n\n")[1] == "Nutzer:\nWeather?"
    assert all(text in said for _, _, text in SAID)
    assert CONVERSATION.reads(exhibit("chat").text).split() == ["Weather?", "Sunny."]


def test_outputs_and_items_are_conversations(tmp_path: Path) -> None:
    """In nested fields and as JSON in a cell; a row that is none is one line with its place."""
    rows = [
        {
            "item_id": str(item),
            "system": system,
            "output": LAYOUTS["chat"] if item else json.dumps(LAYOUTS["parts"]),
            "given": [{"role": "user", "content": f"Question {item}"}],
        }
        for item in range(5)
        for system in ("alpha", "beta")
    ]
    path = tmp_path / "study.toml"
    path.write_text(
        'id = "talk"\ntitle = "Talk"\n[outputs]\nfiles = ["outputs.jsonl"]\nkind = "conversation"\n'
        'item_kind = "conversation"\nitem_text = "given"\n[[systems]]\nid = "alpha"\n[[systems]]\nid = "beta"\n'
        "[likert]\n"
    )
    table = tmp_path / "outputs.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    outputs = load_outputs(load_study(path))
    assert {tuple(turn.text for turn in turns_of(one.text or "")) for one in outputs.all()} == {
        tuple(text for _, _, text in SAID)
    }
    assert [turns_of(one.text or "")[0].text for one in outputs.items] == [f"Question {n}" for n in range(5)]
    rows[3]["output"] = [{"role": "user", "content": ""}]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(StudyError, match=r"outputs\.jsonl line 4: turn 1: expected what user says, got nothing"):
        load_outputs(load_study(path))


@pytest.mark.parametrize(
    "turn",
    [
        {"role": "system", "content": "You are\nzzalpha-2, be kind."},
        {"role": "developer", "content": [{"type": "input_text", "text": "zzalpha 2"}]},
        *(
            {"role": "assistant", "tool_calls": [{"function": {"name": name, "arguments": "{}"}}]}
            for name in ("zzalpha_2", "ask_zzalpha_2_now", "mcp__zzalpha_2__look", "look.zzalpha2", "lookZzalpha2")
        ),
        {"role": "assistant", "tool_calls": [{"function": {"name": "look", "arguments": '{"q": "a\\nzzalpha-2"}'}}]},
        {"role": "tool", "content": "by zzalpha_2"},
        {"role": "assistant", "content": "I, *zzalpha-2*, say."},
    ],
)
def test_names_of_systems_are_found_where_turns_hold_them(turn: dict[str, Any], tmp_path: Path) -> None:
    """In system prompts, names of tools word by word, arguments and results; of outputs and of what all were given."""
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
    for place, found in (("output", "1 outputs"), ("given", "1 item texts")):
        rows = [
            {"item_id": str(item), "system": system, "output": said, "given": said[:1], "n": item}
            for item in range(5)
            for system in ("zzalpha-2", "content")
        ]
        rows[0][place] = [*said[:1], turn]
        rows[1]["given"] = rows[0]["given"]
        (tmp_path / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        path = tmp_path / "study.toml"
        path.write_text(
            'id = "talk"\ntitle = "Talk"\n[outputs]\nfiles = ["outputs.jsonl"]\nkind = "conversation"\n'
            'item_kind = "conversation"\nitem_text = "given"\n[[systems]]\nid = "zzalpha-2"\n[[systems]]\n'
            'id = "content"\n[likert]\n'
        )
        study = load_study(path)
        named = [line for line in study_warnings(study, load_outputs(study)) if "the name of a system" in line]
        assert len(named) == 1  # a key of the layout is no word of it
        assert f'"zzalpha-2", the name of a system, appears in {found}' in named[0]


def test_several_of_one_role_are_told_apart() -> None:
    """Names of speakers are shown and sent; that of a tool's result stands with its call."""
    said = [
        {"role": "user", "name": "Ann", "content": "Hi"},
        {"role": "user", "name": "Bob", "content": [{"type": "text", "text": "Ho"}]},
        {"role": "tool", "name": "look", "content": "sun"},
        {"role": "assistant", "name": "", "content": "Hey"},
    ]
    source = canonical(json.dumps(said))
    assert canonical(source) == source
    assert [turn.name for turn in turns_of(source)] == ["Ann", "Bob", None, None]
    shown = replace(exhibit("chat"), segments=(Segment(text=source),))
    assert '<p class="role">user (Bob):</p>' in CONVERSATION.shown(shown, lambda one: "")
    with pytest.raises(ValueError, match="turn 1: expected a name as text, got 5"):
        canonical('[{"role": "user", "name": 5, "content": "a"}]')
