"""Pages on which single outputs are rated, each output right above its questions."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import groupby

from spa.errors import StudyError
from spa.forms import scales
from spa.forms.assignment_view import AssignmentView, seeded_position
from spa.forms.form import (
    Answer,
    AnswerOption,
    CheckTarget,
    Exhibit,
    ExhibitsBlock,
    ExplanationTarget,
    Page,
    PageBlock,
    Question,
    RatingTarget,
    SpansAnswer,
    SpanTarget,
    TextAnswer,
    TextBlock,
)
from spa.study.assignment import RATED_BY, RatedBy, ShownOutput
from spa.study.study import OVERALL, Continuous, Likert, RatingSection

MQM_WEIGHTS = tuple(5.0**place for place in range(9))  # minor 1, major 5 (Freitag et al. 2021, table 4)
Asked = tuple[RatedBy, str]  # a section's way of rating, and a criterion


def rating_pages(view: AssignmentView) -> list[Page]:
    """Return the pages of all rating sections, identical pairs among those of [likert]."""
    study = view.study
    hosted = {
        elicitation: study.page_table(table) for elicitation, table in RATED_BY.items() if table in study.rating_tables
    }
    pages: list[Page] = []
    for elicitation, table in RATED_BY.items():
        if hosted.get(elicitation) != table:
            continue
        together = [each for each, host in hosted.items() if host == table]
        rated = [each.output for each in view.assignment.rated if each.elicitation == elicitation]
        section: RatingSection = getattr(study, table)
        pages_hold = section.pages if section.order == "item" else "output"
        made = [_page(_group_blocks(view, together, group)) for group in _groups(view, pages_hold, rated)]
        if section.pages == "one" and made:
            made = [_page(tuple(block for page in made for block in page.blocks))]
        if "likert" in together:
            _insert_identical_pairs(view, made)
        pages += made
    titles = (view.say("rating_title", number=str(n + 1), total=str(len(pages))) for n in range(len(pages)))
    return [replace(page, title=title) for page, title in zip(pages, titles, strict=True)]


def _groups(view: AssignmentView, pages: str, rated: list[ShownOutput]) -> list[list[ShownOutput]]:
    """Cut what is rated into what stands together."""
    if pages == "output":
        return [[output] for output in rated]
    if pages == "system":
        labels = dict.fromkeys(output.label for output in rated)
        return [[output for output in rated if output.label == label] for label in labels]
    return [list(group) for _, group in groupby(rated, key=view.row_of)]


def _page(blocks: tuple[PageBlock, ...]) -> Page:
    return Page(kind="rating", title="", blocks=blocks)


def _group_blocks(view: AssignmentView, together: list[RatedBy], group: list[ShownOutput]) -> tuple[PageBlock, ...]:
    """Return the blocks for outputs that stand together, with the questions of all sections asked on these pages.

    The item text stands above each output: where the second one is read, the first is out of sight. What is asked
    without the item text comes before it is shown.
    """
    bare, plain, marking = view.text_cache.cached(("together", *together), lambda: _views(view, together))
    blocks: list[PageBlock] = []
    referred: str | None = None  # item whose references stand above
    for output in group:
        heading = view.item(output.item_id)
        if "continuous" in together and output.item_id != referred:
            references = _references(view, output.item_id, None if bare else heading)
            blocks += references
            heading = None if references and not bare else heading  # it stands above the references, in the same view
            referred = output.item_id
        for beside, criteria in ((None, bare), (heading, plain)):
            if criteria:
                blocks.append(ExhibitsBlock(heading=beside, exhibits=(view.output(output),)))
                blocks += _questions(view, output, criteria)
        if marking:
            source, marked = view.compared_with_item(output)
            blocks.append(TextBlock(markdown=view.say("differences_note")))
            blocks.append(ExhibitsBlock(heading=source, exhibits=(marked,)))
            blocks += _questions(view, output, marking)
    return tuple(blocks)


def _views(view: AssignmentView, together: list[RatedBy]) -> tuple[list[Asked], ...]:
    """Return what is asked without the item text, beside it, and beside it with the differences marked."""
    views: tuple[list[Asked], ...] = ([], [], [])
    for elicitation in together:
        for group, criteria in zip(views, view.views(RATED_BY[elicitation]), strict=True):
            group += [(elicitation, criterion) for criterion in criteria]
    return tuple(sorted(group, key=lambda pair: pair[1] != OVERALL) for group in views)


def _questions(view: AssignmentView, output: ShownOutput, criteria: list[Asked]) -> list[Question]:
    return [
        question
        for elicitation, criterion in criteria
        for question in _rating_questions(view, elicitation, output, criterion)
    ]


def _rating_questions(
    view: AssignmentView, elicitation: RatedBy, output: ShownOutput, criterion: str
) -> list[Question]:
    """Return the question about a criterion, with that for the reason where the study asks for one."""
    named = None if view.study.single_outputs else output.label
    if elicitation == "spans":
        scored = _overall_question(view, named) if criterion == OVERALL else _criterion_question(view, named, criterion)
        return _span_questions(view, output, criterion, scored)
    text, answer, reason = view.text_cache.cached(
        ("rating", elicitation, named, criterion), lambda: _wording(view, elicitation, named, criterion)
    )
    target = RatingTarget(
        label=output.label, item_id=output.item_id, sample=output.sample, criterion=criterion, elicitation=elicitation
    )
    rating = Question(text=text, answer=answer, target=target)
    if reason is None:
        return [rating]
    explanation = ExplanationTarget(of=target)
    return [rating, Question(text=reason, answer=TextAnswer(required=False), target=explanation)]


def _span_questions(view: AssignmentView, output: ShownOutput, criterion: str, scored: str) -> list[Question]:
    """Return the question that has errors of an output marked, and the rating from 0 to 100 that follows.

    The text is marked as it is shown; ``criterion`` says which errors ("overall": all), ``scored`` what the rating
    asks.
    """
    section = view.study.spans
    if section is None:
        raise ValueError("errors are marked where a study has [spans]")
    errors = SpanTarget(label=output.label, item_id=output.item_id, sample=output.sample, criterion=criterion)
    weights = zip(section.severities, section.weights or MQM_WEIGHTS, strict=False)
    answer = SpansAnswer(
        text=view.output(output).text,
        severities=tuple(AnswerOption(value=each, text=each, score=weight) for each, weight in weights),
        categories=section.categories,
        no_errors=view.say("spans_none"),
    )
    questions = [Question(text=view.ask("spans", criterion), answer=answer, target=errors)]
    if section.score:
        scale = scales.zero_to_hundred(view, "spans", section.low, section.high)
        target = RatingTarget(**asdict(errors), elicitation="continuous")
        questions.append(Question(text=scored, answer=scale, target=target))
    return questions


def _wording(
    view: AssignmentView, elicitation: RatedBy, label: str | None, criterion: str
) -> tuple[str, Answer, str | None]:
    """Return the question about a criterion, how it is answered, and the question for the reason if there is one."""
    section = getattr(view.study, RATED_BY[elicitation])
    answer: Answer
    if isinstance(section, Likert):
        answer = scales.likert(view, section)
    elif isinstance(section, Continuous):
        answer = scales.zero_to_hundred(view, "continuous", section.low, section.high)
    else:
        answer = scales.categories(view, view.criterion(criterion))
    if criterion == OVERALL:
        return _overall_question(view, label), answer, None
    reason = view.say("reason") if view.criterion(criterion).reason else None
    return _criterion_question(view, label, criterion), answer, reason


def _overall_question(view: AssignmentView, label: str | None) -> str:
    if label is None:
        return view.say("identical_overall")
    return view.say("rating_overall", system=view.system(label))


def _criterion_question(view: AssignmentView, label: str | None, criterion_id: str) -> str:
    """Return the question about a criterion of one output; without a label it names no system."""
    criterion = view.criterion(criterion_id)
    system = view.say("unnamed_caption") if label is None else view.system(label)
    if criterion.question is not None:
        return criterion.question.replace("{system}", system)
    if label is None:
        return view.say("identical_criterion", criterion=criterion.name)
    return view.say("rating_criterion", system=system, criterion=criterion.name)


def _references(view: AssignmentView, item_id: str, heading: Exhibit | None) -> list[PageBlock]:
    """Return what 100 and 0 look like for an item, where [continuous] names such references."""
    section = view.study.continuous
    if section is None:
        return []
    ends = (("best", section.best_reference), ("worst", section.worst_reference))
    exhibits = tuple(
        view.reference(item_id, system, view.say(f"{end}_reference_caption"))
        for end, system in ends
        if system is not None
    )
    return [ExhibitsBlock(heading=heading, exhibits=exhibits)] if exhibits else []


def _insert_identical_pairs(view: AssignmentView, pages: list[Page]) -> None:
    """Put pages on which an output equals its source among the others, looking like them (Chiang & Lee 2023, 4.3)."""
    study = view.study
    if study.likert is None or study.likert.identical_pairs == 0:
        return
    criteria = [
        criterion
        for criterion in study.criteria_of("likert")
        if criterion != OVERALL and view.criterion(criterion).against_source
    ]
    items = list(dict.fromkeys(shown.item_id for block in view.assignment.blocks for shown in block.shown))
    count = study.likert.identical_pairs
    if not criteria or count > len(items):
        raise StudyError(
            f"[likert] identical_pairs: expected a [likert] criterion with against_source = true and at most "
            f"{len(items)} pairs (items of an assignment), got {len(criteria)} such criteria and {count} pairs; "
            "set against_source on the criterion that asks about the source, or remove identical_pairs"
        )
    for number in range(1, count + 1):
        name = f"identical-{number}"
        item_id = items.pop(seeded_position(view, f"{name}/item", len(items)))
        pages.insert(seeded_position(view, name, len(pages) + 1), _identical_pair(view, name, item_id, criteria))


def _identical_pair(view: AssignmentView, name: str, item_id: str, criteria: list[str]) -> Page:
    section = view.study.likert
    if section is None:
        raise ValueError("identical pairs are part of [likert]")
    heading, copy = view.copy_of_item(item_id)
    note = any(name != OVERALL and view.criterion(name).mark_differences for name in criteria)
    questions = []
    for criterion_id in criteria:
        criterion = view.criterion(criterion_id)
        questions.append(
            Question(
                text=_criterion_question(view, None, criterion_id),
                answer=scales.likert(view, section),
                target=CheckTarget(
                    check_id=f"{name}/{criterion_id}",
                    kind="identical_pair",
                    expected="1" if criterion.lower_is_better else str(section.points),
                ),
            )
        )
    notes = (TextBlock(markdown=view.say("differences_note")),) if note else ()
    return _page((*notes, ExhibitsBlock(heading=heading, exhibits=(copy,)), *questions))
