"""How each kind of question is answered: percent, 1 to k, 0 to 100, options, one of two outputs."""

from __future__ import annotations

from spa.forms.assignment_view import AssignmentView
from spa.forms.form import AnswerOption, NumberAnswer, OptionsAnswer
from spa.study.study import Continuous, Criterion, Likert


def percent(showing: AssignmentView, label_x: str) -> NumberAnswer:
    """Return the answer to "what is the chance that x is better?"."""
    x = showing.system(label_x)
    return showing.phrases.once(
        ("percent", label_x),
        lambda: NumberAnswer(
            low=0,
            high=100,
            scale=100,
            low_text=showing.say("spa_low", x=x),
            high_text=showing.say("spa_high", x=x),
            unit="%",
        ),
    )


def likert(showing: AssignmentView, section: Likert) -> OptionsAnswer:
    """Return the answers 1 to k, words at both ends."""
    return showing.phrases.once("likert", lambda: _likert(showing, section))


def _likert(showing: AssignmentView, section: Likert) -> OptionsAnswer:
    words = {
        1: section.low or showing.say("rating_low"),
        section.points: section.high or showing.say("rating_high"),
    }
    return OptionsAnswer(
        options=tuple(
            AnswerOption(value=str(point), text=_end(showing, point, words.get(point)), score=float(point))
            for point in range(1, section.points + 1)
        ),
        half_points=section.half_points,
    )


def continuous(showing: AssignmentView, section: Continuous) -> NumberAnswer:
    """Return the answer from 0 to 100, words at both ends."""
    return showing.phrases.once(
        "continuous",
        lambda: NumberAnswer(
            low=0,
            high=100,
            scale=1,
            low_text=_end(showing, 0, section.low or showing.say("rating_low")),
            high_text=_end(showing, 100, section.high or showing.say("rating_high")),
        ),
    )


def categories(showing: AssignmentView, criterion: Criterion) -> OptionsAnswer:
    """Return a criterion's own options; what is read is also what is sent."""
    return showing.phrases.once(
        ("categories", criterion.id),
        lambda: OptionsAnswer(
            options=tuple(
                AnswerOption(value=option.text, text=option.text, score=option.score) for option in criterion.options
            )
        ),
    )


def winner(showing: AssignmentView, label_x: str, label_y: str, *, ties: bool) -> OptionsAnswer:
    """Return the answers "x", "y" and, where allowed, "tie"."""
    return showing.phrases.once(("winner", label_x, label_y), lambda: _winner(showing, label_x, label_y, ties=ties))


def _winner(showing: AssignmentView, label_x: str, label_y: str, *, ties: bool) -> OptionsAnswer:
    options = [
        AnswerOption(value="x", text=showing.system(label_x)),
        AnswerOption(value="y", text=showing.system(label_y)),
    ]
    if ties:
        options.append(AnswerOption(value="tie", text=showing.say("choice_tie")))
    return OptionsAnswer(options=tuple(options))


def of_texts(texts: tuple[str, ...]) -> OptionsAnswer:
    """Return the answers of a screening question or an attention check."""
    return OptionsAnswer(options=tuple(AnswerOption(value=text, text=text) for text in texts))


def _end(showing: AssignmentView, number: int, words: str | None) -> str:
    return str(number) if words is None else showing.say("scale_end", number=str(number), words=words)
