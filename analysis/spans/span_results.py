"""Marked errors as rows of ``results.json``: how many there are, and how far annotators agree on them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import polars as pl

from analysis.agreement.resampling import Interval, interval_over_units
from analysis.answers.plan import Plan
from analysis.answers.span_marks import IN_SOURCE, OMISSION
from analysis.spans.agreement import Span, character_f1, coincidences, lay_out, unitizing_alpha
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Record, Spread

SpanMeasure = Literal["span_f1", "span_f1_severity", "alpha_u", "alpha_u_marked"]
REPLICATES = 1000
OUTPUT = ("item_id", "system", "sample")
NOTHING_MARKED = why("nothing_marked")
ONE_ANNOTATOR = why("no_output_placed_twice")
NO_LENGTHS = why("no_lengths")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SpanCount(Record):
    """Errors that one group marked in the outputs of one system."""

    group: str
    criterion: str
    system: str
    severity: str | None
    """Null: all severities, each error counted with its weight."""
    n_answers: Count
    """Outputs times annotators, those without errors included."""
    n_errors: Count
    n_unplaced: Count
    """Of them, those whose quote was not found, or stands more than once."""
    per_answer: Spread
    """Errors an answer; for all severities the sum of their weights."""
    n_marked: Count = 0
    """Answers with errors of the severity."""
    n_left_out: Count = 0
    """Of them, those that agreement leaves out: with an error that has no place and is no omission."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SpanAgreement(Record):
    """How far annotators mark the same characters."""

    explained: ClassVar[tuple[str, ...]] = ("value",)
    group: str
    other: str | None
    """Null: within the group; else every pair is one of each group."""
    criterion: str
    measure: SpanMeasure
    """Mean F1 of two annotators' characters, any severity or the same; Krippendorff's unitizing alpha with severities,
    or of marked against unmarked alone."""
    value: float | None
    ci_low: float | None
    ci_high: float | None
    n_outputs: Count
    """Outputs with two answers whose errors are all placed."""
    n_annotators: Count
    interval: str | None = None
    reason: Reason | None = None
    """Why the value, or only its interval, is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SpanResults(Record):
    """Marked errors."""

    counts: tuple[SpanCount, ...]
    agreement: tuple[SpanAgreement, ...]


def span_results(
    spans: pl.DataFrame | None, groups: Sequence[str], systems: Sequence[str], plan: Plan
) -> SpanResults | None:
    """Count marked errors, and measure agreement on their places.

    Parameters
    ----------
    spans : DataFrame or None
        Checked table of marked errors after exclusions.
    groups, systems : sequence of str
        In the order of the report.
    plan : Plan
        Level of intervals and seed.

    Returns
    -------
    SpanResults or None
        Intervals resample items; ``None`` where nobody was asked to mark errors.
    """
    answered = None if spans is None else spans.filter(pl.col("missing_reason").is_null())
    if answered is None or answered.is_empty():
        return None
    counts: list[SpanCount] = []
    agreement: list[SpanAgreement] = []
    by_severity = answered.drop_nulls(["severity", "weight"]).group_by("severity").agg(pl.col("weight").max())
    weights = dict(by_severity.sort("weight", "severity").iter_rows())
    for criterion in answered["criterion"].unique(maintain_order=True).to_list():
        own = answered.filter(pl.col("criterion") == criterion)
        marked = _by_annotator(own, {severity: 1 + place for place, severity in enumerate(weights)})
        place = _Place(group="", other=None, criterion=criterion, lengths=not own["characters"].has_nulls(), plan=plan)
        for group in (group for group in groups if group in marked):
            counts += _counts(own.filter(pl.col("group") == group), (group, criterion), systems, list(weights))
            agreement += _within(marked[group], replace(place, group=group))
        for group, other in combinations([group for group in groups if group in marked], 2):
            agreement += _between(marked[group], marked[other], replace(place, group=group, other=other))
    return SpanResults(counts=tuple(counts), agreement=tuple(agreement))


def _counts(
    own: pl.DataFrame, place: tuple[str, str], systems: Sequence[str], severities: Sequence[str]
) -> Iterator[SpanCount]:
    who = [name for name in ("annotator_id", "assignment_id", "variant", "repeat", *OUTPUT) if name in own.columns]
    for system in systems:
        rows = own.filter(pl.col("system") == system)
        if rows.is_empty():
            continue
        answers = rows.select(pl.struct(who).n_unique()).item()
        for severity in (None, *severities):
            errors = rows.filter(
                pl.col("severity").is_not_null() if severity is None else pl.col("severity") == severity
            )
            total = float(errors["weight"].sum()) if severity is None else errors.height
            marked = errors.group_by(who).agg((pl.col("start").is_null() & ~_of_no_place()).any().alias("left_out"))
            yield SpanCount(
                group=place[0],
                criterion=place[1],
                system=system,
                severity=severity,
                n_answers=answers,
                n_errors=errors.height,
                n_unplaced=errors["start"].null_count(),
                per_answer=total / answers,
                n_marked=marked.height,
                n_left_out=int(marked["left_out"].sum()),
            )


Output: TypeAlias = tuple[str, ...]  # item, system and sample
Layout: TypeAlias = tuple[Ints, Ints]
Outputs: TypeAlias = dict[Output, dict[str, Layout]]  # what each annotator marked in each output


def _by_annotator(own: pl.DataFrame, codes: Mapping[str, int]) -> dict[str, Outputs]:
    """Lay out what each annotator of each group marked in each output; an LLM's repeats are annotators.

    An answer with an error that has no place may mark anything, and is left out; but an omission, and an error whose
    mark stands in the source, have none by nature.
    """
    found: dict[str, dict[Output, dict[str, list[Span]]]] = {}
    lengths: dict[Output, int] = {}
    unknown: set[tuple[str, Output, str]] = set()
    names = ("group", "annotator_kind", "annotator_id", "variant", "repeat", "assignment_id", *OUTPUT)
    columns = (*names, "start", "end", "severity", "characters")
    for row in own.select(pl.col(columns), _of_no_place().alias("no_place")).iter_rows(named=True):
        llm = row["annotator_kind"] == "llm"
        rater = "/".join(row[name] or "" for name in (names[2:6] if llm else names[2:3]))
        output = tuple(row[name] or "" for name in OUTPUT)
        spans = found.setdefault(row["group"], {}).setdefault(output, {}).setdefault(rater, [])
        if row["start"] is not None:
            spans.append((row["start"], row["end"], codes[row["severity"]]))
        elif row["severity"] is not None and not row["no_place"]:
            unknown.add((row["group"], output, rater))
        lengths[output] = max(lengths.get(output, 0), row["characters"] or 0, row["end"] or 0)
    return {
        group: {
            output: laid_out
            for output, raters in outputs.items()
            if (
                laid_out := {
                    rater: lay_out(spans, lengths[output])
                    for rater, spans in raters.items()
                    if (group, output, rater) not in unknown
                }
            )
        }
        for group, outputs in found.items()
    }


def _of_no_place() -> pl.Expr:
    """Tell which errors are about what is not in the output, and so have no place in it."""
    omission = pl.any_horizontal(pl.col("reason", "category").str.to_lowercase().str.contains(OMISSION, literal=True))
    return omission.fill_null(False) | (pl.col("reason") == IN_SOURCE).fill_null(False)


def _within(outputs: Outputs, place: _Place) -> Iterator[SpanAgreement]:
    """Compare the annotators of one group, where there are two."""
    if len({rater for raters in outputs.values() for rater in raters}) < 2:
        return
    shared = {output: raters for output, raters in outputs.items() if len(raters) > 1}
    measured = _Measured(place, len(shared), len({rater for raters in shared.values() for rater in raters}))
    yield from measured.f1({output: list(combinations(raters.values(), 2)) for output, raters in shared.items()})
    codes = 1 + max(
        (int(codes.max(initial=0)) for raters in shared.values() for codes, _ in raters.values()), default=0
    )
    each = {output: coincidences([*raters.values()], codes) for output, raters in shared.items()}
    yield from measured.alpha({output: np.append(one.observed, one.squares) for output, one in each.items()}, codes)


def _between(outputs: Outputs, others: Outputs, place: _Place) -> Iterator[SpanAgreement]:
    """Compare every annotator of one group with every one of another."""
    shared = [output for output in outputs if output in others]
    annotators = {rater for output in shared for rater in (*outputs[output], *others[output])}
    pairs = {output: list(product(outputs[output].values(), others[output].values())) for output in shared}
    yield from _Measured(place, len(shared), len(annotators)).f1(pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Who is compared on what."""

    group: str
    other: str | None
    criterion: str
    lengths: bool  # whether the length of every text is known
    plan: Plan


@dataclass(frozen=True, slots=True)
class _Measured:
    """Makes rows from sums over the outputs of each item, which intervals resample."""

    place: _Place
    n_outputs: int
    n_annotators: int

    def f1(self, pairs: Mapping[Output, Sequence[tuple[Layout, Layout]]]) -> Iterator[SpanAgreement]:
        """Yield the means of F1 over pairs of annotators and outputs."""
        measures: tuple[SpanMeasure, SpanMeasure] = ("span_f1", "span_f1_severity")
        sums = {
            output: np.array(
                [
                    *(sum(character_f1(x, y, severity=same) for (x, _), (y, _) in own) for same in (False, True)),
                    len(own),
                ]
            )
            for output, own in pairs.items()
        }
        for column, measure in enumerate(measures):
            yield self._over_items(measure, sums, partial(_mean, column=column), ONE_ANNOTATOR)

    def alpha(self, sums: Mapping[Output, Floats], codes: int) -> Iterator[SpanAgreement]:
        """Yield the unitizing alphas."""
        measures: tuple[SpanMeasure, SpanMeasure] = ("alpha_u", "alpha_u_marked")
        for measure, marked_only in zip(measures, (False, True), strict=True):
            statistic = partial(_alpha, codes=codes, marked_only=marked_only)
            yield self._over_items(measure, sums if self.place.lengths else {}, statistic, NOTHING_MARKED)

    def _over_items(
        self,
        measure: SpanMeasure,
        sums: Mapping[Output, Floats],
        statistic: Callable[[Floats], Floats],
        undefined: Reason,
    ) -> SpanAgreement:
        place, plan = self.place, self.place.plan
        items: dict[str, Floats] = {}
        for (item, *_), own in sums.items():
            items[item] = items.get(item, 0) + own
        rows = np.array([*items.values()])
        rows = rows[np.lexsort(np.round(rows.T, 9))] if len(rows) else rows  # what is drawn knows no order of items
        value = float(statistic(rows.sum(axis=0)[None])[0]) if items else math.nan
        found = Interval(low=None, high=None, method="", reason=why("no_interval_one_item_marked"))
        if math.isfinite(value) and len(items) > 1:
            seed = [plan.seed, zlib.crc32(measure.encode())]
            found = interval_over_units(
                lambda weights: statistic(weights @ rows),
                np.ones(len(items), dtype=np.int64),
                value=value,
                confidence=plan.confidence,
                replicates=REPLICATES,
                rng=np.random.default_rng(seed),
            )
        elif not math.isfinite(value):
            reason = undefined if sums else ONE_ANNOTATOR if place.lengths else NO_LENGTHS
            found = Interval(low=None, high=None, method="", reason=reason)
        return SpanAgreement(
            group=place.group,
            other=place.other,
            criterion=place.criterion,
            measure=measure,
            value=value if math.isfinite(value) else None,
            ci_low=found.low,
            ci_high=found.high,
            n_outputs=self.n_outputs,
            n_annotators=self.n_annotators,
            interval=found.method or None,
            reason=found.reason,
        )


def _mean(sums: Floats, *, column: int) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(sums[:, column] / sums[:, -1])


def _alpha(sums: Floats, *, codes: int, marked_only: bool) -> Floats:
    observed, squares = sums[:, : codes * codes].reshape(-1, codes, codes), sums[:, codes * codes :]
    return unitizing_alpha(observed, squares, marked_only=marked_only)
