"""Preferences expected before the study, and which of them each way of asking recovers."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparisons.disagreements import ExpectedRow
from analysis.contribution import Shown
from analysis.printing.cells import SYMBOLS, cell, estimate
from analysis.printing.document import Cell, Column, Paragraph, Section, build_table
from analysis.printing.levels import level
from analysis.printing.lookup import PairResult, first_criteria, pair_results
from analysis.printing.names import Names
from analysis.printing.words import SPACE, count, p_value, sentence
from analysis.statistics.corrections import Verdict


def expected(rows: Sequence[ExpectedRow], shown: Shown) -> Section | None:
    """Show the expectations in the manner of Table 1 of Ethayarajh & Jurafsky (2022)."""
    names = shown.names
    sources = list(dict.fromkeys((row.source, row.group) for row in rows))
    asked: dict[tuple[str, str, str | None, int | None], dict[tuple[str, str], ExpectedRow]] = {}
    several = len({row.exposure for row in rows if row.exposure is not None}) > 1
    for row in rows:  # one exposure alone needs no row apart from the ratings, which have none
        key = (row.system_x, row.system_y, row.criterion, row.exposure if several else None)
        asked.setdefault(key, {})[row.source, row.group] = row
    cells = [
        [
            cell(f"{names.system(x)} and {names.system(y)}"),
            cell(names.criterion(criterion) if criterion else "\u2013"),
            cell(count(exposure)),
            Cell(text=_outcome(row := next(iter(by_source.values())), row.expected, names, "no difference")),
            *(_found(shown, by_source.get(source)) for source in sources),
        ]
        for (x, y, criterion, exposure), by_source in asked.items()
    ]
    columns = [
        Column(title="Pair"),
        Column(title="Criterion"),
        Column(title="Outputs read", numeric=True),
        Column(title="Expected", explanation="set down before the answers were seen"),
        *(Column(title=sentence(names.source_by_group(*source))) for source in sources),
    ]
    table = build_table(
        "expected",
        "Expected preferences and what was found",
        columns,
        cells,
        _notes(shown),
        constant=("Criterion", "Outputs read"),
    )
    tally = Paragraph(text=_tally(rows, sources, names, shown.live))
    return Section(
        id="expected",
        title="Expected preferences",
        blocks=(tally,) if shown.live else (tally, table),
        appendix=(table,) if shown.live else (),  # of a live study the report itself names nobody better
    )


def _notes(shown: Shown) -> list[str]:
    laid_out = "Laid out as Table 1 of Ethayarajh & Jurafsky (2022), with"
    if shown.live:
        return [
            f"{laid_out} the decisions of the live study in place of stars. An expected indifference (~) counts as "
            "recovered where the two were decided to be equal."
        ]
    return [
        f"{laid_out} the adjusted p in place of stars. The paper takes a preference as found where p is below .10, "
        f"this report where it is at most {level(shown.settings)}.",
        "An expected indifference (~) counts as recovered where no clear difference was found, which a study with few "
        "annotators finds easily.",
    ]


def _tally(rows: Sequence[ExpectedRow], sources: Sequence[tuple[str, str]], names: Names, live: bool) -> str:
    parts = []
    without = "without a decision" if live else "could not be tested"
    for source in sources:
        own = [row for row in rows if (row.source, row.group) == source]
        recovered = sum(row.recovered for row in own)
        untested = sum(row.found is None for row in own)
        left = f" ({untested} {without})" if untested else ""
        parts.append(f"{names.source_by_group(*source)}: {recovered} of {len(own)}{left}")
    return f"Expected preferences that were recovered: {'; '.join(parts)}."


def _outcome(row: ExpectedRow, verdict: Verdict, names: Names, neither: str = "undecided") -> str:
    better = {"x": row.system_x, "y": row.system_y}.get(verdict)
    return f"{SYMBOLS[verdict]} {f'{names.system(better)} better' if better else neither}"


def _found(shown: Shown, row: ExpectedRow | None) -> Cell:
    if row is None:
        return Cell(text="not asked", known=False)
    entry = _test_behind(shown, row)
    if row.found is None:
        reason = row.reason or (entry.test.reason if entry else "this pair was not asked about")
        text = "no decision" if shown.live else "not tested"
        return Cell(text=text, detail=str(reason or "no reason was recorded"), tone="untested")
    value = _estimate(entry, row)
    recovered = "recovered" if row.recovered else "not recovered"
    return Cell(
        text=f"{recovered}: {_outcome(row, row.found, shown.names, 'equal' if shown.live else 'undecided')}",
        detail=value,
        brief=f"{SYMBOLS[row.found]} {value}, {recovered}",
        tone="plain" if row.recovered else "clear",
    )


def _estimate(entry: PairResult | None, row: ExpectedRow) -> str:
    if entry is None:
        return ""
    if entry.test.decision is not None:
        return estimate(entry, turn=entry.x != row.system_x)
    p = p_value(entry.test.p_adjusted)
    shown = p if p.startswith("<") else f"={SPACE}{p}"
    return f"{estimate(entry, turn=entry.x != row.system_x)}, p{SPACE}{shown}"


def _test_behind(shown: Shown, row: ExpectedRow) -> PairResult | None:
    """Return the test behind an expectation: of the overall question or else the first criterion."""
    criterion = row.criterion or next(iter(first_criteria(shown.results, row.source)), None)
    for entry in pair_results(shown.results, row.source):
        same_pair = {entry.x, entry.y} == {row.system_x, row.system_y}
        same_exposure = row.exposure is None or entry.exposure == row.exposure
        if same_pair and same_exposure and (entry.test.group, entry.test.criterion) == (row.group, criterion):
            return entry
    return None
