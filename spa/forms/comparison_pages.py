"""Pages on which systems, or outputs of one item, are read and compared with one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from spa.forms import scales
from spa.forms.assignment_view import AssignmentView
from spa.forms.form import (
    ChoiceTarget,
    ExhibitsBlock,
    Page,
    PageBlock,
    PreferenceTarget,
    Question,
    RankingTarget,
    TextBlock,
)
from spa.study.assignment import OutputPair, ShownOutput
from spa.study.study import Elicitation

Directions = tuple[tuple[str, str], ...]


def reading_pages(view: AssignmentView) -> list[Page]:
    """Return one page for each row of outputs, where everything is read before the first comparison."""
    spa = view.study.spa
    if spa is None or spa.reading != "first" or spa.exposure_study is not None:
        return []
    read = [row for block in range(len(view.assignment.blocks)) for row in view.rows(block)]
    pages = []
    for number, row in enumerate(read, start=1):
        intro = (TextBlock(markdown=view.say("reading_intro")),) if number == 1 else ()
        title = view.say("reading_title", number=str(number), total=str(len(read)))
        blocks = (*intro, *_side_by_side(view, [row.outputs]))
        pages.append(Page(kind="reading", title=title, blocks=blocks))
    return pages


def comparison_pages(view: AssignmentView, *, read_before: bool) -> list[Page]:
    """Return one page for each comparison, with the outputs of both labels above its questions."""
    comparisons = view.assignment.comparisons
    pages = []
    for number, comparison in enumerate(comparisons, start=1):
        exposure = view.assignment.blocks[comparison.block].exposure
        x, y = (view.system(label) for label in comparison.directions[0])
        intro = view.say("comparison_again" if read_before else "comparison_intro", x=x, y=y)
        pages.append(
            Page(
                kind="comparison",
                title=view.say("comparison_title", number=str(number), total=str(len(comparisons)), x=x, y=y),
                blocks=(
                    TextBlock(markdown=intro),
                    *_pair_side_by_side(view, comparison.block, comparison.directions[0], repeated=read_before),
                    *_preference_questions(view, comparison.directions, exposure),
                ),
            )
        )
    return pages


def choice_pages(view: AssignmentView) -> list[Page]:
    """Return one page for each pair of outputs between which the annotator chooses."""
    choices = view.assignment.choices
    pages = []
    for number, choice in enumerate(choices, start=1):
        title = view.say("choice_title", number=str(number), total=str(len(choices)))
        outputs = (choice.output_x, choice.output_y)
        blocks = _outputs_with_questions(view, "choices", outputs, partial(_choice_question, view, choice))
        pages.append(Page(kind="choice", title=title, blocks=blocks))
    return pages


def ranking_pages(view: AssignmentView) -> list[Page]:
    """Return one page for each item of which the annotator puts the outputs in order."""
    rankings = view.assignment.rankings
    pages = []
    for number, outputs in enumerate(rankings, start=1):
        title = view.say("ranking_title", number=str(number), total=str(len(rankings)))
        blocks = _outputs_with_questions(view, "ranking", outputs, partial(_ranking_question, view, outputs))
        pages.append(Page(kind="ranking", title=title, blocks=blocks))
    return pages


def _pair_side_by_side(
    view: AssignmentView, block: int, labels: tuple[str, str], *, repeated: bool
) -> Sequence[PageBlock]:
    """Return two labels' outputs row by row; columns stay in label order, whichever direction is asked first."""
    x, y = sorted(map(view.assignment.blocks[block].labels.index, labels))
    found = view.rows(block)
    if all([row.one_item for row in found]):
        return [
            ExhibitsBlock(heading=row.heading, exhibits=(row.exhibits[x], row.exhibits[y]), repeated=repeated)
            for row in found
        ]
    return _side_by_side(view, [(row.outputs[x], row.outputs[y]) for row in found])


def _side_by_side(view: AssignmentView, rows: Sequence[tuple[ShownOutput, ...]]) -> list[PageBlock]:
    """Return rows of outputs under their item text; outputs of different items one label after another."""
    if all([output.item_id == row[0].item_id for row in rows for output in row]):
        return [ExhibitsBlock(heading=view.item(row[0].item_id), exhibits=tuple(map(view.output, row))) for row in rows]
    return [
        ExhibitsBlock(heading=view.item(output.item_id), exhibits=(view.output(output),))
        for column in zip(*rows, strict=True)
        for output in column
    ]


def _preference_questions(view: AssignmentView, directions: Directions, exposure: int) -> tuple[Question, ...]:
    """Return all criteria in the first direction, then all in the other: the reverse is not right below."""
    return view.text_cache.cached(
        ("preferences", directions, exposure),
        lambda: tuple(
            Question(
                text=view.ask("spa", criterion, x=view.system(x), y=view.system(y)),
                answer=scales.percent(view, x),
                target=PreferenceTarget(
                    label_x=x, label_y=y, exposure=exposure, criterion=criterion, asked_first=turn == 0
                ),
            )
            for turn, (x, y) in enumerate(directions)
            for criterion in view.criteria_of("spa")
        ),
    )


def _outputs_with_questions(
    view: AssignmentView,
    elicitation: Elicitation,
    outputs: Sequence[ShownOutput],
    question: Callable[[str], Question],
) -> tuple[PageBlock, ...]:
    """Return outputs of one item with a question for each criterion; those without the item text come before it."""
    without_item, with_item, _ = view.views(elicitation)
    exhibits = tuple(map(view.output, outputs))
    blocks: list[PageBlock] = []
    for heading, criteria in ((None, without_item), (view.item(outputs[0].item_id), with_item)):
        if criteria:
            blocks += [ExhibitsBlock(heading=heading, exhibits=exhibits), *map(question, criteria)]
    return tuple(blocks)


def _choice_question(view: AssignmentView, choice: OutputPair, criterion: str) -> Question:
    x, y = choice.output_x, choice.output_y
    ties = view.study.choices is not None and view.study.choices.ties
    return Question(
        text=view.ask("choice", criterion),
        answer=scales.winner(view, x.label, y.label, ties=ties),
        target=ChoiceTarget(
            label_x=x.label,
            label_y=y.label,
            item_id=x.item_id,
            sample_x=x.sample,
            sample_y=y.sample,
            criterion=criterion,
        ),
    )


def _ranking_question(view: AssignmentView, outputs: Sequence[ShownOutput], criterion: str) -> Question:
    labels = tuple(output.label for output in outputs)
    return Question(
        text=view.ask("ranking", criterion),
        answer=scales.order(view, labels),
        target=RankingTarget(
            labels=labels,
            item_id=outputs[0].item_id,
            samples=tuple(output.sample for output in outputs),
            criterion=criterion,
        ),
    )
