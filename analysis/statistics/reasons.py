"""Why a number is missing or guarded: a code with its data, on which programs decide, and words, which people read.

A module decides by ``reason.code`` and compares whole reasons, never words: those are made in this module alone, so
that any sentence can be worded anew without a number, an order or a section changing.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

ReasonCode: TypeAlias = Literal[
    "several",
    "unspecified",
    "one_unit",
    "no_variation",
]
WORDS: dict[ReasonCode, str] = {
    "several": "{reasons}",
    "unspecified": "{text}",  # words of a file that has no codes
    "one_unit": "one value only (n = 1): no spread to test against",
    "no_variation": "no variation: every value is the same",
}
CODES: frozenset[str] = frozenset(get_args(ReasonCode))
ADDED = ("_code", "_data")  # after the name of a reason: the keys beside its words in JSON

Datum: TypeAlias = "str | int | float | Reason | tuple[str, ...] | tuple[Reason, ...]"


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason as a code and the numbers and names in it; ``str(reason)`` are its words.

    >>> str(why("one_unit"))
    'one value only (n = 1): no spread to test against'
    """

    code: ReasonCode
    data: tuple[tuple[str, Datum], ...] = ()

    def __str__(self) -> str:
        return _FORMATTER.vformat(WORDS[self.code], (), dict(self.data))

    def get(self, name: str) -> Datum | None:
        """Return what the reason holds under a name."""
        return dict(self.data).get(name)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core.core_schema import no_info_plain_validator_function

        return no_info_plain_validator_function(reason_from)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "minLength": 1}


def why(code: ReasonCode, /, **data: Datum) -> Reason:
    """Make a reason of a code and its data by name."""
    return Reason(code, tuple(data.items()))


def several(reasons: Iterable[Reason | None]) -> Reason | None:
    """Join reasons to one: each once, in their order; ``None`` where there is none.

    >>> several([None, why("one_unit"), why("one_unit")]) == why("one_unit")
    True
    >>> print(several([why("one_unit"), why("no_variation")]))
    one value only (n = 1): no spread to test against; no variation: every value is the same
    """
    parts = tuple(dict.fromkeys(part for reason in reasons if reason is not None for part in parts_of(reason)))
    return why("several", reasons=parts) if len(parts) > 1 else next(iter(parts), None)


def parts_of(reason: Reason) -> tuple[Reason, ...]:
    """Return the reasons that one is made of, itself if it is one only."""
    return cast("tuple[Reason, ...]", reason.get("reasons")) if reason.code == "several" else (reason,)


def reason_from(value: Any) -> Reason:
    """Make a reason of what a file holds: :func:`plain_reason`'s code and data, or words without a code.

    Raises
    ------
    ValueError
        When it is neither.
    """
    if isinstance(value, Reason):
        return value
    if isinstance(value, str) and value:
        return why("unspecified", text=value)
    if not isinstance(value, Mapping) or value.get("code") not in CODES:
        raise ValueError("expected a reason: a text, or a code with its data")
    found = Reason(value["code"], tuple((name, _datum(part)) for name, part in (value.get("data") or {}).items()))
    try:
        str(found)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"the data of the reason {found.code} do not fit it: {error}") from error
    return found


def plain_reason(reason: Reason) -> dict[str, Any]:
    """Return a reason as its code and, where there are any, its data: what JSON can hold."""
    return {"code": reason.code} | ({"data": plain_data(reason)} if reason.data else {})


def plain_data(reason: Reason) -> dict[str, Any]:
    """Return the data of a reason by name as JSON can hold them."""
    return {name: _plain(value) for name, value in reason.data}


def beside(name: str, reason: Reason | None) -> dict[str, Any]:
    """Return a reason as keys of JSON: its words under its name, its code and any data beside them."""
    if reason is None:
        return {name: None, f"{name}_code": None}
    found = {name: str(reason), f"{name}_code": reason.code}
    return found | {f"{name}_data": plain_data(reason)} if reason.data else found


def folded(value: Any) -> Any:
    """Turn what JSON holds back: where a code stands beside words, code and data stand in their place.

    A code that is not known, perhaps of a later version, leaves the words.
    """
    if isinstance(value, dict):
        coded = [name for name in value if name.endswith("reason") and f"{name}_code" in value]
        left_out = {f"{name}{end}" for name in coded for end in ADDED}
        found = {name: folded(part) for name, part in value.items() if name not in left_out}
        for name in coded:
            if (code := value[f"{name}_code"]) in CODES:
                found[name] = {"code": code, "data": value.get(f"{name}_data")}
        return found
    return [folded(part) for part in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Reason):
        return plain_reason(value)
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def _datum(value: Any) -> Datum:
    if isinstance(value, list):
        return cast("tuple[str, ...]", tuple(map(_datum, value)))
    if isinstance(value, Mapping):
        return reason_from(value)
    if isinstance(value, str | int | float):
        return value
    raise ValueError(f"expected a text, a number, a reason or a list of them, got {type(value).__name__}")


class _Formatter(string.Formatter):
    """Templates as of ``str.format``, where names in a row are parted by commas and reasons by semicolons."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        if isinstance(value, tuple):
            return ("; " if isinstance(value[0], Reason) else ", ").join(map(str, value))
        return format(value, format_spec) if format_spec else str(value)


_FORMATTER = _Formatter()
