"""Conversations as lists of messages: what was asked, and the last answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ROLES, TEXTS = ("role", "from", "author", "speaker"), ("content", "value", "text", "parts", "message")
ASKING = frozenset(("user", "human", "prompter", "customer"))
ANSWERING = frozenset(("assistant", "gpt", "model", "bot", "ai", "chatgpt", "agent"))
NAMES = {**dict.fromkeys(ASKING, "User"), **dict.fromkeys(ANSWERING, "Assistant")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation, without messages of the system and of tools.

    ``prompt`` is what stands before the last answer: a single message as it is, several under the names of those who
    speak. ``answer`` is missing where a person has the last word.
    """

    prompt: str | None
    answer: str | None
    others: int  # messages of the system, of tools, or without a text


def conversation(value: object) -> Conversation | None:
    """Return the conversation that a list of messages is; ``None`` where it is none.

    >>> conversation([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}])
    Conversation(prompt='Hi', answer='Hello', others=0)
    >>> conversation([{"from": "human", "value": "Hi"}]).answer, conversation(["Hi"])
    (None, None)
    """
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
        return None
    if not any(_role(one) in NAMES for one in value) or any(not (_role(one) or one.get("type")) for one in value):
        return None
    turns = [(role, text) for one in value if (role := _role(one)) in NAMES and (text := _text(one)).strip()]
    others = len(value) - len(turns)
    answer = None
    if turns and turns[-1][0] in ANSWERING:
        *turns, (_, answer) = turns
    if len(turns) == 1 and turns[0][0] in ASKING:
        return Conversation(prompt=turns[0][1], answer=answer, others=others)
    said = "\n\n".join(f"{NAMES[role]}: {text}" for role, text in turns)
    return Conversation(prompt=said or None, answer=answer, others=others)


def _role(message: Mapping[str, object]) -> str:
    found = next((message[key] for key in ROLES if message.get(key)), "")
    if isinstance(found, dict):
        found = found.get("role") or ""
    return str(found).lower()


def _text(message: Mapping[str, object]) -> str:
    found = next((message[key] for key in TEXTS if message.get(key)), "")
    return _plain(found)


def _plain(found: object) -> str:
    """Return the text of a message's content, which may come in parts."""
    if isinstance(found, str):
        return found
    if isinstance(found, dict):
        return _plain(next((found[key] for key in TEXTS if found.get(key)), ""))
    if isinstance(found, Sequence):
        return "\n\n".join(text for part in found if (text := _plain(part)))
    return ""
