"""Pages on which systems are read and compared with one another."""

from __future__ import annotations

from spa.forms import scales
from spa.forms.form import ChoiceTarget, Exhibit, ExhibitsBlock, Page, PageBlock, PreferenceTarget, Question, TextBlock
from spa.forms.showing import Showing, rows
from spa.study.assignment import Block, ChoicePair, Comparison, ShownOutput
from spa.study.study import OVERALL


def reading_pages(showing: Showing) -> list[Page]:
    """Return one page for each row of outputs, where everything is read before the first comparison."""
    spa = showing.study.spa
    if spa is None or spa.reading != "first" or spa.exposure_study is not None:
        return []
    read = [row for block in showing.assignment.blocks for row in rows(block)]
    pages = []
    for number, row in enumerate(read, start=1):
        intro = (TextBlock(markdown=showing.say("reading_intro")),) if number == 1 else ()
        title = showing.say("reading_title", number=str(number), total=str(len(read)))
        blocks = (*intro, *_side_by_side(showing, [row]))
        pages.append(Page(page_id="", kind="reading", audience="everybody", title=title, blocks=blocks))
    return pages


def comparison_pages(showing: Showing, *, read_before: bool) -> list[Page]:
    """Return one page for each comparison, with the outputs of both labels above its questions."""
    comparisons = showing.assignment.comparisons
    pages = []
    for number, comparison in enumerate(comparisons, start=1):
        block = showing.assignment.blocks[comparison.block]
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
                    *_side_by_side(showing, _rows_of(block, comparison.directions[0])),
                    *_preference_questions(showing, comparison, block),
                ),
            )
        )
    return pages


def choice_pages(showing: Showing) -> list[Page]:
    """Return one page for each pair of outputs between which the annotator chooses."""
    choices = showing.assignment.choices
    return [
        Page(
            page_id="",
            kind="choice",
            audience="everybody",
            title=showing.say("choice_title", number=str(number), total=str(len(choices))),
            blocks=(
                *_side_by_side(showing, [(choice.output_x, choice.output_y)]),
                *_choice_questions(showing, choice),
            ),
        )
        for number, choice in enumerate(choices, start=1)
    ]


def _rows_of(block: Block, labels: tuple[str, str]) -> list[tuple[ShownOutput, ...]]:
    """Return two labels' outputs row by row; columns stay in label order, whichever direction is asked first."""
    return [tuple([output for output in row if output.label in labels]) for row in rows(block)]


def _side_by_side(showing: Showing, shown: list[tuple[ShownOutput, ...]]) -> list[PageBlock]:
    """Return rows of outputs under their item text; outputs of different items one label after another."""
    if all([output.item_id == row[0].item_id for row in shown for output in row]):
        return [ExhibitsBlock(heading=showing.item(row[0].item_id), exhibits=_exhibits(showing, row)) for row in shown]
    return [
        ExhibitsBlock(heading=showing.item(output.item_id), exhibits=(showing.output(output),))
        for column in zip(*shown, strict=True)
        for output in column
    ]


def _exhibits(showing: Showing, row: tuple[ShownOutput, ...]) -> tuple[Exhibit, ...]:
    return tuple(map(showing.output, row))


def _preference_questions(showing: Showing, comparison: Comparison, block: Block) -> list[Question]:
    """Return all criteria in the first direction, then all in the other: the reverse is not right below."""
    return [
        Question(
            question_id="",
            text=_ask(showing, "spa", criterion, x=showing.system(x), y=showing.system(y)),
            answer=scales.percent(showing, x),
            target=PreferenceTarget(
                label_x=x, label_y=y, exposure=block.exposure, criterion=criterion, asked_first=turn == 0
            ),
        )
        for turn, (x, y) in enumerate(comparison.directions)
        for criterion in showing.asked("spa")
    ]


def _choice_questions(showing: Showing, choice: ChoicePair) -> list[Question]:
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
        for criterion in showing.asked("choices")
    ]


def _ask(showing: Showing, kind: str, criterion: str, **systems: str) -> str:
    if criterion == OVERALL:
        return showing.say(f"{kind}_overall", **systems)
    return showing.say(f"{kind}_criterion", criterion=showing.criterion(criterion).name, **systems)
