"""Which way of putting a form needs how many tokens, where it was too long for the endpoint."""

from __future__ import annotations

import re
from dataclasses import replace

from spa.raters.budget import expected_tokens
from spa.raters.conversation import RaterConversation
from spa.raters.prompt_messages import PromptWriter
from spa.raters.visits import RaterVisit
from spa.records.form import Form

WAYS = ("form", "page", "question")  # from the longest to the shortest
TOO_LONG = re.compile(
    r"context.{0,20}(?:length|size|window|too|exceed|limit)|exceed.{0,30}context|n_ctx"
    r"|(?:prompt|input)[^.]{0,20}too long|too many (?:input )?tokens|reduce the length",
    re.IGNORECASE,
)


def context_hint(form: Form, visit: RaterVisit, prompts: PromptWriter, message: str) -> str:
    """Return what to set where a refusal says that a form is too long for a model; "" where it says something else."""
    now = visit.asked.protocol.conversation
    if TOO_LONG.search(message) is None:
        return ""
    shorter = WAYS[WAYS.index(now) + 1 :] if now in WAYS else WAYS[-1:]
    if not shorter:
        return (
            f"; a request takes about {_tokens(form, visit, prompts, now):,} tokens: allow the server a longer context"
        )
    told = [f'"{way}" (about {_tokens(form, visit, prompts, way):,} tokens)' for way in shorter]
    needs = f"; a form takes about {_tokens(form, visit, prompts, now):,} tokens: allow the server a longer context"
    return f"{needs}, or set conversation = {' or '.join(told)}"


def _tokens(form: Form, visit: RaterVisit, prompts: PromptWriter, way: str) -> int:
    """Return the tokens of the longest request, with its answer."""
    protocol = visit.asked.protocol.model_copy(update={"conversation": way})
    asked = replace(visit, asked=replace(visit.asked, protocol=protocol))
    conversation = RaterConversation(form, (), asked)
    requests = (conversation.request(prompts, turn) for turn in conversation.open_turns)
    return max(sum(expected_tokens(request, visit.asked.rater.model)) for request in requests)
