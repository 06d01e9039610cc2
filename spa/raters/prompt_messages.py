"""How a form is put to an LLM: the study's own prompt, and what is said where a reply cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from spa.forms.form import Form
from spa.forms.prompt import answer_format, ask_again, render_ask
from spa.forms.prompt_turns import PromptTurn, turns_of
from spa.forms.texts import Texts
from spa.raters.reading.reply_reader import ReplyTurn
from spa.study.raters import RaterProtocol, RaterVariant

Message = Mapping[str, Any]


class Wording(Protocol):
    """How a form is put to an LLM; the same for every rater of a study."""

    def turn_messages(self, ask: PromptTurn, protocol: RaterProtocol) -> list[Message]:
        """Return the messages that put an ask: those that open a conversation where it stands alone."""

    def retry_message(self, ask: PromptTurn, turn: ReplyTurn, protocol: RaterProtocol) -> str:
        """Return what is said after a reply that could not be used for some questions."""


class PromptWriter:
    """The form's own prompt, in the language of the study."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    def turn_messages(self, ask: PromptTurn, protocol: RaterProtocol) -> list[Message]:
        """Return what is read and asked, and how to answer it."""
        wanted = "" if protocol.answer_format == "text" else answer_format(ask.questions, self._texts)
        persona = [{"role": "system", "content": protocol.persona}] if protocol.persona and ask.alone else []
        return [*persona, *render_ask(ask).chat_messages(wanted)]

    def retry_message(self, ask: PromptTurn, turn: ReplyTurn, protocol: RaterProtocol) -> str:
        """Return which questions are open still, and what arrived for them."""
        arrived = {
            answer.question_id: None
            if answer.raw is None or answer.raw == turn.text
            else without_lone_surrogates(answer.raw)
            for answer in turn.missing
        }
        return ask_again(ask.questions, arrived, self._texts)


def without_lone_surrogates(text: str) -> str:
    r"""Return text that can be sent as UTF-8: a lone half of a surrogate pair becomes a replacement character.

    >>> writable("a\ud800b")
    'a\ufffdb'
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def conversation_messages(
    wording: Wording, asks: list[tuple[PromptTurn, tuple[ReplyTurn, ...]]], protocol: RaterProtocol
) -> list[Message]:
    """Return the messages of a conversation up to now: each ask, what was said, and what was asked again.

    The last ask is the one that is open; where an earlier turn of it could not be used, it is asked again.
    """
    messages: list[Message] = []
    for place, (ask, turns) in enumerate(asks):
        messages += wording.turn_messages(ask, protocol)
        for number, turn in enumerate(turns):
            if not turn.text.strip():  # an empty turn is refused by some endpoints
                continue
            messages.append({"role": "assistant", "content": without_lone_surrogates(turn.text)})
            if number < len(turns) - 1 or place == len(asks) - 1:
                messages.append({"role": "user", "content": wording.retry_message(ask, turn, protocol)})
    return messages


def all_prompts(
    texts: Texts, ways: Sequence[RaterVariant]
) -> Callable[[Form], Iterator[tuple[PromptTurn, Sequence[Message]]]]:
    """Return what lists every ask of a form with the messages that put it, for all the ways given."""
    wording = PromptWriter(texts)

    def put(form: Form) -> Iterator[tuple[PromptTurn, Sequence[Message]]]:
        for asked in ways:
            for ask in turns_of(form, asked.protocol.conversation):
                yield ask, wording.turn_messages(ask, asked.protocol)

    return put
