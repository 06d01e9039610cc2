"""What every table of a study file is made of."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

NOTHING = ("NaN", "nan", "NA")  # what other programs write into an empty cell; a table read again has nothing there


CONTROL = r"\x00-\x1f\x7f-\x9f"  # characters, as every dialect of regular expressions writes them


def _refuse_missing_value(name: str) -> str:
    if name in NOTHING:
        raise ValueError("a word for a missing value")
    return name


Ident = Annotated[
    str,
    StringConstraints(min_length=1, max_length=80, pattern=rf"^[^\s/\\{CONTROL}](?:[^{CONTROL}]*[^\s{CONTROL}])?$"),
    AfterValidator(_refuse_missing_value),
]
Text = Annotated[str, StringConstraints(min_length=1)]


def added(default: Any) -> Any:
    """Return a field that a later release added.

    At its default it is left out of the fingerprint of a study, so that existing stores stay valid.
    """
    return Field(default, exclude_if=lambda value: bool(value == default))


class TomlTable(BaseModel):
    """A table of the study file: frozen, unknown keys refused."""

    # validators are built by the table that holds all others, when it is first read
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)
