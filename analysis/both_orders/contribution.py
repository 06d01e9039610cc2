"""What choices in both orders contribute."""

from __future__ import annotations

from analysis.both_orders.flips import OrderFlips, order_flips
from analysis.both_orders.section import both_orders
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Words
from analysis.records.results import Results, rows
from analysis.sums.left_out import NeedsSingleAnswers
from analysis.sums.totals import AnswerTotals

BOTH_ORDERS = rows(
    "both_orders", OrderFlips, "How often choices change with the order of the two outputs, and what the place does."
)


def _flips(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    if prepared.shown is None:
        return {"both_orders": ()}
    found = order_flips(
        prepared.shown,
        prepared.orders["choices"],
        confidence=prepared.plan.confidence,
        max_flips=prepared.plan.max_flips,
    )
    return {"both_orders": tuple(found)}


WORDS = (
    Words(
        "both orders",
        lambda plan: (
            "A flip is a question that one annotator answers otherwise when the two outputs swap their sides"
            + ("" if plan.flips is None else f"; it counts as {'a tie' if plan.flips == 'tie' else 'missing'}")
            + ". The place effect is the share won by the output shown first, less one half."
        ),
        lambda results: bool(BOTH_ORDERS.of(results)),
    ),
)


def _lost(totals: AnswerTotals, _: Results) -> str | None:
    return "how often choices change with the order of the outputs" if totals.kind == "choices" else None


CONTRIBUTION = Contribution(
    keys=(BOTH_ORDERS,),
    compute=_flips,
    sections=(SectionEntry("both-orders", BOTH_ORDERS, both_orders),),
    words=WORDS,
    left_out=(
        NeedsSingleAnswers("both_orders", ("both_orders", "headline.problems", "headline.more_problems"), _lost),
    ),
)
