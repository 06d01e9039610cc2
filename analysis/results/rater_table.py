"""LLM raters side by side: one row a way of asking and criterion, put together from the finished results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from analysis.answers.exclusions import CONSISTENCY
from analysis.answers.groups import people_of
from analysis.answers.order import Order

Row = dict[str, Any]
ONCE = "answered once: nothing to compare with"
NO_PEOPLE = "nobody else rated these outputs"


def rater_table(
    results: Mapping[str, Any], answers: Mapping[str, pl.DataFrame], orders: Mapping[str, Order]
) -> list[Row]:
    """Put every group beside every other, criterion by criterion.

    Nothing is estimated here: means, agreement and correlations are those of ``ratings.means``,
    ``agreement``, ``correlations`` and ``ranking_agreement``. The mean and the standard deviation of a criterion
    are those of all its cells, systems together, from the numbers of each system.

    Parameters
    ----------
    results : mapping
        The other parts of results.json.
    answers : mapping of str to DataFrame
        Checked answer tables before exclusions, by source; only counted.
    orders : mapping of str to Order
        Order of the criteria of each.

    Returns
    -------
    list of dict
        Rows of ``raters``: people first, then each LLM and variant; none where there is no LLM.
    """
    kinds = [(row["group"], row["annotator_kind"]) for row in results["groups"]]
    if "llm" not in {kind for _, kind in kinds}:
        return []
    targets = people_of(kinds)
    rows = []
    for source, table in answers.items():
        counted = _counted(table)
        for about in results["groups"]:
            for criterion in orders[source].criteria:
                if (about["group"], criterion) not in counted:
                    continue
                place = {"source": source, "group": about["group"], "criterion": criterion}
                rows.append(
                    {
                        **place,
                        "annotator_kind": about["annotator_kind"],
                        "form": about["form"],
                        "readout": about["readout"],
                        **counted[about["group"], criterion],
                        "missing": _missing(results, place),
                        **_spread(results, place),
                        **_agreement(results, place, counted[about["group"], criterion]["n_repeats"]),
                        **_beside_people(results, place, targets),
                        **_contradictions(results, about, source),
                    }
                )
    return rows


def _counted(table: pl.DataFrame) -> dict[tuple[str, str], Row]:
    """Count answers asked for, missing and read in two ways, and repeats, by group and criterion; with the mass."""
    mass, differ = (
        pl.col(name) if name in table.columns else pl.lit(None, dtype=pl.Float64)
        for name in ("mass", "readings_differ")
    )
    found = table.group_by("group", "criterion").agg(
        n_asked=pl.len(),
        n_missing=pl.col("value").null_count(),
        n_repeats=pl.col("repeat").drop_nulls().n_unique(),
        n_read_twice=differ.count().cast(pl.Int64),
        n_readings_differ=differ.sum().cast(pl.Int64),
        mass_mean=mass.mean(),
        mass_min=mass.min(),
    )
    rows = found.with_columns(pl.col("group", "criterion").cast(pl.String))
    return {
        (row.pop("group"), row.pop("criterion")): {**row, "n_repeats": max(row["n_repeats"], 1)}
        for row in rows.to_dicts()
    }


def _missing(results: Mapping[str, Any], place: Row) -> list[Row]:
    found = [row for row in results["missing"] if _is_at(row, place)]
    return [
        {"reason": row["reason"], "level": row.get("level"), "n": row["n"]}
        for row in sorted(found, key=lambda row: (-row["n"], row["reason"]))
    ]


def _spread(results: Mapping[str, Any], place: Row) -> Row:
    """Pool the cells of all systems: n, mean and standard deviation (n - 1)."""
    if place["source"] != "ratings":
        return {"n": None, "mean": None, "sd": None}
    means = [row for row in results["ratings"]["means"] if _is_at({**row, "source": "ratings"}, place)]
    n = sum(row["n"] for row in means)
    if not n:
        return {"n": 0, "mean": None, "sd": None}
    mean = math.fsum(row["n"] * row["mean"] for row in means) / n
    within = math.fsum((row["n"] - 1) * (row["sd"] or 0.0) ** 2 for row in means)
    between = math.fsum(row["n"] * (row["mean"] - mean) ** 2 for row in means)
    return {"n": n, "mean": mean, "sd": math.sqrt((within + between) / (n - 1)) if n > 1 else None}


def _agreement(results: Mapping[str, Any], place: Row, repeats: int) -> Row:
    """Take alpha at the level that fits the scale, and exact agreement, of people or of an LLM's answers."""
    own = [row for row in results["agreement"] if _is_at(row, place)]
    alpha = next((row for row in own if row["fits_scale"]), None)
    exact = next((row for row in own if row["measure"] == "exact_agreement"), None)
    reason = None
    if alpha is None or alpha["value"] is None:
        reason = (alpha or {}).get("reason") or (ONCE if repeats == 1 else "not measured")
    return {
        "n_raters": None if alpha is None else alpha["n_annotators"],
        "alpha": None if alpha is None else alpha["value"],
        "alpha_measure": None if alpha is None else alpha["measure"],
        "exact_agreement": None if exact is None else exact["value"],
        "agreement_reason": reason,
    }


def _beside_people(results: Mapping[str, Any], place: Row, targets: Sequence[str]) -> Row:
    """Take the correlations with people; of preferences and choices Kendall's tau of the two rankings."""
    found: Row = {f"{level}_{method}": None for level in ("system", "overall") for method in ("kendall", "spearman")}
    found |= {"people": None, "correlation_reason": None}
    if place["group"] in targets:
        return found | {"correlation_reason": "people themselves"}
    own = f"{place['source']}:{place['group']}"
    for people in targets:
        other = f"{place['source']}:{people}"
        if place["source"] == "ratings":
            rows = [row for row in results["correlations"] if (row["a"], row["b"]) == (own, other)]
            rows = [row for row in rows if row["criterion"] == place["criterion"] and not row["upper_bound"]]
            values = {f"{row['level']}_{row['method']}": row for row in rows}
        else:
            pairs = ((row, {row["a"], row["b"]}) for row in results["ranking_agreement"])
            taus = [row for row, pair in pairs if pair == {own, other} and row["criterion"] == place["criterion"]]
            values = {"system_kendall": {**taus[0], "value": taus[0]["kendall_tau"]}} if taus else {}
        known = {name: row["value"] for name, row in values.items() if name in found and row["value"] is not None}
        if known:
            return found | known | {"people": people}
        if values:
            found["correlation_reason"] = next(
                (row.get("reason") for row in values.values() if row.get("reason")), None
            )
    return found | {"correlation_reason": found["correlation_reason"] or NO_PEOPLE}


def _contradictions(results: Mapping[str, Any], about: Row, source: str) -> Row:
    """Count the forms that failed self-consistency, which only preferences can."""
    if source != "preferences" or about["annotator_kind"] != "llm":
        return {"n_forms": None, "n_inconsistent": None}
    failed = {
        row["assignment_id"]
        for row in results["exclusions"]
        if row["group"] == about["group"] and row["rule"] == CONSISTENCY and row["assignment_id"] is not None
    }
    return {"n_forms": about["assignments"], "n_inconsistent": len(failed)}


def _is_at(row: Mapping[str, Any], place: Row) -> bool:
    return all(row[key] == value for key, value in place.items())
