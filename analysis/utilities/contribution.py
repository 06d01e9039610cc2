"""What standard gambles contribute."""

from __future__ import annotations

from analysis.answers.exclusions import apply_exclusions
from analysis.answers.order import order_of
from analysis.contribution import Analysis, Checked, Contribution, KeyValues, SectionEntry, Words
from analysis.records.results import rows
from analysis.utilities.section import ASSUMED, utilities
from analysis.utilities.utilities import (
    DIFFERENCE,
    Utility,
    UtilityCheck,
    UtilityDifference,
    UtilityLists,
    UtilityMean,
    UtilityRows,
    UtilityShare,
    utility_rows,
)
from analysis.verification.claims import Claims, figure, places

SHARES = rows(
    "utility_shares", UtilityShare, "Standard gambles: how many annotators find a system better by a stated size."
)
UTILITIES = rows("utilities", Utility, "Standard gambles: utilities within annotators, one row a system.")
DIFFERENCES = rows("utility_differences", UtilityDifference)
MEANS = rows("utility_means", UtilityMean, "Empty unless the study says that annotators share both references.")
LISTS = rows("utility_lists", UtilityLists)
CHECKS = rows("utility_checks", UtilityCheck)


def _utilities(analysis: Analysis) -> KeyValues:
    found = _rows(analysis)
    return {
        "utility_shares": found.shares,
        "utilities": found.utilities,
        "utility_differences": found.differences,
        "utility_means": found.means,
        "utility_lists": found.lists,
        "utility_checks": found.checks,
    }


def _rows(analysis: Analysis) -> UtilityRows:
    prepared, study = analysis.prepared, analysis.prepared.study
    table = prepared.tables.gambles
    if table is None:
        return UtilityRows()
    order = order_of(table, [group for group, _ in prepared.groups], study)
    stated = None if study is None else study.gamble_difference
    return utility_rows(
        apply_exclusions(table, prepared.exclusions),
        order.groups,
        order.systems,
        prepared.plan,
        size=DIFFERENCE if stated is None else stated,
        shared=study is not None and study.shared_anchors,
    )


def _claims(checked: Checked) -> Claims:
    """Claim the sign tests of the checks."""
    for place, row in places("utility_checks", checked.results.utility_checks):
        numbers = {"wins": row.annotators_higher, "losses": row.annotators_lower}
        yield from figure(row, "p_value", place, "binomtest", **numbers)


CONTRIBUTION = Contribution(
    keys=(SHARES, UTILITIES, DIFFERENCES, MEANS, LISTS, CHECKS),
    compute=_utilities,
    claims=_claims,
    sections=(SectionEntry("utilities", LISTS, utilities, (SHARES, DIFFERENCES, MEANS, CHECKS)),),
    words=(
        Words(
            "utilities",
            "Of an output: the middle of the last chance at which an annotator preferred it for sure and "
            "the first at which the gamble; 0 and 1 where there is none. Within annotators, never averaged over "
            "them" + " unless the study says that they share both references.",
            lambda results: bool(results.utility_lists),
        ),
        Words("shared references", ASSUMED, lambda results: bool(results.utility_means)),
    ),
)
