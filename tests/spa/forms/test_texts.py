"""Texts of forms: complete in every language, replaceable, and refused where they would lose their meaning."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import spa.forms
from spa.elicitation import WAYS
from spa.errors import StudyError
from spa.forms.texts import load_texts
from spa.records.texts import placeholders
from spa.study.validation import shipped_languages

LOCALES = Path(spa.forms.__file__).parent / "locales"
ENGLISH = tomllib.loads((LOCALES / "en.toml").read_text(encoding="utf-8"))


def test_three_languages_are_shipped():
    assert shipped_languages() == ("ar", "en", "zh")


def test_first_page_says_what_each_way_asks():
    """A form's first page names what is asked, and leaves out, without an error, what a locale has no words for."""
    missing = [f"page.asks_{way.settings.way}" for way in WAYS if f"asks_{way.settings.way}" not in ENGLISH["page"]]
    assert missing == [], "add them to spa/forms/locales/*.toml"


@pytest.mark.parametrize("language", ["ar", "zh"])
def test_locales_have_the_same_placeholders(language: str):
    """Every language says everything with the same placeholders."""
    own = tomllib.loads((LOCALES / f"{language}.toml").read_text(encoding="utf-8"))
    assert own.keys() == ENGLISH.keys() == {"form", "page"}
    for table in ENGLISH:
        assert own[table].keys() == ENGLISH[table].keys()
        for key, text in ENGLISH[table].items():
            assert placeholders(own[table][key]) == placeholders(text), key
            assert own[table][key].strip(), key
            assert "TODO" not in own[table][key]


@pytest.mark.parametrize(("language", "sign"), [("ar", "\u200e%\u200e"), ("en", "%"), ("zh", "%")])
def test_percentages_are_written_as_the_language_writes_them(language: str, sign: str):
    """By Unicode CLDR 47 (``#,##0%``), the sign follows the number without a space.

    In Arabic between marks from left to right, without which it would stand on this side of a number here, there on
    the other, as the letters before it have it.
    """
    shown = "".join(load_texts(language, {}).entries.values())
    assert re.search(rf"\d{sign}", shown)
    assert not re.search(rf"(?<!\d){sign}|\d[^\d\w]+%|%\d" if sign == "%" else rf"(?<!\d){sign}|\d%", shown)


@pytest.mark.parametrize("language", ["ar", "en", "zh"])
def test_digits_are_western(language: str):
    text = (LOCALES / f"{language}.toml").read_text(encoding="utf-8")
    assert all(character.isascii() for character in text if character.isdecimal())


@pytest.mark.parametrize(
    ("language", "right_to_left"),
    [("en", False), ("en-GB", False), ("zh-CN", False), ("ar", True), ("ar-EG", True), ("zh-Arab", True)],
)
def test_direction_follows_the_language_tag(language: str, right_to_left: bool):
    texts = load_texts(language, {})
    assert (texts.language, texts.right_to_left) == (language, right_to_left)


def test_values_are_put_in_once_and_never_read_as_placeholders():
    texts = load_texts("en", {})
    assert texts.say("form.scale_end", number="{words}", words="{number} {7*7}") == "{words} ({number} {7*7})"


def test_a_missing_key_is_an_error():
    with pytest.raises(StudyError, match=r"form\.no_such"):
        load_texts("en", {}).say("form.no_such")


def test_all_mistakes_in_own_texts_are_told_at_once():
    overrides = {
        "form.sytem_label": "Writer {label}",
        "form.system_label": "Writer",
        "form.reading_title": "Reading {nummer}",
        "form.choice_tie": "  ",
        "form.spa_low": "0 %",
    }
    with pytest.raises(StudyError) as caught:
        load_texts("en", overrides)
    problems = caught.value.problems
    assert len(problems) == 5
    assert "did you mean 'form.system_label'" in problems[0]
    assert "must contain {label}" in problems[1]
    assert "{nummer}, expected one of: {number}, {total}" in problems[2]
    assert "empty" in problems[3]
    assert "must contain {x}" in problems[4]


def test_a_language_of_ones_own_needs_every_text():
    everything = {f"{table}.{key}": text for table, texts in ENGLISH.items() for key, text in texts.items()}
    texts = load_texts("he", everything)
    assert texts.right_to_left
    del everything["form.choice_tie"]
    with pytest.raises(StudyError, match=r"1 are absent: form\.choice_tie"):
        load_texts("he", everything)


@pytest.mark.parametrize("language", ["ar", "en", "zh"])
def test_emphasis_in_instructions_is_rendered(language: str):
    """Markdown reads ``**`` beside full-width punctuation in its own way; nothing may be left as an asterisk."""
    texts = load_texts(language, {})
    for key, text in texts.entries.items():
        if key.startswith("form.instructions_"):
            assert "*" not in MarkdownIt("commonmark").render(text), key
