"""Responses of SurveyJS: an object a person, by question; its definition says which lists are rankings."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.errors import ResponseError, shortened
from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.foreign_files import LIST, OBJECT, beginning, counted, number_of, of_kind
from spa.importers.nested_rows import LINES, TABLES, WHOLE, nested_records
from spa.importers.people_of_files import FILE, person_column, person_option
from spa.importers.questions_of_files import SYSTEM, VERDICTS, QuestionsAsked, one_system_an_item, question_options
from spa.tables.verdicts import MISSING

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables, Row

ITEMS = ("item_id", "item")  # columns that are taken where none is named; `id` may be a response's
COMMENT = "-Comment"  # ends the key of a comment on a question
PLAIN = frozenset({"name", "displayValue", "isNode"})  # keys of getPlainData
DEFINED = (b'"elements"', b'"name"', b'"type"')  # keys of a survey's definition
RECORDS = re.compile(rb"\s*(?:\[\s*)*\{")  # how a file of records begins
RANKING = "ranking"
SCALES = frozenset({"rating", "slider", "boolean", "radiogroup", "dropdown", "buttongroup", "imagepicker"})
NO_ANSWERS = frozenset({"checkbox", "tagbox", "file", "signaturepad", "multipletext", "expression", "html", "image"})
TEXTS = frozenset({"text", "comment"})
LOOKED_AT = 20
ASK = (
    "`spa import surveyjs` --annotator COLUMN, --annotator '{file}' if each file is a person, or --anonymous if each "
    "response is"
)


@dataclass(slots=True, kw_only=True)
class _Survey:
    """What a definition says: the type of each question, rows of matrices, and values that stand there untouched."""

    types: dict[str, str] = field(default_factory=dict)
    rows: dict[str, list[str]] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)

    def add(self, element: object, place: str, depth: int = 0) -> None:
        """Add an element, and those within it."""
        given = of_kind(OBJECT, element, place)
        for inside in ("pages", "elements", "questions"):
            if isinstance(given.get(inside), list) and depth < LOOKED_AT:
                for one in given[inside]:
                    self.add(one, place, depth + 1)
        name, kind = given.get("valueName") or given.get("name"), given.get("type")
        if isinstance(name, str) and isinstance(kind, str) and kind != "panel":
            self.types[name] = kind
            if kind.startswith("matrix") and isinstance(given.get("rows"), list):
                self.rows[name] = [str(one.get("value") if isinstance(one, dict) else one) for one in given["rows"]]
            if "defaultValue" in given:
                self.defaults[name] = given["defaultValue"]


Leaf = tuple[str, str | None, str | None]  # a question, the row in it, the column in that


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answered:
    """A response, or a panel of one: who gave it, what stands in it and around it, and its values."""

    person: str
    place: str
    scope: str  # the question that panels are of; "" of a response itself
    data: Mapping[str, Any]
    values: Mapping[Leaf, Any]

    def comment(self, question: str) -> str | None:
        return _text(self.data.get(f"{question}{COMMENT}")) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """One value, or that there is none."""

    within: _Answered
    leaf: Leaf
    value: Any

    @property
    def word(self) -> str | None:
        """The value as a word; nothing where there is none."""
        if isinstance(self.value, bool):
            return str(self.value).lower()
        return _text(self.value) or None


def _recognise(path: Path) -> Fit:
    """By the keys of getPlainData, or a definition of a survey that lies beside; of a folder by such files in it."""
    from spa.importers.foreign_rows import names_at_beginning

    if path.is_dir():
        return Fit.CERTAIN if _definition(path) and _others(path) else Fit.NONE
    if path.suffix.lower() not in (*WHOLE, *LINES) or not path.is_file() or _is_definition(path):
        return Fit.NONE
    plain = names_at_beginning(path) >= PLAIN
    begins = RECORDS.match(beginning(path, 1 << 10)) is not None
    return Fit.CERTAIN if plain or (begins and _definition(path.parent)) else Fit.NONE


def _is_definition(path: Path) -> bool:
    start = beginning(path)
    return path.suffix.lower() in WHOLE and start.lstrip().startswith(b"{") and all(sign in start for sign in DEFINED)


def _definition(folder: Path) -> Path | None:
    """Return the definition in a folder; nothing where there is none, or several."""
    found = [one for one in islice(folder.glob("*.json"), LOOKED_AT) if one.is_file() and _is_definition(one)]
    return found[0] if len(found) == 1 else None


def _others(folder: Path) -> list[Path]:
    suffixes = (*WHOLE, *LINES, *TABLES)
    inside = islice((one for one in folder.glob("*") if one.suffix.lower() in suffixes), 10_000)
    return sorted(one for one in inside if one.is_file() and not _is_definition(one))


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.tables import ImportedTables

    options = request.options
    asked = QuestionsAsked.from_options(options)
    files = [one for path in request.paths for one in (_others(path) if path.is_dir() else [path])]
    if not files:
        raise ResponseError(f"{request.paths[0]}: expected responses, got a folder without any")
    first = request.paths[0]
    defined = options.get("survey") or _definition(first if first.is_dir() else first.parent)
    survey = _survey(defined)
    records = [(path, place, record) for path in files for place, record in _responses(path)]
    if not records:
        raise ResponseError(f"{first}: expected responses, got none")
    known = dict.fromkeys(name for _, _, record in records for name in record)
    column = None if options.get("anonymous") else person_column(known, options.get("person"), first, ASK)
    answered: list[_Answered] = []
    for at, (path, place, record) in enumerate(records, start=1):
        person = f"response {at}" if column is None else path.stem if column == FILE else _text(record.get(column))
        if not person:
            raise ResponseError(f"{place}: expected who answered in {column}, got nothing; fill it in")
        answered += _taken_apart(person, place, record)
    reader = _Reader(asked=asked, survey=survey, options=options)
    reader.notes.append(
        f"read: {counted(len(records), 'response')}, named by {column or 'their numbers'}; "
        + (f"questions are defined in {defined.name}" if defined else "without a definition (--survey)")
    )
    reader.read(answered, {column or ""}, first)
    skipped = {what: n for what, n in reader.skipped.items() if n}
    return ImportedTables(rows=reader.rows, skipped=skipped, notes=tuple(reader.notes))


def _survey(path: Path | None) -> _Survey:
    from spa.tables.json_files import read_json

    survey = _Survey()
    if path is not None:
        survey.add(read_json(path), str(path))
        if not survey.types:
            raise ResponseError(f"{path}: expected the definition of a survey, with questions, got none")
    return survey


def _responses(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the responses of a file; lists of getPlainData are one each."""
    from spa.tables.json_files import read_json

    if path.suffix.lower() in WHOLE:
        whole = read_json(path)
        lists = whole if isinstance(whole, list) and whole and isinstance(whole[0], list) else [whole]
        if all(isinstance(one, list) and one and all(_is_plain(part) for part in one) for one in lists):
            for at, one in enumerate(lists, start=1):
                yield f"{path}, response {at}", _of_plain(one)
            return
    yield from nested_records(path, "response")


def _is_plain(one: object) -> bool:
    return isinstance(one, dict) and one.keys() >= PLAIN


def _of_plain(parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    record: dict[str, Any] = {}
    for part in parts:
        record[str(part["name"])] = part.get("value")
        for inside in part.get("data") or []:
            if isinstance(inside, dict) and inside.get("isComment"):
                record[f"{part['name']}{COMMENT}"] = inside.get("value")
    return record


def _text(value: object) -> str:
    return "" if value is None or isinstance(value, list | dict) else str(value).strip()


def _taken_apart(
    person: str, place: str, record: Mapping[str, Any], scope: str = "", around: Mapping[str, Any] | None = None
) -> Iterator[_Answered]:
    """Yield a response, and the panels in it, whose data are also those of the response around them."""
    data = {**(around or {}), **record}
    outside = {name: value for name, value in data.items() if not isinstance(value, list | dict)}
    values: dict[Leaf, Any] = {}
    panels: list[_Answered] = []
    for name, value in record.items():
        if name.endswith(COMMENT):
            continue
        if isinstance(value, dict):
            for row, one in value.items():
                values |= (
                    {(name, row, column): inner for column, inner in one.items()}
                    if isinstance(one, dict)
                    else {(name, row, None): one}
                )
        elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value) and not scope:
            for at, one in enumerate(value, start=1):
                panels += _taken_apart(person, f"{place}, {name} {at}", one, name, outside)
        else:
            values[name, None, None] = value
    yield _Answered(person=person, place=place, scope=scope, data=data, values=values)
    yield from panels


@dataclass(slots=True, kw_only=True)
class _Reader:
    """Turns the values of responses into rows, and counts what is none."""

    asked: QuestionsAsked
    survey: _Survey
    options: Mapping[str, Any]
    rows: dict[str, list[Row]] = field(default_factory=lambda: {"ratings": [], "choices": [], "orders": []})
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    matrices: set[str] = field(default_factory=set)

    def read(self, answered: Sequence[_Answered], apart: set[str], path: Path) -> None:
        """Read the questions that were asked for."""
        scopes: dict[str, list[_Answered]] = defaultdict(list)
        for one in answered:
            scopes[one.scope].append(one)
        leaves = {scope: self._leaves(scope, own) for scope, own in scopes.items()}
        questions = dict.fromkeys(leaf[0] for own in leaves.values() for leaf in own)
        self.asked.check_names(questions, path)
        for name in self.options.get("rankings") or ():
            if name not in questions:
                raise ResponseError(f"{path}: --ranking {shortened(name, 40)}: no such question")
        self.matrices = {question for own in leaves.values() for question, row, _ in own if row is not None}
        apart |= {*(self.asked.sides or ()), self.asked.system_column or SYSTEM}
        apart |= {*ITEMS} if self.asked.item_column is None else {self.asked.item_column}
        unread = []
        for scope, own in leaves.items():
            for question in dict.fromkeys(leaf[0] for leaf in own):
                if question in apart or not self.asked.wants(question):
                    continue
                cells = [
                    _Cell(within=one, leaf=leaf, value=one.values.get(leaf))
                    for one in scopes[scope]
                    for leaf in own
                    if leaf[0] == question
                ]
                if not self._question(question, cells):
                    unread.append(question)
        if unread:
            self.notes.append(f"not answers about systems: {shortened(', '.join(unread), 200)}")
        self.notes += one_system_an_item(self.rows["ratings"])
        if not any(self.rows.values()):
            told = shortened(", ".join(unread or questions), 120)
            raise ResponseError(
                f"{path}: expected answers about systems, got none in {told}; say to `spa import surveyjs` what names "
                "the system: --system-column COLUMN, --of QUESTION=SYSTEM, --compared X,Y, or a group (?P<system>...) "
                "in --names"
            )

    def _leaves(self, scope: str, answered: Sequence[_Answered]) -> list[Leaf]:
        """Return what could be answered: all that anybody answered, and that the definition has."""
        found: dict[Leaf, None] = {}
        for one in answered:
            found |= dict.fromkeys(one.values)
        for name, kind in self.survey.types.items() if not scope else ():
            rows = self.survey.rows.get(name, []) if kind == "matrix" else []
            found |= dict.fromkeys((name, row, None) for row in rows)
            if kind in SCALES:
                found[name, None, None] = None
        whole = {question for question, row, _ in found if row is not None}
        return [leaf for leaf in found if leaf[1] is not None or leaf[0] not in whole]

    def _question(self, question: str, cells: Sequence[_Cell]) -> bool:
        """Add the answers to one question; return whether they are some."""
        kind = self.survey.types.get(question)
        first = cells[0].within.place
        if any(isinstance(one.value, list) for one in cells):
            if kind == RANKING or question in (self.options.get("rankings") or ()):
                self.rows["orders"] += [row for one in cells for row in self._order(one)]
                return True
            if kind is None and question not in self.asked.values:
                raise ResponseError(
                    f"{first}, {shortened(question, 40)}: a list is a ranking, best first, or boxes that were ticked; "
                    f"say to `spa import surveyjs` --ranking {shortened(question, 40)}, name the questions to read "
                    "with --question, or the survey's definition with --survey"
                )
            return False
        named = question in self.asked.of or question in self.asked.only
        if kind in NO_ANSWERS or (kind in TEXTS and not named):
            return False
        words = [word for one in cells if (word := one.word) is not None]
        rated = [one for one in cells if self._system(one) is not None]
        given = self.asked.values.items()
        counts = {word: number_of(value) for word, value in given if value == MISSING or value not in VERDICTS}
        if rated and all(word in counts or number_of(word) is not None for word in words):
            self.skipped["values that name no system"] += len(cells) - len(rated)
            self.rows["ratings"] += [self._rating(one, counts) for one in rated]
            self._say_default(question, rated)
            return True
        if not words or (not rated and self.asked.sides is None):
            return False
        read_as = self.asked.kind(question, words, first)
        if read_as != "choices" or self.asked.sides is None:
            return False
        self.rows["choices"] += [self._choice(one) for one in cells]
        return True

    def _groups(self, cell: _Cell) -> dict[str, str]:
        """Return what the name of a question says by ``--names``."""
        names: re.Pattern[str] | None = self.options.get("names")
        found = names.fullmatch(cell.leaf[0]) if names is not None else None
        return {name: text for name, text in found.groupdict().items() if text} if found else {}

    def _named_system(self, cell: _Cell) -> str | None:
        """Return the system that something other than the row of a matrix names."""
        column = self.asked.system_column or SYSTEM
        given = (
            self._groups(cell).get("system") or self.asked.of.get(cell.leaf[0]) or _text(cell.within.data.get(column))
        )
        return given or None

    def _system(self, cell: _Cell) -> str | None:
        return self._named_system(cell) or cell.leaf[1]

    def _about(self, cell: _Cell) -> Row:
        question, row, column = cell.leaf
        groups = self._groups(cell)
        item = groups.get("item")
        if item is None:
            names = ITEMS if self.asked.item_column is None else (self.asked.item_column,)
            item = next((text for name in names if (text := _text(cell.within.data.get(name)))), None)
        if item is None:
            raise ResponseError(
                f"{cell.within.place}, {shortened(question, 40)}: expected which item it is about, got none; say to "
                "`spa import surveyjs` --item-column COLUMN, or how it is cut out of the names of questions, such as "
                "--names '(?P<item>.+)_(?P<criterion>.+)'"
            )
        criterion = groups.get("criterion") or column
        if criterion is None and row is not None and self._named_system(cell) is not None:
            criterion = row if len(self.matrices) == 1 or groups else f"{question}.{row}"
        if criterion is None:
            criterion = "overall" if groups else question
        return {
            "annotator_id": cell.within.person,
            "annotator_kind": "human",
            "item_id": item,
            "criterion": criterion,
        }

    def _rating(self, cell: _Cell, counts: Mapping[str, float | None]) -> Row:
        word = cell.word
        score = None if word is None else counts[word] if word in counts else number_of(word)
        row = {**self._about(cell), "system": self._system(cell), "score": score}
        row["explanation"] = cell.within.comment(cell.leaf[0])
        return row | ({"missing_reason": "no answer"} if score is None else {})

    def _choice(self, cell: _Cell) -> Row:
        word, within = cell.word, cell.within
        x, y = self.asked.compared(cell.leaf[0], within.data, within.place)
        row = {**self._about(cell), "system_x": x, "system_y": y, "explanation": within.comment(cell.leaf[0])}
        return row | ({"missing_reason": "no answer"} if word is None else self.asked.answer("choices", word))

    def _order(self, cell: _Cell) -> Iterator[Row]:
        if cell.value is None or cell.value == []:
            self.skipped["rankings that were not given, or left as they stood, which SurveyJS records alike"] += 1
            return
        ranked = [_text(one) for one in of_kind(LIST, cell.value, f"{cell.within.place}, {cell.leaf[0]}")]
        if not all(ranked) or len({*ranked}) < len(ranked):
            raise ResponseError(
                f"{cell.within.place}, {shortened(cell.leaf[0], 40)}: expected each system once, best first, got "
                f"{shortened(', '.join(ranked), 120)}"
            )
        for rank, system in enumerate(ranked, start=1):
            yield {**self._about(cell), "system": system, "rank": rank}

    def _say_default(self, question: str, cells: Sequence[_Cell]) -> None:
        default = self.survey.defaults.get(question)
        same = sum(one.value is not None and one.value == default for one in cells)
        if default is not None and same:
            self.notes.append(
                f"perhaps untouched: {same} of {len(cells)} answers to {shortened(question, 60)} are its default value "
                f"{shortened(str(default), 20)}; they count"
            )


def _pattern(context: click.Context, option: click.Parameter, given: str | None) -> re.Pattern[str] | None:
    if given is None:
        return None
    try:
        found = re.compile(given)
    except re.error as error:
        raise click.BadParameter(f"expected a regular expression: {error}", context, option) from error
    if not {*found.groupindex} <= {"item", "system", "criterion"} or not found.groupindex:
        raise click.BadParameter("expected groups (?P<item>...), (?P<system>...), (?P<criterion>...)", context, option)
    return found


FORMAT = AnswerFormat(
    key="surveyjs",
    description="Read responses of SurveyJS, survey.data of each person.\n\n"
    "FILE holds responses as JSON, JSON lines or CSV; a definition of the survey that lies beside it (JSON), or that "
    "--survey names, says what its questions are. A matrix has a key a system, a ranking is a list, best first.",
    details="A system is the key of a matrix unless --system-column, --of or --names says another; then the keys are "
    "criteria. What is absent or null is missing: not answered, or not shown. Without a definition lists are rankings "
    "only with --ranking.",
    example="spa import surveyjs responses.json --names '(?P<item>.+)_(?P<criterion>.+)' --out tables",
    options=(
        *question_options(),
        person_option(),
        click.Option(["--anonymous"], is_flag=True, help="Each response is a person of its own, whom nothing names."),
        click.Option(["--survey"], type=click.Path(path_type=Path), help="The survey's definition, as JSON."),
        click.Option(
            ["--names"],
            metavar="REGEX",
            callback=_pattern,
            help="Fits the names of questions; groups (?P<item>...), (?P<system>...), (?P<criterion>...).",
        ),
        click.Option(
            ["--ranking", "rankings"], multiple=True, metavar="QUESTION", help="A list that is a ranking; repeatable."
        ),
    ),
    meaning=FileMeaning(
        sides="by the values of a question: x is the first of --compared",
        ties="a value that says so",
        missing="an absent key; null",
        left_out="texts and boxes; answers that are a default value are told",
        seen="SurveyJS 3.1.1",
        source="https://surveyjs.io/form-library/documentation/handle-survey-results-store",
    ),
    recognise=_recognise,
    read=_read,
)
