"""Turning rows for readers: one system's side of a comparison is the other's, number by number."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.preferences import PreferenceTest
from analysis.comparisons.ratings import RatingTest
from analysis.printing.turning import aligned, turned
from analysis.records.results import Results
from analysis.report import render_report
from analysis.report.orientation import oriented
from analysis.results.files import from_plain
from analysis.statistics.reasons import beside, why
from analysis.statistics.record import rounded
from tests.analysis.sample_results import empty_results, full_results, many_results, preference, rating_pair


def shown(**changes: Any) -> Results:
    return oriented(from_plain({**full_results(), **changes}))


def preference_test(**changes: Any) -> PreferenceTest:
    row = preference("human", "A", "B", 0.314) | changes
    return from_plain({**full_results(), "preferences": [row]}).preferences[0]


def test_a_preference_is_told_from_the_other_side():
    row = preference_test(mean=0.314, ci_low=0.237, ci_high=0.391, t=-5.03, d_z=-1.1, d_z_low=-1.63, d_z_high=-0.54)
    other = turned(row)
    assert (other.system_x, other.system_y, other.verdict) == ("B", "A", "x")
    assert (other.mean, other.ci_low, other.ci_high, other.t) == (0.686, 0.609, 0.763, 5.03)
    assert (other.d_z, other.d_z_low, other.d_z_high) == (1.1, 0.54, 1.63)
    assert (other.n, other.sd, other.p_adjusted, other.df) == (row.n, row.sd, row.p_adjusted, row.df)


def test_orientation_of_rating_differences():
    """A difference of ratings changes its sign and its shares their side."""
    plain = rating_pair("human", "A", "B", -0.4, 0.03) | {
        "ci_low": -0.7, "ci_high": -0.1, "hedges_g": -0.5, "hedges_g_low": -0.9, "hedges_g_high": -0.1,
        "superiority": 0.3, "superiority_low": 0.2, "superiority_high": 0.45, "crossed_verdict": "indifferent",
    }  # fmt: skip
    results = from_plain({**full_results(), "ratings": {"means": [], "pairs": [plain]}})
    row: RatingTest = turned(results.ratings.pairs[0])
    assert (row.system_x, row.mean_difference, row.ci_low, row.ci_high, row.verdict) == ("B", 0.4, 0.1, 0.7, "x")
    assert (row.hedges_g, row.hedges_g_low, row.hedges_g_high) == (0.5, 0.1, 0.9)
    assert (row.superiority, row.superiority_low, row.superiority_high) == (0.7, 0.55, 0.8)
    assert row.crossed_verdict == "indifferent"


def test_wins_of_one_are_losses_of_the_other():
    rows = from_plain(full_results()).choices.pairs
    for row, other in zip(rows, map(turned, rows), strict=True):
        assert isinstance(row, ChoiceTest)
        assert (other.wins_x, other.wins_y, other.ties) == (row.wins_y, row.wins_x, row.ties)
        assert other.win_rate == pytest.approx(1 - row.win_rate)


SHARE = st.floats(0, 1).map(lambda value: round(value, 12))
NUMBER = st.floats(-1e3, 1e3).map(lambda value: float(f"{value:.12g}"))


@given(mean=SHARE, low=SHARE, high=SHARE, t=NUMBER, d_z=NUMBER, verdict=st.sampled_from(["x", "y", "indifferent"]))
def test_turning_twice_is_the_identity(mean: float, low: float, high: float, t: float, d_z: float, verdict: Any):
    row = replace(preference_test(), mean=mean, ci_low=low, ci_high=high, t=t, d_z=d_z, verdict=verdict)
    assert turned(turned(row)) == row


def test_turning_twice_is_the_identity_for_every_kind_of_row():
    results = rounded(from_plain(full_results()))
    rows: chain[Any] = chain(results.preferences, results.ratings.pairs, results.choices.pairs)
    for row in rows:
        assert turned(turned(row)) == row
        assert turned(row) != row


def test_every_pair_is_told_from_its_winners_side():
    results = oriented(from_plain(many_results(6)))
    tests = [*results.preferences, *results.ratings.pairs, *results.choices.pairs]
    assert tests
    assert all(row.verdict != "y" for row in tests)
    assert all(row.effect >= 0 for row in tests if getattr(row, "exposure", 8) == 8)


def test_a_negative_difference_wins_where_lower_is_better():
    pairs = [rating_pair("human", "A", "B", 0.4, 0.3), rating_pair("human", "A", "C", -0.4, 0.01) | {"verdict": "x"}]
    settings = full_results()["settings"] | {"lower_is_better": ["overall"]}
    first, second = shown(ratings={"means": [], "pairs": pairs}, settings=settings).ratings.pairs
    assert (first.system_x, first.mean_difference) == ("B", -0.4)
    assert (second.system_x, second.mean_difference) == ("A", -0.4)


def test_the_largest_exposure_decides_for_all():
    rows = [preference("human", "A", "B", 0.6, exposure=1, p_adjusted=0.3), preference("human", "A", "B", 0.3)]
    found = shown(preferences=rows, rankings=[]).preferences
    assert [(row.system_x, row.mean) for row in found] == [("B", 0.4), ("B", 0.7)]


def test_the_best_system_stands_first_and_the_best_pair():
    order = [["C"], ["A"], ["B"]]
    ranking = {"source": "preferences", "group": "human", "criterion": "overall", "order": order}
    rows = [preference("human", x, y, 0.7) for x, y in ("AB", "CB", "CA")]
    found = shown(preferences=rows, rankings=[ranking]).preferences
    assert [row.system_x + row.system_y for row in found] == ["CA", "CB", "AB"]


@pytest.mark.parametrize(("lower", "order"), [([], "BCA"), (["overall"], "ACB")])
def test_orientation_of_those_who_won_everything(lower: list[str], order: str):
    """Who won or lost everything stands where good ratings put it."""
    about = {"source": "ratings_bt", "group": "human", "criterion": "overall"}
    left = [
        {"system": "A", **beside("reason", why("rated_lower"))},
        {"system": "B", **beside("reason", why("rated_higher"))},
    ]
    none = dict.fromkeys(("strength", "ci_low", "ci_high", "interval", "rank", "rank_low", "rank_high"))
    strengths = [{**about, **none, "system": system, "reason": "none"} for system in "ABC"]
    results = {**empty_results(), "bradley_terry": strengths}
    results["rankings"] = [{**about, "order": [["C"]], "unranked": left}]
    results["settings"] = {**results["settings"], "lower_is_better": lower}
    assert "".join(row.system for row in oriented(from_plain(results)).bradley_terry) == order


def test_one_figure_shows_a_pair_in_one_direction():
    people, llm = preference_test(), turned(replace(preference_test(), group="llm"))
    assert [(row.system_x, row.mean) for row in aligned([people, llm])] == [("A", 0.314), ("A", 0.314)]


def test_csv_tables_keep_direction_and_stars():
    """The CSV tables keep the direction and the stars of the results."""
    row = preference("human", "A", "B", 0.314, p_adjusted=0.07)
    files = render_report(from_plain({**full_results(), "preferences": [row]}))
    assert "A,B,88,0.314" in files["tables/preferences.csv"].replace('"', "")
    assert "B over A" in files["report.md"]
    assert "68.6%" in files["report.md"]
