"""Observations of Langfuse, from its page (JSON) and from its export to blob storage (JSON lines, Parquet)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spa.starting.traces.layout import Placed, TraceTool, word
from spa.starting.traces.turns import read

TRACE, PARENT = ("trace_id", "traceId"), ("parent_observation_id", "parentObservationId")
ROOT = "trace "  # before the id of a trace where an observation has its own


def _decoded(records: Iterable[Placed]) -> Iterator[Placed]:
    """Yield observations with what texts of JSON hold; where traces are there, too, they are the roots of these."""
    listed = list(records)
    traces = {word(one.record, ("id",)) for one in listed if "type" not in one.record}
    for one in listed:
        record = {**one.record, "metadata": read(one.record.get("metadata")), "input": read(one.record.get("input"))}
        trace = word(record, TRACE)
        if "type" not in record:
            record |= {"trace_id": record.get("id"), "id": f"{ROOT}{record.get('id')}"}
        elif trace in traces and word(record, PARENT) is None:
            record["parent_observation_id"] = f"{ROOT}{trace}"
        yield Placed(one.place, record)


TOOL = TraceTool(
    name="Langfuse",
    signs=(("trace_id", "traceId", "session_id", "sessionId"), ("level", "bookmarked"), ("input", "output")),
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
