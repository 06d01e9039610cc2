"""Best-worst answers as files keep them: the choices that they imply, and the usual scores of them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import analysis
from analysis import Plan, Reading
from analysis.answers.recognised import recognise_tables
from analysis.answers.tables import AnswerTables, read_tables
from spa.errors import AnalysisError
from tests.analysis.answers.own_files import write

SYSTEMS = ("gpt", "t5", "org/nmt", "bart", "palm")
Answer = tuple[str, str, list[str], str, str]  # annotator, item, systems shown, the best, the worst
Row = Mapping[str, Any]


def answers() -> list[Answer]:
    """Draw four of five systems for each of 24 rows, and two different ones of them."""
    rng = random.Random(6)
    drawn = [rng.sample(SYSTEMS, 4) for _ in range(24)]
    return [(f"p{n % 3}", f"i{n // 3}", shown, *rng.sample(shown, 2)) for n, shown in enumerate(drawn)]  # type: ignore[misc]


def options(shown: Sequence[str]) -> dict[str, str]:
    return {f"option{n}": name for n, name in enumerate(shown, 1)}


LAYOUTS: Mapping[str, tuple[str, Callable[[Answer], Row]]] = {
    "names": ("a.csv", lambda one: {**options(one[2]), "best": one[3], "worst": one[4]}),
    "columns": (
        "a.csv",
        lambda one: {**options(one[2]), **dict(zip(("best", "worst"), places(one, "option{}"), strict=True))},
    ),
    "numbers": ("a.csv", lambda one: {**options(one[2]), **dict(zip(("best", "worst"), places(one), strict=True))}),
    "list": ("a.jsonl", lambda one: {"systems": one[2], "best": one[3], "worst": one[4]}),
    "list in parquet": ("a.parquet", lambda one: {"systems": one[2], "best": one[3], "worst": one[4]}),
    "cell": ("a.csv", lambda one: {"models shown": "|".join(one[2]), "Most liked": one[3], "Least liked": one[4]}),
    "JSON in a cell": ("a.csv", lambda one: {"x": json.dumps(one[2]), "Best model": one[3], "Worst model": one[4]}),
}


def places(one: Answer, form: str = "{}") -> list[str]:
    return [form.format(one[2].index(name) + 1) for name in one[3:]]


def written(folder: Path, layout: str, drawn: Sequence[Answer]) -> Path:
    name, row = LAYOUTS[layout]
    return write(folder / name, [{"rater": one[0], "item": one[1], **row(one)} for one in drawn])


def read(path: Path, options: Reading | None = None) -> AnswerTables:
    found = recognise_tables([path], options or Reading())
    assert [*found.files] == ["choices"]
    return read_tables(dict(found.files), found.reading)


def implied(drawn: Sequence[Answer]) -> set[tuple[str, str, str, str]]:
    """Return (annotator, item, winner, loser) by the definition."""
    won = {(who, item, best, other) for who, item, shown, best, _ in drawn for other in shown if other != best}
    return won | {
        (who, item, other, worst) for who, item, shown, _, worst in drawn for other in shown if other != worst
    }


def told(tables: AnswerTables) -> list[tuple[str, str, str, str]]:
    assert tables.choices is not None
    rows = tables.choices.select("annotator_id", "item_id", "system_x", "system_y", "value").rows()
    return [(who, item, *((x, y) if value == 1 else (y, x))) for who, item, x, y, value in rows]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_best_and_worst_imply_choices_however_written(layout: str, tmp_path: Path) -> None:
    drawn = answers()
    tables = read(written(tmp_path, layout, drawn))
    found = told(tables)
    assert {*found} == implied(drawn)
    assert len(found) == len(drawn) * 5  # of four systems, all pairs but that of the two between
    assert tables.choices is not None
    assert tables.choices["elicitation"].unique().to_list() == ["best_worst"]


def test_scores_are_best_less_worst(tmp_path: Path) -> None:
    """The usual scores of best-worst scaling: how often best less how often worst, over how often shown."""
    drawn = answers()
    found = analysis.analyse(read(written(tmp_path, "names", drawn)), Plan()).best_worst
    expected = {
        name: (sum(one[3] == name for one in drawn) - sum(one[4] == name for one in drawn))
        / sum(name in one[2] for one in drawn)
        for name in SYSTEMS
    }
    assert {row.system: row.score for row in found} == pytest.approx(expected)
    assert {row.n_left_out for row in found} == {0}
    assert {(row.clustered, row.n_clusters) for row in found} == {("annotator", 3)}


def test_files_with_the_same_rows_are_one_table(tmp_path: Path) -> None:
    """Their rows have the same numbers, and are answers each."""
    drawn = answers()
    parts = [tmp_path / "1", tmp_path / "2"]
    for part, folder in enumerate(parts):
        folder.mkdir()
        written(folder, "names", drawn[part * 12 : part * 12 + 12]).rename(folder / f"{part}.csv")
    found = recognise_tables([folder / f"{n}.csv" for n, folder in enumerate(parts)], Reading())
    tables = read_tables(dict(found.files), found.reading)
    assert {*told(tables)} == implied(drawn)
    assert tables.choices is not None
    assert tables.choices["assignment_id"].n_unique() == len(drawn)


def test_rows_of_one_person_and_item_are_answers_each(tmp_path: Path) -> None:
    """Nobody submitted twice: the same two outputs may stand in several rows of a design."""
    drawn = [(who, "i0", *rest) for who, _, *rest in answers()]
    tables = read(written(tmp_path, "names", drawn))  # type: ignore[arg-type]
    assert len(told(tables)) == len(drawn) * 5
    done = analysis.analyse(tables, Plan())
    assert not done.exclusions
    assert sum(row.best for row in done.best_worst) == len(drawn)


@pytest.mark.parametrize(
    ("best", "worst", "said"),
    [
        ("gpt", "gpt", "row 2: expected two systems as best and worst, got gpt as both"),
        ("gpt", "palm", "row 2: expected a system of the row as worst (gpt, t5, org/nmt, bart), got 'palm'"),
        ("gpt", "9", "row 2: expected a system of the row as worst (gpt, t5, org/nmt, bart), got '9'"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(best: str, worst: str, said: str, tmp_path: Path) -> None:
    row: Answer = ("p9", "i9", [*SYSTEMS[:4]], best, worst)
    path = written(tmp_path, "names", [row, *answers()])
    with pytest.raises(AnalysisError) as refused:
        read(path)
    assert said in str(refused.value)


def test_what_was_shown_is_asked_and_may_be_said(tmp_path: Path) -> None:
    """Without it nobody knows over what the best was chosen; options name columns of any other names."""
    drawn = answers()
    rows = [{"rater": one[0], "item": one[1], "best": one[3], "worst": one[4]} for one in drawn]
    with pytest.raises(AnalysisError, match="name the best and the worst, and no column the systems shown"):
        read(write(tmp_path / "alone.csv", rows))
    odd = [
        {"rater": one[0], "item": one[1], **dict(zip("stuv", one[2], strict=True)), "top": one[3], "low": one[4]}
        for one in drawn
    ]
    said = {"top": "best", "low": "worst"}
    options = Reading(mapping=said, systems={name: name for name in "stuv"})
    assert {*told(read(write(tmp_path / "odd.csv", odd), options))} == implied(drawn)
    empty = [{**row, "low": "" if n == 3 else row["low"]} for n, row in enumerate(odd)]
    left = read(write(tmp_path / "empty.csv", empty), options)
    assert len(told(left)) == 23 * 5
    assert "rows without a best and a worst, left out: 1" in left.inputs[0].notes
