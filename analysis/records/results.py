"""Results: what all rooms contribute, key by key, as frozen records that ``results.json`` holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, field, make_dataclass
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from analysis.statistics.record import Record

Value_co = TypeVar("Value_co", covariant=True)
Row = TypeVar("Row", bound=Record)
FORM: dict[str, Any] = {"frozen": True, "slots": True, "kw_only": True, "eq": False, "repr": False}


class Results(Record):
    """Everything that a report says."""  # its fields are the keys that rooms contribute (results_class)

    __slots__ = ()

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Any]]

        def __getattr__(self, name: str) -> Any: ...

    def __repr__(self) -> str:
        from analysis.records.row_tables import results_text

        return results_text(self)

    def _repr_html_(self) -> str:
        from analysis.records.row_tables import results_html

        return results_html(self)


class Nested(Record):
    """The keys of ``results.json`` that stand under one name, such as ``ratings.means`` and ``ratings.pairs``."""

    __slots__ = ()

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Any]]

        def __getattr__(self, name: str) -> Any: ...


@dataclass(frozen=True, slots=True)
class Key(Generic[Value_co]):
    """Where one kind of results stands.

    Attributes
    ----------
    name : str
        Key of ``results.json``; one within another follows it after a dot.
    kind : type
        Of its value.
    default : callable, optional
        Makes the value where a file has none; without it every file has one.
    about : str
        Its description in the JSON Schema.
    within : str
        Description of what it stands within.
    """

    name: str
    kind: Any
    default: Callable[[], Value_co] | None = None
    about: str = ""
    within: str = ""

    def of(self, results: Results) -> Value_co:
        """Return the value that results hold."""
        return attrgetter(self.name)(results)  # type: ignore[no-any-return]

    def says_nothing(self, value: object) -> bool:
        """Tell whether a value is null, or without rows where there is no null to say that nothing was looked for."""
        return value is None or (value == () and (self.default is None or self.default() is not None))


def rows(
    name: str, kind: type[Row], about: str = "", *, needed: bool = False, within: str = ""
) -> Key[tuple[Row, ...]]:
    """Return the key of a list of records; ``needed``: every file has it."""
    return Key(name, tuple[kind, ...], None if needed else tuple, about, within)  # type: ignore[valid-type]


def one(name: str, kind: type[Row], about: str = "") -> Key[Row | None]:
    """Return the key of a record, null where there is none."""
    return Key(name, kind | None, lambda: None, about)


def results_class(keys: Sequence[Key[Any]]) -> type[Results]:
    """Return the class of results with these keys, in this order."""
    return _made(tuple(keys), None)


def described_class(keys: Sequence[Key[Any]], describe: Callable[[Any, str], Any]) -> type[Results]:
    """Return the same with each type as ``describe`` returns it, given the type and the key's description."""
    return _made(tuple(keys), describe)


@cache
def _made(keys: tuple[Key[Any], ...], describe: Callable[[Any, str], Any] | None) -> type[Results]:
    nested = {name: nested_class(name, keys, describe) for name in _within(keys)}
    fields: dict[str, Any] = {}
    for key in keys:
        name, _, inner = key.name.partition(".")
        if not inner:
            fields[name] = _field(name, key.kind, key, describe)
        elif name not in fields:
            about, kind = key.within, nested[name]
            fields[name] = (name, describe(kind, about) if describe and about else kind)
    made = make_dataclass("Results", fields.values(), bases=(Results,), **FORM)
    made.__doc__, made.__module__ = Results.__doc__, __name__
    return made


def nested_class(
    name: str, keys: Iterable[Key[Any]], describe: Callable[[Any, str], Any] | None = None
) -> type[Nested]:
    """Return the class of what stands under one name."""
    return _made_nested(name, tuple(_within(keys)[name]), describe)


@cache
def _made_nested(name: str, keys: tuple[Key[Any], ...], describe: Callable[[Any, str], Any] | None) -> type[Nested]:
    own = [_field(key.name.partition(".")[2], key.kind, key, describe) for key in keys]
    made = make_dataclass(f"{name.removesuffix('s').title()}Results", own, bases=(Nested,), **FORM)
    made.__doc__, made.__module__ = f"Row of ``{name}``.", __name__
    return made


def _within(keys: Iterable[Key[Any]]) -> dict[str, list[Key[Any]]]:
    found: dict[str, list[Key[Any]]] = {}
    for key in keys:
        name, _, inner = key.name.partition(".")
        if inner:
            found.setdefault(name, []).append(key)
    return found


def _field(name: str, kind: Any, key: Key[Any], describe: Callable[[Any, str], Any] | None) -> tuple[str, Any, Any]:
    shown = kind if describe is None or not key.about else describe(kind, key.about)
    return name, shown, field(default_factory=MISSING if key.default is None else key.default)
