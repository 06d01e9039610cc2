"""Problems of a study file, each one line: where, what was expected, what came instead, what to do."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from spa.errors import expected_got, shortened
from spa.records.study import Study
from spa.records.system_roles import UNRANKED

LONGEST_VALUE = 60  # characters of a wrong value that are repeated in the message


@dataclass(frozen=True, slots=True)
class StudyProblem:
    """One mistake: the line to print, and the tables it depends on: it is left out while these hold other mistakes."""

    tables: tuple[str, ...]
    message: str


def mistake(place: str, expected: str, got: str, do: str, *also: str) -> StudyProblem:
    """Return a mistake at a place such as "[spa] exposure"; ``also`` names the other tables it depends on.

    >>> mistake("[spa] baseline", "a system", "none", "add one").message
    '[spa] baseline: expected a system, got none; add one'
    """
    table = re.match(r"\[*(\w+)", place)
    return StudyProblem((*(table.groups() if table else ()), *also), expected_got(place, expected, got, do))


def repeated(place: str, values: Iterable[object]) -> Iterator[StudyProblem]:
    """Yield a problem for every value that is there more than once."""
    seen: set[object] = set()
    reported: set[object] = set()
    for value in values:
        if value in seen and value not in reported:
            reported.add(value)
            yield mistake(place, "no duplicates", f"{quote(value)} twice", "rename or remove one")
        seen.add(value)


def unfit_system(study: Study, place: str, system: str, *, role: str = "compared") -> Iterator[StudyProblem]:
    """Yield a problem for an unknown system, or one whose role does not fit ("compared", "reference" or "any").

    A hidden reference may be shown as a reference, too; it and anchors are in no comparison.
    """
    roles = {one.id: one.role for one in study.systems}
    if system not in roles:
        yield mistake(place, "the id of a system", quote(system), nearest(system, list(roles)), "systems")
    elif role == "compared" and roles[system] in ("reference", *UNRANKED):
        got = f'{quote(system)} of role "{roles[system]}"'
        yield mistake(place, "a compared system", got, "change its role", "systems")
    elif role == "reference" and roles[system] not in ("reference", "hidden_reference"):
        got = f'{quote(system)} of role "{roles[system]}"'
        yield mistake(place, 'a system of role "reference"', got, "change its role", "systems")


def nearest(name: str, known: Sequence[str]) -> str:
    """Return a question that offers the known name nearest to ``name``, else the list of known names.

    >>> nearest("exposur", ["exposure", "baseline"])
    'did you mean "exposure"?'
    >>> nearest("zzz", ["exposure", "baseline"])
    'known: exposure, baseline'
    """
    lowered = {candidate.casefold(): candidate for candidate in known}
    found = difflib.get_close_matches(name.casefold(), lowered, n=1, cutoff=0.6)
    if found:
        return f'did you mean "{lowered[found[0]]}"?'
    return "known: " + (", ".join(known[:12]) + (", ..." if len(known) > 12 else "") if known else "none")


def quote(value: object) -> str:
    """Return a value as it would stand in a study file, cut where it is long.

    >>> quote("five"), quote(True), quote({"a": 1}), quote([1, 2])
    ('"five"', 'true', 'a table', '[1, 2]')
    """
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
        return "a list of 1 table" if len(value) == 1 else f"a list of {len(value)} tables"
    if isinstance(value, Decimal):
        return str(value)
    text = json.dumps(value, ensure_ascii=False, default=str)
    return shortened(text, LONGEST_VALUE)
