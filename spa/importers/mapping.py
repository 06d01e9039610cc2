"""What says how the files of another tool are to be read: ``import.toml``, checked like a study file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field, ValidationError

from spa.errors import ResponseError, StudyError
from spa.files import read_toml
from spa.importers.answer_format import ImportRequest
from spa.records.toml_table import Text, TomlTable
from spa.study.schema_errors import schema_errors

Names = Annotated[tuple[Text, ...], Field(min_length=1)]
Mapped = TypeVar("Mapped", bound=TomlTable)


def mapping_file(request: ImportRequest) -> Path:
    """Return the mapping of a format that needs one; raise ResponseError where none was given."""
    if request.mapping is None:
        raise ResponseError(f"{request.paths[0]}: expected a mapping, got none; name one with --mapping")
    return request.mapping


def read_mapping(path: Path, kind: type[Mapped]) -> Mapped:
    """Read ``import.toml``.

    Raise StudyError with every mistake, one line each.
    """
    raw = read_toml(path)
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        raise StudyError(*schema_errors(str(path), raw, error, kind)) from error
