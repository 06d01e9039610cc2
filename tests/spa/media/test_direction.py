"""Directions of texts: most letters decide, wherever they stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.media.direction import direction_of, isolated
from spa.study.load import load_study
from spa.study.outputs import load_outputs

CASE = Path(__file__).resolve().parents[4] / "shared" / "cases" / "languages" / "output_direction"
STORY = "هذا كاتب آخر يكتب القصة في صباح بارد قرب النهر."
HEBREW = "הסופר כותב סיפור"
LATIN = "A writer writes a story on a cold morning near the river."


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        (STORY, "rtl"),
        (f"ChatGPT {STORY}", "rtl"),
        (f'"Nour" و"هدى" معًا: {STORY}', "rtl"),
        (f"7. {STORY}", "rtl"),
        (HEBREW, "rtl"),
        (f"{LATIN} كاتب", "ltr"),
        (f"كاتب: {LATIN}", "ltr"),
        ("一篇文章", "ltr"),
        ("Ελλάδα", "ltr"),
        ("12 % (1/3)", "auto"),
        ("", "auto"),
        ("١٢٣", "auto"),
        ("ab כת", "rtl"),
    ],
)
def test_direction_is_that_of_most_letters(text: str, direction: str) -> None:
    """Of as many letters of both it is that from the right; digits and signs decide nothing."""
    assert direction_of(text) == direction


@given(parts=st.lists(st.sampled_from([STORY, LATIN, HEBREW, "12 %", "\n"]), min_size=1), turned=st.randoms())
def test_direction_does_not_depend_on_the_order(parts: list[str], turned: object) -> None:
    other = [*parts]
    turned.shuffle(other)  # type: ignore[attr-defined]
    assert direction_of("".join(parts)) == direction_of("".join(other))


@given(st.text(alphabet='abכת "“”«»`\n<&'))
def test_isolated_text_says_the_same(text: str) -> None:
    assert isolated(text).striptags().split() == text.split() or "<" in text
    assert isolated(text).unescape().replace('<bdi dir="ltr">', "").replace("</bdi>", "") == text


def test_quotations_from_the_left_stand_by_themselves() -> None:
    assert isolated('«C++» و"هدى"') == '<bdi dir="ltr">«C++»</bdi> و&#34;هدى&#34;'
    assert isolated('a "quoted" word') == "a &#34;quoted&#34; word"


@pytest.mark.skipif(not CASE.is_dir(), reason="no cases of failed inputs beside the project")
def test_outputs_of_all_systems_have_one_direction() -> None:
    """An Arabic output that opens with a Latin name is laid out as the others."""
    study = load_study(CASE / "study.toml")
    found = {one.system: direction_of(one.text or "") for one in load_outputs(study).all()}
    assert found == {"a": "rtl", "b": "rtl", "c": "rtl"}
