"""Conversations of every usual layout as turns of one layout; what cannot be kept is refused, never dropped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from spa.errors import shortened
from spa.media.picture_parts import picture_of

Role = Literal["system", "user", "assistant", "tool"]
ROLES: dict[str, Role] = {
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("user", "human", "prompter"), "user"),
    **dict.fromkeys(("assistant", "gpt", "bot", "model", "chatbot", "ai"), "assistant"),
    **dict.fromkeys(("tool", "function", "observation", "function_response"), "tool"),
}  # fmt: skip
LISTS = ("messages", "conversations", "conversation", "contents")  # keys of an object that holds the turns alone
NO_CONTENT = frozenset(  # keys that say nothing to a reader
    "id status annotations logprobs provider_data finish_reason metadata options index tool_call_id tool_use_id "
    "call_id".split()
)
TEXTS = ("text", "input_text", "output_text", "summary_text")
CALLS, RESULTS = (
    ("tool_call", "tool_use", "function_call"),
    ("tool_call_response", "tool_result", "function_call_output"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one side says; or, of the assistant, that it calls a tool: ``call`` is its name, ``text`` the arguments.

    ``name`` says who of several with one role speaks.
    """

    role: Role
    text: str
    call: str | None = None
    name: str | None = None


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
    if isinstance(read, dict):
        named = [key for key, value in read.items() if value is not None]
        if len(named) != 1 or named[0] not in LISTS:
            raise ValueError(f"expected a list of turns, or an object with {LISTS[0]} alone, got {_shown(read)}")
        read = read[named[0]]
    if not isinstance(read, list) or not read:
        raise ValueError(f"expected a list of turns, got {_shown(read)}")
    turns = [turn for number, one in enumerate(read, start=1) for turn in _turns(one, f"turn {number}")]
    return written(turns)


def written(turns: Iterable[Turn]) -> str:
    """Write turns in the one layout."""
    return json.dumps([_record(turn) for turn in turns], ensure_ascii=False)


def _record(turn: Turn) -> dict[str, str]:
    more = {"call": turn.call, "name": turn.name}
    return {"role": turn.role, "content": turn.text} | {key: value for key, value in more.items() if value is not None}


def _turns(given: object, place: str) -> Iterator[Turn]:
    if not isinstance(given, dict):
        raise ValueError(f"{place}: expected an object with role and content, got {_shown(given)}")
    turn = {key: value for key, value in given.items() if value is not None and key not in NO_CONTENT}
    kind = turn.pop("type", "message")
    if kind in CALLS or kind in RESULTS:
        yield _part({"type": kind, **turn}, "tool", place)
        return
    if kind != "message":
        raise ValueError(f"{place}: expected a message or a tool call, got type {shortened(repr(kind), 40)}")
    said = turn.pop("role", turn.pop("from", None))
    role = ROLES.get(str(said).lower())
    if role is None:
        raise ValueError(f"{place}: expected a role of {', '.join(ROLES)}, got {_shown(said)}")
    name = turn.pop("name", None)  # of a result the tool's
    if name is not None and not isinstance(name, str):
        raise ValueError(f"{place}: expected a name as text, got {_shown(name)}")
    name = None if role == "tool" else name or None
    if role == "assistant" and turn.keys() == {"content", "call"} and isinstance(turn["call"], str):  # as written here
        found = [Turn(role=role, text=_text(turn.pop("content"), place), call=turn.pop("call"))]
    else:
        found = list(_said(turn, role, place))
    if turn:
        raise ValueError(
            f"{place}: expected role, content and tool_calls, got the key {shortened(repr(min(turn)), 40)}"
        )
    if not found:
        raise ValueError(f"{place}: expected what {said} says, got nothing")
    yield from found if name is None else (replace(one, name=name) if one.role == role else one for one in found)


def _said(turn: dict[str, Any], role: Role, place: str) -> Iterator[Turn]:
    """Yield what a turn says and calls, and take it out of the turn."""
    contents = [turn.pop(key) for key in ("content", "value", "parts", "refusal") if key in turn]
    texts: list[str] = []
    for content in contents:
        for part in content if isinstance(content, list) else [content]:
            found = _part(part, role, place)
            if found.call is None and found.role == role:
                texts.append(found.text)
                continue
            yield from _together(texts, role)
            texts.clear()
            yield found
    yield from _together(texts, role)
    calls = turn.pop("tool_calls", [])
    if not isinstance(calls, list):
        raise ValueError(f"{place}, tool_calls: expected a list, got {_shown(calls)}")
    legacy = turn.pop("function_call", None)
    for call in [*calls, *([] if legacy is None else [legacy])]:
        yield _call(call, f"{place}, tool_calls")


def _together(texts: Sequence[str], role: Role) -> Iterator[Turn]:
    text = "\n".join(texts)
    if text.strip():
        yield Turn(role=role, text=text)


def _part(part: object, role: Role, place: str) -> Turn:
    """Return a part of a turn: text, a call of a tool, or its result."""
    if isinstance(part, str):
        return Turn(role=role, text=part)
    if not isinstance(part, dict):
        raise ValueError(f"{place}: expected text, got {_shown(part)}")
    kept = {key: value for key, value in part.items() if value is not None and key not in NO_CONTENT}
    try:
        picture = picture_of(kept)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    if picture is not None:
        return Turn(role=role, text=picture)
    kind = kept.pop("type", "text")
    for key in ("functionCall", "function_call"):
        if isinstance(kept.get(key), dict):
            return _call(kept[key], place)
    for key in ("functionResponse", "function_response"):
        if isinstance(kept.get(key), dict):
            return Turn(role="tool", text=_text(kept[key].get("response"), place))
    if kind in CALLS:
        return _call(kept, place)
    if kind in RESULTS:
        found = next((kept[key] for key in ("response", "output", "content", "result") if key in kept), None)
        return Turn(role="tool", text=_text(found, place))
    text = kept.pop("text", kept.pop("content", None)) if kind in TEXTS else None
    if not isinstance(text, str) or kept:
        raise ValueError(f"{place}: expected a part with text, a tool call or its result, got type {_shown(kind)}")
    return Turn(role=role, text=text)


def _call(call: object, place: str) -> Turn:
    if not isinstance(call, dict):
        raise ValueError(f"{place}: expected a call with name and arguments, got {_shown(call)}")
    inner: Mapping[str, Any] = call["function"] if isinstance(call.get("function"), dict) else call
    name = inner.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError(f"{place}: expected the name of the tool, got {_shown(name)}")
    given = next((inner[key] for key in ("arguments", "input", "args", "parameters") if key in inner), "")
    return Turn(
        role="assistant", text=given if isinstance(given, str) else json.dumps(given, ensure_ascii=False), call=name
    )


def _text(result: object, place: str) -> str:
    """Return a tool's result as text: of parts their text, of anything else JSON."""
    if isinstance(result, str):
        return result
    if isinstance(result, list) and all(isinstance(one, dict) and isinstance(one.get("text"), str) for one in result):
        return "\n".join(one["text"] for one in result)
    if result is None:
        raise ValueError(f"{place}: expected a tool's result, got nothing")
    return json.dumps(result, ensure_ascii=False)


def _shown(value: object) -> str:
    names = {dict: "an empty object", list: "a list" if value else "an empty list", type(None): "nothing"}
    if isinstance(value, dict) and value:
        return f"an object with {shortened(', '.join(map(str, value)), 80)}"
    return names.get(type(value)) or shortened(repr(value), 60)
