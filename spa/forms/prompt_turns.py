"""The turns in which a form is put to an LLM: all of it at once, a page, or one question at a time.

However a form is cut, the texts are the form's own, in its order: a turn is a part of what the
pages say, never more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from spa.forms.form_text import exhibits_of, pages_for
from spa.records.form import ExhibitsBlock, ExplanationTarget, Form, Judgement, Page, PageBlock, Question, TextBlock
from spa.records.raters import Conversation

WHOLE = "form"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTurn:
    """What is put to an LLM at once: the pages (or parts of them) that it reads, and the questions that it answers.

    ``turn_id`` is "form", the id of a page or the id of a question. ``alone`` says that the turn opens a conversation;
    else it continues that of the turn before. ``sent`` holds the exhibits that the conversation has shown already.
    """

    turn_id: str
    pages: tuple[Page, ...]
    questions: tuple[Question, ...]
    alone: bool
    sent: frozenset[str] = frozenset()


def turns_of(form: Form, conversation: Conversation, *, reasoned: bool = False) -> tuple[PromptTurn, ...]:
    """Cut the pages of a form that are for everybody into turns, in the order of the form; each question is in one.

    "form": one turn. "page": one conversation with a turn for each page that asks something; pages that only show come
    with the next. "page_alone": a conversation of one turn for each of these pages, after the instructions and other
    pages that ask nothing, and nothing of earlier ones that do. "page_questions": the same, with a turn for each
    question. "question": a conversation for each question, with the instructions, everything read before, what its page
    shows for it, and the question last; where it is to be ``reasoned``, a turn for the explanation alone, then one for
    the question.
    """
    pages = pages_for(form, "everybody")
    match conversation:
        case "form":
            questions = tuple(question for page in pages for question in page.questions)
            return (PromptTurn(turn_id=WHOLE, pages=pages, questions=questions, alone=True),) if questions else ()
        case "page":
            return tuple(_by_page(pages))
        case "page_alone":
            return tuple(_page_alone(pages))
        case "page_questions":
            return tuple(_page_by_question(pages))
        case "question":
            turns = _by_question(pages)
            return tuple(one for turn in turns for one in _reasoned(turn)) if reasoned else tuple(turns)


def _by_page(pages: Sequence[Page]) -> Iterator[PromptTurn]:
    waiting: list[Page] = []
    sent: set[str] = set()
    first = True
    for page in pages:
        waiting.append(page)
        if not page.questions:
            continue
        sent_before = frozenset(sent)
        yield PromptTurn(
            turn_id=page.page_id, pages=tuple(waiting), questions=page.questions, alone=first, sent=sent_before
        )
        shown = (block for each in waiting for block in each.exhibits)
        sent |= {exhibit.exhibit_id for block in shown for exhibit in exhibits_of(block)}
        waiting, first = [], False


def _read_before(pages: Sequence[Page]) -> Iterator[tuple[tuple[Page, ...], Page]]:
    """Yield each page that asks something, after the earlier pages that ask nothing."""
    before: tuple[Page, ...] = ()
    for page in pages:
        if page.questions:
            yield before, page
        else:
            before = (*before, page)


def _page_alone(pages: Sequence[Page]) -> Iterator[PromptTurn]:
    for before, page in _read_before(pages):
        yield PromptTurn(turn_id=page.page_id, pages=(*before, page), questions=page.questions, alone=True)


def _page_by_question(pages: Sequence[Page]) -> Iterator[PromptTurn]:
    for before, page in _read_before(pages):
        sent: set[str] = set()
        shown, first = [block for each in before for block in each.exhibits], True
        waiting: list[PageBlock] = []
        for block in page.blocks:
            waiting.append(block)
            if isinstance(block, ExhibitsBlock):
                shown.append(block)
            own = tuple(one for one in waiting if isinstance(one, Question))
            asked = [one for one in own if not isinstance(one.target, ExplanationTarget)]
            if not asked or len(own) < len(_with_explanation(page, asked[0])):
                continue
            part = replace(page, blocks=tuple(waiting))
            yield PromptTurn(
                turn_id=asked[0].question_id,
                pages=(*before, part) if first else (part,),
                questions=own,
                alone=first,
                sent=frozenset(sent),
            )
            sent |= {exhibit.exhibit_id for each in shown for exhibit in exhibits_of(each)}
            waiting, first = [], False


def _with_explanation(page: Page, question: Question) -> tuple[Question, ...]:
    """Return a question and what asks to explain its answer, in the order of the page."""
    return tuple(
        one
        for one in page.questions
        if one == question or (isinstance(one.target, ExplanationTarget) and one.target.of == question.target)
    )


def _by_question(pages: Sequence[Page]) -> Iterator[PromptTurn]:
    for before, page in _read_before(pages):
        for question in page.questions:
            if isinstance(question.target, ExplanationTarget):
                continue
            own = _with_explanation(page, question)
            pages_of_turn = (*before, _cut(page, question, own))
            yield PromptTurn(turn_id=question.question_id, pages=pages_of_turn, questions=own, alone=True)


def reasons(turn: PromptTurn) -> bool:
    """Return whether a turn asks for an explanation and nothing else."""
    return all(isinstance(question.target, ExplanationTarget) for question in turn.questions)


def _reasoned(turn: PromptTurn) -> Iterator[PromptTurn]:
    """Cut a turn in two: all that is read with the explanation, then the question; one that explains nothing stays."""
    explained = tuple(one for one in turn.questions if isinstance(one.target, ExplanationTarget))
    if not explained:
        yield turn
        return
    answered = tuple(one for one in turn.questions if one not in explained)
    *before, page = turn.pages
    first = replace(page, blocks=tuple(block for block in page.blocks if block not in answered))
    name = explained[0].question_id
    yield replace(turn, turn_id=name, pages=(*before, first), questions=explained)
    second = replace(page, blocks=answered)
    yield replace(turn, pages=(second,), questions=answered, alone=False)


def _cut(page: Page, question: Question, own: tuple[Question, ...]) -> Page:
    """Return the page as far as it concerns one question, which stands last with its explanation."""
    blocks: list[PageBlock] = []
    for block in page.blocks:
        if block in own:
            break
        if not isinstance(block, Question) and _concerns(block, question):
            if isinstance(block, ExhibitsBlock):  # shown once: where it was first asked about, less stood beside it
                blocks = [one for one in blocks if not (isinstance(one, ExhibitsBlock) and _shows_all(block, one))]
            blocks.append(block)
    return replace(page, blocks=(*blocks, *own))


def _shows_all(block: ExhibitsBlock, earlier: ExhibitsBlock) -> bool:
    return {one.exhibit_id for one in exhibits_of(earlier)} <= {one.exhibit_id for one in exhibits_of(block)}


def _concerns(block: PageBlock, question: Question) -> bool:
    """Return whether a question needs a block: outputs of others are left out, what orients is kept."""
    if isinstance(block, TextBlock):
        return block.criterion in (None, question.criterion)
    if not isinstance(block, ExhibitsBlock):
        return True
    outputs = _outputs_of(question)
    labelled = {(one.label, one.item_id, one.sample) for one in block.exhibits if one.label is not None}
    if outputs is None:
        return True
    if not labelled:  # references, shown for orientation
        return any(one.item_id == item for one in block.exhibits for _, item, _ in outputs)
    return bool(labelled & outputs)


def _outputs_of(question: Question) -> frozenset[tuple[str, str, int]] | None:
    """Return the outputs that a question is about; ``None`` where it is about systems or anything else."""
    return question.target.outputs() if isinstance(question.target, Judgement) else None
