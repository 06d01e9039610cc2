"""How far the annotators of a table of ratings agree, from the sums of each output."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np

from analysis.agreement.krippendorff import alpha_of_statistic, interval_statistic
from analysis.agreement.rows import AgreementRow, agreement_row, level_of
from analysis.answers.plan import Plan
from analysis.large.criterion_sums import CriterionSums, by_criterion
from analysis.large.totals import AnswerTotals
from analysis.statistics.coding import snap

MOST_PROFILES = 100_000  # outputs with different sums up to which they are resampled
NO_INTERVAL = f"no interval: more than {MOST_PROFILES:,} outputs with different sums"


def alphas(totals: AnswerTotals, plan: Plan) -> list[AgreementRow]:
    """Return Krippendorff's alpha at the interval level of each group of people and criterion.

    Of a unit it needs the number of its answers, their sum, and that of their squares. There is none where somebody
    answered more than once about one output, and of LLMs, whose raters are their repeats.
    """
    rows = (_alpha(part, plan) for part in by_criterion(totals)) if totals.scores is not None else ()
    return [row for row in rows if row is not None]


def _alpha(part: CriterionSums, plan: Plan) -> AgreementRow | None:
    own, overall = part.scores["item"], part.scores["overall"]
    paired = own["n"] > 1
    once = part.blocks == part.clusters and part.scores["clusters"]["clusters"].sum() == overall["n"].sum()
    if part.llm or part.n_annotators < 2 or not once or paired.sum() < 2:
        return None
    if not overall["squares"].any() and len(np.unique(overall["total"] / overall["n"])) == 1:
        return None  # one score everywhere
    sums = np.stack([own[name][paired].astype(np.float64) for name in ("n", "total", "squares")], axis=1)
    profiles, units = np.unique(sums, axis=0, return_counts=True)
    n, total, squares = profiles.T
    middle = float((units @ total) / (units @ n))
    agree = snap(squares - total**2 / n, scale=part.scale**2 * float(n.max())) == 0
    away, away_squared = total - n * middle, squares - 2 * middle * total + n * middle**2
    few = len(profiles) <= MOST_PROFILES
    seed = [plan.seed, zlib.crc32(f"{part.group}\n{part.criterion}".encode())]
    found = alpha_of_statistic(
        interval_statistic(n, away / part.scale, away_squared / part.scale**2, agree),
        units.astype(np.int64),
        level="interval",
        n_items=int(paired.sum()),
        n_annotators=part.n_annotators,
        confidence=plan.confidence,
        rng=np.random.default_rng(seed) if few else None,
    )
    scores = part.counts["score"]
    level = level_of(scores) if len(scores) else "interval"
    return agreement_row(
        found if few else replace(found, reason=NO_INTERVAL), "ratings", part.group, part.criterion, level
    )
