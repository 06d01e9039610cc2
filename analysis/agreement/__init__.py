"""How far annotators agree: Krippendorff's alpha, ICC, Gwet's AC1 and AC2, kappas, exact agreement, pairs."""

from analysis.agreement.data import ReliabilityData, reliability_data
from analysis.agreement.gwet import exact_agreement, fleiss_kappa, gwet_ac1, gwet_ac2
from analysis.agreement.icc import ICCTest, icc, icc_test
from analysis.agreement.kappa import cohen_kappa
from analysis.agreement.krippendorff import krippendorff_alpha
from analysis.agreement.pairwise import AnnotatorPair, mean_kendall_tau, pairwise_agreement
from analysis.agreement.result import Agreement

__all__ = [
    "Agreement",
    "AnnotatorPair",
    "ICCTest",
    "ReliabilityData",
    "cohen_kappa",
    "exact_agreement",
    "fleiss_kappa",
    "gwet_ac1",
    "gwet_ac2",
    "icc",
    "icc_test",
    "krippendorff_alpha",
    "mean_kendall_tau",
    "pairwise_agreement",
    "reliability_data",
]
