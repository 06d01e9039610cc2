"""The four lines that a report opens with, as results.json holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from analysis.statistics.record import Probability, Record, Source

Strength = Literal["clear", "these_only", "not_clear", "contradicted", "no_leader", "untested"]
Direction = Literal["higher", "lower", "higher (assumed)"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HeadlineClaim(Record):
    """What one criterion's tests say of the system that is ranked first."""

    criterion: str
    direction: Direction | None
    """Of ratings: which ratings are good; assumed where neither study nor plan says."""
    leader: str | None
    runner_up: str | None
    strength: Strength
    """Clear: the test against the next finds a difference, and the crossed test does not contradict it; these_only:
    it finds one for these annotators and items alone; not_clear: it finds none; contradicted: it finds the next better;
    no_leader: nothing is alone in first place; untested: no test could be run. A live study's decision stands in for
    the test."""
    p_adjusted: Probability | None
    """Null where no test could be run, and where a live study decided."""
    p_crossed_adjusted: Probability | None
    """Of the test over other annotators and other items; null where there is none."""
    unbeaten: tuple[str, ...] = ()
    """Systems that won every comparison, which leaves them without a strength."""
    reason: str | None = None
    """Why no test could be run."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HeadlineProblem(Record):
    """A problem of the data, and the section of the report that holds the details."""

    text: str
    section: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Headline(Record):
    """Who wins, how sure that is, whether an LLM may stand in, and the worst problems of the data."""

    source: Source | None
    group: str | None
    winner: str
    certainty: str
    stand_in: str
    problems: tuple[HeadlineProblem, ...]
    """The worst first, three at most."""
    claims: tuple[HeadlineClaim, ...] = ()
    excluded: str | None = None
    """How many people left by which rule; null where the plan declares no rule of careless answering."""

    def lines(self) -> tuple[tuple[str, str], ...]:
        """Return the four lines, each a title and its text, and who was excluded where that is said."""
        problems = " ".join(problem.text for problem in self.problems) or "None found."
        return (
            ("Who wins", self.winner),
            ("How sure", self.certainty),
            ("May an LLM stand in", self.stand_in),
            *([("Who was excluded", self.excluded)] if self.excluded is not None else []),
            ("Worst problems of the data", problems),
        )
