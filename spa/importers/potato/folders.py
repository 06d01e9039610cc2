"""Output folders of POTATO: one folder a task part, one folder a person in it.

Below the folder imported every ``annotation_output/PERSON/annotated_instances.jsonl`` is read. The order in which a
person saw the items stands in ``annotation_order.txt`` beside it; the lines of the answers are in another one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from spa.errors import PlatformError, ResponseError, how_to_install, shortened
from spa.importers.foreign_files import number_of
from spa.importers.label_scores import LabelScores
from spa.importers.potato.exports import EXPORT_NOTE, read_export
from spa.importers.potato.mapping import LlmFile, Potato
from spa.importers.potato.states import (
    STATE,
    ItemState,
    labels_of,
    pair_rows,
    part_of,
    ratings_of_several,
    read_states,
)
from spa.importers.tables import ImportedTables, Row
from spa.tables.json_lines import read_json_lines
from spa.tables.text_files import utf8_lines

OUTPUT = "annotation_output"
ANSWERS = "annotated_instances.jsonl"
ORDER = "annotation_order.txt"
TIME = re.compile(r"(\d+)d (\d+)h (\d+)m (\d+)s")
SCALE = re.compile(r"scale_([0-9]+)")  # the label of a point of a Likert scale
TEXT_BOX, FREE_RESPONSE = "text_box", "free_response"  # a text as the answer, and beside what was chosen
FIELDS = (TEXT_BOX, "number", "slider", "select-one")  # labels of fields whose value is the answer
NO_SCORE = ("bad_text", FREE_RESPONSE)  # chosen instead of a score
EMPTY = "empty"
CONFIG = "config.yaml"
MOST_OF_A_CONFIG = 1 << 20  # bytes


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


def questions_of(
    mapping: Potato, instances: Iterable[Instance], scores: LabelScores, otherwise: frozenset[str] = frozenset()
) -> Questions:
    """Return what was asked, from all answers; ``otherwise`` are questions that are read elsewhere.

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
    if not otherwise and asked >= set(mapping.criteria):
        raise ResponseError(f"criteria: expected one that is answered with scores, got texts alone of {min(asked)!r}")
    return Questions(
        systems=mapping.systems,
        criteria=tuple(criterion for criterion in mapping.criteria if criterion not in asked | otherwise),
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


def files_of_people(folder: Path, name: str) -> list[Path]:
    """Return the files of a name of all people, at any depth; those of ``annotation_output`` where it was given itself.

    What lies elsewhere below a folder, such as a copy, is none of them.
    """
    return sorted(folder.rglob(f"{OUTPUT}/*/{name}")) or sorted(folder.glob(f"*/{name}"))


def read_potato(folder: Path, mapping: Potato, scores: Mapping[str, float] | None = None) -> ImportedTables:
    """Read all people's answers below a folder, or an export of them, and those of the LLMs that the mapping names.

    The parts of a task lie in the folder at any depth. ``scores`` says what labels count that are no numbers. The
    ratings have one row an answer; a question that was left empty is missing with its reason. Raise ResponseError if a
    file is not what POTATO writes, a question is none of the criteria's, or a label has no score.
    """
    given = LabelScores(scores or {})
    skipped: Counter[str] = Counter()
    seen: list[tuple[Instance, Row]] = []
    if folder.is_file():
        config, above = _config(_places_of_config(folder)), folder.parent
        kept = read_export(folder, mapping, config, skipped)
    else:
        above, paths, states = folder, files_of_people(folder, ANSWERS), files_of_people(folder, STATE)
        _check_versions(folder, paths, states)
        config = _config(place for path in states for place in _places_of_config(path))
        kept = read_states(folder, states, mapping, skipped)
        seen += [found for path in paths for found in _instances(path, folder, mapping, skipped)]
    seen += [(Instance(place=one.place, labels=labels_of(one)), one.shared) for one in kept]
    made = pair_rows(kept, mapping, config)
    rows: list[Row] = [row for one in kept for row in ratings_of_several(one, mapping, given)]
    questions = questions_of(mapping, [instance for instance, _ in seen], given, frozenset(_schemas(kept)))
    asked = {label for one in kept for label in labels_of(one)} if kept else None
    for instance, shared in seen:
        rows += _rows(instance, shared, questions, given, asked)
    unread: dict[str, None] = {}
    for llm in mapping.llms:
        rows += _llm_rows(above / llm.file, llm, questions, given, unread)
    given.check(folder)
    skipped.update({f"label {label}": count for label, count in questions.ignored.items()})
    notes = _notes(folder, seen, questions, rows)
    if folder.is_file():
        notes.insert(0, EXPORT_NOTE)
    if unread:
        notes.append(f"not read: {shortened(', '.join(unread), 160)} of the LLMs' answers")
    if made.turned:
        notes.append(f"sides: {made.turned} answers were given with the second text on the left; they are turned back")
    if made.degrees:
        notes.append(f"degrees: {made.degrees} answers on a scale between two texts are choices by their sign alone")
    if made.several_texts:
        skipped["marked spans of several texts, of which POTATO does not say which"] += made.several_texts
    tables = {"ratings": rows, "choices": made.choices, "orders": made.orders, "spans": made.spans}
    return ImportedTables(rows=tables, skipped=dict(skipped), notes=tuple(notes))


def _schemas(states: Sequence[ItemState]) -> Iterator[str]:
    """Yield the questions that are answered otherwise than with one score or text."""
    for state in states:
        yield from (schema for schema in state.answers if schema not in labels_of(state))


def _check_versions(folder: Path, paths: Sequence[Path], states: Sequence[Path]) -> None:
    if paths and states:
        raise ResponseError(
            f"{folder}: expected the output of one version of POTATO, got {paths[0].relative_to(folder)} of 1.x and "
            f"{states[0].relative_to(folder)} of 2.x; import them one by one"
        )
    if not paths and not states:
        raise ResponseError(
            f"{folder}: expected files {OUTPUT}/*/{ANSWERS} or {STATE} at any depth, got none; name POTATO's output "
            "folder"
        )


def _places_of_config(path: Path) -> Iterator[Path]:
    """Yield where the configuration of a file of a person, or of an export, may lie: beside it or its output folder."""
    if path.name == STATE:
        yield path.parent.parent.parent / CONFIG
        yield path.parent.parent / CONFIG
        return
    yield path.with_name(CONFIG)
    yield from (above.parent / CONFIG for above in path.parents if above.name == OUTPUT)


def _config(places: Iterable[Path]) -> dict[str, Any] | None:
    """Return POTATO's configuration; nothing where there is none."""
    found = [path for path in dict.fromkeys(places) if path.is_file()]
    if not found:
        return None
    try:
        from yaml import YAMLError, safe_load
    except ImportError as error:
        raise PlatformError(f"{found[0]}: needs the package pyyaml: {how_to_install('importers')}") from error
    try:
        text = found[0].read_bytes()
        if len(text) > MOST_OF_A_CONFIG or len(found) > 1:
            raise ResponseError(f"{found[0]}: expected one config.yaml below 1 MB; import the parts one by one")
        read = safe_load(text)
    except (OSError, YAMLError, ValueError, RecursionError) as error:
        reason = shortened(str(error).replace(chr(10), " "), 120)
        raise ResponseError(f"{found[0]}: expected POTATO's configuration in YAML, got: {reason}") from error
    return read if isinstance(read, dict) else {}


def _instances(path: Path, folder: Path, mapping: Potato, skipped: Counter[str]) -> Iterator[tuple[Instance, Row]]:
    places = _places(path.with_name(ORDER), mapping)
    part = part_of(path, folder)
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


def _rows(
    instance: Instance, shared: Row, questions: Questions, scores: LabelScores, asked: Collection[str] | None = None
) -> Iterator[Row]:
    """Yield the ratings of an instance; a text stands once, beside the first rating of its system.

    Questions are those that somebody answered (``asked``), where that is said.
    """
    texts = questions.explanations(instance)
    for system, criterion, label in questions.score_labels():
        if asked is not None and label not in asked:
            continue
        score, reason, beside = score_of(instance.labels.get(label), f"{instance.place}, {label}", scores)
        explanations = [text for text in (beside, texts.pop(system, None)) if text]
        yield {
            **shared,
            "system": system,
            "criterion": criterion,
            "score": score,
            "explanation": "\n".join(explanations) or None,
            "missing_reason": reason,
        }


def _notes(folder: Path, seen: Sequence[tuple[Instance, Row]], questions: Questions, rows: Sequence[Row]) -> list[str]:
    people = {shared["annotator_id"] for _, shared in seen}
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
