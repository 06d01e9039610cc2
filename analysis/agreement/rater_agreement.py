"""Agreement of each group on each criterion, as rows of ``results.json``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from analysis.agreement.data import ReliabilityData, from_codes
from analysis.agreement.gwet import gwet_ac1
from analysis.agreement.krippendorff import Level
from analysis.agreement.measures import Answered, MeasureName, Source, measure_agreement
from analysis.agreement.pairwise import FEW_ANNOTATORS, pairwise_agreement
from analysis.agreement.result import Agreement
from analysis.agreement.units import units_of_answers
from analysis.answers.item_preferences import is_soft
from analysis.answers.order import Order, toward
from analysis.answers.plan import Plan
from analysis.answers.scales import Steps
from analysis.answers.study_facts import StudyFacts
from analysis.answers.tables import answered_rows
from analysis.answers.unnamed import UNNAMED, any_unnamed, is_unnamed
from analysis.statistics.coding import FEW, Codes, Floats, Ints, code, fold, in_order, scale_of, snap
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
    n_annotators: Count | None
    """Raters; of an LLM each repeat, and each further assignment that asks the same; null: nobody named them."""
    interval: str | None = None
    """How the interval was made; null: none."""
    estimator: str | None = None
    """Of an ICC: mean squares, or a mixed model where cells are missing."""
    fits_scale: bool | None = None
    """Of an alpha: whether its level fits the scale (ordinal for up to 20 whole numbers, else interval; nominal for
    choices)."""
    categories: Count | None = None
    """Of AC1: answers that could be given, used or not, where scale or question says it; else those that were."""
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
    """Of choices, over the categories of the group's AC1."""
    reason: Reason | None = None
    """Why a number is missing."""


def agreement_of_ratings(
    coded: CodedRaters | None, plan: Plan, steps: Mapping[str, Steps]
) -> tuple[list[AgreementRow], list[AnnotatorPairRow]]:
    """Measure how far the annotators of each group agree on each criterion.

    A unit is an item's output (item, system, sample). People and simulated annotators are raters by themselves, an
    annotator's several answers to one unit averaged; of an LLM each repeat, and each further assignment that asks the
    same, is a rater. Where a group has one rater there are no rows. ``coded`` are the ratings
    (:func:`code_raters`), ``steps`` the answers that a criterion offers, where its scale is declared.

    Returns
    -------
    list of AgreementRow, list of AnnotatorPairRow
        Nothing that is drawn depends on names or on the order of rows.
    """
    return agreement_of_answered(answered_ratings(coded, plan, steps))


def answered_ratings(
    coded: CodedRaters | None, plan: Plan, steps: Mapping[str, Steps | None]
) -> Iterator[tuple[str, str, Answered]]:
    """Yield group, criterion and what is known of their ratings."""
    for group, criterion, data in () if coded is None else coded.each():
        yield (
            group,
            criterion,
            Answered(
                source="ratings",
                units=units_of_answers(data),
                data=data,
                level=level_of(data.value),
                confidence=plan.confidence,
                seed=[plan.seed],
                categories=_offered(steps.get(criterion), data),
                named=named(data),
            ),
        )


def agreement_of_answered(
    ratings: Iterable[tuple[str, str, Answered]],
) -> tuple[list[AgreementRow], list[AnnotatorPairRow]]:
    """Measure the agreement of each group on each criterion, and of every two of few raters."""
    rows: list[AgreementRow] = []
    pairs: list[AnnotatorPairRow] = []
    for group, criterion, answered in ratings:
        data = answered.answers
        rows += agreement_rows(answered, group, criterion)
        if answered.named and data.n_annotators <= FEW_ANNOTATORS and data.n_pairable > 1:
            for pair in pairwise_agreement(data, level=answered.level):
                pairs.append(AnnotatorPairRow(source="ratings", group=group, criterion=criterion, **fields_of(pair)))
    return rows, pairs


def _offered(steps: Steps | None, data: ReliabilityData) -> Steps | None:
    """Return the steps of a scale where every answer is one; means of several answers are none."""
    return steps if steps is not None and np.isin(data.value, steps).all() else None


def choice_categories(*, ties: bool) -> Steps:
    """Return what can be chosen of two outputs, as numbers: the second, the first, and between them neither."""
    return (-1.0, 0.0, 1.0) if ties else (-1.0, 1.0)


def _pairs_of_choices(answered: Answered, group: str, criterion: str) -> Iterator[AnnotatorPairRow]:
    """Compare every two raters of choices: alike or not, without an order of x, tie and y."""
    data = answered.answers
    if not answered.named or answered.level != "nominal" or data.n_annotators > FEW_ANNOTATORS or data.n_pairable < 2:
        return
    number = {name: place for place, name in enumerate(data.annotators)}
    for pair in pairwise_agreement(data, level="nominal"):
        both = data.of_annotators(number[pair.annotator_x], number[pair.annotator_y])
        known = None not in (pair.exact_agreement, pair.cohen_kappa, pair.krippendorff_alpha)
        yield AnnotatorPairRow(
            source="choices",
            group=group,
            criterion=criterion,
            gwet_ac1=gwet_ac1(both, categories=answered.categories).value,
            **fields_of(pair) | {"kendall_tau": None, "reason": None if known else pair.reason},
        )


def agreement_of_judgements(
    kept: Mapping[str, pl.DataFrame], orders: Mapping[str, Order], plan: Plan, study: StudyFacts | None = None
) -> tuple[list[AgreementRow], list[AnnotatorPairRow]]:
    """Measure how far the annotators of each group agree on pairs of systems.

    * Preferences: a unit is a pair and exposure; an annotator's answer is the mean of both directions. Alpha at the
      interval level.
    * Choices: a unit is two outputs of one item; answers are x, y or tie. Alpha at the nominal level. Ties count as an
      answer where the study allows them or, without a study, somebody gave one on the criterion.

    What chance would give is the mean over both ways of listing each unit's pair.

    Raters are those of :func:`agreement_of_ratings`: of an LLM each repeat and each further form that asks the same.

    Returns
    -------
    list of AgreementRow, list of AnnotatorPairRow
        Intervals resample units; nothing that is drawn depends on names or on the order of rows. Pairs are of choices.
    """
    rows: list[AgreementRow] = []
    pairs: list[AnnotatorPairRow] = []
    for source, level in JUDGED.items():
        table = kept[source].filter(pl.col("value").is_not_null()) if source in kept else pl.DataFrame()
        if table.is_empty():
            continue
        order = orders[source]
        tied = _tied(table, study)
        soft = set(is_soft(table).iter_rows()) if source == "choices" else set()
        for group, criterion, data in rating_data(_as_units(table, source, order), order, pairs=True):
            offered = choice_categories(ties=criterion in tied) if source == "choices" else None
            answered = Answered(
                source=source,
                units=units_of_answers(data),
                data=data,
                level="interval" if (group, criterion) in soft else level,
                confidence=plan.confidence,
                seed=[plan.seed],
                categories=_offered(offered, data),
                named=named(data),
            )
            rows += agreement_rows(answered, group, criterion)
            pairs += _pairs_of_choices(answered, group, criterion) if source == "choices" else ()
    return rows, pairs


def _tied(table: pl.DataFrame, study: StudyFacts | None) -> set[str]:
    """Return the criteria on which neither output could be chosen; orders always allow it."""
    allowed = pl.col("value") == 0.5
    if study is not None:
        way = pl.col("elicitation")
        asked = pl.lit(study.choice_ties) & (way == "choice").fill_null(True)
        allowed |= asked | (way == "ranking").fill_null(False)
    return {*table.filter(allowed)["criterion"].cast(pl.String).to_list()}


def agreement_rows(answered: Answered, group: str, criterion: str) -> Iterator[AgreementRow]:
    """Yield every coefficient that applies to the answers of a group to a criterion."""
    for found in measure_agreement(answered):
        row = _agreement_row(found, answered.source, group, criterion, answered.level)
        yield row if answered.named else replace(row, n_annotators=None)


def _agreement_row(found: Agreement, source: Source, group: str, criterion: str, level: Level) -> AgreementRow:
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
        categories=found.settings.get("categories") if found.measure == "gwet_ac1" else None,
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


def rating_data(
    table: pl.DataFrame, order: Order, *, pairs: bool = False
) -> Iterator[tuple[str, str, ReliabilityData]]:
    """Yield the reliability data of each group and criterion in which two raters answered, about ``pairs`` or not."""
    coded = code_raters(table, order)
    for group, criterion, data in () if coded is None else coded.each():
        yield group, criterion, about_pairs(data) if pairs else data


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodedRaters:
    """Who answered what in the groups in which two raters may have: one value a unit and rater, sorted by part.

    ``ends`` (n_parts,) are the ends of the groups and criteria that ``names`` lists; ``system`` numbers ``systems``,
    ``rater`` the names in ``raters``, ``unit`` an item's output. ``times`` counts the answers that each value is the
    mean of.
    """

    names: Sequence[tuple[str, str]]
    ends: Sequence[int]
    systems: Sequence[str]
    system: Ints
    unit: Ints
    raters: Sequence[str]
    rater: Ints
    value: Floats
    times: Ints

    def parts(self) -> Iterator[tuple[str, str, slice]]:
        """Yield group, criterion and place of each part."""
        for start, end, names in zip([0, *self.ends], self.ends, self.names, strict=False):
            yield *names, slice(start, end)

    def data(self, own: slice | Ints) -> ReliabilityData:
        """Return some answers of a part as reliability data."""
        unit, rater, value = self.unit[own], self.rater[own], self.value[own]
        present = np.bincount(rater) > 0
        names = tuple(self.raters[number] for number in np.flatnonzero(present).tolist())
        if not present.all():
            rater = (np.cumsum(present) - 1)[rater]
        data = from_codes(unit, rater, snap(value, scale=scale_of(value)), names)
        return replace(data, averaged=bool(np.any(self.times[own] > 1)))

    def each(self) -> Iterator[tuple[str, str, ReliabilityData]]:
        """Yield group, criterion and reliability data where two raters answered."""
        for group, criterion, own in self.parts():
            data = self.data(own)
            if data.n_annotators > 1:
                yield group, criterion, data

    def by_system(self) -> Iterator[tuple[str, str, str, ReliabilityData]]:
        """Yield group, criterion, system and its reliability data where two raters answered."""
        for group, criterion, own in self.parts():
            system = self.system[own]
            for number in np.flatnonzero(np.bincount(system)).tolist():
                data = self.data(np.flatnonzero(system == number) + own.start)
                if data.n_annotators > 1:
                    yield group, criterion, self.systems[number], data


def code_raters(table: pl.DataFrame, order: Order) -> CodedRaters | None:
    """Give the answers of the groups in which two raters may have answered numbers; none where there are none."""
    table = answered_rows(table)
    several = table.group_by("group").agg(
        (pl.col("annotator_kind") != "llm").any() & (pl.col("annotator_id").n_unique() > 1),
        llm=(pl.col("annotator_kind") == "llm").all(),
    )
    llms = table.filter(pl.col("group").is_in(several.filter("llm")["group"].to_list()))
    twice = llms.group_by("group").agg(pl.struct("annotator_id", "variant", "repeat", "assignment_id").n_unique() > 1)
    unnamed = any_unnamed(table)
    lists = table.filter(is_unnamed())["group"].unique().to_list() if unnamed else []
    listed = pl.col("group").is_in(lists)
    again = pl.col("group").is_in(twice.filter("annotator_id")["group"].to_list())
    agreeing_groups = several.filter(pl.col("annotator_kind") | listed | again)["group"]
    if len(agreeing_groups) < several.height:
        table = table.filter(pl.col("group").is_in(agreeing_groups.to_list()))
    if table.is_empty():
        return None
    group, criterion = code(table["group"], order.groups).of, code(table["criterion"], order.criteria).of
    systems = code(table["system"], sorted(order.systems))
    unit = fold(in_order(table["item_id"]), systems.of, in_order(table["sample"])).of
    part = fold(group, criterion).of
    rater = _raters(table, unit, part, unnamed=unnamed)
    cells = fold(part, unit, rater.of)
    value, first = cells.mean(table["value"].to_numpy()), cells.first
    part = part[first]
    starts = first[np.flatnonzero(np.diff(part, prepend=-1))]
    names = [
        (order.groups[one], order.criteria[other])
        for one, other in zip(group[starts].tolist(), criterion[starts].tolist(), strict=True)
    ]
    return CodedRaters(
        names=names,
        ends=np.cumsum(np.bincount(part)).tolist(),
        systems=systems.ids,
        system=systems.of[first],
        unit=unit[first],
        raters=rater.ids,
        rater=rater.of[first],
        value=value,
        times=np.bincount(cells.of, minlength=len(cells)),
    )


def named(data: ReliabilityData) -> bool:
    """Tell whether the raters are known from unit to unit; places in lists of scores are not."""
    return not any(name.startswith(UNNAMED) for name in data.annotators)


def about_pairs(data: ReliabilityData) -> ReliabilityData:
    """Put answers about pairs, from 0 to 1 for the one listed first, on both sides of 0."""
    return replace(data, value=snap(2 * data.value - 1, scale=1.0), turns=True)


def _raters(table: pl.DataFrame, unit: Ints, part: Ints, *, unnamed: bool) -> Codes:
    """Name the rater of each answer: the annotator, of an LLM with its variant, repeat and further assignment.

    In lists of scores it is the place in the list.
    """
    if unnamed:
        place = pl.concat_str(pl.col("annotator_id").cast(pl.String), pl.col("repeat").cast(pl.String), separator=": ")
        own = pl.col("annotator_id").cast(pl.String)
        table = table.with_columns(annotator_id=pl.when(is_unnamed()).then(place).otherwise(own))
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
    visits = in_order(table["assignment_id"])
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
    seen = (column if len(column) <= FEW else column.unique(maintain_order=True)).to_list()
    return code(column, sorted({"" if name is None else name for name in seen}))
