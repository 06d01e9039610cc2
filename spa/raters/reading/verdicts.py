"""Verdicts in the forms that judges are asked for: ``[[A]]``, ``[[C]]``, ``[[A>>B]]``, ``(A)``, "[RESULT] 4", "tie".

Words mean what :mod:`spa.tables.verdicts` says, by the labels of the two outputs; those that are only likely to mean a
tie are told as the level of a missing answer.
"""

from __future__ import annotations

import re

from spa.forms.form import ChoiceTarget, OptionsAnswer, Question
from spa.raters.reading.phrases import DENIED, SUPPOSED, clause_of, sentence_of
from spa.tables.verdicts import BRACKETED, PLACE, SIGNED, outcome, place_outcome

RESULT = re.compile(r"\[result\]\s*:?\s*([^\n]+)", re.IGNORECASE)
EXPLAINED = re.compile(r"\s*['\"`*]*\s*(?:(?:if|when|means|for a tie|wenn|falls|si)\b|=)", re.IGNORECASE)  # of a form
ANNOUNCED = re.compile(
    r"(?:(?:so|my|the|final|overall|mein|meine|das|die|mon|ma|le|la)[\s,]+)*"
    r"(?:verdict|answer|choice|decision|judge?ment|winner|preference|result|urteil|antwort|entscheidung|gewinner"
    r"|réponse|choix|décision|gagnant)\s*(?:is|ist|lautet|est)?\s*[:=]?\s+",
    re.IGNORECASE,
)


def result_of(text: str) -> str | None:
    """Return what stands after the one mark "[RESULT]" of a text, on its line.

    >>> result_of("Feedback: 2 flaws. [RESULT] 4"), result_of("no mark")
    ('4', None)
    """
    found = RESULT.findall(text)
    return str(found[0]) if len(found) == 1 else None


def verdicts_in(question: Question, text: str) -> tuple[list[str], list[str]]:
    """Return the different outcomes that a text gives in such a form, and those that it may mean, in small words.

    Both are of x, y and tie; neither holds anything where the question compares no two outputs.
    """
    target = question.target
    if not isinstance(target, ChoiceTarget) or not isinstance(question.answer, OptionsAnswer):
        return [], []
    marked = list(dict.fromkeys(_marked(text, target)))
    if marked:
        return marked, []
    said = text.strip().strip("*_`\"'“”„ \n")
    said = ANNOUNCED.sub("", said, count=1) if ANNOUNCED.match(said) else said
    said = said.strip("*_`\"'“”„ \n.!")
    if (own := _by_labels(said, target)) is not None:
        return [own], []
    word = re.sub(
        r"^(?:it(?:'s| is)|this is|they are|they're|es ist|c'est)\s+(?:a |an |ein |un |une )?", "", said.casefold()
    )
    found = place_outcome(word)
    if found.winner != "tie" or word == "c" or word.isdecimal():
        return [], []
    return (["tie"], []) if found.standing == "read" else ([], ["tie"])


def _marked(text: str, target: ChoiceTarget) -> list[str]:
    found = []
    for match in BRACKETED.finditer(text):
        sentence = sentence_of(text.casefold(), match.start())
        if DENIED.search(clause_of(sentence)) or SUPPOSED.search(sentence) or EXPLAINED.match(text, match.end()):
            continue
        inner = match[1].strip()
        if (own := _by_labels(inner, target)) is not None:
            found.append(own)
        elif place_outcome(f"[[{inner}]]").winner == "tie" and inner.upper() not in _labels(target):
            found.append("tie")
    return found


def _labels(target: ChoiceTarget) -> tuple[str, str]:
    return target.label_x.upper(), target.label_y.upper()


def _by_labels(said: str, target: ChoiceTarget) -> str | None:
    """Return the outcome of a label or of a sign between the two labels, whichever of them is x."""
    x, y = _labels(target)
    article = re.match(r"(?:the )?\w [^\W\d]", said.casefold())  # "a text"
    place = None if article else PLACE.fullmatch(said.casefold())
    word = place[1].upper() if place else said.upper()
    if word in (x, y) or (SIGNED.fullmatch(word) and {*re.findall(r"[^\s<>=≈~]+", word)} == {x, y}):
        return outcome(word, x, y, sides="names").winner
    return None
