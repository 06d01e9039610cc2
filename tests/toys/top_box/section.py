"""What the report says of top boxes."""

from __future__ import annotations

from analysis.contribution import Shown
from analysis.printing.cells import number_column, tabulate, text_column
from analysis.printing.document import Paragraph, Section
from analysis.printing.words import percent
from tests.toys.top_box.shares import TopBoxShare


def top_boxes(rows: tuple[TopBoxShare, ...], shown: Shown) -> Section:
    """Show one row a group, criterion and system."""
    fields = [
        text_column("System", lambda row: shown.names.system(row.system)),
        text_column("Group", lambda row: shown.names.group(row.group)),
        text_column("Criterion", lambda row: shown.names.criterion(row.criterion)),
        number_column("Top box", lambda row: percent(row.share), "share of the highest answer given"),
    ]
    table = tabulate("top_box", "Share of the highest answer", fields, rows, csv="top_box")
    return Section(id="top-box", title="Top boxes", blocks=(Paragraph(text="How often ratings are highest."), table))
