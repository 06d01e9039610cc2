"""Rows of results.json on strengths with covariates of the outputs held constant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit

from analysis.answers.output_features import COLUMN, WORD_COUNT, covariates_of
from analysis.answers.plan import Plan
from analysis.covariates.clusters import error_clusters
from analysis.covariates.comparisons import Controlled
from analysis.covariates.logistic import Compared, LogisticFit, fit_logistic, left_out
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.rank_orders import STRENGTH_TIE, order_systems, ranks
from analysis.statistics.reasons import Reason, commonest, why
from analysis.statistics.record import Count, Positive, Record
from analysis.statistics.t_tests import t_bound
from analysis.strengths.existence import determined_systems

Unit = Literal["doubling", "first", "standard deviation"]
EVEN = 0.5
MOST_SYSTEMS = 1000  # a fit solves a table of systems by systems several times


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CovariateEffect(Record):
    """What a property of the outputs is worth to a group that compares them, systems held constant."""

    explained: ClassVar[tuple[str, ...]] = ("coefficient",)

    source: Literal["preferences", "choices"]
    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    control: str
    """As the plan names it: length, markdown, column:NAME."""
    covariate: str
    """Length (in words), headings, lists (their items), bold (parts), or the column."""
    unit: Unit
    """What the coefficient is for: a doubling; the first (log2 of 1 + n); a standard deviation over all outputs."""
    unit_size: float
    """1, or the standard deviation."""
    n: Count
    """Comparisons."""
    n_left_out: Count
    """Comparisons of which some covariate is not known."""
    coefficient: float | None
    """Log odds of winning per unit more than the other output has."""
    ci_low: float | None
    ci_high: float | None
    points: float | None
    """Percentage points of win rate that a unit adds to an even comparison."""
    points_low: float | None
    points_high: float | None
    reason: Reason | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ControlledStrength(Record):
    """Strength of one system without and with the covariates held constant, fitted to the same comparisons."""

    explained: ClassVar[tuple[str, ...]] = ("strength", "controlled")

    source: Literal["preferences", "choices"]
    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    system: str
    held: tuple[str, ...]
    """The covariates that were held constant."""
    strength: float | None
    """Natural log, mean zero; without covariates."""
    ci_low: float | None
    ci_high: float | None
    rank: Positive | None
    controlled: float | None
    """The same with the covariates held constant."""
    controlled_low: float | None
    controlled_high: float | None
    controlled_rank: Positive | None
    interval: str | None
    """What both intervals are clustered by; null: no interval."""
    n_clusters: Count | None = None
    """Clusters; of two clusterings, of the one with fewer. t has one degree of freedom less."""
    reason: Reason | None = None
    """Why a number is missing."""


def held_constant(
    part: Controlled, controls: Sequence[str], sizes: dict[str, float], plan: Plan
) -> tuple[list[ControlledStrength], list[CovariateEffect]]:
    """Fit one group's strengths to the same comparisons without and with covariates."""
    columns = [(control, name) for control in controls for name in covariates_of(control)]
    known = ~np.isnan(part.features)
    lacking = [
        _why_unknown(part, name) if not known[:, place].any() else None for place, (_, name) in enumerate(columns)
    ]
    there = [place for place, reason in enumerate(lacking) if reason is None]
    rows = known[:, there].all(axis=1)
    compared, names, places, reasons = _determined(part, rows, there)
    if len(names) > MOST_SYSTEMS:
        compared = None
        reasons = [why("too_many_to_control", n=len(names), what="systems", most=MOST_SYSTEMS)]
    common: dict[str, Any] = {"source": part.source, "group": part.group, "criterion": part.criterion}

    def effect(place: int, found: dict[str, Any]) -> CovariateEffect:
        control, name = columns[place]
        return CovariateEffect(
            **common,
            control=control,
            covariate="length" if name == WORD_COUNT else name.removeprefix(COLUMN),
            unit="doubling" if name == WORD_COUNT else "standard deviation" if name.startswith(COLUMN) else "first",
            unit_size=sizes[name],
            n=0 if compared is None else len(compared),
            n_left_out=int((~rows).sum()),
            **found,
        )

    if compared is None or not there:
        none = commonest(reasons) or why("no_answers_left")
        effects = [effect(place, _no_effect(reason or none)) for place, reason in enumerate(lacking)]
        return [], effects
    judged = part.judgements
    item = None if judged.item is None else judged.item[places]
    clusters = error_clusters(judged.unit, judged.of_unit[places], item, plan)
    plain = fit_logistic(replace(compared, covariates=np.zeros((len(compared), 0))), clusters.of)
    fitted = fit_logistic(compared, clusters.of)
    effects = []
    for place, reason in enumerate(lacking):
        reason = reason or fitted.dropped[there.index(place)] or fitted.reason
        found = _no_effect(reason) if reason else _effect(fitted, there.index(place), plan, clusters.reason)
        effects.append(effect(place, found))
    held = tuple(one.covariate for one in effects if one.coefficient is not None)
    if not held:
        return [], effects
    strengths = _strengths(part, names, reasons, plain, fitted, plan, clusters.reason)
    made = clusters.named if fitted.n_clusters is not None else None
    return [
        ControlledStrength(**common, held=held, interval=made, n_clusters=fitted.n_clusters, **found)
        for found in strengths
    ], effects


def fitted_comparisons(part: Controlled) -> tuple[Compared, list[str]] | None:
    """Return the comparisons that strengths are fitted to, with the covariates that are held, and their systems."""
    known = ~np.isnan(part.features)
    there = np.flatnonzero(known.any(axis=0)).tolist()
    compared, names, _, _ = _determined(part, known[:, there].all(axis=1), there)
    if compared is None:
        return None
    kept = [place for place, reason in enumerate(left_out(compared)) if reason is None]
    return replace(compared, covariates=compared.covariates[:, kept]), names


def _why_unknown(part: Controlled, name: str) -> Reason:
    if not part.known:
        return why("no_outputs_read")
    column = name.removeprefix(COLUMN)
    if column != name:
        remedy = f"no table of outputs or metrics has {column} of both"
    else:
        remedy = "give the outputs' texts (--output-table)" + (
            ", or a metric of their length" if name == WORD_COUNT else ""
        )
    return why("no_covariate", remedy=remedy)


def _determined(
    part: Controlled, rows: Any, there: Sequence[int]
) -> tuple[Compared | None, list[str], Ints, list[Reason | None]]:
    """Return the comparisons of systems with a finite strength, their names and which rows they are of, and reasons.

    Reasons are of all systems of the rows, in the order of the names that ``part`` has; names are those fitted.
    """
    own = np.flatnonzero(rows)
    judged, k = part.judgements, len(part.systems)
    x, y, won = judged.x[own], judged.y[own], judged.won[own]
    wins = np.bincount(x * k + y, won, k * k) + np.bincount(y * k + x, 1 - won, k * k)
    found = determined_systems(wins.reshape(k, k).astype(np.float64), part.systems)
    number = np.full(k, -1)
    number[found.kept] = np.arange(len(found.kept))
    kept = (number[x] >= 0) & (number[y] >= 0)
    names = [part.systems[place] for place in found.kept.tolist()]
    if len(names) < 2:
        return None, [], own[:0], list(found.reasons)
    return (
        Compared(
            x=number[x[kept]],
            y=number[y[kept]],
            won=won[kept],
            covariates=part.features[own[kept]][:, list(there)],
            n_systems=len(names),
        ),
        names,
        own[kept],
        list(found.reasons),
    )


def _effect(fitted: LogisticFit, place: int, plan: Plan, too_few: Reason | None) -> dict[str, Any]:
    value = float(fitted.effect[place])
    low, high = _bounds(value, fitted.se_effect, place, fitted, plan)
    return {
        "coefficient": value,
        "ci_low": low,
        "ci_high": high,
        "points": _points(value),
        "points_low": None if low is None else _points(low),
        "points_high": None if high is None else _points(high),
        "reason": None if low is not None else too_few or fitted.no_interval,
    }


def _no_effect(reason: Reason) -> dict[str, Any]:
    numbers = ("coefficient", "ci_low", "ci_high", "points", "points_low", "points_high")
    return {**dict.fromkeys(numbers), "reason": reason}


def _points(coefficient: float) -> float:
    return float(100 * (expit(coefficient) - EVEN))


def _bounds(
    value: float, errors: Floats | None, place: int, fitted: LogisticFit, plan: Plan
) -> tuple[float | None, float | None]:
    if errors is None or fitted.n_clusters is None:
        return None, None
    half = t_bound(fitted.n_clusters - 1, plan.confidence) * float(errors[place])
    return value - half, value + half


def _strengths(
    part: Controlled,
    names: Sequence[str],
    reasons: Sequence[Reason | None],
    plain: LogisticFit,
    fitted: LogisticFit,
    plan: Plan,
    too_few: Reason | None,
) -> Iterator[dict[str, Any]]:
    before, after = (dict(zip(names, one.strength.tolist(), strict=True)) for one in (plain, fitted))
    ranked = [ranks(order_systems(one, tie=STRENGTH_TIE)) for one in (before, after)]
    place_of = {name: place for place, name in enumerate(names)}
    compared = {*part.judgements.x.tolist(), *part.judgements.y.tolist()}
    for number, system in enumerate(part.systems):
        if number not in compared:
            continue
        place = place_of.get(system)
        if place is None:
            numbers = ("strength", "ci_low", "ci_high", "rank", *CONTROLLED)
            yield {"system": system, **dict.fromkeys(numbers), "reason": reasons[number]}
            continue
        low, high = _bounds(before[system], plain.se_strength, place, plain, plan)
        below, above = _bounds(after[system], fitted.se_strength, place, fitted, plan)
        yield {
            "system": system,
            "strength": before[system],
            "ci_low": low,
            "ci_high": high,
            "rank": ranked[0][system],
            **dict(zip(CONTROLLED, (after[system], below, above, ranked[1][system]), strict=True)),
            "reason": None if low is not None else too_few or fitted.no_interval,
        }


CONTROLLED = ("controlled", "controlled_low", "controlled_high", "controlled_rank")
