"""The form of one assignment: its pages in order, the instructions, and the numbers of what they hold."""

from __future__ import annotations

from dataclasses import replace

from spa.forms.assignment_view import AssignmentView, seeded_position
from spa.forms.comparison_pages import choice_pages, comparison_pages, ranking_pages, reading_pages
from spa.forms.form import Exhibit, ExhibitsBlock, Form, Page, PageBlock, Question, TextBlock
from spa.forms.form_extras import add_extras
from spa.forms.form_text import exhibits_of
from spa.forms.people_pages import (
    attention_pages,
    confirmation_page,
    consent_pages,
    interview_pages,
    screening_pages,
)
from spa.forms.rating_pages import rating_pages
from spa.forms.text_cache import TextCache
from spa.forms.texts import Texts
from spa.study.assignment import Assignment, BlindingKey
from spa.study.outputs import Outputs
from spa.study.raters import RaterProtocol
from spa.study.study import OVERALL, Study

_SECTIONS = ("likert", "continuous", "categories", "spans", "choices", "ranking")


class StudyForms:
    """Builds the forms of one study; texts and pages that all of them share are built once."""

    def __init__(self, study: Study, outputs: Outputs, texts: Texts) -> None:
        self._study = study
        self._outputs = outputs
        self._phrases = TextCache(study, texts)

    def build(self, assignment: Assignment, key: BlindingKey, protocol: RaterProtocol | None = None) -> Form:
        """Build the form of one assignment; see :func:`build_form`."""
        view = AssignmentView(
            study=self._study, outputs=self._outputs, assignment=assignment, key=key, text_cache=self._phrases
        )
        texts = self._phrases.texts
        return Form(
            assignment_id=assignment.assignment_id,
            title=self._phrases.clean(self._study.title),
            language=texts.language,
            right_to_left=texts.right_to_left,
            pages=_Numbering(self._phrases).pages(add_extras(view, _pages(view), protocol)),
        )


def build_form(
    study: Study,
    outputs: Outputs,
    assignment: Assignment,
    key: BlindingKey,
    texts: Texts,
    protocol: RaterProtocol | None = None,
) -> Form:
    """Build the form that one annotator fills in, person or LLM; for many of a study see :class:`StudyForms`.

    Pages: consent and screening (people), instructions (everybody), a confirmation (people), then reading,
    comparisons, ratings, choices and rankings, with attention checks (people) between them, and the interview (people).
    On a page the overall question comes first, so that no single criterion colours it.

    The key is used to fetch outputs and never shown; the form holds labels only.
    """
    return StudyForms(study, outputs, texts).build(assignment, key, protocol)


def _pages(view: AssignmentView) -> list[Page]:
    cached = view.text_cache.cached  # pages for people only are the same on every form
    reading = reading_pages(view)
    question_pages = [
        *reading,
        *comparison_pages(view, read_before=bool(reading)),
        *rating_pages(view),
        *choice_pages(view),
        *ranking_pages(view),
    ]
    _insert_checks(view, question_pages)
    return [
        *cached("consent", lambda: consent_pages(view)),
        *cached("screening", lambda: screening_pages(view)),
        *cached("first questions", lambda: interview_pages(view, first=True)),
        _instructions_page(view),
        cached("confirmation", lambda: confirmation_page(view)),
        *question_pages,
        *cached("interview", lambda: interview_pages(view, first=False)),
    ]


def _insert_checks(view: AssignmentView, pages: list[Page]) -> None:
    """Put each attention check between two of the pages asked of everybody, or after the only one."""
    gaps = max(1, len(pages) - 1)
    checks = view.text_cache.cached("checks", lambda: attention_pages(view))
    placed = [(1 + seeded_position(view, f"check/{number}", gaps), page) for number, page in enumerate(checks)]
    for gap, page in sorted(placed, key=lambda each: each[0], reverse=True):  # from the back, so that gaps stay put
        pages.insert(gap, page)


def _instructions_page(view: AssignmentView) -> Page:
    """Return the page that everybody reads first; its title is the study's."""
    blocks = view.assignment.blocks
    seen = "instructions", *((block.exposure, block.labels) for block in blocks)
    markdown = view.study.instructions.text or view.text_cache.cached(seen, lambda: _preset_instructions(view))
    return Page(kind="instructions", title=view.study.title, blocks=(TextBlock(markdown=markdown),))


def _preset_instructions(view: AssignmentView) -> str:
    """Return the locale's instructions for this study, in Markdown.

    What a preference probability means follows figure 4 of Ethayarajh & Jurafsky (2022): 100 % is certain that x
    is better, 0 % certain that x is no better (not: that y is better), 50 % no idea.
    """
    study = view.study
    labels = [view.system(label) for block in view.assignment.blocks for label in block.labels]
    separator = view.text_cache.texts.entries["form.list_separator"]
    paragraphs = [
        view.say("instructions_intro", systems=str(len(labels)), labels=separator.join(labels))
        if len(labels) > 1 and not study.single_outputs and not study.deals_pairs
        else view.say("instructions_intro_pairs" if study.deals_pairs else "instructions_intro_one")
    ]
    if study.spa is not None:
        pair = {"x": labels[0], "y": labels[1]}
        paragraphs.append(view.say("instructions_spa", exposure=_exposure(view), **pair))
        if study.spa.directions == "both":
            paragraphs.append(view.say("instructions_both_directions", **pair))
    for section in _SECTIONS:
        if getattr(study, section) is not None:
            points = "" if study.likert is None else str(study.likert.points)
            paragraphs.append(view.say(f"instructions_{section}", points=points))
    aspects = [criterion.name for criterion in study.criteria if criterion.id in _criteria(study)]
    if aspects:
        paragraphs.append(view.say("instructions_criteria", criteria=separator.join(aspects)))
    if any(criterion.mark_differences for criterion in study.criteria if criterion.id in _rated_criteria(study)):
        paragraphs.append(view.say("instructions_differences"))
    return "\n\n".join(paragraphs)


def _exposure(view: AssignmentView) -> str:
    exposures = [block.exposure for block in view.assignment.blocks]
    low, high = min(exposures), max(exposures)
    if low < high:
        return view.say("exposure_varied", low=str(low), high=str(high))
    return view.say("exposure_one") if high == 1 else view.say("exposure_many", number=str(high))


def _criteria(study: Study) -> set[str]:
    compared = (study.criteria_of(table) for table in ("spa", "choices", "ranking"))
    return ({criterion for criteria in compared for criterion in criteria} | _rated_criteria(study)) - {OVERALL}


def _rated_criteria(study: Study) -> set[str]:
    return {criterion for table in study.rating_tables for criterion in study.criteria_of(table)}


class _Numbering:
    """Numbers pages, questions and exhibits in the order of the form, and notes which exhibits were shown before."""

    def __init__(self, text_cache: TextCache) -> None:
        self.clean = text_cache.clean
        self.exhibits: dict[str, tuple[int, Exhibit, Exhibit]] = {}  # by the id with which it was made
        self.on_earlier_pages = 0  # of them
        self.questions = 0

    def pages(self, pages: list[Page]) -> tuple[Page, ...]:
        numbered = []
        for number, page in enumerate(pages, start=1):
            blocks = tuple(map(self._block, page.blocks))
            title = self.clean(page.title)
            numbered.append(
                Page(page_id=f"p{number}", kind=page.kind, audience=page.audience, title=title, blocks=blocks)
            )
            self.on_earlier_pages = len(self.exhibits)
        return tuple(numbered)

    def _block(self, block: PageBlock) -> PageBlock:
        if isinstance(block, TextBlock):
            clean = self.clean(block.markdown)
            return block if clean == block.markdown else replace(block, markdown=clean)
        if isinstance(block, Question):
            self.questions += 1
            return Question(
                question_id=f"q{self.questions}", text=self.clean(block.text), answer=block.answer, target=block.target
            )
        return self._exhibits(block)

    def _exhibits(self, block: ExhibitsBlock) -> ExhibitsBlock:
        places = [self.exhibits.get(exhibit.exhibit_id) or self._place(exhibit) for exhibit in exhibits_of(block)]
        repeated, as_made = True, True
        for place, exhibit, made in places:
            repeated = repeated and place < self.on_earlier_pages
            as_made = as_made and exhibit is made
        if as_made and repeated == block.repeated:
            return block  # it was made as it is numbered, as most are
        numbered = tuple([exhibit for _, exhibit, _ in places])
        if block.heading is None:
            return ExhibitsBlock(heading=None, exhibits=numbered, repeated=repeated)
        return ExhibitsBlock(heading=numbered[0], exhibits=numbered[1:], repeated=repeated)

    def _place(self, made: Exhibit) -> tuple[int, Exhibit, Exhibit]:
        """Give an exhibit its number: its place on the form, itself under that number, and as it was made."""
        place = len(self.exhibits)
        number = f"e{place + 1}"
        exhibit = made if made.exhibit_id == number else replace(made, exhibit_id=number)
        self.exhibits[made.exhibit_id] = found = place, exhibit, made
        return found
