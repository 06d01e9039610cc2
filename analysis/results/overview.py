"""What stands in results.json beside the tests: settings, groups, missing answers."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any, Final, Literal

import numpy as np
import polars as pl
import scipy

from analysis.answers.careless import CarelessCheck, declared_rules
from analysis.answers.careless_signs import CarelessSign, sign_bounds
from analysis.answers.columns import Scale
from analysis.answers.exclusions import Exclusion, excluded_counts
from analysis.answers.groups import distinct
from analysis.answers.input_files import InputFile
from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.answers.rescaling import Rescaled
from analysis.answers.study_facts import StudyFacts
from analysis.answers.tables import answered_rows
from analysis.answers.unnamed import MEANS, cell_of, is_nameless
from analysis.contribution import Analysis, Contribution, KeyValues
from analysis.records.overview import (
    GROUPS,
    MISSING,
    CarelessCount,
    CarelessSignCount,
    CarelessSignRow,
    ExclusionRow,
    Group,
    MissingCount,
    Settings,
)
from analysis.statistics.record import AnnotatorKind, record_like
from spa.records.submission import SIMULATED_RATER

FORMS = ("identical", "variant")


def groups(
    answers: Mapping[str, pl.DataFrame],
    order: Sequence[tuple[str, AnnotatorKind]],
    exclusions: Sequence[Exclusion],
    study: StudyFacts | None,
) -> tuple[Group, ...]:
    """Describe each group: who, how many, how many left, whether the form was the identical one, and the readout."""
    columns = ("group", "annotator_id", "assignment_id", "variant")
    seen = pl.concat([distinct(table, *columns) for table in answers.values()]).unique()
    nameless = seen.filter(is_nameless()).group_by("group").agg(pl.col("annotator_id").first())
    visits = pl.struct("annotator_id", "assignment_id").filter(pl.col("assignment_id").is_not_null())
    counted = seen.group_by("group").agg(
        pl.col("annotator_id").n_unique().alias("annotators"),
        visits.n_unique().alias("assignments"),
        pl.col("variant").is_not_null().any(),
    )
    given = {column: _given(answers, column) for column in ("form", "readout")}
    rows = group_rows(order, counted, given, excluded_counts(exclusions, seen), study)
    who = dict(nameless.iter_rows())
    return tuple(
        replace(row, **_unnamed(who[row.group], row.group, answers)) if row.group in who else row for row in rows
    )


def _unnamed(annotator: str, group: str, answers: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
    """Return the fields of a group of people whom nobody named, whose number is not known."""
    if annotator.startswith(MEANS):
        return {"annotators": 0, "assignments": 0, "unnamed": "means"}
    counts = [
        answered_rows(table).filter(pl.col("group") == group).group_by(cell_of(table, source)).len()["len"]
        for source, table in answers.items()
    ]
    every = pl.concat(counts).to_numpy()
    return {
        "annotators": 0,
        "assignments": 0,
        "unnamed": "lists",
        "fewest_an_output": int(every.min(initial=every.max(initial=0))),
        "most_an_output": int(every.max(initial=0)),
    }


def group_rows(
    order: Sequence[tuple[str, AnnotatorKind]],
    counted: pl.DataFrame,
    columns: Mapping[str, Mapping[str, Sequence[str]]],
    gone: tuple[Counter[str], Counter[str]],
    study: StudyFacts | None = None,
) -> tuple[Group, ...]:
    """Do what :func:`groups` does, from counts.

    Parameters
    ----------
    order : sequence of (str, str)
        Group and kind, in the order of the results.
    counted : DataFrame
        ``group, annotators, assignments, variant``: how many there are, and whether a variant is named.
    columns : mapping of str to mapping
        What the columns "form" and "readout" say, by group.
    gone : tuple of Counter
        Annotators and assignments excluded, by group.
    study : StudyFacts, optional
        Where it is known, a variant's name tells that the form was another one.
    """
    known = {row.pop("group"): row for row in counted.to_dicts()}
    return tuple(
        Group(
            group=group,
            annotator_kind=kind,
            annotators=known[group]["annotators"],
            assignments=known[group]["assignments"],
            excluded_annotators=gone[0][group],
            excluded_assignments=gone[1][group],
            form=_form(columns["form"].get(group, ()), study, variant=known[group]["variant"]),
            readout=next(iter(columns["readout"].get(group, ())), None),
            simulated=kind == "llm" and _is_simulated(group, study),
        )
        for group, kind in order
    )


def _is_simulated(group: str, study: StudyFacts | None) -> bool:
    """Tell whether a group, an LLM's id or id/variant, is the rater that rehearsals ask."""
    raters = (SIMULATED_RATER, *(study.simulated_raters if study is not None else ()))
    return any(group == rater or group.startswith(f"{rater}/") for rater in raters)


def _given(answers: Mapping[str, pl.DataFrame], column: str) -> dict[str, list[str]]:
    """Return what a column says of each group, over all tables that have it."""
    given = [
        table.select("group", column).drop_nulls().unique().cast(pl.String)
        for table in answers.values()
        if column in table.columns
    ]
    found: dict[str, list[str]] = {}
    for group, value in pl.concat(given).unique().sort("group", column).iter_rows() if given else ():
        found.setdefault(group, []).append(value)
    return found


def _form(given: Sequence[str], study: StudyFacts | None, *, variant: bool) -> Literal["identical", "variant"] | None:
    """Tell whether a group read what people read; the answers say it, else a variant's name has to do."""
    known = [word for word in given if word in FORMS]
    if known:
        return "variant" if "variant" in known else "identical"
    return None if study is None else "variant" if variant else "identical"


def missing(answers: Mapping[str, pl.DataFrame], orders: Mapping[str, Order]) -> tuple[MissingCount, ...]:
    """Count the answers that could not be used, by source, group, criterion, reason and level."""
    rows: list[MissingCount] = []
    for source, table in answers.items():
        order = orders[source]
        level = pl.col("missing_level") if "missing_level" in table.columns else pl.lit(None, dtype=pl.String)
        lost = table.filter(pl.col("value").is_null())
        by = ("group", "criterion", pl.col("missing_reason").alias("reason"), level.alias("level"))
        counted = lost.group_by(*by).agg(pl.len().alias("n"))
        about = ("system", "system") if "system" in lost.columns else ("system_x", "system_y")
        systems = lost.select(pl.col(name).cast(pl.String).alias(end) for name, end in zip(about, "xy", strict=True))
        named = counted.with_columns(pl.col(pl.Categorical).cast(pl.String))
        rows += missing_rows(source, named, order, {*systems.unique().rows()})
    return tuple(rows)


def _only_system(systems: Collection[tuple[str, str]], source: str, order: Order) -> str | None:
    """Return the system that all missing answers of a source are about; of pairs the one in all, of several pairs."""
    if not systems:
        return None
    shared = set.intersection(*map(set, systems))
    others = len(order.systems) > 1 if source == "ratings" else any(not shared & set(pair) for pair in order.pairs)
    return next(iter(shared)) if len(shared) == 1 and others else None


def missing_rows(
    source: str, counted: pl.DataFrame, order: Order, systems: Collection[tuple[str, str]]
) -> list[MissingCount]:
    """Return the rows of ``missing`` of one source.

    ``counted`` has group, criterion, reason, level and n; ``systems`` are those that these answers are about.
    """
    about = {"source": source, "system": _only_system(systems, source, order)}
    return sorted(
        (MissingCount(**about | row) for row in counted.to_dicts()),
        key=lambda row: (
            order.groups.index(row.group),
            order.criteria.index(row.criterion),
            row.reason,
            row.level or "",
        ),
    )


def exclusion_rows(exclusions: Sequence[Exclusion]) -> tuple[ExclusionRow, ...]:
    """Return the rows of exclusions."""
    return tuple(record_like(ExclusionRow, row) for row in exclusions)


def careless_counts(checks: Sequence[CarelessCheck], plan: Plan) -> tuple[CarelessCount, ...]:
    """Count people by declared rule and group."""
    bounds = declared_rules(plan)
    judged = Counter((check.rule, check.group) for check in checks)
    unknown = Counter((check.rule, check.group) for check in checks if check.evidence is None)
    excluded = Counter((check.rule, check.group) for check in checks if check.excluded)
    return tuple(
        CarelessCount(
            rule=rule,
            bound=bounds[rule],
            group=group,
            annotators=judged[rule, group],
            not_checkable=unknown[rule, group],
            excluded=excluded[rule, group],
        )
        for rule, group in judged
    )


def sign_rows(signs: Sequence[CarelessSign]) -> tuple[CarelessSignRow, ...]:
    """Return a row for each person and sign that is shown."""
    return tuple(record_like(CarelessSignRow, one, evidence=one.evidence or "") for one in signs if one.shown)


def sign_counts(signs: Sequence[CarelessSign], plan: Plan) -> tuple[CarelessSignCount, ...]:
    """Count people by sign and group."""
    bounds = sign_bounds(plan)
    judged = Counter((one.sign, one.group) for one in signs)
    unknown = Counter((one.sign, one.group) for one in signs if one.evidence is None)
    shown = Counter((one.sign, one.group) for one in signs if one.shown)
    excluded = Counter((one.sign, one.group) for one in signs if one.shown and one.excluded_by is not None)
    return tuple(
        CarelessSignCount(
            sign=sign,
            bound=bounds[sign].bound,
            declared=bounds[sign].declared,
            group=group,
            annotators=judged[sign, group],
            not_checkable=unknown[sign, group],
            shown=shown[sign, group],
            excluded=excluded[sign, group],
        )
        for sign, group in judged
    )


def settings(
    plan: Plan,
    *,
    inputs: Sequence[InputFile],
    scales: Sequence[Scale],
    missing_codes: Sequence[str] = (),
    comparison_ends: tuple[float, float] | None = None,
    rescaled: Sequence[Rescaled] = (),
) -> Settings:
    """Name everything that the numbers depend on."""
    tau = plan.consistency_tau
    return record_like(
        Settings,
        plan,
        consistency_tau=None if tau is None else float(tau),
        lower_is_better=tuple(sorted(plan.lower_is_better)),
        scales=tuple(scales),
        missing_codes=tuple(missing_codes),
        comparison_ends=comparison_ends,
        rescaled=tuple(rescaled),
        versions={
            "python": platform.python_version(),
            "spa-eval": _own_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "polars": pl.__version__,
        },
        inputs=tuple(inputs),
    )


@cache
def _own_version() -> str:
    return version("spa-eval")


def _counted(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    members = {jury.id: jury.raters for jury in prepared.plan.juries}
    rows = groups(prepared.answers, prepared.groups, prepared.exclusions, prepared.study)
    return {
        "groups": tuple(replace(row, members=members[row.group]) if row.group in members else row for row in rows),
        "missing": missing(prepared.answers, prepared.orders),
    }


def _of_sums(analysis: Analysis) -> KeyValues:
    totals, gone = analysis.summed.totals, analysis.summed.gone
    said: dict[str, dict[str, list[str]]] = {column: {} for column in ("form", "readout", "variant")}
    for group, column, value in totals.columns.select("group", "column", "value").unique().sort(pl.all()).iter_rows():
        if column in said and value is not None:
            said[column].setdefault(group, []).append(value)
    counted = totals.seen.with_columns(variant=pl.col("group").is_in([*said["variant"]]))
    return {
        "groups": group_rows(totals.groups, counted, said, gone),
        "missing": tuple(missing_rows(totals.kind, totals.missing, totals.order, {*totals.missing_systems.rows()})),
    }


COUNTED: Final = Contribution(keys=(), between=(GROUPS, MISSING), compute=_counted, of_sums=_of_sums)
