"""Questions that have errors marked in an output: what is asked, on the page and of an LLM."""

from __future__ import annotations

import json
from dataclasses import asdict

from spa.forms import scales
from spa.forms.assignment_view import AssignmentView
from spa.forms.form import AnswerOption, Question, RatingTarget, SpansAnswer, SpanTarget
from spa.forms.texts import Texts
from spa.study.assignment import ShownOutput

MQM_WEIGHTS = tuple(5.0**place for place in range(9))  # minor 1, major 5 (Freitag et al. 2021, table 4)


def span_questions(view: AssignmentView, output: ShownOutput, criterion: str, scored: str) -> list[Question]:
    """Return the question that has errors of an output marked, and the rating from 0 to 100 that follows.

    The text is marked as it is shown; ``criterion`` says which errors ("overall": all), ``scored`` what the rating
    asks.
    """
    section = view.study.spans
    if section is None:
        raise ValueError("errors are marked where a study has [spans]")
    errors = SpanTarget(label=output.label, item_id=output.item_id, sample=output.sample, criterion=criterion)
    weights = zip(section.severities, section.weights or MQM_WEIGHTS, strict=False)
    answer = SpansAnswer(
        text=view.output(output).text,
        severities=tuple(AnswerOption(value=each, text=each, score=weight) for each, weight in weights),
        categories=section.categories,
        no_errors=view.say("spans_none"),
    )
    questions = [Question(text=view.ask("spans", criterion), answer=answer, target=errors)]
    if section.score:
        scale = scales.zero_to_hundred(view, "spans", section.low, section.high)
        target = RatingTarget(**asdict(errors), elicitation="continuous")
        questions.append(Question(text=scored, answer=scale, target=target))
    return questions


def spans_value(answer: SpansAnswer, texts: Texts, names: str, separator: str) -> str:
    """Return how an LLM marks errors in JSON."""
    severities, categories = (
        separator.join(json.dumps(name, ensure_ascii=False) for name in listed)
        for listed in ([one.value for one in answer.severities], answer.categories)
    )
    value = texts.say("form.prompt_spans", questions=names, severities=severities)
    return f"{value} {texts.say('form.prompt_span_categories', categories=categories)}" if categories else value
