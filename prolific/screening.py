"""Participant filters by name: the platform's ids can change, so they are looked up when needed."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prolific.api.problems import ProlificError
from prolific.api.records import ParticipantFilter
from prolific.settings import ProlificTable, Screeners

NAMES: Mapping[str, tuple[str, ...]] = {  # key of [prolific.screeners] -> what the platform calls it, ids and titles
    "fluent_languages": ("fluent-languages", "Fluent languages"),
    "first_language": ("first-language", "First language"),
    "country": ("current-country-of-residence", "Current country of residence", "Country of residence"),
    "education": ("highest-education-level-completed", "Highest education level completed", "Education level"),
    "subject": ("degree-subject", "Subject", "Degree subject"),
    "approval_rate": ("approval_rate", "Approval rate"),
    "submissions": ("approval_numbers", "Number of previous submissions", "Previous submissions"),
    "age": ("age", "Age"),
}
GROUP_ALLOWED, GROUP_BLOCKED = "participant_group_allowlist", "participant_group_blocklist"
STUDIES_BLOCKED = "previous_studies_blocklist"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantRequirement:
    """One property that participants must have, by its name on the platform."""

    place: str  # in the study file
    names: tuple[str, ...]  # titles or ids that it may have on the platform
    choices: tuple[str, ...] = ()
    lowest: Any = None
    highest: Any = None


def requirements_of(table: ProlificTable) -> tuple[ParticipantRequirement, ...]:
    """Return the study file's requirements on participants, in its order."""
    return (*_from_screeners(table.screeners), *_from_filters(table))


def resolve(requirements: Sequence[ParticipantRequirement], known: Sequence[ParticipantFilter]) -> list[dict[str, Any]]:
    """Return the platform's filters for requirements, as a study's body has them; ``known`` are all that it offers.

    Raises
    ------
    ProlificError
        One line for each name that the platform does not know, with the nearest that it does.
    """
    found: list[dict[str, Any]] = []
    problems: list[str] = []
    for one in requirements:
        try:
            found.append(_resolved(one, _find(one, known)))
        except ProlificError as error:
            problems += error.problems
    if problems:
        raise ProlificError(*problems)
    return found


def group_filter(filter_id: str, group_ids: Sequence[str]) -> dict[str, Any]:
    """Return a filter that admits or excludes the members of groups."""
    return {"filter_id": filter_id, "selected_values": list(group_ids)}


def _from_screeners(screeners: Screeners) -> Iterator[ParticipantRequirement]:
    for key, names in NAMES.items():
        value = getattr(screeners, key)
        if value is None or value == ():
            continue
        place = f"[prolific.screeners] {key}"
        if key == "age":
            yield ParticipantRequirement(place=place, names=names, lowest=value[0], highest=value[1])
        elif isinstance(value, tuple):
            yield ParticipantRequirement(place=place, names=names, choices=value)
        else:
            yield ParticipantRequirement(place=place, names=names, lowest=value)


def _from_filters(table: ProlificTable) -> Iterator[ParticipantRequirement]:
    for number, entry in enumerate(table.filters, start=1):
        yield ParticipantRequirement(
            place=f"[[prolific.filters]] {number}",
            names=(entry.name,),
            choices=entry.choices,
            lowest=entry.lowest,
            highest=entry.highest,
        )


def _find(requirement: ParticipantRequirement, known: Sequence[ParticipantFilter]) -> ParticipantFilter:
    by_name = {_plain(name): one for one in known for name in (one.question, one.title, one.filter_id) if name}
    for name in requirement.names:
        if _plain(name) in by_name:
            return by_name[_plain(name)]
    last, titles = requirement.names[-1], [one.title for one in known]
    raise ProlificError(f"{requirement.place}: Prolific has no filter {last!r}{_nearest(last, titles)}")


def _resolved(requirement: ParticipantRequirement, found: ParticipantFilter) -> dict[str, Any]:
    if requirement.choices:
        if found.kind == "range":
            raise ProlificError(
                f"{requirement.place}: {found.title!r} is a range; give lowest and highest, not choices"
            )
        return {
            "filter_id": found.filter_id,
            "selected_values": [_choice(requirement, found, one) for one in requirement.choices],
        }
    if found.kind != "range":
        raise ProlificError(f"{requirement.place}: {found.title!r} has choices; name some of them, not a range")
    lower = found.lower if requirement.lowest is None else requirement.lowest
    upper = found.upper if requirement.highest is None else requirement.highest
    for value in (lower, upper):
        if _outside(value, found):
            raise ProlificError(
                f"{requirement.place}: {found.title!r} goes from {found.lower} to {found.upper}, got {value}"
            )
    return {"filter_id": found.filter_id, "selected_range": {"lower": _number(lower), "upper": _number(upper)}}


def _choice(requirement: ParticipantRequirement, found: ParticipantFilter, name: str) -> str:
    ids = [key for key, title in found.choices.items() if _plain(title) == _plain(name)]
    if len(ids) != 1:
        several = f"{len(ids)} choices" if ids else "no choice"
        raise ProlificError(
            f"{requirement.place}: {found.title!r} has {several} {name!r}{_nearest(name, list(found.choices.values()))}"
        )
    return ids[0]


def _outside(value: Any, found: ParticipantFilter) -> bool:
    ends = [end for end in (found.lower, found.upper) if isinstance(end, int | float)]
    return len(ends) == 2 and isinstance(value, int | float) and not ends[0] <= value <= ends[1]


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain(name: str) -> str:
    return " ".join(name.replace("-", " ").replace("_", " ").casefold().split())


def _nearest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"; near it: {', '.join(near)}" if near else "; look its name up on Prolific's page of screeners"
