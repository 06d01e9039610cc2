"""Length matching: whole sentences, never longer than the longest other output."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.study.filters import cut_to_sentences, sentence_ends
from tests.spa.study_files import OUTPUTS, long_rows, output_problems, outputs_of


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ('He said "No." Then left.', ['He said "No."', "Then left."]),
        ("It cost 3.50 pounds. Cheap.", ["It cost 3.50 pounds.", "Cheap."]),
        ("Well... yes.", ["Well...", "yes."]),
        ("第一句。第二句！“第三句？”没完", ["第一句。", "第二句！", "“第三句？”"]),
        (
            "一つ目です。「二つ目。」三つ目",
            [
                "一つ目です。",
                "「二つ目。」",
            ],
        ),
        ("هل جاء؟ نعم. ثم ذهب", ["هل جاء؟", "نعم."]),
        ("یہ پہلا ہے۔ دوسرا", ["یہ پہلا ہے۔"]),
        ("A title\nA sentence. The rest", ["A title", "A sentence."]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    ends = [0, *sentence_ends(text)]
    assert [text[start:end].strip() for start, end in pairwise(ends)] == sentences


@given(st.text(alphabet='ab .!?。\n"”', max_size=60), st.integers(0, 70))
def test_a_cut_text_is_a_start_made_of_whole_sentences(text: str, longest: int) -> None:
    cut = cut_to_sentences(text, longest)
    whole = text.strip()
    assert whole.startswith(cut)
    assert len(cut) <= longest
    assert cut == whole or cut in {whole[:end].rstrip() for end in sentence_ends(whole)} | {""}
    longer = [end for end in sentence_ends(whole) if len(whole[:end].rstrip()) > len(cut)]
    assert all(len(whole[:end].rstrip()) > longest for end in longer)  # no sentence more would have fitted


def test_the_reference_is_cut_to_the_longest_other_output(tmp_path: Path) -> None:
    rows = long_rows(
        {
            "cut": {"x": "One. Two two. Three three three.", "y": "1234567890123"},
            "fits": {"x": "One. Two", "y": "12345678"},
            "emptied": {"x": "A sentence that is long.", "y": "short"},
        }
    )
    made = outputs_of(tmp_path, rows, outputs=OUTPUTS + 'match_length_of = "x"\n')
    assert {item.item_id: made.of(item.item_id, "x")[0].text for item in made.items} == {
        "cut": "One. Two two.",
        "fits": "One. Two",
    }
    (dropped,) = made.dropped
    assert (dropped.item_id, dropped.rule) == ("emptied", "match_length_of")
    assert dropped.evidence == "no whole sentence of x (24 characters) fits in the 5 of the longest other output"


def test_too_few_items_after_matching_say_so(tmp_path: Path) -> None:
    rows = long_rows({"emptied": {"x": "A sentence that is long.", "y": "short"}})
    (problem,) = output_problems(tmp_path, rows, outputs=OUTPUTS + 'match_length_of = "x"\n')
    assert "got 0 (1 left out: 1 by match_length_of)" in problem
