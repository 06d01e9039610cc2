"""Which pairs form the families of tests: those named, of the preferences, of the expectations, or all.

The example is Table 1 of Ethayarajh & Jurafsky (2022): 90 people rate one text of each of five writers, and state
chances for five pairs. No answers were published; these have its means to the last digit and its stars.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from analysis import Plan, StudyFacts
from analysis import analyse as analyse_records
from analysis.answers.plan import parse_expectations
from analysis.frames.measures import choice_tests, rating_tests
from analysis.results.analyse_sums import analyse_totals
from analysis.statistics.corrections import OUTSIDE_FAMILY
from spa.cli import main
from spa.errors import AnalysisError
from tests.analysis.made_answers import Results, check, choices, preferences, ratings, render_report, run
from tests.analysis.totals_in_memory import totals_of

PEOPLE = 90
SUMS = {"ada": 0, "babbage": 58, "curie": 87, "davinci": 109, "human": 74}  # over 90: the paper's differences
CHANCES = {  # mean and standard deviation
    ("ada", "human"): (0.420, 0.36),
    ("babbage", "ada"): (0.688, 0.25),
    ("curie", "babbage"): (0.630, 0.25),
    ("davinci", "curie"): (0.575, 0.22),
    ("human", "davinci"): (0.544, 0.36),
}
LIKERT = {
    ("ada", "human"): -0.822,
    ("babbage", "ada"): 0.644,
    ("curie", "babbage"): 0.322,
    ("davinci", "curie"): 0.244,
    ("human", "davinci"): -0.389,
}
EXPECTED = ("ada < human", "babbage > ada", "curie > babbage", "davinci > curie", "human ~ davinci")


def rated() -> pl.DataFrame:
    """Draw ratings from 1 to 5, and change single ones until the sums are the paper's."""
    rng = np.random.default_rng(8)
    rows = []
    for system, more in SUMS.items():
        target = 234 + more
        values = np.clip(np.rint(rng.normal(target / PEOPLE, 1.2, PEOPLE)), 1, 5).astype(int)
        while gap := target - int(values.sum()):
            who = rng.integers(PEOPLE)
            changed = values[who] + np.sign(gap)
            if 1 <= changed <= 5:
                values[who] = changed
        rows += [(f"p{who}", f"prompt{who}", system, int(score)) for who, score in enumerate(values)]
    return ratings(rows)


def stated() -> pl.DataFrame:
    """Let half of the people state a chance above and half one below the paper's mean."""
    rows = []
    for number, ((x, y), (mean, sd)) in enumerate(CHANCES.items()):
        for who in range(PEOPLE):
            sign = 1 if (who >> number) % 2 else -1
            rows.append((f"p{who}", x, y, round(mean + sign * sd, 3)))
    frame = preferences(rows)
    exact = pl.col("preference").cast(pl.Float64)
    wanted = pl.DataFrame({"system_x": [x for x, _ in CHANCES], "wanted": [mean for mean, _ in CHANCES.values()]})
    centred = frame.join(wanted, on="system_x").with_columns(exact - exact.mean().over("system_x") + pl.col("wanted"))
    return centred.with_columns(pl.col("preference").round(9).cast(pl.String)).drop("wanted")


def found_of(results: Results, source: str = "ratings") -> dict[tuple[str, str], dict[str, Any]]:
    rows = results["preferences"] if source == "preferences" else results[source]["pairs"]
    return {(row["system_x"], row["system_y"]): row for row in rows}


def towards(results: Results, x: str, y: str) -> dict[str, Any]:
    found = found_of(results)
    return found[x, y] if (x, y) in found else found[y, x]


PAPER = Plan(fwer=0.1, consistency_tau=None, expected=parse_expectations(EXPECTED))


def test_table_1_is_recovered_from_collected_answers() -> None:
    """The paper's finding: of five expected preferences SPA recovers 5 and Likert ratings 2, at its level of .10."""
    results = run(ratings=rated(), preferences=stated(), plan=PAPER)
    for (x, y), difference in LIKERT.items():
        row = towards(results, x, y)
        sign = 1 if row["system_x"] == x else -1
        assert round(sign * row["mean_difference"], 3) == pytest.approx(difference)
        assert row["n_tests"] == 5
    assert {pair: round(row["mean"], 3) for pair, row in found_of(results, "preferences").items()} == {
        pair: mean for pair, (mean, _) in CHANCES.items()
    }
    stars = {pair: towards(results, *pair)["stars"] for pair in LIKERT}
    assert stars == dict(zip(LIKERT, ("***", "***", "", "", "*"), strict=True))
    stars = {pair: row["stars"] for pair, row in found_of(results, "preferences").items()}
    assert stars == dict(zip(LIKERT, ("*", "***", "***", "***", ""), strict=True))
    recovered = {
        source: sum(row["recovered"] for row in results["expected"] if row["source"] == source)
        for source in ("preferences", "ratings")
    }
    assert recovered == {"preferences": 5, "ratings": 2}


def test_the_family_decides_whether_human_text_is_less_preferred() -> None:
    """Holm over the five compared pairs gives .083, over all ten .138."""
    beside = towards(run(ratings=rated(), preferences=stated(), plan=Plan(consistency_tau=None)), "human", "davinci")
    alone = towards(run(ratings=rated()), "human", "davinci")
    assert round(beside["p_adjusted"], 3) == 0.083
    assert (round(alone["p_adjusted"], 3), alone["n_tests"]) == (0.138, 10)
    named = towards(run(ratings=rated(), plan=Plan(pairs=tuple(LIKERT))), "human", "davinci")
    expected = towards(run(ratings=rated(), plan=PAPER), "human", "davinci")
    assert named["p_adjusted"] == expected["p_adjusted"] == beside["p_adjusted"]


def test_pairs_outside_keep_their_raw_p_and_say_why() -> None:
    results = run(ratings=rated(), preferences=stated(), plan=PAPER)
    outside = [row for row in results["ratings"]["pairs"] if row["reason"] is not None]
    assert len(outside) == 5
    for row in outside:
        assert row["p_value"] is not None
        assert (row["p_adjusted"], row["verdict"], row["reason"]) == (None, None, str(OUTSIDE_FAMILY))
    found = [row for row in results["families"] if row["source"] == "ratings"]
    assert [(row["n_tests"], row["outside"], row["untestable"]) for row in found] == [(5, 5, [])]
    assert results["settings"]["pairs_from"] == "preferences"
    assert [tuple(pair) for pair in results["settings"]["pairs"]] == list(LIKERT)
    page = render_report(results)["report.html"]
    assert "Compared are the pairs of the preferences" in page


@pytest.mark.parametrize(
    ("frames", "plan", "wanted"),
    [
        ("rp", Plan(pairs=(("curie", "ada"),)), "named"),
        ("rp", PAPER, "preferences"),
        ("r", PAPER, "expected"),
        ("r", Plan(), None),
    ],
)
def test_compared_pairs_precedence(frames: str, plan: Plan, wanted: str | None) -> None:
    """Pairs that are named come before the preferences and these before expectations."""
    tables = {"ratings": rated()} | ({"preferences": stated()} if "p" in frames else {})
    results = run(plan=plan, **tables)
    assert results["settings"]["pairs_from"] == wanted
    sizes = {row["source"]: row["n_tests"] for row in results["families"]}
    assert sizes["ratings"] == {"named": 1, "preferences": 5, "expected": 5, None: 10}[wanted]
    if wanted == "named":  # of what was asked by preferences, nothing is compared either
        assert {row["reason"] for row in results["preferences"]} == {str(OUTSIDE_FAMILY)}


def chosen(*pairs: tuple[str, str]) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    rows = [
        (f"p{who}", f"i{item}", *pair, str(rng.choice(["x", "y", "tie"])))
        for pair in pairs
        for who in range(11)
        for item in range(3)
    ]
    return choices(rows)


def test_choices_follow_too() -> None:
    frame = chosen(("a", "b"), ("c", "b"), ("a", "c"))
    asked = preferences([(f"p{who}", "b", "a", 0.4 + 0.02 * who) for who in range(11)])
    results = run(choices=frame, preferences=asked)
    assert [row["n_tests"] for row in results["families"]] == [1, 1]
    found = found_of(results, "choices")
    assert found["a", "b"]["p_adjusted"] == found["a", "b"]["p_value"]
    assert found["a", "c"]["p_adjusted"] is None
    rows = choice_tests(frame, plan=Plan(pairs=(("b", "c"),)))
    assert [(row.system_x, row.system_y) for row in rows if row.n_tests] == [("b", "c")]


def told(rows: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return what the family decides of each row."""
    return [(row.system_x, row.system_y, row.n_tests, row.verdict, row.reason) for row in rows]


def test_frames_and_parts_know_the_pairs() -> None:
    plan = Plan(pairs=(("davinci", "human"), ("ada", "human")))
    rows = rating_tests(rated(), plan=plan)
    assert {row.n_tests for row in rows if row.p_adjusted is not None} == {2}
    tables = check(ratings=rated())
    whole, parts = analyse_records(tables, plan), analyse_totals(totals_of(tables, "ratings"), plan)
    assert told(parts.ratings.pairs) == told(whole.ratings.pairs)
    assert (parts.families, parts.settings) == (whole.families, whole.settings)
    tables = check(choices=chosen(("a", "b"), ("b", "c")))
    plan = Plan(pairs=(("a", "b"),))
    whole, parts = analyse_records(tables, plan), analyse_totals(totals_of(tables, "choices"), plan)
    assert told(parts.choices.pairs) == told(whole.choices.pairs)
    assert parts.families == whole.families


def test_a_study_compares_its_own_pairs() -> None:
    """Expectations of a study that only rates name no family: it compares every two systems."""
    study = StudyFacts(id="s", title="s", language="en", systems=(), criteria=())
    results = run(ratings=rated(), plan=PAPER, study=study)
    assert [row["n_tests"] for row in results["families"]] == [10]
    assert (results["settings"]["pairs"], results["settings"]["pairs_from"]) == ([], None)


@pytest.mark.parametrize(
    ("pairs", "wrong"),
    [
        ((("ada", "Human"),), "no system 'Human' (there are: ada, babbage, curie, davinci, human)"),
        ((("ada", "human"), ("human", "ada")), "named twice"),
        ((("ada", "ada"),), "got one twice"),
    ],
)
def test_a_wrong_pair_is_told_in_a_line(pairs: tuple[tuple[str, str], ...], wrong: str, tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="pairs=") as caught:
        run(ratings=rated(), plan=Plan(pairs=pairs))
    assert [wrong in problem for problem in caught.value.problems] == [True]
    rated().write_csv(tmp_path / "ratings.csv")
    named = [word for pair in pairs for word in ("--pair", *pair)]
    arguments = ["--ratings", str(tmp_path / "ratings.csv"), *named, "--out", str(tmp_path / "r")]
    result = CliRunner().invoke(main, ["report", *arguments])
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert wrong in lines[0]
    assert len(lines[0]) < 500


def test_a_pair_that_no_answers_compare_is_refused() -> None:
    with pytest.raises(AnalysisError, match="no answers compare these two"):
        run(choices=chosen(("a", "b"), ("b", "c")), plan=Plan(pairs=(("a", "c"),)))


def test_the_command_takes_pairs_one_by_one_or_from_a_table(tmp_path: Path) -> None:
    rated().write_csv(tmp_path / "ratings.csv")
    (tmp_path / "pairs.csv").write_text("system_x,system_y\n" + "".join(f"{x},{y}\n" for x, y in LIKERT))
    (tmp_path / "wrong.csv").write_text("x,y\na,b\n")
    base = ["--ratings", str(tmp_path / "ratings.csv"), "--json"]
    by_hand = CliRunner().invoke(main, ["report", *base, *(word for pair in LIKERT for word in ("--pair", *pair))])
    by_table = CliRunner().invoke(main, ["report", *base, "--pairs", str(tmp_path / "pairs.csv")])
    assert (by_hand.exit_code, by_table.exit_code) == (0, 0), by_hand.output
    assert json.loads(by_hand.stdout)["settings"]["pairs_from"] == "named"
    assert json.loads(by_hand.stdout)["families"] == json.loads(by_table.stdout)["families"]
    wrong = CliRunner().invoke(main, ["report", *base, "--pairs", str(tmp_path / "wrong.csv")])
    assert "expected the columns system_x, system_y" in wrong.stderr
