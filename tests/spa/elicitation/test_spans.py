"""Error spans: what is read from pages and replies, and how it travels from the study file to the table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spans import SpanTarget, marked_errors, true_errors, words_of
from spa.forms.html import PageState, render_page
from spa.forms.prompt import answer_format, render_prompt
from spa.forms.texts import load_texts
from spa.media.markdown_html import rendered
from spa.records.form import AnswerOption, Form, Question
from spa.records.submission import Missing, Response
from spa.responses.answers import answer_schema, parse_answer, parse_answers, unknown_keys
from spa.responses.export import export_tables
from spa.widgets import SpansAnswer
from spa.widgets.free_text.phrases import UnreadableText
from spa.widgets.marks import MarkedSpan, MarksWidget, read_spans, spans_from_json
from tests.spa.forms.test_build_form import forms_of
from tests.spa.forms.test_form_equality import check_one_form
from tests.strategies import HOSTILE, outputs_of, small_study

TEXT = "A 🦆 swam. The duck is a duck, <b>said</b> نعم."
ANSWER = SpansAnswer(
    text=TEXT,
    severities=(
        AnswerOption(value="minor", text="minor", score=1.0),
        AnswerOption(value="major", text="major", score=5.0),
    ),
    categories=("fluency", "accuracy"),
    no_errors="No errors",
)
WIDGET = MarksWidget()
QUESTION = Question(
    question_id="q1",
    text="Mark.",
    answer=ANSWER,
    target=SpanTarget(label="A", item_id="i1", sample=1, criterion="overall"),
)


def marked(raw: object) -> tuple[MarkedSpan, ...]:
    answer = parse_answer(QUESTION, raw)
    assert isinstance(answer, Response), answer
    found = spans_from_json(str(answer.value))
    assert found.characters == len(TEXT)
    return found.spans


def refusal(raw: object) -> str:
    answer = parse_answer(QUESTION, raw)
    assert isinstance(answer, Missing), answer
    return answer.reason


def test_offsets_are_code_points_and_half_open() -> None:
    (span,) = marked('[{"start": 2, "end": 3, "severity": "major", "category": "accuracy"}]')
    assert (span.text, span.weight, span.category, span.reason) == ("🦆", 5.0, "accuracy", None)


@pytest.mark.parametrize(
    ("record", "place", "reason"),
    [
        ({"quote": "swam"}, (4, 8), None),
        ({"quote": "🦆 swam", "occurrence": "1"}, (2, 8), None),
        ({"quote": "duck"}, None, "stands 2 times in the text"),
        ({"quote": "duck", "occurrence": 2}, (24, 28), None),
        ({"quote": "duck", "occurrence": 3}, None, "stands 2 times in the text, got occurrence 3"),
        ({"quote": "goose"}, None, "not in the text"),
        ({"quote": "Duck"}, None, "not in the text, but with another case or quotation marks"),
        ({"quote": "swam", "occurrence": 2}, None, "stands once in the text, got occurrence 2"),
        ({"quote": ""}, None, "empty quote"),
    ],
)
def test_span_quotes_match_verbatim_or_have_reason(
    record: dict[str, object], place: tuple[int, int] | None, reason: str | None
) -> None:
    """Quotes are matched verbatim and kept with a reason where they are not."""
    (span,) = marked([{**record, "severity": "minor"}])
    assert span.reason == reason
    assert (span.start, span.end) == (place or (None, None))
    assert span.text == record["quote"]
    if place is not None:
        assert TEXT[slice(*place)] == record["quote"]


def test_quotes_of_a_source_stand_where_its_words_are_shown() -> None:
    """A model reads and quotes Markdown; offsets are those of the text that people see and mark."""
    source = "A **big duck** and [another](https://x.example) duck."
    answer = replace(ANSWER, text=rendered(source).text, source=source)

    def found(quote: str, **more: object) -> tuple[str, str | None]:
        raw = [{"quote": quote, "severity": "minor", "category": None, **more}]
        (span,) = spans_from_json(read_spans(answer, raw)).spans
        assert span.start is None or answer.text[span.start : span.end] == span.text
        return span.text, span.reason

    assert found("**big duck** and") == ("big duck and", None)
    assert found("[another](https://x.example)") == ("another", None)
    assert found("big duck") == ("big duck", None)
    assert found("x.example") == ("x.example", "not in the text")
    assert found("duck", occurrence=2) == ("duck", None)


def test_curly_quotation_marks_are_named() -> None:
    answer = replace(ANSWER, text="She said \u201cit\u2019s late\u201d.")
    (span,) = spans_from_json(read_spans(answer, [{"quote": '"it\'s late"', "severity": "minor"}])).spans
    assert (span.start, span.reason) == (None, "not in the text, but with another case or quotation marks")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("", "no answer"),
        ("no errors", "expected a JSON list"),
        ('{"quote": "swam"}', "expected a list"),
        (["swam"], "marked error 1: expected an object"),
        ([{"quote": "swam", "severity": "fatal"}], "expected a severity of minor, major, got 'fatal'"),
        ([{"quote": "swam", "severity": "minor", "category": "taste"}], "expected a category of fluency, accuracy"),
        ([{"start": 0, "end": 0, "severity": "minor"}], f"0 <= start < end <= {len(TEXT)}"),
        ([{"start": True, "end": 2, "severity": "minor"}], "expected a quote"),
        ([{"start": 0, "end": len(TEXT) + 1, "severity": "minor"}], "expected a quote"),
        ("[" * 100_000, "expected a JSON list"),
    ],
)
def test_what_marks_nothing_is_missing_with_its_reason(raw: object, said: str) -> None:
    reason = refusal(raw)
    assert said in reason
    assert len(reason) < 500
    assert "\n" not in reason


def test_no_errors_is_an_answer_and_differs_from_none() -> None:
    assert marked("[]") == marked([]) == ()
    assert refusal(None) == "no answer"


SPANS = st.lists(
    st.tuples(st.integers(0, len(TEXT) - 1), st.integers(1, 8), st.sampled_from(["minor", "major"])), max_size=6
)


@given(SPANS)
def test_what_was_sent_is_shown_again_and_reads_the_same(spans: list[tuple[int, int, str]]) -> None:
    sent = [{"start": a, "end": min(a + n, len(TEXT)), "severity": severity} for a, n, severity in spans]
    shown = WIDGET.shown_again(ANSWER, "q1", {"q1": json.dumps(sent)})
    assert marked(shown.value) == marked(sent)
    assert shown.none == (not spans)


def test_a_page_without_script_sends_a_list_for_each_severity() -> None:
    fields = {"q1": "", "q1-1": " swam \r\n\r\nduck", "q1-2": "Gans"}
    (answer,) = parse_answers([QUESTION], fields)
    assert isinstance(answer, Response)
    found = [(span.text, span.severity, span.reason) for span in spans_from_json(str(answer.value)).spans]
    assert found == [
        ("swam", "minor", None),
        ("duck", "minor", "stands 2 times in the text"),
        ("Gans", "major", "not in the text"),
    ]
    assert WIDGET.shown_again(ANSWER, "q1", fields).lines == ("swam\nduck", "Gans")
    assert unknown_keys([QUESTION], {**fields, "q1-none": "yes", "q1-3": ""}) == ("q1-3",)


def test_spans_no_errors_box_without_script() -> None:
    """Without script a box says no errors and contradicts a list."""
    (none,) = parse_answers([QUESTION], {"q1": "", "q1-1": "", "q1-2": "", "q1-none": "yes"})
    (both,) = parse_answers([QUESTION], {"q1": "", "q1-1": "swam", "q1-none": "yes"})
    (nothing,) = parse_answers([QUESTION], {"q1": "", "q1-1": " ", "q1-2": ""})
    assert isinstance(none, Response)
    assert isinstance(both, Missing)
    assert "not both" in both.reason
    assert isinstance(nothing, Missing)
    assert nothing.reason == "no answer"
    shown = WIDGET.shown_again(ANSWER, "q1", {"q1": "", "q1-1": "swam", "q1-none": "yes"})
    assert (shown.lines, shown.none) == (("swam", ""), True)


def test_only_a_quote_without_a_place_may_hold_anything() -> None:
    answers = [parse_answer(QUESTION, [{"quote": quote, "severity": "minor"}]) for quote in ("swam", "my name")]
    values = [answer.value for answer in answers if isinstance(answer, Response)]
    assert [WIDGET.keeps_written(str(value)) for value in values] + [WIDGET.keeps_written(None)] == [False, True, False]


def test_a_reply_in_prose_holds_one_list() -> None:
    text = 'I see [one] error: [{"quote": "swam", "severity": "minor"}]'
    assert marked(WIDGET.read_text(ANSWER, QUESTION, text, reading="strict"))[0].start == 4
    for reply in ("none at all", "[] or []"):
        with pytest.raises(UnreadableText, match="expected one JSON list"):
            WIDGET.read_text(ANSWER, QUESTION, reply, reading="strict")


def test_the_schema_offers_what_is_read() -> None:
    item = answer_schema([QUESTION])["properties"]["q1"]["items"]
    assert item["required"] == ["quote", "occurrence", "severity", "category"]
    assert item["properties"]["severity"]["enum"] == ["minor", "major"]
    record = {"quote": "x", "occurrence": -4, "severity": "major", "category": "fluency"}
    assert marked([record])[0].reason == "not in the text"


def spans_form(**section: object) -> Form:
    return forms_of(small_study(spa=None, spans={"outputs": "first", **section}))[0]


def test_each_output_is_marked_and_then_scored() -> None:
    form = spans_form()
    asked = [question for question in form.questions("everybody")]
    kinds = [type(question.target) for question in asked]
    assert kinds == [SpanTarget, RatingTarget] * (len(kinds) // 2)
    for errors, score in zip(asked[::2], asked[1::2], strict=True):
        assert isinstance(errors.target, SpanTarget)
        assert isinstance(score.target, RatingTarget)
        assert isinstance(errors.answer, SpansAnswer)
        assert (errors.target.label, errors.target.item_id) == (score.target.label, score.target.item_id)
        assert score.target.elicitation == "continuous"
        assert [one.score for one in errors.answer.severities] == [1.0, 5.0]
    assert all(isinstance(one.target, SpanTarget) for one in spans_form(score=False).questions("everybody"))


def test_a_page_escapes_the_text_and_a_prompt_says_how_to_quote() -> None:
    form = spans_form(categories=["fluency"])
    page = next(page for page in form.pages if page.kind == "rating")
    texts = load_texts("en", {})
    question = page.questions[0]
    assert isinstance(question.answer, SpansAnswer)
    answers = {question.question_id: '[{"quote":"<b>","severity":"minor"}]'}
    html = render_page(form, page, texts, state=PageState(answers=answers))
    assert "<b>" not in html
    assert "&lt;b&gt;</textarea>" in html
    said = answer_format([question], texts)
    assert '"severity" is one of "minor", "major". "category" is added: one of "fluency".' in said


@pytest.mark.parametrize("language", ["en", "zh", "ar"])
def test_severities_are_explained_by_default(language: str) -> None:
    """In the study's words, else the language's for minor and major; severities of one's own have their names alone."""
    texts = load_texts(language, {})
    form = forms_of(small_study(language=language, spa=None, spans={}))[0]
    page = next(page for page in form.pages if page.kind == "rating")
    explained = texts.say("form.spans_severity", severity="major", meaning=texts.say("form.spans_major"))
    assert explained in render_page(form, page, texts)
    assert explained in render_prompt(form).chat_messages()[0]["content"]
    own = spans_form(severities=["slip", "fault"], meanings=["may pass", "must go"]).questions("everybody")
    assert [one.text for one in MarksWidget().offers(next(own).answer)][:2] == ["slip: may pass", "fault: must go"]
    bare = spans_form(severities=["minor", "fault"]).questions("everybody")
    assert [one.text for one in MarksWidget().offers(next(bare).answer)][:2] == ["minor", "fault"]


@pytest.mark.parametrize("language", ["en", "zh", "ar"])
def test_page_and_prompt_say_the_same(language: str) -> None:
    study = small_study(language=language, spa=None, spans={"outputs": "all", "categories": ["<b>fluency</b>"]})
    for form in forms_of(study, outputs_of(study, texts=HOSTILE), 2):
        check_one_form(form)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"severities": ["minor", "minor"]}, '[spans] severities: expected no duplicates, got "minor" twice'),
        ({"weights": [1]}, "[spans] weights: expected one for each severity, got 1 for 2"),
        ({"meanings": ["slight"]}, "[spans] meanings: expected one for each severity, got 1 for 2"),
    ],
)
def test_a_wrong_section_is_refused(section: dict[str, object], said: str) -> None:
    from spa.study.validation import validate_study

    problems = [one.message for one in validate_study(small_study(spa=None, spans=section))]
    assert any(said in one for one in problems), problems


def test_simulated_annotators_find_errors_at_known_places() -> None:
    rng = np.random.default_rng(7)
    answer = SpansAnswer(text="word " * 400, severities=ANSWER.severities, categories=(), no_errors="none")
    errors = true_errors(answer, 0.3, ("s", "i", "1"))
    assert errors == true_errors(answer, 0.3, ("s", "i", "1")) != true_errors(answer, 0.3, ("t", "i", "1"))
    assert len(errors) == pytest.approx(120, abs=30)
    truth = {error[:2] for error in errors}
    hits = marks = 0
    for _ in range(60):
        found = json.loads(marked_errors(answer, errors, recall=0.7, precision=0.8, rng=rng))
        hits += sum((mark["start"], mark["end"]) in truth for mark in found)
        marks += len(found)
        assert {(mark["start"], mark["end"]) for mark in found} <= {*words_of(answer.text)}
    assert hits / (60 * len(errors)) == pytest.approx(0.7, abs=0.03)
    assert hits / marks == pytest.approx(0.8, abs=0.03)


def test_what_is_quoted_is_found_again() -> None:
    sent = [{"start": start, "end": end, "severity": "minor"} for start, end in words_of(TEXT)]
    again = [(span.start, span.end) for span in marked(WIDGET.as_json(ANSWER, json.dumps(sent)))]
    assert again == words_of(TEXT)


def test_an_example_goes_from_study_file_to_table(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    for command in (
        ["init", str(tmp_path), "--example", "spans"],
        ["build", str(study), "--annotators", "3"],
        ["simulate", str(study)],
    ):
        assert CliRunner().invoke(main, command).exit_code == 0
    with open_workspace(study, rehearsal=True) as workspace:
        table = export_tables(workspace.store).spans
        texts = {(one.item_id, one.system): one.text for one in workspace.outputs.all()}
    assert table.select("annotator_id", "item_id", "system").n_unique() == 36
    for row in table.iter_rows(named=True):
        text = texts[row["item_id"], row["system"]] or ""
        assert row["characters"] == len(text)
        if row["start"] is None:
            assert row["reason"] == "no errors"
        else:
            assert text[row["start"] : row["end"]] == row["text"]


def test_weights_are_those_of_the_study() -> None:
    form = spans_form(severities=["a", "b", "c"], weights=[0.5, 2, 9])
    answer = next(form.questions("everybody")).answer
    assert isinstance(answer, SpansAnswer)
    assert [(one.value, one.score) for one in answer.severities] == [("a", 0.5), ("b", 2.0), ("c", 9.0)]
