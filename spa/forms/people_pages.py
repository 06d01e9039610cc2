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
    Question,
    ScreeningTarget,
    TextAnswer,
    TextBlock,
)


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
    questions = tuple(
        Question(
            text=one.question,
            answer=scales.text_options(one.options),
            target=ScreeningTarget(screening_id=one.id, eligible=one.eligible),
        )
        for one in view.study.screening
    )
    page = Page(kind="screening", audience="people", title=view.say("screening_title"), blocks=questions)
    return [page] if questions else []


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
    questions = [
        Question(
            text=check.question,
            answer=scales.text_options(check.options),
            target=CheckTarget(check_id=check.id, kind="attention", expected=check.expected),
        )
        for check in view.study.attention_checks
    ]
    title = view.say("check_title")
    return [Page(kind="check", audience="people", title=title, blocks=(question,)) for question in questions]


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
