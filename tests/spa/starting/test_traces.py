"""Answers in traces and chat logs: one a request, whatever tool wrote them and however the rows lie in files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.errors import TableError
from spa.starting.traces import traces_in
from tests.spa.trace_records import REQUESTS, Step, found_in, langsmith, open_telemetry, opened, phoenix, texts, written

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases" / "traces"


def litellm(
    prompt: str, model: str, trace: str, at: float, *, failed: bool = False, dated: str = ""
) -> dict[str, object]:
    """Return a call as LiteLLM logs it."""
    answered = model.rsplit("/", 1)[-1] + dated
    message = {"role": "assistant", "content": f"{answered} on {prompt}", "tool_calls": None}
    response: Mapping[str, object] = {"model": answered, "choices": [{"index": 0, "message": message}]}
    return {
        "id": "cc_1",
        "trace_id": trace,
        "call_type": "acompletion",
        "status": "failure" if failed else "success",
        "model": model,
        "model_group": "",
        "startTime": at,
        "messages": [{"role": "user", "content": prompt}],
        "response": {} if failed else response,
    }


FALLBACK = (
    litellm("one", "openai/ada", "t1", 1.0, dated="-2026-01-01"),
    litellm("one", "openai/bob", "t2", 2.0, dated="-2026-01-01"),
    litellm("two", "openai/ada", "t3", 3.0, failed=True),
    litellm("two", "openai/bob", "t3", 4.0, dated="-2026-01-01"),
    litellm("two", "openai/bob", "t4", 5.0, dated="-2026-01-01"),
    litellm("three", "ada", "t5", 6.0, dated="-2026-01-01"),
    litellm("three", "bob", "t6", 7.0, dated="-2026-01-01"),
)


def test_trace_fallbacks_and_providers(tmp_path: Path) -> None:
    """A fallback is no answer of its own and a provider no part of a name."""
    found = found_in(written(tmp_path / "log.jsonl", FALLBACK))
    assert {key: len(outputs) for key, outputs in texts(found).items()} == {
        ("one", "ada"): 1,
        ("one", "bob"): 1,
        ("two", "bob"): 1,
        ("three", "ada"): 1,
        ("three", "bob"): 1,
    }
    assert found.left_out == ("1 failed try", "1 fallback: an answer of a second system within one request")
    assert "one system: ada and openai/ada; bob and openai/bob (the same model answered)" in found.took
    assert found.asked == ()


def test_the_same_call_may_stand_twice_in_files_that_overlap(tmp_path: Path) -> None:
    found = found_in(written(tmp_path / "1.jsonl", FALLBACK[:4]), written(tmp_path / "2.jsonl", FALLBACK[2:]))
    assert sum(map(len, texts(found).values())) == 5
    assert "2 spans that stand there twice" in found.left_out


def test_trace_names_of_one_system_are_joined(tmp_path: Path) -> None:
    """Names of one system are joined where that is certain or asked."""
    rows = [
        litellm("one", "openai/ada", "t1", 1.0, dated="-2026-01-01"),
        litellm("one", "bob", "t2", 2.0),
        litellm("two", "ada", "t3", 3.0, dated="-2026-03-01"),
        litellm("two", "bob", "t4", 4.0),
    ]
    path = written(tmp_path / "log.jsonl", rows)
    found = found_in(path)
    (asked,) = [one for one in found.asked if one.key == "same-names"]
    assert (asked.choices, asked.default) == (("one", "apart"), None)
    assert "ada and openai/ada" in asked.question
    assert {system for _, system in texts(found)} == {"openai/ada", "ada", "bob"}
    assert {system for _, system in texts(found_in(path, same_names="one"))} == {"ada", "bob"}
    apart = found_in(path, same_names="apart")
    assert {system for _, system in texts(apart)} == {"openai/ada", "ada", "bob"}
    assert apart.asked == ()


def test_two_snapshots_of_a_model_are_one_system_only_if_asked(tmp_path: Path) -> None:
    rows = [
        litellm(prompt, model, f"{prompt}-{model}", 1.0)
        for prompt in ("one", "two")
        for model in ("ada-2026-01-01", "ada-2026-03-01", "bob")
    ]
    found = found_in(written(tmp_path / "log.jsonl", rows))
    assert len({one.system for one in found.answers}) == 3
    assert [one.key for one in found.asked] == ["same-names"]


def test_two_answers_of_one_system_to_one_prompt_are_asked_about(tmp_path: Path) -> None:
    rows = [litellm("one", model, f"{model}{n}", n) for model in ("ada", "bob") for n in (1.0, 2.0)]
    for row in rows:
        choice = row["response"]["choices"][0]["message"]  # type: ignore[index]
        choice["content"] = f"{row['model']} at {row['startTime']}"
    path = written(tmp_path / "log.jsonl", rows)
    (asked,) = found_in(path).asked
    assert (asked.key, asked.choices, asked.default) == ("repeats", ("samples", "first", "last"), None)
    samples = found_in(path, repeats="samples")
    assert [(one.system, one.sample, one.output) for one in samples.answers] == [
        ("ada", "1", "ada at 1.0"),
        ("ada", "2", "ada at 2.0"),
        ("bob", "1", "bob at 1.0"),
        ("bob", "2", "bob at 2.0"),
    ]
    for which, at in (("first", "1.0"), ("last", "2.0")):
        found = found_in(path, repeats=which)
        assert [one.output for one in found.answers] == [f"ada at {at}", f"bob at {at}"]
        assert "2 repeated answers of one system to one prompt" in found.left_out


def test_trace_second_answer_is_a_fallback(tmp_path: Path) -> None:
    """A second answer in a trace is a fallback and asked about where most traces have one."""
    once = [litellm(f"p{n}", model, f"t{n}{model}", n) for n in range(4) for model in ("ada", "bob")]
    path = written(tmp_path / "once.jsonl", [*once, litellm("p0", "bob", "t0ada", 9.0)])
    found = found_in(path)
    assert found.asked == ()
    assert found.left_out == ("1 fallback: an answer of a second system within one request",)
    together = [
        litellm(f"p{n}", model, f"t{n}", n + at) for n in range(4) for model, at in (("ada", 0.1), ("bob", 0.2))
    ]
    path = written(tmp_path / "together.jsonl", together)
    (asked,) = found_in(path).asked
    assert (asked.key, asked.default) == ("fallbacks", None)
    assert len(found_in(path, fallbacks="all").answers) == 8
    first = found_in(path, fallbacks="first")
    assert {one.system for one in first.answers} == {"ada"}
    assert first.left_out == ("4 fallbacks: answers of a second system within one request",)


def test_many_failures_are_fallbacks_without_asking(tmp_path: Path) -> None:
    rows = [
        litellm(f"p{n}", model, f"t{n}", n + at, failed=failed)
        for n in range(4)
        for model, at, failed in (("ada", 0.1, n > 0), ("bob", 0.2, False))
        if n or model == "ada"
    ]
    found = found_in(written(tmp_path / "log.jsonl", [*rows, litellm("p0", "bob", "t9", 9.0)]))
    assert found.asked == ()
    assert texts(found) == {("p0", "ada"): ["ada on p0"], ("p0", "bob"): ["bob on p0"]}
    assert found.left_out == ("3 failed tries", "3 fallbacks: answers of a second system within one request")


def test_names_of_two_owners_are_two_systems(tmp_path: Path) -> None:
    rows = [litellm(prompt, f"{owner}/ada", f"{prompt}{owner}", 1.0) for prompt in ("one", "two") for owner in "xy"]
    for row in rows:
        row["response"]["model"] = f"ada of {row['model']}"  # type: ignore[index]
    found = found_in(written(tmp_path / "log.jsonl", rows))
    assert {one.system for one in found.answers} == {"x/ada", "y/ada"}
    assert found.asked == ()


def test_a_retry_that_succeeds_is_the_answer(tmp_path: Path) -> None:
    rows = [
        litellm("one", "ada", "t1", 1.0, failed=True),
        litellm("one", "ada", "t1", 2.0),
        litellm("one", "bob", "t2", 3.0),
    ]
    found = found_in(written(tmp_path / "log.jsonl", rows))
    assert texts(found) == {("one", "ada"): ["ada on one"], ("one", "bob"): ["bob on one"]}
    assert found.left_out == ("1 failed try",)


def test_what_varied_is_proposed_and_may_be_chosen(tmp_path: Path) -> None:
    rows = []
    for n, (prompt, arm) in enumerate((prompt, arm) for prompt in ("one", "two") for arm in ("short", "long")):
        row = langsmith(Step(trace=f"t{n}", span=f"s{n}", begun=n, given=prompt, made=f"{arm} {prompt}", model="ada"))
        rows.append({**row, "extra": {"metadata": {"ls_model_name": "ada", "arm": arm}}, "tags": [f"day{n % 2}"]})
    path = written(tmp_path / "runs.jsonl", rows)
    found = found_in(path)
    assert "system: extra.metadata.arm (long 2, short 2)" in found.took
    assert "system: tags[0] (day0 2, day1 2)" in found_in(path, system="tags[0]").took
    with pytest.raises(TableError, match=r"extra\.metadata\.arm"):
        found_in(path, system="extra.nowhere")


def test_trace_proposes_what_joins_prompts_first(tmp_path: Path) -> None:
    """What joins prompts is proposed before a model that does not."""
    rows = []
    for n, (prompt, arm) in enumerate((prompt, arm) for prompt in ("one", "two") for arm in ("short", "long")):
        model = "ada" if prompt == "one" else "bob"
        row = langsmith(Step(trace=f"t{n}", span=f"s{n}", begun=n, given=prompt, made=f"{arm} {prompt}", model=model))
        rows.append({**row, "extra": {"metadata": {"ls_model_name": model, "version": arm}}})
    found = found_in(written(tmp_path / "runs.jsonl", rows))
    assert "system: extra.metadata.version (long 2, short 2)" in found.took


def test_trace_items_joined_by_ids(tmp_path: Path) -> None:
    """Systems that were given items in their own words are joined by ids."""
    rows = []
    for n, (item, model) in enumerate((item, model) for item in ("q1", "q2") for model in ("ada", "bob")):
        step = Step(trace=f"t{n}", span=f"s{n}", begun=n, given=f"{item} for {model}", made=model, model=model)
        rows.append({**langsmith(step), "reference_example_id": item})
    found = found_in(written(tmp_path / "runs.jsonl", rows))
    assert [(one.item, one.system) for one in found.answers] == [
        ("q1", "ada"),
        ("q1", "bob"),
        ("q2", "ada"),
        ("q2", "bob"),
    ]
    assert found.caveats == ("2 items with more than one prompt: were their systems asked the same?",)


def test_trace_systems_by_system_message(tmp_path: Path) -> None:
    """System messages that vary are the systems where nothing else does."""
    rows = []
    for n, (prompt, told) in enumerate(
        (prompt, told) for prompt in ("one", "two") for told in ("Be brief.", "Be long.")
    ):
        messages = [{"role": "system", "content": told}, {"role": "user", "content": prompt}]
        rows.append({**litellm(prompt, "ada", f"t{n}", n), "messages": messages})
    found = found_in(written(tmp_path / "log.jsonl", rows))
    assert sorted((one.prompt, one.system) for one in found.answers) == [
        ("one", "Be brief."),
        ("one", "Be long."),
        ("two", "Be brief."),
        ("two", "Be long."),
    ]
    assert "system: system message (Be brief. 2, Be long. 2)" in found.took


def test_two_things_that_varied_are_asked_about(tmp_path: Path) -> None:
    rows = []
    for n in range(8):
        arm, model, prompt = ("short", "long")[n % 2], ("ada", "bob")[n // 2 % 2], f"p{n // 4}"
        row = langsmith(Step(trace=f"t{n}", span=f"s{n}", begun=n, given=prompt, made=f"{n}", model=model))
        rows.append({**row, "extra": {"metadata": {"ls_model_name": model, "arm": arm}}})
    path = written(tmp_path / "runs.jsonl", rows)
    asked = {one.key: one for one in found_in(path).asked}
    assert asked["system"].choices[0] == asked["system"].default == "extra.metadata.arm"
    assert "inputs.model" in asked["system"].choices
    assert [one.key for one in found_in(path, system="inputs.model").asked] == ["repeats"]


def test_traces_without_a_root_circles_and_two_roots(tmp_path: Path) -> None:
    steps = [
        *REQUESTS,
        Step(trace="c1", span="c1a", parent="c1b", begun=1, given="x", made="circle", model="ada"),
        Step(trace="c1", span="c1b", parent="c1a", begun=2, given="x", made="circle", model="ada"),
        Step(trace="c2", span="c2a", parent="c2a", begun=1, given="x", made="own parent", model="ada"),
        Step(trace="r1", span="r1a", begun=901, given="five", made="ada on five", model="ada"),
        Step(trace="r1", span="r1b", begun=902, given="six", made="bob on six", model="bob"),
    ]
    found = found_in(written(tmp_path / "traces.jsonl", [open_telemetry(step) for step in reversed(steps)]))
    cells = texts(found)
    assert cells["five", "ada"] == ["ada on five"]
    assert cells["six", "bob"] == ["bob on six"]
    assert not any("circle" in output or "own" in output for outputs in cells.values() for output in outputs)
    assert found.left_out[-1] == "3 traces without a root span (4 spans): sampled or cut off"


def test_a_parent_of_zeros_is_none(tmp_path: Path) -> None:
    rows = [{**open_telemetry(step), "parent_id": "0" * 16} for step in REQUESTS if step.span in ("a5a", "a6a")]
    assert len(found_in(written(tmp_path / "traces.jsonl", rows)).answers) == 2


def test_ids_that_stand_twice_in_a_trace_make_no_endless_walk(tmp_path: Path) -> None:
    steps = [
        Step(trace="t1", span="a", begun=1, given="one", made="ada on one", model="ada"),
        Step(trace="t1", span="a", parent="a", begun=2, given="x", made="y", model="ada"),
        Step(trace="t2", span="b", begun=3, given="one", made="bob on one", model="bob"),
    ]
    found = found_in(written(tmp_path / "traces.jsonl", [open_telemetry(step) for step in steps]))
    assert texts(found) == {("one", "ada"): ["ada on one"], ("one", "bob"): ["bob on one"]}


def test_a_root_without_texts_leaves_the_word_to_the_calls_below(tmp_path: Path) -> None:
    rows = []
    for n, (model, prompt) in enumerate((model, prompt) for prompt in ("one", "two") for model in ("ada", "bob")):
        root = open_telemetry(Step(trace=f"t{n}", span=f"{n}r", begun=n * 10, given=""))
        call = Step(
            trace=f"t{n}",
            span=f"{n}c",
            parent=f"{n}r",
            begun=n * 10 + 1,
            given=prompt,
            made=f"{model} {prompt}",
            model=model,
        )
        rows += [{**root, "attributes": {"http.route": "/ask"}}, open_telemetry(call)]
    found = found_in(written(tmp_path / "traces.jsonl", rows))
    assert len(found.answers) == 4
    assert found.left_out == ("4 inner spans",)


def test_steps_of_an_agent_are_no_answers(tmp_path: Path) -> None:
    """A model is called again with what a tool returned: the last call is the answer."""
    rows = []
    for model in ("ada", "bob"):
        asked = [{"role": "user", "content": "Weather?"}]
        called = {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": {"name": "look"}}]}
        told = {"role": "assistant", "content": "I look again."}
        last = {"role": "assistant", "content": f"{model}: sun"}
        tool = {"role": "tool", "content": "sun", "tool_call_id": "c"}
        for n, (sent, reply) in enumerate(
            [(asked, called), ([*asked, called, tool], told), ([*asked, called, tool, told, tool], last)]
        ):
            row = litellm("Weather?", model, f"t-{model}", float(n))
            rows.append({**row, "messages": sent, "response": {"model": model, "choices": [{"message": reply}]}})
    found = found_in(written(tmp_path / "log.jsonl", rows))
    assert texts(found) == {("Weather?", "ada"): ["ada: sun"], ("Weather?", "bob"): ["bob: sun"]}
    assert found.left_out == ("2 inner spans", "2 answers without a text, such as calls of tools")


HOSTILE = (
    "nul \x00 and \u2028",
    "{broken",
    "[1 2 3]",
    "[" * 3_000,
    '{"a":' * 300,
    '{"label": "x"}',
    "  spaces  \n",
    "<script>alert(1)</script>",
    "{'a': b'x'}",
    "[{'a': {1, 2}}]",
    r"{'a': '\d'}",
    r"{'a': '\ud800'}",
    "{'a': 1" + "0" * 5_000 + "}",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_as_they_are(text: str, tmp_path: Path) -> None:
    rows: list[object] = [litellm(text, model, f"t{model}", n) for n, model in enumerate(("ada", "bob"), start=1)]
    for row in rows:
        row["response"]["choices"][0]["message"]["content"] = text  # type: ignore[index]
        row["metadata"] = text  # type: ignore[index]
    found = found_in(written(tmp_path / "log.jsonl", rows))
    assert texts(found) == {(text, "ada"): [text], (text, "bob"): [text]}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_of_attributes_stay_as_they_are(text: str, tmp_path: Path) -> None:
    rows = [
        {
            **phoenix(Step(trace=f"t{n}", span=f"s{n}", begun=n, given=text, made=text)),
            "attributes.metadata": {"system": system},
        }
        for n, system in enumerate(("ada", "bob"))
    ]
    found = found_in(written(tmp_path / "traces.jsonl", rows))
    assert texts(found) == {(text, "ada"): [text], (text, "bob"): [text]}


def test_further_choices_of_one_request_are_counted(tmp_path: Path) -> None:
    rows = [litellm("one", model, f"t{model}", n) for n, model in enumerate(("ada", "bob"), start=1)]
    for row in rows:
        row["response"]["choices"] *= 3  # type: ignore[index]
    found = found_in(written(tmp_path / "log.jsonl", rows))
    assert len(found.answers) == 2
    assert found.left_out == ("4 further choices of requests that asked for several",)


def test_earlier_turns_are_text_of_the_prompt(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Ho"},
        {"role": "user", "content": "?"},
    ]
    rows = [
        {**litellm("", model, f"t{model}", n), "messages": turns} for n, model in enumerate(("ada", "bob"), start=1)
    ]
    found = found_in(written(tmp_path / "log.jsonl", rows))
    assert {one.prompt for one in found.answers} == {"User: Hi\n\nAssistant: Ho\n\nUser: ?"}
    assert "prompt: 2 conversations with earlier turns as text" in found.took


def test_a_log_becomes_a_study_that_passes_the_check(tmp_path: Path) -> None:
    rows = [litellm(f"prompt {n}", model, f"{n}{model}", n) for n in range(6) for model in ("openai/ada", "openai/bob")]
    log = written(tmp_path / "log.jsonl", [*rows, litellm("prompt 0", "openai/ada", "again", 9.0)])
    asked = ["init", str(tmp_path / "study"), "--outputs", str(log), "--yes"]
    unsettled = CliRunner().invoke(main, asked)
    assert (unsettled.exit_code, "--repeats samples|first|last" in unsettled.output) == (2, True)
    made = CliRunner().invoke(main, [*asked, "--repeats", "first"])
    assert made.exit_code == 0, made.output
    assert "left out: 1 repeated answer of one system to one prompt" in made.output
    outputs = [json.loads(line) for line in (tmp_path / "study" / "outputs.jsonl").read_text().splitlines()]
    assert len(outputs) == 12
    assert {one["system"] for one in outputs} == {"openai/ada", "openai/bob"}
    checked = CliRunner().invoke(main, ["check", str(tmp_path / "study")])
    assert checked.exit_code == 0, checked.output


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "one", "model": "ada", "response": "text", "id": "1", "input": "x", "output": "y"},
        {"request_id": "1", "status": "ok", "request": "one", "response": "text", "model": "ada"},
        {"prompt": "one", "model": "ada", "choices": [{"label": "A", "text": "yes"}, {"label": "B", "text": "no"}]},
        {"prompt": "one", "output": [{"text": "yes", "score": 1}], "system": "ada"},
        {
            "id": "1",
            "model": "ada",
            "messages": [{"role": "user", "content": "one"}, {"role": "assistant", "content": "t"}],
        },
        {"session_id": "s", "level": "B2", "input": "one", "output": "text", "model": "ada"},
        {"item": "1", "system": "ada", "output": "text"},
    ],
)
def test_plain_tables_are_no_traces(row: dict[str, object], tmp_path: Path) -> None:
    assert traces_in([opened(written(tmp_path / "table.jsonl", [row, row]))]) is None


def test_traces_of_which_all_roots_are_missing_say_so(tmp_path: Path) -> None:
    rows = [open_telemetry(step) for step in REQUESTS if step.parent is not None]
    with pytest.raises(TableError, match="root spans") as raised:
        found_in(written(tmp_path / "traces.jsonl", rows))
    assert len(str(raised.value)) < 500


def test_what_one_system_answered_names_it(tmp_path: Path) -> None:
    rows = [litellm(prompt, "ada", prompt, n) for n, prompt in enumerate(("one", "two"), start=1)]
    found = found_in(written(tmp_path / "log.jsonl", rows))
    assert {one.system for one in found.answers} == {"ada"}
    for row in rows:
        row["model"] = ""
        row["response"]["model"] = ""  # type: ignore[index]
    with pytest.raises(TableError, match="--system"):
        found_in(written(tmp_path / "log.jsonl", rows))


@pytest.mark.skipif(not CASES.exists(), reason="the cases lie beside the checkout, and are not there")
def test_the_log_of_a_router_holds_two_systems_and_five_prompts() -> None:
    found = found_in(CASES / "litellm_log" / "log.jsonl")
    cells = texts(found)
    assert {system for _, system in cells} == {"sysA", "sysB"}
    assert len({prompt for prompt, _ in cells}) == 5
    assert ("FALL three", "sysA") not in cells
    assert [len(outputs) for outputs in cells.values()] == [1] * 9


@pytest.mark.skipif(not CASES.exists(), reason="the cases lie beside the checkout, and are not there")
@pytest.mark.parametrize("layout", ["agents_sdk_items", "gradio_chat", "openai_model_dump", "otel_genai_parts"])
def test_each_layout_of_a_conversation_is_one_answer(layout: str) -> None:
    path = CASES / "conversation_layouts" / f"{layout}.json"
    (answer,) = found_in(path).answers
    said = [row for row in json.loads(path.read_text()) if row.get("role") == "assistant"][-1]
    parts = said.get("content") or said.get("parts")
    last = parts if isinstance(parts, str) else parts[0].get("text", parts[0].get("content"))
    assert answer.output == last
    assert (answer.prompt or "").startswith(("Weather in Ulm?", "User: How old is Ulm?"))


@pytest.mark.skipif(not CASES.exists(), reason="the cases lie beside the checkout, and are not there")
def test_traces_with_corrected_feedback_hold_sixteen_answers() -> None:
    found = found_in(CASES / "mlflow_corrected_feedback" / "traces.jsonl")
    assert len(found.answers) == 16
    assert {one.system for one in found.answers} == {"alpha", "beta"}
    assert sorted({one.item for one in found.answers}) == [f"q{n}" for n in range(8)]
    assert all(one.output == f"{one.system} on {one.prompt}" for one in found.answers)
