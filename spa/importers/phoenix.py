"""Annotations of spans in Arize Phoenix: what people and LLM judges gave, beside the spans that they are about."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from spa.errors import ResponseError, TableError, shortened
from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest, key_options
from spa.importers.foreign_files import OBJECT, beginning, counted, of_kind, shown
from spa.importers.label_scores import LabelScores, score_option

if TYPE_CHECKING:
    from spa.importers.foreign_rows import ForeignRow
    from spa.importers.tables import ImportedTables, Row

KIND, IDENTIFIER, NAMES = "annotator_kind", "identifier", ("annotation_name", "name")
SPAN_ID, INDEX = "span_id", "context.span_id"
TWICE = f"{INDEX},".encode()  # pandas writes the index of a table of spans, and the column again
KINDS = {"HUMAN": "human", "LLM": "llm"}
NOTE = "note"
UNNAMED_LLM = "unnamed LLM"
SYSTEM, ITEM = "attributes.llm.model_name", "attributes.input.value"
LOOKED = len(TWICE) + 3  # bytes in which the first name stands, behind a byte order mark
LOOKED_AT = 20  # files of a folder by which it is recognised
SUFFIXES = (".csv", ".json", ".jsonl", ".ndjson", ".parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class _SpanAnnotation:
    """One annotation: its place, the span that it is about, and its cells."""

    place: str
    span: str
    cells: Mapping[str, Any]

    def value(self, name: str) -> Any:
        """Return a part of the result, in a column of its own or in an object."""
        if f"result.{name}" in self.cells:
            return self.cells[f"result.{name}"]
        return of_kind(OBJECT, self.cells.get("result") or {}, f"{self.place}, result").get(name)


@dataclass(slots=True, kw_only=True)
class _Annotated:
    """What was read, and what was left out."""

    annotations: list[_SpanAnnotation] = field(default_factory=list)
    spans: dict[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)  # id -> place and record
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def _is_annotations(names: frozenset[str]) -> bool:
    return {KIND, IDENTIFIER} <= names and not names.isdisjoint(NAMES)


def _is_spans(names: frozenset[str]) -> bool:
    return "span_kind" in names and (INDEX in names or {"context", SPAN_ID} <= names)


def _recognise(path: Path) -> Fit:
    """By columns of annotations or spans; of a folder by the annotations in it."""
    from spa.importers.foreign_rows import names_at_beginning

    if path.is_dir():
        inside = islice((one for one in path.glob("*") if one.suffix.lower() in SUFFIXES), LOOKED_AT)
        found = any(_is_annotations(names_at_beginning(one)) for one in inside if one.is_file())
        return Fit.CERTAIN if found else Fit.NONE
    names = names_at_beginning(path)
    return Fit.CERTAIN if _is_annotations(names) or _is_spans(names) else Fit.NONE


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.foreign_rows import files_below
    from spa.importers.tables import ImportedTables

    found = _Annotated()
    for path in files_below(request.paths, lambda one: _recognise(one) == Fit.CERTAIN, "annotations of Phoenix"):
        _add_file(path, found)
    if not found.annotations:
        raise ResponseError(
            f"{request.paths[0]}: expected annotations (get_span_annotations_dataframe), got none; name their file "
            "beside that of the spans"
        )
    options = request.options
    scores = LabelScores(options.get("scores") or {})
    rows = list(_rows(found, options.get("system"), options.get("item"), scores))
    scores.check(request.paths[0])
    systems: defaultdict[object, set[object]] = defaultdict(set)
    for row in rows:
        systems[row["item_id"]].add(row["system"])
    if len({one for own in systems.values() for one in own}) > 1 and all(len(own) < 2 for own in systems.values()):
        found.notes.append("no item has values of two systems; say what names the item with --item-key")
    skipped = {what: n for what, n in found.skipped.items() if n}
    return ImportedTables(rows={"ratings": rows}, skipped=skipped, notes=tuple(found.notes))


def _add_file(path: Path, found: _Annotated) -> None:
    from spa.importers.foreign_rows import names_at_beginning

    annotations = _is_annotations(names_at_beginning(path))
    for place, record in _records(path, found):
        context = record.get("context")
        span = record.get(INDEX) or (context.get(SPAN_ID) if isinstance(context, dict) else None)
        span = span or record.get(SPAN_ID)
        if not span:
            raise ResponseError(
                f"{place}: expected {SPAN_ID}, got none; it is the table's index, so write it with the table "
                "(reset_index); annotations of traces, sessions and documents are not read"
            )
        if not annotations or "span_kind" in record:
            found.spans[str(span)] = place, record
        if annotations and record.get(KIND) is None and "span_kind" in record:
            found.skipped["spans without an annotation"] += 1
        elif annotations:
            found.annotations.append(_SpanAnnotation(place=place, span=str(span), cells=record))


def _records(path: Path, found: _Annotated) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the records of a table or list with their places; of a page of the REST interface what it holds."""
    from spa.tables.json_files import read_json

    if path.suffix.lower() == ".json":
        whole = read_json(path)
        if isinstance(whole, dict) and isinstance(whole.get("data"), list):
            if whole.get("next_cursor"):
                found.notes.append(
                    f"{path}: a page of several (next_cursor): the annotations of the others are missing"
                )
            whole = whole["data"]
        if isinstance(whole, list):
            places = ((f"{path}, row {at}", one) for at, one in enumerate(whole, start=1))
            yield from ((place, of_kind(OBJECT, one, place)) for place, one in places)
            return
    yield from ((row.place, row.cells) for row in _table(path))


def _table(path: Path) -> list[ForeignRow]:
    """Return the rows of a table; of a CSV file that has the span's id twice the first column is its index."""
    from spa.importers.foreign_rows import ForeignRow, read_rows

    start = beginning(path)
    header = start.partition(b"\n")[0]
    if path.suffix.lower() != ".csv" or not header.startswith(TWICE) or TWICE[:-1] not in header[len(TWICE) :]:
        return read_rows(path)
    with TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        with path.open("rb") as before, copy.open("wb") as after:
            before.seek(before.read(LOOKED).index(TWICE) + len(TWICE))
            after.write(b"index,")
            shutil.copyfileobj(before, after)
        try:
            return [
                ForeignRow(place=row.place.replace(str(copy), str(path), 1), cells=row.cells) for row in read_rows(copy)
            ]
        except (TableError, ResponseError) as error:
            raise TableError(str(error).replace(str(copy), str(path))) from error


def _rows(found: _Annotated, system: str | None, item: str | None, scores: LabelScores) -> Iterator[Row]:
    """Yield the values of people and LLM judges."""
    again, nameless, shared = 0, 0, set()
    answers = []
    for one in found.annotations:
        kind, name = str(one.cells.get(KIND)), _name(one)
        if name == NOTE:
            found.skipped["notes, which are no answers"] += 1
        elif kind not in KINDS:
            found.skipped[f"annotations of {kind}, which is neither a person nor an LLM"] += 1
        else:
            answers.append((one, KINDS[kind], name))
    cells = {one.span: _about(one, found, system, item) for one, _, _ in answers}
    outputs: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for span, cell in cells.items():
        outputs[cell].append(span)
    several = any(len(spans) > 1 for spans in outputs.values())
    people = {_who(one, kind) for one, kind, _ in answers if kind == "human"}
    for one, kind, name in answers:
        cell = cells[one.span]
        again += one.cells.get("updated_at") != one.cells.get("created_at")
        nameless += not one.cells.get(IDENTIFIER)
        who = _who(one, kind)
        if kind != "human" and who in people:
            shared.add(who)
            who = f"{who} (LLM)"
        yield {
            "annotator_id": who,
            "annotator_kind": kind,
            "item_id": cell[0],
            "system": cell[1],
            "criterion": name,
            **({"sample": str(sorted(outputs[cell]).index(one.span) + 1)} if several else {}),
            **_value(one, scores),
        }
    keys = (system or f"{SYSTEM} (--system-key names another)", item or f"{ITEM} (--item-key names another)")
    found.notes.append(f"read: {counted(len(answers), 'annotation')} of {counted(len(cells), 'span')}")
    found.notes.append(f"the system is {keys[0]}, the item {keys[1]}")
    found.notes.append(
        "Phoenix keeps one annotation a span, name and identifier: earlier ones of anybody, such as a person's by a "
        f"judge, may have been replaced ({again} were changed after they were made)"
    )
    if nameless:
        found.notes.append(f"{nameless} have an empty identifier, which names nobody")
    if shared:
        found.notes.append(
            f"{counted(len(shared), 'identifier')} of a person stand on values of an LLM, too, which may have replaced "
            "the person's; the LLM's are (LLM)"
        )
    if several:
        found.notes.append("samples: several spans of one item and system are numbered by their ids")


def _who(one: _SpanAnnotation, kind: str) -> str:
    from spa.importers.tables import UNNAMED

    return str(one.cells.get(IDENTIFIER) or "").strip() or (UNNAMED if kind == "human" else UNNAMED_LLM)


def _name(one: _SpanAnnotation) -> str:
    """Return the annotation's name; where spans stand beside it, ``name`` is the span's."""
    name = next((one.cells[key] for key in NAMES if one.cells.get(key)), None)
    if not isinstance(name, str):
        raise ResponseError(f"{one.place}: expected the name of an annotation, got {shown(name)}")
    return name.strip()


def _about(one: _SpanAnnotation, found: _Annotated, system: str | None, item: str | None) -> tuple[str, str]:
    """Return item and system, which the span says, or the annotation itself."""
    place, span = found.spans.get(one.span, ("", {}))
    if not span and not found.spans and (system is None or item is None):
        raise ResponseError(
            f"{one.place}: expected its span, which says system and item, got annotations alone; name the table of "
            "get_spans_dataframe beside this file, or keys of these with --system-key and --item-key"
        )
    if not span and found.spans:
        raise ResponseError(
            f"{one.place}: expected the span {shortened(one.span, 40)} among {len(found.spans):,} spans, got none; "
            "get_spans_dataframe takes 1,000 unless limit says more"
        )
    record = {**one.cells, **span}
    place = place or one.place
    return _at(record, item or ITEM, "--item-key", place), _at(record, system or SYSTEM, "--system-key", place)


def _at(record: Mapping[str, Any], path: str, option: str, place: str) -> str:
    from spa.tables.paths import follow

    try:
        value = follow(dict(record), path)
    except TableError:  # a text that is no JSON
        value = None
    if value is None or isinstance(value, dict | list) or not str(value).strip():
        before = path.rpartition(".")[0]
        printed = before and isinstance(text := record.get(before), str) and text.startswith(("{'", "[{"))
        more = "; pandas wrote objects as Python does, take Parquet or JSON" if printed else ""
        raise ResponseError(
            f"{place}: expected a text at {shortened(path, 60)}, got {shown(value)}; name the key with {option}{more}; "
            f"there are: {shortened(', '.join(record), 160)}"
        )
    return str(value).strip()


def _value(one: _SpanAnnotation, scores: LabelScores) -> Row:
    """Return the score of an annotation, else that of its label."""
    from spa.importers.foreign_files import number

    score, label, said = (one.value(name) for name in ("score", "label", "explanation"))
    row: Row = {"explanation": said.strip()} if isinstance(said, str) and said.strip() else {}
    if isinstance(score, float) or (score is not None and str(score).strip().lower() not in ("", "nan")):
        value = number(str(score), f"{one.place}, result.score")
        if value is not None:
            return {**row, "score": value}
    if label is None or isinstance(label, list | dict) or not str(label).strip():
        return {**row, "score": None, "missing_reason": "no value"}
    return {**row, "score": scores.of(str(label).strip())}


FORMAT = AnswerFormat(
    key="phoenix",
    description="Read annotations of spans in Arize Phoenix.\n\n"
    "FILE is the table of get_span_annotations_dataframe (or the list of get_span_annotations) and that of the spans "
    "(get_spans_dataframe), or both joined. The system is the span's model unless --system-key names a key, the item "
    "its input unless --item-key does.",
    details="An annotation's score counts, else what --score says of its label. An empty identifier names nobody; what "
    "code gave (CODE) and notes are left out.",
    example="spa import phoenix annotations.parquet spans.parquet --item-key attributes.metadata.item --out tables",
    options=(
        *key_options(),
        score_option(),
    ),
    meaning=FileMeaning(
        missing="neither score nor label",
        left_out="CODE, notes; what a later annotation of the same name and identifier replaced is gone",
        seen="Phoenix 20.26.1",
        source="https://arize.com/docs/phoenix",
    ),
    recognise=_recognise,
    read=_read,
)
