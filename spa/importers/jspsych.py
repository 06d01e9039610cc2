"""Trials of jsPsych: a row a trial, whose response is a number, a place or a word, or several of them by name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.errors import ResponseError, shortened
from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.foreign_files import beginning, counted, number_of
from spa.importers.nested_rows import LINES, TABLES, WHOLE, nested_records
from spa.importers.people_of_files import FILE, person_column, person_option
from spa.importers.questions_of_files import ITEMS, SYSTEM, QuestionsAsked, one_system_an_item, question_options

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables, Row

SIGNS = frozenset({"trial_type", "trial_index", "time_elapsed"})
JATOS = ".txt"  # ends the names of results that JATOS keeps
TASKS = ("criterion", "task")  # columns that say what a trial asked
RESPONSE = "response"
SLIDER, START = "slider-response", "slider_start"
SCALES = (SLIDER, "survey-likert")  # ends of the types of trials whose answers are scores
PLACES = ("survey-likert", "button-response")  # and of those whose answers are places, from 0
UNNAMED = ("Q",)  # how questions begin that have no name of their own
UNTOUCHED = "slider not moved"
LOOKED_AT = 20
ASK = "`spa import jspsych` --annotator COLUMN, or --annotator '{file}' if each file is a person"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """One answer of a trial: its question, and the value, ``None`` of one that was not answered."""

    person: str
    place: str
    data: Mapping[str, Any]
    question: str
    value: Any

    @property
    def plugin(self) -> str:
        return str(self.data.get("trial_type") or "")

    @property
    def word(self) -> str | None:
        """The answer as a word; nothing where there is none."""
        if self.value is None or isinstance(self.value, list | dict):
            return None
        text = str(self.value).lower() if isinstance(self.value, bool) else str(self.value).strip()
        return text or None


@dataclass(slots=True, kw_only=True)
class _Played:
    """Rows, and what is said."""

    rows: dict[str, list[Row]] = field(default_factory=lambda: {"ratings": [], "choices": []})
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def _recognise(path: Path) -> Fit:
    """By columns, or keys, that jsPsych writes to every trial; of a folder by its files."""
    from spa.importers.foreign_rows import names_at_beginning

    if path.is_dir():
        suffixes = (*TABLES, *LINES, *WHOLE)
        inside = islice((one for one in path.glob("*") if one.suffix.lower() in suffixes), LOOKED_AT)
        return max((_recognise(one) for one in inside if one.is_file()), default=Fit.NONE)
    if path.suffix.lower() == JATOS:
        start = beginning(path)
        known = start.lstrip().startswith(b"[") and all(f'"{name}":'.encode() in start for name in SIGNS)
        return Fit.CERTAIN if known else Fit.NONE
    return Fit.CERTAIN if names_at_beginning(path) >= SIGNS else Fit.NONE


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.foreign_rows import files_below
    from spa.importers.tables import ImportedTables

    options = request.options
    asked, made = QuestionsAsked.from_options(options), _Played()
    files = files_below(request.paths, lambda one: _recognise(one) == Fit.CERTAIN, "trials of jsPsych")
    records = [(path, place, record) for path in files for place, record in nested_records(path, "trial")]
    known = dict.fromkeys(name for _, _, record in records for name in record)
    column = person_column(known, options.get("person"), request.paths[0], ASK)
    made.notes.append(
        f"read: {counted(len(records), 'trial')} of {counted(len(files), 'file')}; annotators are named by {column}"
    )
    trials = _named(list(_trials(records, column, asked, made)), options.get("criterion_column"))
    questions = dict.fromkeys(one.question for one in trials)
    asked.check_names(questions, request.paths[0])
    for question in filter(asked.wants, questions):
        own = [one for one in trials if one.question == question]
        _add(question, own, asked, made, options)
    places = {end for one in trials for end in PLACES if one.plugin.endswith(end)}
    if places and made.rows["ratings"]:
        made.notes.append(f"places count from 0 ({', '.join(sorted(places))}): labels 1 to 5 are scores 0 to 4")
    made.notes += one_system_an_item(made.rows["ratings"])
    if not any(made.rows.values()):
        _ask(trials, asked, made, request.paths[0])
    skipped = {what: n for what, n in made.skipped.items() if n}
    return ImportedTables(rows=made.rows, skipped=skipped, notes=tuple(made.notes))


def _trials(
    records: Sequence[tuple[Path, str, Mapping[str, Any]]], column: str, asked: QuestionsAsked, made: _Played
) -> Iterator[_Trial]:
    """Yield the answers of all trials that have an item; others are of consent, instructions and the like."""
    items = ITEMS if asked.item_column is None else (asked.item_column,)
    responding = [one for one in records if RESPONSE in one[2]]
    if responding and not any(_said(record.get(name)) for _, _, record in responding for name in items):
        there = shortened(", ".join(responding[0][2]), 160)
        raise ResponseError(
            f"{responding[0][1]}: expected a column that names the item, got none of {', '.join(items)}; say to `spa "
            f"import jspsych` --item-column COLUMN; there are: {there}"
        )
    made.skipped["trials without a response, such as instructions"] += len(records) - len(responding)
    for path, place, record in responding:
        if not any(_said(record.get(name)) for name in items):
            made.skipped["trials that name no item, such as consent"] += 1
            continue
        person = path.stem if column == FILE else str(record.get(column) or "").strip()
        if not person:
            raise ResponseError(f"{place}: expected who answered in {column}, got nothing; fill it in")
        value = record[RESPONSE]
        given = value.items() if isinstance(value, dict) else (("", value),)
        for name, one in given:
            yield _Trial(person=person, place=place, data=record, question=str(name), value=one)


def _named(trials: Sequence[_Trial], column: str | None) -> list[_Trial]:
    """Return the answers with the names of their questions.

    That is the key in the response, else what a column says of the trial, else the plugin; both, where a key stands in
    several kinds of trials or is one that jsPsych gives, such as Q0.
    """
    from dataclasses import replace

    columns = TASKS if column is None else (column,)

    def task(one: _Trial) -> str:
        return str(next((one.data[name] for name in columns if _said(one.data.get(name))), one.plugin)).strip()

    tasks: defaultdict[str, set[str]] = defaultdict(set)
    for one in trials:
        tasks[one.question].add(task(one))
    alone = len({(one.question, task(one)) for one in trials}) == 1

    def name(one: _Trial) -> str:
        key = one.question
        if not key:
            return "overall" if alone and task(one) == one.plugin else task(one)
        own = not (key.startswith(UNNAMED) and key[1:].isdecimal()) and len(tasks[key]) == 1
        return key if own else f"{task(one)}.{key}"

    return [replace(one, question=name(one)) for one in trials]


def _said(value: object) -> bool:
    return value is not None and not isinstance(value, list | dict) and str(value).strip() != ""


def _add(
    question: str, trials: Sequence[_Trial], asked: QuestionsAsked, made: _Played, options: Mapping[str, Any]
) -> None:
    """Add the answers to one question: ratings where trials name a system, else comparisons by --compared."""
    system = asked.system_column or SYSTEM
    rated = [one for one in trials if question in asked.of or _said(one.data.get(system))]
    columns = [side for side in asked.sides or () if any(side in one.data for one in trials)]
    if not rated and asked.sides is not None:
        comparing = [one for one in trials if not columns or any(_said(one.data.get(name)) for name in columns)]
        made.skipped["trials that name no systems to compare"] += len(trials) - len(comparing)
        trials = comparing
    elif rated:
        made.skipped["trials that name no system"] += len(trials) - len(rated)
        trials = rated
    else:
        made.skipped["trials that name no system"] += len(trials)
        return
    words = [word for one in trials if (word := one.word) is not None]
    if any(isinstance(one.value, list | dict) for one in trials):
        made.notes.append(f"not read: {question} (several answers in one)")
    elif not words and not all(one.plugin.endswith(SCALES) for one in trials):
        made.skipped["trials of questions that nobody answered"] += len(trials)
    elif rated:
        _rate(question, trials, words, asked, made, options)
    else:
        _compare(question, trials, words, asked, made)


def _about(one: _Trial, asked: QuestionsAsked) -> Row:
    time = number_of(str(one.data.get("rt")))
    return {
        "annotator_id": one.person,
        "annotator_kind": "human",
        "item_id": asked.item(one.data, "", one.place),
        "criterion": one.question,
        "seconds": None if time is None else time / 1000,
    }


def _missing(one: _Trial) -> str:
    return "timed out" if one.value is None and one.data.get("rt") is None else "no answer"


def _rate(
    question: str,
    trials: Sequence[_Trial],
    words: Sequence[str],
    asked: QuestionsAsked,
    made: _Played,
    options: Mapping[str, Any],
) -> None:
    counts = {word: value for word, value in asked.values.items() if number_of(value) is not None or value == "missing"}
    scale = all(one.plugin.endswith(SCALES) for one in trials)
    if not scale and not all(number_of(counts.get(word, word)) is not None for word in words if word not in counts):
        if asked.kind(question, words, trials[0].place) != "ratings":
            made.notes.append(f"not read: {question}, whose words are no scores; --value says what one counts")
            return
    untouched = _untouched(question, trials, made, options)
    for one in trials:
        word = one.word
        score = None if word is None else number_of(counts.get(word, word))
        if word is not None and score is None and word not in counts:
            raise ResponseError(
                f"{one.place}, {shortened(question, 40)}: expected a number, got {shortened(repr(word), 40)}; say what "
                "it counts, such as --value WORD=NUMBER"
            )
        left = id(one) in untouched and bool(options.get("without_untouched"))
        row = {**_about(one, asked), "system": asked.system(question, one.data, one.place)}
        row |= {"score": None if left else score}
        if left or score is None:
            row["missing_reason"] = UNTOUCHED if left else _missing(one)
        made.rows["ratings"].append(row)


def _untouched(question: str, trials: Sequence[_Trial], made: _Played, options: Mapping[str, Any]) -> set[int]:
    """Return which sliders stand where they began, put within the scale; count and say them.

    The ends of a scale are in no file: where they are not given, the lowest and the highest answer are taken.
    """
    given = [
        (one, start, score)
        for one in trials
        if one.plugin.endswith(SLIDER)
        and (start := number_of(str(one.data.get(START)))) is not None
        and (score := number_of(one.word or "")) is not None
    ]
    if not given:
        return set()
    scores = [score for _, _, score in given]
    low, high = options.get("ends") or (min(scores), max(scores))
    found = {id(one): score for one, start, score in given if score == min(max(start, low), high)}
    if found:
        stood = ", ".join(f"{score:g}" for score in sorted({*found.values()}))
        beyond = options.get("ends") is None and not all(low <= start <= high for _, start, _ in given)
        ends = f" if its ends are {low:g} and {high:g} (say them with --slider-ends)" if beyond else ""
        missing = options.get("without_untouched")
        if missing and beyond:
            raise ResponseError(
                f"{given[0][0].place}: expected the ends of the sliders, as one begins at {given[0][1]:g} outside of "
                f"all answers ({low:g} to {high:g}), got none; say them with --slider-ends LOW:HIGH"
            )
        made.notes.append(
            f"perhaps untouched: {len(found)} of {len(given)} answers to {shortened(question, 60)} stand at {stood}, "
            f"where its slider begins{ends}; they "
            + ("are missing" if missing else "count (--without-untouched makes them missing)")
        )
    return {*found}


def _compare(
    question: str, trials: Sequence[_Trial], words: Sequence[str], asked: QuestionsAsked, made: _Played
) -> None:
    if asked.kind(question, words, trials[0].place) != "choices":
        made.notes.append(f"not read: {question}, whose answers are no verdicts; --value says what one counts")
        return
    for one in trials:
        x, y = asked.compared(question, one.data, one.place)
        row = {**_about(one, asked), "system_x": x, "system_y": y}
        del row["seconds"]
        row |= {"missing_reason": _missing(one)} if one.word is None else asked.answer("choices", one.word)
        made.rows["choices"].append(row)


def _ask(trials: Sequence[_Trial], asked: QuestionsAsked, made: _Played, path: Path) -> None:
    """Say what is open where nothing could be read."""
    if not trials:
        raise ResponseError(f"{path}: expected trials with a response, got none")
    unread = "; ".join(note for note in made.notes if note.startswith("not read"))
    if unread:
        raise ResponseError(f"{path}: expected answers, got none; {shortened(unread, 300)}")
    one = trials[0]
    raise ResponseError(
        f"{one.place}, {shortened(one.question, 40)}: expected which system it rates, got none in "
        f"{asked.system_column or SYSTEM}; say to `spa import jspsych` --system-column COLUMN, or --compared X,Y, the "
        f"columns of the systems that are compared; there are: {shortened(', '.join(one.data), 120)}"
    )


def _ends(context: click.Context, option: click.Parameter, given: str | None) -> tuple[float, float] | None:
    if given is None:
        return None
    low, _, high = (number_of(part.strip()) if part != ":" else None for part in given.partition(":"))
    if low is None or high is None or low >= high:
        raise click.BadParameter(f"expected LOW:HIGH, such as 0:100, got {shortened(repr(given))}", context, option)
    return low, high


FORMAT = AnswerFormat(
    key="jspsych",
    description="Read trials of jsPsych (CSV, JSON, JSON lines).\n\n"
    "FILE is what data.get().csv() or .json() gives, of one person or several, or a folder of such files. Columns of "
    "the trials say item and system, or with --compared which systems are compared; other trials are left out.",
    details="A question is a key of the response, else what the column task says of a trial. Answers of survey-likert "
    "and buttons are places from 0: say what those of a comparison count with --value, such as 0=x 1=y. Sliders that "
    "stand where they began are counted.",
    example="spa import jspsych trials.csv --compared left,right --value 0=x --value 1=y --out tables",
    options=(
        *question_options(),
        person_option(),
        click.Option(
            ["--criterion-column"],
            metavar="COLUMN",
            help="Column that says what a trial asked. [default: criterion, task]",
        ),
        click.Option(
            ["--slider-ends", "ends"],
            metavar="LOW:HIGH",
            callback=_ends,
            help="Ends of the sliders, which no file has.",
        ),
        click.Option(
            ["--without-untouched"], is_flag=True, help="Sliders that stand where they began are missing answers."
        ),
    ),
    meaning=FileMeaning(
        sides="by --value: a place from 0, or a word",
        ties="a place or word that --value calls a tie",
        missing="null; an empty text",
        left_out="trials that name no item or system; sliders that stand where they began are told",
        seen="jsPsych 8.3.0",
        source="https://www.jspsych.org/latest/overview/data/",
    ),
    recognise=_recognise,
    read=_read,
)
