"""Answers as chat models write them are shown whole, with their formulas, and do not change their neighbours."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape

import pytest

from spa.media.markdown_html import rendered
from tests.spa.media import chat_answers, chat_answers_elsewhere, chat_answers_in_prose
from tests.spa.media.chat_answers import ChatAnswer

ANSWERS = (*chat_answers.ANSWERS, *chat_answers_in_prose.ANSWERS, *chat_answers_elsewhere.ANSWERS)
WORD = re.compile(r"[^\W_]+")
ENTITY = re.compile(r"&#?\w+;")
BETWEEN = "Something between."


def named(one: ChatAnswer) -> str:
    return one.name


def words_shown(html: str) -> list[str]:
    """Return the words outside formulas; elements part words, as their marks do in the source, but not in code."""
    html = re.sub(r"<math .*?</math>|<(div|span) class=\"formula\".*?</\1>", " ", html, flags=re.DOTALL)
    html = re.sub(r'<span class="[kmsnc]">([^<]*)</span>', r"\1", html)
    return WORD.findall(unescape(re.sub(r"<[^>]*>", " ", html)))


def test_answers_are_many_and_have_names_of_their_own() -> None:
    assert len(ANSWERS) >= 60
    assert len({one.name for one in ANSWERS}) == len({one.source for one in ANSWERS}) == len(ANSWERS)


@pytest.mark.parametrize("one", ANSWERS, ids=named)
def test_answers_are_shown_with_each_formula(one: ChatAnswer) -> None:
    """Prices stay text; formulas are drawn, but for those that are known to be shown as their source."""
    made = rendered(one.source)
    assert made.lost(one.source) == ()
    assert made.html.count("<math ") + made.html.count('class="formula"') == one.formulas
    assert [found.rpartition(": not known")[0] for found in made.formulas] == list(one.as_source)


@pytest.mark.parametrize("one", ANSWERS, ids=named)
def test_answers_say_the_words_of_their_source_in_order(one: ChatAnswer) -> None:
    """What is left out are formulas, addresses and languages of code."""
    made = rendered(one.source)
    shown, source = words_shown(made.html), WORD.findall(one.source)
    left = iter(source)
    assert [word for word in shown if word not in left] == []
    assert Counter(source) - Counter(shown) <= Counter(WORD.findall(made.hidden + " ".join(ENTITY.findall(one.source))))
    assert made.text == unescape(re.sub(r"<[^>]*>", "", made.html))


@pytest.mark.parametrize("step", [1, 7, 20])
def test_answers_do_not_change_their_neighbours(step: int) -> None:
    """Two answers with a paragraph between them are shown as they are alone, where no code stays open."""
    whole = [one for one in ANSWERS if one.name not in ("half_finished", "links")]
    for at, one in enumerate(whole):
        other = whole[(at + step) % len(whole)]
        joined = rendered(f"{one.source}\n\n{BETWEEN}\n\n{other.source}").html
        assert joined == rendered(one.source).html + rendered(BETWEEN).html + rendered(other.source).html, one.name


def test_answers_with_money_have_no_formula_of_prices() -> None:
    for name in ("prices", "prices_in_a_table", "currencies", "currency_signs_in_code", "shell"):
        (source,) = (one.source for one in ANSWERS if one.name == name)
        text = rendered(source).text
        assert text.count("$") == source.count("$")


@pytest.mark.parametrize("digits", ["4", "3 + 4", "1/2", "10 - 4", "2 \\times 3", "0.5", "1,000"])
def test_numbers_between_dollars_are_formulas(digits: str) -> None:
    """As chats write them; what stands in money reads on with a word."""
    assert rendered(f"So it is ${digits}$, then.").html.count("<math ") == 1
    assert rendered(f"所以${digits}$。").html.count("<math ") == 1


@pytest.mark.parametrize(
    "name", ["align", "align*", "equation", "equation*", "gather", "gather*", "multline", "eqnarray", "aligned"]
)
def test_environments_without_brackets_are_formulas(name: str) -> None:
    """Over several lines, with words before and behind."""
    source = f"before\n\\begin{{{name}}}\n- x\n+ y\n\\end{{{name}}}\nafter"
    made = rendered(source)
    assert made.html.count("<math ") == 1
    assert made.formulas == made.lost(source) == ()
    assert made.text.startswith("before")
    assert made.text.endswith("after\n")
    assert "<math" not in rendered(f"\\begin{{{name}}} x").html
