"""Rows of ``self_preference``: an LLM on systems of its own maker against all others, beside people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from analysis.answers.groups import people_of
from analysis.answers.input import AnalysisInput
from analysis.answers.order import Order, turned
from analysis.statistics.coding import Floats, fold, number
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Record, Source
from analysis.statistics.t_tests import NO_VARIATION, ONE_UNIT, t_bound

OUTPUT = ("item_id", "sample", "system")
PAIR = ("item_id", "sample", "sample_first", "sample_second", "x", "y")
NOBODY = why("nobody_else")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SelfPreference(Record):
    """What one LLM says of the systems of its own maker, beside what people say of the same."""

    explained: ClassVar[tuple[str, ...]] = ("difference",)

    source: Source
    group: str
    """An LLM's id or id/variant."""
    criterion: str
    maker: str
    own_systems: tuple[str, ...]
    """Those of its maker; the others are all other systems."""
    n: Count
    """Ratings: outputs that the LLM and people rated. Choices: pairs of outputs, one of each side, that both judged.
    Preferences: what the LLM stated of such pairs of systems."""
    own: float | None
    """Mean rating of its own maker's systems by the LLM, each system counting the same; of pairs the share won by
    these."""
    other: float | None
    """Ratings: the same of the other systems."""
    own_by_people: float | None
    other_by_people: float | None
    difference: float | None
    """Ratings: (own - other) of the LLM less (own - other) of people. Pairs: the share of the LLM less that of people.
    Above 0 the LLM favours its own maker's systems more than people do; turned where a low rating is good."""
    ci_low: float | None
    ci_high: float | None
    """By t from the spread between clusters, for these systems."""
    n_clusters: Count
    """Items; of preferences forms of the LLM or people, whichever are fewer."""
    people: str | None
    reason: Reason | None = None
    """Why the difference or its interval is missing."""


def self_preferences(prepared: AnalysisInput) -> Iterator[SelfPreference]:
    """Yield a row a source, LLM with a maker and criterion, where one of its maker's systems meets another one."""
    makers = dict(prepared.plan.makers)
    people = people_of(prepared.groups)
    for source, table in prepared.kept.items():
        order = prepared.orders[source]
        for group, kind in prepared.groups:
            maker = makers.get(group, makers.get(group.partition("/")[0]))
            if kind != "llm" or maker is None:
                continue
            own = tuple(system for system in order.systems if makers.get(system) == maker)
            if not own or len(own) == len(order.systems):
                continue
            for criterion in order.criteria:
                rows = table.filter(pl.col("criterion") == criterion, pl.col("value").is_not_null())
                rows = rows.with_columns(pl.col(pl.Categorical).cast(pl.String))
                llm = rows.filter(pl.col("group") == group)
                by_people = [answers for one in people if (answers := rows.filter(pl.col("group") == one)).height]
                theirs = by_people[0] if by_people else None
                if llm.is_empty():
                    continue
                sign = -1.0 if source == "ratings" and criterion in prepared.plan.lower_is_better else 1.0
                made = _of_ratings if source == "ratings" else _of_pairs
                found = made(llm, theirs, own, order, source, prepared.plan.confidence, sign)
                if theirs is not None and not found["n"]:  # people judged other outputs
                    theirs = None
                    found = made(llm, None, own, order, source, prepared.plan.confidence, sign)
                if found["n"]:
                    yield SelfPreference(
                        source=source,  # type: ignore[arg-type]
                        group=group,
                        criterion=criterion,
                        maker=maker,
                        own_systems=own,
                        people=None if theirs is None else theirs["group"][0],
                        **found,
                    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrast:
    """A weighted sum of the means of strata: its value, its variance and the clusters that this rests on."""

    value: float
    variance: float
    clusters: int


def contrast(values: Floats, strata: Any, weights: Mapping[Any, float], clusters: Any) -> Contrast:
    """Sum the means of strata by their weights, with a variance robust to clusters (CR1: G / (G - 1))."""
    strata = np.asarray(strata, dtype=object)
    influence = np.zeros(len(values))
    total = 0.0
    for stratum, weight in weights.items():
        own = strata == stratum
        mean = float(values[own].mean())
        total += weight * mean
        influence[own] = weight * (values[own] - mean) / int(own.sum())
    _, of = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    sums = np.bincount(of, weights=influence)
    number = len(sums)
    variance = number / (number - 1) * float(sums @ sums) if number > 1 else 0.0
    return Contrast(value=total, variance=variance, clusters=number)


def _bounds(value: float, variance: float, clusters: int, confidence: float) -> dict[str, Any]:
    if clusters < 2 or variance <= 1e-18:
        return {"ci_low": None, "ci_high": None, "reason": ONE_UNIT if clusters < 2 else NO_VARIATION}
    half = t_bound(clusters - 1, confidence) * variance**0.5
    return {"ci_low": value - half, "ci_high": value + half, "reason": None}


def _of_ratings(
    llm: pl.DataFrame,
    people: pl.DataFrame | None,
    own: tuple[str, ...],
    order: Order,
    source: str,
    confidence: float,
    sign: float,
) -> dict[str, Any]:
    cells = _side_by_side(llm, people, OUTPUT)
    sides = {
        side: [name for name in cells["system"].unique().sort() if (name in own) == side] for side in (True, False)
    }
    if not sides[True] or not sides[False]:
        return {"n": 0}
    means = dict(cells.group_by("system").agg(pl.col("llm").mean()).iter_rows())
    found: dict[str, Any] = {
        "n": cells.height,
        "own": float(np.mean([means[name] for name in sides[True]])),
        "other": float(np.mean([means[name] for name in sides[False]])),
    }
    if people is None:
        return found | _alone(cells["item_id"].n_unique())
    theirs = dict(cells.group_by("system").agg(pl.col("people").mean()).iter_rows())
    weights = {name: sign * (1 if side else -1) / len(names) for side, names in sides.items() for name in names}
    apart = (cells["llm"] - cells["people"]).to_numpy()
    made = contrast(apart, cells["system"].to_list(), weights, cells["item_id"].to_list())
    return found | {
        "own_by_people": float(np.mean([theirs[name] for name in sides[True]])),
        "other_by_people": float(np.mean([theirs[name] for name in sides[False]])),
        "difference": made.value,
        "n_clusters": made.clusters,
        **_bounds(made.value, made.variance, made.clusters, confidence),
    }


def _of_pairs(
    llm: pl.DataFrame,
    people: pl.DataFrame | None,
    own: tuple[str, ...],
    order: Order,
    source: str,
    confidence: float,
    sign: float,
) -> dict[str, Any]:
    mine, theirs = (None if rows is None else _toward_own(rows, own, order) for rows in (llm, people))
    assert mine is not None
    if source == "choices":
        cells = _side_by_side(mine, theirs, PAIR)
        values, strata, clusters = cells["llm"].to_numpy(), _strata(cells), cells["item_id"].to_list()
        if not len(values):
            return {"n": 0}
        weights = dict.fromkeys(strata, 1 / len({*strata}))
        found = {"n": cells.height, "own": contrast(values, strata, weights, clusters).value, "other": None}
        if theirs is None:
            return found | _alone(len({*clusters}))
        apart = contrast(values - cells["people"].to_numpy(), strata, weights, clusters)
        by_people = contrast(cells["people"].to_numpy(), strata, weights, clusters).value
        bounds = _bounds(apart.value, apart.variance, apart.clusters, confidence)
        return found | _beside(by_people, apart.value, apart.clusters, bounds)
    pairs = {*_strata(mine)} if theirs is None else {*_strata(mine)} & {*_strata(theirs)}
    if not pairs:
        return {"n": 0}
    weights = dict.fromkeys(sorted(pairs), 1 / len(pairs))
    one = _stated(mine, weights, ("annotator_id", "assignment_id"))
    found = {"n": sum(pair in pairs for pair in _strata(mine)), "own": one.value, "other": None}
    if theirs is None:
        return found | _alone(one.clusters)
    two = _stated(theirs, weights, ("annotator_id",))
    value, fewest = one.value - two.value, min(one.clusters, two.clusters)
    return found | _beside(two.value, value, fewest, _bounds(value, one.variance + two.variance, fewest, confidence))


def _stated(rows: pl.DataFrame, weights: Mapping[str, float], who: tuple[str, ...]) -> Contrast:
    """Return the mean stated preference, both directions of one annotator first averaged."""
    names = [pl.col(name).cast(pl.String).fill_null("") for name in who]
    cells = rows.with_columns(_who=pl.concat_str(names, separator="\n"), _pair=pl.Series(_strata(rows)))
    cells = cells.group_by("_who", "_pair", "forward").agg(pl.col("value").mean())
    cells = cells.group_by("_who", "_pair").agg(pl.col("value").mean()).filter(pl.col("_pair").is_in(list(weights)))
    return contrast(cells["value"].to_numpy(), cells["_pair"].to_list(), weights, cells["_who"].to_list())


def _strata(rows: pl.DataFrame) -> list[str]:
    parts = [pl.col(name).cast(pl.String).fill_null("") for name in ("x", "y", "exposure") if name in rows.columns]
    return rows.select(pl.concat_str(parts, separator="\n")).to_series().to_list()


def _toward_own(rows: pl.DataFrame, own: tuple[str, ...], order: Order) -> pl.DataFrame:
    """Return comparisons of one of these systems with another one, seen from its side (``x``)."""
    rows = turned(rows, order)
    rows = rows.filter(pl.col("x").is_in(own) != pl.col("y").is_in(own))
    swap = ~pl.col("x").is_in(own)
    sides = [("x", "y"), *([("sample_first", "sample_second")] if "sample_first" in rows.columns else [])]
    changed = {one: pl.when(swap).then(other).otherwise(one) for pair in sides for one, other in (pair, pair[::-1])}
    return rows.with_columns(**changed, value=pl.when(swap).then(1 - pl.col("value")).otherwise("value"))


def _side_by_side(llm: pl.DataFrame, people: pl.DataFrame | None, unit: tuple[str, ...]) -> pl.DataFrame:
    """Return the mean answer of an LLM to each unit, beside that of people where they are given and answered it."""
    cells = _by(llm, unit, "llm")
    return cells if people is None else cells.join(_by(people, unit, "people"), on=unit, how="inner", nulls_equal=True)


def _by(rows: pl.DataFrame, unit: tuple[str, ...], name: str) -> pl.DataFrame:
    known = [one for one in unit if one in rows.columns]
    cells = fold(*(number(rows[one]) for one in known))
    means = cells.mean(rows["value"].to_numpy())
    units: pl.DataFrame = rows.select(known)[cells.first.tolist()]
    return units.with_columns(pl.Series(name, means))


def _beside(by_people: float, value: float, clusters: int, bounds: dict[str, Any]) -> dict[str, Any]:
    return {
        "own_by_people": by_people,
        "other_by_people": None,
        "difference": value,
        "n_clusters": clusters,
        **bounds,
    }


def _alone(clusters: int) -> dict[str, Any]:
    """Return what there is without people."""
    nothing = dict.fromkeys(("own_by_people", "other_by_people", "difference", "ci_low", "ci_high"))
    return {**nothing, "n_clusters": clusters, "reason": NOBODY}
