"""How many tokens messages and answers come to, roughly, before an endpoint has counted them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spa.forms.form import Question
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest

CHARACTERS_A_TOKEN = 4.0  # of scripts written with letters; a Chinese or Japanese character counts as a token
TOKENS_AN_IMAGE = 1000  # assumed: endpoints reckon them in ways of their own
LEAST_READ = 0.6  # of the tokens expected; texts hardly ever have more than 6.7 characters a token
TOKENS_AN_ANSWER = 10  # a key and a value of JSON
TOKENS_AN_EXPLANATION = 120
IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def tokens_of(messages: Iterable[Mapping[str, Any]]) -> int:
    """Estimate the tokens of messages.

    >>> tokens_of([{"role": "user", "content": "Which text is better?"}])
    6
    """
    letters, whole = 0, 0
    for message in messages:
        for part in parts_of(message):
            if part.get("type") != "text":
                whole += TOKENS_AN_IMAGE
                continue
            ideographs = 0 if part["text"].isascii() else len(IDEOGRAPH.findall(part["text"]))
            whole += ideographs
            letters += len(part["text"]) - ideographs
    return whole + round(letters / CHARACTERS_A_TOKEN + 0.5)


def parts_of(message: Mapping[str, Any]) -> Sequence[Any]:
    """Return the texts and images of a message."""
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def answer_tokens(questions: Iterable[Question], *, explained: bool) -> int:
    """Estimate the tokens of a reply that answers questions."""
    each = TOKENS_AN_ANSWER + (TOKENS_AN_EXPLANATION if explained else 0)
    return sum(each for _ in questions)


def is_cut(request: LLMRequest, reply: LLMReply) -> bool:
    """Tell whether an endpoint read far less than it was sent: some cut a long prompt and say nothing.

    Images are left out, for they are reckoned in ways of their own; a model on this machine counts exactly.
    """
    if reply.prompt_tokens is None:
        return False
    read = reply.prompt_tokens + (reply.cached_tokens or 0)  # a few servers count what they had read before apart
    texts = [part["text"] for message in request.messages for part in parts_of(message) if part.get("type") == "text"]
    letters = sum(map(len, texts))
    ideographs = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) - letters  # twice as many at most
    if read >= LEAST_READ * (letters / CHARACTERS_A_TOKEN + ideographs / 2 + 1):  # as a rule, and quickly seen
        return False
    return read < LEAST_READ * tokens_of({"content": text} for text in texts)


def expected_tokens(request: LLMRequest) -> tuple[int, int]:
    """Estimate the tokens that a request reads and that its reply writes."""
    explained = request.protocol.explain != "no"
    return tokens_of(request.messages), request.samples * answer_tokens(request.questions, explained=explained)
