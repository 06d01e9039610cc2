"""Paths into nested records: ``completions[0].response``, ``messages[-1].content``, ``model["name.short"]``.

A key that itself holds dots or brackets wins over a path, at any depth; a cell of text that holds JSON is looked into.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from spa.errors import TableError, shortened
from spa.tables.bounds import DEEPEST
from spa.tables.source import Number, json_decoder

Json: TypeAlias = object  # texts, numbers as they are written, true and false, lists, objects, None
MARKS = ".["
KEYS_SHOWN = 12
QUOTED = re.compile(r"""\[("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]""")
INDEX = re.compile(r"\[(-?[0-9]{1,9})\]")
PRINTED = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s'",\[\]]+)\s*""")  # an element of a printed array
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")  # a key that needs no quotes
TEXTS = ("content", "text", "response", "output")  # keys under which texts of systems usually stand
NOTHING = ("None", "nan", "NaN")


def is_path(text: str) -> bool:
    """Whether a name may be a path: it holds a dot or a bracket.

    >>> is_path("model.name"), is_path("scores[0]"), is_path("annotator_id")
    (True, True, False)
    """
    return any(mark in text for mark in MARKS)


def beginnings(path: str) -> Iterator[str]:
    """Yield the keys with which a path may begin, the longest first; a name with more marks than JSON nests is none.

    >>> list(beginnings("a.b[0].c"))
    ['a.b[0].c', 'a.b[0]', 'a.b', 'a']
    """
    yield path
    if sum(path.count(mark) for mark in MARKS) > DEEPEST:
        return
    for end in range(len(path) - 1, 0, -1):
        if path[end] in MARKS:
            yield path[:end]


def follow(value: Json, path: str) -> Json:
    """Return what stands at a path below a value, ``None`` where it ends at nothing.

    >>> follow({"a": [{"b.c": 1}, {"b": {"c": 2}}]}, "a[0].b.c"), follow({"a": [{"b": {"c": 2}}]}, "a[-1].b.c")
    (1, 2)
    >>> follow({"a": '{"b": 3}'}, "a.b"), follow({"a": {}}, "a.b[0]")
    ('3', None)
    """
    while path and value is not None:
        if isinstance(value, str):
            value = parsed(value)
        if quoted := QUOTED.match(path):
            key = quoted[1][1:-1].replace('\\"', '"').replace("\\'", "'")
            value, path = (value.get(key) if isinstance(value, dict) else None), path[quoted.end() :]
        elif isinstance(value, dict):
            key = next((key for key in beginnings(path) if key in value), None)
            if key is None:
                return None
            value, path = value[key], path[len(key) :]
        elif index := INDEX.match(path):
            place = int(index[1])
            there = isinstance(value, list) and -len(value) <= place < len(value)
            value, path = (value[place] if there and isinstance(value, list) else None), path[index.end() :]
        else:
            return None
        path = path.removeprefix(".")
    return value


def inside(cell: str) -> Json:
    """Return the list or object that a cell of text holds, as JSON or as numpy prints it; ``None`` if it holds none.

    >>> inside('{"a": ""}'), inside("[4 5 1]"), inside("['a b' 'c']"), inside("plain")
    ({'a': ''}, ['4', '5', '1'], ['a b', 'c'], None)
    """
    text = cell.strip()
    if text[:1] not in ("{", "["):
        return None
    try:
        found = json_decoder().decode(text)
    except (ValueError, RecursionError):
        return printed_list(text)
    return found if isinstance(found, list | dict) else None


def parsed(cell: str) -> Json:
    """Do the same, but raise TableError where a cell begins as a list or object and is none.

    >>> parsed("plain") is None
    True
    """
    found = inside(cell)
    if found is None and cell.lstrip()[:1] in ("{", "["):
        raise TableError(f"expected JSON, got text that is none: {shortened(cell)}; correct it")
    return found


def printed_list(text: str) -> list[Json] | None:
    """Return the elements of a list as numpy prints it, without commas and over several lines; ``None`` if it is none.

    Raise TableError where numpy left elements out, which it marks by three dots.
    """
    if not (text.startswith("[") and text.endswith("]")):
        return None
    found: list[Json] = []
    place, content = 0, text[1:-1]
    while place < len(content):
        match = PRINTED.match(content, place)
        if match is None:
            return None
        element, place = match[1], match.end()
        if element == "...":
            raise TableError(f"expected a whole list, got one with ... in it: {shortened(text)}; write it out in full")
        if content[place : place + 1] == ",":
            place += 1
        found.append(_element(element))
    return found


def _element(element: str) -> Json:
    if element[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", element[1:-1])
    return None if element in NOTHING else Number(f"{element}0" if element.endswith(".") else element)


def as_text(value: Json) -> str | None:
    """Return what stands in a cell for one value: texts as they are, numbers as they are written.

    >>> as_text(True), as_text(None), as_text("x"), as_text(2)
    ('true', None, 'x', '2')
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else json_text(value)


def json_text(value: Json, *, lines: bool = False) -> str:
    r"""Return a value as JSON, numbers as they are written; with a line for each part of lists and objects, or in one.

    >>> json_text({"a": [Number("1.0"), None]}), json_text({"a": {"b": "c"}}, lines=True)
    ('{"a": [1.0, null]}', '{\n  "a": {\n    "b": "c"\n  }\n}')
    """
    if isinstance(value, Number):
        return str(value)
    if not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        named = ((json.dumps(str(key), ensure_ascii=False), one) for key, one in value.items())
        parts = [f"{key}: {json_text(one, lines=lines)}" for key, one in named]
    else:
        parts = [json_text(one, lines=lines) for one in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    if not lines:
        return f"{first}{', '.join(parts)}{last}"
    inside = ",\n".join(parts).replace("\n", "\n  ")
    return f"{first}\n  {inside}\n{last}"


def keys_there(values: Iterable[Json]) -> str:
    """Return the keys of objects as a message lists them."""
    keys: dict[str, None] = {}
    for value in values:
        found = inside(value) if isinstance(value, str) else value
        while isinstance(found, list) and found:
            found = found[0]
        if isinstance(found, dict):
            keys.update(dict.fromkeys(found))
    listed = list(keys)
    return shortened(", ".join(listed[:KEYS_SHOWN]) + ", ..." * (len(listed) > KEYS_SHOWN), 160) or "none"


def path_to_text(value: Json) -> str:
    """Return a path below a list or object that ends at a text, so that it can be proposed; empty if there is none.

    >>> path_to_text([{"role": "user", "content": "Hi"}]), path_to_text({"of": {"text": "Hi"}}), path_to_text([])
    ('[-1].content', '.of.text', '')
    """
    if isinstance(value, list) and value:
        parts = {"[-1]": value[-1]}
    elif isinstance(value, dict):
        plain = (key for key in value if PLAIN.fullmatch(key))
        parts = {f".{key}": value[key] for key in sorted(plain, key=lambda key: key not in TEXTS)}
    else:
        return ""
    for step, part in parts.items():
        if isinstance(part, str) and not isinstance(part, Number):
            return step
    return next((f"{step}{below}" for step, part in parts.items() if (below := path_to_text(part))), "")
