"""Answers in traces and chat logs: one a request, whatever tool wrote them and however the rows lie in files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from spa.starting.found import Found
from spa.starting.traces import traces_in
from spa.tables.options import TableOptions
from spa.tables.reading import open_table
from spa.tables.source import Source, Wanted

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases" / "traces"


def opened(path: Path) -> Source:
    columns = frozenset(open_table(path, Wanted(columns=frozenset()), TableOptions()).schema)
    return open_table(path, Wanted(columns=columns, guarded=False), TableOptions())


def found_in(*paths: Path, **settled: str) -> Found:
    found = traces_in(
        [opened(path) for path in paths], settled={key.replace("_", "-"): value for key, value in settled.items()}
    )
    assert found is not None
    return found


def written(path: Path, rows: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def texts(found: Found) -> dict[tuple[str | None, str], list[str]]:
    """Return prompt and system -> outputs."""
    cells: dict[tuple[str | None, str], list[str]] = {}
    for answer in found.answers:
        cells.setdefault((answer.prompt, answer.system), []).append(answer.output)
    return cells


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


def test_a_fallback_is_no_answer_of_its_own_and_a_provider_no_part_of_a_name(tmp_path: Path) -> None:
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


@pytest.mark.skipif(not CASES.exists(), reason="the cases lie beside the checkout, and are not there")
def test_the_log_of_a_router_holds_two_systems_and_five_prompts() -> None:
    found = found_in(CASES / "litellm_log" / "log.jsonl")
    cells = texts(found)
    assert {system for _, system in cells} == {"sysA", "sysB"}
    assert len({prompt for prompt, _ in cells}) == 5
    assert ("FALL three", "sysA") not in cells
    assert [len(outputs) for outputs in cells.values()] == [1] * 9
