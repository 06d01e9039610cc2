"""Explanations of answers and what people said at the end, as texts of one kind; names of criteria masked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from analysis.statistics.record import record_like

if TYPE_CHECKING:
    from analysis.answers.study_facts import InterviewAnswer, StudyReport
    from analysis.descriptives.explanations import ExplanationRow

LEAST_STEM, ENDING = 4, 3  # letters of a name that are looked for at least, and those at its end that may differ
MASK = "\N{HORIZONTAL ELLIPSIS}"
WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedText:
    """One text, what it is about and who wrote it; ``None`` where that does not apply."""

    group: str
    annotator_kind: str
    annotator_id: str
    criterion: str  # of a comment at the end, the question's id
    unit: str  # what is judged together: the item, else the form, else the annotator
    item_id: str | None = None
    system: str | None = None
    system_y: str | None = None  # the second of a pair
    sample: str | None = None
    sample_y: str | None = None
    value: float | None = None  # the answer that is explained
    text: str


def explained_texts(rows: Iterable[ExplanationRow], interview: Iterable[InterviewAnswer] = ()) -> list[ExplainedText]:
    """Return explanations in their order, then comments; texts of white space only are left out."""
    found = [
        record_like(
            ExplainedText,
            row,
            unit=row.item_id or row.assignment_id or row.annotator_id,
            system=row.system or row.system_x,
            sample=row.sample or row.sample_x,
            text=row.explanation,
        )
        for row in rows
    ]
    found += [
        ExplainedText(
            group=row.group,
            annotator_kind=row.group,
            annotator_id=row.annotator_id,
            criterion=row.interview_id,
            unit=row.annotator_id,
            text=row.answer,
        )
        for row in interview
    ]
    return [one for one in found if one.text.strip()]


def names_of_criteria(texts: Iterable[ExplainedText], study: StudyReport | None) -> list[str]:
    """Return the names and ids of criteria, which an embedding must not see."""
    asked = [name for one in (study.criteria if study else ()) for name in (one.id, one.name or one.id)]
    return list(dict.fromkeys([*asked, *(one.criterion for one in texts)]))


def hash_of(texts: Iterable[ExplainedText]) -> str:
    """Return the SHA-256 (hexadecimal) of texts with what they are about and who wrote them."""
    told = [(one.group, one.annotator_id, one.criterion, one.unit, one.system, one.system_y, one.text) for one in texts]
    return sha256(json.dumps(told).encode()).hexdigest()


def masked(text: str, names: Sequence[str]) -> str:
    """Return a text without words that begin as a criterion's name does, of which the last letters may differ.

    Short stems hide some other words too, which makes separation look worse, never better.

    >>> masked("The ending surprised me; it is coherent.", ["Surprise", "coherence"])
    'The ending … me; it is ….'
    """
    stems = {word.lower()[: max(LEAST_STEM, len(word) - ENDING)] for name in names for word in WORD.findall(name)}
    if not stems:
        return text
    either = "|".join(map(re.escape, sorted(stems, key=len, reverse=True)))
    return re.sub(rf"(?<![^\W\d_])(?:{either})[^\W\d_]*", MASK, text, flags=re.IGNORECASE)
