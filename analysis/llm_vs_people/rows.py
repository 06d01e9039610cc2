"""The rows of results.json that set LLMs against people, from the tidy tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from analysis.coding import Floats, Ints, code, fold
from analysis.llm_vs_people.alternative_annotator import LongAnswers, compare_with_each_annotator
from analysis.llm_vs_people.prediction_powered import prediction_powered_mean
from analysis.llm_vs_people.rank_tables import rank_table
from analysis.order import Order
from analysis.plan import Plan
from analysis.ratings import RatingMean
from analysis.units import UnitRule

EPSILON = 0.1  # the strictest of the values that the paper suggests: that for crowd workers
OUTPUT = ("item_id", "sample", "system")
Row = dict[str, Any]


def llm_vs_people(
    kept: Mapping[str, pl.DataFrame], orders: Mapping[str, Order], means: Sequence[RatingMean], plan: Plan
) -> Row:
    """Set every LLM against people (against simulated annotators where there are no people).

    Parameters
    ----------
    kept : mapping of str to DataFrame
        Answer tables after exclusions, by source.
    orders : mapping of str to Order
        Order of groups, criteria, systems and pairs of each.
    means : sequence of RatingMean
        Rows of ``ratings.means``, from which LLM means of systems that no person rated are marked.

    Returns
    -------
    dict
        Lists ``alternative_annotator``, ``prediction_powered``, ``rank_tables`` and ``llm_only``;
        all empty where there is no LLM or nobody else.
    """
    found: Row = {"alternative_annotator": [], "prediction_powered": [], "rank_tables": [], "llm_only": []}
    if "preferences" in kept:
        found["prediction_powered"] += _preferences(kept["preferences"], orders["preferences"], plan)
    sides = _sides(kept.get("ratings"))
    if sides is None:
        return found
    kind, people, llms = sides
    order = orders["ratings"]
    people = people.group_by("criterion", "annotator_id", *OUTPUT).agg(pl.col("value").mean()).sort(pl.exclude("value"))
    llms = llms.group_by("group", "criterion", *OUTPUT).agg(pl.col("value").mean()).sort(pl.exclude("value"))
    for criterion in order.criteria:
        rated = people.filter(pl.col("criterion") == criterion)
        if rated.is_empty():
            continue
        for group, own in _by_group(llms.filter(pl.col("criterion") == criterion), order):
            names = {"people": kind, "group": group, "criterion": criterion}
            both = rated.join(own.rename({"value": "llm"}), on=OUTPUT, how="inner", nulls_equal=True)
            if not both.is_empty():
                found["alternative_annotator"].append(names | _alternative(both, plan))
            found["prediction_powered"] += [names | row for row in _powered(rated, own, order.systems, plan)]
        found["rank_tables"] += _ranks(kind, criterion, rated, llms, order, plan)
    found["llm_only"] = _llm_only(people, llms, means)
    return found


def _sides(table: pl.DataFrame | None) -> tuple[str, pl.DataFrame, pl.DataFrame] | None:
    """Return the kind of people and the answers of people and of LLMs; ``None`` where a side is empty."""
    if table is None:
        return None
    kinds = set(table["annotator_kind"].unique().to_list())
    kind = next((kind for kind in ("human", "simulated") if kind in kinds), None)
    if kind is None or "llm" not in kinds:
        return None
    answered = table.filter(pl.col("value").is_not_null())
    people, llms = (answered.filter(pl.col("annotator_kind") == side) for side in (kind, "llm"))
    return None if people.is_empty() or llms.is_empty() else (kind, people, llms)


def _by_group(llms: pl.DataFrame, order: Order) -> Iterator[tuple[str, pl.DataFrame]]:
    parts = llms.partition_by("group", as_dict=True, include_key=False)
    for group in order.groups:
        if (group,) in parts:
            yield group, parts[(group,)]


def _alternative(both: pl.DataFrame, plan: Plan) -> Row:
    who = code(both["annotator_id"])
    item, sample, system = (code(both[name]).of for name in OUTPUT)
    rows = LongAnswers(
        unit=fold(item, sample, system).of,
        annotator=who.of,
        cluster=item,
        value=both["value"].to_numpy(),
        llm=both["llm"].to_numpy(),
        annotator_ids=who.ids,
    )
    row = asdict(compare_with_each_annotator(rows, scoring="neg_rmse", epsilon=EPSILON, fdr=plan.fwer))
    tested = [one for one in row["annotators"] if one["won"] is not None]  # a crowd of short visits is only counted
    return row | {"annotators": tested, "n_left_out": len(row["annotators"]) - len(tested)}


def _powered(rated: pl.DataFrame, own: pl.DataFrame, systems: Sequence[str], plan: Plan) -> Iterator[Row]:
    """Estimate people's mean of every system, and difference of every pair, that the LLM rated on more items.

    Samples of a system are averaged within the item; people's answers hang together by item, and by
    annotator as well where the paired tests would be by annotator.
    """
    n = rated.height
    item = code(pl.concat([rated["item_id"], own["item_id"]])).of
    n_items = int(item.max()) + 1
    who = code(rated["annotator_id"]).of
    blocks = fold(who, item[:n])
    of_people = _spread(blocks.of, rated, systems, len(blocks))
    of_llm = _spread(item[n:], own, systems, n_items)
    who, item = who[blocks.first], item[:n][blocks.first]
    touched = np.zeros((n_items, len(systems)), dtype=np.bool_)
    np.logical_or.at(touched, item, ~np.isnan(of_people))
    pairs = [(x, y) for x in range(len(systems)) for y in range(x + 1, len(systems))]
    for x, y in [*((x, None) for x in range(len(systems))), *pairs]:
        people, llm, met = of_people[:, x], of_llm[:, x], touched[:, x]
        if y is not None:
            people, llm, met = people - of_people[:, y], llm - of_llm[:, y], met | touched[:, y]
        checked, more = np.flatnonzero(~np.isnan(people + llm[item])), llm[~np.isnan(llm) & ~met]
        if not (len(checked) and len(more)):
            continue
        rule = UnitRule(wanted=plan.unit, llm=False).choose(len(np.unique(who[checked])))
        found = prediction_powered_mean(
            people[checked],
            llm[item[checked]],
            more,
            clusters=(who[checked], item[checked]) if rule == "annotator" else item[checked],
            confidence=plan.confidence,
        )
        yield {
            "source": "ratings",
            "system_x": systems[x],
            "system_y": None if y is None else systems[y],
            "exposure": None,
            "interval": "annotator and item" if rule == "annotator" else "item",
            **asdict(found),
        }


def _spread(row: Ints, table: pl.DataFrame, systems: Sequence[str], n_rows: int) -> Floats:
    """Return rows x systems, answers of one cell averaged, NaN where there is none."""
    system = code(table["system"], systems).of
    cells = fold(row, system)
    spread = np.full((n_rows, len(systems)), np.nan)
    spread[row[cells.first], system[cells.first]] = cells.mean(table["value"].to_numpy())
    return spread


def _preferences(table: pl.DataFrame, order: Order, plan: Plan) -> Iterator[Row]:
    """Estimate people's P(x preferred to y) where an LLM answered more of the same forms (assignments)."""
    sides = _sides(table.filter(pl.col("assignment_id").is_not_null()))
    if sides is None:
        return
    kind, people, llms = sides
    test = ("criterion", "exposure", "x", "y")
    of_people = _toward(people, order, ("annotator_id", "assignment_id", *test))
    of_llms = _toward(llms, order, ("group", "assignment_id", *test))
    form = ("assignment_id", *test)
    for group, own in _by_group(of_llms, order):
        both = of_people.join(own.rename({"value": "llm"}), on=form, how="inner", nulls_equal=True)
        more = own.join(people.select("assignment_id").unique(), on="assignment_id", how="anti")
        for key, checked in both.sort(form).partition_by(test, as_dict=True, maintain_order=True).items():
            equal = [pl.col(name).eq_missing(value) for name, value in zip(test, key, strict=True)]
            extra = more.filter(pl.all_horizontal(equal)).sort("assignment_id")
            if extra.is_empty():
                continue
            found = prediction_powered_mean(
                checked["value"].to_numpy(),
                checked["llm"].to_numpy(),
                extra["value"].to_numpy(),
                clusters=code(checked["annotator_id"]).of,
                confidence=plan.confidence,
            )
            criterion, exposure, x, y = key
            names = {"people": kind, "group": group, "criterion": criterion, "source": "preferences", "system_x": x}
            yield {**names, "system_y": y, "exposure": exposure, "interval": "annotator", **asdict(found)}


def _toward(table: pl.DataFrame, order: Order, unit: tuple[str, ...]) -> pl.DataFrame:
    """Average both directions of each pair, toward the direction listed first."""
    listed = pl.DataFrame(order.pairs, schema=["system_x", "system_y"], orient="row").with_columns(forward=True)
    told = table.join(listed, on=("system_x", "system_y"), how="left").with_columns(pl.col("forward").fill_null(False))
    ahead = pl.col("forward")
    told = told.with_columns(
        x=pl.when(ahead).then("system_x").otherwise("system_y"),
        y=pl.when(ahead).then("system_y").otherwise("system_x"),
        value=pl.when(ahead).then("value").otherwise(1 - pl.col("value")),
    )
    directed = told.group_by(*unit, "forward").agg(pl.col("value").mean())
    return directed.sort("forward").group_by(*unit, maintain_order=True).agg(pl.col("value").mean())


def _ranks(
    kind: str, criterion: str, rated: pl.DataFrame, llms: pl.DataFrame, order: Order, plan: Plan
) -> Iterator[Row]:
    """Rank the systems that people rated, by each person and by each LLM."""
    present = set(rated["system"].unique().to_list())
    systems = [system for system in order.systems if system in present]
    own = llms.filter((pl.col("criterion") == criterion) & pl.col("system").is_in(systems))
    if own.is_empty() or len(systems) < 2:
        return
    lower = criterion in plan.lower_is_better
    tables = []
    for frame, column in ((rated, "annotator_id"), (own, "group")):
        who = code(frame[column])
        means = _spread(who.of, frame, systems, len(who))
        tables.append(rank_table(means, annotators=who.ids, systems=systems, lower_is_better=lower))
    people, of_llms = tables
    yield {
        "people": kind,
        "criterion": criterion,
        "systems": systems,
        "mean_rank": people.mean_rank,
        "n": people.n,
        "n_incomplete": len(people.annotators) - people.n,
        "lower_is_better": lower,
        "annotators": [
            {"annotator_id": row.annotator_id, "ranks": row.ranks} for row in people.annotators if row.ranks
        ],
        "llms": [{"group": row.annotator_id, "ranks": row.ranks, "reason": row.reason} for row in of_llms.annotators],
        "reason": people.reason,
    }


def _llm_only(people: pl.DataFrame, llms: pl.DataFrame, means: Sequence[RatingMean]) -> list[Row]:
    """Mark the means of systems that only LLMs rated on a criterion."""
    by_people = set(people.select("criterion", "system").unique().iter_rows())
    groups = set(llms["group"].unique().to_list())
    return [
        {"group": row.group, "criterion": row.criterion, "system": row.system, "n": row.n, "mean": row.mean}
        | {"ci_low": row.ci_low, "ci_high": row.ci_high}
        for row in means
        if row.group in groups and (row.criterion, row.system) not in by_people
    ]
