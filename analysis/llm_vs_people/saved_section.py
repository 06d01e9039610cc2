"""What the report says of the people that an LLM saves."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.llm_vs_people.people_saved import PeopleSavedRow
from analysis.printing.cells import Field, cell, criterion_cell, number_column, tabulate, text_column
from analysis.printing.document import Block, Bullets, Cell, Fold, Heading, Paragraph
from analysis.printing.names import Names
from analysis.printing.words import count, listed, percent, plural, signed

LEAST = 0.005  # share that is printed as 0 %
ABOUT = (
    "An LLM that follows people from item to item (form to form) lets fewer people answer for the same precision: its "
    "answers to all items stand in, and people\u2019s correct them. What it can save is the square of the correlation, "
    "less what chance adds; whatever the unit of its scores, and however biased it is. Means over the pairs of a "
    "criterion, with the means of their interval\u2019s ends."
)


def people_saved(rows: Sequence[PeopleSavedRow], names: Names, confidence: str) -> list[Block]:
    """Say how many people each LLM saves, a line an LLM, with a folded table of all tests."""
    together = [row for row in rows if row.system_x is None]
    if not any(row.limit is not None for row in together):
        return []
    lines = [_words([row for row in together if row.group == group], together, names) for group in _groups(together)]
    single = [row for row in rows if row.system_x is not None]
    table = tabulate(
        "people_saved", "People saved, test by test", _fields(names, confidence), single, constant=CONSTANT
    )
    return [
        Heading(text="How many people does an LLM save?"),
        Paragraph(text=ABOUT),
        Bullets(items=tuple(line for line in lines if line)),
        Fold(summary="People saved: every test", blocks=(table,)),
    ]


CONSTANT = ("LLM", "Criterion", "Exposure")


def _groups(rows: Sequence[PeopleSavedRow]) -> list[str]:
    return list(dict.fromkeys(row.group for row in rows))


def _words(own: Sequence[PeopleSavedRow], every: Sequence[PeopleSavedRow], names: Names) -> str:
    """Return "gpt-4 would have saved 6% of the people (0 to 14%) on overall; none on coherence"."""
    known = [row for row in own if row.limit is not None]
    if not known:
        return ""
    more = any(row.n_more for row in known)
    some, none = [], []
    for row in known:
        value, low, high = (
            (row.saved, row.saved_low, row.saved_high) if more else (row.limit, row.limit_low, row.limit_high)
        )
        criterion = names.criterion_asked(row, every)
        if (value or 0) < LEAST:
            none.append(criterion)
        else:
            some.append(f"{percent(value, 0)} of the people ({_between(low, high)}) on {criterion}")
    nothing = f"none on {listed(none)}" if none else ""
    verb = "would have saved" if more else "would save"
    found = "; ".join(part for part in (", ".join(some), nothing) if part)
    most = f"{max(row.n for row in known):,}"
    aside = (
        f" on ever more {known[0].unit}s; people answered all of its {most}, so it saves nothing" if not more else ""
    )
    return f"{names.group(own[0].group)} {verb} {found}{aside}."


def _between(low: float | None, high: float | None) -> str:
    return f"{percent(low, 0).removesuffix('%')} to {percent(high, 0)}"


def _fields(names: Names, confidence: str) -> list[Field[PeopleSavedRow]]:
    return [
        text_column("What", lambda row: _what(row, names), "x \u2212 y: difference of ratings; x over y: preference"),
        text_column("LLM", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: criterion_cell(names, row.criterion, row.source)),
        number_column("Exposure", lambda row: count(row.exposure)),
        number_column("Both", lambda row: cell(count(row.n), detail=plural(row.n, row.unit)), "answered by both"),
        number_column("LLM only", lambda row: count(row.n_more)),
        number_column("Correlation", lambda row: signed(row.rho)),
        number_column(
            "Saved", lambda row: _share(row.saved, row.saved_low, row.saved_high), f"with the {confidence} interval"
        ),
        number_column(
            "At most",
            lambda row: _share(row.limit, row.limit_low, row.limit_high),
            "with ever more answers of the LLM",
        ),
    ]


def _what(row: PeopleSavedRow, names: Names) -> str:
    if row.system_y is None:
        return names.system(row.system_x or "")
    join = "\u2212" if row.source == "ratings" else "over"
    return f"{names.system(row.system_x or '')} {join} {names.system(row.system_y)}"


def _share(value: float | None, low: float | None, high: float | None) -> Cell:
    if value is None:
        return cell("\u2013")
    return cell(percent(value, 0), detail=_between(low, high) if high is not None else "no interval")
