"""Correlations between groups of annotators, and between groups and metrics."""

from __future__ import annotations

from analysis.correlations.coefficients import Correlation, correlate
from analysis.correlations.levels import LevelCorrelation, PairedScores, correlate_levels, correlate_rows
from analysis.correlations.pairwise import PairwiseAccuracy, pairwise_accuracy
from analysis.correlations.upper_bounds import OneAgainstOthers, one_against_others
from analysis.correlations.williams import WilliamsTest, williams, williams_of_sizes

__all__ = [
    "Correlation",
    "LevelCorrelation",
    "OneAgainstOthers",
    "PairedScores",
    "PairwiseAccuracy",
    "WilliamsTest",
    "correlate",
    "correlate_levels",
    "correlate_rows",
    "one_against_others",
    "pairwise_accuracy",
    "williams",
    "williams_of_sizes",
]
