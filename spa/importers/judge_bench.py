"""JUDGE-BENCH's files: lists of people's scores without names, with what was asked and which end of a scale is best."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.errors import ResponseError, shortened
from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.questions_of_files import QuestionsAsked, one_system_an_item, question_options

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables, Row

SIGNS = ("dataset", "annotations", "metric", "category")
SCORES = "individual_human_scores"
PATTERN = r"--id-pattern '(?P<item>.+)_(?P<system>[^_]+)'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What was asked: how a file calls it, and the worst and the best of its scale, where there are such."""

    name: str
    worst: float | None = None
    best: float | None = None

    @property
    def scaled(self) -> bool:
        """Whether its answers are numbers."""
        return self.worst is not None and self.best is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Score:
    metric: Metric
    value: object
    data: Mapping[str, Any]
    place: str


def _recognise(path: Path) -> Fit:
    from spa.importers.foreign_rows import names_at_beginning

    is_json = path.suffix.lower() == ".json" and path.is_file()
    return Fit.CERTAIN if is_json and names_at_beginning(path).issuperset(SIGNS) else Fit.NONE


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.foreign_rows import files_below
    from spa.importers.tables import ImportedTables
    from spa.importers.unnamed import NOTE, repeated

    asked = QuestionsAsked.from_options(request.options)
    pattern: re.Pattern[str] | None = request.options.get("id_pattern")
    skipped: Counter[str] = Counter()
    notes: list[str] = []
    scores: list[_Score] = []
    for path in files_below(request.paths, lambda one: _recognise(one) == Fit.CERTAIN, "files of JUDGE-BENCH"):
        scores += _scores(path, pattern, skipped)
    metrics = {one.metric.name: one.metric for one in scores}
    asked.check_names(metrics, request.paths[0])
    rows: dict[str, list[Row]] = {"ratings": [], "choices": []}
    for name, metric in metrics.items():
        if asked.wants(name):
            for table, row in _rows(metric, [one for one in scores if one.metric.name == name], asked, notes):
                rows[table].append(row)
    if scores:
        notes.append(NOTE)
    notes += one_system_an_item(rows["ratings"])
    tables = {table: repeated(own) for table, own in rows.items()}
    return ImportedTables(rows=tables, skipped=dict(skipped), notes=tuple(notes))


def _scores(path: Path, pattern: re.Pattern[str] | None, skipped: Counter[str]) -> Iterator[_Score]:
    """Yield each person's score; means and majorities are none."""
    from spa.importers.foreign_files import LIST, OBJECT, of_kind
    from spa.tables.json_files import read_json

    whole = of_kind(OBJECT, read_json(path), str(path))
    metrics = _metrics(whole, path)
    for number, instance in enumerate(of_kind(LIST, whole.get("instances"), f"{path}, instances"), start=1):
        place = f"{path}, instance {number}"
        data = _data(of_kind(OBJECT, instance, place), pattern, place)
        given = of_kind(OBJECT, instance.get("annotations"), f"{place}, annotations")
        for name, answers in given.items():
            found = of_kind(OBJECT, answers, f"{place}, {name}").get(SCORES)
            values = of_kind(LIST, found if found is not None else [], f"{place}, {name}, {SCORES}")
            if not values:
                skipped["lists without a single score (mean_human and majority_human are no answers)"] += 1
            only = next(iter(metrics.values())) if len(metrics) == len(given) == 1 else None
            metric = metrics.get(name) or only
            if metric is None:
                listed = shortened(", ".join(metrics), 160)
                raise ResponseError(f"{place}: expected one of the metrics {listed}, got {shortened(repr(name), 60)}")
            for value in values:
                yield _Score(metric=metric, value=value, data=data, place=f"{place}, {name}")


def _metrics(whole: Mapping[str, Any], path: Path) -> dict[str, Metric]:
    """Return what was asked, by the name; ends of a scale may be written as texts."""
    from spa.importers.foreign_files import LIST, OBJECT, TEXT, number_of, of_kind

    metrics: dict[str, Metric] = {}
    for at, one in enumerate(of_kind(LIST, whole.get("annotations"), f"{path}, annotations"), start=1):
        place = f"{path}, annotation {at}"
        asked = of_kind(OBJECT, one, place)
        name = of_kind(TEXT, asked.get("metric"), f"{place}, metric").strip()
        ends = [None if asked.get(end) is None else number_of(str(asked[end]).strip()) for end in ("worst", "best")]
        metrics[name] = Metric(name=name, worst=ends[0], best=ends[1])
    return metrics


def _data(instance: Mapping[str, Any], pattern: re.Pattern[str] | None, place: str) -> dict[str, Any]:
    """Return what stands beside the scores of an instance, and the parts of its id."""
    shown = instance.get("instance")
    fields = {**shown} if isinstance(shown, dict) else {}
    data = {**fields, **{key: one for key, one in instance.items() if not isinstance(one, dict | list)}}
    name = str(instance.get("id", "")).strip()
    if not name:
        raise ResponseError(f"{place}: expected an id, got none")
    if pattern is None:
        return data
    found = pattern.fullmatch(name)
    if found is None:
        raise ResponseError(
            f"{place}: expected an id that --id-pattern {shortened(pattern.pattern, 80)} fits as a whole, got "
            f"{shortened(repr(name), 80)}"
        )
    return data | {key: value for key, value in found.groupdict().items() if value is not None}


def _rows(
    metric: Metric, scores: Sequence[_Score], asked: QuestionsAsked, notes: list[str]
) -> Iterator[tuple[str, Row]]:
    from spa.importers.tables import UNNAMED

    words = [_word(one) for one in scores]
    known = [word for word in words if word is not None]
    kind = "ratings" if metric.scaled else asked.kind(metric.name, known, scores[0].place) if known else "unread"
    if kind == "unread":
        notes.append(f"not read: {metric.name}, whose words are no verdicts or scores; --value says what one counts")
        return
    outside = 0
    for one, word in zip(scores, words, strict=True):
        row: Row = {
            "annotator_id": UNNAMED,
            "annotator_kind": "human",
            "item_id": asked.item(one.data, one.data.get("id"), one.place),
            "criterion": metric.name,
        }
        if kind == "ratings":
            row["system"] = _system(metric.name, one, asked)
        else:
            row["system_x"], row["system_y"] = asked.compared(metric.name, one.data, one.place)
        row |= {"missing_reason": "no answer"} if word is None else _answer(metric, kind, word, asked, one.place)
        outside += _is_outside(metric, row.get("score"))
        yield kind, row
    notes += _said(metric, outside) if kind == "ratings" else []


def _word(one: _Score) -> str | None:
    from spa.importers.foreign_files import shown

    if isinstance(one.value, list | dict):
        raise ResponseError(f"{one.place}, {SCORES}: expected texts or numbers, got {shown(one.value)}")
    text = "" if one.value is None else str(one.value).strip()
    return text or None


def _answer(metric: Metric, kind: str, word: str, asked: QuestionsAsked, place: str) -> Row:
    from spa.importers.foreign_files import number_of

    if metric.scaled and word not in asked.values and number_of(word) is None:
        raise ResponseError(
            f"{place}: expected a number, got {shortened(repr(word), 40)}; say what it counts with --value "
            f"{shortened(repr(f'{word}=NUMBER'), 40)}, or =missing"
        )
    return asked.answer("ratings" if kind == "ratings" else "choices", word)


def _system(metric: str, one: _Score, asked: QuestionsAsked) -> str:
    """Return the system of an instance, which stands in its id, in a field, or nowhere."""
    if metric not in asked.of and asked.system_column is None and not one.data.get("system"):
        raise ResponseError(
            f"{one.place}: expected the system that is rated, got id {shortened(repr(one.data['id']), 60)} alone; say "
            f" where the id holds it by {PATTERN}, --system-column FIELD, or --of {shortened(metric, 30)}=SYSTEM"
        )
    return asked.system(metric, one.data, one.place)


def _is_outside(metric: Metric, score: object) -> bool:
    if metric.worst is None or metric.best is None or not isinstance(score, float):
        return False
    return not min(metric.worst, metric.best) <= score <= max(metric.worst, metric.best)


def _said(metric: Metric, outside: int) -> Iterator[str]:
    if metric.worst is None or metric.best is None:
        return
    if metric.best < metric.worst:
        yield f"{metric.name}: low is good, as its best is {metric.best:g}: add --lower-is-better {metric.name}"
    if outside:
        yield f"{metric.name}: {outside:,} scores lie outside {metric.worst:g} (worst) to {metric.best:g} (best)"


def _compiled(context: click.Context, option: click.Parameter, text: str | None) -> re.Pattern[str] | None:
    if text is None:
        return None
    try:
        pattern = re.compile(text)
    except re.error as error:
        problem = f"expected a regular expression, got {shortened(repr(text))}: {error}"
        raise click.BadParameter(problem, context, option) from error
    if "system" not in pattern.groupindex:
        raise click.BadParameter(f"expected a group (?P<system>...), got {shortened(repr(text))}", context, option)
    return pattern


FORMAT = AnswerFormat(
    key="judge-bench",
    description="Read JUDGE-BENCH's files of people's scores.\n\n"
    "FILE is one of its JSON files, or a folder of them; single scores are read, whose people have no names, never "
    "means or majorities. Where its ids name the system, --id-pattern cuts it out.",
    details="Of a comparison by places (model_a, model_b) --compared says which systems stood there.",
    example=f"spa import judge-bench data.json {PATTERN} --out tables",
    options=(
        click.Option(
            ["--id-pattern"],
            metavar="REGEX",
            callback=_compiled,
            help="Fits an instance's id as a whole; its group (?P<system>...) is the system, (?P<item>...) the item.",
        ),
        *question_options(),
    ),
    meaning=FileMeaning(
        sides="model_a, model_b are places: --compared",
        ties="tie; tie (bothbad)",
        missing="null in a list of scores",
        left_out="mean_human, majority_human; empty lists, counted; worst above best: low is good, said",
        seen="13 of its files, read",
        source="https://github.com/dmg-illc/JUDGE-BENCH",
    ),
    recognise=_recognise,
    read=_read,
)
