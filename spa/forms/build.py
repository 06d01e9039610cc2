"""The form of one assignment: its pages in order, and the numbers of what they hold.

Among them are the pages for people only, guidelines by criterion, and what the protocol of a rater adds for it alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from spa.elicitation import ways
from spa.elicitation.text_cache import TextCache
from spa.elicitation.view import AssignmentView, seeded_position
from spa.forms.examples import examples_pages, without_items
from spa.forms.form_text import exhibits_of
from spa.records.assignment import Assignment, BlindingKey
from spa.records.examples import ExampleSet
from spa.records.form import (
    AnswerOption,
    CheckTarget,
    ConfirmationTarget,
    Exhibit,
    ExhibitsBlock,
    ExplanationTarget,
    Form,
    InterviewTarget,
    Judgement,
    Page,
    PageBlock,
    Question,
    ScreeningTarget,
    TextBlock,
)
from spa.records.outputs import Outputs
from spa.records.raters import RaterProtocol
from spa.records.study import OVERALL, Study
from spa.records.texts import Texts
from spa.widgets import ConfirmAnswer, OptionsAnswer, TextAnswer

LONGEST_REASONING = 100_000  # characters, of a rater


class StudyForms:
    """Builds the forms of one study; texts and pages that all of them share are built once."""

    def __init__(self, study: Study, outputs: Outputs, texts: Texts) -> None:
        self._study = study
        self._outputs = outputs
        self._phrases = TextCache(study, texts)

    def build(
        self,
        assignment: Assignment,
        key: BlindingKey,
        protocol: RaterProtocol | None = None,
        examples: ExampleSet | None = None,
    ) -> Form:
        """Build the form of one assignment; see :func:`build_form`. A protocol with examples needs them."""
        if (examples is None) != (protocol is None or protocol.examples is None):
            raise ValueError("expected the examples that the protocol names, and no others")
        view = AssignmentView(
            study=self._study, outputs=self._outputs, assignment=assignment, key=key, text_cache=self._phrases
        )
        texts = self._phrases.texts
        return Form(
            assignment_id=assignment.assignment_id,
            title=self._phrases.clean(self._study.title),
            language=texts.language,
            right_to_left=texts.right_to_left,
            pages=_Numbering(self._phrases).pages(add_extras(view, _pages(view, examples), protocol)),
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


def _pages(view: AssignmentView, examples: ExampleSet | None = None) -> list[Page]:
    cached = view.text_cache.cached  # pages for people only are the same on every form
    asked = view.study.sections.items()
    question_pages = [page for key, section in asked for page in ways()[key].pages(view, section)]
    if examples is not None:
        question_pages = [*without_items(question_pages, examples.apart)]
    question_pages = _titled(view, question_pages)
    _insert_checks(view, question_pages)
    return [
        *cached("consent", lambda: consent_pages(view)),
        *(screening_pages(view) if view.study.clips else cached("screening", lambda: screening_pages(view))),
        *cached("first questions", lambda: interview_pages(view, first=True)),
        _instructions_page(view),
        cached("confirmation", lambda: confirmation_page(view)),
        *([] if examples is None else examples_pages(view, examples)),
        *question_pages,
        *cached("interview", lambda: interview_pages(view, first=False)),
    ]


def _titled(view: AssignmentView, pages: list[Page]) -> list[Page]:
    """Return the pages; those of each kind that have no title of their own are numbered."""
    totals = Counter(page.kind for page in pages)
    numbers: Counter[str] = Counter()
    for place, page in enumerate(pages):
        if not page.title:
            numbers[page.kind] += 1
            title = view.say(f"{page.kind}_title", number=str(numbers[page.kind]), total=str(totals[page.kind]))
            pages[place] = _changed(page, title=title, blocks=page.blocks)
    return pages


def _changed(page: Page, *, page_id: str = "", title: str, blocks: tuple[PageBlock, ...]) -> Page:
    """Return a page of the same kind; in half the time of ``replace``, which every page of a form is given to."""
    return Page(page_id=page_id, kind=page.kind, shows=page.shows, audience=page.audience, title=title, blocks=blocks)


def _insert_checks(view: AssignmentView, pages: list[Page]) -> None:
    """Put each attention check between two of the pages asked of everybody, or after the only one."""
    gaps = max(1, len(pages) - 1)
    alike = not view.study.clips  # exhibits are numbered form by form
    checks = view.text_cache.cached("checks", lambda: attention_pages(view)) if alike else attention_pages(view)
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
    """Return the locale's instructions for this study, in Markdown."""
    study = view.study
    labels = [view.system(label) for block in view.assignment.blocks for label in block.labels]
    separator = view.text_cache.texts.entries["form.list_separator"]
    paragraphs = [
        view.say("instructions_intro", systems=str(len(labels)), labels=separator.join(labels))
        if len(labels) > 1 and not study.single_outputs and not study.deals_pairs
        else view.say("instructions_intro_pairs" if study.deals_pairs else "instructions_intro_one")
    ]
    for key, section in study.sections.items():
        paragraphs += ways()[key].instructions(view, section)
    aspects = [criterion.name for criterion in study.criteria if criterion.id in _criteria(study)]
    if aspects:
        paragraphs.append(view.say("instructions_criteria", criteria=separator.join(aspects)))
    if any(criterion.mark_differences for criterion in study.criteria if criterion.id in _rated_criteria(study)):
        paragraphs.append(view.say("instructions_differences"))
    return "\n\n".join(paragraphs)


def _criteria(study: Study) -> set[str]:
    return {criterion for section in study.sections.values() for criterion in section.asks(study)} - {OVERALL}


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
            numbered.append(_changed(page, page_id=f"p{number}", title=title, blocks=blocks))
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


def consent_pages(view: AssignmentView) -> list[Page]:
    """Return the consent page, which also says when names are deleted; none where the study has no consent text."""
    if view.study.consent.text is None:
        return []
    question = Question(
        text=view.say("consent_question"),
        answer=ConfirmAnswer(text=view.say("consent_box")),
        target=ConfirmationTarget(confirmation="consent"),
    )
    days = view.study.people.forget_after_days
    kept = () if days is None else (TextBlock(markdown=view.say("consent_kept", days=str(days))),)
    blocks = (TextBlock(markdown=view.study.consent.text), *kept, question)
    return [Page(kind="consent", audience="people", title=view.say("consent_title"), blocks=blocks)]


def screening_pages(view: AssignmentView) -> list[Page]:
    """Return one page with all screening questions; none where there is none."""
    blocks: list[PageBlock] = []
    for one in view.study.screening:
        target = ScreeningTarget(screening_id=one.id, eligible=one.eligible)
        blocks += _clip(view, f"screening/{one.id}")
        blocks.append(Question(text=one.question, answer=_options(one.options), target=target))
    page = Page(kind="screening", audience="people", title=view.say("screening_title"), blocks=tuple(blocks))
    return [page] if blocks else []


def _clip(view: AssignmentView, name: str) -> list[PageBlock]:
    """Return what a question is about, where it names a clip."""
    exhibit = view.clip(name)
    return [] if exhibit is None else [ExhibitsBlock(heading=None, exhibits=(exhibit,))]


def confirmation_page(view: AssignmentView) -> Page:
    """Return the page after the instructions. It stands alone because LLMs read the instructions too."""
    question = Question(
        text=view.say("confirmation_question"),
        answer=ConfirmAnswer(text=view.say("confirmation_box")),
        target=ConfirmationTarget(confirmation="instructions"),
    )
    return Page(kind="instructions", audience="people", title=view.say("confirmation_title"), blocks=(question,))


def attention_pages(view: AssignmentView) -> list[Page]:
    """Return one page for each attention check, in the order of the study."""
    pages = []
    for check in view.study.attention_checks:
        target = CheckTarget(check_id=check.id, kind="attention", expected=check.expected, also=check.also)
        question = Question(text=check.question, answer=_options(check.options), target=target)
        clip = _clip(view, f"check/{check.id}")
        title = view.say("check_clip_title" if clip else "check_title")  # one that says no more than that it follows
        pages.append(Page(kind="check", audience="people", title=title, blocks=(*clip, question)))
    return pages


def interview_pages(view: AssignmentView, *, first: bool) -> list[Page]:
    """Return the page with the questions of the interview that come first, or last; none where there are none."""
    questions = tuple(
        Question(
            text=one.question, answer=TextAnswer(required=one.required), target=InterviewTarget(interview_id=one.id)
        )
        for one in view.study.interview
        if one.first == first
    )
    page = Page(kind="interview", audience="people", title=view.say("interview_title"), blocks=questions)
    return [page] if questions else []


def _options(texts: tuple[str, ...]) -> OptionsAnswer:
    """Return the answers of a screening question or an attention check."""
    return OptionsAnswer(options=tuple(AnswerOption(value=text, text=text) for text in texts))


def add_extras(view: AssignmentView, pages: list[Page], protocol: RaterProtocol | None) -> list[Page]:
    """Return the pages with what is added; pages for people only are left as they are."""
    guidelines = {one.id: one.guidelines for one in view.study.criteria if one.guidelines is not None}
    if protocol is not None and isinstance(protocol.guidelines, tuple):
        guidelines |= dict(protocol.guidelines)
    if guidelines:
        pages = [replace(page, blocks=tuple(_with_guidelines(page.blocks, guidelines))) for page in pages]
    notes = tuple(view.study.outputs.notes)
    if notes and (view.study.outputs.notes_for == "everybody" or (protocol is not None and protocol.item_notes)):
        pages = [
            replace(page, blocks=tuple(_with_notes(view, page.blocks, notes))) if page.shows else page for page in pages
        ]
    if protocol is None or not (protocol.guidelines or protocol.reference or protocol.explain != "no"):
        return pages
    return [_extended(view, page, protocol) if page.audience == "everybody" else page for page in pages]


def _extended(view: AssignmentView, page: Page, protocol: RaterProtocol) -> Page:
    blocks: tuple[PageBlock, ...] = page.blocks
    if isinstance(protocol.guidelines, str) and page.kind == "instructions":
        blocks = (*blocks, TextBlock(markdown=protocol.guidelines))
    if protocol.reference is not None and page.shows == "outputs":
        blocks = tuple(_with_reference(view, blocks, protocol.reference))
    if protocol.explain != "no":
        blocks = _without_reasons(blocks) if protocol.reasoned else blocks  # asked after the answers
        answer = TextAnswer(longest=LONGEST_REASONING) if protocol.reasoned else TextAnswer()
        blocks = tuple(_with_explanations(view, blocks, protocol, answer))
    return replace(page, blocks=blocks)


def _with_guidelines(blocks: tuple[PageBlock, ...], guidelines: Mapping[str, str]) -> Iterator[PageBlock]:
    """Put the guidelines of each criterion above the page's first question about it."""
    left = dict(guidelines)
    for block in blocks:
        if isinstance(block, Question) and block.criterion in left:
            yield TextBlock(markdown=left.pop(block.criterion), criterion=block.criterion)
        yield block


def _with_notes(view: AssignmentView, blocks: tuple[PageBlock, ...], notes: tuple[str, ...]) -> Iterator[PageBlock]:
    """Put what is noted of an item above the first output for it on the page."""
    noted: set[str] = set()
    for block in blocks:
        if isinstance(block, ExhibitsBlock):
            shown = dict.fromkeys(one.item_id for one in block.exhibits if one.label is not None)
            for item_id in [one for one in shown if one not in noted]:
                noted.add(item_id)
                made = (view.note(item_id, note) for note in notes)
                yield from (ExhibitsBlock(heading=None, exhibits=(one,)) for one in made if one is not None)
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


def _without_reasons(blocks: tuple[PageBlock, ...]) -> tuple[PageBlock, ...]:
    return tuple(one for one in blocks if not (isinstance(one, Question) and isinstance(one.target, ExplanationTarget)))


def _with_explanations(
    view: AssignmentView, blocks: tuple[PageBlock, ...], protocol: RaterProtocol, answer: TextAnswer
) -> Iterator[PageBlock]:
    """Ask for an explanation beside every question about outputs or systems that asks for none yet."""
    place, words = protocol.explain, protocol.explain_words
    explained = {
        block.target.of
        for block in blocks
        if isinstance(block, Question) and isinstance(block.target, ExplanationTarget)
    }
    for block in blocks:
        if not isinstance(block, Question) or not isinstance(block.target, Judgement) or block.target in explained:
            yield block
            continue
        explanation = Question(
            text=words.replace("{question}", block.text)
            if words is not None
            else view.say(f"explain_{place}", question=block.text),
            answer=answer,
            target=ExplanationTarget(of=block.target),
        )
        yield from (explanation, block) if place == "before" else (block, explanation)
