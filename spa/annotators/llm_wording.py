"""How a form is put to an LLM: the study's own prompt, and what is said where a reply cannot be used."""

from __future__ import annotations

from typing import Any, Protocol

from spa.annotators.llm_reading import Turn
from spa.forms.form import Form
from spa.forms.prompt import answer_format, ask_again, render_prompt
from spa.forms.texts import Texts


class Wording(Protocol):
    """How a form is put to an LLM; the same for every rater of a study."""

    def opening(self, form: Form) -> list[dict[str, Any]]:
        """Return the messages that open the conversation."""

    def again(self, form: Form, turn: Turn) -> str:
        """Return what is said after a reply that could not be used for some questions."""


class StudyWording:
    """The form's own prompt, in the language of the study."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    def opening(self, form: Form) -> list[dict[str, Any]]:
        """Return the whole form and how to answer it."""
        return render_prompt(form).chat_messages(answer_format(form, self._texts))

    def again(self, form: Form, turn: Turn) -> str:
        """Return which questions are open still, and what arrived for them."""
        arrived = {
            answer.question_id: None if answer.raw is None or answer.raw == turn.text else writable(answer.raw)
            for answer in turn.missing
        }
        return ask_again(form, arrived, self._texts)


def writable(text: str) -> str:
    r"""Return text that can be sent as UTF-8: a lone half of a surrogate pair becomes a replacement character.

    >>> writable("a\ud800b")
    'a\ufffdb'
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
