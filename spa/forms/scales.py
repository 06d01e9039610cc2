"""How each kind of question is answered: percent, 1 to k, 0 to 100, options, one of two outputs, an order."""

from __future__ import annotations

from spa.forms.assignment_view import AssignmentView
from spa.forms.form import AnswerOption, NumberAnswer, OptionsAnswer, OrderAnswer
from spa.study.study import Criterion, Likert


def percent(view: AssignmentView, label_x: str) -> NumberAnswer:
    """Return the answer to "what is the chance that x is better?"."""
    x = view.system(label_x)
    return view.text_cache.cached(
        ("percent", label_x),
        lambda: NumberAnswer(
            low=0, high=100, scale=100, low_text=view.say("spa_low", x=x), high_text=view.say("spa_high", x=x), unit="%"
        ),
    )


def likert(view: AssignmentView, section: Likert) -> OptionsAnswer:
    """Return the answers 1 to k, words at both ends."""
    return view.text_cache.cached("likert", lambda: _likert(view, section))


def _likert(view: AssignmentView, section: Likert) -> OptionsAnswer:
    words = {1: section.low or view.say("rating_low"), section.points: section.high or view.say("rating_high")}
    return OptionsAnswer(
        options=tuple(
            AnswerOption(value=str(point), text=_end(view, point, words.get(point)), score=float(point))
            for point in range(1, section.points + 1)
        ),
        half_points=section.half_points,
    )


def zero_to_hundred(view: AssignmentView, table: str, low: str | None, high: str | None) -> NumberAnswer:
    """Return the answer from 0 to 100 of a section that words its ends, or leaves that to the locale."""
    return view.text_cache.cached(
        table,
        lambda: NumberAnswer(
            low=0,
            high=100,
            scale=1,
            low_text=_end(view, 0, low or view.say("rating_low")),
            high_text=_end(view, 100, high or view.say("rating_high")),
        ),
    )


def categories(view: AssignmentView, criterion: Criterion) -> OptionsAnswer:
    """Return a criterion's own options; what is read is also what is sent."""
    return view.text_cache.cached(
        ("categories", criterion.id),
        lambda: OptionsAnswer(
            options=tuple(
                AnswerOption(value=option.text, text=option.text, score=option.score) for option in criterion.options
            )
        ),
    )


def winner(view: AssignmentView, label_x: str, label_y: str, *, ties: bool) -> OptionsAnswer:
    """Return the answers "x", "y" and, where allowed, "tie"."""
    return view.text_cache.cached(("winner", label_x, label_y), lambda: _winner(view, label_x, label_y, ties=ties))


def _winner(view: AssignmentView, label_x: str, label_y: str, *, ties: bool) -> OptionsAnswer:
    options = [AnswerOption(value="x", text=view.system(label_x)), AnswerOption(value="y", text=view.system(label_y))]
    if ties:
        options.append(AnswerOption(value="tie", text=view.say("choice_tie")))
    return OptionsAnswer(options=tuple(options))


def order(view: AssignmentView, labels: tuple[str, ...]) -> OrderAnswer:
    """Return the answer that puts labels in order."""
    return view.text_cache.cached(
        ("order", labels),
        lambda: OrderAnswer(options=tuple(AnswerOption(value=label, text=view.system(label)) for label in labels)),
    )


def text_options(texts: tuple[str, ...]) -> OptionsAnswer:
    """Return the answers of a screening question or an attention check."""
    return OptionsAnswer(options=tuple(AnswerOption(value=text, text=text) for text in texts))


def _end(view: AssignmentView, number: int, words: str | None) -> str:
    return str(number) if words is None else view.say("scale_end", number=str(number), words=words)
