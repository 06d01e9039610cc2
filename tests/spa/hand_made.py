"""A small form written by hand, for tests that need no study file."""

from __future__ import annotations

from spa.elicitation.choices import ChoiceTarget
from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spa import PreferenceTarget
from spa.records.assignment import BlindingKey
from spa.records.form import (
    AnswerOption,
    CheckTarget,
    ConfirmationTarget,
    Exhibit,
    ExhibitsBlock,
    Form,
    Page,
    Question,
    ScreeningTarget,
    Segment,
    TextBlock,
)
from spa.records.submission import RaterCondition
from spa.widgets import ConfirmAnswer, NumberAnswer, OptionsAnswer

ASKED = RaterCondition(variant=None, repeat=1, readout="verbalised", form="identical", fingerprint="f")
PERCENT = NumberAnswer(low=0, high=100, scale=100, low_text="no", high_text="yes", unit="%")
HUNDRED = NumberAnswer(low=0, high=100, scale=1, low_text="bad", high_text="good")
FIVE = OptionsAnswer(
    options=tuple(AnswerOption(value=str(n), text=str(n), score=n) for n in range(1, 6)), half_points="keep"
)
WINNER = OptionsAnswer(options=tuple(AnswerOption(value=value, text=value) for value in ("x", "y", "tie")))
YES_NO = OptionsAnswer(options=(AnswerOption(value="yes", text="Yes"), AnswerOption(value="no", text="No")))


def hand_made(
    assignment_id: str = "a00001",
    *,
    systems: dict[str, str] | None = None,
    items: tuple[str, ...] = ("i1", "i2", "i3", "i4", "i5"),
    rated: tuple[str, ...] = ("i1",),
) -> tuple[Form, BlindingKey]:
    """Build consent, screening, reading, comparison, rating, choice and check pages on two labels."""
    key = BlindingKey(
        assignment_id=assignment_id,
        systems=systems or {"A": "good", "B": "poor"},
        blocks={"A": 0, "B": 0},
    )
    read = tuple(
        ExhibitsBlock(
            heading=None,
            exhibits=tuple(
                Exhibit(
                    exhibit_id=f"e{label}{item}",
                    caption=f"Writer {label}",
                    label=label,
                    item_id=item,
                    medium="text",
                    segments=(Segment(text=f"Text on {item} by {label} in {assignment_id}."),),
                )
                for label in key.systems
            ),
        )
        for item in items
    )
    asked: list[tuple[str, list[tuple[str, object, object]]]] = [
        ("consent", [("Do you agree?", ConfirmAnswer(text="I agree"), ConfirmationTarget(confirmation="consent"))]),
        ("screening", [("Native?", YES_NO, ScreeningTarget(screening_id="native", eligible=("Yes",)))]),
        (
            "comparison",
            [
                (
                    f"Is {x} better than {y}?",
                    PERCENT,
                    PreferenceTarget(
                        label_x=x, label_y=y, exposure=len(items), criterion="overall", asked_first=x == "A"
                    ),
                )
                for x, y in (("A", "B"), ("B", "A"))
            ],
        ),
        (
            "rating",
            [
                (
                    f"How good is {label} on {item} ({elicitation})?",
                    answer,
                    RatingTarget(label=label, item_id=item, sample=1, criterion="overall", elicitation=elicitation),
                )
                for item in rated
                for label in key.systems
                for elicitation, answer in (("likert", FIVE), ("continuous", HUNDRED))
            ],
        ),
        (
            "choice",
            [
                (
                    "Which is better?",
                    WINNER,
                    ChoiceTarget(
                        label_x="A", label_y="B", item_id=items[0], sample_x=1, sample_y=1, criterion="overall"
                    ),
                )
            ],
        ),
        ("check", [("Choose No.", YES_NO, CheckTarget(check_id="c1", kind="attention", expected="no"))]),
    ]
    pages = [
        Page(
            page_id="p0",
            kind="reading",
            audience="everybody",
            title="Read",
            blocks=(TextBlock(markdown="Read these."), *read),
        )
    ]
    number = 0
    for place, (kind, questions) in enumerate(asked, start=1):
        blocks = []
        for text, answer, target in questions:
            number += 1
            blocks.append(Question(question_id=f"q{number}", text=text, answer=answer, target=target))  # type: ignore[arg-type]
        audience = "people" if kind in ("consent", "screening", "check") else "everybody"
        pages.append(
            Page(page_id=f"p{place}", kind=kind, audience=audience, title=kind, blocks=tuple(blocks))  # type: ignore[arg-type]
        )
    form = Form(assignment_id=assignment_id, title="Try", language="en", right_to_left=False, pages=tuple(pages))
    return form, key


def question_ids(form: Form, target: type) -> list[str]:
    """Return the ids of the questions about one kind of target."""
    return [question.question_id for question in form.questions("people") if isinstance(question.target, target)]
