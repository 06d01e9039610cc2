"""Words in columns of answers that say who won: ties, sides, names and shares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import analyse as analyse_records
from analysis.answers.options import Reading
from analysis.answers.plan import Plan
from analysis.answers.tables import AnswerTables, check_frames, read_tables
from analysis.report.csv_tables import csv_tables
from analysis.report.markdown import render_markdown
from analysis.report.parts import full_report
from analysis.report.sections import build_document
from spa.errors import AnalysisError
from tests.analysis.answers.refusals import pair, refusal
from tests.analysis.made_answers import analyse

CASES = Path(__file__).parents[3].parent / "shared" / "cases"
SYSTEMS = ("alpha", "beta", "gamma")
# what each way of writing says where the first, the second, neither or no good one won; and the columns' names
WAYS: dict[str, tuple[dict[str, str], tuple[str, str], dict[str, Any]]] = {
    "x": ({"x": "x", "y": "y", "tie": "tie", "bad": "both_bad"}, ("system_x", "system_y"), {}),
    "arena": ({"x": "model_a", "y": "model_b", "tie": "tie", "bad": "tie (bothbad)"}, ("model_a", "model_b"), {}),
    "brackets": ({"x": "[[A]]", "y": "[[B]]", "tie": "[[C]]", "bad": "both_bad"}, ("system_x", "system_y"), {}),
    "signs": ({"x": "A>>B", "y": "[[A<B]]", "tie": "A=B", "bad": "A=B"}, ("first", "second"), {}),
    "letters": ({"x": "A", "y": "B", "tie": "draw", "bad": "Both_Bad"}, ("modelA", "modelB"), {}),
    "numbers": (
        {"x": "1", "y": "2", "tie": "0", "bad": "-"},
        ("system_x", "system_y"),
        {"values": {"1": "x", "2": "y", "0": "tie", "-": "tie"}},
    ),
    "share": ({"x": "1", "y": "2", "tie": "1.5", "bad": "1.5"}, ("generator_1", "generator_2"), {"numbers": (1, 2)}),
    "margin": ({"x": "-2", "y": "3", "tie": "0", "bad": "0"}, ("one", "other"), {"numbers": (-3, 3)}),
    "names": (
        {"x": "{x}", "y": "{y}", "tie": "similar", "bad": "similar"},
        ("left", "right"),
        {"values": {"similar": "tie"}},
    ),
}


def cell(row: tuple[int, int, str], way: str, *, turned: bool) -> tuple[str, str, str]:
    """Return the row's first and second system and its winner as they are written, perhaps with the sides swapped."""
    first, second = SYSTEMS[row[0]], SYSTEMS[row[1]]
    won = row[2]
    if turned:
        first, second = second, first
        won = {"x": "y", "y": "x"}.get(won, won)
    return first, second, WAYS[way][0][won].format(x=first, y=second)


def choices(rows: list[tuple[int, int, str]], way: str, turned: list[bool]) -> AnswerTables:
    cells = [cell(row, way, turned=turn) for row, turn in zip(rows, turned, strict=True)]
    _, (x, y), options = WAYS[way]
    frame = pl.DataFrame(
        {
            "annotator_id": [f"a{n % 4}" for n in range(len(rows))],
            "item_id": [f"i{n // 4}" for n in range(len(rows))],
            x: [one[0] for one in cells],
            y: [one[1] for one in cells],
            "winner": [one[2] for one in cells],
        }
    )
    mapping = {} if x == "system_x" else {x: "system_x", y: "system_y"}
    if "values" in options:
        there = {word: value for word, value in options["values"].items() if word in frame["winner"].to_list()}
        options = {**options, "values": there}
    return check_frames({"choices": frame}, Reading(mapping=mapping, **options))


def won_by(tables: AnswerTables) -> list[tuple[str, str | None]]:
    """Return for each row the pair and who won, whatever the sides."""
    assert tables.choices is not None
    return [
        ("/".join(sorted((x, y))), {1.0: x, 0.0: y, 0.5: "tie"}[value])
        for x, y, value in tables.choices.select("system_x", "system_y", "value").iter_rows()
    ]


PAIRS = st.sampled_from([(0, 1), (1, 0), (0, 2), (1, 2), (2, 1)])
ROWS = st.lists(
    st.tuples(PAIRS, st.sampled_from(["x", "y", "tie", "bad"]), st.booleans()).map(lambda r: ((*r[0], r[1]), r[2])),
    min_size=1,
    max_size=24,
)


@pytest.mark.parametrize("way", list(WAYS))
@given(drawn=ROWS)
@settings(max_examples=10, deadline=None)
def test_swapped_sides_say_the_same_in_every_way_of_writing(
    way: str, drawn: list[tuple[tuple[int, int, str], bool]]
) -> None:
    """As they are and swapped, all rows of one table; who won is known from what is written."""
    rows, turned = [row for row, _ in drawn], [turn for _, turn in drawn]
    won = [
        ("/".join(sorted((SYSTEMS[x], SYSTEMS[y]))), {"x": SYSTEMS[x], "y": SYSTEMS[y]}.get(verdict, "tie"))
        for x, y, verdict in rows
    ]
    assert won_by(choices(rows + rows, way, turned + [False] * len(rows))) == won + won


def test_half_of_the_rows_swapped_give_the_same_results() -> None:
    rng = np.random.default_rng(7)
    rows = [
        (*rng.choice(3, size=2, replace=False).tolist(), str(rng.choice(["x", "x", "y", "tie"]))) for _ in range(90)
    ]
    found = []
    for turned in ([False] * len(rows), [n % 2 == 0 for n in range(len(rows))]):
        results: dict[str, Any] = analyse(choices(rows, "arena", turned), Plan())
        tests = {
            frozenset({(one["system_x"], one["wins_x"]), (one["system_y"], one["wins_y"]), ("p", one["p_value"])})
            for one in results["choices"]["pairs"]
        }
        strengths = {(one["system"], round(one["strength"], 9)) for one in results["bradley_terry"]}
        found.append((tests, strengths))
    assert found[0] == found[1]


def test_doubtful_words_come_with_a_mapping() -> None:
    """Words that may mean something else come with a mapping to paste."""
    line = refusal(pair(["A", "B", "C", "garbage", "hm"]), "choices")
    assert len(line) < 500
    assert "--value A=x --value B=y --value C=tie --value garbage=missing --value 'hm=?'" in line
    assert "--value 1=x --value 2=y --value 0=tie" in refusal(pair(["1", "2", "0"]), "choices")
    assert "--value similar=tie --value 'no preference=tie'" in refusal(pair(["similar", "no preference"]), "choices")
    assert "--numbers 3:-3" in refusal(pair(["3", "1", "-2", "-3"]), "choices")


def test_answer_words_mapping() -> None:
    """A mapping is followed and a word that is no answer is counted by it."""
    values = {"A": "x", "B": "y", "c": "tie", "garbage": "missing", "ALPHA": "alpha"}
    tables = check_frames({"choices": pl.DataFrame(pair(["A", "B", "C", "garbage", "ALPHA"]))}, Reading(values=values))
    assert tables.choices is not None
    assert tables.choices["value"].to_list() == [1.0, 0.0, 0.5, None, 1.0]
    assert tables.choices["missing_reason"].to_list() == [None, None, None, "garbage", None]


def test_names_that_are_also_places() -> None:
    """Names that are also places are refused where the readings differ."""
    table = pair(["A", "A"], ("A", "B"))
    line = refusal(table, "choices")
    assert "row 2" in line
    assert "--sides names or places" in line
    for sides, expected in (("names", [1.0, 0.0]), ("places", [1.0, 1.0])):
        found = check_frames({"choices": pl.DataFrame(table)}, Reading(sides=sides)).choices  # type: ignore[arg-type]
        assert found is not None
        assert found["value"].to_list() == expected
    same = check_frames({"choices": pl.DataFrame(table).head(1)}, Reading()).choices
    assert same is not None
    assert same["value"].to_list() == [1.0]


def test_winners_of_a_studys_own_table() -> None:
    """A study's own table says sides whatever systems are called."""
    table = pair(["x", "x"], ("x", "y")) | {"label_x": ["A", "B"], "label_y": ["B", "A"]}
    found = check_frames({"choices": pl.DataFrame(table)}, Reading()).choices
    assert found is not None
    assert found["value"].to_list() == [1.0, 1.0]


def test_both_bad_is_a_tie_that_stands_apart() -> None:
    found = check_frames({"choices": pl.DataFrame(pair(["tie", "both_bad", "tie (bothbad)", "alpha"]))}, Reading())
    assert found.choices is not None
    assert found.choices["value"].to_list() == [0.5, 0.5, 0.5, 0.0]
    assert found.choices["both_bad"].to_list() == [None, True, True, None]


def test_preferences_of_one_to_two() -> None:
    """Preferences of one to two are told and read by an option."""
    table = {
        "annotator": ["j"] * 3,
        "generator_2": ["mine"] * 3,
        "generator_1": ["base"] * 3,
        "preference": [1.75, 1.0, None],
        "assignment_id": ["1", "2", "3"],
    }
    names = {"annotator": "annotator_id", "generator_2": "system_x", "generator_1": "system_y"}
    assert "--numbers 2:1" in refusal(table, "preferences", mapping=names)
    got = check_frames({"preferences": pl.DataFrame(table)}, Reading(mapping=names, numbers=(2, 1))).preferences
    assert got is not None
    assert got["value"].to_list() == [0.75, 0.0, None]


def test_arena_words_and_strengths() -> None:
    """Arena words give the strengths that another program gave."""
    path = CASES / "turn3" / "arena_winner_words" / "arena.csv"
    if not path.exists():
        pytest.skip("the shared cases are not here")
    names = {"judge": "annotator_id", "question_id": "item_id", "model_a": "system_x", "model_b": "system_y"}
    results: dict[str, Any] = analyse(read_tables({"choices": path}, Reading(mapping=names)), Plan())
    found = {one["system"]: round(one["strength"], 4) for one in results["bradley_terry"]}
    assert found == {"gpt": 0.2562, "vic": 0.1836, "alp": -0.1602, "koala": -0.2796}


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("A", "B"), True),
        (("left", "right"), True),
        (("response_1", "response_2"), True),
        (("model_a", "model_b"), True),
        (("1", "2"), True),
        (("Output 1", "Output 2"), True),
        (("model1", "model2"), True),
        (("model1", "model2", "model3"), False),
        (("response 1", "response 2", "response 3"), True),
        (("A", "gpt-4"), False),
        (("alpha", "beta"), False),
        (("llama2", "llama3"), False),
    ],
)
def test_systems_that_are_all_places_are_a_main_caveat(names: tuple[str, ...], told: bool) -> None:
    x, y = [names[n % len(names)] for n in range(4)], [names[(n + 1) % len(names)] for n in range(4)]
    frame = pl.DataFrame(
        {
            "annotator_id": list("abcd"),
            "item_id": list("1234"),
            "system_x": x,
            "system_y": y,
            "winner": ["x", "y", "x", "tie"],
        }
    )
    results: dict[str, Any] = analyse(check_frames({"choices": frame}, Reading()), Plan())
    problems = results["headline"]["problems"]
    assert any(one["kind"] == "places" for one in problems) is told


def test_the_report_counts_ties_of_two_bad_ones_apart() -> None:
    words = ["tie (bothbad)", "tie", "model_a", "both_bad", "model_b", "model_a"] * 2
    frame = pl.DataFrame(pair(words)).rename({"system_x": "model_a", "system_y": "model_b"})
    frame = frame.with_columns(annotator_id=pl.col("item_id"))
    names = {"model_a": "system_x", "model_b": "system_y"}
    results = analyse_records(check_frames({"choices": frame}, Reading(mapping=names)), Plan())
    (row,) = results.choices.pairs
    assert (row.ties, row.both_bad) == (6, 4)
    assert "both_bad" in csv_tables(results)["choices_pairs.csv"]
    assert "Both bad" in render_markdown(full_report(build_document(results)))
    plain = frame.with_columns(winner=pl.col("winner").replace({"tie (bothbad)": "tie", "both_bad": "tie"}))
    other = analyse_records(check_frames({"choices": plain}, Reading(mapping=names)), Plan())
    assert other.choices.pairs[0].both_bad is None
    assert other.choices.pairs[0].win_rate == row.win_rate
    assert "Both bad" not in render_markdown(full_report(build_document(other)))


def test_sides_that_no_column_tells_are_asked_about() -> None:
    table = pair(["A>B", "B>A"])
    table = {{"system_x": "model", "system_y": "baseline"}.get(name, name): cells for name, cells in table.items()}
    line = refusal(table, "choices", mapping={"model": "system_x", "baseline": "system_y"})
    assert "--value 'A>B=x' --value 'B>A=y', if model always stood first" in line


def test_a_winner_in_other_letters_is_proposed_as_that_system() -> None:
    assert "--value ALPHA=alpha" in refusal(pair(["ALPHA", "beta"]), "choices")
    found = check_frames(
        {"choices": pl.DataFrame(pair(["ALPHA", "ALPHA"]))}, Reading(values={"ALPHA": "alpha"})
    ).choices
    assert found is not None
    assert found["value"].to_list() == [1.0, 0.0]


def test_winner_written_as_another_number() -> None:
    """A winner is the system written as another number or composed otherwise."""
    numbers = pair(["2", "2"], ("1.0", "2.0"))
    accents = pair(["cafe\u0301", "cafe\u0301"], ("caf\u00e9", "base"))
    for table, expected in ((numbers, [0.0, 1.0]), (accents, [1.0, 0.0])):
        found = check_frames({"choices": pl.DataFrame(table)}, Reading(sides="names")).choices
        assert found is not None
        assert found["value"].to_list() == expected


def test_systems_called_x_and_y() -> None:
    """Systems called x and y are asked about where winners are names."""
    rows = {"annotator_id": ["a"] * 3, "item_id": ["1", "2", "3"], "system_x": ["y", "y", "z"]}
    rows |= {"system_y": ["x", "z", "x"], "winner": ["y", "z", "x"]}
    with pytest.raises(AnalysisError, match="the winner 'y' of y and x is a system's name, and a word for system_y"):
        check_frames({"choices": pl.DataFrame(rows)}, Reading())
    named = check_frames({"choices": pl.DataFrame(rows)}, Reading(sides="names")).choices
    assert named is not None
    assert named["value"].to_list() == [1.0, 0.0, 0.0]
    sides = check_frames({"choices": pl.DataFrame(rows | {"winner": ["y", "x", "x"]})}, Reading()).choices
    assert sides is not None
    assert sides["value"].to_list() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("answers", "ends"),
    [(["94", "3", "50"], "100:0"), (["-3", "2", "0"], "3:-3"), (["1", "7", "4"], "7:1")],
)
def test_preferences_on_a_scale_come_with_its_ends(answers: list[str], ends: str) -> None:
    frame = {"annotator_id": ["a"] * 3, "system_x": ["s"] * 3, "system_y": ["t"] * 3, "item_id": ["i", "j", "k"]}
    line = refusal({**frame, "preference": answers}, "preferences")
    assert f"--numbers {ends}, else the other way round" in line
    assert len(line) < 500
