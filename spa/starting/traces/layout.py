"""How a tool lays out what it records: where a span says what it belongs to, what went in and what came out."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from spa.errors import TableError
from spa.starting.traces.turns import Json, chat_in
from spa.tables.paths import beginnings, follow

Record = Mapping[str, Json]
FILE, SYSTEM_MESSAGE = "\0file", "\0told"  # in the place of a path: the name of a record's file, the system message
FAILED = re.compile(r"(?i)(status(code)?[._])?(code_)?(error|fail(ed|ure)?|cancell?ed|timed? ?out|2)|[45]\d\d")
HIDDEN = ("__REDACTED__", "[REDACTED]")  # where a tool was told not to record texts
OTHER_KINDS = re.compile(
    r"(?i).*(embed|retriev|rerank|tool|evaluat|guardrail|moderation|transcri|speech|image|event|parser|prompt).*"
)  # of spans that answer nobody
NO_SPAN = re.compile("0*")  # the parent of a span that has none


@dataclass(frozen=True, slots=True)
class Placed:
    """An object of a file, and where it stands."""

    place: str
    record: Record


def _as_they_are(records: Iterable[Placed]) -> Iterable[Placed]:
    return records


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceTool:
    """What one tool writes, by paths of which the first that leads to something counts.

    Parameters
    ----------
    name : str
        As its users call it.
    signs : tuple of tuple of str
        Of each tuple a file has one path: by these it is known.
    known : callable, optional
        Says of columns and the first records whether a file is of the tool, where paths cannot.
    trace, span, parent, begun : tuple of str
        Ids of the request, the span and the span around it; when it began.
    status : tuple of str
        Says whether it failed, by a word or a code of :data:`FAILED`.
    errors : tuple of str
        What is there only where it failed.
    kind : tuple of str
        What sort of step it is: those of :data:`OTHER_KINDS` are no answers.
    given, made : tuple of str
        What went in and what came out.
    systems : tuple of str
        What may be the system, the likeliest first.
    answered_by : tuple of str
        The model that answered in the end, with its date.
    facts : tuple of str
        Objects and lists of what the user said of a request: metadata, tags.
    items : tuple of str
        Ids of what was asked, where the user gave them.
    coded : bool
        Whether chats stand in texts as JSON.
    unrolled : callable
        Makes spans of records that hold several.
    caveats : callable
        What is to be said of all records of a file.
    """

    name: str
    signs: tuple[tuple[str, ...], ...] = ()
    known: Callable[[Collection[str], Collection[Placed]], bool] | None = None
    trace: tuple[str, ...] = ()
    span: tuple[str, ...] = ()
    parent: tuple[str, ...] = ()
    begun: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    given: tuple[str, ...]
    made: tuple[str, ...]
    systems: tuple[str, ...] = ()
    answered_by: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    coded: bool = False
    unrolled: Callable[[Iterable[Placed]], Iterable[Placed]] = field(default=_as_they_are)
    caveats: Callable[[Sequence[Placed]], Iterator[str]] = field(default=lambda records: iter(()))

    def fits(self, columns: Collection[str], records: Collection[Placed]) -> bool:
        """Whether a file is of this tool: its columns, or one of its first records, have all signs."""
        if self.known is not None:
            return self.known(columns, records)
        return all(
            any(path in columns or any(at(one.record, path) is not None for one in records) for path in paths)
            for paths in self.signs
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One call, or one step of it, as a tool recorded it."""

    tool: TraceTool
    place: str
    record: Record
    trace: str | None
    span: str | None
    parent: str | None
    begun: str
    failed: bool
    answers: bool
    given: Json
    given_at: str
    made: Json

    @property
    def says(self) -> bool:
        """Whether it is of a kind that answers, and holds what went in or came out."""
        return self.answers and (self.given is not None or self.made is not None)


def at(record: Record, path: str) -> Json:
    """Return what stands at a path of a record, ``None`` where nothing does.

    >>> at({"a.b": 1, "c": {"d": ""}}, "a.b"), at({"c": {"d": ""}}, "c.d"), at({"c": "{broken"}, "c.d")
    (1, '', None)
    """
    for key, rest in _beginnings(path):
        if key in record:
            value = record[key]
            if not rest or value is None:
                return value
            if isinstance(value, dict):
                return at(value, rest)
            try:
                return follow(value, rest)
            except TableError:  # a text that begins like JSON and is none
                return None
    return None


@lru_cache(maxsize=4_096)
def _beginnings(path: str) -> tuple[tuple[str, str], ...]:
    """Return the keys with which a path may begin, the longest first, and what is left of it."""
    return tuple((key, path[len(key) :].removeprefix(".")) for key in beginnings(path))


def first(record: Record, paths: Iterable[str]) -> tuple[str, Json]:
    """Return the first path that leads to something, and what that is."""
    for path in paths:
        found = at(record, path)
        if found not in (None, "", [], {}) and found not in HIDDEN:
            return path, found
    return "", None


def word(record: Record, paths: Iterable[str]) -> str | None:
    """Return the first text or number at some paths."""
    found = first(record, paths)[1]
    return str(found) if isinstance(found, str) and found.strip() else None


def spans_of(tool: TraceTool, records: Iterable[Placed]) -> Iterator[Span]:
    """Yield the spans of some records, in their order."""
    for one in tool.unrolled(records):
        record = one.record
        given_at, given = first(record, tool.given)
        made = first(record, tool.made)[1]
        parent = word(record, tool.parent)
        yield Span(
            tool=tool,
            place=one.place,
            record=record,
            trace=word(record, tool.trace),
            span=word(record, tool.span),
            parent=None if parent is None or NO_SPAN.fullmatch(parent) else parent,
            begun=sortable(word(record, tool.begun) or ""),
            failed=_failed(tool, record),
            answers=OTHER_KINDS.fullmatch(word(record, tool.kind) or "") is None,
            given=given,
            given_at=given_at,
            made=chat_in(made) if tool.coded else made,
        )


def _failed(tool: TraceTool, record: Record) -> bool:
    status = word(record, tool.status)
    if status is not None and FAILED.fullmatch(status):
        return True
    return first(record, tool.errors)[1] is not None


def sortable(time: str) -> str:
    """Return a time so that texts sort as times do: the digits of seconds and their like are padded.

    >>> sorted(map(sortable, ["1795827487.4", "995827487"]))
    ['00000000000995827487', '00000000001795827487.4']
    """
    whole, dot, parts = time.partition(".")
    return f"{whole.zfill(20)}{dot}{parts}" if whole.isdecimal() else time
