"""What POTATO 2.x keeps of a person, ``user_state.json``: answers, spans, and the side on which each text was shown.

A question of two texts is answered by sides of the screen. What stood on a side is the item's list in the order that
the questions about the same texts gave it, one after the other: all of them were shown in that order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from spa.errors import ResponseError, shortened
from spa.importers.foreign_files import LIST, OBJECT, TEXT, number, of_kind, shown, whole
from spa.importers.label_scores import LabelScores
from spa.importers.potato.mapping import Potato
from spa.importers.tables import Row
from spa.tables.json_files import read_json

STATE = "user_state.json"
VALUES, SPANS = "instance_id_to_label_to_value", "instance_id_to_span_to_value"
ORDERS, BEHAVIOUR = "instance_id_to_presentation_order", "instance_id_to_behavioral_data"
SIDE, DEGREE, RANKS = "selection", "scale_value", "rank_order"  # names of the answers of a pair, and of a ranking
FIELDS = ("text_box", "free_response", "number", "slider", "select-one")  # whose name says nothing
WINNERS = {"A": "x", "B": "y", "tie": "tie"}
NO_ERRORS = "no errors"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemState:
    """What one person answered about one item: values by question and name, marked spans, orders by question."""

    place: str
    answers: Mapping[str, Mapping[str, str]]
    spans: Sequence[Mapping[str, Any]]
    orders: Mapping[str, Sequence[Any]]
    shared: Row


@dataclass(slots=True, kw_only=True)
class PairRows:
    """Rows of tables other than ratings, and what is said of them."""

    choices: list[Row] = field(default_factory=list)
    orders: list[Row] = field(default_factory=list)
    spans: list[Row] = field(default_factory=list)
    turned: int = 0
    degrees: int = 0
    several_texts: int = 0


def read_states(folder: Path, paths: Sequence[Path], mapping: Potato, skipped: Counter[str]) -> list[ItemState]:
    """Read all people's states; the person is the state's ``user_id``."""
    found = []
    for path in paths:
        state = of_kind(OBJECT, read_json(path), str(path))
        who = of_kind(TEXT, state.get("user_id"), f"{path}, user_id")
        order = [name for name in state.get("instance_id_ordering") or [] if not _skipped(name, mapping)]
        places = {name: place for place, name in enumerate(order, start=1)}
        values = of_kind(OBJECT, state.get(VALUES), f"{path}, {VALUES}")
        spans, orders, behaviour = (
            of_kind(OBJECT, state.get(name) or {}, f"{path}, {name}") for name in (SPANS, ORDERS, BEHAVIOUR)
        )
        part = part_of(path, folder)
        for item in dict.fromkeys((*values, *spans, *orders)):  # those that were shown
            place = f"{path}, {shortened(item, 40)}"
            pattern = next((pattern for pattern in mapping.skip if fnmatchcase(item, pattern)), None)
            if pattern is not None:
                skipped[pattern] += 1
                continue
            found.append(
                ItemState(
                    place=place,
                    answers=answered(_labelled(values.get(item), place), behaviour.get(item), place),
                    spans=[
                        {**of_kind(OBJECT, label, f"{place}, a span")} for label, _ in _pairs(spans.get(item), place)
                    ],
                    orders=of_kind(OBJECT, orders.get(item) or {}, f"{place}, {ORDERS}"),
                    shared={
                        "annotator_id": who,
                        "annotator_kind": "human",
                        "assignment_id": part,
                        "item_id": item,
                        "position": places.get(item),
                    },
                )
            )
    return found


def part_of(path: Path, folder: Path) -> str:
    """Return the part of the task to which a file of a person belongs: the folder above ``annotation_output``."""
    part = path.parent.parent.parent
    return str(part.relative_to(folder)) if part.is_relative_to(folder) else "."


def _skipped(name: object, mapping: Potato) -> bool:
    return any(fnmatchcase(str(name), pattern) for pattern in mapping.skip)


def _pairs(given: object, place: str) -> Iterator[tuple[Any, Any]]:
    for pair in of_kind(LIST, given or [], place):
        if not isinstance(pair, list) or len(pair) != 2:
            raise ResponseError(f"{place}: expected pairs of a label and its value, got {shown(pair)}")
        yield pair[0], pair[1]


def _labelled(given: object, place: str) -> Iterator[tuple[str, str, object]]:
    """Yield question, name and value of each label of a state."""
    for label, value in _pairs(given, place):
        of_kind(OBJECT, label, f"{place}, a label")
        schema = of_kind(TEXT, label.get("schema"), f"{place}, schema")
        yield schema, of_kind(TEXT, label.get("name"), f"{place}, {schema}, name"), value


def answered(selected: Iterable[tuple[str, str, object]], behaviour: object, place: str) -> dict[str, dict[str, str]]:
    """Return the values by question and name; of several chosen points of one scale the latest that was selected."""
    answers: dict[str, dict[str, str]] = {}
    for schema, name, value in selected:
        if value is None:
            continue
        text = str(value).strip() if isinstance(value, str | bool) else None
        if text is None:
            raise ResponseError(f"{place}, {schema}: expected one text or number, got {shown(value)}")
        answers.setdefault(schema, {})[name] = text
    for schema, chosen in answers.items():
        points = [name for name, text in chosen.items() if name in (f"scale_{text}", text) and text.isdecimal()]
        if len(points) > 1 and len(points) == len(chosen):
            latest = _latest(behaviour, schema, points)
            if latest is None:
                listed = shortened(", ".join(chosen.values()), 60)
                raise ResponseError(
                    f"{place}, {schema}: expected one point of the scale, got {listed}, as an earlier version kept "
                    "points that were taken back, and no annotation_changes that say which came last; leave the item "
                    f"or the question out by skip or ignore = [{schema!r}]"
                )
            answers[schema] = {latest: chosen[latest]}
    return answers


def _latest(behaviour: object, schema: str, points: Sequence[str]) -> str | None:
    changes = behaviour.get("annotation_changes") if isinstance(behaviour, dict) else None
    found = [
        (number(one.get("timestamp"), "timestamp") or 0.0, place, str(one.get("label_name")))
        for place, one in enumerate(changes if isinstance(changes, list) else [])
        if isinstance(one, dict) and one.get("schema_name") == schema and one.get("action") == "select"
    ]
    known = [one for one in found if one[2] in points]
    return max(known)[2] if known else None


def labels_of(state: ItemState) -> dict[str, dict[str, str]]:
    """Return the answers that are scores or texts as earlier versions named them: the value, of a field its name."""
    found: dict[str, dict[str, str]] = {}
    for schema, chosen in state.answers.items():
        if is_pair(chosen) or RANKS in chosen or several(chosen):
            continue
        found[schema] = {name if name in FIELDS else text: text for name, text in chosen.items()}
    return found


def several(chosen: Mapping[str, str]) -> bool:
    """Whether a question asks several things that each have a number: what its names say."""
    return all(name != text and name not in FIELDS and not name.startswith("scale_") for name, text in chosen.items())


def is_pair(chosen: Mapping[str, str]) -> bool:
    """Whether a question compares two texts: as a whole, by a scale, or in several ways."""
    return SIDE in chosen or DEGREE in chosen or (bool(chosen) and set(chosen.values()) <= set(WINNERS))


def pair_rows(states: Sequence[ItemState], mapping: Potato, config: Mapping[str, Any] | None) -> PairRows:
    """Return the choices, rankings and spans of all states."""
    made = PairRows()
    texts = _texts(states, mapping, config)
    asked: dict[str, dict[str, None]] = {}  # what each question asks, by somebody's answer
    for state in states:
        for schema, chosen in state.answers.items():
            asked.setdefault(schema, {}).update(dict.fromkeys(chosen))
    for state in states:
        for schema, chosen in state.answers.items():
            if any(fnmatchcase(schema, pattern) for pattern in mapping.ignore):
                continue
            if RANKS in chosen:
                made.orders += _ranks(state, schema, chosen[RANKS], mapping)
            elif is_pair(chosen):
                made.choices += _choices(state, schema, chosen, mapping, texts, made)
        for schema in sorted(set(texts) & set(mapping.criteria) - set(state.answers)):
            made.choices += _choices(state, schema, dict.fromkeys(asked[schema], ""), mapping, texts, made)
        made.spans += _spans(state, mapping, made)
    return made


def ratings_of_several(state: ItemState, mapping: Potato, scores: LabelScores) -> Iterator[Row]:
    """Yield the ratings of questions that ask several things: of systems by their names, else each a criterion."""
    for schema, chosen in state.answers.items():
        ignored = any(fnmatchcase(schema, pattern) for pattern in mapping.ignore)
        if ignored or is_pair(chosen) or RANKS in chosen or not several(chosen):
            continue
        base, system = _suffixed(schema, mapping, state.place)
        for name, text in chosen.items():
            named = {"system": name, "criterion": base} if name in mapping.systems else {"criterion": name}
            yield {**state.shared, "system": system, **named, "score": scores.of(text)}


def _suffixed(schema: str, mapping: Potato, place: str) -> tuple[str, str]:
    """Return the criterion and the system of a question: that of the second system ends in ``_2``."""
    for at, system in enumerate(mapping.systems, start=1):
        for criterion in mapping.criteria:
            if schema == (criterion if at == 1 else f"{criterion}_{at}"):
                return criterion, system
    raise ResponseError(
        f"{place}: label {shortened(repr(schema))} is none of the criteria's "
        f"({shortened(', '.join(mapping.criteria), 160)}); add it to criteria in the mapping, or leave it out by "
        "ignore = [...]"
    )


def _texts(states: Sequence[ItemState], mapping: Potato, config: Mapping[str, Any] | None) -> dict[str, list[str]]:
    """Return, for each question about two texts, the questions about the same texts that may have turned them."""
    asked = {
        schema
        for state in states
        for schema, chosen in state.answers.items()
        if is_pair(chosen) and RANKS not in chosen
    }
    turning = {schema for state in states for schema, order in state.orders.items() if _is_places(order)}
    if config is None:
        if len(asked | turning) > 1 and turning:
            first = next(state.place for state in states if state.orders)
            raise ResponseError(
                f"{first}: questions {shortened(', '.join(sorted(asked | turning)), 120)} compare texts and some turn "
                "them; expected POTATO's config.yaml beside annotation_output, which says which have the same "
                "items_key; copy it there"
            )
        return {schema: sorted(turning) for schema in asked}
    schemes = config.get("annotation_schemes")
    listed = [one for one in schemes if isinstance(one, dict)] if isinstance(schemes, list) else []
    keys = {str(one.get("name")): one.get("items_key") for one in listed}
    unknown = sorted(schema for schema in asked | turning if schema not in keys)
    if unknown:
        raise ResponseError(f"config.yaml: expected the question {unknown[0]!r} among annotation_schemes, got none")
    return {schema: [name for name in keys if name in turning and keys[name] == keys[schema]] for schema in asked}


def _is_places(order: object) -> bool:
    return (
        isinstance(order, list) and len(order) > 1 and sorted(map(str, order)) == [str(at) for at in range(len(order))]
    )


def _choices(
    state: ItemState,
    schema: str,
    chosen: Mapping[str, str],
    mapping: Potato,
    texts: Mapping[str, Sequence[str]],
    made: PairRows,
) -> Iterator[Row]:
    if schema not in mapping.criteria:
        _suffixed(schema, mapping, state.place)
    if len(mapping.systems) != 2:
        raise ResponseError(
            f"{state.place}, {schema}: expected two systems in the mapping, those of the first and the second text, "
            f"got {len(mapping.systems)}"
        )
    shown_order = list(mapping.systems)
    for name in texts[schema]:
        order = state.orders.get(name)
        if order is not None:
            if not _is_places(order) or len(order) != 2:
                raise ResponseError(f"{state.place}, {ORDERS}, {name}: expected the places 0 and 1, got {shown(order)}")
            shown_order = [shown_order[whole(at, state.place)] for at in order]
    made.turned += any(chosen.values()) and shown_order != list(mapping.systems)
    for name, text in chosen.items():
        if name == DEGREE:
            degree = number(text, f"{state.place}, {schema}")
            made.degrees += degree is not None
            winner = None if degree is None else "x" if degree < 0 else "y" if degree > 0 else "tie"
        elif text in WINNERS or not text:
            winner = WINNERS.get(text)
        else:
            raise ResponseError(f"{state.place}, {schema}: expected A, B or tie, got {shown(text)}")
        if shown_order != list(mapping.systems):
            winner = {"x": "y", "y": "x"}.get(winner or "", winner)
        row = {key: value for key, value in state.shared.items() if key != "position"}
        yield {
            **row,
            "system_x": mapping.systems[0],
            "system_y": mapping.systems[1],
            "criterion": schema if name in (SIDE, DEGREE) else name,
            "winner": winner,
            "missing_reason": "empty" if winner is None else None,
        }


def _ranks(state: ItemState, schema: str, text: str, mapping: Potato) -> Iterator[Row]:
    """Yield the ranks: labels are told apart by those that the question has, as one may hold a comma itself."""
    labels = [str(label) for label in state.orders.get(schema) or mapping.systems]
    left, ranked = text, list[str]()
    while left:
        fits = [label for label in labels if label not in ranked and f"{left},".startswith(f"{label},")]
        if not fits:
            raise ResponseError(
                f"{state.place}, {schema}: expected an order of {shortened(', '.join(labels), 120)}, got {shown(text)}"
            )
        ranked.append(max(fits, key=len))
        left = left[len(ranked[-1]) + 1 :]
    row = {key: value for key, value in state.shared.items() if key != "position"}
    unknown = [label for label in ranked if label not in mapping.systems]
    if unknown:
        raise ResponseError(
            f"{state.place}, {schema}: expected ranks of the systems {shortened(', '.join(mapping.systems), 120)}, got "
            f"{shown(unknown[0])}; add it to systems, or leave the question out by ignore = [{schema!r}]"
        )
    for rank, label in enumerate(ranked, start=1):
        yield {**row, "system": label, "criterion": schema, "rank": rank}


def _spans(state: ItemState, mapping: Potato, made: PairRows) -> Iterator[Row]:
    if len(mapping.systems) != 1:
        made.several_texts += len(state.spans)
        return
    row = {key: value for key, value in state.shared.items() if key != "position"} | {"system": mapping.systems[0]}
    for span in state.spans:
        place = f"{state.place}, a span"
        yield {
            **row,
            "start": whole(span.get("start"), f"{place}, start"),
            "end": whole(span.get("end"), f"{place}, end"),
            "severity": of_kind(TEXT, span.get("name", span.get("span")), f"{place}, name"),
            "criterion": str(span.get("schema") or "overall"),
        }
