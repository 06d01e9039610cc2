"""How far annotators agree about outputs, and about pairs of outputs, from the sums of each."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from analysis.agreement.counts import Profiles, profiles_of_counts
from analysis.agreement.krippendorff import Level, alpha_of_statistic, alpha_statistic, interval_statistic
from analysis.agreement.measures import LEVELS
from analysis.agreement.resampling import Statistic
from analysis.agreement.rows import JUDGED, AgreementRow, agreement_row, level_of
from analysis.answers.plan import Plan
from analysis.large.criterion_sums import PAIR, Columns, CriterionSums, by_criterion, option_counts
from analysis.large.totals import AnswerTotals
from analysis.statistics.coding import Floats, Ints, snap

MOST_PROFILES = 100_000  # outputs with different sums up to which they are resampled
NO_INTERVAL = f"no interval: more than {MOST_PROFILES:,} outputs with different sums"


def alphas(totals: AnswerTotals, plan: Plan) -> list[AgreementRow]:
    """Return Krippendorff's alpha of each group of people and criterion.

    Of a unit it needs how often each answer was given (at the interval level: the number of its answers, their sum,
    and that of their squares, which is all that is known of scales with many steps). There is none where somebody
    answered more than once about one output, where several samples of outputs were shown, and of LLMs, whose raters are
    their repeats.
    """
    rows: list[AgreementRow] = []
    for part in by_criterion(totals):
        own = part.scores or part.pairs
        once = part.blocks == part.clusters and own["clusters"]["clusters"].sum() == own["overall"]["n"].sum()
        if part.llm or part.n_annotators < 2 or not once or part.sampled:
            continue
        rows += _of_choices(part, plan) if part.kind == "choices" else _of_ratings(part, plan)
    return rows


def _of_choices(part: CriterionSums, plan: Plan) -> Iterator[AgreementRow]:
    """Yield alpha of wins, ties and losses in the direction in which a pair was first asked."""
    own, k = part.pairs["item"], len(part.systems)
    place = {system: number for number, system in enumerate(part.systems)}
    turned = np.array([place[x] * k + place[y] for y, x in part.listed])
    counts = np.stack([own["n"] - own["tied"] - own["above"], own["tied"], own["above"]], axis=1)
    backward = np.isin(own[PAIR], turned)
    counts[backward] = counts[backward, ::-1]
    seed = [plan.seed, zlib.crc32(f"choices\n{part.group}\n{part.criterion}".encode())]
    level = JUDGED["choices"]
    profiles = _profiles(np.array([0.0, 0.5, 1.0]), counts)
    if profiles is not None:
        yield _row(part, level, level, alpha_statistic(profiles, level), profiles.units, plan, seed)


def _of_ratings(part: CriterionSums, plan: Plan) -> Iterator[AgreementRow]:
    own, overall = part.scores["item"], part.scores["overall"]
    if not overall["squares"].any() and len(np.unique(overall["total"] / overall["n"])) == 1:
        return  # one score everywhere
    seed = [plan.seed, zlib.crc32(f"{part.group}\n{part.criterion}".encode())]
    scores = part.counts["score"]
    fitting = level_of(scores) if len(scores) else "interval"
    counts = option_counts(part, "item")
    if counts is None:
        statistic, units = _interval(own, part.scale)
        if len(units):
            yield _row(part, "interval", fitting, statistic, units, plan, [*seed, LEVELS.index("interval")])
        return
    profiles = _profiles(part.options, counts)
    for place, level in enumerate(LEVELS if profiles is not None else ()):
        assert profiles is not None
        yield _row(part, level, fitting, alpha_statistic(profiles, level), profiles.units, plan, [*seed, place])


def _profiles(values: Floats, counts: Ints) -> Profiles | None:
    """Fold the units with two answers or more; ``None`` where there are fewer than two, or one answer everywhere."""
    counts = counts[counts.sum(axis=1) > 1]
    given = counts.any(axis=0)
    return profiles_of_counts(values[given], counts[:, given]) if len(counts) > 1 and given.sum() > 1 else None


def _interval(own: Columns, scale: float) -> tuple[Statistic, Ints]:
    """Return alpha at the interval level as a function of how often outputs with the same sums count."""
    paired = own["n"] > 1
    sums = np.stack([own[name][paired].astype(np.float64) for name in ("n", "total", "squares")], axis=1)
    profiles, units = np.unique(sums, axis=0, return_counts=True)
    n, total, squares = profiles.T
    middle = float((units @ total) / max(units @ n, 1))
    agree = snap(squares - total**2 / n, scale=scale**2 * float(n.max(initial=1))) == 0
    away, away_squared = total - n * middle, squares - 2 * middle * total + n * middle**2
    return interval_statistic(n, away / scale, away_squared / scale**2, agree), units.astype(np.int64)


def _row(
    part: CriterionSums,
    level: Level,
    fitting: Level,
    statistic: Statistic,
    units: Ints,
    plan: Plan,
    seed: Sequence[int],
) -> AgreementRow:
    few = len(units) <= MOST_PROFILES
    found = alpha_of_statistic(
        statistic,
        units,
        level=level,
        n_items=int(units.sum()),
        n_annotators=part.n_annotators,
        confidence=plan.confidence,
        rng=np.random.default_rng(seed) if few else None,
    )
    found = found if few else replace(found, reason=NO_INTERVAL)
    return agreement_row(found, part.kind, part.group, part.criterion, fitting)
