"""What automatic metrics contribute."""

from __future__ import annotations

import polars as pl

from analysis.answers.groups import people_of
from analysis.contribution import Analysis, Checked, Contribution, KeyValues, SectionEntry
from analysis.metrics.metric_results import MetricResults, metric_results
from analysis.metrics.section import metrics
from analysis.ranking.contribution import RANKINGS
from analysis.records.results import one
from analysis.statistics.record import fields_of
from analysis.verification.claims import Claims, corrected, figure, places


def claims(checked: Checked) -> Claims:
    """Claim the paired t-test of each metric over items, and the correction over its pairs."""
    found = checked.results.metrics
    if found is None:
        return
    rows = list(places("metrics.pairs", found.pairs))
    for metric in dict.fromkeys(row.metric for _, row in rows):
        members = [(place, row) for place, row in rows if row.metric == metric]
        yield from corrected(members, checked.settings.correction or "holm")
    if checked.analysis is None or (table := checked.analysis.prepared.tables.metrics) is None:
        return
    known = table.filter(pl.col("value").is_not_null())
    known = known.group_by("metric", "item_id", "system").agg(pl.col("value").mean())
    by_pair = known.partition_by("metric", "system", as_dict=True)
    for place, row in rows:
        if row.p_value is not None:
            x, y = (by_pair[row.metric, system] for system in (row.system_x, row.system_y))
            both = x.join(y, on="item_id").sort("item_id")
            sides = both["value"].to_numpy(), both["value_right"].to_numpy()
            yield from figure(row, "p_value", place, "ttest_rel", x=sides[0], y=sides[1])


METRICS = one(
    "metrics", MetricResults, "Automatic metrics, tested between systems and ranked; null where there are none."
)


def _metrics(analysis: Analysis) -> KeyValues:
    prepared, rankings = analysis.prepared, analysis.of(RANKINGS)
    tables, systems = prepared.tables, dict.fromkeys(one for order in prepared.orders.values() for one in order.systems)
    people = people_of(prepared.groups)
    found = metric_results(tables.metrics, tables.corpus_metrics, [*systems], rankings, people, prepared.plan)
    return {"metrics": found}


def _tables(found: MetricResults) -> KeyValues:
    return {f"metrics_{name}": rows for name, rows in fields_of(found).items()}


CONTRIBUTION = Contribution(
    keys=(METRICS,),
    compute=_metrics,
    claims=claims,
    sections=(SectionEntry("metrics", METRICS, metrics),),
    tables={METRICS: _tables},
)
