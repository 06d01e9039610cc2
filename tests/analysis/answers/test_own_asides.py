"""Columns that stand beside answers, and are none: what machines counted, what systems were given, votes of others."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from analysis import Reading
from analysis.answers.columns_found import TableFound
from analysis.answers.recognised import recognise_tables
from analysis.answers.tables import read_tables
from spa.errors import AnalysisError

Row = Mapping[str, Any]
PEOPLE, ITEMS = ("ann", "ben", "cleo", "dora"), range(8)
LISTS: Mapping[str, object] = {
    "contexts": ["A passage.", "Another."],
    "turns": ["First."],
    "messages": [{"role": "user", "content": "Hi"}],
}


def written(folder: Path, rows: Sequence[Row]) -> Path:
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def found(folder: Path, rows: Sequence[Row]) -> TableFound:
    return recognise_tables([written(folder, rows)], Reading()).found[0]


def rows_with(beside: Mapping[str, Callable[[random.Random], object]], *, wide: bool) -> list[Row]:
    """Return scores of criteria, or of systems, from 1 to 5, beside columns that are neither."""
    rng = random.Random(5)
    systems: Sequence[str | None] = (None,) if wide else ("gpt", "t5")
    rated = ("gpt4", "llama2", "mt5") if wide else ("fluency", "adequacy")
    return [
        {"rater": who, "item": f"i{item}"}
        | ({} if system is None else {"model": system})
        | {name: rng.randint(1, 5) for name in rated}
        | {name: make(rng) for name, make in beside.items()}
        for who, item, system in product(PEOPLE, ITEMS, systems)
    ]


COUNTED: Mapping[str, Callable[[random.Random], object]] = {
    "latency": lambda rng: round(rng.random() * 3, 2),  # by what it holds; people may rate it, too
    "drift": lambda rng: round(rng.random() * 9, 3),  # of no known name
    **dict.fromkeys(
        ("gpu_hours", "n_sentences", "clicks", "retry", "hour", "fps", "attempts", "seed", "tokens"),
        lambda rng: rng.randint(1, 5),
    ),
    **dict.fromkeys(("bleu", "rouge_l"), lambda rng: round(rng.random(), 1)),
}


@pytest.mark.parametrize("wide", [False, True])
def test_what_machines_counted_is_no_criterion(wide: bool, tmp_path: Path) -> None:
    """Nor a system: names say most of it, fractions beside whole numbers of a scale the rest."""
    one = found(tmp_path, rows_with(COUNTED, wide=wide))
    assert one.criteria == (() if wide else ("adequacy", "fluency"))
    assert [*one.systems] == (["gpt4", "llama2", "mt5"] if wide else [])


def test_a_criterion_may_have_fractions(tmp_path: Path) -> None:
    sliders: Mapping[str, Callable[[random.Random], object]] = {"overall quality": lambda rng: round(rng.random(), 2)}
    assert "overall quality" in found(tmp_path, rows_with(sliders, wide=False)).criteria


def test_a_column_beyond_the_systems_scale_is_asked(tmp_path: Path) -> None:
    """It may be a system that is better than all that are called as systems are, or a count: neither is left out."""
    rows = rows_with({"zeal": lambda rng: rng.randint(0, 9)}, wide=True)
    with pytest.raises(AnalysisError, match="columns gpt4, llama2, mt5, zeal hold scores; if each is a system"):
        found(tmp_path, rows)


@pytest.mark.parametrize("name", LISTS)
def test_lists_that_systems_were_given_hold_no_answers(name: str, tmp_path: Path) -> None:
    """Without people the answers are unnamed, whatever list stands beside them."""
    rows = [{"item": f"i{n // 2}", "model": ("gpt", "t5")[n % 2], name: LISTS[name], "rating": 3} for n in range(12)]
    one = found(tmp_path, rows)
    assert (one.kind, one.unnamed, one.mapping["model"]) == ("ratings", True, "system")


@pytest.mark.parametrize(
    ("votes", "typed", "settled"),
    [
        (
            lambda n: {"vote_w1": "AB"[n % 2], "vote_w2": "A", "vote_w3": ("A", "tie")[n % 2]},
            "--annotator-columns vote_w1,vote_w2,vote_w3",
            {"annotator_columns": ("vote_w1", "vote_w2", "vote_w3")},
        ),
        (
            lambda n: {"votes": ["AB"[n % 2], "A", ("A", "tie")[n % 2]]},
            "--each votes --map votes=winner --map 'votes[#]=annotator_id'",
            {"each": "votes", "mapping": {"votes": "winner", "votes[#]": "annotator_id"}},
        ),
    ],
)
def test_votes_about_two_texts_name_no_system(
    votes: Callable[[int], Row], typed: str, settled: Mapping[str, Any], tmp_path: Path
) -> None:
    """Contexts are no system either; what the line says to type reads every vote."""
    rows = [{"question": f"Q{n}", **LISTS, "answer_a": f"a{n}", "answer_b": f"b{n}", **votes(n)} for n in range(8)]
    path = written(tmp_path, rows)
    with pytest.raises(AnalysisError) as told:
        recognise_tables([path], Reading())
    (line,) = told.value.problems
    assert "answers.jsonl: columns answer_a, answer_b hold two outputs, and no column names the systems" in line
    assert line.endswith(f"--set system_x=NAME --set system_y=NAME {typed}")
    assert len(line) < 500
    sides = {"system_x": "gpt", "system_y": "t5"}
    known = recognise_tables([path], Reading(constants=sides, values={"A": "x", "B": "y"}, **settled))
    choices = read_tables(dict(known.files), known.reading).choices
    assert choices is not None
    assert (choices.height, choices["annotator_id"].n_unique(), choices["value"].sum()) == (24, 3, 18)


NAMES = ("gpt", "t5", "nmt")
RANKED = [*product(PEOPLE, range(4), NAMES[:2])]
TEXTS = [{"prompt": f"Q{n}", "chosen": f"text {n}", "rejected": f"other {n}"} for n in range(8)]
TALKS = [{**row, "chosen": [{"role": "user", "content": "?"}], "rejected": [{"content": "!"}]} for row in TEXTS]
MATRIX = [{"model": x, **{y: n + m for m, y in enumerate(NAMES)}} for n, x in enumerate(NAMES)]


SETS = [(f"t{n // 3}", name, n % 3 == 0, n % 3 == 1) for n, name in enumerate(NAMES * 4)]
MARKED = [{"rater": "ann", "task": t, "alternative": s, "best": int(b), "worst": int(w)} for t, s, b, w in SETS]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (MARKED, "columns best, worst mark in 1 and 0 the best and the worst of a page"),
        ([{"rater": "ann", "item": n, "best": "gpt", "worst": "t5"} for n in range(9)], "no column the systems shown"),
        ([{"system_a": "gpt", "system_b": name, "wins": 4, "n": 9} for name in NAMES], "got counts of wins (wins)"),
        ([{"rater": "ann", "model_a": "gpt", "model_b": name, "wins_a": 4} for name in NAMES], "got counts of wins (w"),
        ([{"color": [0.9, []], "scene": [0.8, []]}], "got scores that VBench computed (color)"),
        ([{"instance_id": "a", "user": "ann", "fluency:::1": "1", "fluency:::2": "0"}], "got a table of POTATO"),
        ([{"classification_id": 1, "annotations": "[]", "subject_data": "{}"}], "got classifications of Zooniverse"),
        ([{"traceId": "a", "name": "b", "value": 1, "dataType": "c"}], "got scores of Langfuse, whose systems stand"),
        ([{"#": "a", "How good?": 3, "Start Date (UTC)": "", "Submit Date (UTC)": ""}], "got responses of Typeform"),
        (TEXTS, "columns chosen, rejected hold outputs, and no column names the systems that wrote them"),
        ([{**row, "annotator": "ann"} for row in TEXTS], "no column names the systems that wrote them"),
        (TALKS, "columns chosen, rejected hold outputs"),
        (MATRIX, "got a matrix of gpt, nmt, t5 (rows: model)"),
        ([{"model": name, "win_rate": 0.4, "n": 805} for name in NAMES], "got shares of wins (win_rate)"),
        ([{"model_a": "gpt", "model_b": name, "wins_a": 4, "wins_b": 3} for name in NAMES], "got counts of wins (win"),
        ([{"model": name, "elo": 1011, "votes": 99} for name in NAMES], "got Elo ratings (elo)"),
    ],
)
def test_what_holds_no_answers_is_told(rows: Sequence[Row], said: str, tmp_path: Path) -> None:
    with pytest.raises(AnalysisError) as told:
        found(tmp_path, rows)
    (line,) = told.value.problems
    assert said in line
    assert len(line) < 500


MADE: Mapping[str, Callable[[int, str], object]] = {
    "fluency_z": lambda score, who: round((score - 2.5) / (1 + len(who) / 7), 4),  # everybody's own spread
    "fluency_percent": lambda score, who: 25 * (score - 1),
    "fluency_recoded": lambda score, who: 6 - score,
    "naturalness": lambda score, who: score,
    "adequacy": lambda score, who: max(score, 2),
}


def test_rows_like_those_of_a_tool_are_read_by_their_columns(tmp_path: Path) -> None:
    rows = [{"rater": p, "prompt": n, "image_path": "x", "model": s, "rank": 1 + (s == "t5")} for p, n, s in RANKED]
    assert found(tmp_path, rows).kind == "orders"


def test_items_called_as_checks_are_asked_about(tmp_path: Path) -> None:
    """Their answers would count like the others."""
    rows = rows_with({}, wide=False)
    path = written(tmp_path, [{**row, "item": "Attention check 2"} if row["item"] == "i0" else row for row in rows])
    with pytest.raises(AnalysisError, match="item Attention check 2 may be attention checks, whose answers compare no"):
        recognise_tables([path], Reading())
    for settled in (Reading(drop={"item": ("Attention check 2",)}), Reading(names=("Attention check 2",))):
        assert recognise_tables([path], settled).found[0].kind == "ratings"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("fluency_z", ("fluency",)),
        ("fluency_percent", ("fluency",)),
        ("adequacy", ("adequacy", "fluency")),
        ("fluency_recoded", "one the other way round, of every annotator; read the one in which high is good: "),
        ("naturalness", "columns fluency, naturalness say the same, of every annotator; read one: "),
    ],
)
def test_what_says_the_same_is_one_criterion(name: str, wanted: tuple[str, ...] | str, tmp_path: Path) -> None:
    """Or is asked: where names do not say which was made of which, and where high means low in one."""
    rng = random.Random(3)
    rows = []
    for who, item, system in product(PEOPLE, ITEMS, ("gpt", "t5")):
        score = rng.randint(1, 5)
        rows.append({"rater": who, "item": f"i{item}", "model": system, "fluency": score, name: MADE[name](score, who)})
    if isinstance(wanted, tuple):
        one = found(tmp_path, rows)
        assert one.criteria == wanted
        assert any(f"{name}: says of every annotator what fluency says" in note for note in one.notes()) == (
            name not in wanted
        )
        return
    with pytest.raises(AnalysisError) as told:
        found(tmp_path, rows)
    assert wanted in told.value.problems[0]
    both = recognise_tables([written(tmp_path, rows)], Reading(criteria=("fluency", name)))
    assert {*both.reading.criteria} == {"fluency", name}


def test_models_of_chosen_and_rejected_are_systems(tmp_path: Path) -> None:
    """Though no name stands in both columns."""
    rows = [{**row, "chosen_model": ("gpt", "nmt")[n % 2], "rejected_model": "t5"} for n, row in enumerate(TEXTS)]
    one = found(tmp_path, rows)
    assert (one.kind, one.mapping["chosen_model"], one.mapping["rejected_model"]) == ("choices", "system_x", "system_y")
    assert one.constants == {"winner": "x"}
