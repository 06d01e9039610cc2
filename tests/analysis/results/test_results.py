"""results.json: its schema, what it says of groups, missing answers, expectations and disagreements."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from analysis import Plan, Scale, StudyFacts, parse_expectations, read_results, report, results_schema, to_json
from analysis.answers.study_facts import StudyCriterion, StudyDroppedItem, StudySystem
from analysis.results.files import SCHEMA_FILE, from_plain, schema_text
from analysis.statistics.record import rounded
from spa import AnalysisError
from tests.analysis.made_answers import Results, choices, preferences, ratings, run, validate
from tests.analysis.sample_results import empty_results, full_results, many_results, pair_results
from tests.compare_results import differences

KEYS = {  # the fixed keys of each array
    "exclusions": "annotator_id assignment_id group rule evidence",
    "missing": "source group criterion reason level n",
    "preferences": "group criterion exposure system_x system_y n mean sd ci_low ci_high t df p_value p_adjusted stars "
    "verdict",
    "preference_directions": "group criterion exposure system_x system_y n mean sd mean_sum p_symmetry",
    "bradley_terry": "source group criterion system strength ci_low ci_high interval rank rank_low rank_high",
    "rankings": "source group criterion order",
    "ranking_agreement": "a b criterion kendall_tau ci_low ci_high",
    "expected": "source group system_x system_y expected found recovered",
    "groups": "group annotator_kind annotators assignments excluded_annotators excluded_assignments form",
    "disagreements": "criterion system_x system_y verdicts",
    "conventions": "term explanation",
}
NESTED = {
    ("ratings", "means"): "group criterion system n mean sd sd_population ci_low ci_high",
    (
        "ratings",
        "pairs",
    ): "group criterion system_x system_y unit n mean_difference test t df p_value p_adjusted stars verdict",
    ("choices", "pairs"): "group criterion system_x system_y unit n wins_x wins_y ties win_rate ci_low ci_high p_value "
    "p_adjusted p_binomial stars verdict",
}
SCHEMA_1 = Path(__file__).parents[1].joinpath("results-1.json")
FACTS = StudyFacts(
    id="s",
    title="A study",
    language="en",
    systems=tuple(StudySystem(id=name, name=name.upper(), role="system") for name in "xyz"),
    criteria=(StudyCriterion(id="style", name="style", lower_is_better=False),),
    exposures=(5,),
    dropped_items=(StudyDroppedItem(item_id="i9", rule="min_words", evidence="2 words"),),
)


@pytest.fixture(scope="module")
def results() -> Results:
    """People prefer x to y and rate y higher; an LLM says the opposite; someone contradicts herself."""
    likes: list[tuple[str, str, str, object]] = []
    kinds: list[str] = []
    for who in range(12):
        likes += [(f"p{who}", "x", "y", 0.7 + who % 3 / 10), (f"p{who}", "y", "x", 0.1 + who % 2 / 10)]
        kinds += ["human", "human"]
    likes += [("p99", "x", "y", 0.9), ("p99", "y", "x", 0.8), ("p98", "y", "z", ""), ("p98", "x", "z", 0.5)]
    likes += [("g", "x", "y", 0.1 + who / 100) for who in range(8)]
    kinds += ["human"] * 4 + ["llm"] * 8
    scores: list[tuple[str, str, str, object]] = []
    for who in range(12):
        scores += [(f"p{who}", "i", "x", 2 + who % 2), (f"p{who}", "i", "y", 4)]
    picks = [(f"p{who}", "i", "x", "y", "x" if who % 4 else "tie") for who in range(12)]
    visits = [f"a{who}" for who in range(len(likes))]
    return run(
        preferences=preferences(likes, annotator_kind=kinds, exposure=5, assignment_id=visits),
        ratings=ratings(scores),
        choices=choices(picks),
        plan=Plan(expected=parse_expectations(["x > y", "y < x", "y ~ z"]), consistency_tau=None),
        study=FACTS,
    )


@pytest.mark.parametrize("sample", [empty_results, full_results, pair_results, many_results])
def test_the_samples_of_the_report_are_results(sample: Callable[[], dict[str, Any]]) -> None:
    """What the tests of the report invent has the shape of what the analysis makes."""
    validate(sample())


def test_the_schema_is_a_schema_and_describes_the_results(results: Results) -> None:
    jsonschema.Draft202012Validator.check_schema(results_schema())
    validate(results)


def test_the_schema_in_the_repository_is_that_of_the_records() -> None:
    """``make schema`` writes it."""
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text()


def test_results_of_schema_1_are_read(tmp_path: Path) -> None:
    """The file was written by the version before and shortened; its values stay, one key has another name."""
    old = json.loads(SCHEMA_1.read_text(encoding="utf-8"))
    found = read_results(SCHEMA_1)
    assert not list(differences(old, json.loads(to_json(found))))
    assert [row["lopsided"] for row in old["preferences"]] == [row.highly_skewed for row in found.preferences]
    assert "<html" in report.render_report(found)["report.html"]
    without = {key: value for key, value in old.items() if key not in {"raters", "llm_vs_people", "families"}}
    assert (from_plain(without).raters, from_plain(without).llm_vs_people.bias) == ((), ())
    path = tmp_path / "results.json"
    path.write_text(to_json(found), encoding="utf-8")
    assert read_results(path) == found


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": 3}', "{", '{"schema": 1, "settings": 4}'])
def test_a_file_that_holds_no_results_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "results.json"
    with pytest.raises(AnalysisError, match=r"results\.json: no such file; check its name"):
        read_results(path)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(AnalysisError, match=r"results.json: expected a results.json"):
        read_results(path)


def test_every_fixed_key_is_there(results: Results) -> None:
    assert results["schema"] == 2
    for name, keys in KEYS.items():
        for row in results[name]:
            assert set(keys.split()) <= set(row), name
        assert results[name] or name == "exclusions"
    for (outer, inner), keys in NESTED.items():
        assert results[outer][inner]
        for row in results[outer][inner]:
            assert set(keys.split()) <= set(row), inner
    settings = {"fwer", "consistency_tau", "confidence", "seed", "versions", "inputs"}
    assert settings <= set(results["settings"])
    assert results["correlations"] == []


def test_every_key_that_is_written_is_described(results: Results) -> None:
    def closed(schema: Any) -> Any:
        if isinstance(schema, list):
            return [closed(part) for part in schema]
        if not isinstance(schema, dict):
            return schema
        inner = {key: closed(part) if key not in {"if", "then"} else part for key, part in schema.items()}
        own = "properties" in schema and "type" in schema and schema["type"] == "object"
        return {**inner, "additionalProperties": False} if own else inner

    jsonschema.Draft202012Validator(closed(results_schema())).validate(results)


@pytest.mark.parametrize(
    "change",
    [{"mean": 1.5}, {"mean": "0.7"}, {"n": 2.5}, {"n": -1}, {"stars": "****"}, {"p_value": None}, {"group": None}],
)
def test_one_wrong_row_among_many_is_found(results: Results, change: Results) -> None:
    row = next(row for row in results["preferences"] if row["p_value"] is not None)
    from_plain({**results, "preferences": [row] * 50})
    with pytest.raises(ValidationError):
        from_plain({**results, "preferences": [*[row] * 30, {**row, **change}, *[row] * 30]})
    with pytest.raises(ValidationError):
        from_plain({**results, "preferences": [row, {key: row[key] for key in row if key != "sd"}]})


def test_the_schema_refuses_a_null_without_a_reason(results: Results) -> None:
    broken = json.loads(json.dumps(results))
    broken["preferences"][0] |= {"p_value": None, "verdict": None, "p_adjusted": None, "reason": None}
    with pytest.raises(jsonschema.ValidationError):
        validate(broken)


def test_the_same_answers_give_the_same_bytes() -> None:
    table = preferences([("a", "x", "y", 0.7), ("b", "x", "y", 0.9)])
    assert run(preferences=table) == run(preferences=table)


def test_no_number_that_json_lacks() -> None:
    with pytest.raises(ArithmeticError):
        rounded({"a": [float("nan")]})
    with pytest.raises(ValueError, match="JSON"):
        json.dumps({"a": float("inf")}, allow_nan=False)


def test_groups_say_who_and_which_form(results: Results) -> None:
    human, llm = results["groups"]
    assert (human["group"], human["annotators"], human["form"]) == ("human", 14, "identical")
    assert (llm["group"], llm["annotator_kind"], llm["assignments"]) == ("g", "llm", 8)


def test_missing_answers_are_counted(results: Results) -> None:
    assert results["missing"] == [
        {
            "source": "preferences",
            "group": "human",
            "criterion": "overall",
            "reason": "empty",
            "level": None,
            "n": 1,
            "system": None,
        }
    ]


def test_expected_preferences_are_compared_with_what_was_found(results: Results) -> None:
    found = {
        (row["source"], row["group"], row["system_x"], row["expected"]): (row["found"], row["recovered"])
        for row in results["expected"]
    }
    assert found[("preferences", "human", "x", "x")] == ("x", True)
    assert found[("preferences", "g", "x", "x")] == ("y", False)
    assert found[("preferences", "human", "y", "y")] == ("y", True)  # "y < x": x is preferred
    assert found[("ratings", "human", "x", "x")] == ("y", False)
    assert found[("choices", "human", "y", "indifferent")] == (None, False)  # y and z were not compared


def test_disagreements_list_who_says_what(results: Results) -> None:
    (row,) = results["disagreements"]
    said = {(verdict["source"], verdict["group"]): verdict["verdict"] for verdict in row["verdicts"]}
    assert (row["system_x"], row["system_y"]) == ("x", "y")
    assert said == {
        ("preferences", "human"): "x",
        ("preferences", "g"): "y",
        ("ratings", "human"): "y",
        ("choices", "human"): "x",
    }


def test_an_expectation_that_names_no_system_is_refused() -> None:
    table = preferences([("a", "x", "y", 0.7), ("b", "x", "y", 0.9)])
    with pytest.raises(AnalysisError, match="systems compared are x, y"):
        run(preferences=table, plan=Plan(expected=parse_expectations(["x > q"])))
    with pytest.raises(AnalysisError) as caught:
        parse_expectations(["x>y", "x > x"])
    assert len(caught.value.problems) == 2


def test_an_unknown_criterion_is_refused() -> None:
    table = ratings([("a", "i", "x", 3), ("a", "i", "y", 2)])
    with pytest.raises(AnalysisError, match="'speed'}: no such criterion"):
        run(ratings=table, plan=Plan(lower_is_better=frozenset({"speed"})))


def test_simulated_answers_and_dropped_items_are_pointed_out(results: Results) -> None:
    assert any("1 item was left out" in line for line in results["warnings"])
    table = preferences([("a", "x", "y", 0.7)], annotator_kind="simulated")
    assert any("say nothing about people" in line for line in run(preferences=table)["warnings"])


def test_forms_of_a_file_that_are_uneven_are_a_caveat() -> None:
    """In the warnings and among the main caveats, with the figure; a study that draws says nothing."""
    table = preferences([(f"p{who}", "x", "y", 0.5 + who / 40) for who in range(12)])
    study = replace(FACTS, uneven=("labels give systems away, x A on 12 of 12 forms (even: 4)",))
    found = run(preferences=table, study=study)
    told = "Forms are those of a file, not balanced: labels give systems away, x A on 12 of 12 forms (even: 4)."
    assert told in found["warnings"]
    assert {"kind": "uneven", "text": told, "section": "warnings"} in found["headline"]["problems"]
    drawn = run(preferences=table, study=FACTS)
    assert all(row["kind"] != "uneven" for row in drawn["warning_rows"])


def test_warnings_have_a_kind_and_a_group(results: Results) -> None:
    rows = results["warning_rows"]
    assert [row["text"] for row in rows] == results["warnings"]
    assert all(row["group"] is None or row["text"].startswith(row["group"]) for row in rows)
    assert {"dropped_items", "missing_answers"} <= {row["kind"] for row in rows if row["group"] is None}


def test_settings_name_the_scales() -> None:
    from analysis import Reading, analyse, check_frames

    table = ratings([("a", "i", "x", 3)])
    tables = check_frames({"ratings": table}, Reading(scales=(Scale(criterion=None, low=1, high=5),)))
    assert analyse(tables, Plan()).settings.scales == (Scale(criterion=None, low=1.0, high=5.0),)


@pytest.mark.parametrize("wrong", [{"fwer": 0.0}, {"confidence": 1.0}])
def test_a_plan_is_checked_at_birth(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Plan(**wrong)  # type: ignore[arg-type]


def everything(seed: int, names: dict[str, str]) -> dict[str, pl.DataFrame]:
    """Make answers of all kinds, with holes, repeats, two criteria and an LLM; systems are named by ``names``."""
    rng = np.random.default_rng(seed)
    likes, scores, picks = [], [], []
    for who in (*(f"p{number}" for number in range(11)), "g"):
        for visit in ("a1", "a2") if who == "g" else ("a1",):
            key = {"annotator_id": who, "annotator_kind": "llm" if who == "g" else "human", "assignment_id": visit}
            for criterion in ("overall", "style"):
                own = {**key, "criterion": criterion, "repeat": "1"}
                for x, y in (("x", "y"), ("y", "x"), ("y", "z"), ("x", "z")):
                    pair = {"system_x": names[x], "system_y": names[y]}
                    likes.append({**own, **pair, "preference": f"{rng.integers(0, 60) / 100}"})
                    winner = str(rng.choice(["x", "y", "tie"]))
                    picks.append({**own, **pair, "item_id": f"{x}{y}{rng.integers(3)}", "winner": winner})
                for item, system in product("ijk", "xyz"):
                    rating = {**own, "item_id": item, "system": names[system]}
                    scores += [{**rating, "score": str(rng.integers(1, 6) if rng.random() < 0.9 else "NA")}]
                    scores += [{**rating, "score": str(rng.integers(1, 6)), "repeat": "2"}] * int(rng.random() < 0.2)
    return {"preferences": pl.DataFrame(likes), "ratings": pl.DataFrame(scores), "choices": pl.DataFrame(picks)}


@settings(max_examples=2, deadline=None)
@given(st.integers(0, 2**16))
def test_rows_in_any_order_give_the_same_numbers(seed: int) -> None:
    """To the last bit, where a study says in which order systems and pairs stand."""
    study = replace(FACTS, pairs=(("x", "y"), ("y", "z"), ("x", "z")))
    frames = everything(seed, {name: name for name in "xyz"})
    shuffled = {name: frame.sample(fraction=1, shuffle=True, seed=seed) for name, frame in frames.items()}
    one, two = (run(study=study, **tables) for tables in (frames, shuffled))
    keys = ("groups", "missing", "preferences", "preference_directions", "ratings", "choices", "bradley_terry")
    for key in (*keys, "rankings", "ranking_agreement", "disagreements", "warnings"):
        assert one[key] == two[key], key
    left = [{(row["annotator_id"], row["assignment_id"], row["rule"]) for row in of["exclusions"]} for of in (one, two)]
    assert left[0] == left[1]


@settings(max_examples=2, deadline=None)
@given(st.integers(0, 2**16), st.permutations(["b", "a c", "01"]))
def test_systems_under_other_names_change_nothing_but_names(seed: int, others: list[str]) -> None:
    names = dict(zip("xyz", others, strict=True))
    plain, named = run(**everything(seed, {name: name for name in "xyz"})), run(**everything(seed, names))

    def renamed(value: Any) -> Any:
        if isinstance(value, list):
            return [renamed(item) for item in value]
        if isinstance(value, dict):
            closed = {"winner", "verdict", "crossed_verdict", "evidence", "reason", "found", "expected"}
            return {key: item if key in closed else renamed(item) for key, item in value.items() if key != "evidence"}
        return names.get(value, value) if isinstance(value, str) else value

    for key in (
        "preferences",
        "preference_directions",
        "ratings",
        "choices",
        "rankings",
        "ranking_agreement",
        "missing",
    ):
        assert renamed(plain[key]) == renamed(named[key]), key
