"""Traces of MLflow: the data frame of search_traces, a row a trace, and its traces one by one as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from spa.starting.traces.layout import Placed, TraceTool
from spa.starting.traces.turns import Json, read
from spa.tables.bounds import check_depth
from spa.tables.source import json_decoder

CODED = (
    "mlflow.spanInputs",
    "mlflow.spanOutputs",
    "mlflow.llm.model",
    "mlflow.chat.model",
    "mlflow.spanType",
)  # JSON, texts in quotes


def _decoded(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    try:
        check_depth(value)
        return json_decoder().decode(value)
    except (ValueError, RecursionError):
        return value


def _as_it_is(value: Json) -> Json:
    return value


def _object(value: Json) -> Mapping[str, Json]:
    found = read(value)
    return found if isinstance(found, dict) else {}


def _unrolled(records: Iterable[Placed]) -> Iterator[Placed]:
    """Yield the spans of each trace with what is known of it; the root is what the row says came in and out."""
    for one in records:
        trace = {**_object(one.record.get("info")), **one.record}
        found = read(trace.get("spans", _object(trace.get("data")).get("spans")))
        spans = [_span(span) for span in found if isinstance(span, dict)] if isinstance(found, list) else []
        known = {
            "trace": trace.get("trace_id", trace.get("request_id")),
            "metadata": _object(trace.get("trace_metadata", trace.get("request_metadata"))),
            "tags": _object(trace.get("tags")),
        }
        coded = _decoded if "request_id" in trace else _as_it_is  # before MLflow 3 a row held JSON
        roots = [span for span in spans if not (span.get("parent_span_id") or span.get("parent_id"))]
        if {"request", "response"} & trace.keys() or not spans:
            whole = {
                "begun": trace.get("request_time", trace.get("timestamp_ms")),
                "state": trace.get("state", trace.get("status")),
                "request": read(coded(trace.get("request"))),
                "response": coded(trace.get("response")),
            }
            root = roots[0] if len(roots) == 1 else {}
            yield Placed(one.place, {**root, **known, **whole})
            spans = [span for span in spans if span is not root]
        for span in spans:
            yield Placed(one.place, {**span, **known})


def _span(span: Mapping[str, Json]) -> dict[str, Json]:
    attributes = _object(span.get("attributes"))
    return {
        **span,
        "attributes": {key: _decoded(value) if key in CODED else value for key, value in attributes.items()},
    }


TOOL = TraceTool(
    name="MLflow",
    signs=(
        ("trace_id", "request_id", "info.trace_id", "info.request_id"),
        ("state", "status", "info.state", "info.status"),
        ("response", "data.spans"),
        ("request", "data.spans"),
        ("trace_metadata", "request_metadata", "assessments", "spans", "execution_duration", "data.spans"),
    ),
    trace=("trace",),
    span=("span_id",),
    parent=("parent_span_id", "parent_id"),
    begun=("begun", "start_time_unix_nano"),
    status=("state", "status.code"),
    kind=("attributes.mlflow.spanType",),
    given=("request", "attributes.mlflow.spanInputs"),
    made=("response", "attributes.mlflow.spanOutputs"),
    systems=("attributes.mlflow.llm.model", "attributes.mlflow.spanInputs.model", "request.model"),
    facts=("metadata", "tags"),
    coded=True,
    unrolled=_unrolled,
)
