"""Spans of Arize Phoenix: its data frame as Parquet or JSON lines, a column an attribute, and its list of spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from spa.starting.traces.layout import Placed, TraceTool
from spa.starting.traces.open_telemetry import ANSWERED_BY, GIVEN, JSON_TEXT, MADE, SDK, SYSTEMS
from spa.starting.traces.turns import Json, read, turns_of

DEFAULT_LIMIT, DEFAULT_LISTED = 1_000, 100  # spans that get_spans_dataframe and get_spans take


def _decoded(records: Iterable[Placed]) -> Iterator[Placed]:
    """Yield spans with what texts of JSON hold."""
    for one in records:
        record: dict[str, Json] = dict(one.record)
        for way in ("input", "output"):
            value = record.get(f"attributes.{way}.value")
            if record.get(f"attributes.{way}.mime_type") == JSON_TEXT and isinstance(value, str):
                record[f"attributes.{way}.value"] = read(value)
            messages = record.get(f"attributes.llm.{way}_messages")
            if isinstance(messages, str) and turns_of(messages) is None:  # of Python, as pandas writes lists into CSV
                del record[f"attributes.llm.{way}_messages"]
        yield Placed(one.place, record)


def _cut_off_list(records: Sequence[Placed]) -> Iterator[str]:
    if len(records) == DEFAULT_LISTED:
        yield (
            f"exactly {DEFAULT_LISTED} spans, where get_spans of Phoenix stops: "
            "there may be more, get_spans(limit=100000) takes them"
        )


def _cut_off(records: Sequence[Placed]) -> Iterator[str]:
    if len(records) == DEFAULT_LIMIT:
        yield (
            f"exactly {DEFAULT_LIMIT:,} spans, where get_spans_dataframe of Phoenix stops: "
            "there may be more, get_spans_dataframe(limit=100000) takes them"
        )


TOOL = TraceTool(
    name="Phoenix",
    signs=(("context.trace_id",), ("status_code",), ("attributes.openinference.span.kind",)),
    trace=("context.trace_id",),
    span=("context.span_id",),
    parent=("parent_id",),
    begun=("start_time",),
    status=("status_code",),
    kind=("attributes.openinference.span.kind", "span_kind"),
    given=GIVEN,
    made=MADE,
    systems=SYSTEMS,
    answered_by=ANSWERED_BY,
    facts=("attributes.metadata", "attributes.tag.tags"),
    coded=True,
    unrolled=_decoded,
    caveats=_cut_off,
)
LISTED = replace(
    SDK,
    name="Phoenix (list of spans)",
    signs=(*SDK.signs, ("span_kind",), ("status_code",)),
    caveats=_cut_off_list,
)
