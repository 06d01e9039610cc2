"""Figures of HANNA (Chhun et al. 2022, 2024) from the raw ratings, metrics and user study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from analysis import (
    Plan,
    Reading,
    check_frames,
    correlate_levels,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    pairwise_agreement,
    rating_means,
)
from analysis.answers.input import prepare_input
from analysis.correlations import PairedScores
from analysis.correlations.compared import ComparisonRow
from analysis.correlations.group_correlations import correlate_groups
from analysis.correlations.williams import NOT_HIGHER
from analysis.statistics.coding import Floats
from tests.golden.compare import Figure
from tests.golden.sottana import LEVELS, iccs, of_levels

CRITERIA = ("RE", "CH", "EM")
LLMS = ("Beluga-13B", "Llama-13B", "Mistral-7B", "ChatGPT", "OrcaPlatypus")
PEOPLE = ("human_1", "human_2", "human_3")
OWN = "Beluga-13B 1"
PROMPTS = 96
PUBLISHED = {  # column of the paper's figure -> metric in the file
    "BARTScore": "BARTScore-SH",
    "BERTScore": "BERTScore F1",
    "ROUGE-1": "ROUGE-1 Recall",
    "BaryScore": "BaryScore-W",
    "SUPERT": "SUPERT-PS",
    "BLANC": "BLANC-Tune-PS",
}
METRICS = ("BARTScore", "BERTScore", "BLEU", "ROUGE-1", "chrF", "BaryScore", "SUPERT", "BLANC")
IN_FIGURE = ("Human", *(f"{llm} {way}" for llm in LLMS[:4] for way in range(1, 5)), *METRICS)
COMPARED = ("Llama-13B 1", "Mistral-7B 1", "ChatGPT 1", *METRICS)
SCOPES = {
    "without_human_system": {"overall": "overall", "system": "system", "per_item": "per_prompt"},
    "all_11_systems": {"overall": "overall", "system": "system"},
}


class Hanna:
    """Scores by measure and criterion, one value a story; stories 0 to 95 are human."""

    def __init__(self, data: Path) -> None:
        self.ratings = pl.read_csv(data / "hanna" / "ratings.csv").with_columns(item_id=pl.col("story_id") % PROMPTS)
        name = pl.concat_str(["rater", "eval_prompt"], separator=" ", ignore_nulls=True)
        self.scores: dict[tuple[str, str], Floats] = {
            (str(key[0]), str(key[1])): rows.sort("story_id")["score"].to_numpy()
            for key, rows in self.ratings.with_columns(name.alias("name")).group_by("name", "criterion")
        }
        metrics = pl.read_csv(data / "hanna" / "automatic_metrics.csv")
        self.metric_table = metrics.with_columns(item_id=pl.col("story_id") % PROMPTS)
        self.metrics: dict[str, Floats] = {
            str(key[0]): rows.sort("story_id")["score"].to_numpy() for key, rows in metrics.group_by("metric")
        }

    def people(self, criterion: str) -> Floats:
        """Return the sums of the three ratings of each story over three."""
        total: Floats = np.sum([self.scores[slot, criterion] for slot in PEOPLE], axis=0) / len(PEOPLE)
        return total

    def measure(self, name: str, criterion: str) -> Floats:
        """Return an LLM's scores ("Beluga-13B 1") or a metric by its name in the paper."""
        own = self.scores.get((name, criterion))
        return self.metrics[PUBLISHED.get(name, name)] if own is None else own


def pair(a: Floats, b: Floats, *, with_human: bool) -> PairedScores:
    """Lay two measures of all stories side by side; the item is the prompt."""
    story = np.arange(len(a))
    kept = story >= (0 if with_human else PROMPTS)
    return PairedScores(item=story[kept] % PROMPTS, system=story[kept] // PROMPTS, a=a[kept], b=b[kept])


def figures(data: Path) -> Iterator[Figure]:
    """Yield all figures of the ratings and metrics."""
    hanna = Hanna(data)
    for part in (means, agreement, correlations, heatmap, williams_tests):
        for path, value in part(hanna):
            yield ("hanna", *path), value


def means(hanna: Hanna) -> Iterator[Figure]:
    """Yield mean scores by system, and how many scores lie below the scale."""
    mapping = {"rater": "annotator_id", "eval_prompt": "variant"}
    for row in rating_means(hanna.ratings, mapping=mapping, llms=LLMS):
        place = ("human_mean_by_system",) if row.group == "human" else ("llm_mean_by_system", *row.group.split("/"))
        yield (*place, row.criterion, row.system), row.mean
    llms = hanna.ratings.filter(pl.col("rater").is_in(LLMS))
    counts = llms.group_by("rater", "eval_prompt", "criterion").agg((pl.col("score") < 1).sum())
    for llm, way, criterion, below in counts.iter_rows():
        yield ("llm_scores_below_1_count", llm, str(way), criterion), below


def agreement(hanna: Hanna) -> Iterator[Figure]:
    """Yield ICCs and alphas of the three slots."""
    people = hanna.ratings.filter(pl.col("rater").is_in(PEOPLE)).drop("eval_prompt").rename({"rater": "annotator_id"})
    for criterion in CRITERIA:
        own = people.filter(pl.col("criterion") == criterion)
        yield from iccs(own, "human_icc_11_systems_1056_stories", criterion)
        for level in LEVELS:
            alpha = krippendorff_alpha(own, level=level).value
            yield ("human_alpha_item_scores", criterion, level), alpha


def correlations(hanna: Hanna) -> Iterator[Figure]:
    """Yield every LLM, metric and slot beside the mean of people."""
    for criterion in CRITERIA:
        people = hanna.people(criterion)
        for llm in LLMS:
            for way in ("1", "2", "3", "4"):
                own = hanna.scores[f"{llm} {way}", criterion]
                yield from of_scopes(own, people, "llm_vs_mean_human", llm, way, criterion)
        for metric, own in hanna.metrics.items():
            yield from of_scopes(own, people, "metric_vs_mean_human", metric, criterion)
        for slot in PEOPLE:
            own = hanna.scores[slot, criterion]
            yield from of_scopes(own, people, "human_k_vs_mean_of_three", criterion, slot)
            yield from of_scopes(own, (people * 3 - own) / 2, "human_k_vs_mean_of_other_two", criterion, slot)


def of_scopes(a: Floats, b: Floats, *place: str) -> Iterator[Figure]:
    """Yield the coefficients with and without the human stories as a system."""
    for scope, names in SCOPES.items():
        paired = pair(a, b, with_human=scope == "all_11_systems")
        yield from of_levels(paired, dict(names), *place, scope)


def tau(a: Floats, b: Floats, level: Any) -> float:
    """Return Kendall's tau-b over the ten systems' stories or means."""
    rows = correlate_levels(pair(a, b, with_human=False), (level,))
    found = next(row.value for row in rows if row.method == "kendall")
    assert found is not None
    return found


def heatmap(hanna: Hanna) -> Iterator[Figure]:
    """Yield the paper's figure of Kendall's tau, in hundredths; that of people is rounded, then averaged."""
    for level in ("overall", "system"):
        for criterion in CRITERIA:
            people = hanna.people(criterion)
            for name in IN_FIGURE:
                own = PEOPLE if name == "Human" else (name,)
                shown = [round(100 * abs(tau(hanna.measure(side, criterion), people, level))) for side in own]
                place = ("kendall_heatmap_100_abs_rounded", "ties_respected", level, criterion, name)
                yield place, round(float(np.mean(shown)))


def williams_tests(hanna: Hanna) -> Iterator[Figure]:
    """Yield Williams's tests of Beluga-13B (first way of asking) against the other measures, as a report makes them.

    One-sided, Benjamini-Hochberg over the criteria of a level together, of the ten systems that are no people.
    """
    found = {(row.level, row.criterion, row.b): row for row in compared_with(hanna, OWN, COMPARED)}
    for level in ("overall", "system"):
        for number, (criterion, name) in enumerate(product(CRITERIA, COMPARED)):
            test = found[level, criterion, shown(name)]
            row = {
                "criterion": criterion,
                "other": name,
                "n": test.n,
                "r12": test.value_a,
                "r13": test.value_b,
                "r23": test.value_ab,
                "beluga_higher": test.reason != NOT_HIGHER,
                "t": test.t if test.p_value is not None else None,
                "p_one_sided": test.p_value,
            }
            more = {} if test.p_adjusted is None else {"p_bh_within_these_criteria": test.p_adjusted}
            for key, value in {**row, **more}.items():
                yield ("williams_beluga_ep1_vs_others", level, str(number), key), value


def shown(name: str) -> str:
    """Return the name that results have for one of the paper.

    >>> shown("ChatGPT 1"), shown("BERTScore")
    ('ratings:ChatGPT/1', 'metrics:BERTScore F1')
    """
    llm, _, way = name.partition(" ")
    return f"ratings:{llm}/{way}" if llm in LLMS else f"metrics:{PUBLISHED.get(name, name)}"


def compared_with(hanna: Hanna, first: str, others: Sequence[str]) -> Sequence[ComparisonRow]:
    """Compare one LLM with the other measures, all with people, of the stories that no person wrote."""
    llms = [name for name in (first, *others) if name.split(" ")[0] in LLMS]
    name = pl.concat_str(["rater", "eval_prompt"], separator=" ", ignore_nulls=True)
    ratings = hanna.ratings.filter(pl.col("system") != "Human", name.is_in([*PEOPLE, *llms]))
    ratings = ratings.sort(name.replace_strict({one: place for place, one in enumerate([*PEOPLE, *llms])}))
    wanted = [PUBLISHED.get(one, one) for one in others if one not in llms]
    metrics = hanna.metric_table.filter(pl.col("system") != "Human", pl.col("metric").is_in(wanted))
    tables = check_frames(
        {"ratings": ratings, "metrics": metrics},
        Reading(
            mapping={"rater": "annotator_id", "eval_prompt": "variant"},
            llms=sorted({one.split(" ")[0] for one in llms}),
        ),
    )
    plan = Plan(williams_alternative="greater", williams_criteria="together")
    checked = prepare_input(tables, plan, None)
    return correlate_groups(
        checked.kept["ratings"], checked.tables.metrics, checked.groups, checked.orders["ratings"], checked.plan
    ).compared


def user_study(data: Path) -> Iterator[Figure]:
    """Yield error rates and agreement of the study of explanations."""
    table = pl.read_csv(data / "hanna" / "user_study.csv")
    for (category,), own in table.group_by("category", maintain_order=True):
        place = ("hanna_user_study", str(category))
        by_item = own.group_by("explanation_id").agg(pl.col("error").sum())["error"]
        yield (*place, "error_rate"), own["error"].sum() / own.height
        yield (*place, "errors"), own["error"].sum()
        yield (*place, "n"), own.height
        yield (*place, "majority_error_rate"), (by_item >= 2).sum() / len(by_item)
        yield (*place, "any_error_rate"), (by_item >= 1).sum() / len(by_item)
        by_slot = own.group_by("annotator").agg(pl.col("error").sum() / pl.len()).sort("annotator")["error"]
        yield from (((*place, "mean_by_slot", str(slot)), value) for slot, value in enumerate(by_slot.to_list()))
        tidy = own.select(item_id="explanation_id", annotator_id="annotator", score="error")
        found = gwet_ac1(tidy)
        if found.value is None:
            continue  # incorrectness: nobody saw an error, and the file holds no coefficient
        observed = float(np.mean([pair.exact_agreement for pair in pairwise_agreement(tidy)]))
        yield (*place, "gwet_ac1"), found.value
        yield (*place, "gwet_ci95", "0"), found.ci_low
        yield (*place, "gwet_ci95", "1"), found.ci_high
        yield (*place, "gwet_pa"), observed
        yield (*place, "gwet_pe"), (observed - found.value) / (1 - found.value)
        yield (*place, "fleiss_kappa"), fleiss_kappa(tidy).value
        yield (*place, "krippendorff_alpha_nominal"), krippendorff_alpha(tidy, level="nominal").value
