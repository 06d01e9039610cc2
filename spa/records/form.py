"""How it is asked: one ``Form`` for the web page, the HIT and the LLM prompt.

A form holds labels, never systems. A page is a list of blocks in reading order; all
renderers walk the same list, so what they say and ask is the same text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from spa.records.assignment import AssignmentLabels
from spa.records.materials import ShownFile

if TYPE_CHECKING:
    import numpy as np

Audience = Literal["everybody", "people"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of plain text; ``marked`` where it differs from the text it is compared with."""

    text: str
    marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """What annotators look at: an output under its label, or the item text that every system was given."""

    exhibit_id: str  # "e1", ...; says nothing of the system
    caption: str  # "Writer A", "Prompt 2"
    label: str | None  # None: item text, or a reference shown as such
    item_id: str
    sample: int = 1  # which of several outputs of the label for that item
    turn: int | None = None  # of an output whose turns are rated: the one that it holds, after what led to it
    medium: str  # key of its medium
    segments: tuple[Segment, ...] = ()  # empty where a file is shown
    file: Path | None = None
    seconds: float | None = None  # that the file lasts
    captions: Path | None = None  # of a clip
    names: tuple[tuple[str, str], ...] = ()  # words of the form that its medium needs, by what they are called
    within: tuple[ShownFile, ...] = ()  # files that its text names

    @property
    def text(self) -> str:
        """The whole text without marks."""
        return "".join(segment.text for segment in self.segments)

    @property
    def inner(self) -> Mapping[str, Exhibit]:
        """The files that its text names, as exhibits, by these names."""
        return {
            one.name: Exhibit(
                exhibit_id=f"{self.exhibit_id}.{number}",
                caption="",
                label=self.label,
                item_id=self.item_id,
                sample=self.sample,
                medium=one.medium,
                file=one.shown_file,
                seconds=one.seconds,
            )
            for number, one in enumerate(self.within, start=1)
        }


Column = Literal["String", "Int64", "Float64"]  # types of polars
OUTPUT: Mapping[str, Column] = {"item_id": "String", "system": "String", "criterion": "String"}
SHOWN: Mapping[str, Column] = {
    "elicitation": "String",
    "sample": "Int64",
    "label": "String",
    "position": "Int64",
}  # from 1
CHOSEN: Mapping[str, Column] = {  # of the table "choices", a row two outputs
    "item_id": "String",
    "system_x": "String",
    "system_y": "String",
    "criterion": "String",
    "winner": "String",
    "elicitation": "String",
    "sample_x": "Int64",
    "sample_y": "Int64",
    "label_x": "String",
    "label_y": "String",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a question of a way of asking is about: outputs or systems, judged by one criterion.

    Each way of asking has a class of its own, whose fields the store keeps, and says here what becomes of its answers.
    """

    kind: ClassVar[str]  # what the store calls it
    table: ClassVar[str]  # the tidy table in which its answers are rows
    columns: ClassVar[Mapping[str, Column]]  # that this table has for it, before those of all answers
    about: ClassVar[str]  # what the rows of the table are
    explained_once: ClassVar[bool] = False  # whether an explanation stands in the first of its rows alone
    careless_itself: ClassVar[bool] = False  # whether a simulated annotator's carelessness is its own business
    criterion: str

    @property
    def way(self) -> str:
        """What tables of answers call the way of asking."""
        raise NotImplementedError

    def rows(self, value: float | str | None, labels: AssignmentLabels) -> list[tuple[object, ...]]:
        """Return the cells of its table's own columns, a row each; ``value`` is None where the answer is missing."""
        raise NotImplementedError

    def simulated(self, reader: SimulatedReader, answer: Answer) -> str:
        """Return what an annotator of known truth answers, as the page sends it."""
        raise NotImplementedError

    def outputs(self) -> frozenset[tuple[str, str, int]] | None:
        """Return the outputs (label, item, sample) that it is about; None where it is about systems."""
        return None

    def favour(self, value: float | str, label: str, scale: tuple[float, float] | None) -> float | None:
        """Return how favourable an answer is to a label, from 0 to 1; None where it is not about it.

        ``scale`` holds the lowest and highest score of the question, where it has scores.
        """
        return None


class SimulatedReader(Protocol):
    """A simulated annotator with one form, as ways of asking see it."""

    rng: np.random.Generator
    careless: Literal["no", "random", "straight"]
    excess: float | None  # what an inconsistent annotator adds to each direction of a pair; None of a consistent one
    temperament: Any  # see :class:`spa.simulation.simulated_annotators.Temperament`
    truth: Any  # see :class:`spa.simulation.true_utilities.TrueUtilities`
    severity: float  # in units of utility

    def system(self, label: str) -> str:
        """Return the system that a label hides."""

    def perceived(self, label: str, item_id: str, sample: int, criterion: str, turn: int | None = None) -> float:
        """Return how good the annotator finds an output, or a turn of it; the same however often it is asked."""

    def chance(self, label_x: str, label_y: str, criterion: str) -> float:
        """Return P(x preferred to y), before any habit of answering."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTarget:
    """A question with a right answer; ``expected`` is never rendered, nor what is right ``also``."""

    check_id: str
    kind: Literal["attention", "identical_pair"]
    expected: str
    also: tuple[str, ...] = ()

    @property
    def accepted(self) -> tuple[str, ...]:
        """Every right answer."""
        return (self.expected, *self.also)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreeningTarget:
    """A question of eligibility; ``eligible`` is never rendered."""

    screening_id: str
    eligible: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InterviewTarget:
    """What a person says at the end, in their own words."""

    interview_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationTarget:
    """Consent, or "I have read the instructions"."""

    confirmation: Literal["consent", "instructions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationTarget:
    """Why an answer was given; ``of`` is what that answer is about."""

    of: Judgement


Target = Judgement | CheckTarget | ScreeningTarget | InterviewTarget | ConfirmationTarget | ExplanationTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a question is answered; each widget of :mod:`spa.widgets` has a class of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOption:
    """One of the answers offered; ``value`` is what is sent, ``text`` what is read."""

    value: str
    text: str
    score: float | None = None  # what the answer counts as, where it is a rating
    label: str | None = None  # of the output or system that it stands for


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBlock:
    """Markdown by the study's author, the locale or both."""

    markdown: str
    criterion: str | None = None  # guidelines for the questions about this criterion alone


@dataclass(frozen=True, slots=True, kw_only=True)
class ExhibitsBlock:
    """Outputs of one item side by side, under the text that the systems were given (if shown).

    ``repeated`` says that an earlier page showed all of these, so that a page may fold them and a
    conversation refers to them instead of sending them again.
    """

    heading: Exhibit | None  # the item text
    exhibits: tuple[Exhibit, ...]  # in the order of the columns
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question: the text asked, how it is answered, and what the answer is about."""

    question_id: str = ""  # "q1", ..., once the form is numbered; the field on the page, the key in an LLM's JSON
    text: str
    answer: Answer
    target: Target

    @property
    def criterion(self) -> str | None:
        """The criterion asked about; ``None`` of screening, consent and attention checks."""
        match self.target:
            case Judgement():
                return self.target.criterion
            case ExplanationTarget():
                return self.target.of.criterion
            case CheckTarget(kind="identical_pair", check_id=name):
                return name.partition("/")[2]
        return None


PageBlock = TextBlock | ExhibitsBlock | Question


@dataclass(frozen=True, kw_only=True)  # no slots: what is asked of a page many times is kept with it
class Page:
    """One screen. A page for people only (consent, screening, attention checks) is left out of prompts."""

    page_id: str = ""  # "p1", ..., once the form is numbered
    kind: str  # "consent", "screening", "instructions", "check", "interview", or as a way of asking calls its pages
    shows: Literal["systems", "outputs"] | None = None  # what is judged by what it shows; None: nothing is
    audience: Audience = "everybody"
    title: str
    blocks: tuple[PageBlock, ...]

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The page's questions in reading order."""
        return tuple(block for block in self.blocks if isinstance(block, Question))

    @cached_property
    def outputs(self) -> tuple[Exhibit, ...]:
        """The outputs of systems that the page shows."""
        return tuple(one for block in self.exhibits for one in block.exhibits if one.label is not None)

    @cached_property
    def new_outputs(self) -> tuple[Exhibit, ...]:
        """Those of them that no earlier page showed."""
        new = (block for block in self.exhibits if not block.repeated)
        return tuple(one for block in new for one in block.exhibits if one.label is not None)

    @cached_property
    def clips_asked_about(self) -> tuple[Exhibit, ...]:
        """The clips of screening questions and attention checks: they show no system, and are played all the same."""
        if self.shows is not None or self.audience != "people":
            return ()
        shown = (one for block in self.exhibits for one in block.exhibits)
        return tuple(one for one in shown if one.label is None and one.seconds is not None)

    @cached_property
    def measured(self) -> tuple[Exhibit, ...]:
        """What a page records of how it was seen or played."""
        return self.outputs + self.clips_asked_about

    @cached_property
    def new_measured(self) -> tuple[Exhibit, ...]:
        """That of it which must be seen or played here."""
        return self.new_outputs + self.clips_asked_about

    @property
    def exhibits(self) -> Iterator[ExhibitsBlock]:
        """The blocks that show something, in reading order."""
        return (block for block in self.blocks if isinstance(block, ExhibitsBlock))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConductAsked:
    """What the pages of a study record of how they are filled in."""

    counts: bool = False  # whether their script counts; without it there is nothing else either
    honeypot: bool = False  # whether they hold a box for programs that no person sees
    injected: str | None = None  # the word that they ask programs to write into free texts


NOTHING_ASKED = ConductAsked()


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Everything that one annotator reads, sees and answers."""

    assignment_id: str
    title: str
    language: str
    right_to_left: bool
    pages: tuple[Page, ...]

    def questions(self, audience: Audience) -> Iterator[Question]:
        """Yield the questions put to people ("people": all) or to everybody (those an LLM answers too)."""
        for page in self.pages:
            if audience == "people" or page.audience == "everybody":
                yield from page.questions
