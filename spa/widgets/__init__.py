"""How questions are answered: each answer widget in a module of its own, with its template, script and style.

A new one is a module with a frozen record of its answers, a :class:`~spa.widgets.widget.Widget` and a template, and a
line in :data:`WIDGETS`. Whatever asks a question makes one of the records; what is done with an answer is asked of
:func:`widget_of`, and nobody else tells widgets apart.
"""

from __future__ import annotations

from typing import Any

from spa.records.form import Answer, Question
from spa.widgets.choice_list import ChoiceListAnswer, ChoiceListWidget, Switch, list_switching_at, switch_of
from spa.widgets.confirmation import ConfirmAnswer, ConfirmationWidget
from spa.widgets.extremes import ExtremesAnswer, ExtremesWidget, best_and_worst
from spa.widgets.marks import NO_ERRORS, MarkedSpan, MarksWidget, SpansAnswer, spans_from_json
from spa.widgets.number import NumberAnswer, NumberWidget
from spa.widgets.options import OptionsAnswer, OptionsWidget
from spa.widgets.order import OrderAnswer, OrderWidget, order_of, ranks_of
from spa.widgets.text import TextAnswer, TextWidget
from spa.widgets.widget import OfferedText, Say, Widget

__all__ = [
    "NO_ERRORS",
    "WIDGETS",
    "ChoiceListAnswer",
    "ConfirmAnswer",
    "ExtremesAnswer",
    "MarkedSpan",
    "NumberAnswer",
    "OfferedText",
    "OptionsAnswer",
    "OrderAnswer",
    "Say",
    "SpansAnswer",
    "Switch",
    "TextAnswer",
    "Widget",
    "best_and_worst",
    "fields_of",
    "list_switching_at",
    "order_of",
    "ranks_of",
    "spans_from_json",
    "switch_of",
    "widget_of",
]

WIDGETS: tuple[Widget[Any], ...] = (
    NumberWidget(),
    OptionsWidget(),
    OrderWidget(),
    ExtremesWidget(),
    ChoiceListWidget(),
    MarksWidget(),
    TextWidget(),
    ConfirmationWidget(),
)
_FOUND: dict[type[Answer], Widget[Any]] = {}


def widget_of(answer: Answer) -> Widget[Any]:
    """Return the widget of an answer; raise TypeError for one of no widget."""
    found = _FOUND.get(type(answer))
    if found is None:
        found = next((widget for widget in WIDGETS if widget.answer is type(answer)), None)
        if found is None:
            raise TypeError(f"no widget in spa.widgets takes {type(answer).__name__}")
        _FOUND[type(answer)] = found
    return found


def fields_of(question: Question) -> dict[str, str]:
    """Return the fields in which a page sends the answer to a question, by what each holds."""
    return widget_of(question.answer).fields(question.answer, question.question_id)
