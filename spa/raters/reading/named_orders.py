"""Orders that a text gives as its answer: "System B > System A = System C", or a numbered list, best first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from spa.forms.form import OrderAnswer, Question
from spa.raters.reading.json_replies import UnreadableReply, find_payload
from spa.raters.reading.phrases import DENIED, SUPPOSED, clause_of, sentence_of
from spa.responses.answers import parse_answer
from spa.responses.orders import order_of, ranks_of
from spa.responses.submission import Response

FOLLOW = r"(?=\s*(?:$|[.,:;!(–—-]))"  # what may come after a list's entry: its end, or the mark before a reason


def orders_in_text(question: Question, text: str, plain: Callable[[str], str]) -> list[str]:
    """Return the different complete orders that a text states, as ``"A > B = C"``; an order lacks nobody.

    JSON that answers the question is read alone. ``plain`` writes the text and the options' names alike; what is
    denied or supposed is left out.
    """
    answer = question.answer
    if not isinstance(answer, OrderAnswer):
        return []
    try:
        given = parse_answer(question, find_payload(text).get(question.question_id))
    except UnreadableReply:
        labels = [option.value for option in answer.options]
        names = {plain(name): option.value for option in answer.options for name in (option.text, option.value)}
        found = (ranks_of(order) for order in _stated(names, plain(text)))
        whole = [{label: ranks[label] for label in labels} for ranks in found if sorted(ranks) == sorted(labels)]
        return list(dict.fromkeys(map(order_of, whole)))
    return [str(given.value)] if isinstance(given, Response) else []


def _stated(names: dict[str, str], text: str) -> Iterator[str]:
    words = "|".join(r"\s+".join(map(re.escape, name.split())) for name in sorted(names, key=len, reverse=True))
    name = rf"(?<![a-z0-9])(?:{words})(?![a-z0-9])"
    text = re.sub(r"[*_`\"“”]", "", text)
    for match in re.finditer(rf"{name}(?:\s*[>=]\s*{name})+(?!\s*[>=])", text):
        sentence = sentence_of(text, match.start())
        before = text[: match.start()].rstrip()
        if not (DENIED.search(clause_of(sentence)) or SUPPOSED.search(sentence) or before.endswith((">", "="))):
            yield re.sub(name, lambda found: names[" ".join(found[0].split())], match[0])
    entries = re.findall(rf"^\s*(\d{{1,2}})[.)]\s+({name}){FOLLOW}", text, re.MULTILINE)
    if [number for number, _ in entries] == [str(place) for place in range(1, len(entries) + 1)] and entries:
        yield " > ".join(names[" ".join(entry.split())] for _, entry in entries)
