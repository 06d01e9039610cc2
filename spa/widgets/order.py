"""Options from best to worst: a rank for each, or a list that can be sorted.

An order is written as a text, "A > B = C": best first, "=" between tied labels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spa.records.form import Answer, AnswerOption, Question
from spa.widgets.payload import NO_ANSWER, UnreadableAnswer, as_number, bare, object_schema, quoted
from spa.widgets.widget import OfferedText, Say, Widget, listed, offered_options, said_if_known

if TYPE_CHECKING:
    import numpy as np

    from spa.records.raters import Reading

SIGN = re.compile(r"\s*([>=])\s*")
TEXTS = {  # of the script, by name
    "unranked": "page.order_unranked",
    "place": "page.order_place",
    "up": "page.order_up",
    "down": "page.order_down",
    "tie": "page.order_tie",
    "moved": "page.order_moved",
    "help": "page.order_help",
    "confirm": "page.order_confirm",
    "leave": "page.order_leave",
    "confirmed": "page.order_confirmed",
}
LATER = frozenset(("leave", "confirmed"))  # a translation that lacks these has any order confirmed as it is
NO_ORDER = "the reply gives no order of all outputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderAnswer(Answer):
    """Options from best to worst: a rank for each, 1 = best, equal ranks are ties.

    ``options`` stand in the order of the page; the value of each is its label.
    """

    options: tuple[AnswerOption, ...]


class OrderWidget(Widget[OrderAnswer]):
    """A box for the rank of each option; the script hides them, and a list that can be sorted fills them in."""

    key = "order"
    answer = OrderAnswer
    collected = ("order.css", "order.js")
    late_texts = ("page.gap_order", "page.order_numbers", *TEXTS.values(), "form.prompt_ranks")

    def offers(self, answer: OrderAnswer) -> tuple[OfferedText, ...]:
        """Return what is put in order."""
        return offered_options(answer.options)

    def wanted(self, answer: OrderAnswer, say: Say, names: str, separator: str) -> str:
        """Return that a rank is wanted for each label."""
        labels = self.parts(answer)
        return say("form.prompt_ranks", questions=names, values=listed(labels, separator), high=str(len(labels)))

    def schema(self, answer: OrderAnswer) -> dict[str, Any]:
        """Return the schema of an object with a rank for each label."""
        rank = {"type": "integer", "minimum": 1, "maximum": len(answer.options)}
        return object_schema({option.value: rank for option in answer.options})

    def gap(self, answer: OrderAnswer, say: Say) -> str:
        """Return that all want a rank."""
        return say("page.gap_order")

    def script_texts(self, say: Say) -> dict[str, str]:
        """Return what the page's script says, by name."""
        return {name: said_if_known(say, key) if name in LATER else say(key) for name, key in TEXTS.items()}

    def hint(self, say: Say) -> str:
        """Return how a page without script is answered."""
        return said_if_known(say, "page.order_numbers")

    def parts(self, answer: OrderAnswer) -> tuple[str, ...]:
        """Return the labels: a page sends a rank for each."""
        return tuple(option.value for option in answer.options)

    def sent(self, answer: OrderAnswer, name: str, payload: Mapping[str, object]) -> object:
        """Return what arrived under the question's own name, else the ranks by label."""
        raw = payload.get(name)
        if raw is not None:
            return raw
        return {label: payload[field] for label, field in self.fields(answer, name).items() if field in payload} or None

    def sends(self, answer: OrderAnswer, name: str, value: str) -> dict[str, str]:
        """Return the rank of each label; "" sends nothing but empty fields."""
        ranks = ranks_of(value) if value else {}
        return {field: str(ranks.get(label, "")) for label, field in self.fields(answer, name).items()}

    def value(self, answer: OrderAnswer, raw: object) -> str:
        """Read a rank for each label, or "A > B = C" with each label (or its text) once; nothing is filled in."""
        labels = self.parts(answer)
        if isinstance(raw, str):
            names = {name: option.value for option in answer.options for name in (option.value, option.text.strip())}
            named = [names.get(name) for name in SIGN.split(bare(raw))[::2]]
            if sorted(map(str, named)) != sorted(labels):
                raise UnreadableAnswer(f'expected {", ".join(labels)}, each once, with ">" or "=", got {quoted(raw)}')
            given = dict(zip(map(str, named), ranks_of(bare(raw)).values(), strict=True))
            return order_of({label: given[label] for label in labels})
        if not isinstance(raw, dict) or not set(raw) <= set(labels):
            raise UnreadableAnswer(f"expected a rank for each of {', '.join(labels)}, got {quoted(raw)}")
        if all(isinstance(rank, str) and not bare(rank) for rank in raw.values()):
            raise UnreadableAnswer(NO_ANSWER)
        ranks: dict[str, int] = {}
        for label in labels:
            number = as_number(raw.get(label))
            if number is None or number != int(number) or not 1 <= number <= len(labels):
                got = quoted(raw[label]) if label in raw else "none"
                raise UnreadableAnswer(f"expected a rank from 1 to {len(labels)} for {label}, got {got}")
            ranks[label] = int(number)
        return order_of(ranks)

    def read_text(self, answer: OrderAnswer, question: Question, text: str, *, reading: Reading) -> str:
        """Return the one order that a text gives as its answer, whatever the rule: a first number would be no order."""
        from spa.widgets.free_text.numbers import plain_text
        from spa.widgets.free_text.phrases import REFUSALS, REFUSED, UnreadableText
        from spa.widgets.free_text.reader import without_marks

        found = self._orders(answer, question.question_id, without_marks(text) if "{" not in text else text)
        if len(found) == 1:
            return found[0]
        if found:
            raise UnreadableText(f"ambiguous: the reply gives {' and '.join(found)}", found)
        raise UnreadableText(REFUSED if REFUSALS.search(plain_text(text)) else NO_ORDER)

    def _orders(self, answer: OrderAnswer, name: str, text: str) -> list[str]:
        """Return the different complete orders that a text states; JSON that answers the question is read alone."""
        from spa.widgets.free_text.json_replies import UnreadableReply, find_payload
        from spa.widgets.free_text.named_answers import stated_orders
        from spa.widgets.free_text.numbers import plain_text

        labels = self.parts(answer)
        try:
            payload = find_payload(text)
        except UnreadableReply:
            found = (ranks_of(order) for order in stated_orders(answer.options, text, plain_text))
            whole = [{label: ranks[label] for label in labels} for ranks in found if sorted(ranks) == sorted(labels)]
            return list(dict.fromkeys(map(order_of, whole)))
        try:
            return [str(self.read(answer, payload.get(name)))]
        except UnreadableAnswer:
            return []

    def careless(self, answer: OrderAnswer, rng: np.random.Generator | None) -> str:
        """Return any order, or that of the page."""
        labels = list(self.parts(answer))
        return " > ".join(labels if rng is None else rng.permutation(labels).tolist())

    def as_json(self, answer: OrderAnswer, value: str) -> object:
        """Return the rank of each label."""
        return ranks_of(value)

    def in_words(self, answer: OrderAnswer, value: Any) -> str:
        """Return the order with its signs."""
        return f"My answer is {order_of(value)}."


def order_of(ranks: Mapping[str, int]) -> str:
    """Write ranks as an order; tied labels stand in the order given.

    >>> order_of({"A": 2, "B": 1, "C": 2})
    'B > A = C'
    """
    places = sorted(set(ranks.values()))
    return " > ".join(" = ".join(label for label, rank in ranks.items() if rank == place) for place in places)


def ranks_of(order: str) -> dict[str, int]:
    """Return the rank of each name of an order, 1 = best; tied names share the lowest rank.

    >>> ranks_of("B > A = C > D")
    {'B': 1, 'A': 2, 'C': 2, 'D': 4}
    """
    first, *rest = SIGN.split(order.strip())
    ranks = {first: 1}
    for sign, name in zip(rest[::2], rest[1::2], strict=True):
        ranks[name] = ranks[list(ranks)[-1]] if sign == "=" else len(ranks) + 1
    return ranks
