"""Published ratings in random orders: when a live study would have decided, and what."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import ttest_1samp

from analysis.sequential.replay import replay
from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats
from analysis.statistics.corrections import holm

RULE = StoppingRule(effect=0.0625, sd=0.125)  # half a point of five, differences of SD one point
WIDTH = 4  # points from 1 to 5
BATCH = 100  # orders in memory


def studies(data: Path) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield name and people's scores: item, system, score."""
    for task in ("summarization", "simplification"):
        table = pl.read_csv(data / "sottana" / f"{task}_ratings.csv", infer_schema_length=None).filter(
            pl.col("rater") != "gpt4"
        )
        for (criterion,), part in table.group_by("criterion", maintain_order=True):
            yield f"Sottana, {task}, {criterion}", part.select(item="item_id", system="system", score="score")
    table = pl.read_csv(data / "hanna" / "ratings.csv").filter(pl.col("rater").str.starts_with("human"))
    for (criterion,), part in table.group_by("criterion", maintain_order=True):
        yield (
            f"HANNA, {criterion}",
            part.select(item=pl.col("story_id") % 96, system="system", score="score"),
        )


def values_of(table: pl.DataFrame) -> Floats:
    """Return an item's mean difference of each pair, mapped onto [0, 1], shape (n_items, n_pairs)."""
    wide = table.group_by("item", "system").agg(pl.col("score").mean()).pivot("system", index="item", values="score")
    systems = table["system"].unique(maintain_order=True).to_list()
    scores = wide.sort("item").select(systems).to_numpy()
    return np.column_stack(
        [(scores[:, x] - scores[:, y]) / WIDTH / 2 + 0.5 for x, y in combinations(range(len(systems)), 2)]
    )


def fixed_decisions(values: Floats, fwer: float) -> list[str]:
    """Return what Holm's paired t-tests over all items decide."""
    adjusted = holm([float(ttest_1samp(column, 0.5).pvalue) for column in values.T], fwer=fwer)
    means = values.mean(axis=0)
    return [
        "" if not rejected else "x" if mean > 0.5 else "y"
        for rejected, mean in zip(adjusted.rejected, means, strict=True)
    ]


def table(data: Path, orders: int, seed: int) -> Iterator[str]:
    """Yield the rows."""
    yield "| study | items | pairs | fixed | live | median item | other system | live only | fixed only |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for place, (name, scores) in enumerate(studies(data)):
        values, rng = values_of(scores), np.random.default_rng([seed, place])
        fixed = np.array(fixed_decisions(values, RULE.error_rate))
        counts, at = np.zeros(4), []
        for _ in range(orders // BATCH):
            shuffled = values[rng.permuted(np.tile(np.arange(len(values)), (BATCH, 1)), axis=1)]
            found = replay(shuffled, RULE)
            live, decided, expected = found.decisions, found.decisions != "", fixed != ""
            at.append(found.decided_at[decided])
            kinds = (decided, decided & expected & (live != fixed), decided & ~expected, expected & ~decided)
            counts += [kind.sum() for kind in kinds]
        share = counts / (orders // BATCH * BATCH)
        shares = " | ".join(f"{100 * count / len(fixed):.1f} %" for count in share[1:])
        yield (
            f"| {name} | {len(values)} | {len(fixed)} | {(fixed != '').sum()} | {share[0]:.1f} | "
            f"{np.median(np.concatenate(at)):.0f} | {shares} |"
        )
