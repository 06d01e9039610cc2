"""Correlations of two published studies against numbers computed with scipy and statsmodels, all of them.

Sottana et al. (2023) and Chhun et al. (2024); ``check_against_published`` in the file of expected
numbers says which of these the publications print.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.coding import Floats
from analysis.corrections import benjamini_hochberg
from analysis.correlations import PairedScores, correlate, correlate_levels, williams_of_sizes

PUBLISHED = {  # column of the paper's figure -> metric in the file
    "BARTScore": "BARTScore-SH",
    "BERTScore": "BERTScore F1",
    "ROUGE-1": "ROUGE-1 Recall",
    "BaryScore": "BaryScore-W",
    "SUPERT": "SUPERT-PS",
    "BLANC": "BLANC-Tune-PS",
}
Block = Mapping[str, Any]


class Tally:
    """Counts the figures that agree and keeps the others."""

    def __init__(self) -> None:
        self.agreeing: Counter[str] = Counter()
        self.wrong: list[str] = []

    def compare(self, block: str, where: str, found: float | None, wanted: float | None) -> None:
        """Compare one figure to nine digits; a coefficient that is 0 but for rounding is 0.

        CIDEr holds values like 1e-318, from which scipy's mean loses digits: Pearson's r within one
        prompt is -(2/15) / sqrt(6.64) = -0.051743369, not the -0.051743290 in the expected average.
        """
        if found is None or wanted is None:
            same = found is wanted
        else:
            subnormal = "CIDEr" in where and "per_prompt pearson" in where
            absolute = 1e-300 if where.endswith(" p") else 1e-8 if subnormal else 1e-13
            same = found == pytest.approx(wanted, rel=1e-9, abs=absolute)
        if same:
            self.agreeing[block] += 1
        else:
            self.wrong.append(f"{block} {where}: {found} instead of {wanted}")

    def compare_levels(self, block: str, where: str, paired: PairedScores, wanted: Block) -> None:
        """Compare everything that one block says of two measures."""
        names = {"overall": "overall", "system": "system", "per_prompt": "per_item"}
        rows = {(row.level, row.method): row for row in correlate_levels(paired)}
        for name, figures in wanted.items():
            for method in ("pearson", "spearman", "kendall"):
                row = rows[names[name], method]  # type: ignore[index]
                place = f"{where} {name} {method}"
                if name == "per_prompt":
                    self.compare(block, place, row.value, figures[method])
                    self.compare(block, f"{place} n", row.n, figures["n_prompts_used"])
                    continue
                self.compare(block, f"{place} r", row.value, figures[method]["r"])
                self.compare(block, f"{place} p", row.p_value, figures[method]["p"])
                self.compare(block, f"{place} n", row.n, figures["n"])

    def finish(self, least: Mapping[str, int]) -> None:
        """Require that all agree and that no figure was passed over."""
        assert self.wrong == []
        assert dict(self.agreeing) == least


class Hanna:
    """Scores by measure and criterion, one value a story; stories 0 to 95 are human."""

    def __init__(self, folder: Path) -> None:
        ratings = pl.read_csv(folder / "hanna" / "ratings.csv")
        name = pl.concat_str(["rater", "eval_prompt"], separator=" ", ignore_nulls=True)
        self.scores: dict[tuple[str, str], Floats] = {
            (str(key[0]), str(key[1])): rows.sort("story_id")["score"].to_numpy()
            for key, rows in ratings.with_columns(name.alias("name")).group_by("name", "criterion")
        }
        metrics = pl.read_csv(folder / "hanna" / "automatic_metrics.csv")
        self.metrics: dict[str, Floats] = {
            str(key[0]): rows.sort("story_id")["score"].to_numpy() for key, rows in metrics.group_by("metric")
        }

    def people(self, criterion: str) -> Floats:
        """Return the sums of the three ratings of each story over three."""
        total: Floats = np.sum([self.scores[f"human_{slot}", criterion] for slot in (1, 2, 3)], axis=0) / 3
        return total

    def measure(self, name: str, criterion: str) -> Floats:
        """Return an LLM's scores ("Beluga-13B 1") or a metric by its name in the paper."""
        return self.scores.get((name, criterion), self.metrics.get(PUBLISHED.get(name, name)))  # type: ignore[return-value]


def paired(a: Floats, b: Floats, *, with_human: bool) -> PairedScores:
    story = np.arange(len(a))
    kept = story >= (0 if with_human else 96)
    return PairedScores(item=story[kept] % 96, system=story[kept] // 96, a=a[kept], b=b[kept])


@pytest.fixture(scope="module")
def expected(shared_data: Path) -> Any:
    return json.loads((shared_data / "expected_visible.json").read_text())


@pytest.fixture(scope="module")
def hanna(shared_data: Path) -> Hanna:
    return Hanna(shared_data)


def scopes(block: Block) -> Iterator[tuple[bool, Block]]:
    yield False, block["without_human_system"]
    yield True, block["all_11_systems"]


def test_sottana(shared_data: Path, expected: Any) -> None:
    tally = Tally()
    for task in ("summarization", "simplification"):
        table = pl.read_csv(shared_data / "sottana" / f"{task}_ratings.csv", infer_schema_length=None)
        for criterion, block in expected["sottana"][task]["per_criterion"].items():
            wide = table.filter(pl.col("criterion") == criterion).pivot(
                "rater", index=["item_id", "system"], values="score"
            )
            item, system = (wide[name].rank("dense").to_numpy().astype(np.int64) - 1 for name in ("item_id", "system"))
            people = [name for name in wide.columns if name not in {"item_id", "system", "gpt4"}]
            mean = wide.select(people).to_numpy().sum(axis=1) / 3
            both = PairedScores(item=item, system=system, a=wide["gpt4"].to_numpy(), b=mean)
            tally.compare_levels("gpt4_vs_mean_human", f"{task} {criterion}", both, block["gpt4_vs_mean_human"])
            for person, wanted in block["human_vs_mean_of_other_two"].items():
                others = wide.select([name for name in people if name != person]).to_numpy().sum(axis=1) / 2
                one = PairedScores(item=item, system=system, a=wide[person].to_numpy(), b=others)
                tally.compare_levels("human_vs_mean_of_other_two", f"{criterion} {person}", one, {"overall": wanted})
    tally.finish({"gpt4_vs_mean_human": 7 * 2 * 9, "human_vs_mean_of_other_two": 7 * 3 * 9})


def test_hanna_llms_metrics_and_people(hanna: Hanna, expected: Any) -> None:
    tally = Tally()
    for llm, ways in expected["hanna"]["llm_vs_mean_human"].items():
        for way, criteria in ways.items():
            for criterion, block in criteria.items():
                for with_human, wanted in scopes(block):
                    pair = paired(
                        hanna.scores[f"{llm} {way}", criterion], hanna.people(criterion), with_human=with_human
                    )
                    tally.compare_levels("llm_vs_mean_human", f"{llm} {way} {criterion} {with_human}", pair, wanted)
    for metric, criteria in expected["hanna"]["metric_vs_mean_human"].items():
        for criterion, block in criteria.items():
            for with_human, wanted in scopes(block):
                pair = paired(hanna.metrics[metric], hanna.people(criterion), with_human=with_human)
                tally.compare_levels("metric_vs_mean_human", f"{metric} {criterion} {with_human}", pair, wanted)
    for name, left_out in (("human_k_vs_mean_of_three", False), ("human_k_vs_mean_of_other_two", True)):
        for criterion, slots in expected["hanna"][name].items():
            for slot, block in slots.items():
                own = hanna.scores[slot, criterion]
                rest = (hanna.people(criterion) * 3 - own) / 2 if left_out else hanna.people(criterion)
                for with_human, wanted in scopes(block):
                    pair = paired(own, rest, with_human=with_human)
                    tally.compare_levels(name, f"{slot} {criterion} {with_human}", pair, wanted)
    each = 2 * 9 + 6 + 2 * 9  # without the human system on three levels, with it on two
    tally.finish(
        {
            "llm_vs_mean_human": 5 * 4 * 3 * each,
            "metric_vs_mean_human": 72 * 3 * each,
            "human_k_vs_mean_of_three": 9 * each,
            "human_k_vs_mean_of_other_two": 9 * each,
        }
    )


def test_hanna_figure_of_kendall(hanna: Hanna, expected: Any) -> None:
    tally = Tally()
    for level, criteria in expected["hanna"]["kendall_heatmap_100_abs_rounded"]["ties_respected"].items():
        for criterion, columns in criteria.items():
            target = hanna.people(criterion)
            for name, wanted in columns.items():
                sides = (
                    [hanna.scores[f"human_{slot}", criterion] for slot in (1, 2, 3)]
                    if name == "Human"
                    else [hanna.measure(name, criterion)]
                )
                shown = [round(100 * abs(tau(side, target, level))) for side in sides]  # rounded, then averaged
                tally.compare("heatmap", f"{level} {criterion} {name}", round(float(np.mean(shown))), wanted)
    tally.finish({"heatmap": 2 * 3 * 25})


def test_hanna_williams_with_benjamini_hochberg(hanna: Hanna, expected: Any) -> None:
    tally = Tally()
    for level, rows in expected["hanna"]["williams_beluga_ep1_vs_others"].items():
        tests = []
        for row in rows:
            criterion = row["criterion"]
            target, own = hanna.people(criterion), hanna.scores["Beluga-13B 1", criterion]
            other = hanna.measure(row["other"], criterion)
            r12, r13, r23 = tau(own, target, level), tau(other, target, level), tau(own, other, level)
            where = f"{level} {criterion} {row['other']}"
            for name, value in {"r12": r12, "r13": r13, "r23": r23}.items():
                tally.compare("williams", f"{where} {name}", abs(value), abs(row[name]))
            found = williams_of_sizes(r12, r13, r23, row["n"])
            tally.compare("williams", f"{where} t", found.t, row["t"])
            tally.compare("williams", f"{where} p", found.p_one_sided, row["p_one_sided"])
            assert (found.p_one_sided is None) == (found.reason is not None)
            tests.append(found)
        adjusted = benjamini_hochberg([found.p_one_sided for found in tests]).p_adjusted
        for row, p_adjusted in zip(rows, adjusted, strict=True):
            tally.compare("williams", f"{level} {row['other']} BH p", p_adjusted, row.get("p_bh_within_these_criteria"))
    tally.finish({"williams": 2 * 33 * 6})


def tau(a: Floats, b: Floats, level: str) -> float:
    pair = paired(a, b, with_human=False)
    rows = correlate_levels(pair, ("overall",) if level == "overall" else ("system",))
    found = next(row.value for row in rows if row.method == "kendall")
    assert found is not None
    return found


def test_exact_ties_do_not_depend_on_how_the_means_were_summed(hanna: Hanna, expected: Any) -> None:
    """Means summed by numpy differ in the last bit; unrounded they give .5111 instead of .4944."""
    story = np.arange(96, 1056)
    means = [
        [float(np.mean(scores[story[story // 96 == system]])) for system in range(1, 11)]
        for scores in (hanna.scores["Beluga-13B 1", "RE"], hanna.people("RE"))
    ]
    wanted = expected["hanna"]["llm_vs_mean_human"]["Beluga-13B"]["1"]["RE"]["without_human_system"]["system"]
    assert correlate(*means).value == pytest.approx(wanted["kendall"]["r"], rel=1e-12)
