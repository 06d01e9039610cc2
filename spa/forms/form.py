"""How it is asked: one ``Form`` for the web page, the HIT and the LLM prompt.

A form holds labels, never systems. A page is a list of blocks in reading order; all
renderers walk the same list, so what they say and ask is the same text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

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
    segments: tuple[Segment, ...] = ()  # empty for an image
    image: Path | None = None

    @property
    def text(self) -> str:
        """The whole text without marks."""
        return "".join(segment.text for segment in self.segments)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceTarget:
    """P(label_x preferred to label_y on unseen output)."""

    label_x: str
    label_y: str
    exposure: int
    criterion: str
    asked_first: bool  # this direction came before its reverse


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingTarget:
    """A rating of one output."""

    label: str
    item_id: str
    sample: int
    criterion: str
    elicitation: Literal["likert", "continuous", "category"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanTarget:
    """The errors of one output."""

    label: str
    item_id: str
    sample: int
    criterion: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceTarget:
    """Which of two outputs of one item is better."""

    label_x: str
    label_y: str
    item_id: str
    sample_x: int
    sample_y: int
    criterion: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingTarget:
    """Which of several outputs of one item is best, which comes next, ..."""

    labels: tuple[str, ...]  # in the order of the page
    item_id: str
    samples: tuple[int, ...]  # of the same outputs
    criterion: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTarget:
    """A question with a right answer; ``expected`` is never rendered."""

    check_id: str
    kind: Literal["attention", "identical_pair"]
    expected: str


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


ExplainedTarget = PreferenceTarget | RatingTarget | SpanTarget | ChoiceTarget | RankingTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationTarget:
    """Why an answer was given; ``of`` is what that answer is about."""

    of: ExplainedTarget


Target = (
    PreferenceTarget
    | RatingTarget
    | SpanTarget
    | ChoiceTarget
    | RankingTarget
    | CheckTarget
    | ScreeningTarget
    | InterviewTarget
    | ConfirmationTarget
    | ExplanationTarget
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberAnswer:
    """A whole number from ``low`` to ``high``, entered with a slider and a number box.

    ``scale`` is what the number is divided by to become the parsed value: 100 for a
    preference probability, 1 for a rating from 0 to 100.
    """

    low: int
    high: int
    scale: int
    low_text: str
    high_text: str
    unit: str = ""  # "%" for probabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOption:
    """One of the answers offered; ``value`` is what is sent, ``text`` what is read."""

    value: str
    text: str
    score: float | None = None  # what the answer counts as, where it is a rating


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionsAnswer:
    """One of the options. ``half_points`` is set for Likert scales only: what becomes of 4.5."""

    options: tuple[AnswerOption, ...]
    half_points: Literal["keep", "floor", "missing"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderAnswer:
    """Options from best to worst: a rank for each, 1 = best, equal ranks are ties.

    ``options`` stand in the order of the page; the value of each is its label. See :mod:`spa.responses.orders`.
    """

    options: tuple[AnswerOption, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmAnswer:
    """A box to tick; the only accepted answer is "yes"."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextAnswer:
    """Free text, kept as it is. Without ``required`` an empty one is an answer too."""

    longest: int = 5000  # characters
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SpansAnswer:
    """Stretches of ``text``, each with a severity, or "no errors"; the score of a severity is what one error counts."""

    text: str  # of the output, as shown
    severities: tuple[AnswerOption, ...]  # lightest first
    categories: tuple[str, ...]
    no_errors: str  # what the box says


Answer = NumberAnswer | OptionsAnswer | OrderAnswer | ConfirmAnswer | TextAnswer | SpansAnswer


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
    def fields(self) -> dict[str, str]:
        """The fields in which a page sends the answer, by what each holds.

        A rank for each label of an order; of errors, what the script found (""), else the quotes of each severity (its
        number, from 1) and whether there are "none"; of all others the question's own.
        """
        parts: Iterable[object] = ("",)
        if isinstance(self.answer, OrderAnswer):
            parts = (option.value for option in self.answer.options)
        elif isinstance(self.answer, SpansAnswer):
            parts = ("", *range(1, len(self.answer.severities) + 1), "none")
        return {str(part): f"{self.question_id}-{part}" if part else self.question_id for part in parts}

    @property
    def criterion(self) -> str | None:
        """The criterion asked about; ``None`` of screening, consent and attention checks."""
        match self.target:
            case PreferenceTarget() | RatingTarget() | SpanTarget() | ChoiceTarget() | RankingTarget():
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
    kind: Literal[
        "consent",
        "screening",
        "instructions",
        "reading",
        "comparison",
        "rating",
        "choice",
        "ranking",
        "check",
        "interview",
    ]
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

    @property
    def exhibits(self) -> Iterator[ExhibitsBlock]:
        """The blocks that show something, in reading order."""
        return (block for block in self.blocks if isinstance(block, ExhibitsBlock))


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
