"""What is added to the pages of a form: guidelines by criterion, and what the protocol of a rater adds for it alone.

These are blocks of the form itself, for everybody who gets that form; a rater that gets its protocol's guidelines, a
reference beside what is rated, or asks for explanations is marked a variant, because people did not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
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
from spa.study.raters import RaterProtocol


def add_extras(view: AssignmentView, pages: list[Page], protocol: RaterProtocol | None) -> list[Page]:
    """Return the pages with what is added; pages for people only are left as they are."""
    guidelines = {one.id: one.guidelines for one in view.study.criteria if one.guidelines is not None}
    if protocol is not None and isinstance(protocol.guidelines, tuple):
        guidelines |= dict(protocol.guidelines)
    if guidelines:
        pages = [replace(page, blocks=tuple(_with_guidelines(page.blocks, guidelines))) for page in pages]
    if protocol is None or not (protocol.guidelines or protocol.reference or protocol.explain != "no"):
        return pages
    return [_extended(view, page, protocol) if page.audience == "everybody" else page for page in pages]


def _extended(view: AssignmentView, page: Page, protocol: RaterProtocol) -> Page:
    blocks: tuple[PageBlock, ...] = page.blocks
    if isinstance(protocol.guidelines, str) and page.kind == "instructions":
        blocks = (*blocks, TextBlock(markdown=protocol.guidelines))
    if protocol.reference is not None and page.kind in ("rating", "choice", "ranking"):
        blocks = tuple(_with_reference(view, blocks, protocol.reference))
    if protocol.explain != "no":
        blocks = tuple(_with_explanations(view, blocks, protocol.explain))
    return replace(page, blocks=blocks)


def _with_guidelines(blocks: tuple[PageBlock, ...], guidelines: Mapping[str, str]) -> Iterator[PageBlock]:
    """Put the guidelines of each criterion above the page's first question about it."""
    left = dict(guidelines)
    for block in blocks:
        if isinstance(block, Question) and block.criterion in left:
            yield TextBlock(markdown=left.pop(block.criterion), criterion=block.criterion)
        yield block


def _with_reference(view: AssignmentView, blocks: tuple[PageBlock, ...], system: str) -> Iterator[PageBlock]:
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


def _with_explanations(
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
