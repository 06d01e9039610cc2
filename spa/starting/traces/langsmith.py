"""Runs of LangSmith, as list_runs gives them and its bulk export writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spa.starting.traces.layout import Placed, TraceTool
from spa.starting.traces.turns import read

CODED = ("inputs", "outputs", "extra", "tags", "metadata")  # texts of JSON in Parquet


def _decoded(records: Iterable[Placed]) -> Iterator[Placed]:
    for one in records:
        yield Placed(one.place, {**one.record, **{key: read(one.record.get(key)) for key in CODED}})


TOOL = TraceTool(
    name="LangSmith",
    signs=(("run_type",), ("inputs",), ("trace_id", "dotted_order", "session_id")),
    trace=("trace_id",),
    span=("id",),
    parent=("parent_run_id",),
    begun=("start_time", "dotted_order"),
    status=("status",),
    errors=("error",),
    kind=("run_type",),
    given=("inputs",),
    made=("outputs",),
    systems=(
        "extra.metadata.ls_model_name",
        "extra.invocation_params.model",
        "extra.invocation_params.model_name",
        "session_name",
        "session_id",
    ),
    facts=("extra.metadata", "metadata", "tags"),
    items=("reference_example_id",),
    coded=True,
    unrolled=_decoded,
)
