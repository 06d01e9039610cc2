"""Bradley-Terry: one strength a system from pairwise comparisons, with honest intervals and ranks."""

from analysis.strengths.bootstrap import Bootstrap, bootstrap_strengths
from analysis.strengths.estimate import BradleyTerry, bradley_terry
from analysis.strengths.fit import Strengths, fit_bradley_terry, gap_to_likelihood
from analysis.strengths.ties import Davidson, fit_davidson

__all__ = [
    "Bootstrap",
    "BradleyTerry",
    "Davidson",
    "Strengths",
    "bootstrap_strengths",
    "bradley_terry",
    "fit_bradley_terry",
    "fit_davidson",
    "gap_to_likelihood",
]
