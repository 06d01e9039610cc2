"""What moves an LLM beyond what people see: its severity, and bias towards a place, a letter or length."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.figures.plain_text import shown_name
from analysis.llm_vs_people.bias_rows import BiasRow
from analysis.report.cells import Field, cell, criterion_cell, number_column, tabulate, text_column
from analysis.report.document import Block, Fold, Heading, Paragraph, Table
from analysis.results.words import Names, count, interval, listed, plural, signed

KINDS = {
    "severity": "all outputs",
    "position": "first place",
    "length": "longer outputs",
    "label": "letter",
    "order": "direction asked first",
}


def bias(rows: Sequence[BiasRow], names: Names, confidence: str) -> list[Block]:
    """Report the bias profile of every LLM, source by source; say what could not be estimated and why."""
    if not rows:
        return []
    estimated = [row for row in rows if row.estimate is not None]
    blocks: list[Block] = [Heading(text="Bias of LLMs"), Paragraph(text=_reading(estimated))]
    for source, title in (("ratings", "Ratings"), ("preferences", "Preferences"), ("choices", "Choices")):
        own = [row for row in estimated if row.source == source]
        if own:
            table = _table(own, names, confidence, source, title)
            blocks.append(Fold(summary=f"{title}: every contrast ({len(own):,} rows)", blocks=(table,)))
    missing = _missing(rows)
    return [*blocks, Paragraph(text=missing)] if missing else blocks


def _reading(estimated: Sequence[BiasRow]) -> str:
    text = (
        "An LLM and people judged the same outputs or pairs; shown is the LLM\u2019s answer minus that of people. "
        "Over all outputs this is its severity (below 0: stricter than people). The others say how much more it gives "
        "to what stood first, was longer or bore a certain letter than to the rest, within the same system or pair. "
    )
    tested = [(row.ci_low, row.ci_high) for row in estimated if row.ci_low is not None and row.ci_high is not None]
    clear = [low for low, high in tested if low > 0 or high < 0]
    if tested:
        text += (
            f"Of {plural(len(tested), 'interval')}, {len(clear)} leave out 0; they are not corrected for their number, "
            "so that without any bias about one in twenty would."
        )
    return text


def _table(rows: Sequence[BiasRow], names: Names, confidence: str, source: str, title: str) -> Table:
    factor = 1 if source == "ratings" else 100
    decimals = 2 if source == "ratings" else 1
    aside = "answers on that side of the contrast" if source == "ratings" else "in the rarer direction of each pair"
    fields: list[Field[BiasRow]] = [
        text_column("LLM", lambda row: shown_name(row.group)),
        text_column("Criterion", lambda row: criterion_cell(names, row.criterion, source)),
        text_column(
            "Bias towards",
            lambda row: cell(
                f"letter {row.level}" if row.kind == "label" else KINDS[row.kind],
                quoted=row.kind == "label",
            ),
        ),
        text_column(
            "LLM \u2212 people",
            lambda row: signed(None if row.estimate is None else factor * row.estimate, decimals),
            "in points of the scale" if source == "ratings" else "in percentage points",
        ),
        number_column(f"{confidence} confidence interval", lambda row: _interval(row, factor, decimals)),
        number_column("n", lambda row: count(row.n), "answers compared"),
        number_column("Of these", lambda row: count(row.n_level), aside),
        text_column("Note", lambda row: str(row.reason or "\u2013")),
    ]
    return tabulate(f"bias_{source}", f"{title}: bias of LLMs beside people", fields, rows, constant=("Criterion",))


def _interval(row: BiasRow, factor: int, decimals: int) -> str:
    low, high = row.ci_low, row.ci_high
    return interval(None if low is None else factor * low, None if high is None else factor * high, decimals=decimals)


def _missing(rows: Sequence[BiasRow]) -> str:
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.estimate is None:
            what = f"{KINDS[row.kind]} ({row.source})"
            listed_already = reasons.setdefault(str(row.reason), [])
            if what not in listed_already:
                listed_already.append(what)
    parts = [f"{listed(kinds)}: {reason}" for reason, kinds in reasons.items()]
    return f"Not estimated \u2013 {'; '.join(parts)}." if parts else ""
