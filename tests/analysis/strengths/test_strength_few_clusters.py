"""Strengths from few or uneven annotators: CR2 against clubSandwich and over rows, refits, and what is left out."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import bradley_terry
from analysis.statistics.coding import Floats, Ints, fold
from analysis.strengths import bias_reduced, sandwich
from analysis.strengths.bias_reduced import bread_root
from analysis.strengths.bounds import LEAST_DF
from analysis.strengths.counting import count_cells
from analysis.strengths.estimate import BradleyTerry
from analysis.strengths.sandwich import bread
from tests.analysis.cr2_by_rows import cr2_by_rows, lopsided
from tests.analysis.made_answers import Results, choices, run

SYSTEMS = ["a", "b", "c", "d"]
# by clubSandwich 0.5.8 in R 4.2.2 (tests/analysis/club_sandwich.R): i, j (i = j: a strength), estimate, SE, df
ANSWERS_ALIKE = """
0 0  .7044410821 .4922771376 2.2292957544
0 1  .5016465262 .5771837372 2.3038655581
0 2 1.1674076194 .6431204079 2.1096116232
0 3 1.1487101826 .8347841651 2.3765366809
1 1  .2027945559 .2023605238 2.2905123238
1 2  .6657610932 .3166059598 2.2159263488
1 3  .6470636564 .4524169903 2.3167344980
2 2 -.4629665374 .2168527261 2.2270012165
2 3 -.0186974368 .3853824509 2.5146050315
3 3 -.4442691006 .3794084085 2.4597858595
"""
ANNOTATORS_ALIKE = """
0 0  .2515023288 .4468790336 4.8436332335
0 1  .0119603333 .7258706880 4.8698208509
0 2  .5711575245 .7290055538 4.5164866174
0 3  .4228914574 .5282061581 4.6637500768
1 1  .2395419955 .3637331064 4.6547785304
1 2  .5591971912 .5698377654 4.4285257331
1 3  .4109311241 .4649079178 4.3983411028
2 2 -.3196551957 .3852198965 4.5412695250
2 3 -.1482660671 .5253083991 4.8383871731
3 3 -.1713891286 .2411194806 4.5053318649
"""


def fitted(**more: Any) -> BradleyTerry:
    x, y, won, annotator = lopsided()
    return bradley_terry(x, y, won, systems=SYSTEMS, clusters={"annotator": annotator}, **more)


def numbers(found: BradleyTerry, i: int, j: int) -> list[float]:
    """Return estimate, standard error and degrees of freedom of a strength, or of a difference of two."""
    assert found.covariance is not None
    assert found.df_differences is not None
    v = found.covariance
    if i == j:
        return [found.strength[i], found.se[i], found.df[i]]
    se = np.sqrt(v[i, i] + v[j, j] - 2 * v[i, j])
    return [found.strength[i] - found.strength[j], se, found.df_differences[i, j]]


def drawn(seed: int, k: int, people: int, most: int) -> tuple[Ints, Ints, Floats, Ints]:
    """Draw choices or fractional wins of annotators of whom one gave most answers."""
    rng = np.random.default_rng(seed)
    annotator = np.repeat(np.arange(people), [most, *rng.integers(3, 9, people - 1)])
    n = len(annotator)
    x = rng.integers(0, k, n)
    y = (x + rng.integers(1, k, n)) % k
    taste = rng.normal(0, 0.7, (people, k)) + np.linspace(0.8, -0.8, k)
    share = 1 / (1 + np.exp(taste[annotator, y] - taste[annotator, x]))
    won = np.round(np.clip(share + rng.normal(0, 0.2, n), 0, 1), 2) if seed % 2 else 1.0 * (rng.random(n) < share)
    return x, y, won, annotator


@pytest.mark.parametrize(("alike", "golden"), [(None, ANSWERS_ALIKE), ("annotator", ANNOTATORS_ALIKE)])
def test_few_clusters_equal_clubsandwich(alike: str | None, golden: str) -> None:
    """Covariance and degrees of freedom are those of clubSandwich."""
    found = fitted(alike=alike)
    for line in golden.strip().splitlines():
        i, j, *wanted = line.split()
        assert numbers(found, int(i), int(j)) == pytest.approx([float(one) for one in wanted], abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alike", [None, "annotator"])
def test_clubsandwich_itself_gives_the_same(seed: int, alike: str | None, tmp_path: Path) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("R with clubSandwich (Debian: r-cran-clubsandwich) is not installed")
    x, y, won, annotator = drawn(seed, 3 + seed % 3, 7, 60)
    found = bradley_terry(
        x,
        y,
        won,
        systems=SYSTEMS[: 3 + seed % 3] + ["e"] * (seed % 3 == 2),
        clusters={"annotator": annotator},
        alike=alike,
    )
    weight = np.ones(len(x)) if alike is None else 1 / np.bincount(annotator)[annotator]
    lines = zip(x.tolist(), y.tolist(), won.tolist(), annotator.tolist(), weight.tolist(), strict=True)
    table = tmp_path / "rows.csv"
    table.write_text("x,y,won,cluster,weight\n" + "".join(",".join(map(repr, line)) + "\n" for line in lines))
    script = Path(__file__).parents[1].joinpath("club_sandwich.R")
    made = subprocess.run(["Rscript", str(script), str(table)], capture_output=True, text=True, check=False)
    if "there is no package" in made.stderr:
        pytest.skip("R has no clubSandwich (Debian: r-cran-clubsandwich)")
    assert made.returncode == 0, made.stderr
    for line in made.stdout.split():
        i, j, *wanted = line.split(",")
        assert numbers(found, int(i), int(j)) == pytest.approx([float(one) for one in wanted], abs=1e-6)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**16), st.sampled_from([None, "annotator"]), st.integers(2, 5))
def test_sums_by_pair_give_what_matrices_over_rows_give(seed: int, alike: str | None, k: int) -> None:
    x, y, won, annotator = drawn(seed, k, 6, 25)
    names = [f"s{number}" for number in range(k)]
    found = bradley_terry(x, y, won, systems=names, clusters={"annotator": annotator}, alike=alike)
    if not np.isfinite(found.strength).all():
        return
    weight = np.ones(len(x)) if alike is None else 1 / np.bincount(annotator)[annotator]
    se, df, matrix = cr2_by_rows(x, y, found.strength, won, annotator, weight)
    if df.min() < 1.0001:  # one annotator all but alone determines a direction
        return
    assert found.covariance == pytest.approx(matrix, abs=1e-8)
    assert found.se == pytest.approx(np.diagonal(se), abs=1e-8)
    assert found.df == pytest.approx(np.diagonal(df), abs=1e-6)
    off = ~np.eye(k, dtype=bool)
    assert found.df_differences is not None
    assert found.df_differences[off] == pytest.approx(df[off], abs=1e-6)


def test_beyond_a_size_the_root_of_a_clusters_numbers_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another square root of the same variance: a little other covariance, as free of bias, near the same df."""
    exact = fitted()
    monkeypatch.setattr(sandwich, "CELLS_WORK", 0.0)
    other = fitted()
    assert other.se == pytest.approx(exact.se, rel=0.05)
    assert other.df == pytest.approx(exact.df, rel=0.01)
    assert np.abs(other.se - exact.se).max() > 1e-6
    monkeypatch.setattr(bias_reduced, "WORK", 0.0)
    bound = fitted()
    assert bound.df == pytest.approx(other.df)
    assert other.df_differences is not None
    assert bound.df_differences is not None
    off = ~np.eye(4, dtype=bool)
    assert (bound.df_differences[off] <= other.df_differences[off] + 1e-9).all()
    assert (bound.df_differences[off] > 0.7 * other.df_differences[off]).all()


def test_many_clusters_adjusted_by_series(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many clusters the light are adjusted by a series as exactly."""
    x, y, won, annotator = drawn(2, 4, 150, 60)
    monkeypatch.setattr(sandwich, "CELLS_WORK", 0.0)
    monkeypatch.setattr(bias_reduced, "WORK", 0.0)
    exact, series = (
        bradley_terry(x, y, won, systems=SYSTEMS, clusters={"annotator": annotator})
        for cubes in (2e9, 0.0)
        if monkeypatch.setattr(bias_reduced, "CUBES", cubes) is None
    )
    assert series.se == pytest.approx(exact.se, rel=1e-12)
    assert (series.df <= exact.df + 1e-9).all()
    assert series.df == pytest.approx(exact.df, rel=0.1)
    assert series.df.tolist() != exact.df.tolist()


@pytest.mark.parametrize("work", [1e9, 0.0])
def test_adjusted_scores_have_the_variance_of_the_working_model(work: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """E(V) = B where answers are independent: what CR2 is for, and what one heavy cluster takes from CR0."""
    monkeypatch.setattr(sandwich, "CELLS_WORK", work)
    x, y, won, annotator = lopsided()
    found = fitted()
    share = 1 / (1 + np.exp(found.strength[y] - found.strength[x]))
    played = np.zeros((4, 4))
    np.add.at(played, (x, y), 1.0)
    own = bread(played + played.T, found.strength)
    root = bread_root(own)
    cells = count_cells(x, y, won, 4, annotator)
    of = fold(annotator, np.minimum(x, y), np.maximum(x, y)).of
    residuals = np.eye(len(x)) - (_sign(x, y) @ own @ _sign(x, y).T) * (share * (1 - share))
    total = np.zeros((3, 3))
    for error in residuals * np.sqrt(share * (1 - share))[:, None]:  # what a unit error of each row does to all
        moved = np.where(x < y, share + error, 1 - share - error)
        parts = sandwich.adjusted_clusters(
            replace(cells, won=np.bincount(of, weights=moved)), found.strength, root, np.ones(6)
        )
        total += sum(part.score.T @ part.score for part in parts)
    assert root @ total @ root.T == pytest.approx(own, abs=1e-9)


def _sign(x: Ints, y: Ints) -> Floats:
    sign = np.zeros((len(x), 4))
    sign[np.arange(len(x)), x] += 1
    sign[np.arange(len(x)), y] -= 1
    return sign


def test_below_four_degrees_of_freedom_annotators_count_alike() -> None:
    plain, refitted, alike = fitted(), fitted(least_df=LEAST_DF), fitted(alike="annotator")
    assert plain.df.max() < 4 < alike.df.min()
    assert (plain.alike, refitted.alike) == (None, "annotator")
    for name in ("strength", "ci_low", "ci_high", "df"):
        assert getattr(refitted, name).tolist() == getattr(alike, name).tolist()
    assert refitted.no_interval is None


def test_again_below_four_there_is_no_interval_and_no_p() -> None:
    x, y, won, annotator = lopsided()
    few = annotator < 4
    found = bradley_terry(
        x[few], y[few], won[few], systems=SYSTEMS, clusters={"annotator": annotator[few]}, least_df=LEAST_DF
    )
    assert found.alike == "annotator"
    assert np.isfinite(found.strength).all()
    assert np.isnan([found.ci_low, found.ci_high, found.se, found.df]).all()
    assert found.interval is None
    assert found.no_interval is not None
    assert "4 degrees of freedom" in str(found.no_interval)
    assert (found.rank_low.tolist(), found.rank_high.tolist()) == ([0] * 4, [0] * 4)
    assert found.p_differences is not None
    assert np.isnan(found.p_differences[~np.eye(4, dtype=bool)]).all()


def test_five_equal_annotators_have_four_degrees_of_freedom() -> None:
    won = np.array([0.9, 0.7, 0.6, 0.8, 0.4])
    found = bradley_terry(["a"] * 5, ["b"] * 5, won, clusters={"annotator": list("pqrst")}, least_df=LEAST_DF)
    assert found.df == pytest.approx([4.0, 4.0])
    assert np.isfinite(found.ci_low).all()
    assert found.alike is None


def test_few_clusters_without_degrees_of_freedom() -> None:
    """Nobody but p compared d: strengths, which are against the mean, have no spread; a - b has."""
    rng = np.random.default_rng(3)
    rows = [(x, y, float(rng.random() < 0.6), who) for who in range(8) for x, y in ((0, 1), (1, 2), (0, 2)) * 3]
    rows += [(0, 3, 1.0, 0), (3, 0, 1.0, 0), (1, 3, 1.0, 0)]
    x, y, won, who = (np.array(column) for column in zip(*rows, strict=True))
    found = bradley_terry(x, y, won, systems=SYSTEMS, clusters={"annotator": who}, least_df=LEAST_DF)
    assert np.isnan(found.ci_low).all()
    assert found.df_differences is not None
    assert found.p_differences is not None
    assert found.df_differences[0, 3] == 0
    assert found.df_differences[0, 1] > 4
    assert np.isnan(found.p_differences[0, 3])
    assert np.isfinite(found.p_differences[0, 1])


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**16))
def test_annotators_alike_whoever_answers_again(seed: int) -> None:
    """Doubling one annotator's rows changes nothing where annotators count alike."""
    x, y, won, annotator = drawn(seed, 3, 8, 6)
    again = np.concatenate([np.arange(len(x)), np.flatnonzero(annotator == seed % 8)])
    one, two = (
        bradley_terry(x[r], y[r], won[r], systems=SYSTEMS[:3], clusters={"annotator": annotator[r]}, alike="annotator")
        for r in (np.arange(len(x)), again)
    )
    assert two.strength == pytest.approx(one.strength, abs=1e-8, nan_ok=True)


def table(most: int, people: int = 12) -> Any:
    """Return choices of people of whom one gave ``most`` and the others 12."""
    rng = np.random.default_rng(8)
    gaps = {"a": 0.6, "b": 0.1, "c": -0.5}
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    rows = []
    for who in range(people):
        for number in range(most if who == 0 else 12):
            x, y = pairs[number % 3]
            p = 1 / (1 + np.exp(gaps[y] - gaps[x]))
            rows.append((f"p{who:02}", f"i{number}", x, y, "x" if rng.random() < p else "y"))
    return choices(rows)


def strengths(results: Results) -> list[Results]:
    return [row for row in results["bradley_terry"] if row["source"] == "choices"]


def test_report_of_fit_with_annotators_alike() -> None:
    """The report prints the fit with annotators alike and says so."""
    answers = table(most=240)
    results = run(choices=answers)
    rows = strengths(results)
    won = (answers["choice"] == "x").cast(float) if "choice" in answers.columns else None
    assert {row["alike"] for row in rows} == {"annotator"}
    assert all(row["df"] > 4 for row in rows)
    assert any("every annotator the same total weight" in line for line in results["warnings"])
    if won is not None:
        found = bradley_terry(
            answers["system_x"],
            answers["system_y"],
            won,
            clusters={"annotator": answers["annotator_id"]},
            alike="annotator",
        )
        assert [row["ci_low"] for row in rows] == pytest.approx(found.ci_low.tolist(), abs=1e-9)
    even = run(choices=table(most=12))
    assert {row["alike"] for row in strengths(even)} == {None}
    assert not any("same total weight" in line for line in even["warnings"])


@pytest.mark.parametrize("people", [2, 4])
def test_too_few_people_have_strengths_without_intervals(people: int) -> None:
    results = run(choices=table(most=60, people=people))
    for row in strengths(results):
        assert row["strength"] is not None
        assert [row[name] for name in ("ci_low", "ci_high", "interval", "df", "rank_low")] == [None] * 5
        assert row["alike"] == "annotator"
        assert "4 degrees of freedom" in row["reason"]
