"""What outputs put in order contribute."""

from __future__ import annotations

from analysis.answers.exclusions import apply_exclusions
from analysis.answers.input import AnalysisInput
from analysis.answers.order import order_of
from analysis.contribution import Analysis, Contribution, Found, SectionEntry
from analysis.orders.section import orders
from analysis.orders.summaries import OrderPlace, OrderRows, OrderStrength, OrderSummary, order_rows
from analysis.records.results import rows

ORDERS = rows("orders", OrderSummary, "Outputs put in order, one row a group and criterion.")
ORDER_STRENGTHS = rows("order_strengths", OrderStrength)
ORDER_PLACES = rows("order_places", OrderPlace)


def _orders(analysis: Analysis) -> Found:
    ordered = _ordered(analysis.prepared)
    return {
        "orders": ordered.summaries,
        "order_strengths": ordered.strengths,
        "order_places": ordered.places,
    }


def _ordered(prepared: AnalysisInput) -> OrderRows:
    table = prepared.tables.orders
    if table is None:
        return OrderRows()
    order = order_of(table, [group for group, _ in prepared.groups], prepared.study)
    return order_rows(apply_exclusions(table, prepared.exclusions), order, prepared.plan)


CONTRIBUTION = Contribution(
    keys=(ORDERS, ORDER_STRENGTHS, ORDER_PLACES),
    compute=_orders,
    sections=(SectionEntry("orders", ORDERS, orders, (ORDER_STRENGTHS, ORDER_PLACES)),),
)
