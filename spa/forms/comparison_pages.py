"""Pages on which systems are read and compared with one another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spa.forms import scales
from spa.forms.assignment_view import AssignmentView
from spa.forms.form import ChoiceTarget, ExhibitsBlock, Page, PageBlock, PreferenceTarget, Question, TextBlock
from spa.study.assignment import OutputPair, ShownOutput
from spa.study.study import OVERALL

Directions = tuple[tuple[str, str], ...]


def reading_pages(showing: AssignmentView) -> list[Page]:
    """Return one page for each row of outputs, where everything is read before the first comparison."""
    spa = showing.study.spa
    if spa is None or spa.reading != "first" or spa.exposure_study is not None:
        return []
    read = [row for block in range(len(showing.assignment.blocks)) for row in showing.rows(block)]
    pages = []
    for number, row in enumerate(read, start=1):
        intro = (TextBlock(markdown=showing.say("reading_intro")),) if number == 1 else ()
        title = showing.say("reading_title", number=str(number), total=str(len(read)))
        blocks = (*intro, *_side_by_side(showing, [row.outputs]))
        pages.append(Page(page_id="", kind="reading", audience="everybody", title=title, blocks=blocks))
    return pages


def comparison_pages(showing: AssignmentView, *, read_before: bool) -> list[Page]:
    """Return one page for each comparison, with the outputs of both labels above its questions."""
    comparisons = showing.assignment.comparisons
    pages = []
    for number, comparison in enumerate(comparisons, start=1):
        exposure = showing.assignment.blocks[comparison.block].exposure
        x, y = (showing.system(label) for label in comparison.directions[0])
        intro = showing.say("comparison_again" if read_before else "comparison_intro", x=x, y=y)
        pages.append(
            Page(
                page_id="",
                kind="comparison",
                audience="everybody",
                title=showing.say("comparison_title", number=str(number), total=str(len(comparisons)), x=x, y=y),
                blocks=(
                    TextBlock(markdown=intro),
                    *_pair_side_by_side(showing, comparison.block, comparison.directions[0], repeated=read_before),
                    *_preference_questions(showing, comparison.directions, exposure),
                ),
            )
        )
    return pages


def choice_pages(showing: AssignmentView) -> list[Page]:
    """Return one page for each pair of outputs between which the annotator chooses."""
    choices = showing.assignment.choices
    return [
        Page(
            page_id="",
            kind="choice",
            audience="everybody",
            title=showing.say("choice_title", number=str(number), total=str(len(choices))),
            blocks=tuple(_choice_blocks(showing, choice)),
        )
        for number, choice in enumerate(choices, start=1)
    ]


def _pair_side_by_side(
    showing: AssignmentView, block: int, labels: tuple[str, str], *, repeated: bool
) -> Sequence[PageBlock]:
    """Return two labels' outputs row by row; columns stay in label order, whichever direction is asked first."""
    x, y = sorted(map(showing.assignment.blocks[block].labels.index, labels))
    found = showing.rows(block)
    if all([row.one_item for row in found]):
        return [
            ExhibitsBlock(heading=row.heading, exhibits=(row.exhibits[x], row.exhibits[y]), repeated=repeated)
            for row in found
        ]
    return _side_by_side(showing, [(row.outputs[x], row.outputs[y]) for row in found])


def _side_by_side(showing: AssignmentView, shown: Sequence[tuple[ShownOutput, ...]]) -> list[PageBlock]:
    """Return rows of outputs under their item text; outputs of different items one label after another."""
    if all([output.item_id == row[0].item_id for row in shown for output in row]):
        return [
            ExhibitsBlock(heading=showing.item(row[0].item_id), exhibits=tuple(map(showing.output, row)))
            for row in shown
        ]
    return [
        ExhibitsBlock(heading=showing.item(output.item_id), exhibits=(showing.output(output),))
        for column in zip(*shown, strict=True)
        for output in column
    ]


def _preference_questions(showing: AssignmentView, directions: Directions, exposure: int) -> tuple[Question, ...]:
    """Return all criteria in the first direction, then all in the other: the reverse is not right below."""
    return showing.phrases.once(
        ("preferences", directions, exposure),
        lambda: tuple(
            Question(
                question_id="",
                text=_ask(showing, "spa", criterion, x=showing.system(x), y=showing.system(y)),
                answer=scales.percent(showing, x),
                target=PreferenceTarget(
                    label_x=x, label_y=y, exposure=exposure, criterion=criterion, asked_first=turn == 0
                ),
            )
            for turn, (x, y) in enumerate(directions)
            for criterion in showing.asked("spa")
        ),
    )


def _choice_blocks(showing: AssignmentView, choice: OutputPair) -> Iterator[PageBlock]:
    """Yield both outputs with what is asked about them; what is asked without the item text comes before it."""
    bare, plain, _ = showing.views("choices")
    exhibits = (showing.output(choice.output_x), showing.output(choice.output_y))
    for heading, criteria in ((None, bare), (showing.item(choice.output_x.item_id), plain)):
        if criteria:
            yield ExhibitsBlock(heading=heading, exhibits=exhibits)
            yield from _choice_questions(showing, choice, criteria)


def _choice_questions(showing: AssignmentView, choice: OutputPair, criteria: Sequence[str]) -> list[Question]:
    x, y = choice.output_x, choice.output_y
    ties = showing.study.choices is not None and showing.study.choices.ties
    return [
        Question(
            question_id="",
            text=_ask(showing, "choice", criterion),
            answer=scales.winner(showing, x.label, y.label, ties=ties),
            target=ChoiceTarget(
                label_x=x.label,
                label_y=y.label,
                item_id=x.item_id,
                sample_x=x.sample,
                sample_y=y.sample,
                criterion=criterion,
            ),
        )
        for criterion in criteria
    ]


def _ask(showing: AssignmentView, kind: str, criterion: str, **systems: str) -> str:
    if criterion == OVERALL:
        return showing.say(f"{kind}_overall", **systems)
    return showing.say(f"{kind}_criterion", criterion=showing.criterion(criterion).name, **systems)
