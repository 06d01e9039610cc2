"""Qualification types that nobody has to create, under the ids that requesters' programs know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

LOCALE = "00000000000000000071"
NUMBER_APPROVED = "00000000000000000040"
PERCENT_APPROVED = "000000000000000000L0"
ADULT = "00000000000000000060"
MASTERS = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
MASTERS_SANDBOX = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
ALL_MASTERS = (MASTERS, MASTERS_SANDBOX)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemType:
    """A qualification that the endpoint itself knows of each worker."""

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
    """Whether a requirement asks for Masters, which has a fee of its own."""
    return any(
        asked["QualificationTypeId"] in ALL_MASTERS and asked["Comparator"] == "Exists" for asked in requirements
    )
