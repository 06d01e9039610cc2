"""BLEU, chrF and TER as sacrebleu computes them, with its signatures."""

from __future__ import annotations

from typing import Any

from analysis.metrics.scores import MetricScores, MetricSettings, SystemTexts

TOKENIZERS = {"zh": "zh", "ja": "char", "ko": "char", "th": "char"}  # without spaces, or without a tokenizer here


def tokenizer_of(language: str | None) -> str:
    """Return sacrebleu's tokenizer for a language: 13a, Chinese, or single characters."""
    return TOKENIZERS.get((language or "en").split("-")[0], "13a")


def bleu(texts: SystemTexts, settings: MetricSettings) -> list[MetricScores]:
    """Compute BLEU from 0 to 100; of single outputs with effective order, as short ones have no 4-grams.

    References
    ----------
    Papineni, K. et al. (2002). BLEU. ACL, 311-318. Post, M. (2018). A call for clarity in reporting BLEU scores. WMT.
    """
    from sacrebleu.metrics import BLEU

    tokenize = tokenizer_of(settings.language)
    alone, together = BLEU(tokenize=tokenize, effective_order=True), BLEU(tokenize=tokenize)
    return [_scores("bleu", alone, together, texts)]


def chrf(texts: SystemTexts, settings: MetricSettings) -> list[MetricScores]:
    """Compute chrF2 (characters up to 6-grams) from 0 to 100, in any language.

    References
    ----------
    Popović, M. (2015). chrF: character n-gram F-score for automatic MT evaluation. WMT, 392-395.
    """
    from sacrebleu.metrics import CHRF

    measure = CHRF()
    return [_scores("chrf", measure, measure, texts)]


def ter(texts: SystemTexts, settings: MetricSettings) -> list[MetricScores]:
    """Compute the translation edit rate in percent of the reference's words; lower is better.

    That of a system is from the edits of its outputs added up, which are looked for only once: that takes most of the
    time of all metrics.

    References
    ----------
    Snover, M. et al. (2006). A study of translation edit rate with targeted human annotation. AMTA, 223-231.
    """
    from sacrebleu.metrics import TER

    asian = tokenizer_of(settings.language) != "13a"
    measure = TER(normalized=asian, asian_support=asian)
    pairs = zip(texts.outputs, texts.references, strict=True)
    found = [measure.sentence_score(text, list(references)) for text, references in pairs]
    counts = {len(references) for references in texts.references}
    measure.num_refs = counts.pop() if len(counts) == 1 else -1  # of all outputs, for the signature
    return [
        MetricScores(
            metric="ter",
            values=[float(one.score) for one in found],
            corpus=100 * sum(one.num_edits for one in found) / sum(one.ref_length for one in found),
            higher_is_better=False,
            signature=f"sacrebleu|{measure.get_signature()}",
        )
    ]


def _scores(name: str, alone: Any, together: Any, texts: SystemTexts) -> MetricScores:
    most = max(len(refs) for refs in texts.references)
    streams = [[refs[place] if place < len(refs) else None for refs in texts.references] for place in range(most)]
    pairs = zip(texts.outputs, texts.references, strict=True)
    values = [float(alone.sentence_score(text, list(refs)).score) for text, refs in pairs]
    corpus = float(together.corpus_score(list(texts.outputs), streams).score)
    signature = f"sacrebleu|{together.get_signature()}" + ("" if alone is together else "|outputs:eff:yes")
    return MetricScores(metric=name, values=values, corpus=corpus, higher_is_better=True, signature=signature)
