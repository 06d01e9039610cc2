"""What planning contributes to a report."""

from __future__ import annotations

from analysis.comparisons.contribution import TESTS
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry
from analysis.planning.observed import ObservedPowerRow, observed_power_rows
from analysis.planning.observed_section import observed_power
from analysis.records.results import Key

OBSERVED_POWER: Key[tuple[ObservedPowerRow, ...] | None] = Key(
    "observed_power",
    tuple[ObservedPowerRow, ...] | None,
    lambda: None,
    "Power at the effects found, which restates p and is no evidence; null where it was not asked for.",
)


def _observed_power(analysis: Analysis) -> KeyValues:
    if analysis.observed_power is None:
        return {"observed_power": None}
    tests, prepared = analysis.of(TESTS), analysis.prepared
    power = observed_power_rows(
        tests.preferences,
        tests.ratings,
        groups=prepared.groups,
        study=prepared.study,
        alpha=analysis.observed_power,
    )
    return {"observed_power": tuple(power)}


CONTRIBUTION = Contribution(
    keys=(OBSERVED_POWER,),
    compute=_observed_power,
    sections=(SectionEntry("observed-power", OBSERVED_POWER, observed_power),),
)
