"""Columns with one value a row, also of what lies nested in records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from spa.errors import shortened
from spa.starting.names import LISTS, is_passages, last_part, place_in
from spa.starting.spoken import Spoken
from spa.tables.paths import PLAIN, as_text, inside, json_text
from spa.tables.source import Number

ROLES, TEXTS = ("role", "from", "author", "speaker"), ("content", "value", "text", "parts", "message")
PASSAGE_TEXTS = (
    "text",
    "page_content",
    "content",
    "contents",
    "passage",
    "context",
    "chunk",
    "document",
    "snippet",
    "body",
)
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
    last: int | None = None  # place of the answer


def conversation(value: object) -> Conversation | None:
    """Return the conversation that a list of messages is; ``None`` where it is none.

    >>> conversation([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}])
    Conversation(prompt='Hi', answer='Hello', others=0, last=1)
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
    last = None
    if turns and turns[-1][0] in ANSWERING:
        *turns, (_, answer) = turns
        last = max(place for place, one in enumerate(value) if _role(one) in NAMES and _text(one).strip())
    if len(turns) == 1 and turns[0][0] in ASKING:
        return Conversation(prompt=turns[0][1], answer=answer, others=others, last=last)
    said = "\n\n".join(f"{NAMES[role]}: {text}" for role, text in turns)
    return Conversation(prompt=said or None, answer=answer, others=others, last=last)


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


DEEPEST, MOST_KEYS, LOOKED_AT = 8, 60, 50
MOST = 0.8  # share of the filled cells that decides what a column holds
NUMBER = re.compile(r"[+-]?(\d+([.,]\d+)*|\.\d+)([eE][+-]?\d+)?%?")
LAST = "[-1].content"  # of a conversation
AS_JSON = "all of it as JSON"


@dataclass(frozen=True, kw_only=True)
class OutputColumn:
    """A column: its name, as an option may give it; its cells; of how many rows a list held further values."""

    name: str
    cells: Sequence[str | None]
    more: int = 0
    system: str | None = None  # the key of a {system: output} mapping
    description: str = ""  # what the cells are, where the name does not say it
    unread: bool = False  # whether it holds more keys, or lies deeper, than is looked into

    @cached_property
    def filled(self) -> list[str]:
        """The cells that hold something."""
        return [cell for cell in self.cells if cell is not None and cell.strip()]

    @cached_property
    def distinct(self) -> int:
        """How many different texts there are."""
        return len({*self.filled})

    @cached_property
    def length(self) -> float:
        """How many characters a filled cell has on average."""
        return sum(map(len, self.filled)) / len(self.filled) if self.filled else 0.0

    @cached_property
    def is_number(self) -> bool:
        """Whether all cells are numbers, or true and false."""
        words = ("true", "false", "yes", "no", "none", "null", "nan")
        return all(isinstance(one, Number) or NUMBER.fullmatch(one) or one.lower() in words for one in self.filled)

    @cached_property
    def is_code(self) -> bool:
        """Whether the cells are signs without a space, most of them different: ids, hashes, dates, addresses."""
        start = self.filled[:LOOKED_AT]
        return bool(start) and all(one.isascii() and not re.search(r"\s", one.strip()) for one in start) and (
            self.distinct > MOST * len(self.filled) and self.length < 200
        )  # fmt: skip


def columns_in(name: str, values: Sequence[object], *, depth: int = 0, more: int = 0) -> Iterator[OutputColumn]:
    """Yield the columns that a column of a file makes: itself, or what its lists and objects hold.

    Of conversations that is what was asked (under the column's name) and the last answer (``NAME[-1].content``); of
    other lists the first value, and of how many rows there were further ones.
    """
    values = _passages_in(values) if is_passages(name) else _looked_into(values)
    filled = [value for value in values if value is not None and value != [] and value != {}]
    lists = [value for value in filled if isinstance(value, list)]
    if filled and len(lists) >= MOST * len(filled):
        talks = [conversation(value) for value in values]
        if sum(talk is not None for talk in talks) >= MOST * len(filled):
            yield from _of_conversations(name, values, talks)
        elif depth >= DEEPEST:
            yield _unread(name, values)
        elif (parts := _of_parts(name, values)) is not None:
            yield parts
        elif is_passages(name) and (passages := _of_passages(name, values)) is not None:
            yield passages
        else:
            records = [one for value in lists for one in value if isinstance(one, dict)]
            if depth == 0 and records and _are_outputs(name, records):
                yield _as_json(name, values)
            longer = sum(len(value) > 1 for value in lists)
            first = [value[0] if isinstance(value, list) and value else None for value in values]
            yield from columns_in(f"{name}[0]", first, depth=depth + 1, more=max(more, longer))
        return
    objects = [value for value in filled if isinstance(value, dict)]
    if filled and len(objects) >= MOST * len(filled):
        yield from _of_objects(name, values, objects, depth, more)
        return
    yield OutputColumn(
        name=name, cells=[as_text(value) if value not in ([], {}) else None for value in values], more=more
    )


def _looked_into(values: Sequence[object]) -> Sequence[object]:
    """Read cells of text that hold conversations as JSON; other JSON may be what a system wrote."""
    start = [value for value in values if value is not None][:LOOKED_AT]
    if not start or not all(isinstance(value, str) and value.lstrip()[:1] == "[" for value in start):
        return values
    if any(conversation(inside(str(value))) is None for value in start):
        return values
    return [inside(value) if isinstance(value, str) else value for value in values]


def _passages_in(values: Sequence[object]) -> Sequence[object]:
    """Read cells of text that hold lists of passages, as JSON or as numpy prints it."""
    lists = [inside(value) if isinstance(value, str) and value.lstrip()[:1] == "[" else value for value in values]
    return lists if all(isinstance(value, list) for value in lists if value is not None) else values


def _of_conversations(
    name: str, values: Sequence[object], talks: Sequence[Conversation | None]
) -> Iterator[OutputColumn]:
    others = sum(talk.others for talk in talks if talk)
    left = f", without {others} messages of system and tools" if others else ""
    pairs = list(zip(values, talks, strict=True))
    asked = [_spoken(talk.prompt, value, talk) if talk else None for value, talk in pairs]
    if any(asked):
        yield OutputColumn(name=name, cells=asked, description=f"what was asked in each conversation{left}")
    answers = [_spoken(talk.answer, value, talk) if talk else None for value, talk in pairs]
    if any(answers):
        yield OutputColumn(name=f"{name}{LAST}", cells=answers, description="the last answer of each conversation")


def _spoken(text: str | None, value: object, talk: Conversation) -> Spoken | None:
    """Return a text of a conversation with all of it, and with what stands before the answer, where that ends it."""
    if text is None or not isinstance(value, list):
        return None
    last = value[-1]
    ends = talk.last == len(value) - 1 and isinstance(last, dict) and not last.get("tool_calls")
    return Spoken(text, as_text(value) or "", as_text(value[:-1]) if ends else None)


def _of_objects(
    name: str, values: Sequence[object], objects: Sequence[dict[str, object]], depth: int, more: int
) -> Iterator[OutputColumn]:
    keys = {key: None for one in objects for key in one}
    if len(keys) > MOST_KEYS or depth >= DEEPEST:
        yield _unread(name, values)
        return
    systems = _are_systems(name, keys, objects)
    if depth == 0 and not systems and _are_outputs(name, objects):
        yield _as_json(name, values)
    for key in keys:
        path = f"{name}.{key}" if PLAIN.fullmatch(key) else f'{name}["{key.replace(chr(34), chr(92) + chr(34))}"]'
        cells = [value.get(key) if isinstance(value, dict) else None for value in values]
        for column in columns_in(path, cells, depth=depth + 1, more=more):
            yield replace(column, system=key) if systems else column


def _are_outputs(name: str, records: Sequence[dict[str, object]]) -> bool:
    """Return whether records are what a system wrote, with words, by the name of their column.

    They are not where a text among them is called as outputs are.
    """
    if place_in("output", name) is None:
        return False
    keys = {key: None for one in records for key in one}
    leaves = [leaf for key in keys for leaf in columns_in(key, [one.get(key) for one in records], depth=1)]
    outputs = any(place_in("output", leaf.name) is not None for leaf in leaves)
    return not outputs and any(leaf.filled and not leaf.is_number for leaf in leaves)


def _as_json(name: str, values: Sequence[object]) -> OutputColumn:
    cells = [json_text(value, lines=True) if value and isinstance(value, dict | list) else None for value in values]
    return OutputColumn(name=name, cells=cells, description=AS_JSON)


def _of_parts(name: str, values: Sequence[object]) -> OutputColumn | None:
    """Return the texts of contents in parts, as clients of models write them; ``None`` where lists hold others."""
    parts = [one for value in values if isinstance(value, list) for one in value]
    if not all(isinstance(one, dict) and isinstance(one.get("type"), str) for one in parts):
        return None
    texts = [[one for one in value if _has_text(one)] if isinstance(value, list) else [] for value in values]
    others = len(parts) - sum(map(len, texts))
    said = "its parts of text" + (f", without {others:,} others" if others else "")
    return (
        OutputColumn(name=name, cells=[_plain(own) or None for own in texts], description=said) if any(texts) else None
    )


def _of_passages(name: str, values: Sequence[object]) -> OutputColumn | None:
    """Return the passages of each list, one below the other; ``None`` where lists hold others than texts."""
    passages = [
        [_passage(one) for one in value if one is not None] if isinstance(value, list) else [] for value in values
    ]
    if any(text is None for own in passages for text in own) or not any(passages):
        return None
    cells = ["\n\n".join(text for text in own if text) or None for own in passages]
    listed = [one for value in values if isinstance(value, list) for one in value if isinstance(one, dict)]
    aside = {key: None for one in listed for key in one if key not in _shown_keys(one) and one[key] is not None}
    said = f", without {shortened(', '.join(aside), 80)}" if aside else ""
    return OutputColumn(name=name, cells=cells, description=f"all passages of each list{said}")


def _shown_keys(passage: dict[str, object]) -> list[str]:
    """Return the keys of a passage that are shown: its title, where that is a text, and the first text."""
    texts = [key for key in PASSAGE_TEXTS if isinstance(passage.get(key), str)][:1]
    return [*texts, *(["title"] if isinstance(passage.get("title"), str) else [])]


def _passage(value: object) -> str | None:
    """Return a passage, below its title where it has one; ``None`` where it holds no text."""
    if not isinstance(value, dict):
        return value if isinstance(value, str) and not isinstance(value, Number) else None
    text = next((value[key] for key in PASSAGE_TEXTS if isinstance(value.get(key), str)), None)
    title = value.get("title")
    return f"{title}\n{text}" if isinstance(title, str) and title and isinstance(text, str) else as_text(text)


def _has_text(part: dict[str, object]) -> bool:
    return isinstance(part.get("text"), str) and str(part["type"]).endswith("text")


def _unread(name: str, values: Sequence[object]) -> OutputColumn:
    return OutputColumn(name=name, cells=[None] * len(values), unread=True)


def _are_systems(name: str, keys: dict[str, None], objects: Sequence[dict[str, object]]) -> bool:
    """Return whether objects are {system: output}: texts, or objects alike, under names that are no usual ones."""
    usual = sum(any(place_in(role, key) is not None for role in ("output", "prompt", "item", "aside")) for key in keys)
    alike = [value for one in objects[:LOOKED_AT] for value in one.values() if value is not None]
    texts = all(isinstance(value, str) and not isinstance(value, Number) for value in alike)
    nested = all(isinstance(value, dict) for value in alike)
    return len(keys) > 1 and usual * 2 < len(keys) and (texts or nested) and last_part(name) in LISTS
