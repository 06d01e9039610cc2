"""Warnings of designs too small or too uneven for the level promised, with what simulations showed.

The shares are those of tests/calibration/calibration.md, which ``make calibrate`` writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from analysis.agreement.rater_agreement import AgreementRow
from analysis.printing.lookup import PairTest, tests_by_source
from analysis.records.overview import WarningRow
from analysis.records.results import Results
from analysis.statistics.t_tests import MOSTLY_ONE

FEW_UNITS = 30
FEW_RATERS = 10
OF_OTHER_RATERS = ("icc2", "icc2k")
RESAMPLED = ("krippendorff_alpha", "gwet", "fleiss", "cohen")


def about_coverage(results: Results) -> Iterator[WarningRow]:
    """Say which intervals hold the truth less often than their level, and which tests err more often."""
    rows = [row for row in results.agreement if row.ci_low is not None]
    for group in _groups(row for row in rows if row.n_items < FEW_UNITS and row.measure.startswith(RESAMPLED)):
        text = (
            f"{group}: some intervals of agreement rest on fewer than {FEW_UNITS} units. In simulations 95% confidence "
            "intervals over 10 to 20 units hold the truth 90 to 94% of the time, less often where most "
            "answers are the same."
        )
        yield WarningRow(kind="few_units", group=group, text=text)
    few = [row for row in rows if row.n_annotators is not None and row.n_annotators < FEW_RATERS]
    for group in _groups(row for row in few if row.measure in OF_OTHER_RATERS):
        text = (
            f"{group}: intervals of icc2 generalise from fewer than {FEW_RATERS} raters to others. In simulations 95% "
            "confidence intervals hold the truth 86 to 94% of the time where raters differ much in strictness."
        )
        yield WarningRow(kind="few_raters", group=group, text=text)
    counts = Counter(row.group for row in results.ratings.pairs)
    problems = Counter((row.group, row.level_problem) for row in results.ratings.pairs if row.level_problem)
    for (group, problem), n in problems.items():
        text = f"{group}: {n} of {counts[group]} tests of ratings: {problem}."
        yield WarningRow(kind="level_not_held", group=group, text=text)
    for source, tests in tests_by_source(results).items():
        yield from _about_skewed(source, tests)


def _about_skewed(source: str, rows: Sequence[PairTest]) -> Iterator[WarningRow]:
    """Say for each group how many tests rest on values of which most are equal, or a few lie far out."""
    tests = [row for row in rows if row.p_value is not None]
    for group in _groups(row for row in tests if row.highly_skewed):
        own = [row for row in tests if row.group == group]
        n = sum(bool(row.highly_skewed) for row in own)
        text = (
            f"{group}: {n} of {len(own)} tests of {source} rest{'s' if n == 1 else ''} on highly skewed values: at "
            f"least {MOSTLY_ONE:.0%} are the same, or a few lie far from the rest. In simulations such t-tests found a "
            "difference between equal systems in up to 29% of studies instead of 5%. Look at the values; a "
            "Wilcoxon or sign-flip test beside it asks whether they spread evenly about no difference, which is not "
            "the same question."
        )
        yield WarningRow(kind="highly_skewed", group=group, text=text)


def _groups(rows: Iterable[PairTest | AgreementRow]) -> list[str]:
    return list(dict.fromkeys(row.group for row in rows))
