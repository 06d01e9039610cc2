"""Preferences expected before the study, and which of them each way of asking recovers."""

from __future__ import annotations

from typing import Any

from analysis.report.document import Cell, Column, Paragraph, Results, Section, build_table
from analysis.report.findings import Finding, findings, first_criteria, tested_rows
from analysis.report.preferences import level
from analysis.report.side_by_side import estimate
from analysis.report.words import SYMBOLS, Names, cell, count, sentence


def expected(results: Results) -> Section | None:
    """Show the expectations in the manner of Table 1 of Ethayarajh & Jurafsky (2022)."""
    rows, names = results.get("expected") or [], Names(results)
    if not rows:
        return None
    sources = list(dict.fromkeys((row["source"], row["group"]) for row in rows))
    asked: dict[tuple[Any, ...], dict[tuple[str, str], dict[str, Any]]] = {}
    several = len({row["exposure"] for row in rows if row.get("exposure") is not None}) > 1
    for row in rows:  # one exposure alone needs no row apart from the ratings, which have none
        key = (row["system_x"], row["system_y"], row.get("criterion"), row.get("exposure") if several else None)
        asked.setdefault(key, {})[row["source"], row["group"]] = row
    cells = [
        [
            cell(f"{names.system(x)} and {names.system(y)}"),
            cell(names.criterion(criterion) if criterion else "\u2013"),
            cell(count(exposure)),
            Cell(text=_outcome(next(iter(by_source.values())), "expected", names)),
            *(_found(results, by_source.get(source), names) for source in sources),
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
    return Section(
        id="expected",
        title="Expected preferences",
        blocks=(
            Paragraph(text=_tally(rows, sources, names)),
            build_table(
                "expected",
                "Expected preferences and what was found",
                columns,
                cells,
                [
                    "Laid out as Table 1 of Ethayarajh & Jurafsky (2022). Stars: adjusted p below .10 (*), .05 (**), "
                    f".01 (***). The paper takes a preference as found below .10, this report up to {level(results)}.",
                    "An expected indifference (~) counts as recovered where no clear difference was found, which a "
                    "study with few annotators finds easily.",
                ],
                constant=("Criterion", "Outputs read"),
            ),
        ),
    )


def _tally(rows: list[dict[str, Any]], sources: list[tuple[str, str]], names: Names) -> str:
    parts = []
    for source in sources:
        own = [row for row in rows if (row["source"], row["group"]) == source]
        recovered = sum(row.get("recovered") is True for row in own)
        untested = sum(row.get("found") is None for row in own)
        left = f" ({untested} could not be tested)" if untested else ""
        parts.append(f"{names.source_by_group(*source)}: {recovered} of {len(own)}{left}")
    return f"Expected preferences that were recovered: {'; '.join(parts)}."


def _outcome(row: dict[str, Any], key: str, names: Names) -> str:
    value = str(row[key])
    better = {"x": row["system_x"], "y": row["system_y"]}.get(value)
    return f"{SYMBOLS.get(value, value)} {f'{names.system(better)} better' if better else 'no difference'}"


def _found(results: Results, row: dict[str, Any] | None, names: Names) -> Cell:
    if row is None:
        return Cell(text="not asked", known=False)
    entry = _finding(results, row)
    if row.get("found") is None:
        reason = row.get("reason") or (entry.row.get("reason") if entry else "this pair was not asked about")
        return Cell(text="not tested", detail=str(reason or "no reason was recorded"), tone="untested")
    value = estimate(entry, turn=entry.x != row["system_x"]) if entry else ""
    recovered = "recovered" if row.get("recovered") else "not recovered"
    return Cell(
        text=f"{recovered}: {_outcome(row, 'found', names)}",
        detail=value,
        brief=f"{SYMBOLS.get(str(row['found']), '')} {value}, {recovered}",
        tone="plain" if row.get("recovered") else "bad",
    )


def _finding(results: Results, row: dict[str, Any]) -> Finding | None:
    """Return the test behind an expectation: of the overall question or else the first criterion."""
    if row["source"] not in ("preferences", "ratings", "choices") or not tested_rows(results, row["source"]):
        return None
    criterion = row.get("criterion") or first_criteria(results, row["source"])[0]
    for entry in findings(results, row["source"]):
        same_pair = {entry.x, entry.y} == {row["system_x"], row["system_y"]}
        same_exposure = row.get("exposure") is None or entry.row.get("exposure") == row["exposure"]
        if same_pair and same_exposure and entry.group == row["group"] and entry.criterion == criterion:
            return entry
    return None
