"""What every system was given, in several columns: all of it stands on the form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spa.output_shapes import WORDS, write_csv
from tests.spa.started_studies import answers_of, started

ITEMS = 8
ASKED = [f"What is told of river {number} in this text?" for number in range(ITEMS)]
GIVEN = [f"River {number} flows from the hills to the sea." for number in range(ITEMS)]


def rows_of(first: str, second: str, below: list[str], *, long: bool) -> list[dict[str, str]]:
    if long:
        return [
            {
                first: ASKED[at],
                second: below[at],
                "model": system,
                "output": f"{system}: a line about {WORDS[at]} and more {at}",
            }
            for at in range(ITEMS)
            for system in ("alpha", "beta")
        ]
    texts = [f"a line about {WORDS[at]} and more" for at in range(ITEMS)]
    return [
        {first: ASKED[at], second: below[at], "alpha": f"alpha: {texts[at]} {at}", "beta": f"beta: {texts[at]} {at}"}
        for at in range(ITEMS)
    ]


@pytest.mark.parametrize("long", [True, False])
@pytest.mark.parametrize(
    ("first", "second", "below"),
    [
        ("question", "context", GIVEN),
        ("instruction", "input", [GIVEN[0], "", "", GIVEN[3], "", "", "", ""]),  # few instructions have one
        ("instruction", "input", ["cat", "dog"] * 4),
    ],
)
def test_a_question_and_what_belongs_to_it_are_both_shown(
    tmp_path: Path, first: str, second: str, below: list[str], *, long: bool
) -> None:
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows_of(first, second, below, long=long)))
    assert f"prompt: column {first}, below it column {second}" in facts["took"]
    shown = {prompt for prompt, _, _ in answers_of(tmp_path / "a")}
    assert shown == {f"{one}\n\n{other}".rstrip() for one, other in zip(ASKED, below, strict=True)}


def test_a_wide_table_of_few_instructions_shows_the_input_too(tmp_path: Path) -> None:
    rows = rows_of("instruction", "input", GIVEN, long=False)
    for at, row in enumerate(rows):
        row["instruction"] = ("Shorten the text that follows.", "Say the same in other words.")[at % 2]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert "prompt: column instruction, below it column input" in facts["took"]


def test_the_name_of_a_data_set_is_no_part_of_a_prompt(tmp_path: Path) -> None:
    rows = rows_of("instruction", "source", ["helpful_base of Alpaca", "the koala questions"] * 4, long=True)
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert "prompt: column instruction" in facts["took"]
