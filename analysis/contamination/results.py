"""Scores of all texts, what controls say of them, and how many texts are predicted as seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from annotated_types import MinLen

from analysis.answers.study_texts import SEEN, UNSEEN, Source, StudyText, hash_of
from analysis.contamination.scores import (
    SHARE,
    Auc,
    FamiliarityScores,
    auc,
    calibrated_threshold,
    familiarity_scores,
)
from analysis.figures.plain_text import percent, shown_name
from analysis.statistics.coding import Floats
from analysis.statistics.record import Count, Positive, Record, Share
from analysis.statistics.wilson import wilson
from spa.errors import AnalysisError

if TYPE_CHECKING:
    from spa.raters.local.token_statistics import TokenStatistics

Measure = Literal["min_k", "min_k_plus_plus", "log_likelihood", "zlib_ratio"]
MEASURES: dict[Measure, str] = {
    "min_k": "Min-K% Prob",
    "min_k_plus_plus": "Min-K%++",
    "log_likelihood": "Likelihood",
    "zlib_ratio": "zlib",
}
BINS = 24  # of the histograms


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredText:
    """A text with its scores; ``None`` where it has less than two tokens."""

    text: StudyText
    n_tokens: int  # those that were scored
    windows: int
    scores: FamiliarityScores | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PredictedShare(Record):
    """The share of some texts that a measure predicts as seen, with Wilson's interval."""

    source: Source
    measure: Measure
    n: Positive
    seen: Count
    share: Share
    ci_low: Share
    ci_high: Share


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SourceScores(Record):
    """Medians of the scored texts of one source, and how Min-K% Prob is distributed."""

    source: Source
    n: Positive
    n_tokens: float
    min_k: float
    min_k_plus_plus: float
    log_likelihood: float
    zlib_ratio: float
    perplexity: float
    histogram: tuple[Count, ...]
    """Texts between every two of the edges."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Contamination(Record):
    """What is known of one model and the texts."""

    model: str
    fingerprint: str | None
    """Hash of the model's files."""
    texts: str
    """Hash of the study's texts that were scored."""
    dtype: str
    share: Share
    """K of Min-K."""
    confidence: Share
    false_positive_rate: Share
    sources: Annotated[tuple[SourceScores, ...], MinLen(1)]
    edges: tuple[float, ...]
    """Of the histograms of Min-K% Prob."""
    aucs: dict[Measure, Auc]
    """By measure; empty without both kinds of controls."""
    thresholds: dict[Measure, float]
    """By measure; empty without enough unseen controls."""
    predicted: tuple[PredictedShare, ...]
    unscored: Count
    """Texts of less than two tokens."""
    windowed: Count
    """Texts read in several windows."""


def seen_words(contamination: Contamination) -> Iterator[str]:
    """Yield a line where Min-K% Prob predicts texts as seen more often than unseen ones, and tells controls apart."""
    if "min_k" in contamination.aucs and contamination.aucs["min_k"].ci_low <= 0.5:
        return
    rows = [row for row in contamination.predicted if row.measure == "min_k" and row.source != SEEN]
    seen = [f"{row.seen:,} of {row.n:,} {row.source}" for row in rows if row.ci_low > contamination.false_positive_rate]
    if seen:
        yield (
            f"{shown_name(contamination.model)} may have read texts before: {', '.join(seen)} are predicted as seen; "
            f"of unseen ones at most {percent(contamination.false_positive_rate)} would be."
        )


def text_rows(texts: Sequence[ScoredText], thresholds: Mapping[Measure, float]) -> list[dict[str, object]]:
    """Return a row a text, without the texts themselves."""
    names, limit = FamiliarityScores.__dataclass_fields__, thresholds.get("min_k")
    return [
        {
            "source": one.text.source,
            "item_id": one.text.item_id,
            "system": one.text.system,
            "sample": one.text.sample,
            "n_tokens": one.n_tokens,
            "windows": one.windows,
            **{name: None if one.scores is None else getattr(one.scores, name) for name in names},
            "predicted_seen": None if limit is None or one.scores is None else one.scores.min_k > limit,
        }
        for one in texts
    ]


def scored_texts(
    texts: Sequence[StudyText], statistics: Sequence[TokenStatistics | None], *, share: float = SHARE
) -> list[ScoredText]:
    """Join texts with the scores of their tokens, of the same length and order."""
    return [
        ScoredText(text=text, n_tokens=0, windows=0, scores=None)
        if one is None
        else ScoredText(
            text=text,
            n_tokens=len(one.log_probabilities),
            windows=one.windows,
            scores=familiarity_scores(text.text, one.log_probabilities, one.means, one.variances, share=share),
        )
        for text, one in zip(texts, statistics, strict=True)
    ]


def contamination(
    texts: Sequence[ScoredText],
    *,
    model: str,
    fingerprint: str | None,
    dtype: str,
    share: float = SHARE,
    confidence: float = 0.95,
    false_positive_rate: float = 0.05,
) -> Contamination:
    """Compare the study's texts with the controls.

    Parameters
    ----------
    texts : sequence of ScoredText
        The study's and the controls'.
    model, fingerprint, dtype
        The model, a hash of its files and the format of its numbers, to be told.
    share : float
        K of Min-K, to be told.
    confidence : float
        Level of intervals.
    false_positive_rate : float
        Share of unseen texts that a threshold may predict as seen.

    Returns
    -------
    Contamination
        AUCs where there are seen and unseen controls, shares predicted as seen where there are enough unseen ones.

    Raises
    ------
    AnalysisError
        If no text has two tokens.
    """
    by_source: dict[Source, list[ScoredText]] = {}
    for one in texts:
        if one.scores is not None:
            by_source.setdefault(one.text.source, []).append(one)
    if not by_source:
        raise AnalysisError("expected texts of at least two tokens, got none")
    aucs: dict[Measure, Auc] = {}
    if SEEN in by_source and UNSEEN in by_source:
        seen, unseen = by_source[SEEN], by_source[UNSEEN]
        aucs = {name: auc(_values(seen, name), _values(unseen, name), confidence=confidence) for name in MEASURES}
    limits = {
        name: calibrated_threshold(_values(by_source.get(UNSEEN, ()), name), false_positive_rate=false_positive_rate)
        for name in MEASURES
    }
    thresholds = {name: limit for name, limit in limits.items() if limit is not None}
    every = [value for own in by_source.values() for value in _values(own, "min_k")]
    edges = np.linspace(min(every), max(*every, min(every) + 1e-6), BINS + 1)
    return Contamination(
        model=model,
        fingerprint=fingerprint,
        texts=hash_of(one.text for one in texts),
        dtype=dtype,
        share=share,
        confidence=confidence,
        false_positive_rate=false_positive_rate,
        sources=tuple(_source_scores(source, own, edges) for source, own in by_source.items()),
        edges=tuple(edges.tolist()),
        aucs=aucs,
        thresholds=thresholds,
        predicted=tuple(
            _predicted(source, measure, _values(own, measure), limit, confidence)
            for measure, limit in thresholds.items()
            for source, own in by_source.items()
            if source != UNSEEN
        ),
        unscored=sum(one.scores is None for one in texts),
        windowed=sum(one.windows > 1 for one in texts),
    )


def _source_scores(source: Source, own: Sequence[ScoredText], edges: Floats) -> SourceScores:
    return SourceScores(
        source=source,
        n=len(own),
        n_tokens=float(median(one.n_tokens for one in own)),
        **{name: median(_values(own, name)) for name in (*MEASURES, "perplexity")},
        histogram=tuple(np.histogram(_values(own, "min_k"), edges)[0].tolist()),
    )


def _predicted(
    source: Source, measure: Measure, scores: Sequence[float], limit: float, confidence: float
) -> PredictedShare:
    """Return how many texts of a source are predicted as seen, those above the limit."""
    count, n = sum(score > limit for score in scores), len(scores)
    low, high = wilson(count, n, confidence)
    return PredictedShare(source=source, measure=measure, n=n, seen=count, share=count / n, ci_low=low, ci_high=high)


def _values(texts: Sequence[ScoredText], name: str) -> list[float]:
    return [getattr(one.scores, name) for one in texts]
