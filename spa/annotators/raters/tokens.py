"""How many tokens messages and answers come to, roughly, before an endpoint has counted them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spa.annotators.raters.endpoints.endpoint import Request
from spa.forms.form import Question

CHARACTERS_A_TOKEN = 4.0  # of scripts written with letters; a Chinese or Japanese character counts as a token
TOKENS_AN_IMAGE = 1000  # assumed: endpoints reckon them in ways of their own
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
        content = message["content"]
        parts: Sequence[Any] = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for part in parts:
            if part.get("type") != "text":
                whole += TOKENS_AN_IMAGE
                continue
            ideographs = len(IDEOGRAPH.findall(part["text"]))
            whole += ideographs
            letters += len(part["text"]) - ideographs
    return whole + round(letters / CHARACTERS_A_TOKEN + 0.5)


def answer_tokens(questions: Iterable[Question], *, explained: bool) -> int:
    """Estimate the tokens of a reply that answers questions."""
    each = TOKENS_AN_ANSWER + (TOKENS_AN_EXPLANATION if explained else 0)
    return sum(each for _ in questions)


def expected_tokens(request: Request) -> tuple[int, int]:
    """Estimate the tokens that a request reads and that its reply writes."""
    explained = request.way.explain != "no"
    return tokens_of(request.messages), answer_tokens(request.questions, explained=explained)
