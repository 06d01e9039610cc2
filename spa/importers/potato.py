"""Output folders of POTATO: one folder a task part, one folder a person in it.

Below the folder imported every ``annotation_output/PERSON/annotated_instances.jsonl`` is read. The order in which a
person saw the items stands in ``annotation_order.txt`` beside it; the lines of the answers are in another one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from spa.errors import ResponseError, shortened
from spa.importers.mapping import LlmFile, Potato
from spa.importers.potato_labels import EMPTY, Instance, LabelScores, Questions, questions_of, score_of
from spa.importers.tables import ImportedTables, Row
from spa.tables.json_lines import read_json_lines
from spa.tables.text_files import utf8_lines

ANSWERS = "annotation_output/*/annotated_instances.jsonl"
ORDER = "annotation_order.txt"
TIME = re.compile(r"(\d+)d (\d+)h (\d+)m (\d+)s")


def read_potato(folder: Path, mapping: Potato, scores: Mapping[str, float] | None = None) -> ImportedTables:
    """Read all people's answers below a folder, and those of the LLMs that the mapping names.

    The parts of a task lie in the folder at any depth. ``scores`` says what labels count that are no numbers. The
    ratings have one row an answer; a question that was left empty is missing with its reason. Raise ResponseError if a
    file is not what POTATO writes, a question is none of the criteria's, or a label has no score.
    """
    paths = sorted(folder.rglob(ANSWERS))
    if not paths:
        raise ResponseError(f"{folder}: expected files {ANSWERS} at any depth, got none; name POTATO's output folder")
    given = LabelScores(scores or {})
    skipped: Counter[str] = Counter()
    seen = [found for path in paths for found in _instances(path, folder, mapping, skipped)]
    questions = questions_of(mapping, [instance for instance, _ in seen], given)
    rows: list[Row] = []
    for instance, shared in seen:
        rows += _rows(instance, shared, questions, given)
    unread: dict[str, None] = {}
    for llm in mapping.llms:
        rows += _llm_rows(folder / llm.file, llm, questions, given, unread)
    given.check(folder)
    skipped.update({f"label {label}": count for label, count in questions.ignored.items()})
    notes = _notes(folder, seen, questions, rows)
    if unread:
        notes.append(f"not read: {shortened(', '.join(unread), 160)} of the LLMs' answers")
    return ImportedTables(rows={"ratings": rows}, skipped=dict(skipped), notes=tuple(notes))


def _instances(path: Path, folder: Path, mapping: Potato, skipped: Counter[str]) -> Iterator[tuple[Instance, Row]]:
    places = _places(path.with_name(ORDER), mapping)
    part = str(path.parent.parent.parent.relative_to(folder))
    for number, instance in read_json_lines(path):
        place = f"{path}, line {number}"
        name = _id(instance, place)
        pattern = next((pattern for pattern in mapping.skip if fnmatchcase(name, pattern)), None)
        if pattern is not None:
            skipped[pattern] += 1
            continue
        labels = instance.get("label_annotations")
        if not isinstance(labels, dict):
            raise ResponseError(f"{place}: expected label_annotations, an object, got {shortened(repr(labels))}")
        shared = {
            "annotator_id": path.parent.name,
            "annotator_kind": "human",
            "assignment_id": part,
            "item_id": name,
            "position": places.get(name),
            "seconds": _seconds(instance, place),
        }
        yield Instance(place=place, labels=labels, spans=bool(instance.get("span_annotations"))), shared


def _rows(instance: Instance, shared: Row, questions: Questions, scores: LabelScores) -> Iterator[Row]:
    """Yield the ratings of an instance; a text stands once, beside the first rating of its system."""
    texts = questions.explanations(instance)
    for system, criterion, label in questions.score_labels():
        score, reason, beside = score_of(instance.labels.get(label), f"{instance.place}, {label}", scores)
        told = [text for text in (beside, texts.pop(system, None)) if text]
        yield {
            **shared,
            "system": system,
            "criterion": criterion,
            "score": score,
            "explanation": "\n".join(told) or None,
            "missing_reason": reason,
        }


def _notes(folder: Path, seen: Sequence[tuple[Instance, Row]], questions: Questions, rows: Sequence[Row]) -> list[str]:
    people = {row["annotator_id"] for row in rows if row["annotator_kind"] == "human"}
    notes = [f"read: {len(seen)} instances of {len(people)} people in {folder}"]
    if questions.texts:
        count = sum(len(questions.explanations(instance)) for instance, _ in seen)
        labels = shortened(", ".join(sorted(questions.texts)), 160)
        notes.append(f"texts: {count} of {labels} are explanations beside the ratings")
    spans = sum(instance.spans for instance, _ in seen)
    if spans:
        notes.append(f"not read: marked spans of {spans} instances")
    return notes


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


def _llm_rows(
    path: Path, llm: LlmFile, questions: Questions, scores: LabelScores, unread: dict[str, None]
) -> Iterator[Row]:
    for number, instance in read_json_lines(path):
        place = f"{path}, line {number}"
        name = _id(instance, place)
        unread |= dict.fromkeys(key for key in instance if key not in ("id", *questions.systems))
        for system in questions.systems:
            given = instance.get(system)
            if not isinstance(given, dict):
                raise ResponseError(f"{place}: expected the scores of {system!r}, got {shortened(repr(given))}")
            unread |= dict.fromkeys(key for key in given if key not in questions.criteria)
            for criterion in questions.criteria:
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
