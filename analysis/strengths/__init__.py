"""Bradley-Terry: one strength a system from pairwise comparisons, with honest intervals and ranks."""

from analysis.strengths.estimate import BradleyTerry, bradley_terry
from analysis.strengths.fit import Strengths, fit_bradley_terry, gap_to_likelihood

__all__ = ["BradleyTerry", "Strengths", "bradley_terry", "fit_bradley_terry", "gap_to_likelihood"]
