"""Length and readability of single texts."""

from __future__ import annotations

import re
from importlib.metadata import version

from analysis.metrics.scores import MetricScores, MetricSettings, SystemTexts, mean
from spa.study.filters import count_words

FORMULAS = ("automated_readability_index", "coleman_liau_index", "lix")  # those that need no download
_LETTER = re.compile(r"[^\W\d_]")


def length(texts: SystemTexts, settings: MetricSettings) -> list[MetricScores]:
    """Count words (a Chinese or Japanese character is one) and characters; neither more nor fewer are better."""
    counts = {
        "words": [float(count_words(text)) for text in texts.outputs],
        "characters": [float(len(text.strip())) for text in texts.outputs],
    }
    signature = f"spa-eval|version:{version('spa-eval')}"
    return [
        MetricScores(metric=name, values=values, corpus=mean(values), higher_is_better=None, signature=signature)
        for name, values in counts.items()
    ]


def readability(texts: SystemTexts, settings: MetricSettings) -> list[MetricScores]:
    """Compute ARI, Coleman-Liau and LIX; higher is harder to read, which is neither better nor worse.

    A text without a letter has 0.

    References
    ----------
    Smith, E. A. and Senter, R. J. (1967). Automated readability index. AMRL-TR-66-220. Coleman, M. and Liau, T. L.
    (1975). J. Applied Psychology, 60(2), 283-284. Björnsson, C. H. (1968). Läsbarhet.
    """
    import textstat

    signature = f"textstat|version:{version('textstat')}"
    rows = []
    for name in FORMULAS:
        formula = getattr(textstat, name)
        values = [float(formula(text)) if _LETTER.search(text) else 0.0 for text in texts.outputs]
        rows.append(
            MetricScores(metric=name, values=values, corpus=mean(values), higher_is_better=None, signature=signature)
        )
    return rows
