"""Turns as the types of providers' own packages write them (openai 3.57, anthropic 2.14, google-genai 3.6)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spa.media.turns import canonical, turns_of
from spa.starting.traces.turns import turns_of as recorded_turns

CALL = ("assistant", "look", '{"city": "Ulm"}')
USED = {"type": "tool_use", "id": "t1", "name": "look", "input": {"city": "Ulm"}, "caller": {"type": "direct"}}
MESSAGE = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "model": "zz-1",
    "container": None,
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "stop_details": None,
    "diagnostics": None,
    "usage": {"input_tokens": 5},
    "content": [{"type": "text", "text": "Sunny.", "citations": None}],
}
NONE = dict.fromkeys(("media_resolution", "inline_data", "file_data", "thought", "thought_signature", "video_metadata"))
SHAPES: dict[str, tuple[Any, list[tuple[str, str | None, str]]]] = {
    # openai, chat
    "message with nulls": (
        {
            "role": "assistant",
            "content": "Sunny.",
            "refusal": None,
            "audio": None,
            "function_call": None,
            "annotations": [],
        },
        [("assistant", None, "Sunny.")],
    ),
    "refusal": ({"role": "assistant", "content": None, "refusal": "No."}, [("assistant", None, "No.")]),
    "refusal part": (
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        [("assistant", None, "No.")],
    ),
    "custom tool": (
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "look", "input": "Ulm"}}],
        },
        [("assistant", "look", "Ulm")],
    ),
    "parallel calls": (
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": n, "arguments": "{}"}} for n in "ab"],
        },
        [("assistant", "a", "{}"), ("assistant", "b", "{}")],
    ),
    "legacy call": (
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
        [("assistant", "look", "{}")],
    ),
    "legacy result": ({"role": "function", "name": "look", "content": "sun"}, [("tool", None, "sun")]),
    "spoken answer": (
        {
            "role": "assistant",
            "content": None,
            "audio": {"id": "a", "data": "UklG", "expires_at": 1, "transcript": "Sunny."},
        },
        [("assistant", None, "Sunny.")],
    ),
    "empty result": ({"role": "tool", "tool_call_id": "c", "content": ""}, [("tool", None, "")]),
    "result in parts": (
        {"role": "tool", "content": [{"type": "text", "text": "sun"}, {"type": "text", "text": "rain"}]},
        [("tool", None, "sun\nrain")],
    ),
    "no tool calls": ({"role": "assistant", "content": "Sunny.", "tool_calls": []}, [("assistant", None, "Sunny.")]),
    "cache mark": (
        {"role": "user", "content": [{"type": "text", "text": "Hi", "prompt_cache_breakpoint": {"type": "x"}}]},
        [("user", None, "Hi")],
    ),
    "picture": (
        {
            "role": "user",
            "content": [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": "a.png"}}],
        },
        [("user", None, "See\n![](<a.png>)")],
    ),
    # openai, Responses and Agents
    "phase": (
        {
            "type": "message",
            "role": "assistant",
            "phase": "final_answer",
            "content": [{"type": "output_text", "text": "Sunny."}],
        },
        [("assistant", None, "Sunny.")],
    ),
    "text in parts": (
        {
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Sun"}, {"type": "output_text", "text": "ny."}],
        },
        [("assistant", None, "Sunny.")],
    ),
    "function call": (
        {"type": "function_call", "name": "look", "arguments": '{"city": "Ulm"}', "namespace": "w", "async": False},
        [CALL],
    ),
    "output in parts": (
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "sun"}]},
        [("tool", None, "sun")],
    ),
    "custom call": ({"type": "custom_tool_call", "name": "look", "input": "Ulm"}, [("assistant", "look", "Ulm")]),
    "custom output": ({"type": "custom_tool_call_output", "call_id": "c", "output": "sun"}, [("tool", None, "sun")]),
    "web search": (
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "Ulm"}},
        [("assistant", "web_search", '{"type": "search", "query": "Ulm"}')],
    ),
    "file search": (
        {"type": "file_search_call", "queries": ["Ulm"], "results": [{"text": "sun", "score": 0.5}]},
        [("assistant", "file_search", '["Ulm"]'), ("tool", None, '[{"text": "sun", "score": 0.5}]')],
    ),
    "code": (
        {
            "type": "code_interpreter_call",
            "code": "1+1",
            "container_id": "c",
            "outputs": [{"type": "logs", "logs": "2"}],
        },
        [("assistant", "code_interpreter", "1+1"), ("tool", None, '[{"type": "logs", "logs": "2"}]')],
    ),
    "mcp": (
        {"type": "mcp_call", "name": "look", "server_label": "w", "arguments": "{}", "output": "sun", "error": None},
        [("assistant", "look", "{}"), ("tool", None, "sun")],
    ),
    "failed mcp": (
        {"type": "mcp_call", "name": "look", "server_label": "w", "arguments": "{}", "output": None, "error": "down"},
        [("assistant", "look", "{}"), ("tool", None, "down")],
    ),
    "shell": (
        {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}},
        [("assistant", "local_shell", '{"type": "exec", "command": ["ls"]}')],
    ),
    "shell output": (
        {
            "type": "shell_call_output",
            "call_id": "c",
            "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit"}}],
        },
        [("tool", None, '[{"stdout": "a", "stderr": "", "outcome": {"type": "exit"}}]')],
    ),
    # anthropic
    "whole message": (MESSAGE, [("assistant", None, "Sunny.")]),
    "cited": (
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "It is "}, {"type": "text", "text": "sun", "citations": [{"a": 1}]}],
        },
        [("assistant", None, "It is sun")],
    ),
    "text, call": (
        {"role": "assistant", "content": [{"type": "text", "text": "So."}, USED]},
        [("assistant", None, "So."), CALL],
    ),
    "failed result": (
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": "down"}]},
        [("tool", None, "(error) down")],
    ),
    "result without": (
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
        [("tool", None, "")],
    ),
    "server tool": (
        {
            "role": "assistant",
            "content": [
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "Ulm"}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "s",
                    "content": [{"type": "web_search_result", "title": "Sun"}],
                },
                {"type": "text", "text": "Sunny."},
            ],
        },
        [
            ("assistant", "web_search", '{"query": "Ulm"}'),
            ("tool", None, '[{"type": "web_search_result", "title": "Sun"}]'),
            ("assistant", None, "Sunny."),
        ],
    ),
    "cached": (
        {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]},
        [("user", None, "Hi")],
    ),
    "signed thought without words": (
        {
            "role": "assistant",
            "content": [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "Sunny."}],
        },
        [("assistant", None, "Sunny.")],
    ),
    # google-genai
    "parts with nulls": ({"role": "model", "parts": [{"text": "Sunny.", **NONE}]}, [("assistant", None, "Sunny.")]),
    "call with nulls": (
        {
            "role": "model",
            "parts": [{**NONE, "text": None, "function_call": {"id": None, "args": {"city": "Ulm"}, "name": "look"}}],
        },
        [CALL],
    ),
    "response": (
        {
            "role": "user",
            "parts": [{"function_response": {"name": "look", "response": {"result": "sun"}, "will_continue": None}}],
        },
        [("tool", None, '{"result": "sun"}')],
    ),
    "code of Gemini": (
        {
            "role": "model",
            "parts": [
                {"executable_code": {"code": "1+1", "language": "PYTHON"}},
                {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "2"}},
            ],
        },
        [("assistant", "code", "1+1"), ("tool", None, "2")],
    ),
    "signature": (
        {"role": "model", "parts": [{"text": "Sunny.", "thoughtSignature": "x"}]},
        [("assistant", None, "Sunny.")],
    ),
    # LangChain
    "dumped": (
        {
            "content": "Sunny.",
            "type": "ai",
            "name": None,
            "id": "r",
            "example": False,
            "tool_calls": [],
            "invalid_tool_calls": [],
            "additional_kwargs": {"refusal": None},
            "response_metadata": {"model_name": "zz"},
            "usage_metadata": None,
        },
        [("assistant", None, "Sunny.")],
    ),
    "to dict": ({"type": "human", "data": {"content": "Hi", "type": "human"}}, [("user", None, "Hi")]),
    "serialised": (
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "AIMessage"],
            "kwargs": {
                "content": "",
                "tool_calls": [{"name": "look", "args": {"city": "Ulm"}, "id": "c", "type": "tool_call"}],
            },
        },
        [CALL],
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_of_providers_are_turns(shape: str) -> None:
    """What is said and called stands in it, and what a reader is not told does not; read again it is the same."""
    given, wanted = SHAPES[shape]
    source = canonical(json.dumps([{"role": "user", "content": "?"}, given]))
    assert [(turn.role, turn.call, turn.text) for turn in turns_of(source)][1:] == wanted
    assert canonical(source) == source
    assert "zz" not in source


@pytest.mark.parametrize("key", ["system", "instructions", "systemInstruction", "system_instruction"])
def test_system_prompt_beside_the_list_comes_first(key: str) -> None:
    """As requests of Anthropic, Gemini and Responses hold it; an empty one is none."""
    said = [{"role": "user", "content": "Hi"}]
    for told in ("Be brief.", [{"type": "text", "text": "Be brief."}], {"parts": [{"text": "Be brief."}]}):
        turns = turns_of(canonical(json.dumps({"messages": said, key: told})))
        assert [(turn.role, turn.text) for turn in turns] == [("system", "Be brief."), ("user", "Hi")]
    for nothing in ({key: "", "messages": said}, [{"role": "developer", "content": ""}, *said]):
        assert [turn.role for turn in turns_of(canonical(json.dumps(nothing)))] == ["user"]


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]},
            "got a model's reasoning; take it out",
        ),
        (
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm", "signature": "x"}]},
            "a model's reasoning",
        ),
        ({"role": "model", "parts": [{"text": "Hm", "thought": True}]}, "a model's reasoning"),
        ({"role": "assistant", "content": "A", "reasoning_content": "Hm"}, "a model's reasoning"),
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}]},
            "sound without",
        ),
        ({"role": "assistant", "audio": {"id": "a1"}}, "sound without its transcript"),
        ({"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}, "got type 'file'"),
        ({"role": "user", "content": [{"type": "document", "source": {}}]}, "got type 'document'"),
        ({"type": "image_generation_call", "result": "iVBO"}, "got its bytes"),
        ({"type": "computer_call_output", "output": {"image_url": "data:image/png;base64,iV"}}, "got a file's bytes"),
        ({"role": "tool", "content": [{"type": "image", "source": {"type": "base64", "data": "iV"}}]}, "got its bytes"),
        ({"type": "item_reference", "id": "i"}, "got type 'item_reference'"),
        ({"type": "compaction", "encrypted_content": "x"}, "got type 'compaction'"),
        ({"type": "function_call", "arguments": "{}"}, "expected the name of the tool"),
        ({"role": "assistant", "content": "A", "additional_kwargs": {"note": "b"}}, "no more in additional_kwargs"),
        ({"role": "assistant", "content": [{"type": "text", "text": "A", "mood": "b"}]}, "with an object with"),
    ],
)
def test_what_would_be_lost_is_refused_by_its_turn(turn: dict[str, Any], said: str) -> None:
    """In one line, with the turn; nothing is taken for text that is none."""
    with pytest.raises(ValueError, match=said) as refused:
        canonical(json.dumps([{"role": "user", "content": "?"}, turn]))
    assert str(refused.value).startswith("turn 2")
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("shape", SHAPES)
def test_traces_are_read_by_the_same_layouts(shape: str) -> None:
    """What one reader takes the other takes, so that a layout is added in one place."""
    given, wanted = SHAPES[shape]
    recorded = recorded_turns([{"role": "user", "content": "?"}, given])
    assert recorded is not None
    said = [(role, text) for role, call, text in wanted if call is None]
    role = said[0][0] if said else wanted[0][0]
    text = "".join(text for own, text in said if own == role) or None
    assert (recorded[1].role, recorded[1].text) == (role, text)
