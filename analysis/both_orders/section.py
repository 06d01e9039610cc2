"""What the report says of choices that were asked in both orders."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.both_orders.flips import OrderFlips
from analysis.contribution import Shown
from analysis.printing.cells import Field, cell, number_column, tabulate, text_column
from analysis.printing.document import Cell, Paragraph, Section
from analysis.printing.words import count, listed, percent, signed

INTRO = "An answer that changes when two outputs swap their sides is about the sides."
COUNTS_AS = {"tie": "It counts as a tie.", "missing": "It counts as missing."}


def both_orders(rows: Sequence[OrderFlips], shown: Shown) -> Section:
    """Show one row a group and criterion, and name who changes too often."""
    names = shown.names
    over = [row for row in rows if row.exceeds]
    said = [INTRO]
    if shown.settings.flips is not None:
        said.append(COUNTS_AS[shown.settings.flips])
    if over:
        who = listed(list(dict.fromkeys(names.group(row.group) for row in over)))
        said.append(f"More than {percent(shown.settings.max_flips)} of answers changed: {who}.")
    once: dict[str, int] = {}
    for row in rows:
        once[row.group] = once.get(row.group, 0) + row.n_once
    if any(once.values()):
        counted = listed([f"{names.group(group)} {count(number)}" for group, number in once.items() if number])
        counts = "." if shown.settings.flips is None else ", and that answer counts."
        said.append(f"Questions answered in one of the two orders alone: {counted}{counts}")
    fields: list[Field[OrderFlips]] = [
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column(
            "Changed",
            lambda row: cell(percent(row.flip_rate), detail=_interval(row)),
            f"share of questions answered otherwise in the other order, with its {shown.confidence} interval",
        ),
        number_column("Questions", lambda row: count(row.n), "answered in both orders by one annotator"),
        number_column("Opposite", lambda row: count(row.opposite), "the other output was chosen"),
        number_column("One tie", lambda row: count(row.one_tie), "a tie in one of the orders"),
        number_column(
            "Shown first",
            _place,
            "percentage points that the output shown first won more than half, with its interval",
        ),
    ]
    caption = "Choices in both orders"
    table = tabulate("both_orders", caption, fields, rows, constant=("Criterion",), csv="both_orders")
    return Section(id="both-orders", title=caption, blocks=(Paragraph(text=" ".join(said)), table))


def _interval(row: OrderFlips) -> str:
    if row.ci_low is None or row.ci_high is None:
        return ""
    return f"{percent(row.ci_low)} to {percent(row.ci_high)}"


def _place(row: OrderFlips) -> Cell:
    if row.place_effect is None:
        return cell("")
    known = row.place_ci_low is not None and row.place_ci_high is not None
    ends = (signed(100 * end, 1) for end in (row.place_ci_low, row.place_ci_high) if end is not None)
    return cell(signed(100 * row.place_effect, 1), detail=" to ".join(ends) if known else "")
