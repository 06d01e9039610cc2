"""The rows of results.json about what preferences must hold to be believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from analysis.exclusions import Exclusion, apply_exclusions
from analysis.order import Order
from analysis.plan import Plan
from analysis.preference_checks.coherence import coherence
from analysis.preference_checks.exposure import distances, exposure_curve, exposure_trends, first_exposure
from analysis.preference_checks.filtering import FEW_TAUS, MANY_COMPARISONS, TAUS, sweep
from analysis.preferences import Comparisons, combine, direct

KEYS = ("exposure_curve", "exposure_trend", "first_exposure", "consistency_sweep", "coherence")


def preference_checks(
    answers: Mapping[str, pl.DataFrame],
    orders: Mapping[str, Order],
    exclusions: Sequence[Exclusion],
    plan: Plan,
) -> dict[str, list[Any]]:
    """Check the preferences of a study in every way; each list is empty where it does not apply."""
    if "preferences" not in answers:
        return {name: [] for name in KEYS}
    table = answers["preferences"]
    tests = Comparisons(table, orders["preferences"])
    units = combine(direct(apply_exclusions(table, exclusions), tests))
    taus = FEW_TAUS if len(tests.keys) > MANY_COMPARISONS else TAUS
    if plan.consistency_tau is not None:
        taus = (*taus, plan.consistency_tau)
    parts = distances(units, tests)
    return {
        "exposure_curve": [row for own in parts for row in exposure_curve(own, confidence=plan.confidence)],
        "exposure_trend": [row for own in parts for row in exposure_trends(own, plan)],
        "first_exposure": [row for own in parts for row in first_exposure(own, plan)],
        "consistency_sweep": sweep(table, tests, exclusions, plan, taus=taus),
        "coherence": coherence(units, tests, plan),
    }
