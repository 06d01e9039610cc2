"""Output folders of POTATO: one folder a task part, one folder a person in it.

Below the folder imported every ``annotation_output/PERSON/annotated_instances.jsonl`` is read. The order in which a
person saw the items stands in ``annotation_order.txt`` beside it; the lines of the answers are in another one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from spa.errors import ResponseError
from spa.importing.mapping import LlmFile, Potato
from spa.importing.tables import Imported, Row

ANSWERS = "annotation_output/*/annotated_instances.jsonl"
ORDER = "annotation_order.txt"
TIME = re.compile(r"(\d+)d (\d+)h (\d+)m (\d+)s")
EMPTY = "empty"


def read_potato(folder: Path, mapping: Potato) -> Imported:
    """Read all people's answers below a folder, and those of the LLMs that the mapping names.

    Parameters
    ----------
    folder : Path
        The parts of a task lie in it, at any depth.
    mapping : Potato
        Systems, criteria, and what is no item.

    Returns
    -------
    Imported
        Ratings: one row an answer; a question that was left empty is missing with its reason.

    Raises
    ------
    ResponseError
        If a file is not what POTATO writes, or a label is none of the criteria's.
    """
    paths = sorted(folder.rglob(ANSWERS))
    if not paths:
        raise ResponseError(f"{folder}: wanted files {ANSWERS} at any depth, found none; name POTATO's output folder")
    rows: list[Row] = []
    skipped: Counter[str] = Counter()
    for path in paths:
        rows += _person(path, folder, mapping, skipped)
    for llm in mapping.llms:
        rows += _llm(folder / llm.file, llm, mapping)
    return Imported(rows={"ratings": rows}, skipped=dict(skipped))


def _person(path: Path, folder: Path, mapping: Potato, skipped: Counter[str]) -> Iterator[Row]:
    places = _places(path.with_name(ORDER), mapping)
    part = str(path.parent.parent.parent.relative_to(folder))
    for number, instance in _lines(path):
        name = str(instance.get("id"))
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
            raise ResponseError(f"{path}, line {number}: wanted label_annotations, got {labels!r}")
        for system, criterion, label in _asked(mapping):
            score, reason = _score(labels.get(label), f"{path}, line {number}, {label}")
            yield {**shared, "system": system, "criterion": criterion, "score": score, "missing_reason": reason}
        unknown = set(labels) - {label for *_, label in _asked(mapping)}
        if unknown:
            raise ResponseError(
                f"{path}, line {number}: label {min(unknown)!r} is none of the criteria's "
                f"({', '.join(mapping.criteria)} of {len(mapping.systems)} systems); add it to the mapping"
            )


def _asked(mapping: Potato) -> list[tuple[str, str, str]]:
    """Return system, criterion and label of every question of an item."""
    return [
        (system, criterion, criterion if number == 1 else f"{criterion}_{number}")
        for number, system in enumerate(mapping.systems, start=1)
        for criterion in mapping.criteria
    ]


def _score(answer: object, place: str) -> tuple[float | None, str | None]:
    """Read the one value of a radio group, such as ``{"scale_4": "4"}``."""
    if answer is None or answer == {}:
        return None, EMPTY
    if not isinstance(answer, dict):
        raise ResponseError(f"{place}: wanted a chosen value such as {{'scale_4': '4'}}, got {answer!r}")
    values = list(answer.values())
    if len(values) != 1:
        return None, f"{len(values)} values were chosen"
    try:
        return float(values[0]), None
    except (TypeError, ValueError):
        raise ResponseError(f"{place}: wanted a number, got {values[0]!r}") from None


def _seconds(instance: dict[str, Any], place: str) -> float | None:
    behaviour = instance.get("behavioral_data")
    told = behaviour.get("time_string") if isinstance(behaviour, dict) else None
    if told is None:
        return None
    found = TIME.search(str(told))
    if found is None:
        raise ResponseError(f"{place}: wanted a time such as 'Time spent: 0d 0h 1m 2s', got {told!r}")
    days, hours, minutes, seconds = map(int, found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _places(path: Path, mapping: Potato) -> dict[str, int]:
    """Return the place of each item in the order in which it was seen, from 1; empty where no order was kept."""
    if not path.is_file():
        return {}
    listed = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    items = [name for name in listed if name and not any(fnmatchcase(name, pattern) for pattern in mapping.skip)]
    return {name: place for place, name in enumerate(items, start=1)}


def _llm(path: Path, llm: LlmFile, mapping: Potato) -> Iterator[Row]:
    for number, instance in _lines(path):
        for system in mapping.systems:
            told = instance.get(system)
            if not isinstance(told, dict):
                raise ResponseError(f"{path}, line {number}: wanted the scores of {system!r}, got {told!r}")
            for criterion in mapping.criteria:
                score = told.get(criterion)
                if isinstance(score, bool) or not isinstance(score, int | float | None):
                    raise ResponseError(f"{path}, line {number}, {system}, {criterion}: wanted a number, got {score!r}")
                yield {
                    "annotator_id": llm.id,
                    "annotator_kind": "llm",
                    "item_id": str(instance.get("id")),
                    "system": system,
                    "criterion": criterion,
                    "score": None if score is None else float(score),
                    "missing_reason": EMPTY if score is None else None,
                }


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ResponseError(f"{path}: wanted a file of JSON lines in UTF-8, got: {error}") from error
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            read = json.loads(line)
        except json.JSONDecodeError as error:
            raise ResponseError(f"{path}, line {number}: wanted one JSON object, got: {error}") from error
        if not isinstance(read, dict):
            raise ResponseError(f"{path}, line {number}: wanted one JSON object, got {type(read).__name__}")
        yield number, read
