"""Automatic metrics: each system's value, the tests between systems, and the order of each metric beside people's."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.contribution import Shown
from analysis.figures.plain_text import shown_name
from analysis.metrics.metric_results import MetricMean, MetricResults, MetricTest
from analysis.printing.cells import Field, cell, columns_of, number_column, places_of, tabulate, text_column
from analysis.printing.document import Block, Column, Paragraph, Section, Table, build_table
from analysis.printing.levels import NOT_EQUAL, level_words
from analysis.printing.lookup import grouped
from analysis.printing.names import Names
from analysis.printing.words import NONE, count, interval, number, p_value, plural, sentence, signed
from analysis.ranking.contribution import RANKINGS
from analysis.statistics.rank_orders import ranks

MOST_ROWS = 240  # of a table; all of them are in its CSV file
MOST_SYSTEMS = 12  # columns that a reader can still compare
DIRECTIONS = "\u2191 higher is better, \u2193 lower is better"
ARROWS = {True: "\u2191", False: "\u2193", None: ""}
INTRODUCTION = (
    "Computed from the texts; nobody was asked. The value of a system is that of all its outputs together, which need "
    "not be the mean over outputs; tests are of single outputs, paired item by item."
)


def metrics(results: MetricResults, shown: Shown) -> Section:
    """Report the values of metrics, their order beside those of people and LLMs, and tests between systems."""
    names = shown.names
    blocks: list[Block] = [Paragraph(text=INTRODUCTION), _values(names, results)]
    ordered = _orders(shown, results)
    tests: list[Block] = []
    if results.pairs:
        tests = [
            Paragraph(text=level_words(shown.settings, live=shown.live)),
            _tests(shown, results),
        ]
    return Section(
        id="metrics",
        title="Automatic metrics",
        blocks=(*blocks, *([ordered] if ordered else [])),
        appendix=(*tests, _means(shown, results), _signatures(results)),
    )


def _values(names: Names, found: MetricResults) -> Table:
    """Lay out each metric as Table 1 of Sottana et al. (2023): systems by their value, with the rank in brackets."""
    systems = {system: names.system(system) for system in _systems(found)}
    fields: list[Field[MetricMean]] = [
        text_column("Metric", _metric, DIRECTIONS),
        *columns_of(found.means, _metric, lambda row: row.system, systems, _value),
    ]
    notes = ["Of all outputs of a system together where that is known, else the mean; in brackets the rank, 1 is best."]
    return tabulate("metrics_values", "Metrics of each system", fields, places_of(found.means, _metric), notes)


def _value(row: MetricMean | None) -> str:
    if row is None:
        return NONE
    return number(row.mean if row.corpus is None else row.corpus) + ("" if row.rank is None else f" ({row.rank})")


def _means(shown: Shown, found: MetricResults) -> Table:
    names = shown.names
    fields: list[Field[MetricMean]] = [
        text_column("Metric", _metric, DIRECTIONS),
        text_column("System", lambda row: names.system(row.system)),
        number_column("n", lambda row: count(row.n), "outputs (items) with a score"),
        number_column("Mean", lambda row: number(row.mean)),
        number_column(f"{shown.confidence} confidence interval", lambda row: interval(row.ci_low, row.ci_high)),
        number_column("SD", lambda row: number(row.sd)),
    ]
    return tabulate(
        "metrics_means",
        "Metrics of single outputs",
        fields,
        found.means[:MOST_ROWS],
        _left_out(found.means, "means"),
        csv="metrics_means",
    )


def _orders(shown: Shown, found: MetricResults) -> Table | None:
    """Lay ranks by people, LLMs and metrics under one another."""
    names = shown.names
    by_people = [
        (sentence(names.source_by_group(row.source, row.group)), names.criterion(row.criterion), ranks(row.order))
        for row in shown.of(RANKINGS)
        if row.source != "ratings_bt" and row.order
    ]
    by_metric = grouped((row for row in found.means if row.rank is not None), _metric)
    if not by_metric:
        return None
    by_metrics = {name: {row.system: row.rank or 0 for row in own} for name, own in by_metric.items()}
    systems = _systems(found)
    rows = [
        [cell(title), cell(criterion), *(cell(count(places.get(system))) for system in systems)]
        for title, criterion, places in (*by_people, *((name, NONE, places) for name, places in by_metrics.items()))
    ]
    columns = [
        Column(title="Ranked by"),
        Column(title="Criterion"),
        *(Column(title=names.system(system), numeric=True) for system in systems),
    ]
    notes = ["1 is best. A metric ranks only the systems that have a score: a system that is the reference has none."]
    return build_table("metrics_ranks", "Rank by people, LLMs and metrics", columns, rows, notes)


def _tests(shown: Shown, found: MetricResults) -> Table:
    names, pairs = shown.names, found.pairs
    directions = {row.metric: row for row in found.means}
    fields: list[Field[MetricTest]] = [
        text_column("Metric", lambda row: _metric(directions[row.metric]), DIRECTIONS),
        text_column("Pair", lambda row: f"{names.system(row.system_x)} \u2212 {names.system(row.system_y)}"),
        number_column("n", lambda row: count(row.n), "items that both systems answered"),
        number_column(
            "Difference", lambda row: signed(row.mean_difference, 3), "mean score of the first minus the second"
        ),
        number_column(
            f"{shown.confidence} confidence interval",
            lambda row: interval(row.ci_low, row.ci_high, decimals=3),
        ),
        number_column(
            "Adjusted p",
            lambda row: cell(p_value(row.p_adjusted), detail="" if row.p_value is not None else str(row.reason or "")),
            "corrected over the pairs of a metric",
        ),
        text_column("Ahead", lambda row: _verdict(row, names)),
    ]
    notes = _left_out(pairs, "pairs")
    notes += [NOT_EQUAL] if any(row.verdict == "indifferent" for row in pairs) else []
    notes += ["They count items, whose number no answer decided, and hold."] if shown.live else []
    return tabulate(
        "metrics_pairs", "Tests of metrics between systems", fields, pairs[:MOST_ROWS], notes, csv="metrics_pairs",
        weights=tuple(2.0 if row.p_adjusted is None else row.p_adjusted for row in pairs[:MOST_ROWS]),
        weighed_by="the smallest adjusted p",
    )  # fmt: skip


def _verdict(row: MetricTest, names: Names) -> str:
    shown = {"x": names.system(row.system_x), "y": names.system(row.system_y), "indifferent": "No clear"}
    return NONE if row.verdict is None else shown[row.verdict]


def _signatures(found: MetricResults) -> Table:
    signatures = dict.fromkeys((row.metric, row.signature or NONE) for row in found.means)
    columns = [Column(title="Metric"), Column(title="Library, version and settings")]
    rows = [[cell(shown_name(metric)), cell(shown_name(text.replace("|", " | ")))] for metric, text in signatures]
    return build_table("metrics_signatures", "How each metric was computed", columns, rows)


def _left_out(rows: Sequence[object], name: str) -> list[str]:
    left = len(rows) - MOST_ROWS
    return [f"{plural(left, 'more row')} in tables/metrics_{name}.csv."] if left > 0 else []


def _systems(found: MetricResults) -> list[str]:
    return list(dict.fromkeys(row.system for row in found.means))[:MOST_SYSTEMS]


def _metric(row: MetricMean) -> str:
    return f"{shown_name(row.metric)}\u00a0{ARROWS[row.higher_is_better]}".rstrip()
