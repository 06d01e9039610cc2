"""Marks in texts: replaced before filters see them, counted, and refused where nobody could mean it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.commands.check import overview_of
from spa.study.load import load_study, study_fingerprint
from spa.study.replaced_marks import _Found
from tests.spa.study_files import OUTPUTS, long_rows, output_problems, outputs_of, problems_of, write_study

TEXTS = {f"i{n}": {"x": f"X wrote {n}.<br>Twice<br>", "y": f"Y wrote {n}."} for n in range(4)}
ROWS = [{**row, "source": f"[WP] {row['source']}."} for row in long_rows(TEXTS)]
GIVEN = OUTPUTS + 'item_text = "source"\n'
MARKS = GIVEN + 'replace = [["[WP] ", ""], ["<br>", " "]]\n'
STARTS = '[[outputs.filters]]\nstarts_with = "[WP]"\n'


def test_marks_are_replaced_and_counted(tmp_path: Path) -> None:
    """Prompts count once an item, and what filters and readers meet has no mark."""
    made = outputs_of(tmp_path, ROWS, outputs=MARKS)
    assert [item.text for item in made.items] == [f"source of i{n}." for n in range(4)]
    assert made.of("i2", "x")[0].text == "X wrote 2. Twice "
    assert list(made.notes) == [
        '[outputs] replace: "[WP] " became nothing, 4 times in 4 item texts',
        '[outputs] replace: "<br>" became " ", 8 times in 4 outputs',
    ]
    warnings = overview_of(tmp_path / "study.toml").warnings
    assert set(made.notes) <= set(warnings)


def test_marks_that_never_stand_are_a_warning(tmp_path: Path) -> None:
    """Also one that another has taken before."""
    made = outputs_of(tmp_path, ROWS, outputs=GIVEN + 'replace = [["[", ""], ["[WP]", ""]]\n')
    assert made.items[0].text == "WP] source of i0."
    assert made.notes[1] == (
        '[outputs] replace: "[WP]" stands in no text (marks are replaced in the order listed); correct it'
    )


def test_filters_see_what_is_left_or_as_written(tmp_path: Path) -> None:
    """A filter may ask for a mark that replace takes only where it looks at texts as written."""
    counted = "[[outputs.filters]]\nfield = 'output'\nmax_characters = 18\n"
    assert len(outputs_of(tmp_path, ROWS, outputs=MARKS + counted).items) == 4
    odd = [*ROWS, *[{**row, "item_id": "odd", "source": "[EU] Then."} for row in ROWS[:2]]]
    made = outputs_of(tmp_path, odd, outputs=MARKS + STARTS + "as_written = true\n")
    assert [one.item_id for one in made.dropped] == ["odd"]
    assert made.dropped[0].evidence == 'item text: starts with "[EU] Then.", expected "[WP]"'
    (problem,) = output_problems(tmp_path, ROWS, outputs=MARKS + counted + "as_written = true\n")
    assert "4 left out: 4 by max_characters" in problem


def test_a_mark_that_is_all_of_a_text(tmp_path: Path) -> None:
    """What is empty only after replacing is told as such."""
    rows = [{**row, "output": "<br>"} if row["item_id"] == "i1" and row["system"] == "x" else row for row in ROWS]
    (problem,) = output_problems(tmp_path, rows, outputs=MARKS)
    assert 'outputs.jsonl line 3: expected an output of "x", got nothing once [outputs] replace is done' in problem


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ('replace = [["[WP] ", ""]]\n' + STARTS.replace('"[WP]"', '"[WP] A"'), "of which replace has taken"),
        ('replace = [["ab", ""]]\n[[outputs.filters]]\ncontains_none_of = ["cab"]\n', "set as_written = true"),
        ('replace = [["a", "a"]]\n', '"a" for itself'),
        ('replace = [["a", ""], ["a", "b"]]\n', '"a" twice'),
        ('kind = "conversation"\nreplace = [["a", ""]]\n', "got conversations"),
    ],
)
def test_what_replace_cannot_mean_is_one_line(tmp_path: Path, keys: str, expected: str) -> None:
    (problem,) = problems_of(write_study(tmp_path, outputs=GIVEN + keys))
    assert expected in problem
    assert len(problem) < 500


def test_marks_belong_to_the_built_study(tmp_path: Path) -> None:
    """A store keeps its marks: others are another study; without the key fingerprints are as they were."""
    seen = [
        study_fingerprint(load_study(write_study(tmp_path, outputs=GIVEN + keys)))
        for keys in ("", "replace = []\n", 'replace = [["[WP]", ""]]\n', 'replace = [["[WP]", "-"]]\n')
    ]
    assert seen[0] == seen[1]
    assert len(set(seen)) == 3


@given(st.text("ab[] ", max_size=12), st.text("ab[] ", min_size=1, max_size=3), st.text("ab[] ", max_size=2))
def test_replacing_is_what_str_replace_does(text: str, mark: str, instead: str) -> None:
    """One mark alone: by an independent count of pieces."""
    found = _Found(((mark, instead),))
    assert found.replaced("outputs", text) == instead.join(text.split(mark))
    assert found.times[mark].total() == len(text.split(mark)) - 1
