"""Errors marked by the rules of MQM: WMT's tables of ratings, and the score and rating files of mt-metrics-eval.

A table has one row an error, whose place ``<v>`` and ``</v>`` enclose in the target, or in the source. A score file has
no header: a system and its score a line, in the order of the segments; a rating file has the marked errors as JSON.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.errors import ResponseError, TableError, shortened
from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.foreign_files import LIST, OBJECT, TEXT, beginning, counted, number, of_kind, shown, whole
from spa.importers.label_scores import score_option
from spa.tables.json_files import json_value
from spa.tables.text_files import check_table_file, utf8_lines

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables, Row

SCORES, RATINGS = ".seg.score", ".seg.rating"  # how the names of mt-metrics-eval's files end
COLUMNS = {  # of ours -> names in WMT's tables of several years
    "system": ("system",),
    "item_id": ("doc",),
    "sample": ("docSegId", "seg_id", "globalSegId"),
    "annotator_id": ("rater",),
    "source": ("source",),
    "target": ("target",),
    "category": ("category",),
    "severity": ("severity",),
}
CLEAN = ("no-error", "no error")
PLANTED = "hotw-test"  # the severity of rows that say whether a planted error was found
GOOGLE = {"major": 5.0, "minor": 1.0, "neutral": 0.0, "fluency/punctuation:minor": 0.1, "non-translation!": 25.0}
GOOGLE |= {"non-translation": 25.0, "source error": 0.0}
WEIGHTS: dict[str, dict[str, float]] = {  # by category and severity, category, or severity
    "google": GOOGLE,
    "wmt23": GOOGLE | {"source issue": 0.0, "accuracy/creative reinterpretation": 0.0},
    "ted21": {word: weight for word, weight in GOOGLE.items() if word != "source error"},
}
OPEN, CLOSE = "<v>", "</v>"
OMISSION, IN_SOURCE, NO_ERRORS = "omission", "in the source", "no errors"
DEFAULT = "google"


@dataclass(slots=True, kw_only=True)
class _Weighing:
    """How errors weigh: by a named table and severities that an option adds; gathers what no table settles."""

    table: str | None
    more: Mapping[str, float]
    asked: Counter[str] = field(default_factory=Counter)  # categories that weigh otherwise in another table
    absent: dict[str, str] = field(default_factory=dict)  # severity -> where it stands

    def of(self, category: str, severity: str, place: str) -> float | None:
        """Return the weight of an error."""
        words = (f"{category}:{severity}".lower(), category.lower(), severity.lower())
        if (named := next((self.more[word] for word in words if word in self.more), None)) is not None:
            return named
        found = {
            name: next((weights[word] for word in words if word in weights), None) for name, weights in WEIGHTS.items()
        }
        if self.table is None and len(set(found.values())) > 1:
            self.asked[category] += 1
        weight = found[self.table or DEFAULT]
        if weight is None:
            self.absent.setdefault(severity, place)
        return weight

    def check(self) -> None:
        """Raise ResponseError for what has no weight, or several."""
        if self.absent:
            severity, place = min(self.absent.items())
            raise ResponseError(
                f"{place}: expected a severity with a weight, got {shown(severity)}; say what it weighs, "
                f"such as --severity-weight {shortened(severity, 40)}=25"
            )
        if self.asked:
            listed = shortened(", ".join(f"{n} of {word!r}" for word, n in self.asked.items()), 120)
            raise ResponseError(
                f"--weights: expected {', '.join(WEIGHTS)}, got none, and they weigh categories of this file "
                f"otherwise: {listed}; wmt23 counts source issues and creative reinterpretations 0, ted21 counts "
                "source errors"
            )


def _cells(line: str) -> list[str]:
    r"""Return the cells of a line; one is quoted only if it is so from end to end, every quote within doubled.

    >>> _cells('a\t"b ""c"" d"\t"d" e')
    ['a', 'b "c" d', '"d" e']
    """
    cells = []
    for cell in line.rstrip("\r\n").split("\t"):
        inner = cell[1:-1]
        quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inner.replace('""', "")
        cells.append(inner.replace('""', '"') if quoted else cell)
    return cells


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a WMT table by our names of its columns, with their places."""
    check_table_file(path)
    names: dict[str, int] = {}
    for at, line in utf8_lines(path):
        cells = _cells(line)
        if not names:
            places = {name: place for place, name in reversed([*enumerate(cells)])}
            for ours, known in COLUMNS.items():
                there = next((name for name in known if name in places), None)
                if there is None:
                    got = shortened(", ".join(cells), 160)
                    raise ResponseError(f"{path}: expected a tab-separated column {' or '.join(known)}, got {got}")
                names[ours] = places[there]
        elif any(cells):
            if len(cells) <= max(names.values()):
                wanted = max(names.values()) + 1
                raise ResponseError(f"{path}, line {at}: expected at least {wanted} cells, got {len(cells)}")
            yield f"{path}, line {at}", {ours: cells[place] for ours, place in names.items()}
    if not names:
        raise TableError(f"{path}: expected a header and rows, got an empty file")


def _placed(target: str, source: str, category: str) -> Row:
    """Return the place of an error in the target without its marks; else the reason why it has none."""
    before, opened, rest = target.partition(OPEN)
    inside, _, _ = rest.partition(CLOSE)
    plain = target.replace(OPEN, "").replace(CLOSE, "")
    if not opened:
        omitted = OMISSION in category.lower()
        reason = OMISSION if omitted else IN_SOURCE if OPEN in source else "no place marked"
        return {"reason": reason, "characters": len(plain)}
    start = len(before.replace(CLOSE, ""))
    text = inside.replace(OPEN, "")
    if not text:
        return {"reason": "no place marked", "characters": len(plain)}
    return {"start": start, "end": start + len(text), "text": text, "characters": len(plain)}


def _table(path: Path, weighing: _Weighing, skipped: Counter[str]) -> Iterator[Row]:
    """Yield the errors of a table, and one row of an answer without any."""
    answers: defaultdict[tuple[str, ...], list[Row]] = defaultdict(list)
    for place, cells in _rows(path):
        shared = {name: cells[name].strip() for name in ("annotator_id", "item_id", "sample", "system")}
        for name, value in shared.items():
            if not value:
                raise ResponseError(f"{place}: expected {COLUMNS[name][0]}, got an empty cell")
        category, severity = cells["category"].strip(), cells["severity"].strip()
        if severity.lower() == PLANTED or category.lower() == PLANTED:
            skipped["rows of planted errors (HOTW-test)"] += 1
            continue
        found = answers[tuple(shared.values())]
        shared = {**shared, "annotator_kind": "human"}
        if severity.lower() in CLEAN or category.lower() in CLEAN:
            plain = cells["target"].replace(OPEN, "").replace(CLOSE, "")
            found.append({**shared, "reason": NO_ERRORS, "characters": len(plain)})
            continue
        if not severity:
            raise ResponseError(f"{place}: expected a severity, got an empty cell")
        weight = weighing.of(category, severity, place)
        error = {"severity": severity, "category": category or None, "weight": weight}
        found.append({**shared, **error, **_placed(cells["target"], cells["source"], category)})
    for rows in answers.values():
        errors = [row for row in rows if row.get("severity")]
        clean = len(rows) - len(errors)
        skipped["No-error rows beside errors of the same answer"] += clean if errors else 0
        skipped["No-error rows that stand twice"] += clean - 1 if clean and not errors else 0
        yield from errors or rows[:1]


def _lines(path: Path) -> Iterator[tuple[str, int, list[str]]]:
    """Yield place, number of the segment and cells of the lines of a file without header."""
    check_table_file(path)
    n: Counter[str] = Counter()
    for at, line in utf8_lines(path):
        cells = line.rstrip("\r\n").split("\t") if "\t" in line else line.split()
        place = f"{path}, line {at}"
        if not any(cells):
            continue
        if len(cells) not in (2, 3) or not cells[0]:
            raise ResponseError(f"{place}: expected a system and its score, got {shown(line.strip())}")
        n[cells[0]] += 1
        yield place, n[cells[0]], cells


def _scores(path: Path) -> Iterator[Row]:
    from spa.importers.tables import UNNAMED

    for place, segment, (system, text, *_) in _lines(path):
        found = None if text == "None" else number(text, f"{place}, score")
        reason = {"missing_reason": "None"} if found is None else {}
        criterion = path.name.removesuffix(SCORES).partition(".")[2] or path.name.removesuffix(SCORES)
        who = {"annotator_id": UNNAMED, "annotator_kind": "human", "item_id": str(segment), "system": system}
        yield {**who, "criterion": criterion, "score": found, **reason}


def _ratings(path: Path, weighing: _Weighing, unrated: Counter[str]) -> Iterator[Row]:
    for place, segment, (system, text, *rater) in _lines(path):
        if text == "None":
            unrated["segments without a rating (None)"] += 1
            continue
        rating = of_kind(OBJECT, json_value(text, place), place)
        who = rater[0] if rater else path.name.removesuffix(RATINGS)
        shared = {"annotator_id": who, "annotator_kind": "human", "item_id": str(segment), "system": system}
        errors = of_kind(LIST, rating.get("errors"), f"{place}, errors")
        if not errors:
            yield {**shared, "reason": NO_ERRORS}
        for at, error in enumerate(errors, start=1):
            yield {**shared, **_rated(of_kind(OBJECT, error, f"{place}, error {at}"), f"{place}, error {at}", weighing)}


def _rated(error: Mapping[str, Any], place: str, weighing: _Weighing) -> Row:
    severity = of_kind(TEXT, error.get("severity") or "", f"{place}, severity") or "unnamed"
    category = of_kind(TEXT, error.get("category") or "", f"{place}, category")
    given = number(error.get("score"), f"{place}, score")
    weight = weighing.of(category, severity, place) if given is None else abs(given)
    row: Row = {"severity": severity, "category": category or None, "weight": weight}
    start, end = whole(error.get("start"), f"{place}, start"), whole(error.get("end"), f"{place}, end")
    if error.get("is_source_error"):
        return {**row, "reason": OMISSION if OMISSION in category.lower() else IN_SOURCE}
    return {**row, "start": start, "end": end} if end > start else {**row, "reason": "no place marked"}


def _recognise(path: Path) -> Fit:
    """By the header of WMT's tables, or the end of the name."""
    if path.name.endswith((SCORES, RATINGS)):
        return Fit.CERTAIN if b"\t" in beginning(path) or path.name.endswith(SCORES) else Fit.NONE
    header = beginning(path).partition(b"\n")[0].rstrip(b"\r").split(b"\t")
    return Fit.CERTAIN if {b"system", b"rater", b"target", b"category", b"severity"} <= set(header) else Fit.NONE


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.tables import ImportedTables

    options = request.options
    more = {word.lower(): weight for word, weight in (options.get("more") or {}).items()}
    weighing = _Weighing(table=options.get("weights"), more=more)
    skipped: Counter[str] = Counter()
    spans: list[Row] = []
    ratings: list[Row] = []
    for path in request.paths:
        if path.name.endswith(SCORES):
            ratings += _scores(path)
        elif path.name.endswith(RATINGS):
            spans += _ratings(path, weighing, skipped)
        else:
            spans += _table(path, weighing, skipped)
    weighing.check()
    notes = []
    if spans:
        errors = [row for row in spans if row.get("severity")]
        people = len({row["annotator_id"] for row in spans})
        unplaced = sum(row.get("start") is None for row in errors)
        notes.append(
            f"read: {counted(len(errors), 'error')} by {counted(people, 'person', 'people')}, "
            f"{unplaced} without a place in the output; weights: {weighing.table or DEFAULT}"
        )
    if ratings:
        notes.append(
            f"read: {counted(len(ratings), 'score')} of segments, items by their place in their system; who gave them "
            "is not said; higher is better"
        )
    left = {what: n for what, n in skipped.items() if n}
    return ImportedTables(rows={"spans": spans, "ratings": ratings}, skipped=left, notes=tuple(notes))


FORMAT = AnswerFormat(
    key="mqm",
    description="Read errors marked by MQM: WMT's TSV, files of mt-metrics-eval.\n\n"
    "A row of a TSV is an error, its place in <v> and </v>; `.seg.rating` has errors as JSON, `.seg.score` scores. "
    "Documents are items, their segments samples.",
    details="Weights: google has major 5, minor 1, minor Fluency/Punctuation 0.1, Non-translation 25, neutral 0; wmt23 "
    "counts source issues and creative reinterpretations 0; ted21 counts source errors.",
    example="spa import mqm mqm_generalMT2023_ende.tsv --weights wmt23 --out tables",
    options=(
        click.Option(["--weights"], type=click.Choice([*WEIGHTS]), help="What errors weigh. [default: google]"),
        score_option("--severity-weight", "more", "WORD=NUMBER", "What a severity or category weighs; repeatable."),
    ),
    meaning=FileMeaning(
        missing="None in a score file",
        left_out="HOTW-test (planted errors); No-error beside errors of the same answer",
        seen="WMT 2020 to 2023, TED 2021, mt-metrics-eval 68a481a (documentation)",
        source="https://github.com/google/wmt-mqm-human-evaluation",
    ),
    recognise=_recognise,
    read=_read,
)
