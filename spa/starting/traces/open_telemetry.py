"""Spans of OpenTelemetry as JSON: the lines of an OTLP file, and what the SDK of Python prints.

The words for what went in and out are those of the semantic conventions for generative AI, of OpenLLMetry, and of
OpenInference, which Phoenix reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from spa.starting.traces.layout import Placed, TraceTool
from spa.starting.traces.turns import Json, read

KIND = ("attributes.openinference.span.kind", "attributes.gen_ai.operation.name", "attributes.traceloop.span.kind")
GIVEN = (
    "attributes.llm.input_messages",
    "attributes.gen_ai.input.messages",
    "attributes.gen_ai.prompt",
    "attributes.input.value",
    "attributes.traceloop.entity.input",
    "attributes.langfuse.observation.input",
    "attributes.ai.prompt.messages",
    "attributes.ai.prompt",
    "attributes.llm.prompts",
)
MADE = (
    "attributes.llm.output_messages",
    "attributes.gen_ai.output.messages",
    "attributes.gen_ai.completion",
    "attributes.output.value",
    "attributes.traceloop.entity.output",
    "attributes.langfuse.observation.output",
    "attributes.ai.response.text",
)
SYSTEMS = (
    "attributes.gen_ai.request.model",
    "attributes.llm.invocation_parameters.model",
    "attributes.llm.model_name",
    "attributes.gen_ai.response.model",
    "attributes.langfuse.observation.model.name",
    "attributes.ai.model.id",
    "attributes.gen_ai.agent.name",
)
ANSWERED_BY = ("attributes.gen_ai.response.model", "attributes.llm.model_name")
FACTS = (
    "attributes.metadata",
    "attributes.tag.tags",
    "attributes.traceloop.association.properties",
    "resource.attributes.service.name",
)
NUMBERED = re.compile(
    r"(llm\.(?:input|output)_messages|gen_ai\.(?:prompt|completion))\.([0-9]{1,4})\.(?:message\.)?([a-z_.0-9]+)"
)  # a message taken apart into attributes
MESSAGES = frozenset(
    ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.prompt", "gen_ai.completion")
)  # attributes that may be those of an event
SAID = re.compile(r"gen_ai\.(user|assistant|system|tool)\.message")
VALUES = ("stringValue", "intValue", "doubleValue", "boolValue")
JSON_TEXT = "application/json"


def gathered(records: Iterable[Placed]) -> Iterator[Placed]:
    """Yield spans with the messages that were taken apart into attributes, and with what texts of JSON hold."""
    for one in records:
        attributes = one.record.get("attributes")
        found = {**_of_events(one.record.get("events")), **(attributes if isinstance(attributes, dict) else {})}
        yield Placed(one.place, {**one.record, "attributes": _messages(found)})


def _of_events(events: Json) -> dict[str, Json]:
    """Return messages that stand in the events of a span, as attributes."""
    found: dict[str, Json] = {}
    said: list[Json] = []
    for event in _objects(read(events)):
        listed = event.get("attributes")
        attributes = listed if isinstance(listed, dict) else _attributes(listed)
        found |= {key: value for key, value in attributes.items() if key in MESSAGES}
        name = str(event.get("name"))
        if match := SAID.fullmatch(name):
            said.append({"role": match[1], **attributes})
        elif name == "gen_ai.choice":
            found.setdefault("gen_ai.output.messages", [{"role": "assistant", **_choice(attributes)}])
    return {"gen_ai.input.messages": said, **found} if said else found


def _choice(attributes: Mapping[str, Json]) -> Mapping[str, Json]:
    message = read(attributes.get("message"))
    return message if isinstance(message, dict) else attributes


def _messages(attributes: Mapping[str, Json]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    messages: dict[str, dict[int, dict[str, Json]]] = {}
    for key, value in attributes.items():
        if match := NUMBERED.fullmatch(key):
            messages.setdefault(match[1], {}).setdefault(int(match[2]), {})[match[3]] = value
        elif key.startswith("metadata."):
            metadata = found.setdefault("metadata", {})
            if isinstance(metadata, dict):
                metadata[key.removeprefix("metadata.")] = value
        elif key == "metadata" and isinstance(value, str):
            found[key] = read(value)
        else:
            found[key] = value
    for key, by_number in messages.items():
        found[key] = [_with_parts(by_number[number]) for number in sorted(by_number)]
    for way in ("input", "output"):  # of a span that is no call of a model
        value = found.get(f"{way}.value")
        if found.get(f"{way}.mime_type") == JSON_TEXT and isinstance(value, str):
            found[f"{way}.value"] = read(value)
    return found


def _with_parts(message: dict[str, Json]) -> dict[str, Json]:
    """Return a message whose content was taken apart as well: contents.0.message_content.text."""
    parts = {key: value for key, value in message.items() if key.startswith("contents.") and key.endswith(".text")}
    if parts and "content" not in message:
        message["content"] = [{"text": parts[key]} for key in sorted(parts, key=lambda key: int(key.split(".")[1]))]
    return {"role": "assistant", **message} if "content" in message else message


def of_envelopes(records: Iterable[Placed]) -> Iterator[Placed]:
    """Yield the spans of lines of OTLP, each of which holds those of several resources and scopes."""
    yield from gathered(span for one in records for span in _of_envelope(one))


def _of_envelope(one: Placed) -> Iterator[Placed]:
    for resource in _objects(one.record.get("resourceSpans")):
        of_resource = resource.get("resource")
        known = _attributes(of_resource.get("attributes")) if isinstance(of_resource, dict) else {}
        for scope in _objects(resource.get("scopeSpans")):
            for span in _objects(scope.get("spans")):
                attributes = _attributes(span.get("attributes"))
                record = {**span, "attributes": attributes, "resource": {"attributes": known}}
                yield Placed(one.place, record)


def _objects(value: Json) -> Iterator[Mapping[str, Json]]:
    found = value if isinstance(value, list) else [value]
    yield from (one for one in found if isinstance(one, dict))


def _attributes(value: Json) -> dict[str, Json]:
    """Return attributes as keys and values, which OTLP lists."""
    found = {}
    for one in _objects(value):
        if isinstance(key := one.get("key"), str):
            found[key] = _value(one.get("value"))
    return found


def _value(value: Json) -> Json:
    if not isinstance(value, dict):
        return None
    for key in VALUES:
        if key in value:
            return value[key]
    if isinstance(found := value.get("arrayValue"), dict):
        return [_value(one) for one in _objects(found.get("values"))]
    if isinstance(found := value.get("kvlistValue"), dict):
        return _attributes(found.get("values"))
    return None


OTLP = TraceTool(
    name="OpenTelemetry (OTLP)",
    signs=(("resourceSpans",),),
    trace=("traceId",),
    span=("spanId",),
    parent=("parentSpanId",),
    begun=("startTimeUnixNano",),
    status=("status.code",),
    kind=KIND,
    given=GIVEN,
    made=MADE,
    systems=SYSTEMS,
    answered_by=ANSWERED_BY,
    facts=FACTS,
    coded=True,
    unrolled=of_envelopes,
)
SDK = replace(
    OTLP,
    name="OpenTelemetry",
    signs=(("context.trace_id", "trace_id", "traceId"), ("attributes",), ("context.span_id", "span_id", "spanId")),
    trace=("context.trace_id", "trace_id", "traceId"),
    span=("context.span_id", "span_id", "spanId"),
    parent=("parent_id", "parent_span_id", "parentSpanId"),
    begun=("start_time", "start_time_unix_nano", "startTimeUnixNano"),
    status=("status.status_code", "status.code", "status_code"),
    unrolled=gathered,
)
