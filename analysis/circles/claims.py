"""What libraries compute again of circles."""

from __future__ import annotations

from analysis.contribution import Checked
from analysis.verification.claims import Claims, corrected, left, places


def claims(checked: Checked) -> Claims:
    """Claim the corrections, a family a group."""
    rows = checked.results.circles
    for group in dict.fromkeys(row.group for row in rows):
        members = [one for one in places("circles", rows) if one[1].group == group]
        yield from corrected(members, checked.settings.correction or "holm")
    for place, row in places("circles", rows):
        yield from left(row, "p_value", place, "drawn")
