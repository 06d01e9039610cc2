"""What the rule of sums in the instructions may do: the simulation counts as a report does, and says what it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis import Plan
from tests.analysis.made_answers import preferences, run
from tests.calibration.sum_rule import EFFECTS, PAIRS, People, answers, estimates, simulate

PEOPLE = People(independent=0.6, samples=10, bias=0.1)


def test_the_simulation_counts_as_a_report() -> None:
    """One study, by the report: who stays, mean and p-value of the first pair."""
    forward, reverse, _ = answers(PEOPLE, "none", mean=0.6, runs=1, rng=np.random.default_rng(3))
    kept, mean, p_value = estimates(forward, reverse)
    rows: list[tuple[str, str, str, object]] = []
    for who, (there, back) in enumerate(zip(forward[0], reverse[0], strict=True)):
        for pair in range(PAIRS):
            rows += [(f"p{who}", f"x{pair}", f"y{pair}", there[pair]), (f"p{who}", f"y{pair}", f"x{pair}", back[pair])]
    found = run(preferences=preferences(rows), plan=Plan(pairs=tuple((f"x{n}", f"y{n}") for n in range(PAIRS))))
    (row,) = [one for one in found["preferences"] if one["system_x"] == "x0"]
    assert len({one["annotator_id"] for one in found["exclusions"]}) == (1 - kept).sum()
    assert (row["n"], row["mean"]) == (kept.sum(), pytest.approx(mean[0]))
    assert row["p_value"] == pytest.approx(p_value[0])


@pytest.mark.parametrize("effect", EFFECTS)
def test_who_states_complements_always_stays(effect: str) -> None:
    """Nobody of them leaves, whatever the sentence does to others; and without bias nothing leans."""
    found = simulate(replace(PEOPLE, independent=0.0), effect, runs=200, seed=1)  # type: ignore[arg-type]
    assert found.left_out == 0
    assert abs(found.error) < 1


def test_a_bias_shows_where_the_first_is_fixed() -> None:
    """The sentence lets it into both directions; counterbalanced, or without the sentence, the mean stays."""
    fixed = replace(PEOPLE, fixed=True)
    assert simulate(fixed, "all understand", runs=300, seed=1).error > 4
    assert abs(simulate(fixed, "none", runs=300, seed=1).error) < 1.5
    assert abs(simulate(PEOPLE, "all comply", runs=300, seed=1).error) < 1
    assert simulate(PEOPLE, "all comply", runs=300, seed=1).power > simulate(PEOPLE, "none", runs=300, seed=1).power


def test_guessers_who_comply_are_kept_and_cost_power() -> None:
    """Without the sentence most of them leave; with it the estimate is drawn to one half."""
    guessing = People(independent=0.3, samples=10, bias=0.0, guessing=True)
    plain, complying = (simulate(guessing, effect, runs=300, seed=1) for effect in ("none", "all comply"))
    assert plain.left_out > 0.2
    assert complying.left_out == 0
    assert complying.error < plain.error - 1.5
    assert complying.power < plain.power
