"""What a live study decided on the pairs of tests, and what must be kept in mind of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analysis.answers.live_rows import LivePairRow, contradicted, turned_live
from analysis.comparisons.preferences import PreferenceTest
from analysis.records.overview import WarningRow
from analysis.statistics.record import Source

if TYPE_CHECKING:
    from analysis.printing.lookup import PairTest
    from analysis.records.results import Results

NOT_UNDER_LOOKING = (
    "p-values and intervals of a fixed number of annotators do not hold in a study that was looked at after every "
    "annotator and ended by its results."
)
DRAWN_BY_DOUBT = (
    "In the audit people were given forms the more often the less sure the rater was: means of people's answers alone "
    "are those of these forms. What the audit found weights each by its chance."
)


def about_audit(results: Results) -> Iterator[WarningRow]:
    """Say what must be kept in mind of people's own answers in an audit."""
    if results.live is None and any(row.drawn_by_doubt for row in results.audit):
        yield WarningRow(kind="audit_drawn", group=None, text=DRAWN_BY_DOUBT)


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
