"""What says how the files of another tool are to be read: ``import.toml``, checked like a study file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from spa.errors import StudyError
from spa.files import read_toml
from spa.study.schema_errors import schema_errors
from spa.study.toml_table import Text, TomlTable

Names = Annotated[tuple[Text, ...], Field(min_length=1)]
Mapped = TypeVar("Mapped", bound=TomlTable)


class LlmFile(TomlTable):
    """Answers of an LLM beside the people's: one JSON object a line, ``{"id": ..., SYSTEM: {CRITERION: label}}``."""

    id: Text  # the LLM's name
    file: Text  # relative to the folder imported


class Potato(TomlTable):
    """A folder of POTATO output in which each item shows one text a system and asks the same of each.

    The label of the first system is the criterion's name, those of the others carry ``_2``, ``_3``, ...
    """

    systems: Names  # in the order of the texts
    criteria: Names
    skip: tuple[Text, ...] = ("attention_check_*", "*.html")  # patterns of instance ids that are no items
    llms: tuple[LlmFile, ...] = ()


class QuestionColumn(TomlTable):
    """One column of a table of one row a person (and item): what it asked."""

    column: Text
    kind: Literal["rating", "preference", "choice", "rank"] = "rating"
    system: Text | None = None  # of a rating or rank
    system_column: Text | None = None  # of a rank: the column that names the system
    system_x: Text | None = None  # of a comparison
    system_y: Text | None = None
    criterion: Text = "overall"
    item: Text | None = None  # where no column names it
    exposure: int | None = None
    percent: bool = False  # preferences in 0..100
    values: dict[str, str] = Field(default_factory=dict)  # words -> numbers, or x, y and tie


class Wide(TomlTable):
    """A CSV with a column a question."""

    annotator: Text  # column
    item: Text | None = None  # column
    assignment: Text | None = None  # column
    seconds: Text | None = None  # column
    keep: dict[str, tuple[str, ...]] = Field(default_factory=dict)  # column -> values of the rows that are read
    questions: Annotated[tuple[QuestionColumn, ...], Field(min_length=1)]


def read_mapping(path: Path, kind: type[Mapped]) -> Mapped:
    """Read ``import.toml``.

    Raise StudyError with every mistake, one line each.
    """
    raw = read_toml(path)
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        raise StudyError(*schema_errors(str(path), raw, error, kind)) from error
