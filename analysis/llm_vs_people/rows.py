"""The rows of results.json that set LLMs against people, from the tidy tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

import numpy as np
import polars as pl

from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.comparisons.ratings import RatingMean
from analysis.comparisons.sides import Row, Sides, by_group, sides_of
from analysis.llm_vs_people.alternative_annotator import LongAnswers, compare_with_each_annotator
from analysis.llm_vs_people.bias_rows import bias_rows
from analysis.llm_vs_people.calibration_rows import calibration_rows
from analysis.llm_vs_people.powered_rows import powered_choices, powered_preferences, powered_ratings, spread
from analysis.llm_vs_people.rank_tables import AnnotatorRanks, RankTable, alphas_of_ranks, rank_table
from analysis.statistics.coding import code, fold, scale_of, snap

OUTPUT = ("item_id", "sample", "system")
KEYS = ("alternative_annotator", "prediction_powered", "rank_tables", "llm_only", "calibration", "bias")


def llm_vs_people(
    kept: Mapping[str, pl.DataFrame],
    orders: Mapping[str, Order],
    means: Sequence[RatingMean],
    plan: Plan,
    *,
    metrics: pl.DataFrame | None = None,
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
    metrics : DataFrame, optional
        Checked metrics, for the length of outputs.

    Returns
    -------
    dict
        Lists ``alternative_annotator``, ``prediction_powered``, ``rank_tables``, ``llm_only``, ``bias`` and
        ``calibration``; all empty where there is no LLM or nobody else, but for the calibration of people.
    """
    found: Row = {key: [] for key in KEYS}
    if "preferences" in kept:
        found["prediction_powered"] += powered_preferences(kept["preferences"], orders["preferences"], plan)
    sides = sides_of(kept.get("ratings"))
    if sides is not None:
        _rated(found, sides, orders["ratings"], means, plan)
    if "choices" in kept:
        found["prediction_powered"] += powered_choices(kept["choices"], orders["choices"], plan)
    found["calibration"] = calibration_rows(kept, orders, plan)
    found["bias"] = bias_rows(kept, orders, metrics, plan)
    return found


def _rated(found: Row, sides: Sides, order: Order, means: Sequence[RatingMean], plan: Plan) -> None:
    """Add what ratings say."""
    cells = {"people": ("criterion", "annotator_id", *OUTPUT), "llms": ("group", "criterion", *OUTPUT)}
    people, llms = (
        getattr(sides, side).group_by(*columns).agg(pl.col("value").mean()).sort(pl.exclude("value"))
        for side, columns in cells.items()
    )
    for criterion in order.criteria:
        rated = people.filter(pl.col("criterion") == criterion)
        if rated.is_empty():
            continue
        for group, own in by_group(llms.filter(pl.col("criterion") == criterion), order):
            names = {"people": sides.kind, "group": group, "criterion": criterion}
            both = rated.join(own.rename({"value": "llm"}), on=OUTPUT, how="inner", nulls_equal=True)
            if not both.is_empty():
                found["alternative_annotator"].append(names | _alternative(both, plan))
            found["prediction_powered"] += [names | row for row in powered_ratings(rated, own, order.systems, plan)]
        found["rank_tables"] += _ranks(sides.kind, criterion, rated, llms, order, plan)
    found["llm_only"] = _llm_only(people, llms, means)


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
    row = asdict(compare_with_each_annotator(rows, scoring="neg_rmse", epsilon=plan.epsilon, fdr=plan.fwer))
    tested = [one for one in row["annotators"] if one["won"] is not None]  # a crowd of short visits is only counted
    return row | {"annotators": tested, "n_left_out": len(row["annotators"]) - len(tested)}


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
    tables: list[RankTable] = []
    sds: dict[tuple[str, str], list[float | None]] = {}
    for frame, column in ((rated, "annotator_id"), (own, "group")):
        who = code(frame[column])
        means = spread(who.of, frame, "system", systems, len(who))
        tables.append(rank_table(means, annotators=who.ids, systems=systems, lower_is_better=lower))
        sds |= _sds(frame, column, systems, who.ids)
    people, of_llms = tables
    alphas = alphas_of_ranks(people, of_llms)
    yield {
        "people": kind,
        "criterion": criterion,
        "systems": systems,
        "mean_rank": people.mean_rank,
        "n": people.n,
        "n_incomplete": len(people.annotators) - people.n,
        "lower_is_better": lower,
        "annotators": [
            {
                "annotator_id": row.annotator_id,
                **_rated_by(row, sds["annotator_id", row.annotator_id]),
                "ranks": row.ranks,
            }
            for row in people.annotators
            if row.ranks
        ],
        "llms": [
            {"group": row.annotator_id, **_rated_by(row, sds["group", row.annotator_id]), "ranks": row.ranks}
            | {"alpha_with_people": alpha, "reason": row.reason}
            for row, alpha in zip(of_llms.annotators, alphas.with_llm, strict=True)
        ],
        "alpha_of_people": alphas.of_people,
        "alpha_pairs": [asdict(pair) for pair in alphas.pairs],
        "reason": people.reason,
    }


def _sds(
    frame: pl.DataFrame, column: str, systems: Sequence[str], raters: Sequence[str]
) -> dict[tuple[str, str], list[float | None]]:
    """Return the population standard deviations of each rater's ratings, system by system, by column and rater."""
    found = frame.group_by(column, "system").agg(pl.col("value").std(ddof=0))
    wide = spread(code(found[column], raters).of, found, "system", systems, len(raters))
    exact = snap(wide, scale=scale_of(frame["value"].to_numpy()))
    return {
        (column, rater): [None if np.isnan(sd) else sd for sd in row]
        for rater, row in zip(raters, exact.tolist(), strict=True)
    }


def _rated_by(row: AnnotatorRanks, sds: Sequence[float | None]) -> Row:
    return {"means": row.means, "sds_population": sds}


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
