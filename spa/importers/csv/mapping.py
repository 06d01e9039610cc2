"""What the columns of tables mean: the keys of ``import.toml``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from spa.importers.mapping import Names
from spa.records.toml_table import Text, TomlTable
from spa.tables.unrolling import KEY, PLACE, is_way

Columns = Text | Names  # one column, or several whose values are joined by "/"
Each = Text | Names | dict[str, Text]  # one path, or one of each group: several named by themselves, or by keys
Kind = Literal["rating", "preference", "choice", "rank", "order"]
WAYS = (PLACE, KEY)
GROUP = "{group}"  # of a row: the list of which it was a part
FILE = "{file}"  # in an annotator's name: the file's, without its ending


class QuestionColumn(TomlTable):
    """What one column of a table asked, or several columns of one annotator each."""

    column: Text | None = None
    annotators: tuple[Text, ...] = ()  # instead of `column`: columns of one annotator each
    group: Columns | None = None  # columns within whose values a header of `annotators` is one person
    annotator: Text | None = None  # a constant
    kind: Kind = "rating"
    system: Text | None = None  # of a rating or rank
    system_column: Text | None = None
    systems: tuple[Text, ...] = ()  # those that a cell with several systems may name
    labels: dict[str, Text] = Field(default_factory=dict)  # label in such a cell -> column that names its system
    system_x: Text | None = None  # of a comparison
    system_y: Text | None = None
    system_x_column: Text | None = None
    system_y_column: Text | None = None
    systems_in: Text | None = None  # the column that holds both systems of a comparison
    separator: Text | None = None  # between them, or between the systems of an order
    criterion: Text = "overall"
    criterion_column: Text | None = None
    criteria: dict[str, Text] = Field(default_factory=dict)  # criterion as it is written -> its name
    item: Text | None = None  # where no column names it
    item_column: Columns | None = None
    seconds: Text | None = None  # column
    exposure: int | None = None
    percent: bool = False  # preferences in 0..100
    scale: tuple[float, float] | None = None  # of preferences: the values that stand for 0 and 1
    start_column: Text | None = None  # where the slider began
    ends: tuple[float, float] | None = None  # of the slider
    untouched: Literal["answer", "missing"] = "answer"  # what a slider that was not moved is
    winner_is: Literal["name", "side"] | None = None  # how a winner is read that is a system's name and a side
    values: dict[str, str | float] = Field(default_factory=dict)  # words -> numbers, or x, y, tie and systems


class Key(TomlTable):
    """A table that is joined to the rows: which system stood where, what an item's number means."""

    file: Text  # relative to the mapping
    on: dict[str, Text] = Field(default_factory=dict)  # column of the rows -> column of the key; else those of both


def _as_key(value: object) -> object:
    return {"file": value} if isinstance(value, str) else value


ALSO = {"annotator_id": "annotator", "item_id": "item", "assignment_id": "assignment"}  # names of tidy tables
SYSTEMS = ("system", "system_column", "systems", "systems_in", "labels")
BY_WAYS = ("system", "system_x", "system_y", "criterion", "item")  # constants of a question that may be places or keys


class Wide(TomlTable):
    """Tables with a column a question."""

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, raw: object) -> object:
        """Take names of tidy tables for keys, a system of the file for that of each question, and places as columns."""
        if not isinstance(raw, dict):
            return raw
        made = {_key(key, raw): value for key, value in raw.items() if key != "system"}
        made = {key: _one_way(value, raw.get("each")) if key == "annotator" else value for key, value in made.items()}
        questions = raw.get("questions")
        if isinstance(questions, list):
            made["questions"] = [_question(one, raw.get("system")) for one in questions]
        return made

    annotator: Text | None = None  # column, or a name that holds {file}
    kind_column: Text | None = None  # human or llm
    llms: tuple[Text, ...] = ()  # annotators that are LLMs
    people: Text | dict[str, Text] = Field(default_factory=dict)  # annotator -> who it is, or a file that says so
    item: Columns | None = None
    sample: Columns | None = None  # which of several outputs of an item, such as a segment of a document
    assignment: Text | None = None  # column
    seconds: Text | None = None  # column
    seconds_unit: Literal["s", "ms"] = "s"
    keep: dict[str, tuple[str, ...]] = Field(default_factory=dict)  # column -> values of the rows that are read
    drop: dict[str, tuple[str, ...]] = Field(default_factory=dict)  # column -> values of the rows that are not
    missing: tuple[str, ...] = ()  # what stands in the cells of questions that were not answered
    constants: tuple[Text, ...] = ()  # names of systems, items and criteria that columns are called, too
    split: dict[str, Text] = Field(default_factory=dict)  # column -> pattern whose named groups become columns
    key: Annotated[Key, BeforeValidator(_as_key)] | None = None  # or its file alone
    page_times: Text | None = None  # oTree's export of page times, relative to the mapping
    each: Each | None = None  # paths of the lists or objects of a record whose parts become rows
    encoding: Text | None = None
    quotes: Literal["csv", "text"] | None = None
    decimal: Literal[".", ","] = "."  # in numbers
    questions: Annotated[tuple[QuestionColumn, ...], Field(min_length=1)]


def _key(key: str, raw: dict[str, object]) -> str:
    return ALSO[key] if key in ALSO and ALSO[key] not in raw else key


def _question(raw: object, system: object) -> object:
    """Return a question with the system that the file names for all, and with places and keys as columns."""
    if not isinstance(raw, dict):
        return raw
    made = dict(raw)
    if (
        system is not None
        and raw.get("kind", "rating") in ("rating", "rank")
        and not any(key in raw for key in SYSTEMS)
    ):
        made["system_column"] = system
    for key in BY_WAYS:
        if isinstance(made.get(key), str) and is_way(made[key]):
            made[f"{key}_column"] = made.pop(key)
    return made


def _one_way(names: object, each: object) -> object:
    """Return the mark of several places or keys, one of each list or object."""
    paths = lists_of(each) if isinstance(each, str | list | dict) else {}
    marks = {mark for mark in WAYS if isinstance(names, list) and set(names) == {f"{path}{mark}" for path in paths}}
    return marks.pop() if marks else names


def lists_of(each: object) -> dict[str, str]:
    """Return the paths whose parts become rows, each with the name of its group.

    >>> lists_of("experts"), lists_of(["a.experts", "crowd"]), lists_of({"people": "crowd"})
    ({'experts': ''}, {'a.experts': 'a.experts', 'crowd': 'crowd'}, {'crowd': 'people'})
    """
    if isinstance(each, dict):
        return {str(path): str(group) for group, path in each.items()}
    paths = [each] if isinstance(each, str) else list(each) if isinstance(each, list | tuple) else []
    return {str(path): str(path) if len(paths) > 1 else "" for path in paths}


def names_of(columns: Columns | None) -> tuple[str, ...]:
    """Return the columns that a key names, be it one or several."""
    return () if columns is None else (columns,) if isinstance(columns, str) else columns
