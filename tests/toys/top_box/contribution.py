"""What top boxes contribute."""

from __future__ import annotations

from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Term, Words
from analysis.records.results import rows
from tests.toys.top_box.section import top_boxes
from tests.toys.top_box.shares import TopBoxShare, top_box_shares

TOP_BOX = rows("top_box", TopBoxShare, "How often ratings are the highest answer given.")


def _shares(analysis: Analysis) -> KeyValues:
    kept, orders = analysis.prepared.kept, analysis.prepared.orders
    return {"top_box": tuple(top_box_shares(kept["ratings"], orders["ratings"])) if "ratings" in kept else ()}


CONTRIBUTION = Contribution(
    keys=(TOP_BOX,),
    compute=_shares,
    sections=(SectionEntry("top-box", TOP_BOX, top_boxes),),
    words=(
        Words("top box", lambda plan: "The highest answer that a group gave.", lambda results: bool(results.top_box)),
    ),
    terms=(Term("Top end", "where a scale has its highest answer.", lambda results: bool(results.top_box)),),
)
