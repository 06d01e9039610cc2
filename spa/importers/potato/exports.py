"""What POTATO 2.x writes for others: CSV, TSV and JSONL with a row a person and item.

In CSV a question has a column for each label that anybody chose, ``fluency.4``; one column ``fluency`` holds the answer
where earlier versions kept several. The order in which two texts were shown is in none of these files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from spa.errors import ResponseError, shortened
from spa.importers.foreign_files import LIST, OBJECT, of_kind, shown
from spa.importers.foreign_rows import ForeignRow, read_rows
from spa.importers.potato.mapping import Potato
from spa.importers.potato.states import STATE, ItemState, answered, is_pair
from spa.tables.json_files import json_value

IDS = ("instance_id", "user_id")
ORIGIN = "annotator_origin"
OTHERS = (ORIGIN, f"{ORIGIN}_detail", "engine_purpose", "engine_request", "links")  # columns that hold no answer
SPANS, ROOM = "._spans", "._room"  # ends of columns: spans as JSON, and from which chat room an answer comes
KINDS = {"human": "human", "llm": "llm"}
EXPORT_NOTE = "an export may be older than the answers, and lacks items that were left blank; user_state.json has all"
TURNING = ("randomize_order", "option_randomization")


def read_export(
    path: Path, mapping: Potato, config: Mapping[str, Any] | None, skipped: Counter[str]
) -> list[ItemState]:
    """Read an export as what the persons' states hold, without orders.

    Raise ResponseError where a question compares two texts, unless POTATO's configuration says that none were turned.
    """
    _check_no_states(path)
    schemas = _schemas(mapping, config)
    found: list[ItemState] = []
    seen: dict[tuple[str, str], str] = {}
    for row in read_rows(path, IDS):
        item, who = row.name("instance_id"), row.name("user_id")
        pattern = next((pattern for pattern in mapping.skip if fnmatchcase(item, pattern)), None)
        if pattern is not None:
            skipped[pattern] += 1
            continue
        kind = _kind(row)
        if kind is None:
            skipped["answers of tools that are neither people nor LLMs"] += 1
            continue
        if (who, item) in seen:
            raise ResponseError(
                f"{row.place}: expected one row a person and item, got another one of {shortened(who, 40)!r} on "
                f"{shortened(item, 40)!r} ({shortened(seen[who, item], 120)}); leave one out"
            )
        seen[who, item] = row.place
        answers = answered(_values(row, schemas), None, row.place)
        _check_sides(answers, config, path)
        found.append(
            ItemState(
                place=row.place,
                answers=answers,
                spans=list(_spans(row)),
                orders={},
                shared={
                    "annotator_id": who,
                    "annotator_kind": kind,
                    "assignment_id": ".",
                    "item_id": item,
                    "position": None,
                },
            )
        )
    return found


def _check_no_states(path: Path) -> None:
    output = next((above for above in path.parents if above.name == "annotation_output"), None)
    if output is not None and any(output.glob(f"*/{STATE}")):
        raise ResponseError(
            f"{path}: expected answers that are not older than those beside it, got a file that POTATO writes once a "
            f"minute at most; give the folder {output}, whose {STATE} has all"
        )


def _kind(row: ForeignRow) -> str | None:
    given = row.cells.get(ORIGIN)
    if isinstance(given, dict):
        given = given.get("kind")
    return KINDS.get(str(given or "human"))


def _schemas(mapping: Potato, config: Mapping[str, Any] | None) -> list[str]:
    """Return all names of questions that are known, the longest first, as a name may hold a point."""
    listed = config.get("annotation_schemes") if config else None
    names = {str(one.get("name")) for one in listed if isinstance(one, dict)} if isinstance(listed, list) else set()
    for at in range(1, len(mapping.systems) + 1):
        names |= {criterion if at == 1 else f"{criterion}_{at}" for criterion in mapping.criteria}
    return sorted(names, key=len, reverse=True)


def _values(row: ForeignRow, schemas: Sequence[str]) -> Iterator[tuple[str, str, object]]:
    """Yield question, label and value of each answer of a row."""
    labels = row.cells.get("labels")
    if isinstance(labels, dict):
        for schema, chosen in labels.items():
            for name, value in of_kind(OBJECT, chosen, f"{row.place}, {schema}").items():
                yield schema, name, value
        return
    settled = {column for column in row.cells if column in schemas and row.text(column) is not None}
    for column in row.cells:
        if column in (*IDS, *OTHERS, "spans") or column.endswith(SPANS) or ROOM in column:
            continue
        value = row.text(column)
        schema = next((one for one in schemas if column == one or column.startswith(f"{one}.")), None)
        if schema is None:
            schema = column.partition(".")[0]
        name = column[len(schema) + 1 :] or value
        if value is not None and name is not None and (schema not in settled or column == schema):
            yield schema, name, value


def _check_sides(answers: Mapping[str, Mapping[str, str]], config: Mapping[str, Any] | None, path: Path) -> None:
    schema = next((schema for schema, chosen in answers.items() if is_pair(chosen)), None)
    if schema is None:
        return
    listed = config.get("annotation_schemes") if config else None
    if isinstance(listed, list) and not any(
        isinstance(one, dict) and any(one.get(key) for key in TURNING) for one in listed
    ):
        return
    why = "config.yaml turns texts" if listed else "no config.yaml beside it says that none were turned"
    raise ResponseError(
        f"{path}: expected POTATO's output folder for {shortened(repr(schema), 60)}, which compares two texts by sides "
        f"of the screen, got an export, in which what stood there is not ({why}); give the folder with user_state.json"
    )


def _spans(row: ForeignRow) -> Iterator[Mapping[str, Any]]:
    given = row.cells.get("spans")
    lists = list(given.values()) if isinstance(given, dict) else []
    for column, value in row.cells.items():
        if column.endswith(SPANS) and value is not None and value != "":
            place = f"{row.place}, {column}"
            lists.append(json_value(value, place) if isinstance(value, str) else value)
    for one in lists:
        for span in of_kind(LIST, one, f"{row.place}, spans"):
            if not isinstance(span, dict):
                raise ResponseError(f"{row.place}, spans: expected an object, got {shown(span)}")
            yield span
