"""Counts of a rater's run, for its progress bar and its report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from spa.errors import PlatformError
from spa.raters.budget import RaterBudget
from spa.raters.endpoints.endpoint import LLMReply
from spa.records.submission import Missing, Response

BOUNDED = re.compile(r"from (?P<low>-?\d+) to (?P<high>-?\d+)\b.*, got '?(?P<got>-?\d+(?:\.\d+)?)%?'?$")
Progress = Callable[["RatingSummary"], None]


@dataclass(slots=True, kw_only=True)
class RatingSummary:
    """Counts of a run so far."""

    rater: str
    visits: int = 0  # assignments, times variants and repeats
    finished_before: int = 0
    finished: int = 0
    answered: int = 0  # questions
    missing: Counter[str] = field(default_factory=Counter)  # reason -> questions
    not_needed: int = 0  # visits of groups that had answered enough in a live study
    later: int = 0  # visits that are asked, if at all, once the results of a batch file are known
    waiting: int = 0  # visits with requests in a batch file that is under way
    unfinished: Counter[str] = field(default_factory=Counter)  # outcome -> visits that a rerun asks again
    outcomes: Counter[str] = field(default_factory=Counter)  # of the requests of this run
    further: int = 0  # requests of which a further attempt gave the answer
    shared: int = 0  # of these outcomes, answers that came in the response to another repeat's request
    from_cache: int = 0  # of the requests, those answered by the rater's cache
    cut_prompts: int = 0  # requests of which the endpoint read far less than was sent
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None  # of this run; None where no price is known
    seconds: float = 0.0
    workers: int = 0  # of a cluster
    notes: list[str] = field(default_factory=list)  # what is to be known of the endpoint
    endpoint: dict[str, Any] = field(default_factory=dict)  # what it was seen to do; see capabilities.py
    silent: str | None = None  # what is to be changed where no form of this run holds a readable answer
    problem: str | None = None  # why the run stopped early, or what the endpoint said last

    @property
    def requests(self) -> int:
        """Requests of this run."""
        return sum(self.outcomes.values()) - self.shared

    def count_visit(self, answers: Sequence[Response | Missing]) -> None:
        """Count a visit that is finished."""
        self.finished += 1
        for answer in answers:
            if isinstance(answer, Missing):
                self.missing[counted_as(answer.reason)] += 1
            else:
                self.answered += 1

    def count_request(self, outcome: str, reply: LLMReply, rater_budget: RaterBudget) -> None:
        """Count a request that is answered and paid."""
        self.outcomes[outcome] += 1
        self.from_cache += reply.from_cache
        self.prompt_tokens += reply.prompt_tokens or 0
        self.completion_tokens += reply.completion_tokens or 0
        self.cost = rater_budget.spent_now if rater_budget.counts else None


def counted_as(reason: str) -> str:
    """Return what a missing answer is counted as: a number out of range apart from what is no number.

    Not every endpoint holds a model to the bounds of a schema.

    >>> counted_as("expected a whole number from 0 to 100, got 140")
    'out of range: expected a whole number from 0 to 100'
    >>> counted_as("expected a whole number from 0 to 100, got 'many'")
    'expected a whole number from 0 to 100'
    """
    expected = reason.partition(", got")[0]
    found = BOUNDED.search(reason)
    if found is None or float(found["low"]) <= float(found["got"]) <= float(found["high"]):
        return expected
    return f"out of range: {expected}"


def stop_if_unfinished(summary: RatingSummary) -> None:
    """Raise a ``PlatformError`` where visits were left for a rerun."""
    done = summary.finished + summary.finished_before + summary.not_needed + summary.later
    left = summary.visits - done - summary.waiting
    if left:
        raise PlatformError(f"{summary.problem} [{left} of {summary.visits} assignments are not finished]")
    if summary.silent is not None:
        raise PlatformError(summary.silent)
