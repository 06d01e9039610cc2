"""What needs the attention of somebody who watches a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from analysis.answers.exclusions import CONSISTENCY
from analysis.monitoring.annotator_profiles import AnnotatorProfile
from analysis.monitoring.short_names import short_names
from analysis.printing.words import sentence
from analysis.records.results import Results
from analysis.results.sign_words import NOT_PLANNED, sign_title
from spa.journal import STARTED
from spa.raters.request_log import CallCount
from spa.responses.decisions import Decision
from spa.responses.outcomes import COMPLETED

FEWEST_VISITS = 10  # before a share of them means anything
DROPPED = 0.3  # share of visits that ended without answers
INCONSISTENT = 0.2  # share of annotators; about a fifth failed in the published SPA study
STRAIGHT = 0.95  # share of one and the same answer
USUAL_BOUND = 1.1  # on P(x > y) + P(y > x), where the plan has none
NAMED = 5  # annotators at most in one line
RULES = {
    "extra_answers": "Submitted late, after the place had been reassigned",
    "incomplete_answers": "Incomplete answers",
    "ended_early": "Ended early",
    "attention_checks": "Failed attention checks",
    "repeat_submissions": "Took part more than once",
}
AlarmPage = Literal["Submissions", "Annotators", "Raters", "Plan"]


class Seen(Protocol):
    """A visit, as far as an alarm needs it."""

    @property
    def released(self) -> bool:
        """Return whether the place was given up before the visit ended."""

    @property
    def completed(self) -> bool:
        """Return whether every question was answered."""

    @property
    def claimed(self) -> bool:
        """Return whether the platform has not confirmed the visit."""

    @property
    def outcome(self) -> str | None:
        """Return how the visit ended."""

    @property
    def assignment_id(self) -> str:
        """Return the assignment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One line on what needs attention, and the page to look at; ``severe`` where answers are at stake.

    ``whole`` are the ids of the annotators whom the line names by their short names.
    """

    text: str
    page: AlarmPage
    severe: bool = False
    whole: tuple[str, ...] = ()


def find_alarms(
    results: Results | None,
    profiles: Sequence[AnnotatorProfile],
    visits: Sequence[Seen],
    *,
    calls: Sequence[CallCount] = (),
    unpaid: Sequence[Decision] = (),
) -> list[Alarm]:
    """Return what is out of the ordinary.

    Parameters
    ----------
    results : Results or None
        A results.json; ``None`` while nothing is handed in.
    profiles : sequence of AnnotatorProfile
        Of all annotators, LLMs included.
    visits : sequence of visits
        Of people, as the store lists them.
    calls : sequence of CallCount
        Calls to LLMs by rater and outcome.
    unpaid : sequence of Decision
        Bonuses that reviewers decided on and nobody has paid.

    Returns
    -------
    list of Alarm
        Contradictions, answers that a rule leaves out, signs of careless answering, straight-lining, failing or
        constant raters, dropouts, uneven assignments, unconfirmed visits, unpaid bonuses.
    """
    kinds = {} if results is None else {row.group: row.annotator_kind for row in results.groups}
    people = [each for each in profiles if kinds.get(each.group) != "llm"]
    excluded = [] if results is None else [row.annotator_id for row in results.exclusions]
    names = short_names([*(each.annotator_id for each in profiles), *excluded])
    straight = [each for each in profiles if (each.same_answer or 0) >= STRAIGHT]
    told = (
        set() if results is None else {row.annotator_id for row in results.careless_signs if row.sign == "same_answers"}
    )
    nearly = [each.annotator_id for each in straight if each in people and each.annotator_id not in told]
    found = [
        *_failing_raters(calls),
        *(
            Alarm(
                text=f"The rater {each.annotator_id} gives the same answer to every question.",
                page="Raters",
                severe=True,
            )
            for each in straight
            if kinds.get(each.group) == "llm"
        ),
        _contradictions(results, kinds),
        _sums(results, people, names),
        *_left_out(results, kinds, names),
        *_signs(results, kinds, names),
        _straight_lining(nearly, names),
        _dropouts(visits),
        _unconfirmed(visits),
        _unpaid(unpaid),
        _imbalance(visits),
    ]
    return [alarm for alarm in found if alarm is not None]


def _named(annotators: Sequence[str]) -> str:
    more = len(annotators) - NAMED
    return ", ".join(annotators[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _failing_raters(calls: Sequence[CallCount]) -> list[Alarm]:
    found = []
    for rater in dict.fromkeys(each.rater for each in calls):
        own = [each for each in calls if each.rater == rater]
        failed = {each.outcome: each.calls for each in own if each.outcome not in ("ok", STARTED)}
        if failed:
            made, lost = sum(each.calls for each in own), sum(failed.values())
            how = ", ".join(f"{outcome} {count:,}" for outcome, count in failed.items())
            text = f"The rater {rater}: {lost:,} of {made:,} calls failed ({how})."
            found.append(Alarm(text=text, page="Raters", severe=lost == made))
    return found


def _sums(results: Results | None, people: Sequence[AnnotatorProfile], names: Mapping[str, str]) -> Alarm | None:
    """Name the people whose two chances of one pair add up to too much."""
    bound = (None if results is None else results.settings.consistency_tau) or USUAL_BOUND
    sums = sorted(((each.largest_sum or 0, each.annotator_id) for each in people), reverse=True)
    over = {annotator: total for total, annotator in sums if total > float(bound)}
    if not over:
        return None
    named = _named([f"{names[annotator]} ({100 * total:.0f}%)" for annotator, total in over.items()])
    text = f"P(X>Y) + P(Y>X) above {100 * float(bound):.0f}%: {named}."
    return Alarm(text=text, page="Annotators", whole=tuple(over)[:NAMED])


def _left_out(results: Results | None, kinds: Mapping[str, str], names: Mapping[str, str]) -> list[Alarm]:
    """Name the people whom a rule other than that on contradictions leaves out."""
    people = [row for row in results.exclusions if kinds.get(row.group) != "llm"] if results is not None else []
    found = {
        words: list(dict.fromkeys(row.annotator_id for row in people if row.rule == rule))
        for rule, words in RULES.items()
    }
    return [
        Alarm(text=f"{words}: {_named([names[one] for one in who])}.", page="Submissions", whole=tuple(who)[:NAMED])
        for words, who in found.items()
        if who
    ]


def _signs(results: Results | None, kinds: Mapping[str, str], names: Mapping[str, str]) -> list[Alarm]:
    """Name the people who show a sign of careless answering and count, sign by sign."""
    if results is None:
        return []
    found = []
    for row in results.careless_sign_counts:
        who = [
            one.annotator_id
            for one in results.careless_signs
            if (one.sign, one.group) == (row.sign, row.group) and one.excluded_by is None
        ]
        if who and kinds.get(row.group) != "llm":
            title = sentence(sign_title(row.sign, results.settings, row.bound))
            text = f"{title}: {_named([names[one] for one in who])} (excluded: {NOT_PLANNED})."
            found.append(Alarm(text=text, page="Annotators", whole=tuple(who)[:NAMED]))
    return found


def _straight_lining(annotators: Sequence[str], names: Mapping[str, str]) -> Alarm | None:
    if not annotators:
        return None
    named = _named([names[annotator] for annotator in annotators])
    text = f"Nearly the same answer throughout (straight-lining): {named}."
    return Alarm(text=text, page="Annotators", whole=tuple(annotators)[:NAMED])


def _unconfirmed(visits: Sequence[Seen]) -> Alarm | None:
    count = sum(visit.claimed and visit.outcome == COMPLETED for visit in visits)
    text = f"Submitted but not confirmed by the platform: {count} {'visit' if count == 1 else 'visits'}."
    return Alarm(text=text, page="Submissions") if count else None


def _unpaid(unpaid: Sequence[Decision]) -> Alarm | None:
    amount = sum(bonus.amount or 0 for bonus in unpaid)
    text = f"Bonuses decided but not paid: {len(unpaid)}, {amount} in total."
    return Alarm(text=text, page="Submissions") if unpaid else None


def _dropouts(visits: Sequence[Seen]) -> Alarm | None:
    ended = [visit for visit in visits if visit.released or visit.completed]
    dropped = sum(visit.released for visit in ended)
    if len(ended) < FEWEST_VISITS or dropped / len(ended) < DROPPED:
        return None
    share = round(100 * dropped / len(ended))
    text = f"{dropped} of {len(ended)} visits ended without answers ({share}%): is the form too long?"
    return Alarm(text=text, page="Submissions")


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
    finding = f"{len(failing)} of {people} people contradict themselves ({share}%)"
    return Alarm(text=f"{finding}: are the questions understood?", page="Annotators")


def _imbalance(visits: Sequence[Seen]) -> Alarm | None:
    """Tell of an assignment that was answered at least twice more often than another that was begun."""
    counts: dict[str, int] = {}
    for visit in visits:
        counts[visit.assignment_id] = counts.get(visit.assignment_id, 0) + visit.completed
    if not counts or max(counts.values()) - min(counts.values()) < 2:
        return None
    most, least = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
    text = f"Assignments are answered unevenly: {most} {counts[most]} times, {least} {counts[least]} times."
    return Alarm(text=text, page="Submissions")
