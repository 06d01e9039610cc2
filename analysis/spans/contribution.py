"""What marked errors contribute."""

from __future__ import annotations

from analysis.answers.exclusions import apply_exclusions
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry
from analysis.records.results import one
from analysis.spans.section import marked_errors
from analysis.spans.span_results import SpanResults, span_results

SPANS = one(
    "spans", SpanResults, "Errors marked in outputs; null where nobody was asked to. Their counts are ratings as well."
)


def _spans(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    spans, order = prepared.tables.spans, prepared.orders.get("ratings")
    if spans is None or order is None:
        return {"spans": None}
    kept = apply_exclusions(spans, prepared.exclusions)
    return {"spans": span_results(kept, order.groups, order.systems, prepared.plan)}


def _tables(found: SpanResults) -> KeyValues:
    return {"span_counts": found.counts, "span_agreement": found.agreement}


CONTRIBUTION = Contribution(
    keys=(SPANS,),
    compute=_spans,
    sections=(SectionEntry("spans", SPANS, marked_errors),),
    tables={SPANS: _tables},
)
