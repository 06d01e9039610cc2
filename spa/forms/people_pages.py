"""Pages for people only: consent, screening, "I have read the instructions", attention checks, the interview."""

from __future__ import annotations

from spa.forms import scales
from spa.forms.assignment_view import AssignmentView
from spa.forms.form import (
    CheckTarget,
    ConfirmAnswer,
    ConfirmationTarget,
    InterviewTarget,
    Page,
    PageBlock,
    Question,
    ScreeningTarget,
    TextAnswer,
    TextBlock,
)


def consent_pages(view: AssignmentView) -> list[Page]:
    """Return the consent page; none where the study has no consent text."""
    if view.study.consent.text is None:
        return []
    question = Question(
        question_id="",
        text=view.say("consent_question"),
        answer=ConfirmAnswer(text=view.say("consent_box")),
        target=ConfirmationTarget(confirmation="consent"),
    )
    blocks = (TextBlock(markdown=view.study.consent.text), question)
    return [_people_page("consent", view.say("consent_title"), blocks)]


def screening_pages(view: AssignmentView) -> list[Page]:
    """Return one page with all screening questions; none where there is none."""
    questions = tuple(
        Question(
            question_id="",
            text=screening.question,
            answer=scales.of_texts(screening.options),
            target=ScreeningTarget(screening_id=screening.id, eligible=screening.eligible),
        )
        for screening in view.study.screening
    )
    return [_people_page("screening", view.say("screening_title"), questions)] if questions else []


def confirmation_page(view: AssignmentView) -> Page:
    """Return the page after the instructions. It stands alone because LLMs read the instructions too."""
    question = Question(
        question_id="",
        text=view.say("confirmation_question"),
        answer=ConfirmAnswer(text=view.say("confirmation_box")),
        target=ConfirmationTarget(confirmation="instructions"),
    )
    return _people_page("instructions", view.say("confirmation_title"), (question,))


def attention_pages(view: AssignmentView) -> list[Page]:
    """Return one page for each attention check, in the order of the study."""
    return [
        _people_page(
            "check",
            view.say("check_title"),
            (
                Question(
                    question_id="",
                    text=check.question,
                    answer=scales.of_texts(check.options),
                    target=CheckTarget(check_id=check.id, kind="attention", expected=check.expected),
                ),
            ),
        )
        for check in view.study.attention_checks
    ]


def interview_pages(view: AssignmentView, *, first: bool) -> list[Page]:
    """Return the page with the questions of the interview that come first, or last; none where there are none."""
    questions = tuple(
        Question(
            question_id="",
            text=one.question,
            answer=TextAnswer(required=one.required),
            target=InterviewTarget(interview_id=one.id),
        )
        for one in view.study.interview
        if one.first == first
    )
    return [_people_page("interview", view.say("interview_title"), questions)] if questions else []


def _people_page(kind: str, title: str, blocks: tuple[PageBlock, ...]) -> Page:
    return Page(page_id="", kind=kind, audience="people", title=title, blocks=blocks)  # type: ignore[arg-type]
