"""What libraries compute again of LLMs beside people."""

from __future__ import annotations

from analysis.contribution import Checked
from analysis.llm_vs_people.alternative_annotator import T_TEST, differences_by_person
from analysis.llm_vs_people.llms_and_people import answers_beside_llms
from analysis.verification.claims import Claims, corrected, figure, left, places


def claims(checked: Checked) -> Claims:
    """Claim the alternative-annotator test person by person, its correction, and choices by place."""
    results = checked.results
    for place, row in places("first_shown", results.first_shown):
        yield from figure(row, "p_value", place, "binomtest", wins=row.first, losses=row.second)
    rows = list(places("llm_vs_people.alternative_annotator", results.llm_vs_people.alternative_annotator))
    for place, row in rows:
        yield from corrected(places(f"{place}.annotators", row.annotators), "by")
    if checked.analysis is None:
        return
    prepared = checked.analysis.prepared
    beside = answers_beside_llms(prepared.kept, prepared.orders)
    answers = {(source, group, criterion): long for source, group, criterion, long in beside}
    for place, row in rows:
        found = differences_by_person(answers[row.source, row.group, row.criterion], scoring="neg_rmse")
        for inner, person in places(f"{place}.annotators", row.annotators):
            if person.test != T_TEST:
                yield from left(person, "p_value", inner, "bound")
                continue
            values, clusters = found[person.annotator_id]
            numbers = {"values": values, "clusters": clusters, "against": row.epsilon}
            yield from figure(person, "p_value", inner, "ols_below", **numbers)
