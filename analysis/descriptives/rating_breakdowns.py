"""Ratings of one group, criterion and system in detail: agreement by system, means by variant and by annotator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from analysis.agreement.data import ReliabilityData
from analysis.agreement.gwet import exact_agreement
from analysis.agreement.krippendorff import Level, krippendorff_alpha
from analysis.agreement.pairwise import mean_kendall_tau
from analysis.agreement.rows import FEW_ANNOTATORS, level_of, rating_data
from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.answers.tables import answered_rows
from analysis.answers.units import UnitRule
from analysis.comparisons.ratings import half_width
from analysis.comparisons.score_totals import total_scores
from analysis.statistics.coding import Floats, code, fold, scale_of

Row = dict[str, Any]
LISTED = 20  # people of a group up to whom each one has means of their own
ONE_RATER = "one rater: nothing to compare with"
CELL = ("group", "criterion", "annotator_id", "assignment_id", "variant", "item_id", "system", "sample")


def breakdowns(
    ratings: pl.DataFrame | None, order: Order | None, plan: Plan, means: Sequence[Row]
) -> dict[str, list[Row]]:
    """Break the ratings down further than ``ratings.means``.

    Parameters
    ----------
    ratings : DataFrame or None
        Checked ratings after exclusions.
    order : Order or None
        Their groups, criteria and systems.
    plan : Plan
        Unit and level of intervals.
    means : sequence of dict
        Rows of ``ratings.means``.

    Returns
    -------
    dict
        Lists ``by_system`` (means, standard deviations and agreement of each system; Chiang and Lee 2023, Tables 1
        and 6), ``by_variant`` (Chiang and Lee 2023, Table 5; Chhun et al. 2024) and ``by_annotator`` (Chiang and Lee
        2023, Table 12).
    """
    if ratings is None or order is None:
        return {"by_system": [], "by_variant": [], "by_annotator": []}
    about = ratings.group_by("group").agg(pl.col("annotator_kind").first(), n=pl.col("annotator_id").n_unique())
    people = about.filter(pl.col("annotator_kind") != "llm")
    varied = people.height > 1 or ratings["variant"].null_count() < ratings.height
    small = people.filter(pl.col("n") <= LISTED)["group"].to_list()
    return {
        "by_system": _by_system(ratings, order, means),
        "by_variant": [*_by_variant(_cells(ratings), order, plan)] if varied else [],
        "by_annotator": [*_by_annotator(_cells(ratings.filter(pl.col("group").is_in(small))), order)],
    }


def _by_system(table: pl.DataFrame, order: Order, means: Sequence[Row]) -> list[Row]:
    """Measure the agreement on each system alone, on the scale level of all systems together."""
    answers = {
        (group, criterion, system): data
        for system in order.systems
        for group, criterion, data in rating_data(table.filter(pl.col("system") == system), order)
    }
    together: dict[tuple[str, str], list[Floats]] = {}
    for (group, criterion, _), data in answers.items():
        together.setdefault((group, criterion), []).append(data.value)
    levels = {place: level_of(np.concatenate(values)) for place, values in together.items()}
    measured = {place: _agreement(data, levels[place[:2]]) for place, data in answers.items()}
    keys = ("group", "criterion", "system")
    single = answered_rows(table).group_by(*keys).agg(pl.col("value").std())
    spread = {(str(group), str(criterion), str(system)): sd for group, criterion, system, sd in single.iter_rows()}
    nothing = dict.fromkeys(("n_items", "n_annotators", "alpha", "alpha_measure", "exact_agreement"))
    nothing |= {"mean_kendall_tau": None, "n_pairs": None, "reason": ONE_RATER}
    rows = []
    for row in means:
        place = (row["group"], row["criterion"], row["system"])
        summary = {key: row[key] for key in (*keys, "n", "mean", "sd")}
        rows.append({**summary, "sd_answers": spread[place], **measured.get(place, nothing)})
    return rows


def _agreement(data: ReliabilityData, level: Level) -> Row:
    alpha, exact = krippendorff_alpha(data, level=level), exact_agreement(data)
    tau = mean_kendall_tau(data) if data.n_annotators <= FEW_ANNOTATORS else None
    reasons = [found.reason for found in (alpha, exact, tau) if found is not None and found.value is None]
    if tau is None:
        reasons.append(f"no mean tau: more than {FEW_ANNOTATORS} raters")
    return {
        "n_items": data.n_pairable,
        "n_annotators": data.n_annotators,
        "alpha": alpha.value,
        "alpha_measure": alpha.measure,
        "exact_agreement": exact.value,
        "mean_kendall_tau": None if tau is None else tau.value,
        "n_pairs": None if tau is None else tau.settings.get("pairs"),
        "reason": "; ".join(dict.fromkeys(reason for reason in reasons if reason)) or None,
    }


def _cells(table: pl.DataFrame) -> pl.DataFrame:
    """Average repeats; every id is a string, an absent one empty."""
    answered = answered_rows(table)
    plain = answered.select(
        *(pl.col(name).cast(pl.String).fill_null("") for name in (*CELL, "annotator_kind")), "value"
    )
    return plain.group_by(*CELL, "annotator_kind").agg(pl.col("value").mean()).sort(*CELL)


def _by_variant(cells: pl.DataFrame, order: Order, plan: Plan) -> Iterator[Row]:
    """Average by way of asking: of an LLM its variants, of people their groups and variants.

    Of each the mean by criterion and system, by criterion (``system`` null), and over all (both null).
    """
    llm = pl.col("annotator_kind") == "llm"
    several = pl.col("group").n_unique().over("annotator_kind") > 1
    parts = (pl.when(~llm & several).then("group"), pl.when(pl.col("variant") != "").then("variant"))
    way = pl.concat_str(parts, separator="/", ignore_nulls=True).fill_null("")
    named = cells.with_columns(rater=pl.when(llm).then("annotator_id").otherwise("annotator_kind"), way=way)
    named = named.filter(pl.col("way").n_unique().over("rater") > 1)
    ways = named.partition_by("annotator_kind", "rater", "way", as_dict=True, maintain_order=True)
    for (kind, rater, variant), own in sorted(ways.items(), key=lambda way: order.groups.index(way[1]["group"][0])):
        rule = UnitRule(wanted=plan.unit, llm=kind == "llm")
        place = {"annotator_kind": kind, "rater": rater, "variant": variant}
        for part in ((), ("criterion",), ("criterion", "system")):
            for row in _means(own, part, order, rule, plan.confidence):
                yield {**place, "criterion": None, "system": None, **row}


def _by_annotator(cells: pl.DataFrame, order: Order) -> Iterator[Row]:
    """Average the ratings of each person."""
    for (group, annotator), own in cells.partition_by("group", "annotator_id", as_dict=True).items():
        for row in _means(own, ("criterion", "system"), order):
            yield {"group": group, "annotator_id": annotator, **row}


def _means(
    cells: pl.DataFrame,
    by: Sequence[str],
    order: Order,
    rule: UnitRule | None = None,
    confidence: float = 0.95,
) -> Iterator[Row]:
    """Average the cells by some columns; with a rule the interval is clustered by unit, as in ``ratings.means``."""
    columns = {name: code(cells[f"{name}_id"]).of for name in ("annotator", "assignment", "item")}
    columns["assignment"] = fold(columns["annotator"], columns["assignment"]).of
    listed: Mapping[str, Sequence[str]] = {"criterion": order.criteria, "system": order.systems}
    codes = [code(cells[name], listed[name]) for name in by]
    parts = fold(*(each.of for each in codes)) if codes else fold(np.zeros(len(cells), dtype=np.int64))
    value = cells["value"].to_numpy()
    totals = total_scores(parts.of, value, columns, len(parts), scale_of(value))
    for number, first in enumerate(parts.first.tolist()):
        n, squares, mean = int(totals.count[number]), float(totals.squares[number]), float(totals.mean[number])
        row: Row = {name: each.ids[each.of[first]] for name, each in zip(by, codes, strict=True)}
        row |= {"n": n, "mean": mean, "sd": float(np.sqrt(squares / (n - 1))) if n > 1 else None}
        if rule is not None:
            unit = rule.choose(int(totals.annotators[number]))
            sums = totals.sums(number, unit)
            half, reason = half_width(sums, n, squares, confidence)
            row |= {
                "ci_low": None if half is None else mean - half,
                "ci_high": None if half is None else mean + half,
                "unit": unit,
                "n_units": len(sums),
                "reason": reason,
            }
        yield row
