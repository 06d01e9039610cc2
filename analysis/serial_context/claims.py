"""What libraries compute again of serial context."""

from __future__ import annotations

from itertools import combinations

from analysis.contribution import Checked
from analysis.serial_context.contexts import parts_with_arms, sides_of_arms
from analysis.verification.claims import Claims, corrected, figure, left, places


def claims(checked: Checked) -> Claims:
    """Claim the corrections, a family a group, and Welch's tests between arms."""
    results, correction = checked.results, checked.settings.correction or "holm"
    for key in ("serial_context", "serial_arms", "third_systems"):
        rows = getattr(results, key)
        for group in dict.fromkeys(row.group for row in rows):
            yield from corrected([one for one in places(key, rows) if one[1].group == group], correction)
    for place, row in places("serial_context", results.serial_context):
        yield from left(row, "p_value", place, "within")
    for place, row in places("third_systems", results.third_systems):
        yield from left(row, "p_value", place, "clustered")
    if checked.analysis is None or not results.serial_arms:
        return
    prepared = checked.analysis.prepared
    order = prepared.orders["ratings"]
    found = {}
    parts = parts_with_arms(prepared.kept["ratings"], prepared.tables.reading, prepared.groups, order)
    for group, criterion, own, _, arms in parts:
        for two in combinations(arms, 2):
            for x, y, sides in sides_of_arms(own, two, order.systems):
                found[group, criterion, *two, x, y] = sides
    for place, row in places("serial_arms", results.serial_arms):
        sides = found[row.group, row.criterion, row.arm_a, row.arm_b, row.system_x, row.system_y]
        yield from figure(row, "p_value", place, "ttest_ind", x=sides[0], y=sides[1])
