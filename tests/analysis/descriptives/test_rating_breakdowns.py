"""Ratings in detail, as Chiang and Lee (2023) and Chhun et al. (2024) print them: against scipy and numpy."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis import Plan
from analysis.agreement.rater_agreement import code_raters
from analysis.answers.order import order_of
from analysis.printing.document import Table, every_block
from analysis.report.csv_tables import csv_tables
from analysis.report.sections import make_section
from analysis.results.files import from_plain
from tests.analysis.made_answers import Results, check, ratings, run, validate

WRITERS, TEACHERS, TRIES, STORIES = ("human", "gpt2"), ("T1", "T2", "T3"), ("1", "2", "3"), 30
CRITERIA = ("grammaticality", "relevance")
RNG = np.random.default_rng(7)
QUALITY, NOISE = RNG.normal(3.2, 1.0, (2, 2, STORIES, 1)), RNG.normal(0, 0.8, (2, 2, STORIES, 6))
SCORES = np.clip(QUALITY + NOISE, 1, 5).round()  # criterion, writer, story; three teachers, three answers of the LLM


def stories(*, shared: bool = True) -> pl.DataFrame:
    """Return every rating; without ``shared`` no two writers' stories have an item id in common."""
    places = [
        (c, w, story, rater)
        for c in range(len(CRITERIA))
        for w in range(len(WRITERS))
        for story in range(STORIES)
        for rater in range(6)
    ]
    rows: list[tuple[str, str, str, object]] = [
        ((*TEACHERS, *["davinci"] * 3)[r], f"s{s}" if shared else f"{WRITERS[w]}{s}", WRITERS[w], SCORES[c, w, s, r])
        for c, w, s, r in places
    ]
    return ratings(
        rows,
        criterion=[CRITERIA[c] for c, *_ in places],
        repeat=[None if r < 3 else TRIES[r - 3] for *_, r in places],
        annotator_kind=["human" if r < 3 else "llm" for *_, r in places],
    )


@pytest.fixture(scope="module", params=[True, False], ids=["shared items", "own items"])
def results(request: pytest.FixtureRequest) -> Results:
    found = run(ratings=stories(shared=request.param), plan=Plan(rating_test="welch"))
    validate(found)
    return found


def close(value: Any) -> Any:
    return pytest.approx(float(value), rel=1e-9)


def test_means_and_agreement_of_each_writer(results: Results) -> None:
    """Tables 1 and 6: mean, standard deviation, alpha, share of exact agreement, mean tau of the three pairs."""
    rows = {(row["group"], row["criterion"], row["system"]): row for row in results["ratings"]["by_system"]}
    assert len(rows) == 8
    for (c, criterion), (w, writer), (group, own) in (
        (c, w, g)
        for c in enumerate(CRITERIA)
        for w in enumerate(WRITERS)
        for g in (("human", slice(3)), ("davinci", slice(3, 6)))
    ):
        row, scores = rows[group, criterion, writer], SCORES[c, w, :, own]
        assert (row["n_items"], row["n_annotators"], row["n_pairs"]) == (STORIES, 3, 3)
        assert row["alpha_measure"] == "krippendorff_alpha_ordinal"
        ranks = stats.rankdata(scores).reshape(scores.shape)  # ordinal alpha is that of mid-ranks at interval level
        assert row["alpha"] == close(1 - ranks.var(axis=1, ddof=1).mean() / ranks.var(ddof=1))
        assert row["exact_agreement"] == close(np.mean(np.ptp(scores, axis=1) == 0))
        taus = [stats.kendalltau(scores[:, x], scores[:, y]).statistic for x, y in combinations(range(3), 2)]
        assert row["mean_kendall_tau"] == close(np.mean(taus))
        cells = scores if group == "human" else scores.mean(axis=1)  # repeats are averaged first
        assert (row["mean"], row["sd"]) == (close(cells.mean()), close(cells.std(ddof=1)))
        assert row["sd_answers"] == close(scores.std(ddof=1))


def test_tau_between_people_and_an_llm_within_each_writer(results: Results) -> None:
    """Table 2: mean of the teachers beside the mean of the LLM's three answers, story by story."""
    rows = results["correlations_by_system"]
    assert [(row["a"], row["b"], row["n_tests"]) for row in rows] == [("ratings:davinci", "ratings:human", 2)] * 4
    for row in rows:
        scores = SCORES[CRITERIA.index(row["criterion"]), WRITERS.index(row["system"])]
        wanted = stats.kendalltau(scores[:, :3].sum(axis=1), scores[:, 3:].sum(axis=1))
        assert (row["n"], row["value"], row["p_value"]) == (STORIES, close(wanted.statistic), close(wanted.pvalue))


def test_mean_ratings_of_each_teacher(results: Results) -> None:
    """Table 12."""
    rows = results["ratings"]["by_annotator"]
    assert len(rows) == 3 * 2 * 2
    for row in rows:
        places = (
            CRITERIA.index(row["criterion"]),
            WRITERS.index(row["system"]),
            slice(None),
            TEACHERS.index(row["annotator_id"]),
        )
        assert (row["group"], row["n"], row["mean"]) == ("human", STORIES, close(SCORES[places].mean()))  # fmt: skip


@pytest.mark.parametrize("column", ["variant", "group"])
def test_means_by_way_of_asking(column: str) -> None:
    """Table 5, and the means by LLM and prompt of Chhun et al. (2024): all together, by criterion, by system."""
    asked = stories().with_columns(
        pl.when(pl.col("annotator_id").is_in(["T1", "davinci"])).then(pl.lit("blocked")).otherwise(pl.lit("mixed"))
        .alias("order")
    )  # fmt: skip
    people, llm = (asked.filter(pl.col("annotator_kind") == kind) for kind in ("human", "llm"))
    rows = run(ratings=people.rename({"order": column}))["ratings"]["by_variant"]
    found = {(row["variant"], row["criterion"], row["system"]): row for row in rows}
    assert {(row["annotator_kind"], row["rater"]) for row in rows} == {("human", "human")}
    assert len(rows) == 2 * (1 + 2 + 4)
    for variant, own in (("blocked", slice(0, 1)), ("mixed", slice(1, 3))):
        assert found[variant, None, None]["mean"] == close(SCORES[..., own].mean())
        assert found[variant, "relevance", None]["mean"] == close(SCORES[1, ..., own].mean())
        cell = found[variant, "relevance", "gpt2"]
        assert (cell["mean"], cell["n"]) == (close(SCORES[1, 1, :, own].mean()), SCORES[1, 1, :, own].size)
    alone = found["blocked", "relevance", "gpt2"]  # one rating a story: the plain t interval
    wanted = stats.t.interval(0.95, STORIES - 1, SCORES[1, 1, :, 0].mean(), stats.sem(SCORES[1, 1, :, 0]))
    assert (alone["unit"], alone["ci_low"], alone["ci_high"]) == ("item", close(wanted[0]), close(wanted[1]))
    twice = pl.concat([llm.drop("order").with_columns(variant=pl.lit(prompt)) for prompt in ("1", "2")])
    rows = run(ratings=twice)["ratings"]["by_variant"]
    assert [(row["rater"], row["variant"]) for row in rows if row["criterion"] is None] == [
        ("davinci", "1"),
        ("davinci", "2"),
    ]


def tables_of(results: Results) -> dict[str, Table]:
    section = make_section(from_plain(results), "rating-details")
    assert section is not None
    return {block.name: block for block in every_block(section.blocks) if isinstance(block, Table)}


def shown(table: Table, *first: str) -> list[tuple[str, str]]:
    (row,) = [row for row in table.rows if tuple(cell.text for cell in row[: len(first)]) == first]
    return [(cell.text, cell.detail) for cell in row[len(first) :]]


def test_the_report_has_the_tables_in_the_layouts_of_the_papers(results: Results) -> None:
    tables = tables_of(results)
    titles = {name: [column.title for column in table.columns] for name, table in tables.items()}
    writers = list(WRITERS)
    assert titles == {
        "details_systems": [  # Table 1
            *("System", "Raters", "Grammaticality", "Agreement (grammaticality)", "Relevance", "Agreement (relevance)")
        ],
        "details_pairs": ["Raters", "Criterion", *writers],  # Table 6
        "details_tau": ["Criterion", *writers],  # Table 2
        "details_beside-1": ["System", *(f"{who}: {name}" for who in ("people", "davinci (LLM)") for name in CRITERIA)],
        "details_people": ["Criterion", "Rater", *writers],  # Table 12; the one before: Tables 4 and 11
    }
    scores = SCORES[1, 0, :, :3]
    row = next(
        row for row in results["ratings"]["by_system"] if (row["criterion"], row["system"]) == ("relevance", "human")
    )
    assert shown(tables["details_systems"], "human", "people")[2:] == [
        (f"{scores.mean():.2f}", f"({scores.std(ddof=1):.2f})"),
        (f"{row['alpha']:.2f}", f"{100 * row['exact_agreement']:.1f}%"),
    ]
    tries = SCORES[0, 0, :, 3:]
    assert shown(tables["details_systems"], "human", "davinci (LLM)")[0] == (
        f"{tries.mean():.2f}",
        f"({tries.mean(axis=1).std(ddof=1):.2f}; answers {tries.std(ddof=1):.2f})",
    )
    assert shown(tables["details_pairs"], "people", "relevance")[0] == (
        f"{row['mean_kendall_tau']:.2f}", "strong; 3 pairs",
    )  # fmt: skip
    (tau, words), _ = shown(tables["details_tau"], "relevance")
    assert (tau, words) == (
        f"{results['correlations_by_system'][2]['value']:.2f}",
        "strong; very strong evidence, adjusted p\xa0<\xa0.001",
    )
    assert shown(tables["details_people"], "relevance", "T2")[1][0] == f"{SCORES[1, 1, :, 1].mean():.2f}"
    written = csv_tables(from_plain(results))
    assert {"ratings_by_system.csv", "correlations_by_system.csv", "ratings_by_annotator.csv"} <= set(written)


def test_ways_of_asking_stand_in_tables() -> None:
    people = stories().filter(pl.col("annotator_kind") == "human")
    orders = pl.when(pl.col("annotator_id") == "T1").then(pl.lit("blocked")).otherwise(pl.lit("mixed"))
    tables = tables_of(run(ratings=people.with_columns(variant=orders)))
    assert [cell[0] for cell in shown(tables["details_asked"], "relevance", "mixed")] == [
        f"{SCORES[1, writer, :, 1:3].mean():.2f}" for writer in range(2)
    ]
    ways = shown(tables["details_variants"], "human", "all criteria")
    assert [cell[0] for cell in ways] == [f"{SCORES[..., own].mean():.2f}" for own in (slice(1), slice(1, 3))]
    assert [column.title for column in tables["details_variants"].columns] == ["Rater", "Criterion", "blocked", "mixed"]


def test_verdicts_carry_graded_evidence(results: Results) -> None:
    """Chhun et al. (2024): evidence by degrees for differences of ratings, worded as for correlations."""
    section = make_section(from_plain(results), "ratings")
    assert section is not None
    found = {
        cell.detail
        for block in every_block(section.blocks)
        if isinstance(block, Table) and block.name.startswith("ratings_pairs")
        for row in block.rows
        for column, cell in zip(block.columns, row, strict=True)
        if column.title == "Verdict"
    }
    assert found
    assert all(words.endswith("evidence") for words in found)


@given(st.integers(0, 10_000))
def test_by_system_as_each_system_alone(seed: int) -> None:
    """The ratings of a system, taken out of those of all, are those that it has without the others."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"r{a}", f"i{i}", f"s{s}", float(rng.integers(1, 6))) for a in range(3) for i in range(4) for s in range(3)
    ]
    kept = [row for row in rows if rng.random() < 0.5] or rows
    kinds = ["llm" if row[0] == "r2" else "human" for row in kept]
    table = check(ratings=ratings(kept, annotator_kind=kinds, repeat=[str(rng.integers(2)) for _ in kept])).ratings
    assert table is not None
    order = order_of(table, table["group"].unique().sort().to_list(), None)
    coded = code_raters(table, order)
    found = {} if coded is None else {(g, c, s): data for g, c, s, data in coded.by_system()}
    alone = {}
    for system in order.systems:
        own = code_raters(table.filter(pl.col("system") == system), order)
        alone |= {} if own is None else {(g, c, system): data for g, c, data in own.each()}
    assert found.keys() == alone.keys()
    for place, data in alone.items():
        other = found[place]
        assert (data.annotators, data.n_units) == (other.annotators, other.n_units)
        for name in ("unit", "annotator", "value"):
            assert np.array_equal(getattr(data, name), getattr(other, name))


def test_mean_tau_of_raters_who_share_some_stories() -> None:
    """Each story has three of twelve raters, as where it is given so many answers: tau over the stories of a pair."""
    rng = np.random.default_rng(9)
    rows, given = [], {}
    for story in range(40):
        quality = rng.normal()
        for who in rng.choice(12, size=3, replace=False).tolist():
            given[who, story] = int(np.clip(round(3 + quality + rng.normal() * 0.7), 1, 5))
            rows.append((f"r{who}", f"s{story}", "gpt2", given[who, story]))
    (row,) = run(ratings=ratings(rows))["ratings"]["by_system"]
    taus = []
    for one, other in combinations(range(12), 2):
        shared = [story for story in range(40) if (one, story) in given and (other, story) in given]
        if len(shared) > 1:
            taus.append(stats.kendalltau(*([given[who, story] for story in shared] for who in (one, other))).statistic)
    defined = [tau for tau in taus if not np.isnan(tau)]
    assert len(defined) > 20
    assert (row["n_pairs"], row["mean_kendall_tau"]) == (len(defined), close(np.mean(defined)))
