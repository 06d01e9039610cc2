"""What automatic metrics contribute."""

from __future__ import annotations

from analysis.answers.groups import people_of
from analysis.contribution import Analysis, Contribution, Found, SectionEntry
from analysis.metrics.claims import claims
from analysis.metrics.metric_results import MetricResults, metric_results
from analysis.metrics.section import metrics
from analysis.ranking.contribution import RANKINGS
from analysis.records.results import one
from analysis.statistics.record import fields_of

METRICS = one(
    "metrics", MetricResults, "Automatic metrics, tested between systems and ranked; null where there are none."
)


def _metrics(analysis: Analysis) -> Found:
    prepared, rankings = analysis.prepared, analysis.of(RANKINGS)
    tables, systems = prepared.tables, dict.fromkeys(one for order in prepared.orders.values() for one in order.systems)
    people = people_of(prepared.groups)
    found = metric_results(tables.metrics, tables.corpus_metrics, [*systems], rankings, people, prepared.plan)
    return {"metrics": found}


def _tables(found: MetricResults) -> Found:
    return {f"metrics_{name}": rows for name, rows in fields_of(found).items()}


CONTRIBUTION = Contribution(
    keys=(METRICS,),
    compute=_metrics,
    claims=claims,
    sections=(SectionEntry("metrics", METRICS, metrics),),
    tables={METRICS: _tables},
)
