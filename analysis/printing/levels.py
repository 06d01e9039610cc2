"""When a result counts as clear, and how tests were corrected together, in words."""

from __future__ import annotations

from analysis.records.overview import Settings
from analysis.statistics.corrections import Correction

NOT_EQUAL = "\u201cNo clear\u201d means that the answers do not tell the two apart, not that the two are equal."
PAPERS = {"holm": "Holm, 1979", "bh": "Benjamini & Hochberg, 1995"}
METHODS = {"holm": "Holm", "bh": "Benjamini-Hochberg"}
RATES = {
    "holm": "the chance of at least one false alarm in a family of tests",
    "bh": "the share of false alarms to expect among all differences found in a family of tests",
}


def level(settings: Settings) -> str:
    """Return the error rate of a family of tests as ".05"."""
    return f"{settings.fwer:g}".removeprefix("0")


def level_words(settings: Settings, *, live: bool) -> str:
    """Return the sentence on when a difference counts as clear."""
    if live:
        return "Verdicts are the decisions of this live study; tests of a fixed number are in the appendix."
    words = f"A result counts as clear where its adjusted p is at most {level(settings)}."
    return " ".join(filter(None, (words, discovery_words(settings))))


def correction_of(settings: Settings) -> Correction:
    """Return "holm" or "bh"; results that do not say were corrected by Holm."""
    return settings.correction or "holm"


def false_discoveries(settings: Settings) -> bool:
    """Say whether the rate is one of false discoveries."""
    return correction_of(settings) == "bh"


def correction_name(settings: Settings) -> str:
    """Return the name of the correction for the head of a column."""
    return METHODS[correction_of(settings)]


def correction_paper(settings: Settings) -> str:
    """Return authors and year of the correction."""
    return PAPERS[correction_of(settings)]


def rate_words(settings: Settings) -> str:
    """Return what the error rate bounds."""
    return RATES[correction_of(settings)]


def discovery_words(settings: Settings) -> str:
    """Return the sentence that a reader of many clear results needs where false discoveries are bounded."""
    if not false_discoveries(settings):
        return ""
    rate = 100 * settings.fwer
    return (
        f"The tests bound the false discovery rate: of the clear differences in a family, about {rate:g}% at most are "
        "expected to be false."
    )
