"""Pages on which outputs of one item are put in order, best first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spa.forms.assignment_view import AssignmentView
from spa.forms.form import AnswerOption, ExhibitsBlock, OrderAnswer, Page, PageBlock, Question, RankingTarget
from spa.study.assignment import ShownOutput


def ranking_pages(view: AssignmentView) -> list[Page]:
    """Return one page for each item of which the annotator puts the outputs in order."""
    rankings = view.assignment.rankings
    return [
        Page(
            kind="ranking",
            title=view.say("ranking_title", number=str(number), total=str(len(rankings))),
            blocks=tuple(_blocks(view, outputs)),
        )
        for number, outputs in enumerate(rankings, start=1)
    ]


def _blocks(view: AssignmentView, outputs: Sequence[ShownOutput]) -> Iterator[PageBlock]:
    """Yield the outputs with what is asked about them; what is asked without the item text comes before it."""
    bare, plain, _ = view.views("ranking")
    exhibits = tuple(map(view.output, outputs))
    for heading, criteria in ((None, bare), (view.item(outputs[0].item_id), plain)):
        if criteria:
            yield ExhibitsBlock(heading=heading, exhibits=exhibits)
            yield from (_question(view, outputs, criterion) for criterion in criteria)


def _question(view: AssignmentView, outputs: Sequence[ShownOutput], criterion: str) -> Question:
    labels = tuple(output.label for output in outputs)
    return Question(
        text=view.ask("ranking", criterion),
        answer=view.text_cache.cached(
            ("order", labels),
            lambda: OrderAnswer(options=tuple(AnswerOption(value=label, text=view.system(label)) for label in labels)),
        ),
        target=RankingTarget(
            labels=labels,
            item_id=outputs[0].item_id,
            samples=tuple(output.sample for output in outputs),
            criterion=criterion,
        ),
    )
