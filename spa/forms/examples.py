"""What a rater with examples reads: no item that is set apart is asked about, and answered ones stand before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from spa.elicitation.ratings import RatingSection, rating_question, text_comes_after
from spa.elicitation.view import AssignmentView
from spa.forms.form_text import exhibits_of
from spa.records.examples import AnsweredExample, ExampleAnswer, ExampleSet
from spa.records.form import Exhibit, ExhibitsBlock, ExplanationTarget, Judgement, Page, PageBlock, Question, TextBlock
from spa.widgets import widget_of

TEXTS = ("examples_title", "examples_intro", "example_item", "example_output", "example_answer")


def without_items(pages: Sequence[Page], apart: Set[str]) -> Iterator[Page]:
    """Yield pages without the outputs and questions of some items, and without pages that then ask nothing."""
    for page in pages:
        blocks = tuple(_left(page.blocks, apart))
        if not page.questions or any(isinstance(block, Question) for block in blocks):
            yield Page(kind=page.kind, shows=page.shows, audience=page.audience, title=page.title, blocks=blocks)


def _left(blocks: Sequence[PageBlock], apart: Set[str]) -> Iterator[PageBlock]:
    waiting: list[TextBlock] = []  # a text goes with what it stands above
    gone = False  # whether what was last shown is
    for block in blocks:
        if isinstance(block, TextBlock):
            waiting.append(block)
            continue
        if isinstance(block, ExhibitsBlock):
            left_out = gone = any(one.item_id in apart for one in exhibits_of(block))
        else:
            left_out = _is_about(block, apart, shown_is_gone=gone)
        if not left_out:
            yield from waiting
            yield block
        waiting.clear()
    yield from waiting


def _is_about(question: Question, apart: Set[str], *, shown_is_gone: bool) -> bool:
    target = question.target.of if isinstance(question.target, ExplanationTarget) else question.target
    outputs = target.outputs() if isinstance(target, Judgement) else None
    return shown_is_gone if outputs is None else any(item_id in apart for _, item_id, _ in outputs)


def examples_pages(view: AssignmentView, examples: ExampleSet) -> list[Page]:
    """Return a page with the examples, which asks nothing; none where none is shown."""
    if not examples.shown:
        return []
    blocks = [block for number, one in enumerate(examples.shown, 1) for block in _example(view, number, one)]
    intro = TextBlock(markdown=view.say("examples_intro"))
    return [Page(kind="examples", title=view.say("examples_title"), blocks=(intro, *blocks))]


def _example(view: AssignmentView, number: int, example: AnsweredExample) -> Iterator[PageBlock]:
    item = view.outputs.item(example.item_id)
    with_item = item.is_given and all(view.study.shows_item_text(one.table, one.criterion) for one in example.answers)
    heading = None
    if with_item:
        heading = view.example((number, "item"), view.say("example_item", number=str(number)), item)
    captions = [
        view.say("example_output", number=str(number), place=str(place)) for place in range(1, len(example.outputs) + 1)
    ]
    exhibits: list[Exhibit] = [
        view.example((number, place), captions[place], view.outputs.output(example.item_id, system, sample))
        for place, (system, sample) in enumerate(example.outputs)
    ]
    sections = [view.study.sections[one.table] for one in example.answers]
    after = heading is not None and any(
        text_comes_after(view.study, one) for one in sections if isinstance(one, RatingSection)
    )
    yield ExhibitsBlock(heading=None if after else heading, exhibits=tuple(exhibits))
    if after and heading is not None:
        yield ExhibitsBlock(heading=None, exhibits=(heading,))
    said = (_said(view, example, answer, captions) for answer in example.answers)
    yield TextBlock(markdown="\n\n".join(said))


def _said(view: AssignmentView, example: AnsweredExample, answer: ExampleAnswer, captions: Sequence[str]) -> str:
    """Return a question, in words that name no label, and what people answered."""
    section = view.study.sections[answer.table]
    words = answer.value
    if isinstance(section, RatingSection):
        question = rating_question(view, None, answer.criterion)
        asked = section.answer(view, answer.criterion)
        for text in (one.text for one in widget_of(asked).offers(asked) if one.value == answer.value):
            words = text if text.startswith(answer.value) else f"{answer.value}: {text}"
    else:
        question = view.ask("choice", answer.criterion)
        named = {"x": captions[0], "y": captions[-1], "tie": view.say("choice_tie")}
        words = f"{answer.value}: {named[answer.value]}"
    return view.say("example_answer", question=question, answer=words)
