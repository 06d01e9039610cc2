"""Errors at known places of an output, and annotators who find some of them and mark others."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from spa.forms.form import SpansAnswer

WORD = re.compile(r"\w+")
Error = tuple[int, int, str]  # start, end, severity


def words_of(text: str) -> list[tuple[int, int]]:
    """Return where the words of a text stand.

    >>> words_of("a big dog")
    [(0, 1), (2, 5), (6, 9)]
    """
    return [match.span() for match in WORD.finditer(text)]


def true_errors(answer: SpansAnswer, rate: float, names: Sequence[str]) -> list[Error]:
    """Return the words of an output that are errors, with their severity: the same whoever reads it.

    ``rate`` is the share of words in error, cut to [0, 1]; ``names`` are system, item, sample and criterion, whose
    hash chooses the words.
    """
    seed = sha256("\x1f".join(names).encode("utf-8", "surrogatepass")).digest()
    rng = np.random.default_rng(int.from_bytes(seed[:8], "big"))
    words = words_of(answer.text)
    wrong, level = rng.random(len(words)) < rate, rng.integers(0, len(answer.severities), len(words))
    return [
        (start, end, answer.severities[place].value)
        for (start, end), is_wrong, place in zip(words, wrong, level, strict=True)
        if is_wrong
    ]


def marked_errors(
    answer: SpansAnswer, errors: Sequence[Error], *, recall: float, precision: float, rng: np.random.Generator
) -> str:
    """Return what an annotator marks, as the page sends it.

    Each true error is marked with probability ``recall``, and as many other words that ``precision`` is the expected
    share of true errors among the marks.
    """
    found = [error for error in errors if rng.random() < recall]
    true = {error[:2] for error in errors}
    others = [word for word in words_of(answer.text) if word not in true]
    false = min(len(others), int(rng.poisson(recall * len(errors) * (1 - precision) / precision)))
    wrong = [others[place] for place in rng.permutation(len(others))[:false]]
    lightest = answer.severities[0].value
    marks = sorted([*found, *((start, end, lightest) for start, end in wrong)])
    return json.dumps([{"start": start, "end": end, "severity": severity} for start, end, severity in marks])


def quoted(answer: SpansAnswer, raw: str) -> list[dict[str, object]]:
    """Return what a page sent as an LLM would say it, in quotes."""
    marks = []
    for mark in json.loads(raw):
        start, quote = mark["start"], answer.text[mark["start"] : mark["end"]]
        earlier = sum(answer.text.startswith(quote, place) for place in range(start + 1))
        marks.append({"quote": quote, "occurrence": earlier, "severity": mark["severity"]})
        if answer.categories:
            marks[-1]["category"] = answer.categories[0]
    return marks
