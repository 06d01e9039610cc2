"""From preferences that were read in parts to everything that a report says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from analysis.agreement.contribution import CONTRIBUTION as AGREEMENT
from analysis.agreement.data import from_codes
from analysis.agreement.measures import Answered
from analysis.agreement.rater_agreement import JUDGED, AgreementRow, about_pairs, agreement_rows
from analysis.agreement.units import units_of_answers
from analysis.answers.exclusions import excluded_counts
from analysis.answers.given_names import written_plan
from analysis.answers.input import with_lower
from analysis.answers.pairs import with_pairs
from analysis.answers.plan import Plan
from analysis.camps.contribution import DIFFER_LEFT_OUT
from analysis.comparisons.preferences import Directed, UnitPreferences, combine
from analysis.contribution import Analysis, Contribution, KeyValues, SummedInput
from analysis.llm_vs_people.from_sums import BIAS, PREDICTION_POWERED
from analysis.parts.preference_buckets import Flags, PreferenceUnits
from analysis.parts.preferences import PreferenceTotals
from analysis.preference_checks.checks import PreferenceChecks, checks_of_units
from analysis.preference_checks.contribution import CONTRIBUTION as PREFERENCE_CHECKS
from analysis.preference_checks.filtering import sweep_units, taus_of
from analysis.ranking.means_of_sums import NumberedUnits
from analysis.ranking.sources import RankingSources
from analysis.rating_checks.other_tests import OtherTests
from analysis.records.results import Results
from analysis.results.analyse_sums import SIGNS, analyse_summed
from analysis.results.comparison_tests import TESTED, all_tests, tests_of_units
from analysis.single_answers.contribution import SINGLE
from analysis.statistics.coding import fold
from analysis.statistics.record import names_of
from analysis.sums.building import NAMED
from analysis.sums.left_out import NeedsSingleAnswers


def _explanations(totals: PreferenceTotals, results: Results) -> str | None:
    return "free explanations, if any"


def _self_agreement(totals: PreferenceTotals, results: Results) -> str | None:
    return "agreement of LLMs with themselves" if any(kind == "llm" for _, kind in totals.groups) else None


def _repeated_agreement(totals: PreferenceTotals, results: Results) -> str | None:
    llms = {group for group, kind in totals.groups if kind == "llm"}
    return "agreement of groups with repeated answers" if totals.repeating - llms else None


LEFT_OUT = (
    SIGNS,
    NeedsSingleAnswers("explanations", ("explanations",), _explanations),
    NeedsSingleAnswers("self_agreement", ("agreement", "raters", "warning_rows"), _self_agreement),
    BIAS,
    PREDICTION_POWERED,
    NeedsSingleAnswers("agreement", ("agreement", "raters", "warning_rows"), _repeated_agreement),
    SINGLE,
    DIFFER_LEFT_OUT,
)


def analyse_preferences_in_parts(totals: PreferenceTotals, plan: Plan) -> Results:
    """Analyse preferences as :func:`analysis.results.analyse.analyse` does the table."""
    plan = written_plan(plan, totals.order.systems, totals.order.criteria, {})
    orders = {"preferences": totals.order}
    plan = with_pairs(with_lower(plan, orders), orders)
    pairs = pl.DataFrame(totals.left, schema={"group": pl.String, "annotator_id": pl.String}, orient="row")
    summed = SummedInput(
        totals=totals, plan=plan, exclusions=totals.exclusions, gone=excluded_counts(totals.exclusions, pairs)
    )
    return analyse_summed(summed, LEFT_OUT, more=_contributions(totals))


def _contributions(totals: PreferenceTotals) -> Sequence[Contribution]:
    """Return what is computed from the preferences of units, in the place of the rooms that bring it of tables."""
    tests, units = totals.tests, totals.units
    everybody, kept = (_directed(units, own) for own in (units.everybody, units.kept))
    base = kept if np.array_equal(units.base, units.kept) else _directed(units, units.base)
    llms = {group for group, kind in totals.groups if kind == "llm"}
    preferences = combine(kept)

    def tested_units(analysis: Analysis) -> KeyValues:
        plan = analysis.plan
        sources = RankingSources(plan=plan)
        names = {kind: _names(units) for kind in ("annotator", "assignment")}
        found = tests_of_units(everybody, kept, tests, plan, sources, llms=llms, names=names)
        return all_tests(plan, sources, OtherTests(plan=plan), preferences=found)

    def checks(analysis: Analysis) -> KeyValues:
        plan = analysis.plan
        failing = units.failing.astype(np.int64)
        swept = sweep_units(base, failing, totals.checked, tests, plan, taus=taus_of(tests, plan))
        found = checks_of_units(preferences, swept, tests, plan)
        return {name: getattr(found, name) for name in names_of(PreferenceChecks)}

    def agreement(analysis: Analysis) -> KeyValues:
        found = _agreement(preferences, totals, analysis.plan, llms | totals.repeating)
        return {"reviewers": (), "agreement": tuple(found), "annotator_pairs": (), "coded_raters": None}

    return (
        replace(TESTED, of_sums=tested_units),
        replace(PREFERENCE_CHECKS, of_sums=checks),
        replace(AGREEMENT, of_sums=agreement),
    )


def _directed(units: PreferenceUnits, chosen: Flags) -> Directed:
    """Return the answers of some units."""
    own = chosen[units.unit]
    return Directed(
        test=units.test[own].astype(np.int64),
        unit=units.unit[own].astype(np.int64),
        forward=units.forward[own],
        value=units.value[own],
    )


def _names(units: PreferenceUnits) -> Sequence[str]:
    """Return what tells units apart in resampling: names where they are few."""
    return units.names.to_list() if len(units.names) <= NAMED else NumberedUnits(len(units.names))


def _agreement(
    units: UnitPreferences, totals: PreferenceTotals, plan: Plan, without: Iterable[str]
) -> Iterable[AgreementRow]:
    """Yield alpha of people who answered everything once: a unit of theirs is a rater."""
    tests, level = totals.tests, JUDGED["preferences"]
    names = [tests.name(number) for number in range(len(tests.keys))]
    parts = dict.fromkeys(name[:2] for name in names if name[0] not in without)
    for group, criterion in parts:
        mine = np.array([name[:2] == (group, criterion) for name in names])[units.test]
        raters = fold(units.unit[mine])
        if len(raters) < 2:
            continue
        data = from_codes(units.test[mine], raters.of, units.value[mine], tuple(map(str, range(len(raters)))))
        data = about_pairs(data)
        answered = Answered(
            source="preferences",
            units=units_of_answers(data),
            data=data,
            level=level,
            confidence=plan.confidence,
            seed=[plan.seed],
        )
        yield from agreement_rows(answered, group, criterion)
