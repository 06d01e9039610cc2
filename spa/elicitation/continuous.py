"""Continuous ratings: 0 to 100, with outputs of reference systems shown as what the ends mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from spa.elicitation.ratings import RatingSection, RatingTarget, TurnTarget, dealer, rating_pages, zero_to_hundred
from spa.elicitation.scale_words import reversed_ends
from spa.elicitation.view import AssignmentView
from spa.elicitation.way import WayOfAsking
from spa.records.form import Answer, Exhibit, ExhibitsBlock, PageBlock
from spa.records.problems import StudyProblem, mistake, quote, unfit_system
from spa.records.study import Deciding, Study
from spa.records.toml_table import Ident, Text


class Continuous(RatingSection):
    """Ratings from 0 to 100, with outputs of reference systems at the ends where asked."""

    key: ClassVar[str] = "continuous"
    way: ClassVar[str] = "continuous"
    has_examples: ClassVar[bool] = True
    graded: ClassVar[bool] = True
    shows_references: ClassVar[bool] = True

    low: Text | None = None
    high: Text | None = None
    overall: bool = True
    best_reference: Ident | None = None  # a system of role "reference", shown as what 100 means
    worst_reference: Ident | None = None

    def references(self) -> frozenset[str]:
        """Return the systems shown as what the ends mean."""
        return frozenset(one for one in (self.best_reference, self.worst_reference) if one is not None)

    def words(self) -> tuple[str, ...]:
        """Return the words at the ends."""
        return (self.low or "", self.high or "")

    def answer(self, view: AssignmentView, criterion: str) -> Answer:
        """Return the answer from 0 to 100."""
        return zero_to_hundred(view, criterion, self.low, self.high)

    def orientation(self, view: AssignmentView, item_id: str, heading: Exhibit | None) -> list[PageBlock]:
        """Return what 100 and 0 look like for an item, where the section names such references."""
        ends = (("best", self.best_reference), ("worst", self.worst_reference))
        exhibits = tuple(
            view.reference(item_id, system, view.say(f"{end}_reference_caption"))
            for end, system in ends
            if system is not None
        )
        return [ExhibitsBlock(heading=heading, exhibits=exhibits)] if exhibits else []

    def decides(self) -> Deciding | None:
        """Return that ratings can end a live study."""
        return "ratings"


def problems(study: Study, section: Continuous) -> Iterator[StudyProblem]:
    """Yield what the section means wrongly beside the others."""
    best, worst = section.best_reference, section.worst_reference
    if best is not None:
        yield from unfit_system(study, "[continuous] best_reference", best, role="reference")
    if worst is not None:
        yield from unfit_system(study, "[continuous] worst_reference", worst, role="reference")
        if best == worst:
            yield mistake("[continuous] worst_reference", "another than best_reference", quote(worst), "change one")


def warnings(study: Study, section: Continuous) -> Iterator[str]:
    """Yield what its author may not mean."""
    yield from reversed_ends(study, section, section.low, section.high)


def overview(study: Study, section: Continuous) -> str:
    """Return what `spa check` says of it."""
    return "0 to 100"


WAY = WayOfAsking(
    settings=Continuous,
    name="Ratings 0-100",
    described="Each output is rated from 0 to 100.",
    in_methods="rated single outputs on a continuous scale",
    problems=problems,
    warnings=warnings,
    overview=overview,
    dealer=dealer,
    assigned_as="rated",
    pages=rating_pages,
    judgements=(RatingTarget, TurnTarget),
    from_the_first=True,
    heds_form=2,
    heds_seen_as=5,
)
