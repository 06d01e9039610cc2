"""What LLMs set against people contribute."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from analysis.answers.exclusions import CONSISTENCY, apply_exclusions
from analysis.answers.input import AnalysisInput
from analysis.answers.item_preferences import WHO
from analysis.answers.output_features import WORD_COUNT, features_of
from analysis.answers.plan import Plan
from analysis.comparisons.contribution import TESTS
from analysis.contribution import Analysis, Checked, Contribution, KeyValues, SectionEntry, Words
from analysis.llm_vs_people.alternative_annotator import T_TEST, differences_by_person
from analysis.llm_vs_people.bias_rows import bias_rows
from analysis.llm_vs_people.calibration_section import calibration
from analysis.llm_vs_people.first_shown import FirstShownRow, first_shown_rows
from analysis.llm_vs_people.from_sums import (
    ANNOTATOR_RANKS,
    BIAS,
    PREDICTION_POWERED,
    STAND_IN,
    VISIT_RANKS,
    llms_of_sums,
)
from analysis.llm_vs_people.llms_and_people import NO_LLMS, LLMsAndPeople, answers_beside_llms, compare_llms_with_people
from analysis.llm_vs_people.section import llm_vs_people
from analysis.records.results import Key, rows
from analysis.statistics.record import fields_of
from analysis.verification.claims import Claims, corrected, figure, left, places


def claims(checked: Checked) -> Claims:
    """Claim the alternative-annotator test person by person, its correction, and choices by place."""
    results = checked.results
    for place, row in places("first_shown", results.first_shown):
        yield from figure(row, "p_value", place, "binomtest", wins=row.first, losses=row.second)
    tested = list(places("llm_vs_people.alternative_annotator", results.llm_vs_people.alternative_annotator))
    for place, row in tested:
        yield from corrected(places(f"{place}.annotators", row.annotators), "by")
    if checked.analysis is None:
        return
    prepared = checked.analysis.prepared
    beside = answers_beside_llms(prepared.kept, prepared.orders)
    answers = {(source, group, criterion): long for source, group, criterion, long in beside}
    for place, row in tested:
        found = differences_by_person(answers[row.source, row.group, row.criterion], scoring="neg_rmse")
        for inner, person in places(f"{place}.annotators", row.annotators):
            if person.test != T_TEST:
                yield from left(person, "p_value", inner, "bound")
                continue
            values, clusters = found[person.annotator_id]
            numbers = {"values": values, "clusters": clusters, "against": row.epsilon}
            yield from figure(person, "p_value", inner, "ols_below", **numbers)


LLM_VS_PEOPLE = Key(
    "llm_vs_people",
    LLMsAndPeople,
    lambda: NO_LLMS,
    "LLMs set against people (against simulated annotators where there are no people).",
)
FIRST_SHOWN = rows(
    "first_shown",
    FirstShownRow,
    "How often an LLM's choice turned with the order of the two outputs; empty where none was asked in both.",
)


def _llms(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    kept, orders, plan = prepared.kept, prepared.orders, prepared.plan
    features = features_of(prepared.tables.outputs, prepared.tables.metrics, [WORD_COUNT])
    found = compare_llms_with_people(kept, orders, analysis.of(TESTS).means, plan, features=features)
    if plan.flips is not None and prepared.shown is not None:  # the place is that of single answers
        shown = {**kept, "choices": prepared.shown}
        found = replace(found, bias=tuple(bias_rows(shown, orders, features, plan)))
    first = first_shown_rows(_as_shown(prepared), orders.get("choices"), plan.fwer)
    return {"llm_vs_people": found, "first_shown": tuple(first)}


def _of_sums(analysis: Analysis) -> KeyValues:
    found = NO_LLMS
    if analysis.summed.totals.kind != "preferences":
        found = llms_of_sums(analysis.totals, analysis.of(TESTS).means, analysis.plan)
    return {"llm_vs_people": found, "first_shown": ()}


def _as_shown(prepared: AnalysisInput) -> pl.DataFrame | None:
    """Return the choices as they were asked, each direction apart, also of those who contradicted themselves."""
    asked = prepared.tables.item_preferences
    if asked is None or prepared.shown is None:
        return prepared.shown
    shown = apply_exclusions(asked, [row for row in prepared.exclusions if row.rule != CONSISTENCY])
    others = prepared.shown.join(asked, on=WHO, how="anti", nulls_equal=True, maintain_order="left")
    return pl.concat([others, shown], how="diagonal_relaxed")


def _tables(found: LLMsAndPeople) -> KeyValues:
    return {f"llm_vs_people_{name}": rows for name, rows in fields_of(found).items()}


def _alternative_annotator(plan: Plan) -> str:
    return (
        "Each person is left out in turn; the LLM wins where the share of outputs on which the person agrees better "
        f"with the others, less that of the LLM, is shown to be below {plan.epsilon:g} (epsilon; Benjamini and "
        f"Yekutieli at {plan.fwer:g}). It passes if it wins against at least half of the people."
    )


WORDS = (
    Words(
        "alternative-annotator test",
        _alternative_annotator,
        lambda results: bool(LLM_VS_PEOPLE.of(results).alternative_annotator),
    ),
    Words(
        "prediction-powered",
        "An LLM's answers to more items (forms) are added to people's mean; its error is measured where "
        "both answered. Right if what people answered is a random part of the whole.",
        lambda results: bool(LLM_VS_PEOPLE.of(results).prediction_powered),
    ),
    Words(
        "calibration",
        "A choice (1, 1/2 or 0 for x, a tie, y) is compared with the chance that the person who chose "
        "stated, that the LLM stated on the same form, or else the group's mean. Bins have equal width.",
        lambda results: bool(LLM_VS_PEOPLE.of(results).calibration),
    ),
    Words(
        "bias",
        "LLM minus people on the same outputs or pairs, contrasted by place, letter, length or order of "
        "asking within systems; not corrected for the number of contrasts.",
        lambda results: bool(LLM_VS_PEOPLE.of(results).bias),
    ),
)

CONTRIBUTION = Contribution(
    keys=(LLM_VS_PEOPLE, FIRST_SHOWN),
    compute=_llms,
    of_sums=_of_sums,
    left_out=(STAND_IN, ANNOTATOR_RANKS, VISIT_RANKS, BIAS, PREDICTION_POWERED),
    claims=claims,
    sections=(
        SectionEntry("llm-vs-people", LLM_VS_PEOPLE, llm_vs_people),
        SectionEntry("calibration", LLM_VS_PEOPLE, calibration),
    ),
    words=WORDS,
    tables={LLM_VS_PEOPLE: _tables},
)
