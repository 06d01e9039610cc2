"""The mapping file: which columns of the results become which columns of the tidy tables."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, ValidationError, model_validator

from spa.errors import PlatformError, unreadable
from spa.records.toml_table import Text, TomlTable

REQUIRED = {
    "ratings": ("item_id", "system", "score"),
    "preferences": ("system_x", "system_y", "preference"),
    "choices": ("item_id", "system_x", "system_y", "winner"),
}
ANSWERS = {"ratings": "score", "preferences": "preference", "choices": "winner"}  # the column that was answered
OPTIONAL = ("criterion", "sample", "exposure", "explanation", "position", "elicitation")
Table = Literal["ratings", "preferences", "choices"]


class ColumnSource(TomlTable):
    """Where one column of a tidy table comes from."""

    column: Text | None = None  # of the results
    value: Text | float | None = None  # the same in every row
    one_of: dict[str, str | float] = Field(default_factory=dict)  # column -> what it means where that column is true
    levels: dict[str, str | float] = Field(default_factory=dict)  # what stands in the column -> what it means
    scale: Annotated[float, Field(gt=0)] = 1.0  # numbers are divided by this: 100 for percent

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = (self.column is not None) + (self.value is not None) + bool(self.one_of)
        if given != 1:
            raise ValueError("give one of column, value and one_of")
        if self.levels and self.column is None:
            raise ValueError("levels go with column")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the results that this cell needs."""
        return tuple(self.one_of) if self.one_of else (() if self.column is None else (self.column,))


Cells = dict[str, ColumnSource]


class ResultMapping(TomlTable):
    """A mapping file. Each entry of a table makes one row of each submission."""

    worker: Text = "WorkerId"
    assignment: Text = "AssignmentId"
    status: Text = "AssignmentStatus"
    seconds: Text = "WorkTimeInSeconds"
    feedback: Text = "RequesterFeedback"
    ratings: tuple[Cells, ...] = ()
    preferences: tuple[Cells, ...] = ()
    choices: tuple[Cells, ...] = ()

    @model_validator(mode="after")
    def _tables_are_whole(self) -> Self:
        if not (self.ratings or self.preferences or self.choices):
            raise ValueError("give at least one of [[ratings]], [[preferences]] and [[choices]]")
        for name, needed in REQUIRED.items():
            for number, cells in enumerate(getattr(self, name), start=1):
                for column in needed:
                    if column not in cells:
                        raise ValueError(f"[[{name}]] {number} has no {column}")
                for column in cells:
                    if column not in (*needed, *OPTIONAL):
                        known = ", ".join((*needed, *OPTIONAL))
                        raise ValueError(f"[[{name}]] {number}: no column {column!r}; known: {known}")
        return self

    def blocks(self) -> tuple[tuple[Table, Cells], ...]:
        """Return every entry with the name of its table."""
        return tuple((name, cells) for name in get_args(Table) for cells in getattr(self, name))


def read_raw(path: Path) -> dict[str, Any]:
    """Read a mapping file unchecked; raise PlatformError where it is no TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PlatformError(unreadable(path, error)) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PlatformError(f"{path}: expected a mapping in TOML, got: {error}") from error


def checked_mapping(raw: Mapping[str, Any], path: Path) -> ResultMapping:
    """Check what a mapping says; raise PlatformError with one line for each mistake."""
    try:
        return ResultMapping.model_validate(raw)
    except ValidationError as error:
        raise PlatformError(*(_problem_line(path, detail) for detail in error.errors(include_url=False))) from error


def _problem_line(path: Path, detail: Any) -> str:
    place = ", ".join(f"entry {part + 1}" if isinstance(part, int) else str(part) for part in detail["loc"])
    message = str(detail["msg"]).removeprefix("Value error, ")
    return f"{path}: {place}: {message}" if place else f"{path}: {message}"
