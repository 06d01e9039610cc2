"""A live study's decisions beside the tests of a fixed number of annotators: what later exclusions would change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from analysis.answers.live_rows import LivePairRow, LiveStudy
from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.preferences import PreferenceTest
from analysis.results.overview import WarningRow
from analysis.statistics.record import Source
from spa.live import Decision as LiveDecision

if TYPE_CHECKING:
    from analysis.results.records import PairTest, Results

NOT_UNDER_LOOKING = (
    "p-values and intervals of a fixed number of annotators do not hold in a study that was looked at after every "
    "annotator and ended by its results."
)
TURNED: dict[LiveDecision | None, LiveDecision] = {"x": "y", "y": "x"}


def with_fixed_estimates(live: LiveStudy, tests: Sequence[PairTest], lower: frozenset[str]) -> LiveStudy:
    """Return a live study whose pairs hold the estimates of the fixed tests, after all exclusions."""
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
    if isinstance(test, PreferenceTest):
        return test.mean
    if isinstance(test, ChoiceTest):
        return test.win_rate
    if test.mean_difference is None or live.scale_width is None:
        return None
    return ((-1 if lower else 1) * test.mean_difference / live.scale_width + 1) / 2


def contradicted(live: LiveStudy, row: LivePairRow) -> bool:
    """Return whether the estimate after all exclusions no longer lies where the pair was decided to be."""
    if row.mean_kept is None:
        return False
    shift = row.mean_kept - 0.5
    match row.decision:
        case "x":
            return shift <= 0
        case "y":
            return shift >= 0
        case "equal":
            return live.margin is not None and abs(shift) >= live.margin
    return False


def live_row(results: Results, source: Source, test: PairTest) -> LivePairRow | None:
    """Return what a live study decided on the pair of a test, in the direction of the test; ``None`` if it did not."""
    live = results.live
    if live is None or live.answers != source:
        return None
    exposure = test.exposure if isinstance(test, PreferenceTest) else None
    about = (test.group, test.criterion, exposure, {test.system_x, test.system_y})
    for row in live.pairs:
        if (row.group, row.criterion, row.exposure, {row.system_x, row.system_y}) == about:
            return row if row.system_x == test.system_x else turned_live(row)
    return None


def turned_live(row: LivePairRow) -> LivePairRow:
    """Return a row with the second system named first, and every number with it."""

    def of_the_other(value: float | None) -> float | None:
        return None if value is None else 1 - value

    return replace(
        row,
        system_x=row.system_y,
        system_y=row.system_x,
        mean=of_the_other(row.mean),
        low=1 - row.high,
        high=1 - row.low,
        decision=TURNED.get(row.decision, row.decision),
        mean_asked=of_the_other(row.mean_asked),
        mean_kept=of_the_other(row.mean_kept),
    )


def about_live(results: Results) -> Iterator[WarningRow]:
    """Say what must be kept in mind of a study that ended by its results."""
    live = results.live
    if live is None:
        return
    yield WarningRow(kind="looked_at", group=None, text=NOT_UNDER_LOOKING[0].upper() + NOT_UNDER_LOOKING[1:])
    for group in live.groups:
        own = [row for row in live.pairs if row.group == group.group]
        open_ = sum(row.decision is None for row in own)
        if not group.enough:
            left = f": {open_} of {len(own)} comparisons still open" if own else ""
            text = f"{group.group}: by its stopping rule the study is not over{left}."
            yield WarningRow(kind="not_ended", group=group.group, text=text)
        moved = sum(contradicted(live, row) for row in own)
        if moved:
            text = (
                f"{group.group}: after later exclusions the mean contradicts {moved} of {len(own)} decisions, which "
                "were made with the answers left out since."
            )
            yield WarningRow(kind="decision_contradicted", group=group.group, text=text)
