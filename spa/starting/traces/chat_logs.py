"""Chats as services log them: a request and its reply a row; and a file the rows of which are the turns of one chat."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from spa.starting.traces.layout import FILE, Placed, TraceTool, first, word
from spa.starting.traces.turns import Json, chat_in, is_reply, turns_of

ASKED = ("request", "messages", "input", "prompt", "body")
REPLIES = ("response", "completion", "output", "choices", "result")
CHATS = ("conversation_id", "chat_id", "thread_id", "session_id", "dialogue_id", "dialog_id")
GEMINI = ("response.modelVersion", "response.model_version")
MODELS = ("model", "provider_data.model", "metadata.model")


def is_chat(columns: Collection[str], records: Collection[Placed]) -> bool:
    """Return whether the rows are turns, of the user and of a system."""
    turns = turns_of([dict(one.record) for one in records])
    return turns is not None and {"user", "assistant"} <= {turn.role for turn in turns}


def are_replies(columns: Collection[str], records: Collection[Placed]) -> bool:
    """Return whether each row holds what a service replied, and most hold what it was sent."""
    replies = [is_reply(first(one.record, REPLIES)[1]) or is_reply(dict(one.record)) for one in records]
    asked = [first(one.record, ASKED)[1] is not None for one in records]
    return bool(replies) and 2 * sum(replies) > len(replies) and 2 * sum(asked) > len(asked)


def _one_chat(records: Iterable[Placed]) -> Iterator[Placed]:
    """Yield a record for each chat: its turns before the last one, and that, if a system has the last word."""
    chats: dict[tuple[str | None, str | None], list[Placed]] = {}
    for one in records:
        chats.setdefault((word(one.record, (FILE,)), word(one.record, CHATS)), []).append(one)
    for group in chats.values():
        turns = [dict(one.record) for one in group]
        record: dict[str, Json] = {FILE: group[0].record.get(FILE), "messages": turns[:-1], "reply": turns[-1]}
        for path in MODELS:
            named = {str(found) for one in group if (found := first(one.record, (path,))[1]) is not None}
            if len(named) == 1:
                record["model"] = named.pop()
                break
        yield Placed(group[-1].place, record)


def _with_replies(records: Iterable[Placed]) -> Iterator[Placed]:
    """Yield rows with their replies under one key."""
    for one in records:
        reply = chat_in(first(one.record, REPLIES)[1])
        made = reply if is_reply(reply) or "choices" not in one.record else {"choices": one.record["choices"]}
        yield Placed(one.place, {**one.record, "reply": made})


CHAT = TraceTool(
    name="conversation",
    known=is_chat,
    given=("messages",),
    made=("reply",),
    systems=("model", FILE),
    unrolled=_one_chat,
)
TOOL = TraceTool(
    name="log of chats",
    known=are_replies,
    trace=("trace_id", "request_id"),
    begun=("begun", "start_time", "startTime", "timestamp", "created_at", "time", "created"),
    status=("status", "response.status_code", "status_code"),
    errors=("error",),
    given=(
        "request.messages",
        "request.input",
        "request.prompt",
        "request.contents",
        "body.messages",
        "body.input",
        *ASKED[1:4],
    ),
    made=("reply",),
    systems=(
        "system",
        "system_id",
        "request.model",
        "body.model",
        "model",
        "response.model",
        "reply.model",
        *GEMINI,
        FILE,
    ),
    answered_by=("response.model", "reply.model", *GEMINI),
    facts=("metadata", "request.metadata", "tags"),
    items=("item_id", "item", "example_id", "question_id", "prompt_id", "sample_id", "id"),
    unrolled=_with_replies,
)
