"""Small hand-made forms for the tests of the web page: every kind of page and of question, and hostile outputs."""

from __future__ import annotations

from pathlib import Path

from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spa import PreferenceTarget
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
from spa.widgets import ConfirmAnswer, NumberAnswer, OptionsAnswer

HOSTILE = (
    "<script>window.hurt = 1</script>",
    '<img src=x onerror="window.hurt = 1">',
    "]]> <!-- --> </div></main></form>",
    "{{7*7}} {% raw %} ${7*7}",
    "null \x00 character, lone \ud800 surrogate, \udfff",
    "javascript:window.hurt=1 \u202e reversed",
)


def preference(question_id: str, x: str, y: str) -> Question:
    return Question(
        question_id=question_id,
        text=f"What is the chance, from 0 to 100 %, that Writer {x} is better than Writer {y}?",
        answer=NumberAnswer(
            low=0,
            high=100,
            scale=100,
            low_text=f"0 %: certain that Writer {x} is no better",
            high_text=f"100 %: certain that Writer {x} is better",
            unit="%",
        ),
        target=PreferenceTarget(label_x=x, label_y=y, exposure=2, criterion="overall", asked_first=x < y),
    )


def likert(question_id: str, label: str, points: int = 5) -> Question:
    words = {1: "1 (lowest)", points: f"{points} (highest)"}
    return Question(
        question_id=question_id,
        text=f"How do you rate this text of Writer {label} with regard to creativity?",
        answer=OptionsAnswer(
            options=tuple(
                AnswerOption(value=str(score), text=words.get(score, str(score)), score=score)
                for score in range(1, points + 1)
            ),
            half_points="keep",
        ),
        target=RatingTarget(label=label, item_id="i1", sample=1, criterion="creativity", elicitation="likert"),
    )


def exhibits(
    item: int, labels: str, text: str = "", *, start: int = 1, repeated: bool = False, image: Path | None = None
) -> ExhibitsBlock:
    return ExhibitsBlock(
        heading=Exhibit(
            exhibit_id=f"e{start}",
            caption=f"Prompt {item}",
            label=None,
            item_id=f"i{item}",
            medium="text",
            segments=(Segment(text=f"Write about a lighthouse, number {item}."),),
        ),
        exhibits=tuple(
            Exhibit(
                exhibit_id=f"e{start + place}",
                caption=f"Writer {label}, text {item}",
                label=label,
                item_id=f"i{item}",
                medium="image" if image else "text",
                segments=() if image else (Segment(text=text or f"What {label} wrote about prompt {item}."),),
                file=image,
            )
            for place, label in enumerate(labels, start=1)
        ),
        repeated=repeated,
    )


def instructions(page_id: str = "p1", question_id: str = "q1") -> Page:
    return Page(
        page_id=page_id,
        kind="instructions",
        audience="everybody",
        title="What you are asked to do",
        blocks=(
            TextBlock(markdown="# Please read\n\nTexts by **several writers** follow.\n\n- one\n- two"),
            Question(
                question_id=question_id,
                text="Please confirm that you know what is asked of you.",
                answer=ConfirmAnswer(text="I have read the instructions."),
                target=ConfirmationTarget(confirmation="instructions"),
            ),
        ),
    )


def screening(page_id: str, question_id: str) -> Page:
    return Page(
        page_id=page_id,
        kind="screening",
        audience="people",
        title="A question about you",
        blocks=(
            Question(
                question_id=question_id,
                text="Is English your first language?",
                answer=OptionsAnswer(
                    options=(AnswerOption(value="Yes", text="Yes"), AnswerOption(value="No", text="No"))
                ),
                target=ScreeningTarget(screening_id="native", eligible=("Yes",)),
            ),
        ),
    )


def check(page_id: str, question_id: str) -> Page:
    return Page(
        page_id=page_id,
        kind="check",
        audience="people",
        title="A short question in between",
        blocks=(
            Question(
                question_id=question_id,
                text="Please choose the colour of the sky.",
                answer=OptionsAnswer(
                    options=(AnswerOption(value="green", text="green"), AnswerOption(value="blue", text="blue"))
                ),
                target=CheckTarget(check_id="sky", kind="attention", expected="blue"),
            ),
        ),
    )


def small_form(*, image: Path | None = None, text: str = "", assignment_id: str = "a00001") -> Form:
    """Instructions, screening, reading, comparison, rating: eight questions on five pages."""
    reading = Page(
        page_id="p3",
        kind="reading",
        audience="everybody",
        title="Reading 1 of 1",
        blocks=(TextBlock(markdown="Please read the text of every writer."), exhibits(1, "ABC", text, image=image)),
    )
    comparison = Page(
        page_id="p4",
        kind="comparison",
        audience="everybody",
        title="Comparison 1 of 1: Writer A and Writer B",
        blocks=(
            TextBlock(markdown="Here are the texts of Writer A and Writer B again."),
            exhibits(1, "AB", text, start=10, repeated=True, image=image),
            exhibits(2, "AB", text, start=20, repeated=True, image=image),
            preference("q3", "A", "B"),
            preference("q4", "B", "A"),
        ),
    )
    rating = Page(
        page_id="p5",
        kind="rating",
        audience="everybody",
        title="Rating 1 of 1",
        blocks=(exhibits(1, "A", text, start=30, image=image), likert("q5", "A"), likert("q6", "A")),
    )
    return Form(
        assignment_id=assignment_id,
        title="Lighthouse stories",
        language="en",
        right_to_left=False,
        pages=(instructions(), screening("p2", "q2"), reading, comparison, rating),
    )
