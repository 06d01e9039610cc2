"""What every table of a study file is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StringConstraints,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

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


@dataclass(frozen=True, slots=True)
class KeyOf:
    """Marks a text of the study file that names a member of an axis, such as a medium.

    The ground floor knows no member: whoever reads a file says in the context of the validation which there are, as
    ``{axis: keys}``; without one every text is let through.
    """

    axis: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.with_info_after_validator_function(self._known, handler(source))

    def _known(self, value: str | None, info: core_schema.ValidationInfo) -> str | None:
        if info.context is not None and value is not None and value not in info.context[self.axis]:
            raise ValueError(f"none of the axis {self.axis}")
        return value


def added(default: Any) -> Any:
    """Return a field that a later release added.

    At its default it is left out of the fingerprint of a study, so that existing stores stay valid.
    """
    return Field(default, exclude_if=lambda value: bool(value == default))


def renamed(default: Any, key: str, *, former: str) -> Any:
    """Return a field whose key had another name: it is read by either, and files that we write have the former."""
    return Field(default, validation_alias=AliasChoices(key, former), serialization_alias=former)


def key_of(record: type[BaseModel], written: str) -> str:
    """Return the key of a table that is meant by a name that may be a former one."""
    for key, field in record.model_fields.items():
        if isinstance(field.validation_alias, AliasChoices) and written in field.validation_alias.choices:
            return key
    return written


class TomlTable(BaseModel):
    """A table of the study file: frozen, unknown keys refused."""

    # validators are built by the table that holds all others, when it is first read
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        """Return the table's schema, which takes the former name of a key as deprecated, but not beside the other."""
        made = handler(schema)
        table = handler.resolve_ref_schema(made)
        for field in cls.model_fields.values():
            if isinstance(field.validation_alias, AliasChoices):
                key, *former = map(str, field.validation_alias.choices)
                asked = {name: value for name, value in table["properties"][key].items() if name != "default"}
                for name in former:
                    table["properties"][name] = asked | {"deprecated": True, "description": f"former name of {key}"}
                    table.setdefault("allOf", []).append({"not": {"required": [key, name]}})
        return made
