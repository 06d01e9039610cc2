"""LLM raters side by side: one row a way of asking and criterion, put together from the finished results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import polars as pl

from analysis.agreement.rater_agreement import AgreementRow
from analysis.answers.exclusions import CONSISTENCY, Exclusion
from analysis.answers.groups import people_of
from analysis.answers.order import Order
from analysis.comparisons.ratings import RatingMean
from analysis.correlations.group_correlations import CorrelationRow
from analysis.llm_vs_people.people_saved import PeopleSavedRow
from analysis.ranking.agreement import RankingAgreement
from analysis.records.overview import ExclusionRow, Group, MissingCount
from analysis.statistics.reasons import Reason, commonest, why
from analysis.statistics.record import (
    AnnotatorKind,
    AtMostOne,
    Coefficient,
    Count,
    Positive,
    Record,
    Share,
    Source,
    Spread,
)
from analysis.sums.totals import RaterCounts

ONCE = why("answered_once")
SOURCES: tuple[Source, ...] = get_args(Source)
SHOWN = {f"{level}_{method}" for level in ("system", "overall") for method in ("kendall", "spearman")}
NO_PEOPLE = why("nobody_else")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MissingReason(Record):
    """How many answers of a rater are missing for one reason."""

    reason: str
    level: str | None = None
    n: Positive


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RaterRow(Record):
    """One group beside the others: how it was asked, what it answered, how far it agrees and goes with people."""

    source: Source
    group: str
    criterion: str
    annotator_kind: AnnotatorKind
    form: Literal["identical", "variant"] | None
    """Variant: read more than people did."""
    readout: str | None
    """Verbalised or logit; null where the answers do not say."""
    n_asked: Count
    n_missing: Count
    n_repeats: Positive
    n_read_twice: Count = 0
    """Replies that another way of reading reads too."""
    n_readings_differ: Count = 0
    """Of these, those that it reads as another answer, or as none."""
    mass_mean: Share | None = None
    """Mean probability of the answers together, of distributions."""
    mass_min: Share | None = None
    missing: tuple[MissingReason, ...]
    n: Count | None
    """Cells of ratings; null for preferences and choices."""
    mean: float | None
    sd: Spread | None
    n_raters: Count | None
    alpha: AtMostOne | None
    alpha_measure: str | None
    exact_agreement: Share | None
    agreement_reason: Reason | None
    system_kendall: Coefficient | None
    system_spearman: Coefficient | None
    overall_kendall: Coefficient | None
    overall_spearman: Coefficient | None
    people: str | None
    """Group that it was correlated with."""
    correlation_reason: Reason | None
    n_forms: Count | None
    n_inconsistent: Count | None
    """Forms that failed self-consistency."""
    saved: Share | None = None
    """Of an LLM: share of people that its answers stand in for at the same precision, over the tests of the
    criterion, as in ``llm_vs_people.people_saved``; 0 where people answered everything."""
    saved_low: Share | None = None
    saved_high: Share | None = None
    saved_limit: Share | None = None
    """The same with ever more answers of the LLM: rho^2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundElsewhere:
    """What other rooms found, of which the table of raters is put together."""

    groups: Sequence[Group]
    missing: Sequence[MissingCount]
    exclusions: Sequence[Exclusion | ExclusionRow]
    means: Sequence[RatingMean]
    agreement: Sequence[AgreementRow]
    correlations: Sequence[CorrelationRow]
    ranking_agreement: Sequence[RankingAgreement]
    people_saved: Sequence[PeopleSavedRow] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSubject:
    """What one row is about."""

    source: Source
    group: str
    criterion: str

    def of(self, row: Any) -> bool:
        """Say whether a row of results is about the same."""
        return (row.source, row.group, row.criterion) == (self.source, self.group, self.criterion)


def rater_table(
    elsewhere: FoundElsewhere, counted: Mapping[str, RaterCounts], orders: Mapping[str, Order]
) -> list[RaterRow]:
    """Put every group beside every other, criterion by criterion.

    Nothing is estimated here: means, agreement and correlations are those of ``ratings.means``,
    ``agreement``, ``correlations`` and ``ranking_agreement``. The mean and the standard deviation of a criterion
    are those of all its cells, systems together, from the numbers of each system.

    Parameters
    ----------
    elsewhere : FoundElsewhere
        Rows as results.json holds them.
    counted : mapping of str to RaterCounts
        What :func:`count_answers` returns of the checked answer tables before exclusions, by source.
    orders : mapping of str to Order
        Order of the criteria of each.

    Returns
    -------
    list of RaterRow
        People first, then each LLM and variant; none where there is no LLM.
    """
    kinds = [(about.group, about.annotator_kind) for about in elsewhere.groups]
    if "llm" not in {kind for _, kind in kinds}:
        return []
    given: Counter[str] = Counter()
    for of_source in counted.values():
        for (group, _), own in of_source.items():
            given[group] += own["n_asked"]
    targets = sorted(people_of(kinds), key=lambda group: (-given[group], group))  # first who answered most
    rows = []
    for source in SOURCES:
        if source not in counted:
            continue
        for about in elsewhere.groups:
            for criterion in orders[source].criteria:
                counts = counted[source].get((about.group, criterion))
                if counts is None:
                    continue
                asked_both_ways = source == "preferences" and about.annotator_kind == "llm"
                place = RowSubject(source=source, group=about.group, criterion=criterion)
                rows.append(
                    RaterRow(
                        source=source,
                        group=about.group,
                        criterion=criterion,
                        annotator_kind=about.annotator_kind,
                        form=about.form,
                        readout=about.readout,
                        missing=_missing(elsewhere, place),
                        **counts,
                        **_all_systems(elsewhere.means, place),
                        **_agreement(elsewhere, place, counts["n_repeats"]),
                        **_correlations(elsewhere, place, targets),
                        n_forms=about.assignments if asked_both_ways else None,
                        n_inconsistent=_contradictions(elsewhere, about.group) if asked_both_ways else None,
                        **_saved(elsewhere, place),
                    )
                )
    return rows


def count_answers(table: pl.DataFrame) -> RaterCounts:
    """Count answers asked for, missing and read in two ways, and repeats, by group and criterion; with the mass."""
    mass, differ = (
        pl.col(name) if name in table.columns else pl.lit(None, dtype=pl.Float64)
        for name in ("mass", "readings_differ")
    )
    found = table.group_by("group", "criterion").agg(
        n_asked=pl.len(),
        n_missing=pl.col("value").null_count(),
        n_repeats=pl.max_horizontal(pl.col("repeat").drop_nulls().n_unique(), 1),
        n_read_twice=differ.count().cast(pl.Int64),
        n_readings_differ=differ.sum().cast(pl.Int64),
        mass_mean=mass.mean(),
        mass_min=mass.min(),
    )
    rows = found.with_columns(pl.col("group", "criterion").cast(pl.String))
    return {(row.pop("group"), row.pop("criterion")): row for row in rows.to_dicts()}


def _missing(found: FoundElsewhere, place: RowSubject) -> tuple[MissingReason, ...]:
    own = sorted((row for row in found.missing if place.of(row)), key=lambda row: (-row.n, row.reason))
    return tuple(MissingReason(reason=row.reason, level=row.level, n=row.n) for row in own)


def _all_systems(means: Sequence[RatingMean], place: RowSubject) -> dict[str, Any]:
    """Pool the cells of all systems: n, mean and standard deviation (n - 1)."""
    if place.source != "ratings":
        return {"n": None, "mean": None, "sd": None}
    own = [row for row in means if (row.group, row.criterion) == (place.group, place.criterion)]
    n = sum(row.n for row in own)
    if not n:
        return {"n": 0, "mean": None, "sd": None}
    mean = math.fsum(row.n * row.mean for row in own) / n
    within = math.fsum((row.n - 1) * (row.sd or 0.0) ** 2 for row in own)
    between = math.fsum(row.n * (row.mean - mean) ** 2 for row in own)
    return {"n": n, "mean": mean, "sd": math.sqrt((within + between) / (n - 1)) if n > 1 else None}


def _agreement(found: FoundElsewhere, place: RowSubject, repeats: int) -> dict[str, Any]:
    """Take alpha at the level that fits the scale, and exact agreement, of people or of an LLM's answers."""
    own = [row for row in found.agreement if place.of(row)]
    alpha = next((row for row in own if row.fits_scale), None)
    exact = next((row.value for row in own if row.measure == "exact_agreement"), None)
    unknown = ONCE if repeats == 1 else why("not_measured")
    return {
        "n_raters": alpha and alpha.n_annotators,
        "alpha": alpha and alpha.value,
        "alpha_measure": alpha and alpha.measure,
        "exact_agreement": exact,
        "agreement_reason": unknown if alpha is None else (alpha.reason or unknown) if alpha.value is None else None,
    }


def _correlations(found: FoundElsewhere, place: RowSubject, targets: Sequence[str]) -> dict[str, Any]:
    """Take the correlations with people; of preferences and choices Kendall's tau of the two rankings."""
    nothing = dict.fromkeys((*SHOWN, "people", "correlation_reason"))
    if place.group in targets:
        return nothing | {"correlation_reason": why("people_themselves")}
    reason = None
    for people in targets:
        own, other = f"{place.source}:{place.group}", f"{place.source}:{people}"
        if place.source == "ratings":
            by_name = {
                f"{row.level}_{row.method}": (row.value, row.reason)
                for row in found.correlations
                if (row.a, row.b, row.criterion) == (own, other, place.criterion) and not row.upper_bound
            }
        else:
            rows = (row for row in found.ranking_agreement if {row.a, row.b} == {own, other})
            tau = next((row for row in rows if row.criterion == place.criterion), None)
            by_name = {} if tau is None else {"system_kendall": (tau.kendall_tau, tau.reason)}
        known = {name: value for name, (value, _) in by_name.items() if name in SHOWN and value is not None}
        if known:
            return nothing | known | {"people": people}
        reason = commonest(why for _, why in by_name.values()) if by_name else reason
    return nothing | {"correlation_reason": reason or NO_PEOPLE}


def _saved(found: FoundElsewhere, place: RowSubject) -> dict[str, Any]:
    """Take the people saved over all tests of a criterion."""
    row = next((row for row in found.people_saved if place.of(row) and row.system_x is None), None)
    names = ("saved", "saved_low", "saved_high")
    return {} if row is None else {name: getattr(row, name) for name in names} | {"saved_limit": row.limit}


def _contradictions(found: FoundElsewhere, group: str) -> int:
    """Count the forms that failed self-consistency, which only preferences can."""
    failed = (row for row in found.exclusions if row.group == group and row.rule == CONSISTENCY)
    return len({row.assignment_id for row in failed if row.assignment_id is not None})
