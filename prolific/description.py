"""What is wrong with a description that participants read before they take part."""

from __future__ import annotations

import re
from html.parser import HTMLParser

ALLOWED = frozenset({"b", "i", "em", "strong", "s", "u", "h1", "h2", "ol", "ul", "li", "p"})
PERSONAL = re.compile(
    r"\b(e-?mail( address)?|phone number|full name|your name|home address|passport|social security)\b", re.I
)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.problems: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ALLOWED:
            self.problems.append(f"<{tag}> is not shown by Prolific")
        elif attrs:
            self.problems.append(f"<{tag}> may have no attributes")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def description_problems(description: str) -> list[str]:
    """Return what Prolific would strip or refuse in a description, one line each.

    >>> description_problems("<p>Read and <b>compare</b> texts.</p>")
    []
    >>> description_problems("<a href='x'>Tell us your e-mail address</a>")
    ['<a> is not shown by Prolific', 'it asks for "e-mail address", and personal data may not be asked for']
    """
    reader = _Reader()
    reader.feed(description)
    reader.close()
    text = " ".join(" ".join(reader.text).split())
    problems = list(dict.fromkeys(reader.problems))
    if not text:
        problems.append("it has no text")
    personal = PERSONAL.search(text)
    if personal:
        problems.append(f'it asks for "{personal[0]}", and personal data may not be asked for')
    return problems
