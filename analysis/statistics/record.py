"""What stands in results.json: frozen records, whose fields and their descriptions make its JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Interval, Le

Share = Annotated[float, Interval(ge=0, le=1)]
Probability = Share
Coefficient = Annotated[float, Interval(ge=-1, le=1)]
AtMostOne = Annotated[float, Le(1)]
Spread = Annotated[float, Ge(0)]
Count = Annotated[int, Ge(0)]
Positive = Annotated[int, Ge(1)]


class Record:
    """A record of results.json; a string under a field is its description in the schema."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {"use_attribute_docstrings": True}

    def __getitem__(self, name: str) -> Any:
        """Return a field by its name."""
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field by its name, or the default."""
        return getattr(self, name, default)

    def keys(self) -> Iterator[str]:
        """Yield the names of the fields."""
        return (field.name for field in fields(self))  # type: ignore[arg-type]

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield names and values."""
        return ((name, self[name]) for name in self.keys())

    def __iter__(self) -> Iterator[str]:
        return self.keys()

    def __contains__(self, name: str) -> bool:
        return name in list(self.keys())
