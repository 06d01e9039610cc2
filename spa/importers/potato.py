"""Output folders of POTATO: one folder a task part, one folder a person in it.

Below the folder imported every ``annotation_output/PERSON/annotated_instances.jsonl`` is read. The order in which a
person saw the items stands in ``annotation_order.txt`` beside it; the lines of the answers are in another one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from spa.errors import ResponseError, shortened
from spa.importers.mapping import LlmFile, Potato
from spa.importers.tables import ImportedTables, Row, number_of
from spa.tables.json_lines import read_json_lines
from spa.tables.text_files import utf8_lines

ANSWERS = "annotation_output/*/annotated_instances.jsonl"
ORDER = "annotation_order.txt"
TIME = re.compile(r"(\d+)d (\d+)h (\d+)m (\d+)s")
SCALE = re.compile(r"scale_([0-9]+)")  # the label of a point of a Likert scale
FIELDS = ("text_box", "number", "slider", "select-one")  # labels of fields whose value is the answer
FREE_RESPONSE = "free_response"  # a text beside what was chosen
NO_SCORE = ("bad_text", FREE_RESPONSE)  # chosen instead of a score
EMPTY = "empty"
SHOWN = 5  # labels that a message names


class _Scores:
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


def read_potato(folder: Path, mapping: Potato, scores: Mapping[str, float] | None = None) -> ImportedTables:
    """Read all people's answers below a folder, and those of the LLMs that the mapping names.

    The parts of a task lie in the folder at any depth. ``scores`` says what labels count that are no numbers. The
    ratings have one row an answer; a question that was left empty is missing with its reason. Raise ResponseError if a
    file is not what POTATO writes, a question is none of the criteria's, or a label has no score.
    """
    paths = sorted(folder.rglob(ANSWERS))
    if not paths:
        raise ResponseError(f"{folder}: expected files {ANSWERS} at any depth, got none; name POTATO's output folder")
    rows: list[Row] = []
    skipped: Counter[str] = Counter()
    labels = _Scores(scores or {})
    for path in paths:
        rows += _person_rows(path, folder, mapping, labels, skipped)
    for llm in mapping.llms:
        rows += _llm_rows(folder / llm.file, llm, mapping, labels)
    if labels.absent:
        absent = [shortened(repr(label), 40) for label in labels.absent]
        more = f" and {len(absent) - SHOWN} more" if len(absent) > SHOWN else ""
        raise ResponseError(
            f"{folder}: expected labels that are finite numbers, got {', '.join(absent[:SHOWN])}{more}; "
            f"say what each counts, such as --score {shortened(repr(f'{next(iter(labels.absent))}=NUMBER'), 40)}"
        )
    return ImportedTables(rows={"ratings": rows}, skipped=dict(skipped))


def _person_rows(path: Path, folder: Path, mapping: Potato, scores: _Scores, skipped: Counter[str]) -> Iterator[Row]:
    places = _places(path.with_name(ORDER), mapping)
    part = str(path.parent.parent.parent.relative_to(folder))
    for number, instance in read_json_lines(path):
        name = _id(instance, f"{path}, line {number}")
        pattern = next((pattern for pattern in mapping.skip if fnmatchcase(name, pattern)), None)
        if pattern is not None:
            skipped[pattern] += 1
            continue
        shared = {
            "annotator_id": path.parent.name,
            "annotator_kind": "human",
            "assignment_id": part,
            "item_id": name,
            "position": places.get(name),
            "seconds": _seconds(instance, f"{path}, line {number}"),
        }
        labels = instance.get("label_annotations")
        if not isinstance(labels, dict):
            raise ResponseError(
                f"{path}, line {number}: expected label_annotations, an object, got {shortened(repr(labels))}"
            )
        for system, criterion, label in _score_labels(mapping):
            score, reason = _score(labels.get(label), f"{path}, line {number}, {label}", scores)
            yield {**shared, "system": system, "criterion": criterion, "score": score, "missing_reason": reason}
        unknown = set(labels) - {label for *_, label in _score_labels(mapping)}
        if unknown:
            raise ResponseError(
                f"{path}, line {number}: label {shortened(repr(min(unknown)))} is none of the criteria's "
                f"({shortened(', '.join(mapping.criteria), 200)} of {len(mapping.systems)} systems); "
                "add it to the mapping"
            )


def _score_labels(mapping: Potato) -> list[tuple[str, str, str]]:
    return [
        (system, criterion, criterion if number == 1 else f"{criterion}_{number}")
        for number, system in enumerate(mapping.systems, start=1)
        for criterion in mapping.criteria
    ]


def _score(answer: object, place: str, scores: _Scores) -> tuple[float | None, str | None]:
    """Read what one question was answered with, ``{LABEL: VALUE}``.

    Of options to choose from the label says which was chosen; the value is a key to press or its number among them.
    """
    if answer is None or answer == {}:
        return None, EMPTY
    if not isinstance(answer, dict):
        raise ResponseError(
            f"{place}: expected a chosen value such as {{'scale_4': '4'}}, got {shortened(repr(answer))}"
        )
    chosen = {label: value for label, value in answer.items() if label != FREE_RESPONSE} or answer
    if len(chosen) != 1:
        return None, f"{len(chosen)} values were chosen"
    label, value = next(iter(chosen.items()))
    if not isinstance(value, str | bool):
        raise ResponseError(f"{place}: expected one text or number, got {shortened(repr(value))}")
    if label in NO_SCORE:
        return None, label
    if label in FIELDS:
        label = str(value).strip()
    point = SCALE.fullmatch(label)
    return (scores.of(point[1] if point else label), None) if label else (None, EMPTY)


def _seconds(instance: dict[str, Any], place: str) -> float | None:
    behaviour = instance.get("behavioral_data")
    duration = behaviour.get("time_string") if isinstance(behaviour, dict) else None
    if duration is None:
        return None
    found = TIME.search(str(duration))
    if found is None:
        raise ResponseError(
            f"{place}: expected a time such as 'Time spent: 0d 0h 1m 2s', got {shortened(repr(duration))}"
        )
    days, hours, minutes, seconds = map(int, found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _places(path: Path, mapping: Potato) -> dict[str, int]:
    """Return the place of each item in the order in which it was seen, from 1; empty where no order was kept."""
    if not path.is_file():
        return {}
    listed = [line.strip() for _, line in utf8_lines(path)]
    items = [name for name in listed if name and not any(fnmatchcase(name, pattern) for pattern in mapping.skip)]
    return {name: place for place, name in enumerate(items, start=1)}


def _llm_rows(path: Path, llm: LlmFile, mapping: Potato, scores: _Scores) -> Iterator[Row]:
    for number, instance in read_json_lines(path):
        place = f"{path}, line {number}"
        name = _id(instance, place)
        for system in mapping.systems:
            given = instance.get(system)
            if not isinstance(given, dict):
                raise ResponseError(f"{place}: expected the scores of {system!r}, got {shortened(repr(given))}")
            for criterion in mapping.criteria:
                label = given.get(criterion)
                if not isinstance(label, str | None):
                    raise ResponseError(
                        f"{place}, {system}, {criterion}: expected a number or label, got {shortened(repr(label))}"
                    )
                yield {
                    "annotator_id": llm.id,
                    "annotator_kind": "llm",
                    "item_id": name,
                    "system": system,
                    "criterion": criterion,
                    "score": scores.of(label.strip()) if label else None,
                    "missing_reason": None if label else EMPTY,
                }


def _id(instance: dict[str, Any], place: str) -> str:
    name = instance.get("id")
    if not isinstance(name, str) or not name:
        raise ResponseError(f"{place}: expected an id, got {shortened(repr(name))}")
    return name
