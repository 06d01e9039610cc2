"""What stands in results.json: frozen records, whose fields and their descriptions make its JSON Schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from annotated_types import Ge, Interval, Le

from analysis.statistics.coding import DIGITS
from analysis.statistics.reasons import CODES, Reason, beside

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

Share = Annotated[float, Interval(ge=0, le=1)]
Probability = Share
Coefficient = Annotated[float, Interval(ge=-1, le=1)]
AtMostOne = Annotated[float, Le(1)]
Spread = Annotated[float, Ge(0)]
Count = Annotated[int, Ge(0)]
Positive = Annotated[int, Ge(1)]
AnnotatorKind = Literal["human", "llm", "simulated"]
Source = Literal["preferences", "ratings", "choices"]
RankedSource = Literal["preferences", "ratings", "choices", "ratings_bt"]
Value = TypeVar("Value")
NAMES: dict[type[Any], tuple[str, ...]] = {}  # of the fields of each record
GETTERS: dict[type[Any], Callable[[Any], tuple[Any, ...]]] = {}  # of all of them at once, five times as fast
REASONED: dict[type[Any], frozenset[str]] = {}  # the fields of each record that are reasons
REASON_CODE: dict[str, Any] = {
    "description": "What the reason is, for programs: its words may change, its code does not.",
    "type": ["string", "null"],
    "enum": [*sorted(CODES), None],
}
SHOWN = 1  # records of a list that the text of another record holds
UNROUNDED = frozenset({int, bool, str, type(None), Reason})
TEXTS = frozenset({str, type(None)})
SCALARS = frozenset({float, int, bool, str, type(None)})


class Record:
    """A record of results.json; a string under a field is its description in the schema.

    Where the first field of ``explained`` is null the others are too, and ``reason`` says why. Comparison, hash and
    text are those of a dataclass, written here once: made anew for each of 100 kinds of record (``eq=False,
    repr=False`` turns that off) they are a twentieth of a second of each report.
    """

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {"use_attribute_docstrings": True}
    explained: ClassVar[tuple[str, ...]] = ()

    def __eq__(self, other: object) -> bool:
        return values_of(self) == values_of(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(values_of(self))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={_brief(value)}" for name, value in fields_of(self).items())
        return f"{type(self).__qualname__}({fields})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Refuse a null without a reason."""
        from pydantic_core.core_schema import no_info_after_validator_function

        schema = handler(source)
        if not cls.explained:
            return schema
        name = f"{cls.__module__}.{cls.__qualname__}:{id(cls)}"  # without one it is written out where it is used
        return no_info_after_validator_function(_with_reason, schema, ref=name)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Say in the JSON Schema that a null has a reason."""
        schema = handler(core)
        _describe_codes(cls, handler.resolve_ref_schema(schema).get("properties", {}))
        if cls.explained:
            null = {name: {"type": "null"} for name in cls.explained}
            reason = {"reason": {"type": "string", "minLength": 1}}
            handler.resolve_ref_schema(schema).update(
                {
                    "if": {"properties": {cls.explained[0]: null.pop(cls.explained[0])}},
                    "then": {"properties": {**null, **reason}, "required": ["reason"]},
                }
            )
        return schema


def _brief(value: Any) -> str:
    """Return a field's text; of several records how many of what they are."""
    if isinstance(value, list | tuple) and len(value) > SHOWN and (kind := kind_of(value)) is not None:
        return f"({len(value):,} {kind.__qualname__})"
    return tuple.__repr__(value) if isinstance(value, tuple) else repr(value)


def _describe_codes(kind: type[Any], properties: dict[str, Any]) -> None:
    """Say in the JSON Schema what stands beside the words of each reason, in the order in which it is written."""
    described = dict(properties)
    properties.clear()
    for name, schema in described.items():
        properties[name] = schema
        if name in reasons_of(kind):
            about = f"Numbers and names in {name}, where it has any."
            properties |= {f"{name}_code": REASON_CODE, f"{name}_data": {"type": "object", "description": about}}


def _with_reason(record: Any) -> Any:
    first, *others = record.explained
    if getattr(record, first) is None and not (record.reason and all(getattr(record, name) is None for name in others)):
        raise ValueError(f"{first} is null: expected {', '.join([*others, ''])}null as well, and a reason")
    return record


def rounded(value: Value) -> Value:
    """Round floats to 12 significant digits, so that neither the order of rows nor a last bit shows.

    Parameters
    ----------
    value : record, tuple, mapping, number or text
        Records, tuples and mappings are copied.

    Raises
    ------
    ArithmeticError
        When a number is not finite.

    >>> rounded((0.1 + 0.2, 3, "a"))
    (0.3, 3, 'a')
    """
    found: Any = value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ArithmeticError("a result is not finite")
        found = float(f"{value:.{DIGITS}g}")
    elif value is None or isinstance(value, str | int | Reason):
        found = value
    elif isinstance(value, Record):
        found = with_fields(found, rounded, UNROUNDED)
    elif isinstance(value, Mapping):
        found = {key: rounded(item) for key, item in value.items()}
    elif isinstance(value, list | tuple):
        found = rows_with_fields(value, rounded, UNROUNDED) or tuple(rounded(item) for item in value)
    return found  # type: ignore[no-any-return]


def names_of(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of a record's fields."""
    if kind not in NAMES:
        NAMES[kind] = tuple(field.name for field in fields(kind))
    return NAMES[kind]


def reasons_of(kind: type[Any]) -> frozenset[str]:
    """Return the names of a record's fields that are reasons."""
    if kind not in REASONED:
        REASONED[kind] = frozenset(field.name for field in fields(kind) if field.type in ("Reason", "Reason | None"))
    return REASONED[kind]


def plain(value: Any) -> Any:
    """Return records and what holds them as dicts, lists and numbers, a reason as words with its code beside it."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Record):
        return _plain_row(type(value), values_of(value))
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def _plain_row(kind: type[Any], values: tuple[Any, ...]) -> dict[str, Any]:
    reasons = reasons_of(kind)
    found: dict[str, Any] = {}
    for name, value in zip(names_of(kind), values, strict=True):
        if name in reasons:
            found |= beside(name, value)
        else:
            found[name] = value if type(value) in SCALARS else plain(value)
    return found


def with_fields(record: Any, change: Callable[[Any], Any], same: Container[object]) -> Any:
    """Return a record with a function of each field whose type is not among the ``same``, itself if nothing changes."""
    before = values_of(record)
    after = [value if type(value) in same else change(value) for value in before]
    if all(map(is_, before, after)):
        return record
    return type(record)(**dict(zip(names_of(type(record)), after, strict=True)))


def kind_of(rows: Iterable[Any]) -> type[Record] | None:
    """Return the kind of record that all rows are, if they are of one kind."""
    kinds = set(map(type, rows))
    kind = kinds.pop() if len(kinds) == 1 else None
    return kind if kind and issubclass(kind, Record) else None


def rows_with_fields(rows: Sequence[Any], change: Callable[[Any], Any], same: frozenset[Any]) -> tuple[Any, ...]:
    """Do what :func:`with_fields` does with rows of one kind of record, a column at a time; others give ()."""
    kind = kind_of(rows)
    if kind is None:
        return ()
    before = list(zip(*map(values_of, rows), strict=True))
    after = [column if same.issuperset(map(type, column)) else _changed(column, change) for column in before]
    if all(new is old or all(map(is_, new, old)) for new, old in zip(after, before, strict=True)):
        return tuple(rows)
    names = names_of(kind)
    return tuple(kind(**dict(zip(names, values, strict=True))) for values in zip(*after, strict=True))


def _changed(column: Sequence[Any], change: Callable[[Any], Any]) -> list[Any]:
    if TEXTS.issuperset(map(type, column)):  # few names, many times
        known = {text: change(text) for text in set(column)}
        return [known[text] for text in column]
    return [change(value) for value in column]


def replace_fields(record: Value, **changes: Any) -> Value:
    """Do what ``dataclasses.replace`` does, three times as fast."""
    return type(record)(**fields_of(record) | changes)


def record_like(kind: type[Value], other: Any, /, **more: Any) -> Value:
    """Make a record with what another thing has under the same names, and ``more``."""
    same = {name: getattr(other, name) for name in names_of(kind) if name not in more and hasattr(other, name)}
    return kind(**same, **more)


def fields_of(record: Any) -> dict[str, Any]:
    """Return the fields of a record by name; records within it are kept, which ``asdict`` would turn into dicts."""
    return dict(zip(names_of(type(record)), values_of(record), strict=True))


def fields_without(record: Any, name: str) -> dict[str, Any]:
    """Return the other fields of a record by name."""
    return {key: value for key, value in fields_of(record).items() if key != name}


def values_of(record: Any) -> tuple[Any, ...]:
    """Return the values of a record's fields in their order."""
    kind = type(record)
    if kind not in GETTERS:
        names = names_of(kind)
        several = attrgetter(*names)
        GETTERS[kind] = several if len(names) > 1 else lambda own: (several(own),)
    return GETTERS[kind](record)
