"""What libraries compute again of the tests of pairs of systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.comparisons.preferences import CHANCE, Comparisons, combine, direct
from analysis.contribution import Analysis, Checked
from analysis.statistics.coding import Floats, fold, split_by
from analysis.verification.claims import Claims, figure, left, places

EQUIVALENT = {"raw": "p_equivalence", "adjusted": "p_equivalence_adjusted"}
CROSSED = {"raw": "p_crossed", "adjusted": "p_crossed_adjusted"}


def claims(checked: Checked) -> Claims:
    """Claim the tests of preferences, ratings and choices, and their corrections."""
    results = checked.results
    of_rows = (
        ("preferences", results.preferences),
        ("ratings.pairs", results.ratings.pairs),
        ("choices.pairs", results.choices.pairs),
    )
    for key, rows in of_rows:
        yield from checked.families(key, rows)
        yield from checked.families(key, rows, correction="holm", **EQUIVALENT)
        if key != "preferences":
            yield from checked.families(key, rows, **CROSSED)
        for place, row in places(key, rows):
            yield from left(row, "p_unanimous", place, "bound")
    for place, row in places("choices.pairs", results.choices.pairs):
        yield from figure(row, "p_binomial", place, "binomtest", wins=row.wins_x, losses=row.wins_y)
    if checked.analysis is not None:
        yield from _preferences(checked, checked.analysis)


def _preferences(checked: Checked, analysis: Analysis) -> Claims:
    prepared, results = analysis.prepared, checked.results
    if "preferences" not in prepared.answers:
        return
    tests = Comparisons(prepared.answers["preferences"], prepared.orders["preferences"])
    everybody, kept = (direct(frames["preferences"], tests) for frames in (prepared.answers, prepared.kept))
    units, names = combine(kept), [tests.name(number) for number in range(len(tests.keys))]
    values = dict(zip(names, split_by(units.test, units.value, len(names)), strict=True))
    for place, row in places("preferences", results.preferences):
        own = values[row.group, row.criterion, row.exposure, row.system_x, row.system_y]
        yield from mean_test(checked, row, place, own, CHANCE, checked.settings.equivalence_margin)
    both = fold(everybody.test, everybody.unit)
    whole = np.bincount(both.of, minlength=len(both)) == 2
    sums = np.bincount(both.of, weights=everybody.value, minlength=len(both))[whole]
    by_test = dict(zip(names, split_by(everybody.test[both.first][whole], sums, len(names)), strict=True))
    for place, row in places("preference_directions", results.preference_directions):
        systems = (row.system_x, row.system_y)
        start = (row.group, row.criterion, row.exposure)
        own = by_test[next(key for key in ((*start, *systems), (*start, *systems[::-1])) if key in by_test)]
        yield from figure(row, "p_symmetry", place, "ttest_1samp", values=own, against=1.0)


def mean_test(checked: Checked, row: Any, place: str, values: Floats, against: float, margin: float | None) -> Claims:
    """Claim a one-sample t-test of a row, and its two one-sided tests."""
    yield from figure(row, "p_value", place, "ttest_1samp", values=values, against=against)
    yield from figure(row, "p_equivalence", place, "two_one_sided", values=values, against=against, margin=margin)
