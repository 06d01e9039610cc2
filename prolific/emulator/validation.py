"""Reading request bodies: what does not fit is refused as the platform refuses it, field by field."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from prolific.emulator.errors import EmulatorRequestError

M = TypeVar("M", bound=BaseModel)


def read_body(model: type[M], body: Any) -> M:
    """Return a body as a record.

    Raises
    ------
    EmulatorRequestError
        With the messages of each field.
    """
    if not isinstance(body, dict):
        raise EmulatorRequestError(400, "The body must be a JSON object")
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise EmulatorRequestError(400, by_field(error)) from error


def by_field(error: ValidationError) -> dict[str, list[str]]:
    """Return the messages of each field, what concerns the whole body under ``non_field_errors``."""
    found: dict[str, list[str]] = {}
    for one in error.errors():
        place = ".".join(map(str, one["loc"])) or "non_field_errors"
        found.setdefault(place, []).append(one["msg"].removeprefix("Value error, "))
    return found
