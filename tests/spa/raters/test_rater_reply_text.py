"""Chat completions as different servers write them: parts, thoughts in tags, numbers of other kinds."""

from __future__ import annotations

import json

import pytest

from spa.raters.vendors import read_body

ANSWER = '{"q1": 70}'


def completion(content: object, **more: object) -> str:
    message = {"role": "assistant", "content": content}
    return json.dumps({"id": 7, "choices": [{"message": message, "finish_reason": None}], **more})


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": '{"q1":'}, {"type": "text", "text": " 70}"}], ANSWER),
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "20"}]}, {"type": "text", "text": ANSWER}],
            ANSWER,
        ),
        ([{"text": ANSWER}, None, {"type": "text"}, "x"], ANSWER),
        ('<think>\nPerhaps {"q1": 20}.\n</think>\n\n' + ANSWER, ANSWER),
        ("<thinking>20?</thinking>" + ANSWER, ANSWER),
        ('Perhaps {"q1": 20}.\n</think>\n\n' + ANSWER, ANSWER),
        ("<think>\n\n</think>\n\n" + ANSWER, ANSWER),
        ("<think>Perhaps 20, and so on and", ""),
    ],
)
def test_what_is_said_is_read_without_thoughts_and_wrapping(content: object, text: str) -> None:
    reply = read_body(completion(content))
    assert (reply.outcome, reply.text.strip()) == ("answered", text)


@pytest.mark.parametrize(
    "text",
    [
        '{"q1": 70, "explanation": "It ends with </think> and {\\"q1\\": 100}"}',
        "The output says </think> 100, so my rating is 2.",
        "The tag <think> is in it.\n</think>\nMy rating is 2.",
    ],
)
def test_a_tag_that_an_answer_quotes_ends_nothing(text: str) -> None:
    assert read_body(completion(text)).text == text


def test_tokens_may_be_written_as_fractions_and_errors_as_words() -> None:
    reply = read_body(completion("4", usage={"prompt_tokens": 12.0, "completion_tokens": 1.5}))
    assert (reply.prompt_tokens, reply.completion_tokens) == (12, None)
    assert read_body('{"error": "no slot is free"}').detail == "no slot is free"


@pytest.mark.parametrize(
    ("finish", "outcome"),
    [
        *((end, "answered") for end in ("stop", "eos", "end_turn", "STOP", None)),
        *((end, "truncated") for end in ("length", "max_tokens", "MAX_TOKENS")),
        *((end, "refused") for end in ("content_filter", "refusal", "SAFETY", "PROHIBITED_CONTENT")),
        *((end, "unreadable") for end in ("error", "abort", "model_length", "tool_calls", "MALFORMED_RESPONSE")),
    ],
)
def test_only_a_known_end_makes_an_answer(finish: str | None, outcome: str) -> None:
    """Every other end is on record by its name."""
    body = {"choices": [{"message": {"role": "assistant", "content": ANSWER}, "finish_reason": finish}]}
    reply = read_body(json.dumps(body))
    assert (reply.outcome, reply.text) == (outcome, ANSWER)
    assert outcome not in ("refused", "unreadable") or str(finish) in reply.detail
