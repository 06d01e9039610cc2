"""Conversations of every usual layout as turns of one layout; what cannot be kept is refused, never dropped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from spa.errors import shortened
from spa.media.turn_parts import (
    REASONING,
    Role,
    Turn,
    call_of,
    described,
    is_call,
    is_result,
    kept_of,
    part_turns,
    text_of,
)

ROLES: dict[str, Role] = {
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("user", "human", "prompter"), "user"),
    **dict.fromkeys(("assistant", "gpt", "bot", "model", "chatbot", "ai"), "assistant"),
    **dict.fromkeys(("tool", "function", "observation", "function_response"), "tool"),
}  # fmt: skip
LISTS = ("messages", "conversations", "conversation", "contents", "input")  # keys of an object that holds the turns
TOLD = ("system", "instructions", "systemInstruction", "system_instruction")  # and of the system prompt beside them
CONTENTS = ("content", "value", "parts", "refusal", "audio")


@lru_cache(1024)
def turns_of(source: str) -> tuple[Turn, ...]:
    """Read turns as :func:`canonical` writes them."""
    return tuple(
        Turn(role=one["role"], text=one["content"], call=one.get("call"), name=one.get("name"))
        for one in json.loads(source)
    )


def canonical(cell: str) -> str:
    """Return a conversation, as any of the usual layouts writes it, in one layout: JSON, an object a turn.

    Raise ValueError with what was expected and found.

    >>> canonical('[{"from": "human", "value": "Hi"}]')
    '[{"role": "user", "content": "Hi"}]'
    """
    try:
        read = json.loads(cell)
    except (ValueError, RecursionError):
        raise ValueError(f"expected a conversation as a JSON list of turns, got {shortened(repr(cell), 60)}") from None
    return written(read_turns(read))


def written(turns: Iterable[Turn]) -> str:
    """Write turns in the one layout."""
    return json.dumps([_record(turn) for turn in turns], ensure_ascii=False)


def read_turns(read: object) -> list[Turn]:
    """Return the turns of a list, or of an object with one; raise ValueError where something would be lost."""
    told: list[Turn] = []
    if isinstance(read, dict):
        named = [key for key, value in read.items() if value is not None]
        lists = [key for key in named if key in LISTS]
        others = [key for key in named if key not in LISTS and key not in TOLD]
        if len(lists) != 1 or others or len(named) > 2:
            expected = f"a list of turns, or an object with {LISTS[0]} alone"
            raise ValueError(f"expected {expected}, got {described(read)}")
        told = [turn for key in named if key in TOLD for turn in _told(read[key], key)]
        read = read[lists[0]]
    if not isinstance(read, list) or not read:
        raise ValueError(f"expected a list of turns, got {described(read)}")
    turns = [*told, *(turn for number, one in enumerate(read, start=1) for turn in turns_in(one, f"turn {number}"))]
    if not turns:
        raise ValueError("expected a list of turns, got none that says anything")
    return turns


def _told(given: object, place: str) -> Iterator[Turn]:
    given = given if isinstance(given, dict) else {"content": given}
    yield from turns_in({**given, "role": "system"}, place)


def _record(turn: Turn) -> dict[str, str]:
    more = {"call": turn.call, "name": turn.name}
    return {"role": turn.role, "content": turn.text} | {key: value for key, value in more.items() if value is not None}


def turns_in(member: object, place: str) -> Iterator[Turn]:
    """Yield the turns that one member of a list is: a message is what is said, then what is called."""
    if not isinstance(member, dict):
        raise ValueError(f"{place}: expected an object with role and content, got {described(member)}")
    member = _unwrapped(member)
    turn = kept_of(member)
    kind = turn.pop("type", "message")
    if is_call(kind) or is_result(kind) or kind in REASONING:
        yield from part_turns({"type": kind, **turn}, "tool", place)
        return
    said = turn.pop("role", turn.pop("from", kind if str(kind).lower() in ROLES else None))
    if kind not in ("message", said):
        raise ValueError(f"{place}: expected a message or a tool call, got type {shortened(repr(kind), 40)}")
    role = ROLES.get(str(said).lower())
    if role is None:
        raise ValueError(f"{place}: expected a role of {', '.join(ROLES)}, got {described(said)}")
    name = turn.pop("name", None)  # of a result the tool's
    if name is not None and not isinstance(name, str):
        raise ValueError(f"{place}: expected a name as text, got {described(name)}")
    name = None if role == "tool" else name or None
    if role == "assistant" and turn.keys() == {"content", "call"} and isinstance(turn["call"], str):  # as written here
        found = [Turn(role=role, text=text_of(turn.pop("content"), place), call=turn.pop("call"))]
    else:
        found = list(_said(turn, role, place))
    if turn:
        raise ValueError(
            f"{place}: expected role, content and tool_calls, got the key {shortened(repr(min(turn)), 40)}"
        )
    if not found and role != "system":  # who is told nothing is told nothing
        raise ValueError(f"{place}: expected what {said} says, got nothing")
    yield from found if name is None else (replace(one, name=name) if one.role == role else one for one in found)


def _unwrapped(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message that stands in another object, as LangChain writes it."""
    inner = given.get("data")
    if isinstance(inner, dict) and given.keys() == {"type", "data"} and str(given["type"]).lower() in ROLES:
        return {**inner, "type": given["type"]}
    inner, named = given.get("kwargs"), given.get("id")
    if isinstance(inner, dict) and given.get("type") == "constructor" and isinstance(named, list) and named:
        kind = str(named[-1]).removesuffix("Chunk").removesuffix("Message").lower()
        return {**inner, "type": kind} if kind in ROLES else given
    return given


def _said(turn: dict[str, Any], role: Role, place: str) -> Iterator[Turn]:
    """Yield what a turn says and calls, and take it out of the turn."""
    for key in ("reasoning_content", "reasoning"):
        if key in turn:
            list(part_turns({"type": "reasoning", "text": turn.pop(key)}, role, place))
    calls = turn.pop("tool_calls", [])
    if turn.get("invalid_tool_calls") == []:
        turn.pop("invalid_tool_calls")
    extra = turn.pop("additional_kwargs", {})
    if isinstance(extra, dict) and calls:
        extra = {key: value for key, value in extra.items() if key != "tool_calls"}  # the same once more
    if isinstance(extra, dict) and kept_of({key: value for key, value in extra.items() if value}):
        raise ValueError(f"{place}: expected no more in additional_kwargs, got {described(extra)}")
    failed = turn.pop("is_error", False)
    contents = [
        {"type": "audio", "audio": turn.pop(key)} if key == "audio" else turn.pop(key)
        for key in CONTENTS
        if key in turn
    ]
    texts: list[tuple[str, bool]] = []  # and whether it runs on from the one before
    for content in contents:
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, dict) and calls and part.get("type") == "tool_use":
                continue  # LangChain's message of Anthropic, whose calls stand in tool_calls too
            for found in part_turns(part, role, place):
                if found.call is None and found.role == role:
                    texts.append((found.text, isinstance(part, dict) and not found.text.startswith("![")))
                    continue
                yield from _together(texts, role)
                texts.clear()
                yield found
    if role == "tool" and contents and not texts:
        texts.append(("", False))  # what returns nothing says so
    yield from _together([("(error)", False), *texts] if failed else texts, role)
    if not isinstance(calls, list):
        raise ValueError(f"{place}, tool_calls: expected a list, got {described(calls)}")
    legacy = turn.pop("function_call", None)
    for call in [*calls, *([] if legacy is None else [legacy])]:
        yield call_of(call, f"{place}, tool_calls")


def _together(texts: Sequence[tuple[str, bool]], role: Role) -> Iterator[Turn]:
    """Yield texts as one turn: parts of the assistant's run on, as where citations part a sentence."""
    said = ""
    for place, (text, runs_on) in enumerate(texts):
        said += text if not place or (runs_on and role == "assistant") else f"\n{text}"
    if said.strip() or (texts and role == "tool"):
        yield Turn(role=role, text=said)
