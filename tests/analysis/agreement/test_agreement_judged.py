"""Agreement on stated preferences and on choices: units, raters, directions."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from analysis import Plan, StudyFacts, cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha
from analysis.agreement.counts import fold_profiles
from analysis.agreement.data import ReliabilityData, reliability_data
from analysis.agreement.krippendorff import Level, alpha_statistic
from tests.analysis.made_answers import Results, choices, preferences, render_report, run, validate

PAIRS = (("a", "b"), ("b", "c"), ("c", "a"), ("a", "d"))
STATED = {  # four pairs (rows) by three people: P(x preferred to y)
    "p": (0.8, 0.6, 0.3, 0.9),
    "q": (0.7, 0.6, 0.4, 0.7),
    "r": (0.9, 0.5, 0.2, 0.6),
}
KEEP = Plan(consistency_tau=None)
Table = np.ndarray  # units x annotators, from -1 to 1 for the one listed first, NaN where there is no answer


def listings(table: Table) -> list[Table]:
    """List the pair of each unit both ways: all tables that are the same answers."""
    return [table * np.array(signs)[:, None] for signs in product((1.0, -1.0), repeat=len(table))]


def given(row: Table) -> Table:
    return row[~np.isnan(row)]


def disagreement(answers: Table, level: str) -> float:
    """Add up how far every two different answers lie apart, both ways round."""
    apart = answers[:, None] - answers[None, :]
    return float(np.sum(apart != 0) if level == "nominal" else np.sum(apart**2))


def alpha_by_definition(table: Table, level: str) -> float:
    """Krippendorff's alpha, the expected disagreement averaged over all listings."""
    table = table[np.sum(~np.isnan(table), axis=1) > 1]
    n = int(np.sum(~np.isnan(table)))
    observed = sum(disagreement(given(row), level) / (len(given(row)) - 1) for row in table)
    expected = float(np.mean([disagreement(given(other.ravel()), level) for other in listings(table)]))
    return 1 - (n - 1) * observed / expected


def shares(table: Table) -> Table:
    return np.array([[np.mean(given(row) == option) for option in (-1, 0, 1)] for row in table])


def beyond_by_definition(table: Table, measure: str, q: int = 3) -> float:
    """Gwet's AC1, Fleiss' or (two annotators) Cohen's kappa, agreement by chance averaged over all listings."""
    found = []
    for other in listings(table):
        pi = shares(other).mean(axis=0)
        own = [shares(other[:, [side]]).mean(axis=0) for side in (0, 1)] if measure == "cohen_kappa" else [pi, pi]
        found.append(float(pi @ (1 - pi)) / (q - 1) if measure == "gwet_ac1" else float(own[0] @ own[1]))
    chance, several = float(np.mean(found)), [given(row) for row in table if len(given(row)) > 1]
    alike = np.mean([(np.sum(row[:, None] == row) - len(row)) / (len(row) * (len(row) - 1)) for row in several])
    return float(alike - chance) / (1 - chance)


def about_pairs(table: Table) -> ReliabilityData:
    return replace(reliability_data(table), turns=True)


def a_few(seed: int, raters: int, level: str) -> Table:
    rng = np.random.default_rng(seed)
    drawn = rng.choice([-1.0, 0.0, 1.0, 1.0], (7, raters)) if level == "nominal" else rng.integers(-9, 10, (7, raters))
    table = drawn.astype(np.float64) / (1 if level == "nominal" else 10)
    return np.where((rng.random(table.shape) < 0.2) & (np.arange(7)[:, None] > 1), np.nan, table)


@pytest.mark.parametrize("seed", range(4))
def test_chance_is_its_mean_over_both_ways_of_listing_each_pair(seed: int) -> None:
    levels: tuple[Level, ...] = ("nominal", "interval")
    for level in levels:
        table = a_few(seed, 4, level)
        wanted = alpha_by_definition(table, level)
        for other in (table, listings(table)[37]):
            assert krippendorff_alpha(about_pairs(other), level=level).value == pytest.approx(wanted, abs=1e-12)
    table, two = a_few(seed, 4, "nominal"), np.nan_to_num(a_few(seed, 2, "nominal"))
    for answers in (table, listings(table)[37]):
        data = about_pairs(answers)
        assert fleiss_kappa(data).value == pytest.approx(beyond_by_definition(table, "fleiss_kappa"), abs=1e-12)
        found = gwet_ac1(data, categories=(-1, 0, 1))
        assert found.value == pytest.approx(beyond_by_definition(table, "gwet_ac1"), abs=1e-12)
    assert cohen_kappa(about_pairs(two)).value == pytest.approx(beyond_by_definition(two, "cohen_kappa"), abs=1e-12)


def test_of_many_units_the_mean_is_that_of_drawn_listings() -> None:
    rng = np.random.default_rng(6)
    lead = rng.normal(0.4, 1, 120)[:, None]
    table = np.sign(np.round(lead + rng.normal(0, 1, (120, 3))))
    found = krippendorff_alpha(about_pairs(table), level="nominal", rng=np.random.default_rng(0))
    drawn = [krippendorff_alpha(table * rng.choice([-1, 1], (120, 1)), level="nominal").value for _ in range(400)]
    assert found.value == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / 20)
    again = krippendorff_alpha(
        about_pairs(table * rng.choice([-1, 1], (120, 1))), level="nominal", rng=np.random.default_rng(0)
    )
    assert again == found  # the interval as well


def test_intervals_hold_the_alpha_of_all_units() -> None:
    """Of 60 units drawn from many, listed as they come, 95 % intervals hold the value of many."""
    rng = np.random.default_rng(8)

    def drawn(n: int) -> Table:
        lead = rng.normal(0.3, 1, n)[:, None]
        return np.sign(np.round(lead + rng.normal(0, 0.8, (n, 3))))

    profiles = fold_profiles(about_pairs(drawn(400_000)))
    truth = float(alpha_statistic(profiles, "nominal")(profiles.units[None, :].astype(float))[0])
    ac1 = gwet_ac1(about_pairs(drawn(400_000))).value
    assert ac1 is not None
    held = np.zeros(2)
    for _ in range(200):
        data = about_pairs(drawn(60))
        found = krippendorff_alpha(data, level="nominal", replicates=300, rng=rng), gwet_ac1(data)
        held += [one.ci_low < true < one.ci_high for one, true in zip(found, (truth, ac1), strict=True)]  # type: ignore[operator]
    assert min(held) >= 183  # 91.5 %: of 200 intervals at 95 %, fewer come up once in 50 tests
    assert max(held) <= 199


def stated() -> pl.DataFrame:
    """Each person answers both directions; they lie 0.1 above and below the mean that counts."""
    rows: list[tuple[str, str, str, object]] = []
    for who, shares in STATED.items():
        for (x, y), share in zip(PAIRS, shares, strict=True):
            rows += [(who, x, y, round(share + 0.1, 2)), (who, y, x, round(1 - share + 0.1, 2))]
    return preferences(rows, exposure="2")


def of(results: Results, source: str, group: str = "human") -> dict[str, Any]:
    return {row["measure"]: row for row in results["agreement"] if (row["source"], row["group"]) == (source, group)}


def test_alpha_of_preferences_is_that_of_pairs_by_people() -> None:
    results = run(preferences=stated(), plan=KEEP)
    validate(results)
    (row,) = of(results, "preferences").values()
    assert row["measure"] == "krippendorff_alpha_interval"
    wanted = alpha_by_definition(2 * np.array([*STATED.values()]).T - 1, "interval")
    assert row["value"] == pytest.approx(wanted, rel=1e-9)
    assert (row["n_items"], row["n_annotators"], row["fits_scale"]) == (4, 3, True)
    assert row["ci_low"] is None or row["ci_low"] < row["value"] <= row["ci_high"]
    assert "Agreement on stated preferences" in render_report(results)["report.md"]


def picked(seed: int = 4, people: int = 3, items: int = 40, noise: float = 0.6) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows: list[tuple[str, str, str, str, str]] = []
    for item in range(items):
        lead = rng.normal(0, 1)
        for person in range(people):
            felt = lead + rng.normal(0, noise)
            winner = "tie" if abs(felt) < 0.2 else "x" if felt > 0 else "y"
            turned = {"x": "y", "y": "x", "tie": "tie"}[winner]
            rows.append((f"p{person}", f"i{item}", *(("a", "b", winner) if person else ("b", "a", turned))))
    return choices(rows)


def matrix(table: pl.DataFrame) -> np.ndarray:
    coded = {"x": 1.0, "tie": 0.5, "y": 0.0}
    value = pl.col("winner").replace_strict(coded, return_dtype=pl.Float64)
    forward = table.with_columns(value=pl.when(pl.col("system_x") == "a").then(value).otherwise(1 - value))
    wide = forward.pivot("annotator_id", index="item_id", values="value", sort_columns=True)
    return 2 * wide.drop("item_id").to_numpy() - 1


def test_agreement_coefficients_of_choices() -> None:
    """Choices have nominal alpha, AC1, kappa and exact agreement."""
    table = picked()
    results = run(choices=table)
    validate(results)
    found, answers = of(results, "choices"), about_pairs(matrix(table))
    assert list(found) == ["krippendorff_alpha_nominal", "exact_agreement", "gwet_ac1", "fleiss_kappa"]
    assert found["krippendorff_alpha_nominal"]["value"] == pytest.approx(
        krippendorff_alpha(answers, level="nominal").value
    )
    assert found["gwet_ac1"]["value"] == pytest.approx(gwet_ac1(answers).value)
    assert found["fleiss_kappa"]["ci_low"] == pytest.approx(fleiss_kappa(answers).ci_low)
    assert found["exact_agreement"]["value"] == pytest.approx(np.mean(np.ptp(matrix(table), axis=1) == 0))
    assert {row["n_items"] for row in found.values()} == {40}
    two = table.filter(pl.col("annotator_id") != "p2")
    assert of(run(choices=two), "choices")["cohen_kappa"]["value"] == pytest.approx(
        cohen_kappa(about_pairs(matrix(two))).value
    )
    assert "Agreement on choices" in render_report(results)["report.md"]


def test_repeats_and_forms_of_an_llm_are_raters() -> None:
    table = picked()
    times = table["annotator_id"].replace_strict({"p0": "1", "p1": "2", "p2": "3"})
    repeated = table.with_columns(times.alias("repeat"), annotator_id=pl.lit("gpt"))
    by_person = of(run(choices=table), "choices")
    by_repeat = of(run(choices=repeated, llms=("gpt",)), "choices", "gpt")
    by_form = of(run(choices=repeated.rename({"repeat": "assignment_id"}), llms=("gpt",)), "choices", "gpt")
    for measure, row in by_person.items():
        assert by_repeat[measure]["value"] == by_form[measure]["value"] == row["value"]
        assert by_repeat[measure]["n_annotators"] == 3
    forms = stated()["annotator_id"]
    said = stated().with_columns(forms.alias("assignment_id"), annotator_id=pl.lit("gpt"))
    (row,) = of(run(preferences=said, plan=KEEP, llms=("gpt",)), "preferences", "gpt").values()
    wanted = alpha_by_definition(2 * np.array([*STATED.values()]).T - 1, "interval")
    assert (row["value"], row["n_annotators"]) == (pytest.approx(wanted, rel=1e-9), 3)


def test_neither_direction_nor_names_nor_order_matter() -> None:
    table = picked()
    once = of(run(choices=table), "choices")
    winner = pl.col("winner").replace({"x": "y", "y": "x"})
    mirrored = table.with_columns(winner, system_x=pl.col("system_y"), system_y=pl.col("system_x"))
    renamed = table.with_columns(pl.col("annotator_id").replace({"p0": "z"}), pl.col("system_x", "system_y") + "9")
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=1)
    for other in (mirrored, renamed, shuffled):
        again = of(run(choices=other), "choices")
        assert {name: row["value"] for name, row in again.items()} == pytest.approx(
            {name: row["value"] for name, row in once.items()}
        )


def test_people_who_choose_at_random_agree_as_by_chance() -> None:
    found = of(run(choices=picked(items=400, noise=1000.0)), "choices")
    assert abs(found["krippendorff_alpha_nominal"]["value"]) < 0.08
    sure = of(run(choices=picked(items=100, noise=0.001)), "choices")
    assert sure["krippendorff_alpha_nominal"]["value"] > 0.95


def test_who_shares_no_unit_has_a_reason() -> None:
    rows = run(choices=choices([("p", "i", "a", "b", "x"), ("q", "j", "a", "b", "y")]))["agreement"]
    assert [(row["measure"], row["value"]) for row in rows] == [("krippendorff_alpha_nominal", None)]
    assert rows[0]["reason"] == "no unit was answered by two annotators"


def three_people(items: int = 40) -> pl.DataFrame:
    """Let two people mostly agree on three pairs, and a third one guess; half of the pairs are shown the other way."""
    rng = np.random.default_rng(12)
    rows = []
    for item in range(items):
        for x, y in (("a", "b"), ("b", "c"), ("a", "c")):
            truth = str(rng.choice(["x", "y", "tie"]))
            for who, sure in (("ann", 0.95), ("ben", 0.9), ("cem", 0.2)):
                given = truth if rng.random() < sure else str(rng.choice(["x", "y", "tie"]))
                turned = rng.random() < 0.5 and item > 0  # the first item lists the pairs
                shown = {"x": "y", "y": "x"}.get(given, given) if turned else given
                rows.append((who, f"i{item}", *((y, x) if turned else (x, y)), shown))
    return choices(rows)


def by_hand(table: pl.DataFrame, first: str, second: str) -> tuple[int, float, float]:
    """Return units, statsmodels' kappa and irrCAC's formula of AC1 for two people over x, tie and y.

    All answers stand both ways, which of many units leaves what chance gives as it is within 1 / n.
    """
    order = pl.col("system_x") < pl.col("system_y")
    turned = table.with_columns(
        winner=pl.when(order).then("winner").otherwise(pl.col("winner").replace({"x": "y", "y": "x"})),
        pair=pl.concat_str(pl.min_horizontal("system_x", "system_y"), pl.max_horizontal("system_x", "system_y")),
    )
    one, two = (turned.filter(annotator_id=who).select("item_id", "pair", "winner") for who in (first, second))
    both = one.join(two, on=["item_id", "pair"])
    codes = ["x", "tie", "y"]
    counts = np.zeros((3, 3))
    for a, b in both.select("winner", "winner_right").iter_rows():
        counts[codes.index(a), codes.index(b)] += 1
    counts += counts[::-1, ::-1]
    together = counts / counts.sum()
    pi = (together.sum(axis=0) + together.sum(axis=1)) / 2
    chance = float(np.sum(pi * (1 - pi)) / 2)
    return both.height, float(cohens_kappa(counts).kappa), (float(np.trace(together)) - chance) / (1 - chance)


def test_every_two_people_who_chose_are_compared() -> None:
    table = three_people()
    found = {(row["annotator_x"], row["annotator_y"]): row for row in run(choices=table)["annotator_pairs"]}
    assert list(found) == [("ann", "ben"), ("ann", "cem"), ("ben", "cem")]
    for (first, second), row in found.items():
        n, kappa, ac1 = by_hand(table, first, second)
        assert (row["source"], row["n_items"], row["kendall_tau"], row["reason"]) == ("choices", n, None, None)
        assert row["cohen_kappa"] == pytest.approx(kappa, abs=1 / n)
        assert row["gwet_ac1"] == pytest.approx(ac1, abs=1 / n)
        assert row["level"] == "nominal"
    assert found["ann", "ben"]["cohen_kappa"] > 0.7 > 0.4 > found["ann", "cem"]["cohen_kappa"]


def test_agreement_pairs_of_up_to_ten_people() -> None:
    """Pairs of people stand in the report and not of more than ten."""
    page = render_report(run(choices=three_people()))["report.html"]
    assert "Agreement of every two raters on choices" in page
    assert "Kendall’s tau" not in page[page.index("Agreement of every two raters on choices") :][:2000]
    many = pl.concat([three_people(4).with_columns(pl.col("annotator_id") + str(n)) for n in range(4)])
    assert run(choices=many)["annotator_pairs"] == []


def test_who_always_prefer_the_same_system_agree() -> None:
    """Half of the pairs could as well have been listed the other way: x is no answer that everybody always gives."""
    rows = [(who, f"i{n}", "a", "b", "x") for who in "pq" for n in range(4)]
    results = run(choices=choices(rows))
    (row,) = results["annotator_pairs"]
    assert [row[name] for name in ("exact_agreement", "cohen_kappa", "krippendorff_alpha", "gwet_ac1")] == [1.0] * 4
    assert {found["value"] for found in of(results, "choices").values()} == {1.0}


def test_raters_who_only_tie_have_a_reason() -> None:
    rows = [(who, f"i{n}", "a", "b", "tie") for who in "pq" for n in range(4)]
    results = run(choices=choices(rows))
    (row,) = results["annotator_pairs"]
    assert (row["exact_agreement"], row["cohen_kappa"]) == (1.0, None)
    assert row["reason"]
    found = of(results, "choices")
    assert (found["krippendorff_alpha_nominal"]["value"], found["gwet_ac1"]["value"]) == (None, 1.0)
    assert found["gwet_ac1"]["categories"] == 3


def test_the_published_shape_of_three_labellers(shared_data: Path) -> None:
    """Kappas of every two annotators; with the usual formula, in the direction of the file, they are as published."""
    folder = shared_data.parent / "cases" / "published" / "choice_kappa_pairs"
    if not folder.exists():
        pytest.skip("the case is not here")
    wanted = json.loads((folder / "expected.json").read_text())["cohen_kappa"]
    table = pl.read_csv(folder / "choices.csv", infer_schema=False)
    coded = {"x": 1.0, "tie": 0.0, "y": -1.0}
    wide = table.pivot("annotator_id", index=["item_id", "system_x", "system_y"], values="winner", sort_columns=True)
    answers = wide.select(pl.col(wide.columns[3:]).replace_strict(coded, return_dtype=pl.Float64)).to_numpy()
    kappas = {f"{x + 1}-{y + 1}": cohen_kappa(answers[:, [x, y]]).value for x, y in combinations(range(3), 2)}
    assert {name: round(value, 4) for name, value in kappas.items() if value is not None} == wanted
    found = run(choices=table)["annotator_pairs"]
    names = ["-".join(row[side].removeprefix("annotator") for side in ("annotator_x", "annotator_y")) for row in found]
    assert {name: row["cohen_kappa"] for name, row in zip(names, found, strict=True)} == pytest.approx(wanted, abs=0.02)


def test_the_direction_listed_first_does_not_matter(shared_data: Path) -> None:
    """Both tables hold the same answers; one lists a pair the other way round."""
    folder = shared_data.parent / "cases" / "statistics" / "agreement-directions"
    if not folder.exists():
        pytest.skip("the case is not here")
    wanted = json.loads((folder / "expected.json").read_text())["krippendorff_alpha_nominal"]
    tables = [pl.read_csv(folder / f"{name}.csv", infer_schema=False) for name in ("choices", "choices-pair-turned")]
    found, turned = (run(choices=table)["agreement"] for table in tables)
    assert found == turned
    assert found[0]["value"] == pytest.approx(wanted["expected_disagreement_averaged_over_directions"], abs=1e-9)


ONCE = [(who, f"i{n}", "a", "b", "x" if n % 3 else "y") for who in "pq" for n in range(6)]


@pytest.mark.parametrize(("ties", "categories"), [(True, 3), (False, 2)])
def test_ties_that_the_study_allows_count_where_nobody_tied(ties: bool, categories: int) -> None:
    study = StudyFacts(id="s", title="s", language="en", systems=(), criteria=(), choice_ties=ties)
    table = choices([*ONCE, ("p", "i9", "a", "b", "x"), ("q", "i9", "a", "b", "y")])
    row = of(run(choices=table, study=study), "choices")["gwet_ac1"]
    answers = np.array([[1.0, 1.0] if n % 3 else [-1.0, -1.0] for n in range(6)] + [[1.0, -1.0]])
    wanted = beyond_by_definition(answers, "gwet_ac1", q=categories)
    assert (row["categories"], row["value"]) == (categories, pytest.approx(wanted, abs=1e-12))


def test_without_a_study_a_tie_of_anybody_counts_for_all() -> None:
    table = choices([*ONCE, *(("gpt", f"i{n}", "a", "b", "tie") for n in range(3))])
    assert of(run(choices=table, llms=("gpt",)), "choices")["gwet_ac1"]["categories"] == 3
    assert of(run(choices=choices(ONCE)), "choices")["gwet_ac1"]["categories"] == 2
