"""What rows of results.json share beyond their fields."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from analysis.statistics.record import Record

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Reasoned(Record):
    """A record that says in ``reason`` why its main number, the field ``NUMBER``, is null."""

    __slots__ = ()
    NUMBER: ClassVar[str] = "value"
    reason: str | None

    def __init_subclass__(cls) -> None:
        """Write the same demand into the schema."""
        number = {"properties": {cls.NUMBER: {"type": "null"}}}
        reason = {"properties": {"reason": {"type": "string", "minLength": 1}}, "required": ["reason"]}
        cls.__pydantic_config__ = {**Record.__pydantic_config__, "json_schema_extra": {"if": number, "then": reason}}

    def __post_init__(self) -> None:
        """Refuse what the schema refuses."""
        if getattr(self, self.NUMBER) is None and not self.reason:
            raise ValueError(f"{self.NUMBER} is null: expected a reason, got none")


def fields_of(record: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a record by name; records within it are kept, which ``asdict`` would turn into dicts."""
    return {field.name: getattr(record, field.name) for field in fields(record)}
