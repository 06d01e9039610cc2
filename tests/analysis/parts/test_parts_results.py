"""Results from sums: those of the table itself, whatever the order of its rows; and independent values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis import Plan
from analysis.agreement.pairwise import MOST_FOR_TAU
from analysis.answers.exclusions import find_exclusions
from analysis.answers.tables import AnswerTables
from analysis.llm_vs_people import alternative_annotator_test
from analysis.results.analyse_sums import analyse_totals
from analysis.results.files import to_json
from analysis.sums.totals import LargeKind
from spa.errors import AnalysisError
from tests.analysis.baseball import PUBLISHED, TEAMS, WINS
from tests.analysis.made_answers import Results, analyse, check, choices, ratings, render_report
from tests.analysis.totals_in_memory import totals_of
from tests.compare_results import differences

SIGNS = ("careless_signs", "careless_sign_counts")
SAVED = ("saved", "saved_low", "saved_high", "saved_limit")  # people, of raters: items apart are needed
SINGLE = (
    "single_answers",
    *SIGNS,
    "annotator_pairs",
    "first_shown",
    "both_orders",
    "third_systems",
    "warnings",
    "warning_rows",
)
SINGLE_OF_LLMS = ("bias", "prediction_powered", "people_saved", "calibration")
LEVELS = ("nominal", "ordinal", "interval")
FROM_COUNTS = (*(f"krippendorff_alpha_{level}" for level in LEVELS), "exact_agreement", "gwet_ac1", "fleiss_kappa")
BREAKDOWNS = ("by_variant",)
COUNTED = [(person, item, system) for person in range(3) for item in range(4) for system in "AB"]
COUNTED_TWICE = [(f"a{who}", f"i{item}", system, times) for who, item, system in COUNTED for times in range(2)]
SUMMED = Plan(lower_is_better=frozenset({"errors"}), equivalence_margin_ratings=0.3, correction="bh", family="all")


def rated(
    *,
    people: int = 12,
    llm: int = 0,
    own: str = "",
    fine: bool = False,
    thirds: bool = False,
    samples: int = 1,
    items: int = 9,
    few: int | None = None,
) -> pl.DataFrame:
    """Rate three systems on items; ``own`` says what each system has for itself, ``llm`` how often an LLM did.

    All but the first annotator (visit) rate ``few`` items.
    """
    rng, rows = np.random.default_rng(1), []
    who = [(f"p{number:02}", "human", None) for number in range(people)]
    who += [("gpt", "llm", f"visit {number}") for number in range(llm)]
    for place, (annotator, kind, visit) in enumerate(who):
        lean = rng.normal()
        for item in range(items if few is None or place in (0, people) else few + place % 2):
            for number, system in enumerate("ABC"):
                if number != {"items": item, "people": place}.get(own, number) % 3:
                    continue
                for sample in range(samples):
                    for criterion in ("fluency", "errors"):
                        score = 50 + 10 * lean + 6 * number + 20 * rng.normal()
                        whole = np.round(score / 8) / 3 if thirds else np.clip(np.round(score / 20), 1, 5)
                        shown = None if rng.random() < 0.05 else round(score, 2) if fine else whole
                        rows.append((annotator, kind, visit, f"i{item}", system, f"{sample}", criterion, shown))
    names = ["annotator_id", "annotator_kind", "assignment_id", "item_id", "system", "sample", "criterion", "score"]
    return pl.DataFrame(rows, names, orient="row", infer_schema_length=None)


def chosen(
    *, people: int = 12, llm: int = 0, repeats: int = 1, once: bool = False, items: int = 10, few: int | None = None
) -> pl.DataFrame:
    """Choose between four systems, some pairs in both directions, or ``once`` each in either; ``few`` as in ratings."""
    rng, rows = np.random.default_rng(2), []
    who = [(f"p{number:02}", "human", None) for number in range(people)]
    who += [("gpt", "llm", f"visit {number}") for number in range(llm)]
    for place, (annotator, kind, visit) in enumerate(who):
        for item, x, y in np.ndindex(items if few is None or place in (0, people) else few + place % 2, 4, 4):
            if x == y or (once and (x < y) == (int(annotator[-1]) + x + y) % 2) or rng.random() < 0.8:
                continue
            for repeat in range(repeats):
                won = 0.45 - 0.08 * (x - y)
                winner = None if rng.random() < 0.03 else rng.choice(["x", "y", "tie"], p=[won, 0.9 - won, 0.1])
                rows.append((annotator, kind, visit, f"i{item}", "ABCD"[x], "ABCD"[y], winner, f"{repeat}"))
    names = ["annotator_id", "annotator_kind", "assignment_id", "item_id", "system_x", "system_y", "winner", "repeat"]
    return pl.DataFrame(rows, names, orient="row", infer_schema_length=None)


def from_sums(tables: AnswerTables, kind: LargeKind, plan: Plan) -> Results:
    found: Results = json.loads(to_json(analyse_totals(totals_of(tables, kind), plan)))
    return found


def differing(tables: AnswerTables, kind: LargeKind, plan: Plan) -> Iterator[str]:
    """Yield where the results of the table and of its sums differ, in what follows from sums."""
    before, after = analyse(tables, plan), from_sums(tables, kind, plan)
    again = tables.answers()[kind].filter(annotator_kind="llm")["assignment_id"].n_unique() > 1
    assert not (again and kind == "ratings") or "ranks by people and LLMs where somebody" in after["warnings"][-1]
    for results in (before, after):
        for name in SINGLE:
            del results[name]
        for name in (*SINGLE_OF_LLMS, *(["rank_tables"] if again else [])):
            del results["llm_vs_people"][name]
        results["raters"] = [_counted_rater(row) for row in results["raters"]]
        results["agreement"] = [row for row in results["agreement"] if _is_summed(row, tables)]
        results["correlations"] = [row for row in results["correlations"] if not row["upper_bound"]]
        for name in BREAKDOWNS:
            del results["ratings"][name]
        results["ratings"]["by_system"] = [_summed_breakdown(row, tables) for row in results["ratings"]["by_system"]]
        for row in results["bradley_terry"]:
            del row["ci_low_two_way"], row["ci_high_two_way"]
    _leave_flips_out(before["headline"], after["headline"])
    checks = {_check(row): row for row in after["ratings"].pop("robustness")}
    known = [row for row in before["ratings"].pop("robustness") if row["method"] in ("wilcoxon", "crossed", "ordinal")]
    yield from differences(before, after)
    yield from differences(known, [checks[_check(row)] for row in known], "robustness")


def _leave_flips_out(*headlines: dict[str, Any]) -> None:
    """Leave out what parts do not know; as others then take its place, all that is told is compared as one list."""
    every = [[*one["problems"], *one["more_problems"]] for one in headlines]
    unknown = ("flips", "careless", "careless_excluded")
    if any(row["kind"] in unknown for rows in every for row in rows):
        for one, rows in zip(headlines, every, strict=True):
            one["problems"] = [row for row in rows if row["kind"] not in unknown]
            del one["more_problems"]


def _counted_rater(row: dict[str, Any]) -> dict[str, Any]:
    """Return what follows from sums: not agreement, which is compared by itself."""
    alone = ("n_raters", "alpha", "alpha_measure", "exact_agreement", *SAVED)
    return {key: value for key, value in row.items() if key not in alone and not key.startswith("agreement_reason")}


def _summed_breakdown(row: dict[str, Any], tables: AnswerTables) -> dict[str, Any]:
    """Return what follows from sums: not the mean tau of few raters, nor agreement where an output has several."""
    names = ["group", "criterion", "system", "n", "mean", "sd", "sd_answers"]
    if _is_summed({**row, "measure": "krippendorff_alpha_interval"}, tables):
        names += ["n_items", "n_annotators", "alpha", "alpha_measure"]
    if _is_summed({**row, "measure": "exact_agreement"}, tables):
        names += ["exact_agreement", *(["reason"] if row["n_annotators"] > MOST_FOR_TAU else [])]
    return {name: row[name] for name in names}


def _is_summed(row: dict[str, Any], tables: AnswerTables) -> bool:
    """Tell whether a coefficient follows from sums: alpha of people who each answered once about an output."""
    (table,) = tables.answers().values()
    cell = ["annotator_id", "item_id", "criterion"]
    if tables.choices is not None:
        table = table.with_columns(pair=pl.concat_list("system_x", "system_y").list.sort().list.join(" "))
    about = "system" if tables.choices is None else "pair"
    cells = table.filter(pl.col("annotator_kind") == "human").select(*cell, about)
    once = table["sample"].n_unique() == 1 and not cells.is_duplicated().any()
    few = table["value"].drop_nulls().n_unique() <= 20
    summed = FROM_COUNTS if few else ("krippendorff_alpha_interval",)
    return once and row["group"] == "human" and row["measure"] in summed


def _check(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("method", "group", "criterion", "system_x", "system_y"))


@pytest.mark.parametrize(
    ("made", "plan"),
    [
        ({}, SUMMED),
        ({"people": 4, "thirds": True}, Plan()),
        ({"fine": True, "samples": 2}, Plan(unit="annotator")),
        ({"fine": True}, Plan()),
        ({"own": "items"}, Plan()),
        ({"own": "items", "fine": True, "samples": 2}, SUMMED),
        ({"own": "people"}, Plan(unit="item")),
        ({"own": "people"}, Plan()),
        ({}, Plan(rating_test="welch")),
        ({"people": 11, "llm": 12}, Plan(regularisation=0.5)),
        ({"people": 11, "llm": 3, "own": "items"}, Plan(unit="annotator")),
        ({"people": 4, "llm": 1, "items": 35}, Plan(lower_is_better=frozenset({"errors"}), unit="annotator")),
        ({"people": 3, "llm": 2, "items": 35, "fine": True, "samples": 2}, Plan(epsilon=0.2)),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, dict) else "",
)
def test_ratings_from_sums_are_those_of_the_table(made: dict[str, Any], plan: Plan) -> None:
    assert list(differing(check(ratings=rated(**made)), "ratings", plan)) == []


@pytest.mark.parametrize(
    ("made", "plan"),
    [
        ({}, Plan(equivalence_margin=0.1)),
        ({"people": 5, "once": True}, Plan()),
        ({"llm": 12}, Plan(regularisation=0.5)),
        ({"repeats": 3}, Plan(unit="annotator")),
        ({"people": 4, "llm": 2, "items": 90}, Plan(epsilon=0.2)),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, dict) else "",
)
def test_choices_from_sums_are_those_of_the_table(made: dict[str, Any], plan: Plan) -> None:
    assert list(differing(check(choices=chosen(**made)), "choices", plan)) == []


@pytest.mark.parametrize(
    ("made", "plan"),
    [
        ({"people": 5, "few": 2, "fine": True}, Plan()),
        ({"people": 6, "few": 2, "samples": 2}, Plan(unit="item")),
        ({"people": 12, "few": 3, "llm": 4}, Plan()),
        ({"people": 7, "few": 5, "llm": 5, "items": 24, "own": "items"}, Plan()),
    ],
)
def test_annotators_weigh_the_same_in_sums(made: dict[str, Any], plan: Plan) -> None:
    """One rated most of the items."""
    assert list(differing(check(ratings=rated(**made)), "ratings", plan)) == []


@pytest.mark.parametrize("made", [{"people": 5, "items": 30}, {"people": 5, "llm": 4, "repeats": 2}])
def test_annotators_who_choose_weigh_the_same_in_sums(made: dict[str, Any]) -> None:
    assert list(differing(check(choices=chosen(**made, few=2)), "choices", Plan())) == []


def test_the_order_of_the_rows_does_not_matter() -> None:
    table = rated(fine=True, llm=2)
    first = from_sums(check(ratings=table), "ratings", Plan())
    shuffled = table.sample(fraction=1, shuffle=True, seed=4).sort("criterion", "system", descending=[True, False])
    other = from_sums(check(ratings=shuffled), "ratings", Plan())
    del first["settings"], other["settings"]
    assert other == first


def test_large_pairs_equal_scipy_t_test() -> None:
    """A pair is tested by the t test of SciPy on the means of annotators."""
    table = rated()
    found = from_sums(check(ratings=table), "ratings", Plan())["ratings"]["pairs"]
    sides = table.drop_nulls("score").filter(pl.col("criterion") == "fluency").pivot("system", values="score")
    means = sides.drop_nulls(["A", "B"]).group_by("annotator_id").agg((pl.col("A") - pl.col("B")).mean())
    expected = stats.ttest_1samp(means["A"].to_numpy(), 0.0)
    (row,) = (row for row in found if (row["criterion"], row["system_x"], row["system_y"]) == ("fluency", "A", "B"))
    assert (row["n"], row["unit"], row["test"]) == (12, "annotator", "paired t")
    assert (row["t"], row["p_value"]) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))


def test_strengths_from_sums_are_those_that_agresti_published() -> None:
    games = [(x, y, "x") for x, y in np.ndindex(7, 7) for _ in range(int(WINS[x, y]))]
    rows = [(f"a{n % 12}", f"i{n}", TEAMS[x], TEAMS[y], won) for n, (x, y, won) in enumerate(games)]
    found = from_sums(check(choices=choices(rows)), "choices", Plan())["bradley_terry"]
    strength = {row["system"]: row["strength"] for row in found}
    assert [strength[team] - strength["Baltimore"] for team in TEAMS] == pytest.approx(PUBLISHED, abs=0.005)


def test_large_warning_of_what_sums_omit() -> None:
    """A warning names what sums do not say and no section is empty."""
    results = from_sums(check(ratings=rated(llm=2)), "ratings", Plan())
    (row,) = (row for row in results["warning_rows"] if row["kind"] == "summed")
    assert "read in parts" in row["text"]
    assert "ICC, Kendall's W and mean tau" in row["text"]
    assert "how much people\u2019s true preferences differ" in row["text"]
    stand_in = results["headline"]["stand_in"]
    assert stand_in.startswith("Cannot be determined: 0 annotators share at least 30 items with others and the LLM")
    page = render_report(results)["report.html"]
    assert ">None<" not in page
    assert ">nan<" not in page


@pytest.mark.parametrize(
    ("plan", "visit", "line"),
    [
        (Plan(max_same_answers=0.9), None, "the rule same_answers needs single answers"),
        (Plan(), "incomplete", "column visit: the rule incomplete_answers needs single answers"),
    ],
)
def test_rules_that_need_single_answers_are_refused(plan: Plan, visit: str | None, line: str) -> None:
    tables = check(ratings=rated(people=2).with_columns(visit=pl.lit(visit, dtype=pl.String)))
    with pytest.raises(AnalysisError, match=line):
        analyse_totals(totals_of(tables, "ratings"), plan)


def test_scores_that_are_repeated_are_averaged_and_not_counted() -> None:
    rows = ratings([(*key, 3 + times) for *key, times in COUNTED_TWICE], repeat=[f"{row[-1]}" for row in COUNTED_TWICE])
    expected, found = analyse(check(ratings=rows), Plan()), from_sums(check(ratings=rows), "ratings", Plan())
    assert list(differences(expected["ratings"]["means"], found["ratings"]["means"])) == []
    assert found["rating_counts"] == []
    assert "counts of repeated scores" in found["warnings"][-1]


def test_whoever_answers_again_in_another_assignment_is_refused() -> None:
    rows = ratings([("a", "i", "A", 3), ("a", "i", "B", 4)] * 2, assignment_id=["1", "1", "2", "2"])
    with pytest.raises(AnalysisError, match="1 people answered a question in two assignments"):
        analyse_totals(totals_of(check(ratings=rows), "ratings"), Plan())


def test_large_exclusions_before_sums() -> None:
    """Annotators are left out by the table of annotators before answers are added up."""
    table = rated(people=13)
    people = pl.DataFrame({"annotator_id": ["p00", "p01", "p02"], "checks_failed": [1, 0, 0], "submissions": [1, 1, 2]})
    whole = check(ratings=table, annotators=people)
    gone = find_exclusions(AnswerTables(annotators=whole.annotators), Plan())
    assert {row.annotator_id: row.rule for row in gone} == {"p00": "attention_checks", "p02": "repeat_submissions"}
    kept = table.filter(~pl.col("annotator_id").is_in([row.annotator_id for row in gone]))
    found = analyse_totals(totals_of(check(ratings=kept), "ratings"), Plan(), exclusions=gone)
    expected = analyse(whole, Plan())
    after = json.loads(to_json(found))
    assert list(differences(expected["ratings"]["means"], after["ratings"]["means"])) == []
    assert after["exclusions"] == expected["exclusions"]


def test_correlations_of_too_many_outputs_are_named_as_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.correlations.scores_of_sums.MOST_OUTPUTS", 3)
    results = from_sums(check(ratings=rated(people=4, llm=2)), "ratings", Plan())
    assert results["correlations"] == []
    assert "correlations of groups" in results["warnings"][-1]


def test_large_counts_people_too_many_to_name() -> None:
    """People beside LLMs are counted where they are too many to be named."""
    tables = check(ratings=rated(people=4, llm=1, items=40))
    totals = totals_of(tables, "ratings")
    (named, _), (counted, _) = (
        analyse_totals(one, Plan()).llm_vs_people.alternative_annotator for one in (totals, replace(totals, names=None))
    )
    assert len(named.annotators) == named.n_annotators == 4
    assert counted == replace(named, annotators=())


def test_an_llm_may_stand_in_as_the_test_of_single_answers_says() -> None:
    table = rated(people=4, llm=1, items=40).filter(pl.col("criterion") == "fluency")
    wide = table.pivot("annotator_id", index=["item_id", "system"], values="score")
    people = wide.select("p00", "p01", "p02", "p03").cast(pl.Float64).to_numpy()
    expected = alternative_annotator_test(
        people,
        wide["gpt"].cast(pl.Float64).to_numpy(),
        scoring="neg_rmse",
        epsilon=0.1,
        clusters=wide["item_id"].to_numpy(),
    )
    (found,) = from_sums(check(ratings=table), "ratings", Plan())["llm_vs_people"]["alternative_annotator"]
    assert found["winning_rate"] == expected.winning_rate
    assert found["advantage_probability"] == pytest.approx(expected.advantage_probability)
    assert [row["p_value"] for row in found["annotators"]] == pytest.approx(
        [row.p_value for row in expected.annotators]
    )


def test_large_units_drawn_in_bundles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units that are too many to be drawn are drawn in bundles."""
    tables = check(ratings=rated(people=4, llm=2, items=40))
    singly = from_sums(tables, "ratings", Plan())["ranking_agreement"]
    monkeypatch.setattr("analysis.ranking.replicates.MOST_UNITS", 5)
    bundled = from_sums(tables, "ratings", Plan())["ranking_agreement"]
    assert [row["kendall_tau"] for row in bundled] == [row["kendall_tau"] for row in singly]
    assert [row["ci_low"] is None for row in bundled] == [row["ci_low"] is None for row in singly]
    assert bundled != singly
    assert list(differing(tables, "ratings", Plan())) == []


def test_large_two_assignments_need_single_ratings() -> None:
    """Systems that one annotator rated in two assignments need single ratings."""
    rows = [(f"a{person}", f"i{item}", system, 3 + item % 2) for person, item, system in COUNTED]
    visits = [system for *_, system in COUNTED]
    tables = check(ratings=ratings(rows, assignment_id=visits))
    with pytest.raises(AnalysisError, match="rated the same item in several assignments or variants"):
        analyse_totals(totals_of(tables, "ratings"), Plan())


def test_samples_that_different_people_saw_are_not_one_output() -> None:
    table = rated().with_columns(sample=pl.col("annotator_id").str.slice(-1))
    assert from_sums(check(ratings=table), "ratings", Plan())["agreement"] == []


def test_many_outputs_are_resampled_as_those_of_the_table() -> None:
    rng = np.random.default_rng(7)
    rows = [(f"a{who}", f"i{item}", "AB"[system], rng.integers(1, 6)) for who, item, system in np.ndindex(3, 60, 2)]
    tables = check(ratings=ratings(rows))
    expected, found = analyse(tables, Plan())["agreement"], from_sums(tables, "ratings", Plan())["agreement"]
    assert [row["measure"] for row in found] == [*FROM_COUNTS[:-1]]
    assert "resamples of units" in found[0]["interval"]
    assert list(differences(expected[: len(found)], found)) == []


def test_agreement_from_sums_is_that_of_gwets_example() -> None:
    answers = ["11.1", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", ".555", "..11", "..3."]
    rows = [
        (f"r{rater}", f"i{item}", "A", int(score))
        for item, scores in enumerate(answers)
        for rater, score in enumerate(scores)
        if score != "."
    ]
    found = from_sums(check(ratings=ratings(rows)), "ratings", Plan())["agreement"]
    value = {row["measure"]: row["value"] for row in found}
    assert value["gwet_ac1"] == pytest.approx(0.77544, abs=5e-6)  # as in irrCAC, whose last unit has one answer
    assert value["krippendorff_alpha_nominal"] == pytest.approx(0.74342, abs=5e-6)
