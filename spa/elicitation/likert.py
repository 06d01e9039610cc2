"""Likert ratings: 1 to k with words at both ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from spa.elicitation.ratings import (
    RatingSection,
    RatingTarget,
    TurnTarget,
    beside_text,
    dealer,
    rating_pages,
    rating_question,
    scale_end,
    text_comes_after,
    words_at_ends,
)
from spa.elicitation.scale_words import reversed_ends
from spa.elicitation.view import AssignmentView, seeded_position
from spa.elicitation.way import WayOfAsking
from spa.errors import StudyError
from spa.media import medium_of
from spa.records.form import Answer, AnswerOption, CheckTarget, Page, Question, TextBlock
from spa.records.problems import StudyProblem, mistake
from spa.records.study import OVERALL, Deciding, Study
from spa.records.toml_table import Text
from spa.widgets import OptionsAnswer


class Likert(RatingSection):
    """Ratings from 1 to ``points`` with labelled ends."""

    key: ClassVar[str] = "likert"
    way: ClassVar[str] = "likert"
    has_examples: ClassVar[bool] = True

    points: Annotated[int, Field(ge=2, le=11)] = 5
    low: Text | None = None  # words at the ends; the locale's where absent
    high: Text | None = None
    overall: bool = True
    half_points: Literal["keep", "floor", "missing"] = "keep"  # what becomes of 4.5
    identical_pairs: Annotated[int, Field(ge=0)] = 0  # an output equal to its source, highest rating expected

    def scale_points(self) -> int | None:
        """Return the number of points."""
        return self.points

    def scale_width(self) -> float:
        """Return the highest less the lowest rating."""
        return float(self.points - 1)

    def words(self) -> tuple[str, ...]:
        """Return the words at the ends."""
        return (self.low or "", self.high or "")

    def answer(self, view: AssignmentView, criterion: str) -> Answer:
        """Return the answers 1 to k, words at both ends."""
        ends = words_at_ends(view, criterion, self.low, self.high)
        return view.text_cache.cached(("likert", ends), lambda: _scale(view, self, ends))

    def insert_pages(self, view: AssignmentView, pages: list[Page]) -> None:
        """Put pages on which an output equals its source among the others."""
        if self.identical_pairs:
            _insert_identical_pairs(view, self, pages)

    def decides(self) -> Deciding | None:
        """Return that ratings can end a live study."""
        return "ratings"


def problems(study: Study, section: Likert) -> Iterator[StudyProblem]:
    """Yield what the section means wrongly beside the others."""
    if not section.identical_pairs:
        return
    place = "[likert] identical_pairs"
    if study.outputs.item_text is None:
        do = "name the column with the source texts in [outputs] item_text"
        yield mistake(place, "[outputs] item_text as the source", "none", do, "outputs")
    for texts, kind in (("text outputs", study.outputs.kind), ("item texts", study.outputs.item_kind)):
        if not (medium := medium_of(kind)).is_text:
            yield mistake(place, texts, medium.many, "set it to 0", "outputs")
            break
    against = [one.id for one in study.criteria if one.against_source and one.id in section.asks(study)]
    if not against and study.outputs.item_text is not None:
        do = "set against_source on the criterion that asks about the source"
        yield mistake(place, "a criterion of [likert] with against_source = true", "none", do, "criteria")
    if section.identical_pairs > study.items_per_annotator:
        expected = f"at most the {study.items_per_annotator} items that an annotator reads"
        yield mistake(place, expected, str(section.identical_pairs), "lower it", "sections", "design")


def warnings(study: Study, section: Likert) -> Iterator[str]:
    """Yield what its author may not mean."""
    yield from reversed_ends(study, section, section.low, section.high)


def overview(study: Study, section: Likert) -> str:
    """Return what `spa check` says of it."""
    return f"1 to {section.points}"


def _scale(view: AssignmentView, section: Likert, ends: tuple[str, str]) -> OptionsAnswer:
    words = dict(zip((1, section.points), ends, strict=True))
    return OptionsAnswer(
        options=tuple(
            AnswerOption(value=str(point), text=scale_end(view, point, words.get(point)), score=float(point))
            for point in range(1, section.points + 1)
        ),
        half_points=section.half_points,
    )


def _insert_identical_pairs(view: AssignmentView, section: Likert, pages: list[Page]) -> None:
    """Put pages on which an output equals its source among the others, looking like them (Chiang & Lee 2023, 4.3)."""
    study = view.study
    criteria = [
        criterion
        for criterion in section.asks(study)
        if criterion != OVERALL and view.criterion(criterion).against_source
    ]
    items = list(dict.fromkeys(shown.item_id for block in view.assignment.blocks for shown in block.shown))
    count = section.identical_pairs
    if not criteria or count > len(items):
        raise StudyError(
            f"[likert] identical_pairs: expected a [likert] criterion with against_source = true and at most "
            f"{len(items)} pairs (items of an assignment), got {len(criteria)} such criteria and {count} pairs; "
            "set against_source on the criterion that asks about the source, or remove identical_pairs"
        )
    for number in range(1, count + 1):
        name = f"identical-{number}"
        item_id = items.pop(seeded_position(view, f"{name}/item", len(items)))
        pages.insert(
            seeded_position(view, name, len(pages) + 1), _identical_pair(view, section, name, item_id, criteria)
        )


def _identical_pair(view: AssignmentView, section: Likert, name: str, item_id: str, criteria: list[str]) -> Page:
    study = view.study
    heading, copy = view.copy_of_item(item_id)
    note = any(name != OVERALL and view.criterion(name).mark_differences for name in criteria)
    questions = []
    for criterion_id in criteria:
        criterion = view.criterion(criterion_id)
        questions.append(
            Question(
                text=rating_question(view, None, criterion_id),
                answer=section.answer(view, criterion_id),
                target=CheckTarget(
                    check_id=f"{name}/{criterion_id}",
                    kind="identical_pair",
                    expected="1" if criterion.lower_is_better else str(section.points),
                ),
            )
        )
    notes = (TextBlock(markdown=view.say("differences_note")),) if note else ()
    return Page(
        kind="rating",
        shows="outputs",
        title="",
        blocks=(*notes, *beside_text(heading, copy, after=text_comes_after(study, section)), *questions),
    )


WAY = WayOfAsking(
    settings=Likert,
    name="Likert",
    described="Likert: each output is rated on a scale with a few steps.",
    in_methods="rated single outputs on a scale of a few steps",
    problems=problems,
    warnings=warnings,
    overview=overview,
    dealer=dealer,
    assigned_as="rated",
    pages=rating_pages,
    judgements=(RatingTarget, TurnTarget),
    from_the_first=True,
    heds_form=2,
    heds_seen_as=1,
)
