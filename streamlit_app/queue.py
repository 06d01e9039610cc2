"""Which submissions wait for a reviewer, and what is known of each at a glance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import urlencode

from analysis.monitoring.annotator_profiles import AnnotatorProfile
from spa.responses.decisions import Action, VisitDecisions
from spa.responses.outcomes import COMPLETED
from spa.responses.status import COUNT_WORDS
from spa.responses.two_reviewers import Review
from spa.responses.visits import PersonVisit

Decided = Literal["all", "undecided", "approved", "left out", "rejection proposed", "in conflict"]
DECIDED: tuple[Decided, ...] = get_args(Decided)
CHOSEN = "submission"  # in the address, and in the session
SUBMITTED = COUNT_WORDS[COMPLETED]
UNCONFIRMED = f"{SUBMITTED}, not confirmed by the platform"
NOBODY = VisitDecisions(submission_id="")


def action_words(action: Action) -> str:
    """Return a decision as its button says it.

    >>> action_words("exclude"), action_words("propose_rejection")
    ('leave out', 'propose rejection')
    """
    return {"exclude": "leave out", "include": "keep in"}.get(action, action.replace("_", " "))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewEntry:
    """One submission with what stands of the decisions on it and what the analysis says of its annotator."""

    visit: PersonVisit
    decisions: VisitDecisions
    profile: AnnotatorProfile | None
    rules: tuple[str, ...]  # by which the plan excludes the annotator
    conflicts: tuple[Review, ...] = ()  # of two reviewers, not settled

    @property
    def minutes(self) -> float | None:
        """Minutes from taking the form to handing it in."""
        ended = self.visit.completed_at
        return None if ended is None else self.visit.seconds_until(ended) / 60

    @property
    def status(self) -> str:
        """Where the visit stands, in words."""
        if self.visit.claimed and self.visit.outcome == COMPLETED:
            return UNCONFIRMED
        if self.visit.outcome is not None:
            return COUNT_WORDS[self.visit.outcome] + (", late (excluded)" if self.visit.extra else "")
        if self.visit.released:
            return (self.visit.release_reason or "released").replace("_", " ")
        return COUNT_WORDS["at_work"]

    @property
    def decided(self) -> str:
        """What was decided so far, in words."""
        decisions = self.decisions
        words = [action_words(decisions.payment.action)] if decisions.payment else []
        words += ["left out"] if decisions.exclusion else ["kept"] if decisions.inclusion else []
        words += ["in conflict"] if self.conflicts else []
        words += [f"bonus {bonus.amount}" for bonus in decisions.bonuses]
        words += ["message"] * bool(decisions.messages)
        return ", ".join(words)


def entries_of(
    visits: Sequence[PersonVisit],
    decisions: Mapping[str, VisitDecisions],
    profiles: Mapping[str, AnnotatorProfile],
    rules: Mapping[str, tuple[str, ...]],
    conflicts: Sequence[Review] = (),
) -> list[ReviewEntry]:
    """Put together what is shown of each visit, latest first."""
    return [
        ReviewEntry(
            visit=visit,
            decisions=decisions.get(visit.submission_id, NOBODY),
            profile=profiles.get(visit.annotator_id),
            rules=rules.get(visit.annotator_id, ()),
            conflicts=tuple(each for each in conflicts if each.submission_id == visit.submission_id),
        )
        for visit in sorted(visits, key=lambda each: (-(each.completed_at or 0), -each.leased_at))
    ]


def address(visit: PersonVisit) -> str:
    """Return where a submission is shown."""
    return "/submissions?" + urlencode({CHOSEN: visit.submission_id})


def matches(entry: ReviewEntry, *, status: str, decided: Decided, only_flagged: bool, source: str) -> bool:
    """Return whether an entry passes the filters; "all" lets everything pass."""
    decisions = entry.decisions
    passes: dict[Decided, bool] = {
        "all": True,
        "undecided": not decisions.payment and not decisions.exclusion and not decisions.inclusion,
        "approved": decisions.payment is not None and decisions.payment.action == "approve",
        "left out": decisions.exclusion is not None,
        "rejection proposed": decisions.payment is not None and decisions.payment.action == "propose_rejection",
        "in conflict": bool(entry.conflicts),
    }
    return (
        status in ("all", entry.status)
        and passes[decided]
        and (not only_flagged or bool(entry.rules))
        and source in ("all", entry.visit.source)
    )
