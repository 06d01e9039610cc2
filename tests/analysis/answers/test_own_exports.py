"""Files as groups export them: what each column is taken for, with a known truth."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

import analysis
from analysis import Plan, Reading
from analysis.answers.columns import Scale
from analysis.answers.recognised import RecognisedTables, recognise_tables
from analysis.answers.tables import AnswerTables, read_tables
from spa.cli import main
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
        sided("links", "rechts", "besser", ("links", "rechts", "tie")),
    ],
)
def test_sides_hold_systems_by_their_signs(rows: Sequence[Row], tmp_path: Path) -> None:
    """Columns called as two sides, which hold the same names, are the systems of a row, in their order."""
    assert wins(read(written(tmp_path, rows))[1]) == {"gpt": 15, "t5": 9}


def test_sides_of_one_system_each_are_compared(tmp_path: Path) -> None:
    """Where A and B are the same systems throughout."""
    rows = [
        {"rater": who, "prompt": item, "A": "gpt", "B": "t5", "better": ("A", "A", "B", "both")[n % 4]}
        for n, (who, item) in enumerate(product(PEOPLE, ITEMS))
    ]
    assert wins(read(written(tmp_path, rows), Reading(values={"both": "tie"}))[1]) == {"gpt": 15, "t5": 9}


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


def rated(scores: Mapping[str, Mapping[str, Sequence[int]]]) -> list[Row]:
    """Return a row a person, item and system, with a column a criterion whose scores stand by system."""
    return [
        {
            "rater": who,
            "item": item,
            "system": system,
            **{name: own[system][n % len(own[system])] for name, own in scores.items()},
        }
        for n, (who, item, system) in enumerate(product(PEOPLE, ITEMS, ("gpt", "t5")))
    ]


def test_little_of_something_bad_is_not_called_best(tmp_path: Path) -> None:
    """High ratings of toxicity, or counts of errors, are the highest; whether they are good, the plan says."""
    more, less = {"gpt": (3, 4, 5, 5), "t5": (1, 2, 2, 3)}, {"gpt": (1, 2, 0), "t5": (4, 6, 5)}
    path = written(tmp_path, rated({"fluency": more, "number of errors": less}))
    _, tables = read(path)
    first = analysis.analyse(tables, Plan()).headline
    assert first is not None
    assert "Fluency (assumed: higher is better): people rate gpt best" in first.winner
    assert "Number of errors (if lower is better, --lower-is-better 'number of errors')" in first.winner
    assert "people rate t5 highest" in first.winner
    assert any("though of number of errors low ones may be" in caveat.text for caveat in first.problems)
    grades = written(tmp_path, rated({"grade (1 = best, 5 = worst)": more}))
    of_grades = analysis.analyse(read(grades)[1], Plan()).headline
    assert of_grades is not None
    assert of_grades.winner.startswith("People rate gpt highest")
    turned = analysis.analyse(tables, Plan(lower_is_better=frozenset({"number of errors"}))).headline
    assert turned is not None
    assert "Number of errors (lower is better): people rate gpt best" in turned.winner


def reported(path: Path, *more: str) -> Result:
    return CliRunner().invoke(main, ["report", str(path), *more, "--json"])


def judged(question: int, winner: str | None) -> dict[str, Any]:
    """Return both games of a pair, as MT-Bench's judge gives them."""
    games = {"g1_winner": winner, "g2_winner": winner, "g1_judgment": "[[A]]", "g2_judgment": "[[B]]"}
    return {"question_id": question, "model_1": "gpt", "model_2": "t5", "judge": ["judge", "pair-v2"], **games}


def test_judgments_of_mt_bench_need_no_import(tmp_path: Path) -> None:
    path = tmp_path / "gpt-4_pair.jsonl"
    path.write_text("".join(json.dumps(judged(n, f"model_{1 + n % 3 // 2}")) + "\n" for n in range(9)))
    (test,) = json.loads(reported(path).stdout)["choices"]["pairs"]
    assert (test["wins_x"], test["wins_y"]) == (12, 6)


def test_errors_in_made_tables_name_what_was_given(tmp_path: Path) -> None:
    """A folder that is gone once the command ends is no place to look."""
    path = tmp_path / "gpt-4_pair.jsonl"
    path.write_text("".join(json.dumps(judged(1, "model_1")) + "\n" for _ in range(2)))
    assert "spa: gpt-4_pair.jsonl, read as arena: choices.csv, rows 2 and 4: expected one ans" in reported(path).stderr
    path.write_text("".join(json.dumps(judged(n, "error")) + "\n" for n in range(3)))
    assert f"{path}: expected answers, got choices all missing" in reported(path).stderr


def called(first: str, second: str, people: Sequence[str] = PEOPLE) -> list[Row]:
    """Return ratings of two systems under other names, by people whose ids differ from row to row."""
    rows = rated({"score": {"gpt": (3, 4), "t5": (1, 2)}})
    names = {"gpt": first, "t5": second}
    return [{**row, "system": names[row["system"]], "rater": people[n % len(people)]} for n, row in enumerate(rows)]


@pytest.mark.parametrize(
    ("rows", "said", "settled"),
    [
        (called("gpt", "GPT"), "2 systems have nearly the same names (gpt and GPT)", Reading(names=("gpt", "GPT"))),
        (
            called("gpt", "t5 attention check"),
            "t5 attention check may be an attention check",
            Reading(controls=("t5 attention check",)),
        ),
        (called("treatment", "control"), "", Reading()),
        (
            called("gpt", "t5", ("1", "001", "2", "002", "3")),
            "4 annotators have nearly the same names (1 and 001, 2 and 002)",
            Reading(same=("annotator_id",)),
        ),
    ],
)
def test_names_that_may_be_one_or_no_system_are_asked(
    rows: Sequence[Row], said: str, settled: Reading, tmp_path: Path
) -> None:
    """A first sentence of GPT ahead of gpt, or of an attention check, would be wrong."""
    path = written(tmp_path, rows)
    if said:
        with pytest.raises(AnalysisError) as asked:
            recognise_tables([path], Reading())
        assert said in asked.value.problems[0]
        assert len(asked.value.problems[0]) < 500
    assert recognise_tables([path], settled).found[0].kind == "ratings"


def ordered(*cells: str) -> list[Row]:
    return [
        {"rater": who, "item": item, "ranking": cells[n % len(cells)]}
        for n, (who, item) in enumerate(product(PEOPLE, ITEMS))
    ]


@pytest.mark.parametrize(
    "cells",
    [
        ("gpt > t5 = nmt", "t5 > gpt > nmt"),
        ("nmt = t5 < gpt", "nmt<gpt<t5"),
        ('["gpt", ["t5", "nmt"]]', '["t5", "gpt", "nmt"]'),
    ],
)
def test_cells_that_hold_whole_orders_are_rankings(cells: tuple[str, str], tmp_path: Path) -> None:
    found, tables = read(written(tmp_path, ordered(*cells, cells[0])))
    assert [*found.files] == ["orders"]
    assert tables.orders is not None
    ranks = tables.orders.group_by("system").agg(pl.col("value").mean()).sort("value").rows()
    assert ranks == [("gpt", pytest.approx(4 / 3)), ("t5", pytest.approx(5 / 3)), ("nmt", pytest.approx(7 / 3))]


def test_orders_of_places_are_asked_about(tmp_path: Path) -> None:
    """Signs on a page stand for another system in each row."""
    path = written(tmp_path, ordered("A=B>C", "B>A>C"))
    with pytest.raises(AnalysisError, match="orders A, B, C, which may be places on a page"):
        recognise_tables([path], Reading())
    orders = read(path, Reading(names=("A", "B", "C")))[1].orders
    assert orders is not None
    assert orders.filter(pl.col("system") == "C")["value"].unique().to_list() == [3]  # behind two that share the first
    broken = written(tmp_path, [*ordered("gpt>t5", "t5>gpt"), {"rater": "p9", "item": "item0", "ranking": "gpt"}])
    with pytest.raises(AnalysisError, match="row 26: expected an order of systems in rank"):
        read_tables(
            {"orders": broken}, Reading(mapping={"rater": "annotator_id", "item": "item_id", "ranking": "rank"})
        )


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (("best", "worst"), "columns best, worst name the best and the worst, and no column the systems shown"),
        (("rank1", "rank2", "rank3"), "columns rank1, rank2, rank3 hold the same names, each once in a row"),
        (
            ("submitdate", "lastpage", "startlanguage"),
            "got responses of LimeSurvey, a row a person",
        ),
        (("Timestamp", "Rate gpt [Fluency]", "Rate t5 [Fluency]"), "got responses of Google Forms, a row a person"),
        (("mean_score", "sd", "n"), "expected a row an answer, got means (mean_score, sd, n)"),
    ],
)
def test_answers_in_another_shape_are_told(columns: Sequence[str], said: str, tmp_path: Path) -> None:
    """No column of them is offered as a system: the line says what the file is."""
    names = ("gpt", "t5", "nmt")
    turned = [names[n % 3 :] + names[: n % 3] for n in range(24)]
    cells = turned
    rows = [
        {"rater": who, "prompt": item, **dict(zip(columns, row, strict=False))}
        for (who, item), row in zip(product(PEOPLE, ITEMS), cells, strict=True)
    ]
    if "sd" in columns:
        rows = [{name: row[name] for name in columns} for row in rows]
    with pytest.raises(AnalysisError) as told:
        recognise_tables([written(tmp_path, rows)], Reading())
    assert said in told.value.problems[0]
    assert len(told.value.problems[0]) < 500


def test_conditions_may_name_the_system_together(tmp_path: Path) -> None:
    rows = [
        {"rater": who, "item": item, "model": model, "condition": condition, "score": 3}
        for who, item, model, condition in product(PEOPLE, ITEMS, ("gpt", "t5"), ("plain", "tools"))
    ]
    path = written(tmp_path, rows)
    with pytest.raises(AnalysisError, match="or model\\+condition=system if both name the system"):
        recognise_tables([path], Reading())
    tables = read(path, Reading(mapping={"model+condition": "system"}))[1]
    assert tables.ratings is not None
    assert tables.ratings["system"].n_unique() == 4


def test_records_in_lists_are_read_by_the_line_that_is_said(tmp_path: Path) -> None:
    """A list of scores beside another: what it says to type reads the file."""
    path = tmp_path / "summaries.jsonl"
    score = {"coherence": 3, "fluency": 4}
    rows = [
        {"id": item, "model_id": system, "expert_annotations": [score] * 3, "turker_annotations": [score] * 5}
        for item, system in product(ITEMS, ("gpt", "t5"))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = "expert_annotations holds records with coherence, fluency: --each expert_annotations --map 'expert_ann"
    assert said in reported(path).stderr
    options = Reading(each="expert_annotations", mapping={"expert_annotations[#]": "annotator_id"})
    found, tables = read(path, options)
    assert found.reading.criteria == ("coherence", "fluency")
    assert tables.ratings is not None
    assert tables.ratings.height == 12 * 3 * 2


def file_of(score: str) -> str:
    rows = [
        f"{who},{item},{system},{3 if n else score}" for n, (who, item, system) in enumerate(product("ab", "12", "xy"))
    ]
    return "\n".join(["rater,item,system,score", *rows])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("answers.sav", "$FL2", "; save it as .csv (in SPSS"),
        (
            "answers.csv",
            "0,0,1,4\n0,1,1,5\n1,0,0,2\n",
            "the names of columns in row 1, got numbers (0, 0, 1, 4)",
        ),
        ("answers.csv", file_of("skip"), "--value skip=missing"),
    ],
)
def test_files_that_cannot_be_read_say_what_they_are(name: str, content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content)
    shown = reported(path)
    assert said in shown.stderr
    assert len(shown.stderr.splitlines()[-1]) < 500


def test_columns_of_llms_are_no_people(tmp_path: Path) -> None:
    rows = [
        {"item": item, "system": system, "gpt4_score": 3 + n % 2, "human_score": 2 + n % 3}
        for n, (item, system) in enumerate(product(ITEMS, ("gpt", "t5")))
    ]
    options = Reading(annotator_columns=("gpt4_score", "human_score"))
    found, tables = read(written(tmp_path, rows), options)
    assert found.reading.llms == ("gpt4_score",)
    assert tables.ratings is not None
    kinds = tables.ratings.select(pl.col("annotator_id", "annotator_kind").cast(pl.String)).unique().rows()
    assert {*kinds} == {("gpt4_score", "llm"), ("human_score", "human")}


def test_scores_that_are_orders_are_asked_about(tmp_path: Path) -> None:
    """As scores, the last of an order would be called the best."""
    names, dice = ("gpt", "t5", "nmt"), random.Random(4)
    wide = [
        {"rater": who, "item": item, **dict(zip(names, dice.sample((1, 2, 3), 3), strict=True))}
        for who, item in product(PEOPLE, ITEMS)
    ]
    long = [
        {"rater": row["rater"], "item": row["item"], "system": name, "score": row[name]}
        for row in wide
        for name in names
    ]
    for rows, said in ((wide, "--orders FILE --systems gpt,nmt,t5 --map"), (long, "--map score=rank")):
        path = written(tmp_path, rows)
        with pytest.raises(AnalysisError) as asked:
            recognise_tables([path], Reading())
        assert said in asked.value.problems[0]
        assert len(asked.value.problems[0]) < 500
        assert (
            recognise_tables([path], Reading(scales=(Scale(criterion=None, low=1, high=3),))).found[0].kind == "ratings"
        )
        tied = written(tmp_path, [{**rows[0], ("gpt" if rows is wide else "score"): 5}, *rows[1:]])
        assert recognise_tables([tied], Reading()).found[0].kind == "ratings"
    assert read(written(tmp_path, long), Reading(mapping={"score": "rank"}))[1].orders is not None


TRUTH = {"gpt": 5, "t5": 3, "nmt": 2}
RATED = [(who, item, name, TRUTH[name]) for who, item, name in product(PEOPLE, ITEMS, TRUTH)]
PAIR = [(who, item, n % 3) for n, (who, item) in enumerate(product(PEOPLE, ITEMS))]


@pytest.mark.parametrize(
    ("names", "rows", "roles"),
    [
        (("login", "itemID", "system", "score"), RATED, {"login": "annotator_id", "itemID": "item_id"}),
        (("_submitted_by", "item", "team", "rating"), RATED, {"_submitted_by": "annotator_id", "team": "system"}),
        (("Participant Public ID", "item", "system", "Response"), RATED, {"Participant Public ID": "annotator_id"}),
        (
            ("ASSIGNMENT:worker_id", "ASSIGNMENT:task_id", "INPUT:model_a", "INPUT:model_b", "OUTPUT:result"),
            [(who, item, "gpt", "t5", ("model_a", "tie", "model_b")[won]) for who, item, won in PAIR],
            {"ASSIGNMENT:worker_id": "annotator_id", "INPUT:model_b": "system_y", "OUTPUT:result": "winner"},
        ),
        (
            ("rater", "prompt", "left_model", "right_model", "vote_type"),
            [(who, item, "gpt", "t5", ("leftvote", "tievote", "rightvote")[won]) for who, item, won in PAIR],
            {"left_model": "system_x", "vote_type": "winner"},
        ),
    ],
)
def test_names_of_tools_and_campaigns_are_known(
    names: Sequence[str], rows: Sequence[Sequence[object]], roles: Mapping[str, str], tmp_path: Path
) -> None:
    """ESA, KoboToolbox, Gorilla, Toloka, GenAI-Bench."""
    found, tables = read(written(tmp_path, [dict(zip(names, row, strict=True)) for row in rows]))
    assert {*roles.items()} <= {*found.reading.mapping.items()}
    if tables.ratings is not None:
        means = tables.ratings.group_by(pl.col("system").cast(pl.String)).agg(pl.col("value").mean())
        assert dict(means.rows()) == TRUTH
    else:
        assert wins(tables) == {"gpt": 12, "t5": 12}


def test_sums_and_outputs_are_no_systems_or_items(tmp_path: Path) -> None:
    """A mean beside systems, a row for each system, files of outputs, and scores inside an object: none is guessed."""
    wide = [
        {"rater": who, "item": item, "gpt4": 4 + n % 5 % 2, "llama2": 2 + n % 5 % 2, "Average": 3 + n % 5 % 2}
        for n, (who, item) in enumerate(product(PEOPLE, ITEMS))
    ]
    assert [*recognise_tables([written(tmp_path, wide)], Reading()).reading.systems] == ["gpt4", "llama2"]
    turned = [{"system": name, **{item: n for item in ITEMS}} for n, name in enumerate(TRUTH)]
    files = [
        {"worker": who, "condition": name, "file_url": f"x/{name}/{item}.wav", "vote": vote - n % 5 % 2}
        for n, (who, item, name, vote) in enumerate(RATED)
    ]
    for rows, said in (
        (turned, "if these are items, turn the table"),
        (files, "file_url names outputs: --map file_url=item_id --cut-system"),
    ):
        with pytest.raises(AnalysisError) as told:
            recognise_tables([written(tmp_path, rows)], Reading())
        assert said in told.value.problems[0]
    cut = read(written(tmp_path, files), Reading(mapping={"file_url": "item_id"}, cut_system=True))[1].ratings
    assert cut is not None
    assert cut["item_id"].n_unique() == len(ITEMS)
    path = tmp_path / "scores.jsonl"
    path.write_text(
        "".join(
            json.dumps({"item": item, "model": name, "judge": who, "score": {"fluency": vote, "truth": 1 + vote % 2}})
            + "\n"
            for who, item, name, vote in RATED
        )
    )
    with pytest.raises(AnalysisError, match=r"--criteria score\.fluency,score\.truth"):
        recognise_tables([path], Reading())
    inside = read(path, Reading(criteria=("score.fluency", "score.truth")))[1].ratings
    assert inside is not None
    assert {*inside["criterion"].cast(pl.String).to_list()} == {"score.fluency", "score.truth"}
