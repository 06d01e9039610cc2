"""Nested conversations as a study: a reply to what all were given, or whole dialogues, as the files have it."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from spa.media.turns import turns_of
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from tests.spa.media.test_conversation import LAYOUTS
from tests.spa.started_studies import spa

Turns = list[dict[str, Any]]
SYSTEMS = ("alpha", "beta")


def question(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def reply(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def started(folder: Path, made: Any, *options: str) -> tuple[dict[str, Any], str, Any]:
    """Start a study of six items by ``made(item, system)``; return its [outputs], what was said, and its outputs."""
    rows = [{"id": f"i{item}", "model": name, "messages": made(item, name)} for item in range(6) for name in SYSTEMS]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = spa("init", folder / "study", "--outputs", folder / "rows.jsonl", "--yes", *options).output
    path = folder / "study" / "study.toml"
    return tomllib.loads(path.read_text())["outputs"], said, load_outputs(load_study(path))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reply_to_one_dialogue_is_the_output(layout: str, tmp_path: Path) -> None:
    """In every layout: all before it is the prompt, with calls and system prompts; a line says so."""

    def made(item: int, system: str) -> Turns:
        turns = copy.deepcopy(LAYOUTS[layout])
        text = json.dumps(turns[-1]).replace("Sunny.", f"Sunny {item} {len(system)}.")
        first = json.dumps(turns[1]).replace("Weather?", f"Weather {item}?")
        return [turns[0], json.loads(first), *turns[2:-1], json.loads(text)]

    keys, said, outputs = started(tmp_path, made)
    assert (keys.get("kind"), keys["item_kind"]) == (None, "conversation")
    assert "prompts are conversation: all before the last reply, which is the output, is one for all" in said
    assert {one.text for one in outputs.of("i2", "beta")} == {"Sunny 2 4."}
    prompt = [(turn.role, turn.text) for turn in turns_of(outputs.item("i2").text)]
    assert prompt[:2] == [("system", "Be brief."), ("user", "Weather 2?")]
    assert prompt[-1] == ("tool", "sun")


def test_dialogues_that_differ_by_system_are_outputs(tmp_path: Path) -> None:
    def made(item: int, system: str) -> Turns:
        return [
            question(f"Q{item}"),
            reply(f"A{len(system)}"),
            question(f"And {len(system)}?"),
            reply(f"B{item}{system[:1]}"),
        ]

    keys, said, outputs = started(tmp_path, made)
    assert (keys["kind"], "item_text" in keys) == ("conversation", False)
    assert "whole dialogues, as what stands before the last reply differs by system in 6 of 6 items" in said
    assert "output: column messages, all of each conversation (conversations)" in said
    assert "prompt:" not in said
    assert [turn.text for turn in turns_of(outputs.output("i1", "alpha", 1).text)] == ["Q1", "A5", "And 5?", "B1a"]
    assert outputs.notes == ()


def test_calls_of_tools_differ_so_dialogues_are_outputs(tmp_path: Path) -> None:
    """What a system asks a tool belongs to its answer."""

    def made(item: int, system: str) -> Turns:
        call = {"role": "assistant", "tool_calls": [{"function": {"name": "look", "arguments": system[:1]}}]}
        return [question(f"Q{item}"), call, {"role": "tool", "content": "sun"}, reply(f"B{item} {len(system)}")]

    keys, _, outputs = started(tmp_path, made)
    assert keys["kind"] == "conversation"
    assert [turn.call for turn in turns_of(outputs.output("i0", "beta", 1).text)] == [None, "look", None, None]


def test_instructions_of_each_system_are_left_out(tmp_path: Path) -> None:
    """They differ by system, and may name it; of a dialogue the rest is the prompt, of a question its text."""

    def made(item: int, system: str) -> Turns:
        told = {"role": "system", "content": f"You are {system}."}
        return [told, question(f"Q{item}"), reply("A"), question("And?"), reply(f"B{item} {len(system)}")]

    keys, said, outputs = started(tmp_path, made)
    assert (keys.get("kind"), keys["item_kind"]) == (None, "conversation")
    assert "without system prompts, which differ in 6" in said
    assert "prompt: column messages\n" in said
    assert [turn.role for turn in turns_of(outputs.item("i0").text)] == ["user", "assistant", "user"]
    (tmp_path / "short").mkdir()
    keys, said, outputs = started(
        tmp_path / "short", lambda item, system: made(item, system)[:2] + made(item, system)[4:]
    )
    assert "kind" not in keys
    assert "item_kind" not in keys
    assert outputs.item("i3").text == "Q3"
    assert "without 12 messages of system and tools" in said


def test_single_questions_stay_texts(tmp_path: Path) -> None:
    keys, said, outputs = started(
        tmp_path, lambda item, system: [question(f"Q{item}"), reply(f"B{item} {len(system)}")]
    )
    assert "item_kind" not in keys
    assert "conversation:" not in said
    assert outputs.item("i3").text == "Q3"


def test_kind_that_is_said_decides(tmp_path: Path) -> None:
    def made(item: int, system: str) -> Turns:
        return [question(f"Q{item}"), reply("A"), question("And?"), reply(f"B{item} {len(system)}")]

    for kind in ("conversation", "text"):
        (tmp_path / kind).mkdir()
    keys, _, _ = started(tmp_path / "conversation", made, "--kind", "conversation")
    assert (keys["kind"], "item_text" in keys) == ("conversation", False)
    keys, _, outputs = started(tmp_path / "text", made, "--kind", "text")
    assert "item_kind" not in keys
    assert outputs.item("i0").text == "User: Q0\n\nAssistant: A\n\nUser: And?"


def test_dialogue_that_cannot_be_shown_is_said_with_its_row(tmp_path: Path) -> None:
    """One of another layout: all stay texts, as before."""

    def made(item: int, system: str) -> Turns:
        odd = {"mood": "bright"} if (item, system) == (2, "beta") else {}
        return [question(f"Q{item}"), reply("A"), question("And?") | odd, reply(f"B{item} {len(system)}")]

    keys, said, _ = started(tmp_path, made)
    assert "item_kind" not in keys
    assert "conversations are shown as texts, as" in said
    assert "line 6 is none that can be shown: turn 3: expected role, content" in " ".join(said.split())
