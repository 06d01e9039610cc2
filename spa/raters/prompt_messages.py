"""The chat messages that put a form to an LLM; the words themselves are in spa/forms/prompt.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from spa.forms.prompt import answer_format, ask_again, render_turn
from spa.forms.prompt_turns import PromptTurn, turns_of
from spa.media import model_files
from spa.raters.reading import ReplyTurn
from spa.records.form import Form
from spa.records.raters import RaterProtocol, RaterVariant
from spa.records.texts import Texts

Message = Mapping[str, Any]


class PromptWriter:
    """The form's own prompt, in the language of the study."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    def turn_messages(self, turn: PromptTurn, protocol: RaterProtocol) -> list[Message]:
        """Return the messages that put a turn: what is read and asked, and how to answer it."""
        answer = "" if protocol.answer_format == "text" else answer_format(turn.questions, self._texts)
        messages: list[Message] = [*render_turn(turn).chat_messages(answer)]
        if protocol.frames_per_second is not None:
            messages = [_in_frames(message, protocol.frames_per_second) for message in messages]
        if protocol.persona is None or not turn.alone:
            return messages
        if protocol.persona_place == "system":
            return [{"role": "system", "content": protocol.persona}, *messages]
        first, *others = messages
        return [{**first, "content": _above(protocol.persona, first["content"])}, *others]

    def retry_message(self, turn: PromptTurn, reply: ReplyTurn) -> str:
        """Return what is said after an unusable reply: which questions are open, and what arrived for them."""
        arrived = {
            answer.question_id: None
            if answer.raw is None or answer.raw == reply.text
            else without_lone_surrogates(answer.raw)
            for answer in reply.missing
        }
        return ask_again(turn.questions, arrived, self._texts)


def _in_frames(message: Message, per_second: float) -> Message:
    """Return a message with pictures, so many a second, in the place of what moves."""
    content = message["content"]
    if not isinstance(content, list):
        return message
    parts: list[Any] = []
    for part in content:
        models = model_files(part)
        parts += [part] if models is None or models.frames is None else models.frames(part, per_second)
    return {**message, "content": parts}


def _above(persona: str, content: Any) -> Any:
    """Return the content of a message with a line above it."""
    if isinstance(content, str):
        return f"{persona}\n\n{content}"
    return [{"type": "text", "text": f"{persona}\n\n"}, *content]


def without_lone_surrogates(text: str) -> str:
    r"""Return text that can be sent as UTF-8: a lone half of a surrogate pair becomes a replacement character.

    >>> without_lone_surrogates("a\ud800b")
    'a\ufffdb'
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def conversation_messages(
    prompts: PromptWriter, turns: list[tuple[PromptTurn, tuple[ReplyTurn, ...]]], protocol: RaterProtocol
) -> list[Message]:
    """Return the messages of a conversation up to now: each turn, its replies, and what was asked again.

    The last turn is the open one; where an earlier reply to it could not be used, it is asked again. Free text is asked
    for in the same words again, so that all of a rater's answers are asked for alike.
    """
    messages: list[Message] = []
    for place, (turn, replies) in enumerate(turns):
        messages += prompts.turn_messages(turn, protocol)
        if protocol.answer_format == "text":
            replies = () if place == len(turns) - 1 else replies[-1:]
        for number, reply in enumerate(replies):
            if not reply.text.strip():  # some endpoints refuse an empty message
                continue
            messages.append({"role": "assistant", "content": without_lone_surrogates(reply.text)})
            if number < len(replies) - 1 or place == len(turns) - 1:
                messages.append({"role": "user", "content": prompts.retry_message(turn, reply)})
    return messages


def all_prompts(
    texts: Texts, variants: Sequence[RaterVariant]
) -> Callable[[Form], Iterator[tuple[PromptTurn, Sequence[Message]]]]:
    """Return a function that lists every turn of a form with the messages that put it, for all variants given."""
    prompts = PromptWriter(texts)

    def prompts_of(form: Form) -> Iterator[tuple[PromptTurn, Sequence[Message]]]:
        for asked in variants:
            for turn in turns_of(form, asked.protocol.conversation, reasoned=asked.protocol.reasoned):
                yield turn, prompts.turn_messages(turn, asked.protocol)

    return prompts_of
