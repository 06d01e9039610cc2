"""Stated chances against choices, and bias of an LLM, from tables to the report."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.llm_vs_people import assess_calibration, bias_profile
from tests.analysis.made_answers import Results, choices, preferences, ratings, render_report, run, validate

PAIRS = (("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d"))
TRUE = dict(zip(PAIRS, (0.55, 0.7, 0.9, 0.6, 0.8, 0.75), strict=True))


def overconfident(share: float, factor: float = 2.5) -> float:
    odds = np.log(share / (1 - share)) * factor
    return round(float(1 / (1 + np.exp(-odds))), 2)


def stated_and_chosen(n_people: int = 30, seed: int = 2) -> dict[str, pl.DataFrame]:
    """People state what is true of their choices; an LLM answers 30 other forms, far too sure."""
    rng = np.random.default_rng(seed)
    said: list[tuple[str, str, str, object]] = []
    picked: list[tuple[str, str, str, str, str]] = []
    forms, forms_picked = [], []
    for person in range(n_people):
        for x, y in PAIRS:
            said += [(f"p{person}", x, y, TRUE[x, y]), (f"p{person}", y, x, round(1 - TRUE[x, y], 2))]
            said += [("gpt", x, y, overconfident(TRUE[x, y])), ("gpt", y, x, round(1 - overconfident(TRUE[x, y]), 2))]
            forms += [f"f{person}"] * 2 + [f"g{person}"] * 2
            for item in range(4):
                x_won = rng.random() < TRUE[x, y]
                picked.append((f"p{person}", f"i{person}-{item}", *((y, x) if item % 2 else (x, y)), ""))
                forms_picked.append(f"f{person}")
                picked[-1] = (*picked[-1][:4], "x" if x_won != bool(item % 2) else "y")
    return {
        "preferences": preferences(said, assignment_id=forms),
        "choices": choices(picked, assignment_id=forms_picked),
    }


@pytest.fixture(scope="module")
def calibrated() -> Results:
    return run(**stated_and_chosen(), llms=("gpt",))


def of(results: Results, key: str, **wanted: object) -> list[dict[str, Any]]:
    rows = results["llm_vs_people"][key]
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def test_calibration_of_people_and_confident_llm(calibrated: Results) -> None:
    """People who know their choices are right and an over confident LLM is not."""
    validate(calibrated)
    (people,), (llm,) = (of(calibrated, "calibration", group=group) for group in ("human", "gpt"))
    assert (people["against"], people["matched_by"], people["n"], people["n_clusters"]) == ("own", "annotator", 720, 30)
    assert (llm["against"], llm["matched_by"], llm["interval"]) == ("people", "pair", "annotator")
    best = np.mean([share * (1 - share) for share in TRUE.values()])
    assert people["ci_low"] < best < people["ci_high"]
    assert people["calibration_error"] < 0.05 < llm["calibration_error"]
    assert llm["brier_score"] > people["brier_score"]
    assert llm["recalibrated"]["brier_score"] < llm["brier_score"]
    assert llm["recalibrated"]["calibration_error"] < 0.05
    assert people["brier_of_half"] == 0.25


def test_bias_results_equal_the_function(calibrated: Results) -> None:
    """The numbers are those of the function on the same answers."""
    (row,) = of(calibrated, "calibration", group="human")
    forward = {pair: share for pair, share in TRUE.items()}
    stated, won, who = [], [], []
    for person, _, x, y, winner, _ in stated_and_chosen()["choices"].iter_rows():
        ahead = (x, y) in forward
        stated.append(forward[(x, y) if ahead else (y, x)])
        won.append(float((winner == "x") == ahead))
        who.append(person)
    alone = assess_calibration(stated, won, clusters=who, pairs=True)
    assert (row["brier_score"], row["ci_low"], row["calibration_error"]) == pytest.approx(
        (alone.brier_score, alone.ci_low, alone.calibration_error)
    )
    assert sum(part["n"] for part in row["bins"]) == 720


def test_calibration_by_statement_on_same_form() -> None:
    """A choice is held against the LLM's statement on the same form."""
    said = preferences(
        [("p", "a", "b", 0.5), ("q", "a", "b", 0.5), ("gpt", "a", "b", 0.8), ("gpt", "a", "b", 0.4)],
        assignment_id=["f", "g", "f", "g"],
    )
    picked = choices(
        [("p", "i", "a", "b", "x"), ("q", "i", "b", "a", "x"), ("gpt", "i", "a", "b", "tie")],
        assignment_id=["f", "g", "g"],
    )
    results = run(preferences=said, choices=picked, llms=("gpt",))
    validate(results)
    by = {(row["group"], row["against"]): row for row in of(results, "calibration")}
    llm = by["gpt", "people"]
    assert (llm["matched_by"], llm["n"]) == ("assignment", 2)
    assert llm["brier_score"] == pytest.approx((0.2**2 + 0.4**2) / 2)
    assert by["gpt", "own"]["brier_score"] == pytest.approx(0.1**2)
    assert by["gpt", "own"]["reason"] is not None
    assert by["human", "own"]["brier_score"] == 0.25


def test_without_a_pair_in_common_there_is_a_reason() -> None:
    results = run(preferences=preferences([("p", "a", "b", 0.5)]), choices=choices([("p", "i", "c", "d", "x")]))
    (row,) = of(results, "calibration")
    assert (row["n"], row["brier_score"]) == (0, None)
    assert "nobody chose" in row["reason"]
    assert "This cannot be determined" in render_report(results)["report.md"]
    validate(results)


def test_swapping_every_pair_changes_nothing(calibrated: Results) -> None:
    tables = stated_and_chosen()
    turned = {
        "preferences": tables["preferences"].with_columns(
            preference=(1 - pl.col("preference").cast(pl.Float64)).round(2).cast(pl.String)
        ),
        "choices": tables["choices"].with_columns(winner=pl.col("winner").replace({"x": "y", "y": "x"})),
    }
    swapped = {"system_x": "system_y", "system_y": "system_x"}
    turned = {name: table.rename(swapped) for name, table in turned.items()}
    turned = {name: table.select(tables[name].columns) for name, table in turned.items()}
    again = run(**turned, llms=("gpt",))
    for one, other in zip(of(calibrated, "calibration"), of(again, "calibration"), strict=True):
        assert one["brier_score"] == pytest.approx(other["brier_score"])
        for name in ("mean_stated", "mean_outcome", "calibration_error"):
            assert one[name] == pytest.approx(other[name])
        assert one["recalibrated"] == pytest.approx(other["recalibrated"])


def test_order_of_rows_does_not_matter(calibrated: Results) -> None:
    tables = stated_and_chosen()
    shuffled = {
        "preferences": tables["preferences"].sample(fraction=1.0, shuffle=True, seed=3),
        "choices": tables["choices"].sample(fraction=1.0, shuffle=True, seed=4),
    }
    again = {row["group"]: row for row in of(run(**shuffled, llms=("gpt",)), "calibration")}
    for row in of(calibrated, "calibration"):
        assert again[row["group"]]["brier_score"] == pytest.approx(row["brier_score"])


def test_the_report_shows_the_curve_and_its_table(calibrated: Results) -> None:
    files = render_report(calibrated)
    text = files["report.md"]
    assert "## Do stated chances come true?" in text
    assert "Worse than saying 50% to everything" not in text
    assert "Reliability of stated chances" in text
    assert any("reliability" in name and name.endswith(".svg") for name in files)


def rated(seed: int = 0, **shift: float) -> pl.DataFrame:
    """Let three people and an LLM rate 3 systems on 60 items; the LLM is biased."""
    rng = np.random.default_rng(seed)
    answers: list[tuple[str, str, str, object]] = []
    positions: list[int | None] = []
    labels: list[str | None] = []
    for item in range(60):
        quality = rng.normal(3, 1, 3)
        for person in range(3):
            answers += [(f"p{person}", f"i{item}", "xyz"[k], quality[k] + rng.normal(0, 0.2)) for k in range(3)]
            positions += [None] * 3
            labels += [None] * 3
        places, letters = rng.permutation(3), rng.permutation(3)
        for k in range(3):
            lean = shift.get("severity", 0.0) + shift.get("position", 0.0) * (places[k] == 0)
            lean += shift.get("label", 0.0) * (letters[k] == 1) + shift.get("length", 0.0) * ((item + k) % 2)
            answers.append(("gpt", f"i{item}", "xyz"[k], quality[k] + lean + rng.normal(0, 0.2)))
            positions.append(int(places[k]) + 1)
            labels.append("ABC"[letters[k]])
    return ratings(answers, position=positions, label=labels)


def lengths() -> pl.DataFrame:
    rows = [(f"i{item}", "xyz"[k], "words", str(50 + (item + k) % 2)) for item in range(60) for k in range(3)]
    return pl.DataFrame(rows, ["item_id", "system", "metric", "score"], orient="row")


def test_bias_in_ratings_are_found_where_they_are() -> None:
    results = run(ratings=rated(severity=-0.5, position=0.4, label=0.3, length=0.2), metrics=lengths(), llms=("gpt",))
    validate(results)
    by = {(row["kind"], row["level"]): row for row in of(results, "bias", source="ratings")}
    assert by["severity", "all"]["estimate"] == pytest.approx(-0.5 + 0.4 / 3 + 0.3 / 3 + 0.2 / 2, abs=0.05)
    assert by["severity", "all"]["ci_high"] < 0
    for key, true in ((("position", "first"), 0.4), (("length", "longer than the median"), 0.2), (("label", "B"), 0.3)):
        assert by[key]["ci_low"] < true < by[key]["ci_high"]
        assert by[key]["ci_low"] > 0
        assert by[key]["n_clusters"] == 60
    text = render_report(results)["report.md"]
    assert "Bias of LLMs" in text
    assert "letter B" in text


def test_contrasts_are_those_of_the_function() -> None:
    table = rated(position=0.4)
    row = of(run(ratings=table, llms=("gpt",)), "bias", kind="position")[0]
    scored = table.with_columns(pl.col("score").cast(pl.Float64))
    people = scored.filter(pl.col("annotator_id") != "gpt").group_by("item_id", "system").agg(pl.col("score").mean())
    both = scored.filter(pl.col("annotator_id") == "gpt").join(people, on=["item_id", "system"], suffix="_people")
    alone = bias_profile(
        both["score"].to_numpy(),
        both["score_people"].to_numpy(),
        position=both["position"].to_numpy(),
        systems=both["system"].to_numpy(),
        clusters=both["item_id"].to_numpy(),
    )[1]
    assert (row["estimate"], row["ci_low"]) == pytest.approx((alone.estimate, alone.ci_low))


def test_what_the_tables_do_not_say_has_a_reason() -> None:
    results = run(ratings=rated().drop("position", "label"), llms=("gpt",))
    reasons = {row["kind"]: row["reason"] for row in of(results, "bias") if row["estimate"] is None}
    assert reasons.keys() == {"position", "label", "length"}
    assert reasons["position"] == "no answer of this LLM says its position (column position)"
    assert "no metric gives" in reasons["length"]
    assert "Not estimated" in render_report(results)["report.md"]


def biased_statements(*, named_first: float, asked_first: float, letter: float) -> pl.DataFrame:
    rng = np.random.default_rng(6)
    answers: list[tuple[str, str, str, object]] = []
    more: dict[str, list[object]] = {"assignment_id": [], "asked_first": [], "label_x": [], "label_y": []}
    for form in range(80):
        letters = "AB" if rng.random() < 0.5 else "BA"
        turn = rng.random() < 0.5
        for who, lean in (("p", 0.0), ("gpt", 1.0)):
            for x, y in (("x", "y"), ("y", "x")):
                share = 0.5 + (0.1 if x == "x" else -0.1) + rng.normal(0, 0.05)
                first = (x == "x") == turn
                mine = letters[0] if x == "x" else letters[1]
                share += lean * (named_first + asked_first * first + letter * ((mine == "A") - 0.5))
                answers.append((who if lean else f"p{form}", x, y, float(np.clip(round(share, 3), 0, 1))))
                more["assignment_id"].append(f"f{form}")
                more["asked_first"].append(int(first))
                more["label_x"].append(mine)
                more["label_y"].append("AB".replace(mine, ""))
    return preferences(answers, **more)


def test_bias_to_first_named_first_asked_and_letter() -> None:
    """Naming x first adds the bias, naming it second takes it away: the contrast is twice as much."""
    from analysis import Plan

    table = biased_statements(named_first=0.06, asked_first=0.05, letter=0.08)
    results = run(preferences=table, llms=("gpt",), plan=Plan(consistency_tau=None))
    validate(results)
    by = {(row["kind"], row["level"]): row for row in of(results, "bias", source="preferences")}
    wanted = {
        ("position", "first"): 2 * (0.06 + 0.025),
        ("order", "asked before its reverse"): 0.05,
        ("label", "A"): 0.08,
    }
    for key, true in wanted.items():
        assert by[key]["ci_low"] < true < by[key]["ci_high"], key
        assert by[key]["ci_low"] > 0
    assert by["label", "A"]["estimate"] == pytest.approx(-by["label", "B"]["estimate"])


def test_one_direction_only_cannot_tell_a_bias_from_the_system() -> None:
    table = biased_statements(named_first=0.06, asked_first=0.0, letter=0.0).filter(pl.col("system_x") == "x")
    rows = {row["kind"]: row for row in of(run(preferences=table, llms=("gpt",)), "bias", kind="position")}
    assert rows["position"]["estimate"] is None
    assert rows["position"]["reason"] is not None


def test_choices_lean_to_the_output_that_stands_first() -> None:
    rng = np.random.default_rng(9)
    answers: list[tuple[str, str, str, str, str]] = []
    for item in range(200):
        lead = rng.normal(0, 1)
        for who, lean in (("p", 0.0), ("q", 0.0), ("gpt", 0.8)):
            first = ("x", "y") if rng.random() < 0.5 else ("y", "x")
            felt = (lead if first[0] == "x" else -lead) + lean + rng.normal(0, 0.3)
            answers.append((who, f"i{item}", *first, "x" if felt > 0 else "y"))
    results = run(choices=choices(answers), llms=("gpt",))
    (row,) = of(results, "bias", source="choices", kind="position")
    assert 0.2 < row["ci_low"] < row["estimate"]
    (honest,) = of(
        run(
            choices=choices(answers).with_columns(pl.col("annotator_id").replace({"q": "gpt", "gpt": "q"})),
            llms=("gpt",),
        ),
        "bias",
        source="choices",
        kind="position",
    )
    assert honest["ci_low"] < 0 < honest["ci_high"]


def test_choices_lean_to_the_longer_output() -> None:
    rng = np.random.default_rng(1)
    answers: list[tuple[str, str, str, str, str]] = []
    words: list[tuple[str, str, str, str]] = []
    for item in range(150):
        lead, longer = rng.normal(0, 1), int(rng.random() < 0.5)
        words += [(f"i{item}", "x", "words", str(50 + longer)), (f"i{item}", "y", "words", str(51 - longer))]
        for who, lean in (("p", 0.0), ("q", 0.0), ("gpt", 0.8 if longer else -0.8)):
            answers.append((who, f"i{item}", "x", "y", "x" if lead + lean + rng.normal(0, 0.3) > 0 else "y"))
    table = pl.DataFrame(words, ["item_id", "system", "metric", "score"], orient="row")
    results = run(choices=choices(answers), metrics=table, llms=("gpt",))
    (row,) = of(results, "bias", source="choices", kind="length")
    assert 0.2 < row["ci_low"] < row["estimate"]
