"""Corrections, clustered errors and kappas by statsmodels."""

from __future__ import annotations

from collections.abc import Sequence

METHODS = {"holm": "holm", "bh": "fdr_bh", "by": "fdr_by"}


def corrected(p_values: Sequence[float], correction: str, n_tests: int) -> list[float]:
    """Return corrected p-values; further members of the family count as 1.

    No missing value may be given: ``multipletests`` counts a NaN in Holm's n, and turns every value of
    Benjamini-Hochberg to NaN.
    """
    from statsmodels.stats.multitest import multipletests

    if any(value != value for value in p_values):
        raise ValueError("a p-value is missing")
    padded = [*p_values, *(1.0,) * (n_tests - len(p_values))]
    adjusted: list[float] = multipletests(padded, method=METHODS[correction])[1].tolist()
    return adjusted[: len(p_values)]
