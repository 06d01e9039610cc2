"""Free text read as one answer: the number or the option that it gives, or why it gives none.

``strict`` takes, in this order: an option as the form words it; the value of the reply's JSON; a number or an
option that the reply declares to be its answer; one that stands alone. What counts something else, is denied,
compared or supposed is no answer, and what contradicts itself is missing as ambiguous. ``paper`` is the rule of
Chiang & Lee (2023, appendix D.2.1): four strings are removed, and the first number that is left counts.
``first_number`` goes beyond it: mentions of any scale, in other words and languages, and the form's own marks
("[q2]") are dropped too. Verdicts in the forms that judges are asked for ("[[A]]", "[[A>>B]]", "[RESULT] 4", "tie")
come before all; their words mean what :mod:`spa.tables.verdicts` says, by the labels of the two outputs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from spa.records.form import AnswerOption, Question
from spa.records.raters import Reading
from spa.tables.verdicts import BRACKETED, PLACE, SIGNED, outcome, place_outcome
from spa.widgets.free_text import phrases
from spa.widgets.free_text.json_replies import SeveralObjects, UnreadableReply, find_payload
from spa.widgets.free_text.named_answers import chosen_options
from spa.widgets.free_text.numbers import (
    DECORATION,
    WORD,
    AnswerScale,
    first_but_the_scale,
    first_number,
    plain_text,
    stated_number,
)
from spa.widgets.free_text.phrases import DENIED, SUPPOSED, UnreadableText, clause_of, sentence_of

NO_OPTION = "the reply names none of the answers"
RESULT = re.compile(r"\[result\]\s*:?\s*([^\n]+)", re.IGNORECASE)
EXPLAINED = re.compile(r"\s*['\"`*]*\s*(?:(?:if|when|means|for a tie|wenn|falls|si)\b|=)", re.IGNORECASE)  # of a form
ANNOUNCED = re.compile(
    r"(?:(?:so|my|the|final|overall|mein|meine|das|die|mon|ma|le|la)[\s,]+)*"
    r"(?:verdict|answer|choice|decision|judge?ment|winner|preference|result|urteil|antwort|entscheidung|gewinner"
    r"|réponse|choix|décision|gagnant)\s*(?:is|ist|lautet|est)?\s*[:=]?\s+",
    re.IGNORECASE,
)
OWN_MARK = re.compile(r"[\[(\"'*]*\bq(?:\d+|n)\b[\])\"'*]*\s*[:=]?|\[[pe]\d+\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What a text may give as its answer to a question.

    ``named`` are the values of answers with their words, as the form shows them.
    """

    question: Question
    named: tuple[tuple[str, str], ...]
    scale: AnswerScale | None = None  # None: answers are no numbers
    options: tuple[AnswerOption, ...] = ()


def read_words(spoken: Spoken, text: str, reading: Reading) -> str:
    """Return the number, or the value of the option, that a text gives as its answer by a rule.

    It is still to be validated like everybody's answers. Raise UnreadableText where the text gives none, or several.
    """
    if (verdict := _verdict(spoken.options, text)) is not None:
        return verdict
    if reading == "strict" and (result := result_of(text)) is not None:
        try:
            return read_words(spoken, result, reading)
        except UnreadableText:  # a mark that only tells the form
            text = text.replace("[RESULT]", " ")
    plain = plain_text(without_marks(text))
    scale = spoken.scale
    if reading != "strict":
        if scale is None:
            return _one_option(spoken, plain)
        return first_number(_as_in_paper(text)) if reading == "paper" else first_but_the_scale(plain, scale)
    if (value := _verbatim(spoken, plain)) is not None:
        return value
    try:
        payload = find_payload(text)
    except SeveralObjects as problem:
        raise UnreadableText(f"ambiguous: {problem}") from problem
    except UnreadableReply:  # none, or a broken one, which is read as text
        return _one_option(spoken, plain) if scale is None else stated_number(plain, scale)
    return read_words(spoken, _of_json(spoken.question, payload), "strict")


def without_marks(text: str) -> str:
    """Return a text without the form's own marks ("[q2]")."""
    return OWN_MARK.sub(" ", text)


def _verdict(options: tuple[AnswerOption, ...], text: str) -> str | None:
    """Return the outcome that a judge's verdict gives ("[[A]]"), where it gives one."""
    given, likely = verdicts_in(options, text)
    if likely:
        raise UnreadableText(f"ambiguous: the reply may mean {', '.join(likely)}", likely)
    if len(given) > 1:
        raise UnreadableText(f"ambiguous: the reply gives {', '.join(given)}", given)
    if given and given[0] not in {option.value for option in options}:
        raise UnreadableText(f"{NO_OPTION}: {given[0]} is not offered", given)
    return given[0] if given else None


def _verbatim(spoken: Spoken, plain: str) -> str | None:
    """Return the answer whose own words, as the form shows them, are all that is said."""
    said = WORD.findall(DECORATION.sub(" ", plain))
    for value, text in spoken.named:
        if said in [WORD.findall(plain_text(shown)) for shown in (text, value, f"{value} {text}")]:
            return value
    return None


def _of_json(question: Question, payload: dict[str, object]) -> str:
    """Return the value that a JSON object gives: under the question's name, or its only name for an answer."""
    name = question.question_id
    if name not in payload:
        known = frozenset(WORD.findall(plain_text(question.text)))
        names = [
            key
            for key in payload
            if re.search(rf"{phrases.ANSWER_NOUN}|^value$", plain_text(key))
            or set(WORD.findall(plain_text(key))) <= known
        ]
        name = names[0] if len(names) == 1 else ""
    value = payload.get(name)
    if isinstance(value, dict):
        return _of_json(question, value)
    if not isinstance(value, str):
        raise UnreadableText(f"ambiguous: the reply's JSON has no value for {question.question_id}")
    return value


def _as_in_paper(text: str) -> str:
    """Remove what Chiang & Lee (2023, D.2.1) remove, and nothing else."""
    for gone in ("1-5", "out of 5", "/5", "title 1", "title 2"):
        text = text.replace(gone, "")
    return text


def _one_option(spoken: Spoken, plain: str) -> str:
    text = DECORATION.sub(" ", plain)
    chosen, named = chosen_options(spoken.options, text, plain_text)
    if len(chosen) == 1:
        return chosen[0]
    if len(found := chosen or named) > 1:
        raise UnreadableText(f"ambiguous: the reply names {', '.join(found)}", found)
    raise UnreadableText(phrases.REFUSED if phrases.REFUSALS.search(text) else NO_OPTION)


def result_of(text: str) -> str | None:
    """Return what stands after the one mark "[RESULT]" of a text, on its line.

    >>> result_of("Feedback: 2 flaws. [RESULT] 4"), result_of("no mark")
    ('4', None)
    """
    found = RESULT.findall(text)
    return str(found[0]) if len(found) == 1 else None


def verdicts_in(options: Sequence[AnswerOption], text: str) -> tuple[list[str], list[str]]:
    """Return the different outcomes that a text gives in such a form, and those that it may mean, in small words.

    Both are of x, y and tie; neither holds anything where the options are not two outputs, x and y.
    """
    sides = [option.label.upper() for option in options if option.label and option.value in ("x", "y")]
    if len(sides) != 2:
        return [], []
    labels = sides[0], sides[1]
    marked = list(dict.fromkeys(_marked(text, labels)))
    if marked:
        return marked, []
    said = text.strip().strip("*_`\"'“”„ \n")
    said = ANNOUNCED.sub("", said, count=1) if ANNOUNCED.match(said) else said
    said = said.strip("*_`\"'“”„ \n.!")
    if (own := _by_labels(said, labels)) is not None:
        return [own], []
    word = re.sub(
        r"^(?:it(?:'s| is)|this is|they are|they're|es ist|c'est)\s+(?:a |an |ein |un |une )?", "", said.casefold()
    )
    found = place_outcome(word)
    if found.winner != "tie" or word == "c" or word.isdecimal():
        return [], []
    return (["tie"], []) if found.status == "read" else ([], ["tie"])


def _marked(text: str, labels: tuple[str, str]) -> list[str]:
    found = []
    for match in BRACKETED.finditer(text):
        sentence = sentence_of(text.casefold(), match.start())
        if DENIED.search(clause_of(sentence)) or SUPPOSED.search(sentence) or EXPLAINED.match(text, match.end()):
            continue
        inner = match[1].strip()
        if (own := _by_labels(inner, labels)) is not None:
            found.append(own)
        elif place_outcome(f"[[{inner}]]").winner == "tie" and inner.upper() not in labels:
            found.append("tie")
    return found


def _by_labels(said: str, labels: tuple[str, str]) -> str | None:
    """Return the outcome of a label or of a sign between the two labels, whichever of them is x."""
    x, y = labels
    article = re.match(r"(?:the )?\w [^\W\d]", said.casefold())  # "a text"
    place = None if article else PLACE.fullmatch(said.casefold())
    word = place[1].upper() if place else said.upper()
    if word in (x, y) or (SIGNED.fullmatch(word) and {*re.findall(r"[^\s<>=≈~]+", word)} == {x, y}):
        return outcome(word, x, y, sides="names").winner
    return None
