"""What says how the files of another tool are to be read: ``import.toml``, checked like a study file, and OLD=NEW."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationError

from spa.errors import ResponseError, StudyError, shortened
from spa.files import read_toml
from spa.importers.answer_format import ImportRequest
from spa.records.toml_table import Text, TomlTable
from spa.study.schema_errors import schema_errors

Names = Annotated[tuple[Text, ...], Field(min_length=1)]
Mapped = TypeVar("Mapped", bound=TomlTable)
PAIRS = Path("--map")  # the place of what pairs say


def mapping_file(request: ImportRequest) -> Path:
    """Return the mapping of a format that needs one; raise ResponseError where none was given."""
    if request.mapping is None and request.pairs:
        old, new = request.pairs[0]
        raise ResponseError(
            f"--map {shortened(f'{old}={new}', 60)}: expected a file beside it, as columns alone do not say how "
            f"{request.paths[0]} is read; name one with --map FILE, too"
        )
    if request.mapping is None:
        raise ResponseError(f"{request.paths[0]}: expected a mapping, got none; name one with --mapping")
    return request.mapping


def read_mapping(path: Path, kind: type[Mapped]) -> Mapped:
    """Read ``import.toml``.

    Raise StudyError with every mistake, one line each.
    """
    return checked(read_toml(path), path, kind)


def checked(raw: dict[str, Any], path: Path, kind: type[Mapped]) -> Mapped:
    """Return what a table of a file says; raise StudyError with every mistake, one line each."""
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        raise StudyError(*schema_errors(str(path), raw, error, kind)) from error


def mapping_place(request: ImportRequest) -> Path:
    """Return the file that says how files are read, or :data:`PAIRS` where columns alone do; raise where nothing."""
    return PAIRS if request.mapping is None and request.pairs else mapping_file(request)


def check_pairs(request: ImportRequest, known: Collection[str], several: Collection[str]) -> None:
    """Refuse a pair whose second name is none of those ``known``, and two of one; ``several`` may name many columns."""
    given: dict[str, str] = {}
    for old, new in request.pairs:
        if new not in known:
            raise ResponseError(
                f"--map {shortened(f'{old}={new}', 80)}: expected COLUMN=NAME with one of {', '.join(known)}, "
                f"got {shortened(repr(new), 40)}"
            )
        if new not in several and given.setdefault(new, old) != old:
            raise ResponseError(
                f"--map: expected one column as {new}, got {shortened(given[new], 60)} and {shortened(old, 60)}"
            )


def criterion_of(old: str, answers: Collection[str], named: bool, called: Callable[[str], str] = str) -> dict[str, str]:
    """Return the criterion of one of several columns of answers: its name, unless a column has it."""
    return {"criterion": called(old)} if len(answers) > 1 and not named else {}
