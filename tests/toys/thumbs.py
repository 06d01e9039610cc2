"""A way of asking: a thumb up or down for each output, with a table of its own beside the ratings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from spa.elicitation.ratings import RatingSection, RatingTarget, dealer, rating_pages
from spa.elicitation.view import AssignmentView
from spa.elicitation.way import WayOfAsking
from spa.records.assignment import AssignmentLabels, ShownOutput
from spa.records.form import Answer, AnswerOption, Column, Judgement, Question, SimulatedReader
from spa.records.problems import StudyProblem, mistake
from spa.records.study import OVERALL, Study
from spa.widgets import OptionsAnswer, widget_of


class Thumbs(RatingSection):
    """A thumb for each output, and perhaps how quickly it was found."""

    key: ClassVar[str] = "thumbs"
    way: ClassVar[str] = "thumb"

    hurry: bool = True  # whether it is asked how quickly

    def asks(self, study: Study) -> tuple[str, ...]:
        """Return that the output as a whole is asked about."""
        return (OVERALL,)

    def answer(self, view: AssignmentView, criterion: str) -> Answer:
        """Return up and down."""
        options = (AnswerOption(value="down", text="down", score=0.0), AnswerOption(value="up", text="up", score=1.0))
        return OptionsAnswer(options=options)

    def questions(self, view: AssignmentView, output: ShownOutput, criterion: str) -> list[Question]:
        """Return the question for the thumb, and for the hurry."""
        asked = RatingSection.questions(self, view, output, criterion)
        if self.hurry:
            about = HurryTarget(label=output.label, criterion=criterion)
            words = tuple(AnswerOption(value=word, text=word) for word in ("quickly", "slowly"))
            asked.append(Question(text="How quickly was that?", answer=OptionsAnswer(options=words), target=about))
        return asked


@dataclass(frozen=True, slots=True, kw_only=True)
class HurryTarget(Judgement):
    """How quickly a thumb was found."""

    kind: ClassVar[str] = "hurry"
    table: ClassVar[str] = "hurries"
    columns: ClassVar[Mapping[str, Column]] = {"system": "String", "hurry": "String", "criterion": "String"}
    about: ClassVar[str] = "how quickly thumbs were found"

    label: str

    @property
    def way(self) -> str:
        """What tables of answers call it."""
        return Thumbs.way

    def rows(self, value: float | str | None, labels: AssignmentLabels) -> list[tuple[object, ...]]:
        """Return the row of an answer."""
        return [(labels.systems[self.label], value, self.criterion)]

    def simulated(self, reader: SimulatedReader, answer: Answer) -> str:
        """Return that it was quick."""
        return widget_of(answer).values(answer)[0]


def problems(study: Study, section: Thumbs) -> Iterator[StudyProblem]:
    """Yield that one system alone gets no thumbs."""
    if len(study.compared) < 2:
        yield mistake("[thumbs]", "two systems", "one", "add one", "systems")


def instructions(view: AssignmentView, section: Thumbs) -> list[str]:
    """Return what the instructions say."""
    return ["Give each text a thumb, up or down."]


THUMBS = WayOfAsking(
    settings=Thumbs,
    name="Thumbs",
    described="Thumbs: up or down for each output.",
    problems=problems,
    dealer=dealer,
    pages=rating_pages,
    instructions=instructions,
    judgements=(RatingTarget, HurryTarget),
)
