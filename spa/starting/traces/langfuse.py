"""Observations of Langfuse, from its page (JSON) and from its export to blob storage (JSON lines, Parquet)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spa.starting.traces.layout import Placed, TraceTool, word
from spa.starting.traces.turns import Json, read

TRACE, PARENT = ("trace_id", "traceId"), ("parent_observation_id", "parentObservationId")
ROOT = "trace "  # before the id of a trace where an observation has its own


def _decoded(records: Iterable[Placed]) -> Iterator[Placed]:
    """Yield observations with what texts of JSON hold; where traces are there, too, they are the roots of these."""
    listed = list(records)
    traces = {word(one.record, ("id",)) for one in listed if "type" not in one.record}
    for one in listed:
        given = _arguments(read(one.record.get("input")))
        record = {**one.record, "metadata": read(one.record.get("metadata")), "input": given}
        trace = word(record, TRACE)
        if "type" not in record:
            record |= {"trace_id": record.get("id"), "id": f"{ROOT}{record.get('id')}"}
        elif trace in traces and word(record, PARENT) is None:
            record["parent_observation_id"] = f"{ROOT}{trace}"
        yield Placed(one.place, record)


def _arguments(given: Json) -> Json:
    """Return the arguments of an observed function as one object, or the only one."""
    if not isinstance(given, dict) or not given or not given.keys() <= {"args", "kwargs"}:
        return given
    places, named = given.get("args") or [], given.get("kwargs") or {}
    if not isinstance(places, list) or not isinstance(named, dict):
        return given
    if len(places) == 1 and not named:
        return places[0]
    return {**{f"argument {place}": value for place, value in enumerate(places, start=1)}, **named}


TOOL = TraceTool(
    name="Langfuse",
    signs=(
        ("trace_id", "traceId", "session_id", "sessionId"),
        ("level", "bookmarked"),
        ("type", "bookmarked"),
        ("input", "output"),
    ),
    trace=TRACE,
    span=("id",),
    parent=PARENT,
    begun=("start_time", "startTime", "timestamp"),
    status=("level",),
    kind=("type",),
    given=("input",),
    made=("output",),
    systems=("provided_model_name", "model", "providedModelName", "prompt_name", "promptName", "trace_name"),
    facts=("metadata", "tags", "version", "release"),
    items=("dataset_item_id", "datasetItemId"),
    coded=True,
    unrolled=_decoded,
)
