"""What outputs put in order contribute."""

from __future__ import annotations

from analysis.answers.exclusions import apply_exclusions
from analysis.answers.input import AnalysisInput
from analysis.answers.order import order_of
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry
from analysis.orders.best_worst import BestWorstCount, best_worst_counts
from analysis.orders.best_worst_section import best_worst
from analysis.orders.claims import claims
from analysis.orders.section import orders
from analysis.orders.summaries import OrderPlace, OrderRows, OrderStrength, OrderSummary, order_rows
from analysis.records.results import rows

ORDERS = rows("orders", OrderSummary, "Outputs put in order, one row a group and criterion.")
ORDER_STRENGTHS = rows("order_strengths", OrderStrength)
ORDER_PLACES = rows("order_places", OrderPlace)
BEST_WORST = rows(
    "best_worst",
    BestWorstCount,
    "Best-worst scaling: how often each system was the best and the worst; empty where nobody was asked so.",
)


def _orders(analysis: Analysis) -> KeyValues:
    prepared, ordered = analysis.prepared, _ordered(analysis.prepared)
    choices = prepared.kept.get("choices")
    return {
        "orders": ordered.summaries,
        "order_strengths": ordered.strengths,
        "order_places": ordered.places,
        "best_worst": ()
        if choices is None
        else tuple(best_worst_counts(choices, prepared.orders["choices"], prepared.plan.confidence)),
    }


def _ordered(prepared: AnalysisInput) -> OrderRows:
    table = prepared.tables.orders
    if table is None:
        return OrderRows()
    order = order_of(table, [group for group, _ in prepared.groups], prepared.study)
    return order_rows(apply_exclusions(table, prepared.exclusions), order, prepared.plan)


CONTRIBUTION = Contribution(
    keys=(ORDERS, ORDER_STRENGTHS, ORDER_PLACES, BEST_WORST),
    compute=_orders,
    claims=claims,
    sections=(
        SectionEntry("orders", ORDERS, orders, (ORDER_STRENGTHS, ORDER_PLACES)),
        SectionEntry("best-worst", BEST_WORST, best_worst),
    ),
)
