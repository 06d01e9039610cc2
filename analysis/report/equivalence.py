"""Which systems are shown to be equal, up to the margin that was declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.report.document import Block, Cell, Column, Fold, Paragraph, Results, Section, Table, build_table
from analysis.report.words import (
    Names,
    cell,
    count,
    interval,
    number,
    p_value,
    plural,
    signed,
)

Row = Mapping[str, Any]
OPEN = 30  # rows of an open table; more are folded
EXPLAINED = (
    "That a test finds no difference does not show that there is none: few answers find little. Here the question is "
    "turned round. A margin was declared below which a difference does not matter, and two one-sided t-tests ask "
    "whether the difference is shown to lie within it on both sides (TOST). A pair can be clearly different and still "
    "equivalent, when the difference is real and too small to matter; and it can be neither, when there are too few "
    "answers to tell. The margin must have been chosen before the answers were seen."
)


def equivalence(results: Results) -> Section | None:
    """Report the equivalence tests of all sources; nothing where no margin was declared."""
    settings, names = results.get("settings") or {}, Names(results)
    share, points = settings.get("equivalence_margin"), settings.get("equivalence_margin_ratings")
    sources = {
        "preferences": (share, results.get("preferences") or []),
        "ratings": (points, (results.get("ratings") or {}).get("pairs") or []),
        "choices": (share, (results.get("choices") or {}).get("pairs") or []),
    }
    told = [(source, margin, rows) for source, (margin, rows) in sources.items() if margin is not None and rows]
    if not told:
        return None
    blocks: list[Block] = [Paragraph(text=EXPLAINED)]
    for source, margin, rows in told:
        found = sum(row.get("equivalent") is True for row in rows)
        within = f"±{number(margin)} points" if source == "ratings" else f"±{100 * margin:g} percentage points of 50%"
        blocks.append(
            Paragraph(
                text=f"{names.source(source)}: {found} of {plural(len(rows), 'comparison')} "
                f"{'is' if found == 1 else 'are'} shown to be equivalent within {within}."
            )
        )
        table = _table(rows, names, source)
        many = len(rows) > OPEN
        blocks.append(Fold(summary=f"All {len(rows)} comparisons", blocks=(table,)) if many else table)
    return Section(id="equivalence", title="Which systems are equal, up to the margin", blocks=tuple(blocks))


def _table(rows: list[dict[str, Any]], names: Names, source: str) -> Table:
    columns = [
        Column(title="Pair"),
        Column(title="Group"),
        Column(title="Criterion"),
        Column(title="Outputs read", numeric=True),
        Column(title="n", explanation="units counted", numeric=True),
        Column(
            title="Difference",
            explanation="mean rating of the first minus that of the second"
            if source == "ratings"
            else "distance from 50%, in percentage points",
            numeric=True,
        ),
        Column(title="Interval", explanation="of that difference, as everywhere in this report", numeric=True),
        Column(
            title="Adjusted p (equivalence)",
            explanation="chance of a difference this far within the margin if the true one were at or beyond it, "
            "corrected for testing several pairs (Holm)",
            numeric=True,
        ),
        Column(title="Conclusion"),
    ]
    cells = []
    for row in rows:
        scale, start = (1, 0.0) if source == "ratings" else (100, 0.5)
        value = row.get({"preferences": "mean", "ratings": "mean_difference", "choices": "win_rate"}[source])
        ends = [None if row.get(key) is None else scale * (row[key] - start) for key in ("ci_low", "ci_high")]
        digits = 3 if source == "ratings" else 1
        cells.append(
            [
                cell(names.over(row) if source != "ratings" else names.against(row)),
                cell(names.group(row["group"])),
                cell(names.criterion(row["criterion"])),
                cell(count(row.get("exposure"))),
                cell(count(row["n"])),
                cell(signed(None if value is None else scale * (value - start), digits)),
                cell(interval(*ends, decimals=digits)),
                cell(p_value(row.get("p_equivalence_adjusted"))),
                _conclusion(row),
            ]
        )
    caption = f"Equivalence: {names.source(source)}"
    return build_table(f"equivalence_{source}", caption, columns, cells, constant=("Criterion", "Outputs read"))


def _conclusion(row: Row) -> Cell:
    equivalent, different = row.get("equivalent"), row.get("verdict") in {"x", "y"}
    if equivalent is None:
        return Cell(text=f"not tested: {row.get('reason') or 'no reason was recorded'}", tone="untested")
    if equivalent:
        return Cell(text="equivalent, though clearly different" if different else "equivalent", tone="even")
    return Cell(text="different" if different else "neither shown equal nor different", tone="plain")
