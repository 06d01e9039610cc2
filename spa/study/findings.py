"""Mistakes between the tables of a study file, and the checks that several tables share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from spa.study.schema_errors import nearest, shown
from spa.study.study import Study


@dataclass(frozen=True, slots=True)
class StudyProblem:
    """One mistake: the tables it hangs on (untold while these hold other mistakes) and the line to tell."""

    tables: tuple[str, ...]
    told: str


def find(place: str, wanted: str, got: str, do: str, *also: str) -> StudyProblem:
    """Tell a mistake at a place such as "[spa] exposure"; ``also`` names the other tables it hangs on.

    >>> find("[spa] baseline", "a system", "none", "add one").told
    '[spa] baseline: expected a system, found none; add one'
    """
    table = re.match(r"\[*(\w+)", place)
    return StudyProblem((*(table.groups() if table else ()), *also), f"{place}: expected {wanted}, found {got}; {do}")


def repeated(place: str, values: Iterable[object]) -> Iterator[StudyProblem]:
    """Tell every value that stands more than once."""
    seen: set[object] = set()
    told: set[object] = set()
    for value in values:
        if value in seen and value not in told:
            told.add(value)
            yield find(place, "each once", f"{shown(value)} again", "rename or remove one")
        seen.add(value)


def unfit_system(study: Study, place: str, system: str, *, role: str = "compared") -> Iterator[StudyProblem]:
    """Tell an unknown system, or one whose role does not fit ("compared", "reference" or "any")."""
    roles = {one.id: one.role for one in study.systems}
    if system not in roles:
        yield find(place, "the id of a system", shown(system), nearest(system, list(roles)), "systems")
    elif role == "compared" and roles[system] == "reference":
        yield find(place, "a compared system", f'{shown(system)} of role "reference"', "change its role", "systems")
    elif role == "reference" and roles[system] != "reference":
        got = f'{shown(system)} of role "{roles[system]}"'
        yield find(place, 'a system of role "reference"', got, "change its role", "systems")
