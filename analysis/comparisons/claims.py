"""What libraries compute again of the tests of pairs of systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from analysis.comparisons.judged import Judged, judged_choices, judged_ratings
from analysis.comparisons.preferences import CHANCE, Comparisons, Directed, combine, direct
from analysis.contribution import Analysis, Checked
from analysis.statistics.coding import Floats, fold, split_by
from analysis.verification.claims import Claims, figure, left, places

Key: TypeAlias = "tuple[str, str, int | None, str, str]"
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
    yield from checked.families("preference_directions", results.preference_directions)
    for place, row in places("choices.pairs", results.choices.pairs):
        yield from figure(row, "p_binomial", place, "binomtest", wins=row.wins_x, losses=row.wins_y)
    if checked.analysis is not None:
        yield from _preferences(checked, checked.analysis)
        yield from _ratings(checked, checked.analysis)
        yield from _choices(checked, checked.analysis)


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
        yield from mean_test(row, place, own, CHANCE, checked.settings.equivalence_margin)
    sums, selected = (_sums(directed, names) for directed in (everybody, kept))
    alone = split_by(kept.test * 2 + ~kept.forward, kept.value, 2 * len(names))
    number = {name: place for place, name in enumerate(names)}
    for place, row in places("preference_directions", results.preference_directions):
        start = (row.group, row.criterion, row.exposure)
        forward, back = (*start, row.system_x, row.system_y), (*start, row.system_y, row.system_x)
        name, turned = (forward, 0) if forward in number else (back, 1)
        yield from figure(row, "p_value", place, "ttest_1samp", values=alone[2 * number[name] + turned], against=CHANCE)
        yield from figure(row, "p_symmetry", place, "ttest_1samp", values=sums[name], against=1.0)
        yield from figure(row, "p_symmetry_selected", place, "ttest_1samp", values=selected[name], against=1.0)


def _sums(directed: Directed, names: Sequence[Key]) -> dict[Key, Floats]:
    """Return what both directions add up to, by test, of the units that answered both."""
    both = fold(directed.test, directed.unit)
    whole = np.bincount(both.of, minlength=len(both)) == 2
    sums = np.bincount(both.of, weights=directed.value, minlength=len(both)).astype(np.float64)[whole]
    return dict(zip(names, split_by(directed.test[both.first][whole], sums, len(names)), strict=True))


def _ratings(checked: Checked, analysis: Analysis) -> Claims:
    for place, row, rated in judged_ratings(checked, analysis):
        if row.test == "Welch t":
            x, y = rated.sides
            yield from figure(row, "p_value", place, "ttest_ind", x=x, y=y)
            yield from left(row, "p_equivalence", place, "welch_margin")
        elif row.test == "paired t":
            yield from _over_units(row, place, rated.judged, 0.0, checked.settings.equivalence_margin_ratings)
        else:
            yield from left(row, "p_value", place, "clustered")
            yield from left(row, "p_equivalence", place, "clustered")
        if row.test == "clustered t":
            yield from left(row, "p_crossed", place, "clustered")
        else:
            yield from _crossed(row, place, rated.judged, 0.0)


def _choices(checked: Checked, analysis: Analysis) -> Claims:
    for place, row, judged in judged_choices(checked, analysis):
        yield from _over_units(row, place, judged, CHANCE, checked.settings.equivalence_margin)
        yield from _crossed(row, place, judged, CHANCE)


def _over_units(row: Any, place: str, judged: Judged, against: float, margin: float | None) -> Claims:
    """Claim a t-test over units, in which by default annotators weigh the same."""
    values = judged.by_unit(judged.value)
    if values is None:
        yield from left(row, "p_value", place, "weighed")
        yield from left(row, "p_equivalence", place, "weighed")
    else:
        yield from mean_test(row, place, values, against, margin)


def _crossed(row: Any, place: str, judged: Judged, against: float) -> Claims:
    """Claim a test clustered by annotator and item, unless few items carry the weight."""
    if row.p_crossed is not None and judged.few_items_carry:
        yield from left(row, "p_crossed", place, "crossed")
    elif row.p_crossed is not None:
        numbers = {"weights": judged.weights, "annotators": judged.who, "items": judged.item, "against": against}
        yield from figure(row, "p_crossed", place, "cov_cluster_2groups", values=judged.value, **numbers)


def mean_test(row: Any, place: str, values: Floats, against: float, margin: float | None) -> Claims:
    """Claim a one-sample t-test of a row, and its two one-sided tests."""
    yield from figure(row, "p_value", place, "ttest_1samp", values=values, against=against)
    yield from figure(row, "p_equivalence", place, "two_one_sided", values=values, against=against, margin=margin)
