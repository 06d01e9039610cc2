"""What somebody who watches a study should look at now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from analysis.answers.exclusions import CONSISTENCY
from analysis.monitoring.annotator_profiles import AnnotatorProfile
from analysis.results.records import Results

FEWEST_VISITS = 10  # before a share of them means anything
DROPPED = 0.3  # share of visits that ended without answers
INCONSISTENT = 0.2  # share of annotators; about a fifth failed in the published SPA study
STRAIGHT = 0.95  # share of one and the same answer


class Seen(Protocol):
    """A visit, as far as an alarm needs it."""

    @property
    def released(self) -> bool:
        """Return whether the place was given up before the visit ended."""

    @property
    def completed(self) -> bool:
        """Return whether every question was answered."""

    @property
    def assignment_id(self) -> str:
        """Return the assignment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One line that asks for a look; ``severe`` where answers are at stake."""

    text: str
    severe: bool = False


def find_alarms(results: Results | None, profiles: Sequence[AnnotatorProfile], visits: Sequence[Seen]) -> list[Alarm]:
    """Return what is out of the ordinary.

    Parameters
    ----------
    results : Results or None
        A results.json; ``None`` while nothing is handed in.
    profiles : sequence of AnnotatorProfile
        Of all annotators, LLMs included.
    visits : sequence of visits
        Of people, as the store lists them.

    Returns
    -------
    list of Alarm
        Dropouts, contradictions, straight-lining, a rater that always says the same, uneven assignments.
    """
    kinds = {} if results is None else {row.group: row.annotator_kind for row in results.groups}
    found = [_dropouts(visits), _contradictions(results, kinds), _imbalance(visits)]
    straight = [each for each in profiles if (each.same_answer or 0) >= STRAIGHT]
    people = [each for each in straight if kinds.get(each.group) != "llm"]
    if people:
        who = "1 person" if len(people) == 1 else f"{len(people)} people"
        found.append(Alarm(text=f"{who} gave nearly the same answer throughout (straight-lining)."))
    found += [
        Alarm(text=f"The rater {each.annotator_id} answers the same to everything.", severe=True)
        for each in straight
        if kinds.get(each.group) == "llm"
    ]
    return [alarm for alarm in found if alarm is not None]


def _dropouts(visits: Sequence[Seen]) -> Alarm | None:
    ended = [visit for visit in visits if visit.released or visit.completed]
    dropped = sum(visit.released for visit in ended)
    if len(ended) < FEWEST_VISITS or dropped / len(ended) < DROPPED:
        return None
    share = round(100 * dropped / len(ended))
    return Alarm(text=f"{dropped} of {len(ended)} visits ended without answers ({share} %): is the form too long?")


def _contradictions(results: Results | None, kinds: Mapping[str, str]) -> Alarm | None:
    if results is None:
        return None
    failing = {
        row.annotator_id for row in results.exclusions if row.rule == CONSISTENCY and kinds.get(row.group) != "llm"
    }
    people = sum(row.annotators for row in results.groups if row.annotator_kind != "llm")
    if people < FEWEST_VISITS or len(failing) / people < INCONSISTENT:
        return None
    share = round(100 * len(failing) / people)
    finding = f"{len(failing)} of {people} people contradict themselves ({share} %)"
    return Alarm(text=f"{finding}: are the questions understood?")


def _imbalance(visits: Sequence[Seen]) -> Alarm | None:
    """Tell of an assignment that was answered at least twice more often than another that was begun."""
    counts: dict[str, int] = {}
    for visit in visits:
        counts[visit.assignment_id] = counts.get(visit.assignment_id, 0) + visit.completed
    if not counts or max(counts.values()) - min(counts.values()) < 2:
        return None
    most, least = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
    return Alarm(text=f"Assignments are answered unevenly: {most} {counts[most]} times, {least} {counts[least]} times.")
