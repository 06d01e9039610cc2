"""Pages on which single outputs are rated, each output right above its questions."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import Literal

from spa.errors import StudyError
from spa.forms import scales
from spa.forms.form import (
    Answer,
    CheckTarget,
    Exhibit,
    ExhibitsBlock,
    ExplanationTarget,
    Page,
    PageBlock,
    Question,
    RatingTarget,
    TextAnswer,
    TextBlock,
)
from spa.forms.placing import place_by_seed
from spa.forms.showing import Showing
from spa.study.assignment import RatedBy, ShownOutput
from spa.study.study import OVERALL, Continuous, Likert, RatingSection

Table = Literal["likert", "continuous", "categories"]
_TABLES: dict[RatedBy, Table] = {"likert": "likert", "continuous": "continuous", "category": "categories"}


def rating_pages(showing: Showing) -> list[Page]:
    """Return the pages of all rating sections, identical pairs among those of [likert]."""
    pages: list[Page] = []
    for elicitation, table in _TABLES.items():
        section: RatingSection | None = getattr(showing.study, table)
        if section is None:
            continue
        rated = [each.output for each in showing.assignment.rated if each.elicitation == elicitation]
        groups = [list(group) for _, group in groupby(rated, key=showing.row_of)]
        made = [_page(_group_blocks(showing, elicitation, group)) for group in groups]
        if section.pages == "one" and made:
            made = [_page(tuple(block for page in made for block in page.blocks))]
        if elicitation == "likert":
            _put_identical_pairs(showing, made)
        pages += made
    titles = (showing.say("rating_title", number=str(n + 1), total=str(len(pages))) for n in range(len(pages)))
    return [replace(page, title=title) for page, title in zip(pages, titles, strict=True)]


def _page(blocks: tuple[PageBlock, ...]) -> Page:
    return Page(page_id="", kind="rating", audience="everybody", title="", blocks=blocks)


def _group_blocks(showing: Showing, elicitation: RatedBy, group: list[ShownOutput]) -> tuple[PageBlock, ...]:
    """Return the blocks for the outputs of one row.

    The item text stands above each output: where the second one is read, the first is out of sight.
    """
    plain, marking = showing.phrases.once(("marking", elicitation), lambda: _by_marking(showing, elicitation))
    blocks: list[PageBlock] = []
    referred: str | None = None  # item whose references stand above
    for output in group:
        heading = showing.item(output.item_id)
        if elicitation == "continuous" and output.item_id != referred:
            references = _references(showing, output.item_id)
            blocks += references
            heading = None if references else heading  # it stands above the references, in the same view
            referred = output.item_id
        if plain:
            blocks.append(ExhibitsBlock(heading=heading, exhibits=(showing.output(output),)))
            blocks += [asked for criterion in plain for asked in _asked(showing, elicitation, output, criterion)]
        if marking:
            source, marked = showing.compared_with_item(output)
            blocks.append(TextBlock(markdown=showing.say("differences_note")))
            blocks.append(ExhibitsBlock(heading=source, exhibits=(marked,)))
            blocks += [asked for criterion in marking for asked in _asked(showing, elicitation, output, criterion)]
    return tuple(blocks)


def _by_marking(showing: Showing, elicitation: RatedBy) -> tuple[list[str], list[str]]:
    """Return the criteria asked beside the plain text, and those asked beside a text with its differences marked."""
    criteria = showing.asked(_TABLES[elicitation])
    marking = [criterion for criterion in criteria if _marks(showing, criterion)]
    return [criterion for criterion in criteria if criterion not in marking], marking


def _asked(showing: Showing, elicitation: RatedBy, output: ShownOutput, criterion: str) -> list[Question]:
    """Return the question about a criterion, with that for the reason where the study asks for one."""
    label = output.label
    text, answer, reason = showing.phrases.once(
        ("rating", elicitation, label, criterion), lambda: _wording(showing, elicitation, label, criterion)
    )
    target = RatingTarget(
        label=label, item_id=output.item_id, sample=output.sample, criterion=criterion, elicitation=elicitation
    )
    rating = Question(question_id="", text=text, answer=answer, target=target)
    if reason is None:
        return [rating]
    explanation = ExplanationTarget(of=target)
    return [rating, Question(question_id="", text=reason, answer=TextAnswer(required=False), target=explanation)]


def _wording(showing: Showing, elicitation: RatedBy, label: str, criterion: str) -> tuple[str, Answer, str | None]:
    """Return the question about a criterion, how it is answered, and the question for the reason if there is one."""
    section = getattr(showing.study, _TABLES[elicitation])
    answer: Answer
    if isinstance(section, Likert):
        answer = scales.likert(showing, section)
    elif isinstance(section, Continuous):
        answer = scales.continuous(showing, section)
    else:
        answer = scales.categories(showing, showing.criterion(criterion))
    system = showing.system(label)
    if criterion == OVERALL:
        return showing.say("rating_overall", system=system), answer, None
    asked = showing.criterion(criterion)
    reason = showing.say("reason") if asked.reason else None
    if asked.question is not None:
        return asked.question.replace("{system}", system), answer, reason
    return showing.say("rating_criterion", system=system, criterion=asked.name), answer, reason


def _references(showing: Showing, item_id: str) -> list[PageBlock]:
    """Return what 100 and 0 look like for an item, where [continuous] names such references."""
    section = showing.study.continuous
    if section is None:
        return []
    ends = (("best", section.best_reference), ("worst", section.worst_reference))
    exhibits: list[Exhibit] = [
        showing.reference(item_id, system, showing.say(f"{end}_reference_caption"))
        for end, system in ends
        if system is not None
    ]
    return [ExhibitsBlock(heading=showing.item(item_id), exhibits=tuple(exhibits))] if exhibits else []


def _put_identical_pairs(showing: Showing, pages: list[Page]) -> None:
    """Put pages on which an output equals its source among the others, looking like them (Chiang & Lee 2023, 4.3)."""
    study = showing.study
    if study.likert is None or study.likert.identical_pairs == 0:
        return
    criteria = [criterion for criterion in study.asked("likert") if _against_source(showing, criterion)]
    items = list(dict.fromkeys(shown.item_id for block in showing.assignment.blocks for shown in block.shown))
    wanted = study.likert.identical_pairs
    if not criteria or wanted > len(items):
        raise StudyError(
            f"[likert] identical_pairs: wanted a [likert] criterion with against_source = true and at most "
            f"{len(items)} pairs (items of an assignment), got {len(criteria)} such criteria and {wanted} pairs; "
            "set against_source on the criterion that asks about the source, or remove identical_pairs"
        )
    for number in range(1, wanted + 1):
        name = f"identical-{number}"
        item_id = items.pop(place_by_seed(showing, f"{name}/item", len(items)))
        pages.insert(place_by_seed(showing, name, len(pages) + 1), _identical_pair(showing, name, item_id, criteria))


def _identical_pair(showing: Showing, name: str, item_id: str, criteria: list[str]) -> Page:
    section = showing.study.likert
    if section is None:
        raise ValueError("identical pairs are part of [likert]")
    heading, copy = showing.copy_of_item(item_id)
    note = any(_marks(showing, criterion) for criterion in criteria)
    questions = []
    for criterion_id in criteria:
        criterion = showing.criterion(criterion_id)
        own = criterion.question
        questions.append(
            Question(
                question_id="",
                text=showing.say("identical_criterion", criterion=criterion.name)
                if own is None
                else own.replace("{system}", showing.say("unnamed_caption")),
                answer=scales.likert(showing, section),
                target=CheckTarget(
                    check_id=f"{name}/{criterion_id}",
                    kind="identical_pair",
                    expected="1" if criterion.lower_is_better else str(section.points),
                ),
            )
        )
    notes = (TextBlock(markdown=showing.say("differences_note")),) if note else ()
    return _page((*notes, ExhibitsBlock(heading=heading, exhibits=(copy,)), *questions))


def _marks(showing: Showing, criterion_id: str) -> bool:
    return criterion_id != OVERALL and showing.criterion(criterion_id).mark_differences


def _against_source(showing: Showing, criterion_id: str) -> bool:
    return criterion_id != OVERALL and showing.criterion(criterion_id).against_source
