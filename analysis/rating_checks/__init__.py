"""Effect sizes of ratings, and whether what a test of ratings found holds when it is tested in another way."""

from analysis.rating_checks.crossed import CrossedTest, crossed_test
from analysis.rating_checks.effect_sizes import hedges_g, superiority
from analysis.rating_checks.ordinal import OrdinalFit, fit_ordinal
from analysis.rating_checks.respacing import Respacing, respacing_range
from analysis.rating_checks.wilcoxon import SignedRankTest, signed_rank_test
from analysis.rating_checks.z_scores import z_scores

__all__ = [
    "CrossedTest",
    "OrdinalFit",
    "Respacing",
    "SignedRankTest",
    "crossed_test",
    "fit_ordinal",
    "hedges_g",
    "respacing_range",
    "signed_rank_test",
    "superiority",
    "z_scores",
]
