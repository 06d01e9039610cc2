"""What stands in results.json beside the tests: settings, groups, missing answers."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import polars as pl

from analysis.answers.exclusions import Exclusion, excluded_counts
from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.answers.study_facts import StudyFacts
from analysis.answers.tables import AnswerTables

FORMS = ("identical", "variant")
PACKAGES = ("spa-eval", "numpy", "scipy", "polars")


def groups(
    answers: Mapping[str, pl.DataFrame],
    order: Sequence[tuple[str, str]],
    exclusions: Sequence[Exclusion],
    study: StudyFacts | None,
) -> list[dict[str, Any]]:
    """Describe each group: who, how many, how many left, whether the form was the identical one, and the readout."""
    columns = ["group", "annotator_id", "assignment_id", "variant"]
    seen = pl.concat([table.select(columns).unique().cast(pl.String) for table in answers.values()]).unique()
    forms, readouts = (_told(answers, column) for column in ("form", "readout"))
    gone_annotators, gone_assignments = excluded_counts(exclusions, seen)
    rows = []
    for group, kind in order:
        own = seen.filter(pl.col("group") == group)
        variant = own["variant"].is_not_null().any()
        visits = own.filter(pl.col("assignment_id").is_not_null()).select(columns[1:3]).n_unique()
        rows.append(
            {
                "group": group,
                "annotator_kind": kind,
                "annotators": own["annotator_id"].n_unique(),
                "assignments": visits,
                "excluded_annotators": gone_annotators[group],
                "excluded_assignments": gone_assignments[group],
                "form": _form(forms.get(group, ()), study, variant=variant),
                "readout": next(iter(readouts.get(group, ())), None),
            }
        )
    return rows


def _told(answers: Mapping[str, pl.DataFrame], column: str) -> dict[str, list[str]]:
    """Return what a column says of each group, over all tables that have it."""
    said = [
        table.select("group", column).drop_nulls().unique().cast(pl.String)
        for table in answers.values()
        if column in table.columns
    ]
    found: dict[str, list[str]] = {}
    for group, value in pl.concat(said).unique().sort("group", column).iter_rows() if said else ():
        found.setdefault(group, []).append(value)
    return found


def _form(said: Sequence[str], study: StudyFacts | None, *, variant: bool) -> str | None:
    """Tell whether a group read what people read; the answers say it, else a variant's name has to do."""
    known = [word for word in said if word in FORMS]
    if known:
        return "variant" if "variant" in known else "identical"
    return None if study is None else "variant" if variant else "identical"


def missing(answers: Mapping[str, pl.DataFrame], orders: Mapping[str, Order]) -> list[dict[str, Any]]:
    """Count the answers that could not be used, by source, group, criterion, reason and level."""
    rows = []
    for source, table in answers.items():
        order = orders[source]
        level = pl.col("missing_level") if "missing_level" in table.columns else pl.lit(None, dtype=pl.String)
        counted = (
            table.filter(pl.col("value").is_null())
            .group_by("group", "criterion", pl.col("missing_reason").alias("reason"), level.alias("level"))
            .agg(pl.len().alias("n"))
        )
        counted = counted.with_columns(pl.col(pl.Categorical).cast(pl.String))
        found = [{"source": source, **row} for row in counted.to_dicts()]
        rows += sorted(
            found,
            key=lambda row: (
                order.groups.index(row["group"]),
                order.criteria.index(row["criterion"]),
                row["reason"],
                row["level"] or "",
            ),
        )
    return rows


def exclusion_row(row: Exclusion) -> dict[str, Any]:
    """Return the row of an exclusion."""
    names = ("annotator_id", "assignment_id", "group", "rule", "evidence")
    return {name: getattr(row, name) for name in names}


def settings(tables: AnswerTables, plan: Plan) -> dict[str, Any]:
    """Name everything that the numbers depend on."""
    tau = plan.consistency_tau
    return {
        "fwer": plan.fwer,
        "consistency_tau": None if tau is None else float(tau),
        "confidence": plan.confidence,
        "seed": plan.seed,
        "family": plan.family,
        "correction": plan.correction,
        "unit": plan.unit,
        "rating_test": plan.rating_test,
        "max_failed_checks": plan.max_failed_checks,
        "repeat_submissions": plan.repeat_submissions,
        "extra_answers": plan.extra_answers,
        "incomplete_answers": plan.incomplete_answers,
        "regularisation": plan.regularisation,
        "epsilon": plan.epsilon,
        "equivalence_margin": plan.equivalence_margin,
        "equivalence_margin_ratings": plan.equivalence_margin_ratings,
        "lower_is_better": sorted(plan.lower_is_better),
        "scales": [asdict(scale) for scale in tables.scales],
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "inputs": [asdict(file) for file in tables.inputs],
    }
