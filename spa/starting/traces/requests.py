"""Requests among spans: the topmost span that says something is the request, the spans below it are its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from spa.starting.traces.layout import SYSTEM_MESSAGE, Span, at, word
from spa.starting.traces.turns import Json, Made, Turn, conversation, instructions, made_of, question, turns_of
from spa.tables.paths import as_text

ITEM_KEYS = ("item_id", "item", "example_id", "question_id", "prompt_id", "custom_id")
SETTINGS = frozenset(
    (
        *("model", "model_name", "temperature", "max_tokens", "max_completion_tokens", "max_output_tokens", "top_p"),
        *("top_k", "stream", "tools", "tool_choice", "n", "seed", "stop", "response_format", "timeout", "user"),
        *("metadata", "frequency_penalty", "presence_penalty", "logprobs", "store", "config", "options", "extra_body"),
        *("extra_headers", "parallel_tool_calls", "reasoning_effort", "instructions", "system_instruction"),
    )
)  # keys of what was sent that are no part of the question


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked once, and what came back.

    Parameters
    ----------
    top : Span
        The topmost span that holds what went in or came out.
    inner : tuple of Span
        The spans below it, the first one first.
    """

    top: Span
    inner: tuple[Span, ...] = ()

    @cached_property
    def made(self) -> Made:
        """Return what came back."""
        return made_of(self.top.made)

    @property
    def answered(self) -> bool:
        """Return whether a text came back."""
        return not self.top.failed and bool(self.made.text and self.made.text.strip())

    @cached_property
    def turns(self) -> tuple[Turn, ...] | None:
        """Return what went in as turns of a conversation."""
        sent = self.fields()
        if "messages" not in sent and isinstance(sent.get("input"), list):  # of OpenAI's Responses
            return turns_of(sent["input"])
        return turns_of(self.top.given)

    @property
    def order(self) -> tuple[str, ...]:
        """Return by what requests are sorted, however the files are."""
        return self.top.begun, self.top.span or "", str(self.top.given), str(self.made.text), self.top.place

    def fields(self) -> Mapping[str, Json]:
        """Return the keys of what went in, where it is an object."""
        return self.top.given if isinstance(self.top.given, dict) else {}

    def prompt(self, system: str | None) -> str | None:
        """Return the question as a text, without what says which ``system`` (a path) was asked."""
        if self.turns is not None:
            return self._said
        if not isinstance(self.top.given, dict):
            return as_text(self.top.given)
        mark = f"{self.top.given_at}."
        key = system[len(mark) :] if system is not None and system.startswith(mark) else None
        kept = {
            name: text
            for name, value in self.top.given.items()
            if name != key and name not in SETTINGS and name not in ITEM_KEYS and (text := as_text(value))
        }
        if len(kept) == 1:
            return next(iter(kept.values()))
        return "\n".join(f"{name}: {text}" for name, text in kept.items()) or None

    @cached_property
    def _said(self) -> str | None:
        return conversation(question(self.turns or ()))

    @cached_property
    def item(self) -> str | None:
        """Return the id of what was asked, where whoever asked gave one."""
        paths = [f"{self.top.given_at}.{key}" for key in ITEM_KEYS if key in self.fields()]
        paths += [f"{area}.{key}" for area in self.top.tool.facts for key in ITEM_KEYS]
        return word(self.top.record, (*self.top.tool.items, *paths))

    @cached_property
    def system_message(self) -> str | None:
        """Return the message of the system: what it was told of every question."""
        return instructions(self.turns or ())

    def named(self, path: str) -> tuple[str, ...]:
        """Return what stands at a path: of the request itself or, where nothing does, of its steps, first tried first.

        Of several only those that say more than one thing.
        """
        if path == SYSTEM_MESSAGE:
            return () if self.system_message is None else (self.system_message,)
        if path not in self._named:
            own = _plain(at(self.top.record, path))
            steps = (_plain(at(one.record, path)) for one in self.inner) if own is None else ()
            self._named[path] = tuple(dict.fromkeys(found for found in (own, *steps) if found is not None))
        return self._named[path]

    @cached_property
    def _named(self) -> dict[str, tuple[str, ...]]:
        return {}

    def fell_back(self, path: str) -> bool:
        """Return whether a first system failed within the request, and another one answered."""
        tried = [(found, one.failed) for one in self.inner if (found := _plain(at(one.record, path))) is not None]
        return len(tried) > 1 and tried[0][1] and any(not failed and found != tried[0][0] for found, failed in tried)


def _plain(value: Json) -> str | None:
    """Return a value that may name a system."""
    if isinstance(value, list | dict) or value is None:
        return None
    return as_text(value) or None


def requests_in(spans: Iterable[Span], left: Counter[str]) -> list[Request]:
    """Return the requests of some spans, sorted; ``left`` counts the spans that are none.

    A trace is the spans of one id; its requests are its roots or, where a root says nothing, the topmost spans below it
    that do. A trace of which the root is missing has none.
    """
    traces: dict[tuple[str, object], list[Span]] = {}
    seen: set[object] = set()
    for number, span in enumerate(spans):
        same = (span.tool.name, span.trace, span.span, span.parent, span.begun, str(span.given), str(span.made))
        if span.trace is not None and span.begun:
            if same in seen:
                left["twice"] += 1
                continue
            seen.add(same)
        traces.setdefault((span.tool.name, number if span.trace is None else span.trace), []).append(span)
    found = [request for trace in traces.values() for request in _of_trace(trace, left)]
    return sorted(found, key=lambda request: request.order)


def _of_trace(spans: Sequence[Span], left: Counter[str]) -> Iterator[Request]:
    roots = [span for span in spans if span.parent is None]
    if not roots:
        left["traces without a root"] += 1
        left["of those"] += len(spans)
        return
    if len(spans) == len(roots):
        yield from (Request(top=span) for span in roots if span.says)
        left["silent"] += sum(span.answers and not span.says for span in roots)
        left["other"] += sum(not span.answers for span in roots)
        return
    below: dict[str | None, list[Span]] = {}
    for span in spans:
        below.setdefault(span.parent, []).append(span)
    reached: set[int] = set()  # places of spans, so that ids that stand twice make no circle
    for top in sorted(_topmost(roots, below, reached), key=lambda span: (span.begun, span.span or "")):
        inner = sorted(_under(top, below, reached), key=lambda span: (span.begun, span.span or ""))
        left["failed"] += sum(span.failed and span.says for span in inner)
        left["inner"] += sum(not (span.failed and span.says) for span in inner)
        yield Request(top=top, inner=tuple(inner))
    left["inner" if reached else "silent"] += sum(id(span) not in reached for span in spans)


def _topmost(spans: Iterable[Span], below: Mapping[str | None, Sequence[Span]], reached: set[int]) -> Iterator[Span]:
    """Yield the topmost spans that failed or hold what came out; of those without spans below, what went in."""
    waiting = list(spans)
    while waiting:
        span = waiting.pop()
        steps = [] if span.span is None else [one for one in below.get(span.span, ()) if id(one) not in reached]
        if span.says and (span.failed or span.made is not None or not steps):
            reached.add(id(span))
            yield span
        elif span.answers:
            waiting += steps


def _under(top: Span, below: Mapping[str | None, Sequence[Span]], reached: set[int]) -> Iterator[Span]:
    waiting = [top]
    while waiting:
        span = waiting.pop()
        for step in below.get(span.span, ()) if span.span is not None else ():
            if id(step) not in reached:
                reached.add(id(step))
                waiting.append(step)
                yield step
