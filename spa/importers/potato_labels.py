"""What POTATO's questions were answered with: scores, and texts beside them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from spa.errors import ResponseError, shortened
from spa.importers.mapping import Potato
from spa.importers.tables import number_of

SCALE = re.compile(r"scale_([0-9]+)")  # the label of a point of a Likert scale
TEXT_BOX, FREE_RESPONSE = "text_box", "free_response"  # a text as the answer, and beside what was chosen
FIELDS = (TEXT_BOX, "number", "slider", "select-one")  # labels of fields whose value is the answer
NO_SCORE = ("bad_text", FREE_RESPONSE)  # chosen instead of a score
EMPTY = "empty"
SHOWN = 5  # labels that a message names


class LabelScores:
    """What labels count: what was given, else the number that a label is; gathers those that have no score."""

    def __init__(self, given: Mapping[str, float]) -> None:
        self.given = given
        self.absent: dict[str, None] = {}

    def of(self, label: str) -> float | None:
        """Return the score of a label."""
        if label in self.given:
            return self.given[label]
        score = number_of(label)
        if score is None:
            self.absent[label] = None
        return score

    def check(self, place: object) -> None:
        """Raise ResponseError where labels have no score."""
        if not self.absent:
            return
        absent = [shortened(repr(label), 40) for label in self.absent]
        more = f" and {len(absent) - SHOWN} more" if len(absent) > SHOWN else ""
        raise ResponseError(
            f"{place}: expected labels that are finite numbers, got {', '.join(absent[:SHOWN])}{more}; "
            f"say what each counts, such as --score {shortened(repr(f'{next(iter(self.absent))}=NUMBER'), 40)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """What one person answered about one item: answers by the labels of the questions."""

    place: str  # "part/annotated_instances.jsonl, line 3"
    labels: Mapping[str, object]
    spans: bool = False  # whether spans were marked, too


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Questions of a folder: which ask for scores, which for texts."""

    systems: tuple[str, ...]
    criteria: tuple[str, ...]  # those that are answered with scores
    texts: frozenset[str]  # labels of texts
    ignored: Mapping[str, int]  # answers that a mapping leaves out, by their label

    def score_labels(self) -> list[tuple[str, str, str]]:
        """Return system, criterion and label of each question that asks for a score."""
        return _score_labels(self.systems, self.criteria)

    def explanations(self, instance: Instance) -> dict[str, str]:
        """Return the texts of an instance by their systems.

        As of a score, the label of the second system ends in ``_2``; a text about the item as a whole is put to the
        first, too.
        """
        found: dict[str, list[tuple[str, str]]] = {}
        for label in sorted(self.texts & set(instance.labels)):
            text = _text(instance.labels[label])
            if text:
                found.setdefault(self._system(label), []).append((label, text))
        return {system: _together(texts) for system, texts in found.items()}

    def _system(self, label: str) -> str:
        base, _, number = label.rpartition("_")
        if base in self.texts and number.isdecimal() and 2 <= int(number) <= len(self.systems):
            return self.systems[int(number) - 1]
        return self.systems[0]


def questions_of(mapping: Potato, instances: Iterable[Instance], scores: LabelScores) -> Questions:
    """Return what was asked, from all answers.

    A question of the mapping whose answers are all texts without a score, and one that the mapping does not name whose
    answers are all texts, ask for texts. Raise ResponseError for another question that the mapping does not name.
    """
    named = {label: criterion for _, criterion, label in _score_labels(mapping.systems, mapping.criteria)}
    texts: dict[str, str] = {}  # label -> where it first stands
    others: dict[str, str] = {}  # labels with other answers
    ignored: Counter[str] = Counter()
    for instance in instances:
        for label, answer in instance.labels.items():
            if label not in named and any(fnmatchcase(label, pattern) for pattern in mapping.ignore):
                ignored[label] += 1
            elif answer not in (None, {}) and _text(answer) != "":
                kind = texts if _is_text(answer, None if label not in named else scores) else others
                kind.setdefault(label, instance.place)
            elif label not in named:
                texts.setdefault(label, instance.place)  # empty, whatever it asks for
    asked = {named[label] for label in texts if label in named} - {named[label] for label in others if label in named}
    unknown = [label for label in others if label not in named]
    if unknown:
        label = min(unknown)
        raise ResponseError(
            f"{others[label]}: label {shortened(repr(label))} is none of the criteria's "
            f"({shortened(', '.join(mapping.criteria), 160)} of {len(mapping.systems)} systems); add it to criteria in "
            "the mapping, or leave it out by ignore = [...]"
        )
    if asked >= set(mapping.criteria):
        raise ResponseError(f"criteria: expected one that is answered with scores, got texts alone of {min(asked)!r}")
    return Questions(
        systems=mapping.systems,
        criteria=tuple(criterion for criterion in mapping.criteria if criterion not in asked),
        texts=frozenset(label for label in texts if label not in named or named[label] in asked),
        ignored=ignored,
    )


def _is_text(answer: object, scores: LabelScores | None) -> bool:
    """Whether an answer is a text; one of a criterion only where it has no score."""
    text = _text(answer)
    if text is None or scores is None:
        return text is not None
    return text not in scores.given and number_of(text) is None


def _text(answer: object) -> str | None:
    """Return the text of an answer that holds nothing else."""
    if not isinstance(answer, dict) or not answer or not set(answer) <= {TEXT_BOX, FREE_RESPONSE}:
        return None
    given = [str(value).strip() for value in answer.values() if isinstance(value, str)]
    return "\n".join(text for text in given if text)


def _together(texts: list[tuple[str, str]]) -> str:
    if len(texts) == 1:
        return texts[0][1]
    return "\n".join(f"{label}: {text}" for label, text in texts)


def _score_labels(systems: Iterable[str], criteria: Iterable[str]) -> list[tuple[str, str, str]]:
    return [
        (system, criterion, criterion if number == 1 else f"{criterion}_{number}")
        for number, system in enumerate(systems, start=1)
        for criterion in criteria
    ]


def score_of(answer: object, place: str, scores: LabelScores) -> tuple[float | None, str | None, str | None]:
    """Return score, reason why there is none, and the text beside it, of what one question was answered with.

    Of options to choose from (``{LABEL: VALUE}``) the label says which was chosen; the value is a key to press or its
    number among them.
    """
    if answer is None or answer == {}:
        return None, EMPTY, None
    if not isinstance(answer, dict):
        raise ResponseError(
            f"{place}: expected a chosen value such as {{'scale_4': '4'}}, got {shortened(repr(answer))}"
        )
    beside = answer.get(FREE_RESPONSE)
    text = beside.strip() or None if isinstance(beside, str) else None
    chosen = {label: value for label, value in answer.items() if label != FREE_RESPONSE} or answer
    if len(chosen) != 1:
        return None, f"{len(chosen)} values were chosen", text
    label, value = next(iter(chosen.items()))
    if not isinstance(value, str | bool):
        raise ResponseError(f"{place}: expected one text or number, got {shortened(repr(value))}")
    if label in NO_SCORE:
        return None, label, text
    if label in FIELDS:
        label = str(value).strip()
    point = SCALE.fullmatch(label)
    if not label:
        return None, EMPTY, text
    return scores.of(point[1] if point else label), None, text
