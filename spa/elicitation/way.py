"""A way of asking: what one member of this folder brings, and nobody else knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from spa.elicitation.dealing import Dealer, Draw, Hand
from spa.elicitation.view import AssignmentView
from spa.records.form import Judgement, Page
from spa.records.problems import StudyProblem
from spa.records.study import Section, Study


def _nothing(study: Study, section: Any) -> Iterator[Any]:
    yield from ()


def _no_values(study: Study, section: Any) -> tuple[str, ...]:
    return ()


def _no_words(study: Study, section: Any) -> str:
    return ""


def _preset(view: AssignmentView, section: Section) -> list[str]:
    points = view.study.scale_points
    return [view.say(f"instructions_{section.key}", points="" if points is None else str(points))]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # a way is itself alone: looked up without comparing
class WayOfAsking:
    """One way of asking; functions take the study and the way's own section of it."""

    settings: type[Section]  # the keys of its table in study.toml
    name: str  # in tables of a report
    described: str  # in a report, to who has not seen the form: a sentence
    in_methods: str = ""  # what annotators did, in a methods section; none: as described
    problems: Callable[[Study, Any], Iterator[StudyProblem]] = _nothing  # what it means wrongly beside other tables
    warnings: Callable[[Study, Any], Iterator[str]] = _nothing  # what its author may not mean
    overview: Callable[[Study, Any], str] = _no_words  # what `spa check` says of it, before the criteria
    pages: Callable[[AssignmentView, Any], list[Page]]  # titles left empty are numbered by the kind of the page
    instructions: Callable[[AssignmentView, Any], list[str]] = _preset  # paragraphs, in Markdown
    judgements: tuple[type[Judgement], ...]  # what its questions are about
    dealer: Callable[[Draw, Any], Dealer]  # what it takes from the decks of a draw
    deals_alone: Callable[[Draw, Any], Callable[[int], Hand]] | None = None  # whole assignments, where pairs are dealt
    # what of an assignment it takes from a file that says who sees what; None: it cannot
    assigned_as: Literal["comparisons", "rated", "groups"] | None = None
    heds_form: int | None = None  # the option of the datasheet's (HEDS) question 4.3.8 that its answers are
    heds_seen_as: int | None = None  # and that of 4.3.5, on how they are entered; None: left to the author
    values: Callable[[Study, Any], tuple[str, ...]] = _no_values  # of an answer in words; none: the datasheet knows
    late_texts: tuple[str, ...] = ()  # of the locale's table "form", without which a translation may do
    stored_as: str | None = None  # what stores call its groups of outputs; None: its key
    always_stored: bool = False  # whether they name them where there are none
    decides_with: str = ""  # what it must have to end a live study: "with a score"
    from_the_first: bool = False  # whether stores of every release know it, so that their fingerprints name it

    @property
    def key(self) -> str:
        """The table of study.toml."""
        return self.settings.key
