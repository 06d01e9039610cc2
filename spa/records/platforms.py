"""Where people come from: what a platform brings, and which are installed.

A package registers one :class:`Platform` in the entry-point group ``spa.platforms``, under its key. Whoever serves,
reviews, checks or documents walks this registry; no other file knows one of its members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from typing import Any, cast

from spa.errors import PlatformError
from spa.records.study import Study
from spa.records.toml_table import TomlTable

GROUP = "spa.platforms"  # entry points: key -> Platform
MEND = "reinstall the package that brings this platform, or uninstall it"
LINK = "link"  # key of the plain link, by which people come whom no platform sends


def late(name: str) -> Callable[..., Any]:
    """Return the function named "module:function", whose module is imported when it is first called.

    It raises PlatformError where there is none.
    """

    def call(*arguments: Any, **named: Any) -> Any:
        return _resolve(name)(*arguments, **named)

    call.__name__ = name
    return call


def _nothing(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """All that other packages know of a platform. What is heavy is named by :func:`late`.

    Parameters
    ----------
    key : str
        Name of its table in the study file and of its entry point, and the source of its visits, unless the table
        names another one.
    title : str
        What people call it.
    record : str or None
        The record of its table, "module:name"; ``None`` where it has none.
    read : callable
        ``read(raw, file)`` returns the table as that record; it raises StudyError with one line a mistake.
    suit : callable
        ``suit(study, table, file)`` raises StudyError where the rest of the study lacks what the table needs.
    own_commands : bool
        Whether it has commands, which read the table themselves. Where it has none, every command that opens the study
        refuses mistakes in the table; else only these, `spa serve` and `spa check` do.
    page : str or None
        The page in ``docs/`` that lists the keys of the table.
    shown : tuple of str
        Keys of the table with texts that people read before they take part.
    secret : tuple of str
        Keys of the table that complete a visit, which no archive of a study holds.
    mount : callable
        ``mount(app, context)`` adds the routes by which its people are verified, admitted and led back; see
        :mod:`spa.server.survey_context`.
    review_rules : callable or None
        Returns its :class:`spa.platforms.review.ReviewRules`: what reviewers decide, which commands execute that, and
        which bonuses were paid; ``None`` where nobody is paid through it.
    minimum_hourly_pay : mapping
        The least pay an hour that it allows, by currency.
    recruited : str or None
        How its people were recruited, as a sentence of the datasheet.
    knows_people : bool
        Whether it has the names of its people, of whom the store keeps ids.
    """

    key: str
    title: str
    record: str | None = None
    read: Callable[[Mapping[str, Any], str], TomlTable | None] = _nothing
    suit: Callable[[Study, Any, str], object] = _nothing
    own_commands: bool = False
    page: str | None = None
    shown: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    mount: Callable[[Any, Any], None] = _nothing
    review_rules: Callable[[], Any] | None = None
    minimum_hourly_pay: Mapping[str, Decimal] = field(default_factory=dict)
    recruited: str | None = None
    knows_people: bool = False

    @property
    def table(self) -> type[TomlTable] | None:
        """The record of its table."""
        return None if self.record is None else cast(type[TomlTable], _resolve(self.record))


@dataclass(frozen=True, slots=True, kw_only=True)
class LowestPay:
    """The lowest pay an hour that a platform allows, in major units of a currency."""

    amount: Decimal
    platform: str


@cache
def registered() -> tuple[EntryPoint, ...]:
    """Return the registry's entries in the order of their keys, each key once: ours before another package's."""
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP):
        if point.name not in found or (point.dist is not None and point.dist.name == "spa-eval"):
            found[point.name] = point
    return tuple(found[key] for key in sorted(found))


def platform_keys() -> tuple[str, ...]:
    """Return the keys of all installed platforms, of which none is loaded."""
    return tuple(point.name for point in registered())


def table_keys() -> tuple[str, ...]:
    """Return the keys of platforms that may have a table, of which none is loaded: the plain link has none."""
    return tuple(key for key in platform_keys() if key != LINK)


def find_platform(key: str) -> Platform | None:
    """Return the platform with a key; ``None`` where none is installed.

    Raises
    ------
    PlatformError
        If it cannot be loaded.
    """
    return next((_load(point) for point in registered() if point.name == key), None)


def installed_platforms() -> tuple[Platform, ...]:
    """Return all installed platforms in the order of their keys.

    Raises
    ------
    PlatformError
        If one cannot be loaded.
    """
    return tuple(map(_load, registered()))


def platforms_of(study: Study) -> Iterator[Platform]:
    """Yield the platforms whose tables a study has."""
    for key in study.platforms:
        platform = find_platform(key)
        if platform is not None:
            yield platform


def lowest_hourly_pay(currency: str) -> LowestPay | None:
    """Return the lowest pay an hour that a platform allows; ``None`` where none says."""
    known = [one for one in installed_platforms() if currency in one.minimum_hourly_pay]
    found = [LowestPay(amount=one.minimum_hourly_pay[currency], platform=one.title) for one in known]
    return min(found, key=lambda one: one.amount, default=None)


def _load(point: EntryPoint) -> Platform:
    platform = _resolve(f"{point.module}:{point.attr}")
    if not isinstance(platform, Platform) or platform.key != point.name:
        got = f"that of {platform.key}" if isinstance(platform, Platform) else f"a {type(platform).__name__}"
        raise PlatformError(f"{point.value}: expected the Platform {point.name}, got {got}; {MEND}")
    return platform


def _resolve(name: str) -> Any:
    try:
        return resolve_name(name)
    except (ImportError, AttributeError) as error:
        raise PlatformError(f"{name}: cannot be loaded ({type(error).__name__}: {error}); {MEND}") from error
