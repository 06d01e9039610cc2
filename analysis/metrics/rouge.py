"""ROUGE-1, ROUGE-2 and ROUGE-L, and their geometric mean."""

from __future__ import annotations

import sys
from importlib.metadata import version

from analysis.metrics.scores import MetricScores, MetricSettings, SystemTexts, mean

KINDS = ("rouge1", "rouge2", "rougeL")


def rouge(texts: SystemTexts, settings: MetricSettings) -> list[MetricScores]:
    """Compute F1 in percent, without stemming; of several references each kind takes the best.

    ``rouge_geometric`` of a system is the geometric mean of the three mean F1s, as Sottana et al. (2023) report; that
    of an output is the geometric mean of its own three.

    References
    ----------
    Lin, C.-Y. (2004). ROUGE: a package for automatic evaluation of summaries. Text Summarization Branches Out, 74-81.
    Sottana, A. et al. (2023). Evaluation Metrics in the Era of GPT-4. EMNLP, section 3.1.
    """
    from rouge_score import rouge_scorer
    from rouge_score.tokenizers import DefaultTokenizer

    # Its logger would close what stands for stderr now once that is another stream; it never closes the process's own.
    rouge_scorer.logging.get_absl_handler().python_handler.stream = sys.__stderr__
    scorer = rouge_scorer.RougeScorer(KINDS, tokenizer=DefaultTokenizer(use_stemmer=False))
    found = [scorer.score_multi(refs, text) for text, refs in zip(texts.outputs, texts.references, strict=True)]
    signature = f"rouge-score|version:{version('rouge-score')}|measure:F1|stem:no|refs:best"
    by_kind = {kind: [100 * float(one[kind].fmeasure) for one in found] for kind in KINDS}
    rows = [
        MetricScores(metric=kind, values=values, corpus=mean(values), higher_is_better=True, signature=signature)
        for kind, values in by_kind.items()
    ]
    together = MetricScores(
        metric="rouge_geometric",
        values=[_geometric(*three) for three in zip(*by_kind.values(), strict=True)],
        corpus=_geometric(*(row.corpus for row in rows)),
        higher_is_better=True,
        signature=f"{signature}|mean:geometric of 1, 2, L",
    )
    return [*rows, together]


def _geometric(one: float, two: float, three: float) -> float:
    return float((one * two * three) ** (1 / 3))
