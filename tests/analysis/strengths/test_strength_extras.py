"""Two-way intervals of choices, ties as an outcome, and weights as rows written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import Plan, bootstrap_strengths, bradley_terry
from tests.analysis.made_answers import choices, ratings, run


def answered(seed: int, annotators: int = 12, items: int = 12) -> list[tuple[str, str, str, str, str]]:
    rng = np.random.default_rng(seed)
    gap = {"a": 0.8, "b": 0.0, "c": -0.6}
    rows = []
    for who in range(annotators):
        for item in range(items):
            for x, y in (("a", "b"), ("b", "c"), ("a", "c")):
                p = 1 / (1 + np.exp(gap[y] - gap[x]))
                tie = rng.random() < 0.15
                rows.append((f"p{who}", f"i{item}", x, y, "tie" if tie else "x" if rng.random() < p else "y"))
    return rows


def test_two_way_intervals_stand_where_there_are_enough_of_both() -> None:
    rows = answered(1)
    results = run(choices=choices(rows))["bradley_terry"]
    won = [{"x": 1.0, "y": 0.0, "tie": 0.5}[row[4]] for row in rows]
    clusters = {"annotator": [row[0] for row in rows], "item": [row[1] for row in rows]}
    found = bradley_terry([row[2] for row in rows], [row[3] for row in rows], won, clusters=clusters)
    for row in results:
        place = found.systems.index(row["system"])
        assert row["interval"] == "clustered by annotator (CR2)"
        assert row["ci_low_two_way"] == pytest.approx(found.ci_low[place], abs=1e-9)
        assert row["ci_high_two_way"] == pytest.approx(found.ci_high[place], abs=1e-9)
    few = run(choices=choices(answered(1, items=9)))["bradley_terry"]
    assert {row["ci_low_two_way"] for row in few} == {None}


def test_ties_have_a_parameter_of_their_own() -> None:
    """Two systems by hand: 8 wins, 2 losses, 4 ties: nu = 4 / sqrt(8 * 2), strengths ln(8 / 2) / 2."""
    rows = [("p", f"i{n}", "a", "b", "x" if n < 8 else "y" if n < 10 else "tie") for n in range(14)]
    (fit,) = run(choices=choices(rows))["ties"]
    assert (fit["n_ties"], fit["share"], fit["nu"]) == (4, pytest.approx(4 / 14), pytest.approx(1.0))
    assert fit["same_order"] is True
    first, second = fit["strengths"]
    assert first["strength"] - second["strength"] == pytest.approx(np.log(8 / 2))
    assert first["strength_half"] - second["strength_half"] == pytest.approx(np.log(10 / 4))


def test_no_tie_no_fit_and_parts_are_said() -> None:
    rows = [row for row in answered(2) if row[4] != "tie"]
    assert run(choices=choices(rows))["ties"] == []
    scores: list[tuple[str, str, str, object]] = [
        (f"p{who}", "i", system, 3 if who % 3 else 4 - place) for who in range(6) for place, system in enumerate("ab")
    ] + [("q", "i", "a", 1), ("q", "i", "b", 5)]
    (fit,) = run(ratings=ratings(scores))["ties"]
    assert (fit["source"], fit["n_ties"]) == ("ratings_bt", 4)
    (told,) = run(choices=choices(answered(3)), plan=Plan(regularisation=1.0))["ties"]
    assert (told["nu"], told["reason"]) == (None, "not fitted with regularisation")


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**16), st.sampled_from([(), ("annotator",), ("annotator", "item")]))
def test_weights_are_rows_written_out(seed: int, by: tuple[str, ...]) -> None:
    """Frequency weights: the same strengths, standard errors and replicates as the rows repeated."""
    rng = np.random.default_rng(seed)
    n = 120
    x = rng.integers(0, 3, n)
    y = (x + rng.integers(1, 3, n)) % 3
    won, weights = rng.choice([0.0, 0.5, 1.0], n), rng.integers(1, 4, n)
    given_by = {"annotator": rng.integers(0, 8, n), "item": rng.integers(0, 8, n)}
    again = np.repeat(np.arange(n), weights)
    clusters = {name: given_by[name] for name in by}
    repeated = {name: of[again] for name, of in clusters.items()}
    one = bradley_terry(x, y, won, systems="abc", clusters=clusters, weights=weights.astype(float))
    two = bradley_terry(x[again], y[again], won[again], systems="abc", clusters=repeated)
    assert one.strength == pytest.approx(two.strength, abs=1e-9)
    assert one.se == pytest.approx(two.se, abs=1e-9)
    first = bootstrap_strengths(
        x, y, won, 3, rng=np.random.default_rng(1), n_replicates=20, weights=weights.astype(float), **clusters
    )
    second = bootstrap_strengths(
        x[again], y[again], won[again], 3, rng=np.random.default_rng(1), n_replicates=20, **repeated
    )
    assert first.strength == pytest.approx(second.strength, abs=1e-6)


def test_strength_variance_by_rows_and_clusters() -> None:
    """Doubled weights halve the variance over rows and leave it within clusters."""
    rng = np.random.default_rng(5)
    x, y = np.array([0, 1, 0] * 40), np.array([1, 2, 2] * 40)
    won, who = rng.choice([0.0, 1.0], 120), np.arange(120) % 12
    plain, doubled = (bradley_terry(x, y, won, systems="abc", weights=np.full(120, w)) for w in (1.0, 2.0))
    assert doubled.se**2 == pytest.approx(plain.se**2 / 2)
    of = {"annotator": who}
    plain, doubled = (bradley_terry(x, y, won, systems="abc", weights=np.full(120, w), clusters=of) for w in (1.0, 2.0))
    assert doubled.se == pytest.approx(plain.se)
    with pytest.raises(ValueError, match="whole numbers"):
        bootstrap_strengths(x, y, won, 3, rng=rng, weights=np.full(120, 0.5))
