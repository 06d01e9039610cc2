"""What libraries compute again of automatic metrics."""

from __future__ import annotations

import polars as pl

from analysis.contribution import Checked
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
