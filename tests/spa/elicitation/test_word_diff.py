"""Words in which an output differs from its source."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.elicitation.word_diff import mark_differences
from spa.records.form import Segment


def seen(segments: tuple[Segment, ...]) -> str:
    return "".join(f"[{segment.text}]" if segment.marked else segment.text for segment in segments)


@pytest.mark.parametrize(
    ("source", "output", "in_source", "in_output"),
    [
        ("The cat sat.", "The cat sat.", "The cat sat.", "The cat sat."),
        ("The cat sat.", "The dog sat.", "The [cat] sat.", "The [dog] sat."),
        ("one two three", "one three", "one [two] three", "one three"),
        ("one three", "one two  new three", "one three", "one [two  new] three"),
        ("a  b", "a\nb", "a  b", "a\nb"),  # white space does not count
        ("It's fine", "It isn't fine", "[It's] fine", "[It isn't] fine"),
        ("今天天气很好。", "今天天氣很好。", "今天天[气]很好。", "今天天[氣]很好。"),
        ("كتبَ الولد", "كتبُ الولد", "[كتبَ] الولد", "[كتبُ] الولد"),  # a vowel sign belongs to its word
        ("", "new", "", "[new]"),
        ("old", "", "[old]", ""),
    ],
)
def test_worked_examples(source: str, output: str, in_source: str, in_output: str):
    before, after = mark_differences(source, output)
    assert (seen(before), seen(after)) == (in_source, in_output)


WORDS = st.text(alphabet="ab c,.气\u064e\n'", max_size=40)


@given(WORDS, WORDS)
def test_segments_join_up_and_the_rest_is_common(source: str, output: str):
    before, after = mark_differences(source, output)
    assert "".join(part.text for part in before) == source
    assert "".join(part.text for part in after) == output
    rest = [["".join(part.text.split()) for part in side if not part.marked] for side in (before, after)]
    assert "".join(rest[0]) == "".join(rest[1])
    for side in (before, after):
        assert all(one.marked != other.marked for one, other in pairwise(side))
        assert not any(part.marked and not part.text.strip() for part in side)


def test_a_long_hostile_line_takes_no_minutes():
    source = "start " + " ".join(f"w{n % 150}" for n in range(100_000))
    output = "begin " + " ".join(f"w{-n % 150}" for n in range(100_000)) + " new"
    before, after = mark_differences(source, output)
    assert "".join(part.text for part in after) == output
    assert "".join(part.text for part in before) == source
    assert [part.text for part in before if part.marked] == ["start"]
    assert [part.text for part in after if part.marked] == ["begin", "new"]
