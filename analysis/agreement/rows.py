"""Agreement of each group on each criterion, as rows of ``results.json``."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from analysis.agreement.data import ReliabilityData, from_codes
from analysis.agreement.gwet import gwet_ac1
from analysis.agreement.krippendorff import Level
from analysis.agreement.measures import Answered, MeasureName, Source, measure_agreement
from analysis.agreement.pairwise import FEW_ANNOTATORS, pairwise_agreement
from analysis.agreement.result import Agreement
from analysis.answers.order import Order, toward
from analysis.answers.plan import Plan
from analysis.answers.tables import answered_rows
from analysis.statistics.coding import Codes, Floats, Ints, code, fold, scale_of, snap
from analysis.statistics.reasons import Reason
from analysis.statistics.record import AtMostOne, Coefficient, Count, Probability, Record, fields_of, record_like

FEW_VALUES = 20  # whole numbers up to which a scale is taken as ordered steps
JUDGED: dict[Source, Level] = {"preferences": "interval", "choices": "nominal"}
WHO = ("group", "annotator_kind", "annotator_id", "assignment_id", "variant", "repeat", "criterion")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AgreementRow(Record):
    """One coefficient of agreement of a group and criterion, a row of ``agreement``."""

    explained: ClassVar[tuple[str, ...]] = ("value",)
    source: Source
    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    measure: MeasureName
    value: AtMostOne | None
    """1: full agreement; 0: as by chance (exact_agreement: the share of units on which all agree)."""
    ci_low: float | None
    ci_high: float | None
    n_items: Count
    """Units with at least two answers: an item's output (ratings), a pair and exposure (preferences), two outputs of
    one item (choices)."""
    n_annotators: Count
    """Raters; of an LLM each repeat, and each further assignment that asks the same."""
    interval: str | None = None
    """How the interval was made; null: none."""
    estimator: str | None = None
    """Of an ICC: mean squares, or a mixed model where cells are missing."""
    fits_scale: bool | None = None
    """Of an alpha: whether its level fits the scale (ordinal for up to 20 whole numbers, else interval; nominal for
    choices)."""
    reason: Reason | None = None
    """Why the value, or only its interval, is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AnnotatorPairRow(Record):
    """Two raters of a group compared on a criterion, a row of ``annotator_pairs``."""

    source: Literal["ratings", "choices"]
    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    annotator_x: str
    annotator_y: str
    n_items: Count
    exact_agreement: Probability | None
    kendall_tau: Coefficient | None
    """Null of choices, which have no order."""
    cohen_kappa: Coefficient | None
    krippendorff_alpha: Coefficient | None
    level: Level
    gwet_ac1: Coefficient | None = None
    """Of choices, over the answers that the group gave."""
    reason: Reason | None = None
    """Why a number is missing."""


def agreement_of_ratings(
    table: pl.DataFrame, order: Order, plan: Plan
) -> tuple[list[AgreementRow], list[AnnotatorPairRow]]:
    """Measure how far the annotators of each group agree on each criterion.

    A unit is an item's output (item, system, sample). People and simulated annotators are raters by themselves, an
    annotator's several answers to one unit averaged; of an LLM each repeat, and each further assignment that asks the
    same, is a rater. Where a group has one rater there are no rows.

    Returns
    -------
    list of AgreementRow, list of AnnotatorPairRow
        The intervals depend on ``plan.seed``, the group and the criterion alone.
    """
    rows: list[AgreementRow] = []
    pairs: list[AnnotatorPairRow] = []
    for group, criterion, data in rating_data(table, order):
        level = level_of(data.value)
        seed = [plan.seed, zlib.crc32(f"{group}\n{criterion}".encode())]
        answered = Answered(source="ratings", data=data, level=level, confidence=plan.confidence, seed=seed)
        rows += _rows(answered, group, criterion)
        if data.n_annotators <= FEW_ANNOTATORS and data.n_pairable > 1:
            for pair in pairwise_agreement(data, level=level):
                pairs.append(AnnotatorPairRow(source="ratings", group=group, criterion=criterion, **fields_of(pair)))
    return rows, pairs


def _pairs_of_choices(data: ReliabilityData, group: str, criterion: str) -> Iterator[AnnotatorPairRow]:
    """Compare every two raters of choices: alike or not, without an order of x, tie and y."""
    if data.n_annotators > FEW_ANNOTATORS or data.n_pairable < 2:
        return
    categories = np.unique(data.value).tolist()
    number = {name: place for place, name in enumerate(data.annotators)}
    for pair in pairwise_agreement(data, level="nominal"):
        both = data.of_annotators(number[pair.annotator_x], number[pair.annotator_y])
        known = None not in (pair.exact_agreement, pair.cohen_kappa, pair.krippendorff_alpha)
        yield AnnotatorPairRow(
            source="choices",
            group=group,
            criterion=criterion,
            gwet_ac1=gwet_ac1(both, categories=categories).value,
            **fields_of(pair) | {"kendall_tau": None, "reason": None if known else pair.reason},
        )


def agreement_of_judgements(
    kept: Mapping[str, pl.DataFrame], orders: Mapping[str, Order], plan: Plan
) -> tuple[list[AgreementRow], list[AnnotatorPairRow]]:
    """Measure how far the annotators of each group agree on pairs of systems.

    * Preferences: a unit is a pair and exposure; an annotator's answer is the mean of both directions, toward the one
      listed first. Alpha at the interval level.
    * Choices: a unit is two outputs of one item; answers are x, y or tie, in the direction of the pair first listed.
      Alpha at the nominal level.

    Raters are those of :func:`agreement_of_ratings`: of an LLM each repeat and each further form that asks the same.

    Returns
    -------
    list of AgreementRow, list of AnnotatorPairRow
        Intervals resample units and depend on ``plan.seed``, the group and the criterion. Pairs are of choices.
    """
    rows: list[AgreementRow] = []
    pairs: list[AnnotatorPairRow] = []
    for source, level in JUDGED.items():
        table = kept[source].filter(pl.col("value").is_not_null()) if source in kept else pl.DataFrame()
        if table.is_empty():
            continue
        order = orders[source]
        for group, criterion, data in rating_data(_as_units(table, source, order), order):
            seed = [plan.seed, zlib.crc32(f"{source}\n{group}\n{criterion}".encode())]
            answered = Answered(source=source, data=data, level=level, confidence=plan.confidence, seed=seed)
            rows += _rows(answered, group, criterion)
            pairs += _pairs_of_choices(data, group, criterion) if source == "choices" else ()
    return rows, pairs


def _rows(answered: Answered, group: str, criterion: str) -> Iterator[AgreementRow]:
    for found in measure_agreement(answered):
        yield agreement_row(found, answered.source, group, criterion, answered.level)


def agreement_row(found: Agreement, source: Source, group: str, criterion: str, level: Level) -> AgreementRow:
    """Return a coefficient as a row; ``level`` is the one that fits the scale."""
    alpha = found.measure.startswith("krippendorff_alpha")
    return record_like(
        AgreementRow,
        found,
        source=source,
        group=group,
        criterion=criterion,
        estimator=found.settings.get("estimator"),
        fits_scale=found.measure.endswith(level) if alpha else None,
    )


def _as_units(table: pl.DataFrame, source: Source, order: Order) -> pl.DataFrame:
    """Lay judgements out as ratings are: the pair as the system, and what else makes a unit as item and sample."""
    parts = ("exposure",) if source == "preferences" else ("item_id", "sample", "sample_first", "sample_second")
    judged = toward(table, order, (*WHO, *parts, "x", "y"))
    named = [pl.col(part).cast(pl.String).fill_null("") for part in parts]
    return judged.with_columns(
        item_id=pl.concat_str(named, separator="\n"),
        system=pl.concat_str("x", "y", separator="\n"),
        sample=pl.lit(None, dtype=pl.String),
    )


def level_of(answers: Floats) -> Level:
    """Return "ordinal" for few whole numbers, "interval" for sliders and means."""
    values = np.unique(answers)
    return "ordinal" if len(values) <= FEW_VALUES and np.array_equal(values, np.round(values)) else "interval"


def rating_data(table: pl.DataFrame, order: Order) -> Iterator[tuple[str, str, ReliabilityData]]:
    """Yield the reliability data of each group and criterion in which two raters answered."""
    table = answered_rows(table)
    several = table.group_by("group").agg(
        (pl.col("annotator_kind") != "llm").any() & (pl.col("annotator_id").n_unique() > 1),
        again=pl.struct("annotator_id", "variant", "repeat", "assignment_id").n_unique() > 1,
        llm=(pl.col("annotator_kind") == "llm").all(),
    )
    agreeing_groups = several.filter(pl.col("annotator_kind") | (pl.col("llm") & pl.col("again")))["group"]
    if len(agreeing_groups) < several.height:
        table = table.filter(pl.col("group").is_in(agreeing_groups.to_list()))
    if table.is_empty():
        return
    group, criterion = code(table["group"], order.groups).of, code(table["criterion"], order.criteria).of
    unit = fold(*(_sorted(table[name]).of for name in ("item_id", "system", "sample"))).of
    rater = _raters(table, unit, fold(group, criterion).of)
    part, ids, of = fold(group, criterion).of, rater.ids, rater.of
    cells = fold(part, unit, of)
    value, first, repeated = cells.mean(table["value"].to_numpy()), cells.first, cells.first is not cells.of
    del rater, cells  # of ten million answers each array is 80 MB
    if repeated:  # else each row is a cell, and they are in order
        unit, part = unit[first], part[first]
        of = of[first]
    ends = np.cumsum(np.bincount(part))
    for number, end in enumerate(ends.tolist()):
        own = slice(ends[number - 1] if number else 0, end)
        data = _data(unit[own], ids, of[own], value[own])
        if data.n_annotators > 1:
            place = first[own.start]
            yield order.groups[group[place]], order.criteria[criterion[place]], data


def _data(unit: Ints, ids: Sequence[str], of: Ints, value: Floats) -> ReliabilityData:
    present = np.unique(of)
    names = tuple(ids[number] for number in present.tolist())
    return from_codes(unit, np.searchsorted(present, of), snap(value, scale=scale_of(value)), names)


def _raters(table: pl.DataFrame, unit: Ints, part: Ints) -> Codes:
    """Name the rater of each answer: the annotator, of an LLM with its variant, repeat and further assignment."""
    llm = (table["annotator_kind"] == "llm").to_numpy()
    plain = table["annotator_id"]
    if not llm.any():
        return _sorted(plain)
    own = pl.when(pl.col("annotator_kind") == "llm").then(pl.lit(1)).otherwise(None)
    named = table.select(
        name=pl.concat_str(
            [pl.col("annotator_id"), *(pl.when(own == 1).then(pl.col(part)) for part in ("variant", "repeat"))],
            separator="/",
            ignore_nulls=True,
        )
    )["name"]
    visits = _sorted(table["assignment_id"]).of
    again = fold(part, unit, code(named).of).of
    order = np.lexsort((visits, again))
    starts = np.flatnonzero(np.diff(again[order], prepend=-1))
    slot = np.empty(len(again), dtype=np.int64)
    slot[order] = np.arange(len(again)) - np.repeat(starts, np.diff(starts, append=len(again)))
    slot[~llm] = 0
    numbered = pl.Series([f"{number + 1}" for number in range(int(slot.max()) + 1)])[slot.tolist()]
    shown = pl.select(
        pl.when(pl.Series(slot) == 0).then(named).otherwise(pl.concat_str([named, numbered], separator=" #"))
    ).to_series()
    return _sorted(shown)


def _sorted(column: pl.Series) -> Codes:
    """Give ids numbers in their own order, so that the order of the rows does not reach an iterative fit."""
    seen = column.unique().to_list()
    return code(column, sorted({"" if name is None else name for name in seen}))
