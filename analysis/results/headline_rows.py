"""The four lines that a report opens with, as results.json holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from analysis.statistics.reasons import Reason
from analysis.statistics.record import Count, Probability, Record, Source

Strength = Literal[
    "clear",
    "these_only",
    "skewed",
    "unanimous",
    "not_clear",
    "contradicted",
    "circle",
    "tests_opposed",
    "weights_reverse",
    "items_decide",
    "no_leader",
    "untested",
]
Direction = Literal["higher", "lower", "higher (assumed)"]
Crossed = Literal["agrees", "opposite", "not_shown", "alone", "open"]
CaveatKind = Literal[
    "verification",
    "all_excluded",
    "near_names",
    "codes",
    "other_scales",
    "places",
    "clean_outputs",
    "category_weights",
    "other_source_opposite",
    "weights_reverse",
    "items_decide",
    "circle",
    "disconnected",
    "live",
    "audit_drawn",
    "careless",
    "subgroups_differ",
    "one_gave_most",
    "documents",
    "control_like",
    "controls",
    "contamination",
    "part_used",
    "untested",
    "level_not_held",
    "highly_skewed",
    "position",
    "flips",
    "uneven",
    "unpaired",
    "inconsistent",
    "many_excluded",
    "careless_excluded",
    "few_annotators",
    "unnamed",
    "assumed_direction",
    "constant_scores",
    "maybe_codes",
    "output_lengths",
    "untouched_sliders",
    "missing_answers",
    "dropped_items",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HeadlineClaim(Record):
    """What one criterion's tests say of the system that is ranked first."""

    criterion: str
    direction: Direction | None
    """Of ratings: which ratings are good; assumed where neither study nor plan says."""
    leader: str | None
    """Ranked first."""
    runner_up: str | None
    """The best placed of those that the leader was tested against."""
    strength: Strength
    """Clear: the test against the next finds a difference, and the crossed test does not contradict it; these_only:
    it finds one for these annotators and items alone, or on different items of the two; skewed: it finds one in
    highly skewed values; unanimous: every value is the same; not_clear: it finds none; contradicted: it finds the
    next better; circle: the leader lost clearly to one that it is ahead of by others; tests_opposed: the crossed
    test finds the next better; weights_reverse: who is ahead turns with the weight of one annotator; items_decide:
    the systems were rated on different items, and those of both do not show who is ahead; no_leader: nothing is
    alone in first place; untested: no test could be run. A live study's decision stands in for the test."""
    p_adjusted: Probability | None
    """Null where no test could be run, and where a live study decided."""
    p_crossed_adjusted: Probability | None
    """Of the test over other annotators and other items; null where there is none."""
    unbeaten: tuple[str, ...] = ()
    """Systems that won every comparison, which leaves them without a strength."""
    reason: Reason | None = None
    """Why no test could be run."""
    exposure: Count | None = None
    """Outputs of each system read before the test of leader and runner_up."""
    winner: str | None = None
    """System that the first line names as ahead; null where it names none."""
    crossed: Crossed | None = None
    """Crossed test beside the test: agrees (same winner), opposite, not_shown (only the test finds a difference), alone
    (only the crossed test does), open (neither does); null where one is missing."""
    p_unanimous: Probability | None = None
    """Bound on the chance that all agree where there is no preference; null unless strength is unanimous."""
    circle: tuple[str, ...] = ()
    """Systems each of which is clearly better than the next, and the last than the first; empty unless a circle."""
    passed_over: tuple[str, ...] = ()
    """Systems ranked between leader and runner_up that were not compared with the leader."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HeadlineProblem(Record):
    """A caveat, and the section of the report that holds the details."""

    text: str
    section: str
    kind: CaveatKind | None = None
    """Null in files written before there were kinds."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Headline(Record):
    """Who wins and by how much, whether an LLM can replace annotators, and the main caveats."""

    source: Source | None
    group: str | None
    winner: str
    certainty: str
    stand_in: str
    problems: tuple[HeadlineProblem, ...]
    """The most severe first, three at most."""
    claims: tuple[HeadlineClaim, ...] = ()
    excluded: str | None = None
    """How many people left by which rule; null where the plan declares no rule of careless answering."""
    more_problems: tuple[HeadlineProblem, ...] = ()
    """The caveats after these three."""

    @property
    def more(self) -> str:
        """Return "and 2 more", or nothing."""
        return f"and {len(self.more_problems)} more" if self.more_problems else ""

    def lines(self) -> tuple[tuple[str, str], ...]:
        """Return the four lines, each a title and its text, and who was excluded where that is said."""
        more = [f"{self.more.capitalize()}."] if self.more else []
        problems = " ".join([*(problem.text for problem in self.problems), *more])
        return (
            ("Who wins", self.winner),
            ("By how much", self.certainty),
            ("Can an LLM replace annotators?", self.stand_in),
            *([("Who was excluded", self.excluded)] if self.excluded is not None else []),
            ("Main caveats", problems or "None."),
        )
