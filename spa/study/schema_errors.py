"""Mistakes in a study file, one line each: place, what was expected, what was found, what to do.

Everything said here is derived from the records in :mod:`spa.records.study`, so a new key
needs no words of its own.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from spa.errors import expected_got
from spa.records.platforms import installed_platforms, table_keys
from spa.records.problems import nearest, quote
from spa.records.toml_table import KeyOf, key_of
from spa.study.study_file import known_keys, study_file

PATTERNS = {  # what a pattern means in words, by the start of the pattern
    "^[A-Za-z][A-Za-z0-9_-]": "a name of a URL parameter: letters, digits, _ and -",
    "^[A-Za-z_][A-Za-z0-9_]": "the name of an environment variable: letters, digits and _",
    "^(length|": '"length", "markdown" or "column:" with the name of a column, such as "column:toxicity"',
    "^[a-z0-9]": 'small letters, digits, "-" and "_", at most 63, such as "my-study"',
    "^[a-z]{2,3}": 'a language tag such as "en", "zh" or "ar"',
    "^[A-Z]{3}": 'a currency code of three capitals such as "USD"',
    "^https?://[A": "an address whose only braces are {code}, {participant} or {session}, after the host",
    "^https?": 'an address that starts with "http://" or "https://"',
    r"^\S(": "a text that neither starts nor ends with a space",
    "^[^": "a text of 1 to 80 characters that neither starts with a slash nor has spaces at its ends "
    "nor is NaN or NA (a missing value)",
}
REFERENCE = "study-file.md"  # in docs/
MOST_LISTED = 100  # mistakes; more come from one cause


def key_choices(limits: Iterable[object]) -> tuple[str, ...]:
    """Return what may stand where a member of an axis is named; nothing for other keys."""
    return next((known_keys()[limit.axis] for limit in limits if isinstance(limit, KeyOf)), ())


def schema_errors(
    file: str, raw: dict[str, Any], error: ValidationError, kind: type[BaseModel] | None = None
) -> tuple[str, ...]:
    """Return a line for every mistake that pydantic found in the tables of a study file.

    One line per key; the alternatives of one key are reported together. ``kind`` is the record checked, else
    that of a study file.
    """
    kind = study_file() if kind is None else kind
    lines: dict[tuple[str | int, ...], str] = {}
    details = error.errors(include_url=False)
    for number, detail in enumerate(details):
        if len(lines) == MOST_LISTED:
            return (*lines.values(), f"{file}: {len(details) - number} more mistakes; correct these first")
        at = detail["loc"]
        if detail["type"] == "too_short" and any(
            len(d["loc"]) > len(at) and d["loc"][: len(at)] == at for d in details
        ):
            continue  # pydantic counts only the good entries; the bad ones are reported themselves
        found = _locate(detail["loc"], kind)
        place = f"{file}: {found.place}"
        if detail["type"] == "extra_forbidden" and found.key not in (None, at[-1]):
            expected, do = "one of its two names", "remove this one, its former name"
            lines.setdefault(at, expected_got(place, expected, f'"{found.key}" too', do))
            continue
        if detail["type"] == "extra_forbidden":
            lines.setdefault(detail["loc"], f"{place}: {_unknown_key(found.keys, str(detail['loc'][-1]), kind)}")
            continue
        value = _value_at(raw, found.path)
        lines.setdefault(found.path, expected_got(place, found.expected, quote(value), _advice(found, value)))
    return tuple(lines.values())


class _Location:
    """A place in the study file, followed along pydantic's location as far as keys and entries go."""

    def __init__(self, kind: type[BaseModel]) -> None:
        self.path: tuple[str | int, ...] = ()
        own = table_keys() if kind is study_file() else ()
        self.keys: tuple[str, ...] = (*kind.model_fields, *own)  # known keys of the innermost table
        self.key: str | None = None  # known one of the innermost table at which this is, whatever its name in the file
        self.annotation: Any = kind
        self.default: Any = PydanticUndefined
        self.tables: list[str] = []  # "spa", "exposure_study"
        self.entry = ""  # " 2" of [[systems]] 2
        self.many = False  # whether the innermost table is an array of tables
        self.inside: list[str] = []  # key, "entry 2"

    @property
    def place(self) -> str:
        """Return "[spa] exposure", "[[systems]] 2, id" or "title"."""
        if not self.tables:
            return ", ".join(self.inside)
        name = ".".join(self.tables)
        table = f"[[{name}]]{self.entry}" if self.entry or self.many else f"[{name}]"
        glue = ", " if self.entry else " "
        return table + (glue + ", ".join(self.inside) if self.inside else "")

    @property
    def expected(self) -> str:
        """Return in words what may stand here."""
        return describe(self.annotation)


def _locate(location: Sequence[str | int], kind: type[BaseModel]) -> _Location:
    found = _Location(kind)
    for step in location:
        inner = _without_none(found.annotation)
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            key = key_of(inner, str(step))
            found.key = key if key in inner.model_fields else None
            if found.key is None:
                found.inside.append(str(step))
                break
            field = inner.model_fields[key]
            found.annotation, found.default = _annotation_of(field), field.default
            _enter(found, str(step))
        elif isinstance(step, int) and get_origin(inner) is tuple:
            entries = get_args(inner)
            found.annotation = entries[0] if entries[-1] is Ellipsis else entries[min(step, len(entries) - 1)]
            found.default = PydanticUndefined
            if _table_of(found.annotation) is not None:
                found.entry = f" {step + 1}"
            else:
                found.inside.append(f"entry {step + 1}")
        elif get_origin(inner) is dict:
            found.annotation, found.default = get_args(inner)[1], PydanticUndefined
            found.inside.append(str(step))
        else:  # the name of an alternative: the key as a whole is reported
            break
        found.path += (step,)
    return found


def _enter(found: _Location, key: str) -> None:
    table = _table_of(found.annotation)
    holds_text = get_origin(_without_none(found.annotation)) is dict
    if table is None and not holds_text:
        found.inside.append(key)
        return
    found.tables.append(key)
    found.entry = ""
    found.many = table is not None and get_origin(_without_none(found.annotation)) is tuple
    found.keys = tuple(table.model_fields) if table is not None else ()


def _annotation_of(field: FieldInfo) -> Any:
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def _without_none(annotation: Any) -> Any:
    """Strip limits and ``None`` from an annotation, where one alternative remains."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif get_origin(annotation) in (Union, UnionType):
            rest = [part for part in get_args(annotation) if part is not NoneType]
            if len(rest) != 1:
                return annotation
            annotation = rest[0]
        else:
            return annotation


def _table_of(annotation: Any) -> type[BaseModel] | None:
    """Return the record of a table or of the entries of an array of tables."""
    inner = _without_none(annotation)
    if get_origin(inner) is tuple:
        inner = _without_none(get_args(inner)[0])
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None


def describe(annotation: Any) -> str:
    """Return in words what an annotation of the study's records lets through.

    >>> from spa.records.study import Design
    >>> describe(Design.model_fields["directions"].annotation)
    'one of "counterbalanced", "fixed"'
    """
    limits: list[Any] = []
    while get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        limits += [limit for entry in more for limit in (entry.metadata if isinstance(entry, FieldInfo) else [entry])]
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        parts = [part for part in get_args(annotation) if part is not NoneType]
        return _one_of(choices) if (choices := key_choices(limits)) else " or ".join(map(describe, parts))
    if origin is Literal:
        return _one_of(get_args(annotation))
    if origin is tuple:
        return _describe_list(get_args(annotation), limits)
    if origin is dict:
        return "keys with texts in quotes" if get_args(annotation)[1] is str else "a table"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "a table"
    return _describe_single(annotation, limits)


def _one_of(values: tuple[str, ...]) -> str:
    listed = ", ".join(f'"{value}"' for value in values)
    return listed if len(values) == 1 else f"one of {listed}"


def _describe_list(entries: tuple[Any, ...], limits: list[Any]) -> str:
    if entries[-1] is not Ellipsis:
        return "a pair of texts" if len(entries) == 2 else f"{len(entries)} values"
    least = _limit(limits, "min_length")
    if _table_of(entries[0]) is not None:
        return f"an array of tables, [[...]]{f', at least {least}' if least else ''}"
    many = f"a list of {'at least ' + str(least) + ' ' if least else ''}"
    if get_origin(_without_none(entries[0])) is tuple:
        return many + 'pairs such as [["x", "y"]]'
    kind = _without_none(entries[0])
    return many + ("whole numbers" if kind is int else "file names" if kind is Path else "texts that are not empty")


def _describe_single(kind: Any, limits: list[Any]) -> str:
    if choices := key_choices(limits):
        return _one_of(choices)
    if kind is bool:
        return "true or false"
    if kind is Path:
        return "a file name in quotes"
    if kind in (int, float, Decimal):
        words = {int: "a whole number", float: "a number", Decimal: "a decimal number"}[kind]
        bounds = [
            f"{words} {bound}"
            for name, words in (("ge", "at least"), ("gt", "greater than"), ("le", "at most"), ("lt", "less than"))
            if (bound := _limit(limits, name)) is not None
        ]
        return f"{words} {'of ' if bounds and bounds[0].startswith('at') else ''}{' and '.join(bounds)}".strip()
    pattern = _limit(limits, "pattern")
    if pattern is not None:
        return next(words for start, words in PATTERNS.items() if pattern.startswith(start))
    return "a text in quotes that is not empty" if _limit(limits, "min_length") else "a text in quotes"


def _limit(limits: list[Any], name: str) -> Any:
    return next((value for limit in limits if (value := getattr(limit, name, None)) is not None), None)


def _value_at(raw: Any, path: Sequence[str | int]) -> object:
    for step in path:
        if isinstance(raw, dict):
            raw = raw.get(str(step))
        elif isinstance(raw, list) and isinstance(step, int) and step < len(raw):
            raw = raw[step]
        else:
            return None
    return raw


def _advice(found: _Location, value: object) -> str:
    if value is None:
        return f"add the key {found.path[-1]}" if found.inside else f"add {found.place}"
    inner = _without_none(found.annotation)
    if inner in (int, float, bool) and isinstance(value, str):
        return "write it without quotes, in digits" if inner is not bool else "write it without quotes"
    if get_origin(inner) is tuple and _table_of(inner) is not None and isinstance(value, dict):
        return f"write [[{'.'.join(found.tables)}]] with double brackets, once an entry"
    if found.expected.endswith("less than 1") and isinstance(value, int | float) and 1 < value < 100:
        return f"{value / 100:g} means {value:g}%"
    if found.default is PydanticUndefined or isinstance(found.default, BaseModel):
        return "correct it"
    default = "not set" if found.default in (None, (), {}) else quote(found.default)
    return f"correct it or remove the key (default: {default})"


def _unknown_key(keys: tuple[str, ...], key: str, kind: type[BaseModel]) -> str:
    here = nearest(key, keys)
    # nothing like it in this table: perhaps it stands in the wrong one
    if here.startswith("known") and kind is study_file():
        elsewhere = difflib.get_close_matches(key, _tables_by_key(), n=1, cutoff=0.8)
        if elsewhere:
            return f'unknown key; "{elsewhere[0]}" belongs in {" or ".join(_tables_by_key()[elsewhere[0]])}'
    return f"unknown key; {here}"


def _tables_by_key() -> dict[str, tuple[str, ...]]:
    """Return for each key the tables that know it, so that a key in a wrong table is reported with the right one."""
    tables: dict[str, tuple[str, ...]] = {}
    for name, record in study_tables():
        for key in record.model_fields:
            tables[key] = (*tables.get(key, ()), name or "the top of the file")
    return tables


def study_tables() -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield every table that the reference of the study file lists as (its header, its record).

    The top level has the header ""; platforms with a page of their own are left out.
    """
    yield from tables_in(study_file())
    for platform in installed_platforms():
        if platform.page == REFERENCE and platform.table is not None:
            yield from tables_in(platform.table, platform.key)


def tables_in(outermost: type[BaseModel], key: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield a table and those in it, each as (its header, its record); ``key`` is the outermost one's."""
    waiting: list[tuple[str, str, type[BaseModel]]] = [(f"[{key}]" if key else "", key, outermost)]
    while waiting:
        header, name, record = waiting.pop(0)
        yield header, record
        for key, field in record.model_fields.items():
            inner = _table_of(_annotation_of(field))
            if inner is not None:
                many = get_origin(_without_none(field.annotation)) is tuple
                inner_name = f"{name}.{key}" if name else key
                waiting.append((f"[[{inner_name}]]" if many else f"[{inner_name}]", inner_name, inner))
