"""What libraries compute again of subgroups and camps."""

from __future__ import annotations

from analysis.camps.own_answers import OWN_ANSWERS
from analysis.camps.subgroups import most_degrees, subgroups_of_pairs
from analysis.contribution import Checked
from analysis.verification.claims import Claims, corrected, figure, left, places


def claims(checked: Checked) -> Claims:
    """Claim the corrections, a family a group, and the tests of subgroups."""
    tests = checked.results.people_by_tests
    for group in dict.fromkeys(row.group for row in tests):
        members = [one for one in places("people_by_tests", tests) if one[1].group == group]
        yield from corrected(members, checked.settings.correction or "holm")
    for place, row in (own := list(places("camps", checked.results.camps))):
        yield from left(row, "p_value", place, "drawn")
    for group in dict.fromkeys(row.group for _, row in own):
        members = [one for one in own if one[1].group == group]
        yield from corrected(members, checked.settings.correction or "holm")
    if checked.analysis is None or not tests:
        return
    prepared, answers = checked.analysis.prepared, checked.analysis.of(OWN_ANSWERS)
    found = subgroups_of_pairs(answers, prepared.tables.people, prepared.plan)
    for (place, row), compared in zip(places("people_by_tests", tests), found, strict=True):
        if row.p_value is not None:
            samples = compared.tested
            most = most_degrees(samples)
            yield from figure(row, "p_value", place, "anova_oneway", samples=samples, most_df=most)
