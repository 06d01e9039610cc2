"""One function a quantity on polars and pandas frames: same numbers as the report, same lines for mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import analysis
from analysis import Plan, Reading, as_frame, check_frames, read_tables
from analysis.statistics.record import plain as plain_row
from analysis.statistics.record import rounded
from spa import AnalysisError
from spa.cli import main
from tests.analysis.made_answers import analyse
from tests.strategies import orders_of

RNG = np.random.default_rng(8)
PAIRS = [("a", "b"), ("b", "c"), ("a", "c")]
PREFERENCES = pl.DataFrame(
    [
        {"annotator_id": f"p{who}", "system_x": x, "system_y": y, "preference": round(float(RNG.uniform(0.3, 0.9)), 2)}
        for who in range(12)
        for x, y in PAIRS
    ]
)
RATINGS = pl.DataFrame(
    [
        {"annotator_id": who, "item_id": f"i{item}", "system": system, "score": int(RNG.integers(1, 6))}
        for who in ("p1", "p2", "p3", "gpt")
        for item in range(8)
        for system in "abc"
    ]
)
CHOICES = pl.DataFrame(
    [
        {
            "annotator_id": f"p{who}",
            "item_id": item,
            "system_x": x,
            "system_y": y,
            "winner": str(RNG.choice(["x", "y", "tie"])),
        }
        for who in range(3)
        for item in range(6)
        for x, y in PAIRS
    ]
)
TABLES = {"preferences": PREFERENCES, "ratings": RATINGS, "choices": CHOICES}
LLMS = ("gpt",)
OF_ANALYSE: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "preference_tests": ("preferences", lambda found: found["preferences"]),
    "preference_directions": ("preferences", lambda found: found["preference_directions"]),
    "rating_means": ("ratings", lambda found: found["ratings"]["means"]),
    "rating_tests": ("ratings", lambda found: found["ratings"]["pairs"]),
    "choice_tests": ("choices", lambda found: found["choices"]["pairs"]),
    "agreement_measures": ("ratings", lambda found: found["agreement"]),
    "rating_correlations": ("ratings", lambda found: found["correlations"]),
    "system_strengths": ("ratings", lambda found: found["bradley_terry"]),
    "rankings": ("choices", lambda found: found["rankings"]),
}


def pandas_of(frame: pl.DataFrame) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(frame.to_dict(as_series=False))


def plain(value: Any) -> Any:
    return json.loads(json.dumps(plain_row(rounded(value))))


@pytest.mark.parametrize(
    "made", [lambda frame: frame, pandas_of, pl.DataFrame.lazy, lambda f: f.to_dict(as_series=False)]
)
@pytest.mark.parametrize("name", OF_ANALYSE)
def test_every_function_gives_the_numbers_of_the_report(name: str, made: Callable[[pl.DataFrame], Any]) -> None:
    kind, of = OF_ANALYSE[name]
    options: dict[str, Any] = {"llms": LLMS} if kind == "ratings" else {}
    found = getattr(analysis, name)(made(TABLES[kind]), **options)
    wanted = of(_report(kind))
    assert len(found) == len(wanted) > 0
    for record, row in zip(found, wanted, strict=True):
        own = plain(record)
        assert own == {key: row[key] for key in own}
    with pytest.raises(FrozenInstanceError):
        found[0].criterion = "other"
    assert as_frame(found).height == len(found)


@cache
def _report(kind: str) -> dict[str, Any]:
    return analyse(check_frames({kind: TABLES[kind]}, Reading(llms=LLMS if kind == "ratings" else ())), Plan())


@pytest.mark.parametrize("kind", TABLES)
def test_bradley_terry_of_a_frame_is_that_of_the_report(kind: str) -> None:
    frame = TABLES[kind].filter(pl.col("annotator_id") != "gpt")
    found = analysis.bradley_terry(frame)
    rows = {row.system: row for row in analysis.system_strengths(frame)}
    for place, system in enumerate(found.systems):
        assert found.strength[place] == pytest.approx(rows[system].strength, abs=1e-9)
        low = rows[system].ci_low
        assert found.ci_low[place] == pytest.approx(np.nan if low is None else low, abs=1e-9, nan_ok=True)
    assert as_frame(found)["system"].to_list() == list(found.systems)
    with pytest.raises(AnalysisError, match="human, overall; gpt, overall"):
        analysis.bradley_terry(RATINGS, llms=LLMS)
    with pytest.raises(TypeError, match="three arrays"):
        analysis.bradley_terry(["a"], ["b"])
    with pytest.raises(TypeError, match="go with a frame"):
        analysis.bradley_terry(["a"], ["b"], [1], llms=["b"])
    with pytest.raises(TypeError, match="go with arrays"):
        analysis.bradley_terry(frame, weights=[1])


@pytest.mark.parametrize("kind", TABLES)
def test_agreement_of_a_frame_is_that_of_the_report(kind: str) -> None:
    found = [plain(row) for row in analysis.agreement_measures(TABLES[kind])]
    wanted = analyse(check_frames({kind: TABLES[kind]}, Reading()), Plan())["agreement"]
    assert found == [{key: row[key] for key in found[0]} for row in wanted]


def test_files_and_frames_are_refused_in_the_same_words(tmp_path: Path) -> None:
    """The place differs: a file counts its header as row 1."""
    frame = PREFERENCES.with_columns(preference=pl.lit(70), annotator_kind=pl.lit("robot")).head(1)
    path = tmp_path / "preferences.csv"
    frame.write_csv(path)
    with pytest.raises(AnalysisError) as of_file:
        read_tables({"preferences": path}, Reading())
    with pytest.raises(AnalysisError) as of_frame:
        analysis.preference_tests(frame)
    told = [line.replace(f"{path}, row 2", "preferences table, row 1") for line in of_file.value.problems]
    assert list(of_frame.value.problems) == told


def test_mistakes_name_arguments_or_options(tmp_path: Path) -> None:
    """Mistakes speak Python in Python and of options in the command."""
    path = tmp_path / "ratings.csv"
    RATINGS.write_csv(path)
    asked = {"mapping": {"rater": "annotator_id"}, "llms": ["gtp"], "scale": {"lenght": (1, 5)}}
    of_python = {
        "mapping": "mapping={'rater': 'annotator_id'}: expected a column of that name in a table, got annotator_id, ",
        "llms": "llms=['gtp']: no table names this annotator",
        "scale": "scale: ratings table has no criterion 'lenght'",
    }
    of_command = {
        ("--map", "rater=annotator_id"): "--map rater=annotator_id: expected a column of that name in a table, got ",
        ("--llm", "gtp"): "--llm gtp: no table names this annotator",
        ("--scale", "lenght=1:5"): f"--scale lenght=...: {path} has no criterion 'lenght'",
        ("--lower-is-better", "speed"): "--lower-is-better speed: no such criterion (there are: overall)",
    }
    for name, value in asked.items():
        with pytest.raises(AnalysisError) as caught:
            analysis.rating_means(RATINGS, **{name: value})
        assert str(caught.value).startswith(of_python[name])
    with pytest.raises(AnalysisError, match=r"^lower_is_better={'speed'}: no such criterion \(there are: overall\)$"):
        analysis.rating_means(RATINGS, plan=Plan(lower_is_better=frozenset({"speed"})))
    with pytest.raises(AnalysisError, match=r"item_id is missing .*; name yours with mapping={'YOURS': 'item_id'}$"):
        analysis.rating_means(RATINGS.drop("item_id"))
    for option, line in of_command.items():
        done = CliRunner().invoke(main, ["report", "--ratings", str(path), *option, "--json"])
        assert done.exit_code == 1
        assert done.stderr.startswith(f"spa: {line}"), done.stderr


@pytest.mark.parametrize("name", ["krippendorff_alpha", "icc", "gwet_ac2", "fleiss_kappa", "mean_kendall_tau"])
def test_columns_of_a_coefficient_are_mapped_as_everywhere(name: str) -> None:
    options = {"krippendorff_alpha": {"level": "ordinal"}, "icc": {"form": "icc2k"}}.get(name, {})
    measure = getattr(analysis, name)
    own = RATINGS.rename({"annotator_id": "rater"})
    mapping = {"rater": "annotator_id"}
    assert measure(own, mapping=mapping, **options).value == measure(RATINGS, **options).value
    with pytest.raises(AnalysisError, match=r"mapping={'rater': .*}: expected a column of that name"):
        measure(RATINGS, mapping=mapping, **options)
    with pytest.raises(AnalysisError, match="expected each column once, got annotator_id twice"):
        measure(own.with_columns(annotator_id="rater"), mapping=mapping, **options)


def test_missing_cells_of_pandas_are_missing() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas_of(RATINGS).astype({"score": "float64"})
    frame.loc[0, "score"] = np.nan
    frame["criterion"] = pandas.Categorical(["fluency"] * len(frame))
    frame["variant"] = None
    means = analysis.rating_means(frame)
    assert {row.criterion for row in means} == {"fluency"}
    assert sum(row.n for row in means) == len(frame) - 1
    doubled = pandas.concat([frame, frame[["score"]]], axis=1)
    with pytest.raises(AnalysisError, match="expected each column once, got score twice"):
        analysis.rating_means(doubled)


def test_what_is_no_frame_and_what_is_no_option_is_said() -> None:
    with pytest.raises(TypeError, match="expected a polars or pandas frame, got list"):
        analysis.rating_tests([1, 2])
    with pytest.raises(TypeError, match="unexpected keyword argument 'scales'"):
        analysis.rating_tests(RATINGS, scales=(1, 5))
    with pytest.raises(TypeError, match="got the text 'gpt'"):
        analysis.rating_tests(RATINGS, llms="gpt")
    with pytest.raises(AnalysisError, match="one of the columns preference, score, winner"):
        analysis.rankings(RATINGS.drop("score"))
    with pytest.raises(AnalysisError, match="no rows"):
        analysis.rating_tests(RATINGS.clear())
    with pytest.raises(AnalysisError, match="all columns must have the same length"):
        analysis.rating_tests({"annotator_id": ["a"], "score": [1, 2]})
    with pytest.raises(ValueError, match="got rating"):
        check_frames({"rating": RATINGS}, Reading())


def test_who_leaves_is_said() -> None:
    both = PREFERENCES.head(1)
    back = both.select("annotator_id", system_x="system_y", system_y="system_x", preference=pl.lit(0.99))
    frame = pl.concat([PREFERENCES, back.select(PREFERENCES.columns)])
    [gone] = analysis.excluded(frame)
    assert (gone.annotator_id, gone.rule) == ("p0", "self_consistency")
    assert analysis.excluded(frame, plan=Plan(consistency_tau=None)) == []


@settings(max_examples=15)
@given(orders_of(RATINGS.height), st.permutations(["a", "b", "c"]))
def test_relabelling_systems_permutes_the_tests(rows: list[int], names: list[str]) -> None:
    renamed = RATINGS[rows].with_columns(pl.col("system").replace(dict(zip("abc", names, strict=True))))
    found = {frozenset((row.system_x, row.system_y)): row for row in analysis.rating_tests(renamed)}
    for row in _tests_as_given():
        x, y = names["abc".index(row.system_x)], names["abc".index(row.system_y)]
        own = found[frozenset((x, y))]
        sign = 1 if own.system_x == x else -1
        assert sign * own.mean_difference == pytest.approx(row.mean_difference, abs=1e-12)
        assert own.p_value == pytest.approx(row.p_value, abs=1e-12)


@cache
def _tests_as_given() -> list[analysis.RatingTest]:
    return analysis.rating_tests(RATINGS)
