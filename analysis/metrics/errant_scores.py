"""F0.5 of grammatical corrections, from the edits that ERRANT finds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from analysis.metrics.scores import MetricScores, MetricSettings, SystemTexts
from spa.errors import AnalysisError

Edits = frozenset[tuple[int, int, str]]  # first word, word after the last, what stands there instead


class Counts(NamedTuple):
    """Edits that are also in the reference, that are not, and edits of the reference that are missing."""

    true_positives: int
    false_positives: int
    false_negatives: int

    def plus(self, other: Counts) -> Counts:
        """Add up two counts."""
        return Counts(*(one + two for one, two in zip(self, other, strict=True)))

    def f_half(self) -> float:
        """Return F0.5, with a precision (recall) of 1 where nothing is false (missing), as ERRANT does."""
        tp, fp, fn = self
        precision, recall = (tp / (tp + wrong) if wrong else 1.0 for wrong in (fp, fn))
        return 1.25 * precision * recall / (0.25 * precision + recall) if precision + recall else 0.0


def errant(texts: SystemTexts, settings: MetricSettings) -> list[MetricScores]:
    """Compute span-based correction F0.5 in percent; that of a system is from the counts of all its outputs.

    Of several references the one with the highest F counts: of an output its own F, of a system that of all outputs so
    far, as ERRANT compares.

    Raises
    ------
    AnalysisError
        Where the spaCy model is not installed.

    References
    ----------
    Bryant, C., Felice, M. and Briscoe, T. (2017). Automatic annotation and evaluation of error types for grammatical
    error correction. ACL, 793-805.
    """
    annotator = _annotator(settings)
    values, total = [], Counts(0, 0, 0)
    for source, text, references in zip(texts.sources, texts.outputs, texts.references, strict=True):
        parsed = annotator.parse(source, True)
        made = _edits(annotator, parsed, text)
        counts = [_compare(made, _edits(annotator, parsed, one)) for one in references]
        values.append(100 * best_counts(counts).f_half())
        total = total.plus(best_counts(counts, total))
    name = annotator.nlp.meta.get("name", "")
    model = f"{annotator.nlp.meta.get('lang', 'en')}_{name}-{annotator.nlp.meta.get('version', '')}"
    signature = f"errant|version:{version('errant')}|spacy:{version('spacy')}|model:{model}|beta:0.5|refs:best"
    return [
        MetricScores(
            metric="errant", values=values, corpus=100 * total.f_half(), higher_is_better=True, signature=signature
        )
    ]


def best_counts(counts: Iterable[Counts], so_far: Counts = Counts(0, 0, 0)) -> Counts:  # noqa: B008
    """Return the counts with the highest F0.5 together with those so far; then most true, least false positives."""
    return max(counts, key=lambda own: (so_far.plus(own).f_half(), own[0], -own[1], -own[2]))


def _compare(made: Edits, reference: Edits) -> Counts:
    return Counts(len(made & reference), len(made - reference), len(reference - made))


def _edits(annotator: Any, source: Any, text: str) -> Edits:
    found: Sequence[Any] = annotator.annotate(source, annotator.parse(text, True))
    return frozenset((one.o_start, one.o_end, one.c_str) for one in found if one.type != "UNK")


def _annotator(settings: MetricSettings) -> Any:
    if "errant" not in settings.loaded:
        import errant
        import spacy

        try:
            nlp = spacy.load(settings.spacy_model, disable=["ner"])
        except OSError as error:
            raise AnalysisError(
                f"expected the spaCy model {settings.spacy_model}, got none of that name; "
                f"run `python -m spacy download {settings.spacy_model}`, or give --spacy-model NAME|FOLDER"
            ) from error
        if not nlp("word")[0].tag_:
            raise AnalysisError(f"{settings.spacy_model}: expected a spaCy model that tags words, got another")
        settings.loaded["errant"] = errant.load("en", nlp)
    return settings.loaded["errant"]
