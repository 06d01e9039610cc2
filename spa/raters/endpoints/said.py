"""What a model said to us, apart from what it thought before and from how a server wraps it."""

from __future__ import annotations

import re

TEXTS = ("text", "output_text")  # kinds of parts
THOUGHT = re.compile(r"\s*<(think|thinking|thought)>(?P<thought>.*?)(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
# A chat template may write the opening tag itself, so that the reply begins inside the thought. Only a tag alone in
# its line ends one: an answer can quote what stands in an output.
END_OF_THOUGHT = re.compile(r"\A(?:(?!<think>).)*?^[ \t]*</think>[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE)


def message_text(content: object) -> str:
    """Return the text of a message: a text, or a list of parts; ``""`` for anything else.

    >>> said_in([{"type": "thinking", "thinking": []}, {"type": "text", "text": "70"}])
    '70'
    """
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type", "text") in TEXTS]
        return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    return content if isinstance(content, str) else ""


def without_reasoning(text: str) -> str:
    """Return a reply without the thought in tags at its beginning; a thought that breaks off leaves nothing.

    >>> without_thought("<think>Perhaps 20.</think> 70"), without_thought("<think>Perhaps 20")
    (' 70', '')
    """
    found = THOUGHT.match(text) or END_OF_THOUGHT.match(text)
    return text if found is None else text[found.end() :]
