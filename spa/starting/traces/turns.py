"""Texts of what was sent to a system and of what came back, in the layouts of chat services and their tools."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from spa.errors import TableError
from spa.media.turns import ROLES as SHOWN_ROLES
from spa.media.turns import turns_in
from spa.tables.bounds import check_depth
from spa.tables.paths import as_text, inside
from spa.tables.source import json_decoder

Json: TypeAlias = object

PRINTED = re.compile(r"\s*\[*\{'")  # begins an object as Python prints it
ROLES = {
    "user": ("humanmessage",),
    "assistant": ("aimessage", "aimessagechunk"),
    "system": ("systemmessage",),
    "tool": ("toolmessage", "function_call_output", "ipython"),
}  # beside those of conversations that are shown
ROLE_OF = {**SHOWN_ROLES, **{name: role for role, names in ROLES.items() for name in names}}
CALLS = ("function_call", "reasoning", "tool_call", "web_search_call", "file_search_call", "computer_call")
WITHIN = ("messages", "conversation", "conversations", "turns", "contents")  # keys of a list of turns
CHOICES = frozenset({"choices", "candidates", "generations"})  # keys of a list of what a service could say
REPLIED = {  # key of a list in the reply of a service: what its first member has
    "choices": frozenset({"message", "finish_reason", "delta"}),
    "candidates": frozenset({"content", "finishReason", "finish_reason"}),
    "generations": frozenset({"message", "generation_info"}),
    "output": frozenset({"role", "call_id", "summary"}),
}
ANSWERS = (
    "output_text",
    "output",
    "outputs",
    "answer",
    "response",
    "completion",
    "generated_text",
    "result",
    "text",
    "content",
    "message",
)  # keys of an object that hold what a system made


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation: whose, and its text; ``None`` where there is no text, as of a call of a tool."""

    role: str
    text: str | None


def read(value: Json) -> Json:
    """Return the list or object that a text holds as JSON, or as Python prints it; anything else as it is.

    >>> read("[{'role': 'user', 'content': None}]"), read("[plain]"), read("{'a': print()}")
    ([{'role': 'user', 'content': None}], '[plain]', "{'a': print()}")
    """
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        check_depth(value)
        found = _printed(value.strip()) if PRINTED.match(value) else inside(value)
    except (TableError, ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return value
    return found if isinstance(found, dict) or (isinstance(found, list) and value.count("{")) else value


def _printed(text: str) -> Json:
    """Return what Python prints so as JSON would hold it; raise one of many errors where it is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # of escapes that are none
        found = json.dumps(ast.literal_eval(text), ensure_ascii=False)
    found.encode()  # no half of a surrogate pair
    return json_decoder().decode(found)


def is_reply(value: Json) -> bool:
    """Return whether something is the reply of a service, with its choices or the items of its output."""
    value = read(value)
    if not isinstance(value, dict):
        return False
    for key, marks in REPLIED.items():
        found = read(value.get(key))
        first = found[0] if isinstance(found, list) and found else None
        first = first[0] if isinstance(first, list) and first else first
        if isinstance(first, dict) and marks & first.keys():
            return True
    return False


def chat_in(value: Json) -> Json:
    """Return the conversation or the reply of a service that a text holds as JSON; any other text as it is.

    >>> chat_in('{"role": "assistant", "content": "Ho"}'), chat_in('{"label": "x"}')
    ({'role': 'assistant', 'content': 'Ho'}, '{"label": "x"}')
    """
    found = read(value)
    if isinstance(found, dict) and (CHOICES & found.keys() or _turn(found) is not None):
        return found
    return value if turns_of(found) is None else found


def text_of(content: Json) -> str | None:
    """Return the text of a turn's content: a text, or the parts of a list that are texts.

    >>> text_of("a"), text_of([{"type": "text", "text": "a"}, {"type": "image_url"}, "b"]), text_of(None)
    ('a', 'ab', None)
    """
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        parts = content.get("parts")
        return _part(content) if parts is None else text_of(parts)
    if not isinstance(content, list):
        return None
    texts = [text for part in content if (text := part if isinstance(part, str) else _part(part)) is not None]
    return "".join(texts) if texts else None


def _part(part: Json) -> str | None:
    """Return the text of one part."""
    if not isinstance(part, dict) or part.get("type") in (*CALLS, "tool_use", "thinking"):
        return None
    for key in ("text", "content", "response", "value", "message_content.text"):
        found = part.get(key)
        if isinstance(found, dict):
            found = found.get("value")
        if isinstance(found, str):
            return found
    inner = part.get("message_content")
    return _part(inner) if isinstance(inner, dict) else None


def _turn(value: Json) -> Turn | None:
    """Return one turn of a list; ``None`` if it is none.

    What can be shown as it is written is read as it would be shown. Traces hold more: parts that cannot be shown,
    reasoning, keys of the tool that recorded them, of which no word is lost by leaving them out.
    """
    if not isinstance(value, dict):
        return None
    try:
        shown = list(turns_in(value, ""))
    except ValueError:
        return _recorded(value)
    said = [one for one in shown if one.call is None]
    if not said:
        return Turn(shown[0].role, None) if shown else _recorded(value)
    return Turn(said[0].role, "".join(one.text for one in said if one.role == said[0].role) or None)


def _recorded(value: Mapping[str, Json]) -> Turn | None:
    """Return a turn as a tool recorded it."""
    if isinstance(inner := value.get("message"), dict):  # OpenInference, nested
        value = {**inner, "contents": inner.get("contents")}
    if isinstance(inner := value.get("kwargs"), dict):  # LangChain, serialised
        named = value.get("id")
        name = named[-1] if isinstance(named, list) and named else value.get("type")
        return _said(str(name).lower(), inner)
    if isinstance(inner := value.get("data"), dict) and "type" in value:  # LangChain, message_to_dict
        return _said(str(value["type"]).lower(), inner)
    value = {key.removeprefix("message."): found for key, found in value.items() if found is not None}
    kind = value.get("type")
    if "role" not in value and "from" not in value:
        if kind in CALLS:
            return Turn("assistant", None)
        if kind == "function_call_output":
            return Turn("tool", text_of(value.get("output")))
        return _said(str(kind).lower(), value) if isinstance(kind, str) and "content" in value else None
    return _said(str(value.get("role", value.get("from"))).lower(), value)


def _said(name: str, value: Mapping[str, Json]) -> Turn | None:
    role = ROLE_OF.get(name)
    if role is None:
        return None
    for key in ("content", "contents", "parts", "value", "text", "output"):
        if value.get(key) is not None:
            text = text_of(value[key])
            return Turn(role, None if text == "" and value.get("tool_calls") else text)
    return Turn(role, None)


def turns_of(value: Json, *, deep: int = 4) -> tuple[Turn, ...] | None:
    """Return the turns of a conversation in whatever layout it is; ``None`` if it is none.

    >>> turns_of({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": None}]})
    (Turn(role='user', text='Hi'), Turn(role='assistant', text=None))
    >>> turns_of("Hi") is None, turns_of([{"a": "b"}]) is None
    (True, True)
    """
    value = read(value)
    if isinstance(value, dict) and deep:
        for key in WITHIN:
            if isinstance(read(found := value.get(key)), list):
                return turns_of(found, deep=deep - 1)
        return None
    if not isinstance(value, list) or not value:
        return None
    if len(value) == 1 and isinstance(value[0], list) and deep:
        return turns_of(value[0], deep=deep - 1)
    found_turns = [_turn(one) for one in value]
    turns = tuple(turn for turn in found_turns if turn is not None)
    return turns if len(turns) == len(value) else None


def question(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the turns up to the last one of the user, without the instructions of the system."""
    last = max((place for place, turn in enumerate(turns) if turn.role == "user"), default=len(turns) - 1)
    return tuple(turn for turn in turns[: last + 1] if turn.role != "system")


def instructions(turns: Sequence[Turn]) -> str | None:
    """Return the instructions of the system."""
    return "\n\n".join(turn.text for turn in turns if turn.role == "system" and turn.text) or None


def conversation(turns: Sequence[Turn]) -> str | None:
    r"""Return turns as one text: that of a single turn as it is, of several with who said it.

    >>> conversation([Turn("user", "Hi"), Turn("assistant", "Ho"), Turn("user", "?")])
    'User: Hi\n\nAssistant: Ho\n\nUser: ?'
    """
    said = [turn for turn in turns if turn.text]
    if len(said) == 1:
        return said[0].text
    return "\n\n".join(f"{turn.role.title()}: {turn.text}" for turn in said) or None


@dataclass(frozen=True, slots=True)
class Made:
    """What a system made: its text (``None``: none), how many further choices there are, whether it is written JSON."""

    text: str | None
    further: int = 0
    as_json: bool = False


NOTHING_MADE = Made(None)


def made_of(value: Json, *, deep: int = 8) -> Made:
    """Return the text of what a system made, in whatever layout it is.

    >>> made_of({"choices": [{"message": {"role": "assistant", "content": "Ho"}}]}).text, made_of("Ho").text
    ('Ho', 'Ho')
    >>> made_of({"label": "x", "why": "y"}), made_of(None).text
    (Made(text='{"label": "x", "why": "y"}', further=0, as_json=True), None)
    """
    if value is None or not deep:
        return NOTHING_MADE
    if not isinstance(value, dict | list):
        return Made(as_text(value))
    if (turns := turns_of(value)) is not None:
        return _last(turns)
    if isinstance(value, list):
        if not value:
            return NOTHING_MADE
        if all(isinstance(one, dict) and one.get("type") for one in value) and (text := text_of(value)) is not None:
            return Made(text)
        if len(value) == 1:
            return made_of(value[0], deep=deep - 1)
        return _chosen(value, deep) if _are_choices(value) else Made(as_text(value), as_json=True)
    return _made_of_object(value, deep)


def _made_of_object(value: Mapping[str, Json], deep: int) -> Made:
    if (turn := _turn(value)) is not None:
        return Made(turn.text) if turn.role == "assistant" else NOTHING_MADE
    for key in sorted(CHOICES):
        if isinstance(found := value.get(key), list):
            return _chosen(found, deep)
    for key in ANSWERS:
        if (found := value.get(key)) not in (None, "", [], {}):
            return made_of(found, deep=deep - 1)
    if not value or any(key in value for key in ANSWERS) or value.keys() <= {"tool_calls", "finish_reason", "usage"}:
        return NOTHING_MADE
    if len(value) == 1:
        return made_of(next(iter(value.values())), deep=deep - 1)
    return Made(as_text(dict(value)), as_json=True)


def _last(turns: Sequence[Turn]) -> Made:
    return Made(turns[-1].text) if turns[-1].role == "assistant" else NOTHING_MADE


def _are_choices(values: Iterable[Json]) -> bool:
    return all(isinstance(one, dict) and ("message" in one or "text" in one) for one in values)


def _chosen(choices: Sequence[Json], deep: int) -> Made:
    """Return the first of several choices."""
    if not choices:
        return NOTHING_MADE
    first = choices[0]
    made = made_of(first, deep=deep - 1)
    return Made(made.text, further=len(choices) - 1 + made.further, as_json=made.as_json)
