"""LLMs against people: standing in for a person, estimating together with people, calibration, and bias."""

from __future__ import annotations

from analysis.llm_vs_people.alternative_annotator import (
    AlternativeAnnotatorTest,
    AnnotatorComparison,
    alternative_annotator_test,
)
from analysis.llm_vs_people.bias import BiasContrast, bias_profile
from analysis.llm_vs_people.calibration import (
    Calibration,
    Recalibration,
    ReliabilityBin,
    assess_calibration,
    recalibrate,
)
from analysis.llm_vs_people.prediction_powered import PredictionPoweredMean, prediction_powered_mean
from analysis.llm_vs_people.rank_tables import AnnotatorRanks, RankTable, rank_table

__all__ = [
    "AlternativeAnnotatorTest",
    "AnnotatorComparison",
    "AnnotatorRanks",
    "BiasContrast",
    "Calibration",
    "PredictionPoweredMean",
    "RankTable",
    "Recalibration",
    "ReliabilityBin",
    "alternative_annotator_test",
    "assess_calibration",
    "bias_profile",
    "prediction_powered_mean",
    "rank_table",
    "recalibrate",
]
