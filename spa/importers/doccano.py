"""doccano's exports: a file a person, zipped or not; labels of examples are answers, marked places are errors."""

from __future__ import annotations

import csv
import io
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import click

from spa.errors import ResponseError, TableError, shortened, unreadable
from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.foreign_files import LIST, OBJECT, beginning, counted, of_kind, whole
from spa.importers.questions_of_files import QuestionsAsked, one_system_an_item, question_options

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables, Row

ZIP, PACKED = b"PK\x03\x04", ".zip"
ENDINGS = (".jsonl", ".json", ".csv")
FAST_TEXT = ".txt"
SIGNS = frozenset({"id", "Comments"})  # keys that doccano writes to every example
LABELS, MARKS = ("label", "cats"), ("label", "entities")  # keys of what people gave
TEXTS = ("text", "filename")
ALL = "all"  # the file of a project whose members share their labels
JOINED = "#"  # between the labels of an example in CSV
FAULTS = (OSError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error)
MOST_FILES = 10_000
LOOKED_AT = 20  # files of a folder or archive by which it is recognised
QUESTION, CRITERION = "label", "overall"
UTF16, GRAPHEMES = "utf-16", "graphemes"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Example:
    """What one person gave to one example: labels, and marks with their places, as they stand."""

    person: str
    place: str
    data: Mapping[str, Any]
    labels: Sequence[str]
    marks: Sequence[tuple[int, int, str]] | None  # ``None`` of a project without marks

    @property
    def text(self) -> str:
        return str(next((self.data[name] for name in TEXTS if self.data.get(name) is not None), ""))


@dataclass(slots=True, kw_only=True)
class _Labelled:
    """Rows, and what is said."""

    rows: dict[str, list[Row]] = field(default_factory=lambda: {"ratings": [], "choices": [], "spans": []})
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def _recognise(path: Path) -> Fit:
    """By the keys of an example; of a folder or archive by the files in it."""
    if path.is_dir():
        inside = islice((one for one in path.glob("*") if one.suffix.lower() in ENDINGS), LOOKED_AT)
        return max((_recognise(one) for one in inside if one.is_file()), default=Fit.NONE)
    if path.suffix.lower() == PACKED and beginning(path, len(ZIP)) == ZIP:
        try:
            with zipfile.ZipFile(path) as archive:
                for member in archive.infolist()[:LOOKED_AT]:
                    with archive.open(member) as content:
                        if _is_own(member.filename, content.read(1 << 16)):
                            return Fit.CERTAIN
        except (*FAULTS, ValueError):
            return Fit.NONE
        return Fit.NONE
    return Fit.CERTAIN if _is_own(path.name, beginning(path)) else Fit.NONE


def _is_own(name: str, start: bytes) -> bool:
    """Whether a file begins with the keys that doccano writes: an object's, or those of a header."""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix == ".csv":
        header = start.partition(b"\n")[0].decode(errors="replace").strip().split(",")
        return {*SIGNS, "label"} <= {*header} and not {*TEXTS}.isdisjoint(header)
    if suffix not in ENDINGS or not start.lstrip().startswith((b"{", b"[{")):
        return False
    keys = (b'"id":', b'"Comments":')
    return all(key in start for key in keys) and any(f'"{name}":'.encode() in start for name in (*LABELS, *MARKS))


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.tables import ImportedTables

    options = request.options
    asked, made = QuestionsAsked.from_options(options), _Labelled()
    examples = list(_examples(request.paths, asked.values, made))
    if not examples:
        raise ResponseError(f"{request.paths[0]}: expected examples of doccano, got none")
    people = len({one.person for one in examples})
    made.notes.insert(0, f"read: {counted(len(examples), 'example')} of {counted(people, 'file')}, a person each")
    asked.check_names((QUESTION,), request.paths[0])
    _add_labels(examples, asked, made, confirmed=options.get("confirmed", False))
    _add_marks(examples, asked, made, options)
    made.notes += one_system_an_item(made.rows["ratings"] + made.rows["spans"])
    if not any(made.rows.values()):
        raise ResponseError(f"{request.paths[0]}: expected answers, got none; {shortened(made.notes[-1], 200)}")
    skipped = {what: n for what, n in made.skipped.items() if n}
    return ImportedTables(rows=made.rows, skipped=skipped, notes=tuple(made.notes))


def _examples(paths: Sequence[Path], known: Iterable[str], made: _Labelled) -> Iterator[_Example]:
    from spa.importers.tables import UNNAMED

    files = [(place, name, content) for path in paths for place, name, content in _files(path)]
    shared = len(files) == 1 and files[0][1] == ALL
    if shared:
        made.notes.append(f"{ALL}: the labels of a project that is shared name nobody, so they are of {UNNAMED}")
    seen: dict[str, str] = {}
    for place, name, _ in files:
        if seen.setdefault(name, place) != place:
            raise ResponseError(f"{place}: expected one file of {shortened(name, 40)}, got {seen[name]} as well")
    for place, name, content in files:
        records = _records(place, content)
        singles = {text for _, one in records if isinstance(text := one.get("label"), str) and JOINED not in text}
        singles.update(known)
        for spot, record in records:
            given = [record[key] for key in LABELS if record.get(key) is not None]
            labels: list[str] = []
            for value in given:
                if isinstance(value, str):
                    labels += _taken_apart(value, singles)
                else:
                    labels += [str(one) for one in of_kind(LIST, value, f"{spot}, label") if not _is_mark(one)]
            own = {*SIGNS, *LABELS, *MARKS, "relations"} - {"id"}
            yield _Example(
                person=UNNAMED if shared else name,
                place=spot,
                data={key: value for key, value in record.items() if key not in own},
                labels=labels,
                marks=_marks(record, spot),
            )


def _taken_apart(cell: str, known: set[str]) -> list[str]:
    """Return the labels of a cell of CSV; one that cannot be taken apart into labels that are known stays whole.

    >>> _taken_apart("4", set()), _taken_apart("4#5", set()), _taken_apart("C#", {"A"}), _taken_apart("", set())
    (['4'], ['4', '5'], ['C#'], [])
    >>> _taken_apart("4#C#", {"C#"})
    ['4', 'C#']
    """
    parts = cell.split(JOINED)
    return (_labels_in(parts, known) or [cell]) if cell else []


def _labels_in(parts: Sequence[str], known: set[str]) -> list[str]:
    """Return the labels that parts are, some of which hold the sign that joins labels; nothing where they are none."""
    from spa.importers.foreign_files import number_of

    found: list[list[str] | None] = [[], *([None] * len(parts))]  # labels of the first parts
    for end in range(1, len(parts) + 1):
        for start in range(end):
            label, before = JOINED.join(parts[start:end]), found[start]
            if before is not None and (label in known or number_of(label) is not None):
                found[end] = [*before, label]
                break
    return found[-1] or []


def _is_mark(value: object) -> bool:
    return isinstance(value, list | dict)


def _marks(record: Mapping[str, Any], place: str) -> list[tuple[int, int, str]] | None:
    """Return the marks of an example: lists, or objects of a project with relations; ``None`` where it has none.

    An empty list under ``label`` may be either kind: what it is, other examples say.
    """
    if "entities" in record:
        listed = of_kind(LIST, record["entities"] or [], f"{place}, entities")
    else:
        given = record.get("label")
        listed = [one for one in given if _is_mark(one)] if isinstance(given, list) else []
        if not listed and (given != [] or "cats" in record):
            return None
    found = []
    for one in listed:
        if isinstance(one, dict):
            one = [one.get("start_offset"), one.get("end_offset"), one.get("label")]
        if not isinstance(one, list) or len(one) != 3 or not isinstance(one[2], str):
            raise ResponseError(f"{place}: expected marks as [start, end, label], got something else")
        found.append((whole(one[0], f"{place}, start"), whole(one[1], f"{place}, end"), one[2]))
    return found


def _files(path: Path) -> Iterator[tuple[str, str, bytes]]:
    """Yield the files of a person each: place, the person's name, content."""
    from spa.tables.bounds import MOST_MEMBERS, most_unpacked

    try:
        if path.is_dir():
            inside = sorted(one for one in islice(path.glob("*"), MOST_FILES) if one.suffix.lower() in ENDINGS)
            if not inside:
                raise ResponseError(f"{path}: expected files of doccano ({', '.join(ENDINGS)}), got none")
            yield from (found for one in inside for found in _files(one))
        elif path.suffix.lower() != PACKED:
            yield str(path), _person(path.name, str(path)), path.read_bytes()
        else:
            left = most_unpacked(path)
            with zipfile.ZipFile(path) as archive:
                members = [one for one in archive.infolist() if not one.is_dir()]
                if len(members) > MOST_MEMBERS:
                    raise ResponseError(f"{path}: expected a file a person, got {len(members):,} files")
                for member in sorted(members, key=lambda one: one.filename):
                    with archive.open(member) as stream:
                        content = stream.read(left + 1)
                    left -= len(content)
                    if left < 0:
                        raise ResponseError(f"{path}: expected at most {most_unpacked(path)} bytes, got more")
                    place = f"{path}, {member.filename}"
                    yield place, _person(member.filename, place), content
    except OSError as error:
        raise ResponseError(unreadable(path, error)) from error
    except FAULTS as error:
        raise ResponseError(f"{path}: expected a whole zip file, got: {shortened(error, 120)}") from error


def _person(name: str, place: str) -> str:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.suffix.lower() not in ENDINGS or not path.stem:
        also = "; fastText keeps no ids, so export it as JSONL" if path.suffix.lower() == FAST_TEXT else ""
        raise ResponseError(f"{place}: expected a file of {', '.join(ENDINGS)}{also}")
    return path.stem


def _records(place: str, content: bytes) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the examples of a file with their places."""
    from spa.tables.json_files import json_value

    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError(f"{place}: expected UTF-8") from error
    suffix = PurePosixPath(place).suffix.lower()
    if suffix == ".csv":
        return [(f"{place}, row {at}", row) for at, row in enumerate(_csv_rows(place, text), start=2)]
    if suffix == ".json":
        listed = enumerate(of_kind(LIST, json_value(text, place), place), start=1)
        return [(f"{place}, example {at}", of_kind(OBJECT, one, f"{place}, example {at}")) for at, one in listed]
    lines = [(f"{place}, line {at}", line) for at, line in enumerate(text.split("\n"), start=1) if line.strip()]
    return [(spot, of_kind(OBJECT, json_value(line, spot), spot)) for spot, line in lines]


def _csv_rows(place: str, text: str) -> list[dict[str, str]]:
    try:
        header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    except (csv.Error, ValueError) as error:
        raise TableError(f"{place}: expected CSV, got a mistake: {shortened(error, 80)}") from error
    uneven = next((at for at, row in enumerate(rows, start=2) if len(row) != len(header)), None)
    if uneven is not None or not {*SIGNS, "label"} <= {*header}:
        where = f", row {uneven}" if uneven is not None else ""
        raise TableError(f"{place}{where}: expected the cells of {shortened(', '.join(header), 120)}, got others")
    return [dict(zip(header, row, strict=True)) for row in rows]


def _about(one: _Example, asked: QuestionsAsked) -> Row:
    item = asked.item(one.data, one.place, one.place)
    return {"annotator_id": one.person, "annotator_kind": "human", "item_id": item, "criterion": CRITERION}


def _add_labels(examples: Sequence[_Example], asked: QuestionsAsked, made: _Labelled, *, confirmed: bool) -> None:
    """Add the answers that the labels of examples are."""
    words = [label for one in examples for label in one.labels]
    if not words:
        return
    kind = asked.kind(QUESTION, words, examples[0].place)
    if kind == "unread":
        made.notes.append("not read: labels of examples, which are no verdicts or scores; --value says what one counts")
        return
    for one in examples:
        if not one.labels and not confirmed:
            made.skipped["examples that a person gave no label and may not have seen (--confirmed: not answered)"] += 1
            continue
        row = _about(one, asked)
        if kind == "ratings":
            row["system"] = asked.system(QUESTION, one.data, one.place)
        else:
            row["system_x"], row["system_y"] = asked.compared(QUESTION, one.data, one.place)
        if len({*one.labels}) == 1:
            row |= asked.answer(kind, one.labels[0])
        else:
            row["missing_reason"] = "several labels" if one.labels else "no label"
        made.rows[kind].append(row)


def _add_marks(
    examples: Sequence[_Example], asked: QuestionsAsked, made: _Labelled, options: Mapping[str, Any]
) -> None:
    """Add marked errors; an example without one has none only where people confirmed what they had finished."""
    if not any(one.marks for one in examples):
        if not any(one.labels for one in examples):
            raise ResponseError(f"{examples[0].place}: expected labels, got none in {len(examples)} examples")
        return
    for one in examples:
        if one.marks is None:
            continue
        if not one.marks and not options.get("confirmed"):
            if not options.get("labelled"):
                raise ResponseError(
                    f"{one.place}: expected marks, got an empty list: an output without errors, or one that nobody "
                    "looked at; say to `spa import doccano` --confirmed if only confirmed examples were exported, "
                    "else --labelled, which leaves such examples out"
                )
            made.skipped["examples without marks, which may not have been seen (--labelled)"] += 1
            continue
        shared = {**_about(one, asked), "system": asked.system(QUESTION, one.data, one.place)}
        text = one.text
        shared["characters"] = len(text)
        if not one.marks:
            made.rows["spans"].append({**shared, "reason": "no errors"})
        for start, end, label in sorted(one.marks):
            first, last = _place(start, end, text, options.get("offsets"), one.place)
            mark = {"start": first, "end": last, "text": text[first:last], "severity": label}
            made.rows["spans"].append({**shared, **mark})


def _place(start: int, end: int, text: str, offsets: str | None, place: str) -> tuple[int, int]:
    """Return the place of a mark in characters of Python.

    doccano counts as JavaScript does, in units of UTF-16, and in grapheme mode what is seen as one sign. These agree
    but for signs beyond the basic plane, such as emoji, and combined ones.
    """
    before = text[: end + 1]
    wide, combined = any(ord(sign) > 0xFFFF for sign in before), _combines(before)
    if (wide or combined) and offsets is None:
        raise ResponseError(
            f"{place}: expected a text whose signs are all counted alike, got emoji or combined ones; say to `spa "
            f"import doccano` --offsets {UTF16}, as doccano counts, or --offsets {GRAPHEMES} if the project is in "
            "grapheme mode"
        )
    if offsets == GRAPHEMES and combined:
        raise ResponseError(f"{place}: expected a text without combined signs, got one whose {GRAPHEMES} are not read")
    if wide and offsets == UTF16:
        units = text.encode("utf-16-le", "surrogatepass")
        try:
            first, last = (len(units[: 2 * at].decode("utf-16-le")) for at in (start, end))
        except UnicodeDecodeError as error:
            raise ResponseError(
                f"{place}: expected marks at whole signs, got {start} to {end} within one; is it --offsets {GRAPHEMES}?"
            ) from error
        length = len(units) // 2
    else:
        first, last, length = start, end, len(text)
    if not start < end <= length:
        raise ResponseError(f"{place}: expected a place in a text of {length} signs, got {start} to {end}")
    return first, last


def _combines(text: str) -> bool:
    r"""Whether several characters of a text may be seen as one sign.

    >>> _combines("Zoe"), _combines("Zoe\u0308"), _combines("a\r\nb"), _combines("\U0001f600")
    (False, True, True, False)
    """
    if text.isascii():
        return "\r\n" in text
    return any(unicodedata.category(sign) in ("Mn", "Mc", "Me", "Cf") or _is_part(sign) for sign in text)


def _is_part(sign: str) -> bool:
    """Whether it is a letter of Hangul's syllables, half a flag, or a tone of skin."""
    code = ord(sign)
    return 0x1100 <= code <= 0x11FF or 0x1F1E6 <= code <= 0x1F1FF or 0x1F3FB <= code <= 0x1F3FF


def _options() -> Iterable[click.Option]:
    yield from question_options()
    yield click.Option(
        ["--confirmed"], is_flag=True, help="Only confirmed examples were exported: without a mark is without errors."
    )
    yield click.Option(["--labelled"], is_flag=True, help="Leave out examples without a mark.")
    yield click.Option(
        ["--offsets"], type=click.Choice([UTF16, GRAPHEMES]), help="How places are counted; graphemes in grapheme mode."
    )


FORMAT = AnswerFormat(
    key="doccano",
    description="Read doccano's exports (JSONL, JSON, CSV), zipped or not.\n\n"
    "FILE is the zip file, a folder or files of it; each file is a person. Labels of examples are scores or verdicts, "
    "marks are errors whose severity is the label. Item and system are data of the examples.",
    details="An example without a mark is one without errors only with --confirmed; examples without a label are left "
    "out unless it is given.",
    example="spa import doccano export.zip --confirmed --item-column story --out tables",
    options=tuple(_options()),
    meaning=FileMeaning(
        sides="by the labels: model_a is the first of --compared",
        ties="a label that says so",
        missing="with --confirmed no label; several labels of one example",
        left_out="without --confirmed examples without a label; the end of a mark is outside it",
        seen="doccano 1.8.4",
        source="https://doccano.github.io/doccano/",
    ),
    recognise=_recognise,
    read=_read,
)
