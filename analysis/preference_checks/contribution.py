"""What the checks of preferences contribute."""

from __future__ import annotations

from analysis.comparisons.contribution import PREFERENCES
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Words
from analysis.preference_checks.checks import PreferenceChecks, preference_checks
from analysis.preference_checks.claims import claims
from analysis.preference_checks.coherence import CoherenceRow
from analysis.preference_checks.exposure import ExposurePoint, ExposureTrend, FirstExposure
from analysis.preference_checks.filtering import SweepRow
from analysis.preference_checks.section import what_preferences_rest_on
from analysis.records.results import rows
from analysis.statistics.record import names_of

EXPOSURE_CURVE = rows(
    "exposure_curve",
    ExposurePoint,
    "Distance of preferences from 0.5 by outputs read; empty where there is one exposure.",
)
EXPOSURE_TREND = rows("exposure_trend", ExposureTrend, "Change of the distance with each doubling of the outputs read.")
FIRST_EXPOSURE = rows(
    "first_exposure", FirstExposure, "Distance after one output of each system minus that after more."
)
CONSISTENCY_SWEEP = rows(
    "consistency_sweep", SweepRow, "The tests of preferences under other bounds on the sum of both directions."
)
COHERENCE = rows("coherence", CoherenceRow, "Triples of systems; system_a null: all triples together.")


def _checks(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    found = preference_checks(prepared.answers, prepared.orders, prepared.exclusions, prepared.plan)
    return {name: getattr(found, name) for name in names_of(PreferenceChecks)}


KEYS = (EXPOSURE_CURVE, EXPOSURE_TREND, FIRST_EXPOSURE, CONSISTENCY_SWEEP, COHERENCE)
WORDS = (
    Words(
        "outputs read",
        "How sure annotators are is the distance of a preference from 0.5. Its trend is the change "
        "with each doubling of the outputs read, within a unit's own pairs where at least half of the units have "
        "several exposures, else by a regression clustered by unit. Over-confident means clearly further from 0.5 "
        "after one output of each system than after more.",
        lambda results: bool(results.exposure_curve),
    ),
    Words(
        "bounds",
        "The sweep repeats the tests under other bounds on the two directions' sum. A bound lowers "
        "each direction taken alone even where nobody is biased; the mean of both it leaves where it was.",
        lambda results: bool(results.consistency_sweep),
    ),
    Words(
        "coherence",
        "Weak transitivity: x over y and y over z at 0.5 or more give x over z at 0.5 or more; strong: at "
        "least the larger of the two. The discrepancy is the log odds of the third minus those of the other two.",
        lambda results: bool(results.coherence),
    ),
)
CONTRIBUTION = Contribution(
    keys=KEYS,
    compute=_checks,
    words=WORDS,
    claims=claims,
    sections=(SectionEntry("preference-checks", PREFERENCES, what_preferences_rest_on, KEYS),),
)
