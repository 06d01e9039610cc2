"""What the report says of LLMs that judge systems of their own maker."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.contribution import Shown
from analysis.figures.plain_text import shown_name
from analysis.printing.cells import Field, cell, criterion_cell, number_column, tabulate, text_column
from analysis.printing.document import Cell, Paragraph, Section
from analysis.printing.words import count, listed, number, percent, sentence, signed
from analysis.self_preference.own_maker import SelfPreference

INTRO = "An LLM and a system of one maker: does the LLM favour it more than people do?"


def self_preference(rows: Sequence[SelfPreference], shown: Shown) -> Section:
    """Show one row an LLM, way of asking and criterion, and say what is clear."""
    names = shown.names
    clear = [
        row for row in rows if row.ci_low is not None and row.ci_high is not None and not row.ci_low <= 0 <= row.ci_high
    ]
    said = [INTRO]
    for row in clear:
        about = "more" if (row.difference or 0) > 0 else "less"
        said.append(f"{names.group(row.group)} favours {_systems(row, shown)} {about} than people do ({_amount(row)}).")
    if not clear and any(row.difference is not None for row in rows):
        said.append("No such difference is clear.")
    if all(row.difference is None for row in rows):
        said.append("No people judged the same outputs, so this cannot be told.")
    fields: list[Field[SelfPreference]] = [
        text_column("LLM", lambda row: cell(shown_name(row.group), detail=shown_name(row.maker))),
        text_column("Asked as", lambda row: sentence(names.source(row.source))),
        text_column("Criterion", lambda row: criterion_cell(names, row.criterion, row.source)),
        text_column("Own systems", lambda row: _systems(row, shown)),
        number_column("Judged", lambda row: count(row.n), "outputs or comparisons that both judged"),
        number_column("Own", lambda row: _both(row, row.own, row.own_by_people), "by the LLM, below it by people"),
        number_column("Others", lambda row: _both(row, row.other, row.other_by_people), "ratings of all other systems"),
        number_column(
            "Beyond people",
            lambda row: cell(_amount(row), detail=_interval(row)),
            f"how much more the LLM favours its own maker\u2019s systems, with its {shown.confidence} interval",
        ),
    ]
    constant = ("Asked as", "Criterion", "Own systems")
    table = tabulate(
        "self_preference", "Own maker against others", fields, rows, constant=constant, csv="self_preference"
    )
    return Section(
        id="self-preference", title="Do LLMs favour their own?", blocks=(Paragraph(text=" ".join(said)), table)
    )


def _systems(row: SelfPreference, shown: Shown) -> str:
    return listed([shown.names.system(system) for system in row.own_systems])


def _value(row: SelfPreference, value: float | None) -> str:
    return number(value) if row.source == "ratings" else percent(value)


def _both(row: SelfPreference, llm: float | None, people: float | None) -> Cell:
    if llm is None:
        return cell("")
    return cell(_value(row, llm), detail="" if people is None else _value(row, people))


def _amount(row: SelfPreference) -> str:
    if row.difference is None:
        return ""
    return signed(row.difference, 2) if row.source == "ratings" else f"{signed(100 * row.difference, 1)} points"


def _interval(row: SelfPreference) -> str:
    if row.ci_low is None or row.ci_high is None:
        return ""
    if row.source == "ratings":
        return f"{signed(row.ci_low, 2)} to {signed(row.ci_high, 2)}"
    return f"{signed(100 * row.ci_low, 1)} to {signed(100 * row.ci_high, 1)}"
