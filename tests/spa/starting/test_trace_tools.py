"""The same requests give the same answers, whatever tool recorded them and however its records lie in files."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from spa.errors import TableError
from spa.starting.traces import TOOLS, traces_in
from tests.spa.trace_records import (
    ANSWERS,
    LAYOUTS,
    LEFT_OUT,
    REQUESTS,
    Row,
    Step,
    found_in,
    langfuse,
    open_telemetry,
    opened,
    phoenix,
    texts,
    told,
    written,
)


@pytest.mark.parametrize("tool", LAYOUTS)
def test_each_tool_gives_one_answer_per_request(tool: str, tmp_path: Path) -> None:
    found = found_in(written(tmp_path / "traces.jsonl", LAYOUTS[tool](REQUESTS)))
    assert texts(found) == ANSWERS
    assert found.left_out == LEFT_OUT
    assert (found.caveats, found.asked) == ((), ())


@pytest.mark.parametrize("tool", LAYOUTS)
def test_order_and_files_of_the_rows_change_nothing(tool: str, tmp_path: Path) -> None:
    rows = LAYOUTS[tool](REQUESTS)
    whole = told(found_in(written(tmp_path / "whole.jsonl", rows)))
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        middle = len(rows) // 2
        first, second = written(tmp_path / "1.jsonl", rows[:middle]), written(tmp_path / "2.jsonl", rows[middle:])
        assert told(found_in(first, second)) == whole


@pytest.mark.parametrize("tool", ["Phoenix", "Langfuse"])
def test_a_parquet_file_says_the_same(tool: str, tmp_path: Path) -> None:
    rows = LAYOUTS[tool](REQUESTS)
    pl.DataFrame([{**row, "metadata": None} for row in rows], infer_schema_length=None).write_parquet(
        tmp_path / "traces.parquet"
    )
    assert told(found_in(tmp_path / "traces.parquet")) == told(found_in(written(tmp_path / "traces.jsonl", rows)))


@pytest.mark.parametrize("tool", ["Phoenix", "LangSmith", "Langfuse"])
@pytest.mark.parametrize("nested", [json.dumps, str], ids=["JSON", "Python"])
def test_tables_of_text_say_the_same(tool: str, nested: Callable[[object], str], tmp_path: Path) -> None:
    """Exports as CSV hold lists and objects as JSON; those that pandas writes, as Python prints them."""
    rows = LAYOUTS[tool](REQUESTS)
    cells = [{key: nested(one) if isinstance(one, list | dict) else one for key, one in row.items()} for row in rows]
    pl.DataFrame(cells, infer_schema_length=None).write_csv(tmp_path / "traces.csv")
    found = found_in(tmp_path / "traces.csv")
    assert (texts(found), found.left_out) == (ANSWERS, LEFT_OUT)


WEIRD: tuple[object, ...] = (
    *(None, "", 0, 1.5, True, [], {}, [[]], {"": ""}, "{broken", "[1 2 3]", "\x00", "[" * 200, 10**400),
    *([{"role": "assistant"}], [{"role": 3, "content": {"a": 1}}], {"choices": [None]}, {"choices": [{"message": 1}]}),
    *({"content": [{"type": "text"}]}, {"message": {"message": "x"}}, {"output": [{"output": []}]}, {"parts": 3}),
)


def places(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Yield the paths of all that stands in a value."""
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, key)
            yield from places(one, (*path, key))


@pytest.mark.parametrize("tool", LAYOUTS)
def test_no_record_is_too_strange(tool: str, tmp_path: Path) -> None:
    """Whatever stands anywhere, there are answers with texts, no traces, or one line that says what is wrong."""
    for seed in range(30):
        rng = random.Random(f"{tool}{seed}")
        rows: list[Any] = LAYOUTS[tool](REQUESTS)
        for _ in range(rng.randint(1, 20)):
            row: Any = rng.choice(rows)
            *way, last = rng.choice([*places(row)])
            for key in way:
                row = row[key]
            row[last] = copy.deepcopy(rng.choice(WEIRD))
        source = opened(written(tmp_path / "traces.jsonl", rows))
        told = ""
        try:
            found = traces_in([source])
        except TableError as error:
            found, told = None, str(error)
        assert len(told) < 500
        answers = () if found is None else found.answers
        assert all(text.strip() for one in answers for text in (one.item, one.system, one.output))


def test_every_tool_is_known_by_its_own_records_alone() -> None:
    assert len({tool.name for tool in TOOLS}) == len(TOOLS)


def test_all_spans_of_an_export_may_stand_in_one_line(tmp_path: Path) -> None:
    lines = LAYOUTS["OTLP"](REQUESTS)
    together = [resource for line in lines for resource in line["resourceSpans"]]  # type: ignore[attr-defined]
    found = found_in(written(tmp_path / "traces.jsonl", [{"resourceSpans": together}]))
    assert texts(found) == ANSWERS


def test_a_row_of_search_traces_holds_its_request_and_response(tmp_path: Path) -> None:
    rows: list[Row] = [
        {
            "trace_id": f"tr-{item}-{system}",
            "state": "OK",
            "request": {"system": system, "item": item, "prompt": f"prompt {item}"},
            "response": f"{system} on {item}",
            "spans": [],
            "trace_metadata": {"mlflow.trace.sizeBytes": str(place)},
        }
        for place, item in enumerate(("q1", "q2"))
        for system in ("ada", "bob")
    ]
    rows.append({"trace_id": "tr-x", "state": "ERROR", "request": {"system": "ada", "item": "q3"}, "response": None})
    found = found_in(written(tmp_path / "traces.jsonl", rows))
    assert [(one.item, one.system, one.prompt, one.output) for one in found.answers] == [
        ("q1", "ada", "prompt q1", "ada on q1"),
        ("q1", "bob", "prompt q1", "bob on q1"),
        ("q2", "ada", "prompt q2", "ada on q2"),
        ("q2", "bob", "prompt q2", "bob on q2"),
    ]
    assert found.took[1:] == ("system: request.system (ada 2, bob 2)", "item: the ids that were given, 2 items")
    assert found.left_out == ("1 failed try",)


def test_a_table_of_search_traces_may_be_text(tmp_path: Path) -> None:
    rows: list[Row] = [
        {
            "trace_id": f"{model}{prompt}",
            "state": "OK",
            "request": str({"messages": [{"role": "user", "content": prompt}], "model": model}),
            "response": str({"choices": [{"message": {"role": "assistant", "content": f"{model}: it's {prompt}"}}]}),
            "spans": "[]",
        }
        for prompt in ("one", "two")
        for model in ("ada", "bob")
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "traces.csv")
    assert texts(found_in(tmp_path / "traces.csv"))["two", "bob"] == ["bob: it's two"]


@pytest.mark.parametrize("text", ["null", '"quoted"', "12", '{"a": "b"}', "[1, 2]"])
def test_texts_that_could_be_json_stay_texts(text: str, tmp_path: Path) -> None:
    """MLflow 3 gives texts, MLflow 2 gave JSON."""
    rows: list[Row] = [
        {"trace_id": name, "state": "OK", "request": {"system": name, "prompt": text}, "response": text, "spans": []}
        for name in ("ada", "bob")
    ]
    before: list[Row] = [
        {
            "request_id": name,
            "status": "OK",
            "request": json.dumps({"system": name, "prompt": text}),
            "response": json.dumps(text),
            "spans": [],
        }
        for name in ("ada", "bob")
    ]
    for place, version in enumerate((rows, before)):
        found = found_in(written(tmp_path / f"{place}.jsonl", version))
        assert texts(found) == {(text, "ada"): [text], (text, "bob"): [text]}


def test_traces_of_langfuse_are_the_roots_of_their_observations(tmp_path: Path) -> None:
    calls = [
        langfuse(Step(trace=name, span=f"{name}a", begun=place, given=prompt, made=f"{model} on {prompt}", model=model))
        for place, (name, model, prompt) in enumerate(
            [("t1", "ada", "one"), ("t2", "bob", "one"), ("t3", "ada", "two"), ("t4", "bob", "two")]
        )
    ]
    traces: list[Row] = [
        {
            "id": call["trace_id"],
            "timestamp": call["start_time"],
            "bookmarked": False,
            "session_id": "s",
            "input": json.loads(str(call["input"]))[-1]["content"],
            "output": f"final: {call['trace_id']}",
        }
        for call in calls
    ]
    found = found_in(written(tmp_path / "observations.jsonl", calls), written(tmp_path / "traces.jsonl", traces))
    assert texts(found) == {
        ("one", "ada"): ["final: t1"],
        ("one", "bob"): ["final: t2"],
        ("two", "ada"): ["final: t3"],
        ("two", "bob"): ["final: t4"],
    }
    assert found.left_out == ("4 inner spans",)


def test_arguments_of_an_observed_function_are_what_was_asked(tmp_path: Path) -> None:
    rows = []
    for n, (model, prompt) in enumerate((model, prompt) for prompt in ("one", "two") for model in ("ada", "bob")):
        row = langfuse(Step(trace=f"t{n}", span=f"s{n}", begun=n, given="", made=f"{model} on {prompt}"))
        rows.append({**row, "input": json.dumps({"args": [prompt], "kwargs": {"model": model, "temperature": 0}})})
    found = found_in(written(tmp_path / "observations.jsonl", rows))
    assert "system: input.model (ada 2, bob 2)" in found.took
    assert texts(found)["two", "ada"] == ["ada on two"]


def batch(model: str, *, shift: int = 0) -> tuple[list[object], list[object]]:
    """Return the input and the output of a batch, in which the third request of ada failed."""
    asked: list[object] = []
    answered: list[object] = []
    for place, prompt in enumerate(("one", "two", "three")):
        name = f"r-{(place + shift) % 3}"
        body = {"model": model, "messages": [{"role": "user", "content": prompt}]}
        asked.append({"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body})
        failed = (model, prompt) == ("ada", "three")
        reply = {
            "model": f"{model}-2026-01-01",
            "choices": [{"message": {"role": "assistant", "content": f"{model} on {prompt}"}}],
        }
        response = {"status_code": 500 if failed else 200, "body": {"error": {"message": "no"}} if failed else reply}
        answered.append({"id": f"b{place}", "custom_id": name, "response": response, "error": None})
    return asked, answered


@pytest.mark.parametrize("shift", [0, 1])
def test_a_batch_is_joined_with_what_was_asked_of_the_same_model(shift: int, tmp_path: Path) -> None:
    files = {}
    for model, by in (("ada", 0), ("bob", shift)):
        files[f"{model}-in"], files[f"{model}-out"] = batch(model, shift=by)
    paths = [written(tmp_path / f"{name}.jsonl", rows) for name, rows in files.items()]
    for order in (paths, paths[::-1]):
        found = found_in(*order)
        assert texts(found) == {
            ("one", "ada"): ["ada on one"],
            ("one", "bob"): ["bob on one"],
            ("two", "ada"): ["ada on two"],
            ("two", "bob"): ["bob on two"],
            ("three", "bob"): ["bob on three"],
        }
        assert found.left_out == ("1 failed try",)
        assert "system: request.body.model (ada 2, bob 3)" in found.took
        assert found.caveats == ()
        assert len({(one.item, one.prompt) for one in found.answers}) == len({one.item for one in found.answers}) == 3


def test_a_model_whose_name_begins_with_anothers_is_another(tmp_path: Path) -> None:
    rows = [row for model, shift in (("bob", 0), ("bob-mini", 1)) for part in batch(model, shift=shift) for row in part]
    found = found_in(written(tmp_path / "batches.jsonl", rows))
    assert texts(found)["one", "bob-mini"] == ["bob-mini on one"]
    assert texts(found)["three", "bob"] == ["bob on three"]


def test_trace_batch_requests_without_answer(tmp_path: Path) -> None:
    """Requests of a batch that nothing answers are failed tries."""
    asked, answered = batch("bob")
    rows = batch("ada")[1]
    found = found_in(written(tmp_path / "in.jsonl", asked), written(tmp_path / "out.jsonl", [*answered[:2], *rows[:2]]))
    assert "1 failed try" in found.left_out


def test_a_file_whose_rows_are_turns_is_one_conversation(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "content": "Weather in Ulm?", "metadata": None},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]},
        {"type": "function_call", "name": "look", "call_id": "c1", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "sun"},
        {"role": "assistant", "parts": [{"type": "text", "content": "It is "}, {"type": "text", "content": "sunny."}]},
    ]
    others = [
        {"role": "user", "content": [{"type": "text", "text": "Weather in Ulm?"}]},
        {"role": "assistant", "content": "Fog."},
    ]
    for name, rows in (("ada", turns), ("bob", others)):
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    found = found_in(tmp_path / "ada.json", tmp_path / "bob.json")
    assert texts(found) == {("Weather in Ulm?", "ada"): ["It is sunny."], ("Weather in Ulm?", "bob"): ["Fog."]}
    assert "system: name of the file (ada 1, bob 1)" in found.took


def test_a_log_of_requests_and_replies_is_read(tmp_path: Path) -> None:
    rows = [
        {
            "request": {"model": model, "messages": [{"role": "user", "content": prompt}]},
            "response": {
                "model": model,
                "choices": [{"message": {"role": "assistant", "content": f"{model}: {prompt}"}}],
            },
        }
        for prompt in ("one", "two")
        for model in ("ada", "bob")
    ]
    found = found_in(written(tmp_path / "log.jsonl", rows))
    assert texts(found)["two", "bob"] == ["bob: two"]
    assert len(found.answers) == 4


def test_samples_of_inspect_are_read_by_their_ids(tmp_path: Path) -> None:
    for model in ("ada", "bob"):
        samples = [
            {
                "id": f"q{n}",
                "epoch": 1,
                "input": prompt,
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": prompt},
                    {"role": "assistant", "content": f"{model} on {prompt}"},
                ],
                "output": {
                    "model": f"mockllm/{model}",
                    "choices": [{"message": {"role": "assistant", "content": f"{model} on {prompt}"}}],
                    "completion": f"{model} on {prompt}",
                },
            }
            for n, prompt in enumerate(("one", "two"))
        ]
        written(tmp_path / f"{model}.jsonl", samples)
    found = found_in(tmp_path / "ada.jsonl", tmp_path / "bob.jsonl")
    assert [(one.item, one.system, one.prompt) for one in found.answers] == [
        ("q0", "mockllm/ada", "one"),
        ("q0", "mockllm/bob", "one"),
        ("q1", "mockllm/ada", "two"),
        ("q1", "mockllm/bob", "two"),
    ]


def test_a_thousand_spans_of_phoenix_are_its_limit(tmp_path: Path) -> None:
    steps = [
        Step(
            trace=f"t{n}",
            span=f"s{n}",
            begun=n,
            given=f"prompt {n // 2}",
            made=f"text {n}",
            model=("ada", "bob")[n % 2],
        )
        for n in range(1_000)
    ]
    rows = [phoenix(step) for step in steps]
    (caveat,) = found_in(written(tmp_path / "traces.jsonl", rows)).caveats
    listed = [{**open_telemetry(step), "span_kind": "LLM", "status_code": "OK"} for step in steps[:100]]
    assert "get_spans(limit=" in found_in(written(tmp_path / "spans.jsonl", listed)).caveats[0]
    assert "exactly 1,000 spans" in caveat
    assert "get_spans_dataframe(limit=" in caveat
    assert found_in(written(tmp_path / "traces.jsonl", rows[:-2])).caveats == ()


def test_traces_without_recorded_texts_say_how_to_record_them(tmp_path: Path) -> None:
    rows = [open_telemetry(step) for step in REQUESTS]
    for row in rows:
        row["attributes"] = {"gen_ai.request.model": "ada"}
    with pytest.raises(TableError, match="CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"):
        found_in(written(tmp_path / "traces.jsonl", rows))


def test_embeddings_tools_and_retrieved_documents_are_no_answers(tmp_path: Path) -> None:
    rows = []
    for n, (model, prompt) in enumerate((model, prompt) for prompt in ("one", "two") for model in ("ada", "bob")):
        root = phoenix(Step(trace=f"t{n}", span=f"r{n}", begun=n * 10, given=""))
        found = phoenix(
            Step(trace=f"t{n}", span=f"d{n}", parent=f"r{n}", begun=n * 10 + 1, given=prompt, made="document")
        )
        step = Step(
            trace=f"t{n}", span=f"c{n}", parent=f"r{n}", begun=n * 10 + 2, given=prompt, made=model, model=model
        )
        alone = phoenix(Step(trace=f"e{n}", span=f"e{n}", begun=n * 10 + 3, given=prompt, made="[0.5]"))
        kind = "attributes.openinference.span.kind"
        rows += [{**root, "attributes.input.value": None}, {**found, kind: "RETRIEVER"}, phoenix(step)]
        rows.append({**alone, kind: "EMBEDDING"})
        query = Step(
            trace=f"t{n}", span=f"q{n}", parent=f"d{n}", begun=n * 10, given="better", made="query", model=model
        )
        rows.append(phoenix(query))
    found_there = found_in(written(tmp_path / "traces.jsonl", rows))
    assert [one.output for one in found_there.answers] == ["ada", "bob", "ada", "bob"]
    assert found_there.left_out == ("12 inner spans", "4 spans that answer nobody, such as embeddings and tools")


def test_messages_in_the_events_of_a_span_are_read(tmp_path: Path) -> None:
    rows = []
    for place, (model, prompt) in enumerate([("ada", "one"), ("bob", "one")]):
        step = Step(trace=f"t{place}", span=f"s{place}", begun=place, given=prompt, made="", model=model)
        message = json.dumps({"role": "assistant", "content": f"{model} on {prompt}"})
        rows.append(
            {
                **open_telemetry(step),
                "attributes": {"gen_ai.request.model": model},
                "events": [
                    {"name": "gen_ai.user.message", "attributes": {"content": prompt}},
                    {"name": "gen_ai.choice", "attributes": {"index": 0, "message": message}},
                ],
            }
        )
    assert texts(found_in(written(tmp_path / "traces.jsonl", rows))) == {
        ("one", "ada"): ["ada on one"],
        ("one", "bob"): ["bob on one"],
    }
