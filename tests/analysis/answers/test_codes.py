"""Scores that stand for "no answer": when they are told, what --missing does, and that real scales raise no alarm."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import Plan, Reading
from analysis import analyse as analyse_records
from analysis.answers import codes
from analysis.answers.codes import codes_among, find_codes, value_counts
from analysis.answers.columns import Scale
from analysis.answers.tables import check_frames, read_tables
from analysis.parts.reading import read_totals
from analysis.records.results import Results
from spa.cli import main
from spa.errors import AnalysisError
from tests.analysis.made_answers import choices, preferences, ratings
from tests.strategies import orders_of

TO_FIVE = {1: 6, 2: 14, 3: 25, 4: 20, 5: 9}


def among(counted: dict[float, int]) -> tuple[list[float], bool]:
    """Return the values that are told, and whether they are far."""
    values = np.array(sorted(counted), dtype=float)
    inside, far = codes_among(values, np.array([counted[value] for value in sorted(counted)]))
    return values[~inside].tolist(), far


@pytest.mark.parametrize("scale", [TO_FIVE, {1: 9, 2: 30, 3: 4, 4: 2}, {2: 4, 3: 9, 4: 12}, {3: 4, 4: 5, 5: 6, 6: 9}])
@pytest.mark.parametrize(
    "codes", [(-1,), (-99,), (999,), (45416,), (-1, -99), (99, 999), (-1, 999), (-99, 45416), (-9,), (-100,)]
)
@pytest.mark.parametrize("share", [0.01, 0.11, 0.4])
def test_a_code_beside_a_scale_of_few_whole_numbers_is_told(
    scale: dict[float, int], codes: Sequence[float], share: float
) -> None:
    times = max(1, round(share * sum(scale.values())))
    assert among({**scale, **dict.fromkeys(codes, times)}) == (sorted(codes), True)


@pytest.mark.parametrize(
    "counted",
    [
        {-1: 6, 0: 5, 1: 9, 2: 20, 3: 11, 4: 3},  # from 0
        {-1: 3, **dict.fromkeys(range(11), 4)},
        {-1: 3, **dict.fromkeys(range(0, 101, 5), 4)},  # sliders
        {999: 3, **dict.fromkeys(range(0, 101, 5), 4)},
        {-99: 2, **{round(-2 + 0.07 * place, 2): 1 for place in range(60)}},  # z-scores
        {-100: 1, **dict.fromkeys(range(-3, 4), 5)},  # a signed preference
        {45: 2, **TO_FIVE},  # typed wrongly
    ],
)
def test_so_is_one_beside_other_scales(counted: dict[float, int]) -> None:
    (value,), far = among(counted)
    assert far
    assert value in (-1, 999, -99, -100, 45)


@pytest.mark.parametrize(
    "counted",
    [
        TO_FIVE,
        {1: 1, 4: 30, 5: 60},  # an end rarely used
        {1: 1, 5: 20, 6: 30, 7: 9},
        {0: 4, **TO_FIVE},
        {0: 30, 1: 22, 2: 9, 3: 4, 4: 1, 12: 1},  # errors counted
        {0: 30, 1: 22, 2: 9, 3: 4, 5: 1, 8: 1, 31: 1},
        {-25: 1, -5: 6, -1: 20, 0: 50},  # penalties
        {-25: 1, -2: 3, -1: 20, 0: 50},
        {-100: 1, -30: 1, -25: 1, -5: 6, -1: 20, 0: 50},
        {-1: 10, 0: 12, 1: 9},  # scales with two sides
        {-1: 10, 1: 12},
        {-2: 3, -1: 10, 0: 12, 1: 9, 2: 1},
        {-3: 3, -1: 10, 1: 9, 2: 7, 3: 1},
        {0: 7, 10: 2, 50: 9, 80: 9, 99: 1, 100: 5},  # sliders
        {1: 2, 2: 2, 3: 2, 60: 3, 80: 9},
        {1: 30, 10: 2},
        {0: 40, 100: 40},
        {0: 20, 1: 40},
        {0: 60, 1: 9, 2: 5, 3: 3, 4: 2, 5: 9},  # many at the low end
    ],
)
def test_a_scale_in_use_raises_no_alarm(counted: dict[float, int]) -> None:
    assert among(counted)[0] == []


@pytest.mark.parametrize(
    ("low", "high"), [(1, 5), (0, 4), (0, 5), (1, 7), (1, 10), (0, 10), (0, 100), (-3, 3), (-2, 2)]
)
def test_simulated_scores_on_a_scale_raise_no_alarm(low: int, high: int) -> None:
    rng = np.random.default_rng(3)
    told = 0
    for _ in range(400):
        spread, middle, n = rng.uniform(0.05, 0.4), rng.uniform(low, high), int(rng.choice([20, 60, 400]))
        scores = np.clip(np.round(rng.normal(middle, spread * (high - low), n)), low, high)
        values, times = np.unique(scores, return_counts=True)
        told += not codes_among(values, times)[0].all()
    assert told <= 2


def test_simulated_counts_and_penalties_raise_few() -> None:
    rng = np.random.default_rng(4)
    told = 0
    for number in range(400):
        counts = rng.negative_binomial(rng.uniform(0.2, 2), rng.uniform(0.1, 0.6), 200)
        weighed = -(rng.poisson(1, 200) + 5 * rng.poisson(0.3, 200) + 25 * (rng.random(200) < 0.01))
        values, times = np.unique(counts if number % 2 else weighed, return_counts=True)
        told += not codes_among(values.astype(float), times)[0].all()
    assert told <= 2


def test_codes_frequent_zeros_are_a_doubt() -> None:
    """Zeros more frequent than the next scores are a doubt only."""
    assert among({0: 30, 1: 3, 2: 9, 3: 40, 4: 50, 5: 12}) == ([0], False)
    assert among({0: 10, 1: 3, 2: 9, 3: 40, 4: 50, 5: 12})[0] == []


def test_codes_zeros_beside_a_scale_are_said() -> None:
    """Rare zeros among scores of 1 to 5 may be an end of the scale or no answer: one line says how they count."""
    scores = [("r1", f"i{n}", "x", score) for n, score in enumerate([0, 1, 2, 3, 4, 5, 4, 4])]
    how = "beside 1 to 5, and counts as a score. If it means no answer, add --missing 0; if not, --scale 0:5."
    found("maybe_codes", f"0 stands in 1 of 8 scores (12%), {how}", ratings=ratings(scores))
    for others in ([0, 0, 0, 0, 1, 1, 2, 5], [0, 1, 2, 3, 4, 4, 4, 4], [0.5, 1, 2, 3, 4, 5, 4, 4]):
        counts = [("r1", f"i{n}", "x", score) for n, score in enumerate(others)]
        found("maybe_codes", ratings=ratings(counts))


def found(kind: str, *texts: str, **frames: pl.DataFrame) -> Results:
    results = analyse_records(check_frames(frames, Reading()), Plan())
    told = [row.text for row in results.warning_rows if row.kind == kind]
    assert results.headline is not None
    assert [one.text for one in results.headline.problems if one.kind == kind] == told[:3]
    assert len(told) == len(texts)
    for text, part in zip(told, texts, strict=True):
        assert part in text
    return results


def scored(code: str, every: int = 9, *, annotators: int = 3) -> pl.DataFrame:
    """Score two systems from 1 to 5, and every so many times with a code."""
    rng = np.random.default_rng(1)
    rows = [
        (f"a{who}", f"i{item}", system, int(np.clip(rng.normal(2.5 + (system == "x"), 1), 1, 5)))
        for who in range(annotators)
        for item in range(30)
        for system in "xy"
    ]
    return ratings([(*row[:3], row[3] if place % every else code) for place, row in enumerate(rows)])


def test_the_main_caveat_names_value_share_and_who() -> None:
    results = found(
        "codes",
        "-1 stands in 20 of 180 scores (11%, by 3 of 3 annotators), far off the others (1 to 5), and counts as a "
        "number. If it means no answer, add --missing -1; if it is on the scale, --scale -1:5.",
        ratings=scored("-1"),
    )
    assert results.headline is not None
    assert results.headline.problems[0].kind == "codes"
    one = scored("3").with_columns(
        score=pl.when(pl.int_range(pl.len()) == 70).then(pl.lit("45416.0")).otherwise("score")
    )
    found("codes", "45416, in spreadsheets the date 2024-05-04, stands in 1 of 180 scores (1%, all by a1)", ratings=one)


def test_codes_settled_by_declared_scale() -> None:
    """A declared scale settles it and a code counts as missing."""
    frame = scored("-1")
    reading = Reading(missing=("-1",))
    right = analyse_records(check_frames({"ratings": frame.filter(pl.col("score") != "-1")}, Reading()), Plan())
    settled = analyse_records(check_frames({"ratings": frame}, reading), Plan())
    assert {row.system: row for row in settled.ratings.means} == {row.system: row for row in right.ratings.means}
    assert [(row.reason, row.n) for row in settled.missing] == [("-1", 20)]
    assert settled.settings.missing_codes == ("-1",)
    for scales in ((Scale(criterion=None, low=-1, high=5),), (Scale(criterion="overall", low=-1, high=5),)):
        assert check_frames({"ratings": frame}, Reading(scales=scales)).codes == ()
    assert check_frames({"ratings": frame}, reading).codes == ()


@pytest.mark.parametrize("code", ["-1", "-1.0", "-99", "n/a"])
def test_codes_are_met_as_numbers_or_as_written(code: str) -> None:
    given = {"-1": "-1.00", "-1.0": "-1"}.get(code, code)
    tables = check_frames({"ratings": scored(given)}, Reading(missing=(code,)))
    assert tables.ratings is not None
    assert tables.ratings.filter(pl.col("value").is_null())["missing_reason"].cast(pl.String).to_list() == [given] * 20


def test_other_answers_have_codes_too() -> None:
    reading = Reading(missing=("-1", "skipped"))
    preferred = preferences([("a", "x", "y", 0.7), ("b", "x", "y", -1), ("c", "x", "y", "skipped")])
    tables = check_frames({"preferences": preferred}, reading)
    assert tables.preferences is not None
    assert tables.preferences["missing_reason"].to_list() == [None, "-1", "skipped"]
    chosen = check_frames(
        {"choices": choices([("a", "i", "x", "y", "skipped"), ("b", "i", "x", "y", "x")])},
        Reading(missing=("skipped",)),
    )
    assert chosen.choices is not None
    assert chosen.choices["value"].to_list() == [None, 1.0]


def test_a_code_that_nobody_gave_is_refused() -> None:
    with pytest.raises(AnalysisError, match=r"missing=\('-7',\): no answer is this"):
        check_frames({"ratings": scored("-1")}, Reading(missing=("-7",)))


def test_codes_isolated_zeros_of_preferences() -> None:
    """Preferences of 0 with nothing near them may be pages whose time ran out."""
    rng = np.random.default_rng(2)
    rows = [(f"p{who}", "x", "y", 0 if who < 4 else round(rng.uniform(0.55, 0.9), 2)) for who in range(30)]
    found(
        "maybe_codes",
        "0 stands in 4 of 30 preferences (13%, by 4 of 30 annotators), and none between it and 0.5",
        preferences=preferences(rows),
    )
    spread = [(f"p{who}", "x", "y", round(rng.uniform(0, 0.9), 1)) for who in range(60)]
    found("maybe_codes", preferences=preferences(spread))


@settings(max_examples=12)
@given(orders_of(180), st.integers(1, 179))
def test_order_of_rows_and_files_change_nothing(order: list[int], cut: int) -> None:
    frame = scored("-1")[:180]
    shuffled = frame[order]
    counts = _counts_of_180()
    assert counts.equals(value_counts(_checked(shuffled)))
    assert find_codes(counts, ()) == find_codes(value_counts(_checked(pl.concat([frame[cut:], frame[:cut]]))), ())


@cache
def _counts_of_180() -> pl.DataFrame:
    return value_counts(_checked(scored("-1")[:180]))


def _checked(frame: pl.DataFrame) -> pl.DataFrame:
    table = check_frames({"ratings": frame}, Reading()).ratings
    assert table is not None
    return table


def test_files_and_parts_say_the_same_as_one(tmp_path: Path) -> None:
    frame = scored("-99")
    (tmp_path / "parts").mkdir()
    for number, part in enumerate((frame[:50], frame[50:120], frame[120:])):
        part.write_csv(tmp_path / "parts" / f"{number}.csv")
    paths = sorted((tmp_path / "parts").iterdir())
    whole = check_frames({"ratings": frame}, Reading())
    assert read_tables({"ratings": paths}, Reading()).codes == whole.codes
    assert len(whole.codes) == 1
    told = {}
    for name, more in (("files", []), ("parts", ["--in-parts"])):
        given = [str(tmp_path / "parts")] if more else [str(path) for path in paths]
        options = [option for path in given for option in ("--ratings", path)]
        run = CliRunner().invoke(main, ["report", *options, *more, "--out", str(tmp_path / "o" / name)])
        assert run.exit_code == 0, run.output
        text = (tmp_path / "o" / name / "results.json").read_text()
        told[name] = text[text.index("-99 stands in") :].partition('"')[0]
    assert told["files"] == told["parts"]
    totals = read_totals(str(tmp_path / "parts"), "ratings", Reading(missing=("-99",)))
    assert totals.missing.select("reason", "n").rows() == [("-99", 20)]
    with pytest.raises(AnalysisError, match="no answer is this"):
        read_totals(str(tmp_path / "parts"), "ratings", Reading(missing=("-98",)))


def test_the_command_counts_a_code_as_missing(tmp_path: Path) -> None:
    scored("-99").write_csv(tmp_path / "r.csv")
    given = ["report", "--ratings", str(tmp_path / "r.csv"), "--out", str(tmp_path / "o")]
    assert "--missing -99" in " ".join(CliRunner().invoke(main, given).output.split())
    settled = CliRunner().invoke(main, [*given, "--missing", "-99"])
    assert "--missing -99" not in " ".join(settled.output.split())
    assert settled.exit_code == 0


REAL = {
    "hanna/ratings.csv": {"rater": "annotator_id", "story_id": "item_id"},
    "sottana/simplification_ratings.csv": {"rater": "annotator_id"},
    "sottana/summarization_ratings.csv": {"rater": "annotator_id"},
}


@pytest.mark.parametrize("name", REAL)
def test_published_ratings_raise_no_alarm(shared_data: Path, name: str) -> None:
    """HANNA's people and LLMs rate from 1 to 5, so do those of Sottana et al.; nobody used another scale."""
    frame = pl.read_csv(shared_data / name, infer_schema=False).rename(REAL[name])
    frame = frame.unique(["annotator_id", "item_id", "system", "criterion"], maintain_order=True)
    columns = ["annotator_id", "item_id", "system", "criterion", "score"]
    llms = (
        tuple(who for who in frame["annotator_id"].unique() if not who.startswith("human")) if "hanna" in name else ()
    )
    tables = check_frames({"ratings": frame.select(columns)}, Reading(llms=llms))
    assert tables.codes == ()
    assert tables.other_scales == ()


def test_simulated_preferences_raise_few_doubts() -> None:
    """People with opinions from weak to strong, who answer in steps of 5 or 10 percent."""
    rng = np.random.default_rng(8)
    told = 0
    for number in range(400):
        strength = rng.uniform(0.5, 6)
        share = rng.beta(strength * 0.6, strength * 0.4, int(rng.choice([10, 30, 100])))
        steps = 20 if number % 2 else 10
        values, times = np.unique(np.round(share * steps) / steps, return_counts=True)
        counts = pl.DataFrame(
            {
                "criterion": ["overall"] * len(values),
                "annotator_kind": ["human"] * len(values),
                "annotator_id": [f"p{place}" for place in range(len(values))],
                "value": values,
                "n": times,
            }
        )
        told += bool(find_codes(counts, (), "preferences"))
    assert told <= 4


def test_counts_of_many_whole_scores_are_those_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    names = {"criterion": rng.integers(0, 2, 1500), "annotator_id": rng.integers(0, 9, 1500)}
    table = pl.DataFrame(names).with_columns(pl.all().cast(pl.String).cast(pl.Categorical))
    table = table.with_columns(annotator_kind=pl.lit("human"), value=pl.Series(rng.integers(-1, 6, 1500) * 1.0))
    many = codes.value_counts(table)
    monkeypatch.setattr("analysis.statistics.coding.FEW", 2000)
    assert many.equals(codes.value_counts(table))
    assert many.schema == codes.value_counts(table).schema
