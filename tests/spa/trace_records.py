"""The same requests as several tools record them, with invented values: records of traces for tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from spa.starting.found import FoundOutputs
from spa.starting.traces import traces_in
from spa.tables.options import TableOptions
from spa.tables.reading import open_table
from spa.tables.source import Source, Wanted

Row = dict[str, object]
DATED = "-2026-01-01"  # what a service adds to the name of the model that was asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One span: a call of a model where it has one, else a step around calls."""

    trace: str
    span: str
    parent: str | None = None
    begun: int
    failed: bool = False
    given: str
    made: str | None = None
    model: str | None = None

    @property
    def messages(self) -> list[dict[str, str]]:
        """What a model was sent."""
        return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": self.given}]

    @property
    def reply(self) -> Row | None:
        """What its service sent back."""
        if self.made is None:
            return None
        message = {"role": "assistant", "content": self.made, "refusal": None, "tool_calls": None}
        return {"object": "chat.completion", "model": f"{self.model}{DATED}", "choices": [{"message": message}]}


def pipeline(trace: str, model: str, prompt: str, begun: int) -> list[Step]:
    """Return a request whose root holds what went in and out, and that asks a model below."""
    made = f"{model} on {prompt}"
    return [
        Step(trace=trace, span=f"{trace}a", begun=begun, given=prompt, made=made),
        Step(trace=trace, span=f"{trace}b", parent=f"{trace}a", begun=begun + 1, given=prompt, made=made, model=model),
    ]


REQUESTS = (
    *pipeline("a1", "ada", "one", 100),
    *pipeline("a2", "bob", "one", 200),
    Step(trace="a3", span="a3a", begun=300, given="two", made="bob on two"),
    Step(trace="a3", span="a3b", parent="a3a", begun=301, failed=True, given="two", model="ada"),
    Step(trace="a3", span="a3c", parent="a3a", begun=302, given="two", made="bob on two", model="bob"),
    *pipeline("a4", "bob", "two", 400),
    Step(trace="a5", span="a5a", begun=500, given="three", made="ada on three", model="ada"),
    Step(trace="a6", span="a6a", begun=600, given="three", made="bob on three", model="bob"),
    Step(trace="a7", span="a7b", parent="elsewhere", begun=700, given="four", made="ada on four", model="ada"),
    Step(trace="a8", span="a8a", begun=800, failed=True, given="four", model="ada"),
)
ANSWERS = {
    ("one", "ada"): ["ada on one"],
    ("one", "bob"): ["bob on one"],
    ("two", "bob"): ["bob on two"],
    ("three", "ada"): ["ada on three"],
    ("three", "bob"): ["bob on three"],
}
LEFT_OUT = (
    "4 inner spans",
    "2 failed tries",
    "1 fallback: an answer of a second system within one request",
    "1 trace without a root span (1 span): sampled or cut off",
)


def phoenix(step: Step) -> Row:
    """Return a row of the data frame of Phoenix."""
    row: Row = {
        "name": "ChatCompletion" if step.model else "app",
        "span_kind": "LLM" if step.model else "CHAIN",
        "parent_id": step.parent,
        "start_time": 1795867699000 + step.begun,
        "status_code": "ERROR" if step.failed else "OK",
        "context.span_id": step.span,
        "context.trace_id": step.trace,
        "attributes.openinference.span.kind": "LLM" if step.model else "CHAIN",
        "attributes.input.value": step.given,
        "attributes.output.value": step.made,
        "attributes.output.mime_type": None,
        "attributes.llm.model_name": None,
        "attributes.llm.invocation_parameters": None,
        "attributes.llm.input_messages": None,
        "attributes.llm.output_messages": None,
    }
    if step.model:
        reply = {
            "attributes.llm.model_name": f"{step.model}{DATED}",
            "attributes.llm.output_messages": [{"message.role": "assistant", "message.content": step.made}],
            "attributes.output.value": json.dumps(step.reply),
            "attributes.output.mime_type": "application/json",
        }
        row |= {
            "attributes.input.value": json.dumps({"model": step.model, "messages": step.messages}),
            "attributes.llm.invocation_parameters": json.dumps({"model": step.model}),
            "attributes.llm.input_messages": [
                {f"message.{key}": value for key, value in message.items()} for message in step.messages
            ],
            **({} if step.made is None else reply),
        }
    return row


def _gen_ai(step: Step) -> Row:
    """Return attributes by the conventions of OpenTelemetry."""
    if step.model is None:
        return {"input.value": step.given, "output.value": step.made}
    messages = [{"role": one["role"], "parts": [{"type": "text", "content": one["content"]}]} for one in step.messages]
    found: Row = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": step.model,
        "gen_ai.input.messages": json.dumps(messages),
    }
    if step.made is not None:
        parts = [{"type": "text", "content": step.made}]
        found["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": parts, "finish_reason": "stop"}])
        found["gen_ai.response.model"] = f"{step.model}{DATED}"
    return found


def open_telemetry(step: Step) -> Row:
    """Return a span as the SDK of Python prints it."""
    return {
        "name": "chat",
        "context": {"trace_id": f"0x{step.trace}", "span_id": f"0x{step.span}", "trace_state": "[]"},
        "parent_id": None if step.parent is None else f"0x{step.parent}",
        "start_time": f"2026-11-28T12:00:00.{step.begun:06}Z",
        "status": {"status_code": "ERROR" if step.failed else "UNSET"},
        "attributes": {key: value for key, value in _gen_ai(step).items() if value is not None},
        "events": [],
    }


def openinference(step: Step) -> Row:
    """Return a span as the SDK prints it, its messages taken apart into attributes as OpenInference does."""
    attributes: Row = {"openinference.span.kind": "LLM" if step.model else "CHAIN", "input.value": step.given}
    if step.model is None:
        attributes |= {"output.value": step.made}
    else:
        attributes |= {"input.value": json.dumps({"model": step.model, "messages": step.messages})}
        attributes["input.mime_type"] = "application/json"
        attributes["llm.invocation_parameters"] = json.dumps({"model": step.model})
        for place, message in enumerate(step.messages):
            attributes |= {f"llm.input_messages.{place}.message.{key}": value for key, value in message.items()}
        if step.made is not None:
            attributes["llm.model_name"] = f"{step.model}{DATED}"
            attributes["llm.output_messages.0.message.role"] = "assistant"
            attributes["llm.output_messages.0.message.contents.0.message_content.type"] = "text"
            attributes["llm.output_messages.0.message.contents.0.message_content.text"] = step.made
    kept = {key: value for key, value in attributes.items() if value is not None}
    return {**open_telemetry(step), "attributes": kept}


def otlp(step: Step) -> Row:
    """Return a line of an OTLP file with one span."""
    attributes = [
        {"key": key, "value": {"stringValue": value}} for key, value in _gen_ai(step).items() if value is not None
    ]
    span: Row = {
        "traceId": step.trace,
        "spanId": step.span,
        "parentSpanId": step.parent or "",
        "startTimeUnixNano": str(1795867699000000000 + step.begun),
        "attributes": attributes,
        "status": {"code": 2, "message": "no"} if step.failed else {},
    }
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": [span]}]}]}


def langsmith(step: Step) -> Row:
    """Return a run as list_runs of LangSmith gives it."""
    made = step.reply if step.model else {"output": step.made}
    return {
        "id": step.span,
        "name": "run",
        "run_type": "llm" if step.model else "chain",
        "start_time": f"2026-11-28T12:00:00.{step.begun:06}+00:00",
        "inputs": {"messages": step.messages, "model": step.model} if step.model else {"question": step.given},
        "outputs": None if step.made is None else made,
        "error": "InternalServerError('no')" if step.failed else None,
        "status": "error" if step.failed else "success",
        "extra": {"metadata": {"ls_model_name": step.model} if step.model else {}},
        "tags": [],
        "parent_run_id": step.parent,
        "trace_id": step.trace,
        "session_id": "5b1c",
    }


def langfuse(step: Step) -> Row:
    """Return an observation as Langfuse exports it to blob storage: texts of JSON, empty texts for nothing."""
    given = json.dumps(step.messages) if step.model else step.given
    message = {"role": "assistant", "content": step.made}
    made = "" if step.made is None else json.dumps(message) if step.model else step.made
    return {
        "id": step.span,
        "trace_id": step.trace,
        "type": "GENERATION" if step.model else "SPAN",
        "parent_observation_id": step.parent or "",
        "start_time": f"2026-11-28 12:00:00.{step.begun:06}",
        "name": "call",
        "metadata": {},
        "level": "ERROR" if step.failed else "DEFAULT",
        "status_message": "",
        "input": given,
        "output": made,
        "provided_model_name": step.model or "",
        "session_id": "",
    }


def mlflow(steps: Iterable[Step]) -> list[Row]:
    """Return traces as MLflow writes them one by one: values of attributes are JSON."""
    traces: dict[str, list[Step]] = {}
    for step in steps:
        traces.setdefault(step.trace, []).append(step)
    rows: list[Row] = []
    for trace, own in traces.items():
        failed = any(step.failed and step.parent is None for step in own)
        info = {"trace_id": f"tr-{trace}", "state": "ERROR" if failed else "OK", "tags": {"mlflow.traceName": "app"}}
        rows.append({"info": info, "data": {"spans": [_mlflow_span(step) for step in own]}})
    return rows


def _mlflow_span(step: Step) -> Row:
    given: object = {"messages": step.messages, "model": step.model} if step.model else {"prompt": step.given}
    made = step.reply if step.model else step.made
    attributes = {
        "mlflow.spanInputs": json.dumps(given),
        **({} if step.made is None else {"mlflow.spanOutputs": json.dumps(made)}),
        **({"mlflow.llm.model": json.dumps(step.model)} if step.model else {}),
    }
    return {
        "trace_id": "AAAA",
        "span_id": step.span,
        "parent_span_id": step.parent,
        "start_time_unix_nano": 1795867699000000000 + step.begun,
        "status": {"code": "STATUS_CODE_ERROR" if step.failed else "STATUS_CODE_OK"},
        "attributes": attributes,
    }


def one_by_one(layout: Callable[[Step], Row]) -> Callable[[Iterable[Step]], list[Row]]:
    """Return a layout of several steps from that of one."""
    return lambda steps: [layout(step) for step in steps]


LAYOUTS: Mapping[str, Callable[[Iterable[Step]], list[Row]]] = {
    "Phoenix": one_by_one(phoenix),
    "OpenTelemetry": one_by_one(open_telemetry),
    "OpenInference": one_by_one(openinference),
    "OTLP": one_by_one(otlp),
    "LangSmith": one_by_one(langsmith),
    "Langfuse": one_by_one(langfuse),
    "MLflow": mlflow,
}


def opened(path: Path) -> Source:
    """Return a file with all its columns."""
    columns = frozenset(open_table(path, Wanted(columns=frozenset()), TableOptions()).schema)
    return open_table(path, Wanted(columns=columns, guarded=False), TableOptions())


def found_in(*paths: Path, **settled: str) -> FoundOutputs:
    """Return what is found in files, some questions settled."""
    answers = {key.replace("_", "-"): value for key, value in settled.items()}
    found = traces_in([opened(path) for path in paths], settled=answers)
    assert found is not None
    return found


def written(path: Path, rows: Iterable[object]) -> Path:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def texts(found: FoundOutputs) -> dict[tuple[str | None, str], list[str]]:
    """Return prompt and system -> outputs."""
    cells: dict[tuple[str | None, str], list[str]] = {}
    for answer in found.answers:
        cells.setdefault((answer.prompt, answer.system), []).append(answer.output)
    return cells


def told(found: FoundOutputs) -> tuple[object, ...]:
    """Return all that is found but where it stood."""
    answers = [(one.item, one.system, one.prompt, one.output, one.sample) for one in found.answers]
    return answers, found.took, found.left_out, found.caveats, found.asked
