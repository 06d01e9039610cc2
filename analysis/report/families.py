"""How tests were corrected together, in words and as a table."""

from __future__ import annotations

from analysis.comparisons.families import Family
from analysis.report.cells import Field, number_column, tabulate, text_column
from analysis.report.document import Block, Paragraph
from analysis.results.records import Results
from analysis.results.words import Names, count, listed, plural, sentence
from analysis.statistics.corrections import Correction

PAPERS = {"holm": "Holm, 1979", "bh": "Benjamini & Hochberg, 1995"}
PAIRS_FROM = {
    "named": "the pairs named (--pair)",
    "preferences": "the pairs of the preferences",
    "expected": "the pairs of which something was expected",
}
METHODS = {"holm": "Holm", "bh": "Benjamini-Hochberg"}
RATES = {
    "holm": "the chance of at least one false alarm in a family of tests",
    "bh": "the share of false alarms to expect among all differences found in a family of tests",
}


def correction_of(results: Results) -> Correction:
    """Return "holm" or "bh"; results that do not say were corrected by Holm."""
    return results.settings.correction or "holm"


def false_discoveries(results: Results) -> bool:
    """Say whether the rate is one of false discoveries."""
    return correction_of(results) == "bh"


def correction_name(results: Results) -> str:
    """Return the name of the correction for the head of a column."""
    return METHODS[correction_of(results)]


def correction_paper(results: Results) -> str:
    """Return authors and year of the correction."""
    return PAPERS[correction_of(results)]


def rate_words(results: Results) -> str:
    """Return what the error rate bounds."""
    return RATES[correction_of(results)]


def discovery_words(results: Results) -> str:
    """Return the sentence that a reader of many clear results needs where false discoveries are bounded."""
    if not false_discoveries(results):
        return ""
    rate = 100 * results.settings.fwer
    return (
        f"The tests bound the false discovery rate: of the clear differences in a family, about {rate:g}% at most are "
        "expected to be false."
    )


def pairs_words(results: Results) -> str:
    """Say which pairs are compared, where not every two systems are; nothing of a study, whose form asks about them."""
    chosen, names = results.settings, Names(results)
    whose = PAIRS_FROM.get(chosen.pairs_from or "")
    outside = sum(row.outside for row in results.families)
    if whose is None or not outside:
        return ""
    pairs = listed([f"{names.system(x)} and {names.system(y)}" for x, y in chosen.pairs])
    return (
        f"Compared are {whose}: {pairs}. {plural(outside, 'test')} of other pairs "
        f"{'keeps its' if outside == 1 else 'keep their'} raw p and no verdict."
    )


def families(results: Results) -> list[Block]:
    """Return a table of the families of tests and of what could not take part."""
    rows, names = results.families, Names(results)
    if not rows:
        return []

    def gone(row: Family) -> list[str]:
        return [
            names.against(one)
            + (f", {names.criterion(one.criterion)}" if row.criterion is None else "")
            + (f", {plural(one.exposure, 'output')} read" if one.exposure is not None else "")
            + f" ({one.reason})"
            for one in row.untestable
        ]

    fields: list[Field[Family]] = [
        text_column("Asked by", lambda row: sentence(names.source_by_group(row.source, row.group))),
        text_column("Criterion", lambda row: "all" if row.criterion is None else names.criterion(row.criterion)),
        text_column("Correction", lambda row: METHODS[row.correction]),
        number_column("Rate", lambda row: f"{row.rate:g}", rate_words(results)),
        number_column(
            "Tests",
            lambda row: count(row.n_tests),
            "tests that could be run, the family; beside unanimous answers all comparisons",
        ),
        text_column(
            "Left out", lambda row: "; ".join(gone(row)) or "none", "comparisons that allowed no test, and why"
        ),
    ]
    words = pairs_words(results)
    table = tabulate("families", "Tests that were corrected together", fields, rows)
    return [Paragraph(text=words), table] if words else [table]
