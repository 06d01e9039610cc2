"""How far annotators agree about outputs, and about pairs of outputs, from the sums of each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.agreement.counts import Profiles, profiles_of_counts
from analysis.agreement.gwet import all_categories, chance_corrected, share_alike
from analysis.agreement.krippendorff import (
    Level,
    alpha_of_statistic,
    alpha_statistic,
    interval_statistic,
    profiles_agree,
)
from analysis.agreement.measures import LEVELS
from analysis.agreement.pairwise import FEW_ANNOTATORS
from analysis.agreement.resampling import Statistic
from analysis.agreement.result import CONSTANT, too_few
from analysis.agreement.rows import JUDGED, AgreementRow, agreement_row, choice_categories, level_of
from analysis.answers.plan import Plan
from analysis.answers.scales import Steps, scale_steps
from analysis.comparisons.ratings import RatingMean
from analysis.descriptives.rating_breakdowns import (
    LISTED,
    MANY_RATERS,
    ONE_RATER,
    AnnotatorMean,
    SystemBreakdown,
    system_breakdown,
)
from analysis.large.criterion_sums import (
    Columns,
    CriterionSums,
    by_criterion,
    option_counts,
    squares_about_mean,
    ways_of_totals,
)
from analysis.large.rating_sums import SINGLE
from analysis.large.totals import AnswerTotals
from analysis.rating_checks.many_tests import Flags
from analysis.statistics.coding import Floats, Ints, snap
from analysis.statistics.reasons import several, why

MOST_PROFILES = 100_000  # outputs with different sums up to which they are resampled
NO_INTERVAL = why("no_interval_too_many_profiles", most=MOST_PROFILES)


def agreement_of_sums(totals: AnswerTotals, plan: Plan) -> list[AgreementRow]:
    """Return the coefficients of agreement of each group of people and criterion that follow from sums.

    They need how often each answer was given to a unit (alpha at the interval level: the number of its answers, their
    sum, and that of their squares, which is all that is known of scales with many steps). There are none where somebody
    answered more than once about one output, where several samples of outputs were shown, and of LLMs, whose raters are
    their repeats.
    """
    rows: list[AgreementRow] = []
    parts = [*by_criterion(totals)]
    steps = scale_steps(ways_of_totals(totals), totals.scales, None)
    tied = {part.criterion for part in parts if part.kind == "choices" and part.pairs["item"]["tied"].any()}
    for part in parts:
        if part.n_annotators > 1 and _answered_once(part):
            if part.kind == "choices":
                rows += _of_choices(part, plan, choice_categories(ties=part.criterion in tied))
            else:
                rows += _of_ratings(part, plan, steps.get(part.criterion))
    return rows


def _answered_once(part: CriterionSums) -> bool:
    """Say whether raters are people who answered once about each unit."""
    own = part.scores or part.pairs
    once = part.blocks == part.clusters and own["clusters"]["clusters"].sum() == own["overall"]["n"].sum()
    return bool(once) and not part.llm and not part.sampled


def breakdowns_of_sums(totals: AnswerTotals, means: Sequence[RatingMean]) -> list[SystemBreakdown]:
    """Return mean, spread and agreement of each system, but for the mean tau of few raters."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for part in by_criterion(totals) if means else ():
        for system, measured in _by_system(part):
            found[part.group, part.criterion, part.systems[system]] = measured
    places = [(row, (row.group, row.criterion, row.system)) for row in means]
    return [system_breakdown(row, **{"sd_answers": row.sd, **found[place]}) for row, place in places]


def annotators_of_sums(totals: AnswerTotals) -> Iterator[AnnotatorMean]:
    """Yield mean and spread of each person and system, in groups of few people."""
    parts = [part for part in by_criterion(totals) if part.scores and not part.llm]
    for group in dict.fromkeys(part.group for part in parts):
        rated = [part for part in parts if part.group == group]
        numbers = np.unique(np.concatenate([part.scores["annotator"]["annotator"] for part in rated])).tolist()
        if len(numbers) > LISTED or totals.names is None:
            continue
        named = totals.names.filter(totals.names["annotator"].is_in(numbers)).sort("annotator_id")
        for number, name in named.select("annotator", "annotator_id").iter_rows():
            for part in rated:
                own = part.scores["annotator"]
                for row in np.flatnonzero(own["annotator"] == number).tolist():
                    n, total, squares = (own[column][row : row + 1] for column in ("n", "total", "squares"))
                    rest, cells = squares_about_mean(n, total, squares, part.scale).item(), n.item()
                    yield AnnotatorMean(
                        group=group,
                        annotator_id=name,
                        criterion=part.criterion,
                        system=part.systems[own["system"][row]],
                        n=cells,
                        mean=snap(total / n, scale=part.scale).item(),
                        sd=math.sqrt(rest / (cells - 1)) if cells > 1 else None,
                    )


def _by_system(part: CriterionSums) -> Iterator[tuple[int, dict[str, Any]]]:
    """Measure the agreement on each system alone, on the scale level of all systems together."""
    own, overall = part.scores["item"], part.scores["overall"]
    repeated: dict[str, Any] = {} if part.answers == overall["n"].sum() else {"sd_answers": None}
    raters = np.bincount(part.scores["annotator"]["system"], minlength=len(part.systems))
    counts, level = option_counts(part, "item"), _fitting(part)
    once_each = part.answers == overall["n"].sum() and not (own["n"] > 1).any()
    if counts is not None:
        level = level_of(part.options[counts[raters[own["system"]] > 1].any(axis=0)])
    follows = _answered_once(part) and (counts is not None or level == "interval")
    for system in overall["system"].tolist():
        rows = (own["system"] == system) & (own["n"] > 1)
        if raters[system] < 2 and (not part.llm or once_each):
            found: dict[str, Any] = {"reason": ONE_RATER}
        elif follows:
            found = _of_system(part, rows, None if counts is None else counts[rows], level, int(raters[system]))
        else:
            found = {"reason": SINGLE}
        yield system, found | repeated


def _of_system(part: CriterionSums, rows: Flags, counts: Ints | None, level: Level, raters: int) -> dict[str, Any]:
    """Return what units with two answers or more say, ``rows`` of the sums, and how often each option was given."""
    n = int(rows.sum())
    reason, alpha, exact = too_few(raters, n), None, None
    if counts is not None and n > 1:
        exact = float(np.mean(counts.max(axis=1) == counts.sum(axis=1)))
    if reason is None and counts is not None and counts.any(axis=0).sum() == 1:
        reason = CONSTANT
    elif reason is None:
        if counts is None:
            own = {name: part.scores["item"][name][rows] for name in ("n", "total", "squares")}
            statistic, units = _interval(own, part.scale)
            reason = why("no_share_alike", reason=SINGLE)
        else:
            profiles = _profiles(part.options, counts)
            statistic, units = alpha_statistic(profiles, level), profiles.units
        alpha = float(statistic(units[None, :].astype(np.float64))[0])
        if np.isnan(alpha):
            alpha, reason = None, CONSTANT
    reasons = [reason, MANY_RATERS if raters > FEW_ANNOTATORS else why("no_mean_tau", reason=SINGLE)]
    return {
        "n_items": n,
        "n_annotators": raters,
        "alpha": alpha,
        "alpha_measure": f"krippendorff_alpha_{level}",
        "exact_agreement": exact,
        "reason": several(reasons),
    }


def _of_choices(part: CriterionSums, plan: Plan, categories: Steps) -> Iterator[AgreementRow]:
    """Yield the coefficients of wins, ties and losses."""
    own, level = part.pairs["item"], JUDGED["choices"]
    counts = np.stack([own["n"] - own["tied"] - own["above"], own["tied"], own["above"]], axis=1)
    yield from _of_counts(part, np.array([-1.0, 0.0, 1.0]), counts, categories, {level: [plan.seed]}, level, plan)


def _of_ratings(part: CriterionSums, plan: Plan, categories: Steps | None) -> Iterator[AgreementRow]:
    own, overall = part.scores["item"], part.scores["overall"]
    if not overall["squares"].any() and len(np.unique(overall["total"] / overall["n"])) == 1:
        return  # one score everywhere
    seed = [plan.seed]
    fitting = _fitting(part)
    counts = option_counts(part, "item")
    if counts is None:
        statistic, units = _interval(own, part.scale)
        if len(units):
            yield _row(part, "interval", fitting, statistic, units, plan, [*seed, LEVELS.index("interval")])
        return
    seeds = {level: [*seed, place] for place, level in enumerate(LEVELS)}
    categories = categories if categories is not None and np.isin(part.options, categories).all() else None
    yield from _of_counts(part, part.options, counts, categories, seeds, fitting, plan)


def _fitting(part: CriterionSums) -> Level:
    scores = part.counts["score"]
    return level_of(scores) if len(scores) else "interval"


def _of_counts(
    part: CriterionSums,
    values: Floats,
    counts: Ints,
    categories: Steps | None,
    seeds: Mapping[Level, Sequence[int]],
    fitting: Level,
    plan: Plan,
) -> Iterator[AgreementRow]:
    """Yield all that follows from how often each value was given to each unit, as for a table read whole."""
    turns = part.kind == "choices"
    pairable = counts[counts.sum(axis=1) > 1]
    given = pairable.any(axis=0)
    if len(pairable) < 2 or (given.sum() < 2 and not (turns and values[given].any())):
        return
    paired = _profiles(values, pairable, turns=turns)
    for level, seed in seeds.items():
        yield _row(part, level, fitting, alpha_statistic(paired, level), paired.units, plan, seed)
    about: dict[str, Any] = {"n_annotators": part.n_annotators, "confidence": plan.confidence}
    found = [share_alike(int(paired.units[profiles_agree(paired)].sum()), len(pairable), **about)]
    profiles = paired if len(pairable) == len(counts) else _profiles(values, counts, turns=turns)
    if fitting != "interval":
        offered = all_categories(profiles.values, categories)
        found.append(chance_corrected("gwet_ac1", profiles, offered, weights="identity", **about))
    if turns:
        found.append(chance_corrected("fleiss_kappa", profiles, profiles.values, **about))
    for one in found:
        yield agreement_row(one, part.kind, part.group, part.criterion, fitting)


def _profiles(values: Floats, counts: Ints, *, turns: bool = False) -> Profiles:
    """Fold units; values that nobody gave, nor would if pairs were listed the other way round, are left out."""
    given = np.flatnonzero(counts.any(axis=0))
    if turns:
        given = np.union1d(given, len(values) - 1 - given)
    return profiles_of_counts(values[given], counts[:, given], turns=turns)


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
