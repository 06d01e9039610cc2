"""SARI: how well a simplification adds, keeps and deletes words, beside its source and references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version

from analysis.metrics.sacrebleu_scores import tokenizer_of
from analysis.metrics.scores import MetricScores, MetricSettings, SystemTexts, mean

Grams = Counter[tuple[str, ...]]
LONGEST = 4


def sari(texts: SystemTexts, settings: MetricSettings) -> list[MetricScores]:
    """Compute SARI from 0 to 100; that of a system is the mean over its outputs.

    Lower-cased, tokenized by sacrebleu, as the library `evaluate` does.
    """
    from sacrebleu.metrics import BLEU

    tokenize = tokenizer_of(settings.language)
    split = BLEU(tokenize=tokenize).tokenizer

    def words(text: str) -> list[str]:
        return str(split(text.lower())).split()

    values = [
        sari_of_words(words(source), words(text), [words(one) for one in references])
        for source, text, references in zip(texts.sources, texts.outputs, texts.references, strict=True)
    ]
    signature = f"spa-eval|version:{version('spa-eval')}|case:lc|tok:sacrebleu-{tokenize}-{version('sacrebleu')}|0/0:1"
    return [MetricScores(metric="sari", values=values, corpus=mean(values), higher_is_better=True, signature=signature)]


def sari_of_words(source: Sequence[str], output: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Return SARI in percent: the mean over n = 1..4 of (F1 of kept + precision of deleted + F1 of added n-grams) / 3.

    Counts of source and output are multiplied by the number of references, whose counts are added up. 0/0 is 1, and
    recall of kept n-grams weighs them by their counts, as in the library `evaluate`, whose figures are published more
    often than those of the authors' script (where 0/0 is 0).

    References
    ----------
    Xu, W., Napoles, C., Pavlick, E., Chen, Q. and Callison-Burch, C. (2016). Optimizing statistical machine
    translation for text simplification. TACL, 4, 401-415, equations 3 to 10.

    >>> words = "About 95 species are currently accepted .".lower().split()
    >>> round(sari_of_words(words, words, [words]), 6)
    100.0
    """
    total = 0.0
    for n in range(1, LONGEST + 1):
        theirs: Grams = Counter()
        for reference in references:
            theirs.update(_grams(reference, n))
        total += _of_order(_grams(source, n), _grams(output, n), theirs, len(references))
    return 100 * total / LONGEST


def _grams(words: Sequence[str], n: int) -> Grams:
    return Counter(tuple(words[place : place + n]) for place in range(len(words) - n + 1))


def _of_order(source: Grams, output: Grams, references: Grams, n_references: int) -> float:
    given, made = (Counter({gram: n_references * count for gram, count in own.items()}) for own in (source, output))
    kept, to_keep = given & made, given & references
    kept_well = kept & references
    precision = _ratio(sum(count / kept[gram] for gram, count in kept_well.items()), len(kept))
    keep = _f1(precision, _ratio(kept_well.total(), to_keep.total()))

    deleted = given - made
    delete = _ratio(sum(count / deleted[gram] for gram, count in (deleted - references).items()), len(deleted))

    added, to_add = set(output) - set(source), set(references) - set(source)
    add = _f1(_ratio(len(added & to_add), len(added)), _ratio(len(added & to_add), len(to_add)))
    return (keep + delete + add) / 3


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 1.0


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
