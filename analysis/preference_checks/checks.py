"""The rows of results.json about what preferences must hold to be believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.answers.exclusions import Exclusion, apply_exclusions
from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.comparisons.preferences import Comparisons, UnitPreferences, combine, direct
from analysis.preference_checks.coherence import CoherenceRow, coherence
from analysis.preference_checks.exposure import (
    ExposurePoint,
    ExposureTrend,
    FirstExposure,
    distances,
    exposure_curve,
    exposure_trends,
    first_exposure,
)
from analysis.preference_checks.filtering import SweepRow, sweep, taus_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceChecks:
    """All checks of the preferences, each as the rows of that name in the results; empty where it does not apply."""

    exposure_curve: tuple[ExposurePoint, ...] = ()
    exposure_trend: tuple[ExposureTrend, ...] = ()
    first_exposure: tuple[FirstExposure, ...] = ()
    consistency_sweep: tuple[SweepRow, ...] = ()
    coherence: tuple[CoherenceRow, ...] = ()


def preference_checks(
    answers: Mapping[str, pl.DataFrame],
    orders: Mapping[str, Order],
    exclusions: Sequence[Exclusion],
    plan: Plan,
) -> PreferenceChecks:
    """Check the preferences of a study in every way.

    Parameters
    ----------
    answers : mapping of str to DataFrame
        Checked answer tables by name, before exclusions.
    orders : mapping of str to Order
        In which order their systems and pairs stand.
    exclusions : sequence of Exclusion
        Of all rules.
    plan : Plan
        Error rate, families, confidence, and the bound on contradictions.
    """
    if "preferences" not in answers:
        return PreferenceChecks()
    table = answers["preferences"]
    tests = Comparisons(table, orders["preferences"])
    units = combine(direct(apply_exclusions(table, exclusions), tests))
    return checks_of_units(units, sweep(table, tests, exclusions, plan, taus=taus_of(tests, plan)), tests, plan)


def checks_of_units(
    units: UnitPreferences, swept: Sequence[SweepRow], tests: Comparisons, plan: Plan
) -> PreferenceChecks:
    """Do the same with the preferences of the units that are kept, and the rows of other bounds."""
    parts = distances(units, tests)
    return PreferenceChecks(
        exposure_curve=tuple(row for own in parts for row in exposure_curve(own, confidence=plan.confidence)),
        exposure_trend=tuple(row for own in parts for row in exposure_trends(own, plan)),
        first_exposure=tuple(row for own in parts for row in first_exposure(own, plan)),
        consistency_sweep=tuple(swept),
        coherence=tuple(coherence(units, tests, plan)),
    )
