"""Annotators on a scale of their own: who is told, whom nobody should be told of, and what --rescale does."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings

from analysis import Plan, Reading
from analysis import analyse as analyse_records
from analysis.answers.columns import Scale
from analysis.answers.other_scales import GivenScores, OtherScale, on_another_scale
from analysis.answers.rescaling import Rescaled
from analysis.answers.tables import AnswerTables, check_frames, read_tables
from analysis.parts.reading import read_totals
from analysis.report.markdown import render_markdown
from analysis.report.parts import full_report
from analysis.report.sections import build_document
from spa.cli import main
from spa.errors import AnalysisError
from tests.analysis.made_answers import ratings
from tests.strategies import orders_of

Change = Callable[[float], float]


def table(change: Change, *, who: str = "p0", people: int = 5, items: int = 30, noise: float = 0.7) -> pl.DataFrame:
    """Rate two systems from 1 to 5, x a point ahead of y; one annotator on another scale."""
    rng = np.random.default_rng(7)
    rows: list[tuple[str, str, str, object]] = []
    annotators = [f"p{number}" for number in range(people)] + ([who] if who.startswith("judge") else [])
    for item in range(items):
        for system, ahead in (("x", 1), ("y", 0)):
            quality = 2.6 + ahead + rng.normal(0, 0.6)
            for annotator in annotators:
                score = float(np.clip(np.round(quality + rng.normal(0, noise)), 1, 5))
                rows.append((annotator, f"i{item}", system, f"{change(score) if annotator == who else score:g}"))
    return ratings(rows)


def check(frame: pl.DataFrame, **options: Any) -> AnswerTables:
    return check_frames(
        {"ratings": frame}, Reading(llms=("judge",) if "judge" in frame["annotator_id"] else (), **options)
    )


def told(frame: pl.DataFrame, **options: Any) -> list[tuple[str, float, float]]:
    tables = check(frame, **options)
    results = analyse_records(tables, Plan())
    texts = [row.text for row in results.warning_rows if row.kind == "other_scales"]
    assert results.headline is not None
    assert [one.text for one in results.headline.problems if one.kind == "other_scales"] == texts
    assert len(texts) == len({one.annotator_id for one in tables.other_scales})
    return [(one.annotator_id, one.low, one.high) for one in tables.other_scales]


TIMES_20, TWICE = (lambda score: 20 * score), (lambda score: 2 * score)


@pytest.mark.parametrize(
    ("change", "ends"), [(TIMES_20, (20, 100)), (TWICE, (2, 10)), (lambda score: 25 * (score - 1), (0, 100))]
)
@pytest.mark.parametrize("who", ["p0", "judge"])
def test_scores_far_above_the_others_are_told(change: Change, ends: tuple[float, float], who: str) -> None:
    assert told(table(change, who=who)) == [(who, *ends)]


@pytest.mark.parametrize(("times", "less"), [(0.25, 0.25), (0.2, 0)])
def test_so_are_fractions_of_one_among_scores_to_100(times: float, less: float) -> None:
    frame = table(lambda score: score)
    score, own = pl.col("score").cast(pl.Float64), pl.col("annotator_id") == "p0"
    mixed = frame.with_columns(score=pl.when(own).then(score * times - less).otherwise(score * 20).cast(pl.String))
    assert [name for name, *_ in told(mixed)] == ["p0"]


def test_so_is_a_person_from_1_to_5_among_sliders() -> None:
    rng = np.random.default_rng(2)
    frame = table(lambda score: score)
    sliders = pl.Series([f"{int(np.clip(float(score) * 20 + rng.normal(0, 8), 0, 100))}" for score in frame["score"]])
    mixed = frame.with_columns(score=pl.when(pl.col("annotator_id") == "p3").then("score").otherwise(sliders))
    assert told(mixed) == [("p3", 1, 5)]


def test_a_scale_from_0_is_told_by_its_numbers() -> None:
    frame = table(lambda score: score - 1, who="judge", items=60, noise=1.2)
    assert told(frame) == [("judge", 0, 4)]
    frame = table(lambda score: score - 1, items=60, noise=1.2)
    assert told(frame) == [("p0", 0, 4)]


def test_llm_scale_one_below_people() -> None:
    """An LLM that agrees with people but one number below is told without a 0."""
    frame = table(lambda score: max(2, score) - 1, who="judge", items=60, noise=0.9)
    tables = check(frame)
    (found,) = tables.other_scales
    assert (found.annotator_id, found.low) == ("judge", 1)
    assert found.moved == pytest.approx(-1, abs=0.25)
    results = analyse_records(tables, Plan())
    (text,) = (row.text for row in results.warning_rows if row.kind == "other_scales")
    assert " below people's of the same outputs and are never 5, yet count as one scale" in text
    assert "whether it can replace annotators too. If it is another, add --rescale judge=0:4" in text


@pytest.mark.parametrize("people", [2, 5])
def test_an_llm_to_10_beside_people_to_5_is_told(people: int) -> None:
    rng = np.random.default_rng(1)
    frame = table(lambda score: float(np.clip(2 * score - rng.integers(0, 2), 1, 10)), who="judge", people=people)
    assert told(frame) == [("judge", 1, 10)]


def test_an_llm_to_5_beside_people_to_10_is_told_where_it_agrees() -> None:
    rng = np.random.default_rng(1)
    rows = []
    for item in range(40):
        for system in "xy":
            quality = rng.uniform(1, 10)
            for who in ("judge", "p0", "p1", "p2"):
                score = quality + rng.normal(0, 1)
                own = 1 + (score - 1) * 4 / 9 if who == "judge" else score
                rows.append((who, f"i{item}", system, f"{np.clip(round(own), 1, 5 if who == 'judge' else 10):g}"))
    assert told(ratings(rows)) == [("judge", 1, 5)]


@pytest.mark.parametrize(("low", "high", "most"), [(1, 5, 3), (1, 10, 2), (0, 10, 2)])
def test_llms_that_are_severe_raise_few_alarms(low: int, high: int, most: int) -> None:
    """80 criteria of five people and an LLM, the LLM's severity drawn with an SD of a tenth of the scale."""
    rng, width, who = np.random.default_rng(6), high - low, ("judge", "p0", "p1", "p2", "p3", "p4")
    cells = [(name, f"i{item}", system) for item in range(30) for system in "xy" for name in who]
    parts = []
    for number in range(80):
        lean, spread = rng.normal(0, width / 10), rng.uniform(0.1, 0.25)
        drawn = rng.standard_normal((60, 1 + len(who)))
        quality = (low + high) / 2 + spread * width * drawn[:, :1]
        scores = np.round(quality + lean * (np.array(who) == "judge") + 0.12 * width * drawn[:, 1:]).clip(low, high)
        rows = [(*cell, f"{score:g}") for cell, score in zip(cells, scores.ravel().tolist(), strict=True)]
        parts.append(ratings(rows, criterion=f"criterion {number}"))
    found = check(pl.concat(parts)).other_scales
    (first,) = {check(parts[0]).other_scales, tuple(one for one in found if one.criterion == "criterion 0")}
    assert {one.annotator_id for one in (*first, *found)} <= {"judge"}
    assert len({one.criterion for one in found}) <= most


def test_scale_caveat_settled_by_declaration() -> None:
    """The caveat names the option and a declared scale settles it."""
    frame = table(TIMES_20)
    results = analyse_records(check(frame), Plan())
    assert results.headline is not None
    problem = results.headline.problems[0]
    assert problem.kind == "other_scales"
    assert problem.text == (
        "Scores by p0 run from 20 to 100, those of the others from 1 to 5, yet count as one scale, in agreement too. "
        "If it is another, add --rescale p0=20:100; if not, --scale 1:100."
    )
    assert told(frame, scales=(Scale(criterion=None, low=1, high=100),)) == []
    assert told(frame, rescale={"p0": (20, 100)}) == []


def test_rescaled_scores_are_what_the_person_meant() -> None:
    right = analyse_records(check(table(lambda score: score)), Plan())
    found = analyse_records(check(table(TIMES_20), rescale={"p0": (20, 100)}), Plan())
    assert found.ratings.pairs == right.ratings.pairs
    assert found.agreement == right.agreement
    own = Rescaled(annotator_id="p0", criterion="overall", low=20, high=100, to_low=1, to_high=5)
    assert found.settings.rescaled == (own,)
    assert found.settings.inputs[0].notes == ("scores by p0 mapped from 20:100 onto 1:5",)


def test_a_declared_scale_is_the_one_mapped_onto() -> None:
    frame = table(lambda score: (score - 1) * 25)
    tables = check(frame, rescale={"p0": (0, 100)}, scales=(Scale(criterion=None, low=1, high=5),))
    assert tables.ratings is not None
    values = tables.ratings.filter(pl.col("annotator_id") == "p0")["value"]
    assert set(values) <= {1, 2, 3, 4, 5}
    assert tables.rescaled[0].to_low == 1


def test_mistakes_are_refused() -> None:
    frame = table(TIMES_20)
    for rescale, said in (
        ({"p9": (20.0, 100.0)}, "has no annotator 'p9'"),
        ({"p0": (0.0, 10.0)}, r"score of p0 must lie in \[0, 10\]"),
        ({f"p{who}": (0.0, 100.0) for who in range(5)}, "does not say the scale of the others on overall"),
    ):
        with pytest.raises(AnalysisError, match=said):
            check(frame, rescale=rescale)


def test_the_command_and_parts_map_too(tmp_path: Path) -> None:
    frame = table(TIMES_20)
    (tmp_path / "parts").mkdir()
    frame[:77].write_csv(tmp_path / "parts" / "a.csv")
    frame[77:].write_csv(tmp_path / "parts" / "b.csv")
    where = str(tmp_path / "parts")
    given = ["report", "--ratings", where, "--in-parts", "--out", str(tmp_path / "o")]
    assert "--rescale p0=20:100" in " ".join(CliRunner().invoke(main, given).output.split())
    alone = CliRunner().invoke(main, [*given, "--rescale", "p0=20:100"])
    assert alone.exit_code == 1
    assert "declare it (scale LOW:HIGH)" in alone.output
    assert CliRunner().invoke(main, [*given, "--rescale", "p0=20:100", "--scale", "1:5"]).exit_code == 0
    reading = Reading(rescale={"p0": (20, 100)}, scales=(Scale(criterion=None, low=1, high=5),))
    paths = sorted((tmp_path / "parts").iterdir())
    assert read_totals(where, "ratings", reading).rescaled == read_tables({"ratings": paths}, reading).rescaled
    wrong = CliRunner().invoke(main, [*given, "--rescale", "p0=20"])
    assert "expected --rescale ID=LOW:HIGH, got 'p0=20'" in wrong.output


@settings(max_examples=15)
@given(orders_of(300))
def test_who_is_told_knows_no_order_of_rows(order: list[int]) -> None:
    frame, told_of = _in_order()
    assert check(frame[order]).other_scales == told_of


@cache
def _in_order() -> tuple[pl.DataFrame, tuple[OtherScale, ...]]:
    frame = table(TIMES_20)
    return frame, check(frame).other_scales


def answered(name: str, scores: npt.NDArray[np.float64], *, llm: bool = False) -> GivenScores:
    values, n = np.unique(scores, return_counts=True)
    return GivenScores(annotator_id=name, llm=llm, values=values + 0.0, n=n)


@pytest.mark.parametrize(("low", "high"), [(1, 5), (0, 4), (0, 5), (1, 7), (1, 10), (0, 10), (0, 100)])
def test_raters_who_use_part_of_a_scale_raise_few_alarms(low: int, high: int) -> None:
    """Raters differ in severity by a tenth of the scale (SD), and spread their scores from little to much."""
    rng = np.random.default_rng(5)
    alarms = 0
    for number in range(500):
        quality, lean = rng.normal(0, 1, int(rng.choice([15, 30, 60]))), rng.normal(0, 0.15)
        raters = []
        for rater in range(int(rng.choice([1, 2, 3, 5, 9])) + 1):
            spread, own = rng.uniform(0.05, 0.25), rng.uniform(0.03, 0.15)
            where = 0.5 + lean + rng.normal(0, 0.1) + quality * spread + rng.normal(0, own, len(quality))
            scores = np.round(low + (high - low) * np.clip(where, 0, 1))
            raters.append(answered(f"r{rater}", scores, llm=rater == 0 and number % 2 == 0))
        alarms += bool(on_another_scale(raters))
    assert alarms <= 5


def test_a_scale_is_given_by_any_way_of_writing_an_annotator() -> None:
    frame = table(TIMES_20).with_columns(pl.col("annotator_id").str.replace("p", "") + ".0")
    for name in ("0", "0.0"):
        (own, *_) = check(frame, rescale={name: (20, 100)}).rescaled
        assert own.annotator_id == "0"
    assert told(frame) == [("0", 20, 100)]


def test_parts_take_any_way_of_writing_an_annotator_too(tmp_path: Path) -> None:
    frame = table(TIMES_20).with_columns(pl.col("annotator_id").str.replace("p", "") + ".0")
    frame[:99].write_csv(tmp_path / "a.csv")
    frame[99:].write_csv(tmp_path / "b.csv")
    for name in ("0", "0.0"):
        reading = Reading(rescale={name: (20, 100)}, scales=(Scale(criterion=None, low=1, high=5),))
        assert {one.annotator_id for one in read_totals(str(tmp_path), "ratings", reading).rescaled} == {"0"}


def test_the_settings_say_what_was_mapped() -> None:
    found = analyse_records(check(table(TIMES_20), rescale={"p0": (20, 100)}), Plan())
    text = render_markdown(full_report(build_document(found)))
    assert "scores by p0 mapped from 20:100 onto 1:5" in text
    assert "Rescaled(" not in text


@pytest.mark.parametrize("who", [("p0", "p1"), ("p1", "p4")])
def test_two_of_five_on_another_scale_are_both_told(who: tuple[str, str]) -> None:
    frame = table(lambda score: score)
    times = pl.when(pl.col("annotator_id").is_in(who)).then(20).otherwise(1)
    mixed = frame.with_columns(score=(pl.col("score").cast(pl.Int64) * times).cast(pl.String))
    tables = check(mixed)
    assert [one.annotator_id for one in tables.other_scales] == [*who]
    (text,) = (row.text for row in analyse_records(tables, Plan()).warning_rows if row.kind == "other_scales")
    assert text.startswith(f"Scores by {who[0]}, {who[1]} run from 20 to 100, those of the others from 1 to 5")
    assert f"add --rescale {who[0]}=20:100 --rescale {who[1]}=20:100; if not" in text
    assert check(mixed, rescale=dict.fromkeys(who, (20, 100))).other_scales == ()


@pytest.mark.parametrize("people", [2, 3])
def test_one_of_few_people_to_100_is_told(people: int) -> None:
    assert told(table(TIMES_20, people=people)) == [("p0", 20, 100)]
