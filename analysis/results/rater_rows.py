"""The rows of the table of raters, as results.json holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from analysis.statistics.reasons import Reason
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
