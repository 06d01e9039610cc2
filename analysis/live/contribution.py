"""What a study that its answers ended contributes: its decisions, with estimates of a fixed number beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from analysis.answers.live_rows import LiveStudy
from analysis.comparisons.contribution import TESTS
from analysis.comparisons.preferences import PreferenceTest
from analysis.comparisons.ratings import RatingTest
from analysis.contribution import Analysis, Contribution, KeyValues
from analysis.printing.lookup import PairTest
from analysis.records.results import one

LIVE = one(
    "live", LiveStudy, "What a study decided that was looked at after every annotator; null in one of fixed size."
)


def _live(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    live = prepared.study.live if prepared.study else None
    if live is None:
        return {"live": None}
    tests = getattr(analysis.of(TESTS), live.answers)
    return {"live": with_fixed_estimates(live, tests, prepared.plan.lower_is_better)}


def with_fixed_estimates(live: LiveStudy, tests: Sequence[PairTest], lower: frozenset[str]) -> LiveStudy:
    """Return a live study whose pairs hold the estimates of the fixed tests, after all exclusions.

    Those of an audit are people's answers to the forms that they were given, and stand in its own table.
    """
    if live.audited:
        return live
    found: dict[tuple[object, ...], PairTest] = {}
    for test in tests:
        if getattr(test, "unit", "annotator") == "annotator":
            exposure = test.exposure if isinstance(test, PreferenceTest) else None
            found[test.group, test.criterion, exposure, frozenset((test.system_x, test.system_y))] = test
    pairs = []
    for row in live.pairs:
        kept = found.get((row.group, row.criterion, row.exposure, frozenset((row.system_x, row.system_y))))
        mean = None if kept is None else _on_unit_scale(live, kept, kept.criterion in lower)
        if kept is not None and mean is not None:
            row = replace(row, n_kept=kept.n, mean_kept=mean if kept.system_x == row.system_x else 1 - mean)
        pairs.append(row)
    return replace(live, pairs=tuple(pairs))


def _on_unit_scale(live: LiveStudy, test: PairTest, lower: bool) -> float | None:
    if not isinstance(test, RatingTest):
        return test.estimate
    if live.scale_width is None:
        return None
    return ((-1 if lower else 1) * test.mean_difference / live.scale_width + 1) / 2


def _tables(live: LiveStudy) -> KeyValues:
    return {"live": live.pairs, "live_systems": live.systems}


CONTRIBUTION = Contribution(keys=(LIVE,), compute=_live, tables={LIVE: _tables})
