"""Feedback in MLflow's traces: what people and LLM judges gave, and who a correction belongs to."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spa.errors import ResponseError, TableError, shortened
from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest, key_options
from spa.importers.foreign_files import LIST, OBJECT, TEXT, beginning, counted, of_kind, shown
from spa.importers.label_scores import LabelScores, score_option
from spa.tables.json_files import json_value, read_json
from spa.tables.source import Number

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables, Row

WORDS = {"yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}  # of MLflow's own judges
KINDS = {"HUMAN": "human", "LLM_JUDGE": "llm", "AI_JUDGE": "llm"}
RUN = ("mlflow.modelId", "mlflow.sourceRun")  # what a trace's metadata says of the system, where nothing else does


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One trace: its place, id, assessments, and all that a path may lead into."""

    place: str
    id: str
    assessments: Sequence[Mapping[str, Any]]
    record: Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class _Feedback:
    """What was read, and what was left out."""

    rows: list[Row] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    corrected: int = 0


def read_traces(path: Path) -> Iterator[Trace]:
    """Yield the traces of a table of search_traces, or of traces as JSON."""
    from spa.importers.foreign_rows import read_rows

    whole = read_json(path) if path.suffix.lower() == ".json" else None
    if isinstance(whole, dict) and "info" in whole:
        records: Sequence[tuple[str, Mapping[str, Any]]] = [(str(path), whole)]
    elif isinstance(whole, list):
        records = [(f"{path}, row {at}", one) for at, one in enumerate(whole, start=1)]
    else:
        records = [(row.place, row.cells) for row in read_rows(path)]
    for place, given in records:
        record = {name: _decoded(value, f"{place}, {name}") for name, value in of_kind(OBJECT, given, place).items()}
        info = of_kind(OBJECT, record.get("info") or {}, f"{place}, info")
        record = {**info, **record}
        name = record.get("trace_id") or record.get("request_id")
        listed = of_kind(LIST, record.get("assessments") or [], f"{place}, assessments")
        yield Trace(
            place=place,
            id=of_kind(TEXT, name, f"{place}, trace_id"),
            assessments=[of_kind(OBJECT, _decoded(one, place), f"{place}, assessments") for one in listed],
            record=record,
        )


def _decoded(value: object, place: str) -> object:
    """Return what a cell holds: lists and objects of a CSV file are written as JSON."""
    if isinstance(value, str) and not isinstance(value, Number) and value[:1] in ("{", "[", '"'):
        try:
            return json_value(value, place)
        except TableError as error:
            if value[:1] == '"' or not place.endswith("assessments"):
                return value
            raise ResponseError(f"{place}: expected JSON, got {shown(value)}; save the table as JSONL") from error
    return value


def _at(trace: Trace, path: str, option: str) -> str:
    """Return the text at a path of keys, joined by dots; a key may hold dots itself."""
    value: object = trace.record
    left = path
    while left:
        if not isinstance(value, dict):
            raise _absent(trace, path, option)
        key = max((key for key in value if f"{left}.".startswith(f"{key}.")), key=len, default=None)
        if key is None:
            raise _absent(trace, path, option)
        value, left = value[key], left[len(key) + 1 :]
    if isinstance(value, dict | list) or value is None or not str(value).strip():
        raise _absent(trace, path, option)
    return str(value).strip()


def _absent(trace: Trace, path: str, option: str) -> ResponseError:
    there = shortened(", ".join(trace.record), 120)
    return ResponseError(
        f"{trace.place}: {option} {shortened(path, 40)}: expected a text there, got none; keys: {there}"
    )


def _system(trace: Trace, path: str | None) -> str:
    if path is not None:
        return _at(trace, path, "--system-key")
    metadata = trace.record.get("trace_metadata") or trace.record.get("request_metadata") or {}
    found = next((metadata[name] for name in RUN if isinstance(metadata, dict) and metadata.get(name)), None)
    if not isinstance(found, str):
        raise ResponseError(
            f"{trace.place}: expected what says which system answered, got no {' or '.join(RUN)}; name it, such as "
            f"--system-key request.model; keys: {shortened(', '.join(trace.record), 120)}"
        )
    return found


def _item(trace: Trace, path: str | None) -> str:
    """Return the item: what a path leads to, else the whole request."""
    if path is not None:
        return _at(trace, path, "--item-key")
    given = trace.record.get("request", trace.record.get("request_preview"))
    if given is None or given == "":
        raise ResponseError(
            f"{trace.place}: expected a request, which is the item, got none; name the item with --item-key"
        )
    return str(given).strip() if isinstance(given, str) else json.dumps(given, sort_keys=True, ensure_ascii=False)


def _source(one: Mapping[str, Any], place: str) -> tuple[str, str]:
    source = of_kind(OBJECT, one.get("source") or {}, f"{place}, source")
    return str(source.get("source_type")), str(source.get("source_id") or "default")


def _who(one: Mapping[str, Any], by_id: Mapping[str, Mapping[str, Any]], place: str) -> tuple[str, str] | None:
    """Return kind and name of who gave a value; that of a correction by nobody named is the person corrected."""
    seen: set[str] = set()
    kind, name = _source(one, place)
    while kind not in KINDS and one.get("overrides") is not None:
        before = str(one["overrides"])
        if before in seen or before not in by_id:
            return None
        seen.add(before)
        one = by_id[before]
        kind, name = _source(one, place)
        if kind in KINDS and KINDS[kind] != "human":
            return None  # who corrected an LLM is not said
    return (KINDS[kind], name) if kind in KINDS else None


def _add(trace: Trace, shared: Row, scores: LabelScores, made: _Feedback) -> None:
    by_id = {str(one.get("assessment_id")): one for one in trace.assessments}
    latest: dict[tuple[str, ...], tuple[str, Row]] = {}
    for one in trace.assessments:
        place = f"{trace.place}, assessments"
        if one.get("expectation") is not None:
            made.skipped["expectations, which are no answers"] += 1
        elif one.get("valid") is False or one.get("valid") == "False":
            made.skipped["values that were withdrawn or corrected (valid false)"] += 1
        elif one.get("issue") is not None:
            made.skipped["issues, which are no answers"] += 1
        else:
            who = _who(one, by_id, place)
            if who is None:
                what = "whose person is not known" if one.get("overrides") is not None else "of code (CODE)"
                made.skipped[f"values {what}"] += 1
                continue
            made.corrected += one.get("overrides") is not None and _source(one, place)[0] not in KINDS
            at = str(one.get("last_update_time") or one.get("create_time") or "")
            for criterion, value in _values(one, place, scores, made):
                row = {**shared, "annotator_id": who[1], "annotator_kind": who[0], "criterion": criterion, **value}
                key = (*who, criterion)
                before = latest.get(key)
                made.skipped["earlier values of the same annotator"] += before is not None
                if before is None or before[0] <= at:
                    latest[key] = at, row
    made.rows += [row for _, row in latest.values()]


def _values(one: Mapping[str, Any], place: str, scores: LabelScores, made: _Feedback) -> Iterator[tuple[str, Row]]:
    """Yield the values of an assessment by their criteria: its name, or the keys of an object."""
    name = str(of_kind(TEXT, one.get("assessment_name", one.get("name")), f"{place}, assessment_name"))
    feedback = of_kind(OBJECT, one.get("feedback") or {}, f"{place}, {name}, feedback")
    rationale = one.get("rationale")
    text = {"explanation": rationale} if isinstance(rationale, str) and rationale.strip() else {}
    value = feedback.get("value")
    for criterion, given in value.items() if isinstance(value, dict) else ((name, value),):
        if isinstance(given, list | dict):
            made.skipped["values that are lists"] += 1
            continue
        if given is None or (isinstance(given, str) and not given.strip()):
            yield criterion, {"score": None, "missing_reason": "error" if feedback.get("error") else "no value", **text}
        else:
            score = float(given) if isinstance(given, bool) else scores.of(given.strip())
            yield criterion, {"score": score, **text}


def _recognise(path: Path) -> Fit:
    """By the columns of search_traces."""
    from spa.importers.foreign_rows import names_at_beginning

    names = names_at_beginning(path)
    table = {"trace_id", "assessments"} <= names and bool({"request", "state"} & names)
    trace = beginning(path).lstrip().startswith(b"{") and {"info", "trace_id", "trace_location"} <= names
    return Fit.CERTAIN if table or trace else Fit.NONE


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.tables import ImportedTables

    options = request.options
    scores, made = LabelScores({**WORDS, **(options.get("scores") or {})}), _Feedback()
    traces = [trace for path in request.paths for trace in read_traces(path)]
    answered = [trace for trace in traces if trace.assessments]
    outputs: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    cells = {}
    for trace in answered:
        cells[trace.id] = _item(trace, options.get("item")), _system(trace, options.get("system"))
        outputs[cells[trace.id]].append(trace.id)
    if len(cells) < len(answered):
        raise ResponseError(f"{request.paths[0]}: expected each trace once, got {len(answered)} of {len(cells)} ids")
    several = any(len(ids) > 1 for ids in outputs.values())
    for trace in answered:
        item, system = cells[trace.id]
        sample = {"sample": str(sorted(outputs[item, system]).index(trace.id) + 1)} if several else {}
        _add(trace, {"item_id": item, "system": system, **sample}, scores, made)
    scores.check(request.paths[0])
    notes = [f"read: {counted(len(made.rows), 'value')} of {counted(len(answered), 'trace')} of {len(traces)}"]
    if made.corrected:
        notes.append(f"corrections: {made.corrected} values without a source of their own are the corrected person's")
    if several:
        notes.append("samples: several traces of one item and system are numbered by their ids")
    skipped = {what: n for what, n in made.skipped.items() if n}
    return ImportedTables(rows={"ratings": made.rows}, skipped=skipped, notes=tuple(notes))


FORMAT = AnswerFormat(
    key="mlflow",
    description="Read feedback in traces of MLflow.\n\n"
    "FILE is the table of search_traces (JSONL, JSON, CSV, Parquet) or a trace as JSON. The system is the trace's "
    "model or run unless --system-key names a key, the item its request unless --item-key does.",
    example="spa import mlflow traces.jsonl --system-key request.model --item-key request.question --out tables",
    options=(
        *key_options(),
        score_option(),
    ),
    meaning=FileMeaning(
        missing="null; an error of a judge",
        left_out="valid false (the person of a correction is that of the value in overrides); expectations, code",
        seen="MLflow 3.17.2",
        source="https://mlflow.org/docs/latest/genai/assessments/feedback/",
    ),
    recognise=_recognise,
    read=_read,
)
