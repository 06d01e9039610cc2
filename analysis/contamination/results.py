"""Scores of all texts, what controls say of them, and how many texts are predicted as seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from analysis.contamination.scores import (
    SHARE,
    Auc,
    FamiliarityScores,
    auc,
    calibrated_threshold,
    familiarity_scores,
)
from analysis.contamination.texts import SEEN, UNSEEN, Source, StudyText
from analysis.preference_checks.coherence import wilson

if TYPE_CHECKING:
    from spa.raters.local.token_statistics import TokenStatistics

MEASURES = {
    "min_k": "Min-K % Prob",
    "min_k_plus_plus": "Min-K%++",
    "log_likelihood": "Likelihood",
    "zlib_ratio": "zlib",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredText:
    """A text with its scores; ``None`` where it has less than two tokens."""

    text: StudyText
    n_tokens: int  # those that were scored
    windows: int
    scores: FamiliarityScores | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedShare:
    """The share of some texts that a measure predicts as seen, with Wilson's interval."""

    source: Source
    measure: str
    n: int
    seen: int
    share: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Contamination:
    """What is known of one model and the texts."""

    model: str
    fingerprint: str | None
    dtype: str
    share: float
    confidence: float
    false_positive_rate: float
    texts: tuple[ScoredText, ...]
    aucs: dict[str, Auc]  # by measure; empty without both kinds of controls
    thresholds: dict[str, float]  # by measure; empty without enough unseen controls
    predicted: tuple[PredictedShare, ...]

    def of(self, source: Source) -> list[ScoredText]:
        """Return the scored texts of one source."""
        return [one for one in self.texts if one.text.source == source and one.scores is not None]

    def sources(self) -> list[Source]:
        """Return the sources that have scored texts."""
        return list(dict.fromkeys(one.text.source for one in self.texts if one.scores is not None))

    def median_tokens(self, source: Source) -> float:
        """Return the median number of tokens of a source's texts."""
        return median(one.n_tokens for one in self.of(source))

    def rows(self) -> list[dict[str, object]]:
        """Return a row a text, without the texts themselves."""
        names = FamiliarityScores.__dataclass_fields__
        return [
            {
                "source": one.text.source,
                "item_id": one.text.item_id,
                "system": one.text.system,
                "sample": one.text.sample,
                "n_tokens": one.n_tokens,
                "windows": one.windows,
                **{name: None if one.scores is None else getattr(one.scores, name) for name in names},
                "predicted_seen": self._predicted(one),
            }
            for one in self.texts
        ]

    def _predicted(self, one: ScoredText) -> bool | None:
        threshold = self.thresholds.get("min_k")
        return None if threshold is None or one.scores is None else one.scores.min_k > threshold


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
    """
    by_source: dict[Source, list[FamiliarityScores]] = {}
    for one in texts:
        if one.scores is not None:
            by_source.setdefault(one.text.source, []).append(one.scores)
    aucs: dict[str, Auc] = {}
    thresholds: dict[str, float] = {}
    predicted = []
    for measure in MEASURES:
        values = {source: [getattr(one, measure) for one in scores] for source, scores in by_source.items()}
        if SEEN in values and UNSEEN in values:
            aucs[measure] = auc(values[SEEN], values[UNSEEN], confidence=confidence)
        limit = calibrated_threshold(values.get(UNSEEN, []), false_positive_rate=false_positive_rate)
        if limit is None:
            continue
        thresholds[measure] = limit
        for source, scores in values.items():
            if source != UNSEEN:
                count, n = sum(score > limit for score in scores), len(scores)
                low, high = wilson(count, n, confidence)
                predicted.append(
                    PredictedShare(
                        source=source, measure=measure, n=n, seen=count, share=count / n, ci_low=low, ci_high=high
                    )
                )
    return Contamination(
        model=model,
        fingerprint=fingerprint,
        dtype=dtype,
        share=share,
        confidence=confidence,
        false_positive_rate=false_positive_rate,
        texts=tuple(texts),
        aucs=aucs,
        thresholds=thresholds,
        predicted=tuple(predicted),
    )
