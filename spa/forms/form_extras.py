"""What is added to the pages of a form: guidelines by criterion, and what a way of asking adds for a rater alone.

These are blocks of the form itself, for everybody who gets that form; a rater that gets a way's guidelines, a
reference beside what is rated, or asks for explanations is marked a variant, because people did not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from spa.forms.assignment_view import AssignmentView
from spa.forms.form import (
    ExhibitsBlock,
    ExplainedTarget,
    ExplanationTarget,
    Page,
    PageBlock,
    Question,
    TextAnswer,
    TextBlock,
)
from spa.study.raters import Guidelines


@dataclass(frozen=True, slots=True, kw_only=True)
class FormExtras:
    """What is added; nothing by default.

    ``explain`` asks for an explanation before or after each answer, ``guidelines`` (Markdown) stand at
    the end of the instructions, or by criterion in place of the study's own, and ``reference`` is a system
    whose output stands above outputs that are rated, chosen between or ranked.
    """

    explain: Literal["no", "before", "after"] = "no"
    guidelines: Guidelines | None = None
    reference: str | None = None


NO_EXTRAS = FormExtras()


def add_extras(view: AssignmentView, pages: list[Page], additions: FormExtras) -> list[Page]:
    """Return the pages with what is added; pages for people only are left as they are."""
    guidelines = {one.id: one.guidelines for one in view.study.criteria if one.guidelines is not None}
    if isinstance(additions.guidelines, tuple):
        guidelines |= dict(additions.guidelines)
    if guidelines:
        pages = [replace(page, blocks=tuple(_guided(page.blocks, guidelines))) for page in pages]
    if additions == NO_EXTRAS:
        return pages
    return [_with(view, page, additions) if page.audience == "everybody" else page for page in pages]


def _with(view: AssignmentView, page: Page, additions: FormExtras) -> Page:
    blocks: tuple[PageBlock, ...] = page.blocks
    if isinstance(additions.guidelines, str) and page.kind == "instructions":
        blocks = (*blocks, TextBlock(markdown=additions.guidelines))
    if additions.reference is not None and page.kind in ("rating", "choice", "ranking"):
        blocks = tuple(_referring(view, blocks, additions.reference))
    if additions.explain != "no":
        blocks = tuple(_explained(view, blocks, additions.explain))
    return replace(page, blocks=blocks)


def _guided(blocks: tuple[PageBlock, ...], guidelines: Mapping[str, str]) -> Iterator[PageBlock]:
    """Put the guidelines of each criterion above the page's first question about it."""
    left = dict(guidelines)
    for block in blocks:
        if isinstance(block, Question) and block.criterion in left:
            yield TextBlock(markdown=left.pop(block.criterion), criterion=block.criterion)
        yield block


def _referring(view: AssignmentView, blocks: tuple[PageBlock, ...], system: str) -> Iterator[PageBlock]:
    """Put the reference's output for an item above the first output for it on the page."""
    referred: set[str] = set()
    for block in blocks:
        if isinstance(block, ExhibitsBlock) and any(one.label is not None for one in block.exhibits):
            item_id = block.exhibits[0].item_id
            if item_id not in referred:
                referred.add(item_id)
                caption = view.say("reference_caption")
                yield ExhibitsBlock(heading=None, exhibits=(view.reference(item_id, system, caption),))
        yield block


def _explained(
    view: AssignmentView, blocks: tuple[PageBlock, ...], place: Literal["before", "after"]
) -> Iterator[PageBlock]:
    """Ask for an explanation beside every question about outputs or systems that asks for none yet."""
    explained = {
        block.target.of
        for block in blocks
        if isinstance(block, Question) and isinstance(block.target, ExplanationTarget)
    }
    for block in blocks:
        if (
            not isinstance(block, Question)
            or not isinstance(block.target, ExplainedTarget)
            or block.target in explained
        ):
            yield block
            continue
        explanation = Question(
            text=view.say(f"explain_{place}", question=block.text),
            answer=TextAnswer(),
            target=ExplanationTarget(of=block.target),
        )
        yield from (explanation, block) if place == "before" else (block, explanation)
