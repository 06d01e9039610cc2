"""What pages of several ways of asking are made of: outputs side by side, with the questions about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from spa.elicitation.view import AssignmentView
from spa.records.assignment import Group, ShownOutput
from spa.records.form import AnswerOption, ExhibitsBlock, Page, PageBlock, Question
from spa.records.study import Section


def side_by_side(view: AssignmentView, rows: Sequence[tuple[ShownOutput, ...]]) -> list[PageBlock]:
    """Return rows of outputs under their item text; outputs of different items one label after another."""
    if all([output.item_id == row[0].item_id for row in rows for output in row]):
        return [ExhibitsBlock(heading=view.item(row[0].item_id), exhibits=tuple(map(view.output, row))) for row in rows]
    return [
        ExhibitsBlock(heading=view.item(output.item_id), exhibits=(view.output(output),))
        for column in zip(*rows, strict=True)
        for output in column
    ]


def _outputs_with_questions(
    view: AssignmentView, table: str, outputs: Group, question: Callable[[str], Question]
) -> tuple[PageBlock, ...]:
    """Return outputs of one item with a question for each criterion; those without the item text come before it."""
    without_item, with_item, _ = view.views(table)
    exhibits = tuple(map(view.output, outputs))
    blocks: list[PageBlock] = []
    for heading, criteria in ((None, without_item), (view.item(outputs[0].item_id), with_item)):
        if criteria:
            blocks += [ExhibitsBlock(heading=heading, exhibits=exhibits), *map(question, criteria)]
    return tuple(blocks)


def group_pages(view: AssignmentView, section: Section, question: Callable[[Group, str], Question]) -> list[Page]:
    """Return a page for each group of outputs that a section has judged together; ``question`` takes a criterion."""
    return [
        Page(
            kind=section.way,
            shows="outputs",
            title="",
            blocks=_outputs_with_questions(view, section.key, group, partial(question, group)),
        )
        for group in view.assignment.groups_of(section.key)
    ]


def labelled_options(view: AssignmentView, labels: Iterable[str]) -> tuple[AnswerOption, ...]:
    """Return an option for each output of a page: its label, as the form calls it."""
    return tuple(AnswerOption(value=label, text=view.system(label)) for label in labels)
