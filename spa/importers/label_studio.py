"""Label Studio's exports: its JSON, or the JSON cells of its CSV file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.questions_of_files import QuestionsAsked, one_system_an_item, question_options

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables, Row

JSON_SIGNS = ("annotations", "was_cancelled", "data")
FLAT = ("annotation_id", "annotator", "lead_time")  # of JSON-MIN and CSV, a row an annotation
FLAT_OWN = (*FLAT, "created_at", "updated_at")
FEW = 12  # words of a column that may be answers, and not texts
PLACES = {"left": "x", "right": "y"}
RESULTS = frozenset({"rating", "choices", "number", "selected", "ranker"})  # keys of values in the cells of CSV files
UNTOUCHED = "rankings in the order of the task's list, which may be untouched (--untouched keeps them)"
DATA = "_data_"  # begins the columns of data that are called as a control


def _recognise(path: Path) -> Fit:
    from spa.importers.foreign_rows import names_at_beginning

    names = names_at_beginning(path)
    whole = path.suffix.lower() == ".json" and (names.issuperset(JSON_SIGNS) or _is_min(path, names))
    return Fit.CERTAIN if whole or (path.suffix.lower() == ".csv" and names.issuperset(FLAT)) else Fit.NONE


def _is_min(path: Path, names: frozenset[str]) -> bool:
    return path.suffix.lower() == ".json" and names.issuperset(FLAT) and "annotations" not in names


@dataclass(frozen=True, slots=True, kw_only=True)
class _Annotation:
    """What one person said of one task: the results by the name of their control."""

    person: str
    data: Mapping[str, Any]
    task: str
    place: str
    updated: str
    seconds: float | None
    results: Mapping[str, Sequence[tuple[str, Any]]]  # control -> kind and value of each


@dataclass(slots=True)
class _Read:
    annotations: list[_Annotation] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.foreign_rows import files_below, names_at_beginning
    from spa.importers.tables import ImportedTables

    asked = QuestionsAsked.from_options(request.options)
    read = _Read()
    for path in files_below(request.paths, lambda one: _recognise(one) == Fit.CERTAIN, "exports of Label Studio"):
        if _is_min(path, names_at_beginning(path)):
            raise _refused_min(path)
        if path.suffix.lower() == ".csv":
            _read_csv(path, asked, request.options.get("answers") or (), read)
        else:
            _read_json(path, read)
    annotations = _newest(read)
    controls = dict.fromkeys(name for one in annotations for name in one.results)
    asked.check_names(controls, request.paths[0])
    rows: dict[str, list[Row]] = {"ratings": [], "choices": [], "orders": []}
    for control in filter(asked.wants, controls):
        _read_control(control, annotations, asked, rows, read, keep=request.options.get("untouched", False))
    read.notes += one_system_an_item(rows["ratings"])
    if not controls:
        read.notes.append("no annotation has a result")
    return ImportedTables(
        rows=rows, skipped={what: n for what, n in read.skipped.items() if n}, notes=tuple(read.notes)
    )


def _refused_min(path: Path) -> Exception:
    from spa.errors import ResponseError

    return ResponseError(
        f"{path}: expected Label Studio's JSON export, got JSON-MIN, in which data of a task may stand in the place of "
        "a person's answer; export it again as JSON"
    )


def _read_json(path: Path, read: _Read) -> None:
    from spa.importers.foreign_files import LIST, OBJECT, number, of_kind, shown
    from spa.importers.tables import UNNAMED
    from spa.tables.json_files import read_json

    for at, task in enumerate(of_kind(LIST, read_json(path), str(path)), start=1):
        place = f"{path}, task {shown(task['id']) if isinstance(task, dict) and 'id' in task else at}"
        of_kind(OBJECT, task, place)
        data = of_kind(OBJECT, task.get("data"), f"{place}, data")
        for kind in ("drafts", "predictions"):
            read.skipped[kind] += len(of_kind(LIST, task.get(kind) or [], f"{place}, {kind}"))
        for one in of_kind(LIST, task.get("annotations"), f"{place}, annotations"):
            of_kind(OBJECT, one, f"{place}, annotations")
            if one.get("was_cancelled"):
                read.skipped["tasks that a person skipped"] += 1
                continue
            results: dict[str, list[tuple[str, Any]]] = defaultdict(list)
            for result in of_kind(LIST, one.get("result"), f"{place}, result"):
                of_kind(OBJECT, result, f"{place}, result")
                if "from_name" in result:  # relations have none
                    value = of_kind(OBJECT, result.get("value"), f"{place}, value")
                    results[str(result["from_name"])].append((str(result.get("type")), value))
            read.annotations.append(
                _Annotation(
                    person=_person(one.get("completed_by")) or UNNAMED,
                    data=data,
                    task=f"{task.get('id', at)}",
                    place=place,
                    updated=str(one.get("updated_at") or one.get("created_at") or ""),
                    seconds=number(one.get("lead_time"), f"{place}, lead_time"),
                    results=results,
                )
            )


def _person(completed_by: object) -> str:
    """Return who annotated: a number, or an object with an address where people are exported whole."""
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("email") or completed_by.get("id")
    return "" if completed_by is None else str(completed_by).strip()


def _read_csv(path: Path, asked: QuestionsAsked, answers: Sequence[str], read: _Read) -> None:
    """Read JSON cells as answers, and words of the columns that were named so: others may be data of the task."""
    from spa.errors import ResponseError, shortened
    from spa.importers.foreign_rows import read_rows
    from spa.importers.tables import UNNAMED
    from spa.tables.verdicts import place_outcome

    rows = read_rows(path, FLAT)
    columns = [name for name in (rows[0].cells if rows else ()) if name not in FLAT_OWN and not name.startswith(DATA)]
    nested = [name for name in columns if any(_json_cell(row.text(name)) is not None for row in rows)]
    for name in answers:
        if name not in columns:
            raise ResponseError(
                f"{path}: no column {shortened(repr(name))} for --answer; there are {', '.join(columns)}"
            )
    for name in columns:
        words = {text for row in rows if (text := row.text(name)) is not None}
        if name in (*nested, *answers) or asked.only or not 0 < len(words) <= FEW:
            continue
        if name in asked.values or all(
            word in asked.values or place_outcome(word).status != "unknown" for word in words
        ):
            told = shortened(repr(name), 40)
            raise ResponseError(
                f"{path}: the words in {told} may be answers, or data of the tasks such as a judge's; say --answer "
                f"{told} or which questions to read with --question, or take the JSON export"
            )
    for row in rows:
        results: dict[str, list[tuple[str, Any]]] = defaultdict(list)
        for name in (*nested, *(name for name in answers if name not in nested)):
            text = row.text(name)
            found = _json_cell(text)
            if found is not None:
                results[name] += [(_kind_of(value), value) for value in found]
            elif text is not None:
                results[name].append(("choices", {"choices": [text]}))
        data = {name: row.cells[name] for name in columns if name not in results}
        read.annotations.append(
            _Annotation(
                person=row.text("annotator") or UNNAMED,
                data=data,
                task=row.text("id") or row.place,
                place=row.place,
                updated=row.text("updated_at") or "",
                seconds=row.number("lead_time"),
                results=results,
            )
        )
    unread = [name for name in columns if name not in (*nested, *answers)]
    read.notes.append(
        f"{path}: a CSV export has no skipped tasks or drafts, JSON has; read as data of the tasks, and no answers: "
        f"{shortened(', '.join(unread) or 'nothing', 120)} (--answer names columns that are answers)"
    )


def _json_cell(text: str | None) -> list[dict[str, Any]] | None:
    """Return the results that a cell holds as JSON; nothing of other texts."""
    from spa.tables.bounds import check_depth
    from spa.tables.source import json_decoder

    if text is None or not text.startswith(("[{", "{")):
        return None
    try:
        check_depth(text)
        found = json_decoder().decode(text)
    except (ValueError, RecursionError):
        return None
    values = found if isinstance(found, list) else [found]
    known = all(
        isinstance(one, dict) and {"rating", "choices", "number", "selected", "ranker"} & {*one} for one in values
    )
    return values if values and known else None


def _kind_of(value: Mapping[str, Any]) -> str:
    return "pairwise" if "selected" in value else min(RESULTS.intersection(value))


def _newest(read: _Read) -> list[_Annotation]:
    """Return the newest annotation of each person and task; of unnamed people all."""
    from spa.importers.tables import UNNAMED

    last: dict[tuple[str, ...], _Annotation] = {}
    for number, one in enumerate(read.annotations):
        key = (one.task, one.person, str(number) if one.person == UNNAMED else "")
        before = last.get(key)
        if before is not None:
            read.skipped["annotations of a task that the same person did again later"] += 1
        if before is None or _time(before) <= _time(one):
            last[key] = one
    return list(last.values())


def _time(one: _Annotation) -> datetime:
    from spa.errors import ResponseError, shortened

    try:
        found = datetime.fromisoformat(one.updated)
        return found if found.tzinfo else found.astimezone()
    except ValueError as error:
        raise ResponseError(
            f"{one.place}: expected updated_at as a time, as a person did the task twice, got "
            f"{shortened(repr(one.updated))}"
        ) from error


def _read_control(
    control: str,
    annotations: Sequence[_Annotation],
    asked: QuestionsAsked,
    rows: dict[str, list[Row]],
    read: _Read,
    *,
    keep: bool,
) -> None:
    """Add the answers of one control, a missing one where a person left it blank."""
    kinds = {kind for one in annotations for kind, _ in one.results.get(control, ())}
    if kinds == {"ranker"}:
        rows["orders"] += [row for one in annotations for row in _orders(control, one, asked, read, keep=keep)]
        return
    several = sum(len(one.results.get(control, ())) > 1 for one in annotations)
    if len(kinds) != 1 or not kinds <= {"rating", "number", "choices", "pairwise"} or several:
        why = ", once for each region" if several else ""
        read.notes.append(f"not read: {control} ({', '.join(sorted(kinds))}{why})")
        return
    words = {id(one): _word(control, one) for one in annotations}
    if kinds == {"pairwise"}:
        kind = "choices"
    elif kinds == {"choices"}:
        kind = asked.kind(control, filter(None, words.values()), annotations[0].place)
    else:
        kind = "ratings"
    if kind == "unread":
        read.notes.append(
            f"not read: {control}, whose words are no verdicts or scores; --value says what a word counts"
        )
        return
    for one in annotations:
        word = words[id(one)]
        row: Row = {**_about(one, asked), "criterion": control, "seconds": one.seconds}
        if kind == "ratings":
            row["system"] = asked.system(control, one.data, one.place)
        else:
            row["system_x"], row["system_y"] = asked.compared(control, one.data, one.place)
        if word is None:
            row["missing_reason"] = "left blank"
        elif kinds == {"pairwise"}:
            row["winner"] = PLACES[word]
        else:
            row |= asked.answer("ratings" if kind == "ratings" else "choices", word)
        rows[kind].append(row)


def _about(one: _Annotation, asked: QuestionsAsked) -> Row:
    return {"annotator_id": one.person, "annotator_kind": "human", "item_id": asked.item(one.data, one.task, one.place)}


def _word(control: str, one: _Annotation) -> str | None:
    """Return the one answer to a control; nothing where it was left blank."""
    from spa.errors import ResponseError
    from spa.importers.foreign_files import LIST, number, of_kind, shown

    results = one.results.get(control, ())
    if not results:
        return None
    ((kind, value),) = results
    place = f"{one.place}, {control}"
    if kind in ("rating", "number"):
        found = number(value.get(kind), place)
        return None if found is None else f"{found:g}" if found == int(found) else repr(found)
    if kind == "pairwise":
        selected = value.get("selected")
        if selected not in PLACES:
            raise ResponseError(f"{place}: expected left or right, got {shown(selected)}")
        return str(selected)
    chosen = of_kind(LIST, value.get("choices"), place)
    return str(chosen[0]).strip() if len(chosen) == 1 else None if not chosen else " + ".join(map(str, chosen))


def _orders(control: str, one: _Annotation, asked: QuestionsAsked, read: _Read, *, keep: bool) -> Iterator[Row]:
    """Yield the ranks of a ranking; one equal to the order of the task's list may be an untouched one."""
    from spa.importers.foreign_files import OBJECT, of_kind

    for _, value in one.results.get(control, ()):
        buckets = of_kind(OBJECT, value.get("ranker"), f"{one.place}, {control}")
        if len(buckets) != 1 or not all(isinstance(ids, list) for ids in buckets.values()):
            read.skipped[f"rankings in several buckets ({control})"] += 1
            continue
        ranked = [str(name) for name in next(iter(buckets.values()))]
        listed = _listed(one.data, ranked)
        if ranked == [*listed]:
            read.skipped[
                "rankings in the order of the task's list, which may be untouched (--untouched keeps them)"
            ] += not keep
            if not keep:
                continue
        for rank, name in enumerate(ranked, start=1):
            system = listed.get(name, {}).get(asked.system_column or "system", name)
            yield {**_about(one, asked), "system": str(system), "criterion": control, "rank": rank}


def _listed(data: Mapping[str, Any], ranked: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Return the elements of the task's list whose ids were ranked, in the order of that list."""
    for value in data.values():
        if isinstance(value, list) and value and all(isinstance(one, dict) and "id" in one for one in value):
            found = {str(one["id"]): one for one in value}
            if found.keys() == {*ranked}:
                return found
    return {}


FORMAT = AnswerFormat(
    key="label-studio",
    description="Read Label Studio's JSON export, or the JSON cells of its CSV export.\n\n"
    "FILE is such a file; JSON-MIN is refused, as data of a task may stand there as an answer. Of a person's "
    "annotations of a task the newest counts; a control left blank is a missing answer.",
    details="A criterion is a control. Say which systems stand where with --compared (left is the first in the toName "
    "of the labelling configuration), and what the words of choices count with --value.",
    example="spa import label-studio export.json --compared alpha,beta --value A=x --value B=y --out tables",
    options=(
        *question_options(),
        click.Option(
            ["--answer", "answers"],
            multiple=True,
            metavar="COLUMN",
            help="A column of words of a CSV export that are answers; repeatable.",
        ),
        click.Option(["--untouched"], is_flag=True, help="Keep rankings that are in the order of the task's list."),
    ),
    meaning=FileMeaning(
        sides="left is the first name in the toName of the configuration",
        ties="a word of choices that says so; pairwise has none",
        missing="a control without a result, which may be a tie or a blank",
        left_out="skipped tasks, drafts, predictions, all but a person's newest annotation of a task",
        seen="Label Studio 1.23.2",
        source="https://labelstud.io/guide/export",
    ),
    recognise=_recognise,
    read=_read,
)
