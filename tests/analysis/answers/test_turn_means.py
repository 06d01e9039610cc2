"""Scores of turns: one mean an annotator and output, so that long dialogues do not count for more."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.answers.columns import LAYOUTS
from analysis.answers.options import Reading
from analysis.answers.recognised import recognise_tables
from analysis.answers.tables import check_frames, read_tables
from analysis.frames.measures import rating_means, rating_tests
from spa.errors import AnalysisError
from tests.spa.elicitation.test_rated_turns import STUDY, study_of_turns
from tests.spa.rehearsed import spa

CELL = ("annotator_id", "item_id", "system", "criterion")


def scores(seed: int = 3, *, copies: int = 1) -> pl.DataFrame:
    """Return ratings of dialogues of one to four turns, each turn as often as is said."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "annotator_id": f"p{person}",
            "item_id": f"i{item}",
            "system": system,
            "criterion": criterion,
            "score": score,
            "turn": turn * copies + copy,
        }
        for person in range(12)
        for item in range(5)
        for place, system in enumerate(("a", "b"))
        for criterion in ("overall", "help")
        for turn in range(1 + (item + place) % 4)
        for score in [int(rng.integers(1, 6))]
        for copy in range(copies)
    ]
    return pl.DataFrame(rows)


def shown(rows: Iterable[Any]) -> list[str]:
    """Return all that rows of results say."""
    return [str({name: getattr(row, name) for name in row.__dataclass_fields__}) for row in rows]


def test_outputs_get_the_means_of_their_turns() -> None:
    """By hand; the row is the first one, and a line says how many there were."""
    given = scores()
    tables = check_frames({"ratings": given}, Reading())
    assert tables.ratings is not None
    made = {tuple(row[name] for name in CELL): row["value"] for row in tables.ratings.to_dicts()}
    wanted: dict[tuple[str, ...], list[int]] = {}
    for row in given.to_dicts():
        wanted.setdefault(tuple(row[name] for name in CELL), []).append(row["score"])
    assert made == pytest.approx({cell: fmean(values) for cell, values in wanted.items()})
    assert "turn" not in tables.ratings.columns
    (note,) = tables.inputs[0].notes
    assert note.startswith(f"{given.height:,} scores of turns are averaged to {len(wanted):,} of outputs")


def test_turns_are_no_units_of_their_own() -> None:
    """Three times the turns with the same scores say nothing more: n, means, intervals and tests stay."""
    once, thrice = scores(), scores(copies=3)
    assert shown(rating_means(once)) == shown(rating_means(thrice))
    tests = rating_tests(once)
    assert shown(tests) == shown(rating_tests(thrice))
    apart = rating_tests(once.with_columns(pl.concat_str("item_id", pl.lit("/"), "turn").alias("item_id")).drop("turn"))
    assert [row.p_value for row in tests] != [row.p_value for row in apart]  # turns as items: another number


def test_missing_turns_leave_the_mean_of_the_others() -> None:
    """An output without any score is missing, with its reason."""
    base = {"annotator_id": "p", "item_id": "i", "system": "a"}
    rows = [
        {**base, "score": "2", "turn": 1, "missing_reason": None},
        {**base, "score": None, "turn": 2, "missing_reason": "refused"},
        {**base, "system": "b", "score": None, "turn": 1, "missing_reason": "refused"},
        {**base, "system": "b", "score": None, "turn": 2, "missing_reason": "refused"},
    ]
    ratings = check_frames({"ratings": pl.DataFrame(rows)}, Reading()).ratings
    assert ratings is not None
    found = ratings.select(pl.col("system", "missing_reason").cast(pl.String), "value").rows()
    assert found == [("a", None, 2.0), ("b", "refused", None)]


def test_turns_beside_whole_outputs_are_refused() -> None:
    base = {"annotator_id": "p", "item_id": "i", "system": "a", "score": 3}
    rows = pl.DataFrame([{**base, "turn": 1}, {**base, "turn": None}])
    with pytest.raises(AnalysisError, match="row 2: expected a turn for each score of an output, or for none"):
        check_frames({"ratings": rows}, Reading())
    with pytest.raises(AnalysisError, match="expected one answer a cell, got 2"):
        check_frames({"ratings": rows.with_columns(turn=pl.lit(1))}, Reading())


def test_column_of_another_meaning_changes_nothing() -> None:
    """A number beside scores that are told apart without it is not averaged, and nothing is said."""
    given = scores().filter(pl.col("turn") == 0)
    with_turn = check_frames({"ratings": given}, Reading())
    without = check_frames({"ratings": given.drop("turn")}, Reading())
    assert with_turn.ratings is not None
    assert without.ratings is not None
    assert with_turn.ratings.equals(without.ratings)
    assert with_turn.inputs[0].notes == without.inputs[0].notes == ()
    assert "turn" not in LAYOUTS["ratings"].cell


def judged(turns: int = 2, **more: object) -> pl.DataFrame:
    """Return scores of which "first" wins the first turn by 2 points, "second" every other by 4, each output alike."""
    by_turn = {"first": (8, 3), "second": (6, 7)}
    return pl.DataFrame(
        [
            {
                "rater": f"p{who}",
                "question": f"q{item}",
                "model": name,
                "turn": turn,
                "rating": own[turn > 1] + item % 2,
            }
            | more
            for who in range(3)
            for item in range(4)
            for name, own in by_turn.items()
            for turn in range(1, turns + 1)
        ]
    )


OWN = {"rater": "annotator_id", "question": "item_id", "model": "system", "rating": "score"}


def means(path: Path, options: Reading) -> dict[tuple[str, str], float]:
    found = recognise_tables([path], options)
    ratings = read_tables(dict(found.files), found.reading).ratings
    assert ratings is not None
    cells = ratings.group_by(pl.col("criterion", "system").cast(pl.String)).agg(pl.col("value").mean())
    return {(criterion, system): value for criterion, system, value in cells.rows()}


@pytest.mark.parametrize("ours", [False, True])
def test_turns_of_every_output_are_reported_each(ours: bool, tmp_path: Path) -> None:
    """Their mean would name "first" or "second" best by the turns' number alone; an option asks for it."""
    path = tmp_path / "answers.csv"
    judged().rename(OWN if ours else {}).write_csv(path)
    assert means(path, Reading()) == {
        ("turn 1", "first"): 8.5,
        ("turn 1", "second"): 6.5,
        ("turn 2", "first"): 3.5,
        ("turn 2", "second"): 7.5,
    }
    (line,) = [one for one in recognise_tables([path], Reading()).found[0].columns if "criterion" in one.note]
    assert line.line({"mapping": "--map"}) == "criterion: column turn (1, 2); else --map turn=turn (means over turns)"
    averaged = means(path, Reading(mapping={"turn": "turn"}))
    assert {system: value for (_, system), value in averaged.items()} == {"first": 6, "second": 7}


def test_turns_beside_criteria_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    judged(aspect="help").vstack(judged(aspect="safe")).write_csv(path)
    with pytest.raises(AnalysisError) as asked:
        recognise_tables([path], Reading())
    assert str(asked.value).endswith(", of one turn --keep turn=1, of each --map aspect+turn=criterion")
    each = means(path, Reading(mapping={"aspect+turn": "criterion"}))
    assert each["help/1", "first"] == 8.5
    assert len(each) == 8
    uneven = judged().filter(~((pl.col("model") == "first") & (pl.col("turn") == 2)))  # of one turn less
    uneven.write_csv(path)
    with pytest.raises(AnalysisError, match="column turn may be the number of an answer that was given again"):
        recognise_tables([path], Reading())


def test_study_of_turns_goes_from_file_to_report(tmp_path: Path) -> None:
    """Simulated people and model: a row a turn in the tables, an output a cell in the results."""
    path = study_of_turns(tmp_path, f'{STUDY}[people]\nannotators = 4\n[[raters]]\nid = "sim"\nmodel = "none"\n')
    for command in (["build"], ["simulate"], ["rate", "--simulate"]):
        spa(command[0], path, *command[1:])
    spa("export", path, "--rehearsal", "--out", tmp_path / "tables")
    spa("report", path, "--rehearsal", "--out", tmp_path / "report")
    ratings, reading = (pl.read_csv(tmp_path / "tables" / f"{name}.csv") for name in ("ratings", "reading"))
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    people = ratings.filter(pl.col("annotator_kind") == "simulated", ~pl.col("annotator_id").eq("sim"))
    outputs = people.group_by("annotator_id", "item_id", "system").agg(pl.col("score").mean())
    wanted = dict(
        outputs.group_by("system")
        .agg(pl.col("score").mean(), pl.len())
        .select("system", pl.struct("score", "len"))
        .rows()
    )
    found = {row["system"]: row for row in results["ratings"]["means"] if row["group"] == "simulated"}
    for system, own in wanted.items():
        assert (found[system]["mean"], found[system]["n"]) == (pytest.approx(own["score"]), own["len"])
    pages = reading.filter(pl.col("page_kind") == "rating")
    assert (
        pages.group_by("page", "assignment_id")
        .agg(pl.col("turn").max(), pl.len())
        .select((pl.col("turn") == pl.col("len")).all())
        .item()
    )
    spa("export", path, "--rehearsal", "--out", tmp_path / "inspect", "--format", "inspect")
    (record, *_) = json.loads(next((tmp_path / "inspect").glob("*.json")).read_text())
    assert 1 <= record["value"]["overall"] <= 5
