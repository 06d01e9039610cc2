"""Files as groups export them: what each column is taken for, with a known truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis import Reading
from analysis.answers.recognised import RecognisedTables, recognise_tables
from analysis.answers.tables import AnswerTables, read_tables
from spa.errors import AnalysisError

Row = Mapping[str, Any]
PEOPLE, ITEMS = [f"p{n}" for n in range(4)], [f"item{n}" for n in range(6)]
PAIRS = [
    (who, item, ("gpt", "t5") if (n + m) % 2 else ("t5", "gpt"))
    for n, who in enumerate(PEOPLE)
    for m, item in enumerate(ITEMS)
]


def written(folder: Path, rows: Sequence[Row]) -> Path:
    path = folder / "answers.csv"
    pl.DataFrame([{name: str(cell) for name, cell in row.items()} for row in rows]).write_csv(path)
    return path


def read(path: Path, options: Reading | None = None) -> tuple[RecognisedTables, AnswerTables]:
    """Return what a file is taken for, and its answers."""
    found = recognise_tables([path], options or Reading())
    return found, read_tables(dict(found.files), found.reading)


def wins(tables: AnswerTables) -> dict[str, float]:
    """Return how often each system won, a tie half."""
    assert tables.choices is not None
    won: dict[str, float] = {}
    for row in tables.choices.iter_rows(named=True):
        for system, value in ((row["system_x"], row["value"]), (row["system_y"], 1 - row["value"])):
            won[str(system)] = won.get(str(system), 0) + value
    return won


def sided(first: str, second: str, winner: str, words: tuple[str, str, str]) -> list[Row]:
    """Return choices of which gpt wins 14, t5 8, and 2 are ties, under other names of columns and words."""
    best = ["gpt"] * 14 + ["t5"] * 8 + ["tie"] * 2
    return [
        {
            "rater": who,
            "prompt": item,
            first: pair[0],
            second: pair[1],
            winner: words[2] if won == "tie" else words[pair.index(won)],
        }
        for (who, item, pair), won in zip(PAIRS, best, strict=True)
    ]


@pytest.mark.parametrize(
    "rows",
    [
        sided("A", "B", "preferred", ("A", "B", "tie")),
        sided("Response A", "Response B", "Which one is better?", ("Response A", "Response B", "tie")),
        sided("first", "second", "preference", ("first", "second", "tie")),
    ],
)
def test_sides_hold_systems_by_their_signs(rows: Sequence[Row], tmp_path: Path) -> None:
    """Columns called as two sides, which hold the same names, are the systems of a row, in their order."""
    assert wins(read(written(tmp_path, rows))[1]) == {"gpt": 15, "t5": 9}


@pytest.mark.parametrize(("won", "lost"), [("chosen_model", "rejected_model"), ("Winner", "Loser")])
def test_systems_that_won_and_lost_are_choices(won: str, lost: str, tmp_path: Path) -> None:
    best = ["gpt"] * 14 + ["t5"] * 10
    rows = [
        {"rater": who, "prompt": item, "chosen": f"Text of {item}", won: one, lost: pair[one == pair[0]]}
        for (who, item, pair), one in zip(PAIRS, best, strict=True)
    ]
    path = written(tmp_path, rows)
    found, tables = read(path)
    assert wins(tables) == {"gpt": 14, "t5": 10}
    assert any(f"winner: the system in {won}, over that in {lost}" in note for note in found.notes())
    assert wins(read(path, Reading(constants={"winner": "y"}))[1]) == {"gpt": 10, "t5": 14}
    tied = written(tmp_path, [{**row, "tie": n % 9 == 0} for n, row in enumerate(rows)])
    with pytest.raises(AnalysisError, match="no column is known as the first system"):
        recognise_tables([tied], Reading())


def test_subjects_are_items_beside_columns_of_raters(tmp_path: Path) -> None:
    """A table as for an ICC: the subject is who is rated, not who rates."""
    rows = [
        {"Subject": item, "System": system, "Rater 1": 1 + n % 5, "Rater 2": 1 + (n + 2) % 5}
        for n, (item, system) in enumerate(product(ITEMS, ("gpt", "t5")))
    ]
    found, tables = read(written(tmp_path, rows))
    assert dict(found.reading.mapping) == {"Subject": "item_id", "System": "system"}
    assert found.reading.annotator_columns == ("Rater 1", "Rater 2")
    assert tables.ratings is not None
    assert tables.ratings["annotator_id"].n_unique() == 2


def test_a_statement_that_people_agree_with_is_a_score(tmp_path: Path) -> None:
    words = ("Agree", "Disagree", "Strongly agree")
    rows = [
        {"participant": who, "text": item, "system": system, "The text is fluent.": words[n % 3]}
        for n, (who, item, system) in enumerate(product(PEOPLE, ITEMS, ("gpt", "t5")))
    ]
    assert recognise_tables([written(tmp_path, rows)], Reading()).reading.criteria == ("The text is fluent.",)


def test_numbers_between_two_systems_are_a_comparison(tmp_path: Path) -> None:
    rows = sided("left_system", "right_system", "comparison", ("1", "7", "4"))
    found = recognise_tables([written(tmp_path, rows)], Reading())
    assert ([*found.files], found.reading.mapping["comparison"]) == (["preferences"], "preference")
