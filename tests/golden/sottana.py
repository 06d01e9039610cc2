"""Figures of Sottana et al. (2023) from the raw ratings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from analysis import (
    Plan,
    benjamini_hochberg,
    correlate_levels,
    icc,
    icc_test,
    krippendorff_alpha,
    rankings,
    rating_means,
    rating_tests,
)
from analysis.correlations import PairedScores
from analysis.statistics.coding import Floats
from analysis.statistics.t_tests import welch
from tests.golden.compare import Figure

TASKS = ("summarization", "simplification")
METHODS = ("pearson", "spearman", "kendall")
LEVELS: tuple[Any, ...] = ("nominal", "ordinal", "interval")
FORMS: tuple[Any, ...] = ("icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k")
LLM = "gpt4"


def read(data: Path, task: str) -> pl.DataFrame:
    """Read the ratings of one task, with each rater as a group of their own."""
    table = pl.read_csv(data / "sottana" / f"{task}_ratings.csv", schema_overrides={"raw_label": pl.String})
    return table.rename({"rater": "annotator_id"}).with_columns(group="annotator_id")


def figures(data: Path) -> Iterator[Figure]:
    """Yield all figures of both tasks."""
    for task in TASKS:
        table = read(data, task)
        place = ("sottana", task)
        for criterion in table["criterion"].unique(maintain_order=True).to_list():
            own = table.filter(pl.col("criterion") == criterion)
            for path, value in criterion_figures(own):
                yield (*place, "per_criterion", criterion, *path), value
        for path, value in seconds(table):
            yield (*place, "seconds", *path), value


def criterion_figures(table: pl.DataFrame) -> Iterator[Figure]:
    """Yield the figures of one criterion."""
    people = table.filter(pl.col("annotator_id") != LLM)
    humans = people["annotator_id"].unique(maintain_order=True).to_list()
    for row in rating_means(table, llms=[LLM]):
        yield ("mean", row.group, row.system), row.mean
        yield ("sd_population", row.group, row.system), row.sd_population
    ranks = mean_ranks(table)
    systems = list(ranks[LLM])
    for group, places in ranks.items():
        yield from (((("rank", group, system)), places[system]) for system in systems)
    yield from of_ranks(ranks, humans)
    for level in LEVELS:
        yield ("alpha_of_item_scores", f"{level}_humans"), krippendorff_alpha(people, level=level).value
        yield ("alpha_of_item_scores", f"{level}_humans_gpt4"), krippendorff_alpha(table, level=level).value
    yield from iccs(people, "icc_humans_item_scores")
    yield from correlations(table, humans)
    yield from t_tests(table, humans)


def mean_ranks(table: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Rank the systems by each rater's means, 1 = best; tied ones share the average of their places."""
    found: dict[str, dict[str, float]] = {}
    for ranking in rankings(table, llms=[LLM]):
        if ranking.source != "ratings":
            continue
        place, placed = 0, found.setdefault(ranking.group, {})
        for tied in ranking.order:
            placed |= dict.fromkeys(tied, place + (len(tied) + 1) / 2)
            place += len(tied)
    return found


def of_printed_ranks(given: Sequence[Mapping[str, Any]]) -> Iterator[Figure]:
    """Yield what follows from ranks that the paper prints, where the answers are not in the data."""
    for part in given:
        ranks = {who: {str(place): rank for place, rank in enumerate(own)} for who, own in part["ranks"].items()}
        for path, value in of_ranks(ranks, [who for who in ranks if who != LLM]):
            yield (*part["path"], *path), value


def of_ranks(ranks: dict[str, dict[str, float]], humans: Sequence[str]) -> Iterator[Figure]:
    """Yield mean ranks by people, and Krippendorff's alphas of ranks."""
    for system in ranks[LLM]:
        yield ("mean_human_rank", system), sum(ranks[who][system] for who in humans) / len(humans)
    raters = [*humans, LLM]
    matrix = np.array([[ranks[rater][system] for rater in raters] for system in ranks[LLM]])
    for level in LEVELS:
        yield ("alpha_of_ranks", f"{level}_humans"), krippendorff_alpha(matrix[:, :-1], level=level).value
        yield ("alpha_of_ranks", f"{level}_humans_gpt4"), krippendorff_alpha(matrix, level=level).value
    for x, y in combinations(range(len(raters)), 2):
        alpha = krippendorff_alpha(matrix[:, [x, y]], level="interval").value
        yield ("alpha_of_ranks_pairwise_interval", f"{raters[x]}|{raters[y]}"), alpha


def iccs(people: pl.DataFrame, *place: str) -> Iterator[Figure]:
    """Yield every ICC with its F test and interval."""
    for form in FORMS:
        name = form.upper().replace("K", "k")
        found, test = icc(people, form=form), icc_test(people, form=form)
        yield (*place, name, "icc"), found.value
        yield (*place, name, "F"), test.f
        yield (*place, name, "df1"), test.df1
        yield (*place, name, "df2"), test.df2
        yield (*place, name, "p"), test.p_value
        yield (*place, name, "ci95", "0"), found.ci_low
        yield (*place, name, "ci95", "1"), found.ci_high


def correlations(table: pl.DataFrame, humans: Sequence[str]) -> Iterator[Figure]:
    """Yield GPT-4 beside the mean of people, and each person beside the mean of the other two."""
    wide = table.pivot("annotator_id", index=["item_id", "system"], values="score")
    item, system = (wide[name].rank("dense").to_numpy().astype(np.int64) - 1 for name in ("item_id", "system"))
    scores = {name: wide[name].to_numpy().astype(np.float64) for name in (*humans, LLM)}
    mean = np.sum([scores[who] for who in humans], axis=0) / len(humans)
    both = PairedScores(item=item, system=system, a=scores[LLM], b=mean)
    yield from of_levels(both, {"overall": "overall", "system": "system"}, "gpt4_vs_mean_human")
    for who in humans:
        others = np.sum([scores[other] for other in humans if other != who], axis=0) / (len(humans) - 1)
        own = PairedScores(item=item, system=system, a=scores[who], b=others)
        yield from of_levels(own, {"overall": who}, "human_vs_mean_of_other_two")


def of_levels(paired: PairedScores, names: dict[Any, str], *place: str) -> Iterator[Figure]:
    """Yield r, p and n on each level under its name in the file."""
    for row in correlate_levels(paired, tuple(names)):
        if row.level == "per_item":
            yield (*place, names[row.level], row.method), row.value
            yield (*place, names[row.level], "n_prompts_used"), row.n
            continue
        yield (*place, names[row.level], row.method, "r"), row.value
        yield (*place, names[row.level], row.method, "p"), row.p_value
        yield (*place, names[row.level], "n"), row.n


def t_tests(table: pl.DataFrame, humans: Sequence[str]) -> Iterator[Figure]:
    """Yield paired t tests over items with both corrections, and Welch's t that ignores the pairing."""
    groups = {"mean_of_humans": table.filter(pl.col("annotator_id").is_in(humans))}
    groups |= {rater: table.filter(pl.col("annotator_id") == rater) for rater in (*humans, LLM)}
    for name, own in groups.items():
        own = own.drop("group")
        tests = rating_tests(own, plan=Plan(unit="item"))
        adjusted = benjamini_hochberg([test.p_value for test in tests]).p_adjusted
        means = own.group_by("item_id", "system").agg(pl.col("score").sum() / pl.len())
        values: dict[Any, Floats] = {
            system: rows["score"].to_numpy() for (system,), rows in means.sort("item_id").group_by("system")
        }
        for number, (test, p_bh) in enumerate(zip(tests, adjusted, strict=True)):
            unpaired = welch(values[test.system_x], values[test.system_y], confidence=0.95)
            row = {
                "x": test.system_x,
                "y": test.system_y,
                "mean_diff": test.mean_difference,
                "t": test.t,
                "p": test.p_value,
                "df": test.n - 1,
                "welch_t": unpaired.t,
                "welch_p": unpaired.p_value,
                "p_holm": test.p_adjusted,
                "p_bh": p_bh,
            }
            yield from ((("paired_t_between_systems", name, str(number), key), value) for key, value in row.items())


def seconds(table: pl.DataFrame) -> Iterator[Figure]:
    """Yield how long each person took: the time stands in every row of an item's page and counts once."""
    pages = table.select("annotator_id", "item_id", "seconds").drop_nulls().unique()
    for (rater,), own in pages.group_by("annotator_id"):
        yield (str(rater), "n"), own.height
        yield (str(rater), "sum"), own["seconds"].sum()
        yield (str(rater), "median"), own["seconds"].median()
