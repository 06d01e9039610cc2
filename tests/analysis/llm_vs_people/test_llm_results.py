"""LLMs against people from tables to the report: what is estimated, what is marked, and in which words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from analysis import Plan, StudyFacts
from analysis.llm_vs_people import alternative_annotator_test, prediction_powered_mean
from spa.cli import main
from tests.analysis.made_answers import Results, choices, preferences, ratings, render_report, run, validate

SYSTEMS = ("x", "y", "z")


def rows(seed: int = 0, *, people: int = 3, both: int = 40, more: int = 60) -> pl.DataFrame:
    """Let people rate x and y on 40 items, and an LLM a little higher x, y and z on 100."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(3, 1, size=(both + more, 3))
    answers: list[tuple[str, str, str, object]] = []
    for item in range(both):
        for who in range(people):
            noise = rng.normal(0, 0.5, size=3)
            answers += [(f"p{who}", f"i{item}", SYSTEMS[k], quality[item, k] + noise[k]) for k in range(2)]
    for item in range(both + more):
        answers += [("gpt", f"i{item}", SYSTEMS[k], quality[item, k] + 0.1 + rng.normal(0, 0.1)) for k in range(3)]
    return ratings(answers)


@pytest.fixture(scope="module")
def results() -> Results:
    return run(ratings=rows(), llms=("gpt",))


def test_results_fit_the_schema(results: Results) -> None:
    validate(results)


def test_an_llm_close_to_the_truth_passes(results: Results) -> None:
    (found,) = results["llm_vs_people"]["alternative_annotator"]
    assert (found["people"], found["group"], found["epsilon"]) == ("human", "gpt", 0.1)
    assert (found["n_units"], found["n_annotators"], found["n_left_out"]) == (80, 3, 0)
    assert {one["n_clusters"] for one in found["annotators"]} == {40}
    assert found["passes"] is True


def test_llm_means_and_differences_by_units(results: Results) -> None:
    """Means and differences are those of the function on the same units."""
    found = {(row["system_x"], row["system_y"]): row for row in results["llm_vs_people"]["prediction_powered"]}
    assert found.keys() == {("x", None), ("y", None), ("x", "y")}
    table = rows().with_columns(pl.col("score").cast(pl.Float64))
    wide = table.pivot("system", index=["annotator_id", "item_id"], values="score").sort("annotator_id", "item_id")
    people, llm = wide.filter(pl.col("annotator_id") != "gpt"), wide.filter(pl.col("annotator_id") == "gpt")
    beside = people.join(llm, on="item_id", suffix="_llm")
    more = llm.join(people, on="item_id", how="anti")
    alone = prediction_powered_mean(
        (beside["x"] - beside["y"]).to_numpy(),
        (beside["x_llm"] - beside["y_llm"]).to_numpy(),
        (more["x"] - more["y"]).to_numpy(),
        clusters=beside["item_id"].to_numpy(),
    )
    row = found[("x", "y")]
    assert (row["estimate"], row["ci_low"], row["llm_weight"]) == pytest.approx(
        (alone.estimate, alone.ci_low, alone.llm_weight)
    )
    assert (row["interval"], row["n"], row["n_clusters"], row["n_more"]) == ("item", 120, 40, 60)
    assert row["ci_high"] - row["ci_low"] < 0.8 * (row["people_ci_high"] - row["people_ci_low"])


def test_people_alone_are_the_means_of_the_ratings(results: Results) -> None:
    """One number a group and system wherever it stands, and one interval while the unit is the item."""
    means = {row["system"]: row for row in results["ratings"]["means"] if row["group"] == "human"}
    for row in results["llm_vs_people"]["prediction_powered"]:
        if row["system_y"] is None:
            mean = means[row["system_x"]]
            assert (row["people_mean"], row["people_ci_low"]) == pytest.approx((mean["mean"], mean["ci_low"]))


def test_a_system_that_no_person_rated_is_marked(results: Results) -> None:
    (found,) = results["llm_vs_people"]["llm_only"]
    mean = next(row for row in results["ratings"]["means"] if (row["group"], row["system"]) == ("gpt", "z"))
    assert (found["system"], found["mean"], found["ci_low"]) == ("z", mean["mean"], mean["ci_low"])


def test_llm_units_clustered_by_annotator_and_item() -> None:
    """Many annotators are clustered with the items unless the plan says item."""
    table = rows(people=10)
    units: tuple[tuple[Literal["auto", "item"], str], ...] = (("auto", "annotator and item"), ("item", "item"))
    for unit, wanted in units:
        found = run(ratings=table, llms=("gpt",), plan=Plan(unit=unit))
        assert {row["interval"] for row in found["llm_vs_people"]["prediction_powered"]} == {wanted}


def test_order_of_rows_and_names_of_annotators_do_not_matter(results: Results) -> None:
    shuffled = rows().sample(fraction=1.0, shuffle=True, seed=3).sort("system", maintain_order=True)
    again = run(ratings=shuffled, llms=("gpt",))["llm_vs_people"]
    for key in ("prediction_powered", "llm_only"):
        assert again[key] == results["llm_vs_people"][key]
    renamed = rows().with_columns(pl.col("annotator_id").replace({"p0": "q9", "p2": "a1"}))
    other = run(ratings=renamed, llms=("gpt",))["llm_vs_people"]["alternative_annotator"][0]
    own = results["llm_vs_people"]["alternative_annotator"][0]
    assert other["advantage_probability"] == pytest.approx(own["advantage_probability"])


def spa(n_people: int = 30, n_forms: int = 130) -> pl.DataFrame:
    """Let 30 people and an LLM answer the same forms, both directions, and the LLM 100 forms more."""
    rng = np.random.default_rng(8)
    true = np.clip(rng.normal(0.6, 0.2, size=n_forms), 0, 1)
    answers: list[tuple[str, str, str, object]] = []
    forms: list[str] = []
    for form in range(n_forms):
        who = [(f"p{form}", 0.0)] if form < n_people else []
        for name, shift in [*who, ("gpt", 0.1)]:
            stated = float(np.clip(round(true[form] + shift + rng.normal(0, 0.05), 2), 0, 1))
            answers += [(name, "x", "y", stated), (name, "y", "x", round(1 - stated, 2))]
            forms += [f"a{form}"] * 2
    return preferences(answers, assignment_id=forms)


def test_powered_preferences_gain_from_llm_forms() -> None:
    """Preferences of people gain from forms that only the LLM answered."""
    found = run(preferences=spa(), llms=("gpt",))
    (row,) = found["llm_vs_people"]["prediction_powered"]
    alone = next(test for test in found["preferences"] if test["group"] == "human")
    assert (row["source"], row["system_x"], row["n"], row["n_more"]) == ("preferences", "x", 30, 100)
    assert (row["people_mean"], row["people_ci_low"]) == pytest.approx((alone["mean"], alone["ci_low"]))
    assert row["ci_high"] - row["ci_low"] < 0.8 * (row["people_ci_high"] - row["people_ci_low"])
    assert row["ci_low"] < 0.6 < row["ci_high"]
    validate(found)


def test_pairs_of_preferences_stand_in_the_order_of_the_study() -> None:
    """One system, "a", comes first in the alphabet and last in the study."""
    table = spa()
    pairs = (("x", "y"), ("z", "y"), ("a", "z"))
    several = pl.concat(
        table.with_columns(pl.col("system_x", "system_y").replace({"x": x, "y": y})) for x, y in reversed(pairs)
    )
    study = StudyFacts(id="s", title="s", language="en", systems=(), criteria=(), pairs=pairs)
    rows = run(preferences=several, llms=("gpt",), study=study)["llm_vs_people"]["prediction_powered"]
    assert [(row["system_x"], row["system_y"]) for row in rows] == list(pairs)


def chosen(n_people: int = 12, both: int = 40, more: int = 80) -> pl.DataFrame:
    """Let people and an LLM, which likes x a little more, choose on 40 items, and the LLM on 80 more."""
    rng = np.random.default_rng(5)
    lead = rng.normal(0.3, 1, size=both + more)
    answers: list[tuple[str, str, str, str, str]] = []
    for item in range(both + more):
        who = [(f"p{place}", 0.0) for place in range(n_people)] if item < both else []
        for name, shift in [*who, ("gpt", 0.2)]:
            felt = lead[item] + shift + rng.normal(0, 0.3)
            winner = "tie" if abs(felt) < 0.1 else "x" if felt > 0 else "y"
            turned = {"x": "y", "y": "x", "tie": "tie"}[winner]
            asked = ("x", "y", winner) if item % 2 else ("y", "x", turned)
            answers.append((name, f"i{item}", *asked))
    return choices(answers)


def test_powered_share_of_choices() -> None:
    """The share of choices that people would give is prediction powered too."""
    found = run(choices=chosen(), llms=("gpt",))
    validate(found)
    (row,) = found["llm_vs_people"]["prediction_powered"]
    test = next(test for test in found["choices"]["pairs"] if test["group"] == "human")
    assert (row["source"], row["system_x"], row["system_y"], row["n_more"]) == ("choices", test["system_x"], "x", 80)
    assert row["people_mean"] == pytest.approx(test["win_rate"])
    assert row["interval"] == "annotator and item"
    assert row["ci_high"] - row["ci_low"] < 0.9 * (row["people_ci_high"] - row["people_ci_low"])
    wide = chosen().with_columns(
        won=pl.col("winner").replace_strict({"x": 1.0, "tie": 0.5, "y": 0.0}, return_dtype=pl.Float64)
    )
    first = pl.col("system_x") == row["system_x"]
    wide = wide.with_columns(won=pl.when(first).then("won").otherwise(1 - pl.col("won")))
    people, llm = wide.filter(pl.col("annotator_id") != "gpt"), wide.filter(pl.col("annotator_id") == "gpt")
    beside = people.join(llm, on="item_id", suffix="_llm")
    alone = prediction_powered_mean(
        beside["won"].to_numpy(),
        beside["won_llm"].to_numpy(),
        llm.join(people, on="item_id", how="anti")["won"].to_numpy(),
        clusters=(beside["annotator_id"].to_numpy(), beside["item_id"].to_numpy()),
    )
    assert (row["estimate"], row["ci_low"], row["llm_weight"]) == pytest.approx(
        (alone.estimate, alone.ci_low, alone.llm_weight)
    )
    assert "Choices: people with an LLM" in render_report(found)["report.md"]


def test_swapping_the_systems_of_every_choice_mirrors_the_share() -> None:
    turned = chosen().with_columns(pl.col("system_x", "system_y").replace({"x": "y", "y": "x"}))
    (once,), (again,) = (
        run(choices=table, llms=("gpt",))["llm_vs_people"]["prediction_powered"] for table in (chosen(), turned)
    )
    assert once["system_x"] != again["system_x"]
    assert again["estimate"] == pytest.approx(once["estimate"])
    assert again["ci_low"] == pytest.approx(once["ci_low"])


def test_epsilon_of_the_plan_is_that_of_the_test() -> None:
    """The lead that the LLM gets grows with epsilon, and p-values fall."""
    low, high = (run(ratings=rows(), llms=("gpt",), plan=Plan(epsilon=epsilon)) for epsilon in (0.0, 0.2))
    for found, epsilon in ((low, 0.0), (high, 0.2)):
        assert found["settings"]["epsilon"] == found["llm_vs_people"]["alternative_annotator"][0]["epsilon"] == epsilon
    pairs = zip(
        *(found["llm_vs_people"]["alternative_annotator"][0]["annotators"] for found in (low, high)), strict=True
    )
    assert all(one["p_value"] > other["p_value"] for one, other in pairs)
    assert "here 20.0% of all outputs" in render_report(high)["report.md"]
    (told,) = (row for row in high["conventions"] if row["term"] == "alternative-annotator test")
    assert "below 0.2 (epsilon" in told["explanation"]
    with pytest.raises(ValueError, match="epsilon"):
        Plan(epsilon=1.0)


def test_epsilon_may_be_given_on_the_command_line_even_as_0(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    rows().write_csv(path)
    said = CliRunner().invoke(main, ["report", "--ratings", str(path), "--llm", "gpt", "--epsilon", "0", "--json"])
    assert json.loads(said.output)["settings"]["epsilon"] == 0


def test_llm_results_need_both_kinds() -> None:
    """Without an LLM or without people there is nothing to compare."""
    nothing: dict[str, list[object]] = {
        "alternative_annotator": [],
        "prediction_powered": [],
        "rank_tables": [],
        "llm_only": [],
        "calibration": [],
        "bias": [],
        "people_saved": [],
    }
    assert run(ratings=rows().filter(pl.col("annotator_id") != "gpt"))["llm_vs_people"] == nothing
    alone = run(ratings=rows().filter(pl.col("annotator_id") == "gpt"), llms=("gpt",))
    assert alone["llm_vs_people"] == nothing
    assert "LLMs beside people" not in render_report(alone)["report.md"]


def test_the_report_says_what_was_found_and_no_more(results: Results) -> None:
    text = render_report(results)["report.md"]
    assert "gpt (LLM) passes on overall." in text
    assert "less than epsilon, here 10.0% of all outputs" in text
    assert "not that it is right, or can replace all of them" in text
    assert "No person rated these systems" in text
    assert "provided that what people answered is a random part of the whole" in text
    few = run(ratings=rows(both=10), llms=("gpt",))
    assert few["llm_vs_people"]["alternative_annotator"][0]["passes"] is None
    said = render_report(few)["report.md"]
    assert "This cannot be determined from these answers." in said
    assert "passes on" not in said


def judged(error: float, *, turned: bool = False) -> pl.DataFrame:
    """Let four people and an LLM choose between x and y on 60 items; the LLM errs with probability ``error``."""
    rng, asked = np.random.default_rng(7), np.random.default_rng(8)
    better = rng.random(60) < 0.5
    answers: list[tuple[str, str, str, str, str]] = []
    for who, wrong in (*((f"p{number}", 0.2) for number in range(4)), ("gpt", error)):
        for item, first in enumerate(better):
            pair = ("y", "x") if turned and asked.random() < 0.5 else ("x", "y")
            winner = "x" if (first != (rng.random() < wrong)) == (pair[0] == "x") else "y"  # x: the first of the pair
            answers.append((who, f"i{item}", *pair, winner))
    return choices(answers)


@pytest.mark.parametrize(("error", "passes"), [(0.05, True), (0.5, False)])
def test_alternative_annotator_of_choices(error: float, passes: bool) -> None:
    """An LLM that chooses better than people passes and a coin does not."""
    results = run(choices=judged(error), llms=("gpt",))
    validate(results)
    (found,) = results["llm_vs_people"]["alternative_annotator"]
    assert (found["source"], found["n_units"], found["n_annotators"], found["passes"]) == ("choices", 60, 4, passes)
    assert f"{'yes' if passes else 'no'} on overall" in results["headline"]["stand_in"]


@pytest.mark.parametrize("turned", [False, True])
def test_llm_choices_agree_in_either_order(turned: bool) -> None:
    """Choices without ties agree or do not in whichever order they are asked."""
    wide = judged(0.3).pivot("annotator_id", index="item_id", values="winner")
    people = wide.select(f"p{number}" for number in range(4)).to_numpy()
    plain = alternative_annotator_test(people, wide["gpt"].to_numpy(), scoring="accuracy", epsilon=0.1)
    results = run(choices=judged(0.3, turned=turned), llms=("gpt",))
    (found,) = results["llm_vs_people"]["alternative_annotator"]
    assert found["advantage_probability"] == pytest.approx(plain.advantage_probability)
    p_values = [one.p_value for one in plain.annotators]
    assert [one["p_value"] for one in found["annotators"]] == pytest.approx(p_values)


def test_ratings_and_choices_are_told_apart() -> None:
    asked = ratings(
        [(who, item, one, 1 + (one == best)) for who, item, *pair, best in judged(0.05).rows() for one in pair]
    )
    results = run(choices=judged(0.5), ratings=asked, llms=("gpt",))
    found = {row["source"]: row["passes"] for row in results["llm_vs_people"]["alternative_annotator"]}
    assert found == {"ratings": True, "choices": False}
    assert results["headline"]["stand_in"].endswith("yes on overall (ratings), no on overall (choices).")
    page = render_report(results)["report.md"]
    assert "passes on overall (ratings), but not on overall (choices)" in page
    assert "on which outputs or pairs of outputs does this one agree better" in page
