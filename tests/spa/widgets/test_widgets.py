"""Every answer widget: page and prompt ask the same, and what comes back is read, kept and read again as the same."""

from __future__ import annotations

import ast
import html
import json
import tomllib
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jsonschema
import numpy as np
import pytest

import spa
from spa import widgets
from spa.elicitation.ratings import RatingTarget
from spa.errors import ResponseError
from spa.forms import assets
from spa.forms.html import PageState, render_page, render_whole
from spa.forms.prompt import answer_format, render_prompt
from spa.forms.texts import load_texts
from spa.raters.endpoints.endpoint import LLMReply
from spa.raters.reading import Distribution, read_answers, value_of
from spa.records.assignment import BlindingKey
from spa.records.form import Answer, AnswerOption, Form, Page, Question
from spa.records.raters import RaterProtocol
from spa.records.submission import Missing, Response
from spa.responses.answers import answer_schema, parse_answer, parse_answers, unknown_keys
from spa.server.form_posts import largest_post, parse_post
from spa.simulation.simulated_annotators import SimulatedAnnotator
from spa.simulation.survey_client import fill_in, read_page
from spa.simulation.true_utilities import even_truth
from spa.widgets import (
    WIDGETS,
    ChoiceListAnswer,
    ConfirmAnswer,
    ExtremesAnswer,
    NumberAnswer,
    OptionsAnswer,
    OrderAnswer,
    SpansAnswer,
    TextAnswer,
    Widget,
    fields_of,
    widget_of,
)
from spa.widgets.free_text.phrases import UnreadableText
from tests.spa.hand_made import hand_made
from tests.toys.star_rating import StarRating, StarsAnswer

INSTALLED = Path(spa.__file__).parents[1]
ROOT = Path(__file__).resolve().parents[3]
STARS = StarRating()
WORDS = tuple(AnswerOption(value=word, text=f"{word} & more, 'so'") for word in ("good", "poor"))
POINTS = tuple(AnswerOption(value=str(n), text=f"{n} of 3", score=float(n)) for n in (1, 2, 3))
LABELS = tuple(AnswerOption(value=label, text=f"System {label}") for label in "ABC")
EXAMPLES: dict[str, tuple[Answer, ...]] = {
    "number": (NumberAnswer(low=0, high=100, scale=100, low_text="0 %: never", high_text="100 %: always", unit="%"),),
    "options": (OptionsAnswer(options=WORDS), OptionsAnswer(options=POINTS, half_points="keep")),
    "order": (OrderAnswer(options=LABELS),),
    "extremes": (ExtremesAnswer(options=LABELS),),
    "choice_list": (
        ChoiceListAnswer(options=tuple(AnswerOption(value=str(n), text=f"{n}% of the best") for n in (5, 50, 95))),
    ),
    "marks": (
        SpansAnswer(
            text="A duck swam by.",
            severities=tuple(AnswerOption(value=each, text=each, score=1.0) for each in ("minor", "major")),
            categories=("fluency", "accuracy"),
            no_errors="There are no errors.",
        ),
    ),
    "text": (TextAnswer(), TextAnswer(required=False)),
    "confirmation": (ConfirmAnswer(text="I have read this."),),
    "star_rating": (StarsAnswer(stars=5, best="five are best"),),
}
# Of each example: what a page sends, what a model answers, and what both mean; then what means nothing.
MEANT: dict[str, tuple[dict[str, str], Any, float | str, Any]] = {
    "number-1": ({"q1": "70"}, 70, 0.7, 0.5),
    "options-1": ({"q1": "poor"}, "poor", "poor", "fair"),
    "options-2": ({"q1": "3"}, 3, 3.0, 4),
    "order-1": ({"q1-A": "2", "q1-B": "1", "q1-C": "3"}, {"A": 2, "B": 1, "C": 3}, "B > A > C", {"A": 2, "B": 1}),
    "extremes-1": ({"q1-best": "B", "q1-worst": "A"}, {"best": "B", "worst": "A"}, "B > A", {"best": "B"}),
    "choice_list-1": (
        {"q1-5": "sure", "q1-50": "sure", "q1-95": "chance"},
        {"5": "sure", "50": "sure", "95": "chance"},
        "5 sure, 50 sure, 95 chance",
        {"5": "sure", "95": "chance"},
    ),
    "marks-1": (
        {"q1": '[{"start": 2, "end": 6, "severity": "minor", "category": "fluency"}]'},
        [{"quote": "duck", "occurrence": 1, "severity": "minor", "category": "fluency"}],
        '{"characters":15,"spans":[{"start":2,"end":6,"text":"duck","severity":"minor","weight":1.0,"category":"fluency",'
        '"reason":null}]}',
        [{"quote": "duck", "occurrence": 1, "severity": "slight", "category": "fluency"}],
    ),
    "text-1": ({"q1": "Because."}, "Because.", "Because.", ""),
    "text-2": ({"q1": ""}, "", "", None),
    "confirmation-1": ({"q1": "yes"}, True, "yes", "no"),
    "star_rating-1": ({"q1": "**"}, "**", 2.0, "******"),
}
TARGET = RatingTarget(label="A", item_id="i1", sample=1, criterion="overall", elicitation="likert")
FREE = RaterProtocol(conversation="question", answer_format="text")
TEXTS = load_texts("en", {})
ANSWERS = [
    pytest.param(answer, id=f"{key}-{number}")
    for key, answers in EXAMPLES.items()
    for number, answer in enumerate(answers, start=1)
]
of_every_widget = pytest.mark.parametrize("answer", ANSWERS)


@pytest.fixture(autouse=True)
def with_stars(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add the toy to the registry; no file of the product knows it."""
    monkeypatch.setattr(widgets, "WIDGETS", (*WIDGETS, STARS))
    assets.asset_text.cache_clear()
    assets.asset_name.cache_clear()
    yield
    assets.asset_text.cache_clear()
    assets.asset_name.cache_clear()
    widgets._FOUND.pop(StarsAnswer, None)


def asked(answer: Answer) -> Question:
    return Question(question_id="q1", text="How is it?", answer=answer, target=TARGET)


def form_of(question: Question) -> Form:
    page = Page(page_id="p1", kind="rating", title="Rate", blocks=(question,))
    return Form(assignment_id="a1", title="S", language="en", right_to_left=False, pages=(page,))


def values_of(answer: Answer) -> list[str]:
    """Return answers as simulated people write them."""
    widget, rng = widget_of(answer), np.random.default_rng(7)
    return list(dict.fromkeys([widget.careless(answer, None), *(widget.careless(answer, rng) for _ in range(20))]))


def allowed_by(schema: dict[str, Any]) -> list[Any]:
    """Return some values that a schema allows."""
    if "const" in schema or "enum" in schema:
        return [schema["const"]] if "const" in schema else list(schema["enum"])
    if "anyOf" in schema:
        return [value for one in schema["anyOf"] for value in allowed_by(one)]
    match schema["type"]:
        case "integer":
            return [schema.get("minimum", 1), schema.get("maximum", 2)]
        case "string":
            return ["duck"]
        case "array":
            return [[], allowed_by(schema["items"])]
        case "object":
            parts = {name: allowed_by(part) for name, part in schema["properties"].items()}
            return [{name: part[place % len(part)] for name, part in parts.items()} for place in (0, 1)]
    raise AssertionError(schema)


def test_each_widget_has_an_example() -> None:
    assert set(EXAMPLES) == {widget.key for widget in widgets.WIDGETS}
    assert set(MEANT) == {f"{key}-{n}" for key, answers in EXAMPLES.items() for n in range(1, len(answers) + 1)}
    assert {type(answer) for answers in EXAMPLES.values() for answer in answers} == {w.answer for w in widgets.WIDGETS}
    for key, answers in EXAMPLES.items():
        assert {widget_of(answer).key for answer in answers} == {key}


@of_every_widget
def test_what_a_page_sends_is_kept_and_read_again(answer: Answer) -> None:
    """A page's fields -> value -> the raw form in the store -> the same value."""
    question, widget = asked(answer), widget_of(answer)
    page = form_of(question).pages[0]
    for value in values_of(answer):
        fields = widget.sends(answer, "q1", value)
        assert set(fields) <= set(fields_of(question).values())
        body = urlencode(fields).encode()
        assert len(body) <= largest_post(page)
        payload = parse_post(body).fields
        assert payload is not None
        (found,) = parse_answers([question], payload)
        assert isinstance(found, Response), found
        sent = widget.sent(answer, "q1", payload)
        again = parse_answer(question, found.raw if isinstance(sent, str) else json.loads(found.raw or ""))
        assert isinstance(again, Response)
        assert again.value == found.value
        assert unknown_keys([question], {**payload, "q1-other": "x"}) == ("q1-other",)


@pytest.mark.parametrize("example", MEANT)
def test_what_is_sent_means_what_it_says(example: str) -> None:
    """A page and a model that say the same are read as the same known value; what means nothing is missing."""
    key, _, number = example.rpartition("-")
    question = asked(EXAMPLES[key][int(number) - 1])
    by_page, by_model, value, nothing = MEANT[example]
    (from_page,) = parse_answers([question], by_page)
    reply = LLMReply(outcome="answered", text=json.dumps({"q1": by_model}))
    (from_model,) = read_answers([question], reply, RaterProtocol())
    assert [getattr(one, "value", one) for one in (from_page, from_model)] == [value, value]
    assert isinstance(parse_answer(question, nothing), Missing)


@of_every_widget
def test_prompt_names_all_that_may_be_answered(answer: Answer) -> None:
    """All options stand on page and in prompt, and all that the schema takes stands in the answer format."""
    question = asked(answer)
    form = form_of(question)
    prompt = "".join(fragment.text or "" for fragment in render_prompt(form).fragments)
    page = html.unescape(render_page(form, form.pages[0], TEXTS).replace("<small>", "").replace("</small>", ""))
    options = [
        one for field in fields(answer) if isinstance(found := getattr(answer, field.name), tuple) for one in found
    ]
    for option in options:
        if isinstance(option, AnswerOption):
            assert option.text in prompt
            assert option.text in page
    wanted = answer_format([question], TEXTS)
    assert [word for word in words_taken(answer_schema([question])["properties"]["q1"]) if word not in wanted] == []


def words_taken(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the values, ends and names that a schema takes, as JSON writes them."""
    yield from (str(value) for value in schema.get("enum", ()))
    yield from (str(schema[end]) for end in ("minimum", "maximum") if end in schema)
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from words_taken(inner)
    for inner in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        yield from words_taken(inner)


@of_every_widget
def test_a_page_asks_what_the_prompt_asks(answer: Answer) -> None:
    """Also: a page serves exactly the fields that it reads, and shows an answer of before."""
    question, widget = asked(answer), widget_of(answer)
    form = form_of(question)
    page = render_page(form, form.pages[0], TEXTS)
    prompt = "".join(fragment.text or "" for fragment in render_prompt(form).fragments)
    offers = [one.text for one in widget.offers(answer)]
    for said in (html.unescape(page.replace("<small>", "").replace("</small>", "")), prompt):
        places = [said.find(text, said.find("How is it?")) for text in offers]
        assert -1 not in places
        assert "None" not in said
    served = read_page(page).form
    assert served is not None
    assert served.offered == widget.controls(answer, "q1")
    assert '"q1"' in answer_format([question], TEXTS)
    value = values_of(answer)[0]
    sent = {name: text for name, text in widget.sends(answer, "q1", value).items() if text}
    shown = render_page(form, form.pages[0], TEXTS, state=PageState(answers=sent))
    assert shown != page
    assert read_page(shown).form == served
    assert render_whole(form, TEXTS).count('name="q1') == page.count('name="q1')


@of_every_widget
@pytest.mark.parametrize("gap", ["empty", "unusable"])
def test_a_gap_is_said_beside_the_question(answer: Answer, gap: Any) -> None:
    form = form_of(asked(answer))
    page = render_page(form, form.pages[0], TEXTS, state=PageState(gaps={"q1": gap}))
    said = TEXTS.say("page.gap_empty") if gap == "empty" else widget_of(answer).gap(answer, TEXTS.say)
    assert html.escape(said, quote=False) in page
    assert page.count('aria-invalid="true"') == 1
    assert page.count('id="q1-gap"') == 1


@of_every_widget
def test_a_schema_allows_only_what_is_read(answer: Answer) -> None:
    question, widget = asked(answer), widget_of(answer)
    schema = answer_schema([question])
    jsonschema.Draft202012Validator.check_schema(schema)
    for value in allowed_by(schema["properties"]["q1"]):
        jsonschema.validate({"q1": value}, schema)
        assert isinstance(parse_answer(question, value), Response), value
    for value in values_of(answer):
        as_json = widget.as_json(answer, value)
        jsonschema.validate({"q1": as_json}, schema)
        (by_page,) = parse_answers([question], widget.sends(answer, "q1", value))
        reply = LLMReply(outcome="answered", text=json.dumps({"q1": as_json}))
        (by_model,) = read_answers([question], reply, RaterProtocol())
        assert isinstance(by_model, Response), by_model
        assert by_model.value == getattr(by_page, "value", None)


@of_every_widget
def test_free_text_is_read_or_missing_with_a_reason(answer: Answer) -> None:
    question, widget = asked(answer), widget_of(answer)
    if type(widget).read_text is Widget.read_text:  # asked of people alone
        with pytest.raises(TypeError, match="no free text answers"):
            widget.read_text(answer, question, "yes", reading="strict")
        return
    for value in values_of(answer):
        said = widget.in_words(answer, widget.as_json(answer, value))
        (found,) = read_answers([question], LLMReply(outcome="answered", text=said), FREE)
        (by_page,) = parse_answers([question], widget.sends(answer, "q1", value))
        assert isinstance(found, Response), (said, found)
        assert found.value == getattr(by_page, "value", None)
    said = "I would rather talk of the weather."
    (found,) = read_answers([question], LLMReply(outcome="answered", text=said), FREE)
    assert isinstance(found, Response) == widget.is_free
    if isinstance(found, Missing):
        assert found.reason
        assert found.raw == said
        with pytest.raises(UnreadableText):
            widget.read_text(answer, question, said, reading="strict")


@of_every_widget
@pytest.mark.parametrize(
    "raw",
    [
        "",
        " ",
        "\u200e",
        "101",
        "-3",
        "x",
        True,
        False,
        1e99,
        pytest.param(10**5000, id="huge"),
        [],
        [[]],
        {},
        {"A": "x"},
        [{"quote": 3}],
    ],
)
def test_whatever_arrives_is_read_or_missing(answer: Answer, raw: object) -> None:
    found = parse_answer(asked(answer), raw)
    assert isinstance(found, Response) or found.reason
    assert found.raw is not None


@of_every_widget
def test_a_page_left_blank_has_no_answer(answer: Answer) -> None:
    """An empty text is an answer only where none is required."""
    fields = {name: " " for name, values in widget_of(answer).controls(answer, "q1").items() if values is None}
    (found,) = parse_answers([asked(answer)], fields)
    if isinstance(answer, TextAnswer) and not answer.required:
        assert getattr(found, "value", None) == ""
    else:
        assert getattr(found, "reason", None) == "no answer"


@pytest.mark.parametrize(
    ("answer", "fields"),
    [
        (TextAnswer(longest=3000), {"q1": "好" * 3000}),
        (OptionsAnswer(options=(AnswerOption(value="好" * 900, text="x"),)), {"q1": "好" * 900}),
        (
            replace(EXAMPLES["marks"][0], text="好 " * 900),
            {"q1": "", "q1-1": "好 " * 900, "q1-2": "好 " * 900},
        ),
    ],
)
def test_the_longest_answer_may_be_sent(answer: Answer, fields: dict[str, str]) -> None:
    assert isinstance(parse_answers([asked(answer)], fields)[0], Response)
    assert len(urlencode(fields).encode()) <= largest_post(form_of(asked(answer)).pages[0])


@of_every_widget
def test_answers_that_are_counted_have_probabilities(answer: Answer) -> None:
    """The most probable answer, where it is certain, is what a page that sends it is read as."""
    question, widget = asked(answer), widget_of(answer)
    values = widget.values(answer)
    assert set(widget.scores(answer)) <= set(values)
    for sure in values:
        found = Distribution(probabilities={value: float(value == sure) for value in values}, mass=1.0)
        assert value_of(found, question) == getattr(parse_answer(question, sure), "value", None)


@of_every_widget
def test_ratings_rise_with_what_is_rated(answer: Answer) -> None:
    widget = widget_of(answer)
    scores = widget.scores(answer)
    if not scores:
        return
    given = [scores[widget.at(answer, share)] for share in (0, 0.2, 0.5, 0.8, 1)]
    assert given == sorted(given)
    assert (given[0], given[-1]) == (min(scores.values()), max(scores.values()))


def starred() -> tuple[Form, BlindingKey]:
    """Return a form with stars in the place of its ratings."""
    form, key = hand_made()

    def with_stars(block: Any) -> Any:
        rated = isinstance(block, Question) and isinstance(block.target, RatingTarget)
        return replace(block, answer=EXAMPLES["star_rating"][0]) if rated else block

    pages = tuple(replace(page, blocks=tuple(map(with_stars, page.blocks))) for page in form.pages)
    return replace(form, pages=pages), key


def test_toy_widget_answered_by_person_and_model() -> None:
    """Rendered, posted, asked in a prompt, its reply read; simulated people and models answer."""
    form, key = starred()
    annotator = SimulatedAnnotator(even_truth(["good", "poor"], seed=1), rng=np.random.default_rng(2))
    answers = annotator.answers(form, key)
    ratings = [one for one in form.questions("everybody") if isinstance(one.answer, StarsAnswer)]
    assert len(ratings) == 4
    (page,) = {page.page_id: page for page in form.pages if ratings[0] in page.questions}.values()
    served = read_page(render_page(form, page, TEXTS)).form
    assert served is not None
    payload = fill_in(served, form, answers)
    read = parse_answers(page.questions, payload)
    assert all(isinstance(one, Response) and one.value in range(1, 6) for one in read)
    with pytest.raises(ResponseError, match="expected fields"):
        fill_in(replace(served, offered={}), form, answers)
    as_json = {one.question_id: widget_of(one.answer).as_json(one.answer, answers[one.question_id]) for one in ratings}
    reply = LLMReply(outcome="answered", text=json.dumps(as_json))
    assert read_answers(ratings, reply, RaterProtocol()) == tuple(read)
    page_html = render_page(form, page, TEXTS)
    assert assets.asset_name("star_rating.js") in page_html
    assert assets.media_types()["star_rating.js"].startswith("text/javascript")
    assert assets.asset_text("form.css").endswith(STARS.text_of("star_rating.css"))
    assert assets.asset_text("star_rating.js") == STARS.text_of("star_rating.js")
    assert "classList" in render_whole_posted(form)


def render_whole_posted(form: Form) -> str:
    from spa.forms.html import Posting

    posting = Posting(script="1", origins=("https://example.org",), fields={})
    return render_whole(form, TEXTS, posting=posting)


def test_what_is_no_answer_of_a_widget_is_refused() -> None:
    class OtherAnswer(Answer):
        """None of a widget."""

    with pytest.raises(TypeError, match=r"no widget in spa\.widgets takes OtherAnswer"):
        widget_of(OtherAnswer())


def test_nobody_else_tells_widgets_apart() -> None:
    """A way of asking knows the widget that it chose; all others ask the widget of an answer."""
    names = {widget.answer.__name__ for widget in WIDGETS}
    found = []
    for package in ("spa", "mturk", "prolific", "analysis", "streamlit_app"):
        for path in (INSTALLED / package).rglob("*.py"):
            if any(path.is_relative_to(INSTALLED / "spa" / room) for room in ("widgets", "elicitation")):
                continue
            text = path.read_text(encoding="utf-8")
            if not any(name in text for name in names):
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.MatchClass) and ast.unparse(node.cls) in names:
                    found.append(f"{path}:{node.lineno}")
                elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
                    told = {one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name)}
                    if told & names:
                        found.append(f"{path}:{node.lineno}")
    assert found == []


def test_the_contracts_of_imports_name_every_widget() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    named = [each.get("modules") or each.get("protected_modules") for each in contracts if "widget" in each["name"]]
    assert named == 2 * [[type(widget).__module__ for widget in WIDGETS]]


def test_the_frame_of_the_pages_looks_into_no_answer() -> None:
    """It imports the parts of style and script, and knows no more of the widgets."""
    templates = INSTALLED / "spa" / "forms" / "templates"
    text = "".join(path.read_text(encoding="utf-8") for path in templates.glob("*.html"))
    assert ".answer" not in text.replace("state.answers", "")
    for name in ("form.css", "form.js"):
        assert "import " not in assets.asset_text(name)
