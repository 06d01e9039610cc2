"""LiteLLM's standard logging object, one a line."""

from __future__ import annotations

from spa.starting.traces.layout import TraceTool

TOOL = TraceTool(
    name="LiteLLM log",
    signs=(("call_type",), ("messages",), ("response",), ("model_group", "litellm_call_id", "model")),
    trace=("trace_id", "litellm_call_id", "id"),
    begun=("startTime",),
    status=("status",),
    errors=("error_str",),
    kind=("call_type",),
    given=("messages",),
    made=("response",),
    systems=("model", "model_group", "response.model"),
    answered_by=("response.model",),
    facts=("request_tags", "metadata.requester_metadata", "metadata.spend_logs_metadata", "metadata"),
)
