"""Error span annotation (ESA): exports of Appraise, WMT25's human evaluation, and the lines that Pearmut keeps.

Appraise and Pearmut count the end of a mark as inside it; an omission has no place in the output.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.errors import ResponseError, TableError, shortened
from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.foreign_files import LIST, OBJECT, TEXT, beginning, counted, number, of_kind, shown, whole
from spa.tables.json_files import json_value, read_json
from spa.tables.json_lines import read_json_lines
from spa.tables.text_files import check_table_file, utf8_lines

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables, Row

APPRAISE = (  # columns of an export, which has no header
    *("user", "system", "itemID", "type", "source", "target", "score", "documentID", "complete", "spans"),
    *("start", "end"),
)
TYPES = ("TGT", "BAD", "REF", "CHK", "SRC")
WEIGHTS = {"minor": 1.0, "major": 5.0, "critical": 25.0, "neutral": 0.0, "undecided": 0.0}
MISSING, OMISSION, NO_ERRORS = "missing", "omission", "no errors"
RESET, NOT_ITEMS = "__RESET__", ("welcome_", "random_", "goodbye_")
SEGMENT = "_#_"  # of WMT25, between a document and the number of its segment


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batches:
    """What Appraise showed: of each document, system and place in a batch the segment and its text.

    A segment is what has the same source: its place among the document's, since a document's segments may be shuffled.
    """

    segments: Mapping[tuple[str, str, int], tuple[int, str]]

    @classmethod
    def read(cls, path: Path) -> _Batches:
        segments: dict[tuple[str, str, int], tuple[int, str]] = {}
        sources: defaultdict[str, dict[tuple[str, int], int]] = defaultdict(dict)
        for nth, batch in enumerate(of_kind(LIST, read_json(path), str(path)), start=1):
            place = f"{path}, batch {nth}"
            times: Counter[tuple[str, str, str]] = Counter()
            listed = of_kind(LIST, of_kind(OBJECT, batch, place).get("items"), f"{place}, items")
            for at, item in enumerate(listed, start=1):
                spot = f"{place}, item {at}"
                if of_kind(OBJECT, item, spot).get("itemType") != "TGT":
                    continue
                names = ("documentID", "targetID", "sourceText", "targetText")
                name, system, source, text = (of_kind(TEXT, item.get(key), f"{spot}, {key}") for key in names)
                document = name.partition("#")[0]
                times[name, system, source] += 1
                known = sources[document]
                segment = known.setdefault((source, times[name, system, source]), len(known) + 1)
                key = name, system, whole(item.get("itemID"), f"{spot}, itemID")
                if segments.setdefault(key, (segment, text)) != (segment, text):
                    raise ResponseError(
                        f"{spot}: expected one text of {shortened(system, 40)} for {shortened(name, 60)} at itemID "
                        f"{key[2]}, got another one than before; give the batches of one campaign"
                    )
        return cls(segments=segments)

    def segment(self, cells: Mapping[str, str], at: int, place: str) -> tuple[int, str]:
        """Return the segment that a row rates, and its text."""
        found = self.segments.get((cells["documentID"], cells["system"], at))
        if found is None:
            raise ResponseError(
                f"{place}: expected {shortened(cells['documentID'], 60)} of {shortened(cells['system'], 40)} at itemID "
                f"{at} in --batches, got none; give the batches of this campaign"
            )
        return found


@dataclass(slots=True, kw_only=True)
class _SpanAnswers:
    """What was read, and what was left out."""

    ratings: list[Row] = field(default_factory=list)
    spans: list[Row] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def add(self, shared: Row, score: float | None, marks: Sequence[Row], *, rated: bool = True) -> None:
        """Add one answer: its score where it is ``rated``, and its errors or that there are none."""
        missing = {} if score is not None else {"missing_reason": "no score"}
        if rated:
            self.ratings.append({**shared, "criterion": "overall", "score": score, **missing})
        seconds = {name: value for name, value in shared.items() if name != "seconds"}
        self.spans += [{**seconds, **mark} for mark in marks or [{"reason": NO_ERRORS}]]


def _mark(given: object, place: str, text: str | None) -> Row:
    """Return one error; its end, which the file counts as inside, excluded."""
    mark = of_kind(OBJECT, given, place)
    severity = mark.get("severity")
    named = "undecided" if severity is None else of_kind(TEXT, severity, f"{place}, severity")
    weight = WEIGHTS.get(named.lower())
    kinds = mark.get("error_type", mark.get("category"))
    category = "/".join(map(str, kinds)) if isinstance(kinds, list) else kinds
    row: Row = {"severity": named, "weight": weight, "category": str(category) if category else None}
    if text is not None:
        row["characters"] = len(text)
    start, end = mark.get("start_i", mark.get("start")), mark.get("end_i", mark.get("end"))
    if start == MISSING or end == MISSING or (text is not None and whole(start, f"{place}, start_i") >= len(text)):
        return {**row, "reason": OMISSION}
    first, last = whole(start, f"{place}, start_i"), whole(end, f"{place}, end_i") + 1
    if last <= first or (text is not None and last > len(text)):
        known = "" if text is None else f" of {len(text)} characters"
        raise ResponseError(f"{place}: expected a place in the text{known}, got {first} to {last - 1}")
    quote = {} if text is None else {"text": text[first:last]}
    return {**row, "start": first, "end": last, **quote}


def _marks(given: object, place: str, text: str | None = None) -> list[Row]:
    listed = of_kind(LIST, given if given is not None else [], place)
    return [_mark(one, f"{place}, error {at}", text) for at, one in enumerate(listed, start=1)]


def _cells(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    check_table_file(path)
    reader = csv.reader(line for _, line in utf8_lines(path))
    try:
        for cells in reader:
            place = f"{path}, line {reader.line_num}"
            if not cells:
                continue
            if len(cells) != len(APPRAISE) or (cells[3] not in TYPES and cells[3] != "type"):
                raise ResponseError(
                    f"{place}: expected the {len(APPRAISE)} columns of Appraise's export ({', '.join(APPRAISE[:4])}, "
                    f"...), got {len(cells)}: {shortened(', '.join(cells), 100)}"
                )
            if cells[3] != "type":
                yield place, dict(zip(APPRAISE, cells, strict=True))
    except csv.Error as error:
        raise TableError(f"{path}, line {reader.line_num}: expected CSV, got a mistake: {error}") from error


def _appraise(path: Path, answers: _SpanAnswers, batches: _Batches | None) -> None:
    """Add an export of Appraise: items are documents, samples the segments, by ``batches`` or their places."""
    documents: defaultdict[tuple[str, ...], dict[int, tuple[str, dict[str, str]]]] = defaultdict(dict)
    for place, cells in _cells(path):
        if cells["type"] != "TGT":
            answers.skipped[f"{cells['type']} rows (attention checks)"] += 1
        elif "-tutorial" in cells["system"]:
            answers.skipped["tutorial rows"] += 1
        elif "#duplicate" in cells["documentID"]:
            answers.skipped["rows that fill a batch (#duplicate)"] += 1
        else:
            names = ("user", "system", "source", "target", "documentID")
            document = documents[tuple(cells[name] for name in names)]
            at = whole(cells["itemID"], f"{place}, itemID")
            before = document.get(at)
            if before is not None:
                answers.skipped["earlier answers about the same segment"] += 1
                if _ended(before[1]) > _ended(cells):
                    continue
            document[at] = place, cells
    if not documents:
        raise ResponseError(f"{path}: expected rows of type TGT, got none that count")
    found = [(key, [rows[at] for at in sorted(rows)]) for key, rows in documents.items()]
    pairs = {key[2:4] for key, _ in found}
    scores = [number(cells["score"], f"{place}, score") for _, rows in found for place, cells in rows]
    unrated = not any(scores)
    if unrated:
        answers.notes.append(f"{path}: every score is 0, as of a campaign without scores (MQM): they are no ratings")
    if batches is None:
        answers.notes.append(
            f"{path}: a segment is the place in its document; where places differ between systems, give --batches"
        )
    for (user, system, source, target, name), segments in found:
        item = name.partition("#")[0]
        for at, (place, cells) in enumerate(segments, start=1):
            segment, text = at, None
            if batches is not None:
                segment, text = batches.segment(cells, whole(cells["itemID"], f"{place}, itemID"), place)
            shared: Row = {
                "annotator_id": user,
                "annotator_kind": "human",
                "item_id": item if len(pairs) == 1 else f"{source}-{target}/{item}",
                "sample": str(segment),
                "system": system,
            }
            marks = _marks(json_value(cells["spans"] or "[]", f"{place}, spans"), f"{place}, spans", text)
            answers.add(shared, number(cells["score"], f"{place}, score"), marks, rated=not unrated)


def _ended(cells: Mapping[str, str]) -> float:
    return number(cells["end"], "end") or 0.0


def _pearmut(path: Path, lines: Sequence[tuple[str, Mapping[str, Any]]], answers: _SpanAnswers) -> None:
    """Add the lines of a campaign: the last of each person and page, below the person's last reset."""
    last: dict[tuple[str, str], tuple[str, Mapping[str, Any]]] = {}
    for place, line in lines:
        who = str(of_kind(TEXT, line.get("user_id"), f"{place}, user_id"))
        if line.get("annotation") == RESET:
            gone = [key for key in last if key[0] == who]
            answers.skipped["answers before a reset"] += len(gone)
            for key in gone:
                del last[key]
            continue
        page = line.get("item_i")
        page = str(of_kind(TEXT, page, f"{place}, item_i"))
        if page.startswith(NOT_ITEMS):
            answers.skipped["tutorials, attention checks and questions about the person"] += 1
        elif line.get("annotation") is None:
            answers.skipped["pages that were passed over (annotation null)"] += 1
        else:
            answers.skipped["answers that were corrected later"] += (who, page) in last
            last[who, page] = place, line
    for (who, page), (place, line) in last.items():
        given = of_kind(LIST, line["annotation"], f"{place}, annotation")
        items = of_kind(LIST, line.get("item"), f"{place}, item")
        if len(given) != len(items):
            raise ResponseError(f"{place}: expected {len(items)} answers, one an item, got {len(given)}")
        for at, (answer, item) in enumerate(zip(given, items, strict=True), start=1):
            spot = f"{place}, item {at}"
            texts = of_kind(OBJECT, of_kind(OBJECT, item, spot).get("tgt"), f"{spot}, tgt")
            name = item.get("item_id")
            for system, one in of_kind(OBJECT, answer, spot).items():
                shared: Row = {
                    "annotator_id": who,
                    "annotator_kind": "human",
                    "item_id": str(name) if name is not None else f"{page}.{at}",
                    "system": system,
                }
                text = of_kind(TEXT, texts.get(system), f"{spot}, tgt.{system}")
                value = of_kind(OBJECT, one, f"{spot}, {system}")
                marks = _marks(value.get("error_spans"), f"{spot}, {system}, error_spans", text)
                answers.add(shared, number(value.get("score"), f"{spot}, {system}, score"), marks)


def _wmt25(path: Path, lines: Sequence[tuple[str, Mapping[str, Any]]], answers: _SpanAnswers) -> None:
    """Add WMT25's file: a line a segment, answers by system, numbered ``human1``, ``errors1``, ``annotator1``."""
    for place, line in lines:
        name = str(of_kind(TEXT, line.get("doc_id"), f"{place}, doc_id"))
        document, _, segment = name.rpartition(SEGMENT)
        texts = of_kind(OBJECT, line.get("tgt_text") or {}, f"{place}, tgt_text")
        for system, given in of_kind(OBJECT, line.get("scores") or {}, f"{place}, scores").items():
            spot = f"{place}, scores.{system}"
            text = texts.get(system)
            plain = text.replace("<br>", "\n") if isinstance(text, str) else None
            for who, score, marks in _numbered(of_kind(OBJECT, given, spot), spot):
                shared: Row = {
                    "annotator_id": who,
                    "annotator_kind": "human",
                    "item_id": document or name,
                    "sample": segment,
                    "system": system,
                }
                answers.add(shared, score, _marks(marks, f"{spot}, errors", plain))


def _numbered(given: Mapping[str, Any], place: str) -> Iterator[tuple[str, float | None, object]]:
    for key in given:
        at = key.removeprefix("human")
        if key != at and at.isdecimal():
            who = given.get(f"annotator{at}")
            if not isinstance(who, str) or not who:
                raise ResponseError(f"{place}: expected annotator{at} beside {key}, got {shown(who)}")
            yield who, number(given[key], f"{place}, {key}"), given.get(f"errors{at}")


def _recognise(path: Path) -> Fit:
    """By the keys of a line, or the types that the fourth column of an export has."""
    start = beginning(path)
    if start.lstrip().startswith(b"{"):
        pearmut = all(sign in start for sign in (b'"user_id"', b'"item_i"', b'"annotation"'))
        wmt25 = all(sign in start for sign in (b'"doc_id"', b'"tgt_text"', b'"scores"'))
        return Fit.CERTAIN if pearmut or wmt25 else Fit.NONE
    first = start.partition(b"\n")[0].decode("utf-8", "replace")
    try:
        cells = next(csv.reader([first]), [])
    except csv.Error:
        return Fit.NONE
    return Fit.CERTAIN if len(cells) == len(APPRAISE) and cells[3] in TYPES and cells[9][:1] == "[" else Fit.NONE


def _json(path: Path, answers: _SpanAnswers) -> None:
    if path.suffix.lower() == ".json":
        campaigns = of_kind(OBJECT, read_json(path), str(path))
        for campaign, found in campaigns.items():
            listed = of_kind(LIST, found, f"{path}, {campaign}")
            places = ((f"{path}, {shortened(campaign, 40)}, line {at}", one) for at, one in enumerate(listed, start=1))
            _pearmut(path, [(place, of_kind(OBJECT, one, place)) for place, one in places], answers)
        return
    lines = [(f"{path}, line {at}", line) for at, line in read_json_lines(path, halves=True)]
    if not lines:
        raise ResponseError(f"{path}: expected answers, got an empty file")
    (_wmt25 if "tgt_text" in lines[0][1] else _pearmut)(path, lines, answers)


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.tables import ImportedTables

    answers = _SpanAnswers()
    given = request.options.get("batches")
    batches = None if given is None else _Batches.read(given)
    for path in request.paths:
        if beginning(path).lstrip().startswith(b"{"):
            _json(path, answers)
        else:
            _appraise(path, answers, batches)
    people = len({row["annotator_id"] for row in answers.spans})
    errors = [row for row in answers.spans if row.get("severity")]
    omitted = sum(row.get("reason") == OMISSION for row in errors)
    read = (
        f"read: {counted(len(answers.ratings), 'rating')} and {counted(len(errors), 'error')} by "
        f"{counted(people, 'person', 'people')}; {omitted} are omissions, which have no place; ends are excluded now"
    )
    return ImportedTables(
        rows={"ratings": answers.ratings, "spans": answers.spans},
        skipped={what: n for what, n in answers.skipped.items() if n},
        notes=(read, *answers.notes),
    )


FORMAT = AnswerFormat(
    key="esa",
    description="Read error spans of Appraise, Pearmut or WMT25's human evaluation.\n\n"
    "FILE is Appraise's CSV without a header, Pearmut's annotations (JSONL, or the download of its dashboard), or "
    "WMT25's humeval.jsonl. Scores are ratings, marks spans whose ends are excluded.",
    example="spa import esa scores.csv --batches batches.json --out tables",
    options=(
        click.Option(
            ["--batches"],
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="Appraise's batches of the campaign (JSON), which have the texts and say which segment is which.",
        ),
    ),
    meaning=FileMeaning(
        missing="no score; an omission has no place",
        left_out="Appraise: BAD, tutorials, #duplicate, scores that are all 0; Pearmut: before a reset, corrected "
        "later, welcome_, random_, goodbye_, null",
        seen="Pearmut 1.1.6; Appraise 612e4b0 (documentation)",
        source="https://github.com/AppraiseDev/Appraise",
    ),
    recognise=_recognise,
    read=_read,
)
