"""Qualification requirements: which are valid, and who meets them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mturk.endpoint.errors import invalid

LOCALE = "00000000000000000071"
NUMBER_APPROVED = "00000000000000000040"
PERCENT_APPROVED = "000000000000000000L0"
ADULT = "00000000000000000060"
MASTERS = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
MASTERS_SANDBOX = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
ALL_MASTERS = (MASTERS, MASTERS_SANDBOX)
MOST = 10  # requirements of a HIT type
MOST_INTEGERS, MOST_LOCALES = 15, 30  # of In and NotIn
SETS = ("In", "NotIn")
BARE = ("Exists", "DoesNotExist")
GUARDED: Mapping[str, tuple[Action, ...]] = {
    "Accept": ("Accept",),
    "PreviewAndAccept": ("Preview", "Accept"),
    "DiscoverPreviewAndAccept": ("Discover", "Preview", "Accept"),
}
COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "LessThan": lambda value, bound: value < bound,
    "LessThanOrEqualTo": lambda value, bound: value <= bound,
    "GreaterThan": lambda value, bound: value > bound,
    "GreaterThanOrEqualTo": lambda value, bound: value >= bound,
    "EqualTo": lambda value, bound: value == bound,
    "NotEqualTo": lambda value, bound: value != bound,
}
Requirement = Mapping[str, Any]  # in the JSON of the protocol
Action = Literal["Discover", "Preview", "Accept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemType:
    """A qualification type of the endpoint, of which every worker has a value."""

    name: str
    description: str


SYSTEM_TYPES: Mapping[str, SystemType] = {
    LOCALE: SystemType(name="Worker_Locale", description="Country and subdivision that the host entered."),
    NUMBER_APPROVED: SystemType(
        name="Worker_NumberHITsApproved", description="How many assignments of the worker were approved here."
    ),
    PERCENT_APPROVED: SystemType(
        name="Worker_PercentAssignmentsApproved",
        description="Share of the worker's reviewed assignments that were approved here; 100 before the 100th.",
    ),
    ADULT: SystemType(name="Worker_Adult", description="1 where the host knows that the worker is of age."),
    MASTERS: SystemType(name="Masters", description="Granted to workers by the host."),
    MASTERS_SANDBOX: SystemType(name="Masters (sandbox id)", description="Granted to workers by the host."),
}


def asks_for_masters(requirements: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a requirement asks for Masters, which costs a higher fee."""
    return any(
        asked["QualificationTypeId"] in ALL_MASTERS and asked["Comparator"] == "Exists" for asked in requirements
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Locale:
    """A country, and its subdivision if known."""

    country: str
    subdivision: str | None = None

    def within(self, asked: Mapping[str, str]) -> bool:
        """Return whether this place is, or lies in, the required one."""
        return self.country == asked["Country"] and asked.get("Subdivision") in (None, self.subdivision)


@dataclass(frozen=True, slots=True, kw_only=True)
class QualificationValue:
    """A worker's value of a qualification type: a number, a place, or neither."""

    number: int | None = None
    locale: Locale | None = None


def check_requirements(requirements: Sequence[Requirement]) -> None:
    """Refuse more than ten requirements, and values that the comparator or type does not allow."""
    where = "QualificationRequirements"
    if len(requirements) > MOST:
        raise invalid(where, f"expected at most {MOST}, got {len(requirements)}")
    for number, asked in enumerate(requirements):
        _check(f"{where}[{number}]", asked)


def meets(asked: Requirement, held: QualificationValue | None) -> bool:
    """Return whether a worker with this value (or None) of the type meets a requirement.

    Without a value no comparison is met, not even ``NotEqualTo`` and ``NotIn``.
    """
    comparator = asked["Comparator"]
    if comparator in BARE:
        return bool((held is None) == (comparator == "DoesNotExist"))
    if held is None:
        return False
    if asked["QualificationTypeId"] == LOCALE:
        if held.locale is None:
            return False
        found = any(held.locale.within(place) for place in asked["LocaleValues"])
        return found == (comparator in ("EqualTo", "In"))
    if held.number is None:
        return False
    if comparator in SETS:
        return bool((held.number in asked["IntegerValues"]) == (comparator == "In"))
    return COMPARE[comparator](held.number, asked["IntegerValues"][0])


def guards(asked: Requirement, action: Action) -> bool:
    """Return whether a worker must meet the requirement for an action."""
    if asked.get("RequiredToPreview"):
        return action in ("Preview", "Accept")
    return action in GUARDED[asked.get("ActionsGuarded", "Accept")]


def _check(where: str, asked: Requirement) -> None:
    comparator = asked["Comparator"]
    numbers, places = asked.get("IntegerValues"), asked.get("LocaleValues")
    type_id = asked["QualificationTypeId"]
    if "RequiredToPreview" in asked and "ActionsGuarded" in asked:
        raise invalid(where, "RequiredToPreview and ActionsGuarded exclude one another; leave out the former")
    if comparator in BARE:
        if numbers or places:
            raise invalid(where, f"{comparator} takes no values")
        if type_id == LOCALE:
            raise invalid(where, "Worker_Locale takes EqualTo, NotEqualTo, In or NotIn with LocaleValues")
        return
    if type_id in ALL_MASTERS:
        raise invalid(where, f"Masters takes Exists or DoesNotExist, got {comparator}")
    if type_id == LOCALE:
        if numbers or not places:
            raise invalid(where, "Worker_Locale takes LocaleValues and no IntegerValues")
        if comparator not in ("EqualTo", "NotEqualTo", *SETS):
            raise invalid(where, f"Worker_Locale takes EqualTo, NotEqualTo, In or NotIn, got {comparator}")
        name, count, most = "LocaleValues", len(places), MOST_LOCALES
    else:
        if places or not numbers:
            raise invalid(where, f"{comparator} takes IntegerValues, and LocaleValues only with Worker_Locale")
        name, count, most = "IntegerValues", len(numbers), MOST_INTEGERS
    most = most if comparator in SETS else 1
    if count > most:
        raise invalid(where, f"expected at most {most} {name}, got {count}")
