"""The rows of results.json in which an LLM's many answers add to people's few: prediction-powered means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from analysis.answers.order import Order, toward
from analysis.answers.plan import Plan
from analysis.answers.units import UnitRule
from analysis.comparisons.sides import PeopleKind, Sides, by_group, sides_of
from analysis.llm_vs_people.prediction_powered import PredictionPoweredMean, prediction_powered_mean
from analysis.statistics.coding import Floats, Ints, code, fold
from analysis.statistics.reasons import Reason
from analysis.statistics.record import Count, Probability, Record, fields_of

BOTH_WAYS = "annotator and item"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PredictionPoweredRow(Record):
    """People's mean estimated with an LLM, a row of ``llm_vs_people.prediction_powered``."""

    people: PeopleKind
    group: str
    criterion: str
    source: Literal["preferences", "ratings", "choices"]
    system_x: str
    system_y: str | None
    """Null: the mean of system_x."""
    exposure: int | None = None
    interval: str | None = None
    """What people's answers are clustered by."""
    estimate: float
    ci_low: float | None
    ci_high: float | None
    se: float | None = None
    df: float | None = None
    llm_weight: float
    """Lambda, people's units per unit of the LLM's scores; 0 = people alone, below 0: they run the other way."""
    tuned: bool | None = None
    n: Count
    n_more: Count
    n_clusters: Count | None = None
    n_clusters_more: Count | None = None
    people_mean: float
    people_ci_low: float | None
    people_ci_high: float | None
    confidence: Probability | None = None
    reason: Reason | None = None
    """Why a number is missing."""
    warning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Estimate:
    x: int
    y: int | None
    interval: str
    found: PredictionPoweredMean


def powered_ratings(
    rated: pl.DataFrame, own: pl.DataFrame, systems: Sequence[str], plan: Plan, **place: Any
) -> Iterator[PredictionPoweredRow]:
    """Estimate people's mean of every system, and difference of every pair, that the LLM rated on more items.

    Parameters
    ----------
    rated, own : DataFrame
        Answers of people and of one LLM on one criterion, :func:`numbered` by system.
    systems : sequence of str
        In the order of the results.
    **place
        Fields of the row: ``people``, ``group``, ``criterion``.
    """
    for one in _by_item(rated, own, len(systems), plan, differences=True):
        yield PredictionPoweredRow(
            **place,
            source="ratings",
            system_x=systems[one.x],
            system_y=None if one.y is None else systems[one.y],
            interval=one.interval,
            **fields_of(one.found),
        )


def powered_choices(table: pl.DataFrame, order: Order, plan: Plan) -> Iterator[PredictionPoweredRow]:
    """Estimate people's share of choices that x wins, where an LLM chose between outputs of more items.

    A tie is half a win. Pairs stand in the direction and order of ``choices.pairs``.
    """
    sides = sides_of(table)
    if sides is None:
        return
    sides, pairs = paired(sides, order)
    people, llms = numbered(sides.people, sides.llms, "pair", [*pairs])
    listed = [*pairs.values()]
    for criterion in order.criteria:
        chosen = people.filter(pl.col("criterion") == criterion)
        if chosen.is_empty():
            continue
        for group, own in by_group(llms.filter(pl.col("criterion") == criterion), order):
            for one in _by_item(chosen, own, len(pairs), plan):
                first, second = listed[one.x]
                yield PredictionPoweredRow(
                    people=sides.kind,
                    group=group,
                    criterion=criterion,
                    source="choices",
                    system_x=first,
                    system_y=second,
                    interval=one.interval,
                    **fields_of(one.found),
                )


def paired(sides: Sides, order: Order) -> tuple[Sides, dict[str, tuple[str, str]]]:
    """Add to choices the column ``pair``, their value being the share that the pair's first system won.

    Pairs that no person chose between are left out. Returns also the two systems of each pair, in the order of the
    results.
    """
    k, places = len(order.systems), {system: place for place, system in enumerate(order.systems)}
    x, y = (pl.col(name).replace_strict(places, return_dtype=pl.Int64) for name in ("system_x", "system_y"))
    pair = (pl.min_horizontal(x, y) * k + pl.max_horizontal(x, y)).cast(pl.String)
    won = pl.when(x < y).then("value").otherwise(1 - pl.col("value"))
    people, llms = (side.with_columns(pair.alias("pair"), won.alias("value")) for side in (sides.people, sides.llms))
    found = sorted(people["pair"].unique().to_list(), key=int)
    systems = {name: (order.systems[int(name) // k], order.systems[int(name) % k]) for name in found}
    return replace(sides, people=people, llms=llms.filter(pl.col("pair").is_in(found))), systems


def numbered(
    people: pl.DataFrame, llms: pl.DataFrame, column: str, entries: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Give numbers to the items, the people and the entries of a column (systems, pairs), alike on both sides."""
    n = people.height
    item = code(pl.concat([people["item_id"], llms["item_id"]])).of
    entry = code(pl.concat([people[column], llms[column]]), entries).of
    who = pl.Series("who", code(people["annotator_id"]).of)
    return (
        people.with_columns(pl.Series("item", item[:n]), pl.Series("entry", entry[:n]), who),
        llms.with_columns(pl.Series("item", item[n:]), pl.Series("entry", entry[n:])),
    )


def _by_item(
    rated: pl.DataFrame, own: pl.DataFrame, n_entries: int, plan: Plan, *, differences: bool = False
) -> Iterator[_Estimate]:
    """Estimate the mean of every entry (a system, a pair), and on demand every difference of two.

    Samples are averaged within the item; people's answers hang together by item, and by annotator as well where the
    paired tests would be by annotator.
    """
    who, item, entry = (rated[name].to_numpy() for name in ("who", "item", "entry"))
    of_own = own["item"].to_numpy()
    n_items = 1 + max(int(item.max()), int(of_own.max(initial=0)))
    blocks = fold(who, item)
    of_people = spread(blocks.of, entry, rated["value"].to_numpy(), (len(blocks), n_entries))
    of_llm = spread(of_own, own["entry"].to_numpy(), own["value"].to_numpy(), (n_items, n_entries))
    who, item = who[blocks.first], item[blocks.first]
    touched = np.zeros((n_items, n_entries), dtype=np.bool_)
    np.logical_or.at(touched, item, ~np.isnan(of_people))
    places = range(n_entries)
    pairs = [(x, y) for x in places for y in range(x + 1, n_entries)] if differences else []
    for x, y in [*((x, None) for x in places), *pairs]:
        people, llm, met = of_people[:, x], of_llm[:, x], touched[:, x]
        if y is not None:
            people, llm, met = people - of_people[:, y], llm - of_llm[:, y], met | touched[:, y]
        checked, more = np.flatnonzero(~np.isnan(people + llm[item])), llm[~np.isnan(llm) & ~met]
        if not (len(checked) and len(more)):
            continue
        rule = UnitRule(planned=plan.unit, llm=False).choose(len(np.unique(who[checked])))
        found = prediction_powered_mean(
            people[checked],
            llm[item[checked]],
            more,
            clusters=(who[checked], item[checked]) if rule == "annotator" else item[checked],
            confidence=plan.confidence,
        )
        yield _Estimate(x=x, y=y, interval=BOTH_WAYS if rule == "annotator" else "item", found=found)


def spread(row: Ints, entry: Ints, values: Floats, shape: tuple[int, int]) -> Floats:
    """Return values as a table of rows x entries, those of one cell averaged, NaN where there is none."""
    cells = fold(row, entry)
    wide = np.full(shape, np.nan)
    wide[row[cells.first], entry[cells.first]] = cells.mean(values)
    return wide


def powered_preferences(table: pl.DataFrame, order: Order, plan: Plan) -> Iterator[PredictionPoweredRow]:
    """Estimate people's P(x preferred to y) where an LLM answered more of the same forms (assignments)."""
    sides = sides_of(table.filter(pl.col("assignment_id").is_not_null()))
    if sides is None:
        return
    test = ("criterion", "exposure", "x", "y")
    form = ("assignment_id", *test)
    of_people = toward(sides.people, order, ("annotator_id", *form))
    of_llms = toward(sides.llms, order, ("group", *form))
    for group, own in by_group(of_llms, order):
        both = of_people.join(own.rename({"value": "llm"}), on=form, how="inner", nulls_equal=True)
        more = own.join(sides.people.select("assignment_id").unique(), on="assignment_id", how="anti")
        found = both.sort(form).partition_by(test, as_dict=True, maintain_order=True)
        for key in sorted(found, key=lambda key: place_of(key, order)):
            checked = found[key]
            equal = [pl.col(name).eq_missing(value) for name, value in zip(test, key, strict=True)]
            extra = more.filter(pl.all_horizontal(equal)).sort("assignment_id")
            if extra.is_empty():
                continue
            estimate = prediction_powered_mean(
                checked["value"].to_numpy(),
                checked["llm"].to_numpy(),
                extra["value"].to_numpy(),
                clusters=code(checked["annotator_id"]).of,
                confidence=plan.confidence,
            )
            criterion, exposure, x, y = key
            yield PredictionPoweredRow(
                people=sides.kind,
                group=group,
                criterion=criterion,
                source="preferences",
                system_x=x,
                system_y=y,
                exposure=exposure,
                interval="annotator",
                **fields_of(estimate),
            )


def place_of(key: tuple[Any, ...], order: Order) -> tuple[int, int, int]:
    """Sort as the tests of preferences: by criterion, exposure, then pair as the study lists it."""
    criterion, exposure, x, y = key
    return order.criteria.index(criterion), -1 if exposure is None else exposure, order.pairs.index((x, y))
