"""The prompt: the form's text in a closed list of wrappers, and nothing an output could break out of."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from spa.errors import StudyError
from spa.forms.prompt import FilePart, TextPart, Wrapper, answer_format, render_prompt
from spa.forms.texts import load_texts
from spa.records.form import ConfirmationTarget, Form
from spa.records.outputs import Outputs
from spa.records.study import Study
from tests.spa.forms.test_build_form import MEANING, forms_of
from tests.strategies import HOSTILE, outputs_of, small_study, studies

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WRAPPED = {
    "page marker": r"\[p\d+\] ",
    "exhibit marker": r"\[e\d+\] ",
    "fence": r"\n?`{3,}\n",
    "shown above": " ↑",
    "question marker": r"\[q\d+\] ",
    "answer marker": r'- (".*": )?',
    "line": r"\n+",
}


def text_of(form: Form) -> str:
    content = render_prompt(form).chat_messages(
        answer_format(list(form.questions("everybody")), load_texts(form.language, {}))
    )[0]["content"]
    assert isinstance(content, str)
    return content


@given(studies())
@hypothesis_settings(max_examples=40, deadline=None)
def test_wrappers_are_a_closed_list(case: tuple[Study, Outputs]):
    assert set(get_args(Wrapper)) == {*WRAPPED, "answer format", "asked again", "persona"}
    for form in forms_of(*case, 2):
        for part in render_prompt(form).parts:
            if isinstance(part, TextPart) and part.wrapper is not None:
                assert re.fullmatch(WRAPPED[part.wrapper], part.text), part


@given(studies())
@hypothesis_settings(max_examples=40, deadline=None)
def test_prompt_asks_everybodys_questions(case: tuple[Study, Outputs]):
    """The prompt asks what everybody is asked and names no system."""
    for form in forms_of(*case, 2):
        prompt = render_prompt(form)
        asked = [question.question_id for question in form.questions("everybody")]
        assert list(prompt.question_ids) == asked
        marks = [part.text for part in prompt.parts if isinstance(part, TextPart) and part.wrapper == "question marker"]
        assert marks == [f"[{question_id}] " for question_id in asked]
        text = text_of(form)
        assert "zz-" not in text
        text.encode()  # nothing that UTF-8 cannot carry


def test_pages_for_people_are_left_out():
    study = small_study(
        consent={"text": "Consent words."},
        screening=[{"id": "s", "question": "Screening words?", "options": ["yes", "no"], "eligible": ["yes"]}],
        attention_checks=[{"id": "c", "question": "Attention words?", "options": ["a", "b"], "expected": "a"}],
    )
    form = forms_of(study)[0]
    text = text_of(form)
    assert not re.search("Consent words|Screening words|Attention words|I have read the instructions", text)
    people = [q for q in form.questions("people") if q not in list(form.questions("everybody"))]
    assert len(people) == 4
    assert all(f"[{question.question_id}]" not in text for question in people)
    assert any(isinstance(question.target, ConfirmationTarget) for question in people)


def test_each_exhibit_is_sent_once_and_referred_to_afterwards():
    text = text_of(forms_of(small_study(spa={"exposure": 2, "comparisons": "all"}, likert={}))[0])
    assert text.count("Output text i0, 0, 1 was there.") <= 1
    assert text.count("was there.") == 6
    assert text.count("was here.") == 2
    for number in range(1, 9):
        first, *again = [line for line in text.splitlines() if line.startswith(f"[e{number}] ")]
        assert not first.endswith("↑")
        assert again
        assert all(line == f"{first} ↑" for line in again)


@given(st.lists(st.sampled_from(["`", "``", "````", "\n", "[q1] ", "x", " "]), max_size=30).map("".join))
@hypothesis_settings(max_examples=60, deadline=None)
def test_an_output_cannot_close_its_own_fence(hostile: str):
    form = forms_of(small_study(), outputs_of(small_study(), texts=(hostile or "x",)))[0]
    parts = render_prompt(form).parts
    for before, inside, after in zip(parts, parts[1:], parts[2:], strict=False):
        if isinstance(before, TextPart) and before.wrapper == "fence" and isinstance(inside, TextPart):
            if inside.wrapper is not None:
                continue
            fence = before.text.strip()
            assert isinstance(after, TextPart)
            assert after.text == f"\n{fence}\n"
            assert fence not in inside.text


def test_hostile_outputs_stay_between_their_fences():
    study = small_study(spa={"exposure": 6, "comparisons": "chain"})
    text = text_of(forms_of(study, outputs_of(study, texts=HOSTILE))[0])
    assert "\x00" not in text
    assert "\x1b" not in text
    assert "````` \n" not in text
    lines = text.splitlines()
    start = lines.index("`````")  # longer than the four backquotes of the hostile text
    end = lines.index("`````", start + 1)
    assert "[q1] Answer 100" in lines[start:end]


def test_options_show_their_value_where_it_is_not_what_is_read():
    study = small_study(choices={"outputs": "first", "comparisons": [["zzgood", "zzpoor"]]})
    text = text_of(forms_of(study)[0])
    assert re.search(r'- "x": System [AC]\n- "y": System [AC]\n- "tie": Both are equally good\n', text)


@pytest.mark.parametrize(
    ("language", "number", "words"),
    [
        ("en", "a whole number from 0 to 100", "Reply with one JSON object"),
        ("zh", "0 到 100 的整数", "JSON 对象"),
        ("ar", "عدد صحيح من 0 إلى 100", "JSON"),
    ],
)
def test_prompt_answer_format_in_study_language(language: str, number: str, words: str):
    """The answer format names every question in the language of the study."""
    study = small_study(language=language, likert={}, criteria=[MEANING], choices={"ties": False})
    form = forms_of(study)[0]
    told = answer_format(list(form.questions("everybody")), load_texts(language, {}))
    assert number in told
    assert words in told
    lines = [line for line in told.splitlines() if line.startswith("- ")]
    named = re.findall(r'"(q\d+)"', "\n".join(lines))
    assert sorted(named) == sorted(question.question_id for question in form.questions("everybody"))
    assert len(lines) == 3  # percent, 1 to 5, x or y


def test_chat_messages_are_one_user_message():
    form = forms_of(small_study())[0]
    messages = render_prompt(form).chat_messages("ANSWER SO")
    assert [message["role"] for message in messages] == ["user"]
    assert messages[0]["content"].endswith("\nANSWER SO\n")
    json.dumps(messages)


def test_images_are_sent_as_data_where_the_page_shows_them(tmp_path: Path):
    image = tmp_path / "zzgood.png"
    image.write_bytes(PIXEL)
    study = small_study(outputs={"files": ["x"], "kind": "image"}, spa={"exposure": 1})
    form = forms_of(study, outputs_of(study, image=image))[0]
    prompt = render_prompt(form)
    assert sum(isinstance(part, FilePart) for part in prompt.parts) == 3  # once each, though pages repeat them
    content = prompt.chat_messages("ANSWER SO")[0]["content"]
    kinds = [part["type"] for part in content]
    assert kinds == ["text", "image_url"] * 3 + ["text"]
    assert content[1]["image_url"]["url"] == "data:image/png;base64," + base64.b64encode(PIXEL).decode()
    assert content[0]["text"].rstrip().endswith("[e2] System A")
    assert "zz" not in json.dumps([part for part in content if part["type"] == "text"])


def test_an_image_that_is_none_is_one_clear_line(tmp_path: Path):
    broken = tmp_path / "broken.png"
    study = small_study(outputs={"files": ["x"], "kind": "image"})
    prompt = render_prompt(forms_of(study, outputs_of(study, image=broken))[0])
    with pytest.raises(StudyError, match=r"broken\.png: expected an image that can be read"):
        prompt.chat_messages("")
    broken.write_text("<svg onload=alert(1)>")
    with pytest.raises(StudyError, match="expected a PNG, JPEG, GIF or WebP"):
        prompt.chat_messages("")
