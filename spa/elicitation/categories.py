"""Count and category answers: criteria with options of their own."""

from __future__ import annotations

from typing import ClassVar

from spa.elicitation.ratings import RatingSection, RatingTarget, TurnTarget, dealer, rating_pages
from spa.elicitation.view import AssignmentView
from spa.elicitation.way import WayOfAsking
from spa.records.form import Answer, AnswerOption
from spa.widgets import OptionsAnswer


class Categories(RatingSection):
    """Count or category answers: every criterion that has ``options``."""

    key: ClassVar[str] = "categories"
    way: ClassVar[str] = "category"
    has_examples: ClassVar[bool] = True

    def answer(self, view: AssignmentView, criterion: str) -> Answer:
        """Return a criterion's own options; what is read is also what is sent."""
        options = view.criterion(criterion).options
        return view.text_cache.cached(
            ("categories", criterion),
            lambda: OptionsAnswer(
                options=tuple(AnswerOption(value=one.text, text=one.text, score=one.score) for one in options)
            ),
        )

    @classmethod
    def fits(cls, has_options: bool) -> bool:
        """Return whether a criterion can be asked about: one with options can."""
        return has_options


WAY = WayOfAsking(
    settings=Categories,
    name="Categories",
    described="Each output is put into one of a few categories, each with its score.",
    in_methods="put single outputs into one of several named categories",
    dealer=dealer,
    assigned_as="rated",
    pages=rating_pages,
    judgements=(RatingTarget, TurnTarget),
    from_the_first=True,
    heds_form=7,
    heds_seen_as=1,
)
